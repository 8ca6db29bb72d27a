#include <math.h>

#include "check.h"
#include "gpt_layers.h"

static const double tolerance = 1e-6;

/* Rows whose squares overflow in float32, or vanish beside an eps that is not larger. The mean square of 3, 4, 0, 0
 * is 6.25, so u = 1.2, 1.6, 0, 0. dx · rms = g - u · 2.8 / 4. */
static void any_finite_row_is_normalized(void)
{
    static const float magnitudes[9] = {1e13f, 1e18f, 2e19f, 1e20f, 1e30f, 8e37f, 1e-16f, 1e-20f, 1e-38f};
    static const float one[4] = {1.0f, 1.0f, 1.0f, 1.0f}, expected[4] = {1.2f, 1.6f, 0.0f, 0.0f};
    static const double dx_expected[4] = {0.16, -0.12, 1.0, 1.0};
    for (size_t k = 0; k < 9; k++) {
        in_case("%g", (double)magnitudes[k]);
        const float x[4] = {3.0f * magnitudes[k], 4.0f * magnitudes[k], 0.0f, 0.0f};
        float *y = output_of("y is x", x, 4), *rstd = output("rstd", 1), *dx = output("dx", 4),
              *dscale = output("dscale", 4);
        expect_status(gpt_rmsnorm_forward(y, rstd, y, one, 1, 4, 0.0f, 0, 1), GPT_OK);
        expect_close("y", y, expected, 4, tolerance);
        const double rms = 2.5 * (double)magnitudes[k];
        expect_within("rstd", 0, (double)*rstd * rms, 1.0, 1e-6);
        expect_status(gpt_rmsnorm_backward(dx, dscale, one, x, rstd, one, 1, 4, 0, 1), GPT_OK);
        for (size_t c = 0; c < 4; c++) expect_within("dx", c, (double)dx[c] * rms, dx_expected[c], 2e-6);
        expect_close("dscale", dscale, expected, 4, tolerance);
        end_case();
    }
}

static void test_rmsnorm(void)
{
    promise("rms norm and its gradients have the values of the equation for rows of 1e-38 to 3e38",
            any_finite_row_is_normalized);
}

SUITE("rmsnorm", test_rmsnorm)
