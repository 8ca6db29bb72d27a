/* What tells one WebAssembly build from another, and what its instances need to run as threads. */
#include "gpt_layers.h"

int gpt_is_relaxed(void)
{
#ifdef __wasm_relaxed_simd__
    return 1;
#else
    return 0;
#endif
}

/* Set without a word of C: the compiler has no name for its own stack pointer. The function has no frame, so
 * nothing puts the old one back. */
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
