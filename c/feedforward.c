/* FeedForward: y = gelu(x · weight1ᵀ + bias1) · weight2ᵀ + bias2, the transformer's position-wise network.
 * Rows are independent, so they go through in tiles: the hidden activations, four times as wide as x, exist for
 * TILE_ROWS rows only.
 */
#include "gpt_layers.h"
#include "simd.h"

enum { TILE_ROWS = 16 };

static int check(const float *y, const float *scratch, const float *x, const float *weight1, const float *weight2,
                 size_t rows, size_t dim, size_t hidden, int approximate)
{
    if (!y || !scratch || !x || !weight1 || !weight2) return GPT_ERR_NULL;
    if (!gpt_fits(rows, dim) || !gpt_fits(rows, hidden) || !gpt_fits(dim, hidden)) return GPT_ERR_SIZE;
    if (approximate != GPT_GELU_TANH && approximate != GPT_GELU_ERF) return GPT_ERR_VALUE;
    return GPT_OK;
}

size_t gpt_feedforward_scratch_size(size_t rows, size_t hidden)
{
    return (rows < TILE_ROWS ? rows : TILE_ROWS) * hidden;
}

int gpt_feedforward_forward_ref(float *y, float *scratch, const float *x, const float *weight1, const float *bias1,
                                const float *weight2, const float *bias2, size_t rows, size_t dim, size_t hidden,
                                int approximate)
{
    const int status = check(y, scratch, x, weight1, weight2, rows, dim, hidden, approximate);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        gpt_linear_forward_ref(scratch, x + r * dim, weight1, bias1, 1, dim, hidden);
        gpt_gelu_forward_ref(scratch, scratch, hidden, approximate);
        gpt_linear_forward_ref(y + r * dim, scratch, weight2, bias2, 1, hidden, dim);
    }
    return GPT_OK;
}

int gpt_feedforward_forward_part(float *y, float *scratch, const float *x, const float *weight1, const float *bias1,
                                 const float *weight2, const float *bias2, size_t rows, size_t dim, size_t hidden,
                                 int approximate, size_t part, size_t parts)
{
    const int status = check(y, scratch, x, weight1, weight2, rows, dim, hidden, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (dim == 0) return GPT_OK; /* empty, however many rows */
    size_t r;
    const size_t end = gpt_share(rows, TILE_ROWS, part, parts, &r);
    for (; r < end; r += TILE_ROWS) {
        const size_t tile = end - r < TILE_ROWS ? end - r : TILE_ROWS;
        gpt_linear_forward(scratch, x + r * dim, weight1, bias1, tile, dim, hidden);
        gpt_gelu_forward(scratch, scratch, tile * hidden, approximate);
        gpt_linear_forward(y + r * dim, scratch, weight2, bias2, tile, hidden, dim);
    }
    return GPT_OK;
}

int gpt_feedforward_forward(float *y, float *scratch, const float *x, const float *weight1, const float *bias1,
                            const float *weight2, const float *bias2, size_t rows, size_t dim, size_t hidden,
                            int approximate)
{
    return gpt_feedforward_forward_part(y, scratch, x, weight1, bias1, weight2, bias2, rows, dim, hidden,
                                        approximate, 0, 1);
}
