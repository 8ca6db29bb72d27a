/* A key/value cache in int8; attention_cache.h has what both kinds share, attention_forward.c the equations.
 *
 *   k[j,c] ≈ key_scale[j] · key[j,c]           a scale for each token and head, the largest |k[j,c]| / 127
 *   v[j,c] ≈ value_scale[j] · value[j,c]
 *
 * The query, and each block of 32 tokens' weights, become integers of 14 bits, q and p, with a step like a
 * scale:
 *
 *   score[j] = step · key_scale[j] / √size · Σ_c q[c] · key[j,c]     |q| <= 8191
 *   w        = softmax(score), in float32
 *   y[c]     = Σ over blocks of step · Σ_j p[j] · value[j,c]         step · p[j] ≈ w[j] · value_scale[j], p >= 0
 *
 * One of the two loops of int8.h computes the sums over c and j. They are exact in int32, and no float32
 * operation is fused. So y always has the same bits: in both builds, by both loops, in parts, and when a text
 * comes in several calls.
 *
 *   keys    [batch][2 groups][blocks][heads]{ panel of 32 tokens and `size` columns, scales [32],
 *                                             for `dot` only: sums [32], Σ_c key[j,c], int16 }
 *   values  [batch][2 groups][blocks][heads]{ scales [32], ⌈size / 32⌉ panels of 32 columns and 32 tokens }
 *
 * blocks = ⌈capacity / 32⌉, and heads are those of the group. int8.h has the panels. In a panel of
 * keys a lane is a token, in a panel of values a lane is a column. A block is read from its beginning to its
 * end: reading elsewhere would wait for memory. `dot` multiplies keys by q + 8192, so it needs their sums. It
 * multiplies values by p, which is not negative, so it needs no sums of values.
 *
 * Microseconds for one token and 12 heads of size 64, from memory, AMD EPYC, relaxed, by int16:
 *   keys and values of          32   128   512
 *   in float32                  20    48   150
 *   in int8                     13    25    59
 */
#include <math.h>

#include "attention_cache.h"
#include "int8.h"

/* LANES is the number of tokens in a block, and of lanes in a panel. SCALE_BYTES and SUM_BYTES are the sizes of
 * a block's scales and sums. Heads with more columns than LARGEST_BY_DOT use the loop int16, because their sums
 * could be too large for an int16. */
enum { LANES = GPT_INT8_OUTS, SCALE_BYTES = 4 * LANES, SUM_BYTES = 2 * LANES, LARGEST_BY_DOT = 256 };

/* A weight p is not negative: it has all 14 bits. */
static const float MOST_P = 16383.0f;

static size_t columns_of(size_t size) { return gpt_round_up(size, LANES); }

/* Bytes of a head's block, of keys or of values. Either may leave the end unused. */
static size_t block_bytes(size_t size, int dot)
{
    return LANES * columns_of(size) + SCALE_BYTES + (dot ? SUM_BYTES : 0);
}

/* Enough for either loop. */
size_t gpt_attention_int8_cache_size(size_t capacity, size_t size)
{
    if (!gpt_fits(capacity, size)) return GPT_TOO_MANY;
    return gpt_floats(gpt_round_up(capacity, LANES) / LANES, block_bytes(size, 1) / sizeof(float));
}

/* Scratch for each head: y, the scores, and the query. */
size_t gpt_attention_int8_scratch_size(size_t tokens, size_t past, size_t heads, size_t size)
{
    const size_t keys = gpt_floats_sum(past, tokens);
    if (!gpt_fits4(keys, heads, size, 1)) return GPT_TOO_MANY;
    const size_t packed = sizeof(gpt_int8_header) / sizeof(float) + columns_of(size) / 2;
    return gpt_floats(heads, gpt_floats_sum(columns_of(size) + packed, gpt_round_up(keys, LANES)));
}

/* Where a block has its 32 keys' scales. */
static inline size_t key_scales_at(size_t size) { return gpt_int8_panel_size(size); }
/* Where a block has the panel of column c. */
static inline size_t value_panel_at(size_t c) { return SCALE_BYTES + c / LANES * gpt_int8_panel_size(LANES); }
static inline const float *floats_at(const int8_t *bytes) { return (const float *)(const void *)bytes; }

/* ---- Numbers as integers: x ≈ step · q ---- */

/* Stores the key and the value of token j in their blocks. */
static void store_token(int8_t *keys, int8_t *values, const float *k, const float *v, size_t j, size_t size,
                        int dot)
{
    const gpt_int8_rounding key = gpt_int8_rounding_of(k, size, 127.0f),
                            value = gpt_int8_rounding_of(v, size, 127.0f);
    const v128_t key_factor = wasm_f32x4_splat(key.factor), value_factor = wasm_f32x4_splat(value.factor);
    int8_t *scale = keys + key_scales_at(size) + j % LANES * sizeof(float);
    memcpy(scale, &key.step, sizeof(float));
    memcpy(values + j % LANES * sizeof(float), &value.step, sizeof(float));
    v128_t sum = wasm_i32x4_splat(0);
    for (size_t c = 0; c < size; c += 4) {
        const v128_t k_c = gpt_int8_round(gpt_load(k + c, size - c), key_factor),
                     coded = gpt_int8_coded(k_c, j % LANES, dot);
        sum = wasm_i32x4_add(sum, k_c);
        wasm_v128_store8_lane(keys + gpt_int8_byte_at(j % LANES, c, size, dot), coded, 0);
        wasm_v128_store8_lane(keys + gpt_int8_byte_at(j % LANES, c + 1, size, dot), coded, 4);
        wasm_v128_store8_lane(keys + gpt_int8_byte_at(j % LANES, c + 2, size, dot), coded, 8);
        wasm_v128_store8_lane(keys + gpt_int8_byte_at(j % LANES, c + 3, size, dot), coded, 12);
        gpt_int8_store(values + value_panel_at(c), gpt_int8_round(gpt_load(v + c, size - c), value_factor),
                       c % LANES, j % LANES, LANES, dot);
    }
    if (dot)
        wasm_v128_store16_lane(keys + key_scales_at(size) + SCALE_BYTES + j % LANES * sizeof(int16_t),
                               gpt_int8_sum(sum), 0);
}

static void append(float *keys, float *values, const gpt_head *a)
{
    for (size_t t = 0; t < a->tokens; t++) {
        const size_t j = a->past + t, block = j / LANES * a->cache_step;
        store_token((int8_t *)(keys + block), (int8_t *)(values + block), a->k + t * a->step,
                    a->v + t * a->step, j, a->size, a->dot);
    }
}

/* The products of 32 lanes and n numbers, in a panel of `ins`. */
GPT_INLINE void multiply(v128_t products[8], const int8_t *panel, const int8_t *sums, size_t ins,
                         const float *q, const gpt_int8_header *header, size_t n, int dot)
{
    if (dot && GPT_INT8_HAS_DOT)
        gpt_int8_multiply_dot(products, panel, sums, ins, q, gpt_int8_quads(n));
    else
        gpt_int8_multiply_int16(products, panel, q, header, n / 2 + n % 2, 1, 4);
}

/* The scores of a block's 32 tokens. */
static void multiply_keys(float *scores, const float *q, const gpt_int8_header *header, const int8_t *block,
                          size_t size, int dot)
{
    v128_t products[8];
    const int8_t *scales = block + key_scales_at(size);
    multiply(products, block, scales + SCALE_BYTES, size, q, header, size, dot);
    for (size_t k = 0; k < 8; k++) {
        const v128_t scale =
            wasm_f32x4_mul(wasm_f32x4_splat(header->step), wasm_v128_load(floats_at(scales) + 4 * k));
        wasm_v128_store(scores + 4 * k, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[k]), scale));
    }
}

/* y[columns] += Σ_j weights[j] · v[j] over the n <= 32 tokens of a block. Overwrites `weights`. */
static void add_values(float *y, float *weights, const int8_t *block, size_t n, size_t columns, int dot)
{
    static const int8_t no_sums[SUM_BYTES] = {0};
    float p[LANES / 2];
    const float *scales = floats_at(block);
    for (size_t i = 0; i < n; i += 4)
        wasm_v128_store(weights + i, wasm_f32x4_mul(wasm_v128_load(weights + i), wasm_v128_load(scales + i)));
    const gpt_int8_header header = gpt_int8_numbers_of(p, weights, n, 1, MOST_P, 0, dot);
    const v128_t step = wasm_f32x4_splat(header.step);
    for (size_t c = 0; c < columns; c += LANES, y += LANES) {
        v128_t products[8];
        multiply(products, block + value_panel_at(c), no_sums, LANES, p, &header, n, dot);
        for (size_t k = 0; k < 8; k++)
            wasm_v128_store(y + 4 * k, gpt_multiply_then_add(wasm_f32x4_convert_i32x4(products[k]), step,
                                                             wasm_v128_load(y + 4 * k)));
    }
}

/* y of token number t. */
static void attend_one(float *y, float *scratch, const gpt_head *a, size_t t, size_t heads)
{
    const size_t step = a->cache_step * sizeof(float), size = a->size, columns = columns_of(size),
                 block = block_bytes(size, a->dot);
    const size_t n = a->past + t + 1, keys = gpt_round_up(n, LANES);
    float *sums = scratch, *scores = sums + heads * columns; /* [heads][columns], [heads][keys] */
    gpt_int8_header *queries = (gpt_int8_header *)(void *)(scores + heads * keys); /* [heads] */
    float *q = (float *)(void *)(queries + heads);                      /* [heads][columns] int16 */
    const float most_q = fminf(GPT_INT8_MOST_Q, 0x1p24f / (float)size); /* size · 128 · most_q <= 2^31 */
    for (size_t h = 0; h < heads; h++) {
        queries[h] = gpt_int8_numbers_of(q + h * columns / 2, a->q + t * a->step + h * size, size, 1, most_q,
                                         GPT_INT8_OFFSET, a->dot);
        queries[h].step /= sqrtf((float)size);
    }
    for (size_t j = 0; j < n; j += LANES)
        for (size_t h = 0; h < heads; h++)
            multiply_keys(scores + h * keys + j, q + h * columns / 2, queries + h,
                          (const int8_t *)a->k + j / LANES * step + h * block, size, a->dot);
    for (size_t h = 0; h < heads; h++) gpt_attention_softmax(scores + h * keys, n, keys);
    gpt_fill_zeros(sums, heads * columns);
    for (size_t j = 0; j < n; j += LANES)
        for (size_t h = 0; h < heads; h++)
            add_values(sums + h * columns, scores + h * keys + j,
                       (const int8_t *)a->v + j / LANES * step + h * block, gpt_min(n - j, LANES), columns,
                       a->dot);
    for (size_t h = 0; h < heads; h++) memcpy(y + h * size, sums + h * columns, size * sizeof(float));
}

static void attend(float *y, float *scratch, const gpt_head *a, size_t heads)
{
    for (size_t t = 0; t < a->tokens; t++) attend_one(y + t * (a->step / 3), scratch, a, t, heads);
}

int gpt_attention_int8_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                               size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                               size_t size, int dot, size_t part, size_t parts)
{
    if (dot < 0 || dot > GPT_INT8_HAS_DOT) return GPT_ERR_VALUE;
    if (size > LARGEST_BY_DOT) dot = 0;
    const size_t block = block_bytes(size, dot) / sizeof(float);
    const gpt_cache cache = {.head_size = gpt_attention_int8_cache_size(capacity, size),
                             .key_piece = block,
                             .value_piece = block,
                             .scratch_size = gpt_attention_int8_scratch_size(tokens, past, heads, size),
                             .append = append,
                             .attend = attend,
                             .dot = dot};
    return gpt_attention_with(&cache, y, keys, values, scratch, qkv, batch, tokens, past, capacity, heads,
                              size, part, parts);
}
