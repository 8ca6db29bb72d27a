/* Cross entropy of a row of logits and its target: -log softmax(x)[target] = log Σ e^(x - max) + max - x[target].
 *
 * Softmax is never stored: the forward pass keeps each row's maximum and sum, from which the backward pass has
 * softmax(x) = e^(x - max) / sum once more. Bound by the exponential, of which there is one an element and pass.
 */
#include <math.h>

#include "gpt_layers.h"
#include "reference.h"
#include "softmax.h"

static int check_targets(const int32_t *targets, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++)
        if (targets[r] != GPT_IGNORE && (targets[r] < 0 || (size_t)targets[r] >= cols)) return GPT_ERR_VALUE;
    return GPT_OK;
}

static int check(const float *a, const float *b, const float *c, const float *logits, const int32_t *targets,
                 size_t rows, size_t cols)
{
    if (!a || !b || !c || !logits || !targets) return GPT_ERR_NULL;
    if (!gpt_fits(rows, cols) || !gpt_fits(rows, 1)) return GPT_ERR_SIZE;
    return check_targets(targets, rows, cols);
}

int gpt_crossentropy_forward_ref(float *loss, float *max, float *sum, const float *logits,
                                 const int32_t *targets, size_t rows, size_t cols)
{
    const int status = check(loss, max, sum, logits, targets, rows, cols);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *x = logits + r * cols;
        double m = -INFINITY, s = 0.0;
        for (size_t c = 0; c < cols; c++) m = x[c] > m ? (double)x[c] : m;
        for (size_t c = 0; c < cols; c++) s += exp(x[c] - m);
        max[r] = (float)m;
        sum[r] = (float)s;
        loss[r] = targets[r] == GPT_IGNORE ? 0.0f : (float)(log(s) + (m - x[targets[r]]));
    }
    return GPT_OK;
}

int gpt_crossentropy_forward(float *loss, float *max, float *sum, const float *logits, const int32_t *targets,
                             size_t rows, size_t cols, size_t part, size_t parts)
{
    const int status = check(loss, max, sum, logits, targets, rows, cols);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x = logits + r * cols;
        const float m = gpt_row_max(x, cols);
        const double s = gpt_row_exp(NULL, x, m, cols);
        max[r] = m;
        sum[r] = (float)s;
        /* log1p, which the generator has as well; the largest element adds 1, so s - 1 is exact where s is near 1 */
        loss[r] =
            targets[r] == GPT_IGNORE ? 0.0f : (float)(log1p(s - 1.0) + ((double)m - (double)x[targets[r]]));
    }
    return GPT_OK;
}

int gpt_crossentropy_backward_ref(float *dlogits, const float *logits, const float *max, const float *sum,
                                  const int32_t *targets, size_t rows, size_t cols, float scale)
{
    const int status = check(dlogits, max, sum, logits, targets, rows, cols);
    if (status) return status;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            const double p = exp((double)logits[r * cols + c] - max[r]) / sum[r];
            const double d = (p - (targets[r] == (int32_t)c)) * (double)scale;
            dlogits[r * cols + c] = targets[r] == GPT_IGNORE ? 0.0f : (float)d;
        }
    }
    return GPT_OK;
}

int gpt_crossentropy_backward(float *dlogits, const float *logits, const float *max, const float *sum,
                              const int32_t *targets, size_t rows, size_t cols, float scale, size_t part,
                              size_t parts)
{
    const int status = check(dlogits, max, sum, logits, targets, rows, cols);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x = logits + r * cols;
        float *dx = dlogits + r * cols;
        if (targets[r] == GPT_IGNORE) {
            memset(dx, 0, cols * sizeof(float));
            continue;
        }
        const v128_t m = wasm_f32x4_splat(max[r]), by = wasm_f32x4_splat(scale / sum[r]);
        size_t c = 0;
        for (; c + 4 <= cols; c += 4)
            wasm_v128_store(dx + c, wasm_f32x4_mul(gpt_exp(wasm_f32x4_sub(wasm_v128_load(x + c), m)), by));
        if (c < cols)
            gpt_store_tail(dx + c,
                           wasm_f32x4_mul(gpt_exp(wasm_f32x4_sub(gpt_load_tail(x + c, cols - c), m)), by),
                           cols - c);
        dx[targets[r]] -= scale;
    }
    return GPT_OK;
}
