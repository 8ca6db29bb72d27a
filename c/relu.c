/* ReLU: y = max(0, x), and dx = dy where x > 0.
 *
 * Bound by memory: at most two loads, one operation and one store per vector.
 */
#include <math.h>

#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

static int check(const float *y, const float *x, size_t n, size_t part, size_t parts)
{
    if (!y || !x) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

static int check_backward(const float *dx, const float *dy, const float *x, size_t n, size_t part,
                          size_t parts)
{
    if (!dx || !dy || !x) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

void gpt_relu_forward_ref(float *y, const float *x, size_t n)
{
    /* Not `x < 0 ? 0 : x`: the Clang of Emscripten 3.1.6 compiles that to f32.max, which turns -0 into 0. */
    for (size_t i = 0; i < n; i++) y[i] = x[i] >= 0.0f || isnan(x[i]) ? x[i] : 0.0f;
}

int gpt_relu_forward(float *y, const float *x, size_t n, size_t part, size_t parts)
{
    const int status = check(y, x, n, part, parts);
    if (status) return status;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    const v128_t zero = wasm_f32x4_splat(0.0f);
    /* pmax(x, 0) is `x < 0 ? 0 : x`, which keeps NaN and -0; max(x, 0) turns -0 into 0 */
    for (; i + 4 <= end; i += 4) wasm_v128_store(y + i, wasm_f32x4_pmax(wasm_v128_load(x + i), zero));
    if (i < end) gpt_store_tail(y + i, wasm_f32x4_pmax(gpt_load_tail(x + i, end - i), zero), end - i);
    return GPT_OK;
}

void gpt_relu_backward_ref(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) dx[i] = x[i] <= 0.0f ? 0.0f : dy[i];
}

GPT_INLINE v128_t gradient(v128_t dy, v128_t x)
{
    return wasm_v128_andnot(dy, wasm_f32x4_le(x, wasm_f32x4_splat(0.0f)));
}

int gpt_relu_backward(float *dx, const float *dy, const float *x, size_t n, size_t part, size_t parts)
{
    const int status = check_backward(dx, dy, x, n, part, parts);
    if (status) return status;
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    for (; i + 4 <= end; i += 4)
        wasm_v128_store(dx + i, gradient(wasm_v128_load(dy + i), wasm_v128_load(x + i)));
    if (i < end)
        gpt_store_tail(dx + i, gradient(gpt_load_tail(dy + i, end - i), gpt_load_tail(x + i, end - i)),
                       end - i);
    return GPT_OK;
}
