#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "unary.h"

static void agrees(void) { unary_agrees(gpt_relu_forward, gpt_relu_forward_ref, -4.0f, 4.0f, 0.0); }

static void agrees_on_specials(void) { unary_agrees_on_specials(gpt_relu_forward, gpt_relu_forward_ref, 0.0); }

static void is_elementwise(void) { unary_is_elementwise(gpt_relu_forward); }

static void works_in_place(void)
{
    unary_in_place(gpt_relu_forward);
    unary_in_place(gpt_relu_forward_ref);
}

static void refuses(void)
{
    unary_refuses(gpt_relu_forward);
    unary_refuses(gpt_relu_forward_ref);
}

static void keeps_what_is_not_negative(void)
{
    static const float x[7] = {-1.5f, -0.0f, 0.0f, 1.5f, -INFINITY, INFINITY, NAN};
    static const float expected[7] = {0.0f, -0.0f, 0.0f, 1.5f, 0.0f, INFINITY, NAN};
    float *y = output("y", 7), *reference = output("reference", 7);
    expect_status(gpt_relu_forward(y, x, 7), GPT_OK);
    expect_status(gpt_relu_forward_ref(reference, x, 7), GPT_OK);
    expect_same("y", y, expected, 7);
    expect_same("reference", reference, expected, 7);
}

void test_relu(void)
{
    promise("relu makes negatives 0 and keeps -0, NaN and infinity, as PyTorch", keeps_what_is_not_negative);
    promise("relu is its reference bit for bit at every length", agrees);
    promise("relu of zeros, denormals, huge values, infinities and NaN is right in every lane", agrees_on_specials);
    promise("relu of a value does not depend on its place or neighbours", is_elementwise);
    promise("relu may write over its input", works_in_place);
    promise("relu refuses NULL and impossible sizes and leaves y alone", refuses);
}
