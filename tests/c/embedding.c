#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* Two blocks of rows for one index, and three strips of columns. */
static void backward_of_a_frequent_index(void)
{
    enum { ROWS = 200, COUNT = 2, DIM = 2049 };
    static int32_t indices[ROWS];
    for (size_t r = 0; r < ROWS; r++) indices[r] = r % 10 == 3;
    float *values = work(ROWS * DIM);
    for (size_t i = 0; i < ROWS * DIM; i++) values[i] = (float)random_below(15) - 7.0f;
    const float *dy = input_of("dy", values, ROWS * DIM);
    float *dweight = output("dweight", COUNT * DIM), *expected = output("expected", COUNT * DIM);
    float *scratch = output("scratch", ROWS + COUNT);
    gpt_embedding_backward_ref(expected, dy, indices, ROWS, COUNT, DIM);
    expect_status(gpt_embedding_backward(dweight, scratch, dy, indices, ROWS, COUNT, DIM, 0, 1), GPT_OK);
    expect_same("dweight", dweight, expected, COUNT * DIM);
}

static void known_values(void)
{
    static const float weight[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const int32_t indices[3] = {2, 0, 2};
    static const float expected[6] = {5.0f, 6.0f, 1.0f, 2.0f, 5.0f, 6.0f};
    static const float dy[6] = {1.0f, 10.0f, 100.0f, 1000.0f, 0.5f, 0.25f};
    static const float dweight[6] = {100.0f, 1000.0f, 0.0f, 0.0f, 1.5f, 10.25f};
    float *y = output("y", 6), *sum = output("dweight", 6), *scratch = output("scratch", 6);
    expect_status(gpt_embedding_forward(y, indices, weight, 3, 3, 2, 0, 1), GPT_OK);
    expect_same("y", y, expected, 6);
    expect_status(gpt_embedding_backward(sum, scratch, dy, indices, 3, 3, 2, 0, 1), GPT_OK);
    expect_same("dweight", sum, dweight, 6);
}

static void test_embedding(void)
{
    promise("embedding copies the rows with the given indices, and backward adds the gradients there",
            known_values);
    promise("embedding backward of integers is exact where an index occurs 180 times in rows of 2049",
            backward_of_a_frequent_index);
}

SUITE("embedding", test_embedding)
