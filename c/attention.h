/* What the attention kernels share. Internal to c/.
 *
 *   attention.c             checks, heads, the cut into parts, and copies into scratch
 *   attention_forward.c     y, max and sum
 *   attention_cache.h       y of new tokens, with a key/value cache of either kind
 *   attention_cached.c      a cache in float32
 *   attention_int8.c        a cache in int8
 *   attention_weights.c     the weights, which forward and backward never store
 *   attention_backward.c    dqkv
 *
 * The kernels work on one head of one sequence, QUERIES_PER_BLOCK queries by KEYS_PER_TILE keys at a time,
 * in panels of 8 queries: [size][8] for queries and outputs, [key][8] for scores. A panel's queries are the 8
 * lanes of gemm's tiles.
 *
 * The exception: with a float32 cache fewer than 5 new tokens, and with an int8 cache all new tokens, are
 * computed one by one, without tiles.
 */
#ifndef GPT_ATTENTION_H
#define GPT_ATTENTION_H

#include "gemm.h"
#include "gpt_layers.h"
#include "mask.h"
#include "simd.h"

/* Both are multiples of GPT_PANEL_WIDTH, so that without a cache a tile's diagonal begins with a panel. */
enum { QUERIES_PER_BLOCK = 128, KEYS_PER_TILE = 96 };

/* One head of one sequence. Row t of q is q[t * step ... t * step + size - 1]; so are those of k and v. */
typedef struct gpt_head {
    const float *q, *k, *v;
    size_t tokens, size, step;
    uint32_t seed; /* of the head's dropout */
    float p;
    /* With a cache, the queries are at the positions past ... past + tokens - 1, and k and v have all
     * positions from 0 on: row j of v at v + j * cache_step, and k in panels. In int8, both have blocks,
     * cache_step floats apart. Without a cache, cache_step is 0. */
    size_t past, cache_step;
    int dot; /* in int8: which loop of int8.h */
} gpt_head;

/* Keys side by side in a cache: a panel is [size][KEYS_PER_PANEL], and the one that begins with key j is at
 * k + j * cache_step. Whole tiles of both builds (4 and 6), and three vectors for a single query.
 * KEYS_PER_TILE is a multiple. */
enum { KEYS_PER_PANEL = 12 };

/* Head number n of batch * heads. */
gpt_head gpt_head_of(const float *qkv, size_t n, size_t tokens, size_t heads, size_t size, uint32_t seed,
                     float p);

/* Number of a weight in the head's dropout mask. Weights of neighboring queries have neighboring numbers. */
static inline uint32_t gpt_dropout_index(const gpt_head *a, size_t query, size_t key)
{
    return (uint32_t)(key * a->tokens + query);
}

/* What all kernels check. `scratch_size` is for each part. */
int gpt_attention_check(int has_pointers, size_t batch, size_t tokens, size_t heads, size_t size,
                        size_t scratch_size, float p, size_t part, size_t parts);

/* Turns n scores into softmax's weights, in place. scores[n ... end - 1] can be anything before, and are 0
 * after. `end` is a multiple of 4. The weights have the same bits in both builds. */
void gpt_attention_softmax(float *scores, size_t n, size_t end);

/* ---- The cut into parts ---- */

/* The cost of a block of queries is the number of keys that it sees. The costs of all blocks, one after the
 * other, form a line, which is cut into `parts` equal pieces. A part computes the blocks whose middle lies in
 * its piece. */
typedef struct gpt_schedule {
    size_t part, parts;
    uint64_t total, before;
} gpt_schedule;

gpt_schedule gpt_schedule_of(size_t heads, size_t tokens, size_t part, size_t parts);

/* Whether the next block, with queries from `first` on, is this part's. Call it for every block, in order. */
int gpt_schedule_has_next(gpt_schedule *schedule, size_t first, size_t tokens);

/* ---- Sizes and copies in scratch ---- */

/* Length of a row or column in scratch: whole tiles of both builds (4 and 6), whole panels (8). */
static inline size_t gpt_padded(size_t n) { return gpt_round_up(n, 24); }

/* Queries of a block of `tokens`, and keys of a tile of `tokens`, that scratch has room for. */
static inline size_t gpt_block_queries(size_t tokens)
{
    return gpt_round_up(gpt_min(tokens, QUERIES_PER_BLOCK), GPT_PANEL_WIDTH);
}
static inline size_t gpt_tile_keys(size_t tokens) { return gpt_padded(gpt_min(tokens, KEYS_PER_TILE)); }

/* factor · rows as panels [panel][padded size][8]. In the last panel, the lanes past row n are 0. */
void gpt_pack_queries(float *panels, const float *rows, size_t n, size_t step, size_t size, float factor);

/* n rows to [padded_n][padded size], zero-padded. */
void gpt_copy_rows(float *to, size_t padded_n, const float *rows, size_t n, size_t step, size_t size);

static inline void gpt_fill_zeros(float *to, size_t n)
{
    for (size_t i = 0; i < n; i += 4) wasm_v128_store(to + i, wasm_f32x4_splat(0.0f));
}

/* scores[key][0 ... 7] = rows[key] · each query of a panel, `scores_step` floats from key to key. `rows` are
 * keys (or values) that gpt_copy_rows wrote. */
GPT_INLINE void gpt_multiply_keys(float *scores, size_t scores_step, const float *panel, const float *rows,
                                  size_t keys, size_t size)
{
    gpt_gemm_tiles(&(gpt_tiles){.y = scores,
                                .y_row = scores_step,
                                .a = rows,
                                .a_row = gpt_padded(size),
                                .a_col = 1,
                                .b = panel,
                                .b_row = GPT_PANEL_WIDTH,
                                .rows = keys,
                                .depth = size,
                                .panels = 1});
}

/* out[size][8] += Σ over the keys of rows[key] · weights[key][0 ... 7], as above. */
GPT_INLINE void gpt_add_weighted_rows(float *out, const float *weights, size_t weights_step,
                                      const float *rows, size_t keys, size_t size)
{
    gpt_gemm_tiles(&(gpt_tiles){.y = out,
                                .y_row = GPT_PANEL_WIDTH,
                                .start = out,
                                .start_row = GPT_PANEL_WIDTH,
                                .a = rows,
                                .a_row = 1,
                                .a_col = gpt_padded(size),
                                .b = weights,
                                .b_row = weights_step,
                                .rows = gpt_round_up(size, GPT_TILE_ROWS),
                                .depth = keys,
                                .panels = 1});
}

/* y = Σ w · v and, unless NULL, the softmax's max and sum, for the block of queries from number `first` on.
 * y, max and sum begin with that query. scratch has gpt_attention_block_size(tokens, keys, size) floats,
 * where `keys` counts all keys. */
size_t gpt_attention_block_size(size_t tokens, size_t keys, size_t size);
void gpt_attention_block(float *y, size_t y_step, float *max, float *sum, float *scratch, const gpt_head *a,
                         size_t first);

/* Mask of the four queries from `query` on that see a key: key <= query. Both count from any place; a query
 * before it wraps. */
GPT_INLINE v128_t gpt_sees(size_t query, size_t key)
{
    return wasm_i32x4_le(wasm_i32x4_splat((int)key - (int)query), wasm_i32x4_make(0, 1, 2, 3));
}

#endif
