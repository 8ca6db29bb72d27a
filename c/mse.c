/* Mean squared error of each row: loss = Σ(x - target)² / cols, and dx = scale · (x - target).
 *
 * Bound by memory.
 */
#include "map.h"

/* Elements of a row that are summed in float32, 16 per lane; the blocks' sums are added in float64. */
enum { COLS_PER_BLOCK = 64 };

int gpt_mse_forward(float *loss, const float *x, const float *target, size_t rows, size_t cols, size_t part,
                    size_t parts)
{
    const int status = gpt_check(loss && x && target, gpt_fits(rows, cols), part < parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x_r = x + r * cols, *t_r = target + r * cols;
        double squares = 0.0;
        size_t c = 0;
        while (c + 4 <= cols) {
            const size_t end_block = cols - c < COLS_PER_BLOCK ? cols : c + COLS_PER_BLOCK;
            v128_t sum = wasm_f32x4_splat(0.0f);
            for (; c + 4 <= end_block; c += 4) {
                const v128_t d = wasm_f32x4_sub(wasm_v128_load(x_r + c), wasm_v128_load(t_r + c));
                sum = gpt_multiply_add(d, d, sum);
            }
            squares += (double)gpt_sum_lanes(sum);
        }
        for (; c < cols; c++) squares += (double)(x_r[c] - t_r[c]) * (double)(x_r[c] - t_r[c]);
        loss[r] = (float)(squares / (double)cols);
    }
    return GPT_OK;
}

int gpt_mse_backward(float *dx, const float *x, const float *target, size_t n, float scale, size_t part,
                     size_t parts)
{
    const v128_t scale4 = wasm_f32x4_splat(scale);
    GPT_MAP_KERNEL(dx, n, part, parts, dx && x && target, 1,
                   wasm_f32x4_mul(wasm_f32x4_sub(GPT_AT(x), GPT_AT(target)), scale4));
}
