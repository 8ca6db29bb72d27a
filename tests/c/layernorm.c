#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 5e-6;

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

static void test_layernorm(void)
{
    promise("layer norm of a constant row is the shift, not NaN", constant_row_is_the_shift);
    promise("layer norm with special values in scale or shift is right in every lane",
            special_scales_and_shifts);
}

SUITE("layernorm", test_layernorm)
