#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"
#include "unary.h"

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

static void agrees_on_specials(void)
{
    enum { MOST = 9 };
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t place = 0; place < n; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                for (size_t t = 0; t < SPECIALS; t++) {
                    float values_a[MOST], values_b[MOST];
                    fill_random(values_a, n, -4.0f, 4.0f);
                    fill_random(values_b, n, -4.0f, 4.0f);
                    values_a[place] = specials[s];
                    values_b[place] = specials[t];
                    const float *a = input_of("a", values_a, n), *b = input_of("b", values_b, n);
                    float *y = output("y", n), *expected = output("expected", n);
                    for (size_t k = 0; k < OPERATIONS; k++) {
                        in_case("%s, n = %zu, %g and %g at %zu", operations[k].name, n, (double)specials[s],
                                (double)specials[t], place);
                        gpt_arithmetic_ref(operations[k].reference, expected, a, b, 1, n, n, 1, n, 1);
                        expect_status(operations[k].kernel(y, a, b, 1, n, n, 1, n, 1), GPT_OK);
                        expect_same("y", y, expected, n);
                    }
                    end_case();
                }
            }
        }
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

/* How an operand is read: whole, one row repeated, one column repeated, one value repeated, rows with a
 * gap. */
typedef struct reading {
    const char *name;
    size_t row_per_col, row_extra, col; /* the row stride is row_per_col·cols + row_extra */
} reading;

enum { READINGS = 5 };
static const reading readings[READINGS] = {
    {"whole", 1, 0, 1}, {"row", 0, 0, 1}, {"column", 0, 1, 0}, {"value", 0, 0, 0}, {"gapped", 1, 3, 1},
};

static size_t row_stride(const reading *as, size_t cols) { return as->row_per_col * cols + as->row_extra; }

/* The number of floats from the first to the last that is read. */
static size_t span(const reading *as, size_t rows, size_t cols)
{
    return (rows - 1) * row_stride(as, cols) + (cols - 1) * as->col + 1;
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

static void where_agrees(void)
{
    for (size_t i = 0; i < READINGS * READINGS * READINGS; i++)
        for (size_t k = 0; k < SIZES; k++) {
            const reading *as[3] = {&readings[i % READINGS], &readings[i / READINGS % READINGS],
                                    &readings[i / READINGS / READINGS]};
            const size_t rows = 3, cols = sizes[k], n = span(as[0], rows, cols);
            if (k >= SMALL_SIZES && i % 7) continue;
            in_case("condition %s, a %s, b %s, %zu columns", as[0]->name, as[1]->name, as[2]->name, cols);
            float *conditions = work(n);
            for (size_t j = 0; j < n; j++) conditions[j] = random_below(2) ? random_in(-1.0f, 1.0f) : 0.0f;
            const float *condition = input_of("condition", conditions, n);
            const float *a = random_input("a", span(as[1], rows, cols), -4.0f, 4.0f),
                        *b = random_input("b", span(as[2], rows, cols), -4.0f, 4.0f);
            float *y = output("y", rows * cols), *expected = output("expected", rows * cols);
            gpt_where_ref(expected, condition, a, b, rows, cols, row_stride(as[0], cols), as[0]->col,
                          row_stride(as[1], cols), as[1]->col, row_stride(as[2], cols), as[2]->col);
            expect_status(gpt_where(y, condition, a, b, rows, cols, row_stride(as[0], cols), as[0]->col,
                                    row_stride(as[1], cols), as[1]->col, row_stride(as[2], cols), as[2]->col),
                          GPT_OK);
            expect_same("y", y, expected, rows * cols);
            end_case();
        }
}

static void sqrt_agrees(void) { unary_agrees(gpt_sqrt, gpt_sqrt_ref, 0.0f, 100.0f, 0.0); }

static void sqrt_agrees_on_specials(void)
{
    static const float x[6] = {4.0f, -4.0f, -0.0f, INFINITY, -INFINITY, NAN};
    static const float expected[6] = {2.0f, NAN, -0.0f, INFINITY, NAN, NAN};
    float *y = output("y", 6);
    expect_status(gpt_sqrt(y, x, 6), GPT_OK);
    expect_same("y", y, expected, 6);
    end_case();
    unary_agrees_on_specials(gpt_sqrt, gpt_sqrt_ref, 0.0);
    unary_is_elementwise(gpt_sqrt);
}

static void exp_agrees(void)
{
    unary_agrees(gpt_exp, gpt_exp_ref, -10.0f, 10.0f, 4e-7);
    static const float x[8] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.73f, -105.0f, 1.0f};
    static const float expected[8] = {1.0f, 1.0f, INFINITY, 0.0f, NAN, INFINITY, 0.0f, 2.71828183f};
    float *y = output("y", 8);
    expect_status(gpt_exp(y, x, 8), GPT_OK);
    expect_close("y", y, expected, 8, 1e-7);
    end_case();
    unary_agrees_on_specials(gpt_exp, gpt_exp_ref, 4e-7);
    unary_is_elementwise(gpt_exp);
}

/* From the smallest denormal, e^-103.97, to the largest float, e^88.72. */
static void exp_is_relative(void)
{
    enum { N = 4096 };
    float *values = work(N);
    fill_random(values, N, -103.9f, 88.722f);
    float *y = output("y", N);
    expect_status(gpt_exp(y, values, N), GPT_OK);
    for (size_t i = 0; i < N; i++) {
        const double exact = exp((double)values[i]);
        in_case("x = %.9g", (double)values[i]);
        expect_within("y", i, (double)y[i], exact, 4e-7 * exact + 0x1p-150);
    }
    end_case();
}

/* Functions of one tensor that can be cut into parts, without part and parts. */
static int whole_log(float *y, const float *x, size_t n) { return gpt_log(y, x, n, 0, 1); }
static int whole_tanh(float *y, const float *x, size_t n) { return gpt_tanh(y, x, n, 0, 1); }
static int whole_sin(float *y, const float *x, size_t n) { return gpt_sin(y, x, n, 0, 1); }
static int whole_cos(float *y, const float *x, size_t n) { return gpt_cos(y, x, n, 0, 1); }
static int whole_sigmoid(float *y, const float *x, size_t n) { return gpt_sigmoid(y, x, n, 0, 1); }
static int whole_silu(float *y, const float *x, size_t n) { return gpt_silu_forward(y, x, n, 0, 1); }
static int whole_abs(float *y, const float *x, size_t n) { return gpt_abs(y, x, n, 0, 1); }
static int whole_square(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 2.0f, 0, 1); }
static int whole_cube(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 3.0f, 0, 1); }
static int whole_first(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 1.0f, 0, 1); }
static int whole_fourth(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 4.0f, 0, 1); }
static int whole_eighth(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 8.0f, 0, 1); }
static int whole_ninth(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 9.0f, 0, 1); }
static int whole_minus_3(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, -3.0f, 0, 1); }
static int whole_minus_8(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, -8.0f, 0, 1); }
static int whole_root(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, 0.5f, 0, 1); }
static int whole_inverse_root(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, -0.5f, 0, 1); }
static int whole_inverse(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, -1.0f, 0, 1); }
static int whole_power(float *y, const float *x, size_t n) { return gpt_pow(y, x, n, -1.7f, 0, 1); }

static double exact_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static double exact_silu(double x) { return x / (1.0 + exp(-x)); }
static double exact_square(double x) { return x * x; }
static double exact_cube(double x) { return x * x * x; }
static double exact_first(double x) { return x; }
static double exact_fourth(double x) { return pow(x, 4.0); }
static double exact_eighth(double x) { return pow(x, 8.0); }
static double exact_ninth(double x) { return pow(x, 9.0); }
static double exact_minus_3(double x) { return pow(x, -3.0); }
static double exact_minus_8(double x) { return pow(x, -8.0); }
static double exact_inverse(double x) { return 1.0 / x; }
static double exact_inverse_root(double x) { return 1.0 / sqrt(x); }
static double exact_power(double x) { return pow(x, (double)-1.7f); }

typedef struct function {
    const char *name;
    unary kernel;
    double (*exact)(double x);
    float low, high;
    double tolerance; /* relative */
} function;

enum { FUNCTIONS = 21 };
static const function functions[FUNCTIONS] = {
    {"log", whole_log, log, 0.0f, 10.0f, 2e-7},
    {"tanh", whole_tanh, tanh, -10.0f, 10.0f, 4e-7},
    {"sin", whole_sin, sin, -10.0f, 10.0f, 7e-8},
    {"cos", whole_cos, cos, -10.0f, 10.0f, 7e-8},
    {"sin of large values", whole_sin, sin, -1e9f, 1e9f, 7e-8},
    {"cos of large values", whole_cos, cos, -1e9f, 1e9f, 7e-8},
    {"sigmoid", whole_sigmoid, exact_sigmoid, -80.0f, 20.0f, 6e-7},
    {"silu", whole_silu, exact_silu, -80.0f, 20.0f, 7e-7},
    {"abs", whole_abs, fabs, -10.0f, 10.0f, 0.0},
    {"x^2", whole_square, exact_square, -10.0f, 10.0f, 2e-7},
    {"x^3", whole_cube, exact_cube, -10.0f, 10.0f, 2e-7},
    {"x^0.5", whole_root, sqrt, 0.0f, 10.0f, 2e-7},
    {"x^-0.5", whole_inverse_root, exact_inverse_root, 0.0f, 10.0f, 2e-7},
    {"x^-1", whole_inverse, exact_inverse, -10.0f, 10.0f, 2e-7},
    {"x^1", whole_first, exact_first, -10.0f, 10.0f, 0.0},
    {"x^4", whole_fourth, exact_fourth, -10.0f, 10.0f, 6e-8},
    {"x^8", whole_eighth, exact_eighth, -10.0f, 10.0f, 6e-8},
    {"x^9", whole_ninth, exact_ninth, -10.0f, 10.0f, 2e-7},
    {"x^-3", whole_minus_3, exact_minus_3, -10.0f, 10.0f, 6e-8},
    {"x^-8", whole_minus_8, exact_minus_8, -10.0f, 10.0f, 6e-8},
    {"x^-1.7", whole_power, exact_power, 0.0f, 10.0f, 2e-7},
};

static void expect_exact(const function *f, const float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double exact = f->exact((double)x[i]);
        const int is_finite = fabs(exact) <= (double)FLT_MAX;
        in_case("%s of %.9g", f->name, (double)x[i]);
        expect_within("y", i, (double)y[i], is_finite ? exact : (double)(float)exact,
                      f->tolerance * fabs(exact) + 0x1p-149);
    }
}

static void functions_agree(void)
{
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const function *f = &functions[k];
        for (size_t s = 0; s < SIZES; s++) {
            const size_t n = sizes[s];
            const float *x = random_input("x", n, f->low, f->high);
            float *y = output("y", n);
            expect_status(f->kernel(y, x, n), GPT_OK);
            expect_exact(f, y, x, n);
            end_case();
        }
        float *y = output("y", SPECIALS);
        expect_status(f->kernel(y, specials, SPECIALS), GPT_OK);
        expect_exact(f, y, specials, SPECIALS);
        end_case();
        unary_is_elementwise(f->kernel);
    }
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

/* Compares a function with float64 at every magnitude, `tolerance` relative.
 *   is_x   y = x for denormals */
static void agrees_at_every_magnitude(const char *name, unary kernel, double (*exact)(double x),
                                      double tolerance, int is_x)
{
    const size_t n = 16;
    float *x = work(n), *y = work(n);
    for (int exponent = -149; exponent < 128; exponent++) {
        in_case("2^%d", exponent);
        for (size_t i = 0; i < n; i++)
            x[i] = ldexpf(i % 2 ? -random_in(1.0f, 2.0f) : random_in(1.0f, 2.0f), exponent);
        expect_status(kernel(y, x, n), GPT_OK);
        if (is_x && exponent < -126) expect_same(name, y, x, n);
        for (size_t i = 0; i < n; i++) {
            const double expected = exact((double)x[i]);
            expect_within(name, i, (double)y[i], expected, tolerance * fabs(expected));
        }
    }
    end_case();
}

/* From 2^28 on, the reduction is another one. */
static void sin_and_cos_of_every_magnitude(void)
{
    agrees_at_every_magnitude("sin", whole_sin, sin, 7e-8, 1);
    agrees_at_every_magnitude("cos", whole_cos, cos, 7e-8, 0);
}

static void tanh_of_every_magnitude(void) { agrees_at_every_magnitude("tanh", whole_tanh, tanh, 4e-7, 1); }

static void abs_backward_agrees(void)
{
    static const float x[6] = {-1.5f, -0.0f, 0.0f, 1e-45f, NAN, -INFINITY};
    static const float dy[6] = {2.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const float expected[6] = {-2.0f, 0.0f, 0.0f, 4.0f, 0.0f, -6.0f};
    float *dx = output("dx", 6);
    expect_status(gpt_abs_backward(dx, dy, x, 6, 0, 1), GPT_OK);
    expect_same("dx", dx, expected, 6);
    end_case();
}

static void silu_backward_agrees(void)
{
    static const float values[3] = {0.0f, INFINITY, -1000.0f}, ones[3] = {1.0f, 2.0f, 1.0f};
    static const float expected[3] = {0.5f, NAN, 0.0f}; /* as PyTorch */
    float *dx = output("dx", 3);
    in_case("0, infinity, -1000");
    expect_status(gpt_silu_backward(dx, ones, values, 3, 0, 1), GPT_OK);
    expect_close("dx", dx, expected, 3, 1e-6);
    end_case();
    for (size_t k = 0; k < SIZES; k++) {
        const size_t n = sizes[k];
        in_case("n = %zu", n);
        const float *x = random_input("x", n, -20.0f, 20.0f), *one = random_input("dy", n, 1.0f, 1.0f);
        float *reference = output("reference", n), *dx_n = output("dx", n);
        gpt_silu_backward_ref(reference, one, x, n);
        expect_status(gpt_silu_backward(dx_n, one, x, n, 0, 1), GPT_OK);
        expect_close("dx", dx_n, reference, n, 1e-6);
        end_case();
    }
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
    promise("operations of any two special values are right in every lane", agrees_on_specials);
    promise("operations can overwrite a tensor that is both operands", both_operands_in_place);
    promise("where takes b for zeros of both signs, and a for all else, also for NaN", where_of_known_values);
    promise("where broadcasts each of its operands bit for bit", where_agrees);
    promise("sqrt equals its reference bit for bit at every length", sqrt_agrees);
    promise("sqrt is NaN below 0, and right for special values in every lane", sqrt_agrees_on_specials);
    promise("exp is within 4e-7 of float64 at every length, and right for special values in every lane",
            exp_agrees);
    promise("exp has a relative error of 4e-7 from the smallest denormal to the largest float",
            exp_is_relative);
    promise(
        "log, tanh, sin, cos, sigmoid, silu, abs and pow are as near to float64 as promised, at every length",
        functions_agree);
    promise("log, tanh and pow of 0, 1, infinities and NaN are PyTorch's", functions_of_known_values);
    promise("tanh has a relative error of 4e-7 from the smallest denormal to the largest float",
            tanh_of_every_magnitude);
    promise("sin and cos have a relative error of 7e-8 from the smallest denormal to the largest float",
            sin_and_cos_of_every_magnitude);
    promise("silu backward is within 1e-6 of float64 at every length", silu_backward_agrees);
    promise("clamp keeps NaN and takes the upper bound where the lower one is larger, as PyTorch",
            clamp_of_known_values);
    promise("abs backward is dy times the sign, and 0 for 0 and NaN, as in PyTorch", abs_backward_agrees);
}

SUITE("elementwise", test_elementwise)
