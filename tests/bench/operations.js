// The operations to measure: those of GPT-2 124M and a training step of a small GPT, and how much work each
// is.

/** @import { Gpt } from '../../dist/index.js' */

export const DIM = 768
export const HIDDEN = 3072
export const HEADS = 12
export const EPS = 1e-5
export const TOKENS = [1, 6, 128, 1024]

/** The model that tests/training/learn.js trains. */
export const SMALL_GPT = {
  vocabSize: 51,
  contextLength: 64,
  embDim: 64,
  nHeads: 4,
  nLayers: 2,
  tieWeights: true,
}
/** Sequences per batch. */
export const BATCH = 8
/**
 * Without weight decay, which TensorFlow.js's Adam does not have.
 *
 * @satisfies {ConstructorParameters<Gpt['AdamW']>[1]}
 */
export const ADAM = {
  lr: 1e-3,
  betas: /** @type {[number, number]} */ ([0.9, 0.999]),
  eps: 1e-8,
  weightDecay: 0,
}
/** For how many steps the losses are compared. */
export const LOSSES = 5

/**
 * @typedef {{ name: string, kind: 'LayerNorm' | 'GELU' | 'FeedForward' | 'Attention' | 'Training',
 *   columns: number, approximate?: 'tanh' | 'none', sizes?: number[] }} Operation
 *   sizes: numbers of tokens, by default TOKENS
 * @typedef {Operation & { tokens: number, x: Float32Array, weights: Record<string, Float32Array> }} Task an
 *   operation at one size. x: [tokens, columns]; for Training, rows of a token and its target. weights: in
 *   PyTorch's layout, for Attention in GPT-2's; for Training, SMALL_GPT's by name
 */

/**
 * The shapes of SMALL_GPT's parameters. The head shares tok_emb's weight.
 *
 * @type {Record<string, number[]>}
 */
export const SMALL_GPT_SHAPES = (({ vocabSize, contextLength, embDim: dim, nLayers }) => {
  const norm = (/** @type {string} */ name) => ({ [`${name}.scale`]: [dim], [`${name}.shift`]: [dim] })
  const block = (/** @type {string} */ name) => ({
    ...norm(`${name}.norm1`),
    [`${name}.attn.c_attn.weight`]: [dim, 3 * dim],
    [`${name}.attn.c_attn.bias`]: [3 * dim],
    [`${name}.attn.c_proj.weight`]: [dim, dim],
    [`${name}.attn.c_proj.bias`]: [dim],
    ...norm(`${name}.norm2`),
    [`${name}.ff.layers.0.weight`]: [4 * dim, dim],
    [`${name}.ff.layers.0.bias`]: [4 * dim],
    [`${name}.ff.layers.2.weight`]: [dim, 4 * dim],
    [`${name}.ff.layers.2.bias`]: [dim],
  })
  const blocks = Array.from({ length: nLayers }, (_, i) => block(`trf_blocks.${i}`))
  const embeddings = { 'tok_emb.weight': [vocabSize, dim], 'pos_emb.weight': [contextLength, dim] }
  return Object.assign(embeddings, ...blocks, norm('final_norm'))
})(SMALL_GPT)

/** @type {Operation[]} */
export const OPERATIONS = [
  { name: 'LayerNorm', kind: 'LayerNorm', columns: DIM },
  { name: 'GELU tanh', kind: 'GELU', columns: HIDDEN, approximate: 'tanh' },
  { name: 'GELU erf', kind: 'GELU', columns: HIDDEN, approximate: 'none' },
  { name: 'FeedForward', kind: 'FeedForward', columns: DIM, approximate: 'tanh' },
  { name: 'Attention', kind: 'Attention', columns: DIM },
  { name: 'training step', kind: 'Training', columns: 2, sizes: [BATCH * SMALL_GPT.contextLength] },
]

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
    Training: () => smallGptWeights(draw),
  }
  const weights = make[operation.kind]()
  const x = draw(tokens * operation.columns)
  const token = (/** @type {number} */ value) => Math.floor(1000 * Math.abs(value)) % SMALL_GPT.vocabSize
  return { ...operation, tokens, x: operation.kind === 'Training' ? x.map(token) : x, weights }
}

/** @param {(size: number) => Float32Array} draw */
function smallGptWeights(draw) {
  /** @type {Record<string, Float32Array>} */
  const weights = {}
  for (const [name, shape] of Object.entries(SMALL_GPT_SHAPES)) {
    const around = name.endsWith('scale') ? 1 : 0
    weights[name] = draw(shape.reduce((product, size) => product * size, 1)).map(
      (value) => around + 0.02 * value,
    )
  }
  return weights
}

/**
 * The least work of an operation, and the limit of the machine that bounds it.
 *
 * | operation | work |
 * | --- | --- |
 * | FeedForward, Attention, T = 1 | bytes of the weights read |
 * | FeedForward, Attention | multiplications and additions; of Attention's scores those up to the diagonal |
 * | training step | three times the flops of the forward pass: a product has a gradient for each factor |
 * | others | bytes of the input read and of the output written |
 *
 * @param {Operation & { tokens: number }} task
 * @returns {{ amount: number, unit: 'GFLOP/s' | 'GB/s', limit: 'multiply-add' | 'memory' }}
 *   amount: flops or bytes
 */
export function work({ kind, columns, tokens }) {
  if (kind === 'Training') {
    const amount = 3 * gptFlops(SMALL_GPT, BATCH, tokens / BATCH)
    return { amount, unit: 'GFLOP/s', limit: 'multiply-add' }
  }
  const weights = kind === 'FeedForward' ? 2 * DIM * HIDDEN : 4 * DIM * DIM
  const scores = kind === 'Attention' ? (tokens * (tokens + 1)) / 2 : 0
  if (kind !== 'FeedForward' && kind !== 'Attention')
    return { amount: 2 * tokens * columns * 4, unit: 'GB/s', limit: 'memory' }
  if (tokens === 1) return { amount: weights * 4, unit: 'GB/s', limit: 'memory' }
  return { amount: 2 * tokens * weights + 4 * DIM * scores, unit: 'GFLOP/s', limit: 'multiply-add' }
}

/**
 * The multiplications and additions of a GPT's forward pass: the blocks, the scores up to the diagonal, the
 * head.
 *
 * @param {{ vocabSize: number, embDim: number, nLayers: number }} config
 * @param {number} batch
 * @param {number} tokens of each sequence
 * @returns {number} flops
 */
export function gptFlops({ vocabSize, embDim, nLayers }, batch, tokens) {
  const weights = 12 * nLayers * embDim ** 2 + vocabSize * embDim
  const scores = (nLayers * (tokens * (tokens + 1))) / 2
  return 2 * batch * (tokens * weights + 2 * embDim * scores)
}
