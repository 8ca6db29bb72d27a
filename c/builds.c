/* Which build this is, and a stack for each instance that runs as a thread. */
#include <wasm_simd128.h>

#include "gpt_layers.h"

int gpt_is_relaxed(void)
{
#ifdef __wasm_relaxed_simd__
    return 1;
#else
    return 0;
#endif
}

/* How an engine computes i32x4.relaxed_dot_i8x16_i7x16_add_s shows in its result. One instruction adds four
 * products in 32 bits. AVX-VNNI reads the second operand as unsigned; ARM's dot product and AVX-VNNI-INT8 read it
 * as signed. Three instructions first add two products in 16 bits, and 2 · 127 · 255 and 2 · -128 · -128 are too
 * large for that. */
int gpt_dot_is_fast(void)
{
#ifdef __wasm_relaxed_simd__
    const v128_t zero = wasm_i32x4_splat(0), least = wasm_i8x16_splat(-128);
    const v128_t unsigned_dot =
        wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_i8x16_splat(127), wasm_i8x16_splat(-1), zero);
    const v128_t signed_dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(least, least, zero);
    return wasm_i32x4_extract_lane(unsigned_dot, 0) == 4 * 127 * 255 ||
           wasm_i32x4_extract_lane(signed_dot, 0) == 4 * 128 * 128;
#else
    return 0;
#endif
}

/* In assembly, because C has no name for the stack pointer. The function has no stack frame, so no
 * epilogue restores the old value. */
int gpt_stack_set(void *top)
{
    if (!top) return GPT_ERR_NULL;
#ifdef __wasm__
    __asm__ volatile(".globaltype __stack_pointer, i32\nlocal.get %0\nglobal.set __stack_pointer"
                     :
                     : "r"(top));
#endif
    return GPT_OK;
}
