/* Elementwise operations: of two tensors and where, with broadcasting, and functions of one tensor.
 *
 * Bound by memory, except exp, log, tanh, erf, sigmoid, silu and pow: about 2.5 ns an element for exp, tanh, sigmoid
 * and silu, 1 for pow with another whole exponent from -8 to 8 than 2, 3 and -1. log, and pow with other
 * exponents than these, 0.5 and -0.5, are scalar functions of the C library, which the linker adds to
 * WebAssembly: about 5 and 13 ns.
 */
#include <math.h>

#include "map.h"

/* Whether an operand is addressable: its last row begins at (rows - 1) · row. Not inlined: copies in each
 * function made the WebAssembly 0.2 kB larger. */
static __attribute__((noinline)) int fits(size_t rows, size_t cols, size_t row)
{
    return gpt_fits(rows, row) && gpt_floats_sum((rows > 1 ? rows - 1 : 0) * row, cols) != GPT_TOO_MANY;
}

GPT_INLINE v128_t add(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }
GPT_INLINE v128_t sub(v128_t a, v128_t b) { return wasm_f32x4_sub(a, b); }
GPT_INLINE v128_t mul(v128_t a, v128_t b) { return wasm_f32x4_mul(a, b); }
GPT_INLINE v128_t divide(v128_t a, v128_t b) { return wasm_f32x4_div(a, b); }
GPT_INLINE v128_t maximum(v128_t a, v128_t b) { return wasm_f32x4_max(a, b); }
GPT_INLINE v128_t minimum(v128_t a, v128_t b) { return wasm_f32x4_min(a, b); }

/* A comparison gives lanes of ones or zeros; here 1 and 0. */
GPT_INLINE v128_t one_where(v128_t holds) { return wasm_v128_and(holds, wasm_f32x4_splat(1.0f)); }
GPT_INLINE v128_t equal(v128_t a, v128_t b) { return one_where(wasm_f32x4_eq(a, b)); }
GPT_INLINE v128_t unequal(v128_t a, v128_t b) { return one_where(wasm_f32x4_ne(a, b)); }
GPT_INLINE v128_t less(v128_t a, v128_t b) { return one_where(wasm_f32x4_lt(a, b)); }
GPT_INLINE v128_t at_most(v128_t a, v128_t b) { return one_where(wasm_f32x4_le(a, b)); }

/* y = operation(a, b) with broadcasting. Inlined into each function. */
GPT_INLINE int binary(v128_t (*operation)(v128_t, v128_t), float *y, const float *a, const float *b,
                      size_t rows, size_t cols, size_t a_row, size_t a_col, size_t b_row, size_t b_col)
{
    const int can_address = gpt_fits(rows, cols) && fits(rows, cols, a_row) && fits(rows, cols, b_row);
    const int status = gpt_check(y && a && b, can_address, a_col <= 1 && b_col <= 1);
    if (status) return status;
    if (cols == 0) return GPT_OK;
    for (size_t r = 0; r < rows; r++) {
        const float *a_r = a + r * a_row, *b_r = b + r * b_row;
        float *y_r = y + r * cols;
        const v128_t a_0 = wasm_f32x4_splat(a_r[0]), b_0 = wasm_f32x4_splat(b_r[0]);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4)
            wasm_v128_store(y_r + c, operation(a_col ? wasm_v128_load(a_r + c) : a_0,
                                               b_col ? wasm_v128_load(b_r + c) : b_0));
        for (; c < cols; c++)
            y_r[c] = wasm_f32x4_extract_lane(
                operation(wasm_f32x4_splat(a_r[c * a_col]), wasm_f32x4_splat(b_r[c * b_col])), 0);
    }
    return GPT_OK;
}

/* Defines a function of gpt_layers.h: y = operation(a, b). */
#define BINARY(function, operation)                                                                          \
    int function(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,           \
                 size_t a_col, size_t b_row, size_t b_col)                                                   \
    {                                                                                                        \
        return binary(operation, y, a, b, rows, cols, a_row, a_col, b_row, b_col);                           \
    }

BINARY(gpt_add, add)
BINARY(gpt_sub, sub)
BINARY(gpt_mul, mul)
BINARY(gpt_div, divide)
BINARY(gpt_maximum, maximum)
BINARY(gpt_minimum, minimum)
BINARY(gpt_eq, equal)
BINARY(gpt_ne, unequal)
BINARY(gpt_lt, less)
BINARY(gpt_le, at_most)

int gpt_where(float *y, const float *condition, const float *a, const float *b, size_t rows, size_t cols,
              size_t condition_row, size_t condition_col, size_t a_row, size_t a_col, size_t b_row,
              size_t b_col)
{
    const int can_address = gpt_fits(rows, cols) && fits(rows, cols, condition_row) &&
                            fits(rows, cols, a_row) && fits(rows, cols, b_row);
    const int status =
        gpt_check(y && condition && a && b, can_address, condition_col <= 1 && a_col <= 1 && b_col <= 1);
    if (status) return status;
    if (cols == 0) return GPT_OK;
    for (size_t r = 0; r < rows; r++) {
        const float *k_r = condition + r * condition_row, *a_r = a + r * a_row, *b_r = b + r * b_row;
        float *y_r = y + r * cols;
        const v128_t k_0 = wasm_f32x4_splat(k_r[0]), a_0 = wasm_f32x4_splat(a_r[0]),
                     b_0 = wasm_f32x4_splat(b_r[0]);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            const v128_t is_b =
                wasm_f32x4_eq(condition_col ? wasm_v128_load(k_r + c) : k_0, wasm_f32x4_splat(0.0f));
            wasm_v128_store(y_r + c, wasm_v128_bitselect(b_col ? wasm_v128_load(b_r + c) : b_0,
                                                         a_col ? wasm_v128_load(a_r + c) : a_0, is_b));
        }
        for (; c < cols; c++) y_r[c] = k_r[c * condition_col] == 0.0f ? b_r[c * b_col] : a_r[c * a_col];
    }
    return GPT_OK;
}

int gpt_sqrt(float *y, const float *x, size_t n)
{
    GPT_MAP_KERNEL(y, n, 0, 1, y && x, 1, wasm_f32x4_sqrt(GPT_AT(x)));
}

/* e^x for every x. Outside of -105 ... 89 the result is 0 or infinity. 2^n is split into two factors, since n
 * goes from -151 to 128. */
GPT_INLINE v128_t exp_everywhere(v128_t x)
{
    v128_t n;
    x = wasm_f32x4_min(wasm_f32x4_max(x, wasm_f32x4_splat(-105.0f)), wasm_f32x4_splat(89.0f));
    const v128_t e = gpt_exp_split(x, &n, gpt_multiply_add), half = wasm_i32x4_shr(n, 1);
    return wasm_f32x4_mul(wasm_f32x4_mul(e, gpt_power_of_2(half)), gpt_power_of_2(wasm_i32x4_sub(n, half)));
}

int gpt_exp(float *y, const float *x, size_t n)
{
    GPT_MAP_KERNEL(y, n, 0, 1, y && x, 1, exp_everywhere(GPT_AT(x)));
}

/* 1 + e^-x */
GPT_INLINE v128_t one_plus_exp(v128_t x)
{
    return wasm_f32x4_add(wasm_f32x4_splat(1.0f), exp_everywhere(wasm_f32x4_neg(x)));
}

GPT_INLINE v128_t sigmoid(v128_t x) { return wasm_f32x4_div(wasm_f32x4_splat(1.0f), one_plus_exp(x)); }

GPT_UNARY(gpt_sigmoid, sigmoid)

GPT_INLINE v128_t silu(v128_t x) { return wasm_f32x4_div(x, one_plus_exp(x)); }

GPT_UNARY(gpt_silu_forward, silu)

GPT_INLINE v128_t silu_gradient(v128_t dy, v128_t x)
{
    const v128_t one = wasm_f32x4_splat(1.0f), s = sigmoid(x);
    const v128_t slope = gpt_multiply_add(x, wasm_f32x4_sub(one, s), one);
    return wasm_f32x4_mul(wasm_f32x4_mul(dy, s), slope);
}

GPT_GRADIENT(gpt_silu_backward, silu_gradient)

int gpt_log(float *y, const float *x, size_t n, size_t part, size_t parts)
{
    const int status = gpt_check(y && x, gpt_fits(n, 1), part < parts);
    if (status) return status;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    for (; i < end; i++) y[i] = logf(x[i]);
    return GPT_OK;
}

/* With t = |x| and m = e^2t - 1: tanh t = m / (m + 2). m = 2^n · (e^r - 1) + (2^n - 1) keeps its relative
 * precision where t is small. From t = 9.02 on, tanh t is 1 in float32. */
GPT_INLINE v128_t tanh_f32x4(v128_t x)
{
    const v128_t t = wasm_f32x4_min(wasm_f32x4_abs(x), wasm_f32x4_splat(10.0f));
    v128_t n, r;
    const v128_t q = gpt_exp_terms(wasm_f32x4_add(t, t), &n, &r, gpt_multiply_add);
    const v128_t power = gpt_power_of_2(n), rest = gpt_multiply_add(wasm_f32x4_mul(r, r), q, r);
    const v128_t m = gpt_multiply_add(rest, power, wasm_f32x4_sub(power, wasm_f32x4_splat(1.0f)));
    const v128_t y = wasm_f32x4_div(m, wasm_f32x4_add(m, wasm_f32x4_splat(2.0f)));
    return wasm_v128_bitselect(x, y, wasm_f32x4_splat(-0.0f)); /* the sign of x */
}

GPT_UNARY(gpt_tanh, tanh_f32x4)

/* c[0] + c[1]·x + ... + c[5]·x^5 */
GPT_INLINE v128_t quintic(v128_t x, const float c[6])
{
    v128_t y = wasm_f32x4_splat(c[5]);
    for (size_t k = 5; k-- > 0;) y = gpt_multiply_add(y, x, wasm_f32x4_splat(c[k]));
    return y;
}

/* Up to |x| = 0.9: erf x = x + x · P(x²). Above: 1 - e^-Q(|x|). The polynomials were fitted in float64 by weighted
 * least squares, with weights that level the error: 1.3e-8 and 2.8e-8. From |x| = 4 on, erf x is ±1 in float32. */
GPT_INLINE v128_t erf_f32x4(v128_t x)
{
    static const float small[6] = {0.128379153f,  -0.37612517f,   0.112820707f,
                                   -0.026776203f, 0.00500774856f, -0.000606760858f};
    static const float large[6] = {0.00178735602f, 1.1205241f,     0.650275397f,
                                   0.0914456155f,  -0.0156937469f, 0.00126675823f};
    const v128_t t = wasm_f32x4_min(wasm_f32x4_abs(x), wasm_f32x4_splat(4.0f));
    const v128_t below = gpt_multiply_add(t, quintic(wasm_f32x4_mul(t, t), small), t);
    const v128_t rest = gpt_exp_f32x4(wasm_f32x4_neg(quintic(t, large)));
    const v128_t above = wasm_f32x4_sub(wasm_f32x4_splat(1.0f), rest);
    const v128_t y = wasm_v128_bitselect(above, below, wasm_f32x4_gt(t, wasm_f32x4_splat(0.9f)));
    return wasm_v128_bitselect(x, y, wasm_f32x4_splat(-0.0f)); /* the sign of x */
}

GPT_UNARY(gpt_erf, erf_f32x4)

/* The largest whole exponent of the SIMD loop: in float64 the 8th power of a float32 does not overflow. */
#define MOST_WHOLE 8.0f

/* x^n for a whole n >= 0, by squaring. */
GPT_INLINE v128_t whole_power_f64x2(v128_t x, unsigned n)
{
    v128_t y = wasm_f64x2_splat(1.0);
    for (; n; n >>= 1) {
        if (n & 1) y = wasm_f64x2_mul(y, x);
        x = wasm_f64x2_mul(x, x);
    }
    return y;
}

/* x^exponent for a whole exponent up to ±MOST_WHOLE, in float64, so that only the last step rounds. */
GPT_INLINE v128_t whole_power(v128_t x, float exponent)
{
    const unsigned n = (unsigned)fabsf(exponent);
    v128_t low = whole_power_f64x2(wasm_f64x2_promote_low_f32x4(x), n),
           high = whole_power_f64x2(wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 0, 1)), n);
    if (exponent < 0.0f) {
        low = wasm_f64x2_div(wasm_f64x2_splat(1.0), low);
        high = wasm_f64x2_div(wasm_f64x2_splat(1.0), high);
    }
    return wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 1, 4,
                              5);
}

/* x^2, x^3, x^-1, x^0.5 or x^-0.5. As in PyTorch, the roots are those of sqrt, not of C's powf: of -0 and
 * -infinity. */
GPT_INLINE v128_t common_power(v128_t x, float exponent)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    if (exponent == 2.0f) return wasm_f32x4_mul(x, x);
    if (exponent == 3.0f) return wasm_f32x4_mul(wasm_f32x4_mul(x, x), x);
    if (exponent == -1.0f) return wasm_f32x4_div(one, x);
    const v128_t root = wasm_f32x4_sqrt(x);
    return exponent == 0.5f ? root : wasm_f32x4_div(one, root);
}

GPT_INLINE void powers(float *y, const float *x, size_t n, v128_t (*power)(v128_t, float), float exponent)
{
    GPT_MAP(y, 0, n, power(GPT_AT(x), exponent));
}

int gpt_pow(float *y, const float *x, size_t n, float exponent, size_t part, size_t parts)
{
    const int status = gpt_check(y && x, gpt_fits(n, 1), part < parts);
    if (status) return status;
    size_t first;
    const size_t end = gpt_share(n, 4, part, parts, &first), share = end - first;
    y += first;
    x += first;
    /* one loop for each common exponent, which is a constant in it */
    if (exponent == 2.0f) {
        powers(y, x, share, common_power, 2.0f);
    } else if (exponent == 3.0f) {
        powers(y, x, share, common_power, 3.0f);
    } else if (exponent == -1.0f) {
        powers(y, x, share, common_power, -1.0f);
    } else if (exponent == 0.5f) {
        powers(y, x, share, common_power, 0.5f);
    } else if (exponent == -0.5f) {
        powers(y, x, share, common_power, -0.5f);
    } else if (fabsf(exponent) <= MOST_WHOLE && truncf(exponent) == exponent) {
        powers(y, x, share, whole_power, exponent);
    } else {
        for (size_t i = 0; i < share; i++) y[i] = powf(x[i], exponent);
    }
    return GPT_OK;
}

GPT_UNARY(gpt_abs, wasm_f32x4_abs)

GPT_INLINE v128_t abs_gradient(v128_t dy, v128_t x)
{
    const v128_t zero = wasm_f32x4_splat(0.0f), one = wasm_f32x4_splat(1.0f);
    const v128_t is_positive = wasm_v128_and(wasm_f32x4_gt(x, zero), one),
                 is_negative = wasm_v128_and(wasm_f32x4_lt(x, zero), one);
    return wasm_f32x4_mul(dy, wasm_f32x4_sub(is_positive, is_negative));
}

GPT_GRADIENT(gpt_abs_backward, abs_gradient)

int gpt_clamp(float *y, const float *x, size_t n, float low, float high, size_t part, size_t parts)
{
    const v128_t least = wasm_f32x4_splat(low), most = wasm_f32x4_splat(high);
    GPT_MAP_KERNEL(y, n, part, parts, y && x, 1, wasm_f32x4_min(wasm_f32x4_max(GPT_AT(x), least), most));
}

GPT_INLINE v128_t clamp_gradient(v128_t dy, v128_t x, v128_t least, v128_t most)
{
    return wasm_v128_and(dy, wasm_v128_and(wasm_f32x4_ge(x, least), wasm_f32x4_le(x, most)));
}

int gpt_clamp_backward(float *dx, const float *dy, const float *x, size_t n, float low, float high,
                       size_t part, size_t parts)
{
    const v128_t least = wasm_f32x4_splat(low), most = wasm_f32x4_splat(high);
    GPT_MAP_KERNEL(dx, n, part, parts, dx && dy && x, 1, clamp_gradient(GPT_AT(dy), GPT_AT(x), least, most));
}
