/* Linear: y = x · weightᵀ + bias, weight [out, in] as in PyTorch, and its gradients dx = dy · weight, dweight = dyᵀ · x
 * and dbias, the sums of dy's columns. gemm.c has the arithmetic, and what bounds it. */
#include <math.h>

#include "gemm.h"
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

/* Forward's y, backward's dy. */
static int check(const float *y, const float *scratch, const float *x, const float *weight, size_t rows,
                 size_t in, size_t out)
{
    if (!y || !scratch || !x || !weight) return GPT_ERR_NULL;
    if (!gpt_fits(rows, in) || !gpt_fits(rows, out) || !gpt_fits(in, out)) return GPT_ERR_SIZE;
    return GPT_OK;
}

size_t gpt_linear_scratch_size(size_t rows, size_t in)
{
    if (rows < GPT_PACK_FROM) return 0;
    if (rows <= GPT_SIX) return gpt_six_size(in);
    return gpt_whole_panels(gpt_min(rows, GPT_BLOCK)) * in;
}

int gpt_linear_forward_ref(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                           size_t rows, size_t in, size_t out)
{
    const int status = check(y, scratch, x, weight, rows, in, out);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            double sum = 0.0;
            for (size_t i = 0; i < in; i++) sum += (double)x[r * in + i] * (double)weight[o * in + i];
            y[r * out + o] = (float)(bias ? sum + bias[o] : sum);
        }
    }
    return GPT_OK;
}

int gpt_linear_forward(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                       size_t rows, size_t in, size_t out, size_t part, size_t parts)
{
    const int status = check(y, scratch, x, weight, rows, in, out);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (out == 0) return GPT_OK; /* empty, however many rows */
    size_t r = 0, end = rows, first_out = 0, end_out = out;
    if (rows < GPT_PACK_FROM) {
        end_out = gpt_share(out, 4, part, parts, &first_out);
        gpt_gemm_few(y, x, weight, bias, rows, in, out, first_out, end_out);
        return GPT_OK;
    }
    scratch += part * gpt_linear_scratch_size(rows, in);
    if (rows <= GPT_SIX) {
        end_out = gpt_share(out, 6, part, parts, &first_out);
        gpt_gemm_pack_six(scratch, x, rows, in);
        gpt_gemm_six(y, scratch, weight, bias, rows, in, out, first_out, end_out);
        return GPT_OK;
    }
    /* Cut by rows where each part gets a block of them, by outputs where there are few; 12 are whole tiles in either
     * build. */
    if (rows >= parts * GPT_BLOCK) {
        end = gpt_share(rows, GPT_PANEL, part, parts, &r);
    } else {
        end_out = gpt_share(out, 12, part, parts, &first_out);
    }
    for (; r < end; r += GPT_BLOCK) {
        const size_t n = gpt_min(end - r, GPT_BLOCK);
        gpt_gemm_pack(scratch, x + r * in, n, in);
        gpt_gemm_packed(y + r * out, scratch, weight, bias, n, in, out, first_out, end_out);
    }
    return GPT_OK;
}

size_t gpt_linear_backward_scratch_size(size_t rows, size_t out)
{
    return gpt_gemm_scratch_size(rows > out ? rows : out);
}

int gpt_linear_backward_ref(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                            const float *x, const float *weight, size_t rows, size_t in, size_t out)
{
    const int status = check(dy, scratch, x, weight, rows, in, out);
    if (status) return status;
    for (size_t i = 0; dx && i < rows * in; i++) {
        double sum = 0.0;
        for (size_t o = 0; o < out; o++)
            sum += (double)dy[i / in * out + o] * (double)weight[o * in + i % in];
        dx[i] = (float)sum;
    }
    for (size_t i = 0; dweight && i < out * in; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + i / in] * (double)x[r * in + i % in];
        dweight[i] = (float)sum;
    }
    for (size_t o = 0; dbias && o < out; o++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + o];
        dbias[o] = (float)sum;
    }
    return GPT_OK;
}

int gpt_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                        const float *x, const float *weight, size_t rows, size_t in, size_t out, size_t part,
                        size_t parts)
{
    const int status = check(dy, scratch, x, weight, rows, in, out);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    /* By columns, so that each sum is one part's. */
    size_t first;
    size_t end = gpt_share(in, GPT_PANEL, part, parts, &first);
    scratch += part * gpt_linear_backward_scratch_size(rows, out);
    if (dx && in > 0) gpt_gemm_nn(dx, scratch, dy, weight, NULL, rows, out, in, first, end);
    if (dweight) gpt_gemm_tn(dweight, scratch, dy, x, out, rows, in, first, end);
    end = gpt_share(out, GPT_PANEL, part, parts, &first);
    if (dbias && out > 0) gpt_column_sums(dbias, dy, rows, out, first, end);
    return GPT_OK;
}

int gpt_linear_init(float *weight, float *bias, gpt_random *random, size_t in, size_t out)
{
    if (!weight || !random) return GPT_ERR_NULL;
    if (in == 0 || !gpt_fits(in, out)) return GPT_ERR_SIZE;
    /* In PyTorch's own steps, since the bounds must round as its do: gain = √(2 / (1 + a²)) with a = √5. */
    const double a = sqrt(5.0), std = sqrt(2.0 / (1.0 + a * a)) / sqrt((double)in);
    const float weight_bound = (float)(sqrt(3.0) * std), bias_bound = (float)(1.0 / sqrt((double)in));
    gpt_random_uniform(weight, random, in * out, -weight_bound, weight_bound);
    if (bias) gpt_random_uniform(bias, random, out, -bias_bound, bias_bound);
    return GPT_OK;
}
