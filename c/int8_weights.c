/* Weights as int8: quantize them, change their layout, give them back as float32. int8.h has the layout.
 *
 *   scale[o,k] = max |weight[o,i]| / 127             over the inputs i of group k
 *   value[o,i] = weight[o,i] / scale[o, i / group]   rounded to the nearest integer, to even in a tie
 *
 * Bound by memory.
 */
#include "int8.h"

#include <math.h>

#include "reference.h"

enum { LARGEST_VALUE = 127 };

size_t gpt_int8_values_size(size_t out, size_t in)
{
    if (!gpt_int8_fits(out, in)) return GPT_TOO_MANY;
    return gpt_round_up(out, GPT_INT8_OUTS) * gpt_round_up(in, 2);
}

size_t gpt_int8_scales_size(size_t out, size_t in, size_t group)
{
    if (!gpt_int8_fits(out, in) || !gpt_int8_group_valid(group)) return GPT_TOO_MANY;
    return gpt_round_up(out, GPT_INT8_OUTS) * gpt_int8_groups(in, group);
}

/* ---- Quantize ---- */

static int check_weight(const int8_t *values, const float *scales, const float *weight, size_t group)
{
    if (!values || !scales || !weight) return GPT_ERR_NULL;
    return gpt_int8_group_valid(group) ? GPT_OK : GPT_ERR_VALUE;
}

/* Inputs first_in <= i < end_in of a weight [out, in]. The element of output o and input i is at
 * o · out_step + (i - first_in) · in_step. */
typedef struct slab {
    size_t out, first_in, end_in, out_step, in_step;
} slab;

static int check_slab(slab s, size_t in, size_t group)
{
    if (!gpt_int8_fits(s.out, in) || s.first_in > in || s.end_in < s.first_in || s.end_in > in)
        return GPT_ERR_SIZE;
    const size_t ins = s.end_in - s.first_in;
    if (!gpt_fits(s.out, s.out_step) || !gpt_fits(ins, s.in_step)) return GPT_ERR_SIZE;
    if (!gpt_fits(gpt_floats_sum(s.out ? (s.out - 1) * s.out_step : 0, ins ? (ins - 1) * s.in_step + 1 : 1),
                  1))
        return GPT_ERR_SIZE;
    const int are_whole_groups = s.first_in % group == 0 && (ins % group == 0 || s.end_in == in);
    return are_whole_groups ? GPT_OK : GPT_ERR_VALUE;
}

/* The weights of input i and of 8 outputs from o on; 0 for outputs past the last one. */
typedef struct eight {
    v128_t low, high; /* of outputs 0 ... 3, and of 4 ... 7 */
} eight;

GPT_INLINE eight load_eight(const float *weight, slab s, size_t o, size_t i)
{
    const float *w = weight + o * s.out_step + (i - s.first_in) * s.in_step;
    const size_t step = s.out_step;
    if (s.out - o >= GPT_INT8_OUTS)
        return step == 1 ? (eight){wasm_v128_load(w), wasm_v128_load(w + 4)}
                         : (eight){wasm_f32x4_make(w[0], w[step], w[2 * step], w[3 * step]),
                                   wasm_f32x4_make(w[4 * step], w[5 * step], w[6 * step], w[7 * step])};
    float padded[GPT_INT8_OUTS] = {0.0f};
    for (size_t k = 0; k < s.out - o; k++) padded[k] = w[k * step];
    return (eight){wasm_v128_load(padded), wasm_v128_load(padded + 4)};
}

/* max |weight| over the inputs first <= i < end, for 8 outputs from o on. The bits of floats >= 0 have the
 * order of integers, with infinity and NaN at the end. */
static eight largest(const float *weight, slab s, size_t o, size_t first, size_t end)
{
    eight most = {wasm_i32x4_splat(0), wasm_i32x4_splat(0)};
    for (size_t i = first; i < end; i++) {
        const eight w = load_eight(weight, s, o, i);
        most.low = wasm_i32x4_max(most.low, wasm_f32x4_abs(w.low));
        most.high = wasm_i32x4_max(most.high, wasm_f32x4_abs(w.high));
    }
    return most;
}

static int is_finite(const float *weight, slab s)
{
    const v128_t infinity = wasm_f32x4_splat(INFINITY);
    for (size_t o = 0; o < s.out; o += GPT_INT8_OUTS) {
        const eight most = largest(weight, s, o, s.first_in, s.end_in);
        if (!wasm_i32x4_all_true(wasm_f32x4_lt(wasm_i32x4_max(most.low, most.high), infinity))) return 0;
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

/* The int16 of 4 pairs of outputs, in the low half of each lane: 256 · high + low + 128. */
GPT_INLINE v128_t to_int16(eight weight, eight scale)
{
    const v128_t low = to_values(weight.low, scale.low), high = to_values(weight.high, scale.high);
    return wasm_i32x4_add(wasm_i32x4_shl(high, 8), wasm_i32x4_add(low, wasm_i32x4_splat(128)));
}

/* One group of 8 outputs. */
static void quantize_group(int8_t *values, float *scales, const float *weight, slab s, size_t o, size_t first,
                           size_t end)
{
    const v128_t divisor = wasm_f32x4_splat(LARGEST_VALUE), zero = wasm_f32x4_splat(0.0f);
    const eight most = largest(weight, s, o, first, end);
    const eight scale = {wasm_f32x4_div(most.low, divisor), wasm_f32x4_div(most.high, divisor)};
    wasm_v128_store(scales, scale.low);
    wasm_v128_store(scales + 4, scale.high);
    for (size_t i = first; i < end; i += 2, values += GPT_INT8_BLOCK) {
        const eight w = load_eight(weight, s, o, i);
        const eight next = i + 1 < end ? load_eight(weight, s, o, i + 1) : (eight){zero, zero};
        const v128_t first_input = wasm_v128_and(to_int16(w, scale), wasm_i32x4_splat(0xffff));
        wasm_v128_store(values, wasm_v128_or(first_input, wasm_i32x4_shl(to_int16(next, scale), 16)));
    }
}

int gpt_int8_quantize(int8_t *values, float *scales, const float *weight, size_t out, size_t in, size_t group,
                      size_t first_in, size_t ins, size_t out_step, size_t in_step)
{
    int status = check_weight(values, scales, weight, group);
    if (status) return status;
    const slab s = {out, first_in, first_in + ins, out_step, in_step};
    status = check_slab(s, in, group);
    if (status) return status;
    if (ins == 0) return GPT_OK; /* however many outputs */
    if (!is_finite(weight, s)) return GPT_ERR_VALUE;
    const size_t groups = gpt_int8_groups(in, group);
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t first = s.first_in, end; first < s.end_in; first = end) {
            end = first + gpt_min(group, s.end_in - first);
            quantize_group(values + gpt_int8_value_at(o, first, in),
                           scales + gpt_int8_scale_at(o, first / group, groups), weight, s, o, first, end);
        }
    return GPT_OK;
}

/* ---- From and to rows of outputs ---- */

/* Where output o and input i of a block are in its 16 bytes. */
GPT_INLINE size_t place(size_t o, size_t i) { return gpt_int8_value_at(o, i, 2); }

/* A block, of which `outs` outputs and `ins` inputs exist. Inlined, so that 8 and 2 are constants. */
GPT_INLINE void pack_block(int8_t *block, const int8_t *plain, size_t outs, size_t ins, size_t in)
{
    for (size_t o = 0; o < GPT_INT8_OUTS; o++)
        for (size_t i = 0; i < 2; i++)
            block[place(o, i)] = gpt_int8_coded(o < outs && i < ins ? plain[o * in + i] : 0, o);
}

GPT_INLINE void unpack_block(int8_t *plain, const int8_t *block, size_t outs, size_t ins, size_t in)
{
    for (size_t o = 0; o < outs; o++)
        for (size_t i = 0; i < ins; i++) plain[o * in + i] = gpt_int8_coded(block[place(o, i)], o);
}

GPT_INLINE void dequantize_block(float *weight, const int8_t *block, const float *scales, size_t outs,
                                 size_t ins, size_t in)
{
    for (size_t o = 0; o < outs; o++)
        for (size_t i = 0; i < ins; i++)
            weight[o * in + i] = scales[o] * gpt_int8_coded(block[place(o, i)], o);
}

int gpt_int8_pack(int8_t *values, const int8_t *plain, size_t out, size_t in)
{
    if (!values || !plain) return GPT_ERR_NULL;
    if (!gpt_int8_fits(out, in)) return GPT_ERR_SIZE;
    if (in == 0) return GPT_OK; /* however many outputs */
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i += 2, values += GPT_INT8_BLOCK) {
            const int8_t *from = plain + o * in + i;
            if (out - o >= GPT_INT8_OUTS && in - i >= 2)
                pack_block(values, from, GPT_INT8_OUTS, 2, in);
            else
                pack_block(values, from, out - o, in - i, in);
        }
    return GPT_OK;
}

int gpt_int8_unpack(int8_t *plain, const int8_t *values, size_t out, size_t in)
{
    if (!plain || !values) return GPT_ERR_NULL;
    if (!gpt_int8_fits(out, in)) return GPT_ERR_SIZE;
    if (in == 0) return GPT_OK; /* however many outputs */
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i += 2, values += GPT_INT8_BLOCK) {
            int8_t *to = plain + o * in + i;
            if (out - o >= GPT_INT8_OUTS && in - i >= 2)
                unpack_block(to, values, GPT_INT8_OUTS, 2, in);
            else
                unpack_block(to, values, gpt_min(out - o, GPT_INT8_OUTS), gpt_min(in - i, 2), in);
        }
    return GPT_OK;
}

int gpt_int8_dequantize(float *weight, const int8_t *values, const float *scales, size_t out, size_t in,
                        size_t group)
{
    const int status = check_weight(values, scales, weight, group);
    if (status) return status;
    if (!gpt_int8_fits(out, in)) return GPT_ERR_SIZE;
    if (in == 0) return GPT_OK;
    const size_t groups = gpt_int8_groups(in, group);
    for (size_t o = 0; o < out; o += GPT_INT8_OUTS)
        for (size_t i = 0; i < in; i += 2, values += GPT_INT8_BLOCK)
            dequantize_block(weight + o * in + i, values, scales + gpt_int8_scale_at(o, i / group, groups),
                             gpt_min(out - o, GPT_INT8_OUTS), gpt_min(in - i, 2), in);
    return GPT_OK;
}

/* ---- Embedding: rows of the weight ---- */

static int check_embedding(const float *y, const int32_t *indices, const int8_t *values, const float *scales,
                           size_t rows, size_t count, size_t dim, size_t group)
{
    if (!y || !indices || !values || !scales) return GPT_ERR_NULL;
    if (!gpt_fits(rows, dim) || !gpt_int8_fits(count, dim)) return GPT_ERR_SIZE;
    if (!gpt_int8_group_valid(group)) return GPT_ERR_VALUE;
    for (size_t r = 0; r < rows; r++)
        if (indices[r] < 0 || (size_t)indices[r] >= count) return GPT_ERR_VALUE;
    return GPT_OK;
}

int gpt_int8_embedding_forward_ref(float *y, const int32_t *indices, const int8_t *values,
                                   const float *scales, size_t rows, size_t count, size_t dim, size_t group)
{
    const int status = check_embedding(y, indices, values, scales, rows, count, dim, group);
    if (status) return status;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < dim; c++) {
            const size_t o = (size_t)indices[r];
            const float scale = scales[gpt_int8_scale_at(o, c / group, gpt_int8_groups(dim, group))];
            y[r * dim + c] = (float)((double)scale * gpt_int8_coded(values[gpt_int8_value_at(o, c, dim)], o));
        }
    return GPT_OK;
}

int gpt_int8_embedding_forward(float *y, const int32_t *indices, const int8_t *values, const float *scales,
                               size_t rows, size_t count, size_t dim, size_t group, size_t part, size_t parts)
{
    const int status = check_embedding(y, indices, values, scales, rows, count, dim, group);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    const size_t groups = gpt_int8_groups(dim, group);
    size_t r;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r);
    for (; r < end_row; r++) {
        const size_t o = (size_t)indices[r];
        const int8_t *values_o = values + gpt_int8_value_at(o, 0, dim);
        const float *scale = scales + gpt_int8_scale_at(o, 0, groups);
        float *y_r = y + r * dim;
        for (size_t c = 0, end; c < dim; c = end, scale += GPT_INT8_OUTS) {
            end = c + gpt_min(group, dim - c);
            for (size_t i = c; i < end; i++)
                y_r[i] = *scale * gpt_int8_coded(values_o[i / 2 * GPT_INT8_BLOCK + i % 2 * 2], o);
        }
    }
    return GPT_OK;
}
