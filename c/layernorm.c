/* Layer normalisation over the last axis. Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4.
 *
 *   y = scale · (x - mean) · rstd + shift,   rstd = 1/√(var + eps),   var = Σ(x - mean)² / cols
 *
 * In float32 a mean of 1e4 is known to ±5e-4 only, which is far too coarse for a deviation of 0.1. So the mean is
 * subtracted twice. The first, m, is a guess from the row's first elements, and rounded; d = x - m is then small, and
 * exact where it matters; the mean of d is what m was off by, and takes its part in the variance and in y:
 *
 *   off = Σd / cols,   var = Σd² / cols - off²,   y = scale · (d - off) · rstd + shift
 *
 * That loses digits only where off is large beside the deviation: then m was a poor guess, and the sums are taken again
 * from m + off. The guess is the very value of a constant row, which so has d = 0 exactly, whatever its size. The sums are
 * taken in float32 over blocks and in float64 over the blocks: in one float32 sum, an outlier first in the row or 12,288
 * columns of two values cost 6e-6.
 *
 * Bound by arithmetic: two passes of 5 operations a vector over a row that stays in the first-level cache. A third pass,
 * for the exact mean first, cost a fifth more.
 *
 * Backward, with the unit u = (x - mean) · rstd and g = dy · scale:
 *
 *   dx = rstd · (g - mean(g) - u · mean(g · u)),   dscale = Σ dy · u and dshift = Σ dy over the rows
 *
 * The mean that was kept is rounded, and takes m's place: what it is off by is summed once more.
 */
#include <math.h>

#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

enum { GUESS = 16, BLOCK = 256, ROWS = 64, WIDE = 4 };

static int check(const float *y, const float *x, const float *scale, const float *shift, size_t rows,
                 size_t cols, float eps)
{
    if (!y || !x || !scale || !shift) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    if (!(eps > 0.0f && eps < INFINITY)) return GPT_ERR_VALUE;
    return GPT_OK;
}

int gpt_layernorm_forward_ref(float *y, float *mean, float *rstd, const float *x, const float *scale,
                              const float *shift, size_t rows, size_t cols, float eps)
{
    const int status = check(y, x, scale, shift, rows, cols, eps);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        double sum = 0.0, squares = 0.0;
        for (size_t c = 0; c < cols; c++) sum += x_r[c];
        const double m = sum / (double)cols;
        for (size_t c = 0; c < cols; c++) squares += (x_r[c] - m) * (x_r[c] - m);
        const double s = 1.0 / sqrt(squares / (double)cols + (double)eps);
        for (size_t c = 0; c < cols; c++) y_r[c] = (float)(scale[c] * ((x_r[c] - m) * s) + shift[c]);
        if (mean) mean[r] = (float)m;
        if (rstd) rstd[r] = (float)s;
    }
    return GPT_OK;
}

/* The mean of the first elements, to within rounding; of equal ones, just their value. */
static float guess_mean(const float *x, size_t cols)
{
    const size_t n = gpt_min(cols, GUESS);
    float sum = 0.0f;
    for (size_t c = 0; c < n; c++) sum += x[c] - x[0];
    return x[0] + sum / (float)n;
}

/* Adds a block's Σd and, where squares is not NULL, Σd², d = x - m. Four sums of each, since a sum waits for its own additions. */
GPT_INLINE void add_block(double *sum, double *squares, const float *x, float m, size_t cols)
{
    const v128_t mm = wasm_f32x4_splat(m);
    v128_t s[4], q[4];
    for (size_t k = 0; k < 4; k++) s[k] = q[k] = wasm_f32x4_splat(0.0f);
    size_t c = 0;
    for (; c + 16 <= cols; c += 16) {
        for (size_t k = 0; k < 4; k++) {
            const v128_t d = wasm_f32x4_sub(wasm_v128_load(x + c + 4 * k), mm);
            s[k] = wasm_f32x4_add(s[k], d);
            if (squares) q[k] = gpt_multiply_add(d, d, q[k]);
        }
    }
    float of_d = gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(s[0], s[1]), wasm_f32x4_add(s[2], s[3])));
    float of_squares = gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(q[0], q[1]), wasm_f32x4_add(q[2], q[3])));
    for (; c < cols; c++) {
        const float d = x[c] - m;
        of_d += d;
        of_squares += d * d;
    }
    *sum += (double)of_d;
    if (squares) *squares += (double)of_squares;
}

/* How far the row's mean is from m, and its variance. */
static void moments(double *off, double *var, const float *x, float m, size_t cols)
{
    double sum = 0.0, squares = 0.0;
    for (size_t c = 0; c < cols; c += BLOCK) add_block(&sum, &squares, x + c, m, gpt_min(cols - c, BLOCK));
    *off = sum / (double)cols;
    *var = squares / (double)cols - *off * *off;
    if (*var < 0.0) *var = 0.0; /* the difference may round below 0 */
}

/* The first of them alone. */
static double offset(const float *x, float m, size_t cols)
{
    double sum = 0.0;
    for (size_t c = 0; c < cols; c += BLOCK) add_block(&sum, NULL, x + c, m, gpt_min(cols - c, BLOCK));
    return sum / (double)cols;
}

/* (x - m) · rstd - off · rstd: of mean 0 and variance 1 */
GPT_INLINE v128_t unit(v128_t x, v128_t m, v128_t rstd, v128_t minus_off_rstd)
{
    return gpt_multiply_add(wasm_f32x4_sub(x, m), rstd, minus_off_rstd);
}

GPT_INLINE v128_t normalised(v128_t x, v128_t scale, v128_t shift, v128_t m, v128_t rstd,
                             v128_t minus_off_rstd)
{
    return gpt_multiply_add(unit(x, m, rstd, minus_off_rstd), scale, shift);
}

int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                          const float *shift, size_t rows, size_t cols, float eps, size_t part, size_t parts)
{
    const int status = check(y, x, scale, shift, rows, cols, eps);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        float m = guess_mean(x_r, cols);
        double off, var;
        moments(&off, &var, x_r, m, cols);
        if (!(off * off <= var)) {
            m += (float)off;
            moments(&off, &var, x_r, m, cols);
        }
        const float s = (float)(1.0 / sqrt(var + (double)eps));
        const v128_t m4 = wasm_f32x4_splat(m), s4 = wasm_f32x4_splat(s),
                     t4 = wasm_f32x4_splat((float)-off * s);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            const v128_t scale4 = wasm_v128_load(scale + c), shift4 = wasm_v128_load(shift + c);
            wasm_v128_store(y_r + c, normalised(wasm_v128_load(x_r + c), scale4, shift4, m4, s4, t4));
        }
        if (c < cols) {
            const size_t n = cols - c;
            const v128_t scale4 = gpt_load_tail(scale + c, n), shift4 = gpt_load_tail(shift + c, n);
            gpt_store_tail(y_r + c, normalised(gpt_load_tail(x_r + c, n), scale4, shift4, m4, s4, t4), n);
        }
        if (mean) mean[r] = m + (float)off;
        if (rstd) rstd[r] = s;
    }
    return GPT_OK;
}

static int check_backward(const float *dy, const float *x, const float *mean, const float *rstd,
                          const float *scale, size_t rows, size_t cols)
{
    if (!dy || !x || !mean || !rstd || !scale) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    return GPT_OK;
}

/* The mean that was kept, without its rounding. */
static double exact_mean(const float *x, float mean, size_t cols)
{
    double off = 0.0;
    for (size_t c = 0; c < cols; c++) off += (double)x[c] - mean;
    return mean + off / (double)cols;
}

int gpt_layernorm_backward_ref(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                               const float *mean, const float *rstd, const float *scale, size_t rows,
                               size_t cols)
{
    const int status = check_backward(dy, x, mean, rstd, scale, rows, cols);
    if (status) return status;
    for (size_t r = 0; dx && r < rows; r++) {
        const float *x_r = x + r * cols, *dy_r = dy + r * cols;
        const double m = exact_mean(x_r, mean[r], cols), s = rstd[r];
        double sum = 0.0, dot = 0.0;
        for (size_t c = 0; c < cols; c++) {
            const double g = (double)dy_r[c] * scale[c];
            sum += g;
            dot += g * (x_r[c] - m) * s;
        }
        for (size_t c = 0; c < cols; c++) {
            const double g = (double)dy_r[c] * scale[c], u = (x_r[c] - m) * s;
            dx[r * cols + c] = (float)(s * (g - (sum + u * dot) / (double)cols));
        }
    }
    for (size_t c = 0; c < cols; c++) {
        double of_scale = 0.0, of_shift = 0.0;
        for (size_t r = 0; r < rows; r++) {
            const double d = x[r * cols + c] - exact_mean(x + r * cols, mean[r], cols);
            of_scale += dy[r * cols + c] * d * rstd[r];
            of_shift += dy[r * cols + c];
        }
        if (dscale) dscale[c] = (float)of_scale;
        if (dshift) dshift[c] = (float)of_shift;
    }
    return GPT_OK;
}

/* Adds a block's Σg and Σ g · (x - m), g = dy · scale. */
GPT_INLINE void add_gradients(double *sum, double *dot, const float *dy, const float *scale, const float *x,
                              float m, size_t cols)
{
    const v128_t mm = wasm_f32x4_splat(m);
    v128_t s[2], d[2];
    for (size_t k = 0; k < 2; k++) s[k] = d[k] = wasm_f32x4_splat(0.0f);
    size_t c = 0;
    for (; c + 8 <= cols; c += 8) {
        for (size_t k = 0; k < 2; k++) {
            const size_t i = c + 4 * k;
            const v128_t g = wasm_f32x4_mul(wasm_v128_load(dy + i), wasm_v128_load(scale + i));
            s[k] = wasm_f32x4_add(s[k], g);
            d[k] = gpt_multiply_add(g, wasm_f32x4_sub(wasm_v128_load(x + i), mm), d[k]);
        }
    }
    float of_g = gpt_sum_lanes(wasm_f32x4_add(s[0], s[1])),
          of_products = gpt_sum_lanes(wasm_f32x4_add(d[0], d[1]));
    for (; c < cols; c++) {
        const float g = dy[c] * scale[c];
        of_g += g;
        of_products += g * (x[c] - m);
    }
    *sum += (double)of_g;
    *dot += (double)of_products;
}

/* dx from g = dy · scale and the unit u */
GPT_INLINE v128_t gradient(v128_t g, v128_t u, v128_t rstd, v128_t mean_g, v128_t mean_g_u)
{
    return wasm_f32x4_mul(rstd, wasm_f32x4_sub(g, gpt_multiply_add(u, mean_g_u, mean_g)));
}

GPT_INLINE void backward_row(float *dx, const float *dy, const float *x, float m, float rstd,
                             const float *scale, size_t cols)
{
    const double off = offset(x, m, cols);
    double sum = 0.0, dot = 0.0;
    for (size_t c = 0; c < cols; c += BLOCK)
        add_gradients(&sum, &dot, dy + c, scale + c, x + c, m, gpt_min(cols - c, BLOCK));
    const v128_t m4 = wasm_f32x4_splat(m), s4 = wasm_f32x4_splat(rstd),
                 t4 = wasm_f32x4_splat((float)-off * rstd);
    const v128_t mean_g = wasm_f32x4_splat((float)(sum / (double)cols));
    const v128_t mean_g_u = wasm_f32x4_splat((float)((dot - off * sum) * (double)rstd / (double)cols));
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) {
        const v128_t g = wasm_f32x4_mul(wasm_v128_load(dy + c), wasm_v128_load(scale + c));
        const v128_t u = unit(wasm_v128_load(x + c), m4, s4, t4);
        wasm_v128_store(dx + c, gradient(g, u, s4, mean_g, mean_g_u));
    }
    if (c < cols) {
        const size_t n = cols - c;
        const v128_t g = wasm_f32x4_mul(gpt_load_tail(dy + c, n), gpt_load_tail(scale + c, n));
        const v128_t u = unit(gpt_load_tail(x + c, n), m4, s4, t4);
        gpt_store_tail(dx + c, gradient(g, u, s4, mean_g, mean_g_u), n);
    }
}

/* Adds the sums over at most ROWS rows to the columns first <= c < end. Summed apart, so that many rows that are alike
 * do not round alike. */
GPT_INLINE void add_rows(float *dscale, float *dshift, const float *dy, const float *x, const float *mean,
                         const float *rstd, size_t rows, size_t cols, size_t first, size_t end)
{
    float minus_off_rstd[ROWS];
    for (size_t r = 0; r < rows; r++)
        minus_off_rstd[r] = (float)-offset(x + r * cols, mean[r], cols) * rstd[r];
    size_t c = first;
    for (; c + 4 * WIDE <= end; c += 4 * WIDE) {
        v128_t of_scale[WIDE], of_shift[WIDE];
        for (size_t k = 0; k < WIDE; k++) of_scale[k] = of_shift[k] = wasm_f32x4_splat(0.0f);
        for (size_t r = 0; r < rows; r++) {
            const v128_t m4 = wasm_f32x4_splat(mean[r]), s4 = wasm_f32x4_splat(rstd[r]);
            const v128_t t4 = wasm_f32x4_splat(minus_off_rstd[r]);
            for (size_t k = 0; k < WIDE; k++) {
                const size_t i = r * cols + c + 4 * k;
                const v128_t dy4 = wasm_v128_load(dy + i);
                of_scale[k] = gpt_multiply_add(dy4, unit(wasm_v128_load(x + i), m4, s4, t4), of_scale[k]);
                of_shift[k] = wasm_f32x4_add(of_shift[k], dy4);
            }
        }
        for (size_t k = 0; k < WIDE; k++) {
            const size_t i = c + 4 * k;
            if (dscale) wasm_v128_store(dscale + i, wasm_f32x4_add(wasm_v128_load(dscale + i), of_scale[k]));
            if (dshift) wasm_v128_store(dshift + i, wasm_f32x4_add(wasm_v128_load(dshift + i), of_shift[k]));
        }
    }
    for (; c < end; c++) {
        float of_scale = 0.0f, of_shift = 0.0f;
        for (size_t r = 0; r < rows; r++) {
            const float dy_rc = dy[r * cols + c];
            of_scale += dy_rc * ((x[r * cols + c] - mean[r]) * rstd[r] + minus_off_rstd[r]);
            of_shift += dy_rc;
        }
        if (dscale) dscale[c] += of_scale;
        if (dshift) dshift[c] += of_shift;
    }
}

int gpt_layernorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                           const float *mean, const float *rstd, const float *scale, size_t rows, size_t cols,
                           size_t part, size_t parts)
{
    const int status = check_backward(dy, x, mean, rstd, scale, rows, cols);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r, first;
    const size_t last_row = gpt_share(rows, 1, part, parts, &r),
                 end = gpt_share(cols, 4 * WIDE, part, parts, &first);
    for (; dx && r < last_row; r++)
        backward_row(dx + r * cols, dy + r * cols, x + r * cols, mean[r], rstd[r], scale, cols);
    if (first == end || (!dscale && !dshift)) return GPT_OK;
    for (size_t c = first; c < end; c++) {
        if (dscale) dscale[c] = 0.0f;
        if (dshift) dshift[c] = 0.0f;
    }
    for (r = 0; r < rows; r += ROWS)
        add_rows(dscale, dshift, dy + r * cols, x + r * cols, mean + r, rstd + r, gpt_min(rows - r, ROWS),
                 cols, first, end);
    return GPT_OK;
}
