/* GELU: y = x · Φ(x), Φ the normal distribution's cumulative function. Hendrycks, Gimpel 2016, arXiv:1606.08415.
 *
 * Bound by arithmetic, not by memory, and so a polynomial and a division, without an exponential. It is exact to an
 * absolute 8e-7, where x / (1 + exp(-2v)) keeps relative digits in the negative tail that nobody asked for. For 1024 x 3072
 * on an AMD EPYC it takes 2.3 ms, with fused multiply-add 1.7; a polynomial of degree 13 in x² without the division took
 * 3.1 and 2.3, and the exponential 1.4 times as long as that polynomial, with fused multiply-add twice. Each of the 22
 * operations is about a twentieth of the time, the division too.
 */
#include <math.h>

#include "gpt_layers.h"
#include "reference.h"
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
        const double gate = approximate == GPT_GELU_TANH ? tanh(sqrt_2_over_pi * (v + 0.044715 * v * v * v))
                                                         : erf(v * sqrt_half);
        y[i] = (float)(0.5 * v * (1.0 + gate));
    }
    return GPT_OK;
}

/* What is missing from max(x, 0) is t · Φ(-t), t = |x|, which falls off so that 1 / (2Φ(-t)) is a polynomial to the 16th
 * power, after Abramowitz, Stegun 1964, 7.1.28; the tanh form likewise. Here of degree 6, in n = -t/2, highest power first,
 * fitted to float64 by weighted least squares, reweighted to level the error. The 16th power makes 16 of each rounding. */
enum { TERMS = 7, SQUARINGS = 4 };
static const float tanh_terms[TERMS] = {
    0.00148703344f, -0.00244591339f, -0.00171271793f, -0.0268986654f, 0.0843291357f, -0.0997531638f, 1.0f};
static const float erf_terms[TERMS] = {
    0.00040531272f, -0.00132428133f, 0.000955566997f, -0.0259946864f, 0.0846291855f, -0.0997282267f, 1.0f};

/* `wide` vectors at once, a constant where it is called: they share each load of a coefficient, and their chains overlap.
 */
GPT_INLINE void gelu(float *y, const float *x, const float *terms, size_t wide)
{
    v128_t most[WIDE], n[WIDE], p[WIDE];
    for (size_t k = 0; k < wide; k++) {
        const v128_t half = wasm_f32x4_mul(wasm_v128_load(x + 4 * k), wasm_f32x4_splat(0.5f));
        const v128_t minus = wasm_v128_or(half, wasm_f32x4_splat(-0.0f));
        /* max(x, 0), but NaN for -infinity */
        most[k] = wasm_f32x4_sub(half, minus);
        /* finite, and far enough for the power to be infinite: then n over it is 0 */
        n[k] = wasm_f32x4_pmax(minus, wasm_f32x4_splat(-1e4f));
        p[k] = wasm_v128_load32_splat(terms);
    }
    for (size_t i = 1; i < TERMS; i++) {
        const v128_t term = wasm_v128_load32_splat(terms + i);
        for (size_t k = 0; k < wide; k++) p[k] = gpt_multiply_add(p[k], n[k], term);
    }
    for (size_t k = 0; k < wide; k++) {
        for (size_t i = 0; i < SQUARINGS; i++) p[k] = wasm_f32x4_mul(p[k], p[k]);
        wasm_v128_store(y + 4 * k, wasm_f32x4_add(most[k], wasm_f32x4_div(n[k], p[k])));
    }
}

/* Not inlined: a compiler that sees the terms holds them all in registers, which do not suffice (2.5 ms for 2.3). */
static __attribute__((noinline)) void gelu_all(float *y, const float *x, size_t n, const float *terms)
{
    size_t i = 0;
    for (; i + 4 * WIDE <= n; i += 4 * WIDE) gelu(y + i, x + i, terms, WIDE);
    /* The rest goes through the same steps, so that a value's result does not depend on where it stands. */
    for (; i + 4 <= n; i += 4) gelu(y + i, x + i, terms, 1);
    if (i == n) return;
    float last[4];
    wasm_v128_store(last, gpt_load_tail(x + i, n - i));
    gelu(last, last, terms, 1);
    gpt_store_tail(y + i, wasm_v128_load(last), n - i);
}

int gpt_gelu_forward(float *y, const float *x, size_t n, int approximate, size_t part, size_t parts)
{
    const int status = check(y, x, n, approximate);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first);
    gelu_all(y + first, x + first, end - first, approximate == GPT_GELU_TANH ? tanh_terms : erf_terms);
    return GPT_OK;
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
GPT_INLINE v128_t tanh_slope(v128_t t)
{
    const v128_t square = wasm_f32x4_mul(t, t);
    const v128_t minus_2v = wasm_f32x4_mul(
        t, gpt_multiply_add(square, wasm_f32x4_splat(-0.0713548163f), wasm_f32x4_splat(-1.59576912f)));
    const v128_t t_2v = wasm_f32x4_mul(
        t, gpt_multiply_add(square, wasm_f32x4_splat(0.214064449f), wasm_f32x4_splat(1.59576912f)));
    const v128_t e = gpt_exp(minus_2v), one = wasm_f32x4_splat(1.0f);
    const v128_t rest = wasm_f32x4_div(one, wasm_f32x4_add(one, e));
    return wasm_f32x4_mul(wasm_f32x4_mul(e, rest), wasm_f32x4_sub(one, wasm_f32x4_mul(t_2v, rest)));
}

/* gelu'(-t) = Φ(-t) - t · Z(t), Z the normal density, and Φ(-t) = Z(t) · k · P(k), k = 1 / (1 + 0.2316419 t), within 7.5e-8:
 * Abramowitz, Stegun 1964, 26.2.17. */
GPT_INLINE v128_t erf_slope(v128_t t)
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

GPT_INLINE v128_t gradient(v128_t dy, v128_t x, int approximate)
{
    const v128_t t = wasm_f32x4_min(wasm_f32x4_abs(x), wasm_f32x4_splat(FAR));
    const v128_t below = approximate == GPT_GELU_TANH ? tanh_slope(t) : erf_slope(t);
    const v128_t above = wasm_f32x4_sub(wasm_f32x4_splat(1.0f), below);
    const v128_t slope = wasm_v128_bitselect(above, below, wasm_f32x4_gt(x, wasm_f32x4_splat(0.0f)));
    /* x - x is 0, but NaN at the infinities, where PyTorch has ∞ · 0 */
    return wasm_f32x4_mul(dy, wasm_f32x4_add(slope, wasm_f32x4_sub(x, x)));
}

int gpt_gelu_backward(float *dx, const float *dy, const float *x, size_t n, int approximate, size_t part,
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
        const v128_t last =
            gradient(gpt_load_tail(dy + i, end - i), gpt_load_tail(x + i, end - i), approximate);
        gpt_store_tail(dx + i, last, end - i);
    }
    return GPT_OK;
}
