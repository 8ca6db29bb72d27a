/* Swaps two neighboring axes. Every other order of axes is a sequence of such swaps.
 *
 * Plain loops: bound by memory.
 */
#include <string.h>

#include "gpt_layers.h"
#include "simd.h"

int gpt_transpose(float *y, const float *x, size_t count, size_t rows, size_t cols, size_t inner)
{
    const int status = gpt_check(y && x, gpt_fits4(count, rows, cols, inner), 1);
    if (status) return status;
    const size_t n = rows * cols * inner;
    if (n == 0) return GPT_OK; /* y is empty: skip the loops */
    for (size_t k = 0; k < count; k++, x += n, y += n)
        for (size_t c = 0; c < cols; c++)
            for (size_t r = 0; r < rows; r++)
                if (inner == 1)
                    y[c * rows + r] = x[r * cols + c];
                else
                    memcpy(y + (c * rows + r) * inner, x + (r * cols + c) * inner, inner * sizeof(float));
    return GPT_OK;
}
