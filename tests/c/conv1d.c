#include <math.h>
#include <stdint.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"
#include "weighted.h"

/* The kernels on one thread, with the signature of their references. */
static int whole_conv1d_forward(float *y, float *scratch, const float *x, const float *weight,
                                const float *bias, size_t rows, size_t nx, size_t nf)
{
    return gpt_conv1d_forward(y, scratch, x, weight, bias, rows, nx, nf, 0, 1);
}

static int whole_conv1d_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                 const float *x, const float *weight, size_t rows, size_t nx, size_t nf)
{
    return gpt_conv1d_backward(dx, dweight, dbias, scratch, dy, x, weight, rows, nx, nf, 0, 1);
}

typedef struct shape {
    size_t rows, nx, nf;
} shape;

/* Past what is packed at once: 64 columns and 512 terms of a sum. */
enum { LARGE = 5, MOST_PARTS = 3 };
static const shape large[LARGE] = {{7, 130, 70}, {6, 1030, 9}, {2, 768, 130}, {129, 33, 65}, {8, 13, 768}};

static float *scratch_for(size_t rows, size_t nx, size_t parts)
{
    return output("scratch", parts * gpt_conv1d_scratch_size(rows, nx));
}

static void known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, weight[6] = {1.0f, 0.5f, 2.0f, 0.0f, -1.0f, 2.0f};
    static const float bias[3] = {10.0f, 20.0f, 30.0f};
    static const float expected[6] = {11.0f, 18.5f, 36.0f, 13.0f, 17.5f, 44.0f};
    float *y = output("y", 6), *scratch = scratch_for(2, 2, 1);
    expect_status(gpt_conv1d_forward(y, scratch, x, weight, bias, 2, 2, 3, 0, 1), GPT_OK);
    expect_same("y", y, expected, 6);
    expect_status(gpt_conv1d_forward_ref(y, scratch, x, weight, bias, 2, 2, 3), GPT_OK);
    expect_same("reference", y, expected, 6);
}

static const float *whole_numbers(const char *name, size_t n)
{
    float *values = work(n);
    for (size_t i = 0; i < n; i++) values[i] = (float)random_below(15) - 7.0f;
    return input_of(name, values, n);
}

/* Whole numbers this small are summed without any rounding, in whatever order: not one bit may differ. */
static void exact_case(shape s)
{
    const float *x = whole_numbers("x", s.rows * s.nx), *weight = whole_numbers("weight", s.nx * s.nf);
    const float *bias = random_below(2) ? whole_numbers("bias", s.nf) : NULL;
    float *expected = output("expected", s.rows * s.nf), *scratch = scratch_for(s.rows, s.nx, 1);
    expect_status(gpt_conv1d_forward_ref(expected, scratch, x, weight, bias, s.rows, s.nx, s.nf), GPT_OK);
    for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
        in_case("rows %zu, nx %zu, nf %zu, %s bias, parts %zu", s.rows, s.nx, s.nf, bias ? "with" : "no",
                parts);
        float *y = output("y", s.rows * s.nf), *scratches = scratch_for(s.rows, s.nx, parts);
        for (size_t part = 0; part < parts; part++)
            expect_status(gpt_conv1d_forward(y, scratches, x, weight, bias, s.rows, s.nx, s.nf, part, parts),
                          GPT_OK);
        expect_close("y", y, expected, s.rows * s.nf, 0.0);
    }
    end_case();
}

static void is_exact_on_whole_numbers(void)
{
    for (size_t nx = 1; nx <= SMALL_SIZES; nx++)
        for (size_t nf = 1; nf <= SMALL_SIZES; nf++)
            for (size_t r = 0; r < ROW_COUNTS; r++) exact_case((shape){row_counts[r], nx, nf});
    for (size_t k = 0; k < LARGE; k++) exact_case(large[k]);
}

/* y against the float64 reference, within the bound of the roundings; see linear.c. The sums of the magnitudes are the
 * reference's own, of the inputs without signs. */
static void expect_conv1d(shape s, const float *x, const float *weight, const float *bias)
{
    float *y = output("y", s.rows * s.nf), *expected = output("expected", s.rows * s.nf);
    float *magnitude = output("magnitude", s.rows * s.nf), *scratch = scratch_for(s.rows, s.nx, 1);
    float *abs_x = work(s.rows * s.nx), *abs_weight = work(s.nx * s.nf), *abs_bias = work(s.nf);
    for (size_t i = 0; i < s.rows * s.nx; i++) abs_x[i] = fabsf(x[i]);
    for (size_t i = 0; i < s.nx * s.nf; i++) abs_weight[i] = fabsf(weight[i]);
    for (size_t i = 0; i < s.nf; i++) abs_bias[i] = fabsf(bias[i]);
    expect_status(gpt_conv1d_forward(y, scratch, x, weight, bias, s.rows, s.nx, s.nf, 0, 1), GPT_OK);
    expect_status(gpt_conv1d_forward_ref(expected, scratch, x, weight, bias, s.rows, s.nx, s.nf), GPT_OK);
    expect_status(gpt_conv1d_forward_ref(magnitude, scratch, abs_x, abs_weight, abs_bias, s.rows, s.nx, s.nf),
                  GPT_OK);
    const double u = ldexp(1.0, -24), k = (double)s.nx + 4.0, gamma = k * u / (1.0 - k * u);
    for (size_t i = 0; i < s.rows * s.nf; i++)
        expect_within("y", i, (double)y[i], (double)expected[i],
                      gamma * (double)magnitude[i] + u * fabs((double)expected[i]) + (double)s.nx * 0x1p-149);
    end_case();
}

static void one_case(shape s)
{
    in_case("rows %zu, nx %zu, nf %zu", s.rows, s.nx, s.nf);
    const float *x = random_input("x", s.rows * s.nx, -4.0f, 4.0f);
    const float *weight = random_input("weight", s.nx * s.nf, -1.0f, 1.0f);
    expect_conv1d(s, x, weight, random_input("bias", s.nf, -1.0f, 1.0f));
}

static void agrees(void)
{
    for (size_t n = 1; n <= SMALL_SIZES; n++)
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            one_case((shape){row_counts[r], n, 7});
            one_case((shape){row_counts[r], 13, n});
        }
    for (size_t k = 0; k < LARGE; k++) one_case(large[k]);
}

/* One special value in each place of each input; the others are at most 1/2, so that FLT_MAX times one of them and the
 * rest still add up to a float. */
static void agrees_on_specials(void)
{
    static const shape shapes[2] = {{2, 5, 9}, {7, 6, 3}};
    static const char *const names[3] = {"x", "weight", "bias"};
    for (size_t j = 0; j < 2; j++) {
        const shape s = shapes[j];
        const size_t n[3] = {s.rows * s.nx, s.nx * s.nf, s.nf};
        for (size_t which = 0; which < 3; which++) {
            for (size_t place = 0; place < n[which]; place++) {
                const size_t special = random_below(SPECIALS);
                in_case("%s[%zu] = %g, rows %zu", names[which], place, (double)specials[special], s.rows);
                const float *inputs[3];
                for (size_t i = 0; i < 3; i++) {
                    float *values = work(n[i]);
                    fill_random(values, n[i], -0.5f, 0.5f);
                    if (i == which) values[place] = specials[special];
                    inputs[i] = input_of(names[i], values, n[i]);
                }
                expect_conv1d(s, inputs[0], inputs[1], inputs[2]);
            }
        }
    }
}

static void without_inputs_is_the_bias(void)
{
    static const float expected[12] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f,
                                       1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const float zeros[12] = {0.0f};
    const float *nothing = random_input("nothing", 0, 0.0f, 0.0f), *bias = input_of("bias", expected, 6);
    float *y = output("y", 12), *scratch = output("scratch", 0);
    expect_status(gpt_conv1d_forward(y, scratch, nothing, nothing, bias, 2, 0, 6, 0, 1), GPT_OK);
    expect_same("y with bias", y, expected, 12);
    expect_status(gpt_conv1d_forward(y, scratch, nothing, nothing, NULL, 6, 0, 2, 0, 1), GPT_OK);
    expect_same("y without", y, zeros, 12);
    in_case("no outputs and endless rows, which returns at once");
    expect_status(gpt_conv1d_forward(y, scratch, nothing, nothing, NULL, SIZE_MAX, 0, 0, 0, 1), GPT_OK);
}

static void refuses(void)
{
    static int (*const both[2])(float *, float *, const float *, const float *, const float *, size_t, size_t,
                                size_t) = {whole_conv1d_forward, gpt_conv1d_forward_ref};
    const float *x = random_input("x", 6, -1.0f, 1.0f), *weight = random_input("weight", 6, -1.0f, 1.0f);
    float *y = output("y", 4), *scratch = output("scratch", 4);
    for (size_t k = 0; k < 2; k++) {
        const char *which = k == 0 ? "kernel" : "reference";
        in_case("%s, y NULL", which);
        expect_refused(both[k](NULL, scratch, x, weight, NULL, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, scratch NULL", which);
        expect_refused(both[k](y, NULL, x, weight, NULL, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, x NULL", which);
        expect_refused(both[k](y, scratch, NULL, weight, NULL, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, weight NULL", which);
        expect_refused(both[k](y, scratch, x, NULL, NULL, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, rows = SIZE_MAX / 2", which);
        expect_refused(both[k](y, scratch, x, weight, NULL, HUGE_SIZE, 3, 2), GPT_ERR_SIZE);
        in_case("%s, nx = SIZE_MAX / 2", which);
        expect_refused(both[k](y, scratch, x, weight, NULL, 2, HUGE_SIZE, 2), GPT_ERR_SIZE);
        in_case("%s, nf = SIZE_MAX / 2", which);
        expect_refused(both[k](y, scratch, x, weight, NULL, 2, 3, HUGE_SIZE), GPT_ERR_SIZE);
        in_case("%s, nx · nf alone is too much", which);
        expect_refused(both[k](y, scratch, x, weight, NULL, 1, SIZE_MAX / 16, 16), GPT_ERR_SIZE);
        in_case("%s, rows = 0", which);
        expect_refused(both[k](y, scratch, x, weight, NULL, 0, 3, 2), GPT_OK);
    }
    in_case("part 3 of 2");
    expect_refused(gpt_conv1d_forward(y, scratch, x, weight, NULL, 2, 3, 2, 3, 2), GPT_ERR_VALUE);
}

static const weighted layer = {gpt_conv1d_backward_scratch_size, whole_conv1d_backward,
                               gpt_conv1d_backward_ref, gpt_conv1d_backward};

static void backward_known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, weight[6] = {1.0f, 0.5f, 2.0f, 0.0f, -1.0f, 2.0f};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.0f, 1.0f};
    static const float dx[4] = {8.0f, 4.0f, 1.0f, 2.0f}, dweight[6] = {-2.0f, 2.0f, 6.0f, -2.0f, 4.0f, 10.0f};
    static const float dbias[3] = {0.0f, 2.0f, 4.0f};
    for (size_t k = 0; k < 2; k++) {
        float *got_dx = output("dx", 4), *got_dweight = output("dweight", 6), *got_dbias = output("dbias", 3);
        float *scratch = output("scratch", gpt_conv1d_backward_scratch_size(2, 3));
        expect_status((k == 0 ? layer.backward : layer.reference)(got_dx, got_dweight, got_dbias, scratch, dy,
                                                                  x, weight, 2, 2, 3),
                      GPT_OK);
        expect_same("dx", got_dx, dx, 4);
        expect_same("dweight", got_dweight, dweight, 6);
        expect_same("dbias", got_dbias, dbias, 3);
    }
}

static void backward_is_exact(void) { weighted_is_exact_on_whole_numbers(layer); }
static void backward_agrees(void) { weighted_agrees(layer); }
static void backward_agrees_on_specials(void) { weighted_agrees_on_specials(layer); }
static void backward_of_nothing(void) { weighted_without_rows_or_outputs(layer); }
static void backward_refuses(void) { weighted_refuses(layer); }

void test_conv1d(void)
{
    promise("conv1d of a small example is x times the weight plus the bias", known_values);
    promise("conv1d is exact on whole numbers at every size, in parts", is_exact_on_whole_numbers);
    promise("conv1d is within the bound of its roundings at every size", agrees);
    promise("conv1d of special values is right in every place", agrees_on_specials);
    promise("conv1d without inputs is the bias, or 0", without_inputs_is_the_bias);
    promise("conv1d refuses NULL and impossible sizes and leaves y alone", refuses);
    promise("conv1d's gradients of a small example are the equation's", backward_known_values);
    promise("conv1d backward is exact on whole numbers at every size, in parts, whatever is wanted",
            backward_is_exact);
    promise("conv1d backward is within the bound of its roundings at every size", backward_agrees);
    promise("conv1d backward of special values is right in every place", backward_agrees_on_specials);
    promise("conv1d backward of no rows is 0 for weight and bias, of no outputs 0 for x",
            backward_of_nothing);
    promise("conv1d backward refuses NULL and impossible sizes and leaves all alone", backward_refuses);
}
