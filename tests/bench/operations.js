// The operations to measure: those of GPT-2 124M and training steps of small GPTs.

export const DIM = 768
export const HIDDEN = 3072
export const HEADS = 12
export const EPS = 1e-5
export const TOKENS = [1, 6, 128, 1024]

/** Contestants must agree: absolute below 1, relative above. It allows float32 sums of 3072 products in any order. */
export const TOLERANCE = 1e-4
/** For how many steps the losses are compared. */
export const LOSSES = 5
export const LEARNING_RATE = 1e-3

/**
 * @typedef {{ vocabSize: number, contextLength: number, embDim: number, nHeads: number, nLayers: number,
 *   tieWeights: boolean }} Model
 * @typedef {{ name: string, kind: 'LayerNorm' | 'GELU' | 'FeedForward' | 'Attention' | 'Training',
 *   columns: number, approximate?: 'tanh' | 'none', model?: Model, sizes?: number[] }} Operation
 *   model: what Training trains, on tokens / contextLength sequences. sizes: numbers of tokens, by default TOKENS
 * @typedef {Operation & { tokens: number, x: Float32Array, weights: Record<string, Float32Array> }} Task an
 *   operation at one size. x: [tokens, columns]; for Training, rows of a token and its target. weights: in
 *   PyTorch's layout, for Attention in GPT-2's
 */

/** @type {Operation[]} */
export const OPERATIONS = [
  { name: 'LayerNorm', kind: 'LayerNorm', columns: DIM },
  { name: 'GELU tanh', kind: 'GELU', columns: HIDDEN, approximate: 'tanh' },
  { name: 'GELU erf', kind: 'GELU', columns: HIDDEN, approximate: 'none' },
  { name: 'FeedForward', kind: 'FeedForward', columns: DIM, approximate: 'tanh' },
  { name: 'Attention', kind: 'Attention', columns: DIM },
  training('notebook', 16, { contextLength: 32, embDim: 64, nHeads: 4, nLayers: 2 }),
  training('larger', 8, { contextLength: 64, embDim: 128, nHeads: 4, nLayers: 4 }),
  training('page', 16, { contextLength: 11, embDim: 48, nHeads: 3, nLayers: 3 }),
]

/**
 * @param {string} name
 * @param {number} batch sequences of a step
 * @param {Pick<Model, 'contextLength' | 'embDim' | 'nHeads' | 'nLayers'>} sizes
 * @returns {Operation} a training step of a small GPT: forward, cross entropy, backward and AdamW
 */
function training(name, batch, sizes) {
  const model = { vocabSize: 51, tieWeights: true, ...sizes }
  return {
    name: `training, ${name}`,
    kind: 'Training',
    columns: 2,
    model,
    sizes: [batch * sizes.contextLength],
  }
}

/**
 * @param {Operation} operation
 * @param {number} tokens
 * @param {(size: number) => Float32Array} draw returns so many numbers from N(0, 1)
 * @returns {Task}
 */
export function task(operation, tokens, draw) {
  // GPT-2's initial weights are N(0, 0.02).
  const small = (/** @type {number} */ size) => draw(size).map((value) => 0.02 * value)
  /** @type {Record<Operation['kind'], () => Record<string, Float32Array>>} */
  const make = {
    LayerNorm: () => ({ scale: small(DIM).map((value) => 1 + value), shift: small(DIM) }),
    GELU: () => ({}),
    FeedForward: () => ({
      weight1: small(HIDDEN * DIM), // [HIDDEN, DIM]
      bias1: small(HIDDEN),
      weight2: small(DIM * HIDDEN), // [DIM, HIDDEN]
      bias2: small(DIM),
    }),
    Attention: () => ({
      weight1: small(DIM * 3 * DIM), // [DIM, 3 * DIM]
      bias1: small(3 * DIM),
      weight2: small(DIM * DIM),
      bias2: small(DIM),
    }),
    Training: () => ({}),
  }
  const weights = make[operation.kind]()
  const x = draw(tokens * operation.columns)
  const vocabSize = operation.model?.vocabSize ?? 1
  const token = (/** @type {number} */ value) => Math.floor(1000 * Math.abs(value)) % vocabSize
  return { ...operation, tokens, x: operation.kind === 'Training' ? x.map(token) : x, weights }
}
