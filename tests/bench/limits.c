/* What WebAssembly can do on this machine at most, for the bench to measure the kernels against: two loops that
 * do one thing only, built with the kernels' flags, once for each of their builds. */
#include <stddef.h>

#include "../../c/simd.h"

#define EXPORT __attribute__((used, visibility("default")))

float limit_multiply_add(size_t flops, float factor);
void limit_fill(void);
float limit_read(size_t bytes, size_t passes);

/* Two multiplications and additions a cycle, each 3 to 4 cycles long, want 12 to 16 chains at once, and V8 has 15
 * registers. 14 and one constant: 56 GFLOP/s where 12 reach 53 and 8 reach 37 (Zen 5, Node 20, simd). */
enum { CHAINS = 14, FLOPS_A_STEP = CHAINS * 4 * 2 };

/* At least so many floating point operations, every one in registers.
 *   factor  0.5, which takes the sums to 1; it comes from outside, so that no compiler knows it */
EXPORT float limit_multiply_add(size_t flops, float factor)
{
    const v128_t x = wasm_f32x4_splat(factor);
    v128_t acc[CHAINS];
    for (size_t i = 0; i < CHAINS; i++) acc[i] = wasm_f32x4_splat((float)i);
    for (size_t done = 0; done < flops; done += FLOPS_A_STEP)
        for (size_t i = 0; i < CHAINS; i++) acc[i] = gpt_multiply_add(acc[i], x, x);
    for (size_t i = 1; i < CHAINS; i++) acc[0] = wasm_f32x4_add(acc[0], acc[i]);
    return gpt_sum_lanes(acc[0]);
}

/* The size of FeedForward's weights at 768 and 3072. */
enum { FLOATS = 2 * 768 * 3072, SUMS = 6 };
static float buffer[FLOATS];

/* Before anything is read: memory never written is the same page of zeros all over, which the first cache holds. */
EXPORT void limit_fill(void)
{
    for (size_t i = 0; i < FLOATS; i++) buffer[i] = 1.0f;
}

/* Reads the first `bytes` of the buffer, a multiple of 96, `passes` times over. 6 sums hide the addition's
 * latency and leave registers for as many loads: with 8, Node 20 spills, and reads at half the speed. */
EXPORT float limit_read(size_t bytes, size_t passes)
{
    v128_t sum[SUMS];
    for (size_t i = 0; i < SUMS; i++) sum[i] = wasm_f32x4_splat(0.0f);
    for (size_t pass = 0; pass < passes; pass++)
        for (const float *p = buffer, *end = buffer + bytes / sizeof(float); p < end; p += SUMS * 4)
            for (size_t i = 0; i < SUMS; i++) sum[i] = wasm_f32x4_add(sum[i], wasm_v128_load(p + 4 * i));
    for (size_t i = 1; i < SUMS; i++) sum[0] = wasm_f32x4_add(sum[0], sum[i]);
    return gpt_sum_lanes(sum[0]);
}
