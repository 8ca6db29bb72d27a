#include <math.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

/* The layout that is tested: for the inner loop `dot`, or not. */
static int dot;
#ifdef __wasm_relaxed_simd__
enum { LAYOUTS = 2 };
#else
enum { LAYOUTS = 1 };
#endif

/* A promise that is kept in each layout. */
static void (*in_one_layout)(void);
static void in_each_layout(void)
{
    for (int k = LAYOUTS; k-- > 0;) {
        dot = k;
        in_one_layout();
    }
}
static void promise_of_layouts(const char *name, void (*test)(void))
{
    in_one_layout = test;
    promise(name, in_each_layout);
}

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
    return (int8_weight){out, in, group, dot, int8_output("quantized", gpt_int8_size(out, in, group, dot))};
}

/* Quantizes a whole weight in PyTorch's layout. */
static int8_weight quantized(const float *weight, size_t out, size_t in, size_t group)
{
    const int8_weight q = weight_output(out, in, group);
    expect_status(gpt_int8_quantize(q.bytes, weight, out, in, group, 0, in, in, 1, dot), GPT_OK);
    return q;
}

static size_t up_to(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
static float scale_of(int8_weight q, size_t o, size_t i) { return *int8_scale(q, o, i); }
/* As a number of floats, more bytes than there are addresses. */
#define HUGE_SIZE (SIZE_MAX / 2)

enum { SHAPES = 10, GROUPS = 6 };
static const size_t shapes[SHAPES][2] = {{1, 1},  {1, 7},  {8, 2},   {3, 5},  {33, 16},
                                         {32, 3}, {7, 33}, {65, 70}, {8, 64}, {45, 769}};
static const size_t groups[GROUPS] = {2, 6, 32, 190, 256, 4096};

/* ---- Sizes ---- */

static void sizes_count_whole_blocks(void)
{
    const size_t sums = dot ? 64 : 0;
    expect(gpt_int8_size(1, 1, 2, dot) == 128 + sums + 128, "1 x 1 is one block with one vector of inputs");
    expect(gpt_int8_size(33, 3, 2, dot) == 2 * 2 * (128 + sums + 128), "33 x 3 is 2 x 2 groups");
    expect(gpt_int8_size(32, 64, 64, dot) == 128 + sums + 32 * 64, "no padding");
    expect(gpt_int8_size(32, 300, 300, dot) == 128 + 3 * sums + 32 * 300, "a group of three runs");
    expect(gpt_int8_size(0, 5, 2, dot) == 0 && gpt_int8_size(5, 0, 2, dot) == 0, "no elements, no bytes");
    expect(gpt_int8_size(32, 768, SIZE_MAX - 1, dot) == 128 + 6 * sums + 32 * 768, "a group larger than in");
    expect(gpt_int8_size(HUGE_SIZE, 1, 2, dot) == SIZE_MAX &&
               gpt_int8_size(1, HUGE_SIZE, 2, dot) == SIZE_MAX &&
               gpt_int8_size(SIZE_MAX / 8, 8, 2, dot) == SIZE_MAX,
           "sizes that are not addressable");
    expect(gpt_int8_size(8, 8, 0, dot) == SIZE_MAX && gpt_int8_size(8, 8, 3, dot) == SIZE_MAX,
           "an odd group");
    expect(gpt_int8_size(8, 8, 2, LAYOUTS) == SIZE_MAX && gpt_int8_size(8, 8, 2, -1) == SIZE_MAX,
           "no layout");
    expect(gpt_int8_linear_scratch_size(1, 4, 3) == SIZE_MAX, "scratch of an odd group");
}

/* ---- Quantize ---- */

static void quantize_rounds_to_even(void)
{
    static const float weight[10] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.5f, 0.4999f, 1.0f, -127.0f};
    static const int8_t expected[10] = {127, 0, 2, 2, 0, -2, -126, 0, 1, -127};
    const int8_weight q = quantized(weight, 1, 10, 10);
    for (size_t i = 0; i < 10; i++)
        expect(int8_value(q, 0, i) == expected[i], "value %zu is %d", i, int8_value(q, 0, i));
    end_case();
}

/* The last two arguments of gpt_int8_quantize, by whether the float32 weight is [in, out]. */
static size_t out_step(int8_weight q, int is_transposed) { return is_transposed ? 1 : q.in; }
static size_t in_step(int8_weight q, int is_transposed) { return is_transposed ? q.out : 1; }

/* A weight in slabs of outputs, and of inputs, from either order of the float32 weight. */
static void quantize_in_slabs(void)
{
    enum { OUT = 77, IN = 21, GROUP = 6 };
    const float *weight = random_input("weight", OUT * IN, -2.0f, 2.0f);
    float *transposed = work(OUT * IN);
    for (size_t o = 0; o < OUT; o++)
        for (size_t i = 0; i < IN; i++) transposed[i * OUT + o] = weight[o * IN + i];
    const int8_weight whole = quantized(weight, OUT, IN, GROUP);
    for (int is_transposed = 0; is_transposed <= 1; is_transposed++) {
        const int8_weight q = weight_output(OUT, IN, GROUP);
        const size_t o_step = out_step(q, is_transposed), i_step = in_step(q, is_transposed);
        for (size_t o = 0; o < OUT; o += 32)
            for (size_t i = 0; i < IN; i += 12) {
                const size_t outs = o + 32 < OUT ? 32 : OUT - o, ins = i + 12 < IN ? 12 : IN - i;
                const float *slab = (is_transposed ? transposed : weight) + o * o_step + i * i_step;
                expect_status(gpt_int8_quantize(q.bytes + gpt_int8_size(o, IN, GROUP, dot), slab, outs, IN,
                                                GROUP, i, ins, o_step, i_step, dot),
                              GPT_OK);
            }
        expect_same_int8("quantized", q.bytes, whole.bytes, gpt_int8_size(OUT, IN, GROUP, dot));
    }
    end_case();
}

static int quantize_slab(int8_weight q, const float *weight, size_t first_in, size_t ins, size_t o_step,
                         size_t i_step)
{
    return gpt_int8_quantize(q.bytes, weight, q.out, q.in, q.group, first_in, ins, o_step, i_step, dot);
}

static void quantize_refuses(void)
{
    const int8_weight q = weight_output(9, 6, 4);
    float *weight = work(9 * 6);
    fill_random(weight, 9 * 6, -1.0f, 1.0f);
    expect_refused(quantize_slab(q, weight, 2, 4, 6, 1), GPT_ERR_VALUE);
    expect_refused(quantize_slab(q, weight, 0, 5, 6, 1), GPT_ERR_VALUE);
    expect_refused(quantize_slab(q, weight, 8, 0, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, 4, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, SIZE_MAX, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, SIZE_MAX - 3, 6, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 0, 6, HUGE_SIZE, 1), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 0, 6, 6, HUGE_SIZE), GPT_ERR_SIZE);
    expect_refused(quantize_slab(q, weight, 4, 0, 6, 1), GPT_OK);
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
        for (size_t g = 0; g < GROUPS; g++) {
            const size_t group = groups[g], outs = up_to(out, 32);
            const int8_weight q = weight_output(out, in, group), slabs = weight_output(out, in, group);
            for (size_t o = 0; o < outs; o++)
                for (size_t i = 0; i < in; i++)
                    *int8_scale(q, o, i) = *int8_scale(slabs, o, i) = (float)(o + i / group);
            expect_status(gpt_int8_pack(q.bytes, plain, out, in, group, dot), GPT_OK);
            for (size_t o = 0; o < out; o += 32)
                expect_status(gpt_int8_pack(slabs.bytes + gpt_int8_size(o, in, group, dot), plain + o * in,
                                            o + 32 < out ? 32 : out - o, in, group, dot),
                              GPT_OK);
            expect_same_int8("in slabs", slabs.bytes, q.bytes, gpt_int8_size(out, in, group, dot));
            expect_status(gpt_int8_unpack(back, q.bytes, out, in, group, dot), GPT_OK);
            expect_same_int8("back", back, plain, out * in);
            for (size_t o = 0; o < outs; o++)
                for (size_t i = 0; i < in; i++)
                    expect(scale_of(q, o, i) == (float)(o + i / group), "scale of %zu, %zu has changed", o,
                           i);
        }
        end_case();
    }
}

static void unpack_refuses(void)
{
    const int8_weight q = weight_output(9, 6, 4);
    int8_t *plain = int8_output("plain", 9 * 6);
    expect_refused(gpt_int8_unpack(NULL, q.bytes, 9, 6, 4, 0), GPT_ERR_NULL);
    expect_refused(gpt_int8_unpack(plain, NULL, 9, 6, 4, 0), GPT_ERR_NULL);
    expect_refused(gpt_int8_unpack(plain, q.bytes, HUGE_SIZE, 6, 4, 0), GPT_ERR_SIZE);
    expect_refused(gpt_int8_unpack(plain, q.bytes, 9, 6, 0, 0), GPT_ERR_VALUE);
    expect_refused(gpt_int8_unpack(plain, q.bytes, 9, 6, 4, 2), GPT_ERR_VALUE);
    expect_refused(gpt_int8_unpack(plain, q.bytes, 0, 6, 4, 0), GPT_OK);
}

/* ---- Linear ---- */

/* A weight of random values. */
static int8_weight random_weight(size_t out, size_t in, size_t group)
{
    const float *weight = random_input("weight", out * in, -2.0f, 2.0f);
    return quantized(weight, out, in, group);
}

/* The same weight in the other layout. */
static int8_weight in_other_layout(int8_weight q)
{
    int8_weight other = q;
    other.dot = !q.dot;
    other.bytes = int8_output("in the other layout", gpt_int8_size(q.out, q.in, q.group, other.dot));
    int8_t *plain = int8_output("plain", q.out * q.in);
    expect_status(gpt_int8_unpack(plain, q.bytes, q.out, q.in, q.group, q.dot), GPT_OK);
    expect_status(gpt_int8_pack(other.bytes, plain, q.out, q.in, q.group, other.dot), GPT_OK);
    for (size_t o = 0; o < up_to(q.out, 32); o++)
        for (size_t i = 0; i < q.in; i++) *int8_scale(other, o, i) = scale_of(q, o, i);
    return other;
}

static void forward_once(float *y, const float *x, int8_weight q, const float *bias, size_t rows,
                         size_t parts)
{
    float *scratch = output("scratch", parts * gpt_int8_linear_scratch_size(rows, q.in, q.group));
    for (size_t part = 0; part < parts; part++)
        expect_status(gpt_int8_linear_forward(y, scratch, x, q.bytes, bias, rows, q.in, q.out, q.group, q.dot,
                                              part, parts),
                      GPT_OK);
}

/* By both inner loops: the same bits. */
static void forward(float *y, const float *x, int8_weight q, const float *bias, size_t rows, size_t parts)
{
    forward_once(y, x, q, bias, rows, parts);
    if (LAYOUTS == 1) return;
    float *by_other = output("by the other loop", rows * q.out);
    forward_once(by_other, x, in_other_layout(q), bias, rows, parts);
    expect_same("by the other loop", by_other, y, rows * q.out);
}

/* The largest and the smallest products. Other numbers q = 128 · high + low - 8192 have low = 0 or low = 127. In a
 * run, the sum of the products is exact in float32, or rounded once. */
static void forward_of_extremes(void)
{
    enum { ROWS = 3, IN = 128, OUT = 33, EXTREMES = 5, VALUES = 4 };
    static const int extremes[EXTREMES] = {8191, -8191, 8064, -8065, 0},
                     values[VALUES] = {127, -127, -128, 0};
    for (size_t k = 0; k < EXTREMES * EXTREMES * VALUES * VALUES; k++) {
        const int even = extremes[k % EXTREMES], odd = extremes[k / EXTREMES % EXTREMES];
        const int value = values[k / (EXTREMES * EXTREMES) % VALUES],
                  other = values[k / (EXTREMES * EXTREMES * VALUES)];
        in_case("%d and %d times %d and %d", even, odd, value, other);
        const int8_weight q = weight_output(OUT, IN, IN);
        int8_t *plain = int8_output("plain", OUT * IN);
        float *x = work(ROWS * IN), *y = output("y", ROWS * OUT);
        for (size_t i = 0; i < OUT * IN; i++) plain[i] = (int8_t)(i % 4 < 2 ? value : other);
        for (size_t i = 0; i < ROWS * IN; i++) x[i] = (float)(i % IN == 0 ? -8191 : i % 2 ? odd : even);
        for (size_t o = 0; o < OUT; o++) *int8_scale(q, o, 0) = 1.0f;
        expect_status(gpt_int8_pack(q.bytes, plain, OUT, IN, IN, dot), GPT_OK);
        forward(y, x, q, NULL, ROWS, 1);
        int sum = -8191 * value - even * value;
        for (size_t i = 0; i < IN; i += 4) sum += (even + odd) * (value + other);
        const float expected = (float)sum;
        for (size_t i = 0; i < ROWS * OUT; i++) expect_same("y", y + i, &expected, 1);
        end_case();
    }
}

static void rows_are_independent(void)
{
    enum { ROWS = 70, IN = 75, OUT = 35 };
    const float *x = random_input("x", ROWS * IN, -4.0f, 4.0f),
                *bias = random_input("bias", OUT, -1.0f, 1.0f);
    const int8_weight q = random_weight(OUT, IN, 32);
    float *whole = output("whole", ROWS * OUT), *y = work(ROWS * OUT);
    float *scratch = work(gpt_int8_linear_scratch_size(ROWS, IN, q.group));
    forward(whole, x, q, bias, ROWS, 1);
    for (size_t rows = 1; rows <= 9; rows++)
        for (size_t r = 0; r + rows <= ROWS; r += rows) {
            in_case("%zu rows from %zu on", rows, r);
            expect_status(gpt_int8_linear_forward(y, scratch, x + r * IN, q.bytes, bias, rows, IN, OUT,
                                                  q.group, dot, 0, 1),
                          GPT_OK);
            expect_same("y", y, whole + r * OUT, rows * OUT);
        }
    end_case();
}

/* forward() compares the loops. */
static void loops_agree(void)
{
    enum { ROWS = 5 };
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t g = 0; g < GROUPS; g++) {
            const size_t out = shapes[s][0], in = shapes[s][1];
            in_case("%zu -> %zu, group %zu", in, out, groups[g]);
            const float *x = random_input("x", ROWS * in, -4.0f, 4.0f);
            forward(output("y", ROWS * out), x, random_weight(out, in, groups[g]), NULL, ROWS, 1);
            end_case();
        }
}

static void forward_has_the_same_bits_everywhere(void)
{
    enum { ROWS = 7, IN = 200, OUT = 37 };
    const float *x = random_input("x", ROWS * IN, -4.0f, 4.0f),
                *bias = random_input("bias", OUT, -1.0f, 1.0f);
    const int8_weight q = random_weight(OUT, IN, 48);
    float *y = output("y", ROWS * OUT);
    forward(y, x, q, bias, ROWS, 1);
    expect_hash(y, ROWS * OUT, 0x452a1f23u);
}

/* ---- Embedding ---- */

static void test_int8(void)
{
    promise_of_layouts(
        "int8 weights take whole blocks of 32 outputs and 4 inputs, a scale for each group and, for "
        "dot, a sum for each run",
        sizes_count_whole_blocks);
    promise_of_layouts("int8 quantize rounds ties to even", quantize_rounds_to_even);
    promise_of_layouts(
        "int8 quantize in slabs, from either order of the weight, gives the bits of the whole weight",
        quantize_in_slabs);
    promise_of_layouts("int8 quantize refuses slabs of broken groups", quantize_refuses);
    promise_of_layouts("int8 values come back from their layout, whole and in slabs", pack_and_unpack);
    promise("int8 unpack refuses NULL, impossible sizes and an empty group", unpack_refuses);
    promise("int8 linear of the most extreme integers is exact by both inner loops: no sum overflows or "
            "saturates",
            forward_of_extremes);
    promise_of_layouts("int8 linear of a row has the same bits beside any other rows", rows_are_independent);
    promise("int8 linear has the same bits by both inner loops, at every size", loops_agree);
    promise("int8 linear has the same bits in every build", forward_has_the_same_bits_everywhere);
}

SUITE("int8", test_int8)
