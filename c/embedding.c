/* Embedding: y[r] = weight[indices[r]], a row of the weight for each index.
 *
 * Backward: dweight[i] = Σ dy[r] over the rows r with indices[r] = i. Parts divide the rows of dweight. Each
 * part reads all indices and adds in their order, so the sums do not depend on the number of parts. Where an
 * index has more than 64 rows, 64 of them are summed in float32, and these blocks in float64, so that the
 * errors do not grow with the rows.
 *
 * Bound by memory.
 */
#include "gpt_layers.h"
#include "reference.h"
#include "simd.h"

/* Backward: rows of an index that are summed in float32, and columns whose sums are on the stack at once. */
enum { ROWS_PER_BLOCK = 64, COLS_PER_STRIP = 1024 };

static int check(const float *a, const float *b, const int32_t *indices, size_t rows, size_t count,
                 size_t dim)
{
    if (!a || !b || !indices) return GPT_ERR_NULL;
    if (!gpt_fits(rows, dim) || !gpt_fits(count, dim)) return GPT_ERR_SIZE;
    for (size_t r = 0; r < rows; r++)
        if (indices[r] < 0 || (size_t)indices[r] >= count) return GPT_ERR_VALUE;
    return GPT_OK;
}

/* Row numbers are counted in 31 bits. */
static int check_backward(const float *dweight, const float *scratch, const float *dy, const int32_t *indices,
                          size_t rows, size_t count, size_t dim, size_t parts)
{
    if (!scratch) return GPT_ERR_NULL;
    if (dweight && dy && indices && (rows >= INT32_MAX || !gpt_fits(rows, parts))) return GPT_ERR_SIZE;
    return check(dweight, dy, indices, rows, count, dim);
}

void gpt_embedding_forward_ref(float *y, const int32_t *indices, const float *weight, size_t rows, size_t dim)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < dim; c++) y[r * dim + c] = weight[(size_t)indices[r] * dim + c];
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

/* The lists of rows with the same index: next[r] is the next row of r's index plus 1, and 0 for the last one.
 * A row that is not the first of its index has NOT_FIRST added. `dweight` holds each list's first row plus 1
 * at the start of the index's own row, which is 0 before. */
static const uint32_t NOT_FIRST = 0x80000000u, ADDED = 0xffffffffu;

static void list_rows(uint32_t *next, float *dweight, const int32_t *indices, size_t rows, size_t dim,
                      size_t first, size_t end)
{
    for (size_t r = rows; r-- > 0;) {
        const size_t i = (size_t)indices[r];
        if (i < first || i >= end) continue;
        uint32_t head;
        const uint32_t here = (uint32_t)r + 1;
        memcpy(&head, dweight + i * dim, sizeof head);
        memcpy(dweight + i * dim, &here, sizeof here);
        next[r] = head;
        if (head) next[head - 1] |= NOT_FIRST;
    }
}

/* Whether the list that starts at row r has more than ROWS_PER_BLOCK rows. */
static int is_long(const uint32_t *next, size_t r)
{
    size_t left = r + 1;
    for (size_t k = 0; k < ROWS_PER_BLOCK && left; k++) left = next[left - 1] & ~NOT_FIRST;
    return left != 0;
}

static void add_row(float *sum, const float *dy, size_t n)
{
    size_t c = 0;
    for (; c + 4 <= n; c += 4)
        wasm_v128_store(sum + c, wasm_f32x4_add(wasm_v128_load(sum + c), wasm_v128_load(dy + c)));
    for (; c < n; c++) sum[c] += dy[c];
}

/* sum = Σ dy over the list that starts at row r, in n <= COLS_PER_STRIP columns. */
static void add_list(float *sum, const float *dy, const uint32_t *next, size_t r, size_t dim, size_t n)
{
    double totals[COLS_PER_STRIP];
    int is_first = 1;
    for (size_t left = r + 1; left; is_first = 0) {
        memset(sum, 0, n * sizeof(float));
        for (size_t k = 0; k < ROWS_PER_BLOCK && left; k++) {
            add_row(sum, dy + (left - 1) * dim, n);
            left = next[left - 1] & ~NOT_FIRST;
        }
        gpt_add_block(totals, sum, n, is_first, left == 0);
    }
}

/* Marks the rows of a list as added. */
static void mark_list(uint32_t *next, size_t r)
{
    for (size_t left = r + 1; left;) {
        const size_t here = left - 1;
        left = next[here] & ~NOT_FIRST;
        next[here] = ADDED;
    }
}

int gpt_embedding_backward(float *dweight, float *scratch, const float *dy, const int32_t *indices,
                           size_t rows, size_t count, size_t dim, size_t part, size_t parts)
{
    const int status = check_backward(dweight, scratch, dy, indices, rows, count, dim, parts);
    if (status) return status;
    if (part >= parts) return GPT_ERR_VALUE;
    if (dim == 0) return GPT_OK;
    size_t first;
    const size_t end = gpt_share(count, 1, part, parts, &first);
    uint32_t *next = (uint32_t *)(void *)(scratch + part * rows);
    memset(dweight + first * dim, 0, (end - first) * dim * sizeof(float));
    list_rows(next, dweight, indices, rows, dim, first, end);
    for (size_t r = 0; r < rows; r++) {
        const size_t i = (size_t)indices[r];
        if (i < first || i >= end || next[r] == ADDED) continue;
        float *sum = dweight + i * dim;
        if (!(next[r] & NOT_FIRST)) {
            if (is_long(next, r)) {
                for (size_t c = 0; c < dim; c += COLS_PER_STRIP)
                    add_list(sum + c, dy + c, next, r, dim, gpt_min(COLS_PER_STRIP, dim - c));
                mark_list(next, r);
                continue;
            }
            sum[0] = 0.0f; /* where the list began */
        }
        add_row(sum, dy + r * dim, dim);
    }
    return GPT_OK;
}
