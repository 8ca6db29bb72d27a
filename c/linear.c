/* Linear: y = x · weightᵀ + bias, weight [out, in] as in PyTorch. gemm.h has the matrix products. */
#include "affine.h"

#include <math.h>

#include "gemm.h"
#include "reference.h"

void gpt_linear_forward_ref(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                            size_t in, size_t out)
{
    gpt_affine_forward_plain(y, x, weight, (gpt_steps){.out = in, .in = 1}, bias, rows, in, out);
}

void gpt_linear_backward_ref(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                             const float *weight, size_t rows, size_t in, size_t out)
{
    gpt_affine_backward_plain(dx, dweight, dbias, dy, x, weight, (gpt_steps){.out = in, .in = 1}, rows, in,
                              out);
}

size_t gpt_linear_scratch_size(size_t rows, size_t in)
{
    if (!gpt_fits(rows, in)) return GPT_TOO_MANY;
    return gpt_gemm_nt_scratch_size(rows, in);
}

int gpt_linear_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t in, size_t out, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_linear_scratch_size(rows, in);
    const int status = gpt_affine_check(y, scratch, scratch_size, x, weight, rows, in, out, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    gpt_gemm_nt(y, scratch, x, weight, bias, rows, in, out, part, parts);
    return GPT_OK;
}

size_t gpt_linear_backward_scratch_size(size_t rows, size_t out)
{
    if (!gpt_fits(rows, out)) return GPT_TOO_MANY;
    const size_t for_dx = gpt_gemm_nn_scratch_size(rows, out), for_dweight = gpt_gemm_tn_scratch_size(rows);
    return for_dx > for_dweight ? for_dx : for_dweight;
}

int gpt_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t in, size_t out, size_t part,
                        size_t parts)
{
    const size_t scratch_size = gpt_linear_backward_scratch_size(rows, out);
    const int status = gpt_affine_check(dy, scratch, scratch_size, x, weight, rows, in, out, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    if (dx) gpt_gemm_nn(dx, scratch, dy, weight, NULL, rows, out, in, part, parts);
    if (dweight) gpt_gemm_tn(dweight, scratch, dy, x, out, rows, in, part, parts);
    if (dbias) gpt_column_sums(dbias, dy, rows, out, part, parts);
    return GPT_OK;
}

int gpt_linear_init(float *weight, float *bias, gpt_random *random, size_t in, size_t out)
{
    if (!weight || !random) return GPT_ERR_NULL;
    if (in == 0 || !gpt_fits(in, out)) return GPT_ERR_SIZE;
    /* PyTorch's steps, so that the bounds round as in PyTorch: gain = √(2 / (1 + a²)) with a = √5. */
    const double a = sqrt(5.0), std = sqrt(2.0 / (1.0 + a * a)) / sqrt((double)in);
    const float weight_bound = (float)(sqrt(3.0) * std), bias_bound = (float)(1.0 / sqrt((double)in));
    gpt_random_uniform(weight, random, in * out, -weight_bound, weight_bound);
    if (bias) gpt_random_uniform(bias, random, out, -bias_bound, bias_bound);
    return GPT_OK;
}
