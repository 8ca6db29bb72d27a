/* All parts of a call together give the same bits as the whole call, for every number of parts. */
#include "check.h"
#include "gpt_layers.h"

/* Rows below, at and above the sizes where Linear and FeedForward change their algorithm or their blocks. */
enum { MOST_PARTS = 5, CASES = 9 };
static const size_t row_cases[CASES] = {1, 2, 5, 6, 7, 8, 17, 65, 200};

static void elementwise(void)
{
    for (size_t n = 0; n <= 70; n++) {
        const float *x = random_input("x", n, -4.0f, 4.0f);
        float *relu = output("relu", n), *gelu = output("gelu", n);
        expect_status(gpt_relu_forward(relu, x, n, 0, 1), GPT_OK);
        expect_status(gpt_gelu_forward(gelu, x, n, GPT_GELU_ERF, 0, 1), GPT_OK);
        for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
            in_case("n %zu, parts %zu", n, parts);
            float *y = output("y", n), *z = output("z", n);
            for (size_t part = 0; part < parts; part++) {
                expect_status(gpt_relu_forward(y, x, n, part, parts), GPT_OK);
                expect_status(gpt_gelu_forward(z, x, n, GPT_GELU_ERF, part, parts), GPT_OK);
            }
            expect_same("relu", y, relu, n);
            expect_same("gelu", z, gelu, n);
        }
        end_case();
    }
}

static void layernorm(void)
{
    enum { COLS = 33 };
    for (size_t k = 0; k < CASES; k++) {
        const size_t rows = row_cases[k];
        const float *x = random_input("x", rows * COLS, -4.0f, 4.0f);
        const float *scale = random_input("scale", COLS, -1.0f, 1.0f),
                    *shift = random_input("shift", COLS, -1.0f, 1.0f);
        float *whole = output("whole", rows * COLS);
        expect_status(gpt_layernorm_forward(whole, NULL, NULL, x, scale, shift, rows, COLS, 1e-5f, 0, 1),
                      GPT_OK);
        for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
            in_case("rows %zu, parts %zu", rows, parts);
            float *y = output("y", rows * COLS);
            for (size_t part = 0; part < parts; part++)
                expect_status(
                    gpt_layernorm_forward(y, NULL, NULL, x, scale, shift, rows, COLS, 1e-5f, part, parts),
                    GPT_OK);
            expect_same("y", y, whole, rows * COLS);
        }
        end_case();
    }
}

static void linear(void)
{
    enum { IN = 19, OUT = 41 };
    for (size_t k = 0; k < CASES; k++) {
        const size_t rows = row_cases[k], size = gpt_linear_scratch_size(rows, IN);
        const float *x = random_input("x", rows * IN, -4.0f, 4.0f),
                    *bias = random_input("bias", OUT, -1.0f, 1.0f);
        const float *weight = random_input("weight", OUT * IN, -1.0f, 1.0f);
        float *whole = output("whole", rows * OUT), *scratch = output("scratch", size);
        expect_status(gpt_linear_forward(whole, scratch, x, weight, bias, rows, IN, OUT, 0, 1), GPT_OK);
        for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
            in_case("rows %zu, parts %zu", rows, parts);
            float *y = output("y", rows * OUT), *scratches = output("scratches", parts * size);
            for (size_t part = 0; part < parts; part++)
                expect_status(gpt_linear_forward(y, scratches, x, weight, bias, rows, IN, OUT, part, parts),
                              GPT_OK);
            expect_same("y", y, whole, rows * OUT);
        }
        end_case();
    }
}

static void feedforward(void)
{
    enum { DIM = 13, HIDDEN = 50 };
    for (size_t k = 0; k < CASES; k++) {
        const size_t rows = row_cases[k], size = gpt_feedforward_scratch_size(rows, DIM, HIDDEN);
        const float *x = random_input("x", rows * DIM, -4.0f, 4.0f),
                    *bias1 = random_input("bias1", HIDDEN, -1.0f, 1.0f);
        const float *weight1 = random_input("weight1", HIDDEN * DIM, -1.0f, 1.0f);
        const float *weight2 = random_input("weight2", HIDDEN * DIM, -1.0f, 1.0f);
        float *whole = output("whole", rows * DIM), *scratch = output("scratch", size);
        expect_status(gpt_feedforward_forward(whole, scratch, x, weight1, bias1, weight2, NULL, rows, DIM,
                                              HIDDEN, GPT_GELU_TANH, 0, 1),
                      GPT_OK);
        for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
            in_case("rows %zu, parts %zu", rows, parts);
            float *y = output("y", rows * DIM), *scratches = output("scratches", parts * size);
            for (size_t part = 0; part < parts; part++)
                expect_status(gpt_feedforward_forward(y, scratches, x, weight1, bias1, weight2, NULL, rows,
                                                      DIM, HIDDEN, GPT_GELU_TANH, part, parts),
                              GPT_OK);
            expect_same("y", y, whole, rows * DIM);
        }
        end_case();
    }
}

/* A feed-forward network has the bits of its two linear layers with GELU between them. */
static void feedforward_is_its_layers(void)
{
    enum { DIM = 13, HIDDEN = 50 };
    for (size_t k = 0; k < CASES; k++) {
        const size_t rows = row_cases[k];
        in_case("rows %zu", rows);
        const float *x = random_input("x", rows * DIM, -4.0f, 4.0f),
                    *bias1 = random_input("bias1", HIDDEN, -1.0f, 1.0f);
        const float *weight1 = random_input("weight1", HIDDEN * DIM, -1.0f, 1.0f);
        const float *weight2 = random_input("weight2", HIDDEN * DIM, -1.0f, 1.0f);
        float *whole = output("whole", rows * DIM), *y = output("y", rows * DIM),
              *h = output("h", rows * HIDDEN);
        float *scratch = output("scratch", gpt_feedforward_scratch_size(rows, DIM, HIDDEN));
        float *first = output("first", gpt_linear_scratch_size(rows, DIM));
        float *second = output("second", gpt_linear_scratch_size(rows, HIDDEN));
        expect_status(gpt_feedforward_forward(whole, scratch, x, weight1, bias1, weight2, NULL, rows, DIM,
                                              HIDDEN, GPT_GELU_TANH, 0, 1),
                      GPT_OK);
        expect_status(gpt_linear_forward(h, first, x, weight1, bias1, rows, DIM, HIDDEN, 0, 1), GPT_OK);
        expect_status(gpt_gelu_forward(h, h, rows * HIDDEN, GPT_GELU_TANH, 0, 1), GPT_OK);
        expect_status(gpt_linear_forward(y, second, h, weight2, NULL, rows, HIDDEN, DIM, 0, 1), GPT_OK);
        expect_same("y", y, whole, rows * DIM);
        end_case();
    }
}

static void refuses(void)
{
    static const size_t bad[3][2] = {{0, 0}, {1, 1}, {3, 2}};
    const float *x = random_input("x", 4, -1.0f, 1.0f);
    float *y = output("y", 4), *scratch = output("scratch", 4);
    for (size_t k = 0; k < 3; k++) {
        const size_t part = bad[k][0], parts = bad[k][1];
        in_case("part %zu of %zu", part, parts);
        expect_refused(gpt_relu_forward(y, x, 4, part, parts), GPT_ERR_VALUE);
        expect_refused(gpt_gelu_forward(y, x, 4, GPT_GELU_TANH, part, parts), GPT_ERR_VALUE);
        expect_refused(gpt_layernorm_forward(y, NULL, NULL, x, x, x, 2, 2, 1e-5f, part, parts),
                       GPT_ERR_VALUE);
        expect_refused(gpt_linear_forward(y, scratch, x, x, NULL, 2, 2, 2, part, parts), GPT_ERR_VALUE);
        expect_refused(
            gpt_feedforward_forward(y, scratch, x, x, NULL, x, NULL, 2, 2, 2, GPT_GELU_TANH, part, parts),
            GPT_ERR_VALUE);
    }
}

void test_parts(void)
{
    promise("relu and gelu in parts have the bits of the whole call", elementwise);
    promise("layer norm in parts has the bits of the whole call", layernorm);
    promise("linear in parts has the bits of the whole call", linear);
    promise("feedforward in parts has the bits of the whole call", feedforward);
    promise("feedforward has the bits of linear, gelu and linear", feedforward_is_its_layers);
    promise("a kernel refuses a part that is not below parts, and leaves y as it was", refuses);
}
