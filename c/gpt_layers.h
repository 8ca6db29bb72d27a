/* gpt-layers: the layers GPT is made of. This header is the whole C API and its contract.
 *
 * Conventions, for every function below
 *   - Tensors are float32, row-major, contiguous. Sizes count elements. Arguments come in the order
 *     outputs, inputs, sizes, scalars; a generator's state is an output.
 *   - A function returns GPT_OK or a negative gpt_status. It checks its arguments before it writes and leaves its
 *     outputs alone when it refuses: GPT_ERR_NULL for a missing pointer, GPT_ERR_SIZE for sizes whose product
 *     cannot be addressed (or that are 0 where said), GPT_ERR_VALUE for a scalar out of its range.
 *   - Outputs do not overlap inputs, but where "y may be x" says that they may be the same.
 *   - Nothing allocates, prints, aborts or keeps state: whoever calls brings the memory, scratch included.
 *   - A size of 0 means an empty tensor and is no error, unless said otherwise; no pointer may be NULL even so.
 *   - NaN and infinities in the input propagate as in PyTorch.
 *   - `..._backward` takes dy, the loss's gradient with respect to the forward's output y, and writes dx, dweight and so
 *     on, those with respect to its inputs. It writes and does not add to what is there.
 *   - A function that ends in `size_t part, size_t parts` can be cut: it computes part number `part` of `parts`.
 *     `0, 1` is the whole. The parts write different elements, so that as many threads may compute them at
 *     once, and together they give the same bits as the whole. GPT_ERR_VALUE unless part < parts.
 */
#ifndef GPT_LAYERS_H
#define GPT_LAYERS_H

#include <stddef.h>
#include <stdint.h>

/* What WebAssembly exports under its C name: the linker keeps what is `used`. A build that wants less defines it empty. */
#ifndef GPT_API
#define GPT_API __attribute__((used, visibility("default")))
#endif

typedef enum gpt_status { GPT_OK = 0, GPT_ERR_NULL = -1, GPT_ERR_SIZE = -2, GPT_ERR_VALUE = -3 } gpt_status;

/* A status code as an English phrase, in static storage; for any other number "unknown status". */
GPT_API const char *gpt_status_text(int status);

/* ---- Linear: y = x · weightᵀ + bias ------------------------------------------------------------------------
 *   y       [rows, out]
 *   x       [rows, in]
 *   weight  [out, in]    PyTorch's layout, read where it lies
 *   bias    [out]        NULL for none
 *   scratch  gpt_linear_scratch_size(rows, in) floats for each part, contents lost: some rows of x, packed
 */
GPT_API size_t gpt_linear_scratch_size(size_t rows, size_t in);
GPT_API int gpt_linear_forward(float *y, float *scratch, const float *x, const float *weight,
                               const float *bias, size_t rows, size_t in, size_t out, size_t part,
                               size_t parts);

/* dx = dy · weight, dweight = dyᵀ · x, dbias[o] = Σ_r dy[r,o].
 *   dx       [rows, in]    NULL where not wanted, as the next two
 *   dweight  [out, in]
 *   dbias    [out]
 *   scratch  gpt_linear_backward_scratch_size(rows, out) floats for each part, contents lost
 *   dy       [rows, out]
 *   x        [rows, in]
 *   weight   [out, in]
 */
GPT_API size_t gpt_linear_backward_scratch_size(size_t rows, size_t out);
GPT_API int gpt_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                const float *x, const float *weight, size_t rows, size_t in, size_t out,
                                size_t part, size_t parts);

/* nn.Linear's default initialisation, drawn in PyTorch's order: weight ~ kaiming_uniform(a = √5), which is
 * U(-1/√in, 1/√in), then bias ~ U(-1/√in, 1/√in).
 *   weight  [out, in]
 *   bias    [out]        NULL for none: then nothing is drawn for it
 *   random  the generator; see below
 * GPT_ERR_SIZE when in is 0.
 */
struct gpt_random;
GPT_API int gpt_linear_init(float *weight, float *bias, struct gpt_random *random, size_t in, size_t out);

/* ---- Conv1D: y = x · weight + bias, GPT-2's linear layer -------------------------------------------------------
 *   y       [rows, nf]
 *   x       [rows, nx]
 *   weight  [nx, nf]     GPT-2's layout, read where it lies or copied a block at a time
 *   bias    [nf]         NULL for none
 *   scratch  gpt_conv1d_scratch_size(rows, nx) floats for each part, contents lost
 */
GPT_API size_t gpt_conv1d_scratch_size(size_t rows, size_t nx);
GPT_API int gpt_conv1d_forward(float *y, float *scratch, const float *x, const float *weight,
                               const float *bias, size_t rows, size_t nx, size_t nf, size_t part,
                               size_t parts);

/* dx = dy · weightᵀ, dweight = xᵀ · dy, dbias[f] = Σ_r dy[r,f].
 *   dx       [rows, nx]    NULL where not wanted, as the next two
 *   dweight  [nx, nf]
 *   dbias    [nf]
 *   scratch  gpt_conv1d_backward_scratch_size(rows, nf) floats for each part, contents lost
 *   dy       [rows, nf]
 *   x        [rows, nx]
 *   weight   [nx, nf]
 */
GPT_API size_t gpt_conv1d_backward_scratch_size(size_t rows, size_t nf);
GPT_API int gpt_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                const float *x, const float *weight, size_t rows, size_t nx, size_t nf,
                                size_t part, size_t parts);

/* ---- ReLU: y = max(0, x) ------------------------------------------------------------------------------------
 *   y, x  [n]   y may be x. -0 stays -0, NaN stays NaN, as in PyTorch.
 */
GPT_API int gpt_relu_forward(float *y, const float *x, size_t n, size_t part, size_t parts);

/* dx = dy where x > 0, otherwise 0; where x is NaN dy passes, as in PyTorch.   dx, dy, x  [n]   dx may be dy */
GPT_API int gpt_relu_backward(float *dx, const float *dy, const float *x, size_t n, size_t part,
                              size_t parts);

/* ---- GELU: y = x · Φ(x). Hendrycks, Gimpel 2016, arXiv:1606.08415 ------------------------------------------
 *   y, x         [n]   y may be x
 *   approximate  GPT_GELU_TANH: GPT-2's 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
 *                GPT_GELU_ERF:  the exact 0.5·x·(1 + erf(x/√2))
 * Within 1e-6 of float64 (absolute below 1, relative above) at every finite x; -inf gives NaN, as in PyTorch.
 */
typedef enum gpt_gelu_kind { GPT_GELU_TANH = 0, GPT_GELU_ERF = 1 } gpt_gelu_kind;
GPT_API int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts);

/* dx = dy · gelu'(x), the derivative within 1e-6 of float64 at every finite x; at the infinities NaN, as in PyTorch.
 *   dx, dy, x  [n]   dx may be dy */
GPT_API int gpt_gelu_backward(float *dx, const float *dy, const float *x, size_t n, int approximate,
                              size_t part, size_t parts);

/* ---- Layer normalisation over the last axis. Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4 ------------------
 *   y[r,c] = scale[c] · (x[r,c] - mean[r]) · rstd[r] + shift[c],   rstd[r] = 1/√(var[r] + eps)
 *   y, x          [rows, cols]   y may be x
 *   mean, rstd    [rows]         kept for the backward pass; NULL to skip
 *   scale, shift  [cols]
 *   eps           added to the variance (biased: divided by cols); > 0 and finite
 * Within 5e-6 of float64 (absolute below 1, relative above), also where the mean is 1e5 times the deviation; past
 * deviations of 1e18 the squares overflow, as PyTorch's do, and rstd is 0 or NaN.
 * A constant row gives exactly the shift. GPT_ERR_SIZE when cols is 0.
 */
GPT_API int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                                  const float *shift, size_t rows, size_t cols, float eps, size_t part,
                                  size_t parts);

/* With u = (x - mean) · rstd and g = dy · scale, the means over a row and the sums over the rows:
 *   dx = rstd · (g - mean(g) - u · mean(g · u))   [rows, cols]
 *   dscale = Σ dy · u,   dshift = Σ dy            [cols]
 *   each of the three may be NULL where it is not wanted
 *   dy, x       [rows, cols]
 *   mean, rstd  [rows]        as the forward pass wrote them; that the mean is rounded is made up for
 *   scale       [cols]
 * Within 2e-5 of float64, relative to the largest rstd · g of the row, or dy · u or dy of the column. Parts cut the rows
 * for dx and the columns for the other two. GPT_ERR_SIZE when cols is 0.
 */
GPT_API int gpt_layernorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                   const float *mean, const float *rstd, const float *scale, size_t rows,
                                   size_t cols, size_t part, size_t parts);
/* ---- Batch normalisation over the rows. Ioffe, Szegedy 2015, arXiv:1502.03167, algorithm 1 -------------------------
 * The batch's own statistics, for training:
 *   mean, off  [cols]         mean + off is the mean: one float32 is too coarse beside a small deviation
 *   var        [cols]         biased: divided by rows
 *   x          [rows, cols]
 * GPT_ERR_SIZE when rows is 0.
 */
GPT_API int gpt_batchnorm_statistics(float *mean, float *off, float *var, const float *x, size_t rows,
                                     size_t cols, size_t part, size_t parts);

/* running = (1 - momentum) · running + momentum · the batch's, the variance unbiased: divided by rows - 1.
 *   running_mean, running_var  [cols]   read and written
 *   mean, off, var             [cols]   as above
 *   rows      of the batch; GPT_ERR_SIZE below 2
 *   momentum  from 0 to 1
 */
GPT_API int gpt_batchnorm_update(float *running_mean, float *running_var, const float *mean, const float *off,
                                 const float *var, size_t rows, size_t cols, float momentum);

/* y[r,c] = scale[c] · (x[r,c] - mean[c]) / √(var[c] + eps) + shift[c]
 *   y, x                         [rows, cols]   y may be x
 *   mean, off, var, scale, shift [cols]         the batch's statistics or running ones; off NULL for none
 *   eps                          > 0 and finite
 * Within 5e-6 of float64 (absolute below 1, relative above), also where the mean is 1e5 times the deviation. A constant
 * column gives exactly the shift.
 */
GPT_API int gpt_batchnorm_forward(float *y, const float *x, const float *mean, const float *off,
                                  const float *var, const float *scale, const float *shift, size_t rows,
                                  size_t cols, float eps, size_t part, size_t parts);

/* With the batch's own statistics, which depend on x.   dx, dy, x  [rows, cols]   dx may be dy   dscale, dshift  [cols]
 * GPT_ERR_SIZE when rows is 0. */
GPT_API int gpt_batchnorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                   const float *mean, const float *off, const float *var, const float *scale,
                                   size_t rows, size_t cols, float eps, size_t part, size_t parts);

/* ---- Root mean square normalisation over the last axis. Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4 ------------
 *   y[r,c] = scale[c] · x[r,c] · rstd[r],   rstd[r] = 1/√(Σ x[r]² / cols + eps)
 *   y, x   [rows, cols]   y may be x
 *   rstd   [rows]         kept for the backward pass; NULL to skip
 *   scale  [cols]
 *   eps    > 0 and finite
 * Within 1e-6 of float64 (absolute below 1, relative above); past elements of 1e18 the squares overflow, as PyTorch's do.
 * GPT_ERR_SIZE when cols is 0.
 * Backward, with the forward pass's rstd:   dx, dy  [rows, cols]   dx may not be dy   dscale  [cols]
 */
GPT_API int gpt_rmsnorm_forward(float *y, float *rstd, const float *x, const float *scale, size_t rows,
                                size_t cols, float eps, size_t part, size_t parts);
GPT_API int gpt_rmsnorm_backward(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                                 const float *scale, size_t rows, size_t cols, size_t part, size_t parts);

/* ---- Dropout: y = x · 0 with probability p, otherwise x / (1 - p). Srivastava et al. 2014, JMLR 15 -------------
 *   y, x  [n]   y may be x
 *   seed  what is dropped follows from the seed and an element's index alone (its low 32 bits), so that backward is the same
 *         call on dy: dx = dy · 0 or dy / (1 - p). The masks are not PyTorch's.
 *   p     from 0 to 1
 * A dropped NaN or infinity gives NaN, as in PyTorch.
 */
GPT_API int gpt_dropout_forward(float *y, const float *x, size_t n, uint32_t seed, float p, size_t part,
                                size_t parts);

/* ---- Embedding: y[r] = weight[indices[r]] ------------------------------------------------------------------------
 *   y        [rows, dim]
 *   weight   [count, dim]
 *   indices  [rows]         from 0 to count - 1, otherwise GPT_ERR_VALUE
 * Backward: dweight[i] = Σ dy[r] over the rows with indices[r] = i, added in their order.
 *   dweight  [count, dim]   dy  [rows, dim]
 */
GPT_API int gpt_embedding_forward(float *y, const int32_t *indices, const float *weight, size_t rows,
                                  size_t count, size_t dim, size_t part, size_t parts);
GPT_API int gpt_embedding_backward(float *dweight, const float *dy, const int32_t *indices, size_t rows,
                                   size_t count, size_t dim, size_t part, size_t parts);

/* ---- Softmax over the last axis: y[r,c] = e^x[r,c] / Σ e^x[r] ------------------------------------------------------
 *   y, x  [rows, cols]   y may be x
 * Within 1e-6 of float64. A row with NaN or +∞, or of -∞ alone, is NaN, as in PyTorch.
 * Backward: dx = y · (dy - Σ dy·y).   dx, dy, y  [rows, cols]   dx may be dy
 */
GPT_API int gpt_softmax_forward(float *y, const float *x, size_t rows, size_t cols, size_t part,
                                size_t parts);
GPT_API int gpt_softmax_backward(float *dx, const float *dy, const float *y, size_t rows, size_t cols,
                                 size_t part, size_t parts);

/* ---- FeedForward: y = gelu(x · weight1ᵀ + bias1) · weight2ᵀ + bias2 -------------------------------------------
 *   y, x     [rows, dim]
 *   scratch  gpt_feedforward_scratch_size(rows, dim, hidden) floats for each part, contents lost: the hidden
 *            activations exist only a block of rows at a time
 *   weight1  [hidden, dim]     bias1  [hidden]   NULL for none
 *   weight2  [dim, hidden]     bias2  [dim]      NULL for none
 *   approximate  as for gpt_gelu_forward
 * Parts are cut by rows, 8 at a time: part 0 computes all of 8 rows or fewer.
 */
GPT_API size_t gpt_feedforward_scratch_size(size_t rows, size_t dim, size_t hidden);
GPT_API int gpt_feedforward_forward(float *y, float *scratch, const float *x, const float *weight1,
                                    const float *bias1, const float *weight2, const float *bias2, size_t rows,
                                    size_t dim, size_t hidden, int approximate, size_t part, size_t parts);

/* ---- Attention: causal, multi-head. Vaswani et al. 2017, arXiv:1706.03762 ---------------------------------------
 *   y[b,i,h] = Σ over j <= i of w[b,h,i,j] · v[b,j,h],   w[b,h,i] = softmax over j <= i of q[b,i,h] · k[b,j,h] / √size
 *   y        [batch, tokens, heads, size]
 *   lse      [batch, heads, tokens]   log Σ over j <= i of e^score, kept for the backward pass; NULL to skip
 *   scratch  gpt_attention_scratch_size(tokens, size) floats for each part, contents lost; the weights exist a tile at a time
 *   qkv      [batch, tokens, 3, heads, size]   q, k and v side by side, as GPT-2's c_attn gives them
 *   seed, p  dropout: while training each weight is 0 with probability p, from 0 to 1, otherwise w / (1 - p). Which are
 *            follows from the seed and the weight's place alone (c/mask.h), in y and in the gradients alike; the masks are not
 *            PyTorch's. p = 0: none
 * A token depends on nothing that comes after it, not even on NaN. Scores of any finite size are no danger.
 */
GPT_API size_t gpt_attention_scratch_size(size_t tokens, size_t size);
GPT_API int gpt_attention_forward(float *y, float *lse, float *scratch, const float *qkv, size_t batch,
                                  size_t tokens, size_t heads, size_t size, uint32_t seed, float p,
                                  size_t part, size_t parts);

/* The weights themselves, before dropout, from what forward kept; 0 above the diagonal.
 *   w        [batch, heads, tokens, tokens]
 *   scratch  as for gpt_attention_forward
 */
GPT_API int gpt_attention_weights(float *w, float *scratch, const float *qkv, const float *lse, size_t batch,
                                  size_t tokens, size_t heads, size_t size, size_t part, size_t parts);

/* Computes the weights again, a tile at a time.
 *   dqkv     [batch, tokens, 3, heads, size]
 *   scratch  gpt_attention_backward_scratch_size(tokens, size) floats for each part, contents lost
 *   y, lse   as forward gave them, with the same seed and p
 * Parts are cut by heads.
 */
GPT_API size_t gpt_attention_backward_scratch_size(size_t tokens, size_t size);
GPT_API int gpt_attention_backward(float *dqkv, float *scratch, const float *dy, const float *y,
                                   const float *qkv, const float *lse, size_t batch, size_t tokens,
                                   size_t heads, size_t size, uint32_t seed, float p, size_t part,
                                   size_t parts);
/* ---- Cross entropy: loss[r] = -log softmax(logits[r])[targets[r]] -------------------------------------------------
 *   loss      [rows]
 *   max, sum  [rows]         each row's max and Σ e^(logits - max), kept for the backward pass
 *   logits    [rows, cols]
 *   targets   [rows]         from 0 to cols - 1, or GPT_IGNORE for a loss of 0; otherwise GPT_ERR_VALUE
 * Within 1e-6 of float64 (absolute below 1, relative above). A row with NaN or +∞, or all -∞, gives NaN, as in PyTorch.
 * Backward: dlogits = scale · (softmax(logits) - 1 at the target), 0 for a row that is ignored.
 *   dlogits   [rows, cols]   may be logits
 *   scale     the gradient of each row's loss: 1 / rows where their mean is the loss
 */
enum { GPT_IGNORE = -100 };
GPT_API int gpt_crossentropy_forward(float *loss, float *max, float *sum, const float *logits,
                                     const int32_t *targets, size_t rows, size_t cols, size_t part,
                                     size_t parts);
GPT_API int gpt_crossentropy_backward(float *dlogits, const float *logits, const int32_t *targets,
                                      const float *max, const float *sum, size_t rows, size_t cols,
                                      float scale, size_t part, size_t parts);

/* ---- Mean squared error: loss[r] = Σ(x[r] - target[r])² / cols ---------------------------------------------------
 *   loss       [rows]         NaN where cols is 0
 *   x, target  [rows, cols]
 * Backward: dx = scale · (x - target).   dx, x, target  [n]   dx may be x; scale is 2/n where all of it is one mean.
 */
GPT_API int gpt_mse_forward(float *loss, const float *x, const float *target, size_t rows, size_t cols,
                            size_t part, size_t parts);
GPT_API int gpt_mse_backward(float *dx, const float *x, const float *target, size_t n, float scale,
                             size_t part, size_t parts);
/* ---- SGD: one step of stochastic gradient descent, as PyTorch's ---------------------------------------------------
 *   g = grad + decay · weight;  momentum = keep · momentum + (1 - dampening) · g;  weight -= lr · momentum, or
 *   lr · (g + keep · momentum) where nesterov, or lr · g where momentum is NULL
 *   weight, momentum  [n]   read and written
 *   grad              [n]
 */
GPT_API int gpt_sgd_step(float *weight, float *momentum, const float *grad, size_t n, double lr, double keep,
                         double dampening, double decay, int nesterov);

/* ---- AdamW: one step. Loshchilov, Hutter 2019, arXiv:1711.05101 ------------------------------------------------
 *   mean   = beta1 · mean + (1 - beta1) · grad
 *   square = beta2 · square + (1 - beta2) · grad²
 *   weight = weight · (1 - lr · decay) - lr · (mean / correction1) / (√(square / correction2) + eps)
 *   weight, mean, square      [n]   read and written; mean and square are zeros before the first step
 *   grad                      [n]
 *   correction1, correction2  1 - beta1^t and 1 - beta2^t at step t = 1, 2, ...; GPT_ERR_VALUE unless > 0
 */
GPT_API int gpt_adamw_step(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                           double beta1, double beta2, double eps, double decay, double correction1,
                           double correction2);

/* ---- Mean and variance over the last axis ----------------------------------------------------------------------
 *   mean, var  [rows]
 *   x          [rows, cols]
 *   unbiased   0: divided by cols; 1: by cols - 1 (Bessel's correction)
 * NaN where there is nothing to divide by: cols = 0, or cols = 1 and unbiased.
 */
GPT_API int gpt_mean(float *mean, const float *x, size_t rows, size_t cols);
GPT_API int gpt_var(float *var, const float *x, size_t rows, size_t cols, int unbiased);

/* *sum = Σ x², in float64.   x  [n] */
GPT_API int gpt_square_sum(double *sum, const float *x, size_t n);

/* ---- Elementwise arithmetic with broadcasting -------------------------------------------------------------------
 *   y[r,c] = a[r·a_row + c·a_col] ∘ b[r·b_row + c·b_col]
 *   y      [rows, cols]   y may be a, or b, where that one is not broadcast
 *   *_row  how many floats from a row to the next: 0 repeats the row
 *   *_col  1, or 0 to repeat one value along the row; GPT_ERR_VALUE for anything else
 */
GPT_API int gpt_add(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_sub(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_mul(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);
GPT_API int gpt_div(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                    size_t a_col, size_t b_row, size_t b_col);

/* y = √x, NaN below 0.   y, x  [n]   y may be x */
GPT_API int gpt_sqrt(float *y, const float *x, size_t n);

/* y[k,c,r,i] = x[k,r,c,i]: swaps two neighbouring axes.   y [count, cols, rows, inner]   x [count, rows, cols, inner] */
GPT_API int gpt_transpose(float *y, const float *x, size_t count, size_t rows, size_t cols, size_t inner);

/* ---- The generator behind torch.manual_seed: MT19937, and PyTorch's draws from it on the CPU --------------------
 * The state lives in the caller's memory, gpt_random_size() bytes aligned to 8; copying it forks the stream.
 */
typedef struct gpt_random {
    uint32_t state[624];
    uint32_t next;      /* index of the next word of `state`; 624: the state must be turned first */
    uint32_t has_spare; /* 1 while `spare` holds the second half of a Box-Muller pair */
    double spare;
} gpt_random;
GPT_API size_t gpt_random_size(void);

/* torch.manual_seed(seed): only the low 32 bits count, as in PyTorch. */
GPT_API int gpt_random_seed(gpt_random *random, uint32_t seed);

/* y[i] ~ U(low, high), bit for bit Tensor.uniform_ with fused multiply-add (PyTorch on x86 since AVX2).
 *   y  [n]    low, high  low <= high, and high - low finite
 */
GPT_API int gpt_random_uniform(float *y, gpt_random *random, size_t n, float low, float high);

/* The generator's next n words: seeds for what draws by itself.   words  [n] */
GPT_API int gpt_random_words(uint32_t *words, gpt_random *random, size_t n);

/* y[i] ~ N(0, std), bit for bit Tensor.normal_ and, with 1, torch.randn: below 16 elements pairs in float64, from 16 on
 * blocks in float32.
 *   y  [n]    std  >= 0 and finite
 */
GPT_API int gpt_random_normal(float *y, gpt_random *random, size_t n, double std);

/* ---- The WebAssembly builds -------------------------------------------------------------------------------------
 * There are two, and a twin of each that imports a shared memory (as env.memory), for several instances to compute
 * on at once. The first instance must be complete before the next is made: it initialises the memory.
 */

/* 1 where gpt_multiply_add is a relaxed instruction, which rounds once where the machine can; otherwise 0. */
GPT_API int gpt_is_relaxed(void);

/* Lets this instance's stack begin at `top`, aligned to 16, and grow down. Every instance in a shared memory but
 * one needs a stack of its own, 64 KiB as the first one has. Natively it does nothing. */
GPT_API int gpt_stack_set(void *top);

#endif
