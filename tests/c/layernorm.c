#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bounds of the contract: of forward as in expect_close, of backward as in expect_near. */
static const double tolerance = 5e-6;
static const double backward_tolerance = 2e-5;

/* Compares y, mean and rstd with the reference; rstd by its relative error. */
static void expect_layernorm(const float *values, size_t rows, size_t cols, float eps)
{
    const float *x = input_of("x", values, rows * cols);
    const float *scale = random_input("scale", cols, -2.0f, 2.0f),
                *shift = random_input("shift", cols, -2.0f, 2.0f);
    float *y = output("y", rows * cols), *mean = output("mean", rows), *rstd = output("rstd", rows);
    float *expected = output("expected y", rows * cols);
    float *expected_mean = output("expected mean", rows), *expected_rstd = output("expected rstd", rows);
    gpt_layernorm_forward_ref(expected, expected_mean, expected_rstd, x, scale, shift, rows, cols, eps);
    expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, shift, rows, cols, eps, 0, 1), GPT_OK);
    expect_close("y", y, expected, rows * cols, tolerance);
    for (size_t r = 0; r < rows; r++) {
        /* the mean of a row with an infinity is infinite or NaN, in PyTorch depending on the position */
        if (isfinite(expected_mean[r]))
            expect_close("mean", mean + r, expected_mean + r, 1, tolerance);
        else
            expect(!isfinite(mean[r]), "mean[%zu]: expected %g, got %g", r, (double)expected_mean[r],
                   (double)mean[r]);
        expect_within("rstd", r, (double)rstd[r], (double)expected_rstd[r],
                      tolerance * (double)expected_rstd[r]);
    }
    end_case();
}

static void known_values(void)
{
    /* mean 2.5, variance 1.25, eps 1e-5: normalized ∓1.3416354, ∓0.4472118 */
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, scale[4] = {1.0f, 1.0f, 2.0f, 1.0f};
    static const float shift[4] = {0.0f, 0.0f, 0.0f, 10.0f};
    static const float expected[4] = {-1.3416354f, -0.4472118f, 0.8944236f, 11.3416354f};
    for (int is_reference = 0; is_reference <= 1; is_reference++) {
        in_case("%s", is_reference ? "reference" : "kernel");
        float *y = output("y", 4), *mean = output("mean", 1), *rstd = output("rstd", 1);
        if (is_reference)
            gpt_layernorm_forward_ref(y, mean, rstd, x, scale, shift, 1, 4, 1e-5f);
        else
            expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, shift, 1, 4, 1e-5f, 0, 1), GPT_OK);
        expect_close("y", y, expected, 4, 1e-6);
        expect_within("mean", 0, (double)mean[0], 2.5, 0.0);
        expect_within("rstd", 0, (double)rstd[0], 0.8944236, 1e-6);
        end_case();
    }
}

static void agrees_far_from_zero(void)
{
    /* means up to 1e5 deviations, of magnitudes whose squares float32 can hold */
    static const float means[6] = {1e4f, -1e4f, 1.0f, -1e5f, 1e15f, 1e-3f};
    static const float deviations[6] = {0.1f, 0.1f, 1e-5f, 1.0f, 1e10f, 1e-8f};
    static const float epss[2] = {1e-5f, 1e-12f};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t m = 0; m < 6; m++) {
            for (size_t e = 0; e < 2; e++) {
                const size_t rows = 3, cols = sizes[k];
                in_case("%zu x %zu, mean %g, deviation %g, eps %g", rows, cols, (double)means[m],
                        (double)deviations[m], (double)epss[e]);
                float *values = work(rows * cols);
                fill_gauss(values, rows * cols, means[m], deviations[m]);
                expect_layernorm(values, rows, cols, epss[e]);
            }
        }
    }
}

/* The pivot is computed from the first elements: an outlier there must not cost the others precision. */
static void agrees_with_an_outlier(void)
{
    static const float outliers[8] = {10.0f, 1e3f, -1e3f, 1e4f, 1e5f, -1e6f, 1e8f, 1e12f};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t o = 0; o < 8; o++) {
            for (int last = 0; last <= 1; last++) {
                const size_t cols = sizes[k];
                in_case("cols %zu, %g %s", cols, (double)outliers[o], last ? "last" : "first");
                float *values = work(cols);
                fill_gauss(values, cols, 5.0f, 0.1f);
                values[last ? cols - 1 : 0] = outliers[o];
                expect_layernorm(values, 1, cols, 1e-5f);
            }
        }
    }
}

/* Sums of many equal squares: every addition rounds in the same direction, so that the errors add up. */
static void agrees_on_two_values(void)
{
    static const size_t cols[4] = {768, 1023, 3072, 12288};
    static const float shares[4] = {0.5f, 0.1f, 0.01f, 0.001f};
    for (size_t k = 0; k < 4; k++) {
        for (size_t p = 0; p < 4; p++) {
            for (int seed = 0; seed < 4; seed++) {
                const float a = random_gauss(), b = random_gauss();
                in_case("cols %zu, %g, and in a share of %g of them %g", cols[k], (double)a,
                        (double)shares[p], (double)b);
                float *values = work(cols[k]);
                for (size_t i = 0; i < cols[k]; i++) values[i] = random_in(0.0f, 1.0f) < shares[p] ? b : a;
                expect_layernorm(values, 1, cols[k], 1e-5f);
            }
        }
    }
}

static void constant_row_is_the_shift(void)
{
    static const float constants[7] = {0.1f, 1e30f, -7.0f, 0.0f, -0.0f, 1e-40f, FLT_MAX};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t v = 0; v < 7; v++) {
            const size_t cols = sizes[k];
            in_case("cols %zu, all %g", cols, (double)constants[v]);
            float *values = work(cols);
            for (size_t i = 0; i < cols; i++) values[i] = constants[v];
            const float *x = input_of("x", values, cols);
            const float *scale = random_input("scale", cols, -2.0f, 2.0f);
            const float *shift = random_input("shift", cols, -2.0f, 2.0f);
            float *y = output("y", cols), *mean = output("mean", 1), *rstd = output("rstd", 1);
            expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, shift, 1, cols, 1e-5f, 0, 1),
                          GPT_OK);
            for (size_t i = 0; i < cols; i++) expect_within("y", i, (double)y[i], (double)shift[i], 0.0);
            expect_within("mean", 0, (double)mean[0], (double)constants[v], 0.0);
            expect_within("rstd", 0, (double)rstd[0], 1.0 / sqrt((double)1e-5f), 1e-4);
            end_case();
        }
    }
}

static void agrees_on_specials(void)
{
    for (size_t cols = 1; cols <= SMALL_SIZES; cols++) {
        for (size_t place = 0; place < cols; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                in_case("cols %zu, x[1, %zu] = %g", cols, place, (double)specials[s]);
                float *values = work(3 * cols);
                fill_random(values, 3 * cols, -2.0f, 2.0f);
                values[cols + place] = specials[s];
                expect_layernorm(values, 3, cols, 1e-5f);
            }
        }
    }
}

static void special_scales_and_shifts(void)
{
    for (size_t cols = 2; cols <= 9; cols++) {
        for (size_t place = 0; place < cols; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                for (int in_shift = 0; in_shift <= 1; in_shift++) {
                    in_case("cols %zu, %s[%zu] = %g", cols, in_shift ? "shift" : "scale", place,
                            (double)specials[s]);
                    float *values = work(cols);
                    /* |x| <= 1, so that the product with a huge scale is finite */
                    for (size_t i = 0; i < cols; i++) values[i] = i % 2 ? 1.0f : -1.0f;
                    values[place] = 0.25f;
                    const float *x = input_of("x", values, cols);
                    fill_random(values, cols, -0.5f, 0.5f);
                    values[place] = specials[s];
                    const float *special = input_of("special", values, cols);
                    const float *ordinary = random_input("ordinary", cols, -0.5f, 0.5f);
                    const float *scale = in_shift ? ordinary : special,
                                *shift = in_shift ? special : ordinary;
                    float *y = output("y", cols), *expected = output("expected", cols);
                    gpt_layernorm_forward_ref(expected, NULL, NULL, x, scale, shift, 1, cols, 1.0f);
                    expect_status(gpt_layernorm_forward(y, NULL, NULL, x, scale, shift, 1, cols, 1.0f, 0, 1),
                                  GPT_OK);
                    expect_close("y", y, expected, cols, tolerance);
                    end_case();
                }
            }
        }
    }
}

/* Like expect_close, but relative to `scale`, because the result is a difference of larger sums. */
static void expect_near(const char *name, const float *got, const float *expected, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        expect_within(name, i, (double)got[i], (double)expected[i], backward_tolerance * scale);
}

/* Compares the gradients with the reference, for the mean and rstd of the kernel's own forward. */
static void expect_backward(const float *values, size_t rows, size_t cols, float eps)
{
    const size_t n = rows * cols;
    const float *x = input_of("x", values, n), *dy = random_input("dy", n, -2.0f, 2.0f);
    const float *scale = random_input("scale", cols, -2.0f, 2.0f);
    float *y = output("y", n), *mean = output("mean", rows), *rstd = output("rstd", rows);
    float *dx = output("dx", n), *dscale = output("dscale", cols), *dshift = output("dshift", cols);
    float *expected_dx = output("expected dx", n);
    float *expected_dscale = output("expected dscale", cols),
          *expected_dshift = output("expected dshift", cols);
    expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, scale, rows, cols, eps, 0, 1), GPT_OK);
    gpt_layernorm_backward_ref(expected_dx, expected_dscale, expected_dshift, dy, x, mean, rstd, scale, rows,
                               cols);
    expect_status(gpt_layernorm_backward(dx, dscale, dshift, dy, x, mean, rstd, scale, rows, cols, 0, 1),
                  GPT_OK);
    /* |dy| and |scale| <= 2 */
    for (size_t r = 0; r < rows; r++)
        expect_near("dx", dx + r * cols, expected_dx + r * cols, cols, 4.0 * (double)rstd[r]);
    expect_near("dscale", dscale, expected_dscale, cols, fmax(largest(expected_dscale, cols), 2.0));
    expect_near("dshift", dshift, expected_dshift, cols, fmax(largest(expected_dshift, cols), 2.0));
    end_case();
}

/* Rows whose squares overflow in float32, or vanish beside an eps that is not larger. */
static void any_finite_row_is_normalized(void)
{
    static const float magnitudes[8] = {1e18f, 2e19f, 1e20f, 1e30f, 3e38f, 1e-16f, 1e-20f, 1e-38f};
    static const float signs[2][5] = {{1.0f, -1.0f, 1.0f, -1.0f, 0.0f}, {-1.0f, 1.0f, 1.0f, 1.0f, 1.0f}};
    static const float expected[2][5] = {{1.1180340f, -1.1180340f, 1.1180340f, -1.1180340f, 0.0f},
                                         {-2.0f, 0.5f, 0.5f, 0.5f, 0.5f}};
    static const float dy[5] = {1.0f, 0.0f, 0.0f, 0.0f, 0.0f}, one[5] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    for (size_t k = 0; k < 8; k++) {
        for (size_t s = 0; s < 2; s++) {
            in_case("%g, %s", (double)magnitudes[k], s ? "and one of the other sign" : "of both signs");
            float x[5], mean, rstd;
            for (size_t c = 0; c < 5; c++) x[c] = magnitudes[k] * signs[s][c];
            float *y = output_of("y is x", x, 5), *dx = output("dx", 5), *dscale = output("dscale", 5);
            expect_status(gpt_layernorm_forward(y, &mean, &rstd, y, one, NULL, 1, 5, 0.0f, 0, 1), GPT_OK);
            expect_close("y", y, expected[s], 5, 1e-6);
            const double deviation = (double)magnitudes[k] * (s ? 0.8 : sqrt(0.8));
            expect_within("rstd", 0, (double)rstd * deviation, 1.0, 1e-6);
            expect_status(gpt_layernorm_backward(dx, dscale, NULL, dy, x, &mean, &rstd, one, 1, 5, 0, 1),
                          GPT_OK);
            for (size_t c = 0; c < 5; c++) {
                const double u = (double)expected[s][c], g_u = (double)expected[s][0] / 5.0;
                expect_within("dx", c, (double)dx[c] * deviation, (c == 0 ? 1.0 : 0.0) - 0.2 - u * g_u, 2e-6);
                expect_within("dscale", c, (double)dscale[c], c == 0 ? u : 0.0, 2e-6);
            }
            end_case();
        }
    }
}

static void agrees_on_huge_rows(void)
{
    static const float means[4] = {0.0f, 1e25f, 0.0f, -2e38f}, deviations[4] = {1e20f, 1e20f, 3e37f, 1e36f};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t m = 0; m < 4; m++) {
            for (int is_backward = 0; is_backward <= 1; is_backward++) {
                const size_t rows = 3, cols = sizes[k];
                in_case("%zu x %zu, mean %g, deviation %g%s", rows, cols, (double)means[m],
                        (double)deviations[m], is_backward ? ", backward" : "");
                float *values = work(rows * cols);
                fill_gauss(values, rows * cols, means[m], deviations[m]);
                /* a row whose x - mean overflows */
                for (size_t c = 0; c < cols; c++) values[cols + c] = c ? -1e38f : 3e38f;
                (is_backward ? expect_backward : expect_layernorm)(values, rows, cols, 1e-5f);
            }
        }
    }
}

static void backward_known_values(void)
{
    /* from PyTorch in float64 */
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, dy[4] = {1.0f, 0.0f, -1.0f, 3.0f};
    static const float scale[4] = {1.0f, 1.0f, 2.0f, 1.0f}, shift[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    static const float dx_expected[4] = {0.983861681f, -0.268328515f, -2.41494232f, 1.69940916f};
    static const float dscale_expected[4] = {-1.34163542f, 0.0f, -0.447211807f, 4.02490626f};
    for (int is_reference = 0; is_reference <= 1; is_reference++) {
        in_case("%s", is_reference ? "reference" : "kernel");
        float y[4], mean, rstd;
        expect_status(gpt_layernorm_forward(y, &mean, &rstd, x, scale, shift, 1, 4, 1e-5f, 0, 1), GPT_OK);
        float *dx = output("dx", 4), *dscale = output("dscale", 4), *dshift = output("dshift", 4);
        if (is_reference)
            gpt_layernorm_backward_ref(dx, dscale, dshift, dy, x, &mean, &rstd, scale, 1, 4);
        else
            expect_status(gpt_layernorm_backward(dx, dscale, dshift, dy, x, &mean, &rstd, scale, 1, 4, 0, 1),
                          GPT_OK);
        expect_close("dx", dx, dx_expected, 4, 1e-6);
        expect_close("dscale", dscale, dscale_expected, 4, 1e-6);
        expect_same("dshift", dshift, dy, 4);
        end_case();
    }
}

static void backward_agrees_far_from_zero(void)
{
    static const float means[4] = {1e4f, -1e4f, 1.0f, -1e5f};
    static const float deviations[4] = {0.1f, 0.1f, 1e-5f, 1.0f};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t m = 0; m < 4; m++) {
            const size_t rows = 3, cols = sizes[k];
            in_case("%zu x %zu, mean %g, deviation %g", rows, cols, (double)means[m], (double)deviations[m]);
            float *values = work(rows * cols);
            fill_gauss(values, rows * cols, means[m], deviations[m]);
            expect_backward(values, rows, cols, 1e-5f);
        }
    }
}

/* Sums of many equal rows: every addition rounds in the same direction, so that the errors add up. */
static void backward_of_many_rows(void)
{
    enum { ROWS = 12288, COLS = 17 };
    const double rows = ROWS;
    in_case("%d rows of dy 0.1", ROWS);
    float *x = work(ROWS * COLS), *dy = work(ROWS * COLS), *ones = work(ROWS), *zeros = work(ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t c = 0; c < COLS; c++) x[r * COLS + c] = c % 2 ? 0.3f : -0.3f;
        x[r * COLS] = 0.0f; /* so that the mean is 0 */
        for (size_t c = 0; c < COLS; c++) dy[r * COLS + c] = 0.1f;
        ones[r] = 1.0f;
        zeros[r] = 0.0f;
    }
    float *dscale = output("dscale", COLS), *dshift = output("dshift", COLS);
    expect_status(gpt_layernorm_backward(NULL, dscale, dshift, dy, x, zeros, ones, ones, ROWS, COLS, 0, 1),
                  GPT_OK);
    for (size_t c = 0; c < COLS; c++) {
        expect_within("dshift", c, (double)dshift[c], rows * (double)0.1f, 2e-5 * rows * 0.1);
        expect_within("dscale", c, (double)dscale[c], rows * (double)0.1f * (double)x[c], 2e-5 * rows * 0.03);
    }
    end_case();
}

static void backward_of_a_bad_row(void)
{
    static const float bad[3] = {NAN, INFINITY, -INFINITY};
    enum { ROWS = 3, COLS = 7 };
    for (size_t b = 0; b < 3; b++) {
        for (int in_dy = 0; in_dy <= 1; in_dy++) {
            in_case("%g in %s", (double)bad[b], in_dy ? "dy" : "x");
            float *values = work(ROWS * COLS), *gradient = work(ROWS * COLS);
            fill_random(values, ROWS * COLS, -2.0f, 2.0f);
            fill_random(gradient, ROWS * COLS, -2.0f, 2.0f);
            (in_dy ? gradient : values)[COLS + 3] = bad[b];
            const float *x = input_of("x", values, ROWS * COLS), *dy = input_of("dy", gradient, ROWS * COLS);
            const float *scale = random_input("scale", COLS, 1.0f, 2.0f);
            float *y = output("y", ROWS * COLS), *mean = output("mean", ROWS), *rstd = output("rstd", ROWS);
            expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, scale, ROWS, COLS, 1e-5f, 0, 1),
                          GPT_OK);
            float *dx = output("dx", ROWS * COLS), *expected = output("expected", ROWS * COLS);
            expect_status(gpt_layernorm_backward(dx, NULL, NULL, dy, x, mean, rstd, scale, ROWS, COLS, 0, 1),
                          GPT_OK);
            gpt_layernorm_backward_ref(expected, NULL, NULL, dy, x, mean, rstd, scale, ROWS, COLS);
            for (size_t r = 0; r < ROWS; r++) {
                for (size_t c = 0; c < COLS; c++) {
                    const size_t i = r * COLS + c;
                    if (r != 1)
                        expect_within("dx", i, (double)dx[i], (double)expected[i], 4e-5 * (double)rstd[r]);
                    else
                        expect(!isfinite(dx[i]) && !isfinite(expected[i]),
                               "dx[%zu] should not be finite, got %g and %g", i, (double)dx[i],
                               (double)expected[i]);
                }
            }
            end_case();
        }
    }
}

static void test_layernorm(void)
{
    promise("layer norm of 1, 2, 3, 4 has the values of the equation", known_values);
    promise(
        "layer norm is within 5e-6 of float64 at every length, also if the mean is 1e5 times the deviation",
        agrees_far_from_zero);
    promise("layer norm is within 5e-6 of float64 with an outlier first or last", agrees_with_an_outlier);
    promise("layer norm is within 5e-6 of float64 on long rows of two values", agrees_on_two_values);
    promise("layer norm of a constant row is the shift, not NaN", constant_row_is_the_shift);
    promise("layer norm and its gradients have the values of the equation for rows of 1e-38 to 3e38",
            any_finite_row_is_normalized);
    promise("layer norm and its gradients are within 5e-6 and 2e-5 of float64 if the squares overflow",
            agrees_on_huge_rows);
    promise("layer norm of a row with NaN or infinity is NaN, and the other rows are right",
            agrees_on_specials);
    promise("layer norm with special values in scale or shift is right in every lane",
            special_scales_and_shifts);
    promise("layer norm backward of a row equals PyTorch's gradient", backward_known_values);
    promise("layer norm backward is within 2e-5 of float64 at every length, also if the mean is 1e5 times "
            "the deviation",
            backward_agrees_far_from_zero);
    promise("layer norm backward sums 12,288 equal rows with an error of at most 2e-5",
            backward_of_many_rows);
    promise("layer norm backward of a row with NaN or infinity is not finite, and the other rows are right",
            backward_of_a_bad_row);
}

SUITE("layernorm", test_layernorm)
