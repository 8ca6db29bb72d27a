/* Sums whose error does not grow with their length: blocks are summed in float32, in vectors, and the sums
 * of the blocks in float64. */
#ifndef GPT_SUMS_H
#define GPT_SUMS_H

#include "map.h"
#include "simd.h"

/* Adds the four lanes to four sums in float64. */
GPT_INLINE void gpt_add_lanes(double *sums, v128_t v)
{
    const v128_t low = wasm_f64x2_promote_low_f32x4(v),
                 high = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    wasm_v128_store(sums, wasm_f64x2_add(wasm_v128_load(sums), low));
    wasm_v128_store(sums + 2, wasm_f64x2_add(wasm_v128_load(sums + 2), high));
}

/* ---- Over a row ---- */

/* sum + the products of the first one, two or three of a, b and c, four elements each. */
GPT_INLINE v128_t gpt_add_products(v128_t sum, const float *a, const float *b, const float *c, int factors)
{
    if (factors == 1) return wasm_f32x4_add(sum, wasm_v128_load(a));
    v128_t product = wasm_v128_load(b);
    if (factors == 3) product = wasm_f32x4_mul(product, wasm_v128_load(c));
    return gpt_multiply_add(wasm_v128_load(a), product, sum);
}

/* Σ a·b·c over n elements; c, or b and c, may be NULL: Σ a·b, or Σ a. A block has `block` elements. */
GPT_INLINE double gpt_sum_products(const float *a, const float *b, const float *c, size_t n, size_t block)
{
    const int factors = c ? 3 : b ? 2 : 1;
    if (!b) b = a; /* not read */
    if (!c) c = a;
    double sum = 0.0;
    size_t i = 0;
    while (i + 4 <= n) {
        const size_t end = i + gpt_min(block, n - i);
        /* two accumulators hide the latency of the add */
        v128_t even = wasm_f32x4_splat(0.0f), odd = even;
        for (; i + 8 <= end; i += 8) {
            even = gpt_add_products(even, a + i, b + i, c + i, factors);
            odd = gpt_add_products(odd, a + i + 4, b + i + 4, c + i + 4, factors);
        }
        for (; i + 4 <= end; i += 4) even = gpt_add_products(even, a + i, b + i, c + i, factors);
        sum += (double)gpt_sum_lanes(wasm_f32x4_add(even, odd));
    }
    for (; i < n; i++) sum += (double)(factors == 1 ? a[i] : a[i] * (factors == 2 ? b[i] : b[i] * c[i]));
    return sum;
}

/* ---- Over a column ---- */

/* Rows of a block. */
enum { GPT_ROWS_PER_SUM = 64 };

/* Columns whose sums in float64 are on the stack at once: 8 kB. */
enum { GPT_COLS_PER_STRIP = 1024 };

/* totals[i] += block[i] for n sums. `block` has the float32 sums of some rows, `totals` the float64 sums of all
 * rows so far.
 *   is_first  totals[i] = block[i], whatever totals holds
 *   is_last   then also block[i] = totals[i], rounded to float32
 * A block that is first and last stays as it is. */
void gpt_add_block(double *totals, float *block, size_t n, int is_first, int is_last);

/* y += x, n elements */
static inline void gpt_add_row(float *y, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        wasm_v128_store(y + i, wasm_f32x4_add(wasm_v128_load(y + i), wasm_v128_load(x + i)));
    for (; i < n; i++) y[i] += x[i];
}

/* sums[c] = Σ_r x[r, c] for this part of the columns.   sums  [cols]   x  [rows, cols] */
void gpt_column_sums(float *sums, const float *x, size_t rows, size_t cols, size_t part, size_t parts);

/* sums[c] += Σ_r dy[r, c] and dots[c] += Σ_r dy[r, c] · u[r, c], for `vectors` times n columns of [rows, cols].
 *   sums, dots  [vectors · n], at least 4; sums may be NULL
 *   n           columns in a vector, at most 4; 4 where there are several vectors
 *   vectors     a constant, at most 4
 *   dy          NULL: dy = u
 *   u           u(x[r, c], r, of), inlined */
GPT_INLINE void gpt_sum_some_columns(double *sums, double *dots, const float *dy, const float *x, size_t rows,
                                     size_t cols, size_t n, size_t vectors,
                                     v128_t (*u)(v128_t x, size_t r, const void *of), const void *of)
{
    enum { MOST_VECTORS = 4 };
    for (size_t r = 0; r < rows;) {
        const size_t end = r + gpt_min(GPT_ROWS_PER_SUM, rows - r);
        v128_t sum[MOST_VECTORS], dot[MOST_VECTORS];
        for (size_t v = 0; v < vectors; v++) sum[v] = dot[v] = wasm_f32x4_splat(0.0f);
        for (; r < end; r++)
            for (size_t v = 0; v < vectors; v++) {
                const size_t at = r * cols + 4 * v;
                /* dy is read before x: reading x first took 1.1 times as long for rows of 5 columns */
                const v128_t given = dy ? gpt_load(dy + at, n) : wasm_f32x4_splat(0.0f);
                const v128_t u_r = u(gpt_load(x + at, n), r, of), dy_r = dy ? given : u_r;
                if (sums) sum[v] = wasm_f32x4_add(sum[v], dy_r);
                dot[v] = gpt_multiply_add(dy_r, u_r, dot[v]);
            }
        for (size_t v = 0; v < vectors; v++) {
            if (sums) gpt_add_lanes(sums + 4 * v, sum[v]);
            gpt_add_lanes(dots + 4 * v, dot[v]);
        }
    }
}

#endif
