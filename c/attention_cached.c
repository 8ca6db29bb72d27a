/* Causal attention with a key/value cache: the new tokens' keys and values are appended, then each new token
 * attends to the cache up to itself. attention_forward.c has the equations.
 *
 *   keys    [batch][2 groups][panels][heads][size][12]       panels = ⌈capacity / 12⌉
 *   values  [batch][2 groups][12 · panels][heads][size]      heads: those of the group
 *
 * 12 keys are the lanes of three vectors, so that a score needs no sum over lanes. gemm's tiles read them in
 * place. attention.h says why the heads are in groups.
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

#include "attention.h"
#include "reference.h"

/* Milliseconds for 12 heads of size 64 at 500, one by one / as a block: 2 tokens 0.30 / 0.67, 6 tokens 0.90 /
 * 0.68. */
enum { FEWEST_TOKENS_IN_BLOCKS = 5 };

size_t gpt_attention_cache_size(size_t capacity, size_t size)
{
    return gpt_floats(gpt_round_up(capacity, KEYS_PER_PANEL), size);
}

/* Scratch of a single token: for each head the scaled query, and the scores of whole panels. */
static size_t token_size(size_t keys, size_t heads, size_t size)
{
    return gpt_floats(heads, gpt_floats_sum(gpt_round_up(keys, KEYS_PER_PANEL), size));
}

size_t gpt_attention_cached_scratch_size(size_t tokens, size_t past, size_t heads, size_t size)
{
    const size_t keys = gpt_floats_sum(past, tokens);
    if (!gpt_fits4(keys, heads, size, 1)) return GPT_TOO_MANY;
    return tokens < FEWEST_TOKENS_IN_BLOCKS ? token_size(keys, heads, size)
                                            : gpt_attention_block_size(tokens, keys, size);
}

/* Head number n of batch * heads, with its keys and values in the cache. */
static gpt_head head_of(const float *keys, const float *values, const float *qkv, size_t n, size_t tokens,
                        size_t past, size_t capacity, size_t heads, size_t size)
{
    const size_t in_group = gpt_heads_before(n, heads);
    const size_t group = (n - in_group) * gpt_attention_cache_size(capacity, size);
    gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
    a.k = keys + group + in_group * size * KEYS_PER_PANEL;
    a.v = values + group + in_group * size;
    a.past = past;
    a.cache_step = (in_group + gpt_heads_left(n, heads)) * size;
    return a;
}

/* Index of k[j,0] in a head's keys. k[j,c] is c · KEYS_PER_PANEL floats later. */
static inline size_t key_index(size_t j, size_t cache_step)
{
    return j / KEYS_PER_PANEL * KEYS_PER_PANEL * cache_step + j % KEYS_PER_PANEL;
}

/* Appends the new keys and values of one head to `keys` and `values`, the head's part of the cache. */
static void append(float *keys, float *values, const gpt_head *a)
{
    const float *k = a->q + a->step / 3, *v = k + a->step / 3;
    for (size_t j = a->past; j < a->past + a->tokens; j++, k += a->step, v += a->step) {
        float *to = keys + key_index(j, a->cache_step);
        for (size_t d = 0; d < a->size; d++) to[d * KEYS_PER_PANEL] = k[d];
        to = values + j * a->cache_step;
        size_t d = 0;
        for (; d + 4 <= a->size; d += 4) wasm_v128_store(to + d, wasm_v128_load(v + d));
        for (; d < a->size; d++) to[d] = v[d];
    }
}

/* q · k[j] / √size */
static double score(const gpt_head *a, const float *q, size_t j)
{
    const float *k = a->k + key_index(j, a->cache_step);
    double sum = 0.0;
    for (size_t d = 0; d < a->size; d++) sum += (double)q[d] * (double)k[d * KEYS_PER_PANEL];
    return sum / sqrt((double)a->size);
}

void gpt_attention_cached_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                      size_t tokens, size_t past, size_t capacity, size_t heads, size_t size)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = head_of(keys, values, qkv, n, tokens, past, capacity, heads, size);
        append(keys + (a.k - keys), values + (a.v - values), &a);
        for (size_t t = 0; t < tokens; t++) {
            const float *q = a.q + t * a.step;
            float *y_t = y + (n / heads * tokens + t) * heads * size + n % heads * size;
            /* softmax over the keys up to the token itself */
            double max = -(double)INFINITY, sum = 0.0;
            for (size_t j = 0; j <= past + t; j++) max = fmax(max, score(&a, q, j));
            for (size_t j = 0; j <= past + t; j++) sum += exp(score(&a, q, j) - max);
            for (size_t d = 0; d < size; d += MEANS) {
                /* the weighted mean of their values */
                const size_t n_means = size - d < MEANS ? size - d : MEANS;
                double mean[MEANS] = {0.0};
                for (size_t j = 0; j <= past + t; j++) {
                    const double weight = exp(score(&a, q, j) - max) / sum;
                    for (size_t m = 0; m < n_means; m++)
                        mean[m] += weight * (double)a.v[j * a.cache_step + d + m];
                }
                for (size_t m = 0; m < n_means; m++) y_t[d + m] = (float)mean[m];
            }
        }
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

/* to[i] = factor · from[i] */
static void scale(float *to, const float *from, float factor, size_t n)
{
    const v128_t f = wasm_f32x4_splat(factor);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) wasm_v128_store(to + i, wasm_f32x4_mul(f, wasm_v128_load(from + i)));
    for (; i < n; i++) to[i] = factor * from[i];
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

/* y of token number t: `heads` neighboring heads from `a` on. */
static void attend(float *y, float *scratch, const gpt_head *a, size_t t, size_t heads)
{
    const size_t n = a->past + t + 1, size = a->size, step = gpt_round_up(n, KEYS_PER_PANEL);
    float *q = scratch, *scores = q + heads * size; /* [heads][size], [heads][step] */
    scale(q, a->q + t * a->step, 1.0f / sqrtf((float)size), heads * size);
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

int gpt_attention_cached_forward(float *y, float *keys, float *values, float *scratch, const float *qkv,
                                 size_t batch, size_t tokens, size_t past, size_t capacity, size_t heads,
                                 size_t size, size_t part, size_t parts)
{
    if (!y || !keys || !values || !scratch || !qkv) return GPT_ERR_NULL;
    const size_t scratch_size = gpt_attention_cached_scratch_size(tokens, past, heads, size);
    const int status =
        gpt_attention_cached_check(batch, tokens, past, capacity, heads, size,
                                   gpt_attention_cache_size(capacity, size), scratch_size, part, parts);
    if (status) return status;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* y is empty: skip the loops */
    scratch += part * scratch_size;
    const size_t dim = heads * size;
    const int in_blocks = tokens >= FEWEST_TOKENS_IN_BLOCKS;
    size_t n, some;
    const size_t end = gpt_share(batch * heads, in_blocks ? 1 : gpt_heads_per_group(heads), part, parts, &n);
    for (; n < end; n += some) {
        /* the heads of one group, or one head */
        some = in_blocks ? 1 : gpt_min(end - n, gpt_heads_left(n, heads));
        const gpt_head a = head_of(keys, values, qkv, n, tokens, past, capacity, heads, size);
        for (size_t h = 0; h < some; h++) {
            const gpt_head b = head_of(keys, values, qkv, n + h, tokens, past, capacity, heads, size);
            append(keys + (b.k - keys), values + (b.v - values), &b);
        }
        float *y_n = y + n / heads * tokens * dim + n % heads * size;
        for (size_t t = 0; t < tokens; t += in_blocks ? QUERIES_PER_BLOCK : 1) {
            if (in_blocks)
                gpt_attention_block(y_n + t * dim, dim, NULL, NULL, scratch, &a, t);
            else
                attend(y_n + t * dim, scratch, &a, t, some);
        }
    }
    return GPT_OK;
}
