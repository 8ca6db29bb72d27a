#include <math.h>

#include "check.h"
#include "gpt_layers.h"

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
}

SUITE("crossentropy", test_crossentropy)
