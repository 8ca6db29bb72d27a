/* GELU: y = x · Φ(x), with the cumulative distribution Φ of the standard normal distribution. Hendrycks,
 * Gimpel 2016, arXiv:1606.08415.
 *
 * The fast version avoids exponentials. With t = |x|:
 *
 *   y = max(x, 0) - t·Φ(-t),   t·Φ(-t) ≈ (t/2) / P(-t/2)^16,   P a polynomial of degree 6
 *
 * 1 / (2Φ(-t)) grows so evenly that its 16th root is close to a polynomial. This is the idea of Abramowitz,
 * Stegun 1964, 7.1.28. The tanh form differs only in the coefficients. They were fitted in float64 by
 * weighted least squares, with weights that level the error. The result has an absolute error of 8e-7.
 *
 * Bound by arithmetic: 22 operations per vector, each about a twentieth of the time, the division included.
 * 1024 x 3072 elements on an AMD EPYC take 2.3 ms in the simd build and 1.7 ms in the relaxed build.
 */
#include <math.h>

#include "map.h"
#include "reference.h"

/* vectors that one step of the main loop computes */
enum { VECTORS_PER_STEP = 4 };

static int check(int has_pointers, size_t n, int approximate, size_t part, size_t parts)
{
    const int is_kind = approximate == GPT_GELU_TANH || approximate == GPT_GELU_ERF;
    return gpt_check(has_pointers, gpt_fits(n, 1), is_kind && part < parts);
}

double gpt_gelu_exact(double x, int approximate)
{
    const double sqrt_2_over_pi = 0.79788456080286536, sqrt_half = 0.70710678118654752;
    const double gate =
        approximate == GPT_GELU_TANH ? tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)) : erf(x * sqrt_half);
    return 0.5 * x * (1.0 + gate);
}

void gpt_gelu_forward_ref(float *y, const float *x, size_t n, int approximate)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)gpt_gelu_exact((double)x[i], approximate);
}

/* The coefficients of P(n), n = -t/2, highest power first. Four squarings make the 16th power. */
enum { TERMS = 7, SQUARINGS = 4 };
static const float tanh_terms[TERMS] = {
    0.00148703344f, -0.00244591339f, -0.00171271793f, -0.0268986654f, 0.0843291357f, -0.0997531638f, 1.0f};
static const float erf_terms[TERMS] = {
    0.00040531272f, -0.00132428133f, 0.000955566997f, -0.0259946864f, 0.0846291855f, -0.0997282267f, 1.0f};

/* Computes `vectors` <= VECTORS_PER_STEP vectors, a constant in every call. They share each load of a
 * coefficient, and their chains of operations overlap. */
GPT_INLINE void gelu(float *y, const float *x, const float *terms, size_t vectors)
{
    v128_t positive[VECTORS_PER_STEP], n[VECTORS_PER_STEP], p[VECTORS_PER_STEP];
    for (size_t k = 0; k < vectors; k++) {
        const v128_t half = wasm_f32x4_mul(wasm_v128_load(x + 4 * k), wasm_f32x4_splat(0.5f));
        const v128_t minus = wasm_v128_or(half, wasm_f32x4_splat(-0.0f));
        /* max(x, 0) = x/2 + |x|/2, and NaN for -infinity */
        positive[k] = wasm_f32x4_sub(half, minus);
        /* n = -|x|/2, but not below -1e4, where P^16 is infinite already: n stays finite, so that n / P^16
         * is 0 */
        n[k] = wasm_f32x4_pmax(minus, wasm_f32x4_splat(-1e4f));
        p[k] = wasm_v128_load32_splat(terms);
    }
    for (size_t i = 1; i < TERMS; i++) {
        const v128_t term = wasm_v128_load32_splat(terms + i);
        for (size_t k = 0; k < vectors; k++) p[k] = gpt_multiply_add(p[k], n[k], term);
    }
    for (size_t k = 0; k < vectors; k++) {
        for (size_t i = 0; i < SQUARINGS; i++) p[k] = wasm_f32x4_mul(p[k], p[k]);
        wasm_v128_store(y + 4 * k, wasm_f32x4_add(positive[k], wasm_f32x4_div(n[k], p[k])));
    }
}

/* Not inlined: if the compiler sees the coefficients, it keeps them all in registers and spills (2.5
 * instead of 2.3 ms). */
static __attribute__((noinline)) void gelu_all(float *y, const float *x, size_t n, const float *terms)
{
    size_t i = 0;
    for (; i + 4 * VECTORS_PER_STEP <= n; i += 4 * VECTORS_PER_STEP)
        gelu(y + i, x + i, terms, VECTORS_PER_STEP);
    /* the same operations for the rest, so that the result for a value does not depend on its position */
    for (; i < n; i += 4) {
        float last[4];
        wasm_v128_store(last, gpt_load_tail(x + i, gpt_min(n - i, 4)));
        gelu(last, last, terms, 1);
        gpt_store_tail(y + i, wasm_v128_load(last), gpt_min(n - i, 4));
    }
}

int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts)
{
    const int status = check(y && x, n, approximate, part, parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    gelu_all(y + first, x + first, end - first, approximate == GPT_GELU_TANH ? tanh_terms : erf_terms);
    return GPT_OK;
}

void gpt_gelu_backward_ref(float *dx, const float *dy, const float *x, size_t n, int approximate)
{
    const double sqrt_2_over_pi = 0.79788456080286536, sqrt_half = 0.70710678118654752;
    for (size_t i = 0; i < n; i++) {
        const double v = x[i];
        double slope; /* gelu'(v), by the product rule */
        if (approximate == GPT_GELU_TANH) {
            const double gate = tanh(sqrt_2_over_pi * (v + 0.044715 * v * v * v));
            slope = 0.5 * (1.0 + gate) +
                    0.5 * v * (1.0 - gate * gate) * sqrt_2_over_pi * (1.0 + 3.0 * 0.044715 * v * v);
        } else {
            slope = 0.5 * (1.0 + erf(v * sqrt_half)) + v * 0.5 * sqrt_2_over_pi * exp(-0.5 * v * v);
        }
        dx[i] = (float)(slope * (double)dy[i]);
    }
}

/* Backward computes the slope gelu'(-t) for t = |x|, and gelu'(t) = 1 - gelu'(-t). Both forms of gelu'(-t)
 * have an exponential as a factor, so that small slopes keep their relative precision. At t = FAR the
 * slope is 0 in float32. */
#define FAR 16.0f

/* With v = √(2/π) · (t + 0.044715·t³), e = exp(-2v) and q = e / (1 + e):
 *   gelu'(-t) = q - t · 2v' · q · (1 - q) */
GPT_INLINE v128_t tanh_slope(v128_t t)
{
    const v128_t square = wasm_f32x4_mul(t, t);
    const v128_t minus_2v = wasm_f32x4_mul(
        t, gpt_multiply_add(square, wasm_f32x4_splat(-0.0713548163f), wasm_f32x4_splat(-1.59576912f)));
    const v128_t t_2v = wasm_f32x4_mul(
        t, gpt_multiply_add(square, wasm_f32x4_splat(0.214064449f), wasm_f32x4_splat(1.59576912f)));
    const v128_t e = gpt_exp_f32x4(minus_2v), one = wasm_f32x4_splat(1.0f);
    const v128_t rest = wasm_f32x4_div(one, wasm_f32x4_add(one, e));
    return wasm_f32x4_mul(wasm_f32x4_mul(e, rest), wasm_f32x4_sub(one, wasm_f32x4_mul(t_2v, rest)));
}

/* gelu'(-t) = Φ(-t) - t · Z(t), with the normal density Z and
 *   Φ(-t) = Z(t) · k · P(k),   k = 1 / (1 + 0.2316419 t)
 * with an error of 7.5e-8: Abramowitz, Stegun 1964, 26.2.17. */
GPT_INLINE v128_t erf_slope(v128_t t)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    const v128_t k = wasm_f32x4_div(one, gpt_multiply_add(t, wasm_f32x4_splat(0.2316419f), one));
    v128_t p = wasm_f32x4_splat(1.330274429f);
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(-1.821255978f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(1.781477937f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(-0.356563782f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(0.319381530f));
    const v128_t e = gpt_exp_f32x4(wasm_f32x4_mul(wasm_f32x4_mul(t, t), wasm_f32x4_splat(-0.5f)));
    const v128_t density = wasm_f32x4_mul(e, wasm_f32x4_splat(0.398942280f));
    return wasm_f32x4_mul(density, wasm_f32x4_sub(wasm_f32x4_mul(p, k), t));
}

GPT_INLINE v128_t gradient(v128_t dy, v128_t x, int approximate)
{
    const v128_t t = wasm_f32x4_min(wasm_f32x4_abs(x), wasm_f32x4_splat(FAR));
    const v128_t below = approximate == GPT_GELU_TANH ? tanh_slope(t) : erf_slope(t);
    const v128_t above = wasm_f32x4_sub(wasm_f32x4_splat(1.0f), below);
    const v128_t slope = wasm_v128_bitselect(above, below, wasm_f32x4_gt(x, wasm_f32x4_splat(0.0f)));
    /* x - x is 0, or NaN for ±infinity, where PyTorch computes ∞ · 0 */
    return wasm_f32x4_mul(dy, wasm_f32x4_add(slope, wasm_f32x4_sub(x, x)));
}

int gpt_gelu_backward(float *dx, const float *dy, const float *x, size_t n, int approximate, size_t part,
                      size_t parts)
{
    const int status = check(dx && dy && x, n, approximate, part, parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    GPT_MAP(dx, first, end, gradient(GPT_AT(dy), GPT_AT(x), approximate));
    return GPT_OK;
}
