/* References: a layer's equation as a textbook has it, in scalar code. Every sum is in float64, and only the
 * results are rounded to float32.
 *
 * gpt_<name>_ref writes the outputs of gpt_<name> in gpt_layers.h. Its arguments are those of gpt_<name>
 * in the same order, without part, parts and scratch, and without sizes that it does not need. It checks
 * nothing. It stands beside the kernel that it explains; tests/c/reference.h has the references of the
 * other kernels. The WebAssembly builds do not export them. LayerNorm and RMSNorm call them for rows whose
 * squares float32 cannot hold.
 */
#ifndef GPT_REFERENCE_H
#define GPT_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

void gpt_relu_forward_ref(float *y, const float *x, size_t n);
void gpt_relu_backward_ref(float *dx, const float *dy, const float *x, size_t n);
void gpt_gelu_forward_ref(float *y, const float *x, size_t n, int approximate);
double gpt_gelu_exact(double x, int approximate);
void gpt_gelu_backward_ref(float *dx, const float *dy, const float *x, size_t n, int approximate);
void gpt_layernorm_forward_ref(float *y, float *mean, float *rstd, const float *x, const float *scale,
                               const float *shift, size_t rows, size_t cols, float eps);
void gpt_layernorm_backward_ref(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                const float *mean, const float *rstd, const float *scale, size_t rows,
                                size_t cols);
void gpt_rmsnorm_forward_ref(float *y, float *rstd, const float *x, const float *scale, size_t rows,
                             size_t cols, float eps);
void gpt_rmsnorm_backward_ref(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                              const float *scale, size_t rows, size_t cols);
void gpt_softmax_forward_ref(float *y, const float *x, size_t rows, size_t cols);
void gpt_softmax_backward_ref(float *dx, const float *dy, const float *y, size_t rows, size_t cols);
/* h  [hidden], contents lost */
void gpt_feedforward_forward_ref(float *y, double *h, const float *x, const float *weight1,
                                 const float *bias1, const float *weight2, const float *bias2, size_t rows,
                                 size_t dim, size_t hidden, int approximate);

#endif
