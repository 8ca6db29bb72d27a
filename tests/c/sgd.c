#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* the options of PyTorch's SGD, in combinations that it accepts */
static const struct {
    int has_momentum, nesterov;
    double lr, momentum, dampening, decay;
} settings[5] = {
    {0, 0, 0.1, 0.0, 0.0, 0.0},   {0, 0, 0.01, 0.0, 0.0, 0.1}, {1, 0, 0.1, 0.9, 0.0, 0.0},
    {1, 0, 0.03, 0.8, 0.5, 0.01}, {1, 1, 0.1, 0.9, 0.0, 0.1},
};

static void agrees(void)
{
    for (size_t s = 0; s < 5; s++) {
        for (size_t k = 0; k < SIZES; k++) {
            const size_t n = sizes[k];
            in_case("setting %zu, n = %zu", s, n);
            const float *w = random_input("w", n, -2.0f, 2.0f), *v = random_input("v", n, -2.0f, 2.0f);
            const float *g = random_input("g", n, -2.0f, 2.0f);
            float *weight = output_of("weight", w, n), *expected = output_of("expected", w, n);
            float *velocity = output_of("velocity", v, n),
                  *expected_velocity = output_of("expected velocity", v, n);
            expect_status(gpt_sgd_step(weight, settings[s].has_momentum ? velocity : NULL, g, n,
                                       settings[s].lr, settings[s].momentum, settings[s].dampening,
                                       settings[s].decay, settings[s].nesterov),
                          GPT_OK);
            gpt_sgd_step_ref(expected, settings[s].has_momentum ? expected_velocity : NULL, g, n,
                             settings[s].lr, settings[s].momentum, settings[s].dampening, settings[s].decay,
                             settings[s].nesterov);
            expect_close("weight", weight, expected, n, 5e-7);
            expect_close("velocity", velocity, expected_velocity, n, 5e-7);
            if (!settings[s].has_momentum) expect_same("velocity", velocity, v, n);
            end_case();
        }
    }
}

static void known_values(void)
{
    static const float w[2] = {1.0f, -2.0f}, v[2] = {4.0f, 0.0f}, g[2] = {2.0f, 8.0f};
    static const float plain[2] = {0.0f, -6.0f}, velocity[2] = {4.0f, 8.0f}, weight[2] = {-1.0f, -6.0f};
    static const float nesterov[2] = {-1.0f, -8.0f}; /* g + velocity / 2 = 4 and 12, times 1/2 */
    float *a = output_of("plain", w, 2), *b = output_of("with momentum", w, 2),
          *c = output_of("nesterov", w, 2);
    float *vb = output_of("velocity", v, 2), *vc = output_of("velocity of nesterov", v, 2);
    expect_status(gpt_sgd_step(a, NULL, g, 2, 0.5, 0.0, 0.0, 0.0, 0), GPT_OK);
    expect_status(gpt_sgd_step(b, vb, g, 2, 0.5, 0.5, 0.0, 0.0, 0), GPT_OK);
    expect_status(gpt_sgd_step(c, vc, g, 2, 0.5, 0.5, 0.0, 0.0, 1), GPT_OK);
    expect_same("plain", a, plain, 2);
    expect_same("velocity", vb, velocity, 2);
    expect_same("with momentum", b, weight, 2);
    expect_same("velocity of nesterov", vc, velocity, 2);
    expect_same("nesterov", c, nesterov, 2);
}

static void test_sgd(void)
{
    promise("a step of sgd has the values of the equation", known_values);
    promise("sgd agrees with its reference at every length, with momentum, dampening, decay and Nesterov "
            "momentum",
            agrees);
}

SUITE("sgd", test_sgd)
