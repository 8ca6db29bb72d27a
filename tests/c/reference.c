/* The references that are not in c/: reference.h says why. Nothing here uses what c/ computes with. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_layers.h"

/* ---- Linear and Conv1D ---- */

void gpt_affine_forward_ref(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                            size_t in, size_t out, int is_conv1d)
{
    const size_t out_step = is_conv1d ? 1 : in, in_step = is_conv1d ? out : 1;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            /* y[r,o] = Σ_i x[r,i] · weight[o,i] + bias[o] */
            double sum = bias ? (double)bias[o] : 0.0;
            for (size_t i = 0; i < in; i++)
                sum += (double)x[r * in + i] * (double)weight[o * out_step + i * in_step];
            y[r * out + o] = (float)sum;
        }
}

void gpt_affine_backward_ref(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                             const float *weight, size_t rows, size_t in, size_t out, int is_conv1d)
{
    const size_t out_step = is_conv1d ? 1 : in, in_step = is_conv1d ? out : 1;
    for (size_t r = 0; dx && r < rows; r++)
        for (size_t i = 0; i < in; i++) {
            /* dx[r,i] = Σ_o dy[r,o] · weight[o,i] */
            double sum = 0.0;
            for (size_t o = 0; o < out; o++)
                sum += (double)dy[r * out + o] * (double)weight[o * out_step + i * in_step];
            dx[r * in + i] = (float)sum;
        }
    for (size_t o = 0; dweight && o < out; o++)
        for (size_t i = 0; i < in; i++) {
            /* dweight[o,i] = Σ_r dy[r,o] · x[r,i] */
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + o] * (double)x[r * in + i];
            dweight[o * out_step + i * in_step] = (float)sum;
        }
    for (size_t o = 0; dbias && o < out; o++) {
        /* dbias[o] = Σ_r dy[r,o] */
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + o];
        dbias[o] = (float)sum;
    }
}

/* ---- Weights as int8; c/int8.h describes the layouts ---- */

static size_t up_to(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

/* A panel of 32 lanes (outputs, tokens or columns) and n numbers: its bytes, where a byte is, and its value. */
static size_t panel_bytes(size_t n) { return 32 * up_to(n, 4); }
static size_t byte_place(size_t lane, size_t i, size_t n, int dot)
{
    if (dot) return lane / 16 * (panel_bytes(n) / 2) + i / 4 * 64 + lane % 16 * 4 + i % 4;
    return i / 2 * 64 + lane / 8 * 16 + lane % 4 * 4 + i % 2 * 2 + lane % 8 / 4;
}
static int value_of(int8_t byte, size_t lane, int dot)
{
    return !dot && lane % 8 < 4 ? (uint8_t)byte - 128 : byte;
}

static size_t int8_group_bytes(size_t n, int dot)
{
    return 32 * sizeof(float) + (dot ? (n + 127) / 128 * 32 * sizeof(int16_t) : 0) + panel_bytes(n);
}

/* Where the group of output o and input i begins. */
static size_t int8_group_place(int8_weight w, size_t o, size_t i)
{
    const size_t whole = int8_group_bytes(w.group, w.dot), rest = w.in % w.group;
    const size_t block = w.in / w.group * whole + (rest ? int8_group_bytes(rest, w.dot) : 0);
    return o / 32 * block + i / w.group * whole;
}

/* Where i's run begins. */
static size_t int8_run_place(int8_weight w, size_t o, size_t i)
{
    return int8_group_place(w, o, i) + int8_group_bytes(i % w.group / 128 * 128, w.dot);
}

size_t int8_run_end(int8_weight w, size_t i)
{
    const size_t first = i - i % w.group, end = w.group < w.in - first ? first + w.group : w.in;
    const size_t run_end = first + i % w.group / 128 * 128 + 128;
    return run_end < end ? run_end : end;
}

float *int8_scale(int8_weight w, size_t o, size_t i)
{
    return (float *)(void *)(w.bytes + int8_group_place(w, o, i)) + o % 32;
}

int16_t *int8_sum(int8_weight w, size_t o, size_t i)
{
    return (int16_t *)(void *)(w.bytes + int8_run_place(w, o, i)) + o % 32;
}

int8_t *int8_byte_of_run(int8_weight w, size_t o, size_t i, size_t k)
{
    return w.bytes + int8_run_place(w, o, i) + (w.dot ? 32 * sizeof(int16_t) : 0) +
           byte_place(o % 32, k, int8_run_end(w, i) - i, w.dot);
}

int int8_value_of_run(int8_weight w, size_t o, size_t i, size_t k)
{
    return value_of(*int8_byte_of_run(w, o, i, k), o, w.dot);
}

int int8_value(int8_weight w, size_t o, size_t i)
{
    const size_t k = i % w.group % 128;
    return int8_value_of_run(w, o, i - k, k);
}

void gpt_int8_linear_forward_ref(float *y, const float *x, int8_weight weight, const float *bias, size_t rows)
{
    const size_t in = weight.in, out = weight.out;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            /* an infinity makes the row NaN */
            double sum = bias ? (double)bias[o] : 0.0;
            for (size_t i = 0; i < in; i++)
                sum += isfinite(x[r * in + i]) ? (double)x[r * in + i] * ((double)*int8_scale(weight, o, i) *
                                                                          int8_value(weight, o, i))
                                               : (double)NAN;
            y[r * out + o] = (float)sum;
        }
}

void gpt_int8_embedding_forward_ref(float *y, const int32_t *indices, int8_weight weight, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < weight.in; c++) {
            const size_t o = (size_t)indices[r];
            y[r * weight.in + c] = (float)((double)*int8_scale(weight, o, c) * int8_value(weight, o, c));
        }
}

/* ---- Batch normalization ---- */

/* The biased variance of a column. */
static double variance_of(double *mean, const float *x, size_t rows, size_t cols)
{
    double sum = 0.0, squares = 0.0;
    for (size_t r = 0; r < rows; r++) sum += (double)x[r * cols];
    *mean = sum / (double)rows;
    for (size_t r = 0; r < rows; r++) squares += (x[r * cols] - *mean) * (x[r * cols] - *mean);
    return squares / (double)rows;
}

void gpt_batchnorm_statistics_ref(float *mean, float *off, float *var, const float *x, size_t rows,
                                  size_t cols)
{
    for (size_t c = 0; c < cols; c++) {
        double m;
        var[c] = (float)variance_of(&m, x + c, rows, cols);
        mean[c] = (float)m;
        off[c] = (float)(m - mean[c]);
    }
}

/* 1/√(var + eps). Of a batch whose variance float32 cannot hold, the variance comes from x, and a constant
 * column with eps 0 is the shift, as in PyTorch. */
static double rstd_of(double var, double eps, int is_batch, const float *x, size_t rows, size_t cols)
{
    double mean;
    if (!is_batch || (var + eps > 1e-30 && var + eps < 3e38)) return 1.0 / sqrt(var + eps);
    var = variance_of(&mean, x, rows, cols);
    return var + eps == 0.0 ? 0.0 : 1.0 / sqrt(var + eps);
}

void gpt_batchnorm_forward_ref(float *y, const float *x, const float *mean, const float *off,
                               const float *var, const float *scale, const float *shift, size_t rows,
                               size_t cols, float eps)
{
    for (size_t c = 0; c < cols; c++) {
        const double m = (double)mean[c] + (off ? (double)off[c] : 0.0),
                     s = rstd_of((double)var[c], (double)eps, off != NULL, x + c, rows, cols);
        for (size_t r = 0; r < rows; r++)
            y[r * cols + c] = (float)(scale[c] * ((x[r * cols + c] - m) * s) + shift[c]);
    }
}

void gpt_batchnorm_backward_ref(float *dx, float *dscale, float *dshift, const float *dy, const float *x,
                                const float *mean, const float *off, const float *var, const float *scale,
                                size_t rows, size_t cols, float eps)
{
    for (size_t c = 0; c < cols; c++) {
        const double m = (double)mean[c] + (double)off[c],
                     s = rstd_of((double)var[c], (double)eps, 1, x + c, rows, cols);
        /* Σ dy and Σ dy · u over the rows */
        double sum = 0.0, dot = 0.0;
        for (size_t r = 0; r < rows; r++) {
            sum += dy[r * cols + c];
            dot += dy[r * cols + c] * ((x[r * cols + c] - m) * s);
        }
        for (size_t r = 0; dx && r < rows; r++) {
            const double u = (x[r * cols + c] - m) * s;
            dx[r * cols + c] =
                (float)(scale[c] * s * (dy[r * cols + c] - sum / (double)rows - u * dot / (double)rows));
        }
        if (dscale) dscale[c] = (float)dot;
        if (dshift) dshift[c] = (float)sum;
    }
}

/* ---- Dropout ---- */

/* lowbias32 with other constants: c/mask.h */
static uint32_t hash(uint32_t x, uint32_t key)
{
    x = ((x ^ x >> 16) * 0x21f0aaad) ^ key;
    x = (x ^ x >> 15) * 0xd35a2d97;
    return x ^ x >> 15;
}

static uint32_t dropout_word(uint32_t seed, uint32_t index)
{
    return hash(index * 0x9e3779b9 + seed, hash(seed + 0x9e3779b9, 0));
}

/* 0 with the probability p, otherwise 1 / (1 - p) */
static double dropout_factor(uint32_t seed, size_t index, float p)
{
    const int is_dropped = p == 1.0f || dropout_word(seed, (uint32_t)index) < (double)p * 0x1p32;
    return is_dropped ? 0.0 : (double)(float)(1.0 / (1.0 - (double)p));
}

void gpt_dropout_forward_ref(float *y, const float *x, size_t n, uint32_t seed, float p)
{
    /* a product with 0, so that a dropped NaN stays NaN, as in PyTorch */
    for (size_t i = 0; i < n; i++) y[i] = (float)(x[i] * dropout_factor(seed, i, p));
}

/* ---- Attention ---- */

/* The most tokens of a test. */
enum { MOST_TOKENS = 4096 };
static double weights[MOST_TOKENS], dweights[MOST_TOKENS];

/* One head of one sequence: row t of q, k and v is `step` floats after row t - 1. */
typedef struct head {
    const float *q;
    size_t size, dim, step;
    /* number c of key j, and of value j */
    double (*key)(const struct head *a, size_t j, size_t c),
        (*value)(const struct head *a, size_t j, size_t c);
    /* With a cache: where the head's keys and values begin, and the bytes from one piece to the next. */
    char *keys, *values;
    size_t keys_step, values_step;
    int dot; /* in int8: which layout */
} head;

static double key_of(const head *a, size_t j, size_t c) { return (double)a->q[j * a->step + a->dim + c]; }
static double value_of_token(const head *a, size_t j, size_t c)
{
    return (double)a->q[j * a->step + 2 * a->dim + c];
}

/* Head number n of batch * heads. */
static head head_of(const float *qkv, size_t n, size_t tokens, size_t heads, size_t size)
{
    const size_t dim = heads * size;
    return (head){.q = qkv + n / heads * tokens * 3 * dim + n % heads * size,
                  .size = size,
                  .dim = dim,
                  .step = 3 * dim,
                  .key = key_of,
                  .value = value_of_token};
}

/* weights[j] = softmax(q · k[j] / √size) over the first n keys. Returns the largest score and Σ e^(score -
 * largest). */
typedef struct softmax {
    double max, sum;
} softmax;

static softmax weigh(const head *a, const float *q, size_t n)
{
    softmax s = {-(double)INFINITY, 0.0};
    if (n > MOST_TOKENS) abort();
    for (size_t j = 0; j < n; j++) {
        weights[j] = 0.0;
        for (size_t c = 0; c < a->size; c++) weights[j] += (double)q[c] * a->key(a, j, c);
        weights[j] /= sqrt((double)a->size);
        s.max = fmax(s.max, weights[j]);
    }
    for (size_t j = 0; j < n; j++) s.sum += weights[j] = exp(weights[j] - s.max);
    for (size_t j = 0; j < n; j++) weights[j] /= s.sum;
    return s;
}

/* y[c] = Σ_j weights[j] · v[j,c] over the first n values */
static void add_values(float *y, const head *a, size_t n)
{
    for (size_t c = 0; c < a->size; c++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) sum += weights[j] * a->value(a, j, c);
        y[c] = (float)sum;
    }
}

/* Dropout numbers a head's weights by key, then by query, and each head has a seed of its own. */
static double weight_factor(uint32_t seed, size_t n, size_t query, size_t key, size_t tokens, float p)
{
    return dropout_factor(dropout_word(seed, (uint32_t)n), key * tokens + query, p);
}

void gpt_attention_forward_ref(float *y, float *max, float *sum, const float *qkv, size_t batch,
                               size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const head a = head_of(qkv, n, tokens, heads, size);
        for (size_t i = 0; i < tokens; i++) {
            const softmax s = weigh(&a, a.q + i * a.step, i + 1);
            for (size_t j = 0; j <= i; j++) weights[j] *= weight_factor(seed, n, i, j, tokens, p);
            add_values(y + (n / heads * tokens + i) * a.dim + n % heads * size, &a, i + 1);
            if (max) max[n * tokens + i] = (float)s.max;
            if (sum) sum[n * tokens + i] = (float)s.sum;
        }
    }
}

void gpt_attention_weights_ref(float *w, const float *qkv, size_t batch, size_t tokens, size_t heads,
                               size_t size)
{
    for (size_t n = 0; n < batch * heads; n++) {
        const head a = head_of(qkv, n, tokens, heads, size);
        for (size_t i = 0; i < tokens; i++) {
            weigh(&a, a.q + i * a.step, i + 1);
            for (size_t j = 0; j < tokens; j++) /* no token sees a later one */
                w[(n * tokens + i) * tokens + j] = j <= i ? (float)weights[j] : 0.0f;
        }
    }
}

void gpt_attention_backward_ref(float *dqkv, double *sums, const float *dy, const float *qkv, size_t batch,
                                size_t tokens, size_t heads, size_t size, uint32_t seed, float p)
{
    const size_t n_sums = batch * tokens * 3 * heads * size;
    for (size_t i = 0; i < n_sums; i++) sums[i] = 0.0;
    for (size_t n = 0; n < batch * heads; n++) {
        const head a = head_of(qkv, n, tokens, heads, size);
        double *dq = sums + (a.q - qkv), *dk = dq + a.dim, *dv = dk + a.dim;
        for (size_t i = 0; i < tokens; i++) {
            const float *q_i = a.q + i * a.step;
            const float *dy_i = dy + (n / heads * tokens + i) * a.dim + n % heads * size;
            weigh(&a, q_i, i + 1);
            /* softmax's gradient subtracts the mean of the gradients of the weights */
            double mean = 0.0;
            for (size_t j = 0; j <= i; j++) {
                double dot = 0.0;
                for (size_t c = 0; c < size; c++) dot += (double)dy_i[c] * a.value(&a, j, c);
                dweights[j] = weight_factor(seed, n, i, j, tokens, p) * dot;
                mean += weights[j] * dweights[j];
            }
            for (size_t j = 0; j <= i; j++) {
                const double dscore = weights[j] * (dweights[j] - mean) / sqrt((double)size);
                const double kept = weights[j] * weight_factor(seed, n, i, j, tokens, p);
                for (size_t c = 0; c < size; c++) {
                    dq[i * a.step + c] += dscore * a.key(&a, j, c);
                    dk[j * a.step + c] += dscore * (double)q_i[c];
                    dv[j * a.step + c] += kept * (double)dy_i[c];
                }
            }
        }
    }
    for (size_t i = 0; i < n_sums; i++) dqkv[i] = (float)sums[i];
}

/* ---- Attention with a cache ---- */

/* Head number n of batch * heads with its cache: two groups of heads, one after the other, and in each
 * group one piece of every head, then the next piece of every head. A piece has so many bytes; a head has
 * `floats`. */
static head cached_head_of(float *keys, float *values, const float *qkv, size_t n, size_t tokens,
                           size_t heads, size_t size, size_t floats, size_t keys_piece, size_t values_piece)
{
    const size_t larger = heads - heads / 2, is_second = n % heads >= larger;
    const size_t in_group = is_second ? heads / 2 : larger, h = n % heads - (is_second ? larger : 0);
    head a = head_of(qkv, n, tokens, heads, size);
    a.keys = (char *)(keys + (n - h) * floats) + h * keys_piece;
    a.values = (char *)(values + (n - h) * floats) + h * values_piece;
    a.keys_step = in_group * keys_piece;
    a.values_step = in_group * values_piece;
    return a;
}

/* y of the head's tokens, whose keys and values are in the cache already. */
static void attend(float *y, const head *a, size_t n, size_t tokens, size_t past)
{
    const size_t heads = a->dim / a->size;
    for (size_t t = 0; t < tokens; t++) {
        weigh(a, a->q + t * a->step, past + t + 1);
        add_values(y + (n / heads * tokens + t) * a->dim + n % heads * a->size, a, past + t + 1);
    }
}

/* float32: a piece of keys is [size][12 tokens], a piece of values is [size] of one token. */
static float *float_key(const head *a, size_t j, size_t c)
{
    return (float *)(void *)(a->keys + j / 12 * a->keys_step) + c * 12 + j % 12;
}
static float *float_value(const head *a, size_t j, size_t c)
{
    return (float *)(void *)(a->values + j * a->values_step) + c;
}
static double cached_key(const head *a, size_t j, size_t c) { return (double)*float_key(a, j, c); }
static double cached_value(const head *a, size_t j, size_t c) { return (double)*float_value(a, j, c); }

void gpt_attention_cached_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                      size_t tokens, size_t past, size_t capacity, size_t heads, size_t size)
{
    const size_t floats = up_to(capacity, 12) * size, row = size * sizeof(float);
    for (size_t n = 0; n < batch * heads; n++) {
        head a = cached_head_of(keys, values, qkv, n, tokens, heads, size, floats, 12 * row, row);
        for (size_t t = 0; t < tokens; t++)
            for (size_t c = 0; c < size; c++) {
                memcpy(float_key(&a, past + t, c), a.q + t * a.step + a.dim + c, sizeof(float));
                memcpy(float_value(&a, past + t, c), a.q + t * a.step + 2 * a.dim + c, sizeof(float));
            }
        a.key = cached_key;
        a.value = cached_value;
        attend(y, &a, n, tokens, past);
    }
}

/* int8: a piece has 32 tokens. Keys are a panel in which a token is a lane, then 32 scales, for `dot` then 32
 * sums of the columns. Values are 32 scales, then panels of 32 columns, where a column is a lane. */
static size_t piece_bytes(size_t size, int dot)
{
    return 32 * up_to(size, 32) + 32 * sizeof(float) + (dot ? 32 * sizeof(int16_t) : 0);
}
static char *key_scale(const head *a, size_t j)
{
    return a->keys + j / 32 * a->keys_step + panel_bytes(a->size) + j % 32 * sizeof(float);
}
static char *value_scale(const head *a, size_t j)
{
    return a->values + j / 32 * a->values_step + j % 32 * sizeof(float);
}
static int8_t *key_byte(const head *a, size_t j, size_t c)
{
    return (int8_t *)(a->keys + j / 32 * a->keys_step + byte_place(j % 32, c, a->size, a->dot));
}
static int8_t *value_byte(const head *a, size_t j, size_t c)
{
    return (int8_t *)(a->values + j / 32 * a->values_step + 32 * sizeof(float) + c / 32 * panel_bytes(32) +
                      byte_place(c % 32, j % 32, 32, a->dot));
}

static double scaled(const char *scale, int value)
{
    float s;
    memcpy(&s, scale, sizeof s);
    return (double)s * value;
}
static double key_in_int8(const head *a, size_t j, size_t c)
{
    return scaled(key_scale(a, j), value_of(*key_byte(a, j, c), j, a->dot));
}
static double value_in_int8(const head *a, size_t j, size_t c)
{
    return scaled(value_scale(a, j), value_of(*value_byte(a, j, c), c, a->dot));
}

/* A row as int8: scale = max |x| / 127, and value[c] = x[c] · 127 / max |x|, rounded to the nearest
 * integer, to even in a tie. All is 0 below 2^-100, and the scale is NaN where x has a NaN or an
 * infinity. */
typedef struct rounding {
    float scale, factor;
} rounding;

static rounding rounding_of(const float *x, size_t n)
{
    float most = 0.0f;
    for (size_t c = 0; c < n; c++)
        if (!(fabsf(x[c]) <= most)) most = isnan(most) ? most : fabsf(x[c]);
    if (most < 0x1p-100f) return (rounding){0.0f, 0.0f};
    return isfinite(most) ? (rounding){most / 127.0f, 127.0f / most} : (rounding){NAN, 0.0f};
}

/* In float32, 1.5 · 2^23 + x has the nearest integer to x in its last bits. Of a NaN, these are any bits: the
 * same as the kernel's. */
static int rounded(float x)
{
    const float sum = x + 0x1.8p23f, zero = 0x1.8p23f;
    uint32_t bits, zero_bits;
    memcpy(&bits, &sum, sizeof bits);
    memcpy(&zero_bits, &zero, sizeof zero_bits);
    return (int32_t)(bits - zero_bits);
}

/* The byte of a value of this lane. */
static int8_t coded(int value, size_t lane, int dot)
{
    return (int8_t)(!dot && lane % 8 < 4 ? value + 128 : value);
}

void gpt_attention_int8_forward_ref(float *y, float *keys, float *values, const float *qkv, size_t batch,
                                    size_t tokens, size_t past, size_t capacity, size_t heads, size_t size,
                                    int dot)
{
    if (size > 256) dot = 0; /* larger sums would not fit int16 */
    /* there is room for either layout */
    const size_t bytes = piece_bytes(size, dot),
                 floats = up_to(capacity, 32) / 32 * piece_bytes(size, 1) / sizeof(float);
    for (size_t n = 0; n < batch * heads; n++) {
        head a = cached_head_of(keys, values, qkv, n, tokens, heads, size, floats, bytes, bytes);
        a.dot = dot;
        for (size_t t = 0; t < tokens; t++) {
            const size_t j = past + t;
            const float *k = a.q + t * a.step + a.dim, *v = k + a.dim;
            const rounding of_k = rounding_of(k, size), of_v = rounding_of(v, size);
            memcpy(key_scale(&a, j), &of_k.scale, sizeof(float));
            memcpy(value_scale(&a, j), &of_v.scale, sizeof(float));
            int16_t sum = 0;
            for (size_t c = 0; c < up_to(size, 4); c++) { /* up to 3 columns more are 0 */
                const int key = c < size ? rounded(k[c] * of_k.factor) : 0;
                *key_byte(&a, j, c) = coded(key, j, dot);
                *value_byte(&a, j, c) = coded(c < size ? rounded(v[c] * of_v.factor) : 0, c, dot);
                sum = (int16_t)(sum + key); /* of a NaN, any bits */
            }
            if (dot)
                memcpy(key_scale(&a, j / 32 * 32) + 32 * sizeof(float) + j % 32 * sizeof sum, &sum,
                       sizeof sum);
        }
        a.key = key_in_int8;
        a.value = value_in_int8;
        attend(y, &a, n, tokens, past);
    }
}

/* ---- Cross entropy ---- */

void gpt_crossentropy_forward_ref(float *loss, float *max, float *sum, const float *logits,
                                  const int32_t *targets, size_t rows, size_t cols, float smoothing)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x = logits + r * cols;
        double m = -(double)INFINITY, s = 0.0, mean = 0.0;
        for (size_t c = 0; c < cols; c++) m = x[c] > m ? (double)x[c] : m;
        for (size_t c = 0; c < cols; c++) s += exp(x[c] - m);
        if (max) max[r] = (float)m;
        if (sum) sum[r] = (float)s;
        loss[r] = 0.0f;
        if (targets[r] == GPT_IGNORE) continue;
        /* -log softmax(x)[target], and its mean over all classes */
        const double target = log(s) + (m - (double)x[targets[r]]);
        for (size_t c = 0; c < cols; c++) mean += (log(s) + (m - (double)x[c])) / (double)cols;
        /* not 0 · ∞ */
        loss[r] = (float)(smoothing > 0.0f ? (1.0 - (double)smoothing) * target + (double)smoothing * mean
                                           : target);
    }
}

void gpt_crossentropy_backward_ref(float *dlogits, const float *logits, const int32_t *targets,
                                   const float *max, const float *sum, size_t rows, size_t cols, float scale,
                                   float smoothing)
{
    for (size_t r = 0; r < rows; r++) {
        /* p, the softmax less the share of every class, and its sum without the target */
        double others = 0.0;
        for (size_t c = 0; c < cols; c++) {
            const double p =
                exp((double)logits[r * cols + c] - max[r]) / sum[r] - (double)smoothing / (double)cols;
            others += targets[r] == (int32_t)c ? 0.0 * p : p; /* 0 · NaN is NaN */
            dlogits[r * cols + c] = targets[r] == GPT_IGNORE ? 0.0f : (float)(p * (double)scale);
        }
        /* the gradient is p - 1 + smoothing at the target, which is exactly minus the sum of the others */
        if (targets[r] != GPT_IGNORE)
            dlogits[r * cols + (size_t)targets[r]] = (float)(-others * (double)scale);
    }
}

/* ---- Mean squared error ---- */

void gpt_mse_forward_ref(float *loss, const float *x, const float *target, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        double squares = 0.0;
        for (size_t c = 0; c < cols; c++) {
            const double d = (double)x[r * cols + c] - target[r * cols + c];
            squares += d * d;
        }
        loss[r] = (float)(squares / (double)cols);
    }
}

void gpt_mse_backward_ref(float *dx, const float *x, const float *target, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) dx[i] = (float)(((double)x[i] - target[i]) * scale);
}

/* ---- Embedding ---- */

void gpt_embedding_forward_ref(float *y, const int32_t *indices, const float *weight, size_t rows, size_t dim)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < dim; c++) y[r * dim + c] = weight[(size_t)indices[r] * dim + c];
}

void gpt_embedding_backward_ref(float *dweight, const float *dy, const int32_t *indices, size_t rows,
                                size_t count, size_t dim)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < dim; c++) {
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++)
                if ((size_t)indices[r] == i) sum += dy[r * dim + c];
            dweight[i * dim + c] = (float)sum;
        }
    }
}

/* ---- Optimizers ---- */

void gpt_sgd_step_ref(float *weight, float *velocity, const float *grad, size_t n, double lr, double momentum,
                      double dampening, double decay, int nesterov)
{
    for (size_t i = 0; i < n; i++) {
        /* g = grad + decay · weight */
        double g = grad[i] + decay * weight[i];
        /* v = momentum · v + (1 - dampening) · g, a decaying sum. Nesterov steps along g + momentum · v */
        if (velocity) {
            const double v = momentum * velocity[i] + (1.0 - dampening) * g;
            velocity[i] = (float)v;
            g = nesterov ? g + momentum * v : v;
        }
        weight[i] = (float)(weight[i] - lr * g);
    }
}

void gpt_adam_step_ref(float *weight, float *mean, float *square, const float *grad, size_t n, double lr,
                       double beta1, double beta2, double eps, double decay, double correction1,
                       double correction2, int decoupled)
{
    for (size_t i = 0; i < n; i++) {
        const double g = decoupled ? grad[i] : grad[i] + decay * weight[i];
        /* moving averages of the gradient and its square */
        const double m = beta1 * mean[i] + (1.0 - beta1) * g, v = beta2 * square[i] + (1.0 - beta2) * g * g;
        mean[i] = (float)m;
        square[i] = (float)v;
        /* decay the weight, then step along the corrected averages */
        const double decayed = decoupled ? weight[i] * (1.0 - lr * decay) : weight[i];
        weight[i] = (float)(decayed - lr * (m / correction1) / (sqrt(v / correction2) + eps));
    }
}

/* ---- Operations of tensors ---- */

/* IEEE 754's maximum: NaN wins, and 0 is larger than -0. */
static double larger(double a, double b)
{
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static double operation(char sign, double a, double b)
{
    switch (sign) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '^': return larger(a, b);
    case 'v': return -larger(-a, -b);
    case '=': return a == b;
    case '!': return a != b;
    case '<': return a < b;
    default: return a <= b;
    }
}

void gpt_arithmetic_ref(char sign, float *y, const float *a, const float *b, size_t rows, size_t cols,
                        size_t a_row, size_t a_col, size_t b_row, size_t b_col)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * cols + c] = (float)operation(sign, a[r * a_row + c * a_col], b[r * b_row + c * b_col]);
}

void gpt_where_ref(float *y, const float *condition, const float *a, const float *b, size_t rows, size_t cols,
                   size_t condition_row, size_t condition_col, size_t a_row, size_t a_col, size_t b_row,
                   size_t b_col)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[r * cols + c] = condition[r * condition_row + c * condition_col] != 0.0f
                                  ? a[r * a_row + c * a_col]
                                  : b[r * b_row + c * b_col];
}

void gpt_sqrt_ref(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)sqrt((double)x[i]);
}

void gpt_abs_ref(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = fabsf(x[i]);
}

void gpt_abs_backward_ref(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) dx[i] = dy[i] * (float)((x[i] > 0.0f) - (x[i] < 0.0f));
}

void gpt_silu_backward_ref(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double s = 1.0 / (1.0 + exp(-(double)x[i]));
        dx[i] = (float)(dy[i] * s * (1.0 + x[i] * (1.0 - s)));
    }
}

void gpt_clamp_ref(float *y, const float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)-larger(-larger((double)x[i], (double)low), -(double)high);
}

void gpt_clamp_backward_ref(float *dx, const float *dy, const float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++) dx[i] = x[i] >= low && x[i] <= high ? dy[i] : 0.0f;
}

void gpt_mean_ref(float *mean, const float *x, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        double sum = 0.0;
        for (size_t c = 0; c < cols; c++) sum += x[r * cols + c];
        mean[r] = (float)(sum / (double)cols);
    }
}

void gpt_var_ref(float *var, const float *x, size_t rows, size_t cols, int unbiased)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        double sum = 0.0, squares = 0.0;
        for (size_t c = 0; c < cols; c++) sum += x_r[c];
        const double mean = sum / (double)cols;
        for (size_t c = 0; c < cols; c++) squares += (x_r[c] - mean) * (x_r[c] - mean);
        /* an empty row has no variance: NaN */
        var[r] = (float)(squares / ((double)cols - (unbiased && cols > 0 ? 1.0 : 0.0)));
    }
}

void gpt_sum_ref(float *sum, const float *x, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        double s = 0.0;
        for (size_t c = 0; c < cols; c++) s += x[r * cols + c];
        sum[r] = (float)s;
    }
}

void gpt_sum_columns_ref(float *sum, const float *x, size_t count, size_t rows, size_t cols)
{
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < cols; c++) {
            double s = 0.0;
            for (size_t r = 0; r < rows; r++) s += x[(k * rows + r) * cols + c];
            sum[k * cols + c] = (float)s;
        }
}

void gpt_max_ref(float *max, int32_t *indices, const float *x, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        size_t best = 0;
        for (size_t c = 1; c < cols && !isnan(x_r[best]); c++)
            if (x_r[c] > x_r[best] || isnan(x_r[c])) best = c;
        if (max) max[r] = x_r[best];
        if (indices) indices[r] = (int32_t)best;
    }
}

void gpt_square_sum_ref(double *sum, const float *x, size_t n)
{
    *sum = 0.0;
    for (size_t i = 0; i < n; i++) *sum += (double)x[i] * x[i];
}
