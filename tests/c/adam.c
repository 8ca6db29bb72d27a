#include "check.h"
#include "gpt_layers.h"

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
}

SUITE("adam", test_adam)
