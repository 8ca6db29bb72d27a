/* Root mean square normalization over the last axis. Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4.
 *
 *   y = scale · u,   u = x · rstd,   rstd = 1/√(Σx²/cols + eps)
 *
 * Backward, with g = dy · scale:
 *
 *   dx = rstd · (g - u · mean(g · u))   mean over the row
 *   dscale = Σ dy · u                   sum over the rows
 *
 * The fast version: blocks are summed in float32, and the blocks' sums in float64. Parts divide the rows of y
 * and dx and the columns of dscale, so that no sum is divided. A row whose squares float32 cannot hold, with
 * elements above 1e18, or below 1e-15 and a tiny eps, is computed by the reference, in float64.
 */
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

/* Elements of a row that are summed in float32. */
enum { COLS_PER_BLOCK = 256 };

static int check(const float *y, const float *x, const float *scale, size_t rows, size_t cols, float eps,
                 size_t part, size_t parts)
{
    if (!y || !x || !scale) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    if (!gpt_eps_valid(eps)) return GPT_ERR_VALUE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

static int check_backward(const float *dy, const float *x, const float *rstd, const float *scale, size_t rows,
                          size_t cols, size_t part, size_t parts)
{
    if (!dy || !x || !rstd || !scale) return GPT_ERR_NULL;
    if (cols == 0 || !gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

void gpt_rmsnorm_forward_ref(float *y, float *rstd, const float *x, const float *scale, size_t rows,
                             size_t cols, float eps)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        /* the reciprocal of the root mean square */
        double squares = 0.0;
        for (size_t c = 0; c < cols; c++) squares += (double)x_r[c] * x_r[c];
        const double s = 1.0 / sqrt(squares / (double)cols + (double)eps);
        /* normalize, then scale */
        for (size_t c = 0; c < cols; c++) y[r * cols + c] = (float)(scale[c] * (x_r[c] * s));
        if (rstd) rstd[r] = (float)s;
    }
}

/* Σ a·b·c over a row, or Σ a·b if c is NULL. */
GPT_INLINE double sum_products(const float *a, const float *b, const float *c, size_t n)
{
    double sum = 0.0;
    size_t i = 0;
    while (i + 4 <= n) {
        const size_t end = n - i < COLS_PER_BLOCK ? n : i + COLS_PER_BLOCK;
        /* two accumulators hide the latency of the add */
        v128_t even = wasm_f32x4_splat(0.0f), odd = even;
        for (; i + 8 <= end; i += 8) {
            v128_t b0 = wasm_v128_load(b + i), b1 = wasm_v128_load(b + i + 4);
            if (c) b0 = wasm_f32x4_mul(b0, wasm_v128_load(c + i));
            if (c) b1 = wasm_f32x4_mul(b1, wasm_v128_load(c + i + 4));
            even = gpt_multiply_add(wasm_v128_load(a + i), b0, even);
            odd = gpt_multiply_add(wasm_v128_load(a + i + 4), b1, odd);
        }
        for (; i + 4 <= end; i += 4) {
            v128_t b0 = wasm_v128_load(b + i);
            if (c) b0 = wasm_f32x4_mul(b0, wasm_v128_load(c + i));
            even = gpt_multiply_add(wasm_v128_load(a + i), b0, even);
        }
        sum += (double)gpt_sum_lanes(wasm_f32x4_add(even, odd));
    }
    for (; i < n; i++) sum += (double)(a[i] * (c ? b[i] * c[i] : b[i]));
    return sum;
}

int gpt_rmsnorm_forward(float *y, float *rstd, const float *x, const float *scale, size_t rows, size_t cols,
                        float eps, size_t part, size_t parts)
{
    const int status = check(y, x, scale, rows, cols, eps, part, parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        const double mean_square = sum_products(x_r, x_r, NULL, cols) / (double)cols;
        if (!gpt_squares_fit(mean_square, eps)) {
            gpt_rmsnorm_forward_ref(y_r, rstd ? rstd + r : NULL, x_r, scale, 1, cols, eps);
            continue;
        }
        const float s = (float)(1.0 / sqrt(mean_square + (double)eps));
        const v128_t s4 = wasm_f32x4_splat(s);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4)
            wasm_v128_store(y_r + c, wasm_f32x4_mul(wasm_f32x4_mul(wasm_v128_load(x_r + c), s4),
                                                    wasm_v128_load(scale + c)));
        for (; c < cols; c++) y_r[c] = x_r[c] * s * scale[c];
        if (rstd) rstd[r] = s;
    }
    return GPT_OK;
}

void gpt_rmsnorm_backward_ref(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                              const float *scale, size_t rows, size_t cols)
{
    for (size_t r = 0; dx && r < rows; r++) {
        const float *x_r = x + r * cols, *dy_r = dy + r * cols;
        const double s = rstd[r];
        /* mean(g · u) */
        double dot = 0.0;
        for (size_t c = 0; c < cols; c++) dot += (double)dy_r[c] * scale[c] * (x_r[c] * s);
        const double mean = dot / (double)cols;
        for (size_t c = 0; c < cols; c++)
            dx[r * cols + c] = (float)(s * ((double)dy_r[c] * scale[c] - x_r[c] * s * mean));
    }
    for (size_t c = 0; dscale && c < cols; c++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * cols + c] * x[r * cols + c] * rstd[r];
        dscale[c] = (float)sum;
    }
}

/* dx = rstd · (g - x · rstd² · Σ(g · x)/cols). Not rstd³, which underflows for rows of 1e12 and more. */
GPT_INLINE void backward_row(float *dx, const float *dy, const float *x, float rstd, const float *scale,
                             size_t cols)
{
    if (!gpt_rstd_fits(rstd)) {
        gpt_rmsnorm_backward_ref(dx, NULL, dy, x, &rstd, scale, 1, cols);
        return;
    }
    const double s = (double)rstd;
    const float factor = (float)(-sum_products(dy, scale, x, cols) * s * s / (double)cols);
    const v128_t s4 = wasm_f32x4_splat(rstd), factor4 = wasm_f32x4_splat(factor);
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) {
        const v128_t g = wasm_f32x4_mul(wasm_v128_load(dy + c), wasm_v128_load(scale + c));
        const v128_t difference = gpt_multiply_add(wasm_v128_load(x + c), factor4, g);
        wasm_v128_store(dx + c, wasm_f32x4_mul(s4, difference));
    }
    if (c < cols) {
        const size_t n = cols - c;
        const v128_t g = wasm_f32x4_mul(gpt_load_tail(dy + c, n), gpt_load_tail(scale + c, n));
        const v128_t difference = gpt_multiply_add(gpt_load_tail(x + c, n), factor4, g);
        gpt_store_tail(dx + c, wasm_f32x4_mul(s4, difference), n);
    }
}

/* dscale of n <= 4 columns: Σ dy · x · rstd over the rows. */
GPT_INLINE void backward_columns(float *dscale, const float *dy, const float *x, const float *rstd,
                                 size_t rows, size_t cols, size_t n)
{
    double sums[4] = {0.0};
    for (size_t r = 0; r < rows;) {
        const size_t end = rows - r < GPT_ROWS_PER_SUM ? rows : r + GPT_ROWS_PER_SUM;
        v128_t block = wasm_f32x4_splat(0.0f);
        for (; r < end; r++) {
            const float *dy_r = dy + r * cols, *x_r = x + r * cols;
            const v128_t dy4 = n == 4 ? wasm_v128_load(dy_r) : gpt_load_tail(dy_r, n);
            const v128_t x4 = n == 4 ? wasm_v128_load(x_r) : gpt_load_tail(x_r, n);
            block = gpt_multiply_add(dy4, wasm_f32x4_mul(x4, wasm_f32x4_splat(rstd[r])), block);
        }
        gpt_add_lanes(sums, block);
    }
    for (size_t k = 0; k < n; k++) dscale[k] = (float)sums[k];
}

int gpt_rmsnorm_backward(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                         const float *scale, size_t rows, size_t cols, size_t part, size_t parts)
{
    const int status = check_backward(dy, x, rstd, scale, rows, cols, part, parts);
    if (status) return status;
    size_t r, c;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r), end = gpt_share(cols, 4, part, parts, &c);
    for (; dx && r < end_row; r++)
        backward_row(dx + r * cols, dy + r * cols, x + r * cols, rstd[r], scale, cols);
    if (!dscale) return GPT_OK;
    for (; c + 4 <= end; c += 4) backward_columns(dscale + c, dy + c, x + c, rstd, rows, cols, 4);
    if (c < end) backward_columns(dscale + c, dy + c, x + c, rstd, rows, cols, end - c);
    return GPT_OK;
}
