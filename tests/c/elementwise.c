#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

typedef int (*binary)(float *y, const float *a, const float *b, size_t rows, size_t cols, size_t a_row,
                      size_t a_col, size_t b_row, size_t b_col);

typedef struct operation {
    const char *name;
    char reference; /* for gpt_arithmetic_ref */
    binary kernel;
} operation;

enum { OPERATIONS = 10 };
static const operation operations[OPERATIONS] = {
    {"add", '+', gpt_add}, {"sub", '-', gpt_sub},         {"mul", '*', gpt_mul},
    {"div", '/', gpt_div}, {"maximum", '^', gpt_maximum}, {"minimum", 'v', gpt_minimum},
    {"eq", '=', gpt_eq},   {"ne", '!', gpt_ne},           {"lt", '<', gpt_lt},
    {"le", '{', gpt_le},
};

/* Every pair of special values. */
static void agrees_on_pairs_of_specials(void)
{
    enum { N = SPECIALS * SPECIALS };
    float a[N], b[N];
    for (size_t i = 0; i < N; i++) a[i] = specials[i / SPECIALS], b[i] = specials[i % SPECIALS];
    for (size_t k = 0; k < OPERATIONS; k++) {
        in_case("%s", operations[k].name);
        float *y = output("y", N), *expected = output("expected", N);
        gpt_arithmetic_ref(operations[k].reference, expected, a, b, 1, N, N, 1, N, 1);
        expect_status(operations[k].kernel(y, a, b, 1, N, N, 1, N, 1), GPT_OK);
        expect_same("y", y, expected, N);
        end_case();
    }
}

/* The smallest numbers are their own sine and hyperbolic tangent. */
static void denormals_stay(void)
{
    const size_t n = 100;
    float *x = work(n), *y = output("y", n);
    for (size_t i = 0; i < n; i++) x[i] = ldexpf(random_in(-1.0f, 1.0f), -126 - (int)random_below(23));
    expect_status(gpt_sin(y, x, n, 0, 1), GPT_OK);
    expect_same("sin", y, x, n);
    expect_status(gpt_tanh(y, x, n, 0, 1), GPT_OK);
    expect_same("tanh", y, x, n);
}

static void test_elementwise(void)
{
    promise("operations of any two special values are right", agrees_on_pairs_of_specials);
    promise("sin and tanh of a denormal are the denormal", denormals_stay);
}

SUITE("elementwise", test_elementwise)
