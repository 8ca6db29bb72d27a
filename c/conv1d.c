/* Conv1D: y = x · weight + bias, GPT-2's linear layer, whose weight [nx, nf] lies the other way round than Linear's, and
 * its gradients dx = dy · weightᵀ, dweight = xᵀ · dy and dbias, the sums of dy's columns. gemm.c has the arithmetic. */
#include "gemm.h"
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

/* Forward's y, backward's dy. */
static int check(const float *y, const float *scratch, const float *x, const float *weight, size_t rows,
                 size_t nx, size_t nf)
{
    if (!y || !scratch || !x || !weight) return GPT_ERR_NULL;
    if (!gpt_fits(rows, nx) || !gpt_fits(rows, nf) || !gpt_fits(nx, nf)) return GPT_ERR_SIZE;
    return GPT_OK;
}

size_t gpt_conv1d_scratch_size(size_t rows, size_t nx)
{
    return rows < GPT_PACK_COLUMNS_FROM ? 0 : gpt_gemm_scratch_size(nx);
}

int gpt_conv1d_forward_ref(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                           size_t rows, size_t nx, size_t nf)
{
    const int status = check(y, scratch, x, weight, rows, nx, nf);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        for (size_t f = 0; f < nf; f++) {
            double sum = bias ? (double)bias[f] : 0.0;
            for (size_t i = 0; i < nx; i++) sum += (double)x[r * nx + i] * (double)weight[i * nf + f];
            y[r * nf + f] = (float)sum;
        }
    }
    return GPT_OK;
}

int gpt_conv1d_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t nx, size_t nf, size_t part, size_t parts)
{
    const int status = check(y, scratch, x, weight, rows, nx, nf);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (nf == 0) return GPT_OK; /* empty, however many rows */
    size_t first;
    const size_t end = gpt_share(nf, GPT_PANEL, part, parts, &first);
    scratch += part * gpt_conv1d_scratch_size(rows, nx);
    gpt_gemm_nn(y, scratch, x, weight, bias, rows, nx, nf, first, end);
    return GPT_OK;
}

size_t gpt_conv1d_backward_scratch_size(size_t rows, size_t nf)
{
    return gpt_linear_scratch_size(rows, nf) + gpt_gemm_scratch_size(rows);
}

int gpt_conv1d_backward_ref(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                            const float *x, const float *weight, size_t rows, size_t nx, size_t nf)
{
    const int status = check(dy, scratch, x, weight, rows, nx, nf);
    if (status) return status;
    for (size_t i = 0; dx && i < rows * nx; i++) {
        double sum = 0.0;
        for (size_t f = 0; f < nf; f++) sum += (double)dy[i / nx * nf + f] * (double)weight[i % nx * nf + f];
        dx[i] = (float)sum;
    }
    for (size_t i = 0; dweight && i < nx * nf; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)x[r * nx + i / nf] * (double)dy[r * nf + i % nf];
        dweight[i] = (float)sum;
    }
    for (size_t f = 0; dbias && f < nf; f++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * nf + f];
        dbias[f] = (float)sum;
    }
    return GPT_OK;
}

int gpt_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t nx, size_t nf, size_t part,
                        size_t parts)
{
    const int status = check(dy, scratch, x, weight, rows, nx, nf);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    /* dy · weightᵀ is what Linear computes forward, with a scratch of its own before that of the other product. */
    if (dx) gpt_linear_forward(dx, scratch, dy, weight, NULL, rows, nf, nx, part, parts);
    scratch += parts * gpt_linear_scratch_size(rows, nf) + part * gpt_gemm_scratch_size(rows);
    size_t first;
    const size_t end = gpt_share(nf, GPT_PANEL, part, parts, &first);
    if (dweight) gpt_gemm_tn(dweight, scratch, x, dy, nx, rows, nf, first, end);
    if (dbias && nf > 0) gpt_column_sums(dbias, dy, rows, nf, first, end);
    return GPT_OK;
}
