/* The register tile: GPT_TILE_ROWS rows of y by the 8 lanes of a panel, summed in registers over all k.
 *
 *   for each k: load b[k] (2 vectors); for each row r: spread a[r, k] over the lanes, multiply, add
 *
 * Bound by multiplying and adding. V8 keeps 15 vectors in registers. 4 rows need 8 for the sums, 2 for b, and
 * temporaries; 6 rows need 12, which fits only where multiply-add is one instruction without a temporary.
 * GFLOP/s of the tile alone at 768 -> 3072, AMD EPYC, limit 59:
 *   build              4 x 8   5 x 8   6 x 8
 *   simd, Node 20         59      23      28
 *   relaxed, Node 24      52      54      59
 */
#include "gemm.h"
#include "simd.h"

/* One tile of `rows` rows, a constant where this function is called. */
GPT_INLINE void tile(float *y, size_t y_row, const float *start, size_t start_row, const float *a,
                     size_t a_row, size_t a_col, const float *b, size_t b_row, size_t rows, size_t depth)
{
    v128_t low[GPT_TILE_ROWS], high[GPT_TILE_ROWS];
    const float *a_r[GPT_TILE_ROWS];
    for (size_t r = 0; r < rows; r++) {
        a_r[r] = a + r * a_row;
        low[r] = wasm_v128_load(start + r * start_row);
        high[r] = wasm_v128_load(start + r * start_row + 4);
    }
    for (size_t k = 0; k < depth; k++, b += b_row) {
        const v128_t b_low = wasm_v128_load(b), b_high = wasm_v128_load(b + 4);
        for (size_t r = 0; r < rows; r++) {
            const v128_t a_rk = wasm_v128_load32_splat(a_r[r]);
            a_r[r] += a_col;
            low[r] = gpt_multiply_add(a_rk, b_low, low[r]);
            high[r] = gpt_multiply_add(a_rk, b_high, high[r]);
        }
    }
    for (size_t r = 0; r < rows; r++) {
        wasm_v128_store(y + r * y_row, low[r]);
        wasm_v128_store(y + r * y_row + 4, high[r]);
    }
}

/* The loops over k must stand inside other loops: V8 in Node 20 unrolls them only there, which is 20 %
 * faster. */
void gpt_gemm_tiles(float *y, size_t y_row, size_t y_panel, const float *start, size_t start_row,
                    const float *a, size_t a_row, size_t a_col, const float *b, size_t b_row, size_t b_panel,
                    size_t rows, size_t depth, size_t panels)
{
    static const float zeros[GPT_PANEL_WIDTH];
    for (size_t r = 0, n; r < rows; r += n) {
        n = rows - r >= GPT_TILE_ROWS ? GPT_TILE_ROWS : rows - r >= 2 ? 2 : 1;
        const float *a_r = a + r * a_row;
        for (size_t p = 0; p < panels; p++) {
            const float *from = start ? start + r * start_row + p * y_panel : zeros, *b_p = b + p * b_panel;
            const size_t from_row = start ? start_row : 0;
            float *to = y + r * y_row + p * y_panel;
            if (n == GPT_TILE_ROWS)
                tile(to, y_row, from, from_row, a_r, a_row, a_col, b_p, b_row, GPT_TILE_ROWS, depth);
            else if (n == 2)
                tile(to, y_row, from, from_row, a_r, a_row, a_col, b_p, b_row, 2, depth);
            else
                tile(to, y_row, from, from_row, a_r, a_row, a_col, b_p, b_row, 1, depth);
        }
    }
}
