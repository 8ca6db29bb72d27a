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
#include "sums.h"

/* Elements of a row that are summed in float32. */
enum { COLS_PER_BLOCK = 256 };

/* Columns of dscale that are summed at once: a line of the cache, which is then read once. With 4 columns,
 * a backward pass of 256 rows of 1024 took 1.8 times as long. */
enum { COLS_PER_TILE = 16 };

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

int gpt_rmsnorm_forward(float *y, float *rstd, const float *x, const float *scale, size_t rows, size_t cols,
                        float eps, size_t part, size_t parts)
{
    const int status =
        gpt_check(y && x && scale, cols > 0 && gpt_fits(rows, cols), gpt_eps_valid(eps) && part < parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        const double mean_square = gpt_sum_products(x_r, x_r, NULL, cols, COLS_PER_BLOCK) / (double)cols;
        if (!gpt_squares_fit(mean_square, eps)) {
            gpt_rmsnorm_forward_ref(y_r, rstd ? rstd + r : NULL, x_r, scale, 1, cols, eps);
            continue;
        }
        const float s = (float)(1.0 / sqrt(mean_square + (double)eps));
        const v128_t s4 = wasm_f32x4_splat(s);
        size_t c = 0; /* not GPT_MAP, whose tail takes 1.6 times as long for rows of 5 columns */
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

/* dx = rstd · (g + x · factor), g = dy · scale */
GPT_INLINE v128_t gradient(v128_t dy, v128_t scale, v128_t x, v128_t rstd, v128_t factor)
{
    return wasm_f32x4_mul(rstd, gpt_multiply_add(x, factor, wasm_f32x4_mul(dy, scale)));
}

/* factor = -rstd² · Σ(g · x)/cols. Not rstd³, which underflows for rows of 1e12 and more. */
GPT_INLINE void backward_row(float *dx, const float *dy, const float *x, float rstd, const float *scale,
                             size_t cols)
{
    if (!gpt_rstd_fits(rstd)) {
        gpt_rmsnorm_backward_ref(dx, NULL, dy, x, &rstd, scale, 1, cols);
        return;
    }
    const double s = (double)rstd;
    const float factor =
        (float)(-gpt_sum_products(dy, scale, x, cols, COLS_PER_BLOCK) * s * s / (double)cols);
    const v128_t s4 = wasm_f32x4_splat(rstd), factor4 = wasm_f32x4_splat(factor);
    GPT_MAP(dx, 0, cols, gradient(GPT_AT(dy), GPT_AT(scale), GPT_AT(x), s4, factor4));
}

/* u = x · rstd */
GPT_INLINE v128_t normalize(v128_t x, size_t r, const void *rstd)
{
    return wasm_f32x4_mul(x, wasm_v128_load32_splat((const float *)rstd + r));
}

/* dscale of `vectors` times n columns: Σ dy · u over the rows. */
GPT_INLINE void backward_columns(float *dscale, const float *dy, const float *x, const float *rstd,
                                 size_t rows, size_t cols, size_t n, size_t vectors)
{
    double sums[COLS_PER_TILE] = {0.0};
    gpt_sum_some_columns(NULL, sums, dy, x, rows, cols, n, vectors, normalize, rstd);
    GPT_NO_UNROLL
    for (size_t k = 0; k < n * vectors; k++) dscale[k] = (float)sums[k];
}

int gpt_rmsnorm_backward(float *dx, float *dscale, const float *dy, const float *x, const float *rstd,
                         const float *scale, size_t rows, size_t cols, size_t part, size_t parts)
{
    const int status = gpt_check(dy && x && rstd && scale, cols > 0 && gpt_fits(rows, cols), part < parts);
    if (status) return status;
    size_t r, c;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r), end = gpt_share(cols, 4, part, parts, &c);
    for (; dx && r < end_row; r++)
        backward_row(dx + r * cols, dy + r * cols, x + r * cols, rstd[r], scale, cols);
    if (!dscale) return GPT_OK;
    for (; c + COLS_PER_TILE <= end; c += COLS_PER_TILE)
        backward_columns(dscale + c, dy + c, x + c, rstd, rows, cols, 4, COLS_PER_TILE / 4);
    for (; c < end; c += 4)
        backward_columns(dscale + c, dy + c, x + c, rstd, rows, cols, gpt_min(4, end - c), 1);
    return GPT_OK;
}
