/* Attention's equations as a textbook has them; gpt_layers.h has the formulas. Every sum is in float64. */
#include <math.h>

#include "attention.h"
#include "reference.h"

/* score[i, j] = q[i] · k[j] / √size */
static double score(const gpt_head *a, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t d = 0; d < a->size; d++) sum += (double)a->q[i * a->step + d] * (double)a->k[j * a->step + d];
    return sum / sqrt((double)a->size);
}

/* The largest score[i, j] over j <= i, and Σ e^(score[i, j] - max): no exponential overflows. */
typedef struct softmax {
    double max, sum;
} softmax;

static softmax softmax_of(const gpt_head *a, size_t i)
{
    softmax s = {-INFINITY, 0.0};
    for (size_t j = 0; j <= i; j++) s.max = fmax(s.max, score(a, i, j));
    for (size_t j = 0; j <= i; j++) s.sum += exp(score(a, i, j) - s.max);
    return s;
}

/* Softmax's weight of key j for query i. */
static double weight_of(const gpt_head *a, size_t i, size_t j, softmax s)
{
    return exp(score(a, i, j) - s.max) / s.sum;
}

/* Dropout multiplies weight [i, j] by 0 or by 1 / (1 - p). */
static double dropout_factor(const gpt_head *a, size_t i, size_t j)
{
    const int dropped = gpt_mask_word(a->seed, gpt_dropout_index(a, i, j)) < gpt_mask_threshold(a->p);
    return dropped ? 0.0 : (double)gpt_mask_scale(a->p);
}

void gpt_attention_forward_ref(float *y, float *max, float *sum, const float *qkv, size_t batch,
                               size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        for (size_t i = 0; i < tokens; i++) {
            const softmax s = softmax_of(&a, i);
            float *y_i = y + (n / heads * tokens + i) * heads * size + n % heads * size;
            for (size_t d = 0; d < size; d += MEANS) {
                /* the mean of the values of all tokens up to i, weighted by softmax */
                const size_t n_means = size - d < MEANS ? size - d : MEANS;
                double mean[MEANS] = {0.0};
                for (size_t j = 0; j <= i; j++) {
                    const double weight = dropout_factor(&a, i, j) * weight_of(&a, i, j, s);
                    for (size_t m = 0; m < n_means; m++) mean[m] += weight * (double)a.v[j * a.step + d + m];
                }
                for (size_t m = 0; m < n_means; m++) y_i[d + m] = (float)mean[m];
            }
            if (max) max[n * tokens + i] = (float)s.max;
            if (sum) sum[n * tokens + i] = (float)s.sum;
        }
    }
}

void gpt_attention_weights_ref(float *w, const float *qkv, size_t batch, size_t tokens, size_t heads,
                               size_t size)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        for (size_t i = 0; i < tokens; i++) {
            const softmax s = softmax_of(&a, i);
            for (size_t j = 0; j < tokens; j++) /* no token sees a later one */
                w[(n * tokens + i) * tokens + j] = j <= i ? (float)weight_of(&a, i, j, s) : 0.0f;
        }
    }
}

/* The gradient of weight [i, j]: dropout's factor times dy[i] · v[j]. */
static double dweight_of(const gpt_head *a, const float *dy_i, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t d = 0; d < a->size; d++) sum += (double)dy_i[d] * (double)a->v[j * a->step + d];
    return dropout_factor(a, i, j) * sum;
}

void gpt_attention_backward_ref(float *dqkv, double *sums, const float *dy, const float *qkv, size_t batch,
                                size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    const size_t dim = heads * size, n_sums = batch * tokens * 3 * dim;
    for (size_t i = 0; i < n_sums; i++) sums[i] = 0.0;
    for (size_t n = 0; n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        double *dq = sums + (a.q - qkv), *dk = dq + dim, *dv = dk + dim;
        for (size_t i = 0; i < tokens; i++) {
            const float *dy_i = dy + (n / heads * tokens + i) * dim + n % heads * size;
            const softmax s = softmax_of(&a, i);
            /* softmax's gradient subtracts the mean of the gradients of the weights */
            double mean = 0.0;
            for (size_t j = 0; j <= i; j++) mean += weight_of(&a, i, j, s) * dweight_of(&a, dy_i, i, j);
            for (size_t j = 0; j <= i; j++) {
                const double weight = weight_of(&a, i, j, s), kept = dropout_factor(&a, i, j);
                const double dscore = weight * (dweight_of(&a, dy_i, i, j) - mean) / sqrt((double)size);
                for (size_t d = 0; d < size; d++) {
                    dq[i * a.step + d] += dscore * (double)a.k[j * a.step + d];
                    dk[j * a.step + d] += dscore * (double)a.q[i * a.step + d];
                    dv[j * a.step + d] += kept * weight * (double)dy_i[d];
                }
            }
        }
    }
    for (size_t i = 0; i < n_sums; i++) dqkv[i] = (float)sums[i];
}
