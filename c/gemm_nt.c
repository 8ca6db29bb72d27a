/* y = a · bᵀ + bias: the choice of the algorithm by the number of rows, and the cut into parts and blocks.
 *
 *   rows      algorithm          bound by
 *   1 ... 4   gemm_nt_few.c      reading b from memory
 *   5, 6      gemm_nt_panels.c   reading b from memory
 *   7 or more gemm_nt_panels.c   multiplying and adding
 *
 * b holds the weights. It is large, and is read in place. a holds the activations. It is small: from five
 * rows on it is packed, a block of rows at a time.
 */
#include "gemm.h"
#include "simd.h"

/* With fewer rows packing costs more than it saves. */
enum { FEWEST_PACKED_ROWS = 5 };

/* Each part gets a multiple of 12 columns: only whole tiles, of 4 columns in one build and 6 in the other. */
enum { COLS_PER_SHARE = 12 };

gpt_rows_layout gpt_gemm_rows_layout(size_t rows)
{
    return rows < FEWEST_PACKED_ROWS ? GPT_ROWS_IN_PLACE : GPT_ROWS_IN_PANELS;
}

size_t gpt_gemm_packed_size(gpt_rows_layout layout, size_t rows, size_t depth)
{
    return gpt_floats(layout == GPT_ROWS_IN_PLACE ? rows : gpt_round_up(rows, GPT_PANEL_WIDTH), depth);
}

const float *gpt_gemm_pack(float *packed, const float *a, size_t rows, size_t depth, gpt_rows_layout layout)
{
    if (layout == GPT_ROWS_IN_PLACE) return a;
    gpt_gemm_pack_panels(packed, a, rows, depth);
    return packed;
}

void gpt_gemm_nt_packed(const gpt_packed_product *p)
{
    if (p->layout == GPT_ROWS_IN_PLACE)
        gpt_gemm_nt_few(p);
    else
        gpt_gemm_nt_panels(p);
}

size_t gpt_gemm_nt_scratch_size(size_t rows, size_t depth)
{
    const gpt_rows_layout layout = gpt_gemm_rows_layout(rows);
    if (layout == GPT_ROWS_IN_PLACE) return 0;
    return gpt_gemm_packed_size(layout, gpt_min(rows, GPT_ROWS_PER_BLOCK), depth);
}

void gpt_gemm_nt(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t part, size_t parts)
{
    if (rows == 0 || cols == 0) return;
    gpt_packed_product p = {.b = b,
                            .bias = bias,
                            .depth = depth,
                            .cols = cols,
                            .end_col = cols,
                            .layout = gpt_gemm_rows_layout(rows)};
    size_t r = 0, end_row = rows;
    /* Cut by rows if each part gets at least a block of them, otherwise by columns. */
    if (rows / GPT_ROWS_PER_BLOCK >= parts)
        end_row = gpt_share(rows, GPT_PANEL_WIDTH, part, parts, &r);
    else
        p.end_col = gpt_share(cols, COLS_PER_SHARE, part, parts, &p.first_col);
    for (; r < end_row; r += GPT_ROWS_PER_BLOCK) {
        p.rows = gpt_min(end_row - r, GPT_ROWS_PER_BLOCK);
        p.packed = gpt_gemm_pack(scratch, a + r * depth, p.rows, depth, p.layout);
        p.y = y + r * cols;
        gpt_gemm_nt_packed(&p);
    }
}
