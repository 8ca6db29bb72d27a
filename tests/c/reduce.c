#include "check.h"
#include "gpt_layers.h"

/* Up to 7 elements are added in PyTorch's order, in which 1e8 takes each 3 before -1e8 comes. */
static void short_sums_have_the_order_of_pytorch(void)
{
    static const float x[8] = {1e8f, 0.0f, 0.0f, -1e8f, 3.0f, 3.0f, 3.0f, 0.0f};
    for (size_t n = 5; n <= 8; n++) {
        const float sum = n < 8 ? 0.0f : 9.0f, mean = sum / 8.0f;
        float *y = output("y", 2);
        expect_status(gpt_sum(y, x, 1, n), GPT_OK);
        expect_status(gpt_mean(y + 1, x, 1, n), GPT_OK);
        in_case("%zu elements", n);
        expect_same("sum", y, &sum, 1);
        expect_same("mean", y + 1, &mean, 1);
        end_case();
    }
}

static void test_reduce(void)
{
    promise("sum and mean of 5, 6 and 7 elements add in PyTorch's order, of 8 in float64",
            short_sums_have_the_order_of_pytorch);
}

SUITE("reduce", test_reduce)
