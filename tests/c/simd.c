/* The functions of c/simd.h, and instructions whose errors no kernel would show. The native and the WebAssembly
 * build both run these tests, so that the native stand-in for WebAssembly's SIMD (SIMDe, and wasm_simd128.h in
 * this folder) is known to behave like WebAssembly. */
#include "simd.h"

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

static void truncation_saturates(void)
{
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(NAN, INFINITY, -INFINITY, -0.9f)), 0,
                INT32_MAX, INT32_MIN, 0);
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(2147483648.0f, -2147483648.0f, 3e38f, -3e38f)),
                INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN);
    expect_ints("trunc_sat", wasm_i32x4_trunc_sat_f32x4(vector(2147483520.0f, -216.0f, 216.9f, -1.9f)),
                2147483520, -216, 216, -1);
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
    promise("trunc_sat converts NaN to 0 and saturates", truncation_saturates);
    promise("shuffle, extract_lane and promote_low take the named lanes", lanes_move);
    promise("gpt_exp_f32x4 has a relative error of at most 3e-7 up to 88, is 0 below -87, and NaN for NaN",
            exponential);
    promise("gpt_sum_lanes adds in the order (0 + 2) + (1 + 3)", sum_has_its_order);
}

SUITE("simd", test_simd)
