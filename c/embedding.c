/* Embedding: y[r] = weight[indices[r]], a row of the weight for each index.
 *
 * Backward: dweight[i] = Σ dy[r] over the rows r with indices[r] = i. Parts divide the rows of dweight. Each
 * part reads all indices and adds in their order, so the sums do not depend on the number of parts.
 *
 * Bound by memory.
 */
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

static int check(const float *a, const float *b, const int32_t *indices, size_t rows, size_t count,
                 size_t dim)
{
    if (!a || !b || !indices) return GPT_ERR_NULL;
    if (!gpt_fits(rows, dim) || !gpt_fits(count, dim)) return GPT_ERR_SIZE;
    for (size_t r = 0; r < rows; r++)
        if (indices[r] < 0 || (size_t)indices[r] >= count) return GPT_ERR_VALUE;
    return GPT_OK;
}

int gpt_embedding_forward_ref(float *y, const int32_t *indices, const float *weight, size_t rows,
                              size_t count, size_t dim)
{
    const int status = check(y, weight, indices, rows, count, dim);
    if (status) return status;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < dim; c++) y[r * dim + c] = weight[(size_t)indices[r] * dim + c];
    return GPT_OK;
}

int gpt_embedding_forward(float *y, const int32_t *indices, const float *weight, size_t rows, size_t count,
                          size_t dim, size_t part, size_t parts)
{
    const int status = check(y, weight, indices, rows, count, dim);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) memcpy(y + r * dim, weight + (size_t)indices[r] * dim, dim * sizeof(float));
    return GPT_OK;
}

int gpt_embedding_backward_ref(float *dweight, const float *dy, const int32_t *indices, size_t rows,
                               size_t count, size_t dim)
{
    const int status = check(dweight, dy, indices, rows, count, dim);
    if (status) return status;
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < dim; c++) {
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++)
                if ((size_t)indices[r] == i) sum += dy[r * dim + c];
            dweight[i * dim + c] = (float)sum;
        }
    }
    return GPT_OK;
}

int gpt_embedding_backward(float *dweight, const float *dy, const int32_t *indices, size_t rows, size_t count,
                           size_t dim, size_t part, size_t parts)
{
    const int status = check(dweight, dy, indices, rows, count, dim);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    size_t first;
    const size_t end = gpt_share(count, 1, part, parts, &first);
    memset(dweight + first * dim, 0, (end - first) * dim * sizeof(float));
    for (size_t r = 0; r < rows; r++) {
        const size_t i = (size_t)indices[r];
        if (i < first || i >= end) continue;
        float *sum = dweight + i * dim;
        const float *dy_r = dy + r * dim;
        size_t c = 0;
        for (; c + 4 <= dim; c += 4)
            wasm_v128_store(sum + c, wasm_f32x4_add(wasm_v128_load(sum + c), wasm_v128_load(dy_r + c)));
        for (; c < dim; c++) sum[c] += dy_r[c];
    }
    return GPT_OK;
}
