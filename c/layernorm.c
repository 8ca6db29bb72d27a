/* Layer normalisation over the last axis. Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4.
 *
 *   y = scale · (x - mean) · rstd + shift,   rstd = 1/√(var + eps),   var = Σ(x - mean)² / cols
 *
 * In float32 a mean of 1e4 is known to ±5e-4 only, which is far too coarse for a deviation of 0.1. So the mean is
 * subtracted twice. The first mean m is rounded; d = x - m is then small, and exact where it matters; the mean of d
 * is what m was off by, and takes its part in the variance and in y:
 *
 *   off = Σd / cols,   var = Σd² / cols - off²,   y = scale · (d - off) · rstd + shift
 *
 * The first sum is taken of x - x[0], so that a constant row has d = 0 exactly, whatever its size. The sums of d
 * and d² are taken in float32 over blocks and in float64 over the blocks: in one float32 sum, an outlier first in
 * the row or 12,288 columns of two values cost 6e-6.
 *
 * Bound by memory from the second-level cache on; the three passes over a row find it in the first.
 */
#include <math.h>

#include "gpt_layers.h"
#include "simd.h"

enum { BLOCK = 256 };

static int check(const float *y, const float *x, const float *scale, const float *shift, size_t rows, size_t cols,
                 float eps)
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

/* Σ(x - pivot) over a row. Four accumulators of four lanes: the additions overlap, and sixteen partial sums round
 * less than one. */
static float sum_from(const float *x, float pivot, size_t cols)
{
    const v128_t p = wasm_f32x4_splat(pivot);
    v128_t s0 = wasm_f32x4_splat(0.0f), s1 = s0, s2 = s0, s3 = s0;
    size_t c = 0;
    for (; c + 16 <= cols; c += 16) {
        s0 = wasm_f32x4_add(s0, wasm_f32x4_sub(wasm_v128_load(x + c), p));
        s1 = wasm_f32x4_add(s1, wasm_f32x4_sub(wasm_v128_load(x + c + 4), p));
        s2 = wasm_f32x4_add(s2, wasm_f32x4_sub(wasm_v128_load(x + c + 8), p));
        s3 = wasm_f32x4_add(s3, wasm_f32x4_sub(wasm_v128_load(x + c + 12), p));
    }
    float sum = gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(s0, s1), wasm_f32x4_add(s2, s3)));
    for (; c < cols; c++) sum += x[c] - pivot;
    return sum;
}

/* Adds a block's Σd and Σd², d = x - m. */
static void add_block(double *sum, double *squares, const float *x, float m, size_t cols)
{
    const v128_t mm = wasm_f32x4_splat(m);
    v128_t s0 = wasm_f32x4_splat(0.0f), s1 = s0, q0 = s0, q1 = s0;
    size_t c = 0;
    for (; c + 8 <= cols; c += 8) {
        const v128_t d0 = wasm_f32x4_sub(wasm_v128_load(x + c), mm);
        const v128_t d1 = wasm_f32x4_sub(wasm_v128_load(x + c + 4), mm);
        s0 = wasm_f32x4_add(s0, d0);
        s1 = wasm_f32x4_add(s1, d1);
        q0 = wasm_f32x4_add(q0, wasm_f32x4_mul(d0, d0));
        q1 = wasm_f32x4_add(q1, wasm_f32x4_mul(d1, d1));
    }
    float s = gpt_sum_lanes(wasm_f32x4_add(s0, s1)), q = gpt_sum_lanes(wasm_f32x4_add(q0, q1));
    for (; c < cols; c++) {
        const float d = x[c] - m;
        s += d;
        q += d * d;
    }
    *sum += (double)s;
    *squares += (double)q;
}

int gpt_layernorm_forward_part(float *y, float *mean, float *rstd, const float *x, const float *scale,
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
        const float m = x_r[0] + sum_from(x_r, x_r[0], cols) / (float)cols;
        double sum = 0.0, squares = 0.0;
        for (size_t c = 0; c < cols; c += BLOCK)
            add_block(&sum, &squares, x_r + c, m, cols - c < BLOCK ? cols - c : BLOCK);
        const double mean_of_d = sum / (double)cols, var = squares / (double)cols - mean_of_d * mean_of_d;
        /* the difference may round below 0; NaN stays NaN */
        const float s = (float)(1.0 / sqrt((var < 0.0 ? 0.0 : var) + (double)eps)), off = (float)mean_of_d;
        const v128_t mm = wasm_f32x4_splat(m), oo = wasm_f32x4_splat(off), ss = wasm_f32x4_splat(s);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            const v128_t d = wasm_f32x4_sub(wasm_f32x4_sub(wasm_v128_load(x_r + c), mm), oo);
            const v128_t scaled = wasm_f32x4_mul(wasm_v128_load(scale + c), wasm_f32x4_mul(d, ss));
            wasm_v128_store(y_r + c, wasm_f32x4_add(scaled, wasm_v128_load(shift + c)));
        }
        for (; c < cols; c++) y_r[c] = scale[c] * ((x_r[c] - m - off) * s) + shift[c];
        if (mean) mean[r] = m + off;
        if (rstd) rstd[r] = s;
    }
    return GPT_OK;
}

int gpt_layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *scale,
                          const float *shift, size_t rows, size_t cols, float eps)
{
    return gpt_layernorm_forward_part(y, mean, rstd, x, scale, shift, rows, cols, eps, 0, 1);
}
