#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"
#include "unary.h"

/* The kernel without part and parts, with the type of its reference. */
static int kernel_forward(float *y, const float *x, size_t n) { return gpt_relu_forward(y, x, n, 0, 1); }

static void agrees_on_specials(void) { unary_agrees_on_specials(kernel_forward, gpt_relu_forward_ref, 0.0); }

static void is_elementwise(void) { unary_is_elementwise(kernel_forward); }

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
    promise("relu of zeros, denormals, huge values, infinities and NaN is right in every lane",
            agrees_on_specials);
    promise("relu of a value does not depend on its position or neighbors", is_elementwise);
    promise("relu backward passes dy where x is positive or NaN, as in PyTorch", backward_known_values);
}

SUITE("relu", test_relu)
