/* The matrix products behind every layer with weights. For the kernels, not exported. In BLAS's names
 *   nt  y = a · bᵀ   Linear: x · weightᵀ; the gradient of Conv1D's x. Below: gpt_gemm_packed and gpt_gemm_few
 *   nn  y = a · b    Conv1D: x · weight; the gradient of Linear's x
 *   tn  y = aᵀ · b   the gradients of the weights of both
 *
 * Eight rows of the first, or columns of the last, lie side by side in panels: [panel][sum][8], the last one filled up
 * with zeros. A sum runs from its first term to its last, whatever the tile: a result does not depend on how the work
 * is cut. Fewer rows than GPT_PACK_FROM are not worth packing.
 */
#ifndef GPT_GEMM_H
#define GPT_GEMM_H

#include <stddef.h>

enum { GPT_PANEL = 8 };

/* Sums by 8 lanes that a tile holds in registers; gemm.c says why. */
#ifdef __wasm_relaxed_simd__
enum { GPT_TILE = 6 };
#else
enum { GPT_TILE = 4 };
#endif

/* What all sums over panels are made of: `rows` by 8 · `panels` of them, GPT_TILE rows at a time.
 *   y[r][p, lane] = start[r][p, lane] + Σ_k x[p][k, lane] · a[r, k]
 *   y, start  rows lie y_row and start_row floats apart, panels y_panel; start may be y, or NULL for zeros
 *   x         x_row floats from one k to the next, x_panel from panel to panel
 *   a         a[r, k] lies at r · a_row + k · a_col
 */
void gpt_gemm_tiles(float *y, size_t y_row, size_t y_panel, const float *start, size_t start_row,
                    const float *x, size_t x_row, size_t x_panel, const float *a, size_t a_row, size_t a_col,
                    size_t depth, size_t rows, size_t panels);

/* Fewer rows than this are not worth packing. */
enum { GPT_PACK_FROM = 4 };

/* Up to this many rows are packed as one six instead, [in / 2][6][2], filled up with zeros: lanes are two rows at two
 * places along `in`, and sums run over the even places and the odd ones. 6 rows leave no lane idle. */
enum { GPT_SIX = 6 };

static inline size_t gpt_six_size(size_t in) { return (in + in % 2) * GPT_SIX; }

/* Rows packed at once: the weights stream past them once, and x and y stay in the second-level cache. */
enum { GPT_BLOCK = 64 };

/* Rows as panels fill them: the next multiple of GPT_PANEL. */
static inline size_t gpt_whole_panels(size_t rows) { return (rows + GPT_PANEL - 1) / GPT_PANEL * GPT_PANEL; }

/* packed  [panels][in][8]   x  [rows, in] */
void gpt_gemm_pack(float *packed, const float *x, size_t rows, size_t in);

/* Outputs from first_out up to end_out, of rows that are packed.
 *   y       [rows, out]
 *   packed  [panels][in][8]
 *   weight  [out, in]   bias  [out], NULL for none
 */
void gpt_gemm_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows,
                     size_t in, size_t out, size_t first_out, size_t end_out);

/* The same with all outputs, and y packed as well, ready for the next product.   y  [panels][out][8] */
void gpt_gemm_packed_to_packed(float *y, const float *packed, const float *weight, const float *bias,
                               size_t rows, size_t in, size_t out);

/* The same for at most six rows.   six  gpt_six_size(in) floats   y of to_six  gpt_six_size(out) floats */
void gpt_gemm_pack_six(float *six, const float *x, size_t rows, size_t in);
void gpt_gemm_six(float *y, const float *six, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out);
void gpt_gemm_six_to_six(float *y, const float *six, const float *weight, const float *bias, size_t in,
                         size_t out);

/* Fewer rows than GPT_PACK_FROM, as they lie.   y  [rows, out]   x  [rows, in] */
void gpt_gemm_few(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out);

/* Fewer rows of a than this are not worth packing columns of b: at 768 -> 3072 five take 1.6 ms packed and 1.1 as they
 * lie, six 1.2 and 1.3 (relaxed). */
enum { GPT_PACK_COLUMNS_FROM = 6 };

/* Terms of a sum whose columns of b are packed at once: 64 columns take 128 kB of the second-level cache. */
enum { GPT_DEPTH = 512 };

/* Columns of a copied at once, whole tiles in either build; a strip stays in the first-level cache. */
enum { GPT_STRIP = 12 };

/* Floats of scratch that gpt_gemm_nn and gpt_gemm_tn need for sums of `depth` terms; it stops growing with 512. */
static inline size_t gpt_gemm_scratch_size(size_t depth)
{
    return (depth < GPT_DEPTH ? depth : GPT_DEPTH) * (GPT_BLOCK + GPT_STRIP);
}

/* y = a · b + bias, columns from first_col up to end_col.
 *   y     [rows, cols]
 *   a     [rows, depth]
 *   b     [depth, cols]
 *   bias  [cols], NULL for none: the sums start from it
 */
void gpt_gemm_nn(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t first_col, size_t end_col);

/* y = aᵀ · b, columns from first_col up to end_col.   y  [rows, cols]   a  [depth, rows]   b  [depth, cols] */
void gpt_gemm_tn(float *y, float *scratch, const float *a, const float *b, size_t rows, size_t depth,
                 size_t cols, size_t first_col, size_t end_col);

/* sums[c] = Σ_r x[r, c], columns from first_col up to end_col.   sums  [cols]   x  [rows, cols] */
void gpt_column_sums(float *sums, const float *x, size_t rows, size_t cols, size_t first_col, size_t end_col);

#endif
