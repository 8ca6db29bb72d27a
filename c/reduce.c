/* Mean, variance, sum, maximum and sum of squares over the last axis, like Tensor.mean, var, sum and max of
 * PyTorch.
 *
 * Sums are computed in float64, with one exception. A learner compares these numbers with what PyTorch
 * prints, and the mean of a normalized row consists of rounding errors only: PyTorch's 9.9341e-09 follows
 * from its order of additions. So the mean and the sum of a row that PyTorch does not vectorize (fewer than 8
 * elements) add in PyTorch's order: four partial sums, the remaining elements into the first, then the four
 * from first to last.
 */
#include "gpt_layers.h"
#include "simd.h"
#include "sums.h"

/* rows with fewer elements are summed in PyTorch's order */
enum { SHORT_ROW = 8 };

/* A row of fewer than SHORT_ROW elements in PyTorch's order. */
GPT_INLINE float short_sum(const float *x, size_t n)
{
    v128_t sum = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) sum = wasm_f32x4_add(sum, wasm_v128_load(x + i));
    float first = wasm_f32x4_extract_lane(sum, 0);
    for (; i < n; i++) first += x[i];
    return first + wasm_f32x4_extract_lane(sum, 1) + wasm_f32x4_extract_lane(sum, 2) +
           wasm_f32x4_extract_lane(sum, 3);
}

/* Σ(x - from), or Σ(x - from)² if `squared`, in float64. */
GPT_INLINE double sum_f64(const float *x, double from, size_t n, int squared)
{
    const v128_t f = wasm_f64x2_splat(from);
    v128_t low = wasm_f64x2_splat(0.0), high = low;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const v128_t v = wasm_v128_load(x + i);
        const v128_t d0 = wasm_f64x2_sub(wasm_f64x2_promote_low_f32x4(v), f);
        const v128_t d1 =
            wasm_f64x2_sub(wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(v, v, 2, 3, 0, 1)), f);
        low = wasm_f64x2_add(low, squared ? wasm_f64x2_mul(d0, d0) : d0);
        high = wasm_f64x2_add(high, squared ? wasm_f64x2_mul(d1, d1) : d1);
    }
    low = wasm_f64x2_add(low, high);
    double sum = wasm_f64x2_extract_lane(low, 0) + wasm_f64x2_extract_lane(low, 1);
    for (; i < n; i++) {
        const double d = x[i] - from;
        sum += squared ? d * d : d;
    }
    return sum;
}

int gpt_mean(float *mean, const float *x, size_t rows, size_t cols)
{
    const int status = gpt_check(mean && x, gpt_fits(rows, cols), 1);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        mean[r] = cols < SHORT_ROW ? short_sum(x_r, cols) / (float)cols
                                   : (float)(sum_f64(x_r, 0.0, cols, 0) / (double)cols);
    }
    return GPT_OK;
}

int gpt_var(float *var, const float *x, size_t rows, size_t cols, int unbiased)
{
    const int status = gpt_check(var && x, gpt_fits(rows, cols), unbiased == 0 || unbiased == 1);
    if (status) return status;
    const size_t divisor = unbiased && cols > 0 ? cols - 1 : cols; /* of the sum of squares */
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        const double mean = sum_f64(x_r, 0.0, cols, 0) / (double)cols;
        var[r] = (float)(sum_f64(x_r, mean, cols, 1) / (double)divisor);
    }
    return GPT_OK;
}

int gpt_sum(float *sum, const float *x, size_t rows, size_t cols)
{
    const int status = gpt_check(sum && x, gpt_fits(rows, cols), 1);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        sum[r] = cols < SHORT_ROW ? short_sum(x_r, cols) : (float)sum_f64(x_r, 0.0, cols, 0);
    }
    return GPT_OK;
}

int gpt_sum_columns(float *sum, const float *x, size_t count, size_t rows, size_t cols, size_t part,
                    size_t parts)
{
    const int status = gpt_check(sum && x, gpt_fits4(count, rows, cols, 1), part < parts);
    if (status) return status;
    if (cols == 0) return GPT_OK; /* sum is empty: skip the loop */
    for (size_t k = 0; k < count; k++)
        gpt_column_sums(sum + k * cols, x + k * rows * cols, rows, cols, part, parts);
    return GPT_OK;
}

/* The maximum of a row, NaN if it contains NaN. */
GPT_INLINE float row_max(const float *x, size_t n)
{
    v128_t max = wasm_f32x4_splat(x[0]);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) max = wasm_f32x4_max(max, wasm_v128_load(x + i));
    for (; i < n; i++) max = wasm_f32x4_max(max, wasm_f32x4_splat(x[i]));
    max = wasm_f32x4_max(max, wasm_i32x4_shuffle(max, max, 2, 3, 0, 1));
    max = wasm_f32x4_max(max, wasm_i32x4_shuffle(max, max, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(max, 0);
}

int gpt_max(float *max, int32_t *indices, const float *x, size_t rows, size_t cols)
{
    const int status = gpt_check(x != NULL, cols > 0 && cols <= INT32_MAX && gpt_fits(rows, cols), 1);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        const float largest = row_max(x_r, cols);
        size_t c = 0;
        /* the first element that is the maximum, or NaN */
        while (x_r[c] != largest && !isnan(x_r[c])) c++;
        if (max) max[r] = x_r[c];
        if (indices) indices[r] = (int32_t)c;
    }
    return GPT_OK;
}

int gpt_square_sum(double *sum, const float *x, size_t n)
{
    const int status = gpt_check(sum && x, gpt_fits(n, 1), 1);
    if (status) return status;
    *sum = sum_f64(x, 0.0, n, 1);
    return GPT_OK;
}
