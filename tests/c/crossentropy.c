#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 1e-6;

/* Compares forward and backward with their references. */
static void expect_crossentropy(const float *values, const int32_t *targets, size_t rows, size_t cols,
                                float smoothing)
{
    const size_t n = rows * cols;
    const float scale = 1.0f / (float)rows;
    const float *x = input_of("logits", values, n);
    float *loss = output("loss", rows), *max = output("max", rows), *sum = output("sum", rows);
    float *loss_ref = output("expected loss", rows), *max_ref = output("expected max", rows);
    float *sum_ref = output("expected sum", rows), *dx = output("dx", n), *dx_ref = output("expected dx", n);
    gpt_crossentropy_forward_ref(loss_ref, max_ref, sum_ref, x, targets, rows, cols, smoothing);
    expect_status(gpt_crossentropy_forward(loss, max, sum, x, targets, rows, cols, smoothing, 0, 1), GPT_OK);
    expect_close("loss", loss, loss_ref, rows, tolerance);
    expect_close("max", max, max_ref, rows, 0.0);
    expect_close("sum", sum, sum_ref, rows, tolerance);
    gpt_crossentropy_backward_ref(dx_ref, x, targets, max, sum, rows, cols, scale, smoothing);
    expect_status(gpt_crossentropy_backward(dx, x, targets, max, sum, rows, cols, scale, smoothing, 0, 1),
                  GPT_OK);
    expect_close("dx", dx, dx_ref, n, tolerance * (double)scale);
    end_case();
}

/* GPT-2's vocabulary. In a sum of equal terms every addition rounds in the same direction. */
static void agrees_on_long_rows(void)
{
    static const float gaps[4] = {0.0f, 0.1f, 3.0f, 9.0f};
    for (size_t g = 0; g < 4; g++) {
        in_case("50257 logits, all but one %g below", (double)gaps[g]);
        enum { COLS = 50257 };
        float *values = work(COLS);
        for (size_t i = 0; i < COLS; i++) values[i] = i == 7 ? 2.0f : 2.0f - gaps[g];
        static const int32_t targets[1] = {12345};
        expect_crossentropy(values, targets, 1, COLS, 0.0f);
    }
}

/* The target's logit is larger than the others by z, so that p - 1 = -(cols - 1) / (e^z + cols - 1). */
static void saturated_rows(void)
{
    static const float zs[5] = {1.0f, 5.0f, 10.0f, 20.0f, 80.0f};
    for (size_t k = 0; k < 10; k++)
        for (size_t cols = 2; cols <= 9; cols++) {
            const float z = zs[k / 2], scale = k % 2 ? 0.5f : -0.5f;
            in_case("z = %g, %zu logits, scale %g", (double)z, cols, (double)scale);
            float *logits = work(cols), *loss = output("loss", 1);
            float *max = output("max", 1), *sum = output("sum", 1), *dx = output("dx", cols);
            for (size_t c = 0; c < cols; c++) logits[c] = c == 1 ? z : 0.0f;
            static const int32_t target[1] = {1};
            expect_status(gpt_crossentropy_forward(loss, max, sum, logits, target, 1, cols, 0.0f, 0, 1),
                          GPT_OK);
            expect_status(gpt_crossentropy_backward(dx, logits, target, max, sum, 1, cols, scale, 0.0f, 0, 1),
                          GPT_OK);
            const double others = (double)(cols - 1), p = (double)scale / (exp((double)z) + others);
            for (size_t c = 0; c < cols; c++) {
                const double exact = c == 1 ? -others * p : p;
                expect_within("dx", c, (double)dx[c], exact, 2e-6 * others * fabs(p));
            }
            end_case();
        }
}

static void test_crossentropy(void)
{
    promise("cross entropy's gradient is within 2e-6 of its largest element where the target's p is near 1",
            saturated_rows);
    promise("cross entropy is within 1e-6 of float64 for 50,257 logits of two values", agrees_on_long_rows);
}

SUITE("crossentropy", test_crossentropy)
