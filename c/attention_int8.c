/* Causal attention with a key/value cache in int8; attention_cached.c has the same in float32.
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

#include "attention.h"
#include "int8.h"
#include "reference.h"

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

/* A head in the cache: its first block of keys and of values, and the bytes from a block to the next. */
typedef struct place {
    int8_t *keys, *values;
    size_t step;
} place;

static place place_of(float *keys, float *values, size_t n, size_t capacity, size_t heads, size_t size)
{
    const size_t before = gpt_heads_before(n, heads), bytes = block_bytes(size);
    const size_t group = (n - before) * gpt_attention_int8_cache_size(capacity, size);
    return (place){.keys = (int8_t *)(keys + group) + before * bytes,
                   .values = (int8_t *)(values + group) + before * bytes,
                   .step = (before + gpt_heads_left(n, heads)) * bytes};
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
static inline float *key_scales(int8_t *block, size_t size)
{
    return (float *)(void *)(block + gpt_round_up(size, 4) / 2 * GPT_INT8_PAIR);
}
static inline float *value_scales(int8_t *block) { return (float *)(void *)block; }

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
    key_scales(keys, size)[j % LANES] = key.step;
    value_scales(values)[j % LANES] = value.step;
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

static void append(place to, const gpt_head *a)
{
    for (size_t t = 0; t < a->tokens; t++) {
        const size_t j = a->past + t, block = j / LANES * to.step;
        store_token(to.keys + block, to.values + block, a->k + t * a->step, a->v + t * a->step, j, a->size);
    }
}

/* q · k[j] / √size */
static double score(place from, const float *q, size_t j, size_t size)
{
    int8_t *block = from.keys + j / LANES * from.step;
    double sum = 0.0;
    for (size_t c = 0; c < size; c++) sum += (double)q[c] * gpt_int8_coded(block[key_at(j, c)], j);
    return sum * (double)key_scales(block, size)[j % LANES] / sqrt((double)size);
}

void gpt_attention_int8_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                    size_t tokens, size_t past, size_t capacity, size_t heads, size_t size)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const place cache = place_of(keys, values, n, capacity, heads, size);
        gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        a.past = past;
        append(cache, &a);
        for (size_t t = 0; t < tokens; t++) {
            const float *q = a.q + t * a.step;
            float *y_t = y + (n / heads * tokens + t) * heads * size + n % heads * size;
            /* softmax over the keys up to the token itself */
            double max = -(double)INFINITY, sum = 0.0;
            for (size_t j = 0; j <= past + t; j++) max = fmax(max, score(cache, q, j, size));
            for (size_t j = 0; j <= past + t; j++) sum += exp(score(cache, q, j, size) - max);
            for (size_t c = 0; c < size; c += MEANS) {
                /* the weighted mean of their values */
                const size_t n_means = size - c < MEANS ? size - c : MEANS;
                double mean[MEANS] = {0.0};
                for (size_t j = 0; j <= past + t; j++) {
                    int8_t *block = cache.values + j / LANES * cache.step;
                    const double weight =
                        exp(score(cache, q, j, size) - max) / sum * (double)value_scales(block)[j % LANES];
                    for (size_t m = 0; m < n_means; m++)
                        mean[m] += weight * gpt_int8_coded(block[value_at(j, c + m)], c + m);
                }
                for (size_t m = 0; m < n_means; m++) y_t[c + m] = (float)mean[m];
            }
        }
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
static void multiply_keys(float *scores, const int16_t *q, gpt_int8_run of, int8_t *block, size_t size)
{
    v128_t dot[LANES / 4];
    multiply(dot, block, q, size / 2 + size % 2, of.bias);
    const float *scales = key_scales(block, size);
    for (size_t i = 0; i < LANES; i += 4) {
        const v128_t scale = wasm_f32x4_mul(wasm_f32x4_splat(of.step), wasm_v128_load(scales + i));
        wasm_v128_store(scores + i, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(dot[i / 4]), scale));
    }
}

/* y[columns] += Σ_j weights[j] · v[j] over the n <= 32 tokens of a block. Overwrites `weights`. */
static void add_values(float *y, float *weights, int8_t *block, size_t n, size_t columns)
{
    int16_t p[LANES];
    const float *scales = value_scales(block);
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

/* y of token number t: `heads` neighboring heads from `a` and `from` on. */
static void attend(float *y, float *scratch, const gpt_head *a, place from, size_t t, size_t heads)
{
    const size_t size = a->size, columns = columns_of(size), bytes = block_bytes(size);
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
                          from.keys + j / LANES * from.step + h * bytes, size);
    for (size_t h = 0; h < heads; h++) gpt_attention_softmax(scores + h * keys, n, keys);
    gpt_fill_zeros(sums, heads * columns);
    for (size_t j = 0; j < n; j += LANES)
        for (size_t h = 0; h < heads; h++)
            add_values(sums + h * columns, scores + h * keys + j,
                       from.values + j / LANES * from.step + h * bytes, gpt_min(n - j, LANES), columns);
    for (size_t h = 0; h < heads; h++) memcpy(y + h * size, sums + h * columns, size * sizeof(float));
}

int gpt_attention_int8_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                               size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                               size_t size, size_t part, size_t parts)
{
    if (!y || !keys || !values || !scratch || !qkv) return GPT_ERR_NULL;
    const size_t scratch_size = gpt_attention_int8_scratch_size(tokens, past, heads, size);
    const int status =
        gpt_attention_cached_check(batch, tokens, past, capacity, heads, size,
                                   gpt_attention_int8_cache_size(capacity, size), scratch_size, part, parts);
    if (status) return status;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* y is empty: skip the loops */
    scratch += part * scratch_size;
    const size_t dim = heads * size, group = gpt_heads_per_group(heads);
    /* Few tokens: all heads of a group at once, so that the cache is read as one stream. Many tokens: one head
     * at a time, because each token reads that head again, from the processor's cache. */
    const int is_few = tokens < 5;
    size_t n, some;
    const size_t end = gpt_share(batch * heads, is_few ? group : 1, part, parts, &n);
    for (; n < end; n += some) {
        some = is_few ? gpt_min(end - n, gpt_heads_left(n, heads)) : 1;
        gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        a.past = past;
        for (size_t h = 0; h < some; h++) {
            gpt_head b = gpt_head_of(qkv, n + h, tokens, heads, size, 0, 0.0f);
            b.past = past;
            append(place_of(keys, values, n + h, capacity, heads, size), &b);
        }
        const place cache = place_of(keys, values, n, capacity, heads, size);
        float *y_n = y + n / heads * tokens * dim + n % heads * size;
        for (size_t t = 0; t < tokens; t++) attend(y_n + t * dim, scratch, &a, cache, t, some);
    }
    return GPT_OK;
}
