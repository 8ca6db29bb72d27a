/* Weights as int8 with float32 scales: weight[o,i] = scale[o, i / group] · value[o,i].
 *
 * The layout is made for a product with one row, which is bound by reading the weights: one loop reads one
 * stream from beginning to end. The weight is [blocks of 32 outputs][groups of inputs], and a group is
 *
 *   scales  [32 outputs], float32
 *   values  [⌈inputs of the group / 2⌉][4 vectors][4 outputs][2 inputs][2 halves]
 *
 * A vector is 16 bytes, 2 inputs of 8 outputs; its halves are outputs 0 ... 3 and 4 ... 7. A kernel reads it
 * as eight int16. Each is 256 · high + low, where `high` is the value of output 4 ... 7, and `low`, from 0 to
 * 255, is the value of output 0 ... 3 plus 128. One shift gives `high`, and low needs no instruction:
 * int8_linear.c has the sums.
 *
 * Outputs and inputs that fill up the last vectors have the value 0, and such outputs the scale 0.
 */
#ifndef GPT_INT8_H
#define GPT_INT8_H

#include "gpt_layers.h"
#include "simd.h"

/* Outputs of a block and of a vector; bytes of a group's scales, of a vector, and of 2 inputs of a block. */
enum { GPT_INT8_OUTS = 32, GPT_INT8_LANES = 8 };
enum { GPT_INT8_SCALES = 128, GPT_INT8_VECTOR = 16, GPT_INT8_PAIR = 64 };

static inline int gpt_int8_group_valid(size_t group) { return group > 0 && group % 2 == 0; }

/* Whether a padded weight would be addressable as float32. Then its bytes are addressable, too. */
static inline int gpt_int8_fits(size_t out, size_t in)
{
    return gpt_fits(gpt_round_up(out, GPT_INT8_OUTS), gpt_round_up(in, 2));
}

/* Bytes of a group of `ins` inputs in a block, and of a block. */
static inline size_t gpt_int8_group_size(size_t ins)
{
    return GPT_INT8_SCALES + (ins / 2 + ins % 2) * GPT_INT8_PAIR;
}

static inline size_t gpt_int8_block_size(size_t in, size_t group)
{
    return in / group * gpt_int8_group_size(group) + (in % group ? gpt_int8_group_size(in % group) : 0);
}

/* Where the group of input i begins in the block of output o: its scales. */
static inline size_t gpt_int8_group_at(size_t o, size_t i, size_t in, size_t group)
{
    return o / GPT_INT8_OUTS * gpt_int8_block_size(in, group) + i / group * gpt_int8_group_size(group);
}

/* Where the byte of one of 32 lanes, here an output, and of number i is in vectors of this layout. */
static inline size_t gpt_int8_byte_at(size_t lane, size_t i)
{
    return i / 2 * GPT_INT8_PAIR + lane / GPT_INT8_LANES * GPT_INT8_VECTOR + lane % 4 * 4 + i % 2 * 2 +
           lane / 4 % 2;
}

/* Where the byte of output o and input i is. */
static inline size_t gpt_int8_at(size_t o, size_t i, size_t in, size_t group)
{
    return gpt_int8_group_at(o, i, in, group) + GPT_INT8_SCALES +
           gpt_int8_byte_at(o % GPT_INT8_OUTS, i % group);
}

/* The byte of a value, and the value of a byte. A low half has 128 added. */
GPT_INLINE int8_t gpt_int8_coded(int8_t value, size_t lane)
{
    return (int8_t)(lane / 4 % 2 ? value : value ^ -128);
}

/* The scale, and the value, of output o and input i. */
static inline float gpt_int8_scale(const int8_t *quantized, size_t o, size_t i, size_t in, size_t group)
{
    const int8_t *scales = quantized + gpt_int8_group_at(o, i, in, group);
    return ((const float *)(const void *)scales)[o % GPT_INT8_OUTS];
}

static inline int8_t gpt_int8_value(const int8_t *quantized, size_t o, size_t i, size_t in, size_t group)
{
    return gpt_int8_coded(quantized[gpt_int8_at(o, i, in, group)], o);
}

/* ---- Activations as int16: x[i] = step · q[i] with |q| <= 32767 and step = max |x| / 32767 ---- */

/* factor = most_q / max |x|, step = max |x| / most_q. Both are 0 where max |x| < 2^-100. Where x has a NaN or
 * an infinity, step is NaN. */
typedef struct gpt_int8_rounding {
    float factor, step;
} gpt_int8_rounding;

/* max |x| of 4 floats for each lane. The bits of floats >= 0 have the order of integers, and NaN is the
 * last. */
GPT_INLINE v128_t gpt_int8_larger(v128_t most, v128_t x) { return wasm_i32x4_max(most, wasm_f32x4_abs(x)); }

/* max |x| is the largest lane of `most`, and becomes q = most_q: 32767, or less where q is an int8 or where
 * sums are long. */
GPT_INLINE gpt_int8_rounding gpt_int8_rounding_of(v128_t most, float most_q)
{
    /* below this, the largest |x| counts as 0, so that most_q / max |x| is finite and exact enough */
    const float least = 0x1p-100f;
    most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    const float x = wasm_f32x4_extract_lane(most, 0);
    if (x < least) return (gpt_int8_rounding){0.0f, 0.0f};
    return x < INFINITY ? (gpt_int8_rounding){most_q / x, x / most_q} : (gpt_int8_rounding){0.0f, NAN};
}

/* q as int32: x · factor, rounded to the nearest integer. Beside 1.5 · 2^23 a float32 has no fraction, and
 * its last bits are the integer. */
GPT_INLINE v128_t gpt_int8_round(v128_t x, v128_t factor)
{
    const v128_t one_and_a_half = wasm_f32x4_splat(0x1.8p23f);
    return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(x, factor), one_and_a_half), one_and_a_half);
}

/* The step and the bias of numbers q, for a dot product. */
typedef struct gpt_int8_run {
    float step;
    int32_t bias; /* -128 · Σ q */
} gpt_int8_run;

/* `sum` has Σ q in four lanes. */
GPT_INLINE gpt_int8_run gpt_int8_run_of(float step, v128_t sum)
{
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 1, 0, 3, 2));
    return (gpt_int8_run){step, wasm_i32x4_extract_lane(wasm_i32x4_neg(wasm_i32x4_shl(sum, 7)), 0)};
}

#endif
