/* FeedForward: y = gelu(x · weight1ᵀ + bias1) · weight2ᵀ + bias2, the transformer's position-wise network.
 * Rows are independent, so they go through in blocks of GPT_BLOCK: the hidden activations, four times as wide as x, exist
 * for one block only. They stay packed from the first product, which writes them so, through GELU to the second.
 */
#include "gemm.h"
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

static int check(const float *y, const float *scratch, const float *x, const float *weight1,
                 const float *weight2, size_t rows, size_t dim, size_t hidden, int approximate)
{
    if (!y || !scratch || !x || !weight1 || !weight2) return GPT_ERR_NULL;
    if (!gpt_fits(rows, dim) || !gpt_fits(rows, hidden) || !gpt_fits(dim, hidden)) return GPT_ERR_SIZE;
    if (approximate != GPT_GELU_TANH && approximate != GPT_GELU_ERF) return GPT_ERR_VALUE;
    return GPT_OK;
}

size_t gpt_feedforward_scratch_size(size_t rows, size_t dim, size_t hidden)
{
    if (rows < GPT_PACK_FROM) return rows * hidden;
    if (rows <= GPT_SIX) return gpt_six_size(dim) + gpt_six_size(hidden);
    return gpt_whole_panels(gpt_min(rows, GPT_BLOCK)) * (dim + hidden);
}

int gpt_feedforward_forward_ref(float *y, float *scratch, const float *x, const float *weight1,
                                const float *bias1, const float *weight2, const float *bias2, size_t rows,
                                size_t dim, size_t hidden, int approximate)
{
    const int status = check(y, scratch, x, weight1, weight2, rows, dim, hidden, approximate);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        gpt_linear_forward_ref(scratch, scratch, x + r * dim, weight1, bias1, 1, dim, hidden);
        gpt_gelu_forward_ref(scratch, scratch, hidden, approximate);
        gpt_linear_forward_ref(y + r * dim, scratch, scratch, weight2, bias2, 1, hidden, dim);
    }
    return GPT_OK;
}

int gpt_feedforward_forward(float *y, float *scratch, const float *x, const float *weight1,
                            const float *bias1, const float *weight2, const float *bias2, size_t rows,
                            size_t dim, size_t hidden, int approximate, size_t part, size_t parts)
{
    const int status = check(y, scratch, x, weight1, weight2, rows, dim, hidden, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (dim == 0) return GPT_OK;                    /* empty, however many rows */
    if (rows <= GPT_SIX && part > 0) return GPT_OK; /* too few to cut */
    if (rows < GPT_PACK_FROM) {
        gpt_gemm_few(scratch, x, weight1, bias1, rows, dim, hidden, 0, hidden);
        gpt_gelu_forward(scratch, scratch, rows * hidden, approximate, 0, 1);
        gpt_gemm_few(y, scratch, weight2, bias2, rows, hidden, dim, 0, dim);
        return GPT_OK;
    }
    if (rows <= GPT_SIX) {
        float *six = scratch + gpt_six_size(dim);
        gpt_gemm_pack_six(scratch, x, rows, dim);
        gpt_gemm_six_to_six(six, scratch, weight1, bias1, dim, hidden);
        gpt_gelu_forward(six, six, gpt_six_size(hidden), approximate, 0, 1);
        gpt_gemm_six(y, six, weight2, bias2, rows, hidden, dim, 0, dim);
        return GPT_OK;
    }
    float *packed = scratch + part * gpt_feedforward_scratch_size(rows, dim, hidden);
    size_t r;
    const size_t end = gpt_share(rows, GPT_PANEL, part, parts, &r);
    for (; r < end; r += GPT_BLOCK) {
        const size_t n = gpt_min(end - r, GPT_BLOCK);
        float *packed_hidden = packed + gpt_whole_panels(n) * dim;
        gpt_gemm_pack(packed, x + r * dim, n, dim);
        gpt_gemm_packed_to_packed(packed_hidden, packed, weight1, bias1, n, dim, hidden);
        gpt_gelu_forward(packed_hidden, packed_hidden, gpt_whole_panels(n) * hidden, approximate, 0, 1);
        gpt_gemm_packed(y + r * dim, packed_hidden, weight2, bias2, n, hidden, dim, 0, dim);
    }
    return GPT_OK;
}
