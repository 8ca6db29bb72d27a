/* The limits of this machine in WebAssembly, which the bench compares the kernels with: one loop that only
 * multiplies and adds, and one that only reads memory. Both are compiled with the kernels' flags, once per
 * build. */
#include <stddef.h>

#include "../../c/simd.h"

#define EXPORT __attribute__((used, visibility("default")))

float limit_multiply_add(size_t flops, float factor);
void limit_fill(void);
float limit_read(size_t bytes, size_t passes);
float limit_read_at(const float *from, size_t bytes, size_t passes);

/* How many independent sums. A CPU starts two multiply-adds per cycle, each of which takes 3 to 4 cycles, so
 * 12 to 16 sums keep it busy. V8 has 15 registers; one holds the factor. Zen 5, Node 20, simd build:
 *   sums      8   12   14
 *   GFLOP/s  37   53   56 */
enum { CHAINS = 14, FLOPS_PER_STEP = CHAINS * 4 * 2 };

/* Does at least `flops` floating point operations, all in registers.
 *   factor  0.5: the sums tend to 1. It is an argument so that the compiler cannot compute the result. */
EXPORT float limit_multiply_add(size_t flops, float factor)
{
    const v128_t x = wasm_f32x4_splat(factor);
    v128_t acc[CHAINS];
    for (size_t i = 0; i < CHAINS; i++) acc[i] = wasm_f32x4_splat((float)i);
    for (size_t done = 0; done < flops; done += FLOPS_PER_STEP)
        for (size_t i = 0; i < CHAINS; i++) acc[i] = gpt_multiply_add(acc[i], x, x);
    for (size_t i = 1; i < CHAINS; i++) acc[0] = wasm_f32x4_add(acc[0], acc[i]);
    return gpt_sum_lanes(acc[0]);
}

/* FLOATS is the size of FeedForward's weights for 768 and 3072. SUMS hides the latency of the addition: 6
 * sums and 6 loads fit into the registers; with 8 of each, Node 20 spills and reads at half the speed. */
enum { FLOATS = 2 * 768 * 3072, SUMS = 6 };
static float buffer[FLOATS];

/* Writes the buffer, to be called before limit_read: pages that were never written all map to one page of
 * zeros, which fits into the first cache. */
EXPORT void limit_fill(void)
{
    for (size_t i = 0; i < FLOATS; i++) buffer[i] = 1.0f;
}

/* Reads the first `bytes` of the buffer `passes` times.
 *   bytes  a multiple of 96 */
EXPORT float limit_read(size_t bytes, size_t passes) { return limit_read_at(buffer, bytes, passes); }

/* The same from any place, such as memory that JavaScript has added: a model's weights do not fit into the
 * buffer, nor into a cache. */
EXPORT float limit_read_at(const float *from, size_t bytes, size_t passes)
{
    v128_t sum[SUMS];
    for (size_t i = 0; i < SUMS; i++) sum[i] = wasm_f32x4_splat(0.0f);
    for (size_t pass = 0; pass < passes; pass++)
        for (const float *p = from, *end = from + bytes / sizeof(float); p < end; p += SUMS * 4)
            for (size_t i = 0; i < SUMS; i++) sum[i] = wasm_f32x4_add(sum[i], wasm_v128_load(p + 4 * i));
    for (size_t i = 1; i < SUMS; i++) sum[0] = wasm_f32x4_add(sum[0], sum[i]);
    return gpt_sum_lanes(sum[0]);
}
