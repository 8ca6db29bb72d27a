#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 1e-6;

/* The error of one element adds up over the features and layers of a GPT, unless it is about that of rounding:
 * PyTorch 1.13 has 5.4e-8, and the rounding of the exact values 3.6e-8. */
static void tanh_form_is_precise(void)
{
    const size_t n = 80000;
    float *x = work(n), *y = work(n);
    for (size_t i = 0; i < n; i++) x[i] = random_in(-4.0f, 4.0f);
    expect_status(gpt_gelu_forward(y, x, n, GPT_GELU_TANH, 0, 1), GPT_OK);
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double error = (double)y[i] - gpt_gelu_exact((double)x[i], GPT_GELU_TANH);
        squares += error * error;
    }
    const float rms = (float)sqrt(squares / (double)n), none = 0.0f;
    expect_close("the rms error", &rms, &none, 1, 7e-8);
}

static void dense_sweep(void)
{
    const size_t chunk = 4000;
    const double step = 1e-5;
    float *x = work(chunk), *dy = work(chunk), *y = work(chunk), *expected = work(chunk);
    for (size_t i = 0; i < chunk; i++) dy[i] = 1.0f;
    for (double first = -18.0; first < 18.0; first += (double)chunk * step) {
        /* random offsets, so that not all values are round */
        for (size_t i = 0; i < chunk; i++)
            x[i] = (float)(first + step * ((double)i + (double)random_in(0.0f, 1.0f)));
        for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
            in_case("%s, x from %.9g", kind == GPT_GELU_TANH ? "tanh" : "erf", (double)x[0]);
            gpt_gelu_forward_ref(expected, x, chunk, kind);
            expect_status(gpt_gelu_forward(y, x, chunk, kind, 0, 1), GPT_OK);
            expect_close("y", y, expected, chunk, tolerance);
            gpt_gelu_backward_ref(expected, dy, x, chunk, kind);
            expect_status(gpt_gelu_backward(y, dy, x, chunk, kind, 0, 1), GPT_OK);
            expect_close("dx", y, expected, chunk, tolerance);
        }
    }
    end_case();
}

static void test_gelu(void)
{
    promise("gelu and its gradient are within 1e-6 of float64 everywhere in [-18, 18]", dense_sweep);
    promise("gelu's tanh form has an rms error of at most 7e-8 on [-4, 4]", tanh_form_is_precise);
}

SUITE("gelu", test_gelu)
