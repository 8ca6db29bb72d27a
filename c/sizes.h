/* Sizes, and which of them can be addressed. Every kernel checks its sizes here, before it writes.
 *
 * The rule: a tensor, and the scratch of all parts together, has at most GPT_MAX_FLOATS floats. A size of 0
 * counts as 1. So each size of a tensor, and each product of its sizes, is addressable, also where the tensor
 * is empty.
 */
#ifndef GPT_SIZES_H
#define GPT_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "gpt_layers.h"

/* 2 GiB less 128 bytes on wasm32. The 128 bytes let any size be rounded up to whole tiles or panels. */
#define GPT_MAX_FLOATS ((size_t)PTRDIFF_MAX / sizeof(float) - 31)

/* The number of floats where it is not addressable. No memory has so many. */
#define GPT_TOO_MANY SIZE_MAX

/* a·b, or GPT_TOO_MANY if one of a, b and a·b is above GPT_MAX_FLOATS. */
size_t gpt_floats(size_t a, size_t b);

/* a + b, or GPT_TOO_MANY if one of a, b and a + b is above GPT_MAX_FLOATS. */
size_t gpt_floats_sum(size_t a, size_t b);

/* Whether a tensor of a·b floats, or of a·b·c·d floats, is addressable. */
int gpt_fits(size_t a, size_t b);
int gpt_fits4(size_t a, size_t b, size_t c, size_t d);

/* The check of every kernel, before it writes.
 *   has_pointers  none is missing
 *   fits          the sizes are addressable, and not 0 where that is excluded
 *   is_valid      the scalars are in range, and part < parts */
static inline int gpt_check(int has_pointers, int fits, int is_valid)
{
    if (!has_pointers) return GPT_ERR_NULL;
    if (!fits) return GPT_ERR_SIZE;
    return is_valid ? GPT_OK : GPT_ERR_VALUE;
}

/* Whether all of n indices are from 0 to count - 1. */
int gpt_are_indices(const int32_t *indices, size_t n, size_t count);

/* n rounded up to a multiple of `unit` <= 32, or GPT_TOO_MANY. */
static inline size_t gpt_round_up(size_t n, size_t unit)
{
    return n <= GPT_MAX_FLOATS ? (n + unit - 1) / unit * unit : GPT_TOO_MANY;
}

#endif
