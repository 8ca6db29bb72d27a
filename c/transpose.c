/* Swap of the last two axes, so that any axis can be reduced as the last one. Plain loops: it moves, never
 * computes. */
#include "gpt_layers.h"
#include "simd.h"

int gpt_transpose_forward(float *y, const float *x, size_t count, size_t rows, size_t cols)
{
    if (!y || !x) return GPT_ERR_NULL;
    if (!gpt_fits(rows, cols) || !gpt_fits(count, rows * cols)) return GPT_ERR_SIZE;
    if (rows * cols == 0) return GPT_OK; /* empty, however large the other sizes */
    for (size_t k = 0; k < count; k++, x += rows * cols, y += rows * cols)
        for (size_t c = 0; c < cols; c++)
            for (size_t r = 0; r < rows; r++) y[c * rows + r] = x[r * cols + c];
    return GPT_OK;
}
