/* Which build this is, and a stack for each instance that runs as a thread. */
#include "gpt_layers.h"

int gpt_is_relaxed(void)
{
#ifdef __wasm_relaxed_simd__
    return 1;
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
