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

static void test_embedding(void)
{
    promise("embedding backward of integers is exact where an index occurs 180 times in rows of 2049",
            backward_of_a_frequent_index);
}

SUITE("embedding", test_embedding)
