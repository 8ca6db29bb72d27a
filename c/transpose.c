/* Swaps two neighboring axes. Every other order of axes is a sequence of such swaps.
 *
 * Without an inner axis, a matrix is transposed in tiles of 4 x 4 elements, in registers. A cache line has 16
 * columns. The tiles of ROWS_PER_BLOCK rows come first, so that these rows' cache lines are still in the cache
 * for the next columns.
 *
 * Bound by memory.
 */
#include <string.h>

#include "gpt_layers.h"
#include "simd.h"

enum { ROWS_PER_BLOCK = 64 };

static void transpose_matrix(float *y, const float *x, size_t rows, size_t cols)
{
    for (size_t first = 0; first < rows; first += ROWS_PER_BLOCK) {
        const size_t end = first + gpt_min(ROWS_PER_BLOCK, rows - first);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            size_t r = first;
            for (; r + 4 <= end; r += 4) {
                const float *tile = x + r * cols + c;
                gpt_store_transposed(y + c * rows + r, rows, wasm_v128_load(tile),
                                     wasm_v128_load(tile + cols), wasm_v128_load(tile + 2 * cols),
                                     wasm_v128_load(tile + 3 * cols));
            }
            for (; r < end; r++)
                for (size_t i = c; i < c + 4; i++) y[i * rows + r] = x[r * cols + i];
        }
        for (; c < cols; c++)
            for (size_t r = first; r < end; r++) y[c * rows + r] = x[r * cols + c];
    }
}

int gpt_transpose(float *y, const float *x, size_t count, size_t rows, size_t cols, size_t inner)
{
    const int status = gpt_check(y && x, gpt_fits4(count, rows, cols, inner), 1);
    if (status) return status;
    const size_t n = rows * cols * inner;
    if (n == 0) return GPT_OK; /* y is empty: skip the loops */
    for (size_t k = 0; k < count; k++, x += n, y += n)
        if (inner == 1)
            transpose_matrix(y, x, rows, cols);
        else
            for (size_t c = 0; c < cols; c++)
                for (size_t r = 0; r < rows; r++)
                    memcpy(y + (c * rows + r) * inner, x + (r * cols + c) * inner, inner * sizeof(float));
    return GPT_OK;
}
