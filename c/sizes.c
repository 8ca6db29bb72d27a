/* Sizes, and which of them can be addressed; sizes.h has the contracts. */
#include "sizes.h"

size_t gpt_floats(size_t a, size_t b)
{
    size_t n;
    if (a > GPT_MAX_FLOATS || b > GPT_MAX_FLOATS) return GPT_TOO_MANY;
    return __builtin_mul_overflow(a, b, &n) || n > GPT_MAX_FLOATS ? GPT_TOO_MANY : n;
}

size_t gpt_floats_sum(size_t a, size_t b)
{
    return a <= GPT_MAX_FLOATS && b <= GPT_MAX_FLOATS - a ? a + b : GPT_TOO_MANY;
}

int gpt_fits(size_t a, size_t b) { return gpt_floats(a ? a : 1, b ? b : 1) != GPT_TOO_MANY; }

int gpt_fits4(size_t a, size_t b, size_t c, size_t d)
{
    const size_t ab = gpt_floats(a ? a : 1, b ? b : 1), cd = gpt_floats(c ? c : 1, d ? d : 1);
    return gpt_fits(ab, cd);
}

int gpt_are_indices(const int32_t *indices, size_t n, size_t count)
{
    for (size_t i = 0; i < n; i++)
        if (indices[i] < 0 || (size_t)indices[i] >= count) return 0;
    return 1;
}
