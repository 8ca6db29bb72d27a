/* What softmax and cross entropy share: the maximum of a row, the sum of its exponentials, and a gradient
 * that sums to 0. */
#ifndef GPT_SOFTMAX_H
#define GPT_SOFTMAX_H

#include "sums.h"

/* Elements of a row that are summed in float32, 16 per lane; the blocks' sums are added in float64. The
 * relative error of a block is at most 5e-7. */
enum { GPT_SOFTMAX_COLS_PER_BLOCK = 64 };

/* Loads n < 4 elements. The other lanes are -∞, with the exponential 0. */
GPT_INLINE v128_t gpt_load_tail_infinity(const float *p, size_t n)
{
    float lanes[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    memcpy(lanes, p, n * sizeof(float));
    return wasm_v128_load(lanes);
}

/* The maximum of a row, -∞ for an empty one. NaN is ignored here: it appears in the sum. */
static inline float gpt_row_max(const float *x, size_t cols)
{
    v128_t max = wasm_f32x4_splat(-INFINITY);
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) max = wasm_f32x4_pmax(max, wasm_v128_load(x + c));
    return gpt_max_lanes(wasm_f32x4_pmax(max, gpt_load_tail_infinity(x + c, cols - c)));
}

/* Returns Σ e^(x - max), and stores the exponentials in y unless y is NULL; y may be x. The sum is NaN if
 * x contains NaN or +∞, or consists of -∞. */
static inline double gpt_row_exp(float *y, const float *x, float max, size_t cols)
{
    const v128_t m = wasm_f32x4_splat(max);
    double sum = 0.0;
    size_t c = 0;
    while (c + 4 <= cols) {
        const size_t end = cols - c < GPT_SOFTMAX_COLS_PER_BLOCK ? cols : c + GPT_SOFTMAX_COLS_PER_BLOCK;
        v128_t block = wasm_f32x4_splat(0.0f);
        for (; c + 4 <= end; c += 4) {
            const v128_t e = gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(x + c), m));
            if (y) wasm_v128_store(y + c, e);
            block = wasm_f32x4_add(block, e);
        }
        sum += (double)gpt_sum_lanes(block);
    }
    if (c < cols) {
        /* if max is -∞, all four lanes are NaN, and so is the row by contract */
        const v128_t e = gpt_exp_f32x4(wasm_f32x4_sub(gpt_load_tail_infinity(x + c, cols - c), m));
        if (y) gpt_store_tail(y + c, e, cols - c);
        sum += (double)gpt_sum_lanes(e);
    }
    return sum;
}

/* dx[t] = -Σ of the others, for a row of a gradient that sums to 0. */
static inline void gpt_balance(float *dx, size_t t, size_t cols)
{
    dx[t] = 0.0f;
    dx[t] = (float)(0.0 - gpt_sum_products(dx, NULL, NULL, cols, GPT_SOFTMAX_COLS_PER_BLOCK));
}

#endif
