/* Sums over columns; sums.h says what each function computes. */
#include "sums.h"

void gpt_add_block(double *totals, float *block, size_t n, int is_first, int is_last)
{
    if (is_first && is_last) return; /* a single block: its float32 sums are the result */
    if (is_first) memset(totals, 0, n * sizeof *totals);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) gpt_add_lanes(totals + i, wasm_v128_load(block + i));
    for (; i < n; i++) totals[i] += (double)block[i];
    for (i = 0; is_last && i < n; i++) block[i] = (float)totals[i];
}

/* y[c] += Σ x[r, c] over `rows` rows, a constant where this function is called. */
GPT_INLINE void add_rows(float *y, const float *x, size_t rows, size_t x_row, size_t cols)
{
    size_t c = 0;
    for (; c + 4 <= cols; c += 4) {
        v128_t sum = wasm_v128_load(x + c);
        for (size_t r = 1; r < rows; r++) sum = wasm_f32x4_add(sum, wasm_v128_load(x + r * x_row + c));
        wasm_v128_store(y + c, wasm_f32x4_add(wasm_v128_load(y + c), sum));
    }
    for (; c < cols; c++) {
        float sum = x[c];
        for (size_t r = 1; r < rows; r++) sum += x[r * x_row + c];
        y[c] += sum;
    }
}

void gpt_column_sums(float *sums, const float *x, size_t rows, size_t cols, size_t part, size_t parts)
{
    size_t c;
    const size_t end = gpt_share(cols, 4, part, parts, &c);
    for (; c < end; c += GPT_COLS_PER_STRIP) {
        const size_t n = gpt_min(GPT_COLS_PER_STRIP, end - c);
        double totals[GPT_COLS_PER_STRIP];
        size_t r = 0;
        do {
            const size_t begin = r, end_row = r + gpt_min(GPT_ROWS_PER_SUM, rows - r);
            memset(sums + c, 0, n * sizeof(float));
            for (; r + 4 <= end_row; r += 4) add_rows(sums + c, x + r * cols + c, 4, cols, n);
            for (; r < end_row; r++) add_rows(sums + c, x + r * cols + c, 1, cols, n);
            gpt_add_block(totals, sums + c, n, begin == 0, end_row == rows);
        } while (r < rows);
    }
}
