/* GELU: y = x · Φ(x), with the cumulative distribution Φ of the standard normal distribution. Hendrycks,
 * Gimpel 2016, arXiv:1606.08415.
 *
 * Each form has a fast version of its own. Both are bound by arithmetic: 22 or 23 operations per vector in the
 * simd build, each about a twentieth of the time, the division included.
 */
#include <math.h>

#include "map.h"
#include "reference.h"

static int is_kind(int approximate) { return approximate == GPT_GELU_TANH || approximate == GPT_GELU_ERF; }

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

/* Writes y for `vectors` <= VECTORS_PER_STEP vectors of x, a constant in every call. The vectors share each load
 * of a constant, and their chains of operations overlap. */
enum { VECTORS_PER_STEP = 4 };
typedef void gelu_form(float *y, const float *x, const void *constants, size_t vectors);

#define SPLAT(constant) wasm_v128_load32_splat(&(constant))

/* The tanh form, with (1 + tanh(v)) / 2 = 1 / (1 + e^-2v):
 *
 *   y = x / (1 + 2^u),   u = -2 · log2(e) · √(2/π) · (x + 0.044715·x³)
 *
 * 2^u = 2^n · 2^r, where n is the nearest integer to u. The polynomial for 2^r has an error of 9.1e-8. */
enum { POWER_TERMS = 6 };
struct tanh_constants {
    float cubic, linear;      /* of u */
    float most, least;        /* u is cut to this range */
    float round;              /* u + round has n + 127, the exponent of 2^n, in its lowest bits */
    float power[POWER_TERMS]; /* of 2^r, highest power first */
};
static const struct tanh_constants tanh_constants = {
    .cubic = -0.102943242f,
    .linear = -2.30220819f,
    .most = 128.0f, /* 2^128 is infinite, so that y is 0, or NaN for x = -infinity */
    .least = -126.0f,
    .round = 0x1.8p23f + 127.0f,
    .power = {0.00132647261f, 0.00967151299f, 0.0555073358f, 0.240222424f, 0.693147004f, 1.0f},
};

GPT_INLINE void tanh_form(float *y, const float *x, const void *constants, size_t vectors)
{
    const struct tanh_constants *c = constants;
    v128_t rounded[VECTORS_PER_STEP], r[VECTORS_PER_STEP], p[VECTORS_PER_STEP];
    for (size_t k = 0; k < vectors; k++) {
        const v128_t v = wasm_v128_load(x + 4 * k), square = wasm_f32x4_mul(v, v);
        v128_t u = wasm_f32x4_mul(v, gpt_multiply_add(square, SPLAT(c->cubic), SPLAT(c->linear)));
        u = wasm_f32x4_pmax(wasm_f32x4_pmin(u, SPLAT(c->most)), SPLAT(c->least));
        rounded[k] = wasm_f32x4_add(u, SPLAT(c->round));
        r[k] = wasm_f32x4_sub(u, wasm_f32x4_sub(rounded[k], SPLAT(c->round)));
        p[k] = SPLAT(c->power[0]);
    }
    for (size_t i = 1; i < POWER_TERMS; i++) {
        const v128_t term = SPLAT(c->power[i]);
        for (size_t k = 0; k < vectors; k++) p[k] = gpt_multiply_add(p[k], r[k], term);
    }
    for (size_t k = 0; k < vectors; k++) {
        const v128_t power_of_2 = wasm_i32x4_shl(rounded[k], 23);
        const v128_t sum = gpt_multiply_add(p[k], power_of_2, wasm_f32x4_splat(1.0f));
        wasm_v128_store(y + 4 * k, wasm_f32x4_div(wasm_v128_load(x + 4 * k), sum));
    }
}

/* The erf form, without exponentials. With t = |x|:
 *
 *   y = max(x, 0) - t·Φ(-t),   t·Φ(-t) ≈ (t/2) / P(-t/2)^16,   P a polynomial of degree 6
 *
 * 1 / (2Φ(-t)) grows so evenly that its 16th root is close to a polynomial. This is the idea of Abramowitz,
 * Stegun 1964, 7.1.28. The coefficients were fitted in float64 by weighted least squares, with weights that
 * level the error. */
enum { TERMS = 7, SQUARINGS = 4 };
/* highest power first */
static const float erf_terms[TERMS] = {
    0.00040531272f, -0.00132428133f, 0.000955566997f, -0.0259946864f, 0.0846291855f, -0.0997282267f, 1.0f};

GPT_INLINE void erf_form(float *y, const float *x, const void *constants, size_t vectors)
{
    const float *terms = constants;
    v128_t positive[VECTORS_PER_STEP], n[VECTORS_PER_STEP], p[VECTORS_PER_STEP];
    for (size_t k = 0; k < vectors; k++) {
        const v128_t half = wasm_f32x4_mul(wasm_v128_load(x + 4 * k), wasm_f32x4_splat(0.5f));
        const v128_t minus = wasm_v128_or(half, wasm_f32x4_splat(-0.0f));
        /* max(x, 0) = x/2 + |x|/2, and NaN for -infinity */
        positive[k] = wasm_f32x4_sub(half, minus);
        /* n = -|x|/2, but not below -1e4, where P^16 is infinite already: n stays finite, so that n / P^16
         * is 0 */
        n[k] = wasm_f32x4_pmax(minus, wasm_f32x4_splat(-1e4f));
        p[k] = SPLAT(terms[0]);
    }
    for (size_t i = 1; i < TERMS; i++) {
        const v128_t term = SPLAT(terms[i]);
        for (size_t k = 0; k < vectors; k++) p[k] = gpt_multiply_add(p[k], n[k], term);
    }
    for (size_t k = 0; k < vectors; k++) {
        for (size_t i = 0; i < SQUARINGS; i++) p[k] = wasm_f32x4_mul(p[k], p[k]);
        wasm_v128_store(y + 4 * k, wasm_f32x4_add(positive[k], wasm_f32x4_div(n[k], p[k])));
    }
}

GPT_INLINE void gelu_all(gelu_form *form, float *y, const float *x, size_t n, const void *constants)
{
    /* Hides the values from the compiler, which would write them into the code. There Node 24 takes up to 1.14x as
     * long, Node 20 0.94x. */
    __asm__("" : "+r"(constants));
    size_t i = 0;
    for (; i + 4 * VECTORS_PER_STEP <= n; i += 4 * VECTORS_PER_STEP)
        form(y + i, x + i, constants, VECTORS_PER_STEP);
    /* the same operations for the rest, so that the result for a value does not depend on its position */
    for (; i < n; i += 4) {
        float last[4];
        wasm_v128_store(last, gpt_load_tail(x + i, gpt_min(n - i, 4)));
        form(last, last, constants, 1);
        gpt_store_tail(y + i, wasm_v128_load(last), gpt_min(n - i, 4));
    }
}

int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts)
{
    const int status = gpt_check(y && x, gpt_fits(n, 1), is_kind(approximate) && part < parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    if (approximate == GPT_GELU_TANH)
        gelu_all(tanh_form, y + first, x + first, end - first, &tanh_constants);
    else
        gelu_all(erf_form, y + first, x + first, end - first, erf_terms);
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
    GPT_MAP_KERNEL(dx, n, part, parts, dx && dy && x, is_kind(approximate),
                   gradient(GPT_AT(dy), GPT_AT(x), approximate));
}
