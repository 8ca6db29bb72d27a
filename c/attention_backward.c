/* The gradients of attention. gpt_layers.h has the formulas. The names here:
 *   kept     dropout's factor of a weight, 0 or 1 / (1 - p)
 *   dweight  kept · dy · v, the gradient of a weight
 *   dscore   weight · (dweight - dy · y), the gradient of a score
 *
 * As in forward, a block of queries meets one tile of keys after the other. The weights are computed again, a
 * tile at a time, from the stored max and sum. First each panel of 8 queries computes its weights, dscores
 * and dq, with queries as lanes. Then the block adds to dk and dv of the tile's keys, a few keys at a time,
 * with columns of q and dy as lanes. dk and dv are sums over all queries, so a part computes whole heads.
 *
 * Bound by multiplying and adding, in five products. attention_forward.c has the times.
 */
#include <math.h>

#include "attention.h"

/* One head's gradients and inputs. Rows of dq, dk and dv are a.step floats apart, rows of dy and y y_step. */
typedef struct backward_head {
    gpt_head a;
    float *dq, *dk, *dv;
    const float *dy, *y, *max, *sum;
    size_t y_step;
} backward_head;

/* Scratch of one part. Every row of a head is padded to gpt_padded(size) floats. */
typedef struct backward_scratch {
    float *k, *v, *dk_sums, *dv_sums;        /* [padded tokens][row]: all keys of the head */
    float *q_rows, *dy_rows;                 /* [queries][row]: one block */
    float *q_panels, *dy_panels, *dq_panels; /* [queries / 8][row][8]: one block */
    float *weights, *dscores;                /* [tile keys][queries]: one block by one tile */
    size_t row, queries;
} backward_scratch;

size_t gpt_attention_backward_scratch_size(size_t tokens, size_t size)
{
    if (!gpt_fits(tokens, size)) return GPT_TOO_MANY;
    const size_t queries = gpt_block_queries(tokens), all = gpt_floats(4, gpt_padded(tokens));
    return gpt_floats_sum(gpt_floats(gpt_floats_sum(all, 5 * queries), gpt_padded(size)),
                          2 * gpt_tile_keys(tokens) * queries);
}

static backward_scratch scratch_of(float *scratch, size_t tokens, size_t size)
{
    const size_t queries = gpt_block_queries(tokens), row = gpt_padded(size);
    const size_t all = gpt_padded(tokens) * row, block = queries * row;
    float *blocks = scratch + 4 * all, *tiles = blocks + 5 * block;
    return (backward_scratch){.k = scratch,
                              .v = scratch + all,
                              .dk_sums = scratch + 2 * all,
                              .dv_sums = scratch + 3 * all,
                              .q_rows = blocks,
                              .dy_rows = blocks + block,
                              .q_panels = blocks + 2 * block,
                              .dy_panels = blocks + 3 * block,
                              .dq_panels = blocks + 4 * block,
                              .weights = tiles,
                              .dscores = tiles + gpt_tile_keys(tokens) * queries,
                              .row = row,
                              .queries = queries};
}

/* max, 1 / sum and dy · y of a panel's 8 queries. dy · y equals Σ over the keys of weight · dweight, which
 * softmax's gradient subtracts. */
typedef struct panel_rows {
    v128_t max[2], factor[2], dy_y[2];
} panel_rows;

static panel_rows panel_rows_of(const float *max, const float *sum, const float *dy, const float *y, size_t n,
                                size_t step, size_t size)
{
    float max_r[GPT_PANEL_WIDTH] = {0.0f}, factor[GPT_PANEL_WIDTH] = {0.0f}, dy_y[GPT_PANEL_WIDTH] = {0.0f};
    for (size_t r = 0; r < n; r++) {
        double dot = 0.0;
        for (size_t d = 0; d < size; d++) dot += (double)dy[r * step + d] * (double)y[r * step + d];
        max_r[r] = max[r];
        factor[r] = 1.0f / sum[r];
        dy_y[r] = (float)dot;
    }
    return (panel_rows){{wasm_v128_load(max_r), wasm_v128_load(max_r + 4)},
                        {wasm_v128_load(factor), wasm_v128_load(factor + 4)},
                        {wasm_v128_load(dy_y), wasm_v128_load(dy_y + 4)}};
}

/* In place, for one panel of queries and `keys` keys, both [key][8] with `step` floats from key to key:
 *   scores       ->  weight · kept
 *   dy · v       ->  dscore = weight · (kept · dy · v - dy · y) */
static void softmax_backward(float *scores, float *dy_v, size_t step, const gpt_head *a,
                             const panel_rows *rows, size_t query, size_t key, size_t keys)
{
    const gpt_mask mask = gpt_mask_of(a->seed, a->p);
    const int drops = a->p > 0.0f;
    for (size_t j = 0; j < keys; j++)
        for (size_t half = 0; half < 2; half++) {
            float *s = scores + j * step + 4 * half, *g = dy_v + j * step + 4 * half;
            const v128_t e = gpt_exp_f32x4(wasm_f32x4_sub(wasm_v128_load(s), rows->max[half]));
            const v128_t weight =
                wasm_v128_and(wasm_f32x4_mul(e, rows->factor[half]), gpt_sees(query + 4 * half, key + j));
            v128_t dweight = wasm_v128_load(g);
            if (drops) {
                const v128_t kept = gpt_mask_factors(&mask, gpt_dropout_index(a, query + 4 * half, key + j));
                wasm_v128_store(s, wasm_f32x4_mul(weight, kept));
                dweight = wasm_f32x4_mul(kept, dweight);
            } else {
                wasm_v128_store(s, weight);
            }
            wasm_v128_store(g, wasm_f32x4_mul(weight, wasm_f32x4_sub(dweight, rows->dy_y[half])));
        }
}

/* The queries from first + r on, a panel, meet the tile of keys from `begin` on: weights, dscores and dq. */
static void backward_panel(const backward_scratch *s, const gpt_head *a, const panel_rows *rows, size_t first,
                           size_t r, size_t begin, size_t tile)
{
    const size_t size = a->size, row = s->row, query = first + r;
    const size_t keys = gpt_round_up(gpt_min(tile, query + GPT_PANEL_WIDTH - begin), GPT_TILE_ROWS);
    const float *k = s->k + begin * row, *v = s->v + begin * row;
    float *weights = s->weights + r, *dscores = s->dscores + r, *dq = s->dq_panels + r * row;
    gpt_multiply_keys(weights, s->queries, s->q_panels + r * row, k, keys, size);
    gpt_multiply_keys(dscores, s->queries, s->dy_panels + r * row, v, keys, size);
    softmax_backward(weights, dscores, s->queries, a, rows + r / GPT_PANEL_WIDTH, query, begin, keys);
    gpt_add_weighted_rows(dq, dscores, s->queries, k, keys, size);
}

/* Adds this block's share of dk and dv, for GPT_TILE_ROWS keys from begin + j on. Earlier panels than the
 * first key's own do not see these keys. */
static void backward_keys(const backward_scratch *s, size_t size, size_t first, size_t n, size_t begin,
                          size_t j)
{
    const size_t row = s->row, key = begin + j,
                 panels = gpt_round_up(size, GPT_PANEL_WIDTH) / GPT_PANEL_WIDTH;
    const size_t r = key > first ? (key - first) / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH : 0;
    const float *weights = s->weights + j * s->queries + r, *dscores = s->dscores + j * s->queries + r;
    float *dv = s->dv_sums + key * row, *dk = s->dk_sums + key * row;
    gpt_tiles t = {.y = dv,
                   .y_row = row,
                   .y_panel = GPT_PANEL_WIDTH,
                   .start = dv,
                   .start_row = row,
                   .a = weights,
                   .a_row = s->queries,
                   .a_col = 1,
                   .b = s->dy_rows + r * row,
                   .b_row = row,
                   .b_panel = GPT_PANEL_WIDTH,
                   .rows = GPT_TILE_ROWS,
                   .depth = n - r,
                   .panels = panels};
    gpt_gemm_tiles(&t);
    t.y = dk;
    t.start = dk;
    t.a = dscores;
    t.b = s->q_rows + r * row;
    gpt_gemm_tiles(&t);
}

/* The block of queries from `first` on meets all keys up to its last query. Writes dq; adds to dk_sums and
 * dv_sums. */
static void backward_block(const backward_head *head, const backward_scratch *s, size_t first, float scale)
{
    const gpt_head *a = &head->a;
    const size_t size = a->size, step = a->step, y_step = head->y_step, row = s->row;
    const size_t n = gpt_min(QUERIES_PER_BLOCK, a->tokens - first), end = first + n;
    const size_t padded_n = gpt_round_up(n, GPT_PANEL_WIDTH);
    const float *q = a->q + first * step, *dy = head->dy + first * y_step, *y = head->y + first * y_step;
    panel_rows rows[QUERIES_PER_BLOCK / GPT_PANEL_WIDTH];
    gpt_copy_rows(s->q_rows, padded_n, q, n, step, size);
    gpt_copy_rows(s->dy_rows, padded_n, dy, n, y_step, size);
    gpt_pack_queries(s->q_panels, q, n, step, size, scale);
    gpt_pack_queries(s->dy_panels, dy, n, y_step, size, 1.0f);
    gpt_fill_zeros(s->dq_panels, s->queries * row);
    for (size_t r = 0; r < n; r += GPT_PANEL_WIDTH)
        rows[r / GPT_PANEL_WIDTH] =
            panel_rows_of(head->max + first + r, head->sum + first + r, dy + r * y_step, y + r * y_step,
                          gpt_min(GPT_PANEL_WIDTH, n - r), y_step, size);

    for (size_t begin = 0; begin < end; begin += KEYS_PER_TILE) {
        const size_t tile = gpt_min(KEYS_PER_TILE, end - begin);
        for (size_t r = begin > first ? begin - first : 0; r < n; r += GPT_PANEL_WIDTH)
            backward_panel(s, a, rows, first, r, begin, tile);
        for (size_t j = 0; j < tile; j += GPT_TILE_ROWS) backward_keys(s, size, first, padded_n, begin, j);
    }

    for (size_t r = 0; r < n; r++) {
        const float *dq_panel = s->dq_panels + r / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH * row;
        for (size_t d = 0; d < size; d++)
            head->dq[(first + r) * step + d] = scale * dq_panel[d * GPT_PANEL_WIDTH + r % GPT_PANEL_WIDTH];
    }
}

static void backward(const backward_head *head, const backward_scratch *s)
{
    const gpt_head *a = &head->a;
    const size_t tokens = a->tokens, size = a->size, padded_tokens = gpt_padded(tokens);
    const float scale = 1.0f / sqrtf((float)size);
    gpt_copy_rows(s->k, padded_tokens, a->k, tokens, a->step, size);
    gpt_copy_rows(s->v, padded_tokens, a->v, tokens, a->step, size);
    gpt_fill_zeros(s->dk_sums, padded_tokens * s->row);
    gpt_fill_zeros(s->dv_sums, padded_tokens * s->row);
    for (size_t first = 0; first < tokens; first += QUERIES_PER_BLOCK) backward_block(head, s, first, scale);
    for (size_t t = 0; t < tokens; t++)
        for (size_t d = 0; d < size; d++) {
            head->dk[t * a->step + d] = scale * s->dk_sums[t * s->row + d];
            head->dv[t * a->step + d] = s->dv_sums[t * s->row + d];
        }
}

int gpt_attention_backward(float *dqkv, float *scratch, const float *dy, const float *y, const float *qkv,
                           const float *max, const float *sum, size_t batch, size_t tokens, size_t heads,
                           size_t size, uint32_t seed, float p, size_t part, size_t parts)
{
    const size_t scratch_size = gpt_attention_backward_scratch_size(tokens, size);
    const int status = gpt_attention_check(dqkv && scratch && dy && y && qkv && max && sum, batch, tokens,
                                           heads, size, scratch_size, p, part, parts);
    if (status) return status;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* dqkv is empty: skip the loops */
    const backward_scratch s = scratch_of(scratch + part * scratch_size, tokens, size);
    size_t n;
    const size_t end = gpt_share(batch * heads, 1, part, parts, &n);
    for (; n < end; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        const size_t y_step = heads * size, y_first = n / heads * tokens * y_step + n % heads * size;
        const backward_head head = {.a = a,
                                    .dq = dqkv + (a.q - qkv),
                                    .dk = dqkv + (a.k - qkv),
                                    .dv = dqkv + (a.v - qkv),
                                    .dy = dy + y_first,
                                    .y = y + y_first,
                                    .max = max + n * tokens,
                                    .sum = sum + n * tokens,
                                    .y_step = y_step};
        backward(&head, &s);
    }
    return GPT_OK;
}
