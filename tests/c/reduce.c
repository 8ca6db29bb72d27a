#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The lengths of `sizes`, and a few longer ones. */
enum { LENGTHS = SIZES + 4 };

static size_t length(size_t k)
{
    static const size_t longer[4] = {1024, 1025, 2048, 2051};
    return k < SIZES ? sizes[k] : longer[k - SIZES];
}

static double mean_magnitude(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i]);
    return sum / (double)n;
}

/* The mean within 1e-6 of the mean of |x|, because a mean near 0 is a difference of larger numbers. Both
 * variances with a relative error of 1e-6. */
static void expect_moments(const float *x, size_t rows, size_t cols)
{
    float *y = output("y", rows), *expected = output("expected", rows);
    gpt_mean_ref(expected, x, rows, cols);
    expect_status(gpt_mean(y, x, rows, cols), GPT_OK);
    for (size_t r = 0; r < rows; r++)
        expect_within("mean", r, (double)y[r], (double)expected[r],
                      1e-6 * mean_magnitude(x + r * cols, cols));
    for (int unbiased = 0; unbiased <= 1; unbiased++) {
        gpt_var_ref(expected, x, rows, cols, unbiased);
        expect_status(gpt_var(y, x, rows, cols, unbiased), GPT_OK);
        for (size_t r = 0; r < rows; r++)
            expect_within(unbiased ? "unbiased var" : "var", r, (double)y[r], (double)expected[r],
                          1e-6 * (double)expected[r]);
    }
    end_case();
}

static void known_values(void)
{
    static const float x[8] = {1.0f, 2.0f, 3.0f, 4.0f, -1.0f, -1.0f, 1.0f, 5.0f};
    static const float mean[2] = {2.5f, 1.0f}, var[2] = {1.25f, 6.0f}, unbiased_var[2] = {1.66666663f, 8.0f};
    float *y = output("y", 2);
    expect_status(gpt_mean(y, x, 2, 4), GPT_OK);
    expect_same("mean", y, mean, 2);
    gpt_mean_ref(y, x, 2, 4);
    expect_same("reference mean", y, mean, 2);
    expect_status(gpt_var(y, x, 2, 4, 0), GPT_OK);
    expect_same("var", y, var, 2);
    gpt_var_ref(y, x, 2, 4, 0);
    expect_same("reference var", y, var, 2);
    expect_status(gpt_var(y, x, 2, 4, 1), GPT_OK);
    expect_same("unbiased var", y, unbiased_var, 2);
    gpt_var_ref(y, x, 2, 4, 1);
    expect_same("reference unbiased var", y, unbiased_var, 2);
}

static void agrees_far_from_zero(void)
{
    static const float means[3] = {1e4f, -1.0f, 1e-3f}, deviations[3] = {0.1f, 0.5f, 1e-5f};
    for (size_t k = 0; k < LENGTHS; k++) {
        for (size_t m = 0; m < 3; m++) {
            const size_t n = length(k);
            in_case("n = %zu, mean %g, deviation %g", n, (double)means[m], (double)deviations[m]);
            float *values = work(n);
            fill_gauss(values, n, means[m], deviations[m]);
            expect_moments(input_of("x", values, n), 1, n);
        }
    }
}

static void agrees_on_specials(void)
{
    for (size_t n = 1; n <= SMALL_SIZES; n++) {
        for (size_t place = 0; place < n; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                in_case("n = %zu, x[%zu] = %g", n, place, (double)specials[s]);
                float *values = work(n);
                fill_random(values, n, -2.0f, 2.0f);
                values[place] = specials[s];
                expect_moments(input_of("x", values, n), 1, n);
            }
        }
    }
}

static void opposite_infinities_are_nan(void)
{
    for (size_t n = 2; n <= SMALL_SIZES; n++) {
        in_case("n = %zu", n);
        float *values = work(n);
        fill_random(values, n, -2.0f, 2.0f);
        values[0] = INFINITY;
        values[n - 1] = -INFINITY;
        const float *x = input_of("x", values, n);
        float *y = output("y", 1);
        expect_status(gpt_mean(y, x, 1, n), GPT_OK);
        expect(isnan(y[0]), "expected NaN, got %g", (double)y[0]);
        end_case();
    }
}

static void divisor_0_is_nan(void)
{
    const float *nothing = random_input("nothing", 0, 0.0f, 0.0f), *one = random_input("one", 3, -1.0f, 1.0f);
    const float nan3[3] = {NAN, NAN, NAN}, zero3[3] = {0.0f, 0.0f, 0.0f};
    float *y = output("y", 3);

    in_case("mean, cols = 0");
    expect_status(gpt_mean(y, nothing, 3, 0), GPT_OK);
    expect_same("mean", y, nan3, 3);
    in_case("var, cols = 0");
    expect_status(gpt_var(y, nothing, 3, 0, 0), GPT_OK);
    expect_same("var", y, nan3, 3);
    in_case("unbiased var, cols = 0");
    expect_status(gpt_var(y, nothing, 3, 0, 1), GPT_OK);
    expect_same("var", y, nan3, 3);
    in_case("unbiased var, cols = 1");
    expect_status(gpt_var(y, one, 3, 1, 1), GPT_OK);
    expect_same("var", y, nan3, 3);
    in_case("var, cols = 1");
    expect_status(gpt_var(y, one, 3, 1, 0), GPT_OK);
    expect_same("var", y, zero3, 3);
}

/* In a constant row every addition rounds in the same direction, so that the errors add up. */
static void constant_rows(void)
{
    static const float constants[5] = {0.1f, 0.628909945f, -7.0f, 1e30f, 1e-40f};
    for (size_t k = 0; k < LENGTHS; k++) {
        for (size_t v = 0; v < 5; v++) {
            const size_t n = length(k);
            const double constant = (double)constants[v];
            in_case("n = %zu, all %.9g", n, constant);
            float *values = work(n);
            for (size_t i = 0; i < n; i++) values[i] = constants[v];
            const float *x = input_of("x", values, n);
            float *y = output("y", 1);
            expect_status(gpt_mean(y, x, 1, n), GPT_OK);
            expect_within("mean", 0, (double)y[0], constant, 1e-6 * fabs(constant));
            expect_status(gpt_var(y, x, 1, n, 0), GPT_OK);
            /* the mean in float64 has a few rounding errors */
            expect_within("var", 0, (double)y[0], 0.0, 1e-24 * constant * constant);
            end_case();
        }
    }
}

static void square_sums(void)
{
    static const float known[3] = {3.0f, -4.0f, 1e30f};
    double sum = 0.0, expected = 0.0;
    expect_status(gpt_square_sum(&sum, known, 2), GPT_OK);
    expect(sum == 25.0, "expected 25, got %.17g", sum);
    expect_status(gpt_square_sum(&sum, known, 3), GPT_OK);
    expect_within("beyond float32", 0, sum, 1e60, 1e54);
    for (size_t k = 0; k < LENGTHS; k++) {
        const size_t n = length(k);
        in_case("n = %zu", n);
        const float *x = random_input("x", n, -4.0f, 4.0f);
        gpt_square_sum_ref(&expected, x, n);
        expect_status(gpt_square_sum(&sum, x, n), GPT_OK);
        expect_within("sum", 0, sum, expected, 1e-12 * expected);
        end_case();
    }
    expect_status(gpt_square_sum(&sum, known, 0), GPT_OK);
    expect(sum == 0.0, "expected 0 for no elements, got %.17g", sum);
}

static void sums_agree(void)
{
    static const float known[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.5f, 0.25f}, sums[2] = {6.0f, -0.25f};
    float *y = output("y", 2);
    expect_status(gpt_sum(y, known, 2, 3), GPT_OK);
    expect_same("sum", y, sums, 2);
    gpt_sum_ref(y, known, 2, 3);
    expect_same("reference sum", y, sums, 2);
    end_case();
    for (size_t k = 0; k < LENGTHS; k++)
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            const size_t rows = row_counts[r], cols = length(k);
            in_case("%zu x %zu", rows, cols);
            const float *x = random_input("x", rows * cols, -2.0f, 2.0f);
            float *sum = output("sum", rows), *expected = output("expected", rows);
            gpt_sum_ref(expected, x, rows, cols);
            expect_status(gpt_sum(sum, x, rows, cols), GPT_OK);
            for (size_t i = 0; i < rows; i++)
                expect_within("sum", i, (double)sum[i], (double)expected[i],
                              3e-7 * (double)cols * mean_magnitude(x + i * cols, cols));
            end_case();
        }
}

static void sum_of_many_equals(void)
{
    enum { N = 262144 };
    float *x = work(N), *sum = output("sum", 1);
    for (size_t i = 0; i < N; i++) x[i] = 0.1f;
    expect_status(gpt_sum(sum, x, 1, N), GPT_OK);
    expect_within("sum", 0, (double)sum[0], (double)N * (double)0.1f, 1e-7 * N);
}

static void sum_of_nothing_is_0(void)
{
    const float *nothing = random_input("nothing", 0, 0.0f, 0.0f), zeros[3] = {0.0f, 0.0f, 0.0f};
    float *sum = output("sum", 3);
    expect_status(gpt_sum(sum, nothing, 3, 0), GPT_OK);
    expect_same("sum", sum, zeros, 3);
}

static void known_maxima(void)
{
    static const float x[6][6] = {
        {1.0f, 3.0f, 2.0f, 3.0f, 0.0f, 3.0f},
        {1.0f, NAN, 2.0f, INFINITY, NAN, 0.0f},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {-0.0f, 0.0f, -1.0f, -0.0f, 0.0f, -2.0f},
        {-3.0f, -2.0f, -5.0f, -4.0f, -9.0f, -1.0f},
        {INFINITY, 1.0f, 2.0f, 3.0f, 4.0f, NAN},
    };
    static const float expected[6] = {3.0f, NAN, -INFINITY, -0.0f, -1.0f, NAN};
    static const int32_t places[6] = {1, 1, 0, 0, 5, 5};
    float *max = output("max", 6);
    int32_t indices[6] = {0};
    expect_status(gpt_max(max, indices, x[0], 6, 6), GPT_OK);
    expect_same("max", max, expected, 6);
    for (size_t r = 0; r < 6; r++)
        expect(indices[r] == places[r], "row %zu: expected index %d, got %d", r, (int)places[r],
               (int)indices[r]);
}

/* Few different values, so that most rows have several maxima; special values among them. */
static void maxima_agree(void)
{
    enum { MOST_ROWS = 33 };
    for (size_t k = 0; k < LENGTHS; k++)
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            const size_t rows = row_counts[r], cols = length(k);
            in_case("%zu x %zu", rows, cols);
            float *x = work(rows * cols);
            for (size_t i = 0; i < rows * cols; i++)
                x[i] = random_below(64) ? (float)random_below(5) : specials[random_below(SPECIALS)];
            float *max = output("max", rows), *expected = output("expected", rows);
            int32_t indices[MOST_ROWS], expected_indices[MOST_ROWS];
            gpt_max_ref(expected, expected_indices, x, rows, cols);
            expect_status(gpt_max(max, indices, x, rows, cols), GPT_OK);
            expect_same("max", max, expected, rows);
            for (size_t i = 0; i < rows; i++)
                expect(indices[i] == expected_indices[i], "row %zu: expected index %d, got %d", i,
                       (int)expected_indices[i], (int)indices[i]);
            end_case();
        }
}

static void test_reduce(void)
{
    promise("mean and var of 1, 2, 3, 4 are 2.5, 1.25 and 1.6667", known_values);
    promise("mean and var are within 1e-6 of float64 at every length, also far from zero",
            agrees_far_from_zero);
    promise("mean and var of special values are right at every position", agrees_on_specials);
    promise("mean of infinity and -infinity is NaN", opposite_infinities_are_nan);
    promise("mean of a constant row is within 1e-6 of the constant, and var is 0 except for rounding",
            constant_rows);
    promise("mean and var are NaN if the divisor is 0", divisor_0_is_nan);
    promise("sum is within 3e-7 of float64, relative to the sum of magnitudes, at every length", sums_agree);
    promise("sum of 262,144 equal elements is within 1e-6 of float64", sum_of_many_equals);
    promise("sum of no elements is 0", sum_of_nothing_is_0);
    promise("max is the largest element: the first of equal ones, and NaN before all others", known_maxima);
    promise("max and its indices equal the reference's at every length, also among special values",
            maxima_agree);
    promise("square_sum sums in float64 at every length", square_sums);
}

SUITE("reduce", test_reduce)
