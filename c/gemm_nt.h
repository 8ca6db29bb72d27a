/* The three algorithms of nt, one for each layout of the rows. Only gemm_nt.c calls them.
 *
 * Each computes the columns from first_col up to end_col of y = a · bᵀ + bias, with a packed in its own
 * layout. With `repack`, y has that layout too; otherwise y is [rows, cols].
 */
#ifndef GPT_GEMM_NT_H
#define GPT_GEMM_NT_H

#include <stddef.h>

/* Rows of the layout in pairs: 6 rows at 2 places along k fill three vectors. */
enum { GPT_ROWS_IN_PAIRS_COUNT = 6 };

void gpt_gemm_nt_few(float *y, const float *a, const float *b, const float *bias, size_t rows, size_t depth,
                     size_t cols, size_t first_col, size_t end_col);

void gpt_gemm_pack_pairs(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_pairs(float *y, int repack, const float *packed, const float *b, const float *bias,
                       size_t rows, size_t depth, size_t cols, size_t first_col, size_t end_col);

void gpt_gemm_pack_panels(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_panels(float *y, int repack, const float *packed, const float *b, const float *bias,
                        size_t rows, size_t depth, size_t cols, size_t first_col, size_t end_col);

#endif
