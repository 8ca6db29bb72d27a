#include <float.h>
#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The error bound of the contract, as in expect_close. */
static const double tolerance = 1e-6;

/* Both formulas with the type of a unary kernel. */
static int tanh_form(float *y, const float *x, size_t n)
{
    return gpt_gelu_forward(y, x, n, GPT_GELU_TANH, 0, 1);
}

static int erf_form(float *y, const float *x, size_t n)
{
    return gpt_gelu_forward(y, x, n, GPT_GELU_ERF, 0, 1);
}

static void tanh_form_ref(float *y, const float *x, size_t n)
{
    gpt_gelu_forward_ref(y, x, n, GPT_GELU_TANH);
}

static void erf_form_ref(float *y, const float *x, size_t n) { gpt_gelu_forward_ref(y, x, n, GPT_GELU_ERF); }

static void known_values(void)
{
    /* erf form: Φ(1) = 0.841344746068543, Φ(2) = 0.977249868051821. tanh form: computed with 50 digits. */
    static const float x[4] = {1.0f, -1.0f, 2.0f, -2.0f};
    static const float exact[4] = {0.841344746f, -0.158655254f, 1.954499736f, -0.045500264f};
    static const float approximate[4] = {0.841191991f, -0.158808009f, 1.954597694f, -0.045402306f};
    float *y = output("y", 4);
    in_case("erf");
    expect_status(erf_form(y, x, 4), GPT_OK);
    expect_close("y", y, exact, 4, tolerance);
    erf_form_ref(y, x, 4);
    expect_close("reference", y, exact, 4, tolerance);
    in_case("tanh");
    expect_status(tanh_form(y, x, 4), GPT_OK);
    expect_close("y", y, approximate, 4, tolerance);
    tanh_form_ref(y, x, 4);
    expect_close("reference", y, approximate, 4, tolerance);
}

/* Compares both formulas with their references for one x. */
static void expect_gelu(const float *x, size_t n)
{
    float *y = work(n), *expected = work(n);
    for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
        in_case("%s, x from %.9g to %.9g", kind == GPT_GELU_TANH ? "tanh" : "erf", (double)x[0],
                (double)x[n - 1]);
        gpt_gelu_forward_ref(expected, x, n, kind);
        expect_status(gpt_gelu_forward(y, x, n, kind, 0, 1), GPT_OK);
        expect_close("y", y, expected, n, tolerance);
    }
    end_case();
}

static void dense_sweep(void)
{
    const size_t chunk = 4000;
    const double step = 1e-5;
    for (double first = -12.0; first < 12.0; first += (double)chunk * step) {
        float *x = work(chunk);
        /* random offsets, so that not all values are round */
        for (size_t i = 0; i < chunk; i++)
            x[i] = (float)(first + step * ((double)i + (double)random_in(0.0f, 1.0f)));
        expect_gelu(x, chunk);
    }
}

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

static void limits(void)
{
    static const float x[5] = {-3e38f, 3e38f, INFINITY, -INFINITY, NAN};
    static const float expected[5] = {0.0f, 3e38f, INFINITY, NAN, NAN};
    float *y = output("y", 5);
    for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
        in_case("%s", kind == GPT_GELU_TANH ? "tanh" : "erf");
        expect_status(gpt_gelu_forward(y, x, 5, kind, 0, 1), GPT_OK);
        for (size_t i = 0; i < 5; i++) expect_within("y", i, (double)y[i], (double)expected[i], 0.0);
        gpt_gelu_forward_ref(y, x, 5, kind);
        for (size_t i = 0; i < 5; i++) expect_within("reference", i, (double)y[i], (double)expected[i], 0.0);
    }
}

static void backward_known_values(void)
{
    /* from PyTorch in float64 */
    static const float x[4] = {1.0f, -1.0f, 2.0f, -2.0f}, dy[4] = {1.0f, 1.0f, 2.0f, 1.0f};
    static const float expected[2][4] = {{1.08296408f, -0.0829640838f, 2.17219851f, -0.0860992566f},
                                         {1.08331547f, -0.0833154706f, 2.1704636f, -0.0852318011f}};
    float *dx = output("dx", 4);
    for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
        in_case("%s", kind == GPT_GELU_TANH ? "tanh" : "erf");
        expect_status(gpt_gelu_backward(dx, dy, x, 4, kind, 0, 1), GPT_OK);
        expect_close("dx", dx, expected[kind], 4, tolerance);
        gpt_gelu_backward_ref(dx, dy, x, 4, kind);
        expect_close("reference", dx, expected[kind], 4, tolerance);
    }
}

static void backward_dense_sweep(void)
{
    const size_t chunk = 4000;
    const double step = 1e-5;
    float *dy = work(chunk), *x = work(chunk), *dx = work(chunk), *expected = work(chunk);
    for (size_t i = 0; i < chunk; i++) dy[i] = 1.0f;
    for (double first = -18.0; first < 18.0; first += (double)chunk * step) {
        for (size_t i = 0; i < chunk; i++)
            x[i] = (float)(first + step * ((double)i + (double)random_in(0.0f, 1.0f)));
        for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
            in_case("kind %d, x from %.9g", kind, (double)x[0]);
            gpt_gelu_backward_ref(expected, dy, x, chunk, kind);
            expect_status(gpt_gelu_backward(dx, dy, x, chunk, kind, 0, 1), GPT_OK);
            expect_close("dx", dx, expected, chunk, tolerance);
        }
    }
    end_case();
}

static void backward_limits(void)
{
    static const float x[6] = {-3e38f, 3e38f, 0.0f, INFINITY, -INFINITY, NAN}, dy[6] = {2, 2, 2, 2, 2, 2};
    static const float expected[6] = {0.0f, 2.0f, 1.0f, NAN, NAN, NAN};
    float *dx = output("dx", 6);
    for (int kind = GPT_GELU_TANH; kind <= GPT_GELU_ERF; kind++) {
        in_case("%s", kind == GPT_GELU_TANH ? "tanh" : "erf");
        expect_status(gpt_gelu_backward(dx, dy, x, 6, kind, 0, 1), GPT_OK);
        for (size_t i = 0; i < 6; i++) expect_within("dx", i, (double)dx[i], (double)expected[i], 1e-6);
        gpt_gelu_backward_ref(dx, dy, x, 6, kind);
        for (size_t i = 0; i < 6; i++) expect_within("reference", i, (double)dx[i], (double)expected[i], 0.0);
    }
}

static void test_gelu(void)
{
    promise("gelu of 1, -1, 2 and -2 has the values of the tables, in both forms", known_values);
    promise("gelu is within 1e-6 of float64 everywhere in [-12, 12]", dense_sweep);
    promise("gelu's tanh form has an rms error of at most 7e-8 on [-4, 4]", tanh_form_is_precise);
    promise("gelu of -3e38 is 0, of infinity infinity, of -infinity NaN, in both forms", limits);
    promise("gelu backward of 1, -1, 2 and -2 equals PyTorch's gradient, in both forms",
            backward_known_values);
    promise("gelu backward is within 1e-6 of float64 everywhere in [-18, 18]", backward_dense_sweep);
    promise("gelu backward is 0 at -3e38, dy at 3e38, NaN at the infinities, in both forms", backward_limits);
}

SUITE("gelu", test_gelu)
