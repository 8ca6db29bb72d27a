/* gpt-layers: the layers that GPT is made of. This header is the whole C API and its contract.
 *
 * Tensors are float32, row-major and contiguous. Sizes count elements. The arguments of every function have
 * this order:
 *
 *   forward   y, tensors kept for backward, scratch, x, parameters, sizes, scalars, part, parts
 *   backward  dx, other gradients, scratch, dy, tensors of forward, parameters, sizes, scalars, part, parts
 *
 * The state of a random generator counts as an output.
 *
 * Rules for every function:
 *   - A function returns GPT_OK or a negative gpt_status: GPT_ERR_NULL for a missing pointer, GPT_ERR_SIZE
 *     for sizes that are not addressable or that its text excludes, such as 0, GPT_ERR_VALUE for a scalar or
 *     an index out of range. It checks all arguments before it writes, and leaves the outputs unchanged if it
 *     returns an error.
 *   - Addressable means: a tensor, and the scratch of all parts together, has at most PTRDIFF_MAX / 4 - 31
 *     floats. That is 2 GiB less 128 bytes in WebAssembly. A size of 0 counts as 1 here, so each size and
 *     each product of some sizes of a tensor is addressable, also where the tensor is empty.
 *   - gpt_<layer>_scratch_size returns SIZE_MAX where the sizes or the scratch are not addressable. No memory
 *     has so many floats, and the kernel refuses these sizes with GPT_ERR_SIZE.
 *   - No function allocates, prints, aborts or keeps state. The caller provides all memory, scratch included.
 *     In WebAssembly, memory is free from the exported global __heap_base on. The addresses below it hold the
 *     constants and the stack; a caller that writes there, at 1024 for example, overwrites them.
 *   - Outputs do not overlap inputs. Only where the text says so, an output may be an input ("y may be x").
 *   - A size of 0 means an empty tensor. It is no error unless stated otherwise. Pointers must not be NULL
 *     even then.
 *   - NaN and infinities give what they give in PyTorch.
 *   - "Error: E of float64" bounds |y - exact| / max(1, |exact|): absolute below 1 and relative above.
 *   - `dy` is the gradient of the loss with respect to y; a backward function computes the gradients with
 *     respect to the inputs of forward. It overwrites its outputs; it does not add to them.
 *   - Among several outputs of a backward function, those that are not wanted may be NULL.
 *   - A function that ends in `size_t part, size_t parts` can be divided: it computes part number `part` of
 *     `parts`. `0, 1` is the whole. The parts write different elements, so that as many threads can compute
 *     them at the same time, and together they give the same bits as the whole. GPT_ERR_VALUE unless part <
 *     parts.
 */
#ifndef GPT_LAYERS_H
#define GPT_LAYERS_H

#include <stddef.h>
#include <stdint.h>

/* Exports a function from WebAssembly under its C name: the linker keeps what is `used`. */
#define GPT_API __attribute__((used, visibility("default")))

typedef enum gpt_status { GPT_OK = 0, GPT_ERR_NULL = -1, GPT_ERR_SIZE = -2, GPT_ERR_VALUE = -3 } gpt_status;

/* The meaning of a status code in English, in static memory. "unknown status" for any other number. */
GPT_API const char *gpt_status_text(int status);

/* ---- Linear: y = x · weightᵀ + bias -----------------------------------------------------------------------
 *   y        [rows, out]
 *   scratch  gpt_linear_scratch_size(rows, in) floats for each part, contents lost
 *   x        [rows, in]
 *   weight   [out, in]    PyTorch's layout, read in place
 *   bias     [out]        NULL for none
 * Error: k·u / (1 - k·u) · (Σ_i |x[r,i] · weight[o,i]| + |bias[o]|) with k = in + 4 roundings and u = 2^-24.
 */
GPT_API size_t gpt_linear_scratch_size(size_t rows, size_t in);
GPT_API int gpt_linear_forward(float *y, float *scratch, const float *x, const float *weight,
                               const float *bias, size_t rows, size_t in, size_t out, size_t part,
                               size_t parts);

/* dx = dy · weight, dweight = dyᵀ · x, dbias[o] = Σ_r dy[r,o]; each may be NULL.
 *   dx       [rows, in]
 *   dweight  [out, in]
 *   dbias    [out]
 *   scratch  gpt_linear_backward_scratch_size(rows, out) floats for each part, contents lost
 *   dy       [rows, out]
 *   x        [rows, in]
 *   weight   [out, in]
 * Error of dx: as for forward, with k = out + 4. Of dweight: with k = min(rows, 512) + rows / 512 + 4, since
 * blocks of 512 rows are summed, and then the blocks. Of dbias: with k = 65, and 2^-24 of the result.
 */
GPT_API size_t gpt_linear_backward_scratch_size(size_t rows, size_t out);
GPT_API int gpt_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                const float *x, const float *weight, size_t rows, size_t in, size_t out,
                                size_t part, size_t parts);

/* The default initialization of PyTorch's nn.Linear, with PyTorch's draws: first weight ~ U(-1/√in, 1/√in),
 * which is kaiming_uniform(a = √5), then bias ~ U(-1/√in, 1/√in).
 *   weight  [out, in]
 *   bias    [out]        NULL for none: no numbers are drawn for it
 *   random  the generator, see gpt_random below
 * GPT_ERR_SIZE when in is 0.
 */
struct gpt_random;
GPT_API int gpt_linear_init(float *weight, float *bias, struct gpt_random *random, size_t in, size_t out);

/* ---- Conv1D: y = x · weight + bias, GPT-2's linear layer --------------------------------------------------
 *   y        [rows, nf]
 *   scratch  gpt_conv1d_scratch_size(rows, nx) floats for each part, contents lost
 *   x        [rows, nx]
 *   weight   [nx, nf]     GPT-2's layout, the transpose of Linear's
 *   bias     [nf]         NULL for none
 * Error: as for gpt_linear_forward.
 */
GPT_API size_t gpt_conv1d_scratch_size(size_t rows, size_t nx);
GPT_API int gpt_conv1d_forward(float *y, float *scratch, const float *x, const float *weight,
                               const float *bias, size_t rows, size_t nx, size_t nf, size_t part,
                               size_t parts);

/* dx = dy · weightᵀ, dweight = xᵀ · dy, dbias[f] = Σ_r dy[r,f]; each may be NULL.
 *   dx       [rows, nx]
 *   dweight  [nx, nf]
 *   dbias    [nf]
 *   scratch  gpt_conv1d_backward_scratch_size(rows, nf) floats for each part, contents lost
 *   dy       [rows, nf]
 *   x        [rows, nx]
 *   weight   [nx, nf]
 * Error: as for gpt_linear_backward, with nf for out.
 */
GPT_API size_t gpt_conv1d_backward_scratch_size(size_t rows, size_t nf);
GPT_API int gpt_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                const float *x, const float *weight, size_t rows, size_t nx, size_t nf,
                                size_t part, size_t parts);

/* ---- Weights as int8: weight[o,i] = scale[o, i / group] · value[o,i] --------------------------------------
 * For inference: a quarter of the memory, and a product with one row is as fast as the weights are read.
 *   quantized  gpt_int8_size(out, in, group, dot) bytes, aligned to 4: scales and values; c/int8.h has the
 *              layout
 *   group      inputs with the same scale: even and > 0, otherwise GPT_ERR_VALUE. group >= in: one scale for
 *              each output
 *   dot        for which inner loop the bytes are laid out, the same in all calls with a weight. 1: the relaxed
 *              dot product of bytes, faster where gpt_dot_is_fast(), in build `relaxed` only, otherwise
 *              GPT_ERR_VALUE. 0: products of int16. Both give the same bits
 * Outputs from a multiple o of 32 on are a weight of their own, at gpt_int8_size(o, in, group, dot). So a weight
 * can be written or read in slabs. The size is SIZE_MAX, and the functions return GPT_ERR_SIZE, unless
 * ⌈out/32⌉·32 · ⌈in/2⌉·2 elements are addressable, as if they were floats.
 */
GPT_API size_t gpt_int8_size(size_t out, size_t in, size_t group, int dot);

/* Quantizes the inputs first_in <= i < first_in + ins of a weight.
 *   scale[o,k] = max |weight[o,i]| / 127 over the inputs i of group k, rounded to float32
 *   value[o,i] = weight[o,i] / scale, rounded to float32, then to an integer, to even in a tie; 127 at most,
 *                and 0 if the scale is 0
 *
 *   quantized      has all inputs; those from first_in to first_in + ins are written
 *   weight         the weight of o and i is weight[o·out_step + (i - first_in)·in_step]: the steps are in, 1
 *                  for [out, in], and 1, out for [in, out]. Finite, otherwise GPT_ERR_VALUE
 *   first_in, ins  multiples of group, otherwise GPT_ERR_VALUE; ins may end at the last input instead.
 *                  GPT_ERR_SIZE beyond that
 */
GPT_API int gpt_int8_quantize(int8_t *quantized, const float *weight, size_t out, size_t in, size_t group,
                              size_t first_in, size_t ins, size_t out_step, size_t in_step, int dot);

/* value[o,i] = plain[o,i], and the reverse. The scales are neither written nor read.
 *   plain  [out, in]
 */
GPT_API int gpt_int8_pack(int8_t *quantized, const int8_t *plain, size_t out, size_t in, size_t group,
                          int dot);
GPT_API int gpt_int8_unpack(int8_t *plain, const int8_t *quantized, size_t out, size_t in, size_t group,
                            int dot);

/* weight[o,i] = scale[o, i / group] · value[o,i]
 *   weight  [out, in]
 */
GPT_API int gpt_int8_dequantize(float *weight, const int8_t *quantized, size_t out, size_t in, size_t group,
                                int dot);

/* Linear and Conv1D: y = x · weightᵀ + bias
 *   y        [rows, out]
 *   scratch  gpt_int8_linear_scratch_size(rows, in, group) floats for each part, contents lost. It stops
 *            growing at 64 rows.
 *   x        [rows, in]
 *   bias     [out]        NULL for none
 * x is rounded to 14 bits in runs of at most 128 columns, which are in one group. The largest |x| of a run
 * becomes 8191; it counts as 0 if it is below 2^-100. Above |x| = 2e34, y may overflow. A row of x that
 * contains NaN or an infinity gives NaN. No row depends on another one, and both builds give the same bits.
 * Error: Σ over the runs of max |x[r,i]| / 16382 · Σ_i |weight[o,i]|, for the rounding of x, and k·u /
 * (1 - k·u) · (Σ_i |x[r,i] · weight[o,i]| + |bias[o]|) with k = runs + 10 and u = 2^-24.
 */
GPT_API size_t gpt_int8_linear_scratch_size(size_t rows, size_t in, size_t group);
GPT_API int gpt_int8_linear_forward(float *y, float *scratch, const float *x, const int8_t *quantized,
                                    const float *bias, size_t rows, size_t in, size_t out, size_t group,
                                    int dot, size_t part, size_t parts);

/* Embedding: y[r,c] = weight[indices[r], c]
 *   y          [rows, dim]
 *   indices    [rows]         from 0 to count - 1, otherwise GPT_ERR_VALUE
 *   quantized                 a weight with `count` outputs and `dim` inputs
 */
GPT_API int gpt_int8_embedding_forward(float *y, const int32_t *indices, const int8_t *quantized, size_t rows,
                                       size_t count, size_t dim, size_t group, int dot, size_t part,
                                       size_t parts);

/* ---- ReLU: y = max(0, x) ----------------------------------------------------------------------------------
 *   y, x  [n]   y may be x
 * -0 stays -0 and NaN stays NaN, as in PyTorch.
 */
GPT_API int gpt_relu_forward(float *y, const float *x, size_t n, size_t part, size_t parts);

/* dx = dy where x > 0 or x is NaN, otherwise 0.
 *   dx, dy, x  [n]   dx may be dy
 */
GPT_API int gpt_relu_backward(float *dx, const float *dy, const float *x, size_t n, size_t part,
                              size_t parts);

/* ---- GELU: y = x · Φ(x). Hendrycks, Gimpel 2016, arXiv:1606.08415 -----------------------------------------
 *   y, x         [n]   y may be x
 *   approximate  GPT_GELU_TANH: y = 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), as in GPT-2
 *                GPT_GELU_ERF:  y = 0.5·x·(1 + erf(x/√2)), exact
 * Error: 1e-6 of float64 for every finite x; the tanh form has an rms error of 7e-8 on [-4, 4]. -∞ gives NaN, as
 * in PyTorch.
 */
typedef enum gpt_gelu_kind { GPT_GELU_TANH = 0, GPT_GELU_ERF = 1 } gpt_gelu_kind;
GPT_API int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts);

/* dx = dy · gelu'(x), where gelu' is the derivative of the chosen formula.
 *   dx, dy, x  [n]   dx may be dy
 * Error of gelu'(x): 1e-6 of float64 for every finite x. ±∞ give NaN, as in PyTorch.
 */
GPT_API int gpt_gelu_backward(float *dx, const float *dy, const float *x, size_t n, int approximate,
                              size_t part, size_t parts);

/* ---- Layer normalization over the last axis. Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4 --------------
 *   y[r,c] = scale[c] · (x[r,c] - mean[r]) · rstd[r] + shift[c],   rstd[r] = 1/√(var[r] + eps)
 *   y, x          [rows, cols]   y may be x
 *   mean, rstd    [rows]         written for backward; each may be NULL
 *   scale, shift  [cols]         shift may be NULL: zeros
 *   eps           added to the variance; >= 0 and finite
 * The variance is biased (divided by cols). A constant row gives exactly the shift; with eps 0, NaN, as in
 * PyTorch. GPT_ERR_SIZE if cols is 0.
 * Error: 5e-6 of float64 for all finite numbers, also where the mean is 1e5 times the deviation. With eps
 * below 1e-30 the deviation must be above 1e-30.
 */
GPT_API int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                                  const float *shift, size_t rows, size_t cols, float eps, size_t part,
                                  size_t parts);

/* With u = (x - mean) · rstd and g = dy · scale:
 *   dx = rstd · (g - mean(g) - u · mean(g · u))   [rows, cols]   means over the row
 *   dscale = Σ dy · u,   dshift = Σ dy            [cols]         sums over the rows
 *   dy, x       [rows, cols]
 *   mean, rstd  [rows]         as written by forward; the kernel corrects the rounding of the mean
 *   scale       [cols]
 * GPT_ERR_SIZE if cols is 0.
 * Error: 2e-5 of the largest |rstd · g| in the row for dx; 1e-5 of Σ |dy| · max(1, |u|) for dscale and of
 * Σ |dy| for dshift, at any number of rows.
 */
GPT_API int gpt_layernorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                   const float *mean, const float *rstd, const float *scale, size_t rows,
                                   size_t cols, size_t part, size_t parts);

/* ---- Batch normalization over the rows. Ioffe, Szegedy 2015, arXiv:1502.03167, algorithm 1 ----------------
 * The statistics of a batch, for training:
 *   mean, off  [cols]         the mean is mean + off: a single float32 is too coarse beside a small deviation
 *   var        [cols]         biased (divided by rows); infinite for deviations above 1.8e19
 *   x          [rows, cols]
 * GPT_ERR_SIZE if rows is 0.
 */
GPT_API int gpt_batchnorm_statistics(float *mean, float *off, float *var, const float *x, size_t rows,
                                     size_t cols, size_t part, size_t parts);

/* Moves the running statistics towards those of a batch, with the unbiased variance:
 *   running_mean = (1 - momentum) · running_mean + momentum · (mean + off)
 *   running_var  = (1 - momentum) · running_var  + momentum · var · rows / (rows - 1)
 *
 *   running_mean, running_var  [cols]   read and written
 *   mean, off, var             [cols]   as written by gpt_batchnorm_statistics
 *   rows                       of the batch; GPT_ERR_SIZE below 2
 *   momentum                   from 0 to 1
 */
GPT_API int gpt_batchnorm_update(float *running_mean, float *running_var, const float *mean, const float *off,
                                 const float *var, size_t rows, size_t cols, float momentum);

/* y[r,c] = scale[c] · (x[r,c] - mean[c] - off[c]) · rstd[c] + shift[c],   rstd[c] = 1/√(var[c] + eps)
 *   y, x            [rows, cols]   y may be x
 *   mean, off, var  [cols]         of the batch, or running ones, for which off is NULL
 *   scale, shift    [cols]
 *   eps             added to the variance; >= 0 and finite
 * A constant column of a batch gives exactly the shift, also with eps 0, as in PyTorch.
 * Error: 5e-6 of float64 for all finite numbers, also where the mean is 1e5 times the deviation. With eps
 * below 1e-30 the deviation must be above 1e-30. In a batch with a deviation above 1.8e19, var is infinite:
 * rstd is then computed from x.
 */
GPT_API int gpt_batchnorm_forward(float *y, const float *x, const float *mean, const float *off,
                                  const float *var, const float *scale, const float *shift, size_t rows,
                                  size_t cols, float eps, size_t part, size_t parts);

/* With the statistics of the batch, which depend on x, and u = (x - mean - off) · rstd; means and sums over
 * the rows:
 *   dx = scale · rstd · (dy - mean(dy) - u · mean(dy · u))   [rows, cols]
 *   dscale = Σ dy · u,   dshift = Σ dy                       [cols]
 *   dy, x                  [rows, cols]
 *   mean, off, var, scale  [cols]
 *   eps                    as for forward
 * GPT_ERR_SIZE if rows is 0.
 * Error: 5e-6 of |scale · rstd| · max(1, |u|) · the largest |dy| in the column for dx; 5e-6 of
 * Σ |dy| · max(1, |u|) for dscale and of Σ |dy| for dshift, at any number of rows.
 */
GPT_API int gpt_batchnorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                   const float *mean, const float *off, const float *var, const float *scale,
                                   size_t rows, size_t cols, float eps, size_t part, size_t parts);

/* ---- Root mean square normalization over the last axis. Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4 -----
 *   y[r,c] = scale[c] · x[r,c] · rstd[r],   rstd[r] = 1/√(Σ x[r]² / cols + eps)
 *   y, x   [rows, cols]   y may be x
 *   rstd   [rows]         written for backward; may be NULL
 *   scale  [cols]
 *   eps    added to the mean square; >= 0 and finite
 * With eps 0 a row of zeros gives NaN, as in PyTorch. GPT_ERR_SIZE if cols is 0.
 * Error: 1e-6 of float64 for all finite numbers. With eps below 1e-30 the root mean square must be above
 * 1e-30.
 */
GPT_API int gpt_rmsnorm_forward(float *y, float *rstd, const float *x, const float *scale, size_t rows,
                                size_t cols, float eps, size_t part, size_t parts);

/* With u = x · rstd and g = dy · scale:
 *   dx = rstd · (g - u · mean(g · u))   [rows, cols]   mean over the row
 *   dscale = Σ dy · u                   [cols]         sum over the rows
 *   dy, x  [rows, cols]
 *   rstd   [rows]         as written by forward
 *   scale  [cols]
 * GPT_ERR_SIZE if cols is 0.
 * Error: 5e-6 of rstd · max(1, |u|) · the largest |g| in the row for dx; 5e-6 of Σ |dy · u| for dscale, at
 * any number of rows.
 */
GPT_API int gpt_rmsnorm_backward(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                                 const float *scale, size_t rows, size_t cols, size_t part, size_t parts);

/* ---- Dropout. Srivastava et al. 2014, JMLR 15 -------------------------------------------------------------
 *   y[i] = 0 · x[i] with probability p, otherwise x[i] / (1 - p)
 *   y, x  [n]   y may be x
 *   seed  the seed and the low 32 bits of i decide whether element i is dropped (see mask.h)
 *   p     from 0 to 1
 * A dropped NaN or infinity gives NaN, as in PyTorch. The masks differ from PyTorch's. Backward is the same
 * call on dy: dx[i] = 0 · dy[i] where element i was dropped, otherwise dy[i] / (1 - p).
 */
GPT_API int gpt_dropout_forward(float *y, const float *x, size_t n, uint32_t seed, float p, size_t part,
                                size_t parts);

/* ---- Embedding: y[r] = weight[indices[r]] -----------------------------------------------------------------
 *   y        [rows, dim]
 *   indices  [rows]         from 0 to count - 1, otherwise GPT_ERR_VALUE
 *   weight   [count, dim]
 */
GPT_API int gpt_embedding_forward(float *y, const int32_t *indices, const float *weight, size_t rows,
                                  size_t count, size_t dim, size_t part, size_t parts);

/* dweight[i] = Σ dy[r] over the rows r with indices[r] = i.
 *   dweight  [count, dim]
 *   scratch  [rows + count] for each part, contents lost
 *   dy       [rows, dim]
 *   indices  [rows]
 * Error: 4e-6 of Σ |dy[r]| over these rows, however many they are.
 * GPT_ERR_SIZE also for 2^31 - 1 rows or more.
 */
GPT_API int gpt_embedding_backward(float *dweight, float *scratch, const float *dy, const int32_t *indices,
                                   size_t rows, size_t count, size_t dim, size_t part, size_t parts);

/* ---- Softmax over the last axis: y[r,c] = e^x[r,c] / Σ e^x[r] ---------------------------------------------
 *   y, x  [rows, cols]   y may be x
 * A row that contains NaN or +∞, or consists of -∞, gives NaN, as in PyTorch.
 * Error: 1e-6 of float64.
 */
GPT_API int gpt_softmax_forward(float *y, const float *x, size_t rows, size_t cols, size_t part,
                                size_t parts);

/* dx = y · (dy - Σ dy·y), sum over the row.
 *   dx, dy, y  [rows, cols]   dx may be dy; y as written by forward, so that Σ y = 1
 * Error: 2e-5 of max_c y[c] · Σ_k y[k] · |dy[c] - dy[k]|, and 4e-6 of y[c] · max |dy|; where y[c] is near 1,
 * 4e-6 of the sum of the other y · max |dy|.
 */
GPT_API int gpt_softmax_backward(float *dx, const float *dy, const float *y, size_t rows, size_t cols,
                                 size_t part, size_t parts);

/* ---- FeedForward: y = gelu(x · weight1ᵀ + bias1) · weight2ᵀ + bias2 ---------------------------------------
 *   y            [rows, dim]
 *   scratch      gpt_feedforward_scratch_size(rows, dim, hidden) floats for each part, contents lost. It
 *                holds the hidden activations of 64 rows at a time, so it stops growing with the rows.
 *   x            [rows, dim]
 *   weight1      [hidden, dim]
 *   bias1        [hidden]        NULL for none
 *   weight2      [dim, hidden]
 *   bias2        [dim]           NULL for none
 *   approximate  as for gpt_gelu_forward
 * The bits are those of Linear, GELU and Linear. Parts divide the rows, 8 at a time: of 8 rows or fewer,
 * part 0 computes all.
 * Error: 1e-5 of float64 for |x| <= 3 and weights as gpt_linear_init draws them.
 */
GPT_API size_t gpt_feedforward_scratch_size(size_t rows, size_t dim, size_t hidden);
GPT_API int gpt_feedforward_forward(float *y, float *scratch, const float *x, const float *weight1,
                                    const float *bias1, const float *weight2, const float *bias2, size_t rows,
                                    size_t dim, size_t hidden, int approximate, size_t part, size_t parts);

/* ---- Attention: causal, multi-head. Vaswani et al. 2017, arXiv:1706.03762, eq. 1 --------------------------
 * For each sequence and head, with queries i and keys j <= i:
 *   score[i,j] = q[i] · k[j] / √size
 *   max[i]     = max_j score[i,j],   sum[i] = Σ_j e^(score[i,j] - max[i])
 *   w[i,j]     = e^(score[i,j] - max[i]) / sum[i]        softmax
 *   y[i]       = Σ_j m[i,j] · w[i,j] · v[j]     m: dropout, 0 with probability p, otherwise 1 / (1 - p)
 *
 *   y         [batch, tokens, heads, size]
 *   max, sum  [batch, heads, tokens]            written for weights and backward; each may be NULL
 *   scratch   gpt_attention_scratch_size(tokens, size) floats for each part, contents lost. It stops growing
 *             with the tokens: no [tokens, tokens] matrix is stored.
 *   qkv       [batch, tokens, 3, heads, size]   q, k and v side by side, as GPT-2's c_attn gives them
 *   seed      m[i,j] depends only on the seed and on the position of w[i,j], so that backward finds the same
 *             m. The masks are not PyTorch's.
 *   p         from 0 to 1; 0 for no dropout
 * A token does not depend on later tokens, not even if they are NaN. Finite scores do not overflow, however
 * large they are.
 * GPT_ERR_SIZE if size is 0.
 * Error: 3e-6 + 2^-22 · S of float64 for w, and max(1, |v|) times that for y. S is the largest
 * Σ_c |q[i,c] · k[j,c]| / √size: the scores are rounded to float32.
 */
GPT_API size_t gpt_attention_scratch_size(size_t tokens, size_t size);
GPT_API int gpt_attention_forward(float *y, float *max, float *sum, float *scratch, const float *qkv,
                                  size_t batch, size_t tokens, size_t heads, size_t size, uint32_t seed,
                                  float p, size_t part, size_t parts);

/* The weights w before dropout. w[i,j] = 0 for j > i.
 *   w         [batch, heads, tokens, tokens]
 *   scratch   as for gpt_attention_forward
 *   max, sum  as gpt_attention_forward wrote them
 */
GPT_API int gpt_attention_weights(float *w, float *scratch, const float *qkv, const float *max,
                                  const float *sum, size_t batch, size_t tokens, size_t heads, size_t size,
                                  size_t part, size_t parts);

/* With a cache: appends the keys and values of new tokens, then y of these tokens, without dropout. The keys
 * are those of the positions 0 ... past + tokens - 1; new token t is at position past + t.
 *   y             [batch, tokens, heads, size]
 *   keys, values  batch · heads · gpt_attention_cache_size(capacity, size) floats each, in a layout of the
 *                 kernel's own. What is at the positions from past on is overwritten or ignored.
 *   scratch       gpt_attention_cached_scratch_size(tokens, past, heads, size) floats for each part, contents
 *                 lost
 *   qkv           [batch, tokens, 3, heads, size]   of the new tokens
 *   capacity      positions that the cache has room for; GPT_ERR_SIZE unless past + tokens <= capacity
 * Parts divide the heads of all sequences.
 * Error: as for gpt_attention_forward.
 */
GPT_API size_t gpt_attention_cache_size(size_t capacity, size_t size);
GPT_API size_t gpt_attention_cached_scratch_size(size_t tokens, size_t past, size_t heads, size_t size);
GPT_API int gpt_attention_cached_forward(float *y, float *keys, float *values, float *scratch,
                                         const float *qkv, size_t batch, size_t tokens, size_t past,
                                         size_t capacity, size_t heads, size_t size, size_t part,
                                         size_t parts);

/* The same with a cache in int8: a scale for each token and head, the largest |k| or |v| / 127. `dot`: as for
 * gpt_int8_linear_forward.
 *   keys, values  batch · heads · gpt_attention_int8_cache_size(capacity, size) floats each
 *   scratch       gpt_attention_int8_scratch_size(tokens, past, heads, size) floats for each part
 * A key or value with a NaN or an infinity counts as NaN in all its columns; one whose largest number is
 * below 2^-100 counts as 0. y has the same bits in both builds, however a text is cut into calls.
 * Error, against exact attention with the cache's keys and values, for heads of up to 2048 columns: as for
 * gpt_attention_forward, and more for rounding q and the weights to 14 bits. With a step of 2^-14 · max |q|, a
 * score is off by at most step · Σ_c |k[j,c]| / √size, and y by that times twice the largest |v|, and by
 * 2^-10 · max |v|.
 */
GPT_API size_t gpt_attention_int8_cache_size(size_t capacity, size_t size);
GPT_API size_t gpt_attention_int8_scratch_size(size_t tokens, size_t past, size_t heads, size_t size);
GPT_API int gpt_attention_int8_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                                       size_t batch, size_t tokens, size_t past, size_t capacity,
                                       size_t heads, size_t size, int dot, size_t part, size_t parts);

/* The weights are computed again from max and sum, a tile at a time:
 *   dw[i,j]     = m[i,j] · (dy[i] · v[j])
 *   dscore[i,j] = w[i,j] · (dw[i,j] - dy[i] · y[i])     since dy[i] · y[i] = Σ_j w[i,j] · dw[i,j]
 *   dq[i]       = Σ over j <= i of dscore[i,j] · k[j] / √size
 *   dk[j]       = Σ over i >= j of dscore[i,j] · q[i] / √size
 *   dv[j]       = Σ over i >= j of m[i,j] · w[i,j] · dy[i]
 *
 *   dqkv              [batch, tokens, 3, heads, size]   dq, dk and dv side by side
 *   scratch           gpt_attention_backward_scratch_size(tokens, size) floats for each part, contents lost
 *   dy                [batch, tokens, heads, size]
 *   y, qkv, max, sum  as in gpt_attention_forward, with the same seed and p
 * Parts divide the heads of all sequences.
 * Error: 1e-5 of float64, relative to the largest gradient.
 */
GPT_API size_t gpt_attention_backward_scratch_size(size_t tokens, size_t size);
GPT_API int gpt_attention_backward(float *dqkv, float *scratch, const float *dy, const float *y,
                                   const float *qkv, const float *max, const float *sum, size_t batch,
                                   size_t tokens, size_t heads, size_t size, uint32_t seed, float p,
                                   size_t part, size_t parts);

/* ---- Cross entropy: loss[r] = -log softmax(logits[r])[targets[r]] -----------------------------------------
 *   loss      [rows]
 *   max, sum  [rows]         max(logits) and Σ e^(logits - max), written for backward; each may be NULL
 *   logits    [rows, cols]
 *   targets   [rows]         from 0 to cols - 1; GPT_IGNORE gives a loss of 0; otherwise GPT_ERR_VALUE
 *   smoothing                from 0 to 1: the share of the loss that is the mean of -log softmax(logits[r])
 *                            over all classes, as PyTorch's label_smoothing
 * A row that contains NaN or +∞, or consists of -∞, gives NaN, as in PyTorch.
 * Error: 1e-6 of float64.
 */
enum { GPT_IGNORE = -100 };
GPT_API int gpt_crossentropy_forward(float *loss, float *max, float *sum, const float *logits,
                                     const int32_t *targets, size_t rows, size_t cols, float smoothing,
                                     size_t part, size_t parts);

/* dlogits[r,c] = scale · (softmax(logits[r])[c] - (1 - smoothing) · [c = targets[r]] - smoothing / cols), and
 * 0 for a row with target GPT_IGNORE.
 *   dlogits   [rows, cols]   may be logits
 *   logits    [rows, cols]
 *   targets   [rows]
 *   max, sum  [rows]         as written by forward
 *   scale     the gradient of every row's loss: 1/rows if the loss is the mean of the rows
 * Error: 2e-6 of the largest |dlogits| in the row, also where the target's softmax is near 1, if the logits
 * differ by less than 80; and smoothing · scale · 1e-6.
 */
GPT_API int gpt_crossentropy_backward(float *dlogits, const float *logits, const int32_t *targets,
                                      const float *max, const float *sum, size_t rows, size_t cols,
                                      float scale, float smoothing, size_t part, size_t parts);

/* ---- Mean squared error: loss[r] = Σ (x[r] - target[r])² / cols -------------------------------------------
 *   loss       [rows]         NaN if cols is 0
 *   x, target  [rows, cols]
 */
GPT_API int gpt_mse_forward(float *loss, const float *x, const float *target, size_t rows, size_t cols,
                            size_t part, size_t parts);

/* dx = scale · (x - target)
 *   dx, x, target  [n]   dx may be x
 *   scale          2/n if the loss is the mean of all n squares
 */
GPT_API int gpt_mse_backward(float *dx, const float *x, const float *target, size_t n, float scale,
                             size_t part, size_t parts);

/* ---- SGD: one step of stochastic gradient descent, as in PyTorch ------------------------------------------
 *   g        = grad + decay · weight
 *   velocity = momentum · velocity + (1 - dampening) · g
 *   step     = g                         if velocity is NULL
 *              velocity                  if nesterov is 0
 *              g + momentum · velocity   otherwise
 *   weight   = weight - lr · step
 *   weight, velocity  [n]   read and written
 *   grad              [n]
 */
GPT_API int gpt_sgd_step(float *weight, float *velocity, const float *grad, size_t n, double lr,
                         double momentum, double dampening, double decay, int nesterov);

/* ---- Adam and AdamW: one step. Loshchilov, Hutter 2019, arXiv:1711.05101, algorithm 2 ---------------------
 *   g      = grad + decay · weight             if decoupled is 0: Adam
 *            grad                              otherwise: AdamW
 *   mean   = beta1 · mean + (1 - beta1) · g
 *   square = beta2 · square + (1 - beta2) · g²
 *   weight = weight · (1 - lr · decay)         if decoupled is not 0
 *   weight = weight - lr · (mean / correction1) / (√(square / correction2) + eps)
 *   weight, mean, square      [n]   read and written; mean and square are 0 before the first step
 *   grad                      [n]
 *   correction1, correction2  1 - beta1^t and 1 - beta2^t at step t = 1, 2, ...; > 0
 */
GPT_API int gpt_adam_step(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                          double beta1, double beta2, double eps, double decay, double correction1,
                          double correction2, int decoupled);

/* ---- Mean, variance, sum and maximum over the last axis ---------------------------------------------------
 *   mean, var  [rows]
 *   x          [rows, cols]
 *   unbiased   0: divide the squares by cols; 1: by cols - 1 (Bessel's correction)
 * NaN if the divisor is 0: for cols = 0, and for an unbiased variance with cols = 1.
 */
GPT_API int gpt_mean(float *mean, const float *x, size_t rows, size_t cols);
GPT_API int gpt_var(float *var, const float *x, size_t rows, size_t cols, int unbiased);

/* sum[r] = Σ_c x[r,c], computed in float64; for cols < 8 in float32 and in PyTorch's order. 0 if cols is 0.
 *   sum  [rows]
 *   x    [rows, cols]
 */
GPT_API int gpt_sum(float *sum, const float *x, size_t rows, size_t cols);

/* sum[k,c] = Σ_r x[k,r,c]: blocks of 64 rows in float32, and the blocks in float64. 0 if rows is 0.
 *   sum  [count, cols]
 *   x    [count, rows, cols]
 * Error: 2e-6 · Σ_r |x[k,r,c]|.
 */
GPT_API int gpt_sum_columns(float *sum, const float *x, size_t count, size_t rows, size_t cols, size_t part,
                            size_t parts);

/* The largest element of each row, and where it is. NaN counts as the largest. Of equal elements, the first
 * one counts, as in PyTorch; 0 and -0 are equal.
 *   max      [rows]         each of the two outputs may be NULL
 *   indices  [rows]         its column
 *   x        [rows, cols]
 * GPT_ERR_SIZE if cols is 0 or above 2^31 - 1, which int32 cannot count.
 */
GPT_API int gpt_max(float *max, int32_t *indices, const float *x, size_t rows, size_t cols);

/* *sum = Σ x², computed in float64.
 *   x  [n]
 */
GPT_API int gpt_square_sum(double *sum, const float *x, size_t n);

/* ---- Elementwise operations with broadcasting -------------------------------------------------------------
 *   y[r,c] = a[r·a_row + c·a_col] ∘ b[r·b_row + c·b_col]
 * ∘ is +, -, ·, /, the larger or the smaller one (NaN where one of them is NaN; 0 is larger than -0), or a
 * comparison =, ≠, < or ≤, which gives 1 or 0.
 *   y             [rows, cols]   y may be a or b, if that operand is not broadcast
 *   a_row, b_row  floats from one row to the next; 0 repeats a single row
 *   a_col, b_col  floats from one column to the next: 1, or 0 to repeat a single column
 */
GPT_API int gpt_add(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_sub(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_mul(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_div(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_maximum(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                        size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_minimum(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                        size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_eq(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                   size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_ne(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                   size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_lt(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                   size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_le(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                   size_t a_col, size_t b_row, size_t b_col);

/* y[r,c] = condition[r,c] ≠ 0 ? a[r,c] : b[r,c], each of the three broadcast as above. NaN is not 0.
 *   y  [rows, cols]   y may be a or b, if that operand is not broadcast
 */
GPT_API int gpt_where(float *y, const float *condition, const float *a, const float *b, size_t rows,
                      size_t cols, size_t condition_row, size_t condition_col, size_t a_row, size_t a_col,
                      size_t b_row, size_t b_col);

/* y = √x, NaN for x < 0.
 *   y, x  [n]   y may be x
 */
GPT_API int gpt_sqrt(float *y, const float *x, size_t n);

/* y = e^x, from denormals to infinity.
 *   y, x  [n]   y may be x
 * Error: 4e-7 of float64, relative to y; for denormal y half a unit in the last place more.
 */
GPT_API int gpt_exp(float *y, const float *x, size_t n);

/* y = ln x: -infinity for 0, NaN for x < 0.
 *   y, x  [n]   y may be x
 * Error: 2e-7 of float64, relative to y.
 */
GPT_API int gpt_log(float *y, const float *x, size_t n, size_t part, size_t parts);

/* y = tanh x.
 *   y, x  [n]   y may be x
 * Error: 4e-7 of float64, relative to y.
 */
GPT_API int gpt_tanh(float *y, const float *x, size_t n, size_t part, size_t parts);

/* y = erf(x) = 2/√π · ∫ e^(-t²) dt from 0 to x.
 *   y, x  [n]   y may be x
 * Error: 2e-7 of float64, relative to y.
 */
GPT_API int gpt_erf(float *y, const float *x, size_t n, size_t part, size_t parts);

/* y = x^exponent: NaN for x < 0 if the exponent is no integer, and 1 for the exponent 0.
 *   y, x  [n]   y may be x
 * Error: 2e-7 of float64, relative to y; for denormal y half a unit in the last place more.
 */
GPT_API int gpt_pow(float *y, const float *x, size_t n, float exponent, size_t part, size_t parts);

/* y = |x|.
 *   y, x  [n]   y may be x
 */
GPT_API int gpt_abs(float *y, const float *x, size_t n, size_t part, size_t parts);

/* dx = dy · sign(x). The sign of 0 and of NaN is 0.
 *   dx, dy, x  [n]   dx may be dy
 */
GPT_API int gpt_abs_backward(float *dx, const float *dy, const float *x, size_t n, size_t part, size_t parts);

/* y = sin x, or cos x, of any finite x in radians; NaN for an infinity.
 *   y, x  [n]   y may be x
 * Error: 7e-8 of float64, relative to y.
 */
GPT_API int gpt_sin(float *y, const float *x, size_t n, size_t part, size_t parts);
GPT_API int gpt_cos(float *y, const float *x, size_t n, size_t part, size_t parts);

/* y = σ(x) = 1 / (1 + e^(-x)).
 *   y, x  [n]   y may be x
 * Error: 6e-7 of float64, relative to y; 0 below x = -88.8, where y is less than 3e-39.
 */
GPT_API int gpt_sigmoid(float *y, const float *x, size_t n, size_t part, size_t parts);

/* ---- SiLU: y = x · σ(x). Elfwing, Uchibe, Doya 2017, arXiv:1702.03118 -------------------------------------
 *   y, x  [n]   y may be x
 * Error: 7e-7 of float64, relative to y; 0 below x = -88.8, where |y| is less than 3e-37. -infinity gives NaN,
 * as in PyTorch.
 */
GPT_API int gpt_silu_forward(float *y, const float *x, size_t n, size_t part, size_t parts);

/* dx = dy · σ(x) · (1 + x · (1 - σ(x))).
 *   dx, dy, x  [n]   dx may be dy
 * Error of the derivative: 1e-6 of float64 for every finite x.
 */
GPT_API int gpt_silu_backward(float *dx, const float *dy, const float *x, size_t n, size_t part,
                              size_t parts);

/* y = min(max(x, low), high): high, where low is larger. NaN where x, low or high is NaN.
 *   y, x  [n]   y may be x
 */
GPT_API int gpt_clamp(float *y, const float *x, size_t n, float low, float high, size_t part, size_t parts);

/* dx = dy where low <= x <= high, otherwise 0.
 *   dx, dy, x  [n]   dx may be dy
 */
GPT_API int gpt_clamp_backward(float *dx, const float *dy, const float *x, size_t n, float low, float high,
                               size_t part, size_t parts);

/* y[k,c,r,i] = x[k,r,c,i]: swaps two neighboring axes.
 *   y  [count, cols, rows, inner]
 *   x  [count, rows, cols, inner]
 */
GPT_API int gpt_transpose(float *y, const float *x, size_t count, size_t rows, size_t cols, size_t inner);

/* ---- Random numbers: MT19937, the generator of torch.manual_seed, and PyTorch's draws on the CPU ----------
 * The state is in the caller's memory: gpt_random_size() bytes, aligned to 8. Copying the state forks the
 * stream.
 */
typedef struct gpt_random {
    uint32_t state[624];
    uint32_t next;      /* index of the next word in `state`; 624 if all words are used up */
    uint32_t has_spare; /* 1 while `spare` holds the second half of a Box-Muller pair */
    double spare;
} gpt_random;
GPT_API size_t gpt_random_size(void);

/* Like torch.manual_seed(seed), which uses only the low 32 bits of its seed. */
GPT_API int gpt_random_seed(gpt_random *random, uint32_t seed);

/* y[i] ~ U(low, high): the same bits as Tensor.uniform_ of a PyTorch with fused multiply-add (x86 with AVX2).
 *   y          [n]
 *   low, high  low <= high, and high - low is finite
 */
GPT_API int gpt_random_uniform(float *y, gpt_random *random, size_t n, float low, float high);

/* The next n words of the generator, for example as seeds of gpt_dropout_forward.
 *   words  [n]
 */
GPT_API int gpt_random_words(uint32_t *words, gpt_random *random, size_t n);

/* y[i] ~ N(mean, std): the same bits as Tensor.normal_ and, of N(0, 1), torch.randn. As in PyTorch, fewer than
 * 16 elements are drawn as pairs in float64, and 16 or more as blocks of 16 in float32.
 *   y     [n]
 *   mean  finite
 *   std   >= 0 and finite
 */
GPT_API int gpt_random_normal(float *y, gpt_random *random, size_t n, double mean, double std);

/* ---- The WebAssembly builds -------------------------------------------------------------------------------
 * There are two builds, simd and relaxed. Each has a twin for threads, which imports a shared memory
 * (env.memory). Several instances of the twin compute in that memory at the same time. The first instance
 * initializes the memory, so it must be complete before the next one is created.
 */

/* 1 in the relaxed build, where gpt_multiply_add is fused and rounds once if the machine supports it.
 * Otherwise 0. */
GPT_API int gpt_is_relaxed(void);

/* 1 where the engine makes one instruction of the relaxed dot product of bytes, so that `dot` is faster than the
 * other loop; otherwise 0. It takes no time: the result of such a product tells. */
GPT_API int gpt_dot_is_fast(void);

/* Moves the stack of this instance: it starts at `top`, which is aligned to 16, and grows down. In a
 * shared memory every instance but one needs its own stack of 64 KiB, the size of the first one. Does
 * nothing in a native program. */
GPT_API int gpt_stack_set(void *top);

#endif
