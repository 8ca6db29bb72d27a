#include <math.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const double tolerance = 1e-5;

typedef struct shape {
    size_t rows, dim, hidden;
} shape;

enum { WITH_BIAS1 = 1, WITH_BIAS2 = 2 };

/* y grows with x, and when large terms cancel their rounding errors remain. So the tolerance grows with the
 * row's largest finite input, if that is larger than the usual 3. */
static double row_scale(const float *x, size_t dim)
{
    double largest = 3.0;
    for (size_t i = 0; i < dim; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return largest / 3.0;
}

/* Weights as PyTorch draws them, up to 1/√in, keep the activations around 1 at every size. The scratch has
 * exactly the size that the kernel asks for, between guards. */
static void expect_feedforward(const float *values, shape s, int biases, int approximate)
{
    const float bound1 = (float)(1.0 / sqrt((double)s.dim + 1.0)),
                bound2 = (float)(1.0 / sqrt((double)s.hidden + 1.0));
    const float *x = input_of("x", values, s.rows * s.dim);
    const float *weight1 = random_input("weight1", s.hidden * s.dim, -bound1, bound1);
    const float *weight2 = random_input("weight2", s.dim * s.hidden, -bound2, bound2);
    const float *bias1 = biases & WITH_BIAS1 ? random_input("bias1", s.hidden, -bound1, bound1) : NULL;
    const float *bias2 = biases & WITH_BIAS2 ? random_input("bias2", s.dim, -bound2, bound2) : NULL;
    float *y = output("y", s.rows * s.dim), *expected = output("expected", s.rows * s.dim);
    float *scratch = output("scratch", gpt_feedforward_scratch_size(s.rows, s.dim, s.hidden));
    double *h = (double *)(void *)work(2 * s.hidden);
    gpt_feedforward_forward_ref(expected, h, x, weight1, bias1, weight2, bias2, s.rows, s.dim, s.hidden,
                                approximate);
    expect_status(gpt_feedforward_forward(y, scratch, x, weight1, bias1, weight2, bias2, s.rows, s.dim,
                                          s.hidden, approximate, 0, 1),
                  GPT_OK);
    for (size_t i = 0; i < s.rows * s.dim; i++) {
        const double scale = row_scale(x + i / s.dim * s.dim, s.dim);
        expect_within("y", i, (double)y[i], (double)expected[i],
                      tolerance * fmax(scale, fabs((double)expected[i])));
    }
    end_case();
}

static void one_case(shape s, int biases, int approximate)
{
    in_case("rows %zu, dim %zu, hidden %zu, %s bias1, %s bias2, %s", s.rows, s.dim, s.hidden,
            biases & WITH_BIAS1 ? "with" : "no", biases & WITH_BIAS2 ? "with" : "no",
            approximate == GPT_GELU_TANH ? "tanh" : "erf");
    float *values = work(s.rows * s.dim);
    fill_random(values, s.rows * s.dim, -3.0f, 3.0f);
    expect_feedforward(values, s, biases, approximate);
}

static void agrees_at_the_size_of_gpt2(void)
{
    one_case((shape){6, 768, 3072}, WITH_BIAS1 | WITH_BIAS2, GPT_GELU_TANH);
    one_case((shape){17, 768, 3072}, WITH_BIAS1 | WITH_BIAS2, GPT_GELU_TANH);
}

static void known_values(void)
{
    /* 2·gelu(1·1 + 0) - 1·gelu(1·-2 + 0) + 0.5 with gelu(1) = 0.8413447, gelu(-2) = -0.0455003 */
    static const float x[1] = {1.0f}, weight1[2] = {1.0f, -2.0f}, weight2[2] = {2.0f, -1.0f};
    static const float bias1[2] = {0.0f, 0.0f}, bias2[1] = {0.5f}, expected[1] = {2.2281898f};
    double h[2];
    float *y = output("y", 1), *scratch = output("scratch", gpt_feedforward_scratch_size(1, 1, 2));
    expect_status(
        gpt_feedforward_forward(y, scratch, x, weight1, bias1, weight2, bias2, 1, 1, 2, GPT_GELU_ERF, 0, 1),
        GPT_OK);
    expect_close("y", y, expected, 1, 1e-6);
    gpt_feedforward_forward_ref(y, h, x, weight1, bias1, weight2, bias2, 1, 1, 2, GPT_GELU_ERF);
    expect_close("reference", y, expected, 1, 1e-6);
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
    promise("feedforward is within 1e-5 of float64 at GPT-2's size", agrees_at_the_size_of_gpt2);
    promise("feedforward needs no more scratch for more rows than a block", scratch_stops_growing);
}

SUITE("feedforward", test_feedforward)
