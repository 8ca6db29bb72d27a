/* Cross entropy of a row of logits x and its target class:
 *
 *   loss = -log softmax(x)[target] = log(sum) + max - x[target],   max = max(x),   sum = Σ e^(x - max)
 *   dx = scale · (softmax(x) - onehot(target)),   softmax(x) = e^(x - max) / sum
 *
 * With label smoothing s (Szegedy et al. 2015, arXiv:1512.00567, section 7) the target is not onehot, but
 * (1 - s) · onehot + s / cols:
 *
 *   loss = log(sum) + (1 - s) · (max - x[target]) + s · mean(max - x)
 *
 * The softmax is not stored: forward keeps max and sum of each row, and backward computes the softmax again
 * from them. Bound by the exponential: one per element in each pass.
 */
#include <math.h>

#include "map.h"
#include "softmax.h"

static int check(int has_pointers, const int32_t *targets, size_t rows, size_t cols, float smoothing,
                 size_t part, size_t parts)
{
    const int status = gpt_check(has_pointers, gpt_fits(rows, cols), smoothing >= 0.0f && smoothing <= 1.0f);
    if (status) return status;
    for (size_t r = 0; r < rows; r++)
        if (targets[r] != GPT_IGNORE && (targets[r] < 0 || (size_t)targets[r] >= cols)) return GPT_ERR_VALUE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

/* The loss of a row with Σ e^(x - max) = exp(log_sum). */
static float loss_of(const float *x, int32_t target, double log_sum, double max, size_t cols,
                     double smoothing)
{
    if (target == GPT_IGNORE) return 0.0f;
    double loss = log_sum + (1.0 - smoothing) * (max - (double)x[target]);
    if (smoothing > 0.0) { /* not 0 · ∞ */
        double sum = 0.0;
        for (size_t c = 0; c < cols; c++) sum += max - (double)x[c];
        loss += smoothing * sum / (double)cols;
    }
    return (float)loss;
}

int gpt_crossentropy_forward(float *loss, float *max, float *sum, const float *logits, const int32_t *targets,
                             size_t rows, size_t cols, float smoothing, size_t part, size_t parts)
{
    const int status = check(loss && logits && targets, targets, rows, cols, smoothing, part, parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x = logits + r * cols;
        const float m = gpt_row_max(x, cols);
        const double s = gpt_row_exp(NULL, x, m, cols);
        if (max) max[r] = m;
        if (sum) sum[r] = (float)s;
        /* log(s) as log1p(s - 1): random.c links log1p already. s >= 1, and s - 1 is exact for s near 1. */
        loss[r] = loss_of(x, targets[r], log1p(s - 1.0), (double)m, cols, (double)smoothing);
    }
    return GPT_OK;
}

int gpt_crossentropy_backward(float *dlogits, const float *logits, const int32_t *targets, const float *max,
                              const float *sum, size_t rows, size_t cols, float scale, float smoothing,
                              size_t part, size_t parts)
{
    const int status =
        check(dlogits && logits && targets && max && sum, targets, rows, cols, smoothing, part, parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) {
        const float *x = logits + r * cols;
        float *dx = dlogits + r * cols;
        if (targets[r] == GPT_IGNORE) {
            memset(dx, 0, cols * sizeof(float));
            continue;
        }
        const v128_t m = wasm_f32x4_splat(max[r]), factor = wasm_f32x4_splat(scale / sum[r]);
        GPT_MAP(dx, 0, cols, wasm_f32x4_mul(gpt_exp_f32x4(wasm_f32x4_sub(GPT_AT(x), m)), factor));
        const float share = scale * smoothing / (float)cols;
        for (size_t c = 0; smoothing > 0.0f && c < cols; c++) dx[c] -= share;
        float *dx_t = dx + targets[r];
        if (fabsf(*dx_t) > 0.5f * fabsf(scale)) /* p - 1 loses digits: it is minus the sum of the others */
            gpt_balance(dx, (size_t)targets[r], cols);
        else
            *dx_t -= scale * (1.0f - smoothing);
    }
    return GPT_OK;
}
