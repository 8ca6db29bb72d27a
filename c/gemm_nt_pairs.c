/* nt for four to six rows. In a panel of 8 rows, lanes would idle. Here a vector holds two rows at two
 * neighboring k, so 6 rows fill three vectors, packed as [depth / 2][6][2]. Two neighboring numbers of b,
 * spread over a vector, multiply all three. Even and odd k are summed in separate lanes and added at the end.
 * A tile is 2 columns of y by 6 rows, or 3 columns where multiply-add is one instruction.
 *
 * Bound by reading b from memory, so each tile prefetches the next tile's rows of b as six streams far apart:
 * one stream does not use the memory's full bandwidth. Milliseconds for FeedForward at GPT-2's size, 6 rows,
 * AMD EPYC, Node 24, with b mostly in the third-level cache / all in memory:
 *   build     panel of 8    pairs         pairs without prefetch
 *   simd      1.43 / 1.88   1.21 / 1.45   1.48 / 2.44
 *   relaxed   1.39 / 1.75   1.05 / 1.16   1.17 / 1.75
 */
#include "gemm_nt.h"
#include "simd.h"

#ifdef __wasm_relaxed_simd__
enum { TILE_COLS = 3 };
#else
enum { TILE_COLS = 2 };
#endif

enum { ROWS = GPT_ROWS_IN_PAIRS_COUNT, VECTORS = ROWS / 2, STREAMS = 6, FLOATS_PER_CACHE_LINE = 16 };

/* Index of element k of row r in the packed layout. */
static inline size_t packed_index(size_t r, size_t k) { return k / 2 * 2 * ROWS + r * 2 + k % 2; }

void gpt_gemm_pack_pairs(float *packed, const float *a, size_t rows, size_t depth)
{
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < depth + depth % 2; k++)
            packed[packed_index(r, k)] = r < rows && k < depth ? a[r * depth + k] : 0.0f;
}

/* sums[c][6] for `cols` columns, a constant where this function is called. Prefetches the rows of b at
 * `next`. */
GPT_INLINE void tile(float *sums, const float *packed, const float *b, const float *next, const float *bias,
                     size_t depth, size_t cols)
{
    v128_t acc[TILE_COLS][VECTORS], a[VECTORS];
    for (size_t c = 0; c < cols; c++)
        for (size_t v = 0; v < VECTORS; v++) acc[c][v] = wasm_f32x4_splat(0.0f);
    const size_t even = depth - depth % 2, streams = STREAMS / cols;
    for (size_t k = 0; k < even;) {
        const size_t end = gpt_min(even, k + streams * FLOATS_PER_CACHE_LINE);
        for (size_t c = 0; c < cols; c++)
            for (size_t s = 0; s < streams;
                 s++) /* one cache line from each stream; volatile: the value is unused */
                (void)*(const volatile float *)(next + c * depth + s * (depth / streams) + k / streams);
        for (; k < end; k += 2) {
            for (size_t v = 0; v < VECTORS; v++) a[v] = wasm_v128_load(packed + k * ROWS + v * 4);
            for (size_t c = 0; c < cols; c++) {
                const v128_t b_ck = wasm_v128_load64_splat(b + c * depth + k);
                for (size_t v = 0; v < VECTORS; v++) acc[c][v] = gpt_multiply_add(b_ck, a[v], acc[c][v]);
            }
        }
    }
    if (even < depth) { /* the last k has no neighbor */
        for (size_t v = 0; v < VECTORS; v++) a[v] = wasm_v128_load(packed + even * ROWS + v * 4);
        for (size_t c = 0; c < cols; c++) {
            const float last = b[c * depth + even];
            const v128_t b_ck = wasm_f32x4_make(last, 0.0f, last, 0.0f);
            for (size_t v = 0; v < VECTORS; v++) acc[c][v] = gpt_multiply_add(b_ck, a[v], acc[c][v]);
        }
    }
    for (size_t c = 0; c < cols; c++) {
        const float bias_c = bias ? bias[c] : 0.0f;
        for (size_t v = 0; v < VECTORS; v++) {
            const v128_t swapped = wasm_i32x4_shuffle(acc[c][v], acc[c][v], 1, 0, 3, 2);
            const v128_t both = wasm_f32x4_add(acc[c][v], swapped);
            sums[c * ROWS + v * 2] = wasm_f32x4_extract_lane(both, 0) + bias_c;
            sums[c * ROWS + v * 2 + 1] = wasm_f32x4_extract_lane(both, 2) + bias_c;
        }
    }
}

void gpt_gemm_nt_pairs(const gpt_packed_product *p)
{
    const size_t depth = p->depth, cols = p->cols, rows = p->repack ? ROWS : p->rows;
    float sums[TILE_COLS * ROWS];
    for (size_t c = p->first_col, n; c < p->end_col; c += n) {
        const size_t left = p->end_col - c;
        const float *b_c = p->b + c * depth, *bias_c = p->bias ? p->bias + c : NULL;
        n = left < TILE_COLS ? 1 : TILE_COLS;
        if (n == TILE_COLS)
            tile(sums, p->packed, b_c, left < 2 * TILE_COLS ? b_c : b_c + TILE_COLS * depth, bias_c, depth,
                 TILE_COLS);
        else
            tile(sums, p->packed, b_c, b_c, bias_c, depth, 1);
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < rows; r++)
                p->y[p->repack ? packed_index(r, c + j) : r * cols + c + j] = sums[j * ROWS + r];
    }
    if (p->repack && cols % 2) /* zero-pad the last pair */
        for (size_t r = 0; r < ROWS; r++) p->y[packed_index(r, cols)] = 0.0f;
}
