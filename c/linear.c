/* Linear and Conv1D: y[r,o] = Σ_i x[r,i] · w[o,i] + bias[o]. They differ only in the layout of the weight:
 * Linear's is w, [out, in], as in PyTorch; Conv1D's is its transpose, [in, out], as in GPT-2. gemm.h has
 * the products:
 *
 *             y    dx   dweight
 *   Linear    nt   nn   tn: dyᵀ · x
 *   Conv1D    nn   nt   tn: xᵀ · dy
 */
#include <math.h>

#include "gemm.h"
#include "gpt_layers.h"
#include "sums.h"

static int check(int has_pointers, size_t scratch_size, size_t rows, size_t in, size_t out, size_t part,
                 size_t parts)
{
    return gpt_check(has_pointers,
                     gpt_fits(rows, in) && gpt_fits(rows, out) && gpt_fits(in, out) &&
                         gpt_fits(scratch_size, parts),
                     part < parts);
}

size_t gpt_linear_scratch_size(size_t rows, size_t in)
{
    return gpt_fits(rows, in) ? gpt_gemm_nt_scratch_size(rows, in) : GPT_TOO_MANY;
}

size_t gpt_conv1d_scratch_size(size_t rows, size_t nx)
{
    return gpt_fits(rows, nx) ? gpt_gemm_nn_scratch_size(rows, nx) : GPT_TOO_MANY;
}

int gpt_linear_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t in, size_t out, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_linear_scratch_size(rows, in);
    const int status = check(y && scratch && x && weight, scratch_size, rows, in, out, part, parts);
    if (status) return status;
    gpt_gemm_nt(y, scratch + part * scratch_size, x, weight, bias, rows, in, out, part, parts);
    return GPT_OK;
}

int gpt_conv1d_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t nx, size_t nf, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_conv1d_scratch_size(rows, nx);
    const int status = check(y && scratch && x && weight, scratch_size, rows, nx, nf, part, parts);
    if (status) return status;
    gpt_gemm_nn(y, scratch + part * scratch_size, x, weight, bias, rows, nx, nf, part, parts);
    return GPT_OK;
}

/* Scratch of dx and dweight, of which one is computed after the other. */
static size_t backward_scratch_size(size_t for_dx, size_t rows, size_t out)
{
    const size_t for_dweight = gpt_gemm_tn_scratch_size(rows);
    if (!gpt_fits(rows, out)) return GPT_TOO_MANY;
    return for_dx > for_dweight ? for_dx : for_dweight;
}

size_t gpt_linear_backward_scratch_size(size_t rows, size_t out)
{
    return backward_scratch_size(gpt_gemm_nn_scratch_size(rows, out), rows, out);
}

size_t gpt_conv1d_backward_scratch_size(size_t rows, size_t nf)
{
    return backward_scratch_size(gpt_gemm_nt_scratch_size(rows, nf), rows, nf);
}

int gpt_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t in, size_t out, size_t part,
                        size_t parts)
{
    const size_t scratch_size = gpt_linear_backward_scratch_size(rows, out);
    const int status = check(dy && scratch && x && weight, scratch_size, rows, in, out, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    if (dx) gpt_gemm_nn(dx, scratch, dy, weight, NULL, rows, out, in, part, parts);
    if (dweight) gpt_gemm_tn(dweight, scratch, dy, x, out, rows, in, part, parts);
    if (dbias) gpt_column_sums(dbias, dy, rows, out, part, parts);
    return GPT_OK;
}

int gpt_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t nx, size_t nf, size_t part,
                        size_t parts)
{
    const size_t scratch_size = gpt_conv1d_backward_scratch_size(rows, nf);
    const int status = check(dy && scratch && x && weight, scratch_size, rows, nx, nf, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    if (dx) gpt_gemm_nt(dx, scratch, dy, weight, NULL, rows, nf, nx, part, parts);
    if (dweight) gpt_gemm_tn(dweight, scratch, x, dy, nx, rows, nf, part, parts);
    if (dbias) gpt_column_sums(dbias, dy, rows, nf, part, parts);
    return GPT_OK;
}

int gpt_linear_init(float *weight, float *bias, gpt_random *random, size_t in, size_t out)
{
    const int status = gpt_check(weight && random, in > 0 && gpt_fits(in, out), 1);
    if (status) return status;
    /* PyTorch's steps, so that the bounds round as in PyTorch: gain = √(2 / (1 + a²)) with a = √5. */
    const double a = sqrt(5.0), std = sqrt(2.0 / (1.0 + a * a)) / sqrt((double)in);
    const float weight_bound = (float)(sqrt(3.0) * std), bias_bound = (float)(1.0 / sqrt((double)in));
    gpt_random_uniform(weight, random, in * out, -weight_bound, weight_bound);
    if (bias) gpt_random_uniform(bias, random, out, -bias_bound, bias_bound);
    return GPT_OK;
}
