import type { Functions } from '../wasm/exports.ts'

/**
 * What `run` knows about a kernel, from its sizes and scalars: the arguments that are numbers, in
 * their order.
 */
export interface Cost {
  /** nanoseconds on one thread, roughly: decides whether threads share a call */
  cost: (...sizes: number[]) => number
  /** floats of scratch memory for each part */
  scratch?: (exports: Functions, ...sizes: number[]) => number
}

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
const rowwise = (nanoseconds: number): Cost => ({ cost: (rows, cols) => rows * cols * nanoseconds })

/**
 * Kernels whose last parameters are `part` and `parts`. One that is not here takes no scratch memory, and costs what its
 * caller says, or 1 ns for each of its first size. Kernels without these parameters run in one piece on the calling
 * thread.
 *
 * Nanoseconds were measured on one core with SIMD; a factor of two either way changes little.
 */
export const KERNELS: { readonly [name in keyof Functions]?: Cost } = {
  gpt_linear_forward: {
    cost: product,
    scratch: (exports, rows, inputs) => exports.gpt_linear_scratch_size(rows, inputs),
  },
  gpt_linear_backward: {
    cost: (rows, inputs, outputs) => 2 * product(rows, inputs, outputs),
    scratch: (exports, rows, _inputs, outputs) => exports.gpt_linear_backward_scratch_size(rows, outputs),
  },
  gpt_conv1d_forward: {
    cost: conv1d,
    scratch: (exports, rows, inputs) => exports.gpt_conv1d_scratch_size(rows, inputs),
  },
  gpt_conv1d_backward: {
    cost: (rows, inputs, outputs) => 2 * product(rows, inputs, outputs),
    scratch: (exports, rows, _inputs, outputs) => exports.gpt_conv1d_backward_scratch_size(rows, outputs),
  },
  gpt_feedforward_forward: {
    cost: (rows, dim, hidden) => 2 * product(rows, dim, hidden),
    scratch: (exports, rows, dim, hidden) => exports.gpt_feedforward_scratch_size(rows, dim, hidden),
  },
  gpt_attention_forward: {
    cost: attention,
    scratch: (exports, _batch, tokens, _heads, size) => exports.gpt_attention_scratch_size(tokens, size),
  },
  gpt_attention_cached_forward: {
    cost: (batch, tokens, past, _capacity, heads, size) =>
      batch * heads * size * (tokens * (2 * past + tokens) * MULTIPLY_ADD + past * FLOATS_READ),
    scratch: (exports, _batch, tokens, past, _capacity, heads, size) =>
      exports.gpt_attention_cached_scratch_size(tokens, past, heads, size),
  },
  gpt_attention_int8_forward: {
    cost: (batch, tokens, past, _capacity, heads, size) =>
      batch * heads * size * (tokens * (2 * past + tokens) * MULTIPLY_ADD + past * INT8_READ),
    scratch: (exports, _batch, tokens, past, _capacity, heads, size) =>
      exports.gpt_attention_int8_scratch_size(tokens, past, heads, size),
  },
  gpt_attention_weights: {
    cost: attention,
    scratch: (exports, _batch, tokens, _heads, size) => exports.gpt_attention_scratch_size(tokens, size),
  },
  gpt_attention_backward: {
    cost: (batch, tokens, heads, size) => 2.5 * attention(batch, tokens, heads, size),
    scratch: (exports, _batch, tokens, _heads, size) =>
      exports.gpt_attention_backward_scratch_size(tokens, size),
  },
  gpt_int8_linear_forward: {
    cost: (rows, inputs, outputs) =>
      Math.max(inputs * outputs * INT8_READ, product(rows, inputs, outputs) / 2),
    scratch: (exports, rows, inputs, _outputs, groupSize) =>
      exports.gpt_int8_linear_scratch_size(rows, inputs, groupSize),
  },
  gpt_int8_embedding_forward: { cost: (rows, _count, dim) => rows * dim },
  gpt_sum_columns: { cost: (count, rows, cols) => count * rows * cols * 0.14 },
  gpt_layernorm_forward: rowwise(0.3),
  gpt_layernorm_backward: rowwise(0.7),
  gpt_softmax_forward: rowwise(1.2),
  gpt_softmax_backward: rowwise(0.3),
  gpt_embedding_forward: { cost: (rows, _count, dim) => rows * dim * 0.1 },
  gpt_embedding_backward: {
    cost: (rows, count, dim) => (rows + count) * dim * 0.1,
    scratch: (_exports, rows, count) => rows + count,
  },
  gpt_crossentropy_forward: rowwise(1),
  gpt_crossentropy_backward: rowwise(1),
}
