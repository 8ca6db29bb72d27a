#include "check.h"
#include "gpt_layers.h"

/* With weight 1 0 | 0.5 -1 | 2 2, one output after the other. Linear and Conv1D have it in different orders. */
static void known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, bias[3] = {10.0f, 20.0f, 30.0f};
    static const float linear[6] = {1.0f, 0.0f, 0.5f, -1.0f, 2.0f, 2.0f};
    static const float conv1d[6] = {1.0f, 0.5f, 2.0f, 0.0f, -1.0f, 2.0f};
    static const float y[6] = {11.0f, 18.5f, 36.0f, 13.0f, 17.5f, 44.0f};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.0f, 1.0f};
    static const float dx[4] = {8.0f, 4.0f, 1.0f, 2.0f}, dbias[3] = {0.0f, 2.0f, 4.0f};
    static const float dlinear[6] = {-2.0f, -2.0f, 2.0f, 4.0f, 6.0f, 10.0f};
    static const float dconv1d[6] = {-2.0f, 2.0f, 6.0f, -2.0f, 4.0f, 10.0f};
    float *got_y = output("y", 6), *got_dx = output("dx", 4), *got_dweight = output("dweight", 6);
    float *got_dbias = output("dbias", 3),
          *scratch = work(gpt_linear_backward_scratch_size(2, 3) + gpt_conv1d_backward_scratch_size(2, 3));
    float *forward_scratch = work(gpt_linear_scratch_size(2, 2) + gpt_conv1d_scratch_size(2, 2));
    for (int is_linear = 0; is_linear <= 1; is_linear++) {
        in_case(is_linear ? "linear" : "conv1d");
        const float *weight = is_linear ? linear : conv1d;
        expect_status((is_linear ? gpt_linear_forward : gpt_conv1d_forward)(got_y, forward_scratch, x, weight,
                                                                            bias, 2, 2, 3, 0, 1),
                      GPT_OK);
        expect_same("y", got_y, y, 6);
        expect_status((is_linear ? gpt_linear_backward : gpt_conv1d_backward)(
                          got_dx, got_dweight, got_dbias, scratch, dy, x, weight, 2, 2, 3, 0, 1),
                      GPT_OK);
        expect_same("dx", got_dx, dx, 4);
        expect_same("dweight", got_dweight, is_linear ? dlinear : dconv1d, 6);
        expect_same("dbias", got_dbias, dbias, 3);
    }
}

static void scratch_stops_growing(void)
{
    const size_t some = gpt_linear_backward_scratch_size(512, 1),
                 many = gpt_linear_backward_scratch_size(10000, 50257);
    expect(some == many, "expected as much scratch for 10000 rows as for 512, got %zu and %zu", many, some);
}

static void test_linear(void)
{
    promise("linear, conv1d and their gradients of a small example are those computed by hand", known_values);
    promise("linear backward needs no more scratch beyond 512 rows or outputs", scratch_stops_growing);
}

SUITE("linear", test_linear)
