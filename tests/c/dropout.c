#include "check.h"
#include "gpt_layers.h"
#include "mask.h"
#include "reference.h"

#include <math.h>
#include <string.h>

static const float probabilities[3] = {0.1f, 0.5f, 0.9f};
static const uint32_t seeds[5] = {0u, 1u, 123u, 0x80000000u, UINT32_MAX};

/* With p = 1 a word is dropped if it is less than the largest one; this one is not. */
static void drops_the_largest_word(void)
{
    const uint32_t seed = 41831357u;
    static const float x[2] = {1.0f, 2.0f};
    float *y = output("y", 2);
    expect(gpt_mask_word(seed, 1) == UINT32_MAX, "the word of element 1 is another one");
    expect_status(gpt_dropout_forward(y, x, 2, seed, 1.0f, 0, 1), GPT_OK);
    for (size_t i = 0; i < 2; i++) expect_within("y", i, (double)y[i], 0.0, 0.0);
}

enum { MANY = 1 << 20 }; /* elements of a mask in rates_are_independent */

/* The mask that the kernel applies: 1 for a kept element. */
static void mask_of(unsigned char *kept, float *y, const float *ones, uint32_t seed, float p)
{
    expect_status(gpt_dropout_forward(y, ones, MANY, seed, p, 0, 1), GPT_OK);
    for (size_t i = 0; i < MANY; i++) kept[i] = y[i] > 0.0f;
}

/* How many of n elements are kept in both masks: eight at once, as the bytes of a word. */
static size_t both_kept(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t both = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t a_i, b_i;
        memcpy(&a_i, a + i, 8);
        memcpy(&b_i, b + i, 8);
        both += (size_t)((a_i & b_i) * 0x0101010101010101u >> 56); /* the sum of the bytes */
    }
    for (; i < n; i++) both += a[i] & b[i];
    return both;
}

/* Within 5 standard deviations of the mean of `count` independent draws with probability `rate`. */
static void expect_rate(const char *what, size_t got, size_t count, double rate)
{
    const double deviation = sqrt((double)count * rate * (1.0 - rate));
    expect_within(what, 0, (double)got, (double)count * rate, 5.0 * deviation);
}

static void rates_are_independent(void)
{
    static unsigned char kept[MANY], other[MANY];
    static const size_t lags[14] = {1, 2, 3, 4, 5, 7, 8, 16, 64, 768, 1024, 3072, 65536, 524288};
    static const uint32_t apart[6] = {1u, 2u, 64u, 1024u, 0x10000u, 0x80000000u};
    float *ones = work(MANY), *y = output("y", MANY), *expected = work(MANY);
    for (size_t i = 0; i < MANY; i++) ones[i] = 1.0f;
    for (size_t s = 0; s < 5; s++) {
        for (size_t q = 0; q < 3; q++) {
            const float p = probabilities[q];
            const double keep = 1.0 - (double)p;
            in_case("seed %lu, p = %g", (unsigned long)seeds[s], (double)p);
            mask_of(kept, y, ones, seeds[s], p);
            gpt_dropout_forward_ref(expected, ones, MANY, seeds[s], p);
            expect_same("y", y, expected, MANY);
            expect_rate("kept", both_kept(kept, kept, MANY), MANY, keep);
            for (size_t l = 0; l < 14; l++) {
                in_case("seed %lu, p = %g, %zu apart", (unsigned long)seeds[s], (double)p, lags[l]);
                const size_t n = MANY - lags[l];
                expect_rate("both kept", both_kept(kept + lags[l], kept, n), n, keep * keep);
            }
            for (size_t a = 0; a < 6; a++) {
                in_case("seed %lu and %lu more, p = %g", (unsigned long)seeds[s], (unsigned long)apart[a],
                        (double)p);
                mask_of(other, y, ones, seeds[s] + apart[a], p);
                expect_rate("both kept", both_kept(kept, other, MANY), MANY, keep * keep);
                /* shifted by the difference of the seeds: a hash of seed + index would give the same mask
                 * here */
                const size_t shift = apart[a] % MANY;
                expect_rate("both kept, shifted", both_kept(kept + shift, other, MANY - shift), MANY - shift,
                            keep * keep);
            }
        }
    }
}

static void test_dropout(void)
{
    promise("dropout with p = 1 drops the largest word, too", drops_the_largest_word);
    promise("dropout's mask of 2^20 elements is the reference's: it keeps a share of 1 - p, independent of "
            "neighbors and of other seeds",
            rates_are_independent);
}

SUITE("dropout", test_dropout)
