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

/* ---- Where things are ---- */

/* Bytes of a group of `ins` inputs in a block. */
static size_t group_size(size_t ins, int dot)
{
    return GPT_INT8_SCALES + (dot ? gpt_int8_runs(ins) * GPT_INT8_SUMS : 0) + gpt_int8_panel_size(ins);
}

size_t gpt_int8_block_size(size_t in, size_t group, int dot)
{
    return in / group * group_size(group, dot) + (in % group ? group_size(in % group, dot) : 0);
}

size_t gpt_int8_size(size_t out, size_t in, size_t group, int dot)
{
    if (!gpt_int8_fits(out, in) || !gpt_int8_is_valid(group, dot)) return GPT_TOO_MANY;
    return gpt_round_up(out, GPT_INT8_OUTS) / GPT_INT8_OUTS * gpt_int8_block_size(in, group, dot);
}

/* The run that begins at input i, in the block of output o: its end, and where its parts are. */
typedef struct run {
    size_t end, scales, sums, panel;
} run;

static run run_at(size_t o, size_t i, size_t in, size_t group, int dot)
{
    const size_t in_group = i % group, block = gpt_int8_block_size(in, group, dot);
    run r;
    r.end = i + gpt_min(gpt_min(in - i, group - in_group), GPT_INT8_RUN);
    r.scales = o / GPT_INT8_OUTS * block + i / group * group_size(group, dot);
    r.sums = r.scales + group_size(in_group, dot);
    r.panel = r.sums + (dot ? GPT_INT8_SUMS : 0);
    return r;
}

static int check(const void *a, const void *b, size_t out, size_t in, size_t group, int dot)
{
    if (!a || !b) return GPT_ERR_NULL;
    if (!gpt_int8_is_valid(group, dot)) return GPT_ERR_VALUE;
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

/* max |weight| of the inputs first <= i < end, for each of 4 outputs from o on. */
static v128_t largest(const float *weight, slab s, size_t o, size_t first, size_t end)
{
    v128_t most = wasm_i32x4_splat(0);
    for (size_t i = first; i < end; i++) most = gpt_int8_larger(most, load_four(weight, s, o, i));
    return most;
}

static int is_finite(const float *weight, slab s)
{
    const v128_t infinity = wasm_f32x4_splat(INFINITY);
    for (size_t o = 0; o < s.out; o += 4)
        if (!wasm_i32x4_all_true(wasm_f32x4_lt(largest(weight, s, o, s.first_in, s.end_in), infinity)))
            return 0;
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

/* All groups of the slab, of 4 outputs from o on. */
static void quantize_four(int8_t *quantized, const float *weight, slab s, size_t o, size_t in, size_t group,
                          int dot)
{
    const size_t lane = o % GPT_INT8_OUTS;
    v128_t scale = wasm_i32x4_splat(0);
    run r;
    for (size_t i = s.first_in; i < s.end_in; i = r.end) {
        r = run_at(o, i, in, group, dot);
        if (i % group == 0) {
            const v128_t most = largest(weight, s, o, i, i + gpt_min(group, s.end_in - i));
            scale = wasm_f32x4_div(most, wasm_f32x4_splat(LARGEST_VALUE));
            wasm_v128_store(quantized + r.scales + lane * sizeof(float), scale);
        }
        const size_t ins = r.end - i;
        v128_t sum = wasm_i32x4_splat(0);
        for (size_t k = 0; k < 4 * gpt_int8_quads(ins); k++) {
            const v128_t weights = k < ins ? load_four(weight, s, o, i + k) : wasm_i32x4_splat(0),
                         values = to_values(weights, scale);
            gpt_int8_store(quantized + r.panel, values, lane, k, ins, dot);
            sum = wasm_i32x4_add(sum, values);
        }
        if (dot)
            wasm_v128_store64_lane(quantized + r.sums + lane * sizeof(int16_t),
                                   wasm_i16x8_narrow_i32x4(sum, sum), 0);
    }
}

int gpt_int8_quantize(int8_t *quantized, const float *weight, size_t out, size_t in, size_t group,
                      size_t first_in, size_t ins, size_t out_step, size_t in_step, int dot)
{
    int status = check(quantized, weight, out, in, group, dot);
    if (status) return status;
    const slab s = {out, first_in, first_in + ins, out_step, in_step};
    status = check_slab(s, in, group);
    if (status) return status;
    if (ins == 0) return GPT_OK; /* nothing to write; outputs may be up to 2^29 */
    if (!is_finite(weight, s)) return GPT_ERR_VALUE;
    for (size_t o = 0; o < gpt_round_up(out, GPT_INT8_OUTS); o += 4)
        quantize_four(quantized, weight, s, o, in, group, dot);
    return GPT_OK;
}

/* ---- From and to rows of outputs ---- */

int gpt_int8_pack(int8_t *quantized, const int8_t *plain, size_t out, size_t in, size_t group, int dot)
{
    const int status = check(quantized, plain, out, in, group, dot);
    if (status || in == 0) return status; /* no inputs: nothing to read; out may be up to 2^29 */
    run r;
    for (size_t o = 0; o < gpt_round_up(out, GPT_INT8_OUTS); o++)
        for (size_t i = 0; i < in; i = r.end) {
            r = run_at(o, i, in, group, dot);
            const size_t ins = r.end - i, lane = o % GPT_INT8_OUTS;
            int16_t sum = 0;
            for (size_t k = 0; k < 4 * gpt_int8_quads(ins); k++) {
                const int8_t value = o < out && k < ins ? plain[o * in + i + k] : 0;
                quantized[r.panel + gpt_int8_byte_at(lane, k, ins, dot)] = gpt_int8_value(value, lane, dot);
                sum = (int16_t)(sum + value);
            }
            if (dot) memcpy(quantized + r.sums + lane * sizeof sum, &sum, sizeof sum);
        }
    return GPT_OK;
}

/* The value of output o and input k, in the run that begins at input i. */
static inline int8_t value_at(const int8_t *quantized, run r, size_t o, size_t i, size_t k, int dot)
{
    const size_t lane = o % GPT_INT8_OUTS, place = gpt_int8_byte_at(lane, k - i, r.end - i, dot);
    return gpt_int8_value(quantized[r.panel + place], lane, dot);
}

int gpt_int8_unpack(int8_t *plain, const int8_t *quantized, size_t out, size_t in, size_t group, int dot)
{
    const int status = check(plain, quantized, out, in, group, dot);
    if (status || in == 0) return status;
    run r;
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i = r.end) {
            r = run_at(o, i, in, group, dot);
            for (size_t k = i; k < r.end; k++) plain[o * in + k] = value_at(quantized, r, o, i, k, dot);
        }
    return GPT_OK;
}

/* weight[i] = scale · value of output o. */
static void dequantize_one(float *weight, const int8_t *quantized, size_t o, size_t in, size_t group, int dot)
{
    run r;
    for (size_t i = 0; i < in; i = r.end) {
        r = run_at(o, i, in, group, dot);
        const float scale = ((const float *)(const void *)(quantized + r.scales))[o % GPT_INT8_OUTS];
        for (size_t k = i; k < r.end; k++) weight[k] = scale * value_at(quantized, r, o, i, k, dot);
    }
}

int gpt_int8_dequantize(float *weight, const int8_t *quantized, size_t out, size_t in, size_t group, int dot)
{
    const int status = check(weight, quantized, out, in, group, dot);
    if (status || in == 0) return status;
    for (size_t o = 0; o < out; o++) dequantize_one(weight + o * in, quantized, o, in, group, dot);
    return GPT_OK;
}

/* ---- Embedding: rows of the weight ---- */

int gpt_int8_embedding_forward(float *y, const int32_t *indices, const int8_t *quantized, size_t rows,
                               size_t count, size_t dim, size_t group, int dot, size_t part, size_t parts)
{
    const int status = y && indices ? check(y, quantized, count, dim, group, dot) : GPT_ERR_NULL;
    if (status) return status;
    if (!gpt_fits(rows, dim)) return GPT_ERR_SIZE;
    if (part >= parts || !gpt_are_indices(indices, rows, count)) return GPT_ERR_VALUE;
    size_t r;
    const size_t end_row = gpt_share(rows, 1, part, parts, &r);
    for (; r < end_row; r++) dequantize_one(y + r * dim, quantized, (size_t)indices[r], dim, group, dot);
    return GPT_OK;
}
