#include "check.h"
#include "gpt_layers.h"

static void known_values(void)
{
    /* 2·gelu(1·1 + 0) - 1·gelu(1·-2 + 0) + 0.5 with gelu(1) = 0.8413447, gelu(-2) = -0.0455003 */
    static const float x[1] = {1.0f}, weight1[2] = {1.0f, -2.0f}, weight2[2] = {2.0f, -1.0f};
    static const float bias1[2] = {0.0f, 0.0f}, bias2[1] = {0.5f}, expected[1] = {2.2281898f};
    float *y = output("y", 1), *scratch = output("scratch", gpt_feedforward_scratch_size(1, 1, 2));
    expect_status(
        gpt_feedforward_forward(y, scratch, x, weight1, bias1, weight2, bias2, 1, 1, 2, GPT_GELU_ERF, 0, 1),
        GPT_OK);
    expect_close("y", y, expected, 1, 1e-6);
}

static void scratch_stops_growing(void)
{
    expect(gpt_feedforward_scratch_size(0, 2, 8) == 0, "expected no scratch for no rows, got %zu",
           gpt_feedforward_scratch_size(0, 2, 8));
    for (size_t rows = 1; rows <= 100; rows++)
        expect(gpt_feedforward_scratch_size(rows, 768, 3072) <= (rows + 7) * (768 + 3072),
               "expected at most %zu rows of scratch, got %zu floats", rows + 7,
               gpt_feedforward_scratch_size(rows, 768, 3072));
    const size_t some = gpt_feedforward_scratch_size(1000, 768, 3072),
                 many = gpt_feedforward_scratch_size(100000, 768, 3072);
    expect(some == many, "expected as much scratch for 100000 rows as for 1000, got %zu and %zu", many, some);
}

static void test_feedforward(void)
{
    promise("feedforward of a small example is the one computed by hand", known_values);
    promise("feedforward needs no more scratch for more rows than a block", scratch_stops_growing);
}

SUITE("feedforward", test_feedforward)
