/* Softmax over the last axis: y = e^(x - max) / Σ e^(x - max). Subtracting the maximum of the row keeps every
 * exponential finite for every finite x.
 *
 * Backward: dx = y · (dy - Σ dy·y). Where y is near 1, the difference loses digits, and dx is minus the sum
 * of the others instead: Σ dx = 0, since Σ y = 1.
 *
 * Bound by the exponential, one per element.
 */
#include "softmax.h"
#include "gpt_layers.h"
#include "reference.h"

void gpt_softmax_forward_ref(float *y, const float *x, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        /* max_c x */
        double max = -INFINITY, sum = 0.0;
        for (size_t c = 0; c < cols; c++) max = x_r[c] > max ? (double)x_r[c] : max;
        /* sum = Σ e^(x - max) */
        for (size_t c = 0; c < cols; c++) sum += exp(x_r[c] - max);
        /* y = e^(x - max) / sum */
        for (size_t c = 0; c < cols; c++) y[r * cols + c] = (float)(exp(x_r[c] - max) / sum);
    }
}

int gpt_softmax_forward(float *y, const float *x, size_t rows, size_t cols, size_t part, size_t parts)
{
    const int status = gpt_check(y && x, gpt_fits(rows, cols), part < parts);
    if (status) return status;
    if (cols == 0) return GPT_OK; /* empty rows, up to 2^29 of them */
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols;
        const float factor = (float)(1.0 / gpt_row_exp(y_r, x_r, gpt_row_max(x_r, cols), cols));
        gpt_scale_row(y_r, y_r, factor, cols);
    }
    return GPT_OK;
}

void gpt_softmax_backward_ref(float *dx, const float *dy, const float *y, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        const float *dy_r = dy + r * cols, *y_r = y + r * cols;
        /* dx = y · (dy - Σ dy·y / Σ y): the rounded y do not sum to exactly 1 */
        double dot = 0.0, total = 0.0;
        for (size_t c = 0; c < cols; c++) dot += (double)dy_r[c] * y_r[c];
        for (size_t c = 0; c < cols; c++) total += (double)y_r[c];
        for (size_t c = 0; c < cols; c++) dx[r * cols + c] = (float)(y_r[c] * (dy_r[c] - dot / total));
    }
}

/* dx = y · (dy - dot). Returns whether one y is above 0.5. */
static int backward_row(float *dx, const float *dy, const float *y, float dot, size_t n)
{
    const v128_t dot4 = wasm_f32x4_splat(dot), half = wasm_f32x4_splat(0.5f);
    v128_t max = half;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const v128_t y4 = wasm_v128_load(y + i);
        max = wasm_f32x4_pmax(max, y4);
        wasm_v128_store(dx + i, wasm_f32x4_mul(y4, wasm_f32x4_sub(wasm_v128_load(dy + i), dot4)));
    }
    int is_saturated = wasm_v128_any_true(wasm_f32x4_gt(max, half));
    for (; i < n; i++) {
        is_saturated |= y[i] > 0.5f;
        dx[i] = y[i] * (dy[i] - dot);
    }
    return is_saturated;
}

/* The index of the first y above 0.5. At least one y is. */
static size_t saturated_place(const float *y, size_t n)
{
    const v128_t half = wasm_f32x4_splat(0.5f);
    size_t i = 0;
    while (i + 4 <= n && !wasm_v128_any_true(wasm_f32x4_gt(wasm_v128_load(y + i), half))) i += 4;
    while (y[i] <= 0.5f) i++;
    return i;
}

int gpt_softmax_backward(float *dx, const float *dy, const float *y, size_t rows, size_t cols, size_t part,
                         size_t parts)
{
    const int status = gpt_check(dx && dy && y, gpt_fits(rows, cols), part < parts);
    if (status) return status;
    if (cols == 0) return GPT_OK; /* empty rows, up to 2^29 of them */
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *y_r = y + r * cols;
        const float dot = (float)gpt_sum_products(dy + r * cols, y_r, NULL, cols, GPT_SOFTMAX_COLS_PER_BLOCK);
        const int is_saturated = backward_row(dx + r * cols, dy + r * cols, y_r, dot, cols);
        if (is_saturated && fabsf(dot) < INFINITY)
            gpt_balance(dx + r * cols, saturated_place(y_r, cols), cols);
    }
    return GPT_OK;
}
