/* Attention's equations as a textbook has them, in float64; gpt_layers.h has the formulas. */
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

int gpt_attention_forward_ref(float *y, float *max, float *sum, float *scratch, const float *qkv,
                              size_t batch, size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    const int status = gpt_attention_check_forward(y, scratch, qkv, batch, tokens, heads, size, p, 0, 1);
    if (status) return status;
    for (size_t n = 0; tokens > 0 && n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        for (size_t i = 0; i < tokens; i++) {
            const softmax s = softmax_of(&a, i);
            float *y_i = y + (n / heads * tokens + i) * heads * size + n % heads * size;
            for (size_t d = 0; d < size; d++) {
                /* the mean of the values of all tokens up to i, weighted by softmax */
                double mean = 0.0;
                for (size_t j = 0; j <= i; j++)
                    mean += dropout_factor(&a, i, j) * weight_of(&a, i, j, s) * (double)a.v[j * a.step + d];
                y_i[d] = (float)mean;
            }
            if (max) max[n * tokens + i] = (float)s.max;
            if (sum) sum[n * tokens + i] = (float)s.sum;
        }
    }
    return GPT_OK;
}

int gpt_attention_weights_ref(float *w, float *scratch, const float *qkv, const float *max, const float *sum,
                              size_t batch, size_t tokens, size_t heads, size_t size)
{
    const int status =
        gpt_attention_check_weights(w, scratch, qkv, max, sum, batch, tokens, heads, size, 0, 1);
    if (status) return status;
    for (size_t n = 0; tokens > 0 && n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        for (size_t i = 0; i < tokens; i++) {
            const softmax s = softmax_of(&a, i);
            for (size_t j = 0; j < tokens; j++) /* no token sees a later one */
                w[(n * tokens + i) * tokens + j] = j <= i ? (float)weight_of(&a, i, j, s) : 0.0f;
        }
    }
    return GPT_OK;
}

int gpt_attention_backward_ref(float *dqkv, float *scratch, const float *dy, const float *y, const float *qkv,
                               const float *max, const float *sum, size_t batch, size_t tokens, size_t heads,
                               size_t size, uint32_t seed, float p)
{
    const int status = gpt_attention_check_backward(dqkv, scratch, dy, y, qkv, max, sum, batch, tokens, heads,
                                                    size, p, 0, 1);
    if (status) return status;
    const size_t dim = heads * size;
    for (size_t i = 0; i < batch * tokens * 3 * dim; i++) dqkv[i] = 0.0f;
    for (size_t n = 0; tokens > 0 && n < batch * heads; n++) {
        const gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, seed, p);
        float *dq = dqkv + (a.q - qkv), *dk = dqkv + (a.k - qkv), *dv = dqkv + (a.v - qkv);
        for (size_t i = 0; i < tokens; i++) {
            const float *dy_i = dy + (n / heads * tokens + i) * dim + n % heads * size;
            const softmax s = softmax_of(&a, i);
            /* softmax's gradient subtracts mean = Σ_j weight · dweight: the first pass sums it, the second
             * uses it */
            double mean = 0.0;
            for (size_t pass = 0; pass < 2; pass++)
                for (size_t j = 0; j <= i; j++) {
                    const double weight = weight_of(&a, i, j, s), kept = dropout_factor(&a, i, j);
                    double dweight = 0.0;
                    for (size_t d = 0; d < size; d++)
                        dweight += kept * (double)dy_i[d] * (double)a.v[j * a.step + d];
                    if (pass == 0) {
                        mean += weight * dweight;
                        continue;
                    }
                    const double dscore = weight * (dweight - mean) / sqrt((double)size);
                    for (size_t d = 0; d < size; d++) {
                        dq[i * a.step + d] += (float)(dscore * (double)a.k[j * a.step + d]);
                        dk[j * a.step + d] += (float)(dscore * (double)a.q[i * a.step + d]);
                        dv[j * a.step + d] += (float)(kept * weight * (double)dy_i[d]);
                    }
                }
        }
    }
    return GPT_OK;
}
