/* y = a · bᵀ where a has five rows or more. A tile is GPT_TILE_ROWS columns of y by a panel of 8 rows.
 *
 * A vector holds four numbers of a: one column of four rows. One number of b multiplies all four. So a is
 * copied into panels. b is larger, and is read in place. The columns of a tile are far apart, so b is read as
 * GPT_TILE_ROWS long streams. With few rows, reading b takes most of the time, and long streams are read
 * fastest.
 *
 * Packing b as well gives 52 to 54 GFLOP/s instead of 59, and takes the time to pack.
 */
#include "gemm.h"
#include "simd.h"

void gpt_gemm_pack_panels(float *packed, const float *a, size_t rows, size_t depth)
{
    for (size_t first = 0; first < rows; first += GPT_PANEL_WIDTH, packed += depth * GPT_PANEL_WIDTH)
        for (size_t lane = 0; lane < GPT_PANEL_WIDTH; lane++) {
            const float *a_r = a + (first + lane) * depth;
            const int is_padding = first + lane >= rows;
            for (size_t k = 0; k < depth; k++)
                packed[k * GPT_PANEL_WIDTH + lane] = is_padding ? 0.0f : a_r[k];
        }
}

void gpt_gemm_nt_panels(const gpt_packed_product *p)
{
    const float *packed = p->packed, *b = p->b, *bias = p->bias;
    float *y = p->y;
    const size_t rows = p->rows, depth = p->depth, cols = p->cols, end_col = p->end_col;
    const int repack = p->repack;
    float sums[GPT_TILE_ROWS * GPT_PANEL_WIDTH]; /* [column][row], transposed into y unless y is packed */
    gpt_tiles t = {.a_col = 1, .b_row = GPT_PANEL_WIDTH, .depth = depth, .panels = 1};
    const size_t far = (end_col - p->first_col) / GPT_TILE_ROWS, end_far = p->first_col + far;
    for (size_t c = p->first_col, n; c < end_col; c += n) {
        /* a tile is the columns c, c + far, c + 2·far, ...; the last columns, fewer than a tile, have step 1 */
        const size_t step = c < end_far ? far : 1;
        t.rows = c < end_far ? GPT_TILE_ROWS : end_col - c;
        n = c < end_far ? 1 : t.rows;
        if (c + 1 == end_far) n += (GPT_TILE_ROWS - 1) * far;
        t.a = b + c * depth;
        t.a_row = step * depth;
        t.y_row = repack ? step * GPT_PANEL_WIDTH : GPT_PANEL_WIDTH;
        for (size_t first = 0; first < rows; first += GPT_PANEL_WIDTH) {
            float *tile = repack ? y + first * cols + c * GPT_PANEL_WIDTH : sums;
            t.y = tile;
            t.b = packed + first * depth;
            gpt_gemm_tiles(&t);
            for (size_t j = 0; bias && j < t.rows; j++) {
                const v128_t bias_c = wasm_v128_load32_splat(bias + c + j * step);
                float *s = tile + j * t.y_row;
                wasm_v128_store(s, wasm_f32x4_add(wasm_v128_load(s), bias_c));
                wasm_v128_store(s + 4, wasm_f32x4_add(wasm_v128_load(s + 4), bias_c));
            }
            if (repack) continue;
            const size_t lanes = gpt_min(GPT_PANEL_WIDTH, rows - first);
            for (size_t r = 0; r < lanes; r++)
                for (size_t j = 0; j < t.rows; j++)
                    y[(first + r) * cols + c + j * step] = sums[j * GPT_PANEL_WIDTH + r];
        }
    }
}
