#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static void known_values(void)
{
    static const float x[7] = {-1.5f, -0.0f, 0.0f, 1.5f, -INFINITY, INFINITY, NAN};
    static const float expected[7] = {0.0f, -0.0f, 0.0f, 1.5f, 0.0f, INFINITY, NAN};
    float *y = output("y", 7), *reference = output("reference", 7);
    expect_status(gpt_relu_forward(y, x, 7, 0, 1), GPT_OK);
    gpt_relu_forward_ref(reference, x, 7);
    expect_same("y", y, expected, 7);
    expect_same("reference", reference, expected, 7);
}

static void backward_known_values(void)
{
    static const float x[7] = {-1.5f, -0.0f, 0.0f, 1.5f, -INFINITY, INFINITY, NAN};
    static const float dy[7] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};
    static const float expected[7] = {0.0f, 0.0f, 0.0f, 4.0f, 0.0f, 6.0f, 7.0f};
    float *dx = output("dx", 7), *reference = output("reference", 7);
    expect_status(gpt_relu_backward(dx, dy, x, 7, 0, 1), GPT_OK);
    gpt_relu_backward_ref(reference, dy, x, 7);
    expect_same("dx", dx, expected, 7);
    expect_same("reference", reference, expected, 7);
}

static void test_relu(void)
{
    promise("relu turns negative values into 0 and keeps -0, NaN and infinity, as in PyTorch", known_values);
    promise("relu backward passes dy where x is positive or NaN, as in PyTorch", backward_known_values);
}

SUITE("relu", test_relu)
