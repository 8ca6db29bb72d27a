/* FeedForward: y = gelu(x · weight1ᵀ + bias1) · weight2ᵀ + bias2, the position-wise network of a transformer
 * block.
 *
 * Rows are independent, so a block of rows goes through both products before the next block. The hidden
 * activations, four times as wide as x, exist for one block only, and stay packed from the first product
 * through GELU to the second. Bound by the two products (gemm_nt.c); GELU takes under 2 % of the time.
 */
#include "gemm.h"
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

void gpt_feedforward_forward_ref(float *y, double *h, const float *x, const float *weight1,
                                 const float *bias1, const float *weight2, const float *bias2, size_t rows,
                                 size_t dim, size_t hidden, int approximate)
{
    for (size_t r = 0; r < rows; r++) {
        /* the hidden activations of one row */
        for (size_t k = 0; k < hidden; k++) {
            double sum = bias1 ? (double)bias1[k] : 0.0;
            for (size_t i = 0; i < dim; i++) sum += (double)x[r * dim + i] * (double)weight1[k * dim + i];
            h[k] = gpt_gelu_exact(sum, approximate);
        }
        for (size_t o = 0; o < dim; o++) {
            double sum = bias2 ? (double)bias2[o] : 0.0;
            for (size_t k = 0; k < hidden; k++) sum += h[k] * (double)weight2[o * hidden + k];
            y[r * dim + o] = (float)sum;
        }
    }
}

size_t gpt_feedforward_scratch_size(size_t rows, size_t dim, size_t hidden)
{
    if (!gpt_fits(rows, dim) || !gpt_fits(dim, hidden)) return GPT_TOO_MANY;
    const size_t some_rows = gpt_min(rows, GPT_ROWS_PER_BLOCK);
    const gpt_rows_layout layout = gpt_gemm_rows_layout(rows);
    return gpt_floats_sum(gpt_gemm_packed_size(layout, some_rows, dim),
                          gpt_gemm_packed_size(layout, some_rows, hidden));
}

int gpt_feedforward_forward(float *y, float *scratch, const float *x, const float *weight1,
                            const float *bias1, const float *weight2, const float *bias2, size_t rows,
                            size_t dim, size_t hidden, int approximate, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_feedforward_scratch_size(rows, dim, hidden);
    const int is_kind = approximate == GPT_GELU_TANH || approximate == GPT_GELU_ERF;
    const int status = gpt_check(y && scratch && x && weight1 && weight2, gpt_fits(scratch_size, parts),
                                 is_kind && part < parts);
    if (status) return status;
    if (dim == 0) return GPT_OK; /* y is empty; rows may be up to 2^29 */
    scratch += part * scratch_size;
    const gpt_rows_layout layout = gpt_gemm_rows_layout(rows);
    size_t r;
    const size_t end = gpt_share(rows, GPT_PANEL_WIDTH, part, parts, &r);
    for (; r < end; r += GPT_ROWS_PER_BLOCK) {
        const size_t n = gpt_min(end - r, GPT_ROWS_PER_BLOCK);
        float *h = scratch + gpt_gemm_packed_size(layout, n, dim);
        gpt_gemm_nt_packed(
            &(gpt_packed_product){.y = h,
                                  .packed = gpt_gemm_pack(scratch, x + r * dim, n, dim, layout),
                                  .b = weight1,
                                  .bias = bias1,
                                  .rows = n,
                                  .depth = dim,
                                  .cols = hidden,
                                  .end_col = hidden,
                                  .layout = layout,
                                  .repack = 1});
        gpt_gelu_forward(h, h, gpt_gemm_packed_size(layout, n, hidden), approximate, 0, 1);
        gpt_gemm_nt_packed(&(gpt_packed_product){.y = y + r * dim,
                                                 .packed = h,
                                                 .b = weight2,
                                                 .bias = bias2,
                                                 .rows = n,
                                                 .depth = hidden,
                                                 .cols = dim,
                                                 .end_col = dim,
                                                 .layout = layout});
    }
    return GPT_OK;
}
