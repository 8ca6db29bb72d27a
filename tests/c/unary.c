#include "unary.h"

#include "check.h"
#include "gpt_layers.h"

static void expect_agreement(const float *y, const float *expected, size_t n, double tolerance)
{
    if (tolerance > 0.0)
        expect_close("y", y, expected, n, tolerance);
    else
        expect_same("y", y, expected, n);
}

void unary_agrees(unary kernel, unary_ref reference, float low, float high, double tolerance)
{
    for (size_t k = 0; k < SIZES; k++) {
        const size_t n = sizes[k];
        in_case("n = %zu", n);
        const float *x = random_input("x", n, low, high);
        float *y = output("y", n), *expected = output("expected", n);
        reference(expected, x, n);
        expect_status(kernel(y, x, n), GPT_OK);
        expect_agreement(y, expected, n, tolerance);
        end_case();
    }
}

void unary_agrees_on_specials(unary kernel, unary_ref reference, double tolerance)
{
    for (size_t n = 1; n <= SMALL_SIZES; n++) {
        for (size_t place = 0; place < n; place++) {
            for (size_t s = 0; s < SPECIALS; s++) {
                in_case("n = %zu, x[%zu] = %g", n, place, (double)specials[s]);
                float *values = work(n);
                fill_random(values, n, -4.0f, 4.0f);
                values[place] = specials[s];
                const float *x = input_of("x", values, n);
                float *y = output("y", n), *expected = output("expected", n);
                reference(expected, x, n);
                expect_status(kernel(y, x, n), GPT_OK);
                expect_agreement(y, expected, n, tolerance);
                end_case();
            }
        }
    }
}

void unary_is_elementwise(unary kernel)
{
    enum { ORDINARY = 64, VALUES = SPECIALS + ORDINARY };
    float values[VALUES];
    for (size_t i = 0; i < SPECIALS; i++) values[i] = specials[i];
    fill_random(values + SPECIALS, ORDINARY, -8.0f, 8.0f);
    for (size_t i = 0; i < VALUES; i++) {
        float alone;
        expect_status(kernel(&alone, &values[i], 1), GPT_OK);
        for (size_t n = 2; n <= 9; n++) {
            for (size_t place = 0; place < n; place++) {
                in_case("%.9g at %zu of %zu", (double)values[i], place, n);
                float *neighbors = work(n);
                for (size_t k = 0; k < n; k++) neighbors[k] = values[random_below(VALUES)];
                neighbors[place] = values[i];
                const float *x = input_of("x", neighbors, n);
                float *y = output("y", n);
                expect_status(kernel(y, x, n), GPT_OK);
                expect_same("y", y + place, &alone, 1);
                end_case();
            }
        }
    }
}
