/* A key/value cache in float32; attention_cache.h has what both kinds share, attention_forward.c the
 * equations.
 *
 *   keys    [batch][2 groups][panels][heads][size][12]       panels = ⌈capacity / 12⌉
 *   values  [batch][2 groups][12 · panels][heads][size]      heads: those of the group
 *
 * 12 keys are the lanes of three vectors, so that a score needs no sum over lanes. gemm's tiles read them in
 * place.
 *
 * Many tokens, a prompt, are attention's blocks of queries. A few are computed one by one, without tiles:
 * the scores of all heads, their softmax, then the sums of values. Bound by reading the keys and values: the
 * layout makes each of them one stream through memory. Microseconds for one token and 12 heads of size 64,
 * from memory, AMD EPYC:
 *   keys and values of          32   128   512
 *   a bare read                 10    32   129
 *   all heads, in two groups    20    48   150
 *   one of the groups           11    25    75
 */
#include <math.h>

#include "attention_cache.h"

size_t gpt_attention_cache_size(size_t capacity, size_t size)
{
    return gpt_floats(gpt_round_up(capacity, KEYS_PER_PANEL), size);
}

size_t gpt_attention_cached_scratch_size(size_t tokens, size_t past, size_t heads, size_t size)
{
    const size_t keys = gpt_floats_sum(past, tokens);
    if (!gpt_fits4(keys, heads, size, 1)) return GPT_TOO_MANY;
    if (tokens >= FEWEST_TOKENS_BY_HEAD) return gpt_attention_block_size(tokens, keys, size);
    /* for each head the scaled query, and the scores of whole panels */
    return gpt_floats(heads, gpt_floats_sum(gpt_round_up(keys, KEYS_PER_PANEL), size));
}

/* Key j is a lane of its panel: number d is at d · KEYS_PER_PANEL. */
static void append(float *keys, float *values, const gpt_head *a)
{
    const float *k = a->k, *v = a->v;
    for (size_t j = a->past; j < a->past + a->tokens; j++, k += a->step, v += a->step) {
        float *to = keys + j / KEYS_PER_PANEL * KEYS_PER_PANEL * a->cache_step + j % KEYS_PER_PANEL;
        for (size_t d = 0; d < a->size; d++) to[d * KEYS_PER_PANEL] = k[d];
        to = values + j * a->cache_step;
        size_t d = 0;
        for (; d + 4 <= a->size; d += 4) wasm_v128_store(to + d, wasm_v128_load(v + d));
        for (; d < a->size; d++) to[d] = v[d];
    }
}

/* scores[12] = q · each key of a panel. Even and odd d are summed apart: two chains of additions for each
 * vector. */
GPT_INLINE void multiply_panel(float *scores, const float *q, const float *panel, size_t size)
{
    enum { VECTORS = KEYS_PER_PANEL / 4 };
    v128_t even[VECTORS], odd[VECTORS];
    for (size_t v = 0; v < VECTORS; v++) even[v] = odd[v] = wasm_f32x4_splat(0.0f);
    size_t d = 0;
    for (; d + 2 <= size; d += 2, panel += 2 * KEYS_PER_PANEL) {
        const v128_t q_even = wasm_v128_load32_splat(q + d), q_odd = wasm_v128_load32_splat(q + d + 1);
        for (size_t v = 0; v < VECTORS; v++) {
            even[v] = gpt_multiply_add(q_even, wasm_v128_load(panel + 4 * v), even[v]);
            odd[v] = gpt_multiply_add(q_odd, wasm_v128_load(panel + KEYS_PER_PANEL + 4 * v), odd[v]);
        }
    }
    if (d < size)
        for (size_t v = 0; v < VECTORS; v++)
            even[v] = gpt_multiply_add(wasm_v128_load32_splat(q + d), wasm_v128_load(panel + 4 * v), even[v]);
    for (size_t v = 0; v < VECTORS; v++) wasm_v128_store(scores + 4 * v, wasm_f32x4_add(even[v], odd[v]));
}

/* y += weight · v */
GPT_INLINE void add_value(float *y, float weight, const float *v, size_t size)
{
    const v128_t w = wasm_f32x4_splat(weight);
    size_t d = 0;
    for (; d + 4 <= size; d += 4)
        wasm_v128_store(y + d, gpt_multiply_add(w, wasm_v128_load(v + d), wasm_v128_load(y + d)));
    for (; d < size; d++) y[d] += weight * v[d];
}

/* y of token number t, one by one. */
static void attend_one(float *y, float *scratch, const gpt_head *a, size_t t, size_t heads)
{
    const size_t n = a->past + t + 1, size = a->size, step = gpt_round_up(n, KEYS_PER_PANEL);
    float *q = scratch, *scores = q + heads * size; /* [heads][size], [heads][step] */
    gpt_scale_row(q, a->q + t * a->step, 1.0f / sqrtf((float)size), heads * size);
    for (size_t j = 0; j < n; j += KEYS_PER_PANEL)
        for (size_t h = 0; h < heads; h++)
            multiply_panel(scores + h * step + j, q + h * size,
                           a->k + j * a->cache_step + h * size * KEYS_PER_PANEL, size);
    for (size_t h = 0; h < heads; h++) gpt_attention_softmax(scores + h * step, n, step);
    for (size_t d = 0; d < heads * size; d++) y[d] = 0.0f;
    for (size_t j = 0; j < n; j++)
        for (size_t h = 0; h < heads; h++)
            add_value(y + h * size, scores[h * step + j], a->v + j * a->cache_step + h * size, size);
}

static void attend(float *y, float *scratch, const gpt_head *a, size_t heads)
{
    const size_t y_step = a->step / 3;
    if (a->tokens < FEWEST_TOKENS_BY_HEAD)
        for (size_t t = 0; t < a->tokens; t++) attend_one(y + t * y_step, scratch, a, t, heads);
    else
        for (size_t t = 0; t < a->tokens; t += QUERIES_PER_BLOCK)
            gpt_attention_block(y + t * y_step, y_step, NULL, NULL, scratch, a, t);
}

int gpt_attention_cached_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                                 size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                                 size_t size, size_t part, size_t parts)
{
    const gpt_cache cache = {.head_size = gpt_attention_cache_size(capacity, size),
                             .key_piece = KEYS_PER_PANEL * size,
                             .value_piece = size,
                             .scratch_size = gpt_attention_cached_scratch_size(tokens, past, heads, size),
                             .append = append,
                             .attend = attend};
    return gpt_attention_with(&cache, y, keys, values, scratch, qkv, batch, tokens, past, capacity, heads,
                              size, part, parts);
}
