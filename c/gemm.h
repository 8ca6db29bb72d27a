/* Matrix products for every layer with weights. Internal to c/, not exported. Named as in BLAS:
 *   nt  y = a · bᵀ + bias   Linear's forward; the gradient of Conv1D's x; both products of FeedForward
 *   nn  y = a · b + bias    Conv1D's forward; the gradient of Linear's x
 *   tn  y = aᵀ · b          the gradients of both layers' weights
 *
 * A product chooses its algorithm by its number of rows. It can be cut: it computes part number `part` of
 * `parts`. The order of the additions in a sum depends on the sizes of the whole product and on the row, not
 * on the cut. So every cut gives the same bits.
 *
 * With enough rows, one matrix is first copied into panels, [panel][k][GPT_PANEL_WIDTH], so that its numbers
 * can be loaded as vectors. nt packs 8 rows of a per panel; nn and tn pack 8 columns of b. The last panel is
 * zero-padded. nt with 1 to 4 rows, and nn with fewer than 20, read both matrices in place.
 *
 *   gemm_tile.c      the register tile under all products over panels, attention's included
 *   gemm_nt.c        nt: the choice of the algorithm, the cut into parts and blocks of rows
 *   gemm_nt_few.c    nt's algorithm for one to four rows of a
 *   gemm_nt_panels.c nt's algorithm for five or more rows of a
 *   gemm_nn_tn.c     nn and tn
 */
#ifndef GPT_GEMM_H
#define GPT_GEMM_H

#include <stddef.h>

#include "sizes.h"

/* Floats side by side in a panel: two vectors. */
enum { GPT_PANEL_WIDTH = 8 };

/* Rows of y that a tile holds in registers; gemm_tile.c explains the numbers. */
#ifdef __wasm_relaxed_simd__
enum { GPT_TILE_ROWS = 6 };
#else
enum { GPT_TILE_ROWS = 4 };
#endif

/* y[r, p, lane] = start[r, p, lane] + Σ_k a[r, k] · b[p, k, lane]
 *   for r < rows, k < depth, p < panels, lane < 8
 *   y      [r, p, lane] is at r · y_row + p · y_panel + lane
 *   start  [r, p, lane] is at r · start_row + p · y_panel + lane; may be y; NULL means zeros
 *   a      [r, k] is at r · a_row + k · a_col
 *   b      [p, k, lane] is at p · b_panel + k · b_row + lane
 * With one panel, y_panel and b_panel can be left out.
 */
typedef struct gpt_tiles {
    float *y;
    size_t y_row, y_panel;
    const float *start;
    size_t start_row;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t b_row, b_panel;
    size_t rows, depth, panels;
} gpt_tiles;
void gpt_gemm_tiles(const gpt_tiles *tiles);

/* ---- nt ---- */

/* y = a · bᵀ + bias
 *   y        [rows, cols]
 *   scratch  gpt_gemm_nt_scratch_size(rows, depth) floats for this part alone
 *   a        [rows, depth]
 *   b        [cols, depth]   read in place
 *   bias     [cols], NULL for none
 */
size_t gpt_gemm_nt_scratch_size(size_t rows, size_t depth);
void gpt_gemm_nt(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t part, size_t parts);

/* The steps of nt one by one, for FeedForward: two products in a row, with a packed result between them.
 *
 *   layout = gpt_gemm_rows_layout(rows)       once, for all rows: the layout decides the order of a sum
 *   for each block of n <= GPT_ROWS_PER_BLOCK rows:
 *     packed = gpt_gemm_pack(scratch, ...)    scratch of gpt_gemm_packed_size(layout, n, depth) floats
 *     gpt_gemm_nt_packed(...)                 the product
 */
typedef enum gpt_rows_layout {
    GPT_ROWS_IN_PLACE,  /* 1 ... 4 rows: [row][depth]; gpt_gemm_pack copies nothing and returns a */
    GPT_ROWS_IN_PANELS, /* 5 rows or more: [panel][depth][8]; zero-padded */
} gpt_rows_layout;
gpt_rows_layout gpt_gemm_rows_layout(size_t rows);

/* Rows packed at once. b streams past them once, while they and y stay in the second-level cache. */
enum { GPT_ROWS_PER_BLOCK = 64 };

size_t gpt_gemm_packed_size(gpt_rows_layout layout, size_t rows, size_t depth);
const float *gpt_gemm_pack(float *packed, const float *a, size_t rows, size_t depth, gpt_rows_layout layout);

/* y = a · bᵀ + bias for a block of packed rows, in the columns from first_col up to end_col.
 *   y       [rows, cols]; with `repack` packed like a: gpt_gemm_packed_size(layout, rows, cols) floats, and
 *           all columns
 *   packed  a, as gpt_gemm_pack returned it
 *   b       [cols, depth]
 *   bias    [cols], NULL for none
 */
typedef struct gpt_packed_product {
    float *y;
    const float *packed, *b, *bias;
    size_t rows, depth, cols, first_col, end_col;
    gpt_rows_layout layout;
    int repack;
} gpt_packed_product;
void gpt_gemm_nt_packed(const gpt_packed_product *p);

/* Its two algorithms, one for each layout of the rows. Only gemm_nt.c calls them. */
void gpt_gemm_nt_few(const gpt_packed_product *p);
void gpt_gemm_pack_panels(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_panels(const gpt_packed_product *p);

/* ---- nn and tn ---- */

/* y = a · b + bias
 *   y        [rows, cols]
 *   scratch  gpt_gemm_nn_scratch_size(rows, depth) floats for this part alone
 *   a        [rows, depth]
 *   b        [depth, cols]
 *   bias     [cols], NULL for none; each sum starts from it
 */
size_t gpt_gemm_nn_scratch_size(size_t rows, size_t depth);
void gpt_gemm_nn(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t part, size_t parts);

/* y = aᵀ · b. A sum over k adds 512 products in float32, and then these blocks.
 *   y        [rows, cols]
 *   scratch  gpt_gemm_tn_scratch_size(depth) floats for this part alone
 *   a        [depth, rows]
 *   b        [depth, cols]
 */
size_t gpt_gemm_tn_scratch_size(size_t depth);
void gpt_gemm_tn(float *y, float *scratch, const float *a, const float *b, size_t rows, size_t depth,
                 size_t cols, size_t part, size_t parts);

#endif
