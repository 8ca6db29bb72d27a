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

/* A part of a weight [out, in]: outputs first_out <= o < end_out and inputs first_in <= i < end_in. The
 * element of output o and input i is at (o - first_out) · out_step + (i - first_in) · in_step. */
typedef struct slab {
    size_t first_out, end_out, first_in, end_in, out_step, in_step;
} slab;

static slab slab_of(size_t first_out, size_t outs, size_t first_in, size_t ins, size_t out_step,
                    size_t in_step)
{
    return (slab){first_out, first_out + outs, first_in, first_in + ins, out_step, in_step};
}

static inline size_t slab_at(slab s, size_t o, size_t i)
{
    return (o - s.first_out) * s.out_step + (i - s.first_in) * s.in_step;
}

/* Whether `count` items from `first` on are whole blocks of n items; the last block of all may be smaller. */
static int is_aligned(size_t first, size_t count, size_t n, size_t block)
{
    return first % block == 0 && (count % block == 0 || first + count == n);
}

static int check_slab(size_t out, size_t in, size_t block_in, size_t first_out, size_t outs, size_t first_in,
                      size_t ins, size_t out_step, size_t in_step)
{
    if (!gpt_int8_fits(out, in)) return GPT_ERR_SIZE;
    if (first_out > out || outs > out - first_out || first_in > in || ins > in - first_in)
        return GPT_ERR_SIZE;
    if (!gpt_fits(outs, out_step) || !gpt_fits(ins, in_step)) return GPT_ERR_SIZE;
    if (!gpt_fits(gpt_floats_sum(outs ? (outs - 1) * out_step : 0, ins ? (ins - 1) * in_step + 1 : 1), 1))
        return GPT_ERR_SIZE;
    if (!is_aligned(first_out, outs, out, GPT_INT8_OUTS) || !is_aligned(first_in, ins, in, block_in))
        return GPT_ERR_VALUE;
    return GPT_OK;
}

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

static int check_quantize(const int8_t *values, const float *scales, const float *weight, size_t group)
{
    if (!values || !scales || !weight) return GPT_ERR_NULL;
    return gpt_int8_group_valid(group) ? GPT_OK : GPT_ERR_VALUE;
}

static int is_finite(const float *weight, slab s)
{
    for (size_t o = s.first_out; o < s.end_out; o++)
        for (size_t i = s.first_in; i < s.end_in; i++)
            if (!isfinite(weight[slab_at(s, o, i)])) return 0;
    return 1;
}

static inline int8_t quantize(float weight, float scale)
{
    if (scale == 0.0f) return 0;
    /* where the scale is denormal, the quotient may be above 127 */
    return (int8_t)fminf(fmaxf(rintf(weight / scale), -LARGEST_VALUE), LARGEST_VALUE);
}

/* One group of one output: inputs first <= i < end. An output past the last one is 0. */
static void quantize_group(int8_t *values, float *scale, const float *weight, slab s, size_t o, size_t first,
                           size_t end, size_t in)
{
    const size_t end_in = o < s.end_out ? end : first;
    float most = 0.0f;
    for (size_t i = first; i < end_in; i++) most = fmaxf(most, fabsf(weight[slab_at(s, o, i)]));
    *scale = most / LARGEST_VALUE;
    for (size_t i = first; i < end + end % 2; i++)
        values[gpt_int8_value_at(o, i, in)] =
            gpt_int8_coded(i < end_in ? quantize(weight[slab_at(s, o, i)], *scale) : 0, o);
}

int gpt_int8_quantize(int8_t *values, float *scales, const float *weight, size_t out, size_t in, size_t group,
                      size_t first_out, size_t outs, size_t first_in, size_t ins, size_t out_step,
                      size_t in_step)
{
    int status = check_quantize(values, scales, weight, group);
    if (!status) status = check_slab(out, in, group, first_out, outs, first_in, ins, out_step, in_step);
    if (status) return status;
    const slab s = slab_of(first_out, outs, first_in, ins, out_step, in_step);
    if (ins == 0) return GPT_OK; /* however many outputs */
    if (!is_finite(weight, s)) return GPT_ERR_VALUE;
    const size_t groups = gpt_int8_groups(in, group);
    for (size_t o = s.first_out; o < gpt_round_up(s.end_out, GPT_INT8_OUTS); o++)
        for (size_t first = s.first_in, end; first < s.end_in; first = end) {
            end = first + gpt_min(group, s.end_in - first);
            quantize_group(values, scales + gpt_int8_scale_at(o, first / group, groups), weight, s, o, first,
                           end, in);
        }
    return GPT_OK;
}

/* ---- Layouts ---- */

int gpt_int8_pack(int8_t *values, const int8_t *plain, size_t out, size_t in, size_t first_out, size_t outs,
                  size_t first_in, size_t ins, size_t out_step, size_t in_step)
{
    if (!values || !plain) return GPT_ERR_NULL;
    const int status = check_slab(out, in, 2, first_out, outs, first_in, ins, out_step, in_step);
    if (status) return status;
    if (ins == 0) return GPT_OK;
    const slab s = slab_of(first_out, outs, first_in, ins, out_step, in_step);
    for (size_t o = s.first_out; o < gpt_round_up(s.end_out, GPT_INT8_OUTS); o++)
        for (size_t i = s.first_in; i < gpt_round_up(s.end_in, 2); i++)
            values[gpt_int8_value_at(o, i, in)] =
                gpt_int8_coded(o < s.end_out && i < s.end_in ? plain[slab_at(s, o, i)] : 0, o);
    return GPT_OK;
}

int gpt_int8_unpack(int8_t *plain, const int8_t *values, size_t out, size_t in, size_t out_step,
                    size_t in_step)
{
    if (!plain || !values) return GPT_ERR_NULL;
    const int status = check_slab(out, in, 2, 0, out, 0, in, out_step, in_step);
    if (status) return status;
    if (in == 0) return GPT_OK;
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            plain[o * out_step + i * in_step] = gpt_int8_coded(values[gpt_int8_value_at(o, i, in)], o);
    return GPT_OK;
}

int gpt_int8_dequantize(float *weight, const int8_t *values, const float *scales, size_t out, size_t in,
                        size_t group, size_t out_step, size_t in_step)
{
    int status = check_quantize(values, scales, weight, group);
    if (!status) status = check_slab(out, in, group, 0, out, 0, in, out_step, in_step);
    if (status) return status;
    if (in == 0) return GPT_OK;
    const size_t groups = gpt_int8_groups(in, group);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            weight[o * out_step + i * in_step] = scales[gpt_int8_scale_at(o, i / group, groups)] *
                                                 gpt_int8_coded(values[gpt_int8_value_at(o, i, in)], o);
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
