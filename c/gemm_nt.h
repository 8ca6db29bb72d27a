/* The three algorithms of nt, one for each layout of the rows. Only gemm_nt.c calls them. */
#ifndef GPT_GEMM_NT_H
#define GPT_GEMM_NT_H

#include "gemm.h"

/* Rows of the layout in pairs: 6 rows at 2 places along k fill three vectors. */
enum { GPT_ROWS_IN_PAIRS_COUNT = 6 };

void gpt_gemm_nt_few(const gpt_packed_product *p);

void gpt_gemm_pack_pairs(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_pairs(const gpt_packed_product *p);

void gpt_gemm_pack_panels(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_panels(const gpt_packed_product *p);

#endif
