#include <math.h>

#include "check.h"
#include "gpt_layers.h"

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

/* y · (dy - Σ dy·y), also where one y is near 1: there dx is the sum of the others as long as these are numbers. */
static void infinite_gradients(void)
{
    static const float y[2] = {0.9f, 0.1f}, dy[2][2] = {{INFINITY, 1.0f}, {1.0f, INFINITY}};
    static const float expected[2][2] = {{NAN, -INFINITY}, {-INFINITY, NAN}};
    float *dx = output("dx", 2);
    for (size_t k = 0; k < 2; k++) {
        expect_status(gpt_softmax_backward(dx, dy[k], y, 1, 2, 0, 1), GPT_OK);
        expect_same("dx", dx, expected[k], 2);
    }
}

static void test_softmax(void)
{
    promise("softmax's gradient is within 2e-5 of its largest terms, also where one y is near 1",
            saturated_rows);
    promise("softmax's gradient of an infinite dy is NaN there and -infinity elsewhere, as in PyTorch",
            infinite_gradients);
}

SUITE("softmax", test_softmax)
