/* The matrix product behind linear and feedforward: y = x · weightᵀ + bias. For the kernels, not exported.
 *
 * From GPT_PACK_FROM rows on, rows of x are packed: panels of 8 rows, [panel][in][8], the last one filled up with zeros, so
 * that 8 rows lie side by side in two vectors. Sums run over `in` from first to last, whatever the tile: a result does
 * not depend on how the work is cut. Fewer rows are not worth packing and go through gpt_gemm_few.
 */
#ifndef GPT_GEMM_H
#define GPT_GEMM_H

#include <stddef.h>

enum { GPT_PANEL = 8 };

/* Six rows and two of zeros in a panel take 1.40 ms for FeedForward at GPT-2's size, six as they lie 1.45 or more. */
enum { GPT_PACK_FROM = 6 };

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
void gpt_gemm_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows, size_t in,
                     size_t out, size_t first_out, size_t end_out);

/* The same with all outputs, and y packed as well, ready for the next product.   y  [panels][out][8] */
void gpt_gemm_packed_to_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows,
                               size_t in, size_t out);

/* Fewer rows than GPT_PACK_FROM, as they lie.   y  [rows, out]   x  [rows, in] */
void gpt_gemm_few(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out);

#endif
