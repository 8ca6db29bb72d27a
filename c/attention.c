/* Causal multi-head attention on q, k and v side by side, as GPT-2's c_attn gives them. Vaswani et al. 2017,
 * arXiv:1706.03762, eq. 1; in tiles with a running softmax as Dao et al. 2022, arXiv:2205.14135 (FlashAttention).
 *
 * A block of queries meets one tile of keys after the other, up to its own diagonal: scores, their softmax so far and the
 * weighted sum of values stay in the first-level cache, and no [tokens, tokens] matrix exists. Queries are packed in panels
 * of 8 that lie side by side in two vectors, as in gemm.c, and so lie their scores and outputs. Every product of forward
 * and backward is one register tile: GPT_TILE_ROWS sums by 8, of numbers spread over the lanes by two vectors.
 *
 * Bound by multiplying and adding. 12 heads of 64 take, in ms on an AMD EPYC, the least of many calls in turns with others:
 *   tokens                            128            1024
 *   build                         simd  relaxed   simd  relaxed
 *   the products alone            0.63     0.54     31       26   of relaxed 62 GFLOP/s
 *   with copying keys and values  0.67     0.57     33       28
 *   with the softmax: forward     0.78     0.66     39       33
 *   backward                      1.6      1.5      88       74   five products for two
 * A block of 64 queries copies twice as often: 1.03 times as long. Lost: keys and values read where they lie, 0.93 times as
 * long with rows of 3 · 768 floats but up to 1.18 with 3 · 1024, whose distance is a multiple of a page, so that a tile's rows
 * fall into the same few sets of the cache. Tiles of 48 or 192 keys are the same within 2 %, and so is an exponential
 * that rounds by adding 1.5 · 2^23.
 */
#include <float.h>
#include <math.h>

#include "gemm.h"
#include "gpt_layers.h"
#include "mask.h"
#include "reference.h"
#include "simd.h"

enum { BLOCK = 128, KEYS = 96 };

static inline size_t whole(size_t n, size_t of) { return (n + of - 1) / of * of; }

/* A row of a head in scratch, or a column of them: whole strips of either build, and whole vectors. */
static inline size_t padded(size_t n) { return whole(n, 24); }

/* Whether a tensor of a·b·c·d floats can be addressed. */
static int fits(size_t a, size_t b, size_t c, size_t d)
{
    return gpt_fits(a, b) && gpt_fits(a * b, c) && gpt_fits(a * b * c, d);
}

static int check(const float *out, const float *scratch, const float *qkv, size_t batch, size_t tokens,
                 size_t heads, size_t size, float p)
{
    if (!out || !scratch || !qkv) return GPT_ERR_NULL;
    if (!fits(batch, tokens, 3, 1) || !fits(heads, size, 3, tokens) ||
        !fits(heads * size, 3 * tokens, batch, 1))
        return GPT_ERR_SIZE;
    if (!gpt_mask_valid(p)) return GPT_ERR_VALUE;
    return GPT_OK;
}

static int check_backward(const float *dqkv, const float *scratch, const float *dy, const float *y,
                          const float *qkv, const float *lse, size_t batch, size_t tokens, size_t heads,
                          size_t size, float p)
{
    if (!dy || !y || !lse) return GPT_ERR_NULL;
    return check(dqkv, scratch, qkv, batch, tokens, heads, size, p);
}

static int check_weights(const float *w, const float *scratch, const float *qkv, const float *lse,
                         size_t batch, size_t tokens, size_t heads, size_t size)
{
    if (!lse) return GPT_ERR_NULL;
    const int status = check(w, scratch, qkv, batch, tokens, heads, size, 0.0f);
    if (status) return status;
    return fits(batch, heads, tokens, tokens) ? GPT_OK : GPT_ERR_SIZE;
}

/* One head of one sequence: where its rows begin, and how far they lie apart in qkv. */
typedef struct head {
    const float *q, *k, *v;
    size_t tokens, size, step;
    uint32_t seed; /* what its weights are dropped by */
    float p;
} head;

static head head_of(const float *qkv, size_t tokens, size_t heads, size_t size, uint32_t seed, float p,
                    size_t b, size_t h)
{
    const size_t dim = heads * size;
    const float *q = qkv + b * tokens * 3 * dim + h * size;
    return (head){
        q, q + dim, q + 2 * dim, tokens, size, 3 * dim, gpt_mask_word(seed, (uint32_t)(b * heads + h)), p};
}

/* The weight of key j for query i counts as number j · tokens + i of those that are dropped or not. */
static inline uint32_t place(const head *a, size_t query, size_t key)
{
    return (uint32_t)(key * a->tokens + query);
}

/* ---- The equations ---- */

static double score(const head *a, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t d = 0; d < a->size; d++) sum += (double)a->q[i * a->step + d] * (double)a->k[j * a->step + d];
    return sum / sqrt((double)a->size);
}

/* log Σ e^score over the keys that query i sees. */
static double log_sum(const head *a, size_t i)
{
    double largest = -INFINITY, sum = 0.0;
    for (size_t j = 0; j <= i; j++) largest = fmax(largest, score(a, i, j));
    for (size_t j = 0; j <= i; j++) sum += exp(score(a, i, j) - largest);
    return largest + log(sum);
}

/* What a weight is multiplied by in dropout. */
static double factor(const head *a, size_t i, size_t j)
{
    return gpt_mask_word(a->seed, place(a, i, j)) < gpt_mask_threshold(a->p) ? 0.0
                                                                             : (double)gpt_mask_scale(a->p);
}

int gpt_attention_forward_ref(float *y, float *lse, float *scratch, const float *qkv, size_t batch,
                              size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    const int status = check(y, scratch, qkv, batch, tokens, heads, size, p);
    if (status) return status;
    for (size_t n = 0; n < batch * heads && size > 0; n++) {
        const head a = head_of(qkv, tokens, heads, size, seed, p, n / heads, n % heads);
        for (size_t i = 0; i < tokens; i++) {
            const double log_all = log_sum(&a, i);
            float *y_i = y + (n / heads * tokens + i) * heads * size + n % heads * size;
            for (size_t d = 0; d < size; d++) {
                double sum = 0.0;
                for (size_t j = 0; j <= i; j++)
                    sum += factor(&a, i, j) * exp(score(&a, i, j) - log_all) * (double)a.v[j * a.step + d];
                y_i[d] = (float)sum;
            }
            if (lse) lse[n * tokens + i] = (float)log_all;
        }
    }
    return GPT_OK;
}

int gpt_attention_weights_ref(float *w, float *scratch, const float *qkv, const float *lse, size_t batch,
                              size_t tokens, size_t heads, size_t size)
{
    const int status = check_weights(w, scratch, qkv, lse, batch, tokens, heads, size);
    if (status) return status;
    for (size_t n = 0; n < batch * heads && size > 0; n++) {
        const head a = head_of(qkv, tokens, heads, size, 0, 0.0f, n / heads, n % heads);
        for (size_t i = 0; i < tokens; i++) {
            const double log_all = log_sum(&a, i);
            for (size_t j = 0; j < tokens; j++)
                w[(n * tokens + i) * tokens + j] = j <= i ? (float)exp(score(&a, i, j) - log_all) : 0.0f;
        }
    }
    return GPT_OK;
}

int gpt_attention_backward_ref(float *dqkv, float *scratch, const float *dy, const float *y, const float *qkv,
                               const float *lse, size_t batch, size_t tokens, size_t heads, size_t size,
                               uint32_t seed, float p)
{
    const int status = check_backward(dqkv, scratch, dy, y, qkv, lse, batch, tokens, heads, size, p);
    if (status) return status;
    const size_t dim = heads * size;
    for (size_t i = 0; i < batch * tokens * 3 * dim; i++) dqkv[i] = 0.0f;
    for (size_t n = 0; n < batch * heads && size > 0; n++) {
        const head a = head_of(qkv, tokens, heads, size, seed, p, n / heads, n % heads);
        float *dq = dqkv + (a.q - qkv), *dk = dqkv + (a.k - qkv), *dv = dqkv + (a.v - qkv);
        for (size_t i = 0; i < tokens; i++) {
            const float *dy_i = dy + (n / heads * tokens + i) * dim + n % heads * size;
            const double log_all = log_sum(&a, i);
            double along = 0.0; /* Σ over j of weight · its gradient, which softmax takes off each */
            for (size_t pass = 0; pass < 2; pass++)
                for (size_t j = 0; j <= i; j++) {
                    const double weight = exp(score(&a, i, j) - log_all), kept = factor(&a, i, j);
                    double dweight = 0.0;
                    for (size_t d = 0; d < size; d++)
                        dweight += kept * (double)dy_i[d] * (double)a.v[j * a.step + d];
                    if (pass == 0) along += weight * dweight;
                    const double dscore = weight * (dweight - along) / sqrt((double)size);
                    for (size_t d = 0; d < size && pass == 1; d++) {
                        dq[i * a.step + d] += (float)(dscore * (double)a.k[j * a.step + d]);
                        dk[j * a.step + d] += (float)(dscore * (double)a.q[i * a.step + d]);
                        dv[j * a.step + d] += (float)(kept * weight * (double)dy_i[d]);
                    }
                }
        }
    }
    return GPT_OK;
}

/* ---- The kernels ---- */

/* Four floats of a row from the d-th on, zeros past its end. */
GPT_INLINE v128_t row_at(const float *row, size_t d, size_t size)
{
    if (d + 4 <= size) return wasm_v128_load(row + d);
    return d < size ? gpt_load_tail(row + d, size - d) : wasm_f32x4_splat(0.0f);
}

/* Queries as a panel, times factor: panel  [whole fours of size][8], zeros past n rows. */
static void pack(float *panel, const float *rows, size_t n, size_t step, size_t size, float factor)
{
    const v128_t times = wasm_f32x4_splat(factor), zero = wasm_f32x4_splat(0.0f);
    for (size_t lane = 0; lane < GPT_PANEL_WIDTH; lane += 4)
        for (size_t d = 0; d < size; d += 4) {
            v128_t r[4];
            for (size_t k = 0; k < 4; k++)
                r[k] = lane + k < n ? wasm_f32x4_mul(row_at(rows + (lane + k) * step, d, size), times) : zero;
            const v128_t ab_low = wasm_i32x4_shuffle(r[0], r[1], 0, 4, 1, 5),
                         ab_high = wasm_i32x4_shuffle(r[0], r[1], 2, 6, 3, 7);
            const v128_t cd_low = wasm_i32x4_shuffle(r[2], r[3], 0, 4, 1, 5),
                         cd_high = wasm_i32x4_shuffle(r[2], r[3], 2, 6, 3, 7);
            float *to = panel + d * GPT_PANEL_WIDTH + lane;
            wasm_v128_store(to, wasm_i64x2_shuffle(ab_low, cd_low, 0, 2));
            wasm_v128_store(to + GPT_PANEL_WIDTH, wasm_i64x2_shuffle(ab_low, cd_low, 1, 3));
            wasm_v128_store(to + 2 * GPT_PANEL_WIDTH, wasm_i64x2_shuffle(ab_high, cd_high, 0, 2));
            wasm_v128_store(to + 3 * GPT_PANEL_WIDTH, wasm_i64x2_shuffle(ab_high, cd_high, 1, 3));
        }
}

/* n rows to [to_n][padded], zeros beyond: GPT-2's lie 9216 bytes apart, which 16 of the first-level cache's 64 sets hold. */
static void copy(float *to, size_t to_n, const float *rows, size_t n, size_t step, size_t size)
{
    const size_t to_step = padded(size);
    const v128_t zero = wasm_f32x4_splat(0.0f);
    for (size_t r = 0; r < to_n; r++, to += to_step, rows += step) {
        size_t d = 0;
        if (r < n)
            for (; d < size; d += 4) wasm_v128_store(to + d, row_at(rows, d, size));
        for (; d < to_step; d += 4) wasm_v128_store(to + d, zero);
    }
}

/* The rows of `keys` keys, in whole strips, times a panel: sums[key][0 ... 7], sums_step floats apart. */
static inline void multiply(float *sums, size_t sums_step, const float *panel, const float *rows, size_t keys,
                            size_t size)
{
    const size_t step = padded(size);
    gpt_gemm_tiles(sums, sums_step, 0, NULL, 0, rows, step, 1, panel, GPT_PANEL_WIDTH, 0, keys, size, 1);
}

/* Which of the queries from `first` on see a key: all bits of their lanes. */
GPT_INLINE v128_t sees(size_t first, size_t key)
{
    return wasm_i32x4_le(wasm_i32x4_splat((int)key - (int)first), wasm_i32x4_make(0, 1, 2, 3));
}

/* out [size][8] += the sum over keys of v[key] · weights[key][8]. A query takes nothing of a key it does not see, not even 0
 * times NaN: `seen` keys are seen by all, and of the others key number j by queries j - seen + 1 and up. */
static void add_values(float *out, const float *weights, const float *v, size_t keys, size_t seen,
                       size_t size)
{
    const size_t v_step = padded(size);
    gpt_gemm_tiles(out, GPT_PANEL_WIDTH, 0, out, GPT_PANEL_WIDTH, v, 1, v_step, weights, GPT_PANEL_WIDTH, 0,
                   whole(size, GPT_TILE_ROWS), seen, 1);
    if (seen == keys) return;
    for (size_t d = 0; d < size; d++) {
        v128_t low = wasm_v128_load(out + d * GPT_PANEL_WIDTH),
               high = wasm_v128_load(out + d * GPT_PANEL_WIDTH + 4);
        for (size_t j = seen; j < keys; j++) {
            const v128_t v_jd = wasm_v128_load32_splat(v + j * v_step + d);
            const v128_t w_low = wasm_v128_load(weights + j * GPT_PANEL_WIDTH),
                         w_high = wasm_v128_load(weights + j * GPT_PANEL_WIDTH + 4);
            low = gpt_multiply_add(wasm_v128_and(v_jd, sees(0, j - seen + 1)), w_low, low);
            high = gpt_multiply_add(wasm_v128_and(v_jd, sees(4, j - seen + 1)), w_high, high);
        }
        wasm_v128_store(out + d * GPT_PANEL_WIDTH, low);
        wasm_v128_store(out + d * GPT_PANEL_WIDTH + 4, high);
    }
}

/* A panel's softmax so far: each query's largest score, and the sum of e^(score - largest). */
typedef struct running {
    v128_t largest[2], sum[2];
} running;

/* What came before is to shrink by: one factor a query. */
typedef struct factors {
    v128_t low, high;
} factors;

/* One tile of scores to weights e^(score - largest). */
GPT_INLINE factors soften(float *scores, size_t keys, size_t seen, running *r)
{
    for (size_t j = seen; j < keys; j++)
        for (size_t k = 0; k < 2; k++) {
            float *s = scores + j * GPT_PANEL_WIDTH + 4 * k;
            const v128_t shown = sees(4 * k, j - seen + 1);
            wasm_v128_store(s, wasm_v128_bitselect(wasm_v128_load(s), wasm_f32x4_splat(-INFINITY), shown));
        }
    v128_t low = r->largest[0], high = r->largest[1];
    for (size_t j = 0; j < keys; j++) {
        low = wasm_f32x4_pmax(low, wasm_v128_load(scores + j * GPT_PANEL_WIDTH));
        high = wasm_f32x4_pmax(high, wasm_v128_load(scores + j * GPT_PANEL_WIDTH + 4));
    }
    v128_t sum_low = wasm_f32x4_splat(0.0f), sum_high = sum_low;
    for (size_t j = 0; j < keys; j++) {
        const v128_t e_low = gpt_exp(wasm_f32x4_sub(wasm_v128_load(scores + j * GPT_PANEL_WIDTH), low));
        const v128_t e_high = gpt_exp(wasm_f32x4_sub(wasm_v128_load(scores + j * GPT_PANEL_WIDTH + 4), high));
        wasm_v128_store(scores + j * GPT_PANEL_WIDTH, e_low);
        wasm_v128_store(scores + j * GPT_PANEL_WIDTH + 4, e_high);
        sum_low = wasm_f32x4_add(sum_low, e_low);
        sum_high = wasm_f32x4_add(sum_high, e_high);
    }
    const factors by = {gpt_exp(wasm_f32x4_sub(r->largest[0], low)),
                        gpt_exp(wasm_f32x4_sub(r->largest[1], high))};
    *r = (running){
        {low, high},
        {gpt_multiply_add(r->sum[0], by.low, sum_low), gpt_multiply_add(r->sum[1], by.high, sum_high)}};
    return by;
}

static inline void shrink(float *out, factors by, size_t size)
{
    const v128_t one = wasm_f32x4_splat(1.0f);
    if (!wasm_v128_any_true(wasm_v128_or(wasm_f32x4_ne(by.low, one), wasm_f32x4_ne(by.high, one)))) return;
    for (size_t d = 0; d < size; d++) {
        wasm_v128_store(out + d * GPT_PANEL_WIDTH,
                        wasm_f32x4_mul(wasm_v128_load(out + d * GPT_PANEL_WIDTH), by.low));
        wasm_v128_store(out + d * GPT_PANEL_WIDTH + 4,
                        wasm_f32x4_mul(wasm_v128_load(out + d * GPT_PANEL_WIDTH + 4), by.high));
    }
}

/* Drops some of a tile's weights. */
static void drop(float *weights, const head *a, size_t query, size_t begin, size_t keys)
{
    const gpt_mask mask = gpt_mask_of(a->seed, a->p);
    for (size_t j = 0; j < keys; j++)
        for (size_t k = 0; k < GPT_PANEL_WIDTH; k += 4) {
            float *w = weights + j * GPT_PANEL_WIDTH + k;
            const v128_t kept = gpt_mask_factors(&mask, place(a, query + k, begin + j));
            wasm_v128_store(w, wasm_f32x4_mul(wasm_v128_load(w), kept));
        }
}

/* What falls to a part: a block of queries costs what keys it sees, and goes where the middle of its cost lies. */
typedef struct share {
    size_t part, parts;
    uint64_t all, before;
} share;

static share share_of(size_t heads, size_t tokens, size_t part, size_t parts)
{
    uint64_t all = 0;
    for (size_t first = 0; first < tokens; first += BLOCK) all += gpt_min(first + BLOCK, tokens);
    return (share){part, parts, heads * all, 0};
}

static int falls_to(share *s, size_t first, size_t tokens)
{
    const uint64_t cost = gpt_min(first + BLOCK, tokens), middle = 2 * s->before + cost;
    s->before += cost;
    return middle * s->parts / (2 * s->all) == s->part;
}

/* The panels of a block's queries, scaled as their scores are to be. */
static void pack_block(float *panels, const float *rows, size_t n, size_t step, size_t size, float times)
{
    for (size_t r = 0; r < n; r += GPT_PANEL_WIDTH)
        pack(panels + r * padded(size), rows + r * step, gpt_min(GPT_PANEL_WIDTH, n - r), step, size, times);
}

size_t gpt_attention_scratch_size(size_t tokens, size_t size)
{
    const size_t queries = whole(gpt_min(tokens, BLOCK), GPT_PANEL_WIDTH),
                 keys = padded(gpt_min(tokens, KEYS));
    return 2 * queries * padded(size) + keys * (2 * padded(size) + GPT_PANEL_WIDTH);
}

/* The queries from `first` on, at most BLOCK: y, with `step` floats from row to row, and lse begin with the head's. */
static void forward_block(float *y, size_t step, float *lse, float *scratch, const head *a, size_t first)
{
    const size_t size = a->size, row = padded(size), n = gpt_min(BLOCK, a->tokens - first), end = first + n;
    const size_t queries = whole(gpt_min(a->tokens, BLOCK), GPT_PANEL_WIDTH),
                 keys_most = padded(gpt_min(a->tokens, KEYS));
    float *q = scratch, *out = q + queries * row, *k = out + queries * row, *v = k + keys_most * row,
          *scores = v + keys_most * row;
    /* not -INFINITY: where a score is, it less the largest must not be NaN */
    const v128_t zero = wasm_f32x4_splat(0.0f), low = wasm_f32x4_splat(-FLT_MAX);
    running softmax[BLOCK / GPT_PANEL_WIDTH];
    pack_block(q, a->q + first * a->step, n, a->step, size, 1.0f / sqrtf((float)size));
    for (size_t p = 0; p < queries / GPT_PANEL_WIDTH; p++) softmax[p] = (running){{low, low}, {zero, zero}};
    for (size_t i = 0; i < queries * row; i += 4) wasm_v128_store(out + i, zero);
    for (size_t begin = 0; begin < end; begin += KEYS) {
        const size_t some = gpt_min(KEYS, end - begin);
        copy(k, whole(some, GPT_TILE_ROWS), a->k + begin * a->step, some, a->step, size);
        copy(v, some, a->v + begin * a->step, some, a->step, size);
        for (size_t query = begin > first ? begin : first; query < end; query += GPT_PANEL_WIDTH) {
            const size_t p = (query - first) / GPT_PANEL_WIDTH, panel = p * GPT_PANEL_WIDTH * row;
            const size_t keys = gpt_min(some, query + GPT_PANEL_WIDTH - begin),
                         seen = gpt_min(some, query + 1 - begin);
            multiply(scores, GPT_PANEL_WIDTH, q + panel, k, keys, size);
            shrink(out + panel, soften(scores, keys, seen, softmax + p), size);
            if (a->p > 0.0f) drop(scores, a, query, begin, keys);
            add_values(out + panel, scores, v, keys, seen, size);
        }
    }
    for (size_t r = 0; r < n; r++) {
        const size_t p = r / GPT_PANEL_WIDTH, lane = r % GPT_PANEL_WIDTH;
        float largest[GPT_PANEL_WIDTH], sum[GPT_PANEL_WIDTH];
        for (size_t half = 0; half < 2; half++) {
            wasm_v128_store(largest + 4 * half, softmax[p].largest[half]);
            wasm_v128_store(sum + 4 * half, softmax[p].sum[half]);
        }
        const float share_of_one = 1.0f / sum[lane];
        for (size_t d = 0; d < size; d++)
            y[(first + r) * step + d] = share_of_one * out[(p * row + d) * GPT_PANEL_WIDTH + lane];
        /* log1p, which the generator has as well: log brings 4 kB of tables */
        if (lse) lse[first + r] = (float)((double)largest[lane] + log1p((double)sum[lane] - 1.0));
    }
}

int gpt_attention_forward(float *y, float *lse, float *scratch, const float *qkv, size_t batch, size_t tokens,
                          size_t heads, size_t size, uint32_t seed, float p, size_t part, size_t parts)
{
    const int status = check(y, scratch, qkv, batch, tokens, heads, size, p);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (batch == 0 || heads == 0 || size == 0) return GPT_OK; /* empty, however many tokens */
    scratch += part * gpt_attention_scratch_size(tokens, size);
    share mine = share_of(batch * heads, tokens, part, parts);
    for (size_t n = 0; n < batch * heads; n++) {
        const size_t b = n / heads, h = n % heads;
        const head a = head_of(qkv, tokens, heads, size, seed, p, b, h);
        for (size_t first = 0; first < tokens; first += BLOCK)
            if (falls_to(&mine, first, tokens))
                forward_block(y + (b * tokens * heads + h) * size, heads * size,
                              lse ? lse + n * tokens : NULL, scratch, &a, first);
    }
    return GPT_OK;
}

/* The weights of the queries from `first` on; w [tokens, tokens] and lse are the head's. */
static void weights_block(float *w, float *scratch, const head *a, const float *lse, size_t first)
{
    const size_t size = a->size, row = padded(size), n = gpt_min(BLOCK, a->tokens - first), end = first + n;
    const size_t queries = whole(gpt_min(a->tokens, BLOCK), GPT_PANEL_WIDTH),
                 keys_most = padded(gpt_min(a->tokens, KEYS));
    float *q = scratch, *k = q + queries * row, *scores = k + keys_most * row;
    pack_block(q, a->q + first * a->step, n, a->step, size, 1.0f / sqrtf((float)size));
    for (size_t begin = 0; begin < end; begin += KEYS) {
        const size_t some = gpt_min(KEYS, end - begin);
        copy(k, whole(some, GPT_TILE_ROWS), a->k + begin * a->step, some, a->step, size);
        for (size_t query = begin > first ? begin : first; query < end; query += GPT_PANEL_WIDTH) {
            multiply(scores, GPT_PANEL_WIDTH, q + (query - first) * row, k,
                     gpt_min(some, query + GPT_PANEL_WIDTH - begin), size);
            for (size_t i = query; i < gpt_min(query + GPT_PANEL_WIDTH, end); i++)
                for (size_t j = begin; j < gpt_min(begin + some, i + 1); j += 4) {
                    const float *s = scores + (j - begin) * GPT_PANEL_WIDTH + i - query;
                    const size_t left = gpt_min(4, gpt_min(begin + some, i + 1) - j);
                    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                    for (size_t l = 0; l < left; l++) lanes[l] = s[l * GPT_PANEL_WIDTH];
                    const v128_t e = gpt_exp(wasm_f32x4_sub(wasm_v128_load(lanes), wasm_f32x4_splat(lse[i])));
                    gpt_store_tail(w + i * a->tokens + j, e, left);
                }
        }
    }
    for (size_t i = first; i < end; i++)
        for (size_t j = i + 1; j < a->tokens; j++) w[i * a->tokens + j] = 0.0f;
}

int gpt_attention_weights(float *w, float *scratch, const float *qkv, const float *lse, size_t batch,
                          size_t tokens, size_t heads, size_t size, size_t part, size_t parts)
{
    const int status = check_weights(w, scratch, qkv, lse, batch, tokens, heads, size);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (batch == 0 || heads == 0 || size == 0) return GPT_OK;
    scratch += part * gpt_attention_scratch_size(tokens, size);
    share mine = share_of(batch * heads, tokens, part, parts);
    for (size_t n = 0; n < batch * heads; n++) {
        const head a = head_of(qkv, tokens, heads, size, 0, 0.0f, n / heads, n % heads);
        for (size_t first = 0; first < tokens; first += BLOCK)
            if (falls_to(&mine, first, tokens))
                weights_block(w + n * tokens * tokens, scratch, &a, lse + n * tokens, first);
    }
    return GPT_OK;
}

size_t gpt_attention_backward_scratch_size(size_t tokens, size_t size)
{
    const size_t queries = whole(gpt_min(tokens, BLOCK), GPT_PANEL_WIDTH),
                 keys = padded(gpt_min(tokens, KEYS));
    return 4 * padded(tokens) * padded(size) + queries * (5 * padded(size) + 2 * keys);
}

/* What of its 8 queries a panel's backward needs besides the products. */
typedef struct rows_of {
    v128_t lse[2], along[2]; /* along: Σ over the keys of weight · its gradient, which is dy · y */
} rows_of;

static rows_of rows_from(const float *lse, const float *dy, const float *y, size_t n, size_t step,
                         size_t size)
{
    float l[GPT_PANEL_WIDTH] = {0.0f}, along[GPT_PANEL_WIDTH] = {0.0f};
    for (size_t r = 0; r < n; r++) {
        double sum = 0.0;
        for (size_t d = 0; d < size; d++) sum += (double)dy[r * step + d] * (double)y[r * step + d];
        l[r] = lse[r];
        along[r] = (float)sum;
    }
    return (rows_of){{wasm_v128_load(l), wasm_v128_load(l + 4)},
                     {wasm_v128_load(along), wasm_v128_load(along + 4)}};
}

/* Scores to weights and their gradients to those of the scores, both [key][8] with `step` floats from key to key: of the
 * weights, what is left of them after dropout. */
static void differentiate(float *scores, float *gradients, size_t step, const head *a, const rows_of *rows,
                          size_t query, size_t begin, size_t keys)
{
    const gpt_mask mask = gpt_mask_of(a->seed, a->p);
    const int drops = a->p > 0.0f;
    v128_t kept = wasm_f32x4_splat(1.0f);
    for (size_t j = 0; j < keys; j++)
        for (size_t half = 0; half < 2; half++) {
            float *s = scores + j * step + 4 * half, *g = gradients + j * step + 4 * half;
            const v128_t e = gpt_exp(wasm_f32x4_sub(wasm_v128_load(s), rows->lse[half]));
            const v128_t weight = wasm_v128_and(e, sees(query + 4 * half, begin + j));
            if (drops) kept = gpt_mask_factors(&mask, place(a, query + 4 * half, begin + j));
            const v128_t gradient =
                wasm_f32x4_sub(wasm_f32x4_mul(kept, wasm_v128_load(g)), rows->along[half]);
            wasm_v128_store(s, wasm_f32x4_mul(weight, kept));
            wasm_v128_store(g, wasm_f32x4_mul(weight, gradient));
        }
}

/* One head: dq, dk and dv begin with its first rows, a->step floats apart; dy and y with theirs, a third of that. */
static void backward_head(float *dq, float *dk, float *dv, float *scratch, const float *dy, const float *y,
                          const float *lse, const head *a)
{
    const size_t tokens = a->tokens, size = a->size, row = padded(size), all = padded(tokens) * row,
                 y_step = a->step / 3;
    const size_t queries = whole(gpt_min(tokens, BLOCK), GPT_PANEL_WIDTH), block = queries * row;
    float *k = scratch, *v = k + all, *k_sums = v + all, *v_sums = k_sums + all; /* [tokens][row] */
    float *q_rows = v_sums + all, *dy_rows = q_rows + block;                     /* [queries][row] */
    float *q_panels = dy_rows + block, *dy_panels = q_panels + block,
          *q_sums = dy_panels + block; /* [panels][row][8] */
    float *weights = q_sums + block,
          *gradients = weights + queries * padded(gpt_min(tokens, KEYS)); /* [keys][queries] */
    const float scale = 1.0f / sqrtf((float)size);
    const v128_t zero = wasm_f32x4_splat(0.0f);
    copy(k, padded(tokens), a->k, tokens, a->step, size);
    copy(v, padded(tokens), a->v, tokens, a->step, size);
    for (size_t i = 0; i < 2 * all; i += 4) wasm_v128_store(k_sums + i, zero);
    for (size_t first = 0; first < tokens; first += BLOCK) {
        const size_t n = gpt_min(BLOCK, tokens - first), end = first + n,
                     some_queries = whole(n, GPT_PANEL_WIDTH);
        const float *q = a->q + first * a->step, *dy_first = dy + first * y_step;
        rows_of rows[BLOCK / GPT_PANEL_WIDTH];
        copy(q_rows, some_queries, q, n, a->step, size);
        copy(dy_rows, some_queries, dy_first, n, y_step, size);
        pack_block(q_panels, q, n, a->step, size, scale);
        pack_block(dy_panels, dy_first, n, y_step, size, 1.0f);
        for (size_t r = 0; r < n; r += GPT_PANEL_WIDTH)
            rows[r / GPT_PANEL_WIDTH] =
                rows_from(lse + first + r, dy_first + r * y_step, y + (first + r) * y_step,
                          gpt_min(GPT_PANEL_WIDTH, n - r), y_step, size);
        for (size_t i = 0; i < block; i += 4) wasm_v128_store(q_sums + i, zero);
        for (size_t begin = 0; begin < end; begin += KEYS) {
            const size_t some = gpt_min(KEYS, end - begin);
            const float *k_some = k + begin * row, *v_some = v + begin * row;
            for (size_t query = begin > first ? begin : first; query < end; query += GPT_PANEL_WIDTH) {
                const size_t r = query - first,
                             keys = whole(gpt_min(some, query + GPT_PANEL_WIDTH - begin), GPT_TILE_ROWS);
                multiply(weights + r, queries, q_panels + r * row, k_some, keys, size);
                multiply(gradients + r, queries, dy_panels + r * row, v_some, keys, size);
                differentiate(weights + r, gradients + r, queries, a, rows + r / GPT_PANEL_WIDTH, query,
                              begin, keys);
                float *sums = q_sums + r * row;
                gpt_gemm_tiles(sums, GPT_PANEL_WIDTH, 0, sums, GPT_PANEL_WIDTH, k_some, 1, row, gradients + r,
                               queries, 0, whole(size, GPT_TILE_ROWS), keys, 1);
            }
            /* A strip of keys meets the panels from its first key's own on. */
            for (size_t j = 0; j < some; j += GPT_TILE_ROWS) {
                const size_t r =
                    begin + j > first ? (begin + j - first) / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH : 0;
                const float *w = weights + j * queries + r, *g = gradients + j * queries + r;
                float *dv_j = v_sums + (begin + j) * row, *dk_j = k_sums + (begin + j) * row;
                const size_t panels = whole(size, GPT_PANEL_WIDTH) / GPT_PANEL_WIDTH;
                gpt_gemm_tiles(dv_j, row, GPT_PANEL_WIDTH, dv_j, row, w, queries, 1, dy_rows + r * row, row,
                               GPT_PANEL_WIDTH, GPT_TILE_ROWS, some_queries - r, panels);
                gpt_gemm_tiles(dk_j, row, GPT_PANEL_WIDTH, dk_j, row, g, queries, 1, q_rows + r * row, row,
                               GPT_PANEL_WIDTH, GPT_TILE_ROWS, some_queries - r, panels);
            }
        }
        for (size_t r = 0; r < n; r++)
            for (size_t d = 0; d < size; d++)
                dq[(first + r) * a->step + d] =
                    scale * q_sums[(r / GPT_PANEL_WIDTH * row + d) * GPT_PANEL_WIDTH + r % GPT_PANEL_WIDTH];
    }
    for (size_t t = 0; t < tokens; t++)
        for (size_t d = 0; d < size; d++) {
            dk[t * a->step + d] = scale * k_sums[t * row + d];
            dv[t * a->step + d] = v_sums[t * row + d];
        }
}

int gpt_attention_backward(float *dqkv, float *scratch, const float *dy, const float *y, const float *qkv,
                           const float *lse, size_t batch, size_t tokens, size_t heads, size_t size,
                           uint32_t seed, float p, size_t part, size_t parts)
{
    const int status = check_backward(dqkv, scratch, dy, y, qkv, lse, batch, tokens, heads, size, p);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (tokens == 0 || size == 0) return GPT_OK;
    scratch += part * gpt_attention_backward_scratch_size(tokens, size);
    size_t n;
    const size_t end = gpt_share(batch * heads, 1, part, parts, &n);
    for (; n < end; n++) {
        const size_t b = n / heads, h = n % heads, y_first = (b * tokens * heads + h) * size;
        const head a = head_of(qkv, tokens, heads, size, seed, p, b, h);
        backward_head(dqkv + (a.q - qkv), dqkv + (a.k - qkv), dqkv + (a.v - qkv), scratch, dy + y_first,
                      y + y_first, lse + n * tokens, &a);
    }
    return GPT_OK;
}
