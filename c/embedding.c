/* Embedding: y[r] = weight[indices[r]], a row of the weight for each index.
 *
 * Backward: dweight[i] = Σ dy[r] over the rows r with indices[r] = i. Parts divide the rows of dweight. Each
 * part reads all indices and sorts the rows that are its own by their index, then it sums the rows of one
 * index after the other. The sort keeps the order of the rows, so the sums do not depend on the number of
 * parts.
 *
 * Bound by memory.
 */
#include "gpt_layers.h"
#include "sums.h"

static int check(int has_pointers, const int32_t *indices, size_t rows, size_t count, size_t dim, size_t part,
                 size_t parts)
{
    const int status = gpt_check(has_pointers, gpt_fits(rows, dim) && gpt_fits(count, dim), 1);
    if (status) return status;
    return gpt_are_indices(indices, rows, count) && part < parts ? GPT_OK : GPT_ERR_VALUE;
}

int gpt_embedding_forward(float *y, const int32_t *indices, const float *weight, size_t rows, size_t count,
                          size_t dim, size_t part, size_t parts)
{
    const int status = check(y && indices && weight, indices, rows, count, dim, part, parts);
    if (status) return status;
    size_t r;
    const size_t end = gpt_share(rows, 1, part, parts, &r);
    for (; r < end; r++) memcpy(y + r * dim, weight + (size_t)indices[r] * dim, dim * sizeof(float));
    return GPT_OK;
}

/* A counting sort of the rows whose index is from `first` to `end` - 1. The bucket of index first + i has the
 * numbers of its rows and ends at order[ends[i]]; it begins where the bucket before it ends. */
static void sort_rows(uint32_t *order, uint32_t *ends, const int32_t *indices, size_t rows, size_t first,
                      size_t end)
{
    const size_t count = end - first;
    memset(ends, 0, count * sizeof *ends);
    for (size_t r = 0; r < rows; r++) {
        const size_t i = (size_t)indices[r] - first; /* wraps below `first` */
        if (i < count) ends[i]++;
    }
    uint32_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t n = ends[i];
        ends[i] = begin;
        begin += n;
    }
    for (size_t r = 0; r < rows; r++) {
        const size_t i = (size_t)indices[r] - first;
        if (i < count) order[ends[i]++] = (uint32_t)r;
    }
}

/* Adds n rows of dy to sum[dim], which is 0 before. */
static void add_bucket(float *sum, const float *dy, const uint32_t *bucket, size_t n, size_t dim)
{
    if (n <= GPT_ROWS_PER_SUM) {
        for (size_t k = 0; k < n; k++) gpt_add_row(sum, dy + bucket[k] * dim, dim);
        return;
    }
    double totals[GPT_COLS_PER_STRIP];
    for (size_t c = 0; c < dim; c += GPT_COLS_PER_STRIP) {
        const size_t cols = gpt_min(GPT_COLS_PER_STRIP, dim - c);
        for (size_t k = 0; k < n;) {
            const size_t first = k, end = k + gpt_min(GPT_ROWS_PER_SUM, n - k);
            memset(sum + c, 0, cols * sizeof(float));
            for (; k < end; k++) gpt_add_row(sum + c, dy + bucket[k] * dim + c, cols);
            gpt_add_block(totals, sum + c, cols, first == 0, end == n);
        }
    }
}

int gpt_embedding_backward(float *dweight, float *scratch, const float *dy, const int32_t *indices,
                           size_t rows, size_t count, size_t dim, size_t part, size_t parts)
{
    const int has_pointers = dweight && scratch && dy && indices;
    /* row numbers are counted in 31 bits */
    if (has_pointers && (rows >= INT32_MAX || !gpt_fits(gpt_floats_sum(rows, count), parts)))
        return GPT_ERR_SIZE;
    const int status = check(has_pointers, indices, rows, count, dim, part, parts);
    if (status) return status;
    if (dim == 0) return GPT_OK; /* the rows are empty: skip the loops */
    size_t first;
    const size_t end = gpt_share(count, 1, part, parts, &first);
    uint32_t *order = (uint32_t *)(void *)(scratch + part * (rows + count)), *ends = order + rows;
    sort_rows(order, ends, indices, rows, first, end);
    memset(dweight + first * dim, 0, (end - first) * dim * sizeof(float));
    for (size_t i = first, begin = 0; i < end; i++) {
        const size_t bucket_end = ends[i - first];
        add_bucket(dweight + i * dim, dy, order + begin, bucket_end - begin, dim);
        begin = bucket_end;
    }
    return GPT_OK;
}
