/* Causal multi-head attention: y = softmax(q · kᵀ / √size, over the keys up to the query) · v. Vaswani et al.
 * 2017, arXiv:1706.03762, eq. 1; in tiles with a running softmax as in FlashAttention, Dao et al. 2022,
 * arXiv:2205.14135.
 *
 * A block of queries meets one tile of keys after the other, up to its own diagonal. The scores, their
 * softmax so far and the weighted sum of values stay in the first-level cache; no [tokens, tokens] matrix
 * exists. Both products, q · kᵀ and weights · v, are gemm's register tile with 8 queries as lanes.
 *
 * Bound by multiplying and adding. Milliseconds for 12 heads of size 64, AMD EPYC:
 *   tokens                         128               1024
 *   build                      simd  relaxed     simd  relaxed
 *   the two products alone     0.63     0.54       31       26
 *   + copies of k and v        0.67     0.57       33       28
 *   + softmax: all of forward  0.78     0.66       39       33
 *   backward, five products    1.6      1.5        88       74
 */
#include <float.h>
#include <math.h>

#include "attention.h"

/* A panel's softmax over the keys so far: each query's largest score, and its Σ e^(score - largest). */
typedef struct running_softmax {
    v128_t largest[2], sum[2];
} running_softmax;

/* One factor for each query of a panel. */
typedef struct panel_factors {
    v128_t low, high;
} panel_factors;

/* Turns one tile of scores into weights e^(score - largest), in place. Keys before `visible` are seen by all
 * 8 queries, key j by the queries `query` + 0 ... 7 that are not before it. Returns the factors that rescale
 * earlier sums to the new largest score. */
GPT_INLINE panel_factors softmax_tile(float *scores, size_t keys, size_t visible, size_t query,
                                      running_softmax *running)
{
    for (size_t j = visible; j < keys; j++)
        for (size_t half = 0; half < 2; half++) {
            float *s = scores + j * GPT_PANEL_WIDTH + 4 * half;
            const v128_t mask = gpt_sees(query + 4 * half, j);
            wasm_v128_store(s, wasm_v128_bitselect(wasm_v128_load(s), wasm_f32x4_splat(-INFINITY), mask));
        }
    v128_t low = running->largest[0], high = running->largest[1];
    for (size_t j = 0; j < keys; j++) {
        low = wasm_f32x4_pmax(low, wasm_v128_load(scores + j * GPT_PANEL_WIDTH));
        high = wasm_f32x4_pmax(high, wasm_v128_load(scores + j * GPT_PANEL_WIDTH + 4));
    }
    v128_t sum_low = wasm_f32x4_splat(0.0f), sum_high = sum_low;
    for (size_t j = 0; j < keys; j++) {
        const v128_t e_low = gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(scores + j * GPT_PANEL_WIDTH), low));
        const v128_t e_high =
            gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(scores + j * GPT_PANEL_WIDTH + 4), high));
        wasm_v128_store(scores + j * GPT_PANEL_WIDTH, e_low);
        wasm_v128_store(scores + j * GPT_PANEL_WIDTH + 4, e_high);
        sum_low = wasm_f32x4_add(sum_low, e_low);
        sum_high = wasm_f32x4_add(sum_high, e_high);
    }
    const panel_factors rescale = {gpt_exp_f32x4(wasm_f32x4_sub(running->largest[0], low)),
                                   gpt_exp_f32x4(wasm_f32x4_sub(running->largest[1], high))};
    *running = (running_softmax){{low, high},
                                 {gpt_multiply_add(running->sum[0], rescale.low, sum_low),
                                  gpt_multiply_add(running->sum[1], rescale.high, sum_high)}};
    return rescale;
}

/* out[size][8] *= factors, unless all of them are 1. */
static inline void rescale_panel(float *out, panel_factors factors, size_t size)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    if (!wasm_v128_any_true(wasm_v128_or(wasm_f32x4_ne(factors.low, one), wasm_f32x4_ne(factors.high, one))))
        return;
    for (size_t d = 0; d < size; d++) {
        float *low = out + d * GPT_PANEL_WIDTH, *high = low + 4;
        wasm_v128_store(low, wasm_f32x4_mul(wasm_v128_load(low), factors.low));
        wasm_v128_store(high, wasm_f32x4_mul(wasm_v128_load(high), factors.high));
    }
}

/* Dropout for one tile of weights: queries from `query` on, keys from `key` on. */
static void drop_weights(float *weights, const gpt_head *a, size_t query, size_t key, size_t keys)
{
    const gpt_mask mask = gpt_mask_of(a->seed, a->p);
    for (size_t j = 0; j < keys; j++)
        for (size_t lane = 0; lane < GPT_PANEL_WIDTH; lane += 4) {
            float *w = weights + j * GPT_PANEL_WIDTH + lane;
            const v128_t factors = gpt_mask_factors(&mask, gpt_dropout_index(a, query + lane, key + j));
            wasm_v128_store(w, wasm_f32x4_mul(wasm_v128_load(w), factors));
        }
}

/* out[size][8] += Σ over keys of v[key] · weights[key][8]. `visible` and `query`: see softmax_tile. For keys
 * that some of the 8 queries must not see, v is masked per query, too: the weight is 0, but 0 · NaN is NaN. */
static void add_values(float *out, const float *weights, const float *v, size_t keys, size_t visible,
                       size_t query, size_t size)
{
    const size_t v_step = gpt_padded(size);
    gpt_add_weighted_rows(out, weights, GPT_PANEL_WIDTH, v, visible, size);
    if (visible == keys) return;
    for (size_t d = 0; d < size; d++) {
        v128_t low = wasm_v128_load(out + d * GPT_PANEL_WIDTH),
               high = wasm_v128_load(out + d * GPT_PANEL_WIDTH + 4);
        for (size_t j = visible; j < keys; j++) {
            const v128_t v_jd = wasm_v128_load32_splat(v + j * v_step + d);
            const v128_t w_low = wasm_v128_load(weights + j * GPT_PANEL_WIDTH),
                         w_high = wasm_v128_load(weights + j * GPT_PANEL_WIDTH + 4);
            low = gpt_multiply_add(wasm_v128_and(v_jd, gpt_sees(query, j)), w_low, low);
            high = gpt_multiply_add(wasm_v128_and(v_jd, gpt_sees(query + 4, j)), w_high, high);
        }
        wasm_v128_store(out + d * GPT_PANEL_WIDTH, low);
        wasm_v128_store(out + d * GPT_PANEL_WIDTH + 4, high);
    }
}

size_t gpt_attention_block_size(size_t tokens, size_t keys, size_t size)
{
    const size_t queries = gpt_block_queries(tokens), tile_keys = gpt_tile_keys(keys);
    return gpt_floats_sum(gpt_floats(2 * (queries + tile_keys), gpt_padded(size)),
                          tile_keys * GPT_PANEL_WIDTH);
}

size_t gpt_attention_scratch_size(size_t tokens, size_t size)
{
    return gpt_fits(tokens, size) ? gpt_attention_block_size(tokens, tokens, size) : GPT_TOO_MANY;
}

/* scores[key][8] of a tile of keys from number `begin` on. `k` has their rows, unless they are in panels. */
static void multiply_tile(float *scores, const float *panel, const gpt_head *a, const float *k, size_t begin,
                          size_t keys)
{
    if (!a->cache_step) {
        gpt_multiply_keys(scores, GPT_PANEL_WIDTH, panel, k, keys, a->size);
        return;
    }
    for (size_t j = 0; j < keys; j += KEYS_PER_PANEL)
        gpt_gemm_tiles(&(gpt_tiles){.y = scores + j * GPT_PANEL_WIDTH,
                                    .y_row = GPT_PANEL_WIDTH,
                                    .a = a->k + (begin + j) * a->cache_step,
                                    .a_row = 1,
                                    .a_col = KEYS_PER_PANEL,
                                    .b = panel,
                                    .b_row = GPT_PANEL_WIDTH,
                                    .rows = gpt_min(KEYS_PER_PANEL, keys - j),
                                    .depth = a->size,
                                    .panels = 1});
}

/* y = out / sum, and the softmax's max and sum unless NULL, for n queries of a block. */
static void write_block(float *y, size_t y_step, float *max, float *sum, const float *out,
                        const running_softmax *softmax, size_t n, size_t size)
{
    const size_t row = gpt_padded(size);
    for (size_t r = 0; r < n; r++) {
        const size_t panel = r / GPT_PANEL_WIDTH, lane = r % GPT_PANEL_WIDTH;
        const float *out_r = out + panel * GPT_PANEL_WIDTH * row + lane;
        float largest[GPT_PANEL_WIDTH], sums[GPT_PANEL_WIDTH];
        for (size_t half = 0; half < 2; half++) {
            wasm_v128_store(largest + 4 * half, softmax[panel].largest[half]);
            wasm_v128_store(sums + 4 * half, softmax[panel].sum[half]);
        }
        const float factor = 1.0f / sums[lane];
        for (size_t d = 0; d < size; d++) y[r * y_step + d] = factor * out_r[d * GPT_PANEL_WIDTH];
        if (max) max[r] = largest[lane];
        if (sum) sum[r] = sums[lane];
    }
}

void gpt_attention_block(float *y, size_t y_step, float *max, float *sum, float *scratch, const gpt_head *a,
                         size_t first)
{
    const size_t size = a->size, row = gpt_padded(size);
    const size_t n = gpt_min(QUERIES_PER_BLOCK, a->tokens - first);
    const size_t start = a->past + first, end = start + n; /* positions of the queries */
    const size_t queries = gpt_block_queries(a->tokens), tile_keys = gpt_tile_keys(a->past + a->tokens);
    float *q = scratch, *out = q + queries * row;             /* panels: [queries / 8][row][8] */
    float *k = out + queries * row, *v = k + tile_keys * row; /* [tile_keys][row] */
    float *scores = v + tile_keys * row;                      /* [tile_keys][8] */

    running_softmax softmax[QUERIES_PER_BLOCK / GPT_PANEL_WIDTH];
    /* -FLT_MAX instead of -INFINITY: with scores of -INFINITY, score - largest must not be NaN */
    const v128_t zero = wasm_f32x4_splat(0.0f), lowest = wasm_f32x4_splat(-FLT_MAX);
    for (size_t panel = 0; panel < queries / GPT_PANEL_WIDTH; panel++)
        softmax[panel] = (running_softmax){{lowest, lowest}, {zero, zero}};
    gpt_pack_queries(q, a->q + first * a->step, n, a->step, size, 1.0f / sqrtf((float)size));
    gpt_fill_zeros(out, queries * row);

    for (size_t begin = 0; begin < end; begin += KEYS_PER_TILE) {
        const size_t tile = gpt_min(KEYS_PER_TILE, end - begin);
        if (!a->cache_step)
            gpt_copy_rows(k, gpt_round_up(tile, GPT_TILE_ROWS), a->k + begin * a->step, tile, a->step, size);
        const size_t v_step = a->cache_step ? a->cache_step : a->step;
        gpt_copy_rows(v, tile, a->v + begin * v_step, tile, v_step, size);
        /* from the first panel that has a query at or after the tile's first key */
        size_t r = begin > start ? (begin - start) / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH : 0;
        for (; r < n; r += GPT_PANEL_WIDTH) {
            /* the panel sees `keys` keys of the tile, and its first query `visible` of them */
            const size_t query = start + r, keys = gpt_min(tile, query + GPT_PANEL_WIDTH - begin),
                         visible = query < begin ? 0 : gpt_min(tile, query + 1 - begin);
            float *out_panel = out + r * row;
            multiply_tile(scores, q + r * row, a, k, begin, keys);
            rescale_panel(out_panel,
                          softmax_tile(scores, keys, visible, query - begin, softmax + r / GPT_PANEL_WIDTH),
                          size);
            if (a->p > 0.0f) drop_weights(scores, a, query, begin, keys);
            add_values(out_panel, scores, v, keys, visible, query - begin, size);
        }
    }
    write_block(y, y_step, max, sum, out, softmax, n, size);
}

int gpt_attention_forward(float *y, float *max, float *sum, float *scratch, const float *qkv, size_t batch,
                          size_t tokens, size_t heads, size_t size, uint32_t seed, float p, size_t part,
                          size_t parts)
{
    const size_t scratch_size = gpt_attention_scratch_size(tokens, size);
    const int status =
        gpt_attention_check(y && scratch && qkv, batch, tokens, heads, size, scratch_size, p, part, parts);
    if (status) return status;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* y is empty: skip the loops */
    scratch += part * scratch_size;
    const size_t y_step = heads * size;
    gpt_schedule mine = gpt_schedule_of(batch * heads, tokens, part, parts);
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        float *y_n = y + n / heads * tokens * y_step + n % heads * size;
        float *max_n = max ? max + n * tokens : NULL, *sum_n = sum ? sum + n * tokens : NULL;
        for (size_t first = 0; first < tokens; first += QUERIES_PER_BLOCK)
            if (gpt_schedule_has_next(&mine, first, tokens))
                gpt_attention_block(y_n + first * y_step, y_step, max_n ? max_n + first : NULL,
                                    sum_n ? sum_n + first : NULL, scratch, &a, first);
    }
    return GPT_OK;
}
