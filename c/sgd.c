/* One step of stochastic gradient descent with momentum and weight decay, as in PyTorch.
 *
 * Bound by memory.
 */
#include "map.h"

typedef struct rates {
    v128_t lr, momentum, add, decay;
    int nesterov;
} rates;

/* The step of n <= 4 weights. */
GPT_INLINE void step(float *weight, float *velocity, const float *grad, size_t n, const rates *r)
{
    const v128_t w = gpt_load(weight, n);
    v128_t g = gpt_multiply_add(r->decay, w, gpt_load(grad, n));
    if (velocity) {
        const v128_t v = gpt_multiply_add(r->momentum, gpt_load(velocity, n), wasm_f32x4_mul(r->add, g));
        gpt_store(velocity, v, n);
        g = r->nesterov ? gpt_multiply_add(r->momentum, v, g) : v;
    }
    gpt_store(weight, wasm_f32x4_sub(w, wasm_f32x4_mul(r->lr, g)), n);
}

int gpt_sgd_step(float *weight, float *velocity, const float *grad, size_t n, double lr, double momentum,
                 double dampening, double decay, int nesterov)
{
    const int status = gpt_check(weight && grad, gpt_fits(n, 1), 1);
    if (status) return status;
    const rates r = {wasm_f32x4_splat((float)lr), wasm_f32x4_splat((float)momentum),
                     wasm_f32x4_splat((float)(1.0 - dampening)), wasm_f32x4_splat((float)decay), nesterov};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) step(weight + i, velocity ? velocity + i : NULL, grad + i, 4, &r);
    if (n % 4) step(weight + i, velocity ? velocity + i : NULL, grad + i, n % 4, &r);
    return GPT_OK;
}
