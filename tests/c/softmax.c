#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const double tolerance = 1e-6;

/* Compares forward and backward with their references. */
static void expect_softmax(const float *values, size_t rows, size_t cols, double backward_tolerance)
{
    const size_t n = rows * cols;
    const float *x = input_of("x", values, n), *dy = random_input("dy", n, -2.0f, 2.0f);
    float *y = output("y", n), *expected = output("expected y", n);
    gpt_softmax_forward_ref(expected, x, rows, cols);
    expect_status(gpt_softmax_forward(y, x, rows, cols, 0, 1), GPT_OK);
    /* y < 1, so that this bounds the absolute error; the loop bounds the relative error */
    expect_close("y", y, expected, n, tolerance);
    for (size_t i = 0; i < n; i++)
        if (expected[i] > 1e-30f)
            expect_within("y", i, (double)y[i], (double)expected[i], 1e-5 * (double)expected[i]);
    float *dx = output("dx", n), *gradient = output("expected dx", n);
    gpt_softmax_backward_ref(gradient, dy, y, rows, cols);
    expect_status(gpt_softmax_backward(dx, dy, y, rows, cols, 0, 1), GPT_OK);
    expect_close("dx", dx, gradient, n, backward_tolerance);
    end_case();
}

/* One logit is larger by z than the others, whose dy differ: |dx| is about e^-z. */
static void saturated_rows(void)
{
    static const float zs[5] = {1.0f, 5.0f, 10.0f, 20.0f, 80.0f}, lows[2] = {0.5f, 100.0f};
    static const size_t sizes_of[11] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 70, 131};
    for (size_t k = 0; k < 5 * 11 * 2; k++) {
        const float z = zs[k % 5], low = lows[k / 55];
        const size_t cols = sizes_of[k / 5 % 11];
        in_case("z = %g, %zu logits, dy >= %g", (double)z, cols, (double)low);
        float *x = work(cols), exact_y[131];
        const double others = 1.0 / (exp((double)z) + (double)(cols - 1));
        for (size_t c = 0; c < cols; c++) {
            x[c] = c == cols / 2 ? z : 0.0f;
            exact_y[c] = (float)(exp((double)x[c]) * others);
        }
        const float *dy = random_input("dy", cols, low, low + 1.5f);
        float *y = output("y", cols), *dx = output("dx", cols);
        expect_status(gpt_softmax_forward(y, x, 1, cols, 0, 1), GPT_OK);
        expect_status(gpt_softmax_backward(dx, dy, y, 1, cols, 0, 1), GPT_OK);
        double scale = 0.0;
        for (size_t pass = 0; pass < 2; pass++)
            for (size_t c = 0; c < cols; c++) {
                double exact = 0.0, magnitude = 0.0;
                for (size_t i = 0; i < cols; i++) {
                    const double d =
                        ((double)dy[c] - (double)dy[i]) * (double)exact_y[i] * (double)exact_y[c];
                    exact += d;
                    magnitude += fabs(d);
                }
                scale = fmax(scale, magnitude);
                const double share = c == cols / 2 ? (double)(cols - 1) * others : (double)exact_y[c];
                if (pass == 1)
                    expect_within("dx", c, (double)dx[c], exact,
                                  2e-5 * scale + 4e-6 * share * (double)(low + 1.5f));
            }
        end_case();
    }
}

static void agrees(void)
{
    static const float deviations[3] = {1.0f, 30.0f, 1e4f}, means[3] = {0.0f, 1e4f, -3e5f};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            for (size_t s = 0; s < 3; s++) {
                const size_t rows = row_counts[r], cols = sizes[k];
                in_case("%zu x %zu, deviation %g, mean %g", rows, cols, (double)deviations[s],
                        (double)means[s]);
                float *values = work(rows * cols);
                fill_gauss(values, rows * cols, means[s], deviations[s]);
                expect_softmax(values, rows, cols, tolerance);
            }
        }
    }
}

static void agrees_on_specials(void)
{
    for (size_t cols = 1; cols <= SMALL_SIZES; cols++) {
        for (size_t place = 0; place < cols; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                in_case("2 x %zu, x[%zu] = %g", cols, place, (double)specials[s]);
                float *values = work(2 * cols);
                fill_random(values, 2 * cols, -4.0f, 4.0f);
                values[place] = specials[s];
                expect_softmax(values, 2, cols, tolerance);
            }
        }
    }
}

static void known_values(void)
{
    static const float equal[5] = {7.0f, 7.0f, 7.0f, 7.0f, 7.0f}, shares[5] = {0.2f, 0.2f, 0.2f, 0.2f, 0.2f};
    static const float x[5] = {-INFINITY, 0.0f, -INFINITY, 1.0f, -INFINITY};
    static const float expected[5] = {0.0f, 0.26894142f, 0.0f, 0.73105858f, 0.0f};
    float *y = output("y", 5), *z = output("z", 5);
    expect_status(gpt_softmax_forward(y, equal, 1, 5, 0, 1), GPT_OK);
    expect_close("y", y, shares, 5, 1e-7);
    expect_status(gpt_softmax_forward(z, x, 1, 5, 0, 1), GPT_OK);
    expect_close("z", z, expected, 5, 1e-7);
    for (size_t n = 1; n <= 9; n++) {
        in_case("%zu of -infinity", n);
        float values[9], all[9];
        for (size_t i = 0; i < n; i++) values[i] = -INFINITY;
        expect_status(gpt_softmax_forward(all, values, 1, n, 0, 1), GPT_OK);
        for (size_t i = 0; i < n; i++)
            expect(isnan(all[i]), "y[%zu]: expected NaN, got %g", i, (double)all[i]);
    }
}

static void test_softmax(void)
{
    promise("softmax's gradient is within 2e-5 of its largest terms, also where one y is near 1",
            saturated_rows);
    promise("softmax of n equal values is 1/n, of -infinity 0, and of a row of -infinity NaN", known_values);
    promise("softmax and its gradient are within 1e-6 of float64 at every size", agrees);
    promise("softmax of special values agrees with the reference in every lane", agrees_on_specials);
}

SUITE("softmax", test_softmax)
