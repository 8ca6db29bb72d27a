/* One step of AdamW: Adam with weight decay that is not part of the gradient. Loshchilov, Hutter 2019,
 * arXiv:1711.05101, algorithm 2.
 *
 * Bound by memory: four loads and three stores per vector.
 */
#include <math.h>

#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

static int check(const float *weight, const float *mean, const float *square, const float *grad, size_t n,
                 double correction1, double correction2)
{
    if (!weight || !mean || !square || !grad) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    /* the negation also refuses NaN */
    if (!(correction1 > 0.0) || !(correction2 > 0.0)) return GPT_ERR_VALUE;
    return GPT_OK;
}

void gpt_adamw_step_ref(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                        double beta1, double beta2, double eps, double decay, double correction1,
                        double correction2)
{
    for (size_t i = 0; i < n; i++) {
        const double g = grad[i];
        /* moving averages of the gradient and its square */
        const double m = beta1 * mean[i] + (1.0 - beta1) * g, v = beta2 * square[i] + (1.0 - beta2) * g * g;
        mean[i] = (float)m;
        square[i] = (float)v;
        /* decay the weight, then step along the corrected averages */
        weight[i] =
            (float)(weight[i] * (1.0 - lr * decay) - lr * (m / correction1) / (sqrt(v / correction2) + eps));
    }
}

typedef struct rates {
    v128_t shrink, beta1, add1, beta2, add2, rate, root, eps;
} rates;

/* The new weight. The means m of the gradient and v of its square are updated. */
GPT_INLINE v128_t step(v128_t w, v128_t *m, v128_t *v, v128_t g, const rates *r)
{
    *m = gpt_multiply_add(r->beta1, *m, wasm_f32x4_mul(r->add1, g));
    *v = gpt_multiply_add(r->beta2, *v, wasm_f32x4_mul(wasm_f32x4_mul(r->add2, g), g));
    const v128_t size = gpt_multiply_add(wasm_f32x4_sqrt(*v), r->root, r->eps);
    return wasm_f32x4_sub(wasm_f32x4_mul(w, r->shrink), wasm_f32x4_div(wasm_f32x4_mul(r->rate, *m), size));
}

int gpt_adamw_step(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                   double beta1, double beta2, double eps, double decay, double correction1,
                   double correction2)
{
    const int status = check(weight, mean, square, grad, n, correction1, correction2);
    if (status) return status;
    /* 1 - beta is computed in float64: in float32, 1 - 0.999 has a relative error of 1.3e-5 */
    const rates r = {wasm_f32x4_splat((float)(1.0 - lr * decay)),
                     wasm_f32x4_splat((float)beta1),
                     wasm_f32x4_splat((float)(1.0 - beta1)),
                     wasm_f32x4_splat((float)beta2),
                     wasm_f32x4_splat((float)(1.0 - beta2)),
                     wasm_f32x4_splat((float)(lr / correction1)),
                     wasm_f32x4_splat((float)(1.0 / sqrt(correction2))),
                     wasm_f32x4_splat((float)eps)};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        v128_t m = wasm_v128_load(mean + i), v = wasm_v128_load(square + i);
        wasm_v128_store(weight + i, step(wasm_v128_load(weight + i), &m, &v, wasm_v128_load(grad + i), &r));
        wasm_v128_store(mean + i, m);
        wasm_v128_store(square + i, v);
    }
    if (i < n) {
        const size_t rest = n - i;
        v128_t m = gpt_load_tail(mean + i, rest), v = gpt_load_tail(square + i, rest);
        const v128_t w = gpt_load_tail(weight + i, rest);
        gpt_store_tail(weight + i, step(w, &m, &v, gpt_load_tail(grad + i, rest), &r), rest);
        gpt_store_tail(mean + i, m, rest);
        gpt_store_tail(square + i, v, rest);
    }
    return GPT_OK;
}
