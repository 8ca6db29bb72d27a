/* Layer normalization over the last axis. Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4.
 *
 *   y = scale · (x - mean) · rstd + shift,   rstd = 1/√(var + eps),   var = Σ(x - mean)² / cols
 *
 * The fast version subtracts the mean in two steps, because float32 holds a mean of 1e4 only to ±5e-4, which
 * is too coarse for a deviation of 0.1. The pivot m is the rounded mean of the row's first elements; off is
 * the distance from m to the mean of the row:
 *
 *   d = x - m,   off = Σd / cols,   var = Σd² / cols - off²,   y = scale · (d - off) · rstd + shift
 *
 * d is exact where x is close to m. The difference in var loses digits only if off is large beside the
 * deviation. The sums are then computed again with the pivot m + off. For a constant row the pivot is the
 * value itself, so every d is exactly 0.
 *
 * Blocks are summed in float32, and the blocks' sums in float64. With a single float32 sum the error reached
 * 6e-6: in a row that starts with an outlier, and in a row of 12,288 columns.
 *
 * A row whose squares float32 cannot hold, with deviations above 1e18, or below 1e-15 and a tiny eps, is
 * computed by the reference, in float64.
 *
 * Bound by arithmetic: two passes with 5 operations per vector, over a row that stays in the L1 cache. A
 * version with a third pass, which computes the mean first, took 20 % longer.
 *
 * Backward, with the normalized value u = (x - mean) · rstd and g = dy · scale:
 *
 *   dx = rstd · (g - mean(g) - u · mean(g · u))   means over the row
 *   dscale = Σ dy · u,   dshift = Σ dy            sums over the rows
 *
 * The stored mean is rounded to float32. backward takes it as the pivot m and computes off in one more pass.
 */
#include <float.h>

#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

enum {
    PIVOT_SAMPLE = 16,    /* elements of a row that are averaged for its pivot */
    COLS_PER_BLOCK = 256, /* elements of a row that are summed in float32 */
    VECTORS_PER_TILE = 4, /* 16 columns are summed down the rows in registers: 4 vectors */
    COLS_PER_TILE = 4 * VECTORS_PER_TILE
};

static int check(const float *y, const float *x, const float *scale, size_t rows, size_t cols, float eps,
                 size_t part, size_t parts)
{
    if (!y || !x || !scale) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    if (!gpt_eps_valid(eps)) return GPT_ERR_VALUE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

void gpt_layernorm_forward_ref(float *y, float *mean, float *rstd, const float *x, const float *scale,
                               const float *shift, size_t rows, size_t cols, float eps)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        /* the mean */
        double sum = 0.0;
        for (size_t c = 0; c < cols; c++) sum += x_r[c];
        const double m = sum / (double)cols;
        /* the variance, without Bessel's correction */
        double squares = 0.0;
        for (size_t c = 0; c < cols; c++) squares += (x_r[c] - m) * (x_r[c] - m);
        const double s = 1.0 / sqrt(squares / (double)cols + (double)eps);
        /* normalize, scale and shift */
        for (size_t c = 0; c < cols; c++)
            y_r[c] = (float)(scale[c] * ((x_r[c] - m) * s) + (shift ? (double)shift[c] : 0.0));
        /* keep both for the backward pass */
        if (mean) mean[r] = (float)m;
        if (rstd) rstd[r] = (float)s;
    }
}

/* The mean of the first elements, rounded. For equal elements it is exactly their value. */
static float pivot(const float *x, size_t cols)
{
    const size_t n = gpt_min(cols, PIVOT_SAMPLE);
    float sum = 0.0f;
    for (size_t c = 0; c < n; c++) sum += x[c] - x[0];
    return x[0] + sum / (float)n;
}

/* Adds Σd and, unless squares is NULL, Σd² of a block, d = x - m. Four accumulators hide the latency of
 * the add. */
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
    float sum_d = gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(s[0], s[1]), wasm_f32x4_add(s[2], s[3])));
    float sum_squares = gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(q[0], q[1]), wasm_f32x4_add(q[2], q[3])));
    for (; c < cols; c++) {
        const float d = x[c] - m;
        sum_d += d;
        sum_squares += d * d;
    }
    *sum += (double)sum_d;
    if (squares) *squares += (double)sum_squares;
}

/* The offset of the row's mean from m, and the row's variance. */
static void moments(double *off, double *var, const float *x, float m, size_t cols)
{
    double sum = 0.0, squares = 0.0;
    for (size_t c = 0; c < cols; c += COLS_PER_BLOCK)
        add_block(&sum, &squares, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK));
    *off = sum / (double)cols;
    *var = squares / (double)cols - *off * *off;
    if (*var < 0.0) *var = 0.0; /* the difference can round to less than 0 */
}

/* Like moments(), but computes only the offset. */
GPT_INLINE double offset(const float *x, float m, size_t cols)
{
    double sum = 0.0;
    for (size_t c = 0; c < cols; c += COLS_PER_BLOCK)
        add_block(&sum, NULL, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK));
    return sum / (double)cols;
}

/* The normalized value u = (x - m) · rstd - off · rstd. */
GPT_INLINE v128_t normalize(v128_t x, v128_t m, v128_t rstd, v128_t minus_off_rstd)
{
    return gpt_multiply_add(wasm_f32x4_sub(x, m), rstd, minus_off_rstd);
}

GPT_INLINE v128_t output(v128_t x, v128_t scale, v128_t shift, v128_t m, v128_t rstd, v128_t minus_off_rstd)
{
    return gpt_multiply_add(normalize(x, m, rstd, minus_off_rstd), scale, shift);
}

int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                          const float *shift, size_t rows, size_t cols, float eps, size_t part, size_t parts)
{
    const int status = check(y, x, scale, rows, cols, eps, part, parts);
    if (status) return status;
    const v128_t zero = wasm_f32x4_splat(0.0f);
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        float m = pivot(x_r, cols);
        double off = 0.0, var;
        for (size_t pass = 0; pass < 2; pass++) { /* a loop, so that the compiler inlines moments() */
            m += (float)off;
            moments(&off, &var, x_r, m, cols);
            if (off * off <= var) break;
        }
        if (!gpt_squares_fit(var, eps)) {
            gpt_layernorm_forward_ref(y_r, mean ? mean + r : NULL, rstd ? rstd + r : NULL, x_r, scale, shift,
                                      1, cols, eps);
            continue;
        }
        const float s = (float)(1.0 / sqrt(var + (double)eps));
        const v128_t m4 = wasm_f32x4_splat(m), s4 = wasm_f32x4_splat(s),
                     t4 = wasm_f32x4_splat((float)-off * s);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            const v128_t scale4 = wasm_v128_load(scale + c),
                         shift4 = shift ? wasm_v128_load(shift + c) : zero;
            wasm_v128_store(y_r + c, output(wasm_v128_load(x_r + c), scale4, shift4, m4, s4, t4));
        }
        if (c < cols) {
            const size_t n = cols - c;
            const v128_t scale4 = gpt_load_tail(scale + c, n),
                         shift4 = shift ? gpt_load_tail(shift + c, n) : zero;
            gpt_store_tail(y_r + c, output(gpt_load_tail(x_r + c, n), scale4, shift4, m4, s4, t4), n);
        }
        if (mean) mean[r] = m + (float)off;
        if (rstd) rstd[r] = s;
    }
    return GPT_OK;
}

static int check_backward(const float *dy, const float *x, const float *mean, const float *rstd,
                          const float *scale, size_t rows, size_t cols, size_t part, size_t parts)
{
    if (!dy || !x || !mean || !rstd || !scale) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

/* The row's mean in float64, from the stored mean in float32. */
static double exact_mean(const float *x, float mean, size_t cols)
{
    double off = 0.0;
    for (size_t c = 0; c < cols; c++) off += (double)x[c] - mean;
    return mean + off / (double)cols;
}

void gpt_layernorm_backward_ref(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                const float *mean, const float *rstd, const float *scale, size_t rows,
                                size_t cols)
{
    for (size_t r = 0; dx && r < rows; r++) {
        const float *x_r = x + r * cols, *dy_r = dy + r * cols;
        const double m = exact_mean(x_r, mean[r], cols), s = rstd[r];
        /* Σg and Σ g · u over the row */
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
    for (size_t c = 0; (dscale || dshift) && c < cols; c++) {
        double sum_scale = 0.0, sum_shift = 0.0;
        for (size_t r = 0; r < rows; r++) {
            const double d = x[r * cols + c] - exact_mean(x + r * cols, mean[r], cols);
            sum_scale += dy[r * cols + c] * d * rstd[r];
            sum_shift += dy[r * cols + c];
        }
        if (dscale) dscale[c] = (float)sum_scale;
        if (dshift) dshift[c] = (float)sum_shift;
    }
}

/* Adds Σg and Σ g · (x - m) of a block, g = dy · scale. */
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
    float sum_g = gpt_sum_lanes(wasm_f32x4_add(s[0], s[1])),
          sum_products = gpt_sum_lanes(wasm_f32x4_add(d[0], d[1]));
    for (; c < cols; c++) {
        const float g = dy[c] * scale[c];
        sum_g += g;
        sum_products += g * (x[c] - m);
    }
    *sum += (double)sum_g;
    *dot += (double)sum_products;
}

/* dx = rstd · (g - mean(g) - u · mean(g · u)) */
GPT_INLINE v128_t gradient(v128_t g, v128_t u, v128_t rstd, v128_t mean_g, v128_t mean_g_u)
{
    return wasm_f32x4_mul(rstd, wasm_f32x4_sub(g, gpt_multiply_add(u, mean_g_u, mean_g)));
}

GPT_INLINE void backward_row(float *dx, const float *dy, const float *x, float m, float rstd,
                             const float *scale, size_t cols)
{
    if (!gpt_rstd_fits(rstd)) {
        gpt_layernorm_backward_ref(dx, NULL, NULL, dy, x, &m, &rstd, scale, 1, cols);
        return;
    }
    const double off = offset(x, m, cols);
    double sum = 0.0, dot = 0.0;
    for (size_t c = 0; c < cols; c += COLS_PER_BLOCK)
        add_gradients(&sum, &dot, dy + c, scale + c, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK));
    const v128_t m4 = wasm_f32x4_splat(m), s4 = wasm_f32x4_splat(rstd),
                 t4 = wasm_f32x4_splat((float)-off * rstd);
    const v128_t mean_g = wasm_f32x4_splat((float)(sum / (double)cols));
    const v128_t mean_g_u = wasm_f32x4_splat((float)((dot - off * sum) * (double)rstd / (double)cols));
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) {
        const v128_t g = wasm_f32x4_mul(wasm_v128_load(dy + c), wasm_v128_load(scale + c));
        const v128_t u = normalize(wasm_v128_load(x + c), m4, s4, t4);
        wasm_v128_store(dx + c, gradient(g, u, s4, mean_g, mean_g_u));
    }
    if (c < cols) {
        const size_t n = cols - c;
        const v128_t g = wasm_f32x4_mul(gpt_load_tail(dy + c, n), gpt_load_tail(scale + c, n));
        const v128_t u = normalize(gpt_load_tail(x + c, n), m4, s4, t4);
        gpt_store_tail(dx + c, gradient(g, u, s4, mean_g, mean_g_u), n);
    }
}

/* The sums of `cols` columns over a block of rows; each of dscale and dshift may be NULL. x, dy and the sums
 * begin with the first of these columns; rows of x and dy are `row` floats apart. m and t: see normalizer_of. */
GPT_INLINE void sum_rows(float *dscale, float *dshift, const float *dy, const float *x, const float *m,
                         const float *rstd, const float *t, size_t rows, size_t row, size_t cols)
{
    size_t c = 0;
    for (; c + COLS_PER_TILE <= cols; c += COLS_PER_TILE) {
        v128_t sum_scale[VECTORS_PER_TILE], sum_shift[VECTORS_PER_TILE];
        for (size_t k = 0; k < VECTORS_PER_TILE; k++) sum_scale[k] = sum_shift[k] = wasm_f32x4_splat(0.0f);
        for (size_t r = 0; r < rows; r++) {
            const v128_t m4 = wasm_f32x4_splat(m[r]), s4 = wasm_f32x4_splat(rstd[r]);
            const v128_t t4 = wasm_f32x4_splat(t[r]);
            for (size_t k = 0; k < VECTORS_PER_TILE; k++) {
                const size_t i = r * row + c + 4 * k;
                const v128_t dy4 = wasm_v128_load(dy + i);
                sum_scale[k] =
                    gpt_multiply_add(dy4, normalize(wasm_v128_load(x + i), m4, s4, t4), sum_scale[k]);
                sum_shift[k] = wasm_f32x4_add(sum_shift[k], dy4);
            }
        }
        for (size_t k = 0; k < VECTORS_PER_TILE; k++) {
            if (dscale) wasm_v128_store(dscale + c + 4 * k, sum_scale[k]);
            if (dshift) wasm_v128_store(dshift + c + 4 * k, sum_shift[k]);
        }
    }
    for (; c < cols; c++) {
        float sum_scale = 0.0f, sum_shift = 0.0f;
        for (size_t r = 0; r < rows; r++) {
            const float dy_rc = dy[r * row + c];
            sum_scale += dy_rc * ((x[r * row + c] - m[r]) * rstd[r] + t[r]);
            sum_shift += dy_rc;
        }
        if (dscale) dscale[c] = sum_scale;
        if (dshift) dshift[c] = sum_shift;
    }
}

/* The pivot m and the offset t of a row's u = (x - m) · rstd + t. Where x - mean might overflow, m is 0: then
 * the mean is at most √cols deviations, and subtracting it later costs little precision. */
static void normalizer_of(float *m, float *t, const float *x, float mean, float rstd, size_t cols)
{
    *m = (double)rstd * (double)FLT_MAX < sqrt((double)cols) ? 0.0f : mean;
    const double off = gpt_rstd_fits(rstd) ? offset(x, mean, cols) : exact_mean(x, mean, cols) - (double)*m;
    *t = (float)-off * rstd;
}

/* dscale and dshift of at most GPT_COLS_PER_STRIP columns, from column `first` on; each may be NULL. */
static void backward_strip(float *dscale, float *dshift, const float *dy, const float *x, const float *mean,
                           const float *rstd, size_t rows, size_t cols, size_t first, size_t n)
{
    double scales[GPT_COLS_PER_STRIP], shifts[GPT_COLS_PER_STRIP];
    size_t r = 0;
    do {
        const size_t some = gpt_min(rows - r, GPT_ROWS_PER_SUM);
        const int is_first = r == 0, is_last = r + some == rows;
        float m[GPT_ROWS_PER_SUM], t[GPT_ROWS_PER_SUM];
        for (size_t i = 0; i < some; i++)
            normalizer_of(m + i, t + i, x + (r + i) * cols, mean[r + i], rstd[r + i], cols);
        sum_rows(dscale, dshift, dy + r * cols + first, x + r * cols + first, m, rstd + r, t, some, cols, n);
        if (dscale) gpt_add_block(scales, dscale, n, is_first, is_last);
        if (dshift) gpt_add_block(shifts, dshift, n, is_first, is_last);
        r += some;
    } while (r < rows);
}

int gpt_layernorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                           const float *mean, const float *rstd, const float *scale, size_t rows, size_t cols,
                           size_t part, size_t parts)
{
    const int status = check_backward(dy, x, mean, rstd, scale, rows, cols, part, parts);
    if (status) return status;
    /* dx is divided by rows, dscale and dshift by columns: no sum is divided */
    size_t r, first;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r),
                 end = gpt_share(cols, COLS_PER_TILE, part, parts, &first);
    for (; dx && r < end_row; r++)
        backward_row(dx + r * cols, dy + r * cols, x + r * cols, mean[r], rstd[r], scale, cols);
    if (!dscale && !dshift) return GPT_OK;
    for (; first < end; first += GPT_COLS_PER_STRIP)
        backward_strip(dscale ? dscale + first : NULL, dshift ? dshift + first : NULL, dy, x, mean, rstd,
                       rows, cols, first, gpt_min(end - first, GPT_COLS_PER_STRIP));
    return GPT_OK;
}
