/* Clang's <wasm_simd128.h> for native compilers, by way of SIMDe (Debian's libsimde-dev 0.7.4): `-I tests/c` makes
 * c/ compile natively, so that sanitizers and valgrind see the very kernels that ship. The WebAssembly build must
 * not have this folder on its include path. tests/c/simd.c holds it to the WebAssembly specification.
 */
#ifndef GPT_NATIVE_WASM_SIMD128_H
#define GPT_NATIVE_WASM_SIMD128_H

#include <math.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>

/* Where the compiler has no __builtin_roundevenf (clang before 17), SIMDe rounds -0.5 to +0 instead of -0; and
 * where it has one, the C library must have roundevenf (musl has not). rintf is right in the default rounding mode,
 * which is the only one WebAssembly knows. */
static inline v128_t gpt_native_f32x4_nearest(v128_t v)
{
    simde_v128_private lanes = simde_v128_to_private(v);
    for (int i = 0; i < 4; i++) lanes.f32[i] = rintf(lanes.f32[i]);
    return simde_v128_from_private(lanes);
}
#undef wasm_f32x4_nearest
#define wasm_f32x4_nearest(v) gpt_native_f32x4_nearest(v)

/* SIMDe multiplies as int, whose overflow is undefined in C and wraps in WebAssembly. */
static inline v128_t gpt_native_i32x4_mul(v128_t a, v128_t b)
{
    simde_v128_private x = simde_v128_to_private(a), y = simde_v128_to_private(b);
    for (int i = 0; i < 4; i++) x.u32[i] *= y.u32[i];
    return simde_v128_from_private(x);
}
#undef wasm_i32x4_mul
#define wasm_i32x4_mul(a, b) gpt_native_i32x4_mul(a, b)

#endif
