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

/* 5 x 7 has a tile of 4 x 4, and rows and columns beside it. Each special value is once at each place. */
static void keeps_specials(void)
{
    enum { ROWS = 5, COLS = 7, N = ROWS * COLS };
    for (size_t s = 0; s < SPECIALS; s++) {
        in_case("the first is %g", (double)specials[s]);
        float values[N], expected[N];
        for (size_t i = 0; i < N; i++)
            values[i] = expected[i % COLS * ROWS + i / COLS] = specials[(s + i) % SPECIALS];
        const float *x = input_of("x", values, N);
        float *y = output("y", N);
        expect_status(gpt_transpose(y, x, 1, ROWS, COLS, 1), GPT_OK);
        expect_same("y", y, expected, N);
        end_case();
    }
}

static void test_transpose(void)
{
    promise("transpose moves every element to its position", moves_every_element);
    promise("transpose does not change zeros, denormals, infinities and NaN", keeps_specials);
}

SUITE("transpose", test_transpose)
