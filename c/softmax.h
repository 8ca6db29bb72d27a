/* What softmax and cross entropy share: a row's largest element, and its sum of exponentials. */
#ifndef GPT_SOFTMAX_H
#define GPT_SOFTMAX_H

#include <math.h>

#include "simd.h"

/* So many exponentials are added in float32 before they go into float64: 16 a lane, which costs 5e-7 at most. */
enum { GPT_SOFTMAX_BLOCK = 64 };

/* The last n < 4 elements of a row, the other lanes -∞, whose exponential is 0. */
GPT_INLINE v128_t gpt_load_tail_low(const float *p, size_t n)
{
    float lanes[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    memcpy(lanes, p, n * sizeof(float));
    return wasm_v128_load(lanes);
}

/* The largest of a row; NaN is passed over, since it shows in the sum. -∞ of none. */
static inline float gpt_row_max(const float *x, size_t cols)
{
    v128_t most = wasm_f32x4_splat(-INFINITY);
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) most = wasm_f32x4_pmax(most, wasm_v128_load(x + c));
    most = wasm_f32x4_pmax(most, gpt_load_tail_low(x + c, cols - c));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(most, 0);
}

/* Σ e^(x - max), and the exponentials into y where it is not NULL; y may be x. NaN where x has a NaN or +∞, or is all -∞. */
static inline double gpt_row_exp(float *y, const float *x, float max, size_t cols)
{
    const v128_t m = wasm_f32x4_splat(max);
    double sum = 0.0;
    size_t c = 0;
    while (c + 4 <= cols) {
        const size_t end = cols - c < GPT_SOFTMAX_BLOCK ? cols : c + GPT_SOFTMAX_BLOCK;
        v128_t block = wasm_f32x4_splat(0.0f);
        for (; c + 4 <= end; c += 4) {
            const v128_t e = gpt_exp(wasm_f32x4_sub(wasm_v128_load(x + c), m));
            if (y) wasm_v128_store(y + c, e);
            block = wasm_f32x4_add(block, e);
        }
        sum += (double)gpt_sum_lanes(block);
    }
    if (c < cols) {
        /* of all -∞ the other lanes are NaN as well as those that count */
        const v128_t e = gpt_exp(wasm_f32x4_sub(gpt_load_tail_low(x + c, cols - c), m));
        if (y) gpt_store_tail(y + c, e, cols - c);
        sum += (double)gpt_sum_lanes(e);
    }
    return sum;
}

#endif
