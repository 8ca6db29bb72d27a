// What is measured: GPT-2 124M's operations, and how much work each is.

export const DIM = 768
export const HIDDEN = 3072
export const HEADS = 12
export const EPS = 1e-5
export const TOKENS = [1, 6, 128, 1024]

/**
 * @typedef {{ name: string, kind: 'LayerNorm' | 'GELU' | 'FeedForward' | 'Attention',
 *   columns: number, approximate?: 'tanh' | 'none' }} Operation
 * @typedef {Operation & { tokens: number, x: Float32Array, weights: Record<string, Float32Array> }} Task
 *   an operation at one size: x is [tokens, columns], and the weights lie as PyTorch's do, Attention's as GPT-2's
 */

/** @type {Operation[]} */
export const OPERATIONS = [
  { name: 'LayerNorm', kind: 'LayerNorm', columns: DIM },
  { name: 'GELU tanh', kind: 'GELU', columns: HIDDEN, approximate: 'tanh' },
  { name: 'GELU erf', kind: 'GELU', columns: HIDDEN, approximate: 'none' },
  { name: 'FeedForward', kind: 'FeedForward', columns: DIM, approximate: 'tanh' },
  { name: 'Attention', kind: 'Attention', columns: DIM },
]

/**
 * @param {Operation} operation
 * @param {number} tokens
 * @param {(size: number) => Float32Array} draw so many numbers from N(0, 1)
 * @returns {Task}
 */
export function task(operation, tokens, draw) {
  // as GPT-2 draws its weights
  const small = (/** @type {number} */ size) => draw(size).map((value) => 0.02 * value)
  const weights = {
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
  }[operation.kind]()
  return { ...operation, tokens, x: draw(tokens * operation.columns), weights }
}

/**
 * The work that has to be done, and which of the machine's limits it runs into: FeedForward and Attention multiply and
 * add, but for one token they read their weights above all; the others read their input and write their output. Of
 * Attention's scores half count, those of a token with itself and what comes before it.
 *
 * @param {Operation & { tokens: number }} task
 * @returns {{ amount: number, unit: 'GFLOP/s' | 'GB/s', limit: 'multiply-add' | 'memory' }}
 *   amount: flops or bytes
 */
export function work({ kind, columns, tokens }) {
  const weights = kind === 'FeedForward' ? 2 * DIM * HIDDEN : 4 * DIM * DIM
  const scores = kind === 'Attention' ? (tokens * (tokens + 1)) / 2 : 0
  if (kind !== 'FeedForward' && kind !== 'Attention') return { amount: 2 * tokens * columns * 4, unit: 'GB/s', limit: 'memory' }
  if (tokens === 1) return { amount: weights * 4, unit: 'GB/s', limit: 'memory' }
  return { amount: 2 * tokens * weights + 4 * DIM * scores, unit: 'GFLOP/s', limit: 'multiply-add' }
}
