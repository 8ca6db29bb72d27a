/* Linear: y = x · weightᵀ + bias, weight [out, in] as in PyTorch.
 *
 * Rows of x and of the weight are both contiguous along `in`, so each output is a dot product of two rows. A tile
 * of 2 rows by 4 outputs shares every load: 6 loads for 8 multiply-adds.
 */
#include <math.h>

#include "gpt_layers.h"
#include "simd.h"

static int check(const float *y, const float *x, const float *weight, size_t rows, size_t in, size_t out)
{
    if (!y || !x || !weight) return GPT_ERR_NULL;
    if (!gpt_fits(rows, in) || !gpt_fits(rows, out) || !gpt_fits(in, out)) return GPT_ERR_SIZE;
    return GPT_OK;
}

int gpt_linear_forward_ref(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                           size_t out)
{
    const int status = check(y, x, weight, rows, in, out);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            double sum = 0.0;
            for (size_t i = 0; i < in; i++) sum += (double)x[r * in + i] * (double)weight[o * in + i];
            y[r * out + o] = (float)(bias ? sum + bias[o] : sum);
        }
    }
    return GPT_OK;
}

/* `tile_rows` rows of y by `tile_outs` outputs, both constants where it is called, so that the loops over the tile
 * unroll and `acc` lives in registers. */
static inline __attribute__((always_inline)) void tile(float *y, const float *x, const float *weight,
                                                       const float *bias, size_t in, size_t out, size_t tile_rows,
                                                       size_t tile_outs)
{
    v128_t acc[2][4];
    for (size_t r = 0; r < tile_rows; r++)
        for (size_t o = 0; o < tile_outs; o++) acc[r][o] = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 4 <= in; i += 4) {
        for (size_t r = 0; r < tile_rows; r++) {
            const v128_t x_r = wasm_v128_load(x + r * in + i);
            for (size_t o = 0; o < tile_outs; o++)
                acc[r][o] = gpt_multiply_add(x_r, wasm_v128_load(weight + o * in + i), acc[r][o]);
        }
    }
    if (i < in) {
        for (size_t r = 0; r < tile_rows; r++) {
            const v128_t x_r = gpt_load_tail(x + r * in + i, in - i);
            for (size_t o = 0; o < tile_outs; o++)
                acc[r][o] = gpt_multiply_add(x_r, gpt_load_tail(weight + o * in + i, in - i), acc[r][o]);
        }
    }
    for (size_t r = 0; r < tile_rows; r++)
        for (size_t o = 0; o < tile_outs; o++) y[r * out + o] = gpt_sum_lanes(acc[r][o]) + (bias ? bias[o] : 0.0f);
}

int gpt_linear_forward_part(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                            size_t in, size_t out, size_t part, size_t parts)
{
    const int status = check(y, x, weight, rows, in, out);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (out == 0) return GPT_OK; /* empty, however many rows */
    /* Cut by rows where each part gets some blocks of them, by outputs where there are few. */
    const size_t block = 16;
    const int by_rows = rows >= parts * block;
    size_t first_row = 0, first_out = 0;
    const size_t end_row = by_rows ? gpt_share(rows, block, part, parts, &first_row) : rows;
    const size_t end_out = by_rows ? out : gpt_share(out, 4, part, parts, &first_out);
    /* 16 rows of x stay in the second-level cache while the weights stream past them once. */
    for (size_t first = first_row; first < end_row; first += block) {
        const size_t end = end_row - first < block ? end_row : first + block;
        size_t o = first_out;
        for (; o + 4 <= end_out; o += 4) {
            const float *w = weight + o * in, *b = bias ? bias + o : NULL;
            size_t r = first;
            for (; r + 2 <= end; r += 2) tile(y + r * out + o, x + r * in, w, b, in, out, 2, 4);
            if (r < end) tile(y + r * out + o, x + r * in, w, b, in, out, 1, 4);
        }
        for (; o < end_out; o++)
            for (size_t r = first; r < end; r++)
                tile(y + r * out + o, x + r * in, weight + o * in, bias ? bias + o : NULL, in, out, 1, 1);
    }
    return GPT_OK;
}

int gpt_linear_forward(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                       size_t out)
{
    return gpt_linear_forward_part(y, x, weight, bias, rows, in, out, 0, 1);
}

int gpt_linear_init(float *weight, float *bias, gpt_random *random, size_t in, size_t out)
{
    if (!weight || !random) return GPT_ERR_NULL;
    if (in == 0 || !gpt_fits(in, out)) return GPT_ERR_SIZE;
    /* In PyTorch's own steps, since the bounds must round as its do: gain = √(2 / (1 + a²)) with a = √5. */
    const double a = sqrt(5.0), std = sqrt(2.0 / (1.0 + a * a)) / sqrt((double)in);
    const float weight_bound = (float)(sqrt(3.0) * std), bias_bound = (float)(1.0 / sqrt((double)in));
    gpt_random_uniform(weight, random, in * out, -weight_bound, weight_bound);
    if (bias) gpt_random_uniform(bias, random, out, -bias_bound, bias_bound);
    return GPT_OK;
}
