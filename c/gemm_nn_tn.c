/* y = a · b + bias and y = aᵀ · b, where the columns of b are the lanes.
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
 * Few rows: packing b would cost more than it saves. With d = depth / 4,
 *   y[r] += a[r,k] · b[k] + a[r,k+d] · b[k+d] + a[r,k+2d] · b[k+2d] + a[r,k+3d] · b[k+3d]
 * loads and stores y once for four products, and b is four long streams. A single row is bound by reading b.
 * GB/s at 768 -> 2304, AMD EPYC, from the third-level cache / from memory:
 *   a bare read                                    95 / 23
 *   four rows of b, a quarter of the depth apart   68 / 22
 *   four neighbors                                 60 / 16
 *   one after the other                            49 / 19
 */
#include "gemm.h"
#include "simd.h"
#include "sums.h"

/* Milliseconds at 768 -> 2304, relaxed, packed / in place: 6 rows 0.97 / 0.55, 16 rows 2.0 / 1.4, 24 rows
 * 2.2 / 2.2. */
enum { FEWEST_ROWS_TO_PACK_FOR = 20, ROWS_OF_B_AT_ONCE = 4 };

/* Rows of y that are added up at once where cols is a multiple of GPT_COLS_OF_ONE_SET. Milliseconds at 768 ->
 * 3072, AMD EPYC, all rows at once / at most 7: 8 rows 2.5 / 1.2, 12 rows 4.9 / 2.3, 19 rows 10 / 2.5. */
enum { MOST_ROWS_OF_ONE_SET = 7 };

/* A single row is cut by columns only as far as each part reads this much of a row of b. One row on two
 * threads, AMD EPYC: 768 -> 2304 takes 0.6 to 1.0 of one thread's time from the third-level cache, 0.8 to 1.0
 * from memory; 768 -> 768 from memory 1.6. */
enum { FEWEST_COLS_PER_PART = 1152 };

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

/* A block of b as panels: d rows from b on, and n <= B_COLS_PER_BLOCK columns. */
static void pack_b(float *packed, const float *b, size_t d, size_t b_row, size_t n)
{
    for (size_t p = 0; p < n; p += GPT_PANEL_WIDTH)
        pack_columns(packed + p * d, b + p, d, b_row, n - p, GPT_PANEL_WIDTH);
}

/* gpt_gemm_tiles for `cols` columns, which can end inside a panel. b is packed by pack_b; only the panels'
 * steps of `t` are used. */
static void multiply_block(gpt_tiles t, size_t cols)
{
    const size_t whole = cols / GPT_PANEL_WIDTH * GPT_PANEL_WIDTH, left = cols - whole;
    t.y_panel = t.b_row = GPT_PANEL_WIDTH;
    t.b_panel = GPT_PANEL_WIDTH * t.depth;
    t.panels = whole / GPT_PANEL_WIDTH;
    gpt_gemm_tiles(&t);
    if (left == 0) return;
    /* the last panel has `left` columns of y. It is computed into `tile`, GPT_TILE_ROWS rows at a time */
    float tile[GPT_TILE_ROWS * GPT_PANEL_WIDTH] = {0.0f};
    gpt_tiles last = t;
    last.y = tile;
    last.y_row = last.start_row = GPT_PANEL_WIDTH;
    last.start = t.start ? tile : NULL;
    last.b = t.b + whole * t.depth;
    last.panels = 1;
    for (size_t r = 0; r < t.rows; r += GPT_TILE_ROWS, last.a += GPT_TILE_ROWS * t.a_row) {
        last.rows = gpt_min(GPT_TILE_ROWS, t.rows - r);
        for (size_t i = 0; t.start && i < last.rows; i++)
            memcpy(tile + i * GPT_PANEL_WIDTH, t.start + (r + i) * t.start_row + whole, left * sizeof(float));
        gpt_gemm_tiles(&last);
        for (size_t i = 0; i < last.rows; i++)
            memcpy(t.y + (r + i) * t.y_row + whole, tile + i * GPT_PANEL_WIDTH, left * sizeof(float));
    }
}

/* y = a · b + bias for many rows, in the columns from `first` up to `end`. */
static void multiply_nn(float *y, float *scratch, const float *a, const float *b, const float *bias,
                        size_t rows, size_t depth, size_t cols, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += B_COLS_PER_BLOCK) {
        const size_t n = gpt_min(B_COLS_PER_BLOCK, end - c);
        /* a sum starts from the bias; later blocks of k continue it in y */
        gpt_tiles t = {.y = y + c,
                       .y_row = cols,
                       .start = bias ? bias + c : NULL,
                       .a_row = depth,
                       .a_col = 1,
                       .b = scratch,
                       .rows = rows};
        size_t k = 0;
        do { /* at least once: with depth 0, y is the bias */
            t.depth = gpt_min(DEPTH_PER_BLOCK, depth - k);
            t.a = a + k;
            pack_b(scratch, b + k * cols + c, t.depth, cols, n);
            multiply_block(t, n);
            t.start = t.y;
            t.start_row = cols;
            k += t.depth;
        } while (k < depth);
    }
}

/* y = aᵀ · b in the columns from `first` up to `end`. */
static void multiply_tn(float *y, float *scratch, const float *a, const float *b, size_t rows, size_t depth,
                        size_t cols, size_t first, size_t end)
{
    for (size_t c = first; c < end; c += B_COLS_PER_BLOCK) {
        const size_t n = gpt_min(B_COLS_PER_BLOCK, end - c);
        size_t k = 0;
        do { /* at least once: with depth 0, y is 0 */
            const size_t d = gpt_min(DEPTH_PER_BLOCK, depth - k);
            float *strip = scratch + B_COLS_PER_BLOCK * d;
            pack_b(scratch, b + k * cols + c, d, cols, n);
            gpt_tiles t = {.a = strip, .a_row = 1, .a_col = A_COLS_PER_STRIP, .b = scratch, .depth = d};
            for (size_t r = 0; r < rows; r += A_COLS_PER_STRIP) {
                t.rows = gpt_min(A_COLS_PER_STRIP, rows - r);
                pack_columns(strip, a + k * rows + r, d, rows, t.rows, A_COLS_PER_STRIP);
                float *y_r = y + r * cols + c;
                if (k == 0) {
                    t.y = y_r;
                    t.y_row = cols;
                    multiply_block(t, n);
                } else {
                    /* later blocks of k start from 0, so that rounding errors do not grow with k */
                    float sums[A_COLS_PER_STRIP * B_COLS_PER_BLOCK];
                    t.y = sums;
                    t.y_row = B_COLS_PER_BLOCK;
                    multiply_block(t, gpt_round_up(n, GPT_PANEL_WIDTH));
                    for (size_t i = 0; i < t.rows; i++)
                        gpt_add_row(y_r + i * cols, sums + i * B_COLS_PER_BLOCK, n);
                }
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

/* The same for ROWS_OF_B_AT_ONCE rows of b. The numbers of a single row of a stay in registers. */
static void add_four_products(float *y, const float (*a)[ROWS_OF_B_AT_ONCE], const float *b, size_t rows,
                              size_t y_row, size_t cols, size_t step)
{
    enum { VECTORS = 4, WIDTH = 4 * VECTORS };
    v128_t a_i[ROWS_OF_B_AT_ONCE];
    for (size_t i = 0; i < ROWS_OF_B_AT_ONCE; i++) a_i[i] = wasm_v128_load32_splat(&a[0][i]);
    size_t c = 0;
    for (; rows == 1 && c + WIDTH <= cols; c += WIDTH)
        for (size_t v = 0; v < WIDTH; v += 4) {
            v128_t sum = wasm_v128_load(y + c + v);
            for (size_t i = 0; i < ROWS_OF_B_AT_ONCE; i++)
                sum = gpt_multiply_add(a_i[i], wasm_v128_load(b + i * step * y_row + c + v), sum);
            wasm_v128_store(y + c + v, sum);
        }
    if (c < cols) add_products(y + c, a, b + c, rows, y_row, cols - c, step, ROWS_OF_B_AT_ONCE);
}

/* y = a · b + bias for few rows, at least one, in the columns from `first` up to `end`. Reads b once. */
static void multiply_few(float *y, const float *a, const float *b, const float *bias, size_t rows,
                         size_t depth, size_t cols, size_t first, size_t end)
{
    const size_t quarter = depth / ROWS_OF_B_AT_ONCE, n = end - first;
    float factors[FEWEST_ROWS_TO_PACK_FOR][ROWS_OF_B_AT_ONCE];
    y += first;
    b += first;
    for (size_t r = 0; r < rows; r++)
        if (bias)
            memcpy(y + r * cols, bias + first, n * sizeof(float));
        else
            memset(y + r * cols, 0, n * sizeof(float));
    for (size_t k = 0; k < quarter; k++) {
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < ROWS_OF_B_AT_ONCE; i++) factors[r][i] = a[r * depth + k + i * quarter];
        add_four_products(y, factors, b + k * cols, rows, cols, n, quarter);
    }
    for (size_t k = quarter * ROWS_OF_B_AT_ONCE; k < depth; k++) {
        for (size_t r = 0; r < rows; r++) factors[r][0] = a[r * depth + k];
        add_products(y, factors, b + k * cols, rows, cols, n, 0, 1);
    }
}

/* The same for part number `part` of `parts`. Rows are divided, so that each part reads b as long streams. Half
 * of each row of b per part would be half the bytes, but many short streams, which are read slower. Milliseconds
 * at 768 -> 768 on one thread / two, by rows / two, by columns, AMD EPYC:
 *   6 rows    0.22 / 0.18 / 0.36
 *   12 rows   0.41 / 0.33 / 0.65
 * A single row is cut by columns. Parts that get no rows or columns do nothing. */
static void multiply_few_in_part(float *y, const float *a, const float *b, const float *bias, size_t rows,
                                 size_t depth, size_t cols, size_t part, size_t parts)
{
    size_t r = 0, end_row = 1, first = 0, end = cols;
    if (rows > 1) {
        end_row = gpt_share(rows, 1, part, parts, &r);
    } else {
        const size_t most = cols / FEWEST_COLS_PER_PART, used = most > 1 ? gpt_min(parts, most) : 1;
        if (part >= used) return;
        end = gpt_share(cols, GPT_PANEL_WIDTH, part, used, &first);
    }
    const size_t most_rows = cols % GPT_COLS_OF_ONE_SET == 0 ? MOST_ROWS_OF_ONE_SET : FEWEST_ROWS_TO_PACK_FOR;
    for (size_t steps = (end_row - r + most_rows - 1) / most_rows; steps > 0; steps--) {
        const size_t some = (end_row - r) / steps;
        multiply_few(y + r * cols, a + r * depth, b, bias, some, depth, cols, first, end);
        r += some;
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
    if (rows < FEWEST_ROWS_TO_PACK_FOR) {
        multiply_few_in_part(y, a, b, bias, rows, depth, cols, part, parts);
        return;
    }
    size_t first;
    const size_t end = gpt_share(cols, GPT_PANEL_WIDTH, part, parts, &first);
    multiply_nn(y, scratch, a, b, bias, rows, depth, cols, first, end);
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
    multiply_tn(y, scratch, a, b, rows, depth, cols, first, end);
}
