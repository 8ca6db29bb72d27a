/* The two algorithms of nt, one for each layout of the rows. Only gemm_nt.c calls them. */
#ifndef GPT_GEMM_NT_H
#define GPT_GEMM_NT_H

#include "gemm.h"

void gpt_gemm_nt_few(const gpt_packed_product *p);

void gpt_gemm_pack_panels(float *packed, const float *a, size_t rows, size_t depth);
void gpt_gemm_nt_panels(const gpt_packed_product *p);

#endif
