#include <math.h>
#include <string.h>

#include "affine.h"
#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const affine layer = {gpt_linear_scratch_size, gpt_linear_backward_scratch_size,
                             gpt_linear_forward,      gpt_linear_forward_ref,
                             gpt_linear_backward,     gpt_linear_backward_ref};

static void known_values(void)
{
    static const float weight[6] = {1.0f, 0.0f, 0.5f, -1.0f, 2.0f, 2.0f};
    static const float dweight[6] = {-2.0f, -2.0f, 2.0f, 4.0f, 6.0f, 10.0f};
    affine_known_values(layer, weight, dweight);
}

static void forward_is_exact(void) { affine_forward_is_exact(layer); }
static void forward_agrees(void) { affine_forward_agrees(layer); }
static void forward_agrees_on_specials(void) { affine_forward_agrees_on_specials(layer); }
static void backward_is_exact(void) { affine_backward_is_exact(layer); }
static void backward_agrees(void) { affine_backward_agrees(layer); }
static void backward_agrees_on_specials(void) { affine_backward_agrees_on_specials(layer); }
static void scratch_stops_growing(void)
{
    const size_t some = gpt_linear_backward_scratch_size(512, 1),
                 many = gpt_linear_backward_scratch_size(10000, 50257);
    expect(some == many, "expected as much scratch for 10000 rows as for 512, got %zu and %zu", many, some);
}

/* ---- gpt_linear_init ---- */

static void init_stays_in_bounds(void)
{
    static const size_t ins[6] = {1, 2, 3, 5, 768, 3072};
    for (size_t k = 0; k < 6; k++) {
        const size_t in = ins[k], out = 64;
        in_case("in %zu", in);
        gpt_random random;
        expect_status(gpt_random_seed(&random, 7), GPT_OK);
        float *weight = output("weight", in * out), *bias = output("bias", out);
        expect_status(gpt_linear_init(weight, bias, &random, in, out), GPT_OK);
        /* rounding may put the bound above 1/√in */
        const double bound = (1.0 + 2.0 * ldexp(1.0, -24)) / sqrt((double)in);
        double largest = 0.0, sum = 0.0;
        for (size_t i = 0; i < in * out; i++) {
            expect(fabs((double)weight[i]) <= bound, "weight[%zu] = %.9g is outside of 1/sqrt(in) = %.9g", i,
                   (double)weight[i], bound);
            largest = fmax(largest, fabs((double)weight[i]));
            sum += (double)weight[i];
        }
        for (size_t i = 0; i < out; i++)
            expect(fabs((double)bias[i]) <= bound, "bias[%zu] = %.9g is outside of 1/sqrt(in) = %.9g", i,
                   (double)bias[i], bound);
        /* The mean of N uniform numbers has the standard deviation bound / √(3N). */
        expect(largest > 0.9 * bound, "the largest weight is %.9g, with 1/sqrt(in) = %.9g", largest, bound);
        const double count = (double)(in * out);
        expect(fabs(sum / count) < 5.0 * bound / sqrt(3.0 * count), "the mean weight is %.9g", sum / count);
        end_case();
    }
}

static void init_draws_weight_then_bias(void)
{
    enum { IN = 5, OUT = 6 };
    gpt_random random, fork, fork_without;
    expect_status(gpt_random_seed(&random, 123), GPT_OK);
    fork = fork_without = random;
    float *weight = output("weight", IN * OUT), *bias = output("bias", OUT);
    expect_status(gpt_linear_init(weight, bias, &random, IN, OUT), GPT_OK);

    float *draws = output("draws", IN * OUT + OUT);
    const float bound = (float)(1.0 / sqrt((double)IN));
    expect_status(gpt_random_uniform(draws, &fork, IN * OUT + OUT, -bound, bound), GPT_OK);
    expect_close("weight", weight, draws, IN * OUT, 1e-7);
    expect_close("bias", bias, draws + IN * OUT, OUT, 1e-7);
    expect(memcmp(&random, &fork, sizeof random) == 0, "expected in · out + out draws");

    /* without a bias, the next draws are those of the bias above */
    float *alone = output("alone", IN * OUT);
    expect_status(gpt_linear_init(alone, NULL, &fork_without, IN, OUT), GPT_OK);
    expect_same("weight without bias", alone, weight, IN * OUT);
    float *next = output("next", OUT);
    expect_status(gpt_random_uniform(next, &fork_without, OUT, -bound, bound), GPT_OK);
    expect_close("the next draws", next, bias, OUT, 1e-7);
}

/* torch.manual_seed(123); x = torch.randn(2, 5); Sequential(Linear(5, 6), ReLU())(x) */
static void notebook(void)
{
    static const float expected[12] = {0.2260f, 0.3470f, 0.0f, 0.2216f, 0.0f,    0.0f,
                                       0.2133f, 0.2394f, 0.0f, 0.5198f, 0.3297f, 0.0f};
    gpt_random random;
    expect_status(gpt_random_seed(&random, 123), GPT_OK);
    float *x = output("x", 10), *weight = output("weight", 30), *bias = output("bias", 6),
          *y = output("y", 12);
    expect_status(gpt_random_normal(x, &random, 10, 0.0, 1.0), GPT_OK);
    expect_status(gpt_linear_init(weight, bias, &random, 5, 6), GPT_OK);
    float *scratch = output("scratch", gpt_linear_scratch_size(2, 5));
    expect_status(gpt_linear_forward(y, scratch, x, weight, bias, 2, 5, 6, 0, 1), GPT_OK);
    expect_status(gpt_relu_forward(y, y, 12, 0, 1), GPT_OK);
    /* half of the last printed digit */
    expect_close("y", y, expected, 12, 0.5001e-4);
}

static void test_linear(void)
{
    promise("linear and its gradients of a small example are those computed by hand", known_values);
    promise("linear of integers is exact at every size, also in parts", forward_is_exact);
    promise("linear is within the bound of its roundings at every size", forward_agrees);
    promise("linear of special values is right at every position", forward_agrees_on_specials);
    promise("linear backward of integers is exact at every size, also in parts and for some outputs",
            backward_is_exact);
    promise("linear backward is within the bound of its roundings at every size", backward_agrees);
    promise("linear backward of special values is right at every position", backward_agrees_on_specials);
    promise("linear backward needs no more scratch beyond 512 rows or outputs", scratch_stops_growing);
    promise("linear init fills the range -1/sqrt(in) ... 1/sqrt(in) and stays in it", init_stays_in_bounds);
    promise("linear init draws the weight before the bias, and nothing without a bias",
            init_draws_weight_then_bias);
    promise("linear and relu after seed 123 print what the notebook prints", notebook);
}

SUITE("linear", test_linear)
