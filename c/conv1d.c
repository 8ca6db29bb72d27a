/* Conv1D: y = x · weight + bias, GPT-2's linear layer. Its weight [nx, nf] is the transpose of Linear's.
 * gemm.h has the matrix products. */
#include "affine.h"
#include "gemm.h"
#include "reference.h"

void gpt_conv1d_forward_ref(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                            size_t nx, size_t nf)
{
    gpt_affine_forward_plain(y, x, weight, (gpt_steps){.out = 1, .in = nf}, bias, rows, nx, nf);
}

void gpt_conv1d_backward_ref(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                             const float *weight, size_t rows, size_t nx, size_t nf)
{
    gpt_affine_backward_plain(dx, dweight, dbias, dy, x, weight, (gpt_steps){.out = 1, .in = nf}, rows, nx,
                              nf);
}

size_t gpt_conv1d_scratch_size(size_t rows, size_t nx)
{
    if (!gpt_fits(rows, nx)) return GPT_TOO_MANY;
    return gpt_gemm_nn_scratch_size(rows, nx);
}

int gpt_conv1d_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t nx, size_t nf, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_conv1d_scratch_size(rows, nx);
    const int status = gpt_affine_check(y, scratch, scratch_size, x, weight, rows, nx, nf, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    gpt_gemm_nn(y, scratch, x, weight, bias, rows, nx, nf, part, parts);
    return GPT_OK;
}

size_t gpt_conv1d_backward_scratch_size(size_t rows, size_t nf)
{
    if (!gpt_fits(rows, nf)) return GPT_TOO_MANY;
    const size_t for_dx = gpt_gemm_nt_scratch_size(rows, nf), for_dweight = gpt_gemm_tn_scratch_size(rows);
    return for_dx > for_dweight ? for_dx : for_dweight;
}

int gpt_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t nx, size_t nf, size_t part,
                        size_t parts)
{
    const size_t scratch_size = gpt_conv1d_backward_scratch_size(rows, nf);
    const int status = gpt_affine_check(dy, scratch, scratch_size, x, weight, rows, nx, nf, part, parts);
    if (status) return status;
    scratch += part * scratch_size;
    if (dx) gpt_gemm_nt(dx, scratch, dy, weight, NULL, rows, nf, nx, part, parts);
    if (dweight) gpt_gemm_tn(dweight, scratch, x, dy, nx, rows, nf, part, parts);
    if (dbias) gpt_column_sums(dbias, dy, rows, nf, part, parts);
    return GPT_OK;
}
