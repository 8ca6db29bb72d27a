#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* MT19937 written independently, as in the paper: the first words after a seed. */
enum { N = 624, M = 397, WORDS = 10000 };

static void words_of(uint32_t *words, uint32_t seed)
{
    static uint32_t x[N + WORDS];
    x[0] = seed;
    for (uint32_t i = 1; i < N; i++) x[i] = 1812433253u * (x[i - 1] ^ (x[i - 1] >> 30)) + i;
    for (size_t i = 0; i < WORDS; i++) {
        const uint32_t joined = (x[i] & 0x80000000u) | (x[i + 1] & 0x7fffffffu);
        x[i + N] = x[i + M] ^ (joined >> 1) ^ (joined % 2 ? 0x9908b0dfu : 0u);
        uint32_t word = x[i + N];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680u;
        word ^= (word << 15) & 0xefc60000u;
        words[i] = word ^ (word >> 18);
    }
}

/* The uniform number in [0, 1) of a word: its low 24 bits. */
static float unit_of(uint32_t word) { return (float)(word & 0xffffffu) * 0x1p-24f; }

/* The uniform number in [0, 1) of two words: their low 53 bits. */
static double unit_of_two(uint32_t high, uint32_t low)
{
    return ldexp((double)((((uint64_t)high << 32) | low) & 0x1fffffffffffffu), -53);
}

static gpt_random seeded(uint32_t seed)
{
    gpt_random random;
    memset(&random, 0xa5, sizeof random);
    expect_status(gpt_random_seed(&random, seed), GPT_OK);
    return random;
}

/* Expects words[index] as the next word of the generator; draws it from a copy. */
static void expect_next_word(const gpt_random *random, const uint32_t *words, size_t index)
{
    gpt_random fork = *random;
    float y = -1.0f;
    expect_status(gpt_random_uniform(&y, &fork, 1, 0.0f, 1.0f), GPT_OK);
    const float expected = unit_of(words[index]);
    expect_within("uniform of word", index, (double)y, (double)expected, 0.0);
}

static void draws_are_mt19937(void)
{
    enum { UNIFORMS = 1300, SOME = 311 };
    static const uint32_t seeds[6] = {5489u, 0u, 1u, 123u, 0x80000000u, UINT32_MAX};
    /* of seed 5489, as std::mt19937 has them; the C++ standard states the 10,000th */
    static const uint32_t first[5] = {3499211612u, 581869302u, 3890346734u, 3586334585u, 545404204u};
    static uint32_t expected[WORDS], words[WORDS];
    for (size_t k = 0; k < 6; k++) {
        in_case("seed %lu", (unsigned long)seeds[k]);
        words_of(expected, seeds[k]);
        gpt_random random = seeded(seeds[k]);
        float *y = output("y", UNIFORMS), *units = work(UNIFORMS);
        for (size_t i = 0; i < UNIFORMS; i++) units[i] = unit_of(expected[1 + i]);
        expect_status(gpt_random_words(words, &random, 1), GPT_OK);
        expect_status(gpt_random_uniform(y, &random, SOME, 0.0f, 1.0f), GPT_OK);
        expect_status(gpt_random_uniform(y + SOME, &random, UNIFORMS - SOME, 0.0f, 1.0f), GPT_OK);
        expect_status(gpt_random_words(words + 1 + UNIFORMS, &random, WORDS - 1 - UNIFORMS), GPT_OK);
        expect_same("y", y, units, UNIFORMS);
        expect(words[0] == expected[0], "the first word is %lu", (unsigned long)words[0]);
        for (size_t i = 1 + UNIFORMS; i < WORDS; i++)
            expect(words[i] == expected[i], "word %zu: expected %lu, got %lu", i, (unsigned long)expected[i],
                   (unsigned long)words[i]);
        for (size_t i = 0; k == 0 && i < 5; i++) expect(expected[i] == first[i], "word %zu is wrong", i);
        expect(k > 0 || expected[WORDS - 1] == 4123659995u, "the 10,000th word is wrong");
        end_case();
    }
}

static void size_of_the_state(void)
{
    expect(gpt_random_size() == sizeof(gpt_random), "expected %zu, got %zu", sizeof(gpt_random),
           gpt_random_size());
    /* JavaScript allocates the state by its size, aligned to 8 bytes */
    expect(_Alignof(gpt_random) <= 8, "expected an alignment of at most 8, got %zu", _Alignof(gpt_random));
}

static void a_copy_forks(void)
{
    enum { BEFORE = 700, AFTER = 1300 };
    gpt_random random = seeded(42u);
    float *y = output("y", AFTER), *forked = output("forked", AFTER);
    expect_status(gpt_random_uniform(y, &random, BEFORE, 0.0f, 1.0f), GPT_OK);
    expect_status(gpt_random_normal(y, &random, 3, 0.0, 1.0),
                  GPT_OK); /* leaves a spare normal in the state */
    gpt_random fork = random;
    expect_status(gpt_random_normal(y, &random, 5, 0.0, 1.0), GPT_OK);
    expect_status(gpt_random_uniform(y + 5, &random, AFTER - 5, -1.0f, 1.0f), GPT_OK);
    expect_status(gpt_random_normal(forked, &fork, 5, 0.0, 1.0), GPT_OK);
    expect_status(gpt_random_uniform(forked + 5, &fork, AFTER - 5, -1.0f, 1.0f), GPT_OK);
    expect_same("forked", forked, y, AFTER);
}

static void uniform_is_fused(void)
{
    static const float bounds[7][2] = {{-1.0f, 1.0f},    {-0.44721359f, 0.44721359f}, {0.1f, 0.3f},
                                       {1e-40f, 3e-40f}, {1000.0f, 1000.001f},        {-1e10f, 1e-10f},
                                       {-1e38f, 2e38f}};
    for (size_t k = 0; k < 7; k++) {
        const float low = bounds[k][0], high = bounds[k][1];
        in_case("low %.9g, high %.9g", (double)low, (double)high);
        gpt_random random = seeded(123u), fork = random;
        float *y = output("y", WORDS), *unit = work(WORDS), *expected = work(WORDS);
        expect_status(gpt_random_uniform(unit, &fork, WORDS, 0.0f, 1.0f), GPT_OK);
        for (size_t i = 0; i < WORDS; i++) expected[i] = fmaf(unit[i], high - low, low);
        expect_status(gpt_random_uniform(y, &random, WORDS, low, high), GPT_OK);
        expect_same("y", y, expected, WORDS);
        for (size_t i = 0; i < WORDS; i++)
            expect(y[i] >= low && y[i] <= high, "y[%zu] = %.9g is out of range", i, (double)y[i]);
        end_case();
    }
    in_case("low = high");
    gpt_random random = seeded(123u);
    static const float expected[3] = {0.7f, 0.7f, 0.7f};
    float *y = output("y", 3);
    expect_status(gpt_random_uniform(y, &random, 3, 0.7f, 0.7f), GPT_OK);
    expect_same("y", y, expected, 3);
}

/* The number of words that n normals take. Below 16: four words per pair. From 16 on: one word per normal,
 * and 16 more if n is not a multiple of 16, for the last block. */
static void normals_take_their_words(void)
{
    static uint32_t words[WORDS];
    words_of(words, 123u);
    for (size_t n = 0; n <= 50; n++) {
        in_case("n = %zu", n);
        const size_t expected = n < 16 ? (n + 1) / 2 * 4 : n + (n % 16 ? 16 : 0);
        gpt_random random = seeded(123u);
        float *y = output("y", n);
        expect_status(gpt_random_normal(y, &random, n, 0.0, 1.0), GPT_OK);
        expect_next_word(&random, words, expected);
        end_case();
    }
}

/* A block of 16 normals by the Box-Muller formula in float64. */
static void expected_block(double *expected, const uint32_t *words)
{
    const double two_pi = 6.283185307179586;
    for (size_t i = 0; i < 8; i++) {
        const double radius = sqrt(-2.0 * log(1.0 - (double)unit_of(words[i])));
        const double theta = two_pi * (double)unit_of(words[i + 8]);
        expected[i] = radius * cos(theta);
        expected[i + 8] = radius * sin(theta);
    }
}

static void long_normals(void)
{
    static const size_t lengths[8] = {16, 17, 31, 32, 33, 48, 768, 1023};
    static uint32_t words[WORDS];
    words_of(words, 5u);
    for (size_t k = 0; k < 8; k++) {
        const size_t n = lengths[k];
        in_case("n = %zu", n);
        gpt_random random = seeded(5u);
        float *y = output("y", n);
        double expected[1024];
        for (size_t i = 0; i + 16 <= n; i += 16) expected_block(expected + i, words + i);
        if (n % 16) expected_block(expected + n - 16, words + n);
        expect_status(gpt_random_normal(y, &random, n, 0.0, 1.0), GPT_OK);
        /* the error of an angle up to 2π in float32 is 2.4e-7, and the radius is at most 5.8 */
        for (size_t i = 0; i < n; i++) expect_within("y", i, (double)y[i], expected[i], 2e-6);
        end_case();
    }
}

static void short_normals(void)
{
    static uint32_t words[WORDS];
    words_of(words, 5u);
    for (size_t n = 1; n < 16; n++) {
        in_case("n = %zu", n);
        gpt_random random = seeded(5u);
        float *y = output("y", n);
        expect_status(gpt_random_normal(y, &random, n, 0.0, 1.0), GPT_OK);
        for (size_t i = 0; i < n; i++) {
            const uint32_t *w = words + i / 2 * 4;
            const double u1 = unit_of_two(w[0], w[1]), u2 = unit_of_two(w[2], w[3]);
            const double radius = sqrt(-2.0 * log(1.0 - u2)), theta = 6.283185307179586 * u1;
            /* rounded once, to float32 */
            const double expected = i % 2 ? radius * sin(theta) : radius * cos(theta);
            expect_within("y", i, (double)y[i], expected, 0x1.0001p-24 * fabs(expected));
        }
        end_case();
    }
}

/* The hashes are those of torch.manual_seed(5), then torch.randn(100003), or 2000 times torch.randn(15). */
static void normals_have_the_bits_of_pytorch(void)
{
    enum { MANY = 100003, CALLS = 2000, FEW = 15 };
    float *y = work(MANY);
    gpt_random random = seeded(5u), other = random;
    expect_status(gpt_random_normal(y, &random, MANY, 0.0, 1.0), GPT_OK);
    expect_hash(y, MANY, 0xf73c656fu);
    for (size_t k = 0; k < CALLS; k++)
        expect_status(gpt_random_normal(y + k * FEW, &other, FEW, 0.0, 1.0), GPT_OK);
    expect_hash(y, CALLS * FEW, 0x9ab5dca4u);
}

static void the_spare_is_kept(void)
{
    gpt_random one = seeded(123u), many = seeded(123u);
    float *one_call = output("one call", 15), *several_calls = output("several calls", 15);
    expect_status(gpt_random_normal(one_call, &one, 15, 0.0, 1.0), GPT_OK);
    /* calls of 1, 2, 3, 4 and 5 normals, which divide pairs in every way */
    size_t done = 0;
    for (size_t n = 1; n <= 5; n++) {
        expect_status(gpt_random_normal(several_calls + done, &many, n, 0.0, 1.0), GPT_OK);
        done += n;
    }
    expect_same("several calls", several_calls, one_call, 15);
    expect(memcmp(&one, &many, sizeof one) == 0, "the generators differ");
    end_case();

    in_case("seeding removes the spare");
    gpt_random fresh = seeded(123u);
    expect_status(gpt_random_seed(&one, 123u), GPT_OK);
    float *y = output("y", 1), *expected = output("expected", 1);
    expect_status(gpt_random_normal(y, &one, 1, 0.0, 1.0), GPT_OK);
    expect_status(gpt_random_normal(expected, &fresh, 1, 0.0, 1.0), GPT_OK);
    expect_same("y", y, expected, 1);
}

static void a_mean_shifts_normals(void)
{
    for (size_t n = 5; n <= 33; n += 28) { /* in float64, and in blocks whose last one overlaps */
        gpt_random one = seeded(7u), two = seeded(7u);
        float *y = output("y", n), *z = output("z", n);
        expect_status(gpt_random_normal(y, &one, n, 3.0, 2.0), GPT_OK);
        expect_status(gpt_random_normal(z, &two, n, 0.0, 1.0), GPT_OK);
        for (size_t i = 0; i < n; i++) expect_within("y", i, (double)y[i], 3.0 + 2.0 * (double)z[i], 1e-6);
        expect_status(gpt_random_normal(y, &one, n, (double)INFINITY, 1.0), GPT_ERR_VALUE);
        end_case();
    }
}

static void test_random(void)
{
    promise("words and uniform numbers follow MT19937 up to the 10,000th word, in one call or in several",
            draws_are_mt19937);
    promise("gpt_random_size is the size of the state", size_of_the_state);
    promise("copying the state forks the stream", a_copy_forks);
    promise("uniform is low + u (high - low), rounded once and in [low, high]", uniform_is_fused);
    promise("normal takes as many words as PyTorch, such as 17 + 16 for 17 numbers",
            normals_take_their_words);
    promise("normal from 16 on is Box-Muller in blocks of 16, with the last block drawn again", long_normals);
    promise("normal below 16 is Box-Muller in float64", short_normals);
    promise("normal has the bits of PyTorch's, 100,003 in one call and 15 in each of 2,000",
            normals_have_the_bits_of_pytorch);
    promise("normal below 16 keeps the second half of a pair for the next call", the_spare_is_kept);
    promise("normal of a mean and a deviation is mean + deviation · normal", a_mean_shifts_normals);
}

SUITE("random", test_random)
