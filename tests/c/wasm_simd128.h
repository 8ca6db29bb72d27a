/* Clang's <wasm_simd128.h> for native compilers, made of SIMDe (0.7.4 or later). With `-I tests/c` the
 * kernels in c/ compile natively, so that sanitizers check the code that ships. The WebAssembly builds must
 * not have this folder on their include path. The tests of the kernels, which also run as WebAssembly, show that
 * these functions behave like it. */
#ifndef GPT_NATIVE_WASM_SIMD128_H
#define GPT_NATIVE_WASM_SIMD128_H

#include <math.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>

/* SIMDe's nearest is wrong for some compilers: it rounds -0.5 to +0 with clang before 17, and needs a
 * roundevenf that musl does not have. rintf is right in the default rounding mode, the only mode of
 * WebAssembly. */
static inline v128_t gpt_native_f32x4_nearest(v128_t v)
{
    simde_v128_private lanes = simde_v128_to_private(v);
    for (int i = 0; i < 4; i++) lanes.f32[i] = rintf(lanes.f32[i]);
    return simde_v128_from_private(lanes);
}
#undef wasm_f32x4_nearest
#define wasm_f32x4_nearest(v) gpt_native_f32x4_nearest(v)

/* SIMDe's max and min take either of two zeros. In WebAssembly 0 is larger than -0. */
static inline v128_t gpt_native_f32x4_max(v128_t a, v128_t b)
{
    const v128_t y = simde_wasm_f32x4_max(a, b); /* NaN, where one of them is NaN */
    return simde_wasm_v128_bitselect(simde_wasm_v128_and(a, b), y, simde_wasm_f32x4_eq(a, b));
}
static inline v128_t gpt_native_f32x4_min(v128_t a, v128_t b)
{
    const v128_t y = simde_wasm_f32x4_min(a, b);
    return simde_wasm_v128_bitselect(simde_wasm_v128_or(a, b), y, simde_wasm_f32x4_eq(a, b));
}
#undef wasm_f32x4_max
#define wasm_f32x4_max(a, b) gpt_native_f32x4_max(a, b)
#undef wasm_f32x4_min
#define wasm_f32x4_min(a, b) gpt_native_f32x4_min(a, b)

/* SIMDe multiplies int, which is undefined in C when it overflows. In WebAssembly it wraps. */
static inline v128_t gpt_native_i32x4_mul(v128_t a, v128_t b)
{
    simde_v128_private x = simde_v128_to_private(a), y = simde_v128_to_private(b);
    for (int i = 0; i < 4; i++) x.u32[i] *= y.u32[i];
    return simde_v128_from_private(x);
}
#undef wasm_i32x4_mul
#define wasm_i32x4_mul(a, b) gpt_native_i32x4_mul(a, b)

/* SIMDe 0.7.4 has no relaxed SIMD. Relaxed multiply-add may round once or twice. Here it rounds once, or
 * nearly so: the product is exact in float64. So the tests notice where vectors and scalar tails give
 * different bits. */
static inline v128_t gpt_native_f32x4_madd(v128_t a, v128_t b, v128_t c)
{
    const v128_t low =
        wasm_f64x2_add(wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b)),
                       wasm_f64x2_promote_low_f32x4(c));
    a = wasm_i64x2_shuffle(a, a, 1, 1), b = wasm_i64x2_shuffle(b, b, 1, 1),
    c = wasm_i64x2_shuffle(c, c, 1, 1);
    const v128_t high =
        wasm_f64x2_add(wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b)),
                       wasm_f64x2_promote_low_f32x4(c));
    return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 2);
}
#undef wasm_f32x4_relaxed_madd
#define wasm_f32x4_relaxed_madd(a, b, c) gpt_native_f32x4_madd(a, b, c)

/* The relaxed dot product of bytes, as processors without AVX-VNNI have it: b has no sign, and sums of pairs
 * saturate at 16 bits. So the tests notice where a result depends on the processor. */
static inline v128_t gpt_native_i32x4_dot_add(v128_t a, v128_t b, v128_t c)
{
    simde_v128_private x = simde_v128_to_private(a), y = simde_v128_to_private(b),
                       sum = simde_v128_to_private(c);
    for (int i = 0; i < 16; i += 2) {
        const int pair = x.i8[i] * y.u8[i] + x.i8[i + 1] * y.u8[i + 1];
        sum.u32[i / 4] += (uint32_t)(pair > INT16_MAX ? INT16_MAX : pair < INT16_MIN ? INT16_MIN : pair);
    }
    return simde_v128_from_private(sum);
}
#undef wasm_i32x4_relaxed_dot_i8x16_i7x16_add
#define wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, c) gpt_native_i32x4_dot_add(a, b, c)

#endif
