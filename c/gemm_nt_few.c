/* nt for one to three rows, read in place with lanes along k.
 *
 * Bound by reading b from memory, so each number of b is loaded once for the two rows of a tile, 4 columns at
 * a time. A single row takes one column after the other, so that memory sees one stream through all of b: 30
 * GB/s, as fast as a bare read of memory, against 18 to 22 GB/s with 4 to 12 columns at once.
 */
#include "gemm_nt.h"
#include "simd.h"

enum { TILE_COLS = 4 };

/* y[r, c] for `rows` rows, 2 or 1, a constant where this function is called, and 4 columns. */
GPT_INLINE void tile(float *y, const float *a, const float *b, const float *bias, size_t depth, size_t cols,
                     size_t rows)
{
    v128_t acc[2][TILE_COLS], a_r[2];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < TILE_COLS; c++) acc[r][c] = wasm_f32x4_splat(0.0f);
    size_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        for (size_t r = 0; r < rows; r++) a_r[r] = wasm_v128_load(a + r * depth + k);
        for (size_t c = 0; c < TILE_COLS; c++) {
            const v128_t b_c = wasm_v128_load(b + c * depth + k);
            for (size_t r = 0; r < rows; r++) acc[r][c] = gpt_multiply_add(a_r[r], b_c, acc[r][c]);
        }
    }
    if (k < depth) {
        for (size_t r = 0; r < rows; r++) a_r[r] = gpt_load_tail(a + r * depth + k, depth - k);
        for (size_t c = 0; c < TILE_COLS; c++) {
            const v128_t b_c = gpt_load_tail(b + c * depth + k, depth - k);
            for (size_t r = 0; r < rows; r++) acc[r][c] = gpt_multiply_add(a_r[r], b_c, acc[r][c]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < TILE_COLS; c++)
            y[r * cols + c] = gpt_sum_lanes(acc[r][c]) + (bias ? bias[c] : 0.0f);
}

/* Four accumulators hide the latency of the add. */
GPT_INLINE float dot(const float *a, const float *b, size_t depth)
{
    v128_t acc[4];
    for (size_t v = 0; v < 4; v++) acc[v] = wasm_f32x4_splat(0.0f);
    size_t k = 0;
    for (; k + 16 <= depth; k += 16)
        for (size_t v = 0; v < 4; v++)
            acc[v] = gpt_multiply_add(wasm_v128_load(a + k + 4 * v), wasm_v128_load(b + k + 4 * v), acc[v]);
    v128_t sum = wasm_f32x4_add(wasm_f32x4_add(acc[0], acc[1]), wasm_f32x4_add(acc[2], acc[3]));
    for (; k < depth; k += 4) {
        const size_t n = gpt_min(4, depth - k);
        sum = gpt_multiply_add(gpt_load_tail(a + k, n), gpt_load_tail(b + k, n), sum);
    }
    return gpt_sum_lanes(sum);
}

void gpt_gemm_nt_few(float *y, const float *a, const float *b, const float *bias, size_t rows, size_t depth,
                     size_t cols, size_t first_col, size_t end_col)
{
    size_t c = first_col;
    for (; rows > 1 && c + TILE_COLS <= end_col; c += TILE_COLS) {
        const float *b_c = b + c * depth, *bias_c = bias ? bias + c : NULL;
        size_t r = 0;
        for (; r + 2 <= rows; r += 2) tile(y + r * cols + c, a + r * depth, b_c, bias_c, depth, cols, 2);
        if (r < rows) tile(y + r * cols + c, a + r * depth, b_c, bias_c, depth, cols, 1);
    }
    for (; c < end_col; c++)
        for (size_t r = 0; r < rows; r++)
            y[r * cols + c] = dot(a + r * depth, b + c * depth, depth) + (bias ? bias[c] : 0.0f);
}
