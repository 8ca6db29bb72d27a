/* The weights of attention, softmax(q · kᵀ / √size): w[i, j] = e^(score[i, j] - max[i]) / sum[i] for j <= i,
 * otherwise 0. Forward and backward never store them. */
#include <math.h>

#include "attention.h"

/* w[i, j] for the queries i of one panel and the keys j of one tile. w, max and sum begin with the head's. */
static void write_tile(float *w, const float *scores, const float *max, const float *sum, size_t query,
                       size_t end_query, size_t begin, size_t end_key, size_t tokens)
{
    for (size_t i = query; i < end_query; i++) {
        const size_t end = gpt_min(end_key, i + 1);
        const v128_t max4 = wasm_f32x4_splat(max[i]), factor = wasm_f32x4_splat(1.0f / sum[i]);
        for (size_t j = begin; j < end; j += 4) {
            /* four keys of one query, which lie a panel apart */
            const float *s = scores + (j - begin) * GPT_PANEL_WIDTH + i - query;
            const size_t n = gpt_min(4, end - j);
            float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (size_t l = 0; l < n; l++) lanes[l] = s[l * GPT_PANEL_WIDTH];
            const v128_t e = gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(lanes), max4));
            gpt_store_tail(w + i * tokens + j, wasm_f32x4_mul(e, factor), n);
        }
    }
}

/* The weights of the block of queries from `first` on. w [tokens, tokens], max and sum begin with the
 * head's. */
static void weights_block(float *w, float *scratch, const gpt_head *a, const float *max, const float *sum,
                          size_t first)
{
    const size_t tokens = a->tokens, size = a->size, row = gpt_padded(size);
    const size_t n = gpt_min(QUERIES_PER_BLOCK, tokens - first), end = first + n;
    float *q = scratch, *k = q + gpt_block_queries(tokens) * row, *scores = k + gpt_tile_keys(tokens) * row;
    gpt_pack_queries(q, a->q + first * a->step, n, a->step, size, 1.0f / sqrtf((float)size));
    for (size_t begin = 0; begin < end; begin += KEYS_PER_TILE) {
        const size_t tile = gpt_min(KEYS_PER_TILE, end - begin);
        gpt_copy_rows(k, gpt_round_up(tile, GPT_TILE_ROWS), a->k + begin * a->step, tile, a->step, size);
        for (size_t query = begin > first ? begin : first; query < end; query += GPT_PANEL_WIDTH) {
            const size_t keys = gpt_min(tile, query + GPT_PANEL_WIDTH - begin);
            gpt_multiply_keys(scores, GPT_PANEL_WIDTH, q + (query - first) * row, k, keys, size);
            write_tile(w, scores, max, sum, query, gpt_min(query + GPT_PANEL_WIDTH, end), begin, begin + tile,
                       tokens);
        }
    }
    for (size_t i = first; i < end; i++)
        for (size_t j = i + 1; j < tokens; j++) w[i * tokens + j] = 0.0f;
}

int gpt_attention_weights(float *w, float *scratch, const float *qkv, const float *max, const float *sum,
                          size_t batch, size_t tokens, size_t heads, size_t size, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_attention_scratch_size(tokens, size);
    const int status = gpt_attention_check(w && scratch && qkv && max && sum, batch, tokens, heads, size,
                                           scratch_size, 0.0f, part, parts);
    if (status) return status;
    if (!gpt_fits4(batch, heads, tokens, tokens)) return GPT_ERR_SIZE;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* w is empty: skip the loops */
    scratch += part * scratch_size;
    gpt_schedule mine = gpt_schedule_of(batch * heads, tokens, part, parts);
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        for (size_t first = 0; first < tokens; first += QUERIES_PER_BLOCK)
            if (gpt_schedule_has_next(&mine, first, tokens))
                weights_block(w + n * tokens * tokens, scratch, &a, max + n * tokens, sum + n * tokens,
                              first);
    }
    return GPT_OK;
}
