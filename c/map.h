/* Elementwise maps: the loop over vectors of four elements and the tail after them, for every kernel. */
#ifndef GPT_MAP_H
#define GPT_MAP_H

#include "gpt_layers.h"
#include "simd.h"

/* Stores n <= 4 elements. Where n is the constant 4, it is one instruction. */
GPT_INLINE void gpt_store(float *p, v128_t v, size_t n)
{
    if (n == 4)
        wasm_v128_store(p, v);
    else
        gpt_store_tail(p, v, n);
}

/* y[i] = value for first <= i < end, four at a time. `value` is an expression of vectors, in which
 * GPT_AT(x) is x[i ... i + 3], and gpt_i is i. The tail is computed by the same operations, with lanes of
 * 0 past its end, so a result does not depend on its place. */
#define GPT_MAP(y, first, end, value)                                                                        \
    do {                                                                                                     \
        const size_t gpt_end = (end);                                                                        \
        size_t gpt_i = (first);                                                                              \
        for (; gpt_i + 4 <= gpt_end; gpt_i += 4) {                                                           \
            enum { gpt_n = 4, gpt_is_whole = 1 };                                                            \
            const v128_t gpt_v = (value);                                                                    \
            wasm_v128_store((y) + gpt_i, gpt_v);                                                             \
        }                                                                                                    \
        if (gpt_i < gpt_end) {                                                                               \
            enum { gpt_is_whole = 0 };                                                                       \
            const size_t gpt_n = gpt_end - gpt_i;                                                            \
            const v128_t gpt_v = (value);                                                                    \
            gpt_store_tail((y) + gpt_i, gpt_v, gpt_n);                                                       \
        }                                                                                                    \
    } while (0)
#define GPT_AT(x) (gpt_is_whole ? wasm_v128_load((x) + gpt_i) : gpt_load_tail((x) + gpt_i, gpt_n))

/* The body of an elementwise kernel: its checks, then y[i] = value for this part of n elements. It returns the
 * status. `is_valid`: whether the scalars are in range. */
#define GPT_MAP_KERNEL(y, n, part, parts, has_pointers, is_valid, value)                                     \
    do {                                                                                                     \
        const int gpt_status = gpt_check(has_pointers, gpt_fits(n, 1), (is_valid) && (part) < (parts));      \
        if (gpt_status) return gpt_status;                                                                   \
        size_t gpt_first;                                                                                    \
        const size_t gpt_last = gpt_share(n, 4, part, parts, &gpt_first);                                    \
        GPT_MAP(y, gpt_first, gpt_last, value);                                                              \
        return GPT_OK;                                                                                       \
    } while (0)

/* Defines a function of gpt_layers.h: y = f(x), or dx = f(dy, x). */
#define GPT_UNARY(function, f)                                                                               \
    int function(float *y, const float *x, size_t n, size_t part, size_t parts)                              \
    {                                                                                                        \
        GPT_MAP_KERNEL(y, n, part, parts, (y) && (x), 1, f(GPT_AT(x)));                                      \
    }
#define GPT_GRADIENT(function, f)                                                                            \
    int function(float *dx, const float *dy, const float *x, size_t n, size_t part, size_t parts)            \
    {                                                                                                        \
        GPT_MAP_KERNEL(dx, n, part, parts, (dx) && (dy) && (x), 1, f(GPT_AT(dy), GPT_AT(x)));                \
    }

#endif
