#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* With weight 1 0 | 0.5 -1 | 2 2, one output after the other. Linear and Conv1D have it in different orders. */
static void known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, bias[3] = {10.0f, 20.0f, 30.0f};
    static const float linear[6] = {1.0f, 0.0f, 0.5f, -1.0f, 2.0f, 2.0f};
    static const float conv1d[6] = {1.0f, 0.5f, 2.0f, 0.0f, -1.0f, 2.0f};
    static const float y[6] = {11.0f, 18.5f, 36.0f, 13.0f, 17.5f, 44.0f};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.0f, 1.0f};
    static const float dx[4] = {8.0f, 4.0f, 1.0f, 2.0f}, dbias[3] = {0.0f, 2.0f, 4.0f};
    static const float dlinear[6] = {-2.0f, -2.0f, 2.0f, 4.0f, 6.0f, 10.0f};
    static const float dconv1d[6] = {-2.0f, 2.0f, 6.0f, -2.0f, 4.0f, 10.0f};
    float *got_y = output("y", 6), *got_dx = output("dx", 4), *got_dweight = output("dweight", 6);
    float *got_dbias = output("dbias", 3),
          *scratch = work(gpt_linear_backward_scratch_size(2, 3) + gpt_conv1d_backward_scratch_size(2, 3));
    float *forward_scratch = work(gpt_linear_scratch_size(2, 2) + gpt_conv1d_scratch_size(2, 2));
    for (int is_linear = 0; is_linear <= 1; is_linear++) {
        in_case(is_linear ? "linear" : "conv1d");
        const float *weight = is_linear ? linear : conv1d;
        expect_status((is_linear ? gpt_linear_forward : gpt_conv1d_forward)(got_y, forward_scratch, x, weight,
                                                                            bias, 2, 2, 3, 0, 1),
                      GPT_OK);
        expect_same("y", got_y, y, 6);
        expect_status((is_linear ? gpt_linear_backward : gpt_conv1d_backward)(
                          got_dx, got_dweight, got_dbias, scratch, dy, x, weight, 2, 2, 3, 0, 1),
                      GPT_OK);
        expect_same("dx", got_dx, dx, 4);
        expect_same("dweight", got_dweight, is_linear ? dlinear : dconv1d, 6);
        expect_same("dbias", got_dbias, dbias, 3);
    }
}

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

static void test_linear(void)
{
    promise("linear, conv1d and their gradients of a small example are those computed by hand", known_values);
    promise("linear backward needs no more scratch beyond 512 rows or outputs", scratch_stops_growing);
    promise("linear init fills the range -1/sqrt(in) ... 1/sqrt(in) and stays in it", init_stays_in_bounds);
    promise("linear init draws the weight before the bias, and nothing without a bias",
            init_draws_weight_then_bias);
}

SUITE("linear", test_linear)
