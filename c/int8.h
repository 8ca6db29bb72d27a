/* Weights as int8 with float32 scales: weight[o,i] = scale[o, i / group] · value[o,i].
 *
 * The layout is made for a product with one row, which is bound by reading the weights: one loop reads one
 * stream from beginning to end.
 *
 *   weight   | outputs 0 ... 31 | outputs 32 ... 63 | ...
 *            :                  :
 *   block    | group 0 | group 1 | ...                       `group` inputs each, the last one the rest
 *            :         :
 *   group    | 32 scales, float32 | run 0 | run 1 | ...      128 inputs each, the last one the rest
 *                                 :       :
 *   run      | 32 sums, int16, for `dot` only | panel: 32 outputs x inputs, int8 |
 *
 * sums[o] = Σ_i value[o,i] over the run. A panel has the values of 32 lanes and n inputs. Here a lane is an
 * output. n is rounded up to a multiple of 4, and the inputs that are added have the value 0. The number of
 * outputs is rounded up to a multiple of 32, and the outputs that are added have values and scales of 0.
 *
 * Two inner loops multiply a panel by numbers q of 14 bits. Each has an order of the panel's bytes. Both give
 * the same integers, so the choice between them changes no bit:
 *
 *   int16  [2⌈n / 4⌉][4 vectors][4 lanes][2 inputs][2 halves]
 *          A vector has 16 bytes: 2 inputs of 8 lanes. The loop reads it as eight int16. Each of them has two
 *          values: 256 · high + low. `high` is a value of the lanes 4 ... 7. `low` is a value of the lanes
 *          0 ... 3, plus 128, so it is from 0 to 255. i32x4.dot_i16x8_s multiplies by q and adds pairs:
 *            both = Σ q · (256 · high + low)
 *            Σ q · value of lanes 4 ... 7 = Σ q · high, where one shift gives `high`
 *            Σ q · value of lanes 0 ... 3 = both - 256 · Σ q · high - 128 · Σ q
 *   dot    [2 halves][⌈n / 4⌉][16 lanes][4 inputs]
 *          q + 8192 = 128 · high + low with 0 <= high, low <= 127, and
 *            Σ q · value = 128 · Σ high · value + Σ low · value - 8192 · Σ value
 *          i32x4.relaxed_dot_i8x16_i7x16_add_s adds four products, of 8 and of 7 bits, to each of four sums.
 *          So 16 values take a load and two of these. A processor with AVX-VNNI or ARM's dot product has one
 *          instruction for it. For others an engine makes three instructions of it, and int16 is faster.
 *
 * Sums are modulo 2^32, and the last ones fit, so nothing overflows. Build `simd` has int16 only.
 */
#ifndef GPT_INT8_H
#define GPT_INT8_H

#include "gpt_layers.h"
#include "simd.h"

/* Outputs of a block, lanes of a panel and of a vector; inputs of a run. */
enum { GPT_INT8_OUTS = 32, GPT_INT8_LANES = 8, GPT_INT8_RUN = 128 };
/* Bytes of a group's scales, of a run's sums, of 4 inputs of a panel, and of a loop's turn. */
enum { GPT_INT8_SCALES = 128, GPT_INT8_SUMS = 64, GPT_INT8_QUAD = 128, GPT_INT8_TURN = 64 };

/* In `simd`, what `dot && GPT_INT8_HAS_DOT` guards is not compiled. */
#ifdef __wasm_relaxed_simd__
enum { GPT_INT8_HAS_DOT = 1 };
#else
enum { GPT_INT8_HAS_DOT = 0 };
#endif

/* ---- The layout ---- */

static inline int gpt_int8_is_valid(size_t group, int dot)
{
    return group > 0 && group % 2 == 0 && dot >= 0 && dot <= GPT_INT8_HAS_DOT;
}

/* Refuses sizes whose padded float32 weight is too large. int8 takes at most 5 bytes a value, so its size
 * then fits a size_t. */
static inline int gpt_int8_fits(size_t out, size_t in)
{
    return gpt_fits(gpt_round_up(out, GPT_INT8_OUTS), gpt_round_up(in, 2));
}

static inline size_t gpt_int8_quads(size_t ins) { return ins / 4 + (ins % 4 != 0); }
static inline size_t gpt_int8_panel_size(size_t ins) { return gpt_int8_quads(ins) * GPT_INT8_QUAD; }
static inline size_t gpt_int8_runs(size_t ins) { return ins / GPT_INT8_RUN + (ins % GPT_INT8_RUN != 0); }

/* Bytes of a block: int8_weights.c. */
size_t gpt_int8_block_size(size_t in, size_t group, int dot);

/* Where the byte of a lane and of input i is in a panel of `ins` inputs. The next lane is 4 bytes further, up to
 * a multiple of 4. */
static inline size_t gpt_int8_byte_at(size_t lane, size_t i, size_t ins, int dot)
{
    if (dot && GPT_INT8_HAS_DOT)
        return lane / 16 * (gpt_int8_panel_size(ins) / 2) + i / 4 * GPT_INT8_TURN + lane % 16 * 4 + i % 4;
    return i / 2 * GPT_INT8_TURN + lane / 8 * 16 + lane % 4 * 4 + i % 2 * 2 + lane / 4 % 2;
}

/* The byte of a value, and the value of a byte, for 4 lanes from this one on, or for one. */
GPT_INLINE v128_t gpt_int8_coded(v128_t values, size_t lane, int dot)
{
    return wasm_v128_xor(values, wasm_i32x4_splat((dot && GPT_INT8_HAS_DOT) || lane / 4 % 2 ? 0 : 128));
}

static inline int8_t gpt_int8_value(int8_t byte, size_t lane, int dot)
{
    return (int8_t)((dot && GPT_INT8_HAS_DOT) || lane / 4 % 2 ? byte : byte ^ -128);
}

/* Stores the values of 4 lanes from this one on. */
GPT_INLINE void gpt_int8_store(int8_t *panel, v128_t values, size_t lane, size_t i, size_t ins, int dot)
{
    int8_t *bytes = panel + gpt_int8_byte_at(lane, i, ins, dot);
    values = gpt_int8_coded(values, lane, dot);
    wasm_v128_store8_lane(bytes, values, 0);
    wasm_v128_store8_lane(bytes + 4, values, 4);
    wasm_v128_store8_lane(bytes + 8, values, 8);
    wasm_v128_store8_lane(bytes + 12, values, 12);
}

/* ---- Activations as numbers of 14 bits: x[i] ≈ step · q[i] with |q| <= 8191 and step = max |x| / 8191 ---- */

#define GPT_INT8_MOST_Q 8191.0f
enum { GPT_INT8_OFFSET_BITS = 13, GPT_INT8_OFFSET = 1 << GPT_INT8_OFFSET_BITS };

/* factor = most_q / max |x|, step = max |x| / most_q. Both are 0 where max |x| < 2^-100. Where x has a NaN or
 * an infinity, step is NaN. */
typedef struct gpt_int8_rounding {
    float factor, step;
} gpt_int8_rounding;

/* max |x| of 4 floats for each lane. The bits of floats >= 0 have the order of integers, and NaN is the
 * last. */
GPT_INLINE v128_t gpt_int8_larger(v128_t most, v128_t x) { return wasm_i32x4_max(most, wasm_f32x4_abs(x)); }

/* The rounding of n floats for |q| <= most_q: int8_linear.c. */
gpt_int8_rounding gpt_int8_rounding_of(const float *x, size_t n, float most_q);

/* q as int32: x · factor, rounded to the nearest integer. Beside 1.5 · 2^23 a float32 has no fraction, and
 * its last bits are the integer. */
GPT_INLINE v128_t gpt_int8_round(v128_t x, v128_t factor)
{
    const v128_t one_and_a_half = wasm_f32x4_splat(0x1.8p23f);
    return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(x, factor), one_and_a_half), one_and_a_half);
}

/* What stands before numbers q. */
typedef struct gpt_int8_header {
    float step;
    int32_t bias; /* -128 · Σ q, for int16 */
} gpt_int8_header;

/* The sum of four lanes, in each of them. */
GPT_INLINE v128_t gpt_int8_sum(v128_t lanes)
{
    lanes = wasm_i32x4_add(lanes, wasm_i32x4_shuffle(lanes, lanes, 2, 3, 0, 1));
    return wasm_i32x4_add(lanes, wasm_i32x4_shuffle(lanes, lanes, 1, 0, 3, 2));
}

/* Rounds n floats to numbers for a loop, and zeros up to a multiple of 4. q is [pairs][rows][2] int16, and here is
 * one of the rows, or by dot [quads][2 halves of q + offset][4] bytes of one row. int8_linear.c has it. */
gpt_int8_header gpt_int8_numbers_of(float *q, const float *x, size_t n, size_t rows, float most_q,
                                    int32_t offset, int dot);

/* ---- The two inner loops ---- */

/* products[r, k] = Σ_i q[r,i] · value[4 · k ... 4 · k + 3, i] for i < 2 · pairs, and for 8 · vectors lanes that
 * begin at `panel`, by int16. q is [pairs][rows][2]. `rows` and `vectors` are constants, 1 and 4 or 2 and 2. */
GPT_INLINE void gpt_int8_multiply_int16(v128_t products[8], const int8_t *panel, const float *q,
                                        const gpt_int8_header *headers, size_t pairs, size_t rows,
                                        size_t vectors)
{
    enum { SUMS = 4 }; /* rows · vectors */
    v128_t both[SUMS], high[SUMS];
    for (size_t k = 0; k < SUMS; k++) {
        both[k] = wasm_v128_load32_splat(&headers[k / vectors].bias);
        high[k] = wasm_i32x4_splat(0);
    }
    for (; pairs > 0; pairs--, q += rows, panel += GPT_INT8_TURN)
        for (size_t v = 0; v < vectors; v++) {
            const v128_t values = wasm_v128_load(panel + 16 * v), values_high = wasm_i16x8_shr(values, 8);
            for (size_t r = 0, k = v; r < rows; r++, k += vectors) {
                const v128_t q_r = wasm_v128_load32_splat(q + r);
                both[k] = wasm_i32x4_add(both[k], wasm_i32x4_dot_i16x8(values, q_r));
                high[k] = wasm_i32x4_add(high[k], wasm_i32x4_dot_i16x8(values_high, q_r));
            }
        }
    for (size_t k = 0; k < SUMS; k++) {
        products[2 * k] = wasm_i32x4_sub(both[k], wasm_i32x4_shl(high[k], 8));
        products[2 * k + 1] = high[k];
    }
}

/* The same by dot, of one row and the 32 lanes of a panel of `ins` inputs, for i < 4 · quads. `sums` are those of
 * the values, or zeros for numbers without an offset. In build `relaxed` only. */
void gpt_int8_multiply_dot(v128_t products[8], const int8_t *panel, const int8_t *sums, size_t ins,
                           const float *q, size_t quads);

#endif
