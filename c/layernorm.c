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
#include "sums.h"

enum {
    PIVOT_SAMPLE = 16,    /* elements of a row that are averaged for its pivot */
    COLS_PER_BLOCK = 256, /* elements of a row that are summed in float32 */
    VECTORS_PER_TILE = 4, /* 16 columns are summed down the rows in registers: 4 vectors */
    COLS_PER_TILE = 4 * VECTORS_PER_TILE
};

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

/* The sum of 2 or 4 accumulators. */
GPT_INLINE float sum_accumulators(const v128_t *s, size_t n)
{
    v128_t sum = wasm_f32x4_add(s[0], s[1]);
    if (n == 4) sum = wasm_f32x4_add(sum, wasm_f32x4_add(s[2], s[3]));
    return gpt_sum_lanes(sum);
}

/* Adds Σg and, unless dot is NULL, Σ g · d of a block, with d = x - m and g = dy · scale, or g = d where
 * dy is NULL. n accumulators hide the latency of the add. */
GPT_INLINE void add_block(double *sum, double *dot, const float *dy, const float *scale, const float *x,
                          float m, size_t cols, size_t n)
{
    const v128_t mm = wasm_f32x4_splat(m);
    v128_t sums[4], dots[4];
    for (size_t k = 0; k < n; k++) sums[k] = dots[k] = wasm_f32x4_splat(0.0f);
    size_t c = 0;
    for (; c + 4 * n <= cols; c += 4 * n)
        for (size_t k = 0; k < n; k++) {
            const v128_t d = wasm_f32x4_sub(wasm_v128_load(x + c + 4 * k), mm);
            const v128_t g =
                dy ? wasm_f32x4_mul(wasm_v128_load(dy + c + 4 * k), wasm_v128_load(scale + c + 4 * k)) : d;
            sums[k] = wasm_f32x4_add(sums[k], g);
            if (dot) dots[k] = gpt_multiply_add(g, d, dots[k]);
        }
    float sum_g = sum_accumulators(sums, n), sum_g_d = sum_accumulators(dots, n);
    for (; c < cols; c++) {
        const float d = x[c] - m, g = dy ? dy[c] * scale[c] : d;
        sum_g += g;
        sum_g_d += g * d;
    }
    *sum += (double)sum_g;
    if (dot) *dot += (double)sum_g_d;
}

/* The offset of the row's mean from m, and the row's variance. */
static void moments(double *off, double *var, const float *x, float m, size_t cols)
{
    double sum = 0.0, squares = 0.0;
    for (size_t c = 0; c < cols; c += COLS_PER_BLOCK)
        add_block(&sum, &squares, NULL, NULL, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK), 4);
    *off = sum / (double)cols;
    *var = squares / (double)cols - *off * *off;
    if (*var < 0.0) *var = 0.0; /* the difference can round to less than 0 */
}

/* Like moments(), but computes only the offset. */
GPT_INLINE double offset(const float *x, float m, size_t cols)
{
    double sum = 0.0;
    for (size_t c = 0; c < cols; c += COLS_PER_BLOCK)
        add_block(&sum, NULL, NULL, NULL, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK), 4);
    return sum / (double)cols;
}

/* The normalized value u = (x - m) · rstd - off · rstd. */
GPT_INLINE v128_t normalize(v128_t x, v128_t m, v128_t rstd, v128_t minus_off_rstd)
{
    return gpt_multiply_add(wasm_f32x4_sub(x, m), rstd, minus_off_rstd);
}

GPT_INLINE v128_t output(v128_t scale, v128_t shift, v128_t x, v128_t m, v128_t rstd, v128_t minus_off_rstd)
{
    return gpt_multiply_add(normalize(x, m, rstd, minus_off_rstd), scale, shift);
}

int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                          const float *shift, size_t rows, size_t cols, float eps, size_t part, size_t parts)
{
    const int status =
        gpt_check(y && x && scale, cols > 0 && gpt_fits(rows, cols), gpt_eps_valid(eps) && part < parts);
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
        if (shift) /* a choice within the loop took 1.04x as long */
            GPT_MAP(y_r, 0, cols, output(GPT_AT(scale), GPT_AT(shift), GPT_AT(x_r), m4, s4, t4));
        else
            GPT_MAP(y_r, 0, cols, output(GPT_AT(scale), zero, GPT_AT(x_r), m4, s4, t4));
        if (mean) mean[r] = m + (float)off;
        if (rstd) rstd[r] = s;
    }
    return GPT_OK;
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
        add_block(&sum, &dot, dy + c, scale + c, x + c, m, gpt_min(cols - c, COLS_PER_BLOCK), 2);
    const v128_t m4 = wasm_f32x4_splat(m), s4 = wasm_f32x4_splat(rstd),
                 t4 = wasm_f32x4_splat((float)-off * rstd);
    const v128_t mean_g = wasm_f32x4_splat((float)(sum / (double)cols));
    const v128_t mean_g_u = wasm_f32x4_splat((float)((dot - off * sum) * (double)rstd / (double)cols));
    GPT_MAP(dx, 0, cols,
            gradient(wasm_f32x4_mul(GPT_AT(dy), GPT_AT(scale)), normalize(GPT_AT(x), m4, s4, t4), s4, mean_g,
                     mean_g_u));
}

/* The sums of `cols` columns over a block of rows; each of dscale and dshift may be NULL. x, dy and the
 * sums begin with the first of these columns; rows of x and dy are `row` floats apart. m and t: see
 * normalizer_of. */
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
    const int status =
        gpt_check(dy && x && mean && rstd && scale, cols > 0 && gpt_fits(rows, cols), part < parts);
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
