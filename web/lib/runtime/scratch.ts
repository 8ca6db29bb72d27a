import type { Functions } from '../wasm/exports.ts'

/**
 * Floats of scratch memory for each part of a call, from the sizes of the call: the arguments that are numbers, in their
 * order.
 */
type Scratch = (exports: Functions, ...sizes: number[]) => number

const attention: Scratch = (exports, _batch, tokens, _heads, size) =>
  exports.gpt_attention_scratch_size(tokens, size)

/** The kernels that take scratch memory. */
export const SCRATCH_SIZES: { readonly [name in keyof Functions]?: Scratch } = {
  gpt_linear_forward: (exports, rows, inputs) => exports.gpt_linear_scratch_size(rows, inputs),
  gpt_linear_backward: (exports, rows, _inputs, outputs) =>
    exports.gpt_linear_backward_scratch_size(rows, outputs),
  gpt_conv1d_forward: (exports, rows, inputs) => exports.gpt_conv1d_scratch_size(rows, inputs),
  gpt_conv1d_backward: (exports, rows, _inputs, outputs) =>
    exports.gpt_conv1d_backward_scratch_size(rows, outputs),
  gpt_feedforward_forward: (exports, rows, dim, hidden) =>
    exports.gpt_feedforward_scratch_size(rows, dim, hidden),
  gpt_attention_forward: attention,
  gpt_attention_weights: attention,
  gpt_attention_backward: (exports, _batch, tokens, _heads, size) =>
    exports.gpt_attention_backward_scratch_size(tokens, size),
  gpt_attention_cached_forward: (exports, _batch, tokens, past, _capacity, heads, size) =>
    exports.gpt_attention_cached_scratch_size(tokens, past, heads, size),
  gpt_attention_int8_forward: (exports, _batch, tokens, past, _capacity, heads, size) =>
    exports.gpt_attention_int8_scratch_size(tokens, past, heads, size),
  gpt_int8_linear_forward: (exports, rows, inputs, _outputs, groupSize) =>
    exports.gpt_int8_linear_scratch_size(rows, inputs, groupSize),
  gpt_embedding_backward: (_exports, rows, count) => rows + count,
}
