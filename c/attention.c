/* What the attention kernels share; attention.h has the contracts. */
#include "attention.h"

#include <float.h>

int gpt_attention_check(int has_pointers, size_t batch, size_t tokens, size_t heads, size_t size,
                        size_t scratch_size, float p, size_t part, size_t parts)
{
    return gpt_check(has_pointers,
                     size > 0 && gpt_fits4(batch, tokens, heads, gpt_floats(3, size)) &&
                         gpt_fits(scratch_size, parts),
                     gpt_mask_valid(p) && part < parts);
}

void gpt_attention_softmax(float *scores, size_t n, size_t end)
{
    for (size_t j = n; j < end; j++) scores[j] = -INFINITY;
    /* -FLT_MAX instead of -INFINITY: with scores of -INFINITY, score - largest must not be NaN */
    v128_t largest = wasm_f32x4_splat(-FLT_MAX), sum = wasm_f32x4_splat(0.0f);
    for (size_t j = 0; j < end; j += 4) largest = wasm_f32x4_pmax(largest, wasm_v128_load(scores + j));
    largest = wasm_f32x4_splat(gpt_max_lanes(largest));
    for (size_t j = 0; j < end; j += 4) {
        const v128_t x = wasm_f32x4_sub(wasm_v128_load(scores + j), largest);
        const v128_t e = gpt_exp_with(x, gpt_multiply_then_add);
        wasm_v128_store(scores + j, e);
        sum = wasm_f32x4_add(sum, e);
    }
    const v128_t factor = wasm_f32x4_splat(1.0f / gpt_sum_lanes(sum));
    for (size_t j = 0; j < end; j += 4)
        wasm_v128_store(scores + j, wasm_f32x4_mul(wasm_v128_load(scores + j), factor));
}

gpt_head gpt_head_of(const float *qkv, size_t n, size_t tokens, size_t heads, size_t size, uint32_t seed,
                     float p)
{
    const size_t dim = heads * size;
    const float *q = qkv + n / heads * tokens * 3 * dim + n % heads * size;
    return (gpt_head){.q = q,
                      .k = q + dim,
                      .v = q + 2 * dim,
                      .tokens = tokens,
                      .size = size,
                      .step = 3 * dim,
                      .seed = gpt_mask_word(seed, (uint32_t)n),
                      .p = p};
}

static size_t keys_seen(size_t first, size_t tokens) { return gpt_min(first + QUERIES_PER_BLOCK, tokens); }

gpt_schedule gpt_schedule_of(size_t heads, size_t tokens, size_t part, size_t parts)
{
    uint64_t total = 0;
    for (size_t first = 0; first < tokens; first += QUERIES_PER_BLOCK) total += keys_seen(first, tokens);
    return (gpt_schedule){.part = part, .parts = parts, .total = heads * total, .before = 0};
}

int gpt_schedule_has_next(gpt_schedule *s, size_t first, size_t tokens)
{
    const uint64_t cost = keys_seen(first, tokens), twice_middle = 2 * s->before + cost;
    s->before += cost;
    return twice_middle * s->parts / (2 * s->total) == s->part;
}

/* Four rows by four columns are transposed at a time: rows of one panel. */
void gpt_pack_queries(float *panels, const float *rows, size_t n, size_t step, size_t size, float factor)
{
    const v128_t f = wasm_f32x4_splat(factor), zero = wasm_f32x4_splat(0.0f);
    for (size_t row = 0; row < gpt_round_up(n, GPT_PANEL_WIDTH); row += 4) {
        const size_t lane = row % GPT_PANEL_WIDTH;
        float *to = panels + (row - lane) * gpt_padded(size) + lane;
        for (size_t d = 0; d < size; d += 4) {
            v128_t r[4];
            for (size_t i = 0; i < 4; i++)
                r[i] =
                    row + i < n ? wasm_f32x4_mul(gpt_load(rows + (row + i) * step + d, size - d), f) : zero;
            gpt_store_transposed(to + d * GPT_PANEL_WIDTH, GPT_PANEL_WIDTH, r[0], r[1], r[2], r[3]);
        }
    }
}

/* Rows of GPT-2's qkv lie 9216 bytes apart: read in place, all would fall into 16 of the first-level cache's
 * 64 sets. */
void gpt_copy_rows(float *to, size_t padded_n, const float *rows, size_t n, size_t step, size_t size)
{
    const size_t to_step = gpt_padded(size);
    for (size_t r = 0; r < padded_n; r++, to += to_step, rows += step) {
        size_t d = 0;
        if (r < n)
            for (; d < size; d += 4) wasm_v128_store(to + d, gpt_load(rows + d, size - d));
        for (; d < to_step; d += 4) wasm_v128_store(to + d, wasm_f32x4_splat(0.0f));
    }
}
