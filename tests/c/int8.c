#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* A weight [out, in] as int8. */
typedef struct int8_weight {
    size_t out, in, group;
    int8_t *values;
    float *scales;
} int8_weight;

/* int8 buffers are made of floats, so that they have guards. */
static int8_t *int8_output(const char *name, size_t n)
{
    return (int8_t *)(void *)output(name, n / 4 + (n % 4 != 0));
}

static void expect_same_int8(const char *name, const int8_t *got, const int8_t *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        expect(got[i] == expected[i], "%s[%zu] = %d, expected %d", name, i, got[i], expected[i]);
}

static int8_weight weight_output(size_t out, size_t in, size_t group)
{
    return (int8_weight){out, in, group, int8_output("values", gpt_int8_values_size(out, in)),
                         output("scales", gpt_int8_scales_size(out, in, group))};
}

/* Quantizes a whole weight in PyTorch's layout. */
static int8_weight quantized(const float *weight, size_t out, size_t in, size_t group)
{
    const int8_weight q = weight_output(out, in, group);
    expect_status(gpt_int8_quantize(q.values, q.scales, weight, out, in, group, 0, in, in, 1), GPT_OK);
    return q;
}

static size_t groups_of(size_t in, size_t group) { return (in + group - 1) / group; }

/* The layout, as gpt_layers.h has it. */
static int8_t value_of(int8_weight q, size_t o, size_t i)
{
    const int8_t byte = q.values[(o / 8 * ((q.in + 1) / 2) + i / 2) * 16 + o % 4 * 4 + i % 2 * 2 + o % 8 / 4];
    return (int8_t)(o % 8 < 4 ? byte ^ -128 : byte);
}

static float scale_of(int8_weight q, size_t o, size_t k)
{
    return q.scales[(o / 8 * groups_of(q.in, q.group) + k) * 8 + o % 8];
}

static float weight_of(int8_weight q, size_t o, size_t i)
{
    return scale_of(q, o, i / q.group) * (float)value_of(q, o, i);
}

enum { SHAPES = 10, GROUPS = 5 };
static const size_t shapes[SHAPES][2] = {{1, 1},  {1, 7},  {8, 2},   {3, 5},  {9, 16},
                                         {16, 3}, {7, 33}, {17, 70}, {8, 64}, {13, 769}};
static const size_t groups[GROUPS] = {2, 6, 32, 256, 4096};

/* ---- Sizes ---- */

static void sizes_count_whole_blocks(void)
{
    expect(gpt_int8_values_size(1, 1) == 16 && gpt_int8_scales_size(1, 1, 2) == 8, "1 x 1 is one block");
    expect(gpt_int8_values_size(9, 3) == 64 && gpt_int8_scales_size(9, 3, 2) == 32, "9 x 3 is 2 x 2 blocks");
    expect(gpt_int8_values_size(16, 64) == 1024 && gpt_int8_scales_size(16, 64, 64) == 16, "no padding");
    expect(gpt_int8_values_size(0, 5) == 0 && gpt_int8_values_size(5, 0) == 0, "no elements, no bytes");
    expect(gpt_int8_scales_size(5, 0, 2) == 0, "no inputs, no scales");
    expect(gpt_int8_scales_size(8, 768, SIZE_MAX - 1) == 8, "a group larger than in");
    expect(gpt_int8_values_size(HUGE_SIZE, 1) == SIZE_MAX && gpt_int8_values_size(1, HUGE_SIZE) == SIZE_MAX &&
               gpt_int8_values_size(SIZE_MAX / 8, 8) == SIZE_MAX,
           "sizes that are not addressable");
    expect(gpt_int8_scales_size(8, 8, 0) == SIZE_MAX && gpt_int8_scales_size(8, 8, 3) == SIZE_MAX,
           "an odd group");
    expect(gpt_int8_linear_scratch_size(64, 768) == gpt_int8_linear_scratch_size(1000, 768),
           "as much scratch for 1000 rows as for 64");
    expect(gpt_int8_linear_scratch_size(HUGE_SIZE, 4) == SIZE_MAX, "rows that are not addressable");
}

/* ---- Quantize ---- */

static void expect_quantized(int8_weight q, const float *weight)
{
    for (size_t o = 0; o < q.out; o++)
        for (size_t i = 0; i < q.in; i++) {
            const size_t first = i / q.group * q.group;
            float most = 0.0f;
            for (size_t j = first; j < first + q.group && j < q.in; j++)
                most = fmaxf(most, fabsf(weight[o * q.in + j]));
            const float scale = scale_of(q, o, i / q.group), quotient = weight[o * q.in + i] / scale;
            const float nearest = scale > 0.0f ? rintf(quotient) : 0.0f;
            expect(scale == most / 127.0f, "scale of %zu, %zu is %.9g", o, i, (double)scale);
            expect((float)value_of(q, o, i) == fminf(fmaxf(nearest, -127.0f), 127.0f),
                   "value of %zu, %zu is %d for %.9g", o, i, value_of(q, o, i), (double)quotient);
        }
    for (size_t o = 0; o < (q.out + 7) / 8 * 8; o++)
        for (size_t i = 0; i < (q.in + 1) / 2 * 2; i++)
            if (o >= q.out || i >= q.in) expect(value_of(q, o, i) == 0, "padding of %zu, %zu is not 0", o, i);
    for (size_t o = q.out; o < (q.out + 7) / 8 * 8; o++)
        for (size_t k = 0; k < groups_of(q.in, q.group); k++)
            expect(scale_of(q, o, k) == 0.0f, "padding of scale %zu, %zu is not 0", o, k);
}

static void quantize_is_exact(void)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t g = 0; g < GROUPS; g++) {
            const size_t out = shapes[s][0], in = shapes[s][1];
            in_case("%zu x %zu, group %zu", out, in, groups[g]);
            const float *weight = random_input("weight", out * in, -2.0f, 2.0f);
            expect_quantized(quantized(weight, out, in, groups[g]), weight);
            end_case();
        }
}

static void quantize_rounds_to_even(void)
{
    static const float weight[10] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.5f, 0.4999f, 1.0f, -127.0f};
    static const int8_t expected[10] = {127, 0, 2, 2, 0, -2, -126, 0, 1, -127};
    const int8_weight q = quantized(weight, 1, 10, 10);
    for (size_t i = 0; i < 10; i++)
        expect(value_of(q, 0, i) == expected[i], "value %zu is %d", i, value_of(q, 0, i));
    end_case();
}

static void quantize_extremes(void)
{
    static const float rows[7][2] = {{0.0f, -0.0f},         {1e-45f, -1e-45f},   {1e-43f, -3e-44f},
                                     {2.5e-43f, -2.5e-43f}, /* the scale is 1e-45 */
                                     {3.4e38f, 1e-30f},     {-3.4e38f, 3.3e38f}, {1e-38f, -1e-38f}};
    for (size_t k = 0; k < 7; k++) {
        in_case("%g and %g", (double)rows[k][0], (double)rows[k][1]);
        expect_quantized(quantized(rows[k], 1, 2, 2), rows[k]);
        end_case();
    }
}

/* The last two arguments of gpt_int8_quantize, by whether the float32 weight is [in, out]. */
static size_t out_step(int8_weight q, int is_transposed) { return is_transposed ? 1 : q.in; }
static size_t in_step(int8_weight q, int is_transposed) { return is_transposed ? q.out : 1; }

/* A weight in slabs of outputs, and of inputs, from either order of the float32 weight. */
static void quantize_in_slabs(void)
{
    enum { OUT = 29, IN = 21, GROUP = 6 };
    const float *weight = random_input("weight", OUT * IN, -2.0f, 2.0f);
    float *transposed = work(OUT * IN);
    for (size_t o = 0; o < OUT; o++)
        for (size_t i = 0; i < IN; i++) transposed[i * OUT + o] = weight[o * IN + i];
    const int8_weight whole = quantized(weight, OUT, IN, GROUP);
    for (int is_transposed = 0; is_transposed <= 1; is_transposed++) {
        const int8_weight q = weight_output(OUT, IN, GROUP);
        const size_t o_step = out_step(q, is_transposed), i_step = in_step(q, is_transposed);
        for (size_t o = 0; o < OUT; o += 16)
            for (size_t i = 0; i < IN; i += 12) {
                const size_t outs = o + 16 < OUT ? 16 : OUT - o, ins = i + 12 < IN ? 12 : IN - i;
                const float *slab = (is_transposed ? transposed : weight) + o * o_step + i * i_step;
                expect_status(gpt_int8_quantize(q.values + gpt_int8_values_size(o, IN),
                                                q.scales + gpt_int8_scales_size(o, IN, GROUP), slab, outs, IN,
                                                GROUP, i, ins, o_step, i_step),
                              GPT_OK);
            }
        expect_same_int8("values", q.values, whole.values, gpt_int8_values_size(OUT, IN));
        expect_same("scales", q.scales, whole.scales, gpt_int8_scales_size(OUT, IN, GROUP));
    }
    end_case();
}

static int quantize(int8_t *values, float *scales, const float *weight, size_t group)
{
    return gpt_int8_quantize(values, scales, weight, 9, 6, group, 0, 6, 6, 1);
}

static int quantize_slab(int8_weight q, const float *weight, size_t first_in, size_t ins, size_t o_step,
                         size_t i_step)
{
    return gpt_int8_quantize(q.values, q.scales, weight, q.out, q.in, q.group, first_in, ins, o_step, i_step);
}

static void quantize_refuses(void)
{
    const int8_weight q = weight_output(9, 6, 4);
    float *weight = work(9 * 6);
    fill_random(weight, 9 * 6, -1.0f, 1.0f);
    expect_refused(quantize(NULL, q.scales, weight, 4), GPT_ERR_NULL);
    expect_refused(quantize(q.values, NULL, weight, 4), GPT_ERR_NULL);
    expect_refused(quantize(q.values, q.scales, NULL, 4), GPT_ERR_NULL);
    expect_refused(quantize(q.values, q.scales, weight, 0), GPT_ERR_VALUE);
    expect_refused(quantize(q.values, q.scales, weight, 3), GPT_ERR_VALUE);
    expect_refused(quantize_slab(q, weight, 2, 4, 6, 1), GPT_ERR_VALUE);
    expect_refused(quantize_slab(q, weight, 0, 5, 6, 1), GPT_ERR_VALUE);
    expect_refused(quantize_slab(q, weight, 8, 0, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, 4, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, SIZE_MAX, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, SIZE_MAX - 3, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 0, 6, HUGE_SIZE, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 0, 6, 6, HUGE_SIZE), GPT_ERR_SIZE);
    expect_refused(gpt_int8_quantize(q.values, q.scales, weight, HUGE_SIZE, 6, 4, 0, 6, 6, 1), GPT_ERR_SIZE);
    expect_refused(gpt_int8_quantize(q.values, q.scales, weight, 9, HUGE_SIZE, 4, 0, 4, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, 0, 6, 1), GPT_OK);
    expect_refused(gpt_int8_quantize(q.values, q.scales, weight, 0, 6, 4, 0, 6, 6, 1), GPT_OK);
    static const float bad[3] = {INFINITY, -INFINITY, NAN};
    for (size_t position = 0; position < 9 * 6; position++) {
        const float before = weight[position];
        weight[position] = bad[position % 3];
        expect_refused(quantize(q.values, q.scales, weight, 4), GPT_ERR_VALUE);
        weight[position] = before;
    }
    end_case();
}

/* ---- From and to rows of outputs ---- */

static void pack_and_unpack(void)
{
    for (size_t s = 0; s < SHAPES; s++) {
        const size_t out = shapes[s][0], in = shapes[s][1];
        in_case("%zu x %zu", out, in);
        int8_t *plain = int8_output("plain", out * in), *back = int8_output("back", out * in);
        for (size_t i = 0; i < out * in; i++) plain[i] = (int8_t)((int)random_below(256) - 128);
        const int8_weight q = weight_output(out, in, 2), slabs = weight_output(out, in, 2);
        expect_status(gpt_int8_pack(q.values, plain, out, in), GPT_OK);
        for (size_t o = 0; o < (out + 7) / 8 * 8; o++)
            for (size_t i = 0; i < (in + 1) / 2 * 2; i++)
                expect(value_of(q, o, i) == (o < out && i < in ? plain[o * in + i] : (int8_t)0),
                       "value of %zu, %zu is %d", o, i, value_of(q, o, i));
        for (size_t o = 0; o < out; o += 8)
            expect_status(gpt_int8_pack(slabs.values + gpt_int8_values_size(o, in), plain + o * in,
                                        o + 8 < out ? 8 : out - o, in),
                          GPT_OK);
        expect_same_int8("in slabs", slabs.values, q.values, gpt_int8_values_size(out, in));
        expect_status(gpt_int8_unpack(back, q.values, out, in), GPT_OK);
        expect_same_int8("back", back, plain, out * in);
        end_case();
    }
}

static void dequantize_is_exact(void)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t g = 0; g < GROUPS; g++) {
            const size_t out = shapes[s][0], in = shapes[s][1];
            in_case("%zu x %zu, group %zu", out, in, groups[g]);
            const float *weight = random_input("weight", out * in, -2.0f, 2.0f);
            const int8_weight q = quantized(weight, out, in, groups[g]);
            float *got = output("weight", out * in);
            expect_status(gpt_int8_dequantize(got, q.values, q.scales, out, in, groups[g]), GPT_OK);
            for (size_t o = 0; o < out; o++)
                for (size_t i = 0; i < in; i++) {
                    const float expected = weight_of(q, o, i);
                    expect_same("weight", got + o * in + i, &expected, 1);
                    /* half a step, and the roundings of scale, quotient and product */
                    expect_within("weight", o * in + i, (double)expected, (double)weight[o * in + i],
                                  0.5001 * (double)scale_of(q, o, i / groups[g]));
                }
            end_case();
        }
}

static void pack_unpack_and_dequantize_refuse(void)
{
    const int8_weight q = weight_output(9, 6, 4);
    int8_t *plain = int8_output("plain", 9 * 6);
    float *weight = output("weight", 9 * 6);
    expect_refused(gpt_int8_pack(NULL, plain, 9, 6), GPT_ERR_NULL);
    expect_refused(gpt_int8_pack(q.values, NULL, 9, 6), GPT_ERR_NULL);
    expect_refused(gpt_int8_pack(q.values, plain, HUGE_SIZE, 6), GPT_ERR_SIZE);
    expect_refused(gpt_int8_pack(q.values, plain, 9, HUGE_SIZE), GPT_ERR_SIZE);
    expect_refused(gpt_int8_unpack(NULL, q.values, 9, 6), GPT_ERR_NULL);
    expect_refused(gpt_int8_unpack(plain, NULL, 9, 6), GPT_ERR_NULL);
    expect_refused(gpt_int8_unpack(plain, q.values, HUGE_SIZE, 6), GPT_ERR_SIZE);
    expect_refused(gpt_int8_unpack(plain, q.values, 0, 6), GPT_OK);
    expect_refused(gpt_int8_dequantize(NULL, q.values, q.scales, 9, 6, 4), GPT_ERR_NULL);
    expect_refused(gpt_int8_dequantize(weight, NULL, q.scales, 9, 6, 4), GPT_ERR_NULL);
    expect_refused(gpt_int8_dequantize(weight, q.values, NULL, 9, 6, 4), GPT_ERR_NULL);
    expect_refused(gpt_int8_dequantize(weight, q.values, q.scales, 9, 6, 5), GPT_ERR_VALUE);
    expect_refused(gpt_int8_dequantize(weight, q.values, q.scales, 9, HUGE_SIZE, 4), GPT_ERR_SIZE);
}

/* ---- Linear ---- */

/* A weight of random values and scales, padding included. */
static int8_weight random_weight(size_t out, size_t in, size_t group)
{
    const float *weight = random_input("weight", out * in, -2.0f, 2.0f);
    return quantized(weight, out, in, group);
}

static void forward(float *y, const float *x, int8_weight q, const float *bias, size_t rows, size_t parts)
{
    float *scratch = output("scratch", parts * gpt_int8_linear_scratch_size(rows, q.in));
    for (size_t part = 0; part < parts; part++)
        expect_status(gpt_int8_linear_forward(y, scratch, x, q.values, q.scales, bias, rows, q.in, q.out,
                                              q.group, part, parts),
                      GPT_OK);
}

/* The bound of gpt_layers.h, for row r and output o. Products of float32 that underflow add a little. */
static double bound_of(const float *x_r, int8_weight q, const float *bias, size_t o)
{
    double rounding = 0.0, magnitude = bias ? fabs((double)bias[o]) : 0.0;
    size_t runs = 0;
    for (size_t i = 0, end; i < q.in; i = end, runs++) {
        end = i / q.group * q.group + q.group;
        if (end > i + 128) end = i + 128;
        if (end > q.in) end = q.in;
        double most = 0.0, weights = 0.0;
        for (size_t j = i; j < end; j++) {
            most = fmax(most, fabs((double)x_r[j]));
            weights += fabs((double)weight_of(q, o, j));
            magnitude += fabs((double)x_r[j] * (double)weight_of(q, o, j));
        }
        rounding += fmax(most / 65534.0, most < 0x1p-100 ? most : 0.0) * weights;
    }
    const double k = (double)runs + 10.0, u = 0x1p-24;
    return rounding + k * u / (1.0 - k * u) * magnitude + (double)runs * 0x1p-149;
}

static void expect_forward(const float *x, int8_weight q, const float *bias, size_t rows)
{
    float *y = output("y", rows * q.out), *expected = output("expected", rows * q.out);
    float *scratch = output("scratch", gpt_int8_linear_scratch_size(rows, q.in));
    forward(y, x, q, bias, rows, 1);
    expect_status(gpt_int8_linear_forward_ref(expected, scratch, x, q.values, q.scales, bias, rows, q.in,
                                              q.out, q.group),
                  GPT_OK);
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < q.out; o++)
            expect_within("y", r * q.out + o, (double)y[r * q.out + o], (double)expected[r * q.out + o],
                          bound_of(x + r * q.in, q, bias, o));
}

static void forward_agrees(void)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t g = 0; g < GROUPS; g++)
            for (size_t k = 0; k < ROW_COUNTS; k++) {
                const size_t out = shapes[s][0], in = shapes[s][1], rows = row_counts[k];
                in_case("%zu rows, %zu -> %zu, group %zu", rows, in, out, groups[g]);
                const float *x = random_input("x", rows * in, -4.0f, 4.0f);
                const float *bias = random_below(2) ? random_input("bias", out, -1.0f, 1.0f) : NULL;
                expect_forward(x, random_weight(out, in, groups[g]), bias, rows);
                end_case();
            }
}

/* One activation is a million times the others: it coarsens its own run alone. */
static void forward_with_outliers(void)
{
    enum { ROWS = 5, IN = 300, OUT = 9 };
    for (size_t position = 0; position < IN; position += 37) {
        in_case("outlier at %zu", position);
        float *x = work(ROWS * IN);
        fill_random(x, ROWS * IN, -1.0f, 1.0f);
        for (size_t r = 0; r < ROWS; r++) x[r * IN + position] = r % 2 ? 1e6f : -1e6f;
        expect_forward(x, random_weight(OUT, IN, 64), NULL, ROWS);
        end_case();
    }
}

/* Integers up to 127 times a power of two are exact in int16 where 32767 is among them. */
static void forward_of_integers_is_exact(void)
{
    enum { ROWS = 3, IN = 256, OUT = 10 };
    float *x = work(ROWS * IN), *weight = work(OUT * IN), expected[ROWS * OUT] = {0.0f};
    for (size_t i = 0; i < ROWS * IN; i++) x[i] = i % 128 == 0 ? 32767.0f : (float)random_below(15) - 7.0f;
    for (size_t i = 0; i < OUT * IN; i++)
        weight[i] = i % 64 == 0 ? 127.0f : (float)random_below(255) - 127.0f;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t o = 0; o < OUT; o++)
            for (size_t i = 0; i < IN; i++) expected[r * OUT + o] += x[r * IN + i] * weight[o * IN + i];
    float *y = output("y", ROWS * OUT);
    forward(y, x, quantized(weight, OUT, IN, 64), NULL, ROWS, 1);
    expect_same("y", y, expected, ROWS * OUT);
}

/* The largest values and activations, all of one sign, fill the integer sums. */
static void forward_does_not_overflow(void)
{
    enum { IN = 4096 };
    for (int sign = -1; sign <= 1; sign += 2) {
        in_case("sign %d", sign);
        const int8_weight q = weight_output(8, IN, IN);
        int8_t *plain = int8_output("plain", 8 * IN);
        memset(plain, -128, 8 * IN);
        expect_status(gpt_int8_pack(q.values, plain, 8, IN), GPT_OK);
        for (size_t o = 0; o < 8; o++) q.scales[o] = 1.0f;
        float *x = work(IN), *y = output("y", 8);
        for (size_t i = 0; i < IN; i++) x[i] = (float)sign;
        forward(y, x, q, NULL, 1, 1);
        for (size_t o = 0; o < 8; o++)
            expect_within("y", o, (double)y[o], sign * -128.0 * IN, 1e-5 * 128.0 * IN);
        end_case();
    }
}

static void rows_are_independent(void)
{
    enum { ROWS = 70, IN = 75, OUT = 19 };
    const float *x = random_input("x", ROWS * IN, -4.0f, 4.0f),
                *bias = random_input("bias", OUT, -1.0f, 1.0f);
    const int8_weight q = random_weight(OUT, IN, 32);
    float *whole = output("whole", ROWS * OUT), *y = work(ROWS * OUT);
    float *scratch = work(gpt_int8_linear_scratch_size(ROWS, IN));
    forward(whole, x, q, bias, ROWS, 1);
    for (size_t rows = 1; rows <= 9; rows++)
        for (size_t r = 0; r + rows <= ROWS; r += rows) {
            in_case("%zu rows from %zu on", rows, r);
            expect_status(gpt_int8_linear_forward(y, scratch, x + r * IN, q.values, q.scales, bias, rows, IN,
                                                  OUT, q.group, 0, 1),
                          GPT_OK);
            expect_same("y", y, whole + r * OUT, rows * OUT);
        }
    end_case();
}

static void forward_in_parts(void)
{
    static const size_t rows_of[7] = {1, 2, 5, 8, 64, 129, 200};
    enum { IN = 35, OUT = 43 };
    for (size_t k = 0; k < 7; k++) {
        const size_t rows = rows_of[k];
        const float *x = random_input("x", rows * IN, -4.0f, 4.0f);
        const int8_weight q = random_weight(OUT, IN, 8);
        float *whole = output("whole", rows * OUT);
        forward(whole, x, q, NULL, rows, 1);
        for (size_t parts = 2; parts <= 7; parts++) {
            in_case("%zu rows in %zu parts", rows, parts);
            float *y = output("y", rows * OUT);
            forward(y, x, q, NULL, rows, parts);
            expect_same("y", y, whole, rows * OUT);
        }
        end_case();
    }
}

/* The hash of y, FNV-1a (Fowler, Noll, Vo), is a constant: every build and machine computes these bits. */
static void forward_has_the_same_bits_everywhere(void)
{
    enum { ROWS = 6, IN = 200, OUT = 21 };
    const float *x = random_input("x", ROWS * IN, -4.0f, 4.0f),
                *bias = random_input("bias", OUT, -1.0f, 1.0f);
    const int8_weight q = random_weight(OUT, IN, 48);
    float *y = output("y", ROWS * OUT);
    forward(y, x, q, bias, ROWS, 1);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < ROWS * OUT; i++) {
        uint32_t bits;
        memcpy(&bits, y + i, sizeof bits);
        hash = (hash ^ bits) * 16777619u;
    }
    expect(hash == 0xb679cbd8u, "the hash of y is 0x%08x", (unsigned)hash);
}

static void forward_of_specials(void)
{
    enum { ROWS = 5, IN = 21, OUT = 9 };
    const float *bias = random_input("bias", OUT, -1.0f, 1.0f);
    const int8_weight q = random_weight(OUT, IN, 8);
    float *x = work(ROWS * IN), *y = work(ROWS * OUT), *expected = work(ROWS * OUT);
    float *scratch = work(gpt_int8_linear_scratch_size(ROWS, IN));
    for (size_t k = 0; k < ROWS * IN * SPECIALS; k++) {
        const size_t position = k / SPECIALS, row = position / IN;
        const float special = specials[k % SPECIALS];
        in_case("x[%zu] = %g", position, (double)special);
        fill_random(x, ROWS * IN, -0.5f, 0.5f);
        x[position] = special;
        expect_status(
            gpt_int8_linear_forward(y, scratch, x, q.values, q.scales, bias, ROWS, IN, OUT, q.group, 0, 1),
            GPT_OK);
        expect_status(gpt_int8_linear_forward_ref(expected, scratch, x, q.values, q.scales, bias, ROWS, IN,
                                                  OUT, q.group),
                      GPT_OK);
        for (size_t i = 0; i < ROWS * OUT; i++) {
            if (isfinite(special) && fabsf(special) > 2e34f && i / OUT == row) continue; /* may overflow */
            expect_within("y", i, (double)y[i], (double)expected[i],
                          isfinite(special) || i / OUT != row ? bound_of(x + i / OUT * IN, q, bias, i % OUT)
                                                              : 0.0);
            if (!isfinite(special) && i / OUT == row) expect(isnan(y[i]), "y[%zu] is not NaN", i);
        }
    }
    end_case();
}

static void forward_of_tiny_rows(void)
{
    static const float most[5] = {0x1p-99f, 0x1p-101f, 0x1p-126f, 1e-40f, 1e-45f};
    for (size_t k = 0; k < 5; k++) {
        in_case("|x| <= %g", (double)most[k]);
        const float *x = random_input("x", 2 * 35, -most[k], most[k]);
        expect_forward(x, random_weight(9, 35, 8), NULL, 2);
        end_case();
    }
}

static void forward_without_inputs(void)
{
    const int8_weight q = weight_output(10, 0, 32);
    const float *x = random_input("x", 0, 0.0f, 0.0f), *bias = random_input("bias", 10, -1.0f, 1.0f);
    static const float zeros[30] = {0.0f};
    float *y = output("y", 30);
    forward(y, x, q, NULL, 3, 1);
    expect_same("y without bias", y, zeros, 30);
    forward(y, x, q, bias, 3, 1);
    for (size_t r = 0; r < 3; r++) expect_same("y with bias", y + 10 * r, bias, 10);
}

static int try_forward(int reference, float *y, float *scratch, const float *x, const int8_t *values,
                       const float *scales, size_t rows, size_t in, size_t out, size_t group)
{
    if (reference)
        return gpt_int8_linear_forward_ref(y, scratch, x, values, scales, NULL, rows, in, out, group);
    return gpt_int8_linear_forward(y, scratch, x, values, scales, NULL, rows, in, out, group, 0, 1);
}

static void forward_refuses(void)
{
    const float *x = random_input("x", 6, -1.0f, 1.0f), *scales = random_input("scales", 16, 0.0f, 1.0f);
    const int8_t *values = (const int8_t *)(const void *)random_input("values", 8, -1.0f, 1.0f);
    float *y = output("y", 4), *scratch = output("scratch", 8);
    for (int ref = 0; ref <= 1; ref++) {
        in_case(ref ? "reference" : "kernel");
        expect_refused(try_forward(ref, NULL, scratch, x, values, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_forward(ref, y, NULL, x, values, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_forward(ref, y, scratch, NULL, values, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_forward(ref, y, scratch, x, NULL, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_forward(ref, y, scratch, x, values, NULL, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_forward(ref, y, scratch, x, values, scales, HUGE_SIZE, 3, 2, 2), GPT_ERR_SIZE);
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 2, HUGE_SIZE, 2, 2), GPT_ERR_SIZE);
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 2, 3, HUGE_SIZE, 2), GPT_ERR_SIZE);
        in_case("%s, only the padded weight is too large", ref ? "reference" : "kernel");
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 1, SIZE_MAX / 64, 2, 2), GPT_ERR_SIZE);
        in_case("%s, group", ref ? "reference" : "kernel");
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 2, 3, 2, 0), GPT_ERR_VALUE);
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 2, 3, 2, 5), GPT_ERR_VALUE);
        in_case("%s, empty", ref ? "reference" : "kernel");
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 0, 3, 2, 2), GPT_OK);
        expect_refused(try_forward(ref, y, scratch, x, values, scales, 2, 3, 0, 2), GPT_OK);
    }
    in_case("parts");
    expect_refused(gpt_int8_linear_forward(y, scratch, x, values, scales, NULL, 2, 3, 2, 2, 2, 2),
                   GPT_ERR_VALUE);
    expect_refused(gpt_int8_linear_forward(y, scratch, x, values, scales, NULL, 2, 3, 2, 2, 0, SIZE_MAX / 8),
                   GPT_ERR_SIZE);
}

/* ---- Embedding ---- */

static void embedding_gives_rows(void)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t g = 0; g < GROUPS; g++) {
            enum { ROWS = 11 };
            const size_t count = shapes[s][0], dim = shapes[s][1];
            in_case("%zu x %zu, group %zu", count, dim, groups[g]);
            const int8_weight q = random_weight(count, dim, groups[g]);
            int32_t indices[ROWS];
            for (size_t r = 0; r < ROWS; r++) indices[r] = (int32_t)random_below(count);
            float *expected = output("expected", ROWS * dim);
            expect_status(gpt_int8_embedding_forward_ref(expected, indices, q.values, q.scales, ROWS, count,
                                                         dim, q.group),
                          GPT_OK);
            for (size_t r = 0; r < ROWS; r++)
                for (size_t c = 0; c < dim; c++) {
                    const float weight = weight_of(q, (size_t)indices[r], c);
                    expect_same("expected", expected + r * dim + c, &weight, 1);
                }
            for (size_t parts = 1; parts <= 4; parts++) {
                float *y = output("y", ROWS * dim);
                for (size_t part = 0; part < parts; part++)
                    expect_status(gpt_int8_embedding_forward(y, indices, q.values, q.scales, ROWS, count, dim,
                                                             q.group, part, parts),
                                  GPT_OK);
                expect_same("y", y, expected, ROWS * dim);
            }
            end_case();
        }
}

static int try_embedding(int reference, float *y, const int32_t *indices, const int8_t *values,
                         const float *scales, size_t rows, size_t count, size_t dim, size_t group)
{
    if (reference) return gpt_int8_embedding_forward_ref(y, indices, values, scales, rows, count, dim, group);
    return gpt_int8_embedding_forward(y, indices, values, scales, rows, count, dim, group, 0, 1);
}

static void embedding_refuses(void)
{
    static const int32_t good[2] = {0, 2}, bad[4][2] = {{0, 3}, {-1, 0}, {2, INT32_MAX}, {INT32_MIN, 1}};
    const float *scales = random_input("scales", 8, 0.0f, 1.0f);
    const int8_t *values = (const int8_t *)(const void *)random_input("values", 4, -1.0f, 1.0f);
    float *y = output("y", 4);
    for (int ref = 0; ref <= 1; ref++) {
        in_case(ref ? "reference" : "kernel");
        expect_refused(try_embedding(ref, NULL, good, values, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_embedding(ref, y, NULL, values, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_embedding(ref, y, good, NULL, scales, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_embedding(ref, y, good, values, NULL, 2, 3, 2, 2), GPT_ERR_NULL);
        expect_refused(try_embedding(ref, y, good, values, scales, HUGE_SIZE, 3, 2, 2), GPT_ERR_SIZE);
        expect_refused(try_embedding(ref, y, good, values, scales, 2, HUGE_SIZE, 2, 2), GPT_ERR_SIZE);
        expect_refused(try_embedding(ref, y, good, values, scales, 2, 3, HUGE_SIZE, 2), GPT_ERR_SIZE);
        expect_refused(try_embedding(ref, y, good, values, scales, 2, 3, 2, 1), GPT_ERR_VALUE);
        for (size_t k = 0; k < 4; k++)
            expect_refused(try_embedding(ref, y, bad[k], values, scales, 2, 3, 2, 2), GPT_ERR_VALUE);
        expect_refused(try_embedding(ref, y, good, values, scales, 2, 3, 0, 2), GPT_OK);
        expect_refused(try_embedding(ref, y, good, values, scales, 0, 0, 2, 2), GPT_OK);
    }
    expect_refused(gpt_int8_embedding_forward(y, good, values, scales, 2, 3, 2, 2, 1, 1), GPT_ERR_VALUE);
}

void test_int8(void)
{
    promise("int8 weights take whole blocks of 8 outputs and 2 inputs, and a scale for each group",
            sizes_count_whole_blocks);
    promise("int8 quantize gives the largest |weight| / 127 and the nearest integers, at every size",
            quantize_is_exact);
    promise("int8 quantize rounds ties to even", quantize_rounds_to_even);
    promise("int8 quantize of zeros, denormals and the largest floats stays within -127 ... 127",
            quantize_extremes);
    promise("int8 quantize in slabs, from either order of the weight, gives the bits of the whole weight",
            quantize_in_slabs);
    promise("int8 quantize refuses NULL, impossible sizes, broken groups and weights that are not finite",
            quantize_refuses);
    promise("int8 values come back from their layout, whole and in slabs", pack_and_unpack);
    promise("int8 dequantize gives scale · value, half a step from the weight at most", dequantize_is_exact);
    promise("int8 pack, unpack and dequantize refuse NULL, impossible sizes and odd groups",
            pack_unpack_and_dequantize_refuse);
    promise("int8 linear is within the bound of its roundings at every size", forward_agrees);
    promise("int8 linear of an outlier coarsens no other run of columns", forward_with_outliers);
    promise("int8 linear of integers is exact", forward_of_integers_is_exact);
    promise("int8 linear of the largest integers does not overflow", forward_does_not_overflow);
    promise("int8 linear of a row has the same bits beside any other rows", rows_are_independent);
    promise("int8 linear in parts has the bits of the whole call", forward_in_parts);
    promise("int8 linear has the same bits in every build", forward_has_the_same_bits_everywhere);
    promise("int8 linear of a row with NaN or infinity is NaN in that row alone", forward_of_specials);
    promise("int8 linear of denormals is within its bound", forward_of_tiny_rows);
    promise("int8 linear without inputs is the bias, or 0", forward_without_inputs);
    promise("int8 linear refuses NULL, impossible sizes and odd groups, and leaves y as it was",
            forward_refuses);
    promise("int8 embedding gives the rows of the weight, whole and in parts", embedding_gives_rows);
    promise("int8 embedding refuses NULL, impossible sizes and indices out of range", embedding_refuses);
}
