/* Batch normalization over the rows. Ioffe, Szegedy 2015, arXiv:1502.03167, algorithm 1.
 *
 *   y = scale · u + shift,   u = (x - mean) · rstd,   rstd = 1/√(var + eps),   var = Σ(x - mean)² / rows
 *
 * Backward, with the statistics of the batch, which depend on x; means and sums over the rows:
 *
 *   dx = scale · rstd · (dy - mean(dy) - u · mean(dy · u)),   dscale = Σ dy · u,   dshift = Σ dy
 *
 * The fast version subtracts the mean in two steps, as layernorm.c does and explains: the pivot m of a column
 * is the rounded mean of its first elements, d = x - m, and off = Σd / rows. The sums are computed again with
 * the pivot m + off if off is large beside the deviation. A block of rows is summed in float32, the blocks'
 * sums in float64.
 *
 * A column of the batch whose squares float32 cannot hold, with deviations above 1e18, or below 1e-15 and a
 * tiny eps, is summed in float64. var may then be infinite or too coarse: forward and backward compute rstd
 * from x instead.
 *
 * The kernels walk down the rows with vectors of 4 columns. Parts divide the columns, so that no sum is
 * divided. Tiles of 16 columns were twice as fast and added 12 kB to the WebAssembly.
 */
#include <float.h>

#include "gpt_layers.h"
#include "sums.h"

enum {
    PIVOT_SAMPLE = 16,  /* elements of a column that are averaged for its pivot */
    COLS_PER_VECTOR = 4 /* columns that the inner loops compute together */
};

/* The variance of a column in float64. */
static double variance_of(double *mean, const float *x, size_t rows, size_t cols)
{
    double sum = 0.0, squares = 0.0;
    for (size_t r = 0; r < rows; r++) sum += x[r * cols];
    *mean = sum / (double)rows;
    for (size_t r = 0; r < rows; r++) squares += (x[r * cols] - *mean) * (x[r * cols] - *mean);
    return squares / (double)rows;
}

/* d = x - m */
GPT_INLINE v128_t difference(v128_t x, size_t r, const void *m)
{
    (void)r;
    return wasm_f32x4_sub(x, wasm_v128_load(m));
}

/* The offset of each column's mean from its pivot m, and each column's variance. */
static void moments(double *off, double *var, const float *x, const float *m, size_t rows, size_t cols,
                    size_t n)
{
    double sums[COLS_PER_VECTOR] = {0.0}, squares[COLS_PER_VECTOR] = {0.0};
    if (n == COLS_PER_VECTOR) /* with a constant n the loop runs 3 times as fast in Node 20 */
        gpt_sum_some_columns(sums, squares, NULL, x, rows, cols, COLS_PER_VECTOR, 1, difference, m);
    else
        gpt_sum_some_columns(sums, squares, NULL, x, rows, cols, n, 1, difference, m);
    GPT_NO_UNROLL
    for (size_t k = 0; k < COLS_PER_VECTOR; k++) {
        off[k] = sums[k] / (double)rows;
        var[k] = squares[k] / (double)rows - off[k] * off[k];
        if (var[k] < 0.0) var[k] = 0.0; /* the difference can round to less than 0 */
    }
}

static void statistics(float *mean, float *off, float *var, const float *x, size_t rows, size_t cols,
                       size_t n)
{
    const size_t sample = gpt_min(rows, PIVOT_SAMPLE);
    float m[COLS_PER_VECTOR] = {0.0f};
    double o[COLS_PER_VECTOR], v[COLS_PER_VECTOR];
    for (size_t c = 0; c < n; c++) {
        float sum = 0.0f; /* 0 for equal elements, whose pivot is exactly their value */
        for (size_t r = 0; r < sample; r++) sum += x[r * cols + c] - x[c];
        m[c] = x[c] + sum / (float)sample;
    }
    moments(o, v, x, m, rows, cols, n);
    int again = 0;
    for (size_t c = 0; c < n; c++) {
        if (o[c] * o[c] <= v[c]) continue;
        m[c] += (float)o[c];
        again = 1;
    }
    if (again) moments(o, v, x, m, rows, cols, n);
    for (size_t c = 0; c < n; c++) {
        if (!(v[c] < (double)INFINITY)) {
            double exact_mean;
            v[c] = variance_of(&exact_mean, x + c, rows, cols);
            m[c] = (float)exact_mean;
            o[c] = exact_mean - m[c];
        }
        mean[c] = m[c];
        off[c] = (float)o[c];
        var[c] = (float)v[c];
    }
}

int gpt_batchnorm_statistics(float *mean, float *off, float *var, const float *x, size_t rows, size_t cols,
                             size_t part, size_t parts)
{
    const int status = gpt_check(mean && off && var && x, rows > 0 && gpt_fits(rows, cols), part < parts);
    if (status) return status;
    size_t c;
    const size_t end = gpt_share(cols, COLS_PER_VECTOR, part, parts, &c);
    for (; c < end; c += COLS_PER_VECTOR)
        statistics(mean + c, off + c, var + c, x + c, rows, cols, gpt_min(end - c, COLS_PER_VECTOR));
    return GPT_OK;
}

int gpt_batchnorm_update(float *running_mean, float *running_var, const float *mean, const float *off,
                         const float *var, size_t rows, size_t cols, float momentum)
{
    const int status = gpt_check(running_mean && running_var && mean && off && var,
                                 rows > 1 && gpt_fits(rows, cols), momentum >= 0.0f && momentum <= 1.0f);
    if (status) return status;
    const double m = (double)momentum, unbiased = (double)rows / (double)(rows - 1);
    for (size_t c = 0; c < cols; c++) {
        running_mean[c] = (float)((1.0 - m) * running_mean[c] + m * ((double)mean[c] + (double)off[c]));
        running_var[c] = (float)((1.0 - m) * running_var[c] + m * unbiased * var[c]);
    }
    return GPT_OK;
}

/* The normalized value of COLS_PER_VECTOR columns: u = (x - m) · s + t, with s = rstd and t = -off · rstd. */
typedef struct normalizer {
    v128_t m, s, t;
} normalizer;

/* The same for a column of the batch whose variance float32 cannot hold. Where x - m might overflow, m is 0: then
 * the mean is at most √rows deviations, and subtracting it later costs little precision. With eps 0, a constant
 * column is the shift, as in PyTorch. */
static void column_normalizer(float *m, float *s, float *t, const float *x, float off, size_t rows,
                              size_t cols, float eps)
{
    double exact_mean;
    const double squares = variance_of(&exact_mean, x, rows, cols) + (double)eps;
    const double rstd = squares == 0.0 ? 0.0 : 1.0 / sqrt(squares), mean = (double)*m + (double)off;
    if (rstd * (double)FLT_MAX < sqrt((double)rows)) *m = 0.0f;
    *s = (float)rstd;
    *t = (float)((double)*m * rstd - mean * rstd);
}

GPT_INLINE normalizer normalizer_of(const float *x, const float *mean, const float *off, const float *var,
                                    size_t rows, size_t cols, size_t n, float eps)
{
    const v128_t deviation = wasm_f32x4_sqrt(wasm_f32x4_add(gpt_load(var, n), wasm_f32x4_splat(eps)));
    const v128_t s4 = wasm_f32x4_div(wasm_f32x4_splat(1.0f), deviation);
    const v128_t t4 = off ? wasm_f32x4_neg(wasm_f32x4_mul(gpt_load(off, n), s4)) : wasm_f32x4_splat(-0.0f);
    normalizer u = {.m = gpt_load(mean, n), .s = s4, .t = t4};
    for (size_t c = 0; off && c < n; c++) {
        if (gpt_squares_fit((double)var[c], eps)) continue;
        float m[COLS_PER_VECTOR], s[COLS_PER_VECTOR], t[COLS_PER_VECTOR];
        wasm_v128_store(m, u.m);
        wasm_v128_store(s, u.s);
        wasm_v128_store(t, u.t);
        column_normalizer(m + c, s + c, t + c, x + c, off[c], rows, cols, eps);
        u = (normalizer){.m = wasm_v128_load(m), .s = wasm_v128_load(s), .t = wasm_v128_load(t)};
    }
    return u;
}

GPT_INLINE v128_t normalize(normalizer u, v128_t x)
{
    return gpt_multiply_add(wasm_f32x4_sub(x, u.m), u.s, u.t);
}

int gpt_batchnorm_forward(float *y, const float *x, const float *mean, const float *off, const float *var,
                          const float *scale, const float *shift, size_t rows, size_t cols, float eps,
                          size_t part, size_t parts)
{
    const int status = gpt_check(y && x && mean && var && scale && shift, gpt_fits(rows, cols),
                                 gpt_eps_valid(eps) && part < parts);
    if (status || rows == 0) return status;
    size_t c;
    const size_t end = gpt_share(cols, COLS_PER_VECTOR, part, parts, &c);
    for (; c < end; c += COLS_PER_VECTOR) {
        const size_t n = gpt_min(end - c, COLS_PER_VECTOR);
        const normalizer u =
            normalizer_of(x + c, mean + c, off ? off + c : NULL, var + c, rows, cols, n, eps);
        const v128_t scale4 = gpt_load(scale + c, n), shift4 = gpt_load(shift + c, n);
        for (size_t r = 0; r < rows; r++) {
            const v128_t x4 = gpt_load(x + r * cols + c, n);
            gpt_store(y + r * cols + c, gpt_multiply_add(normalize(u, x4), scale4, shift4), n);
        }
    }
    return GPT_OK;
}

GPT_INLINE v128_t normalize_row(v128_t x, size_t r, const void *of)
{
    (void)r;
    return normalize(*(const normalizer *)of, x);
}

/* dx of n <= COLS_PER_VECTOR columns from their sums Σ dy and Σ dy · u. */
GPT_INLINE void backward_columns(float *dx, const float *dy, const float *x, normalizer u, v128_t scale,
                                 const double *sums, const double *dots, size_t rows, size_t cols, size_t n)
{
    float a[COLS_PER_VECTOR], b[COLS_PER_VECTOR]; /* -mean(dy) and -mean(dy · u) */
    GPT_NO_UNROLL
    for (size_t c = 0; c < COLS_PER_VECTOR; c++) {
        a[c] = (float)(-sums[c] / (double)rows);
        b[c] = (float)(-dots[c] / (double)rows);
    }
    const v128_t a4 = wasm_v128_load(a), b4 = wasm_v128_load(b), factor = wasm_f32x4_mul(scale, u.s);
    for (size_t r = 0; r < rows; r++) {
        const v128_t g = wasm_f32x4_add(gpt_load(dy + r * cols, n), a4), x4 = gpt_load(x + r * cols, n);
        gpt_store(dx + r * cols, wasm_f32x4_mul(factor, gpt_multiply_add(normalize(u, x4), b4, g)), n);
    }
}

int gpt_batchnorm_backward(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                           const float *mean, const float *off, const float *var, const float *scale,
                           size_t rows, size_t cols, float eps, size_t part, size_t parts)
{
    const int status = gpt_check(dy && x && mean && off && var && scale, rows > 0 && gpt_fits(rows, cols),
                                 gpt_eps_valid(eps) && part < parts);
    if (status) return status;
    size_t c;
    const size_t end = gpt_share(cols, COLS_PER_VECTOR, part, parts, &c);
    for (; c < end; c += COLS_PER_VECTOR) {
        const size_t n = gpt_min(end - c, COLS_PER_VECTOR);
        const normalizer u = normalizer_of(x + c, mean + c, off + c, var + c, rows, cols, n, eps);
        double sums[COLS_PER_VECTOR] = {0.0}, dots[COLS_PER_VECTOR] = {0.0};
        gpt_sum_some_columns(sums, dots, dy + c, x + c, rows, cols, n, 1, normalize_row, &u);
        if (dx) backward_columns(dx + c, dy + c, x + c, u, gpt_load(scale + c, n), sums, dots, rows, cols, n);
        for (size_t k = 0; k < n; k++) {
            if (dscale) dscale[c + k] = (float)dots[k];
            if (dshift) dshift[c + k] = (float)sums[k];
        }
    }
    return GPT_OK;
}
