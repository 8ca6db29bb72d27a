/* The functions of c/simd.h, and the instructions on which the kernels rely for NaN, ties and overflow. The
 * native and the WebAssembly build both run these tests, so that the native stand-in for WebAssembly's SIMD
 * (SIMDe, and wasm_simd128.h in this folder) is known to behave like WebAssembly.
 */
#include "simd.h"

#include <float.h>
#include <math.h>

#include "check.h"

static v128_t vector(float a, float b, float c, float d)
{
    const float lanes[4] = {a, b, c, d};
    return wasm_v128_load(lanes);
}

static void expect_lanes(const char *name, v128_t got, float a, float b, float c, float d)
{
    const float expected[4] = {a, b, c, d};
    float lanes[4];
    wasm_v128_store(lanes, got);
    expect_same(name, lanes, expected, 4);
}

static void expect_ints(const char *name, v128_t got, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t expected[4] = {a, b, c, d};
    int32_t lanes[4];
    wasm_v128_store(lanes, got);
    for (size_t i = 0; i < 4; i++)
        expect(lanes[i] == expected[i], "%s[%zu]: expected %ld, got %ld", name, i, (long)expected[i],
               (long)lanes[i]);
}

/* pmin(a, b) is b < a ? b : a, and pmax(a, b) is a < b ? b : a: the first operand if the comparison is
 * false. */
static void pseudo_minimum_and_maximum(void)
{
    const v128_t a = vector(NAN, 1.0f, -0.0f, 0.0f), b = vector(1.0f, NAN, 0.0f, -0.0f);
    expect_lanes("pmin", wasm_f32x4_pmin(a, b), NAN, 1.0f, -0.0f, 0.0f);
    expect_lanes("pmax", wasm_f32x4_pmax(a, b), NAN, 1.0f, -0.0f, 0.0f);
    const v128_t c = vector(1.0f, 2.0f, INFINITY, -INFINITY), d = vector(2.0f, 1.0f, 3.0f, 3.0f);
    expect_lanes("pmin", wasm_f32x4_pmin(c, d), 1.0f, 1.0f, 3.0f, -INFINITY);
    expect_lanes("pmax", wasm_f32x4_pmax(c, d), 2.0f, 2.0f, INFINITY, 3.0f);
}

/* 0 is larger than -0. */
static void minimum_and_maximum(void)
{
    const v128_t a = vector(NAN, 1.0f, -0.0f, 0.0f), b = vector(1.0f, NAN, 0.0f, -0.0f);
    expect_lanes("min", wasm_f32x4_min(a, b), NAN, NAN, -0.0f, -0.0f);
    expect_lanes("max", wasm_f32x4_max(a, b), NAN, NAN, 0.0f, 0.0f);
    const v128_t c = vector(1.0f, 2.0f, INFINITY, -INFINITY), d = vector(2.0f, 1.0f, 3.0f, 3.0f);
    expect_lanes("min", wasm_f32x4_min(c, d), 1.0f, 1.0f, 3.0f, -INFINITY);
    expect_lanes("max", wasm_f32x4_max(c, d), 2.0f, 2.0f, INFINITY, 3.0f);
}

static void nearest_is_to_even(void)
{
    expect_lanes("nearest", wasm_f32x4_nearest(vector(0.5f, 1.5f, 2.5f, -2.5f)), 0.0f, 2.0f, 2.0f, -2.0f);
    expect_lanes("nearest", wasm_f32x4_nearest(vector(-0.5f, -0.25f, -0.0f, 0.49999997f)), -0.0f, -0.0f,
                 -0.0f, 0.0f);
    expect_lanes("nearest", wasm_f32x4_nearest(vector(NAN, INFINITY, -INFINITY, 3e38f)), NAN, INFINITY,
                 -INFINITY, 3e38f);
    expect_lanes("nearest", wasm_f32x4_nearest(vector(8388607.5f, 8388609.0f, 4194303.5f, 1e-45f)),
                 8388608.0f, 8388609.0f, 4194304.0f, 0.0f);
}

static void truncation_saturates(void)
{
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(NAN, INFINITY, -INFINITY, -0.9f)), 0,
                INT32_MAX, INT32_MIN, 0);
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(2147483648.0f, -2147483648.0f, 3e38f, -3e38f)),
                INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN);
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(2147483520.0f, -216.0f, 216.9f, -1.9f)),
                2147483520, -216, 216, -1);
}

static void integers_compare_without_sign(void)
{
    static const uint32_t a[4] = {0u, 0x80000000u, UINT32_MAX, 5u}, b[4] = {1u, 0x7fffffffu, UINT32_MAX, 5u};
    const v128_t v = wasm_v128_load(a);
    expect_ints("ge", wasm_u32x4_ge(v, wasm_v128_load(b)), 0, -1, -1, -1);
    expect_ints("shr", wasm_u32x4_shr(v, 1), 0, 0x40000000, 0x7fffffff, 2);
}

static void integers_shift(void)
{
    const int32_t values[4] = {-217, 217, INT32_MIN, 1};
    const v128_t v = wasm_v128_load(values);
    expect_ints("shr", wasm_i32x4_shr(v, 1), -109, 108, INT32_MIN / 2, 0);
    expect_ints("shl", wasm_i32x4_shl(v, 23), -217 * 8388608, 217 * 8388608, 0, 8388608);
    expect_ints("add", wasm_i32x4_add(v, wasm_i32x4_splat(127)), -90, 344, INT32_MIN + 127, 128);
    expect_ints("mul", wasm_i32x4_mul(v, wasm_i32x4_splat(0x7feb352d)), -1851790117, 1851790117, INT32_MIN,
                0x7feb352d);
    expect_ints("sub", wasm_i32x4_sub(v, wasm_i32x4_splat(1)), -218, 216, INT32_MAX, 0);
}

static void lanes_move(void)
{
    const v128_t a = vector(0.0f, 1.0f, 2.0f, 3.0f), b = vector(4.0f, 5.0f, 6.0f, 7.0f);
    expect_lanes("shuffle", wasm_i32x4_shuffle(a, b, 2, 3, 0, 1), 2.0f, 3.0f, 0.0f, 1.0f);
    expect_lanes("shuffle", wasm_i32x4_shuffle(a, b, 7, 0, 4, 3), 7.0f, 0.0f, 4.0f, 3.0f);
    expect_within("extract_lane", 3, (double)wasm_f32x4_extract_lane(b, 3), 7.0, 0.0);
    const v128_t low = wasm_f64x2_promote_low_f32x4(vector(1e-45f, NAN, 3.0f, 4.0f));
    expect_within("promote_low", 0, wasm_f64x2_extract_lane(low, 0), (double)1e-45f, 0.0);
    expect_within("promote_low", 1, wasm_f64x2_extract_lane(low, 1), (double)NAN, 0.0);
}

static void comparison_selects(void)
{
    const v128_t x = vector(-1.0f, -0.0f, NAN, 1.0f);
    const v128_t negative = wasm_f32x4_lt(x, wasm_f32x4_splat(0.0f));
    expect_ints("lt", negative, -1, 0, 0, 0);
    expect_lanes("bitselect", wasm_v128_bitselect(wasm_f32x4_splat(5.0f), x, negative), 5.0f, -0.0f, NAN,
                 1.0f);
    expect_lanes("abs", wasm_f32x4_abs(x), 1.0f, 0.0f, NAN, 1.0f);
    expect_lanes("sqrt", wasm_f32x4_sqrt(vector(-1.0f, -0.0f, INFINITY, 2.0f)), NAN, -0.0f, INFINITY,
                 1.41421354f);
}

static void exponential(void)
{
    for (float x = -87.0f; x <= 88.0f; x += 0.0117f) {
        const double expected = exp((double)x),
                     got = (double)wasm_f32x4_extract_lane(gpt_exp_f32x4(wasm_f32x4_splat(x)), 0);
        expect(fabs(got - expected) <= 3e-7 * expected, "exp(%g): expected %.9g, got %.9g", (double)x,
               expected, got);
    }
    expect_lanes("exp", gpt_exp_f32x4(vector(0.0f, -0.0f, NAN, -87.5f)), 1.0f, 1.0f, NAN, 0.0f);
    expect_lanes("exp", gpt_exp_f32x4(vector(-INFINITY, -3e38f, -1e-45f, 1e-45f)), 0.0f, 0.0f, 1.0f, 1.0f);
}

/* With b from 0 to 127, no processor's sum of two products leaves 16 bits. The sums of four are modulo 2^32. */
static void bytes_multiply(void)
{
#ifdef __wasm_relaxed_simd__
    static const int8_t a[16] = {127, 127, 127, 127, -128, -128, -128, -128, 1, -2, 3, -4, -127, 127, 0, 5},
                        b[16] = {127, 127, 127, 127, 127, 127, 127, 127, 5, 6, 7, 8, 127, 0, 127, 1};
    const v128_t sum = wasm_i32x4_make(1, -1, INT32_MAX, INT32_MIN);
    expect_ints("relaxed_dot",
                wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(a), wasm_v128_load(b), sum), 64517,
                -65025, INT32_MAX - 18, INT32_MAX - 16123);
#endif
}

static void sum_has_its_order(void)
{
    /* (0 + 2) + (1 + 3) cancels 1e8 and -1e8 first and keeps the small values; other orders lose them */
    expect_within("sum", 0, (double)gpt_sum_lanes(vector(1e8f, 1.0f, -1e8f, 2.0f)), 3.0, 0.0);
    expect_within("sum", 1, (double)gpt_sum_lanes(vector(1.0f, 1e8f, 2.0f, -1e8f)), 3.0, 0.0);
    expect_within("sum", 2, (double)gpt_sum_lanes(vector(1e8f, -1e8f, 3.0f, 3.0f)), 0.0, 0.0);
}

static void test_simd(void)
{
    promise("pmin and pmax return the first operand if neither is less than the other",
            pseudo_minimum_and_maximum);
    promise("min and max are NaN where one operand is, and order zeros by their sign", minimum_and_maximum);
    promise("nearest rounds ties to even and keeps the sign of zero", nearest_is_to_even);
    promise("trunc_sat converts NaN to 0 and saturates", truncation_saturates);
    promise("integer shifts are signed or unsigned as named, and products are modulo 2^32", integers_shift);
    promise("u32x4 comparisons are unsigned", integers_compare_without_sign);
    promise("shuffle, extract_lane and promote_low take the named lanes", lanes_move);
    promise("lt is false for NaN, bitselect and abs keep NaN, and sqrt keeps -0", comparison_selects);
    promise("gpt_exp_f32x4 has a relative error of at most 3e-7 up to 88, is 0 below -87, and NaN for NaN",
            exponential);
    promise("the relaxed dot product of bytes is exact where one has 7 bits, in the build that has it",
            bytes_multiply);
    promise("gpt_sum_lanes adds in the order (0 + 2) + (1 + 3)", sum_has_its_order);
}

SUITE("simd", test_simd)
