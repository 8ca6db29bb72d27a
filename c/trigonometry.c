/* sin and cos of any finite float32.
 *
 *   x = n · π/2 + r with |r| <= π/4;   sin x is sin r, cos r, -sin r or -cos r, by n mod 4
 *   cos x = sin(x + π/2): the same with n + 1
 *
 * All in float64, so that only the last step rounds, and both builds give the same bits.
 *   r = (x - n · A) - n · B, where A has the first 25 bits of π/2: n · A is exact up to n = 2^28.
 *   sin r = r + r³ · S(r²) with S of degree 3, within 2^-37; cos r = 1 + r² · C(r²) with C of degree 3, within
 *   2^-34.
 *   From 2^28 on: see `reduce_huge`.
 *
 * Bound by arithmetic: 3.8 ns an element where exp takes 2.3, and 24 ns beyond 2^28. */
#include <math.h>

#include "map.h"

/* From here on `reduce_huge` is needed. */
#define HUGE_ARGUMENT 0x1p28f

/* 2/π in binary: the first 256 bits after the point. */
static const uint32_t two_over_pi[8] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                        0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/* The 32 bits of 2/π from this one on. */
static uint32_t bits_at(unsigned first)
{
    const unsigned word = first / 32, shift = first % 32;
    return (uint32_t)(((uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1]) << shift >> 32);
}

/* n mod 4 and r for 2^28 <= |x| < infinity (Payne and Hanek 1983, doi:10.1145/1057600.1057602). |x| = m · 2^e
 * with a whole m of 24 bits. The bits of 2/π up to the weight 2^(2-e) only add multiples of 4 to x · 2/π.
 * With the 96 bits after them, x · 2/π mod 4 has 62 bits after the point. */
static __attribute__((noinline)) void reduce_huge(float x, double *r, int32_t *n)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    const unsigned first = (bits >> 23 & 255) - 152; /* e - 2, e = exponent - 150 */
    const uint64_t turns =
        (m * bits_at(first) << 32) + m * bits_at(first + 32) + (m * bits_at(first + 64) >> 32);
    const uint64_t whole = (turns + ((uint64_t)1 << 61)) >> 62;
    const double rest = (double)(int64_t)(turns - (whole << 62)) * (0x1p-62 * 1.5707963267948966);
    *r = x < 0.0f ? -rest : rest;
    *n = x < 0.0f ? -(int32_t)whole : (int32_t)whole;
}

/* r of two elements, and n as float64. n is never -0: from it sin -0 would be 0. */
GPT_INLINE v128_t reduce(v128_t x, v128_t *n)
{
    const v128_t turns = wasm_f64x2_mul(x, wasm_f64x2_splat(0.6366197723675814));
    *n = wasm_f64x2_add(wasm_f64x2_nearest(turns), wasm_f64x2_splat(0.0));
    const v128_t r = wasm_f64x2_sub(x, wasm_f64x2_mul(*n, wasm_f64x2_splat(1.5707963109016418)));
    return wasm_f64x2_sub(r, wasm_f64x2_mul(*n, wasm_f64x2_splat(1.5893254773528196e-08)));
}

/* c[0] + c[1]·z + c[2]·z² + c[3]·z³ */
GPT_INLINE v128_t cubic(v128_t z, double c0, double c1, double c2, double c3)
{
    v128_t y = wasm_f64x2_add(wasm_f64x2_mul(z, wasm_f64x2_splat(c3)), wasm_f64x2_splat(c2));
    y = wasm_f64x2_add(wasm_f64x2_mul(y, z), wasm_f64x2_splat(c1));
    return wasm_f64x2_add(wasm_f64x2_mul(y, z), wasm_f64x2_splat(c0));
}

/* r · (1 + z · S(z)), z = r²: a product, so that -0 stays -0 */
GPT_INLINE v128_t sin_f64x2(v128_t r)
{
    const v128_t z = wasm_f64x2_mul(r, r);
    const v128_t s =
        cubic(z, -0.1666666664160724, 0.00833332938359129, -0.0001983933408355127, 2.7183042232370486e-06);
    return wasm_f64x2_mul(r, wasm_f64x2_add(wasm_f64x2_mul(z, s), wasm_f64x2_splat(1.0)));
}

GPT_INLINE v128_t cos_f64x2(v128_t r)
{
    const v128_t z = wasm_f64x2_mul(r, r);
    const v128_t c =
        cubic(z, -0.49999999724891675, 0.04166662329852576, -0.001388676294884876, 2.439036900992621e-05);
    return wasm_f64x2_add(wasm_f64x2_mul(z, c), wasm_f64x2_splat(1.0));
}

/* Two vectors of float64 as one of float32, or of int32. */
GPT_INLINE v128_t joined(v128_t low, v128_t high) { return wasm_i32x4_shuffle(low, high, 0, 1, 4, 5); }

/* sin(x + quarters · π/2) */
GPT_INLINE v128_t sine(v128_t x, int quarters)
{
    v128_t n_low, n_high;
    v128_t low = reduce(wasm_f64x2_promote_low_f32x4(x), &n_low),
           high = reduce(wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 0, 1)), &n_high);
    v128_t n = joined(wasm_i32x4_trunc_sat_f64x2_zero(n_low), wasm_i32x4_trunc_sat_f64x2_zero(n_high));
    const v128_t size = wasm_f32x4_abs(x);
    if (wasm_v128_any_true(wasm_f32x4_ge(size, wasm_f32x4_splat(HUGE_ARGUMENT)))) {
        float values[4];
        double r[4];
        int32_t ns[4];
        wasm_v128_store(values, x);
        wasm_v128_store(r, low);
        wasm_v128_store(r + 2, high);
        wasm_v128_store(ns, n);
        for (size_t i = 0; i < 4; i++)
            if (fabsf(values[i]) >= HUGE_ARGUMENT && fabsf(values[i]) < INFINITY)
                reduce_huge(values[i], r + i, ns + i);
        low = wasm_v128_load(r);
        high = wasm_v128_load(r + 2);
        n = wasm_v128_load(ns);
    }
    n = wasm_i32x4_add(n, wasm_i32x4_splat(quarters));
    const v128_t s = joined(wasm_f32x4_demote_f64x2_zero(sin_f64x2(low)),
                            wasm_f32x4_demote_f64x2_zero(sin_f64x2(high))),
                 c = joined(wasm_f32x4_demote_f64x2_zero(cos_f64x2(low)),
                            wasm_f32x4_demote_f64x2_zero(cos_f64x2(high)));
    const v128_t is_cos = wasm_i32x4_shr(wasm_i32x4_shl(n, 31), 31); /* n is odd */
    const v128_t sign = wasm_i32x4_shl(wasm_u32x4_shr(n, 1), 31);    /* n mod 4 is 2 or 3 */
    return wasm_v128_xor(wasm_v128_bitselect(c, s, is_cos), sign);
}

/* One loop for both, also for the tail, instead of four copies of `sine`. */
static __attribute__((noinline)) int sines(float *y, const float *x, size_t n, size_t part, size_t parts,
                                           int quarters)
{
    const int status = gpt_check(y && x, gpt_fits(n, 1), part < parts);
    if (status) return status;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    for (; i < end; i += 4) {
        const size_t lanes = gpt_min(4, end - i);
        gpt_store(y + i, sine(gpt_load(x + i, lanes), quarters), lanes);
    }
    return GPT_OK;
}

int gpt_sin(float *y, const float *x, size_t n, size_t part, size_t parts)
{
    return sines(y, x, n, part, parts, 0);
}

int gpt_cos(float *y, const float *x, size_t n, size_t part, size_t parts)
{
    return sines(y, x, n, part, parts, 1);
}
