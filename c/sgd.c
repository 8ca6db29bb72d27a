/* One step of stochastic gradient descent with momentum and weight decay, as in PyTorch.
 *
 * Bound by memory.
 */
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

static int check(const float *weight, const float *grad, size_t n)
{
    if (!weight || !grad) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    return GPT_OK;
}

void gpt_sgd_step_ref(float *weight, float *momentum, const float *grad, size_t n, double lr, double keep,
                      double dampening, double decay, int nesterov)
{
    for (size_t i = 0; i < n; i++) {
        /* g = grad + decay · weight */
        double g = grad[i] + decay * weight[i];
        /* m = keep · m + (1 - dampening) · g, a decaying sum. Nesterov steps along g + keep · m */
        if (momentum) {
            const double m = keep * momentum[i] + (1.0 - dampening) * g;
            momentum[i] = (float)m;
            g = nesterov ? g + keep * m : m;
        }
        weight[i] = (float)(weight[i] - lr * g);
    }
}

typedef struct rates {
    v128_t lr, keep, add, decay;
    int nesterov;
} rates;

/* Returns the new weight, and updates the momentum m. m is NULL without momentum. */
GPT_INLINE v128_t step(v128_t w, v128_t *m, v128_t g, const rates *r)
{
    g = gpt_multiply_add(r->decay, w, g);
    if (m) {
        *m = gpt_multiply_add(r->keep, *m, wasm_f32x4_mul(r->add, g));
        g = r->nesterov ? gpt_multiply_add(r->keep, *m, g) : *m;
    }
    return wasm_f32x4_sub(w, wasm_f32x4_mul(r->lr, g));
}

int gpt_sgd_step(float *weight, float *momentum, const float *grad, size_t n, double lr, double keep,
                 double dampening, double decay, int nesterov)
{
    const int status = check(weight, grad, n);
    if (status) return status;
    const rates r = {wasm_f32x4_splat((float)lr), wasm_f32x4_splat((float)keep),
                     wasm_f32x4_splat((float)(1.0 - dampening)), wasm_f32x4_splat((float)decay), nesterov};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        v128_t m = momentum ? wasm_v128_load(momentum + i) : r.lr;
        wasm_v128_store(weight + i,
                        step(wasm_v128_load(weight + i), momentum ? &m : NULL, wasm_v128_load(grad + i), &r));
        if (momentum) wasm_v128_store(momentum + i, m);
    }
    if (i < n) {
        const size_t rest = n - i;
        v128_t m = momentum ? gpt_load_tail(momentum + i, rest) : r.lr;
        const v128_t w = gpt_load_tail(weight + i, rest);
        gpt_store_tail(weight + i, step(w, momentum ? &m : NULL, gpt_load_tail(grad + i, rest), &r), rest);
        if (momentum) gpt_store_tail(momentum + i, m, rest);
    }
    return GPT_OK;
}
