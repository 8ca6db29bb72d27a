/* The references: the equations as a textbook has them, in scalar code. Every sum is in float64, and only the
 * results are rounded to float32.
 *
 * gpt_<name>_ref writes the outputs of gpt_<name> in gpt_layers.h. Its arguments are those of gpt_<name>
 * in the same order, without part, parts and scratch, and without sizes that it does not need. It checks
 * nothing.
 *
 * c/reference.h has those of the layers whose file reads as a textbook. The others are here: of operations
 * whose equation needs no explanation, and of kernels whose layouts and helpers a reference must not share
 * with what it judges. Without a reference: random numbers, gpt_transpose and gpt_batchnorm_update.
 * Their tests compare with known values.
 */
#ifndef GPT_TEST_REFERENCE_H
#define GPT_TEST_REFERENCE_H

#include "../../c/reference.h"

/* Linear, whose weight is [out, in], and Conv1D, whose weight is [in, out]. */
void gpt_affine_forward_ref(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                            size_t in, size_t out, int is_conv1d);
void gpt_affine_backward_ref(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                             const float *weight, size_t rows, size_t in, size_t out, int is_conv1d);

/* A weight [out, in] as int8, in one of the layouts of c/int8.h. */
typedef struct int8_weight {
    size_t out, in, group;
    int dot;
    int8_t *bytes;
} int8_weight;

/* Of output o, which may be one that fills up a block, and of input i: where the scale is, where the sum of the
 * values of i's run is (for `dot` only), and the value. */
float *int8_scale(int8_weight w, size_t o, size_t i);
int16_t *int8_sum(int8_weight w, size_t o, size_t i);
int int8_value(int8_weight w, size_t o, size_t i);
/* The byte of input i + k in the run that begins at input i, and its value. A run is filled up to a multiple of 4
 * inputs, and k may also be one of the inputs that fill it up. */
int8_t *int8_byte_of_run(int8_weight w, size_t o, size_t i, size_t k);
int int8_value_of_run(int8_weight w, size_t o, size_t i, size_t k);
/* The end of i's run: of at most 128 inputs of a group. */
size_t int8_run_end(int8_weight w, size_t i);

void gpt_int8_linear_forward_ref(float *y, const float *x, int8_weight weight, const float *bias,
                                 size_t rows);
void gpt_int8_embedding_forward_ref(float *y, const int32_t *indices, int8_weight weight, size_t rows);
void gpt_batchnorm_statistics_ref(float *mean, float *off, float *var, const float *x, size_t rows,
                                  size_t cols);
void gpt_batchnorm_forward_ref(float *y, const float *x, const float *mean, const float *off,
                               const float *var, const float *scale, const float *shift, size_t rows,
                               size_t cols, float eps);
void gpt_batchnorm_backward_ref(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                const float *mean, const float *off, const float *var, const float *scale,
                                size_t rows, size_t cols, float eps);
void gpt_dropout_forward_ref(float *y, const float *x, size_t n, uint32_t seed, float p);
void gpt_attention_forward_ref(float *y, float *max, float *sum, const float *qkv, size_t batch,
                               size_t tokens, size_t heads, size_t size, uint32_t seed, float p);
void gpt_attention_weights_ref(float *w, const float *qkv, size_t batch, size_t tokens, size_t heads,
                               size_t size);
void gpt_attention_cached_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                      size_t tokens, size_t past, size_t capacity, size_t heads, size_t size);
void gpt_attention_int8_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                    size_t tokens, size_t past, size_t capacity, size_t heads, size_t size,
                                    int dot);
/* sums  as many as dqkv has floats, contents lost */
void gpt_attention_backward_ref(float *dqkv, double *sums, const float *dy, const float *qkv, size_t batch,
                                size_t tokens, size_t heads, size_t size, uint32_t seed, float p);
void gpt_crossentropy_forward_ref(float *loss, float *max, float *sum, const float *logits,
                                  const int32_t *targets, size_t rows, size_t cols, float smoothing);
void gpt_crossentropy_backward_ref(float *dlogits, const float *logits, const int32_t *targets,
                                   const float *max, const float *sum, size_t rows, size_t cols, float scale,
                                   float smoothing);
void gpt_mse_forward_ref(float *loss, const float *x, const float *target, size_t rows, size_t cols);
void gpt_mse_backward_ref(float *dx, const float *x, const float *target, size_t n, float scale);
void gpt_embedding_forward_ref(float *y, const int32_t *indices, const float *weight, size_t rows,
                               size_t dim);
void gpt_embedding_backward_ref(float *dweight, const float *dy, const int32_t *indices, size_t rows,
                                size_t count, size_t dim);
void gpt_sgd_step_ref(float *weight, float *velocity, const float *grad, size_t n, double lr, double momentum,
                      double dampening, double decay, int nesterov);
void gpt_adam_step_ref(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                       double beta1, double beta2, double eps, double decay, double correction1,
                       double correction2, int decoupled);
void gpt_square_sum_ref(double *sum, const float *x, size_t n);
void gpt_mean_ref(float *mean, const float *x, size_t rows, size_t cols);
void gpt_var_ref(float *var, const float *x, size_t rows, size_t cols, int unbiased);
/* y = a ∘ b, sign '+', '-', '*', '/', '^' (the larger one), 'v' (the smaller one), '=', '!' (≠), '<' or '{' (≤) */
void gpt_arithmetic_ref(char sign, float *y, const float *a, const float *b, size_t rows, size_t cols,
                        size_t a_row, size_t a_col, size_t b_row, size_t b_col);
void gpt_where_ref(float *y, const float *condition, const float *a, const float *b, size_t rows, size_t cols,
                   size_t condition_row, size_t condition_col, size_t a_row, size_t a_col, size_t b_row,
                   size_t b_col);
void gpt_sqrt_ref(float *y, const float *x, size_t n);
void gpt_abs_ref(float *y, const float *x, size_t n);
void gpt_abs_backward_ref(float *dx, const float *dy, const float *x, size_t n);
void gpt_silu_backward_ref(float *dx, const float *dy, const float *x, size_t n);
void gpt_clamp_ref(float *y, const float *x, size_t n, float low, float high);
void gpt_clamp_backward_ref(float *dx, const float *dy, const float *x, size_t n, float low, float high);
void gpt_sum_ref(float *sum, const float *x, size_t rows, size_t cols);
void gpt_sum_columns_ref(float *sum, const float *x, size_t count, size_t rows, size_t cols);
void gpt_max_ref(float *max, int32_t *indices, const float *x, size_t rows, size_t cols);

#endif
