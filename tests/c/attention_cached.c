#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* Which cache is tested: the one in float32, or the one in int8 by the inner loop of this number. */
#ifdef __wasm_relaxed_simd__
enum { FLOAT32 = -1, LOOPS = 2 };
#else
enum { FLOAT32 = -1, LOOPS = 1 };
#endif
static int tested;

typedef struct shape {
    size_t batch, tokens, past, capacity, heads, size;
} shape;
#define SIZES(s) (s).batch, (s).tokens, (s).past, (s).capacity, (s).heads, (s).size

static size_t y_floats(shape s) { return s.batch * s.tokens * s.heads * s.size; }
static size_t cache_floats(shape s)
{
    return s.batch * s.heads *
           (tested == FLOAT32 ? gpt_attention_cache_size(s.capacity, s.size)
                              : gpt_attention_int8_cache_size(s.capacity, s.size));
}

static int forward(float *y, float *keys, float *values, float *scratch, const float *qkv, shape s)
{
    return tested == FLOAT32
               ? gpt_attention_cached_forward(y, keys, values, scratch, qkv, SIZES(s), 0, 1)
               : gpt_attention_int8_forward(y, keys, values, scratch, qkv, SIZES(s), tested, 0, 1);
}

static void forward_ref(float *y, float *keys, float *values, const float *qkv, shape s)
{
    if (tested == FLOAT32)
        gpt_attention_cached_forward_ref(y, keys, values, qkv, SIZES(s));
    else
        gpt_attention_int8_forward_ref(y, keys, values, qkv, SIZES(s), tested);
}

static float *scratch_of(shape s)
{
    return output("scratch", tested == FLOAT32
                                 ? gpt_attention_cached_scratch_size(s.tokens, s.past, s.heads, s.size)
                                 : gpt_attention_int8_scratch_size(s.tokens, s.past, s.heads, s.size));
}

/* A cache of random numbers up to position `past`, in memory that was full of `rest`. */
static void fill_cache(float *keys, float *values, shape s, float rest)
{
    const shape before = {s.batch, s.past, 0, s.capacity, s.heads, s.size};
    for (size_t i = 0; i < cache_floats(s); i++) keys[i] = values[i] = rest;
    float *qkv = work(3 * y_floats(before)), *y = work(y_floats(before));
    fill_random(qkv, 3 * y_floats(before), -2.0f, 2.0f);
    forward_ref(y, keys, values, qkv, before);
}

/* A text of `TOKENS` at once, and in pieces. */
enum { BATCH = 2, TOKENS = 150, HEADS = 2, SIZE = 20, DIM = HEADS * SIZE };
static const shape all_at_once = {BATCH, TOKENS, 0, TOKENS, HEADS, SIZE};

static void expect_pieces(const float *y, const float *qkv, double allowed, const size_t *pieces,
                          size_t count)
{
    const shape all = all_at_once;
    float *keys = output("keys", cache_floats(all)), *values = output("values", cache_floats(all));
    float *piece = work(3 * y_floats(all)), *y_piece = work(y_floats(all));
    const shape most = {BATCH, TOKENS, TOKENS, TOKENS, HEADS, SIZE};
    float *scratch = scratch_of(most);
    size_t past = 0;
    for (size_t p = 0; past < TOKENS; p++) {
        const size_t wanted = pieces[p % count], n = wanted < TOKENS - past ? wanted : TOKENS - past;
        in_case("%zu tokens at position %zu", n, past);
        const shape s = {BATCH, n, past, TOKENS, HEADS, SIZE};
        for (size_t b = 0; b < BATCH; b++)
            memcpy(piece + b * n * 3 * DIM, qkv + (b * TOKENS + past) * 3 * DIM, n * 3 * DIM * sizeof(float));
        expect_status(forward(y_piece, keys, values, scratch, piece, s), GPT_OK);
        for (size_t b = 0; b < BATCH; b++)
            for (size_t i = 0; i < n * DIM; i++)
                expect_within("y", i, (double)y_piece[b * n * DIM + i],
                              (double)y[(b * TOKENS + past) * DIM + i], allowed);
        past += n;
    }
}

static void expect_all_pieces(const float *y, const float *qkv, double allowed)
{
    static const size_t one[1] = {1}, some[5] = {5, 1, 97, 13, 2};
    expect_pieces(y, qkv, allowed, one, 1);
    expect_pieces(y, qkv, allowed, some, 5);
    end_case();
}

/* The text without a cache. */
static const float *without_cache(const float *qkv)
{
    float *y = work(y_floats(all_at_once)), *scratch = work(gpt_attention_scratch_size(TOKENS, SIZE));
    expect_status(
        gpt_attention_forward(y, NULL, NULL, scratch, qkv, BATCH, TOKENS, HEADS, SIZE, 0, 0.0f, 0, 1),
        GPT_OK);
    return y;
}

static void pieces_agree(void)
{
    const float *qkv = random_input("qkv", 3 * y_floats(all_at_once), -2.0f, 2.0f), *y = without_cache(qkv);
    expect_all_pieces(y, qkv, 2e-6 * largest(y, y_floats(all_at_once)));
}

static void int8_pieces_are_the_same(void)
{
    const shape s = all_at_once;
    const float *qkv = random_input("qkv", 3 * y_floats(s), -2.0f, 2.0f), *exact = without_cache(qkv);
    float *y = work(y_floats(s)), *keys = output("keys", cache_floats(s)),
          *values = output("values", cache_floats(s));
    expect_status(forward(y, keys, values, scratch_of(s), qkv, s), GPT_OK);
    double difference = 0.0, sum = 0.0;
    for (size_t i = 0; i < y_floats(s); i++) {
        difference += pow((double)y[i] - (double)exact[i], 2.0);
        sum += pow((double)exact[i], 2.0);
    }
    const double l2 = sqrt(difference / sum);
    expect(l2 <= 0.01, "expected at most 1 %% from attention without a cache (l2), got %.3f %%", 100.0 * l2);
    expect_all_pieces(y, qkv, 0.0);
}

/* The largest sums: every number of the query, the keys and the values is as large as it can be. The keys and
 * values of odd tokens are negative, so scores are ±score. */
static void int8_does_not_overflow(void)
{
    static const size_t sizes_of_heads[5] = {64, 256, 257, 2049, 3000};
    enum { EXTREME_TOKENS = 70 };
    for (size_t k = 0; k < 5; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const shape s = {1, EXTREME_TOKENS, 0, EXTREME_TOKENS, 1, sizes_of_heads[k]};
            in_case("size %zu, sign %d", s.size, sign);
            float *qkv = work(3 * y_floats(s)), *y = output("y", y_floats(s));
            for (size_t i = 0; i < 3 * y_floats(s); i++) {
                const size_t t = i / (3 * s.size), which = i / s.size % 3;
                qkv[i] = which == 0 ? 0.1f * (float)sign : t % 2 ? -0.1f : 0.1f;
            }
            float *keys = output("keys", cache_floats(s)), *values = output("values", cache_floats(s));
            expect_status(forward(y, keys, values, scratch_of(s), qkv, s), GPT_OK);
            const double score = 0.01 * sign * sqrt((double)s.size);
            for (size_t t = 0; t < EXTREME_TOKENS; t++) {
                const double even = exp(score) * (double)(t / 2 + 1),
                             odd = exp(-score) * (double)((t + 1) / 2);
                for (size_t c = 0; c < s.size; c++)
                    expect_within("y", t * s.size + c, (double)y[t * s.size + c],
                                  0.1 * (even - odd) / (even + odd), 1e-4);
            }
            end_case();
        }
}

/* The cache of a longer text, cut back, is as good as a new one: nothing is read past the last token. */
static void truncates(void)
{
    enum { CAPACITY = 40, TWO = 2, FIVE = 5 };
    for (size_t past = 0; past < 26; past++)
        for (size_t tokens = 1; tokens <= 3; tokens++) {
            in_case("%zu tokens at position %zu", tokens, past);
            const shape s = {1, tokens, past, CAPACITY, TWO, FIVE};
            const shape rest = {1, CAPACITY - past, past, CAPACITY, TWO, FIVE};
            const float *qkv = random_input("qkv", 3 * y_floats(s), -2.0f, 2.0f);
            float *keys = output("keys", cache_floats(s)), *values = output("values", cache_floats(s));
            fill_cache(keys, values, s, 0.0f);
            float *keys_used = output_of("keys of a longer text", keys, cache_floats(s)),
                  *values_used = output_of("values of a longer text", values, cache_floats(s));
            float *nan = work(3 * y_floats(rest)), *lost = work(y_floats(rest));
            for (size_t i = 0; i < 3 * y_floats(rest); i++) nan[i] = i % 2 ? NAN : INFINITY;
            expect_status(forward(lost, keys_used, values_used, scratch_of(rest), nan, rest), GPT_OK);
            float *y = output("y", y_floats(s)), *again = output("after a longer text", y_floats(s));
            expect_status(forward(y, keys, values, scratch_of(s), qkv, s), GPT_OK);
            expect_status(forward(again, keys_used, values_used, scratch_of(s), qkv, s), GPT_OK);
            for (size_t i = 0; i < y_floats(s); i++)
                expect(isfinite(again[i]), "expected a number, got %g", (double)again[i]);
            expect_same("after a longer text", again, y, y_floats(s));
            end_case();
        }
}

/* Two tokens of size 1. The first one's score is -1e38, the second one's are ±1e38: softmax takes the larger
 * alone. */
static void huge_scores(void)
{
    static const float first[3] = {1e19f, -1e19f, 5.0f}, second[3] = {1e19f, 1e19f, 7.0f};
    const shape s = {1, 1, 0, 2, 1, 1}, next = {1, 1, 1, 2, 1, 1};
    float *keys = output("keys", cache_floats(s)), *values = output("values", cache_floats(s));
    float *y = output("y", 1), *scratch = scratch_of(next);
    expect_status(forward(y, keys, values, scratch, first, s), GPT_OK);
    expect_within("y", 0, (double)y[0], 5.0, 0.0);
    expect_status(forward(y, keys, values, scratch, second, next), GPT_OK);
    expect_within("y", 1, (double)y[0], 7.0, 0.0);
    static const float infinite[3] = {1e19f, -1e19f, INFINITY};
    in_case("0 · infinity");
    expect_status(forward(y, keys, values, scratch, infinite, s), GPT_OK);
    expect_status(forward(y, keys, values, scratch, second, next), GPT_OK);
    expect(isnan(y[0]), "expected NaN, as in PyTorch, got %g", (double)y[0]);
    end_case();
}

/* The table of kernels has no capacity that is too small. */
static void refuses_small_capacities(void)
{
    static const shape bad[4] = {
        {1, 2, SIZE_MAX - 1, 3, 1, 1}, {1, 2, 1, SIZE_MAX, 1, 1}, {1, 2, 2, 3, 1, 1}, {1, 4, 0, 3, 1, 1}};
    const float *x = random_input("x", 12, -1.0f, 1.0f);
    float *y = output("y", 6), *keys = output("keys", 288), *values = output("values", 288),
          *scratch = output("scratch", 6);
    for (size_t k = 0; k < 4; k++) {
        in_case("tokens %zu, past %zu, capacity %zu", bad[k].tokens, bad[k].past, bad[k].capacity);
        expect_refused(forward(y, keys, values, scratch, x, bad[k]), GPT_ERR_SIZE);
    }
    end_case();
}

static void test_attention_cached(void)
{
    tested = FLOAT32;
    promise("cached attention token by token and in pieces is attention in one pass, to 2e-6", pieces_agree);
    promise("cached attention of a truncated cache does not depend on what was cut off, not even on NaN",
            truncates);
    promise("cached attention does not overflow with huge scores", huge_scores);
    promise("cached attention refuses more tokens than its capacity, and leaves its outputs as they were",
            refuses_small_capacities);
}

SUITE("attention_cached", test_attention_cached)

/* Runs a test of the int8 cache by each inner loop. */
static void (*by_one_loop)(void);
static void by_each_loop(void)
{
    for (tested = 0; tested < LOOPS; tested++) by_one_loop();
}
static void promise_of_loops(const char *name, void (*test)(void))
{
    by_one_loop = test;
    promise(name, by_each_loop);
}

/* A text of which the first tokens are read at once, and the others one by one. */
static void loops_agree(void)
{
    static const size_t sizes_of_heads[7] = {1, 5, 20, 64, 256, 257, 2049};
    enum { FIRST = 37, ALL = 71, TWO = 2 };
    for (size_t k = 0; k < 7; k++) {
        const size_t size = sizes_of_heads[k];
        in_case("size %zu", size);
        const float *qkv = random_input("qkv", ALL * 3 * TWO * size, -2.0f, 2.0f);
        float *y[LOOPS];
        for (tested = 0; tested < LOOPS; tested++) {
            const shape first = {1, FIRST, 0, ALL, TWO, size};
            float *keys = work(cache_floats(first)), *values = work(cache_floats(first));
            const shape most = {1, FIRST, ALL, ALL, TWO, size};
            float *scratch = scratch_of(most);
            y[tested] = work(ALL * TWO * size);
            expect_status(forward(y[tested], keys, values, scratch, qkv, first), GPT_OK);
            for (size_t t = FIRST; t < ALL; t++) {
                const shape s = {1, 1, t, ALL, TWO, size};
                expect_status(
                    forward(y[tested] + t * TWO * size, keys, values, scratch, qkv + t * 3 * TWO * size, s),
                    GPT_OK);
            }
            expect_same("y by the other loop", y[tested], y[0], ALL * TWO * size);
        }
        end_case();
    }
}

static void test_attention_int8(void)
{
    promise_of_loops(
        "attention with a cache in int8 is within 1 % of attention without a cache, and has the same "
        "bits token by token, in pieces and in one pass",
        int8_pieces_are_the_same);
    promise("attention with a cache in int8 has the same bits by both inner loops", loops_agree);
    promise_of_loops("attention with a cache in int8 does not depend on what was cut off, not even on NaN",
                     truncates);
    promise_of_loops("attention with a cache in int8 does not overflow with the largest numbers everywhere",
                     int8_does_not_overflow);
    promise_of_loops("attention with a cache in int8 does not overflow with huge scores", huge_scores);
    promise_of_loops("attention with a cache in int8 refuses more tokens than its capacity",
                     refuses_small_capacities);
}

SUITE("attention_int8", test_attention_int8)
