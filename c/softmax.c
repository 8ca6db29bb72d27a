/* Softmax over the last axis: y = e^(x - max) / Σ e^(x - max). Subtracting the maximum of the row keeps every
 * exponential finite for every finite x.
 *
 * Backward: dx = y · (dy - Σ dy·y).
 *
 * Bound by the exponential, one per element.
 */
#include "softmax.h"
#include "gpt_layers.h"
#include "reference.h"

static int check(const float *y, const float *x, size_t rows, size_t cols)
{
    if (!y || !x) return GPT_ERR_NULL;
    if (!gpt_fits(rows, cols)) return GPT_ERR_SIZE;
    return GPT_OK;
}

static int check_backward(const float *dx, const float *dy, const float *y, size_t rows, size_t cols)
{
    return dy ? check(dx, y, rows, cols) : GPT_ERR_NULL;
}

int gpt_softmax_forward_ref(float *y, const float *x, size_t rows, size_t cols)
{
    const int status = check(y, x, rows, cols);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        /* the maximum, the sum of the exponentials, their shares */
        double max = -INFINITY, sum = 0.0;
        for (size_t c = 0; c < cols; c++) max = x_r[c] > max ? (double)x_r[c] : max;
        for (size_t c = 0; c < cols; c++) sum += exp(x_r[c] - max);
        for (size_t c = 0; c < cols; c++) y[r * cols + c] = (float)(exp(x_r[c] - max) / sum);
    }
    return GPT_OK;
}

int gpt_softmax_forward(float *y, const float *x, size_t rows, size_t cols, size_t part, size_t parts)
{
    const int status = check(y, x, rows, cols);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (cols == 0) return GPT_OK; /* however many rows */
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        const float factor = (float)(1.0 / gpt_row_exp(y_r, x_r, gpt_row_max(x_r, cols), cols));
        const v128_t factor4 = wasm_f32x4_splat(factor);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4)
            wasm_v128_store(y_r + c, wasm_f32x4_mul(wasm_v128_load(y_r + c), factor4));
        for (; c < cols; c++) y_r[c] *= factor;
    }
    return GPT_OK;
}

int gpt_softmax_backward_ref(float *dx, const float *dy, const float *y, size_t rows, size_t cols)
{
    const int status = check_backward(dx, dy, y, rows, cols);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *dy_r = dy + r * cols, *y_r = y + r * cols;
        double dot = 0.0;
        for (size_t c = 0; c < cols; c++) dot += (double)dy_r[c] * y_r[c];
        for (size_t c = 0; c < cols; c++) dx[r * cols + c] = (float)(y_r[c] * (dy_r[c] - dot));
    }
    return GPT_OK;
}

static double dot_product(const float *a, const float *b, size_t n)
{
    double dot = 0.0;
    size_t i = 0;
    while (i + 4 <= n) {
        const size_t end = n - i < GPT_SOFTMAX_COLS_PER_BLOCK ? n : i + GPT_SOFTMAX_COLS_PER_BLOCK;
        v128_t block = wasm_f32x4_splat(0.0f);
        for (; i + 4 <= end; i += 4)
            block = gpt_multiply_add(wasm_v128_load(a + i), wasm_v128_load(b + i), block);
        dot += (double)gpt_sum_lanes(block);
    }
    for (; i < n; i++) dot += (double)(a[i] * b[i]);
    return dot;
}

int gpt_softmax_backward(float *dx, const float *dy, const float *y, size_t rows, size_t cols, size_t part,
                         size_t parts)
{
    const int status = check_backward(dx, dy, y, rows, cols);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (cols == 0) return GPT_OK; /* however many rows */
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *dy_r = dy + r * cols, *y_r = y + r * cols;
        float *dx_r = dx + r * cols;
        const float dot = (float)dot_product(dy_r, y_r, cols);
        const v128_t dot4 = wasm_f32x4_splat(dot);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4)
            wasm_v128_store(dx_r + c, wasm_f32x4_mul(wasm_v128_load(y_r + c),
                                                     wasm_f32x4_sub(wasm_v128_load(dy_r + c), dot4)));
        for (; c < cols; c++) dx_r[c] = y_r[c] * (dy_r[c] - dot);
    }
    return GPT_OK;
}
