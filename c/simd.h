/* What the kernels share: the division of work into parts, and a few f32x4 functions. */
#ifndef GPT_SIMD_H
#define GPT_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#include "sizes.h"

/* For functions called once per vector: compilers do not always inline a function with two callers, and V8 in
 * Node 20 does not inline it later. */
#define GPT_INLINE static inline __attribute__((always_inline))

/* Before a loop of a known length whose copies would only make the WebAssembly larger. */
#ifdef __clang__
#define GPT_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define GPT_NO_UNROLL
#endif

/* If the number of columns is a multiple of this, 2 kB, a column's lines fall into a few sets of the first-level
 * cache, of 8 lines each. A kernel that has more than 7 of these lines at work reads each again and again. */
enum { GPT_COLS_OF_ONE_SET = 512 };

static inline size_t gpt_min(size_t a, size_t b) { return a < b ? a : b; }

/* The rule for eps in every normalization, which divides by √(variance + eps). */
static inline int gpt_eps_valid(float eps) { return eps >= 0.0f && eps < INFINITY; }

/* Whether float32 can sum a row's squares: whether their mean, with eps, neither overflows nor is so small that
 * squares which underflow count. False for NaN. */
static inline int gpt_squares_fit(double mean_square, float eps)
{
    const double sum = mean_square + (double)eps;
    return sum > 1e-30 && sum < 3e38;
}

/* Whether a row's gradient can be summed in float32: its deviation is 1/rstd. False for NaN. */
static inline int gpt_rstd_fits(float rstd) { return rstd > 1e-18f && rstd < 1e18f; }

/* Divides n items among `parts`: part `part` gets the items *first <= i < the returned end. Cuts fall on
 * multiples of `tile`, and the shares differ by at most one tile. */
size_t gpt_share(size_t n, size_t tile, size_t part, size_t parts, size_t *first);

/* a·b + c. The relaxed build fuses the two operations and rounds once, the simd build rounds twice. */
GPT_INLINE v128_t gpt_multiply_add(v128_t a, v128_t b, v128_t c)
{
#ifdef __wasm_relaxed_simd__
    return wasm_f32x4_relaxed_madd(a, b, c);
#else
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

/* a·b + c, rounded twice in both builds. */
GPT_INLINE v128_t gpt_multiply_then_add(v128_t a, v128_t b, v128_t c)
{
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
}

/* Splits x = n·ln 2 + r, with |r| <= ln 2 / 2, so that e^x = 2^n · (1 + r + r²·q(r)). Returns q(r).
 *
 * ln 2 = 0.693359375 - 2.1219444e-4. n times the first constant is exact, and so is its subtraction from x.
 * Only the small second term is rounded. q has degree 4 and fits e^r within 3e-9. */
GPT_INLINE v128_t gpt_exp_terms(v128_t x, v128_t *n_i32x4, v128_t *r,
                                v128_t (*multiply_add)(v128_t, v128_t, v128_t))
{
    const v128_t n = wasm_f32x4_nearest(wasm_f32x4_mul(x, wasm_f32x4_splat(1.44269504f)));
    *n_i32x4 = wasm_i32x4_trunc_sat_f32x4(n);
    *r = wasm_f32x4_sub(x, wasm_f32x4_mul(n, wasm_f32x4_splat(0.693359375f)));
    *r = wasm_f32x4_add(*r, wasm_f32x4_mul(n, wasm_f32x4_splat(2.12194440e-4f)));
    v128_t q = wasm_f32x4_splat(0.00138147315f);
    q = multiply_add(q, *r, wasm_f32x4_splat(0.00836871844f));
    q = multiply_add(q, *r, wasm_f32x4_splat(0.0416683853f));
    q = multiply_add(q, *r, wasm_f32x4_splat(0.166665211f));
    return multiply_add(q, *r, wasm_f32x4_splat(0.49999994f));
}

/* e^x = 2^n · e^r. Returns e^r with a relative error of at most 3e-7. NaN stays NaN. `multiply_add` is one of
 * the two functions above. */
GPT_INLINE v128_t gpt_exp_split(v128_t x, v128_t *n_i32x4, v128_t (*multiply_add)(v128_t, v128_t, v128_t))
{
    v128_t r;
    const v128_t q = gpt_exp_terms(x, n_i32x4, &r, multiply_add);
    return multiply_add(wasm_f32x4_mul(r, r), q, wasm_f32x4_add(r, wasm_f32x4_splat(1.0f)));
}

/* 2^n for integers n from -126 to 127; infinity for 128. */
GPT_INLINE v128_t gpt_power_of_2(v128_t n)
{
    return wasm_i32x4_shl(wasm_i32x4_add(n, wasm_i32x4_splat(127)), 23);
}

/* e^x for x <= 88, with a relative error of at most 3e-7. Below -87 the result is 0. NaN stays NaN. */
GPT_INLINE v128_t gpt_exp_with(v128_t x, v128_t (*multiply_add)(v128_t, v128_t, v128_t))
{
    v128_t n;
    const v128_t e = gpt_exp_split(x, &n, multiply_add), power = gpt_power_of_2(n);
    /* clear the lanes below -87; the comparison is false for NaN, which therefore passes */
    return wasm_v128_andnot(wasm_f32x4_mul(e, power), wasm_f32x4_lt(x, wasm_f32x4_splat(-87.0f)));
}
GPT_INLINE v128_t gpt_exp_f32x4(v128_t x) { return gpt_exp_with(x, gpt_multiply_add); }

/* The sum of the four lanes, in the order (0 + 2) + (1 + 3). It takes two shuffles, and for rows of 5
 * elements it is the order in which PyTorch's Linear adds. */
GPT_INLINE float gpt_sum_lanes(v128_t v)
{
    const v128_t pairs = wasm_f32x4_add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}

/* The largest of the four lanes; NaN is ignored. */
GPT_INLINE float gpt_max_lanes(v128_t v)
{
    v = wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    v = wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(v, 0);
}

/* y = factor · x, n elements; y may be x */
static inline void gpt_scale_row(float *y, const float *x, float factor, size_t n)
{
    const v128_t factor4 = wasm_f32x4_splat(factor);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, wasm_f32x4_mul(factor4, wasm_v128_load(x + i)));
    for (; i < n; i++) y[i] = factor * x[i];
}

/* Stores four rows of four elements as columns: row a is the first element of each of four rows of y, which are
 * `step` floats apart. */
GPT_INLINE void gpt_store_transposed(float *y, size_t step, v128_t a, v128_t b, v128_t c, v128_t d)
{
    const v128_t ab_low = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5),
                 ab_high = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7),
                 cd_low = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5),
                 cd_high = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
    wasm_v128_store(y, wasm_i64x2_shuffle(ab_low, cd_low, 0, 2));
    wasm_v128_store(y + step, wasm_i64x2_shuffle(ab_low, cd_low, 1, 3));
    wasm_v128_store(y + 2 * step, wasm_i64x2_shuffle(ab_high, cd_high, 0, 2));
    wasm_v128_store(y + 3 * step, wasm_i64x2_shuffle(ab_high, cd_high, 1, 3));
}

/* Loads or stores n <= 4 elements and touches no memory past them. Lanes past n load as 0. */
v128_t gpt_load_tail(const float *p, size_t n);
void gpt_store_tail(float *p, v128_t v, size_t n);

/* Loads the first four of n elements. Where n is the constant 4, it is one instruction. */
GPT_INLINE v128_t gpt_load(const float *p, size_t n)
{
    return n >= 4 ? wasm_v128_load(p) : gpt_load_tail(p, n);
}

#endif
