/* Sizes that no memory can hold. rules.c has the kernels that refuse them. */
#include "sizes.h"

#include "check.h"
#include "gpt_layers.h"

/* The scratch size for sizes a, b and c. `tensors` names tensors that must be addressable: "ab bc" is one of a * b
 * numbers and one of b * c. */
typedef struct scratch {
    const char *name, *tensors;
    size_t size;
} scratch;

enum { SCRATCHES = 14 };
static scratch scratch_for(size_t k, size_t a, size_t b, size_t c)
{
    const scratch all[SCRATCHES] = {
        {"linear", "ab", gpt_linear_scratch_size(a, b)},
        {"linear_backward", "ab", gpt_linear_backward_scratch_size(a, b)},
        {"conv1d", "ab", gpt_conv1d_scratch_size(a, b)},
        {"conv1d_backward", "ab", gpt_conv1d_backward_scratch_size(a, b)},
        {"int8_linear", "ab", gpt_int8_linear_scratch_size(a, b, 2)},
        {"feedforward", "ab bc", gpt_feedforward_scratch_size(a, b, c)},
        {"attention", "ab", gpt_attention_scratch_size(a, b)},
        {"attention_backward", "ab", gpt_attention_backward_scratch_size(a, b)},
        {"attention_cached", "abc", gpt_attention_cached_scratch_size(a, 0, b, c)},
        {"attention_cached, one token", "abc", gpt_attention_cached_scratch_size(1, a, b, c)},
        {"attention's cache", "ab", gpt_attention_cache_size(a, b)},
        {"attention_int8", "abc", gpt_attention_int8_scratch_size(a, 0, b, c)},
        {"attention_int8, one token", "abc", gpt_attention_int8_scratch_size(1, a, b, c)},
        {"attention's cache in int8", "ab", gpt_attention_int8_cache_size(a, b)},
    };
    return all[k];
}

static void expect_no_scratch(size_t k, const size_t *s)
{
    const scratch found = scratch_for(k, s[0], s[1], s[2]);
    in_case("%s, sizes %zu, %zu, %zu", found.name, s[0], s[1], s[2]);
    expect(found.size == SIZE_MAX, "expected SIZE_MAX, got %zu", found.size);
}

/* Sizes that make one of the tensors unaddressable. Either one size is too large, or the product of two sizes is
 * too large or wraps to 0. All other sizes are 0, or all are 1. */
static void expect_no_scratch_of(size_t k)
{
    enum { LARGE = 5, BITS = 8 * sizeof(size_t) };
    static const size_t large[LARGE] = {SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX / 4, SIZE_MAX / 2, SIZE_MAX};
    for (const char *first = scratch_for(k, 0, 0, 0).tensors; *first; first++) {
        if (*first == ' ') continue;
        for (size_t other = 0; other <= 1; other++) {
            size_t s[3] = {other, other, other}, *const one = s + (*first - 'a');
            for (size_t l = 0; l < LARGE; l++) {
                *one = large[l];
                expect_no_scratch(k, s);
            }
            for (const char *second = first + 1; *second && *second != ' '; second++)
                for (size_t bits = BITS / 2 - 1; bits <= BITS / 2; bits++) {
                    *one = s[*second - 'a'] = (size_t)1 << bits;
                    expect_no_scratch(k, s);
                    s[*second - 'a'] = other;
                }
        }
    }
}

static void scratch_sizes_do_not_wrap(void)
{
    for (size_t k = 0; k < SCRATCHES; k++) expect_no_scratch_of(k);
}

/* It is for a block of rows, outputs or tokens: more of them need no more. */
static void scratch_stops_growing(void)
{
    const size_t pairs[4][2] = {
        {gpt_linear_backward_scratch_size(512, 1), gpt_linear_backward_scratch_size(10000, 50257)},
        {gpt_int8_linear_scratch_size(64, 768, 128), gpt_int8_linear_scratch_size(1000, 768, 128)},
        {gpt_feedforward_scratch_size(1000, 768, 3072), gpt_feedforward_scratch_size(100000, 768, 3072)},
        {gpt_attention_scratch_size(1000, 64), gpt_attention_scratch_size(100000, 64)},
    };
    for (size_t k = 0; k < 4; k++)
        expect(pairs[k][0] == pairs[k][1], "pair %zu: %zu, and for more %zu", k, pairs[k][0], pairs[k][1]);
    for (size_t rows = 0; rows <= 100; rows++)
        expect(gpt_feedforward_scratch_size(rows, 768, 3072) <= (rows ? rows + 7 : 0) * (768 + 3072),
               "feedforward of %zu rows needs %zu floats", rows,
               gpt_feedforward_scratch_size(rows, 768, 3072));
}

static void the_rule(void)
{
    const size_t most = GPT_MAX_FLOATS;
    expect(most * sizeof(float) < PTRDIFF_MAX && most > PTRDIFF_MAX / sizeof(float) - 64,
           "expected about PTRDIFF_MAX bytes, got %zu floats", most);
    expect(gpt_fits(most, 1) && gpt_fits(1, most), "expected the largest tensor to fit");
    expect(gpt_fits(most, 0) && gpt_fits(0, most) && gpt_fits(0, 0), "expected an empty tensor to fit");
    expect(!gpt_fits(most + 1, 1) && !gpt_fits(1, most + 1), "expected one float more not to fit");
    expect(!gpt_fits(most + 1, 0) && !gpt_fits(0, most + 1), "expected one float more never to fit");
    expect(gpt_fits(most / 3, 3) && !gpt_fits(most / 3 + 1, 3), "expected a third of it to fit 3 times");
    expect(!gpt_fits(SIZE_MAX, SIZE_MAX) && !gpt_fits(SIZE_MAX / 2 + 1, 2),
           "expected no wrapped product to fit");
    expect(gpt_fits4(most / 6, 1, 2, 3) && !gpt_fits4(most / 6 + 1, 1, 2, 3) &&
               !gpt_fits4(0, most / 6 + 1, 2, 3),
           "expected a sixth of it to fit 1 · 2 · 3 times");
    expect(gpt_floats(0, most) == 0 && gpt_floats(0, most + 1) == SIZE_MAX, "expected 0, then SIZE_MAX");
    expect(gpt_floats_sum(most, 0) == most && gpt_floats_sum(most, 1) == SIZE_MAX &&
               gpt_floats_sum(1, SIZE_MAX) == SIZE_MAX,
           "expected the largest sum, then SIZE_MAX");
    expect(gpt_round_up(most, 24) >= most && gpt_round_up(most + 1, 24) == SIZE_MAX,
           "expected the largest size rounded up, then SIZE_MAX");
}

static void test_sizes(void)
{
    promise("a size fits if its bytes are addressable, and counts as 1 where it is 0", the_rule);
    promise("every scratch size is SIZE_MAX where the sizes are not addressable", scratch_sizes_do_not_wrap);
    promise("scratch does not grow beyond that of a block of rows, outputs or tokens", scratch_stops_growing);
}

SUITE("sizes", test_sizes)
