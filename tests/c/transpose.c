#include "check.h"
#include "gpt_layers.h"

static void moves_every_element(void)
{
    static const size_t counts[3] = {1, 2, 5};
    for (size_t k = 0; k < 3; k++) {
        for (size_t r = 0; r < SIZES; r++) {
            for (size_t c = 0; c < SIZES; c++) {
                const size_t count = counts[k], rows = sizes[r], cols = sizes[c], n = count * rows * cols;
                if (rows * cols > 17 * 3072) continue;
                in_case("%zu x %zu x %zu", count, rows, cols);
                const float *x = random_input("x", n, -4.0f, 4.0f);
                float *y = output("y", n), *expected = work(n);
                for (size_t i = 0; i < n; i++) {
                    const size_t slice = i / (rows * cols), row = i / cols % rows, col = i % cols;
                    expected[(slice * cols + col) * rows + row] = x[i];
                }
                expect_status(gpt_transpose(y, x, count, rows, cols, 1), GPT_OK);
                expect_same("y", y, expected, n);
                end_case();
            }
        }
    }
}

static void keeps_inner_axis(void)
{
    for (size_t inner = 2; inner <= 17; inner += 3) {
        const size_t count = 2, rows = 3, cols = 5, n = count * rows * cols * inner;
        in_case("inner = %zu", inner);
        const float *x = random_input("x", n, -4.0f, 4.0f);
        float *y = output("y", n), *expected = work(n);
        for (size_t i = 0; i < n; i++) {
            const size_t slice = i / (rows * cols * inner), row = i / (cols * inner) % rows,
                         col = i / inner % cols;
            expected[((slice * cols + col) * rows + row) * inner + i % inner] = x[i];
        }
        expect_status(gpt_transpose(y, x, count, rows, cols, inner), GPT_OK);
        expect_same("y", y, expected, n);
        end_case();
    }
}

static void keeps_specials(void)
{
    float expected[SPECIALS];
    for (size_t row = 0; row < 2; row++)
        for (size_t col = 0; col < SPECIALS / 2; col++)
            expected[col * 2 + row] = specials[row * (SPECIALS / 2) + col];
    const float *x = input_of("x", specials, SPECIALS);
    float *y = output("y", SPECIALS);
    expect_status(gpt_transpose(y, x, 1, 2, SPECIALS / 2, 1), GPT_OK);
    expect_same("y", y, expected, SPECIALS);
}

static void test_transpose(void)
{
    promise("transpose keeps the elements of the inner axis together", keeps_inner_axis);
    promise("transpose moves every element to its position", moves_every_element);
    promise("transpose does not change zeros, denormals, infinities and NaN", keeps_specials);
}

SUITE("transpose", test_transpose)
