/* Weights as int8: quantize them, change their layout, give them back as float32. int8.h has the layout.
 *
 *   scale[o,k] = max |weight[o,i]| / 127             over the inputs i of group k
 *   value[o,i] = weight[o,i] / scale[o, i / group]   rounded to the nearest integer, to even in a tie
 *
 * Bound by memory.
 */
#include "int8.h"

#include <math.h>

enum { LARGEST_VALUE = 127 };

size_t gpt_int8_size(size_t out, size_t in, size_t group)
{
    if (!gpt_int8_fits(out, in) || !gpt_int8_group_valid(group)) return GPT_TOO_MANY;
    return gpt_round_up(out, GPT_INT8_OUTS) / GPT_INT8_OUTS * gpt_int8_block_size(in, group);
}

static int check(const void *a, const void *b, size_t out, size_t in, size_t group)
{
    if (!a || !b) return GPT_ERR_NULL;
    if (!gpt_int8_group_valid(group)) return GPT_ERR_VALUE;
    return gpt_int8_fits(out, in) ? GPT_OK : GPT_ERR_SIZE;
}

/* ---- Quantize ---- */

/* Inputs first_in <= i < end_in of a weight [out, in]. The element of output o and input i is at
 * o · out_step + (i - first_in) · in_step. */
typedef struct slab {
    size_t out, first_in, end_in, out_step, in_step;
} slab;

static int check_slab(slab s, size_t in, size_t group)
{
    if (s.first_in > in || s.end_in < s.first_in || s.end_in > in) return GPT_ERR_SIZE;
    const size_t ins = s.end_in - s.first_in;
    if (!gpt_fits(s.out, s.out_step) || !gpt_fits(ins, s.in_step)) return GPT_ERR_SIZE;
    if (!gpt_fits(gpt_floats_sum(s.out ? (s.out - 1) * s.out_step : 0, ins ? (ins - 1) * s.in_step + 1 : 1),
                  1))
        return GPT_ERR_SIZE;
    const int are_whole_groups = s.first_in % group == 0 && (ins % group == 0 || s.end_in == in);
    return are_whole_groups ? GPT_OK : GPT_ERR_VALUE;
}

/* The weights of input i and of 4 outputs from o on; 0 where there are none. */
GPT_INLINE v128_t load_four(const float *weight, slab s, size_t o, size_t i)
{
    if (o >= s.out || i >= s.end_in) return wasm_f32x4_splat(0.0f);
    const float *w = weight + o * s.out_step + (i - s.first_in) * s.in_step;
    const size_t outs = s.out - o, step = s.out_step;
    if (outs >= 4 && step == 1) return wasm_v128_load(w);
    return wasm_f32x4_make(w[0], outs > 1 ? w[step] : 0.0f, outs > 2 ? w[2 * step] : 0.0f,
                           outs > 3 ? w[3 * step] : 0.0f);
}

static int is_finite(const float *weight, slab s)
{
    const v128_t infinity = wasm_f32x4_splat(INFINITY);
    for (size_t o = 0; o < s.out; o += 4) {
        v128_t most = wasm_i32x4_splat(0);
        for (size_t i = s.first_in; i < s.end_in; i++)
            most = gpt_int8_larger(most, load_four(weight, s, o, i));
        if (!wasm_i32x4_all_true(wasm_f32x4_lt(most, infinity))) return 0;
    }
    return 1;
}

/* The values as integers. Where the scale is 0, they are 0; where it is denormal, the quotient may be above
 * 127. */
GPT_INLINE v128_t to_values(v128_t weight, v128_t scale)
{
    const v128_t most = wasm_f32x4_splat(LARGEST_VALUE),
                 is_positive = wasm_f32x4_gt(scale, wasm_f32x4_splat(0));
    const v128_t nearest = wasm_f32x4_nearest(wasm_f32x4_div(weight, scale));
    const v128_t bounded = wasm_f32x4_pmax(wasm_f32x4_pmin(nearest, most), wasm_f32x4_neg(most));
    return wasm_i32x4_trunc_sat_f32x4(wasm_v128_and(bounded, is_positive));
}

/* The inputs first <= i < end, one group, of 8 outputs from o on. */
static void quantize_group(float *scales, int8_t *vector, const float *weight, slab s, size_t o, size_t first,
                           size_t end)
{
    v128_t scale[2] = {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}; /* max |weight|, then / 127 */
    for (size_t i = first; i < end; i++)
        for (size_t k = 0; k < 2; k++)
            scale[k] = gpt_int8_larger(scale[k], load_four(weight, s, o + 4 * k, i));
    for (size_t k = 0; k < 2; k++) {
        scale[k] = wasm_f32x4_div(scale[k], wasm_f32x4_splat(LARGEST_VALUE));
        wasm_v128_store(scales + 4 * k, scale[k]);
    }
    for (size_t i = first; i < end; i += 2, vector += GPT_INT8_PAIR) {
        v128_t both[2]; /* 256 · high + low, of inputs i and i + 1 */
        for (size_t k = 0; k < 2; k++) {
            const v128_t low = to_values(load_four(weight, s, o, i + k), scale[0]),
                         high = to_values(load_four(weight, s, o + 4, i + k), scale[1]);
            both[k] = wasm_i32x4_add(wasm_i32x4_shl(high, 8), wasm_i32x4_add(low, wasm_i32x4_splat(128)));
        }
        wasm_v128_store(vector, wasm_v128_or(wasm_v128_and(both[0], wasm_i32x4_splat(0xffff)),
                                             wasm_i32x4_shl(both[1], 16)));
    }
}

int gpt_int8_quantize(int8_t *quantized, const float *weight, size_t out, size_t in, size_t group,
                      size_t first_in, size_t ins, size_t out_step, size_t in_step)
{
    int status = check(quantized, weight, out, in, group);
    if (status) return status;
    const slab s = {out, first_in, first_in + ins, out_step, in_step};
    status = check_slab(s, in, group);
    if (status) return status;
    if (ins == 0) return GPT_OK; /* nothing to write; outputs may be up to 2^29 */
    if (!is_finite(weight, s)) return GPT_ERR_VALUE;
    for (size_t o = 0; o < gpt_round_up(out, GPT_INT8_OUTS); o += GPT_INT8_LANES)
        for (size_t first = first_in, end; first < s.end_in; first = end) {
            end = first + gpt_min(group, s.end_in - first);
            int8_t *scales = quantized + gpt_int8_group_at(o, first, in, group);
            quantize_group((float *)(void *)scales + o % GPT_INT8_OUTS,
                           quantized + gpt_int8_at(o, first, in, group), weight, s, o, first, end);
        }
    return GPT_OK;
}

/* ---- From and to rows of outputs ---- */

static void pack_pair(int8_t *pair, const int8_t *plain, size_t outs, size_t ins, size_t in)
{
    for (size_t o = 0; o < GPT_INT8_OUTS; o++)
        for (size_t i = 0; i < 2; i++)
            pair[gpt_int8_byte_at(o, i)] = gpt_int8_coded(o < outs && i < ins ? plain[o * in + i] : 0, o);
}

int gpt_int8_pack(int8_t *quantized, const int8_t *plain, size_t out, size_t in, size_t group)
{
    const int status = check(quantized, plain, out, in, group);
    if (status || in == 0) return status; /* no inputs: nothing to read; out may be up to 2^29 */
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i += 2) {
            if (i % group == 0) quantized += GPT_INT8_SCALES;
            pack_pair(quantized, plain + o * in + i, out - o, in - i, in);
            quantized += GPT_INT8_PAIR;
        }
    return GPT_OK;
}

int gpt_int8_unpack(int8_t *plain, const int8_t *quantized, size_t out, size_t in, size_t group)
{
    const int status = check(plain, quantized, out, in, group);
    if (status || in == 0) return status;
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i++) {
            const int8_t *bytes = quantized + gpt_int8_at(o, i, in, group);
            for (size_t k = 0; k < gpt_min(out - o, GPT_INT8_OUTS); k++)
                plain[(o + k) * in + i] = gpt_int8_coded(bytes[gpt_int8_byte_at(k, 0)], k);
        }
    return GPT_OK;
}

int gpt_int8_dequantize(float *weight, const int8_t *quantized, size_t out, size_t in, size_t group)
{
    const int status = check(weight, quantized, out, in, group);
    if (status || in == 0) return status;
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i++) {
            const int8_t *bytes = quantized + gpt_int8_at(o, i, in, group);
            for (size_t k = 0; k < gpt_min(out - o, GPT_INT8_OUTS); k++)
                weight[(o + k) * in + i] = gpt_int8_scale(quantized, o + k, i, in, group) *
                                           gpt_int8_coded(bytes[gpt_int8_byte_at(k, 0)], k);
        }
    return GPT_OK;
}

/* ---- Embedding: rows of the weight ---- */

static int check_embedding(const float *y, const int32_t *indices, const int8_t *quantized, size_t rows,
                           size_t count, size_t dim, size_t group)
{
    const int status = y && indices ? check(y, quantized, count, dim, group) : GPT_ERR_NULL;
    if (status) return status;
    if (!gpt_fits(rows, dim)) return GPT_ERR_SIZE;
    return gpt_are_indices(indices, rows, count) ? GPT_OK : GPT_ERR_VALUE;
}

int gpt_int8_embedding_forward(float *y, const int32_t *indices, const int8_t *quantized, size_t rows,
                               size_t count, size_t dim, size_t group, size_t part, size_t parts)
{
    const int status = check_embedding(y, indices, quantized, rows, count, dim, group);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r);
    for (; r < end_row; r++)
        for (size_t c = 0; c < dim; c++) {
            const size_t o = (size_t)indices[r];
            y[r * dim + c] =
                gpt_int8_scale(quantized, o, c, dim, group) * gpt_int8_value(quantized, o, c, dim, group);
        }
    return GPT_OK;
}
