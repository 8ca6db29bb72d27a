/* A key/value cache in int8; attention_cache.h has what both kinds share, attention_forward.c the equations.
 *
 *   k[j,c] ≈ key_scale[j] · key[j,c]           a scale for each token and head, the largest |k[j,c]| / 127
 *   v[j,c] ≈ value_scale[j] · value[j,c]
 *
 * The query, and each block of 32 tokens' weights, become int16, q and p, with a step like a scale:
 *
 *   score[j] = step · key_scale[j] / √size · Σ_c q[c] · key[j,c]
 *   w        = softmax(score), in float32
 *   y[c]     = Σ over blocks of step · Σ_j p[j] · value[j,c]     with step · p[j] ≈ w[j] · value_scale[j]
 *
 * The sums over c and j are exact in int32, and no float32 operation is fused. So y has the same bits in both
 * builds, and does not depend on the parts or on how a text is cut into calls.
 *
 *   keys    [batch][2 groups][blocks][heads]{ key [2⌈size/4⌉][32 tokens][2 columns], scales [32] }
 *   values  [batch][2 groups][blocks][heads]{ scales [32], value [⌈size/32⌉][16][32 columns][2 tokens] }
 *
 * blocks = ⌈capacity / 32⌉, and heads are those of the group. A block is read from its beginning to its end,
 * since a jump costs a miss. Its 64 bytes of [32][2] are 4 vectors; a vector is eight int16 with two values
 * each, 256 · high + low, and gpt_int8_byte_at says which. int8_linear.c has the sums of such vectors.
 *
 * Microseconds for one token and 12 heads of size 64, from memory, AMD EPYC, relaxed:
 *   keys and values of          32   128   512
 *   in float32                  20    48   150
 *   in int8                     13    25    59
 */
#include <math.h>

#include "attention_cache.h"
#include "int8.h"

/* Tokens of a block, and columns beside each other in its values; bytes of a panel [16][32][2], of scales. */
enum { LANES = 32, PANEL_BYTES = LANES / 2 * GPT_INT8_PAIR, SCALE_BYTES = 4 * LANES };

/* LANES · 32767 · 128 is below 2^31. */
static const float MOST_Q = 32767.0f;

/* The largest query, so that size · 128 · most <= 2^31. */
static float most_query(size_t size) { return fminf(MOST_Q, 0x1p24f / (float)size); }

static size_t columns_of(size_t size) { return gpt_round_up(size, LANES); }

/* Bytes of a head's block. A block of keys may use fewer, and leave the end unused. */
static size_t block_bytes(size_t size) { return LANES * columns_of(size) + SCALE_BYTES; }

size_t gpt_attention_int8_cache_size(size_t capacity, size_t size)
{
    if (!gpt_fits(capacity, size)) return GPT_TOO_MANY;
    return gpt_floats(gpt_round_up(capacity, LANES), columns_of(size) / 4 + 1);
}

/* Scratch for each head: y, the scores, and the query. */
size_t gpt_attention_int8_scratch_size(size_t tokens, size_t past, size_t heads, size_t size)
{
    const size_t keys = gpt_floats_sum(past, tokens);
    if (!gpt_fits4(keys, heads, size, 1)) return GPT_TOO_MANY;
    const size_t packed = sizeof(gpt_int8_run) / sizeof(float) + columns_of(size) / 2;
    return gpt_floats(heads, gpt_floats_sum(columns_of(size) + packed, gpt_round_up(keys, LANES)));
}

/* gpt_int8_coded() of 4 values of a lane, or of the 4 lanes from this one on. */
GPT_INLINE v128_t coded4(v128_t values, size_t lane)
{
    return wasm_v128_xor(values, wasm_i32x4_splat(lane / 4 % 2 ? 0 : 128));
}

/* Keys: a lane is a token. Values: a lane is a column. */
static inline size_t key_at(size_t j, size_t c) { return gpt_int8_byte_at(j % LANES, c); }
static inline size_t value_at(size_t j, size_t c)
{
    return SCALE_BYTES + c / LANES * PANEL_BYTES + gpt_int8_byte_at(c % LANES, j % LANES);
}
/* Where a block has its 32 scales. */
static inline size_t key_scales_at(size_t size) { return gpt_round_up(size, 4) / 2 * GPT_INT8_PAIR; }
static inline const float *scales_at(const int8_t *bytes) { return (const float *)(const void *)bytes; }

/* ---- Numbers as integers: x ≈ step · q ---- */

/* Four floats of n that are left, or zeros. */
GPT_INLINE v128_t load(const float *x, size_t n) { return n >= 4 ? wasm_v128_load(x) : gpt_load_tail(x, n); }

static gpt_int8_rounding rounding_of(const float *x, size_t n, float most_q)
{
    v128_t most = wasm_i32x4_splat(0);
    for (size_t i = 0; i < n; i += 4) most = gpt_int8_larger(most, load(x + i, n - i));
    return gpt_int8_rounding_of(most, most_q);
}

/* n floats as int16, and zeros up to a multiple of 4. */
static gpt_int8_run pack(int16_t *q, const float *x, size_t n, float most_q)
{
    const gpt_int8_rounding r = rounding_of(x, n, most_q);
    const v128_t factor = wasm_f32x4_splat(r.factor);
    v128_t sum = wasm_i32x4_splat(0);
    for (size_t i = 0; i < n; i += 4) {
        const v128_t v = gpt_int8_round(load(x + i, n - i), factor);
        sum = wasm_i32x4_add(sum, v);
        wasm_v128_store64_lane(q + i, wasm_i16x8_narrow_i32x4(v, v), 0);
    }
    return gpt_int8_run_of(r.step, sum);
}

/* Stores the key and the value of token j in their blocks. */
static void store_token(int8_t *keys, int8_t *values, const float *k, const float *v, size_t j, size_t size)
{
    const gpt_int8_rounding key = rounding_of(k, size, 127.0f), value = rounding_of(v, size, 127.0f);
    const v128_t key_factor = wasm_f32x4_splat(key.factor), value_factor = wasm_f32x4_splat(value.factor);
    memcpy(keys + key_scales_at(size) + j % LANES * sizeof(float), &key.step, sizeof(float));
    memcpy(values + j % LANES * sizeof(float), &value.step, sizeof(float));
    for (size_t c = 0; c < size; c += 4) {
        const v128_t k_c = coded4(gpt_int8_round(load(k + c, size - c), key_factor), j),
                     v_c = coded4(gpt_int8_round(load(v + c, size - c), value_factor), c);
        int8_t *key_c = keys + key_at(j, c), *value_c = values + value_at(j, c);
        wasm_v128_store8_lane(key_c, k_c, 0);
        wasm_v128_store8_lane(key_c + 2, k_c, 4);
        wasm_v128_store8_lane(key_c + GPT_INT8_PAIR, k_c, 8);
        wasm_v128_store8_lane(key_c + GPT_INT8_PAIR + 2, k_c, 12);
        wasm_v128_store8_lane(value_c, v_c, 0);
        wasm_v128_store8_lane(value_c + 4, v_c, 4);
        wasm_v128_store8_lane(value_c + 8, v_c, 8);
        wasm_v128_store8_lane(value_c + 12, v_c, 12);
    }
}

static void append(float *keys, float *values, const gpt_head *a)
{
    for (size_t t = 0; t < a->tokens; t++) {
        const size_t j = a->past + t, block = j / LANES * a->cache_step;
        store_token((int8_t *)(keys + block), (int8_t *)(values + block), a->k + t * a->step,
                    a->v + t * a->step, j, a->size);
    }
}

/* dot[lane] = Σ_i q[i] · value of lane and i, for 32 lanes and i < 2 · pairs. */
GPT_INLINE void multiply(v128_t dot[LANES / 4], const int8_t *bytes, const int16_t *q, size_t pairs,
                         int32_t bias)
{
    enum { VECTORS = GPT_INT8_PAIR / 16 };
    v128_t low[VECTORS], high[VECTORS]; /* lanes 0 ... 3 and 4 ... 7 of each 8; low has 256 · high too much */
    for (size_t v = 0; v < VECTORS; v++) low[v] = wasm_i32x4_splat(bias), high[v] = wasm_i32x4_splat(0);
    for (size_t i = 0; i < pairs; i++, bytes += GPT_INT8_PAIR) {
        const v128_t q_i = wasm_v128_load32_splat(q + 2 * i);
        for (size_t v = 0; v < VECTORS; v++) {
            const v128_t both = wasm_v128_load(bytes + 16 * v);
            low[v] = wasm_i32x4_add(low[v], wasm_i32x4_dot_i16x8(both, q_i));
            high[v] = wasm_i32x4_add(high[v], wasm_i32x4_dot_i16x8(wasm_i16x8_shr(both, 8), q_i));
        }
    }
    for (size_t v = 0; v < VECTORS; v++) {
        dot[2 * v] = wasm_i32x4_sub(low[v], wasm_i32x4_shl(high[v], 8));
        dot[2 * v + 1] = high[v];
    }
}

/* The scores of a block's 32 tokens. */
static void multiply_keys(float *scores, const int16_t *q, gpt_int8_run of, const int8_t *block, size_t size)
{
    v128_t dot[LANES / 4];
    multiply(dot, block, q, size / 2 + size % 2, of.bias);
    const float *scales = scales_at(block + key_scales_at(size));
    for (size_t i = 0; i < LANES; i += 4) {
        const v128_t scale = wasm_f32x4_mul(wasm_f32x4_splat(of.step), wasm_v128_load(scales + i));
        wasm_v128_store(scores + i, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(dot[i / 4]), scale));
    }
}

/* y[columns] += Σ_j weights[j] · v[j] over the n <= 32 tokens of a block. Overwrites `weights`. */
static void add_values(float *y, float *weights, const int8_t *block, size_t n, size_t columns)
{
    int16_t p[LANES];
    const float *scales = scales_at(block);
    for (size_t i = 0; i < n; i += 4)
        wasm_v128_store(weights + i, wasm_f32x4_mul(wasm_v128_load(weights + i), wasm_v128_load(scales + i)));
    const gpt_int8_run of = pack(p, weights, n, MOST_Q);
    block += SCALE_BYTES;
    for (size_t c = 0; c < columns; c += LANES, block += PANEL_BYTES) {
        v128_t dot[LANES / 4];
        multiply(dot, block, p, n / 2 + n % 2, of.bias);
        for (size_t i = 0; i < LANES; i += 4)
            wasm_v128_store(y + c + i,
                            gpt_multiply_then_add(wasm_f32x4_convert_i32x4(dot[i / 4]),
                                                  wasm_f32x4_splat(of.step), wasm_v128_load(y + c + i)));
    }
}

/* y of token number t. */
static void attend_one(float *y, float *scratch, const gpt_head *a, size_t t, size_t heads)
{
    const int8_t *keys_of_head = (const int8_t *)a->k, *values_of_head = (const int8_t *)a->v;
    const size_t step = a->cache_step * sizeof(float), size = a->size, columns = columns_of(size),
                 bytes = block_bytes(size);
    const size_t n = a->past + t + 1, keys = gpt_round_up(n, LANES);
    float *sums = scratch, *scores = sums + heads * columns; /* [heads][columns], [heads][keys] */
    gpt_int8_run *queries = (gpt_int8_run *)(void *)(scores + heads * keys); /* [heads] */
    int16_t *q = (int16_t *)(void *)(queries + heads);                       /* [heads][columns] */
    for (size_t h = 0; h < heads; h++) {
        queries[h] = pack(q + h * columns, a->q + t * a->step + h * size, size, most_query(size));
        queries[h].step /= sqrtf((float)size);
    }
    for (size_t j = 0; j < n; j += LANES)
        for (size_t h = 0; h < heads; h++)
            multiply_keys(scores + h * keys + j, q + h * columns, queries[h],
                          keys_of_head + j / LANES * step + h * bytes, size);
    for (size_t h = 0; h < heads; h++) gpt_attention_softmax(scores + h * keys, n, keys);
    gpt_fill_zeros(sums, heads * columns);
    for (size_t j = 0; j < n; j += LANES)
        for (size_t h = 0; h < heads; h++)
            add_values(sums + h * columns, scores + h * keys + j,
                       values_of_head + j / LANES * step + h * bytes, gpt_min(n - j, LANES), columns);
    for (size_t h = 0; h < heads; h++) memcpy(y + h * size, sums + h * columns, size * sizeof(float));
}

static void attend(float *y, float *scratch, const gpt_head *a, size_t heads)
{
    for (size_t t = 0; t < a->tokens; t++) attend_one(y + t * (a->step / 3), scratch, a, t, heads);
}

int gpt_attention_int8_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                               size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                               size_t size, size_t part, size_t parts)
{
    const gpt_cache cache = {.head_size = gpt_attention_int8_cache_size(capacity, size),
                             .key_piece = block_bytes(size) / sizeof(float),
                             .value_piece = block_bytes(size) / sizeof(float),
                             .scratch_size = gpt_attention_int8_scratch_size(tokens, past, heads, size),
                             .append = append,
                             .attend = attend};
    return gpt_attention_with(&cache, y, keys, values, scratch, qkv, batch, tokens, past, capacity, heads,
                              size, part, parts);
}
