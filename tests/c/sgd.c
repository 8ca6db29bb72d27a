#include "check.h"
#include "gpt_layers.h"

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

static void test_sgd(void) { promise("a step of sgd has the values of the equation", known_values); }

SUITE("sgd", test_sgd)
