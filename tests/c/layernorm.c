#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 5e-6;

static void expect_long_row(const float *x, size_t cols)
{
    const float *scale = random_input("scale", cols, -2.0f, 2.0f);
    float *y = output("y", cols), *expected = output("expected", cols);
    gpt_layernorm_forward_ref(expected, NULL, NULL, x, scale, NULL, 1, cols, 1e-12f);
    expect_status(gpt_layernorm_forward(y, NULL, NULL, x, scale, NULL, 1, cols, 1e-12f, 0, 1), GPT_OK);
    expect_close("y", y, expected, cols, tolerance);
    end_case();
}

/* Sums of many equal squares: every addition rounds in the same direction, so that the errors add up. */
static void agrees_on_two_values(void)
{
    static const float shares[4] = {0.5f, 0.1f, 0.01f, 0.001f};
    for (size_t k = 0; k < 16; k++) {
        const size_t cols = k / 4 % 2 ? 65536 : 12288;
        const float a = random_gauss(), b = random_gauss();
        in_case("cols %zu, %g, and in a share of %g of them %g", cols, (double)a, (double)shares[k % 4],
                (double)b);
        float *x = work(cols);
        for (size_t i = 0; i < cols; i++) x[i] = random_in(0.0f, 1.0f) < shares[k % 4] ? b : a;
        expect_long_row(x, cols);
    }
}

/* The elements that determine the pivot are far from all others. */
static void agrees_where_the_first_elements_mislead(void)
{
    enum { COLS = 20000 };
    static const float others[3] = {1.0f, -1e3f, 1e8f};
    for (size_t k = 0; k < 3; k++) {
        in_case("16 elements around 0, the others around %g", (double)others[k]);
        float *x = work(COLS);
        for (size_t i = 0; i < COLS; i++)
            x[i] = others[k] * ((i < 16 ? 0.0f : 1.0f) + 1e-4f * random_gauss());
        expect_long_row(x, COLS);
    }
}

static void constant_row_is_the_shift(void)
{
    static const size_t sizes[11] = {1, 2, 3, 4, 5, 7, 16, 17, 768, 1023, 3072};
    static const float constants[7] = {0.1f, 1e30f, -7.0f, 0.0f, -0.0f, 1e-40f, FLT_MAX};
    for (size_t k = 0; k < 11; k++) {
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

static void test_layernorm(void)
{
    promise("layer norm is within 5e-6 of float64 on long rows of two values", agrees_on_two_values);
    promise("layer norm is within 5e-6 of float64 if the first elements are far from the others",
            agrees_where_the_first_elements_mislead);
    promise("layer norm of a constant row is the shift, not NaN", constant_row_is_the_shift);
    promise("layer norm and its gradients have the values of the equation for rows of 1e-38 to 3e38",
            any_finite_row_is_normalized);
    promise("layer norm with special values in scale or shift is right in every lane",
            special_scales_and_shifts);
}

SUITE("layernorm", test_layernorm)
