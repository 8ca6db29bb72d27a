#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const double tolerance = 3e-6, gradient_tolerance = 1e-5;

/* A change of token j, to NaN and infinities too, changes no bit of the tokens before it. From a token of NaN
 * on, all are NaN. */
static void is_causal(void)
{
    enum { TOKENS = 137, HEADS = 2, SIZE = 5, DIM = HEADS * SIZE };
    static const float changes[4] = {7.0f, NAN, INFINITY, -INFINITY};
    for (size_t j = 0; j < TOKENS; j++)
        for (size_t k = 0; k < 4; k++) {
            in_case("token %zu is %g", j, (double)changes[k]);
            const float *qkv = random_input("qkv", TOKENS * 3 * DIM, -2.0f, 2.0f);
            float *changed = work(TOKENS * 3 * DIM);
            float *y = output("y", TOKENS * DIM), *after = output("after", TOKENS * DIM);
            float *scratch = output("scratch", gpt_attention_scratch_size(TOKENS, SIZE));
            for (size_t i = 0; i < TOKENS * 3 * DIM; i++)
                changed[i] = i / (3 * DIM) == j ? changes[k] : qkv[i];
            expect_status(
                gpt_attention_forward(y, NULL, NULL, scratch, qkv, 1, TOKENS, HEADS, SIZE, 0, 0.0f, 0, 1),
                GPT_OK);
            expect_status(gpt_attention_forward(after, NULL, NULL, scratch, changed, 1, TOKENS, HEADS, SIZE,
                                                0, 0.0f, 0, 1),
                          GPT_OK);
            expect_same("before it", after, y, j * DIM);
            for (size_t i = j * DIM; i < TOKENS * DIM && isnan(changes[k]); i++)
                expect(isnan(after[i]), "expected NaN at %zu, got %g", i, (double)after[i]);
            end_case();
        }
}

/* With scores of 1e30 and more the largest takes all the weight, as in the reference. */
static void huge_scores(void)
{
    enum { TOKENS = 70, SIZE = 16 };
    for (size_t k = 0; k < 3; k++) {
        const float largest = k == 0 ? 1e3f : k == 1 ? 1e10f : 1e18f;
        in_case("q and k up to %g", (double)largest);
        float *qkv = work(TOKENS * 3 * SIZE);
        fill_random(qkv, TOKENS * 3 * SIZE, -1.0f, 1.0f);
        for (size_t i = 0; i < TOKENS * 3 * SIZE; i++)
            if (i % (3 * SIZE) < 2 * SIZE) qkv[i] *= largest;
        float *y = output("y", TOKENS * SIZE), *expected = output("expected", TOKENS * SIZE);
        float *scratch = output("scratch", gpt_attention_scratch_size(TOKENS, SIZE));
        gpt_attention_forward_ref(expected, NULL, NULL, qkv, 1, TOKENS, 1, SIZE, 0, 0.0f);
        expect_status(gpt_attention_forward(y, NULL, NULL, scratch, qkv, 1, TOKENS, 1, SIZE, 0, 0.0f, 0, 1),
                      GPT_OK);
        /* float32 rounds scores of 1e6 by 0.1: two keys with nearly equal scores differ from the reference */
        if (k > 0) expect_close("y", y, expected, TOKENS * SIZE, 1e-6);
        for (size_t i = 0; i < TOKENS * SIZE; i++)
            expect(fabsf(y[i]) <= 1.0f, "expected a mean of values in -1 ... 1 at %zu, got %g", i,
                   (double)y[i]);
        end_case();
    }
    static const float lone[3] = {1e19f, -1e19f, 5.0f};
    in_case("one score of -1e38");
    float *y = output("y", 1), *scratch = output("scratch", gpt_attention_scratch_size(1, 1));
    expect_status(gpt_attention_forward(y, NULL, NULL, scratch, lone, 1, 1, 1, 1, 0, 0.0f, 0, 1), GPT_OK);
    expect_within("y", 0, (double)y[0], 5.0, 0.0);
}

/* Large scores that float32 holds exactly: q = base, k[j] = 1 - c[j] / base, score[j] = base - c[j]. */
static void large_scores_are_exact(void)
{
    enum { TOKENS = 9 };
    static const float bases[4] = {0x1p13f, 0x1p17f, 0x1p20f, 0x1p23f};
    for (size_t b = 0; b < 4; b++) {
        in_case("scores of about %g", (double)bases[b]);
        float *qkv = work(3 * TOKENS);
        fill_random(qkv, 3 * TOKENS, -1.0f, 1.0f);
        for (size_t j = 0; j < TOKENS; j++) {
            qkv[3 * j] = bases[b];
            qkv[3 * j + 1] = 1.0f - (float)(j * 5 % 7) / bases[b];
        }
        const float *dy = random_input("dy", TOKENS, -1.0f, 1.0f);
        float *y = output("y", TOKENS), *max = output("max", TOKENS), *sum = output("sum", TOKENS);
        float *w = output("w", TOKENS * TOKENS), *dqkv = output("dqkv", 3 * TOKENS);
        float *expected = output("expected", 3 * TOKENS), *expected_w = output("expected w", TOKENS * TOKENS);
        float *scratch = output("scratch", gpt_attention_backward_scratch_size(TOKENS, 1));
        gpt_attention_forward_ref(expected, NULL, NULL, qkv, 1, TOKENS, 1, 1, 0, 0.0f);
        expect_status(gpt_attention_forward(y, max, sum, scratch, qkv, 1, TOKENS, 1, 1, 0, 0.0f, 0, 1),
                      GPT_OK);
        expect_close("y", y, expected, TOKENS, tolerance);
        gpt_attention_weights_ref(expected_w, qkv, 1, TOKENS, 1, 1);
        expect_status(gpt_attention_weights(w, scratch, qkv, max, sum, 1, TOKENS, 1, 1, 0, 1), GPT_OK);
        expect_close("w", w, expected_w, TOKENS * TOKENS, tolerance);
        double sums[3 * TOKENS];
        gpt_attention_backward_ref(expected, sums, dy, qkv, 1, TOKENS, 1, 1, 0, 0.0f);
        expect_status(
            gpt_attention_backward(dqkv, scratch, dy, y, qkv, max, sum, 1, TOKENS, 1, 1, 0, 0.0f, 0, 1),
            GPT_OK);
        /* dk is a sum of products with q, which is base */
        for (size_t i = 0; i < 3 * TOKENS; i++)
            expect_within(i % 3 == 0   ? "dq"
                          : i % 3 == 1 ? "dk"
                                       : "dv",
                          i / 3, (double)dqkv[i], (double)expected[i],
                          gradient_tolerance * (i % 3 == 1 ? (double)bases[b] : 1.0));
        end_case();
    }
}

/* The cost of a part is the number of its scores: query t has t + 1. A block of queries is not cut, so a part may
 * differ from the mean by the scores of the last block. */
static void parts_are_equal(void)
{
    enum { TOKENS = 2048, BLOCK = 128 };
    float qkv[TOKENS * 3];
    fill_random(qkv, TOKENS * 3, -1.0f, 1.0f);
    float max[TOKENS] = {0.0f}, sum[TOKENS];
    for (size_t t = 0; t < TOKENS; t++) sum[t] = 1.0f;
    for (size_t parts = 2; parts <= 5; parts++)
        for (size_t part = 0; part < parts; part++) {
            float *y = output("y", TOKENS), *w = output("w", TOKENS * TOKENS),
                  *scratch = work(parts * gpt_attention_scratch_size(TOKENS, 1));
            expect_status(
                gpt_attention_forward(y, NULL, NULL, scratch, qkv, 1, TOKENS, 1, 1, 0, 0.0f, part, parts),
                GPT_OK);
            expect_status(gpt_attention_weights(w, scratch, qkv, max, sum, 1, TOKENS, 1, 1, part, parts),
                          GPT_OK);
            double of_y = 0.0, of_w = 0.0;
            const double mean = 0.5 * TOKENS * (TOKENS + 1) / (double)parts;
            for (size_t t = 0; t < TOKENS; t++) {
                of_y += isnan(y[t]) ? 0.0 : (double)(t + 1);
                of_w += isnan(w[t * TOKENS]) ? 0.0 : (double)(t + 1);
            }
            in_case("part %zu of %zu", part, parts);
            expect(fabs(of_y - mean) <= BLOCK * TOKENS && fabs(of_w - mean) <= BLOCK * TOKENS,
                   "expected about %g scores, got %g, and %g of the weights", mean, of_y, of_w);
            end_case();
        }
}

static void test_attention(void)
{
    promise("attention of a token does not depend on later tokens, bit for bit, not even on NaN", is_causal);
    promise("attention does not overflow with huge scores", huge_scores);
    promise("attention's weights and gradients are as exact for scores of 1e4 to 1e7 as for small ones",
            large_scores_are_exact);
    promise("attention of a long text is cut into parts with equally many scores", parts_are_equal);
}

SUITE("attention", test_attention)
