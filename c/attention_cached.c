/* Causal attention with a key/value cache: the new tokens' keys and values are appended, then each new token
 * attends to the cache up to itself. attention_forward.c has the equations.
 *
 * Each head's cache is one stream through memory:
 *   keys    [capacity / 12][size][12]   12 keys are the lanes of three vectors, so that a score needs no sum
 *                                       over lanes; also the rows of gemm's tiles, read in place
 *   values  [capacity][size]
 *
 * Several tokens, a prompt, are attention's blocks of queries. A single token needs no tiles: all scores,
 * their softmax, then the sum of the values. Bound by reading the keys and values.
 */
#include <float.h>
#include <math.h>

#include "attention.h"
#include "reference.h"

size_t gpt_attention_cache_size(size_t capacity, size_t size)
{
    return gpt_floats(gpt_round_up(capacity, KEYS_PER_PANEL), size);
}

/* Scratch of a single token: the scaled query, and the scores of whole panels. */
static size_t token_size(size_t keys, size_t size)
{
    return gpt_floats_sum(gpt_round_up(keys, KEYS_PER_PANEL), gpt_round_up(size, 4));
}

size_t gpt_attention_cached_scratch_size(size_t tokens, size_t past, size_t size)
{
    const size_t keys = gpt_floats_sum(past, tokens);
    if (!gpt_fits(keys, size)) return GPT_TOO_MANY;
    return tokens == 1 ? token_size(keys, size) : gpt_attention_block_size(tokens, keys, size);
}

static int check(const float *y, const float *keys, const float *values, const float *scratch,
                 const float *qkv, size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                 size_t size, size_t part, size_t parts)
{
    if (!y || !keys || !values || !scratch || !qkv) return GPT_ERR_NULL;
    if (size == 0 || !gpt_fits4(batch, tokens, heads, gpt_floats(3, size)) ||
        !gpt_fits4(batch, heads, gpt_attention_cache_size(capacity, size), 1) ||
        gpt_floats_sum(past, tokens) > capacity ||
        !gpt_fits(gpt_attention_cached_scratch_size(tokens, past, size), parts))
        return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

/* Place of element d of key number j in a head's keys. */
static inline size_t key_index(size_t j, size_t d, size_t size)
{
    return (j / KEYS_PER_PANEL * size + d) * KEYS_PER_PANEL + j % KEYS_PER_PANEL;
}

/* Writes the new keys and values of one head to its cache. */
static void append(float *keys, float *values, const gpt_head *new, size_t past)
{
    for (size_t t = 0; t < new->tokens; t++) {
        const float *k = new->k + t * new->step;
        float *to = keys + key_index(past + t, 0, new->size);
        for (size_t d = 0; d < new->size; d++) to[d * KEYS_PER_PANEL] = k[d];
        memcpy(values + (past + t) * new->size, new->v + t * new->step, new->size * sizeof(float));
    }
}

/* q · k[j] / √size */
static double score(const float *q, const float *keys, size_t j, size_t size)
{
    double sum = 0.0;
    for (size_t d = 0; d < size; d++) sum += (double)q[d] * (double)keys[key_index(j, d, size)];
    return sum / sqrt((double)size);
}

int gpt_attention_cached_forward_ref(float *y, float *keys, float *values, float *scratch, const float *qkv,
                                     size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                                     size_t size)
{
    const int status = check(y, keys, values, scratch, qkv, batch, tokens, past, capacity, heads, size, 0, 1);
    if (status) return status;
    const size_t cache = gpt_attention_cache_size(capacity, size);
    for (size_t n = 0; tokens > 0 && n < batch * heads; n++) {
        const gpt_head new = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        float *k = keys + n * cache, *v = values + n * cache;
        append(k, v, &new, past);
        for (size_t t = 0; t < tokens; t++) {
            const float *q = new.q + t * new.step;
            float *y_t = y + (n / heads * tokens + t) * heads * size + n % heads * size;
            /* softmax over the keys up to the token itself */
            double max = -(double)INFINITY, sum = 0.0;
            for (size_t j = 0; j <= past + t; j++) max = fmax(max, score(q, k, j, size));
            for (size_t j = 0; j <= past + t; j++) sum += exp(score(q, k, j, size) - max);
            for (size_t d = 0; d < size; d++) {
                /* the weighted mean of their values */
                double mean = 0.0;
                for (size_t j = 0; j <= past + t; j++)
                    mean += exp(score(q, k, j, size) - max) / sum * (double)v[j * size + d];
                y_t[d] = (float)mean;
            }
        }
    }
    return GPT_OK;
}

/* scores[keys of whole panels] = q · each key. Even and odd d are summed apart: two chains of additions for
 * each vector. */
static void multiply_keys(float *scores, const float *q, const float *keys, size_t n, size_t size)
{
    enum { VECTORS = KEYS_PER_PANEL / 4 };
    for (size_t j = 0; j < n; j += KEYS_PER_PANEL) {
        v128_t even[VECTORS], odd[VECTORS];
        for (size_t v = 0; v < VECTORS; v++) even[v] = odd[v] = wasm_f32x4_splat(0.0f);
        size_t d = 0;
        for (; d + 2 <= size; d += 2, keys += 2 * KEYS_PER_PANEL) {
            const v128_t q_even = wasm_v128_load32_splat(q + d), q_odd = wasm_v128_load32_splat(q + d + 1);
            for (size_t v = 0; v < VECTORS; v++) {
                even[v] = gpt_multiply_add(q_even, wasm_v128_load(keys + 4 * v), even[v]);
                odd[v] = gpt_multiply_add(q_odd, wasm_v128_load(keys + KEYS_PER_PANEL + 4 * v), odd[v]);
            }
        }
        if (d < size) {
            const v128_t last = wasm_v128_load32_splat(q + d);
            for (size_t v = 0; v < VECTORS; v++)
                even[v] = gpt_multiply_add(last, wasm_v128_load(keys + 4 * v), even[v]);
            keys += KEYS_PER_PANEL;
        }
        for (size_t v = 0; v < VECTORS; v++)
            wasm_v128_store(scores + j + 4 * v, wasm_f32x4_add(even[v], odd[v]));
    }
}

/* Turns n scores into weights e^(score - largest), in place, and returns their sum. The lanes of the last
 * panel past n may have been anything; they become 0. */
static float softmax(float *scores, size_t n)
{
    const size_t end = gpt_round_up(n, KEYS_PER_PANEL);
    for (size_t j = n; j < end; j++) scores[j] = -INFINITY;
    /* -FLT_MAX instead of -INFINITY: with scores of -INFINITY, score - largest must not be NaN */
    v128_t most = wasm_f32x4_splat(-FLT_MAX), sum = wasm_f32x4_splat(0.0f);
    for (size_t j = 0; j < end; j += 4) most = wasm_f32x4_pmax(most, wasm_v128_load(scores + j));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    for (size_t j = 0; j < end; j += 4) {
        const v128_t e = gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(scores + j), most));
        wasm_v128_store(scores + j, e);
        sum = wasm_f32x4_add(sum, e);
    }
    return gpt_sum_lanes(sum);
}

/* y += Σ_j weights[j] · v[j] over `n` values, a constant where this function is called. */
GPT_INLINE void add_values(float *y, const float *weights, const float *v, size_t n, size_t size)
{
    size_t d = 0;
    for (; d + 4 <= size; d += 4) {
        v128_t sum = wasm_v128_load(y + d);
        for (size_t j = 0; j < n; j++)
            sum =
                gpt_multiply_add(wasm_v128_load32_splat(weights + j), wasm_v128_load(v + j * size + d), sum);
        wasm_v128_store(y + d, sum);
    }
    for (; d < size; d++)
        for (size_t j = 0; j < n; j++) y[d] += weights[j] * v[j * size + d];
}

/* y of a single query that sees `n` keys. */
static void attend(float *y, float *scratch, const float *q, const float *keys, const float *values, size_t n,
                   size_t size)
{
    enum { VALUES_PER_STEP = 8 };
    float *scores = scratch, *scaled = scratch + gpt_round_up(n, KEYS_PER_PANEL);
    const float scale = 1.0f / sqrtf((float)size);
    for (size_t d = 0; d < size; d++) scaled[d] = scale * q[d];
    multiply_keys(scores, scaled, keys, n, size);
    const float factor = 1.0f / softmax(scores, n);
    for (size_t d = 0; d < size; d++) y[d] = 0.0f;
    size_t j = 0;
    for (; j + VALUES_PER_STEP <= n; j += VALUES_PER_STEP)
        add_values(y, scores + j, values + j * size, VALUES_PER_STEP, size);
    for (; j < n; j++) add_values(y, scores + j, values + j * size, 1, size);
    for (size_t d = 0; d < size; d++) y[d] *= factor;
}

int gpt_attention_cached_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                                 size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                                 size_t size, size_t part, size_t parts)
{
    const int status =
        check(y, keys, values, scratch, qkv, batch, tokens, past, capacity, heads, size, part, parts);
    if (status) return status;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* however large the other sizes are */
    scratch += part * gpt_attention_cached_scratch_size(tokens, past, size);
    const size_t y_step = heads * size, cache = gpt_attention_cache_size(capacity, size);
    size_t n;
    const size_t end = gpt_share(batch * heads, 1, part, parts, &n);
    for (; n < end; n++) {
        gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        float *k = keys + n * cache, *v = values + n * cache;
        float *y_n = y + n / heads * tokens * y_step + n % heads * size;
        append(k, v, &a, past);
        if (tokens == 1) {
            attend(y_n, scratch, a.q, k, v, past + 1, size);
            continue;
        }
        a.k = k;
        a.v = v;
        a.v_step = size;
        a.past = past;
        a.has_key_panels = 1;
        for (size_t first = 0; first < tokens; first += QUERIES_PER_BLOCK)
            gpt_attention_block(y_n + first * y_step, y_step, NULL, NULL, scratch, &a, first);
    }
    return GPT_OK;
}
