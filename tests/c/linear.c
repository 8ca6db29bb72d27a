#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"
#include "weighted.h"

/* The kernels on one thread, with the signature of their references. */
static int whole_linear_forward(float *y, float *scratch, const float *x, const float *weight,
                                const float *bias, size_t rows, size_t in, size_t out)
{
    return gpt_linear_forward(y, scratch, x, weight, bias, rows, in, out, 0, 1);
}

static int whole_linear_backward(float *dx, float *dweight, float *dbias, float *scratch, const float *dy,
                                 const float *x, const float *weight, size_t rows, size_t in, size_t out)
{
    return gpt_linear_backward(dx, dweight, dbias, scratch, dy, x, weight, rows, in, out, 0, 1);
}

/* Every `in` and every `out` up to 17, which meet all the tails, and some large ones. */
typedef struct shape {
    size_t rows, in, out;
} shape;

enum { LARGE = 8 };
static const shape large[LARGE] = {{2, 768, 768},  {17, 768, 17}, {3, 1023, 9}, {33, 17, 1023},
                                   {1, 3072, 768}, {129, 33, 65}, {8, 768, 13}, {6, 1023, 13}};

/* The kernel and its reference with a scratch of just the size asked for, guarded like any output. */
static int forward(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                   size_t out)
{
    float *scratch = output("scratch", gpt_linear_scratch_size(rows, in));
    return gpt_linear_forward(y, scratch, x, weight, bias, rows, in, out, 0, 1);
}

static int reference(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                     size_t out)
{
    float *scratch = output("scratch", gpt_linear_scratch_size(rows, in));
    return gpt_linear_forward_ref(y, scratch, x, weight, bias, rows, in, out);
}

static double unit_roundoff(void) { return ldexp(1.0, -24); }

/* y against the float64 reference. A product is rounded once, then added in at most `in` steps to its sum, twice
 * between lanes and once to the bias: k = in + 4 roundings at most, so |error| <= γ·Σ|x·w| +
 * γ·|bias| with γ = k·u / (1 - k·u) and u = 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 3.1),
 * whatever the values are. The reference's own rounding to float adds u·|y|, and a product that underflows half a
 * denormal. */
static void expect_linear(const float *y, const float *expected, const float *x, const float *weight,
                          const float *bias, shape s)
{
    const double k = (double)(s.in + 4), u = unit_roundoff(), gamma = k * u / (1.0 - k * u);
    for (size_t r = 0; r < s.rows; r++) {
        for (size_t o = 0; o < s.out; o++) {
            double magnitude = bias ? fabs((double)bias[o]) : 0.0;
            for (size_t i = 0; i < s.in; i++)
                magnitude += fabs((double)x[r * s.in + i] * (double)weight[o * s.in + i]);
            const size_t at = r * s.out + o;
            const double slack = gamma * magnitude + u * fabs((double)expected[at]) + (double)s.in * 0x1p-149;
            expect_within("y", at, (double)y[at], (double)expected[at], slack);
        }
    }
}

static void one_case(shape s, int with_bias)
{
    in_case("rows %zu, in %zu, out %zu, %s bias", s.rows, s.in, s.out, with_bias ? "with" : "no");
    const float *x = random_input("x", s.rows * s.in, -2.0f, 2.0f);
    const float *weight = random_input("weight", s.out * s.in, -1.0f, 1.0f);
    const float *bias = with_bias ? random_input("bias", s.out, -1.0f, 1.0f) : NULL;
    float *y = output("y", s.rows * s.out), *expected = output("expected", s.rows * s.out);
    expect_status(reference(expected, x, weight, bias, s.rows, s.in, s.out), GPT_OK);
    expect_status(forward(y, x, weight, bias, s.rows, s.in, s.out), GPT_OK);
    expect_linear(y, expected, x, weight, bias, s);
    end_case();
}

static void agrees(void)
{
    for (size_t in = 0; in <= SMALL_SIZES; in++) {
        for (size_t out = 1; out <= SMALL_SIZES; out++) {
            for (size_t r = 0; r < ROW_COUNTS; r++) {
                const shape s = {row_counts[r], in, out};
                one_case(s, 1);
                one_case(s, 0);
            }
        }
    }
    for (size_t k = 0; k < LARGE; k++) one_case(large[k], k % 2 == 0);
}

/* Whole numbers this small are summed without any rounding, in whatever order: not one bit may differ, so a single
 * term left out or taken twice shows even among thousands. */
static void exact_case(shape s)
{
    in_case("rows %zu, in %zu, out %zu", s.rows, s.in, s.out);
    float *values = work(s.rows * s.in);
    for (size_t i = 0; i < s.rows * s.in; i++) values[i] = (float)random_below(15) - 7.0f;
    const float *x = input_of("x", values, s.rows * s.in);
    values = work(s.out * s.in);
    for (size_t i = 0; i < s.out * s.in; i++) values[i] = (float)random_below(15) - 7.0f;
    const float *weight = input_of("weight", values, s.out * s.in);
    values = work(s.out);
    for (size_t i = 0; i < s.out; i++) values[i] = (float)random_below(15) - 7.0f;
    const float *bias = input_of("bias", values, s.out);
    float *y = output("y", s.rows * s.out), *expected = output("expected", s.rows * s.out);
    expect_status(reference(expected, x, weight, bias, s.rows, s.in, s.out), GPT_OK);
    expect_status(forward(y, x, weight, bias, s.rows, s.in, s.out), GPT_OK);
    for (size_t i = 0; i < s.rows * s.out; i++) expect_within("y", i, (double)y[i], (double)expected[i], 0.0);
    end_case();
}

static void is_exact_on_whole_numbers(void)
{
    for (size_t in = 1; in <= SMALL_SIZES; in++)
        for (size_t out = 1; out <= SMALL_SIZES; out++)
            for (size_t r = 0; r < ROW_COUNTS; r++) exact_case((shape){row_counts[r], in, out});
    for (size_t k = 0; k < LARGE; k++) exact_case(large[k]);
}

static void known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, weight[6] = {1.0f, 0.0f, 0.5f, -1.0f, 2.0f, 2.0f};
    static const float bias[3] = {10.0f, 20.0f, 30.0f};
    static const float expected[6] = {11.0f, 18.5f, 36.0f, 13.0f, 17.5f, 44.0f};
    float *y = output("y", 6);
    expect_status(forward(y, x, weight, bias, 2, 2, 3), GPT_OK);
    expect_same("y", y, expected, 6);
    expect_status(reference(y, x, weight, bias, 2, 2, 3), GPT_OK);
    expect_same("reference", y, expected, 6);
}

/* One special value in x, then one in the weight, at each place along `in`; the others are at most 1/2, so that
 * FLT_MAX times one of them and the rest still add up to a float. A zero beside it makes infinity into NaN. */
static void special_case(size_t rows, size_t in, size_t place, float special, int in_weight)
{
    enum { OUT = 5 };
    const shape s = {rows, in, OUT};
    in_case("%s[..., %zu] = %g, rows %zu, in %zu", in_weight ? "weight" : "x", place, (double)special, rows,
            in);
    float *values_x = work(rows * in), *values_w = work(OUT * in);
    fill_random(values_x, rows * in, -0.5f, 0.5f);
    fill_random(values_w, OUT * in, -0.5f, 0.5f);
    values_x[place] = values_w[place] = 0.0f;
    const size_t row = random_below(in_weight ? OUT : rows);
    (in_weight ? values_w : values_x)[row * in + place] = special;
    const float *x = input_of("x", values_x, rows * in);
    const float *weight = input_of("weight", values_w, OUT * in);
    const float *bias = random_input("bias", OUT, -0.5f, 0.5f);
    float *y = output("y", rows * OUT), *expected = output("expected", rows * OUT);
    expect_status(reference(expected, x, weight, bias, rows, in, OUT), GPT_OK);
    expect_status(forward(y, x, weight, bias, rows, in, OUT), GPT_OK);
    expect_linear(y, expected, x, weight, bias, s);
    end_case();
}

static void agrees_on_specials(void)
{
    static const size_t rows[3] = {3, 5, 7};
    for (size_t r = 0; r < 3; r++)
        for (size_t in = 1; in <= SMALL_SIZES; in++)
            for (size_t place = 0; place < in; place++)
                for (size_t k = 0; k < SPECIALS; k++)
                    for (int in_weight = 0; in_weight <= 1; in_weight++)
                        special_case(rows[r], in, place, specials[k], in_weight);
}

static void special_biases(void)
{
    for (size_t out = 1; out <= SMALL_SIZES; out++) {
        for (size_t place = 0; place < out; place++) {
            for (size_t k = 0; k < SPECIALS; k++) {
                const shape s = {3, 5, out};
                in_case("bias[%zu] = %g, out %zu", place, (double)specials[k], out);
                float *values = work(out);
                fill_random(values, out, -0.5f, 0.5f);
                values[place] = specials[k];
                const float *bias = input_of("bias", values, out);
                const float *x = random_input("x", 15, -0.5f, 0.5f);
                const float *weight = random_input("weight", 5 * out, -0.5f, 0.5f);
                float *y = output("y", 3 * out), *expected = output("expected", 3 * out);
                expect_status(reference(expected, x, weight, bias, 3, 5, out), GPT_OK);
                expect_status(forward(y, x, weight, bias, 3, 5, out), GPT_OK);
                expect_linear(y, expected, x, weight, bias, s);
                end_case();
            }
        }
    }
}

typedef int (*linear)(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                      size_t rows, size_t in, size_t out);

static void refuses(void)
{
    static const linear both[2] = {whole_linear_forward, gpt_linear_forward_ref};
    const float *x = random_input("x", 6, -1.0f, 1.0f), *weight = random_input("weight", 6, -1.0f, 1.0f);
    const float *bias = random_input("bias", 2, -1.0f, 1.0f);
    float *y = output("y", 4), *scratch = output("scratch", 4);
    for (size_t k = 0; k < 2; k++) {
        const linear f = both[k];
        const char *which = k == 0 ? "kernel" : "reference";
        in_case("%s, y NULL", which);
        expect_refused(f(NULL, scratch, x, weight, bias, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, scratch NULL", which);
        expect_refused(f(y, NULL, x, weight, bias, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, x NULL", which);
        expect_refused(f(y, scratch, NULL, weight, bias, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, weight NULL", which);
        expect_refused(f(y, scratch, x, NULL, bias, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, rows = SIZE_MAX / 2", which);
        expect_refused(f(y, scratch, x, weight, bias, HUGE_SIZE, 3, 2), GPT_ERR_SIZE);
        in_case("%s, in = SIZE_MAX / 2", which);
        expect_refused(f(y, scratch, x, weight, bias, 2, HUGE_SIZE, 2), GPT_ERR_SIZE);
        in_case("%s, out = SIZE_MAX / 2", which);
        expect_refused(f(y, scratch, x, weight, bias, 2, 3, HUGE_SIZE), GPT_ERR_SIZE);
        in_case("%s, in · out alone is too much", which);
        expect_refused(f(y, scratch, x, weight, bias, 1, SIZE_MAX / 16, 16), GPT_ERR_SIZE);
        in_case("%s, rows = 0", which);
        expect_refused(f(y, scratch, x, weight, bias, 0, 3, 2), GPT_OK);
        in_case("%s, out = 0", which);
        expect_refused(f(y, scratch, x, weight, bias, 2, 3, 0), GPT_OK);
    }
}

static void without_inputs_is_the_bias(void)
{
    static const linear both[2] = {whole_linear_forward, gpt_linear_forward_ref};
    static const float expected[12] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f,
                                       1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const float zeros[12] = {0.0f};
    const float *nothing = random_input("nothing", 0, 0.0f, 0.0f), *bias = input_of("bias", expected, 6);
    float *y = output("y", 12), *scratch = output("scratch", 0);
    for (size_t k = 0; k < 2; k++) {
        expect_status(both[k](y, scratch, nothing, nothing, bias, 2, 0, 6), GPT_OK);
        expect_same("y with bias", y, expected, 12);
        expect_status(both[k](y, scratch, nothing, nothing, NULL, 2, 0, 6), GPT_OK);
        expect_same("y without", y, zeros, 12);
    }
    in_case("no outputs and endless rows, which returns at once");
    expect_status(gpt_linear_forward(y, scratch, nothing, nothing, NULL, SIZE_MAX, 0, 0, 0, 1), GPT_OK);
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
        /* one rounding of the bound above 1/√in is allowed */
        const double bound = (1.0 + 2.0 * unit_roundoff()) / sqrt((double)in);
        double largest = 0.0, sum = 0.0;
        for (size_t i = 0; i < in * out; i++) {
            expect(fabs((double)weight[i]) <= bound, "weight[%zu]: %.9g is past 1/sqrt(in) = %.9g", i,
                   (double)weight[i], bound);
            largest = fmax(largest, fabs((double)weight[i]));
            sum += (double)weight[i];
        }
        for (size_t i = 0; i < out; i++)
            expect(fabs((double)bias[i]) <= bound, "bias[%zu]: %.9g is past 1/sqrt(in) = %.9g", i,
                   (double)bias[i], bound);
        /* and it fills them: the deviation of the mean of N uniforms is bound / √(3N) */
        expect(largest > 0.9 * bound, "the largest weight is %.9g of 1/sqrt(in) = %.9g", largest, bound);
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
    expect(memcmp(&random, &fork, sizeof random) == 0,
           "expected in · out + out draws, the generator is elsewhere");

    float *alone = output("alone", IN * OUT);
    expect_status(gpt_linear_init(alone, NULL, &fork_without, IN, OUT), GPT_OK);
    expect_same("weight without bias", alone, weight, IN * OUT);
    float *next = output("next", OUT);
    expect_status(gpt_random_uniform(next, &fork_without, OUT, -bound, bound), GPT_OK);
    expect_close("what the bias would have drawn", next, bias, OUT, 1e-7);
}

/* torch.manual_seed(123); x = torch.randn(2, 5); Sequential(Linear(5, 6), ReLU())(x), as the notebook prints it. */
static void notebook(void)
{
    static const float expected[12] = {0.2260f, 0.3470f, 0.0f, 0.2216f, 0.0f,    0.0f,
                                       0.2133f, 0.2394f, 0.0f, 0.5198f, 0.3297f, 0.0f};
    gpt_random random;
    expect_status(gpt_random_seed(&random, 123), GPT_OK);
    float *x = output("x", 10), *weight = output("weight", 30), *bias = output("bias", 6),
          *y = output("y", 12);
    expect_status(gpt_random_normal(x, &random, 10, 1.0), GPT_OK);
    expect_status(gpt_linear_init(weight, bias, &random, 5, 6), GPT_OK);
    expect_status(forward(y, x, weight, bias, 2, 5, 6), GPT_OK);
    expect_status(gpt_relu_forward(y, y, 12, 0, 1), GPT_OK);
    /* half of the last digit printed */
    expect_close("y", y, expected, 12, 0.5001e-4);
}

static void init_refuses(void)
{
    gpt_random random, before;
    expect_status(gpt_random_seed(&random, 123), GPT_OK);
    before = random;
    float *weight = output("weight", 6), *bias = output("bias", 2);
    in_case("weight NULL");
    expect_refused(gpt_linear_init(NULL, bias, &random, 3, 2), GPT_ERR_NULL);
    in_case("random NULL");
    expect_refused(gpt_linear_init(weight, bias, NULL, 3, 2), GPT_ERR_NULL);
    in_case("in = SIZE_MAX / 2");
    expect_refused(gpt_linear_init(weight, bias, &random, HUGE_SIZE, 2), GPT_ERR_SIZE);
    in_case("out = SIZE_MAX / 2");
    expect_refused(gpt_linear_init(weight, bias, &random, 3, HUGE_SIZE), GPT_ERR_SIZE);
    in_case("out = 0");
    expect_refused(gpt_linear_init(weight, bias, &random, 3, 0), GPT_OK);
    expect(memcmp(&random, &before, sizeof random) == 0, "the generator has moved");
}

/* ---- gpt_linear_backward ---- */

static const weighted layer = {gpt_linear_backward_scratch_size, whole_linear_backward,
                               gpt_linear_backward_ref, gpt_linear_backward};

static void backward_known_values(void)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, weight[6] = {1.0f, 0.0f, 0.5f, -1.0f, 2.0f, 2.0f};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.0f, 1.0f};
    static const float dx[4] = {8.0f, 4.0f, 1.0f, 2.0f}, dweight[6] = {-2.0f, -2.0f, 2.0f, 4.0f, 6.0f, 10.0f};
    static const float dbias[3] = {0.0f, 2.0f, 4.0f};
    for (size_t k = 0; k < 2; k++) {
        float *got_dx = output("dx", 4), *got_dweight = output("dweight", 6), *got_dbias = output("dbias", 3);
        float *scratch = output("scratch", gpt_linear_backward_scratch_size(2, 3));
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

static void scratch_stops_growing(void)
{
    expect(gpt_linear_backward_scratch_size(512, 1) == gpt_linear_backward_scratch_size(1000000, 50257),
           "expected as much scratch for 1000000 rows as for 512, got %zu and %zu",
           gpt_linear_backward_scratch_size(1000000, 50257), gpt_linear_backward_scratch_size(512, 1));
}

void test_linear(void)
{
    promise("linear of a small example is x times the transposed weight plus the bias", known_values);
    promise("linear is exact on whole numbers at every size", is_exact_on_whole_numbers);
    promise("linear is within the bound of its roundings at every size, with and without bias", agrees);
    promise("linear of special values in x or weight is right in every place", agrees_on_specials);
    promise("linear of special values in the bias is right in every place", special_biases);
    promise("linear without inputs is the bias, or 0", without_inputs_is_the_bias);
    promise("linear refuses NULL and impossible sizes and leaves y alone", refuses);
    promise("linear init fills the range of 1/sqrt(in) and stays in it", init_stays_in_bounds);
    promise("linear init draws the weight before the bias, and nothing for a bias that is not",
            init_draws_weight_then_bias);
    promise("linear and relu after seed 123 print what the notebook prints", notebook);
    promise("linear init refuses NULL and impossible sizes and leaves all alone", init_refuses);
    promise("linear's gradients of a small example are the equation's", backward_known_values);
    promise("linear backward is exact on whole numbers at every size, in parts, whatever is wanted",
            backward_is_exact);
    promise("linear backward is within the bound of its roundings at every size", backward_agrees);
    promise("linear backward of special values is right in every place", backward_agrees_on_specials);
    promise("linear backward of no rows is 0 for weight and bias, of no outputs 0 for x",
            backward_of_nothing);
    promise("linear backward refuses NULL and impossible sizes and leaves all alone", backward_refuses);
    promise("linear backward's scratch does not grow past 512 rows or outputs", scratch_stops_growing);
}
