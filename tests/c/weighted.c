#include "weighted.h"

#include <math.h>
#include <stdint.h>

#include "check.h"
#include "gpt_layers.h"

typedef struct shape {
    size_t rows, in, out;
} shape;

/* Rows and outputs past what is packed at once, 64 columns and 512 terms of a sum. */
enum { LARGE = 6 };
static const shape large[LARGE] = {{7, 130, 3},  {1030, 9, 5},  {6, 70, 1030},
                                   {3, 5, 1030}, {129, 33, 65}, {8, 768, 13}};

enum { DX = 1, DWEIGHT = 2, DBIAS = 4, ALL = DX | DWEIGHT | DBIAS, MOST_PARTS = 3 };

typedef struct gradients {
    float *dx, *dweight, *dbias;
} gradients;

static gradients gradients_of(shape s, int wanted)
{
    return (gradients){.dx = wanted & DX ? output("dx", s.rows * s.in) : NULL,
                       .dweight = wanted & DWEIGHT ? output("dweight", s.in * s.out) : NULL,
                       .dbias = wanted & DBIAS ? output("dbias", s.out) : NULL};
}

static const float *whole_numbers(const char *name, size_t n)
{
    float *values = work(n);
    for (size_t i = 0; i < n; i++) values[i] = (float)random_below(15) - 7.0f;
    return input_of(name, values, n);
}

/* Whole numbers this small are summed without any rounding, in whatever order: not one bit may differ. */
static void exact_case(weighted layer, shape s, int wanted)
{
    const float *x = whole_numbers("x", s.rows * s.in), *dy = whole_numbers("dy", s.rows * s.out);
    const float *weight = whole_numbers("weight", s.in * s.out);
    const gradients expected = gradients_of(s, ALL);
    const size_t size = layer.scratch_size(s.rows, s.out);
    expect_status(layer.reference(expected.dx, expected.dweight, expected.dbias, output("scratch", size), dy,
                                  x, weight, s.rows, s.in, s.out),
                  GPT_OK);
    for (size_t parts = 1; parts <= MOST_PARTS; parts++) {
        in_case("rows %zu, in %zu, out %zu, parts %zu, wanted %d", s.rows, s.in, s.out, parts, wanted);
        const gradients got = gradients_of(s, wanted);
        float *scratch = output("scratch", parts * size);
        if (parts == 1)
            expect_status(
                layer.backward(got.dx, got.dweight, got.dbias, scratch, dy, x, weight, s.rows, s.in, s.out),
                GPT_OK);
        for (size_t part = 0; parts > 1 && part < parts; part++)
            expect_status(layer.part(got.dx, got.dweight, got.dbias, scratch, dy, x, weight, s.rows, s.in,
                                     s.out, part, parts),
                          GPT_OK);
        if (got.dx) expect_close("dx", got.dx, expected.dx, s.rows * s.in, 0.0);
        if (got.dweight) expect_close("dweight", got.dweight, expected.dweight, s.in * s.out, 0.0);
        if (got.dbias) expect_close("dbias", got.dbias, expected.dbias, s.out, 0.0);
    }
    end_case();
}

void weighted_is_exact_on_whole_numbers(weighted layer)
{
    for (size_t in = 1; in <= SMALL_SIZES; in++)
        for (size_t out = 1; out <= SMALL_SIZES; out++)
            for (size_t r = 0; r < ROW_COUNTS; r++)
                exact_case(layer, (shape){row_counts[r], in, out}, 1 + (int)random_below(ALL));
    for (size_t k = 0; k < LARGE; k++) exact_case(layer, large[k], ALL);
}

static const float *magnitudes(const float *values, size_t n)
{
    float *result = work(n);
    for (size_t i = 0; i < n; i++) result[i] = fabsf(values[i]);
    return result;
}

/* `terms` products a sum, each rounded once, then added in as many steps: see linear.c. */
static void expect_sums(const char *name, const float *got, const float *expected, const float *magnitude,
                        size_t n, size_t terms)
{
    const double u = ldexp(1.0, -24), k = (double)terms + 4.0, gamma = k * u / (1.0 - k * u);
    for (size_t i = 0; i < n; i++)
        expect_within(name, i, (double)got[i], (double)expected[i],
                      gamma * (double)magnitude[i] + u * fabs((double)expected[i]) +
                          (double)terms * 0x1p-149);
}

/* The sums of the magnitudes are the reference's own, of the inputs without signs. */
static void expect_weighted(weighted layer, shape s, const float *dy, const float *x, const float *weight)
{
    float *scratch = output("scratch", layer.scratch_size(s.rows, s.out));
    const gradients got = gradients_of(s, ALL), expected = gradients_of(s, ALL), size = gradients_of(s, ALL);
    expect_status(layer.backward(got.dx, got.dweight, got.dbias, scratch, dy, x, weight, s.rows, s.in, s.out),
                  GPT_OK);
    expect_status(layer.reference(expected.dx, expected.dweight, expected.dbias, scratch, dy, x, weight,
                                  s.rows, s.in, s.out),
                  GPT_OK);
    expect_status(layer.reference(size.dx, size.dweight, size.dbias, scratch, magnitudes(dy, s.rows * s.out),
                                  magnitudes(x, s.rows * s.in), magnitudes(weight, s.in * s.out), s.rows,
                                  s.in, s.out),
                  GPT_OK);
    expect_sums("dx", got.dx, expected.dx, size.dx, s.rows * s.in, s.out);
    expect_sums("dweight", got.dweight, expected.dweight, size.dweight, s.in * s.out, s.rows);
    expect_sums("dbias", got.dbias, expected.dbias, size.dbias, s.out, s.rows);
    end_case();
}

static void one_case(weighted layer, shape s)
{
    in_case("rows %zu, in %zu, out %zu", s.rows, s.in, s.out);
    const float *dy = random_input("dy", s.rows * s.out, -4.0f, 4.0f),
                *x = random_input("x", s.rows * s.in, -4.0f, 4.0f);
    expect_weighted(layer, s, dy, x, random_input("weight", s.in * s.out, -1.0f, 1.0f));
}

void weighted_agrees(weighted layer)
{
    for (size_t n = 1; n <= SMALL_SIZES; n++)
        for (size_t r = 0; r < ROW_COUNTS; r++) {
            one_case(layer, (shape){row_counts[r], n, 7});
            one_case(layer, (shape){row_counts[r], 13, n});
        }
    for (size_t k = 0; k < LARGE; k++) one_case(layer, large[k]);
}

/* One special value in each place of each input; the others are at most 1/2, so that FLT_MAX times one of them and the
 * rest still add up to a float. */
void weighted_agrees_on_specials(weighted layer)
{
    static const shape shapes[2] = {{2, 9, 5}, {7, 3, 6}};
    static const char *const names[3] = {"dy", "x", "weight"};
    for (size_t j = 0; j < 2; j++) {
        const shape s = shapes[j];
        const size_t n[3] = {s.rows * s.out, s.rows * s.in, s.in * s.out};
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
                expect_weighted(layer, s, inputs[0], inputs[1], inputs[2]);
            }
        }
    }
}

void weighted_without_rows_or_outputs(weighted layer)
{
    static const float zeros[6] = {0.0f};
    const float *nothing = random_input("nothing", 0, 0.0f, 0.0f),
                *weight = random_input("weight", 6, -1.0f, 1.0f);
    in_case("rows = 0");
    gradients got = gradients_of((shape){0, 2, 3}, ALL);
    float *scratch = output("scratch", layer.scratch_size(0, 3) + layer.scratch_size(3, 0));
    expect_status(layer.backward(got.dx, got.dweight, got.dbias, scratch, nothing, nothing, weight, 0, 2, 3),
                  GPT_OK);
    expect_same("dweight", got.dweight, zeros, 6);
    expect_same("dbias", got.dbias, zeros, 3);
    in_case("out = 0");
    const float *x = random_input("x", 6, -1.0f, 1.0f);
    got = gradients_of((shape){3, 2, 0}, ALL);
    expect_status(layer.backward(got.dx, got.dweight, got.dbias, scratch, nothing, x, nothing, 3, 2, 0),
                  GPT_OK);
    expect_same("dx", got.dx, zeros, 6);
    in_case("neither inputs nor outputs and endless rows, which returns at once");
    expect_status(
        layer.backward(got.dx, got.dweight, got.dbias, scratch, nothing, nothing, nothing, SIZE_MAX, 0, 0),
        GPT_OK);
}

void weighted_refuses(weighted layer)
{
    const float *x = random_input("x", 6, -1.0f, 1.0f), *dy = random_input("dy", 4, -1.0f, 1.0f);
    const float *w = random_input("weight", 6, -1.0f, 1.0f);
    const gradients got = gradients_of((shape){2, 3, 2}, ALL);
    float *dx = got.dx, *dweight = got.dweight, *dbias = got.dbias;
    float *scratch = output("scratch", layer.scratch_size(2, 2));
    for (size_t k = 0; k < 2; k++) {
        int (*const f)(float *, float *, float *, float *, const float *, const float *, const float *,
                       size_t, size_t, size_t) = k == 0 ? layer.backward : layer.reference;
        const char *which = k == 0 ? "kernel" : "reference";
        in_case("%s, scratch NULL", which);
        expect_refused(f(dx, dweight, dbias, NULL, dy, x, w, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, dy NULL", which);
        expect_refused(f(dx, dweight, dbias, scratch, NULL, x, w, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, x NULL", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, NULL, w, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, weight NULL", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, x, NULL, 2, 3, 2), GPT_ERR_NULL);
        in_case("%s, rows = SIZE_MAX / 2", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, x, w, HUGE_SIZE, 3, 2), GPT_ERR_SIZE);
        in_case("%s, in = SIZE_MAX / 2", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, x, w, 2, HUGE_SIZE, 2), GPT_ERR_SIZE);
        in_case("%s, out = SIZE_MAX / 2", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, x, w, 2, 3, HUGE_SIZE), GPT_ERR_SIZE);
        in_case("%s, in · out alone is too much", which);
        expect_refused(f(dx, dweight, dbias, scratch, dy, x, w, 1, SIZE_MAX / 16, 16), GPT_ERR_SIZE);
        in_case("%s, nothing wanted", which);
        expect_refused(f(NULL, NULL, NULL, scratch, dy, x, w, 2, 3, 2), GPT_OK);
    }
    in_case("part 2 of 2");
    expect_refused(layer.part(dx, dweight, dbias, scratch, dy, x, w, 2, 3, 2, 2, 2), GPT_ERR_VALUE);
}
