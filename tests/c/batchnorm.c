#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 5e-6;

/* Compares statistics and y with the reference. */
static void expect_forward(const float *values, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    const float *x = input_of("x", values, n), *scale = random_input("scale", cols, -2.0f, 2.0f);
    const float *shift = random_input("shift", cols, -2.0f, 2.0f);
    float *mean = output("mean", cols), *off = output("off", cols), *var = output("var", cols);
    float *m = output("expected mean", cols), *o = output("expected off", cols),
          *v = output("expected var", cols);
    float *y = output("y", n), *expected = output("expected y", n);
    gpt_batchnorm_statistics_ref(m, o, v, x, rows, cols);
    expect_status(gpt_batchnorm_statistics(mean, off, var, x, rows, cols, 0, 1), GPT_OK);
    for (size_t c = 0; c < cols; c++) {
        /* the error of the mean relative to the deviation, because y is (x - mean) / deviation */
        expect_within("mean + off", c, (double)mean[c] + (double)off[c], (double)m[c] + (double)o[c],
                      1e-6 * sqrt((double)v[c]) + 1e-13 * fabs((double)m[c]));
        expect_within("var", c, (double)var[c], (double)v[c], 2e-6 * (double)v[c] + 1e-38);
    }
    gpt_batchnorm_forward_ref(expected, x, m, o, v, scale, shift, rows, cols, 1e-5f);
    expect_status(gpt_batchnorm_forward(y, x, mean, off, var, scale, shift, rows, cols, 1e-5f, 0, 1), GPT_OK);
    expect_close("y", y, expected, n, tolerance);
    end_case();
}

/* The rows that determine the pivot are far from all others. */
static void agrees_where_the_first_rows_mislead(void)
{
    enum { ROWS = 20000, COLS = 3 };
    static const float others[3] = {1.0f, -1e3f, 1e8f};
    for (size_t k = 0; k < 3; k++) {
        in_case("16 rows around 0, the others around %g", (double)others[k]);
        float *values = work(ROWS * COLS);
        for (size_t i = 0; i < ROWS * COLS; i++)
            values[i] = others[k] * ((i < 16 * COLS ? 0.0f : 1.0f) + 1e-4f * random_gauss());
        expect_forward(values, ROWS, COLS);
    }
}

/* Columns whose squares overflow in float32, or vanish beside an eps that is not larger. */
static void any_finite_column_is_normalized(void)
{
    enum { ROWS = 5, COLS = 9 };
    static const float magnitudes[COLS] = {1e18f, 2e19f, 1e20f, 1e30f, 3e38f, 1e-16f, 1e-20f, 1e-38f, 1.0f};
    static const float expected[ROWS] = {-2.0f, 0.5f, 0.5f, 0.5f, 0.5f};
    float *values = work(ROWS * COLS), *first = work(ROWS * COLS);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        values[i] = i < COLS ? -magnitudes[i % COLS] : magnitudes[i % COLS];
        first[i] = i < COLS ? 1.0f : 0.0f;
    }
    const float *x = input_of("x", values, ROWS * COLS), *dy = input_of("dy", first, ROWS * COLS);
    const float *one = random_input("one", COLS, 1.0f, 1.0f), *zero = random_input("zero", COLS, 0.0f, 0.0f);
    float *mean = output("mean", COLS), *off = output("off", COLS), *var = output("var", COLS);
    float *y = output_of("y is x", values, ROWS * COLS);
    float *dx = output("dx", ROWS * COLS), *dscale = output("dscale", COLS);
    expect_status(gpt_batchnorm_statistics(mean, off, var, x, ROWS, COLS, 0, 1), GPT_OK);
    expect_status(gpt_batchnorm_forward(y, y, mean, off, var, one, zero, ROWS, COLS, 0.0f, 0, 1), GPT_OK);
    expect_status(
        gpt_batchnorm_backward(dx, dscale, NULL, dy, x, mean, off, var, one, ROWS, COLS, 0.0f, 0, 1), GPT_OK);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const double u = (double)expected[i / COLS], deviation = 0.8 * (double)magnitudes[i % COLS];
        expect_within("y", i, (double)y[i], u, 2e-6);
        expect_within("dx", i, (double)dx[i] * deviation, (i < COLS ? 1.0 : 0.0) - 0.2 + 0.4 * u, 4e-6);
    }
    for (size_t c = 0; c < COLS; c++) {
        expect_within("mean", c, (double)mean[c] / (double)magnitudes[c], 0.6, 1e-6);
        expect_within("dscale", c, (double)dscale[c], -2.0, 2e-6);
    }
}

static void test_batchnorm(void)
{
    promise("batch norm is within 5e-6 of float64 if the first rows are far from the others",
            agrees_where_the_first_rows_mislead);
    promise("batch norm and its gradients have the values of the equation for columns of 1e-38 to 3e38",
            any_finite_column_is_normalized);
}

SUITE("batchnorm", test_batchnorm)
