/* The kernels, as gpt_layers.h has them: each beside what its outputs may differ from the reference's, its
 * judge. A judge does not look where the inputs are out of the domain of the contract. */
#include "table.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"
#include "int8.h"
#include "reference.h"

static const double u = 0x1p-24;         /* the largest relative error of one rounding */
static const double smallest = 0x1p-149; /* the smallest denormal */

/* What references compute in float64. */
static double hidden_of_ref[MOST_WORDS], sums_of_ref[MOST_WORDS];

enum { MOST_SCRATCH = 16 * MOST_WORDS, MOST_HIDDEN = 1 << 17 };
static float scratch[MOST_SCRATCH], spare[MOST_HIDDEN], other[MOST_WORDS];

/* The error of intermediate results that underflow, multiplied by `factor`. */
static double underflow_of(double factor) { return 1e-36 * fmax(1.0, factor); }

/* The same in dx of a normalization. dx subtracts rstd · u · mean(g · u). A product g · (x - mean) that
 * underflows is lost: it is multiplied by rstd twice and by u, which is at most √n. */
static double underflow_of_norm(double rstd, double largest_dy, size_t n)
{
    return underflow_of(rstd * fmax(largest_dy, rstd * sqrt((double)n)));
}

/* ---- Sums of products. Higham, Accuracy and Stability of Numerical Algorithms, 3.1: k roundings of terms
 * whose magnitudes add up to m make an error of at most k·u / (1 - k·u) · m. ---- */

typedef struct magnitude {
    double sum; /* the sum of the finite terms */
} magnitude;

static void add_magnitude(magnitude *m, double term)
{
    if (isfinite(term)) m->sum += fabs(term);
}

/* `terms` products, each rounded once, then added in at most `terms` steps, twice between lanes, and to the
 * bias. Whole numbers are not rounded. Where float32 may overflow, nothing is promised. */
static void expect_sum(const trial *t, size_t i, size_t index, magnitude m, size_t terms)
{
    const double k = (double)terms + 4.0, expected = (double)EXPECTED(i)[index];
    if (m.sum > (double)FLT_MAX) return;
    const double bound = k * u / (1.0 - k * u) * m.sum + u * fabs(expected) + (double)terms * smallest;
    expect_within(NAME(i), index, (double)FLOATS_OF(i)[index], expected, t->is_whole ? 0.0 : bound);
}

/* The weight of input i for output o, in Linear's layout or in Conv1D's. */
static size_t weight_index(const trial *t, size_t which, size_t i, size_t o)
{
    return t->k->tensors[which].dims[0] == 'o' ? o * SIZE(1) + i : i * SIZE(2) + o;
}

static size_t linear_scratch(const call *c) { return gpt_linear_scratch_size(S(0), S(1)); }
static size_t linear_backward_scratch(const call *c) { return gpt_linear_backward_scratch_size(S(0), S(2)); }
static size_t conv1d_scratch(const call *c) { return gpt_conv1d_scratch_size(S(0), S(1)); }
static size_t conv1d_backward_scratch(const call *c) { return gpt_conv1d_backward_scratch_size(S(0), S(2)); }

static void judge_affine_forward(const trial *t)
{
    const float *x = FLOATS_OF(2), *weight = FLOATS_OF(3), *bias = FLOATS_OF(4);
    for (size_t r = 0; r < SIZE(0); r++)
        for (size_t o = 0; o < SIZE(2); o++) {
            magnitude m = {0.0};
            for (size_t i = 0; i < SIZE(1); i++)
                add_magnitude(&m, (double)x[r * SIZE(1) + i] * (double)weight[weight_index(t, 3, i, o)]);
            if (bias) add_magnitude(&m, (double)bias[o]);
            expect_sum(t, 0, r * SIZE(2) + o, m, SIZE(1));
        }
}

KERNEL(linear_forward, gpt_linear_forward(T5, S3, PARTS),
       gpt_affine_forward_ref(T(0), T(2), T(3), T(4), S3, 0), .sizes = "rio", .outputs = "y:ro",
       .inputs = "x:ri weight:oi bias?:o", .scratch_size = linear_scratch, .judge = judge_affine_forward,
       .has_parts = 1)

KERNEL(conv1d_forward, gpt_conv1d_forward(T5, S3, PARTS),
       gpt_affine_forward_ref(T(0), T(2), T(3), T(4), S3, 1), .sizes = "rio", .outputs = "y:ro",
       .inputs = "x:ri weight:io bias?:o", .scratch_size = conv1d_scratch, .judge = judge_affine_forward,
       .has_parts = 1)

static void judge_affine_backward(const trial *t)
{
    const size_t rows = SIZE(0), in = SIZE(1), out = SIZE(2);
    const float *dy = FLOATS_OF(4), *x = FLOATS_OF(5), *weight = FLOATS_OF(6);
    for (size_t r = 0; t->c.t[0] && r < rows; r++)
        for (size_t i = 0; i < in; i++) {
            magnitude m = {0.0};
            for (size_t o = 0; o < out; o++)
                add_magnitude(&m, (double)dy[r * out + o] * (double)weight[weight_index(t, 6, i, o)]);
            expect_sum(t, 0, r * in + i, m, out);
        }
    for (size_t i = 0; t->c.t[1] && i < in; i++)
        for (size_t o = 0; o < out; o++) {
            magnitude m = {0.0};
            for (size_t r = 0; r < rows; r++)
                add_magnitude(&m, (double)dy[r * out + o] * (double)x[r * in + i]);
            expect_sum(t, 1, weight_index(t, 6, i, o), m, rows < 512 ? rows : 512 + rows / 512);
        }
    for (size_t o = 0; t->c.t[2] && o < out; o++) {
        magnitude m = {0.0};
        for (size_t r = 0; r < rows; r++) add_magnitude(&m, (double)dy[r * out + o]);
        expect_sum(t, 2, o, m, rows < 61 ? rows : 61);
    }
}

KERNEL(linear_backward, gpt_linear_backward(T7, S3, PARTS),
       gpt_affine_backward_ref(T3, T(4), T(5), T(6), S3, 0), .sizes = "rio",
       .outputs = "dx?:ri dweight?:oi dbias?:o", .inputs = "dy:ro x:ri weight:oi",
       .scratch_size = linear_backward_scratch, .judge = judge_affine_backward, .has_parts = 1)

KERNEL(conv1d_backward, gpt_conv1d_backward(T7, S3, PARTS),
       gpt_affine_backward_ref(T3, T(4), T(5), T(6), S3, 1), .sizes = "rio",
       .outputs = "dx?:ri dweight?:io dbias?:o", .inputs = "dy:ro x:ri weight:io",
       .scratch_size = conv1d_backward_scratch, .judge = judge_affine_backward, .has_parts = 1)

static size_t embedding_scratch(const call *c)
{
    size_t n;
    return __builtin_add_overflow(S(0), S(1), &n) || n > MOST_ADDRESSABLE ? UNADDRESSABLE : n;
}

static void judge_embedding_backward(const trial *t)
{
    static magnitude sums[MOST_WORDS];
    const float *dy = FLOATS_OF(2);
    const int32_t *indices = t->c.t[3];
    memset(sums, 0, t->n[0] * sizeof *sums);
    for (size_t r = 0; r < SIZE(0); r++)
        for (size_t d = 0; d < SIZE(2); d++)
            add_magnitude(&sums[(size_t)indices[r] * SIZE(2) + d], (double)dy[r * SIZE(2) + d]);
    for (size_t i = 0; i < t->n[0]; i++)
        if (sums[i].sum <= (double)FLT_MAX)
            expect_within("dweight", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                          t->is_whole ? 0.0 : 4e-6 * sums[i].sum);
}

KERNEL(embedding_backward, gpt_embedding_backward(T4, S3, PARTS),
       gpt_embedding_backward_ref(T(0), T(2), T(3), S3), .sizes = "rnd", .outputs = "dweight:nd",
       .inputs = "dy:rd indices:r", .contents = {[3] = INDICES}, .most = {INT32_MAX - 1}, .classes = 'n',
       .scratch_size = embedding_scratch, .judge = judge_embedding_backward, .has_parts = 1)

/* ---- Weights as int8. c/int8.h has the layout. ---- */

/* The scalars of int8 weights: v[0] is the group; v[1] is `dot`; v[2] is not 0 if the float32 weight is
 * [in, out]. */
#define GROUP ((size_t)D(0))

/* A group that is refused has the tensors of another one. */
static size_t valid_group(const call *c) { return GROUP && GROUP % 2 == 0 ? GROUP : 2; }

static size_t int8_linear_scratch(const call *c)
{
    return gpt_int8_linear_scratch_size(S(0), S(1), valid_group(c));
}

/* Words of 32 outputs and n inputs of a group: a word a scale, for `dot` two bytes a sum, a byte a value. */
static size_t words_of_group(size_t n, int dot)
{
    return 32 + (dot ? (n + 127) / 128 * 16 : 0) + (n + 3) / 4 * 32;
}

static size_t quantized_count(const call *c, size_t out, size_t in)
{
    size_t floats;
    const size_t group = valid_group(c);
    const int dot = I(1) == 1;
    if (out > MOST_ADDRESSABLE || in > MOST_ADDRESSABLE) return UNADDRESSABLE;
    const size_t outs = (out + 31) / 32 * 32, ins = (in + 1) / 2 * 2, rest = in % group;
    /* in the rule for what is addressable, a size of 0 counts as 1 */
    if (__builtin_mul_overflow(outs ? outs : 1, ins ? ins : 1, &floats) || floats > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    return outs / 32 * (in / group * words_of_group(group, dot) + (rest ? words_of_group(rest, dot) : 0));
}

static size_t quantize_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(0), S(1));
}

static size_t pack_count(const call *c, size_t which)
{
    const size_t n = quantized_count(c, S(0), S(1));
    return which == 0 || n == UNADDRESSABLE ? n : (S(0) * S(1) + 3) / 4;
}

static size_t int8_linear_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(2), S(1));
}

static size_t int8_embedding_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(1), S(2));
}

/* A weight [out, in]. The scalars are its group and `dot`. */
static int8_weight weight_of(const trial *t, void *bytes, size_t out, size_t in)
{
    return (int8_weight){out, in, (size_t)t->c.v[0], (int)t->c.v[1], bytes};
}

/* Outputs with those that fill up the last block. */
static size_t outs_of(int8_weight w) { return (w.out + 31) / 32 * 32; }

/* The runs of values: what fills up a run or the last block is 0, and `dot` has their sums. */
static void expect_int8_runs(int8_weight w)
{
    for (size_t o = 0; o < outs_of(w); o++)
        for (size_t i = 0, end; i < w.in; i = end) {
            end = int8_run_end(w, i);
            double sum = 0.0;
            for (size_t k = 0; i + k < end || k % 4; k++) {
                const int value = int8_value_of_run(w, o, i, k);
                if (o >= w.out || i + k >= end) expect_within("padding", o * w.in + i + k, value, 0.0, 0.0);
                sum += value;
            }
            if (w.dot) expect_within("sums", o * w.in + i, *int8_sum(w, o, i), sum, 0.0);
        }
}

static void prepare_int8_linear(trial *t)
{
    const int8_weight w = weight_of(t, t->c.t[3], SIZE(2), SIZE(1));
    for (size_t o = 0; w.dot && o < outs_of(w); o++)
        for (size_t i = 0, end; i < w.in; i = end) {
            end = int8_run_end(w, i);
            int sum = 0;
            for (size_t k = i; k < end; k++) sum += int8_value(w, o, k);
            for (size_t k = end - i; k % 4; k++) *int8_byte_of_run(w, o, i, k) = 0; /* the padding */
            *int8_sum(w, o, i) = (int16_t)sum;
        }
}

/* sizes: o, i; scalars: group, dot, whether the float32 weight is [in, out] */
static void judge_int8_quantize(const trial *t)
{
    const size_t out = SIZE(0), in = SIZE(1);
    const int8_weight w = weight_of(t, t->c.t[0], out, in);
    const float *weight = FLOATS_OF(1);
    const int is_transposed = (int)t->c.v[2];
    const size_t out_step = is_transposed ? 1 : in, in_step = is_transposed ? out : 1;
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            float most = 0.0f;
            for (size_t j = i / w.group * w.group; j < in && j / w.group == i / w.group; j++)
                most = fmaxf(most, fabsf(weight[o * out_step + j * in_step]));
            const float scale = most / 127.0f, quotient = weight[o * out_step + i * in_step] / scale;
            const float value = scale > 0.0f ? fminf(fmaxf(rintf(quotient), -127.0f), 127.0f) : 0.0f;
            expect_same("scales", int8_scale(w, o, i), &scale, 1);
            expect_within("values", o * in + i, int8_value(w, o, i), (double)value, 0.0);
        }
    for (size_t o = out; o < outs_of(w); o++)
        for (size_t i = 0; i < in; i++) expect_within("scales", i, (double)*int8_scale(w, o, i), 0.0, 0.0);
    expect_int8_runs(w);
}

KERNEL(int8_quantize, gpt_int8_quantize(T2, S2, GROUP, 0, S(1), I(2) ? 1 : S(1), I(2) ? S(0) : 1, I(1)),
       NO_REFERENCE, .sizes = "oi", .scalars = "gDF", .outputs = "quantized", .inputs = "weight:oi",
       .contents = {[0] = BYTES, [1] = FINITES}, .count = quantize_count, .judge = judge_int8_quantize)

static void judge_int8_pack(const trial *t)
{
    const size_t out = SIZE(0), in = SIZE(1);
    const int8_weight w = weight_of(t, t->c.t[0], out, in), before = weight_of(t, t->before[0], out, in);
    const int8_t *plain = t->c.t[1];
    for (size_t o = 0; o < outs_of(w); o++)
        for (size_t i = 0; i < in; i++) {
            const size_t place = o * in + i;
            expect_within("values", place, int8_value(w, o, i), o < out ? plain[place] : 0.0, 0.0);
            expect_same("scales", int8_scale(w, o, i), int8_scale(before, o, i), 1);
        }
    expect_int8_runs(w);
}

KERNEL(int8_pack, gpt_int8_pack(T2, S2, GROUP, I(1)), NO_REFERENCE, .sizes = "oi", .scalars = "gD",
       .outputs = "quantized*", .inputs = "plain", .contents = {[0] = BYTES, [1] = BYTES},
       .count = pack_count, .judge = judge_int8_pack)

static void judge_int8_dequantize(const trial *t)
{
    const size_t out = SIZE(0), in = SIZE(1);
    const int8_weight w = weight_of(t, t->c.t[1], out, in);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            const float weight = *int8_scale(w, o, i) * (float)int8_value(w, o, i);
            expect_same("weight", FLOATS_OF(0) + o * in + i, &weight, 1);
        }
}

KERNEL(int8_dequantize, gpt_int8_dequantize(T2, S2, GROUP, I(1)), NO_REFERENCE, .sizes = "oi",
       .scalars = "gD", .outputs = "weight:oi", .inputs = "quantized", .count = quantize_count,
       .judge = judge_int8_dequantize)

/* The bound of gpt_layers.h, for row r and output o; 0 if there is none. */
static double int8_linear_bound(const trial *t, size_t r, size_t o)
{
    const size_t in = SIZE(1);
    const int8_weight w = weight_of(t, t->c.t[3], SIZE(2), in);
    const float *x = FLOATS_OF(2) + r * in, *bias = FLOATS_OF(4);
    double rounding = 0.0, runs = 0.0;
    magnitude m = {bias ? fabs((double)bias[o]) : 0.0};
    for (size_t i = 0, end; i < in; i = end, runs++) {
        end = int8_run_end(w, i);
        const double scale = fabs((double)*int8_scale(w, o, i));
        const double most = largest(x + i, end - i);
        if (!isfinite(scale) || most > 2e34) return 0.0;
        for (size_t j = i; j < end; j++) {
            const double weight = scale * abs(int8_value(w, o, j));
            rounding += (most < 0x1p-100 ? most : most / 16382.0) * weight;
            m.sum += fabs((double)x[j]) * weight;
        }
    }
    if (!(m.sum + rounding <= (double)FLT_MAX)) return 0.0;
    const double k = runs + 10.0;
    return rounding + k * u / (1.0 - k * u) * m.sum + u * m.sum + (runs + 1.0) * smallest;
}

static int all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static void judge_int8_linear(const trial *t)
{
    const size_t rows = SIZE(0), in = SIZE(1), out = SIZE(2);
    if (!t->prepared && t->c.v[1] != 0.0) return;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            const size_t index = r * out + o;
            const double got = (double)FLOATS_OF(0)[index], expected = (double)EXPECTED(0)[index];
            if (!all_finite(FLOATS_OF(2) + r * in, in)) {
                expect(isnan(got), "y[%zu] = %g in a row that is not finite", index, got);
                continue;
            }
            const double bound = int8_linear_bound(t, r, o);
            if (bound > 0.0) expect_within("y", index, got, expected, bound);
        }
}

KERNEL(int8_linear_forward, gpt_int8_linear_forward(T5, S3, GROUP, I(1), PARTS),
       gpt_int8_linear_forward_ref(T(0), T(2), (int8_weight){S(2), S(1), GROUP, I(1), T(3)}, T(4), S(0)),
       .sizes = "rio", .scalars = "gD", .outputs = "y:ro", .inputs = "x:ri quantized bias?:o",
       .scratch_size = int8_linear_scratch, .count = int8_linear_count, .prepare = prepare_int8_linear,
       .judge = judge_int8_linear, .has_parts = 1)

/* ---- Elementwise ---- */

static void judge_gelu_forward(const trial *t)
{
    expect_close("y", FLOATS_OF(0), EXPECTED(0), t->n[0], 1e-6);
}

KERNEL(gelu_forward, gpt_gelu_forward(T2, S(0), I(0), PARTS), gpt_gelu_forward_ref(T2, S(0), I(0)),
       .sizes = "n", .scalars = "k", .outputs = "y:n", .inputs = "x:n", .may_be = {1},
       .judge = judge_gelu_forward, .has_parts = 1)

static void judge_gelu_backward(const trial *t)
{
    static const float one = 1.0f;
    for (size_t i = 0; i < t->n[0]; i++) {
        const double dy = (double)FLOATS_OF(1)[i], x = (double)FLOATS_OF(2)[i];
        /* the product may overflow; and slopes near 0 are 0 or not, which infinity makes NaN or infinity */
        if (fabs(dy) > 1e38 || (!isfinite(dy) && !(fabs(x) < 2.0))) continue;
        float slope;
        gpt_gelu_backward_ref(&slope, &one, FLOATS_OF(2) + i, 1, (int)t->c.v[0]);
        const double error = 1e-6 * fmax(1.0, fabs((double)slope)) + 2.0 * u * fabs((double)slope);
        expect_within("dx", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i], fabs(dy) * error + smallest);
    }
}

KERNEL(gelu_backward, gpt_gelu_backward(T3, S(0), I(0), PARTS), gpt_gelu_backward_ref(T3, S(0), I(0)),
       .sizes = "n", .scalars = "k", .outputs = "dx:n", .inputs = "dy:n x:n", .may_be = {1},
       .judge = judge_gelu_backward, .has_parts = 1)

/* Element i within a relative error, a 0 with its sign. At the limit of float32 one of the two may be infinite. */
static void expect_relative(const trial *t, size_t i, double expected, double error)
{
    const double got = (double)FLOATS_OF(0)[i], limit = (double)FLT_MAX;
    if (fabs(fabs(expected) / limit - 1.0) < 1e-6 && fabs(got) > limit * (1.0 - 1e-6)) return;
    expect(expected != 0.0 || !signbit(got) == !signbit(expected), "y[%zu]: expected %g, got %g", i, expected,
           got);
    expect_within("y", i, got, fabs(expected) > limit ? copysign((double)INFINITY, expected) : expected,
                  error * fabs(expected) + smallest);
}

/* y = exact(x) */
static void expect_function(const trial *t, double (*exact)(double x), double error)
{
    for (size_t i = 0; i < t->n[0]; i++) expect_relative(t, i, exact((double)FLOATS_OF(1)[i]), error);
}

static void judge_exp(const trial *t) { expect_function(t, exp, 4e-7); }

KERNEL(exp, gpt_exp(T2, S(0)), NO_REFERENCE, .sizes = "n", .outputs = "y:n", .inputs = "x:n", .may_be = {1},
       .judge = judge_exp)

/* A kernel y = exact(x), whose row has the name of the exact function, one of the C library's. */
#define FUNCTION(kernel_, exact_, error_)                                                                    \
    static void judge_##exact_(const trial *t) { expect_function(t, exact_, error_); }                       \
    KERNEL(exact_, kernel_(T2, S(0), PARTS), NO_REFERENCE, .sizes = "n", .outputs = "y:n", .inputs = "x:n",  \
           .may_be = {1}, .judge = judge_##exact_, .has_parts = 1)

FUNCTION(gpt_log, log, 2e-7)
FUNCTION(gpt_tanh, tanh, 4e-7)
FUNCTION(gpt_erf, erf, 2e-7)
FUNCTION(gpt_sin, sin, 7e-8)
FUNCTION(gpt_cos, cos, 7e-8)

static void judge_pow(const trial *t)
{
    const double exponent = (double)(float)t->c.v[0];
    for (size_t i = 0; i < t->n[0]; i++) {
        const double x = (double)FLOATS_OF(1)[i];
        if (isnan(x) && exponent == 0.0) continue; /* 1, but a signaling NaN natively gives NaN */
        expect_relative(t, i,
                        exponent == 0.5    ? sqrt(x)
                        : exponent == -0.5 ? 1.0 / sqrt(x)
                                           : pow(x, exponent),
                        2e-7);
    }
}

KERNEL(pow, gpt_pow(T2, S(0), F(0), PARTS), NO_REFERENCE, .sizes = "n", .scalars = "x", .outputs = "y:n",
       .inputs = "x:n", .may_be = {1}, .judge = judge_pow, .has_parts = 1)

static void judge_sigmoid(const trial *t)
{
    for (size_t i = 0; i < t->n[0]; i++) {
        const double exact = 1.0 / (1.0 + exp(-(double)FLOATS_OF(1)[i]));
        expect_within("y", i, (double)FLOATS_OF(0)[i], exact, 6e-7 * exact + (exact < 3e-39 ? 3e-39 : 0.0));
    }
}

KERNEL(sigmoid, gpt_sigmoid(T2, S(0), PARTS), NO_REFERENCE, .sizes = "n", .outputs = "y:n", .inputs = "x:n",
       .may_be = {1}, .judge = judge_sigmoid, .has_parts = 1)

static void judge_silu_forward(const trial *t)
{
    for (size_t i = 0; i < t->n[0]; i++) {
        const double x = (double)FLOATS_OF(1)[i], exact = x / (1.0 + exp(-x));
        expect_within("y", i, (double)FLOATS_OF(0)[i], exact,
                      7e-7 * fabs(exact) + (x < -88.0 ? 3e-37 : smallest));
    }
}

KERNEL(silu_forward, gpt_silu_forward(T2, S(0), PARTS), NO_REFERENCE, .sizes = "n", .outputs = "y:n",
       .inputs = "x:n", .may_be = {1}, .judge = judge_silu_forward, .has_parts = 1)

static void judge_silu_backward(const trial *t)
{
    static const float one = 1.0f;
    for (size_t i = 0; i < t->n[0]; i++) {
        const double dy = (double)FLOATS_OF(1)[i];
        if (fabs(dy) > 1e38) continue; /* the product may overflow */
        float slope;
        gpt_silu_backward_ref(&slope, &one, FLOATS_OF(2) + i, 1);
        /* infinity times a slope near 0 is infinity or NaN */
        if (!isfinite(dy) && fabs((double)slope) < 1e-6) continue;
        /* dy · σ(x) is multiplied by up to |x|, also where it is a denormal; the slope is 0 beyond 104 */
        const double x = fmin(fabs((double)FLOATS_OF(2)[i]), 104.0);
        expect_within("dx", i, (double)FLOATS_OF(0)[i], dy * (double)slope,
                      1.2e-6 * fabs(dy) + (4.0 + x) * smallest);
    }
}

KERNEL(silu_backward, gpt_silu_backward(T3, S(0), PARTS), gpt_silu_backward_ref(T3, S(0)), .sizes = "n",
       .outputs = "dx:n", .inputs = "dy:n x:n", .may_be = {1}, .judge = judge_silu_backward, .has_parts = 1)

static void judge_mse_backward(const trial *t)
{
    const double scale = (double)(float)t->c.v[0];
    for (size_t i = 0; i < t->n[0]; i++) {
        const double difference = (double)FLOATS_OF(1)[i] - (double)FLOATS_OF(2)[i];
        if (fabs(difference) > 1e38) continue;
        expect_within("dx", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      3.0 * u * fabs(difference * scale) + smallest);
    }
}

KERNEL(mse_backward, gpt_mse_backward(T3, S(0), F(0), PARTS), gpt_mse_backward_ref(T3, S(0), F(0)),
       .sizes = "n", .scalars = "f", .outputs = "dx:n", .inputs = "x:n target:n", .may_be = {1},
       .judge = judge_mse_backward, .has_parts = 1)

static void judge_transpose(const trial *t)
{
    const size_t count = SIZE(0), rows = SIZE(1), cols = SIZE(2), inner = SIZE(3);
    for (size_t i = 0; i < t->n[0]; i++) {
        const size_t k = i / inner / rows / cols, c = i / inner / rows % cols, r = i / inner % rows;
        expect_same("y", FLOATS_OF(0) + i, FLOATS_OF(1) + ((k * rows + r) * cols + c) * inner + i % inner, 1);
    }
    (void)count;
}

KERNEL(transpose, gpt_transpose(T2, S4), NO_REFERENCE, .sizes = "krci", .outputs = "y:kcri",
       .inputs = "x:krci", .judge = judge_transpose)

/* ---- Rows and columns ---- */

typedef struct moments {
    double mean, deviation, most;
    int is_constant, is_finite;
} moments;

static moments moments_of(const float *x, size_t n, size_t step)
{
    moments m = {.is_constant = 1, .is_finite = 1};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i * step];
        sum += v;
        m.most = fmax(m.most, fabs(v));
        m.is_finite &= isfinite(v) != 0;
        m.is_constant &= x[i * step] == x[0];
    }
    m.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += ((double)x[i * step] - m.mean) * ((double)x[i * step] - m.mean);
    m.deviation = sqrt(squares / (double)n);
    return m;
}

/* What layer norm and batch norm are made for: means of at most 1e5 deviations, and a reciprocal of the
 * deviation that float32 can hold. */
static int in_domain(moments m, double eps)
{
    if (!m.is_constant && m.deviation * m.deviation + eps < 1e-76) return 0;
    return m.is_finite && (m.is_constant || fabs(m.mean) <= 1e5 * m.deviation);
}

static void judge_layernorm_forward(const trial *t)
{
    const float *x = FLOATS_OF(3), *mean = FLOATS_OF(1), *rstd = FLOATS_OF(2), *shift = FLOATS_OF(5);
    const size_t cols = SIZE(1);
    if (t->range[4] | t->range[5]) return;
    for (size_t r = 0; r < SIZE(0); r++) {
        const moments m = moments_of(x + r * cols, cols, 1);
        if (m.is_finite && !in_domain(m, t->c.v[0])) continue;
        expect_close("y", FLOATS_OF(0) + r * cols, EXPECTED(0) + r * cols, cols, 5e-6);
        for (size_t c = 0; t->c.v[0] > 0.0 && m.is_finite && m.is_constant && c < cols; c++)
            expect_within("y of a constant row", r * cols + c, (double)FLOATS_OF(0)[r * cols + c],
                          shift ? (double)shift[c] : 0.0, 0.0);
        if (mean && m.is_finite)
            expect_within("mean", r, (double)mean[r], (double)EXPECTED(1)[r],
                          5e-6 * fmax(fmax(1.0, m.deviation), fabs(m.mean)));
        if (rstd)
            expect_within("rstd", r, (double)rstd[r], (double)EXPECTED(2)[r], 5e-6 * (double)EXPECTED(2)[r]);
    }
}

KERNEL(layernorm_forward, gpt_layernorm_forward(T6, S2, F(0), PARTS), gpt_layernorm_forward_ref(T6, S2, F(0)),
       .sizes = "rc", .scalars = "e", .outputs = "y:rc mean?:r rstd?:r", .inputs = "x:rc scale:c shift?:c",
       .may_be = {3}, .least = {0, 1}, .judge = judge_layernorm_forward, .has_parts = 1)

static void prepare_layernorm(trial *t)
{
    const float eps = (SIZE(0) + SIZE(1)) % 3 ? 1e-5f : 1e-12f;
    memset(other, 0, SIZE(1) * sizeof *other);
    expect_status(gpt_layernorm_forward(spare, t->c.t[5], t->c.t[6], t->c.t[4], other, other, SIZE(0),
                                        SIZE(1), eps, 0, 1),
                  GPT_OK);
}

static void judge_layernorm_backward(const trial *t)
{
    const size_t rows = SIZE(0), cols = SIZE(1);
    const float *dx = FLOATS_OF(0), *dscale = FLOATS_OF(1), *dshift = FLOATS_OF(2), *dy = FLOATS_OF(3),
                *x = FLOATS_OF(4), *rstd = FLOATS_OF(6), *scale = FLOATS_OF(7);
    static double products[MOST_WORDS], sums[MOST_WORDS];
    if (!t->prepared || t->range[3] > MODERATE || t->range[7]) return;
    memset(products, 0, cols * sizeof *products);
    memset(sums, 0, cols * sizeof *sums);
    for (size_t r = 0; r < rows; r++) {
        const moments m = moments_of(x + r * cols, cols, 1);
        if (!in_domain(m, 1.0)) return;
        double most = 0.0;
        for (size_t c = 0; c < cols; c++) {
            const double d = fabs((double)dy[r * cols + c]), s = (double)rstd[r];
            most = fmax(most, d * fabs((double)scale[c]) * s);
            products[c] += d * fmax(1.0, fabs((double)x[r * cols + c] - m.mean) * s);
            sums[c] += d;
        }
        const double tolerance =
            2e-5 * most + underflow_of_norm((double)rstd[r], largest(dy + r * cols, cols), cols);
        for (size_t c = 0; dx && c < cols; c++)
            expect_within("dx", r * cols + c, (double)dx[r * cols + c], (double)EXPECTED(0)[r * cols + c],
                          tolerance);
    }
    for (size_t c = 0; dscale && c < cols; c++)
        expect_within("dscale", c, (double)dscale[c], (double)EXPECTED(1)[c],
                      1e-5 * products[c] + underflow_of(1.0));
    for (size_t c = 0; dshift && c < cols; c++)
        expect_within("dshift", c, (double)dshift[c], (double)EXPECTED(2)[c],
                      1e-5 * sums[c] + underflow_of(1.0));
}

KERNEL(layernorm_backward, gpt_layernorm_backward(T8, S2, PARTS), gpt_layernorm_backward_ref(T8, S2),
       .sizes = "rc", .outputs = "dx?:rc dscale?:c dshift?:c", .inputs = "dy:rc x:rc mean:r rstd:r scale:c",
       .least = {0, 1}, .prepare = prepare_layernorm, .judge = judge_layernorm_backward, .has_parts = 1)

static void judge_batchnorm_statistics(const trial *t)
{
    const float *mean = FLOATS_OF(0), *off = FLOATS_OF(1), *var = FLOATS_OF(2);
    for (size_t c = 0; c < SIZE(1); c++) {
        const moments m = moments_of(FLOATS_OF(3) + c, SIZE(0), SIZE(1));
        if (!in_domain(m, 1.0)) continue;
        expect_within("mean + off", c, (double)mean[c] + (double)off[c], m.mean,
                      5e-6 * m.deviation + 1e-13 * fabs(m.mean) + underflow_of(1.0));
        const double expected = m.deviation * m.deviation;
        if (expected > 0.99 * (double)FLT_MAX)
            expect((double)var[c] > 0.98 * (double)FLT_MAX, "var[%zu] is %g", c, (double)var[c]);
        else
            expect_within("var", c, (double)var[c], expected, 1e-5 * expected + underflow_of(1.0));
    }
}

KERNEL(batchnorm_statistics, gpt_batchnorm_statistics(T4, S2, PARTS), gpt_batchnorm_statistics_ref(T4, S2),
       .sizes = "rc", .outputs = "mean:c off:c var:c", .inputs = "x:rc", .least = {1, 0},
       .judge = judge_batchnorm_statistics, .has_parts = 1)

static void judge_batchnorm_update(const trial *t)
{
    const double keep = 1.0 - (double)(float)t->c.v[0], add = (double)(float)t->c.v[0],
                 unbiased = (double)SIZE(0) / (double)(SIZE(0) - 1);
    for (size_t c = 0; c < SIZE(1); c++) {
        const double mean = (double)FLOATS_OF(2)[c] + (double)FLOATS_OF(3)[c], var = (double)FLOATS_OF(4)[c];
        const float expected_mean = (float)(keep * (double)BEFORE(0)[c] + add * mean),
                    expected_var = (float)(keep * (double)BEFORE(1)[c] + add * unbiased * var);
        expect_same("running_mean", FLOATS_OF(0) + c, &expected_mean, 1);
        expect_same("running_var", FLOATS_OF(1) + c, &expected_var, 1);
    }
}

KERNEL(batchnorm_update, gpt_batchnorm_update(T5, S2, F(0)), NO_REFERENCE, .sizes = "rc", .scalars = "p",
       .outputs = "running_mean*:c running_var*:c", .inputs = "mean:c off:c var:c",
       .contents = {[4] = POSITIVES}, .least = {2, 0}, .judge = judge_batchnorm_update)

/* Statistics of the batch, unless `off` is NULL: then the running statistics are any numbers. */
static void prepare_batchnorm_forward(trial *t)
{
    t->prepared = SIZE(0) > 0 && t->c.t[3];
    if (!t->prepared) return;
    expect_status(
        gpt_batchnorm_statistics(t->c.t[2], t->c.t[3], t->c.t[4], t->c.t[1], SIZE(0), SIZE(1), 0, 1), GPT_OK);
}

static void judge_batchnorm_forward(const trial *t)
{
    const size_t rows = SIZE(0), cols = SIZE(1);
    const float *x = FLOATS_OF(1), *mean = FLOATS_OF(2), *var = FLOATS_OF(4), *scale = FLOATS_OF(5);
    const double eps = (double)(float)t->c.v[0];
    if (t->range[5] | t->range[6]) return;
    if (!t->prepared && (t->c.t[3] || (t->range[1] | t->range[2] | t->range[4]) > MODERATE)) return;
    for (size_t c = 0; c < cols; c++) {
        if (t->prepared && !in_domain(moments_of(x + c, rows, cols), eps)) continue;
        for (size_t r = 0; r < rows; r++) {
            const size_t i = r * cols + c;
            const double expected = (double)EXPECTED(0)[i],
                         scaled =
                             (double)scale[c] * ((double)x[i] - (double)mean[c]) / sqrt((double)var[c] + eps);
            /* normalized values of a batch are small; those of running statistics can be large */
            const double size = fmax(1.0, t->prepared ? fabs(expected) : fmax(fabs(expected), fabs(scaled)));
            expect_within("y", i, (double)FLOATS_OF(0)[i], expected, 5e-6 * size);
        }
    }
}

KERNEL(batchnorm_forward, gpt_batchnorm_forward(T7, S2, F(0), PARTS), gpt_batchnorm_forward_ref(T7, S2, F(0)),
       .sizes = "rc", .scalars = "e", .outputs = "y:rc", .inputs = "x:rc mean:c off?:c var:c scale:c shift:c",
       .contents = {[4] = POSITIVES}, .may_be = {1}, .prepare = prepare_batchnorm_forward,
       .judge = judge_batchnorm_forward, .has_parts = 1)

static void prepare_batchnorm_backward(trial *t)
{
    expect_status(
        gpt_batchnorm_statistics(t->c.t[5], t->c.t[6], t->c.t[7], t->c.t[4], SIZE(0), SIZE(1), 0, 1), GPT_OK);
}

static void judge_batchnorm_backward(const trial *t)
{
    const size_t rows = SIZE(0), cols = SIZE(1);
    const float *dx = FLOATS_OF(0), *dscale = FLOATS_OF(1), *dshift = FLOATS_OF(2), *dy = FLOATS_OF(3),
                *x = FLOATS_OF(4), *scale = FLOATS_OF(8);
    const double eps = (double)(float)t->c.v[0];
    if (!t->prepared || t->range[3] > MODERATE || t->range[8]) return;
    for (size_t c = 0; c < cols; c++) {
        const moments m = moments_of(x + c, rows, cols);
        if (!in_domain(m, eps)) continue;
        const double squares = m.deviation * m.deviation + eps, s = squares > 0.0 ? 1.0 / sqrt(squares) : 0.0;
        double most = 0.0, sum = 0.0;
        for (size_t r = 0; r < rows; r++) {
            const double d = fabs((double)dy[r * cols + c]);
            most = fmax(most, d);
            sum += d * fmax(1.0, fabs(((double)x[r * cols + c] - m.mean) * s));
        }
        for (size_t r = 0; dx && r < rows; r++)
            expect_within("dx", r * cols + c, (double)dx[r * cols + c], (double)EXPECTED(0)[r * cols + c],
                          5e-6 * fabs((double)scale[c]) * s * most *
                                  fmax(1.0, fabs(((double)x[r * cols + c] - m.mean) * s)) +
                              underflow_of_norm(s, most, rows));
        if (dscale)
            expect_within("dscale", c, (double)dscale[c], (double)EXPECTED(1)[c],
                          5e-6 * sum + underflow_of(1.0));
        if (dshift)
            expect_within("dshift", c, (double)dshift[c], (double)EXPECTED(2)[c],
                          5e-6 * sum + underflow_of(1.0));
    }
}

KERNEL(batchnorm_backward, gpt_batchnorm_backward(T9, S2, F(0), PARTS),
       gpt_batchnorm_backward_ref(T9, S2, F(0)), .sizes = "rc", .scalars = "e",
       .outputs = "dx?:rc dscale?:c dshift?:c", .inputs = "dy:rc x:rc mean:c off:c var:c scale:c",
       .contents = {[7] = POSITIVES}, .least = {1, 0}, .prepare = prepare_batchnorm_backward,
       .judge = judge_batchnorm_backward, .has_parts = 1)

static void judge_rmsnorm_forward(const trial *t)
{
    const size_t cols = SIZE(1);
    const float *rstd = FLOATS_OF(1);
    if (t->range[3]) return;
    for (size_t r = 0; r < SIZE(0); r++) {
        if (!moments_of(FLOATS_OF(2) + r * cols, cols, 1).is_finite) continue;
        expect_close("y", FLOATS_OF(0) + r * cols, EXPECTED(0) + r * cols, cols, 1e-6);
        if (rstd && moments_of(FLOATS_OF(2) + r * SIZE(1), SIZE(1), 1).is_finite)
            expect_within("rstd", r, (double)rstd[r], (double)EXPECTED(1)[r], 1e-6 * (double)EXPECTED(1)[r]);
    }
}

KERNEL(rmsnorm_forward, gpt_rmsnorm_forward(T4, S2, F(0), PARTS), gpt_rmsnorm_forward_ref(T4, S2, F(0)),
       .sizes = "rc", .scalars = "e", .outputs = "y:rc rstd?:r", .inputs = "x:rc scale:c", .may_be = {2},
       .least = {0, 1}, .judge = judge_rmsnorm_forward, .has_parts = 1)

static void prepare_rmsnorm(trial *t)
{
    const float eps = (SIZE(0) + SIZE(1)) % 3 ? 1e-5f : 1e-12f;
    memset(other, 0, SIZE(1) * sizeof *other);
    expect_status(gpt_rmsnorm_forward(spare, t->c.t[4], t->c.t[3], other, SIZE(0), SIZE(1), eps, 0, 1),
                  GPT_OK);
}

static void judge_rmsnorm_backward(const trial *t)
{
    const size_t rows = SIZE(0), cols = SIZE(1);
    const float *dx = FLOATS_OF(0), *dscale = FLOATS_OF(1), *dy = FLOATS_OF(2), *x = FLOATS_OF(3),
                *rstd = FLOATS_OF(4), *scale = FLOATS_OF(5);
    static double sums[MOST_WORDS];
    if (!t->prepared || t->range[2] > MODERATE || t->range[3] >= NOT_FINITE || t->range[5]) return;
    memset(sums, 0, cols * sizeof *sums);
    for (size_t r = 0; r < rows; r++) {
        double most = 0.0;
        for (size_t c = 0; c < cols; c++) {
            const double d = (double)dy[r * cols + c], s = (double)rstd[r];
            most = fmax(most, fabs(d * (double)scale[c] * s));
            sums[c] += fabs(d * (double)x[r * cols + c] * s);
        }
        const double underflow = underflow_of_norm((double)rstd[r], largest(dy + r * cols, cols), cols);
        for (size_t c = 0; dx && c < cols; c++)
            expect_within("dx", r * cols + c, (double)dx[r * cols + c], (double)EXPECTED(0)[r * cols + c],
                          5e-6 * most * fmax(1.0, fabs((double)x[r * cols + c] * (double)rstd[r])) +
                              underflow);
    }
    for (size_t c = 0; dscale && c < cols; c++)
        expect_within("dscale", c, (double)dscale[c], (double)EXPECTED(1)[c], 5e-6 * sums[c] + 1e-37);
}

KERNEL(rmsnorm_backward, gpt_rmsnorm_backward(T6, S2, PARTS), gpt_rmsnorm_backward_ref(T6, S2), .sizes = "rc",
       .outputs = "dx?:rc dscale?:c", .inputs = "dy:rc x:rc rstd:r scale:c", .least = {0, 1},
       .prepare = prepare_rmsnorm, .judge = judge_rmsnorm_backward, .has_parts = 1)

static void judge_mean(const trial *t)
{
    const size_t cols = SIZE(1);
    for (size_t r = 0; r < SIZE(0); r++) {
        magnitude m = {0.0};
        for (size_t c = 0; c < cols; c++) add_magnitude(&m, (double)FLOATS_OF(1)[r * cols + c]);
        if (m.sum > (double)FLT_MAX) continue;
        expect_within("mean", r, (double)FLOATS_OF(0)[r], (double)EXPECTED(0)[r],
                      1e-6 * m.sum / (double)cols + smallest);
    }
}

KERNEL(mean, gpt_mean(T2, S2), gpt_mean_ref(T2, S2), .sizes = "rc", .outputs = "mean:r", .inputs = "x:rc",
       .judge = judge_mean)

static void judge_sum(const trial *t)
{
    const size_t cols = SIZE(1);
    for (size_t r = 0; r < SIZE(0); r++) {
        magnitude m = {0.0};
        for (size_t c = 0; c < cols; c++) add_magnitude(&m, (double)FLOATS_OF(1)[r * cols + c]);
        if (m.sum > (double)FLT_MAX) continue;
        expect_within("sum", r, (double)FLOATS_OF(0)[r], (double)EXPECTED(0)[r], 3e-7 * m.sum + smallest);
    }
}

KERNEL(sum, gpt_sum(T2, S2), gpt_sum_ref(T2, S2), .sizes = "rc", .outputs = "sum:r", .inputs = "x:rc",
       .judge = judge_sum)

static void judge_var(const trial *t)
{
    for (size_t r = 0; r < SIZE(0); r++) {
        const moments m = moments_of(FLOATS_OF(1) + r * SIZE(1), SIZE(1), 1);
        /* the mean in float64 has a few rounding errors */
        expect_within("var", r, (double)FLOATS_OF(0)[r], (double)EXPECTED(0)[r],
                      1e-6 * (double)EXPECTED(0)[r] + 1e-24 * m.most * m.most + smallest);
    }
}

KERNEL(var, gpt_var(T2, S2, I(0)), gpt_var_ref(T2, S2, I(0)), .sizes = "rc", .scalars = "k",
       .outputs = "var:r", .inputs = "x:rc", .judge = judge_var)

static void judge_sum_columns(const trial *t)
{
    const size_t rows = SIZE(1), cols = SIZE(2);
    for (size_t i = 0; i < t->n[0]; i++) {
        magnitude m = {0.0};
        for (size_t r = 0; r < rows; r++)
            add_magnitude(&m, (double)FLOATS_OF(1)[(i / cols * rows + r) * cols + i % cols]);
        if (m.sum > (double)FLT_MAX) continue;
        expect_within("sum", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i], 2e-6 * m.sum + smallest);
    }
}

KERNEL(sum_columns, gpt_sum_columns(T2, S3, PARTS), gpt_sum_columns_ref(T2, S3), .sizes = "krc",
       .outputs = "sum:kc", .inputs = "x:krc", .judge = judge_sum_columns, .has_parts = 1)

static void judge_square_sum(const trial *t)
{
    const double got = *(const double *)t->c.t[0], expected = *(const double *)t->expected[0];
    expect_within("sum", 0, got, expected, 1e-12 * expected);
}

KERNEL(square_sum, gpt_square_sum(T2, S(0)), gpt_square_sum_ref(T2, S(0)), .sizes = "n", .outputs = "sum:2",
       .inputs = "x:n", .contents = {[0] = DOUBLES}, .judge = judge_square_sum)

/* ---- Softmax and losses ---- */

static void judge_softmax_forward(const trial *t)
{
    expect_close("y", FLOATS_OF(0), EXPECTED(0), t->n[0], 1e-6);
}

KERNEL(softmax_forward, gpt_softmax_forward(T2, S2, PARTS), gpt_softmax_forward_ref(T2, S2), .sizes = "rc",
       .outputs = "y:rc", .inputs = "x:rc", .may_be = {1}, .judge = judge_softmax_forward, .has_parts = 1)

static void prepare_softmax(trial *t)
{
    memcpy(spare, t->c.t[2], t->n[2] * sizeof *spare);
    expect_status(gpt_softmax_forward(t->c.t[2], spare, SIZE(0), SIZE(1), 0, 1), GPT_OK);
}

static void judge_softmax_backward(const trial *t)
{
    const size_t cols = SIZE(1);
    if (!t->prepared || t->range[1] > (MODERATE | WIDE) || t->range[2] >= NOT_FINITE) return;
    for (size_t r = 0; r < SIZE(0); r++) {
        const float *dy = FLOATS_OF(1) + r * cols, *y = FLOATS_OF(2) + r * cols;
        double most = 0.0;
        for (size_t c = 0; c < cols; c++) {
            double sum = 0.0;
            for (size_t k = 0; k < cols; k++) sum += (double)y[k] * fabs((double)dy[c] - (double)dy[k]);
            most = fmax(most, (double)y[c] * sum);
        }
        /* where all of dy are equal, the rounding of Σ dy · y remains */
        const double most_dy = largest(dy, cols);
        for (size_t c = 0; c < cols; c++)
            expect_within("dx", r * cols + c, (double)FLOATS_OF(0)[r * cols + c],
                          (double)EXPECTED(0)[r * cols + c],
                          2e-5 * most + 4e-6 * (double)y[c] * most_dy + underflow_of(most_dy));
    }
}

KERNEL(softmax_backward, gpt_softmax_backward(T3, S2, PARTS), gpt_softmax_backward_ref(T3, S2), .sizes = "rc",
       .outputs = "dx:rc", .inputs = "dy:rc y:rc", .may_be = {1}, .prepare = prepare_softmax,
       .judge = judge_softmax_backward, .has_parts = 1)

static void judge_crossentropy_forward(const trial *t)
{
    const float *max = FLOATS_OF(1), *sum = FLOATS_OF(2);
    expect_close("loss", FLOATS_OF(0), EXPECTED(0), SIZE(0), 1e-6);
    for (size_t r = 0; r < SIZE(0); r++) {
        if (!moments_of(FLOATS_OF(3) + r * SIZE(1), SIZE(1), 1).is_finite) continue;
        if (max) expect_close("max", max + r, EXPECTED(1) + r, 1, 0.0);
        if (sum) expect_close("sum", sum + r, EXPECTED(2) + r, 1, 1e-6);
    }
}

KERNEL(crossentropy_forward, gpt_crossentropy_forward(T5, S2, F(0), PARTS),
       gpt_crossentropy_forward_ref(T5, S2, F(0)), .sizes = "rc", .scalars = "p",
       .outputs = "loss:r max?:r sum?:r", .inputs = "logits:rc targets:r", .contents = {[4] = TARGETS},
       .classes = 'c', .judge = judge_crossentropy_forward, .has_parts = 1)

static void prepare_crossentropy(trial *t)
{
    expect_status(gpt_crossentropy_forward(spare, t->c.t[3], t->c.t[4], t->c.t[1], t->c.t[2], SIZE(0),
                                           SIZE(1), 0.0f, 0, 1),
                  GPT_OK);
}

static void judge_crossentropy_backward(const trial *t)
{
    const size_t cols = SIZE(1);
    const double factor = fabs((double)(float)t->c.v[0]), smoothing = (double)(float)t->c.v[1];
    if (!t->prepared) return;
    for (size_t r = 0; r < SIZE(0); r++) {
        const float *logits = FLOATS_OF(1) + r * cols;
        double low = (double)INFINITY, high = -(double)INFINITY;
        for (size_t c = 0; c < cols; c++) {
            low = fmin(low, (double)logits[c]);
            high = fmax(high, (double)logits[c]);
        }
        /* The difference of two logits is rounded. Where it is above 80, small gradients underflow. */
        const double error = 1e-6 + u * (high - low);
        const double scale =
            high - low < 80.0 ? 2.0 * largest(EXPECTED(0) + r * cols, cols) + smoothing * factor : factor;
        for (size_t c = r * cols; c < (r + 1) * cols; c++)
            expect_within("dlogits", c, (double)FLOATS_OF(0)[c], (double)EXPECTED(0)[c],
                          (isfinite(error) ? error : 1e-6) * scale + underflow_of(1.0));
    }
}

KERNEL(crossentropy_backward, gpt_crossentropy_backward(T5, S2, F(0), F(1), PARTS),
       gpt_crossentropy_backward_ref(T5, S2, F(0), F(1)), .sizes = "rc", .scalars = "fp",
       .outputs = "dlogits:rc", .inputs = "logits:rc targets:r max:r sum:r", .contents = {[2] = TARGETS},
       .may_be = {1}, .classes = 'c', .prepare = prepare_crossentropy, .judge = judge_crossentropy_backward,
       .has_parts = 1)

static void judge_mse_forward(const trial *t)
{
    if ((t->range[1] | t->range[2]) & HUGE_VALUES) return;
    for (size_t r = 0; r < SIZE(0); r++)
        expect_within("loss", r, (double)FLOATS_OF(0)[r], (double)EXPECTED(0)[r],
                      1e-6 * (double)EXPECTED(0)[r] + smallest);
}

KERNEL(mse_forward, gpt_mse_forward(T3, S2, PARTS), gpt_mse_forward_ref(T3, S2), .sizes = "rc",
       .outputs = "loss:r", .inputs = "x:rc target:rc", .judge = judge_mse_forward, .has_parts = 1)

/* ---- FeedForward: the bits of Linear, GELU and Linear ---- */

static size_t feedforward_scratch(const call *c) { return gpt_feedforward_scratch_size(S(0), S(1), S(2)); }

static void judge_feedforward(const trial *t)
{
    const size_t rows = SIZE(0), dim = SIZE(1), hidden = SIZE(2);
    if (rows * hidden > MOST_HIDDEN || gpt_linear_scratch_size(rows, dim) > MOST_SCRATCH ||
        gpt_linear_scratch_size(rows, hidden) > MOST_SCRATCH)
        return;
    expect_status(
        gpt_linear_forward(spare, scratch, t->c.t[2], t->c.t[3], t->c.t[4], rows, dim, hidden, 0, 1), GPT_OK);
    expect_status(gpt_gelu_forward(spare, spare, rows * hidden, (int)t->c.v[0], 0, 1), GPT_OK);
    expect_status(gpt_linear_forward(other, scratch, spare, t->c.t[5], t->c.t[6], rows, hidden, dim, 0, 1),
                  GPT_OK);
    expect_same("y", FLOATS_OF(0), other, t->n[0]);
}

KERNEL(feedforward_forward, gpt_feedforward_forward(T7, S3, I(0), PARTS),
       gpt_feedforward_forward_ref(T(0), hidden_of_ref, T(2), T(3), T(4), T(5), T(6), S3, I(0)),
       .sizes = "rdh", .scalars = "k", .outputs = "y:rd",
       .inputs = "x:rd weight1:hd bias1?:h weight2:dh bias2?:d", .scratch_size = feedforward_scratch,
       .judge = judge_feedforward, .has_parts = 1)

/* ---- Attention ---- */

/* Dropout multiplies what it keeps, and its error, by 1 / (1 - p). */
static double kept_factor(double p) { return p < 1.0 ? 1.0 / (1.0 - p) : 1.0; }

/* The largest finite value. */
static double largest_finite(const float *x, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) most = fmax(most, fabs((double)x[i]));
    return most;
}

/* The error of a weight relative to the weight: of softmax, and of scores, which are sums in float32 of
 * products of q and k up to `most`. */
static double error_of_scores(double size, double most)
{
    return 3e-6 + (size + 4.0) * u * most * most * sqrt(size);
}

static double error_of_weights(const trial *t, size_t qkv)
{
    return error_of_scores((double)SIZE(3), largest_finite(FLOATS_OF(qkv), t->n[qkv]));
}

static size_t attention_scratch(const call *c) { return gpt_attention_scratch_size(S(1), S(3)); }
static size_t attention_backward_scratch(const call *c)
{
    return gpt_attention_backward_scratch_size(S(1), S(3));
}

static void judge_attention_forward(const trial *t)
{
    const float *max = FLOATS_OF(1), *sum = FLOATS_OF(2);
    if (t->range[4] & ~(unsigned)(NOT_FINITE | MODERATE)) return;
    const double error = error_of_weights(t, 4), most = fmax(1.0, largest(FLOATS_OF(4), t->n[4]));
    for (size_t i = 0; i < t->n[0]; i++)
        expect_within("y", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      error * most * kept_factor((double)(float)t->c.v[1]));
    if (t->range[4] & NOT_FINITE) return;
    for (size_t i = 0; max && i < t->n[1]; i++)
        expect_within("max", i, (double)max[i], (double)EXPECTED(1)[i], error);
    for (size_t i = 0; sum && i < t->n[2]; i++)
        expect_within("sum", i, (double)sum[i], (double)EXPECTED(2)[i], 2.0 * error * (double)EXPECTED(2)[i]);
}

KERNEL(attention_forward, gpt_attention_forward(T5, S4, U(0), F(1), PARTS),
       gpt_attention_forward_ref(T3, T(4), S4, U(0), F(1)), .sizes = "bths", .scalars = "sp",
       .outputs = "y:bths max?:bht sum?:bht", .inputs = "qkv:bt3hs", .least = {0, 0, 0, 1},
       .scratch_size = attention_scratch, .judge = judge_attention_forward, .has_parts = 1)

static int attention_forward(const trial *t, float *y, float *max, float *sum, const float *qkv,
                             uint32_t seed, float p)
{
    if (gpt_attention_scratch_size(SIZE(1), SIZE(3)) > MOST_SCRATCH) return 0;
    expect_status(
        gpt_attention_forward(y, max, sum, scratch, qkv, SIZE(0), SIZE(1), SIZE(2), SIZE(3), seed, p, 0, 1),
        GPT_OK);
    return 1;
}

/* Room for the cached tokens, the new ones, and 0 to 2 more. */
static size_t capacity_of(const call *c)
{
    size_t n;
    if (__builtin_add_overflow(S(1), S(2), &n) || __builtin_add_overflow(n, (size_t)c->v[0], &n))
        return SIZE_MAX;
    return n;
}
static size_t attention_cached_scratch(const call *c)
{
    return gpt_attention_cached_scratch_size(S(1), S(2), S(3), S(4));
}
static size_t floats_of_heads(const call *c, size_t per_head)
{
    const size_t batch = S(0), heads = S(3), sizes_[3] = {batch, heads, per_head};
    size_t floats = 1;
    for (size_t i = 0; i < 3; i++)
        if (__builtin_mul_overflow(floats, sizes_[i] ? sizes_[i] : 1, &floats) || floats > MOST_ADDRESSABLE)
            return UNADDRESSABLE;
    return batch && heads ? floats : 0;
}
static size_t cache_count(const call *c, size_t which)
{
    (void)which;
    return floats_of_heads(c, gpt_attention_cache_size(capacity_of(c), S(4)));
}
static size_t attention_int8_scratch(const call *c)
{
    return gpt_attention_int8_scratch_size(S(1), S(2), S(3), S(4));
}
static size_t int8_cache_count(const call *c, size_t which)
{
    (void)which;
    return floats_of_heads(c, gpt_attention_int8_cache_size(capacity_of(c), S(4)));
}

/* The cache gets the bits of its reference; y is as exact as without a cache. Large scores make weights that
 * underflow, and 0 times infinity is NaN. */
static void judge_attention_cached(const trial *t)
{
    for (size_t i = 1; i <= 2; i++) expect_same(NAME(i), FLOATS_OF(i), EXPECTED(i), t->n[i]);
    const unsigned range = t->range[1] | t->range[2] | t->range[4];
    if (range != NOT_FINITE && range > MODERATE) return;
    double most = fmax(1.0, largest_finite(FLOATS_OF(4), t->n[4]));
    for (size_t i = 1; i <= 2; i++) most = fmax(most, largest_finite(FLOATS_OF(i), t->n[i]));
    for (size_t i = 0; i < t->n[0]; i++)
        expect_within("y", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      error_of_scores((double)SIZE(4), most) * most);
}

KERNEL(attention_cached_forward, gpt_attention_cached_forward(T5, S3, capacity_of(c), S(3), S(4), PARTS),
       gpt_attention_cached_forward_ref(T3, T(4), S3, capacity_of(c), S(3), S(4)), .sizes = "btphs",
       .scalars = "+", .outputs = "y:bths keys* values*", .inputs = "qkv:bt3hs", .least = {0, 0, 0, 0, 1},
       .scratch_size = attention_cached_scratch, .count = cache_count, .judge = judge_attention_cached,
       .has_parts = 1)

/* For `dot`: the sums of the keys' columns, and scales of values that are not negative. */
static void prepare_attention_int8(trial *t)
{
    const size_t size = SIZE(4), quads = (size + 3) / 4, panel = 128 * quads;
    const size_t piece = 32 * ((size + 31) / 32 * 32) + 128 + 64;
    if (t->c.v[1] == 0.0 || size > 256) return;
    for (size_t at = 0; at + piece <= t->n[1] * sizeof(float); at += piece)
        for (size_t j = 0; j < 32; j++) {
            int8_t *keys = (int8_t *)t->c.t[1] + at, *key = keys + j / 16 * (panel / 2) + j % 16 * 4;
            int16_t sum = 0;
            for (size_t c = 0; c < 4 * quads; c++) sum = (int16_t)(sum + key[c / 4 * 64 + c % 4]);
            memcpy(keys + panel + 128 + j * sizeof sum, &sum, sizeof sum);
            float *scale = (float *)(void *)((int8_t *)t->c.t[2] + at) + j;
            *scale = fabsf(*scale);
        }
}

/* The bound of gpt_layers.h. The cache holds any numbers here. A number may be read as a scale, and then the
 * largest key or value is 127 times as large. */
static void judge_attention_int8(const trial *t)
{
    for (size_t i = 1; i <= 2; i++) expect_same(NAME(i), FLOATS_OF(i), EXPECTED(i), t->n[i]);
    if (!t->prepared && t->c.v[1] != 0.0) return;
    if ((t->range[1] | t->range[2]) > MODERATE || t->range[4] & ~(unsigned)(NOT_FINITE | MODERATE)) return;
    const double size = (double)SIZE(4), most_q = fmax(1.0, largest_finite(FLOATS_OF(4), t->n[4]));
    double most = most_q;
    for (size_t i = 1; i <= 2; i++) most = fmax(most, 127.0 * largest_finite(FLOATS_OF(i), t->n[i]));
    const double score = most_q * most * sqrt(size) * (fmax(1.0, size / 2048.0) * 0x1p-14 + (size + 4.0) * u);
    for (size_t i = 0; i < t->n[0]; i++)
        expect_within("y", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      (0x1p-10 + 3e-6 + expm1(2.0 * score)) * most);
}

KERNEL(attention_int8_forward, gpt_attention_int8_forward(T5, S3, capacity_of(c), S(3), S(4), I(1), PARTS),
       gpt_attention_int8_forward_ref(T3, T(4), S3, capacity_of(c), S(3), S(4), I(1)), .sizes = "btphs",
       .scalars = "+D", .outputs = "y:bths keys* values*", .inputs = "qkv:bt3hs", .least = {0, 0, 0, 0, 1},
       .scratch_size = attention_int8_scratch, .count = int8_cache_count, .prepare = prepare_attention_int8,
       .judge = judge_attention_int8, .has_parts = 1)

static void prepare_attention_weights(trial *t)
{
    t->prepared = attention_forward(t, spare, t->c.t[3], t->c.t[4], t->c.t[2], 0, 0.0f);
}

static void judge_attention_weights(const trial *t)
{
    if (!t->prepared || t->range[2] & ~(unsigned)(NOT_FINITE | MODERATE)) return;
    const double error = error_of_weights(t, 2);
    for (size_t i = 0; i < t->n[0]; i++)
        expect_within("w", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i], error);
}

KERNEL(attention_weights, gpt_attention_weights(T5, S4, PARTS), gpt_attention_weights_ref(T(0), T(2), S4),
       .sizes = "bths", .outputs = "w:bhtt", .inputs = "qkv:bt3hs max:bht sum:bht", .least = {0, 0, 0, 1},
       .scratch_size = attention_scratch, .prepare = prepare_attention_weights,
       .judge = judge_attention_weights, .has_parts = 1)

static void prepare_attention_backward(trial *t)
{
    t->prepared = attention_forward(t, t->c.t[3], t->c.t[5], t->c.t[6], t->c.t[4], (uint32_t)t->c.v[0],
                                    (float)t->c.v[1]);
}

static void judge_attention_backward(const trial *t)
{
    if (!t->prepared || t->range[4] || t->range[2] > MODERATE) return;
    const double most = largest(EXPECTED(0), t->n[0]), error = 7e-6 + error_of_weights(t, 4);
    for (size_t i = 0; i < t->n[0]; i++)
        expect_within("dqkv", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      error * most + underflow_of(1.0));
}

KERNEL(attention_backward, gpt_attention_backward(T7, S4, U(0), F(1), PARTS),
       gpt_attention_backward_ref(T(0), sums_of_ref, T(2), T(4), S4, U(0), F(1)), .sizes = "bths",
       .scalars = "sp", .outputs = "dqkv:bt3hs", .inputs = "dy:bths y:bths qkv:bt3hs max:bht sum:bht",
       .least = {0, 0, 0, 1}, .scratch_size = attention_backward_scratch,
       .prepare = prepare_attention_backward, .judge = judge_attention_backward, .has_parts = 1)

/* ---- Optimizers: the error of each term, relative to that term ---- */

static void judge_sgd(const trial *t)
{
    const double lr = t->c.v[0], momentum = t->c.v[1], add = fabs(1.0 - t->c.v[2]), decay = t->c.v[3];
    const float *weight = BEFORE(0), *velocity = BEFORE(1), *grad = FLOATS_OF(2);
    for (size_t i = 0; i < t->n[0]; i++) {
        const double g = fabs((double)grad[i]) + decay * fabs((double)weight[i]);
        const double v = velocity ? momentum * fabs((double)velocity[i]) + add * g : 0.0;
        const double w = fabs((double)weight[i]) + lr * (velocity ? g + v : g);
        if (w + v + g > 1e38) continue;
        expect_within("weight", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      16.0 * u * w + 8.0 * smallest);
        if (velocity)
            expect_within("velocity", i, (double)FLOATS_OF(1)[i], (double)EXPECTED(1)[i],
                          8.0 * u * v + 8.0 * smallest);
    }
}

KERNEL(sgd_step, gpt_sgd_step(T3, S(0), D(0), D(1), D(2), D(3), I(4)),
       gpt_sgd_step_ref(T3, S(0), D(0), D(1), D(2), D(3), I(4)), .sizes = "n", .scalars = "lbblF",
       .outputs = "weight*:n velocity*?:n", .inputs = "grad:n", .judge = judge_sgd)

static void judge_adam(const trial *t)
{
    const double lr = t->c.v[0], beta1 = t->c.v[1], beta2 = t->c.v[2], eps = t->c.v[3],
                 correction1 = t->c.v[5], correction2 = t->c.v[6];
    const double l2 = t->c.v[7] == 0.0 ? t->c.v[4] : 0.0;
    for (size_t i = 0; i < t->n[0]; i++) {
        const double w = fabs((double)BEFORE(0)[i]),
                     g = fabs((double)FLOATS_OF(3)[i]) + (l2 == 0.0 ? 0.0 : l2 * w);
        const double m = beta1 * fabs((double)BEFORE(1)[i]) + (1.0 - beta1) * g,
                     v = beta2 * (double)BEFORE(2)[i] + (1.0 - beta2) * g * g;
        /* where grad and l2 · weight cancel, the square has few digits, and so has the step */
        const double square = l2 == 0.0 ? v : fmax(0.0, (double)EXPECTED(2)[i] - 8.0 * u * v);
        const double step = lr / correction1 * m / (sqrt(square / correction2) + eps);
        const double lost = square == v || step == 0.0 ? 1.0 : v / square;
        if (w + m + v + g * g + lr / correction1 * m > 1e37) continue;
        expect_within("mean", i, (double)FLOATS_OF(1)[i], (double)EXPECTED(1)[i],
                      8.0 * u * m + 4.0 * smallest);
        expect_within("square", i, (double)FLOATS_OF(2)[i], (double)EXPECTED(2)[i],
                      8.0 * u * v + 4.0 * smallest);
        /* in a denormal the mean and the square have few digits */
        const double underflow = 4.0 * smallest * fmax(1.0, lr / correction1) / eps;
        expect_within("weight", i, (double)FLOATS_OF(0)[i], (double)EXPECTED(0)[i],
                      8.0 * u * w + 32.0 * u * lost * step + underflow +
                          (v < 1e-36 ? 1e-18 / eps * step : 0.0) + smallest);
    }
}

KERNEL(adam_step, gpt_adam_step(T4, S(0), D(0), D(1), D(2), D(3), D(4), D(5), D(6), I(7)),
       gpt_adam_step_ref(T4, S(0), D(0), D(1), D(2), D(3), D(4), D(5), D(6), I(7)), .sizes = "n",
       .scalars = "lbbElccF", .outputs = "weight*:n mean*:n square*:n", .inputs = "grad:n",
       .contents = {[2] = POSITIVES}, .judge = judge_adam)

/* ---- Random numbers ---- */

static gpt_random state_before(const trial *t, size_t i)
{
    gpt_random random;
    memcpy(&random, t->before[i], sizeof random);
    return random;
}

static void expect_state(const trial *t, size_t i, const gpt_random *expected)
{
    const gpt_random *random = t->c.t[i];
    expect(memcmp(random->state, expected->state, sizeof random->state) == 0 &&
               random->next == expected->next,
           "expected other draws from the generator");
}

/* The weight, then the bias, from -1/√in to 1/√in. Without a bias nothing more is drawn. */
static void judge_linear_init(const trial *t)
{
    gpt_random random = state_before(t, 2);
    const float bound = (float)(1.0 / sqrt((double)SIZE(0)));
    for (size_t i = 0; i < 2; i++) {
        if (!t->c.t[i]) continue;
        expect_status(gpt_random_uniform(other, &random, t->n[i], -bound, bound), GPT_OK);
        expect_close(NAME(i), FLOATS_OF(i), other, t->n[i], 1e-7);
    }
    expect_state(t, 2, &random);
}

KERNEL(linear_init, gpt_linear_init(T3, S2), NO_REFERENCE, .sizes = "io",
       .outputs = "weight:oi bias?:o random*:", .contents = {[2] = STATE}, .least = {1, 0},
       .judge = judge_linear_init)

static void judge_uniform(const trial *t)
{
    for (size_t i = 0; i < t->n[0]; i++)
        expect(FLOATS_OF(0)[i] >= (float)t->c.v[0] && FLOATS_OF(0)[i] <= (float)t->c.v[1],
               "y[%zu]: expected %g to %g, got %g", i, t->c.v[0], t->c.v[1], (double)FLOATS_OF(0)[i]);
    gpt_random random = state_before(t, 1);
    expect_status(gpt_random_words((uint32_t *)(void *)other, &random, t->n[0]), GPT_OK);
    expect_state(t, 1, &random);
}

KERNEL(random_uniform, gpt_random_uniform(T2, S(0), F(0), F(1)), NO_REFERENCE, .sizes = "n", .scalars = "<>",
       .outputs = "y:n random*:", .contents = {[1] = STATE}, .judge = judge_uniform)

/* Box-Muller of 53 random bits gives at most √(-2 log 2^-53) = 8.6 deviations. */
static void judge_normal(const trial *t)
{
    const double mean = t->c.v[0], most = 8.6 * t->c.v[1] + 1e-7 * fabs(mean);
    for (size_t i = 0; i < t->n[0]; i++) expect_within("y", i, (double)FLOATS_OF(0)[i], mean, most);
}

KERNEL(random_normal, gpt_random_normal(T2, S(0), D(0), D(1)), NO_REFERENCE, .sizes = "n", .scalars = "md",
       .outputs = "y:n random*:", .contents = {[1] = STATE}, .judge = judge_normal)

static void judge_nothing(const trial *t) { (void)t; }

KERNEL(random_seed, gpt_random_seed(T(0), U(0)), NO_REFERENCE, .sizes = "", .scalars = "s",
       .outputs = "random:", .contents = {[0] = STATE}, .judge = judge_nothing)

KERNEL(random_words, gpt_random_words(T2, S(0)), NO_REFERENCE, .sizes = "n",
       .outputs = "words:n random*:", .contents = {[0] = INTEGERS, [1] = STATE}, .judge = judge_nothing)

/* ---- The bits of the reference ---- */

KERNEL(relu_forward, gpt_relu_forward(T2, S(0), PARTS), gpt_relu_forward_ref(T2, S(0)), .sizes = "n",
       .outputs = "y:n", .inputs = "x:n", .may_be = {1}, .has_parts = 1)
KERNEL(relu_backward, gpt_relu_backward(T3, S(0), PARTS), gpt_relu_backward_ref(T3, S(0)), .sizes = "n",
       .outputs = "dx:n", .inputs = "dy:n x:n", .may_be = {1}, .has_parts = 1)
KERNEL(dropout_forward, gpt_dropout_forward(T2, S(0), U(0), F(1), PARTS),
       gpt_dropout_forward_ref(T2, S(0), U(0), F(1)), .sizes = "n", .scalars = "sp", .outputs = "y:n",
       .inputs = "x:n", .may_be = {1}, .has_parts = 1)
KERNEL(embedding_forward, gpt_embedding_forward(T3, S3, PARTS), gpt_embedding_forward_ref(T3, S(0), S(2)),
       .sizes = "rnd", .outputs = "y:rd", .inputs = "indices:r weight:nd", .contents = {[1] = INDICES},
       .classes = 'n', .has_parts = 1)
KERNEL(max, gpt_max(T3, S2), gpt_max_ref(T3, S2), .sizes = "rc", .outputs = "max?:r indices?:r",
       .inputs = "x:rc", .contents = {[1] = INTEGERS}, .least = {0, 1}, .most = {0, INT32_MAX})
KERNEL(sqrt, gpt_sqrt(T2, S(0)), gpt_sqrt_ref(T2, S(0)), .sizes = "n", .outputs = "y:n", .inputs = "x:n",
       .may_be = {1})
KERNEL(int8_embedding_forward, gpt_int8_embedding_forward(T3, S3, GROUP, I(1), PARTS),
       gpt_int8_embedding_forward_ref(T(0), T(1), (int8_weight){S(1), S(2), GROUP, I(1), T(2)}, S(0)),
       .sizes = "rnd", .scalars = "gD", .outputs = "y:rd", .inputs = "indices:r quantized",
       .contents = {[1] = INDICES}, .classes = 'n', .count = int8_embedding_count, .has_parts = 1)
KERNEL(abs, gpt_abs(T2, S(0), PARTS), gpt_abs_ref(T2, S(0)), .sizes = "n", .outputs = "y:n", .inputs = "x:n",
       .may_be = {1}, .has_parts = 1)
KERNEL(abs_backward, gpt_abs_backward(T3, S(0), PARTS), gpt_abs_backward_ref(T3, S(0)), .sizes = "n",
       .outputs = "dx:n", .inputs = "dy:n x:n", .may_be = {1}, .has_parts = 1)

/* Elements of an operand of gpt_add or gpt_where, up to the last one that is read. */
static size_t operand_count(const call *c, size_t which)
{
    const size_t rows = S(0), cols = S(1), row = S(2 * which), col = S(2 * which + 1);
    size_t n, last = col ? cols : 1;
    /* in the rule for what is addressable, a size of 0 counts as 1 */
    if (__builtin_mul_overflow(rows ? rows : 1, row ? row : 1, &n) || n > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    if (__builtin_add_overflow((rows ? rows - 1 : 0) * row, last, &n) || n > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    return rows && cols ? n : 0;
}

/* The steps of the operands: whole, a repeated row, a repeated column, or rows that overlap or have gaps. */
static void choose_steps(call *c, uint32_t random)
{
    for (size_t k = 2; k < MOST_SIZES; k += 2, random >>= 8) {
        const size_t rows[8] = {S(1), S(1), S(1), 0, 0, 1, S(1) + 3, 2};
        c->s[k] = rows[random % 8];
        c->s[k + 1] = random / 8 % 4 != 0;
    }
}

#define ARITHMETIC(name, sign)                                                                               \
    KERNEL(name, gpt_##name(T3, S6), gpt_arithmetic_ref(sign, T3, S6), .sizes = "rcabxy", .outputs = "y:rc", \
           .inputs = "a b", .may_be = {1, 2}, .count = operand_count, .choose = choose_steps)
ARITHMETIC(add, '+')
ARITHMETIC(sub, '-')
ARITHMETIC(mul, '*')
ARITHMETIC(div, '/')
ARITHMETIC(maximum, '^')
ARITHMETIC(minimum, 'v')
ARITHMETIC(eq, '=')
ARITHMETIC(ne, '!')
ARITHMETIC(lt, '<')
ARITHMETIC(le, '{')
KERNEL(where, gpt_where(T4, S8), gpt_where_ref(T4, S8), .sizes = "rckmabxy", .outputs = "y:rc",
       .inputs = "condition a b", .may_be = {2, 3}, .count = operand_count, .choose = choose_steps)
KERNEL(clamp, gpt_clamp(T2, S(0), F(0), F(1), PARTS), gpt_clamp_ref(T2, S(0), F(0), F(1)), .sizes = "n",
       .scalars = "vv", .outputs = "y:n", .inputs = "x:n", .may_be = {1}, .has_parts = 1)
KERNEL(clamp_backward, gpt_clamp_backward(T3, S(0), F(0), F(1), PARTS),
       gpt_clamp_backward_ref(T3, S(0), F(0), F(1)), .sizes = "n", .scalars = "vv", .outputs = "dx:n",
       .inputs = "dy:n x:n", .may_be = {1}, .has_parts = 1)
