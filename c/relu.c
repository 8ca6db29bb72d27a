/* ReLU: y = max(0, x), and dx = dy where x > 0.
 *
 * Bound by memory: at most two loads, one operation and one store per vector.
 */
#include <math.h>

#include "map.h"
#include "reference.h"

void gpt_relu_forward_ref(float *y, const float *x, size_t n)
{
    /* Not `x < 0 ? 0 : x`: the Clang of Emscripten 3.1.6 compiles that to f32.max, which turns -0 into 0. */
    for (size_t i = 0; i < n; i++) y[i] = x[i] >= 0.0f || isnan(x[i]) ? x[i] : 0.0f;
}

/* pmax(x, 0) is `x < 0 ? 0 : x`, which keeps NaN and -0; max(x, 0) turns -0 into 0. */
GPT_INLINE v128_t relu(v128_t x) { return wasm_f32x4_pmax(x, wasm_f32x4_splat(0.0f)); }

GPT_UNARY(gpt_relu_forward, relu)

void gpt_relu_backward_ref(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) dx[i] = x[i] <= 0.0f ? 0.0f : dy[i];
}

GPT_INLINE v128_t gradient(v128_t dy, v128_t x)
{
    return wasm_v128_andnot(dy, wasm_f32x4_le(x, wasm_f32x4_splat(0.0f)));
}

GPT_GRADIENT(gpt_relu_backward, gradient)
