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

/* One tile. Its numbers begin at y, start, a and b; `t` has the steps between them. Of fewer than
 * GPT_TILE_ROWS rows, the last one is computed again in place of those that are missing: that takes no longer
 * than a smaller tile, whose few additions would wait for each other. */
GPT_INLINE void tile(const gpt_tiles *t, float *y, const float *start, const float *a, const float *b,
                     size_t rows)
{
    const size_t y_row = t->y_row, start_row = t->start ? t->start_row : 0, a_row = t->a_row,
                 a_col = t->a_col, b_row = t->b_row, depth = t->depth;
    v128_t low[GPT_TILE_ROWS], high[GPT_TILE_ROWS];
    const float *a_r[GPT_TILE_ROWS];
    for (size_t i = 0; i < GPT_TILE_ROWS; i++) {
        const size_t r = gpt_min(i, rows - 1);
        a_r[i] = a + r * a_row;
        low[i] = wasm_v128_load(start + r * start_row);
        high[i] = wasm_v128_load(start + r * start_row + 4);
    }
    for (size_t k = 0; k < depth; k++, b += b_row) {
        const v128_t b_low = wasm_v128_load(b), b_high = wasm_v128_load(b + 4);
        for (size_t i = 0; i < GPT_TILE_ROWS; i++) {
            const v128_t a_ik = wasm_v128_load32_splat(a_r[i]);
            a_r[i] += a_col;
            low[i] = gpt_multiply_add(a_ik, b_low, low[i]);
            high[i] = gpt_multiply_add(a_ik, b_high, high[i]);
        }
    }
    for (size_t i = 0; i < GPT_TILE_ROWS; i++) {
        float *y_i = y + gpt_min(i, rows - 1) * y_row;
        wasm_v128_store(y_i, low[i]);
        wasm_v128_store(y_i + 4, high[i]);
    }
}

/* The loops over k must stand inside other loops: V8 in Node 20 unrolls them only there, which is 20 %
 * faster. */
void gpt_gemm_tiles(const gpt_tiles *tiles)
{
    static const float zeros[GPT_PANEL_WIDTH];
    const gpt_tiles t = *tiles; /* a copy, whose fields the compiler keeps in registers */
    for (size_t r = 0; r < t.rows; r += GPT_TILE_ROWS)
        for (size_t p = 0; p < t.panels; p++)
            tile(&t, t.y + r * t.y_row + p * t.y_panel,
                 t.start ? t.start + r * t.start_row + p * t.y_panel : zeros, t.a + r * t.a_row,
                 t.b + p * t.b_panel, gpt_min(GPT_TILE_ROWS, t.rows - r));
}
