/* y = a · b + bias and y = aᵀ · b, where the columns of b are the lanes, and the sums of columns.
 *
 * Many rows: b is copied into panels, 64 columns and at most 512 k at a time, which is 128 kB of the
 * second-level cache. The tiles over them are rows of y as they lie. Bound by multiplying and adding.
 *
 * tn reads aᵀ, whose neighbors along k lie a row of a apart. If a row is a multiple of 4 kB, they all fall
 * into the same few sets of the cache. So tn also copies a, 12 columns at a time. GFLOP/s of aᵀ · b at 3072 x
 * 128 x 768, AMD EPYC:
 *   build     copied   in place
 *   simd          56         28
 *   relaxed       58         44
 *
 * Few rows: packing b would cost more than it saves. Four rows of b, a quarter of the depth apart, are added
 * to every row of y at once, times their a[r, k]. So y is loaded and stored once for four products, and b is
 * four long streams. A single row is bound by reading b. GB/s at 768 -> 2304, AMD EPYC, from the third-level
 * cache / from memory:
 *   a bare read                                    95 / 23
 *   four rows of b, a quarter of the depth apart   68 / 22
 *   four neighbors                                 60 / 16
 *   one after the other                            49 / 19
 */
#include "gemm.h"
#include "simd.h"

/* Milliseconds at 768 -> 2304, relaxed, packed / in place: 6 rows 0.97 / 0.55, 16 rows 2.0 / 1.4, 24 rows
 * 2.2 / 2.2. */
enum { FEWEST_ROWS_TO_PACK_FOR = 20, ROWS_OF_B_AT_ONCE = 4 };

/* A sum of a column: elements that are added in float32, and columns whose sums are on the stack at once. */
enum { ROWS_PER_SUM = 64, COLS_PER_SUM = 1024 };

/* The copied columns of a are whole tiles in both builds and stay in the first-level cache. */
enum { B_COLS_PER_BLOCK = 64, A_COLS_PER_STRIP = 12, DEPTH_PER_BLOCK = 512 };

/* [depth][width]: `width` columns of x side by side, zero-padded if x has fewer. */
GPT_INLINE void pack_columns(float *packed, const float *x, size_t depth, size_t x_row, size_t cols,
                             size_t width)
{
    for (size_t k = 0; k < depth; k++, packed += width, x += x_row) {
        if (cols >= width) {
            for (size_t c = 0; c < width; c += 4) wasm_v128_store(packed + c, wasm_v128_load(x + c));
        } else {
            for (size_t c = 0; c < width; c++) packed[c] = c < cols ? x[c] : 0.0f;
        }
    }
}

/* gpt_gemm_tiles for the last panel, of which only `cols` < 8 lanes are columns of y. */
static void last_panel(float *y, size_t y_row, const float *start, size_t start_row, const float *a,
                       size_t a_row, size_t a_col, const float *panel, size_t rows, size_t depth, size_t cols)
{
    float tile[GPT_TILE_ROWS * GPT_PANEL_WIDTH] = {0.0f};
    for (size_t r = 0; r < rows; r += GPT_TILE_ROWS) {
        const size_t n = gpt_min(GPT_TILE_ROWS, rows - r);
        for (size_t i = 0; start && i < n; i++)
            memcpy(tile + i * GPT_PANEL_WIDTH, start + (r + i) * start_row, cols * sizeof(float));
        gpt_gemm_tiles(tile, GPT_PANEL_WIDTH, 0, start ? tile : NULL, GPT_PANEL_WIDTH, a + r * a_row, a_row,
                       a_col, panel, GPT_PANEL_WIDTH, 0, n, depth, 1);
        for (size_t i = 0; i < n; i++)
            memcpy(y + (r + i) * y_row, tile + i * GPT_PANEL_WIDTH, cols * sizeof(float));
    }
}

/* y[c] += factor · x[c] */
GPT_INLINE void add_row(float *y, float factor, const float *x, size_t cols)
{
    enum { VECTORS_PER_STEP = 4, STEP = 4 * VECTORS_PER_STEP };
    const v128_t f = wasm_f32x4_splat(factor);
    size_t c = 0;
    for (; c + STEP <= cols; c += STEP)
        for (size_t i = 0; i < STEP; i += 4)
            wasm_v128_store(y + c + i,
                            gpt_multiply_add(f, wasm_v128_load(x + c + i), wasm_v128_load(y + c + i)));
    for (; c < cols; c += 4) {
        const size_t n = gpt_min(4, cols - c);
        gpt_store_tail(y + c, gpt_multiply_add(f, gpt_load_tail(x + c, n), gpt_load_tail(y + c, n)), n);
    }
}

/* y[r, c] = bias[c] + Σ_k a[r, k] · b[k, c]. a is [rows, depth], or, transposed, [depth, rows]. */
static void multiply(float *y, float *scratch, const float *a, int a_is_transposed, const float *b,
                     const float *bias, size_t rows, size_t depth, size_t cols, size_t first_col,
                     size_t end_col)
{
    for (size_t c = first_col; c < end_col; c += B_COLS_PER_BLOCK) {
        const size_t n = gpt_min(B_COLS_PER_BLOCK, end_col - c);
        size_t k = 0, d;
        do { /* at least once: with depth 0, y is the bias */
            d = gpt_min(DEPTH_PER_BLOCK, depth - k);
            for (size_t p = 0; p < n; p += GPT_PANEL_WIDTH)
                pack_columns(scratch + p * d, b + k * cols + c + p, d, cols, n - p, GPT_PANEL_WIDTH);
            float *strip = scratch + B_COLS_PER_BLOCK * d;
            const size_t some_rows = a_is_transposed ? A_COLS_PER_STRIP : rows;
            const size_t in_whole_panels = n / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH;
            for (size_t r = 0; r < rows; r += some_rows) {
                const size_t left = gpt_min(some_rows, rows - r);
                if (a_is_transposed) pack_columns(strip, a + k * rows + r, d, rows, left, A_COLS_PER_STRIP);
                const float *a_r = a_is_transposed ? strip : a + k;
                const size_t a_row = a_is_transposed ? 1 : depth,
                             a_col = a_is_transposed ? A_COLS_PER_STRIP : 1;
                float *y_r = y + r * cols + c;
                if (a_is_transposed && k > 0) {
                    /* later blocks of k start from 0, so that rounding errors do not grow with k */
                    float sums[A_COLS_PER_STRIP * B_COLS_PER_BLOCK];
                    gpt_gemm_tiles(sums, B_COLS_PER_BLOCK, GPT_PANEL_WIDTH, NULL, 0, a_r, a_row, a_col,
                                   scratch, GPT_PANEL_WIDTH, GPT_PANEL_WIDTH * d, left, d,
                                   (n + GPT_PANEL_WIDTH - 1) / GPT_PANEL_WIDTH);
                    for (size_t i = 0; i < left; i++)
                        add_row(y_r + i * cols, 1.0f, sums + i * B_COLS_PER_BLOCK, n);
                    continue;
                }
                /* later blocks of k continue the sums in y */
                const float *start = k > 0 ? y_r : bias ? bias + c : NULL;
                const size_t start_row = k > 0 ? cols : 0;
                gpt_gemm_tiles(y_r, cols, GPT_PANEL_WIDTH, start, start_row, a_r, a_row, a_col, scratch,
                               GPT_PANEL_WIDTH, GPT_PANEL_WIDTH * d, left, d, n / GPT_PANEL_WIDTH);
                if (in_whole_panels < n)
                    last_panel(y_r + in_whole_panels, cols, start ? start + in_whole_panels : NULL, start_row,
                               a_r, a_row, a_col, scratch + in_whole_panels * d, left, d,
                               n - in_whole_panels);
            }
            k += d;
        } while (k < depth);
    }
}

/* y[r, c] += Σ_i a[r][i] · b[i · step, c] over i < `n`, a constant where this function is called.
 *   y  [r, c] is at r · y_row + c
 *   b  [k, c] is at k · y_row + c */
GPT_INLINE void add_products(float *y, const float (*a)[ROWS_OF_B_AT_ONCE], const float *b, size_t rows,
                             size_t y_row, size_t cols, size_t step, size_t n)
{
    enum { VECTORS = 2, WIDTH = 4 * VECTORS };
    size_t c = 0;
    for (; c + WIDTH <= cols; c += WIDTH) {
        v128_t b_c[ROWS_OF_B_AT_ONCE][VECTORS];
        for (size_t i = 0; i < n; i++)
            for (size_t v = 0; v < VECTORS; v++) b_c[i][v] = wasm_v128_load(b + i * step * y_row + c + 4 * v);
        float *y_rc = y + c;
        for (size_t r = 0; r < rows; r++, y_rc += y_row) {
            v128_t sum[VECTORS];
            for (size_t v = 0; v < VECTORS; v++) sum[v] = wasm_v128_load(y_rc + 4 * v);
            for (size_t i = 0; i < n; i++) {
                const v128_t a_ri = wasm_v128_load32_splat(&a[r][i]);
                for (size_t v = 0; v < VECTORS; v++) sum[v] = gpt_multiply_add(a_ri, b_c[i][v], sum[v]);
            }
            for (size_t v = 0; v < VECTORS; v++) wasm_v128_store(y_rc + 4 * v, sum[v]);
        }
    }
    for (; c < cols; c += 4) {
        const size_t left = gpt_min(4, cols - c);
        for (size_t r = 0; r < rows; r++) {
            v128_t sum = gpt_load_tail(y + r * y_row + c, left);
            for (size_t i = 0; i < n; i++)
                sum = gpt_multiply_add(wasm_v128_load32_splat(&a[r][i]),
                                       gpt_load_tail(b + i * step * y_row + c, left), sum);
            gpt_store_tail(y + r * y_row + c, sum, left);
        }
    }
}

/* The same for a single row, whose numbers of a stay in registers. */
GPT_INLINE void add_products_to_row(float *y, const float (*a)[ROWS_OF_B_AT_ONCE], const float *b,
                                    size_t y_row, size_t cols, size_t step, size_t n)
{
    enum { VECTORS = 4, WIDTH = 4 * VECTORS };
    v128_t a_i[ROWS_OF_B_AT_ONCE];
    for (size_t i = 0; i < n; i++) a_i[i] = wasm_v128_load32_splat(&a[0][i]);
    size_t c = 0;
    for (; c + WIDTH <= cols; c += WIDTH)
        for (size_t v = 0; v < WIDTH; v += 4) {
            v128_t sum = wasm_v128_load(y + c + v);
            for (size_t i = 0; i < n; i++)
                sum = gpt_multiply_add(a_i[i], wasm_v128_load(b + i * step * y_row + c + v), sum);
            wasm_v128_store(y + c + v, sum);
        }
    if (c < cols) add_products(y + c, a, b + c, 1, y_row, cols - c, step, n);
}

/* y = a · b + bias for few rows, in the columns from `first` up to `end`. */
static void multiply_few(float *y, const float *a, const float *b, const float *bias, size_t rows,
                         size_t depth, size_t cols, size_t first, size_t end)
{
    const size_t quarter = depth / ROWS_OF_B_AT_ONCE, n = end - first;
    float factors[FEWEST_ROWS_TO_PACK_FOR][ROWS_OF_B_AT_ONCE];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = first; c < end; c++) y[r * cols + c] = bias ? bias[c] : 0.0f;
    y += first;
    b += first;
    for (size_t k = 0; k < quarter; k++) {
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < ROWS_OF_B_AT_ONCE; i++) factors[r][i] = a[r * depth + k + i * quarter];
        if (rows == 1)
            add_products_to_row(y, factors, b + k * cols, cols, n, quarter, ROWS_OF_B_AT_ONCE);
        else
            add_products(y, factors, b + k * cols, rows, cols, n, quarter, ROWS_OF_B_AT_ONCE);
    }
    for (size_t k = quarter * ROWS_OF_B_AT_ONCE; k < depth; k++) {
        for (size_t r = 0; r < rows; r++) factors[r][0] = a[r * depth + k];
        add_products(y, factors, b + k * cols, rows, cols, n, 0, 1);
    }
}

size_t gpt_gemm_nn_scratch_size(size_t rows, size_t depth)
{
    return rows < FEWEST_ROWS_TO_PACK_FOR ? 0 : gpt_min(depth, DEPTH_PER_BLOCK) * B_COLS_PER_BLOCK;
}

void gpt_gemm_nn(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t part, size_t parts)
{
    if (rows == 0 || cols == 0) return;
    size_t first;
    const size_t end = gpt_share(cols, GPT_PANEL_WIDTH, part, parts, &first);
    if (rows >= FEWEST_ROWS_TO_PACK_FOR) {
        multiply(y, scratch, a, 0, b, bias, rows, depth, cols, first, end);
        return;
    }
    multiply_few(y, a, b, bias, rows, depth, cols, first, end);
}

size_t gpt_gemm_tn_scratch_size(size_t depth)
{
    return gpt_min(depth, DEPTH_PER_BLOCK) * (B_COLS_PER_BLOCK + A_COLS_PER_STRIP);
}

void gpt_gemm_tn(float *y, float *scratch, const float *a, const float *b, size_t rows, size_t depth,
                 size_t cols, size_t part, size_t parts)
{
    if (rows == 0 || cols == 0) return;
    size_t first;
    const size_t end = gpt_share(cols, GPT_PANEL_WIDTH, part, parts, &first);
    multiply(y, scratch, a, 1, b, NULL, rows, depth, cols, first, end);
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
    const size_t end = gpt_share(cols, GPT_PANEL_WIDTH, part, parts, &c);
    for (; c < end; c += COLS_PER_SUM) {
        const size_t n = gpt_min(COLS_PER_SUM, end - c);
        double totals[COLS_PER_SUM];
        size_t r = 0;
        do {
            const size_t begin = r, end_row = r + gpt_min(ROWS_PER_SUM, rows - r);
            memset(sums + c, 0, n * sizeof(float));
            for (; r + 4 <= end_row; r += 4) add_rows(sums + c, x + r * cols + c, 4, cols, n);
            for (; r < end_row; r++) add_rows(sums + c, x + r * cols + c, 1, cols, n);
            gpt_add_block(totals, sums + c, n, begin == 0, end_row == rows);
        } while (r < rows);
    }
}
