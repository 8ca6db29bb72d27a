/* GELU: y = x · Φ(x), Φ the normal distribution's cumulative function. Hendrycks, Gimpel 2016, arXiv:1606.08415.
 *
 * Bound by arithmetic, not by memory, and so a polynomial: no exponential, no division. It rounds near 0.5 · x and so is
 * exact to an absolute 6e-7 in the negative tail, where x / (1 + exp(-2v)) keeps relative digits nobody asked for and
 * takes longer: for 1024 x 3072 on an AMD EPYC 4.8 ms (the exact form 6.9) against 3.5, and with fused multiply-add 5.2
 * against 2.5. A rational of degree 4 over 5 would do with 9 terms and a division, but float32 evaluates it to 2e-6 only.
 */
#include <math.h>

#include "gpt_layers.h"
#include "simd.h"

enum { WIDE = 4 };

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

/* 0.5 · x · erf(x/√2), or its tanh likeness, is even in x: x² · P(x²). P, of degree 13, is in u = 2x²/EDGE² - 1.5: what P
 * rounds is multiplied by x², so u is 0 where x² is large (with 1 for 1.5 the error is 1.4e-6 near the edge). Fitted to
 * float64 by weighted least squares, reweighted to level the error to 1.8e-7; float32 makes 5.6e-7 of it. Highest power
 * first. */
#define EDGE 5.2f
enum { TERMS = 14 };
static const float tanh_terms[TERMS] = {-0.000358028056f, -0.000813467138f, -0.000399910607f, 0.00106865407f,
                                        0.000526522282f,  0.000428408724f,  -0.00154682386f,  0.00200120326f,
                                        -0.00340057266f,  0.00593553656f,   -0.0102548734f,   0.0184938511f,
                                        -0.0370072015f,   0.111028653f};
static const float erf_terms[TERMS] = {-0.000388240072f, -0.00133487379f, -0.00190732157f, -0.00033925563f,
                                       0.000627515929f,  0.00135016546f,  -0.00124540186f, 0.00180079658f,
                                       -0.00345949721f,  0.00592222477f,  -0.0102271785f,  0.0184833854f,
                                       -0.0370041808f,   0.111028162f};

static inline v128_t u_of(v128_t square)
{
    return gpt_multiply_add(square, wasm_f32x4_splat(2.0f / (EDGE * EDGE)), wasm_f32x4_splat(-1.5f));
}

/* `wide` vectors at once, a constant where it is called: they share each load of a coefficient, and P = even(u²) +
 * u · odd(u²), so that eight chains of sums overlap; in one chain a vector took 4.5 ms instead of 3.5 (1024 x 3072). */
static inline __attribute__((always_inline)) void gelu(v128_t *x, const float *terms, size_t wide)
{
    v128_t u_2[WIDE], odd[WIDE], even[WIDE];
    for (size_t k = 0; k < wide; k++) {
        const v128_t u = u_of(wasm_f32x4_mul(x[k], x[k]));
        u_2[k] = wasm_f32x4_mul(u, u);
        odd[k] = wasm_v128_load32_splat(terms);
        even[k] = wasm_v128_load32_splat(terms + 1);
    }
    for (size_t i = 2; i < TERMS; i += 2) {
        const v128_t odd_term = wasm_v128_load32_splat(terms + i),
                     even_term = wasm_v128_load32_splat(terms + i + 1);
        for (size_t k = 0; k < wide; k++) {
            odd[k] = gpt_multiply_add(odd[k], u_2[k], odd_term);
            even[k] = gpt_multiply_add(even[k], u_2[k], even_term);
        }
    }
    for (size_t k = 0; k < wide; k++) {
        const v128_t square = wasm_f32x4_mul(x[k], x[k]), half = wasm_f32x4_mul(x[k], wasm_f32x4_splat(0.5f));
        const v128_t inside = gpt_multiply_add(square, gpt_multiply_add(odd[k], u_of(square), even[k]), half);
        /* Beyond the edge, x or 0; as a product, so that -infinity and NaN give NaN and -3e38 gives 0. */
        const v128_t one_or_0 = wasm_v128_and(wasm_f32x4_gt(x[k], wasm_f32x4_splat(0.0f)), wasm_f32x4_splat(1.0f));
        const v128_t near = wasm_f32x4_lt(wasm_f32x4_abs(x[k]), wasm_f32x4_splat(EDGE));
        x[k] = wasm_v128_bitselect(inside, wasm_f32x4_mul(x[k], one_or_0), near);
    }
}

int gpt_gelu_forward_part(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts)
{
    const int status = check(y, x, n, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    const float *terms = approximate == GPT_GELU_TANH ? tanh_terms : erf_terms;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    v128_t v[WIDE];
    for (; i + 4 * WIDE <= end; i += 4 * WIDE) {
        for (size_t k = 0; k < WIDE; k++) v[k] = wasm_v128_load(x + i + 4 * k);
        gelu(v, terms, WIDE);
        for (size_t k = 0; k < WIDE; k++) wasm_v128_store(y + i + 4 * k, v[k]);
    }
    /* The rest goes through the same steps, so that a value's result does not depend on where it stands. */
    for (; i < end; i += 4) {
        const size_t left = end - i < 4 ? end - i : 4;
        v[0] = gpt_load_tail(x + i, left);
        gelu(v, terms, 1);
        gpt_store_tail(y + i, v[0], left);
    }
    return GPT_OK;
}

int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate)
{
    return gpt_gelu_forward_part(y, x, n, approximate, 0, 1);
}

static int check_backward(const float *dx, const float *dy, const float *x, size_t n, int approximate)
{
    if (!dy) return GPT_ERR_NULL;
    return check(dx, x, n, approximate);
}

int gpt_gelu_backward_ref(float *dx, const float *dy, const float *x, size_t n, int approximate)
{
    const int status = check_backward(dx, dy, x, n, approximate);
    if (status) return status;
    const double sqrt_2_over_pi = 0.79788456080286536, sqrt_half = 0.70710678118654752;
    for (size_t i = 0; i < n; i++) {
        const double v = x[i];
        double slope;
        if (approximate == GPT_GELU_TANH) {
            const double gate = tanh(sqrt_2_over_pi * (v + 0.044715 * v * v * v));
            slope = 0.5 * (1.0 + gate) +
                    0.5 * v * (1.0 - gate * gate) * sqrt_2_over_pi * (1.0 + 3.0 * 0.044715 * v * v);
        } else {
            slope = 0.5 * (1.0 + erf(v * sqrt_half)) + v * 0.5 * sqrt_2_over_pi * exp(-0.5 * v * v);
        }
        dx[i] = (float)(slope * (double)dy[i]);
    }
    return GPT_OK;
}

/* gelu'(-t), t from 0 to FAR, where it is 0 in float32; gelu'(t) is 1 - gelu'(-t). In both forms it is what is left beside
 * an exponential, which keeps its digits where it is small. */
#define FAR 16.0f

/* With v = √(2/π) · (t + 0.044715·t³) and e = exp(-2v), the gate is q = e / (1 + e): gelu'(-t) = q - t · 2v' · q · (1 - q). */
static inline v128_t tanh_slope(v128_t t)
{
    const v128_t square = wasm_f32x4_mul(t, t);
    const v128_t minus_2v = wasm_f32x4_mul(
        t, gpt_multiply_add(square, wasm_f32x4_splat(-0.0713548163f), wasm_f32x4_splat(-1.59576912f)));
    const v128_t t_2v =
        wasm_f32x4_mul(t, gpt_multiply_add(square, wasm_f32x4_splat(0.214064449f), wasm_f32x4_splat(1.59576912f)));
    const v128_t e = gpt_exp(minus_2v), one = wasm_f32x4_splat(1.0f);
    const v128_t rest = wasm_f32x4_div(one, wasm_f32x4_add(one, e));
    return wasm_f32x4_mul(wasm_f32x4_mul(e, rest), wasm_f32x4_sub(one, wasm_f32x4_mul(t_2v, rest)));
}

/* gelu'(-t) = Φ(-t) - t · Z(t), Z the normal density, and Φ(-t) = Z(t) · k · P(k), k = 1 / (1 + 0.2316419 t), within 7.5e-8:
 * Abramowitz, Stegun 1964, 26.2.17. */
static inline v128_t erf_slope(v128_t t)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    const v128_t k = wasm_f32x4_div(one, gpt_multiply_add(t, wasm_f32x4_splat(0.2316419f), one));
    v128_t p = wasm_f32x4_splat(1.330274429f);
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(-1.821255978f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(1.781477937f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(-0.356563782f));
    p = gpt_multiply_add(p, k, wasm_f32x4_splat(0.319381530f));
    const v128_t e = gpt_exp(wasm_f32x4_mul(wasm_f32x4_mul(t, t), wasm_f32x4_splat(-0.5f)));
    const v128_t density = wasm_f32x4_mul(e, wasm_f32x4_splat(0.398942280f));
    return wasm_f32x4_mul(density, wasm_f32x4_sub(wasm_f32x4_mul(p, k), t));
}

static inline v128_t gradient(v128_t dy, v128_t x, int approximate)
{
    const v128_t t = wasm_f32x4_min(wasm_f32x4_abs(x), wasm_f32x4_splat(FAR));
    const v128_t below = approximate == GPT_GELU_TANH ? tanh_slope(t) : erf_slope(t);
    const v128_t above = wasm_f32x4_sub(wasm_f32x4_splat(1.0f), below);
    const v128_t slope = wasm_v128_bitselect(above, below, wasm_f32x4_gt(x, wasm_f32x4_splat(0.0f)));
    /* x - x is 0, but NaN at the infinities, where PyTorch has ∞ · 0 */
    return wasm_f32x4_mul(dy, wasm_f32x4_add(slope, wasm_f32x4_sub(x, x)));
}

int gpt_gelu_backward_part(float *dx, const float *dy, const float *x, size_t n, int approximate, size_t part,
                           size_t parts)
{
    const int status = check_backward(dx, dy, x, n, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    for (; i + 4 <= end; i += 4)
        wasm_v128_store(dx + i, gradient(wasm_v128_load(dy + i), wasm_v128_load(x + i), approximate));
    if (i < end) {
        const v128_t last = gradient(gpt_load_tail(dy + i, end - i), gpt_load_tail(x + i, end - i), approximate);
        gpt_store_tail(dx + i, last, end - i);
    }
    return GPT_OK;
}

int gpt_gelu_backward(float *dx, const float *dy, const float *x, size_t n, int approximate)
{
    return gpt_gelu_backward_part(dx, dy, x, n, approximate, 0, 1);
}
