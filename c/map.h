/* Elementwise maps: the loop over vectors of four elements and the tail after them, for every kernel. */
#ifndef GPT_MAP_H
#define GPT_MAP_H

#include "gpt_layers.h"
#include "simd.h"

/* Loads or stores n <= 4 elements. Where n is the constant 4, it is one instruction. */
GPT_INLINE v128_t gpt_load(const float *p, size_t n)
{
    return n == 4 ? wasm_v128_load(p) : gpt_load_tail(p, n);
}
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

/* A whole kernel: y[i] = f(x[i]) for this part of n elements. f is inlined. */
GPT_INLINE int gpt_map(float *y, const float *x, size_t n, size_t part, size_t parts, v128_t (*f)(v128_t x))
{
    const int status = gpt_check(y && x, gpt_fits(n, 1), part < parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    GPT_MAP(y, first, end, f(GPT_AT(x)));
    return GPT_OK;
}

/* The same for y[i] = f(a[i], b[i]). */
GPT_INLINE int gpt_map2(float *y, const float *a, const float *b, size_t n, size_t part, size_t parts,
                        v128_t (*f)(v128_t a, v128_t b))
{
    const int status = gpt_check(y && a && b, gpt_fits(n, 1), part < parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    GPT_MAP(y, first, end, f(GPT_AT(a), GPT_AT(b)));
    return GPT_OK;
}

/* Defines a function of gpt_layers.h: y = f(x), or dx = f(dy, x). */
#define GPT_UNARY(function, f)                                                                               \
    int function(float *y, const float *x, size_t n, size_t part, size_t parts)                              \
    {                                                                                                        \
        return gpt_map(y, x, n, part, parts, f);                                                             \
    }
#define GPT_GRADIENT(function, f)                                                                            \
    int function(float *dx, const float *dy, const float *x, size_t n, size_t part, size_t parts)            \
    {                                                                                                        \
        return gpt_map2(dx, dy, x, n, part, parts, f);                                                       \
    }

#endif
