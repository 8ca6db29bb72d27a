#include "affine.h"

#include <math.h>
#include <stdint.h>

#include "check.h"
#include "gpt_layers.h"

typedef struct shape {
    size_t rows, in, out;
} shape;

/* Sizes of GPT-2, and sizes past the kernels' blocks of 64 rows or columns and of 512 terms. A single row with
 * many columns, which Conv1D cuts into MOST_PARTS parts. */
enum { LARGE = 13 };
static const shape large[LARGE] = {{2, 768, 768}, {17, 768, 17}, {3, 1023, 9},  {33, 17, 1023}, {1, 3072, 96},
                                   {129, 33, 65}, {8, 768, 13},  {6, 1023, 13}, {7, 130, 70},   {1030, 9, 5},
                                   {6, 70, 1030}, {2, 130, 768}, {1, 9, 3461}};

enum { MOST_PARTS = 3 };

/* ---- Inputs, outputs and bounds ---- */

typedef struct inputs {
    const float *x, *weight, *bias, *dy;
} inputs;

typedef struct gradients {
    float *dx, *dweight, *dbias;
} gradients;

enum { DX = 1, DWEIGHT = 2, DBIAS = 4, ALL = DX | DWEIGHT | DBIAS };

static gradients gradients_of(shape s, int wanted)
{
    return (gradients){.dx = wanted & DX ? output("dx", s.rows * s.in) : NULL,
                       .dweight = wanted & DWEIGHT ? output("dweight", s.in * s.out) : NULL,
                       .dbias = wanted & DBIAS ? output("dbias", s.out) : NULL};
}

static const float *integers(const char *name, size_t n)
{
    float *values = work(n);
    for (size_t i = 0; i < n; i++) values[i] = (float)random_below(15) - 7.0f;
    return input_of(name, values, n);
}

static inputs integer_inputs(shape s)
{
    return (inputs){.x = integers("x", s.rows * s.in),
                    .weight = integers("weight", s.in * s.out),
                    .bias = random_below(2) ? integers("bias", s.out) : NULL,
                    .dy = integers("dy", s.rows * s.out)};
}

static inputs random_inputs(shape s)
{
    return (inputs){.x = random_input("x", s.rows * s.in, -4.0f, 4.0f),
                    .weight = random_input("weight", s.in * s.out, -1.0f, 1.0f),
                    .bias = random_below(2) ? random_input("bias", s.out, -1.0f, 1.0f) : NULL,
                    .dy = random_input("dy", s.rows * s.out, -4.0f, 4.0f)};
}

static const float *magnitudes(const float *values, size_t n)
{
    float *result = work(n);
    for (size_t i = 0; i < n; i++) result[i] = fabsf(values[i]);
    return result;
}

/* The same inputs without their signs. The reference of these gives Σ |product| for each sum. */
static inputs magnitudes_of(inputs v, shape s)
{
    return (inputs){.x = magnitudes(v.x, s.rows * s.in),
                    .weight = magnitudes(v.weight, s.in * s.out),
                    .bias = v.bias ? magnitudes(v.bias, s.out) : NULL,
                    .dy = magnitudes(v.dy, s.rows * s.out)};
}

/* Sums of `terms` products against the float64 reference. Each product is rounded once, then added to its sum
 * in at most `terms` steps, twice between lanes, and once to the bias. These are k = terms + 4 roundings at
 * most, so |error| <= γ · Σ |product| with γ = k·u / (1 - k·u) and u = 2^-24 (Higham, Accuracy and Stability
 * of Numerical Algorithms, 3.1). The reference's own rounding to float32 adds u · |sum|, and every product
 * that underflows adds half of the smallest denormal. */
static void expect_sums(const char *name, const float *got, const float *expected, const float *magnitude,
                        size_t n, size_t terms)
{
    const double u = ldexp(1.0, -24), k = (double)terms + 4.0, gamma = k * u / (1.0 - k * u);
    for (size_t i = 0; i < n; i++)
        expect_within(name, i, (double)got[i], (double)expected[i],
                      gamma * (double)magnitude[i] + u * fabs((double)expected[i]) +
                          (double)terms * 0x1p-149);
}

/* ---- Forward ---- */

static void forward_ref(affine layer, float *y, inputs v, shape s)
{
    layer.forward_ref(y, v.x, v.weight, v.bias, s.rows, s.in, s.out);
}

/* Scratch of exactly the size that the layer asks for, between guards. */
static void forward(affine layer, float *y, inputs v, shape s, size_t parts)
{
    float *scratch = output("scratch", parts * layer.forward_scratch_size(s.rows, s.in));
    for (size_t part = 0; part < parts; part++)
        expect_status(layer.forward(y, scratch, v.x, v.weight, v.bias, s.rows, s.in, s.out, part, parts),
                      GPT_OK);
}

static void forward_is_exact(affine layer, shape s)
{
    const inputs v = integer_inputs(s);
    float *expected = output("expected", s.rows * s.out);
    forward_ref(layer, expected, v, s);
    for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
        in_case("rows %zu, in %zu, out %zu, %s bias, parts %zu", s.rows, s.in, s.out, v.bias ? "with" : "no",
                parts);
        float *y = output("y", s.rows * s.out);
        forward(layer, y, v, s, parts);
        expect_close("y", y, expected, s.rows * s.out, 0.0);
    }
    end_case();
}

void affine_forward_is_exact(affine layer)
{
    for (size_t in = 1; in <= SMALL_SIZES; in++)
        for (size_t out = 1; out <= SMALL_SIZES; out++)
            for (size_t r = 0; r < ROW_COUNTS; r++) forward_is_exact(layer, (shape){row_counts[r], in, out});
    for (size_t k = 0; k < LARGE; k++) forward_is_exact(layer, large[k]);
}

static void expect_forward(affine layer, shape s, inputs v)
{
    const size_t n = s.rows * s.out;
    float *y = output("y", n), *expected = output("expected", n), *magnitude = output("magnitude", n);
    forward(layer, y, v, s, 1);
    forward_ref(layer, expected, v, s);
    forward_ref(layer, magnitude, magnitudes_of(v, s), s);
    expect_sums("y", y, expected, magnitude, n, s.in);
    end_case();
}

static void forward_agrees(affine layer, shape s)
{
    in_case("rows %zu, in %zu, out %zu", s.rows, s.in, s.out);
    expect_forward(layer, s, random_inputs(s));
}

void affine_forward_agrees(affine layer)
{
    for (size_t in = 0; in <= SMALL_SIZES; in++)
        for (size_t out = 1; out <= SMALL_SIZES; out++)
            for (size_t r = 0; r < ROW_COUNTS; r++) forward_agrees(layer, (shape){row_counts[r], in, out});
    for (size_t k = 0; k < LARGE; k++) forward_agrees(layer, large[k]);
}

static const float *with_special(const char *name, size_t n, size_t position, float special)
{
    float *values = work(n);
    fill_random(values, n, -0.5f, 0.5f);
    if (position < n) values[position] = special;
    return input_of(name, values, n);
}

enum { NOWHERE = 1 << 30 };

void affine_forward_agrees_on_specials(affine layer)
{
    static const char *const names[3] = {"x", "weight", "bias"};
    static const shape shapes[4] = {{2, 5, 9}, {3, 17, 5}, {5, 13, 5}, {7, 9, 6}};
    for (size_t j = 0; j < 4; j++) {
        const shape s = shapes[j];
        const size_t n[3] = {s.rows * s.in, s.in * s.out, s.out};
        for (size_t input = 0; input < 3; input++)
            for (size_t i = 0; i < n[input] * SPECIALS; i++) {
                const size_t position = i / SPECIALS;
                const float special = specials[i % SPECIALS];
                in_case("%s[%zu] = %g, rows %zu", names[input], position, (double)special, s.rows);
                const inputs v = {
                    .x = with_special("x", n[0], input == 0 ? position : NOWHERE, special),
                    .weight = with_special("weight", n[1], input == 1 ? position : NOWHERE, special),
                    .bias = with_special("bias", n[2], input == 2 ? position : NOWHERE, special),
                    .dy = random_input("dy", s.rows * s.out, -0.5f, 0.5f)};
                expect_forward(layer, s, v);
            }
    }
}

/* ---- Backward ---- */

static void backward_ref(affine layer, gradients g, inputs v, shape s)
{
    layer.backward_ref(g.dx, g.dweight, g.dbias, v.dy, v.x, v.weight, s.rows, s.in, s.out);
}

static void backward(affine layer, gradients g, inputs v, shape s, size_t parts)
{
    float *scratch = output("scratch", parts * layer.backward_scratch_size(s.rows, s.out));
    for (size_t part = 0; part < parts; part++)
        expect_status(layer.backward(g.dx, g.dweight, g.dbias, scratch, v.dy, v.x, v.weight, s.rows, s.in,
                                     s.out, part, parts),
                      GPT_OK);
}

static void backward_is_exact(affine layer, shape s, int wanted)
{
    const inputs v = integer_inputs(s);
    const gradients expected = gradients_of(s, ALL);
    backward_ref(layer, expected, v, s);
    for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
        in_case("rows %zu, in %zu, out %zu, parts %zu, wanted %d", s.rows, s.in, s.out, parts, wanted);
        const gradients got = gradients_of(s, wanted);
        backward(layer, got, v, s, parts);
        if (got.dx) expect_close("dx", got.dx, expected.dx, s.rows * s.in, 0.0);
        if (got.dweight) expect_close("dweight", got.dweight, expected.dweight, s.in * s.out, 0.0);
        if (got.dbias) expect_close("dbias", got.dbias, expected.dbias, s.out, 0.0);
    }
    end_case();
}

void affine_backward_is_exact(affine layer)
{
    for (size_t in = 1; in <= SMALL_SIZES; in++)
        for (size_t out = 1; out <= SMALL_SIZES; out++)
            for (size_t r = 0; r < ROW_COUNTS; r++)
                backward_is_exact(layer, (shape){row_counts[r], in, out}, 1 + (int)random_below(ALL));
    for (size_t k = 0; k < LARGE; k++) backward_is_exact(layer, large[k], ALL);
}

static void expect_backward(affine layer, shape s, inputs v)
{
    const gradients got = gradients_of(s, ALL), expected = gradients_of(s, ALL),
                    magnitude = gradients_of(s, ALL);
    backward(layer, got, v, s, 1);
    backward_ref(layer, expected, v, s);
    backward_ref(layer, magnitude, magnitudes_of(v, s), s);
    expect_sums("dx", got.dx, expected.dx, magnitude.dx, s.rows * s.in, s.out);
    expect_sums("dweight", got.dweight, expected.dweight, magnitude.dweight, s.in * s.out, s.rows);
    expect_sums("dbias", got.dbias, expected.dbias, magnitude.dbias, s.out, s.rows);
    end_case();
}

static void backward_agrees(affine layer, shape s)
{
    in_case("rows %zu, in %zu, out %zu", s.rows, s.in, s.out);
    expect_backward(layer, s, random_inputs(s));
}

void affine_backward_agrees(affine layer)
{
    for (size_t n = 1; n <= SMALL_SIZES; n++)
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            backward_agrees(layer, (shape){row_counts[r], n, 7});
            backward_agrees(layer, (shape){row_counts[r], 13, n});
        }
    for (size_t k = 0; k < LARGE; k++) backward_agrees(layer, large[k]);
}

void affine_backward_agrees_on_specials(affine layer)
{
    static const char *const names[3] = {"dy", "x", "weight"};
    static const shape shapes[2] = {{2, 9, 5}, {7, 3, 6}};
    for (size_t j = 0; j < 2; j++) {
        const shape s = shapes[j];
        const size_t n[3] = {s.rows * s.out, s.rows * s.in, s.in * s.out};
        for (size_t input = 0; input < 3; input++)
            for (size_t position = 0; position < n[input]; position++) {
                const float special = specials[random_below(SPECIALS)];
                in_case("%s[%zu] = %g, rows %zu", names[input], position, (double)special, s.rows);
                const inputs v = {.dy = with_special("dy", n[0], input == 0 ? position : NOWHERE, special),
                                  .x = with_special("x", n[1], input == 1 ? position : NOWHERE, special),
                                  .weight =
                                      with_special("weight", n[2], input == 2 ? position : NOWHERE, special)};
                expect_backward(layer, s, v);
            }
    }
}

/* ---- By hand ---- */

void affine_known_values(affine layer, const float *weight, const float *dweight)
{
    static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, bias[3] = {10.0f, 20.0f, 30.0f};
    static const float y[6] = {11.0f, 18.5f, 36.0f, 13.0f, 17.5f, 44.0f};
    static const float dy[6] = {1.0f, 2.0f, 3.0f, -1.0f, 0.0f, 1.0f};
    static const float dx[4] = {8.0f, 4.0f, 1.0f, 2.0f}, dbias[3] = {0.0f, 2.0f, 4.0f};
    const shape s = {.rows = 2, .in = 2, .out = 3};
    const inputs v = {.x = x, .weight = weight, .bias = bias, .dy = dy};
    for (int ref = 0; ref <= 1; ref++) {
        in_case(ref ? "reference" : "kernel");
        float *got_y = output("y", 6);
        const gradients got = gradients_of(s, ALL);
        if (ref) {
            forward_ref(layer, got_y, v, s);
            backward_ref(layer, got, v, s);
        } else {
            forward(layer, got_y, v, s, 1);
            backward(layer, got, v, s, 1);
        }
        expect_same("y", got_y, y, 6);
        expect_same("dx", got.dx, dx, 4);
        expect_same("dweight", got.dweight, dweight, 6);
        expect_same("dbias", got.dbias, dbias, 3);
    }
}
