/* Softmax over the last axis: y = e^(x - max) / Σ e^(x - max). Subtracting the maximum of the row keeps every
 * exponential finite for every finite x.
 *
 * Backward: dx = y · (dy - Σ dy·y). Where one y is near 1, the difference loses digits. All dy are then taken
 * relative to that element's, which changes nothing exactly, since Σ y = 1.
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
        /* the mean of dy, weighted by y. Σ y differs from 1 by the rounding of y */
        double dot = 0.0, total = 0.0;
        for (size_t c = 0; c < cols; c++) dot += (double)dy_r[c] * y_r[c];
        for (size_t c = 0; c < cols; c++) total += (double)y_r[c];
        for (size_t c = 0; c < cols; c++) dx[r * cols + c] = (float)(y_r[c] * (dy_r[c] - dot / total));
    }
    return GPT_OK;
}

/* Σ (dy - from) · y, and the largest y. */
static double dot_product(const float *dy, const float *y, float from, size_t n, float *largest)
{
    const v128_t from4 = wasm_f32x4_splat(from);
    v128_t max = wasm_f32x4_splat(0.0f);
    double dot = 0.0;
    for (size_t i = 0; i < n;) {
        const size_t end = i + gpt_min(GPT_SOFTMAX_COLS_PER_BLOCK, n - i);
        v128_t block = wasm_f32x4_splat(0.0f);
        for (; i + 4 <= end; i += 4) {
            const v128_t y4 = wasm_v128_load(y + i);
            block = gpt_multiply_add(wasm_f32x4_sub(wasm_v128_load(dy + i), from4), y4, block);
            max = wasm_f32x4_pmax(max, y4);
        }
        dot += (double)gpt_sum_lanes(block);
        for (; i < end; i++) {
            dot += (double)((dy[i] - from) * y[i]);
            max = wasm_f32x4_pmax(max, wasm_f32x4_splat(y[i]));
        }
    }
    max = wasm_f32x4_pmax(max, wasm_i32x4_shuffle(max, max, 2, 3, 0, 1));
    max = wasm_f32x4_pmax(max, wasm_i32x4_shuffle(max, max, 1, 0, 3, 2));
    *largest = wasm_f32x4_extract_lane(max, 0);
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
        float largest, from = 0.0f;
        double dot = dot_product(dy_r, y_r, from, cols, &largest);
        if (largest > 0.5f) {
            size_t t = 0;
            while (y_r[t] != largest) t++;
            if (fabsf(dy_r[t]) < INFINITY) from = dy_r[t];
            dot = dot_product(dy_r, y_r, from, cols, &largest);
        }
        const v128_t dot4 = wasm_f32x4_splat((float)dot), from4 = wasm_f32x4_splat(from);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            const v128_t d = wasm_f32x4_sub(wasm_f32x4_sub(wasm_v128_load(dy_r + c), from4), dot4);
            wasm_v128_store(dx_r + c, wasm_f32x4_mul(wasm_v128_load(y_r + c), d));
        }
        for (; c < cols; c++) dx_r[c] = y_r[c] * (dy_r[c] - from - (float)dot);
    }
    return GPT_OK;
}
