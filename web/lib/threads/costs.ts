import type { Functions } from '../wasm/exports.ts'

/**
 * Nanoseconds of a call on one thread, roughly, from its sizes and scalars: the arguments that are numbers, in their
 * order.
 */
type Cost = (...sizes: number[]) => number

/** Nanoseconds of one multiply-add in a matrix product. */
const MULTIPLY_ADD = 1 / 20

/** Nanoseconds to read one int8 value from memory. */
const INT8_READ = 1 / 25

/** Nanoseconds to read two floats from memory: a number of a key and one of a value. */
const FLOATS_READ = 1 / 4

const product = (rows: number, inputs: number, outputs: number): number =>
  rows * inputs * outputs * MULTIPLY_ADD

/** A single row is shared only where two threads read long pieces of the weight: see c/gemm_nn_tn.c. */
const conv1d = (rows: number, inputs: number, outputs: number): number =>
  rows === 1 && outputs < 2304 ? 0 : product(rows, inputs, outputs)

/** Half of the scores count (token i sees tokens 0 to i), and each takes 2 · size multiply-adds. */
const attention = (batch: number, tokens: number, heads: number, size: number): number =>
  batch * tokens ** 2 * heads * size * MULTIPLY_ADD

/** A kernel on a matrix: its first sizes are rows and columns. */
const rowwise =
  (nanoseconds: number): Cost =>
  (rows, cols) =>
    rows * cols * nanoseconds

/**
 * Kernels of layers and losses whose last parameters are `part` and `parts`. One that is not here takes 1 ns for each
 * of its first size. An operation on elements says its cost in its own row.
 *
 * Measured on one core with SIMD; a factor of two either way changes little.
 */
const COSTS: { readonly [name in keyof Functions]?: Cost } = {
  gpt_linear_forward: product,
  gpt_linear_backward: (rows, inputs, outputs) => 2 * product(rows, inputs, outputs),
  gpt_conv1d_forward: conv1d,
  gpt_conv1d_backward: (rows, inputs, outputs) => 2 * product(rows, inputs, outputs),
  gpt_feedforward_forward: (rows, dim, hidden) => 2 * product(rows, dim, hidden),
  gpt_attention_forward: attention,
  gpt_attention_weights: attention,
  gpt_attention_backward: (batch, tokens, heads, size) => 2.5 * attention(batch, tokens, heads, size),
  gpt_attention_cached_forward: (batch, tokens, past, _capacity, heads, size) =>
    batch * heads * size * (tokens * (2 * past + tokens) * MULTIPLY_ADD + past * FLOATS_READ),
  gpt_attention_int8_forward: (batch, tokens, past, _capacity, heads, size) =>
    batch * heads * size * (tokens * (2 * past + tokens) * MULTIPLY_ADD + past * INT8_READ),
  gpt_int8_linear_forward: (rows, inputs, outputs) =>
    Math.max(inputs * outputs * INT8_READ, product(rows, inputs, outputs) / 2),
  gpt_int8_embedding_forward: (rows, _count, dim) => rows * dim,
  gpt_sum_columns: (count, rows, cols) => count * rows * cols * 0.14,
  gpt_layernorm_forward: rowwise(0.3),
  gpt_layernorm_backward: rowwise(0.7),
  gpt_rmsnorm_forward: rowwise(0.3),
  gpt_rmsnorm_backward: rowwise(0.7),
  gpt_batchnorm_statistics: rowwise(0.4),
  gpt_batchnorm_forward: rowwise(0.6),
  gpt_batchnorm_backward: rowwise(1.5),
  gpt_dropout_forward: (n) => n * 0.5,
  gpt_softmax_forward: rowwise(1.2),
  gpt_softmax_backward: rowwise(0.3),
  gpt_embedding_forward: (rows, _count, dim) => rows * dim * 0.1,
  gpt_embedding_backward: (rows, count, dim) => (rows + count) * dim * 0.1,
  gpt_crossentropy_forward: rowwise(1),
  gpt_crossentropy_backward: rowwise(1),
  gpt_mse_forward: rowwise(0.2),
  gpt_mse_backward: (n) => n * 0.2,
}

/**
 * Calls shorter than this, in nanoseconds on one thread, are not shared. Two threads add 3 µs to a call, and
 * a worker that sleeps starts 10 to 20 µs late.
 *
 * | GELU on one thread | on two, called again at once | after 0.2 ms | after 2 ms |
 * | --- | --- | --- | --- |
 * | 19 µs | 11 µs | 14 µs | 21 µs |
 * | 70 µs | 37 µs | 40 µs | 46 µs |
 */
const WORTH_SHARING = 20_000

/**
 * Whether it pays to share a call among threads.
 *
 * @param sizes the arguments that are numbers, in their order; those that COSTS uses are enough
 * @param nanoseconds what the call of an operation on elements costs on one thread
 */
export const isWorthSharing = (
  kernel: keyof Functions,
  sizes: readonly number[],
  nanoseconds: number = COSTS[kernel]?.(...sizes) ?? sizes[0],
): boolean => nanoseconds >= WORTH_SHARING
