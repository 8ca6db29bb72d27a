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

static void known_values(void)
{
    static const float a[2] = {6.0f, 7.0f}, b[2] = {2.0f, -4.0f};
    static const float expected[OPERATIONS][4] = {
        {8.0f, 9.0f, 2.0f, 3.0f},    {4.0f, 5.0f, 10.0f, 11.0f}, {12.0f, 14.0f, -24.0f, -28.0f},
        {3.0f, 3.5f, -1.5f, -1.75f}, {6.0f, 7.0f, 6.0f, 7.0f},   {2.0f, 2.0f, -4.0f, -4.0f},
        {0.0f, 0.0f, 0.0f, 0.0f},    {1.0f, 1.0f, 1.0f, 1.0f},   {0.0f, 0.0f, 0.0f, 0.0f},
        {0.0f, 0.0f, 0.0f, 0.0f},
    };
    for (size_t k = 0; k < OPERATIONS; k++) {
        in_case("%s", operations[k].name);
        float *y = output("y", 4), *reference = output("reference", 4);
        /* a is one row for both rows, b is a column */
        expect_status(operations[k].kernel(y, a, b, 2, 2, 0, 1, 1, 0), GPT_OK);
        gpt_arithmetic_ref(operations[k].reference, reference, a, b, 2, 2, 0, 1, 1, 0);
        expect_same("y", y, expected[k], 4);
        expect_same("reference", reference, expected[k], 4);
        end_case();
    }
}

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

/* rules.c has y as one of them. */
static void both_operands_in_place(void)
{
    for (size_t k = 0; k < OPERATIONS; k++)
        for (size_t c = 0; c < SIZES; c++) {
            const size_t n = sizes[c];
            in_case("%s, n = %zu", operations[k].name, n);
            const float *x = random_input("x", n, -4.0f, 4.0f);
            float *y = output_of("y", x, n), *expected = output("expected", n);
            gpt_arithmetic_ref(operations[k].reference, expected, x, x, 1, n, n, 1, n, 1);
            expect_status(operations[k].kernel(y, y, y, 1, n, n, 1, n, 1), GPT_OK);
            expect_same("y", y, expected, n);
            end_case();
        }
}

/* Zeros of both signs choose b; all else, NaN too, chooses a. */
static void where_of_known_values(void)
{
    static const float condition[6] = {0.0f, -0.0f, 1.0f, -1e-45f, NAN, INFINITY};
    static const float a[6] = {NAN, 1.0f, -0.0f, 3.0f, 4.0f, INFINITY}, b[1] = {7.0f};
    static const float expected[6] = {7.0f, 7.0f, -0.0f, 3.0f, 4.0f, INFINITY};
    /* five of each: a vector and the tail */
    for (size_t i = 0; i < 6; i++) {
        in_case("condition %g", (double)condition[i]);
        float conditions[5], values[5], *y = output("y", 5);
        for (size_t k = 0; k < 5; k++) conditions[k] = condition[i], values[k] = a[i];
        expect_status(gpt_where(y, conditions, values, b, 1, 5, 5, 1, 5, 1, 0, 0), GPT_OK);
        for (size_t k = 0; k < 5; k++) expect_same("y", y + k, expected + i, 1);
        end_case();
    }
}

static void sqrt_of_known_values(void)
{
    static const float x[6] = {4.0f, -4.0f, -0.0f, INFINITY, -INFINITY, NAN};
    static const float expected[6] = {2.0f, NAN, -0.0f, INFINITY, NAN, NAN};
    float *y = output("y", 6);
    expect_status(gpt_sqrt(y, x, 6), GPT_OK);
    expect_same("y", y, expected, 6);
    end_case();
}

static void exp_of_known_values(void)
{
    static const float x[8] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.73f, -105.0f, 1.0f};
    static const float expected[8] = {1.0f, 1.0f, INFINITY, 0.0f, NAN, INFINITY, 0.0f, 2.71828183f};
    float *y = output("y", 8);
    expect_status(gpt_exp(y, x, 8), GPT_OK);
    expect_close("y", y, expected, 8, 1e-7);
    end_case();
}

/* PyTorch's values. */
static void functions_of_known_values(void)
{
    static const float x[7] = {-2.0f, -0.0f, 0.0f, 1.0f, INFINITY, -INFINITY, NAN};
    static const struct {
        float exponent, expected[7];
    } powers[10] = {
        {0.0f, {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}},
        {3.0f, {-8.0f, -0.0f, 0.0f, 1.0f, INFINITY, -INFINITY, NAN}},
        {-1.0f, {-0.5f, -INFINITY, INFINITY, 1.0f, 0.0f, -0.0f, NAN}},
        {1.0f, {-2.0f, -0.0f, 0.0f, 1.0f, INFINITY, -INFINITY, NAN}},
        {4.0f, {16.0f, 0.0f, 0.0f, 1.0f, INFINITY, INFINITY, NAN}},
        {-2.0f, {0.25f, INFINITY, INFINITY, 1.0f, 0.0f, 0.0f, NAN}},
        {-3.0f, {-0.125f, -INFINITY, INFINITY, 1.0f, 0.0f, -0.0f, NAN}},
        {0.5f, {NAN, -0.0f, 0.0f, 1.0f, INFINITY, NAN, NAN}},
        {INFINITY, {INFINITY, 0.0f, 0.0f, 1.0f, INFINITY, INFINITY, NAN}},
        {NAN, {NAN, NAN, NAN, 1.0f, NAN, NAN, NAN}},
    };
    float *y = output("y", 7);
    for (size_t k = 0; k < 10; k++) {
        in_case("exponent %g", (double)powers[k].exponent);
        expect_status(gpt_pow(y, x, 7, powers[k].exponent, 0, 1), GPT_OK);
        expect_same("y", y, powers[k].expected, 7);
    }
    static const float signs[7] = {-0.9640276f, -0.0f, 0.0f, 0.7615942f, 1.0f, -1.0f, NAN};
    in_case("tanh");
    expect_status(gpt_tanh(y, x, 7, 0, 1), GPT_OK);
    for (size_t i = 1; i < 7; i++)
        if (i != 3) expect_same("y", y + i, signs + i, 1);
    expect_close("y", y, signs, 7, 1e-6);
    static const float logs[7] = {NAN, -INFINITY, -INFINITY, 0.0f, INFINITY, NAN, NAN};
    in_case("log");
    expect_status(gpt_log(y, x, 7, 0, 1), GPT_OK);
    expect_same("y", y, logs, 7);
    end_case();
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

static void abs_backward_of_known_values(void)
{
    static const float x[6] = {-1.5f, -0.0f, 0.0f, 1e-45f, NAN, -INFINITY};
    static const float dy[6] = {2.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const float expected[6] = {-2.0f, 0.0f, 0.0f, 4.0f, 0.0f, -6.0f};
    float *dx = output("dx", 6);
    expect_status(gpt_abs_backward(dx, dy, x, 6, 0, 1), GPT_OK);
    expect_same("dx", dx, expected, 6);
    end_case();
}

static void silu_backward_of_known_values(void)
{
    static const float values[3] = {0.0f, INFINITY, -1000.0f}, ones[3] = {1.0f, 2.0f, 1.0f};
    static const float expected[3] = {0.5f, NAN, 0.0f}; /* as PyTorch */
    float *dx = output("dx", 3);
    in_case("0, infinity, -1000");
    expect_status(gpt_silu_backward(dx, ones, values, 3, 0, 1), GPT_OK);
    expect_close("dx", dx, expected, 3, 1e-6);
    end_case();
}

/* PyTorch's values. */
static void clamp_of_known_values(void)
{
    static const float x[6] = {-2.0f, -1.0f, 0.5f, 1.0f, INFINITY, NAN};
    static const float expected[6] = {-1.0f, -1.0f, 0.5f, 1.0f, 1.0f, NAN},
                       swapped[6] = {-1, -1, -1, -1, -1, NAN};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const float gradient[6] = {0.0f, 2.0f, 3.0f, 4.0f, 0.0f, 0.0f};
    float *y = output("y", 6);
    in_case("-1 to 1");
    expect_status(gpt_clamp(y, x, 6, -1.0f, 1.0f, 0, 1), GPT_OK);
    expect_same("y", y, expected, 6);
    in_case("1 to -1");
    expect_status(gpt_clamp(y, x, 6, 1.0f, -1.0f, 0, 1), GPT_OK);
    expect_same("y", y, swapped, 6);
    in_case("gradient");
    expect_status(gpt_clamp_backward(y, dy, x, 6, -1.0f, 1.0f, 0, 1), GPT_OK);
    expect_same("dx", y, gradient, 6);
    end_case();
}

static void test_elementwise(void)
{
    promise("operations of a row and a column have the expected values", known_values);
    promise("operations of any two special values are right", agrees_on_pairs_of_specials);
    promise("operations can overwrite a tensor that is both operands", both_operands_in_place);
    promise("where takes b for zeros of both signs, and a for all else, also for NaN", where_of_known_values);
    promise("sqrt is NaN below 0, and -0 of -0", sqrt_of_known_values);
    promise("exp is 1 for zeros of both signs, and infinity and 0 beyond float32", exp_of_known_values);
    promise("log, tanh and pow of 0, 1, infinities and NaN are PyTorch's", functions_of_known_values);
    promise("sin and tanh of a denormal are the denormal", denormals_stay);
    promise("silu backward is 1/2 at 0, and NaN at infinity, as in PyTorch", silu_backward_of_known_values);
    promise("clamp keeps NaN and takes the upper bound where the lower one is larger, as PyTorch",
            clamp_of_known_values);
    promise("abs backward is dy times the sign, and 0 for 0 and NaN, as in PyTorch",
            abs_backward_of_known_values);
}

SUITE("elementwise", test_elementwise)
