/* y = a · bᵀ where a has one to four rows. Nothing is packed: a vector holds four neighbors of a row.
 *
 * Bound by reading b, so each number of b is loaded once for the two rows of a tile. A tile has 4 columns of
 * y, a quarter of all columns apart: each number of a is loaded once for the four of them, and b is four long
 * streams. GB/s of a single row at 768 -> 2304, AMD EPYC, from the third-level cache / from memory:
 *   a bare read                                    95 / 23
 *   four columns, a quarter of all columns apart   71 / 25
 *   four neighbors                                 62 / 11
 *   one after the other                            55 / 22
 */
#include "gemm.h"
#include "simd.h"

enum { TILE_COLS = 4 };

/* y[r, c · far] for TILE_COLS columns and for `rows` rows, 2 or 1, a constant where this function is called.
 * With one row a column has two accumulators, which hide the latency of the add; with two rows one. */
GPT_INLINE void tile(float *y, size_t y_row, const float *a, const float *b, const float *bias, size_t depth,
                     size_t far, size_t rows)
{
    enum { VECTORS = 4 };
    const size_t accumulators = rows == 1 ? 2 : 1;
    v128_t acc[2][TILE_COLS][2], a_r[2];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < TILE_COLS; c++)
            for (size_t i = 0; i < accumulators; i++) acc[r][c][i] = wasm_f32x4_splat(0.0f);
    size_t k = 0;
    for (; k + 4 * VECTORS <= depth; k += 4 * VECTORS)
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = v % accumulators;
            for (size_t r = 0; r < rows; r++) a_r[r] = wasm_v128_load(a + r * depth + k + 4 * v);
            for (size_t c = 0; c < TILE_COLS; c++) {
                const v128_t b_c = wasm_v128_load(b + c * far * depth + k + 4 * v);
                for (size_t r = 0; r < rows; r++) acc[r][c][i] = gpt_multiply_add(a_r[r], b_c, acc[r][c][i]);
            }
        }
    if (accumulators == 2)
        for (size_t c = 0; c < TILE_COLS; c++) acc[0][c][0] = wasm_f32x4_add(acc[0][c][0], acc[0][c][1]);
    for (; k < depth; k += 4) {
        const size_t n = gpt_min(4, depth - k);
        for (size_t r = 0; r < rows; r++) a_r[r] = gpt_load_tail(a + r * depth + k, n);
        for (size_t c = 0; c < TILE_COLS; c++) {
            const v128_t b_c = gpt_load_tail(b + c * far * depth + k, n);
            for (size_t r = 0; r < rows; r++) acc[r][c][0] = gpt_multiply_add(a_r[r], b_c, acc[r][c][0]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < TILE_COLS; c++)
            y[r * y_row + c * far] = gpt_sum_lanes(acc[r][c][0]) + (bias ? bias[c * far] : 0.0f);
}

void gpt_gemm_nt_few(const gpt_packed_product *p)
{
    /* locals: with fields of the struct in the loops, a single row took 1.4 times as long in V8 */
    const float *a = p->packed, *b = p->b, *bias = p->bias;
    float *y = p->y;
    const size_t rows = p->rows, depth = p->depth, cols = p->cols, first_col = p->first_col,
                 end_col = p->end_col;
    const size_t far = (end_col - first_col) / TILE_COLS;
    for (size_t c = first_col, n; c < end_col; c += n) {
        /* a tile is the columns c, c + far, c + 2·far, c + 3·far. Each of the last columns, fewer than a tile,
         * is computed four times: step 0 */
        const size_t step = c < first_col + far ? far : 0;
        const float *b_c = b + c * depth, *bias_c = bias ? bias + c : NULL;
        for (size_t r = 0; r < rows; r += 2) {
            if (rows - r >= 2)
                tile(y + r * cols + c, cols, a + r * depth, b_c, bias_c, depth, step, 2);
            else
                tile(y + r * cols + c, cols, a + r * depth, b_c, bias_c, depth, step, 1);
        }
        n = c + 1 == first_col + far ? (TILE_COLS - 1) * far + 1 : 1;
    }
}
