#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* What PyTorch draws after torch.manual_seed(seed), one after the other, as hashes. */
typedef struct draws {
    uint32_t seed;
    uint32_t uniforms; /* empty(313).uniform_(low, high), for each pair of `bounds` */
    uint32_t words;    /* randint(2**32 - 1, (1300,)) */
    uint32_t normals;  /* empty(n).normal_(0, 1) or, for even n, normal_(3, 2), for n from 1 to 50;
                         then 300 times empty(15).normal_(0, 1) */
    uint32_t many;     /* empty(20003).normal_(0, 1) */
} draws;

static const draws of_pytorch[6] = {
    {5489u, 0xdef56d3du, 0x37810298u, 0xc51b2aacu, 0xfb231806u},
    {0u, 0x5005c5fcu, 0x8e46d993u, 0xef5b5a8au, 0x9035ae27u},
    {1u, 0x49a8f9e1u, 0xb7070afau, 0x9b8221a1u, 0xe4131139u},
    {123u, 0xf0f2991au, 0xba3a4ce5u, 0x53ecb948u, 0x61fcc541u},
    {0x80000000u, 0x4080400cu, 0xf9d43dc7u, 0xe65a55fcu, 0x182a60e9u},
    {UINT32_MAX, 0x8be0eff8u, 0x71d761a8u, 0xb6b30358u, 0x598501d7u},
};

enum { BOUNDS = 8 };
static const float bounds[BOUNDS][2] = {
    {-1.0f, 1.0f},        {-0.44721359f, 0.44721359f},
    {0.1f, 0.3f},         {1e-40f, 3e-40f},
    {1000.0f, 1000.001f}, {-1e10f, 1e-10f},
    {-1e38f, 2e38f},      {0.7f, 0.7f},
};

static void draws_have_the_bits_of_pytorch(void)
{
    enum { UNIFORMS = 313, WORDS = 1300, MOST_NORMALS = 50, CALLS = 300, FEW = 15, MANY = 20003 };
    gpt_random random;
    memset(&random, 0xa5, sizeof random);
    for (size_t k = 0; k < 6; k++) {
        const draws *expected = &of_pytorch[k];
        float *y = work(MANY);
        size_t n = 0;
        expect_status(gpt_random_seed(&random, expected->seed), GPT_OK);
        for (size_t b = 0; b < BOUNDS; b++, n += UNIFORMS)
            expect_status(gpt_random_uniform(y + n, &random, UNIFORMS, bounds[b][0], bounds[b][1]), GPT_OK);
        in_case("seed %lu, uniforms", (unsigned long)expected->seed);
        expect_hash(y, n, expected->uniforms);
        expect_status(gpt_random_words((uint32_t *)(void *)y, &random, WORDS), GPT_OK);
        in_case("seed %lu, words", (unsigned long)expected->seed);
        expect_hash(y, WORDS, expected->words);
        n = 0;
        for (size_t count = 1; count <= MOST_NORMALS; n += count++)
            expect_status(count % 2 ? gpt_random_normal(y + n, &random, count, 0.0, 1.0)
                                    : gpt_random_normal(y + n, &random, count, 3.0, 2.0),
                          GPT_OK);
        for (size_t call = 0; call < CALLS; call++, n += FEW)
            expect_status(gpt_random_normal(y + n, &random, FEW, 0.0, 1.0), GPT_OK);
        in_case("seed %lu, few normals", (unsigned long)expected->seed);
        expect_hash(y, n, expected->normals);
        expect_status(gpt_random_normal(y, &random, MANY, 0.0, 1.0), GPT_OK);
        in_case("seed %lu, many normals", (unsigned long)expected->seed);
        expect_hash(y, MANY, expected->many);
        /* keeps the second half of a pair, which the next seed removes */
        expect_status(gpt_random_normal(y, &random, 1, 0.0, 1.0), GPT_OK);
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
    gpt_random random;
    float *y = output("y", AFTER), *forked = output("forked", AFTER);
    expect_status(gpt_random_seed(&random, 42u), GPT_OK);
    expect_status(gpt_random_uniform(y, &random, BEFORE, 0.0f, 1.0f), GPT_OK);
    /* leaves a spare normal in the state */
    expect_status(gpt_random_normal(y, &random, 3, 0.0, 1.0), GPT_OK);
    gpt_random fork = random;
    expect_status(gpt_random_normal(y, &random, 5, 0.0, 1.0), GPT_OK);
    expect_status(gpt_random_uniform(y + 5, &random, AFTER - 5, -1.0f, 1.0f), GPT_OK);
    expect_status(gpt_random_normal(forked, &fork, 5, 0.0, 1.0), GPT_OK);
    expect_status(gpt_random_uniform(forked + 5, &fork, AFTER - 5, -1.0f, 1.0f), GPT_OK);
    expect_same("forked", forked, y, AFTER);
}

static void test_random(void)
{
    promise("uniform numbers, words and normals have the bits of PyTorch's, in calls of 1 to 20,003",
            draws_have_the_bits_of_pytorch);
    promise("gpt_random_size is the size of the state", size_of_the_state);
    promise("copying the state forks the stream", a_copy_forks);
}

SUITE("random", test_random)
