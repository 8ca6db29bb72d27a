#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const double tolerance = 1e-6;

/* Compares forward and backward with their references. */
static void expect_rmsnorm(const float *values, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    const float *x = input_of("x", values, n), *dy = random_input("dy", n, -2.0f, 2.0f);
    const float *scale = random_input("scale", cols, -2.0f, 2.0f);
    float *y = output("y", n), *rstd = output("rstd", rows);
    float *expected = output("expected y", n), *rstd_ref = output("expected rstd", rows);
    gpt_rmsnorm_forward_ref(expected, rstd_ref, x, scale, rows, cols, 1e-5f);
    expect_status(gpt_rmsnorm_forward(y, rstd, x, scale, rows, cols, 1e-5f, 0, 1), GPT_OK);
    expect_close("y", y, expected, n, tolerance);
    for (size_t r = 0; r < rows; r++)
        expect_within("rstd", r, (double)rstd[r], (double)rstd_ref[r], tolerance * (double)rstd_ref[r]);
    float *dx = output("dx", n), *dscale = output("dscale", cols);
    float *dx_ref = output("expected dx", n), *dscale_ref = output("expected dscale", cols);
    gpt_rmsnorm_backward_ref(dx_ref, dscale_ref, dy, x, rstd, scale, rows, cols);
    expect_status(gpt_rmsnorm_backward(dx, dscale, dy, x, rstd, scale, rows, cols, 0, 1), GPT_OK);
    /* dx is a difference of terms as large as rstd, whose rounding errors remain */
    for (size_t r = 0; r < rows; r++) {
        const double most = fmax(largest(dx_ref + r * cols, cols), (double)rstd[r]);
        for (size_t c = 0; c < cols; c++)
            expect_within("dx", r * cols + c, (double)dx[r * cols + c], (double)dx_ref[r * cols + c],
                          2e-6 * most);
    }
    for (size_t c = 0; c < cols; c++)
        expect_within("dscale", c, (double)dscale[c], (double)dscale_ref[c], 2e-6 * (double)rows);
    end_case();
}

static void agrees(void)
{
    static const float deviations[3] = {1.0f, 1e-4f, 1e5f};
    static const size_t rows_of[6] = {1, 2, 3, 17, 64, 131};
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t r = 0; r < 6; r++) {
            for (size_t s = 0; s < 3; s++) {
                const size_t rows = rows_of[r], cols = sizes[k];
                if (rows * cols > 100000) continue;
                in_case("%zu x %zu, deviation %g", rows, cols, (double)deviations[s]);
                float *values = work(rows * cols);
                fill_gauss(values, rows * cols, 0.0f, deviations[s]);
                expect_rmsnorm(values, rows, cols);
            }
        }
    }
}

static void agrees_on_one_value(void)
{
    static const size_t lengths[4] = {768, 1023, 3072, 12288};
    for (size_t k = 0; k < 4; k++) {
        for (int seed = 0; seed < 4; seed++) {
            const float value = random_gauss();
            in_case("%zu times %g", lengths[k], (double)value);
            float *values = work(lengths[k]);
            for (size_t i = 0; i < lengths[k]; i++) values[i] = value;
            expect_rmsnorm(values, 1, lengths[k]);
        }
    }
}

/* Sums of many equal rows: every addition rounds in the same direction, so that the errors add up. */
static void sums_many_rows(void)
{
    enum { ROWS = 20000, COLS = 17 };
    const double rows = ROWS;
    const float *x = random_input("x", ROWS * COLS, 0.7f, 0.7f),
                *dy = random_input("dy", ROWS * COLS, 0.3f, 0.3f);
    const float *rstd = random_input("rstd", ROWS, 1.1f, 1.1f);
    float *dx = output("dx", ROWS * COLS), *dscale = output("dscale", COLS);
    expect_status(gpt_rmsnorm_backward(dx, dscale, dy, x, rstd, x, ROWS, COLS, 0, 1), GPT_OK);
    const double expected = (double)0.7f * (double)0.3f * (double)1.1f * rows;
    for (size_t c = 0; c < COLS; c++)
        expect_within("dscale", c, (double)dscale[c], expected, 1e-6 * expected);
}

/* dx is about g/1e13 there, so that an absolute tolerance shows nothing. */
static void gradients_of_huge_rows(void)
{
    enum { COLS = 7 };
    float *x = work(COLS);
    for (size_t c = 0; c < COLS; c++) x[c] = 1e13f * random_gauss();
    const float *dy = random_input("dy", COLS, -1.0f, 1.0f), *scale = random_input("scale", COLS, 0.5f, 1.5f);
    float *y = output("y", COLS), *rstd = output("rstd", 1), *dx = output("dx", COLS);
    float expected[COLS];
    expect_status(gpt_rmsnorm_forward(y, rstd, x, scale, 1, COLS, 1e-5f, 0, 1), GPT_OK);
    expect_status(gpt_rmsnorm_backward(dx, NULL, dy, x, rstd, scale, 1, COLS, 0, 1), GPT_OK);
    gpt_rmsnorm_backward_ref(expected, NULL, dy, x, rstd, scale, 1, COLS);
    const double most = largest(expected, COLS);
    for (size_t c = 0; c < COLS; c++) expect_within("dx", c, (double)dx[c], (double)expected[c], 5e-6 * most);
}

static void known_values(void)
{
    /* the mean square of 3, 4, 0, 0 is 6.25: with a tiny eps, y = scale · x / 2.5 */
    static const float x[4] = {3.0f, 4.0f, 0.0f, 0.0f}, scale[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    static const float expected[4] = {1.2f, 3.2f, 0.0f, 0.0f}, dy[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    static const float dscale[4] = {1.2f, 1.6f, 0.0f, 0.0f};
    /* Σ g·x = 3 + 8, so dx = g/2.5 - x · 11/(4 · 2.5³) */
    static const float dx[4] = {-0.128f, 0.096f, 1.2f, 1.6f};
    float *y = output("y", 4), *rstd = output("rstd", 1), *d = output("dx", 4), *s = output("dscale", 4);
    expect_status(gpt_rmsnorm_forward(y, rstd, x, scale, 1, 4, 1e-12f, 0, 1), GPT_OK);
    expect_close("y", y, expected, 4, tolerance);
    expect_status(gpt_rmsnorm_backward(d, s, dy, x, rstd, scale, 1, 4, 0, 1), GPT_OK);
    expect_close("dx", d, dx, 4, tolerance);
    expect_close("dscale", s, dscale, 4, tolerance);
}

/* Rows whose squares overflow in float32, or vanish beside an eps that is not larger. With u = 1.2, 1.6, 0, 0,
 * as in known_values, dx · rms = g - u · 2.8 / 4. */
static void any_finite_row_is_normalized(void)
{
    static const float magnitudes[8] = {1e18f, 2e19f, 1e20f, 1e30f, 8e37f, 1e-16f, 1e-20f, 1e-38f};
    static const float one[4] = {1.0f, 1.0f, 1.0f, 1.0f}, expected[4] = {1.2f, 1.6f, 0.0f, 0.0f};
    static const double dx_expected[4] = {0.16, -0.12, 1.0, 1.0};
    for (size_t k = 0; k < 8; k++) {
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

/* NaN and infinities affect their own row only. */
static void specials_stay_in_their_row(void)
{
    static const float bad[3] = {NAN, INFINITY, -INFINITY};
    for (size_t cols = 1; cols <= SMALL_SIZES; cols++) {
        for (size_t place = 0; place < cols; place++) {
            for (size_t k = 0; k < 3; k++) {
                in_case("cols %zu, x[%zu] = %g", cols, place, (double)bad[k]);
                float *values = work(2 * cols);
                fill_random(values, 2 * cols, -4.0f, 4.0f);
                values[place] = bad[k];
                const float *x = input_of("x", values, 2 * cols),
                            *scale = random_input("scale", cols, 1.0f, 2.0f);
                float *y = output("y", 2 * cols), *expected = output("expected", 2 * cols);
                gpt_rmsnorm_forward_ref(expected, NULL, x, scale, 2, cols, 1e-5f);
                expect_status(gpt_rmsnorm_forward(y, NULL, x, scale, 2, cols, 1e-5f, 0, 1), GPT_OK);
                expect_close("y", y, expected, 2 * cols, tolerance);
                end_case();
            }
        }
    }
}

static void test_rmsnorm(void)
{
    promise("rms norm of 3, 4, 0, 0 and its gradients have the values of the equation", known_values);
    promise("rms norm is within 1e-6 of float64 at every size, its gradients within 2e-6", agrees);
    promise("rms norm is within 1e-6 of float64 on long rows of one value", agrees_on_one_value);
    promise("rms norm backward sums 20,000 equal rows with an error of at most 1e-6", sums_many_rows);
    promise("rms norm's dx of a row of 1e13 is within 5e-6 of the largest", gradients_of_huge_rows);
    promise("rms norm and its gradients have the values of the equation for rows of 1e-38 to 3e38",
            any_finite_row_is_normalized);
    promise("rms norm of a row with NaN or infinity agrees with the reference, and so do the other rows",
            specials_stay_in_their_row);
}

SUITE("rmsnorm", test_rmsnorm)
