/* Weights as int8 with float32 scales: weight[o,i] = scale[o, i / group] · value[o,i].
 *
 * The layout is made for a product with one row, which is bound by reading the weights. Eight outputs and two
 * inputs are side by side in 16 bytes, so that one loop reads one stream from beginning to end:
 *
 *   values  [⌈out/8⌉][⌈in/2⌉][4 outputs][2 inputs][2 halves]   halves: outputs 0 ... 3 and 4 ... 7
 *   scales  [⌈out/8⌉][groups][8 outputs]                       groups = ⌈in/group⌉
 *
 * A kernel reads the 16 bytes as eight int16. Each is 256 · high + low, where `high` is the value of output
 * 4 ... 7, and `low`, from 0 to 255, is the value of output 0 ... 3 plus 128. One shift gives `high`, and low
 * needs no instruction: int8_linear.c has the sums.
 *
 * Outputs and inputs that fill up the last block have the value 0.
 */
#ifndef GPT_INT8_H
#define GPT_INT8_H

#include "gpt_layers.h"
#include "simd.h"

enum { GPT_INT8_OUTS = 8, GPT_INT8_BLOCK = 2 * GPT_INT8_OUTS };

static inline size_t gpt_int8_pairs(size_t in) { return in / 2 + in % 2; }

static inline size_t gpt_int8_groups(size_t in, size_t group) { return in / group + (in % group != 0); }

/* Where the value of output o and input i is, and where the scale of output o and of group k is. */
static inline size_t gpt_int8_value_at(size_t o, size_t i, size_t in)
{
    return (o / GPT_INT8_OUTS * gpt_int8_pairs(in) + i / 2) * GPT_INT8_BLOCK + o % 4 * 4 + i % 2 * 2 +
           o / 4 % 2;
}

static inline size_t gpt_int8_scale_at(size_t o, size_t k, size_t groups)
{
    return (o / GPT_INT8_OUTS * groups + k) * GPT_INT8_OUTS + o % GPT_INT8_OUTS;
}

/* The stored byte of a value of output o, and the value of a stored byte. */
static inline int8_t gpt_int8_coded(int8_t value, size_t o)
{
    return (int8_t)(o / 4 % 2 ? value : value ^ -128);
}

/* Whether the values are addressable, with those that fill up the blocks. Then the scales are, too. */
static inline int gpt_int8_fits(size_t out, size_t in)
{
    return gpt_fits(gpt_round_up(out, GPT_INT8_OUTS), gpt_round_up(in, 2));
}

static inline int gpt_int8_group_valid(size_t group) { return group > 0 && group % 2 == 0; }

#endif
