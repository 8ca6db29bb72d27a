/* One step of Adam, or of AdamW, whose weight decay is no part of the gradient. Loshchilov, Hutter 2019,
 * arXiv:1711.05101, algorithm 2.
 *
 * Bound by memory: four loads and three stores per vector.
 */
#include <math.h>

#include "map.h"

typedef struct rates {
    v128_t shrink, l2, beta1, add1, beta2, add2, rate, root, eps;
    int decoupled;
} rates;

/* The step of n <= 4 weights. */
GPT_INLINE void step(float *weight, float *mean, float *square, const float *grad, size_t n, const rates *r)
{
    const v128_t w = gpt_load(weight, n), slope = gpt_load(grad, n);
    const v128_t g = r->decoupled ? slope : gpt_multiply_add(r->l2, w, slope);
    const v128_t m = gpt_multiply_add(r->beta1, gpt_load(mean, n), wasm_f32x4_mul(r->add1, g));
    const v128_t v =
        gpt_multiply_add(r->beta2, gpt_load(square, n), wasm_f32x4_mul(wasm_f32x4_mul(r->add2, g), g));
    const v128_t size = gpt_multiply_add(wasm_f32x4_sqrt(v), r->root, r->eps);
    gpt_store(weight,
              wasm_f32x4_sub(wasm_f32x4_mul(w, r->shrink), wasm_f32x4_div(wasm_f32x4_mul(r->rate, m), size)),
              n);
    gpt_store(mean, m, n);
    gpt_store(square, v, n);
}

int gpt_adam_step(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                  double beta1, double beta2, double eps, double decay, double correction1,
                  double correction2, int decoupled)
{
    const int status =
        gpt_check(weight && mean && square && grad, gpt_fits(n, 1), correction1 > 0.0 && correction2 > 0.0);
    if (status) return status;
    /* 1 - beta is computed in float64: in float32, 1 - 0.999 has a relative error of 1.3e-5 */
    const rates r = {wasm_f32x4_splat(decoupled ? (float)(1.0 - lr * decay) : 1.0f),
                     wasm_f32x4_splat((float)decay),
                     wasm_f32x4_splat((float)beta1),
                     wasm_f32x4_splat((float)(1.0 - beta1)),
                     wasm_f32x4_splat((float)beta2),
                     wasm_f32x4_splat((float)(1.0 - beta2)),
                     wasm_f32x4_splat((float)(lr / correction1)),
                     wasm_f32x4_splat((float)(1.0 / sqrt(correction2))),
                     wasm_f32x4_splat((float)eps),
                     decoupled};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) step(weight + i, mean + i, square + i, grad + i, 4, &r);
    if (n % 4) step(weight + i, mean + i, square + i, grad + i, n % 4, &r);
    return GPT_OK;
}
