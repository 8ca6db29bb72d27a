/* The few f32x4 helpers that two or more kernels share, and the check of sizes that all of them make. */
#ifndef GPT_SIMD_H
#define GPT_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

/* For what is called for every vector: compilers do not always inline what is used twice, nor does V8 in Node 20. */
#define GPT_INLINE static inline __attribute__((always_inline))

static inline size_t gpt_min(size_t a, size_t b) { return a < b ? a : b; }

/* Whether a tensor of a·b floats can be addressed at all. */
static inline int gpt_fits(size_t a, size_t b) { return b == 0 || a <= PTRDIFF_MAX / sizeof(float) / b; }

/* The share of n things that falls to `part` of `parts`, in whole tiles: *first up to, not including, the result. */
size_t gpt_share(size_t n, size_t tile, size_t part, size_t parts, size_t *first);

/* a·b + c: the one place that says how. The relaxed build rounds once, the simd build twice. */
GPT_INLINE v128_t gpt_multiply_add(v128_t a, v128_t b, v128_t c)
{
#ifdef __wasm_relaxed_simd__
    return wasm_f32x4_relaxed_madd(a, b, c);
#else
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

/* e^x, within 3e-7 of itself, for x <= 88; from -87 down it is 0. NaN stays NaN. */
GPT_INLINE v128_t gpt_exp(v128_t x)
{
    /* x = n·ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that r is exact: e^x = 2^n · (1 + r + r² · q(r)), q fitted
     * to e^r within 3e-9. */
    const v128_t n = wasm_f32x4_nearest(wasm_f32x4_mul(x, wasm_f32x4_splat(1.44269504f)));
    v128_t r = wasm_f32x4_sub(x, wasm_f32x4_mul(n, wasm_f32x4_splat(0.693359375f)));
    r = wasm_f32x4_add(r, wasm_f32x4_mul(n, wasm_f32x4_splat(2.12194440e-4f)));
    v128_t q = wasm_f32x4_splat(0.00138147315f);
    q = gpt_multiply_add(q, r, wasm_f32x4_splat(0.00836871844f));
    q = gpt_multiply_add(q, r, wasm_f32x4_splat(0.0416683853f));
    q = gpt_multiply_add(q, r, wasm_f32x4_splat(0.166665211f));
    q = gpt_multiply_add(q, r, wasm_f32x4_splat(0.49999994f));
    const v128_t e = gpt_multiply_add(wasm_f32x4_mul(r, r), q, wasm_f32x4_add(r, wasm_f32x4_splat(1.0f)));
    const v128_t power =
        wasm_i32x4_shl(wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(n), wasm_i32x4_splat(127)), 23);
    /* not "below, take 0": a NaN must pass */
    return wasm_v128_andnot(wasm_f32x4_mul(e, power), wasm_f32x4_lt(x, wasm_f32x4_splat(-87.0f)));
}

/* The sum of the lanes as (0+2) + (1+3): two shuffles, and for rows of 5 the very order of PyTorch's Linear. */
GPT_INLINE float gpt_sum_lanes(v128_t v)
{
    const v128_t pairs = wasm_f32x4_add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}

/* The last n <= 4 elements of a row, the other lanes 0; never a read or write past the end. */
v128_t gpt_load_tail(const float *p, size_t n);
void gpt_store_tail(float *p, v128_t v, size_t n);

#endif
