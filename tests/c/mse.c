#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static void agrees(void)
{
    for (size_t k = 0; k < SIZES; k++) {
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            const size_t rows = row_counts[r], cols = sizes[k], n = rows * cols;
            in_case("%zu x %zu", rows, cols);
            const float *x = random_input("x", n, -4.0f, 4.0f), *t = random_input("target", n, -4.0f, 4.0f);
            float *loss = output("loss", rows), *expected = output("expected", rows);
            float *dx = output("dx", n), *gradient = output("expected dx", n),
                  *same = output_of("dx is x", x, n);
            gpt_mse_forward_ref(expected, x, t, rows, cols);
            expect_status(gpt_mse_forward(loss, x, t, rows, cols, 0, 1), GPT_OK);
            expect_close("loss", loss, expected, rows, 1e-6);
            gpt_mse_backward_ref(gradient, x, t, n, 0.3f);
            expect_status(gpt_mse_backward(dx, x, t, n, 0.3f, 0, 1), GPT_OK);
            expect_status(gpt_mse_backward(same, same, t, n, 0.3f, 0, 1), GPT_OK);
            expect_close("dx", dx, gradient, n, 2e-7);
            expect_same("dx is x", same, dx, n);
            for (size_t parts = 2; parts <= 4; parts++) {
                float *l = output("loss in parts", rows), *d = output("dx in parts", n);
                for (size_t part = 0; part < parts; part++) {
                    expect_status(gpt_mse_forward(l, x, t, rows, cols, part, parts), GPT_OK);
                    expect_status(gpt_mse_backward(d, x, t, n, 0.3f, part, parts), GPT_OK);
                }
                expect_same("loss in parts", l, loss, rows);
                expect_same("dx in parts", d, dx, n);
            }
            end_case();
        }
    }
}

static void test_mse(void)
{
    promise("mean squared error and its gradient are within 1e-6 of float64 at every size; in parts, the "
            "same bits",
            agrees);
}

SUITE("mse", test_mse)
