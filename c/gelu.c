/* GELU: y = x · Φ(x), Φ the normal distribution's cumulative function. Hendrycks, Gimpel 2016, arXiv:1606.08415.
 *
 * The tanh form. With v = √(2/π)·(x + 0.044715·x³), 0.5·(1 + tanh(v)) = 1 / (1 + exp(-2v)), so one exponential and
 * one division do, and the negative tail keeps its relative accuracy, which 1 + tanh(v) cancels away.
 *
 * The exact form. Φ(-a) = exp(-a²/2) · m(a) for a = |x|, and m, the scaled tail, is smooth: with t = 1 / (1 +
 * 0.26·a) it is t times a polynomial of degree 8 in t, within 2.9e-8 relative (fitted by weighted least squares to
 * float64).
 *
 * Both are bound by arithmetic, not by memory: about 25 operations a vector.
 */
#include <math.h>

#include "gpt_layers.h"
#include "simd.h"

static int check(const float *y, const float *x, size_t n, int approximate)
{
    if (!y || !x) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    if (approximate != GPT_GELU_TANH && approximate != GPT_GELU_ERF) return GPT_ERR_VALUE;
    return GPT_OK;
}

int gpt_gelu_forward_ref(float *y, const float *x, size_t n, int approximate)
{
    const int status = check(y, x, n, approximate);
    if (status) return status;
    const double sqrt_2_over_pi = 0.79788456080286536, sqrt_half = 0.70710678118654752;
    for (size_t i = 0; i < n; i++) {
        const double v = x[i];
        const double gate =
            approximate == GPT_GELU_TANH ? tanh(sqrt_2_over_pi * (v + 0.044715 * v * v * v)) : erf(v * sqrt_half);
        y[i] = (float)(0.5 * v * (1.0 + gate));
    }
    return GPT_OK;
}

/* exp(x) within 2e-7 relative while |x| is small; rounding of the argument adds |x| · 6e-8. Overflows to infinity
 * and underflows to 0 like the real one: gelu(-3e38) divides by exp(huge), and a clamped exp would leave a large
 * number. */
static inline v128_t exp_f32x4(v128_t x)
{
    /* Past ±150 the result is infinity or 0 anyway; pmin and pmax, in this order of arguments, let NaN through. */
    x = wasm_f32x4_pmin(x, wasm_f32x4_splat(150.0f));
    x = wasm_f32x4_pmax(x, wasm_f32x4_splat(-150.0f));
    /* x = n·ln2 + r with |r| <= ln2/2; ln2 in two parts, so that n·ln2 is exact enough */
    const v128_t n = wasm_f32x4_nearest(wasm_f32x4_mul(x, wasm_f32x4_splat(1.44269504f)));
    v128_t r = wasm_f32x4_sub(x, wasm_f32x4_mul(n, wasm_f32x4_splat(0.693359375f)));
    r = wasm_f32x4_sub(r, wasm_f32x4_mul(n, wasm_f32x4_splat(-2.12194440e-4f)));
    /* exp(r) = 1 + r + r²·q(r): least squares on the interval, 3.9e-9 relative */
    v128_t q = wasm_f32x4_splat(1.37488231e-3f);
    q = wasm_f32x4_add(wasm_f32x4_mul(q, r), wasm_f32x4_splat(8.36962837e-3f));
    q = wasm_f32x4_add(wasm_f32x4_mul(q, r), wasm_f32x4_splat(4.16696463e-2f));
    q = wasm_f32x4_add(wasm_f32x4_mul(q, r), wasm_f32x4_splat(1.66665125e-1f));
    q = wasm_f32x4_add(wasm_f32x4_mul(q, r), wasm_f32x4_splat(4.99999879e-1f));
    q = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_mul(q, r), r), r);
    q = wasm_f32x4_add(q, wasm_f32x4_splat(1.0f));
    /* times 2ⁿ in two halves: each fits an exponent field even where the product overflows or underflows */
    const v128_t whole = wasm_i32x4_trunc_sat_f32x4(n), half = wasm_i32x4_shr(whole, 1);
    const v128_t bias = wasm_i32x4_splat(127);
    q = wasm_f32x4_mul(q, wasm_i32x4_shl(wasm_i32x4_add(half, bias), 23));
    return wasm_f32x4_mul(q, wasm_i32x4_shl(wasm_i32x4_add(wasm_i32x4_sub(whole, half), bias), 23));
}

static inline v128_t gelu_tanh(v128_t x)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    /* -2v = x · (-2√(2/π) - 2√(2/π)·0.044715·x²) */
    const v128_t factor = wasm_f32x4_sub(wasm_f32x4_splat(-1.59576912f),
                                         wasm_f32x4_mul(wasm_f32x4_splat(0.0713548163f), wasm_f32x4_mul(x, x)));
    return wasm_f32x4_div(x, wasm_f32x4_add(one, exp_f32x4(wasm_f32x4_mul(x, factor))));
}

static inline v128_t gelu_erf(v128_t x)
{
    static const float m[9] = {3.02331048e-2f, -1.51507153e-1f, 2.48757588e-1f, -1.47815097e-1f, 1.58775109e-1f,
                               5.19584472e-2f, 1.02790171e-1f,  1.03050784e-1f, 1.03757032e-1f};
    const v128_t one = wasm_f32x4_splat(1.0f), a = wasm_f32x4_abs(x);
    const v128_t t = wasm_f32x4_div(one, wasm_f32x4_add(one, wasm_f32x4_mul(a, wasm_f32x4_splat(0.26f))));
    v128_t tail = wasm_f32x4_splat(m[0]);
    for (int k = 1; k < 9; k++) tail = wasm_f32x4_add(wasm_f32x4_mul(tail, t), wasm_f32x4_splat(m[k]));
    tail = wasm_f32x4_mul(tail, t);
    tail = wasm_f32x4_mul(tail, exp_f32x4(wasm_f32x4_mul(wasm_f32x4_mul(x, x), wasm_f32x4_splat(-0.5f))));
    const v128_t negative = wasm_f32x4_lt(x, wasm_f32x4_splat(0.0f));
    return wasm_f32x4_mul(x, wasm_v128_bitselect(tail, wasm_f32x4_sub(one, tail), negative));
}

int gpt_gelu_forward_part(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts)
{
    const int status = check(y, x, n, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    /* The tail goes through the same vector code, so that a value's result does not depend on where it stands. */
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    if (approximate == GPT_GELU_TANH) {
        for (; i + 4 <= end; i += 4) wasm_v128_store(y + i, gelu_tanh(wasm_v128_load(x + i)));
        if (i < end) gpt_store_tail(y + i, gelu_tanh(gpt_load_tail(x + i, end - i)), end - i);
    } else {
        for (; i + 4 <= end; i += 4) wasm_v128_store(y + i, gelu_erf(wasm_v128_load(x + i)));
        if (i < end) gpt_store_tail(y + i, gelu_erf(gpt_load_tail(x + i, end - i)), end - i);
    }
    return GPT_OK;
}

int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate)
{
    return gpt_gelu_forward_part(y, x, n, approximate, 0, 1);
}
