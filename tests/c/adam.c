#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static void agrees(void)
{
    for (size_t k = 0; k < SIZES; k++) {
        const size_t n = sizes[k];
        for (int t = 1; t <= 1000; t *= 10) {
            const int decoupled = k % 2;
            in_case("n = %zu, step %d, decoupled %d", n, t, decoupled);
            const float *w = random_input("w", n, -2.0f, 2.0f), *m = random_input("m", n, -1.0f, 1.0f);
            const float *v = random_input("v", n, 0.0f, 1.0f), *g = random_input("g", n, -2.0f, 2.0f);
            const double one = 1.0 - pow(0.9, t), two = 1.0 - pow(0.999, t);
            float *weight = output_of("weight", w, n), *mean = output_of("mean", m, n),
                  *square = output_of("square", v, n);
            float *expected = output_of("expected", w, n), *expected_mean = output_of("expected mean", m, n),
                  *expected_square = output_of("expected square", v, n);
            expect_status(
                gpt_adam_step(weight, mean, square, g, n, 1e-2, 0.9, 0.999, 1e-8, 0.01, one, two, decoupled),
                GPT_OK);
            gpt_adam_step_ref(expected, expected_mean, expected_square, g, n, 1e-2, 0.9, 0.999, 1e-8, 0.01,
                              one, two, decoupled);
            expect_close("weight", weight, expected, n, 5e-7);
            expect_close("mean", mean, expected_mean, n, 2e-7);
            expect_close("square", square, expected_square, n, 2e-7);
            end_case();
        }
    }
}

static void first_step_is_the_rate(void)
{
    /* At the first step mean / correction1 = grad and √(square / correction2) = |grad|, so that the step
     * is lr against the sign of grad, and less if |grad| is not large beside eps. A gradient of 0 leaves
     * only the decay. */
    static const float w[5] = {1.0f, 1.0f, 1.0f, 1.0f, 0.0f}, g[5] = {3.0f, -1e-3f, 0.0f, 1e-9f, -1e9f};
    static const float zeros[5] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    static const float expected[5] = {0.85f, 1.05f, 0.95f, 0.95f - 0.1f / 11.0f, 0.1f};
    float *weight = output_of("weight", w, 5), *mean = output_of("mean", zeros, 5),
          *square = output_of("square", zeros, 5);
    expect_status(gpt_adam_step(weight, mean, square, g, 5, 0.1, 0.9, 0.999, 1e-8, 0.5, 0.1, 0.001, 1),
                  GPT_OK);
    expect_close("weight", weight, expected, 5, 1e-6);
}

static void test_adam(void)
{
    promise("the first step of adamw is lr against the sign of the gradient, and the decay",
            first_step_is_the_rate);
    promise("adam and adamw agree with their reference at every length, at steps 1 to 1000", agrees);
}

SUITE("adam", test_adam)
