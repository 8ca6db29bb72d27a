/* The matrix products behind every layer with weights; gemm.h says which.
 *
 * Many rows. A tile is GPT_TILE outputs by the 8 lanes of a panel: two vectors, loaded once, meet one number of the
 * other matrix after the other, each read where it lies and spread over the lanes. V8 keeps 15 vectors in registers:
 * 4 x 8 takes 8 for the sums, and 6 x 8 takes 12, which fits where multiply-add is one instruction and needs no
 * register between. On an AMD EPYC, GFLOP/s of the tile alone at 768 -> 3072, Node 20 (simd) and 24 (relaxed), limit 59:
 *   simd     4 x 8: 59    5 x 8: 23    6 x 8: 28
 *   relaxed  4 x 8: 52    5 x 8: 54    6 x 8: 59
 * x · weightᵀ has rows of x for lanes: only x is packed, which is small, and the weights never. a · b and aᵀ · b have
 * columns of b, which is packed by plain copies, so that tiles are rows of the result as they come. What is spread of
 * aᵀ lies a row apart, all in the same few lines of the cache where rows are multiples of 4 kB: copied a strip at a
 * time, aᵀ · b of 3072 x 128 x 768 makes 56 GFLOP/s (relaxed 58), read where it lies 28 (44).
 * Lost: unrolling the sum (30 to 53: V8 spills), packing the weights of x · weightᵀ (52 to 54, and the time to pack).
 *
 * Four to six rows. In a panel of 8 lanes would be idle, so lanes are two rows at two places along `in`, and two
 * neighbouring weights, loaded at once, meet three vectors: 2 outputs by 6 rows, or 3 where multiply-add is one
 * instruction. Weights that come from memory would be waited for, so those of the next tile are read meanwhile, a line
 * each, at six places far apart: what memory gives to one stream is too little, and so are two or three. Milliseconds
 * for FeedForward at GPT-2's size, 6 rows, weights mostly in the third-level cache and all from memory, Node 24:
 *   simd     panel of 8: 1.43, 1.88    six: 1.21, 1.45    not reading ahead: 1.48, 2.44
 *   relaxed  panel of 8: 1.39, 1.75    six: 1.05, 1.16    not reading ahead: 1.17, 1.75
 * Lost: reading ahead in one stream (1.4, 2.4) or all of a tile at once (1.4, 1.7); 3 outputs in simd, which spill in
 * Node 20; lanes along `in`, 3 rows by 3 outputs (2.7 simd, 2.0 relaxed).
 *
 * Fewer rows. Reading the weights is everything, so each is loaded once for all rows of a tile, along `in`, where it lies:
 * 2 rows by 4 outputs. A single row takes one output after the other, so that memory sees one stream, from the first
 * weight to the last: 30 GB/s where a bare read of memory gives 30, and 18 to 22 with 4 to 12 outputs at once. From the
 * third-level cache it is the other way round (52 against 60 of 100), but GPT-2's weights are not found there. a · b
 * likewise takes one row of b after the other, whole: at 768 -> 3072 a single row takes 0.30 ms, with two rows of b at
 * once 0.43 or more, with rows in pieces of 4 kB 0.7.
 */
#include "gemm.h"
#include "simd.h"

#ifdef __wasm_relaxed_simd__
enum { SIX_OUTS = 3 };
#else
enum { SIX_OUTS = 2 };
#endif

/* Floats in a line of the caches. */
enum { LINE = 16 };

void gpt_gemm_pack(float *packed, const float *x, size_t rows, size_t in)
{
    for (size_t first = 0; first < rows; first += GPT_PANEL, packed += in * GPT_PANEL)
        for (size_t lane = 0; lane < GPT_PANEL; lane++) {
            const float *x_r = x + (first + lane) * in;
            const int filler = first + lane >= rows;
            for (size_t i = 0; i < in; i++) packed[i * GPT_PANEL + lane] = filler ? 0.0f : x_r[i];
        }
}

/* `outs` is a constant where it is called. */
GPT_INLINE void tile(float *y, size_t y_row, const float *start, size_t start_row, const float *x,
                     size_t x_row, const float *a, size_t a_row, size_t a_col, size_t depth, size_t outs)
{
    v128_t low[GPT_TILE], high[GPT_TILE];
    const float *a_o[GPT_TILE];
    for (size_t o = 0; o < outs; o++) {
        a_o[o] = a + o * a_row;
        low[o] = wasm_v128_load(start + o * start_row);
        high[o] = wasm_v128_load(start + o * start_row + 4);
    }
    for (size_t k = 0; k < depth; k++, x += x_row) {
        const v128_t x_low = wasm_v128_load(x), x_high = wasm_v128_load(x + 4);
        for (size_t o = 0; o < outs; o++) {
            const v128_t a_ok = wasm_v128_load32_splat(a_o[o]);
            a_o[o] += a_col;
            low[o] = gpt_multiply_add(a_ok, x_low, low[o]);
            high[o] = gpt_multiply_add(a_ok, x_high, high[o]);
        }
    }
    for (size_t o = 0; o < outs; o++) {
        wasm_v128_store(y + o * y_row, low[o]);
        wasm_v128_store(y + o * y_row + 4, high[o]);
    }
}

/* One function for all: V8 in Node 20 unrolls a sum only where it stands within other loops, which is a fifth faster. */
void gpt_gemm_tiles(float *y, size_t y_row, size_t y_panel, const float *start, size_t start_row,
                    const float *x, size_t x_row, size_t x_panel, const float *a, size_t a_row, size_t a_col,
                    size_t depth, size_t rows, size_t panels)
{
    static const float zeros[GPT_PANEL];
    for (size_t r = 0, outs; r < rows; r += outs) {
        outs = rows - r >= GPT_TILE ? GPT_TILE : rows - r >= 2 ? 2 : 1;
        const float *a_r = a + r * a_row;
        for (size_t p = 0; p < panels; p++) {
            const float *from = start ? start + r * start_row + p * y_panel : zeros, *x_p = x + p * x_panel;
            const size_t from_row = start ? start_row : 0;
            float *to = y + r * y_row + p * y_panel;
            if (outs == GPT_TILE)
                tile(to, y_row, from, from_row, x_p, x_row, a_r, a_row, a_col, depth, GPT_TILE);
            else if (outs == 2)
                tile(to, y_row, from, from_row, x_p, x_row, a_r, a_row, a_col, depth, 2);
            else
                tile(to, y_row, from, from_row, x_p, x_row, a_r, a_row, a_col, depth, 1);
        }
    }
}

/* All of the packed rows by the outputs from first_out up to end_out. Where y is packed, tiles are written where they
 * belong; otherwise each is turned into rows, which takes little beside its sums. */
static void product(float *y, int y_is_packed, const float *packed, const float *weight, const float *bias,
                    size_t rows, size_t in, size_t out, size_t first_out, size_t end_out)
{
    float sums[GPT_TILE * GPT_PANEL];
    for (size_t o = first_out, outs; o < end_out; o += outs) {
        outs = end_out - o < GPT_TILE ? 1 : GPT_TILE;
        for (size_t first = 0; first < rows; first += GPT_PANEL) {
            float *at = y_is_packed ? y + first * out + o * GPT_PANEL : sums;
            gpt_gemm_tiles(at, GPT_PANEL, 0, NULL, 0, packed + first * in, GPT_PANEL, 0, weight + o * in, in,
                           1, in, outs, 1);
            for (size_t k = 0; bias && k < outs; k++) {
                const v128_t b = wasm_v128_load32_splat(bias + o + k);
                float *s = at + k * GPT_PANEL;
                wasm_v128_store(s, wasm_f32x4_add(wasm_v128_load(s), b));
                wasm_v128_store(s + 4, wasm_f32x4_add(wasm_v128_load(s + 4), b));
            }
            if (y_is_packed) continue;
            const size_t n = gpt_min(GPT_PANEL, rows - first);
            for (size_t r = 0; r < n; r++)
                for (size_t k = 0; k < outs; k++) y[(first + r) * out + o + k] = sums[k * GPT_PANEL + r];
        }
    }
}

void gpt_gemm_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows,
                     size_t in, size_t out, size_t first_out, size_t end_out)
{
    product(y, 0, packed, weight, bias, rows, in, out, first_out, end_out);
}

void gpt_gemm_packed_to_packed(float *y, const float *packed, const float *weight, const float *bias,
                               size_t rows, size_t in, size_t out)
{
    product(y, 1, packed, weight, bias, rows, in, out, 0, out);
}

/* Where place i of row r lies in a six. */
static inline size_t in_six(size_t r, size_t i) { return i / 2 * 2 * GPT_SIX + r * 2 + i % 2; }

void gpt_gemm_pack_six(float *six, const float *x, size_t rows, size_t in)
{
    for (size_t r = 0; r < GPT_SIX; r++)
        for (size_t i = 0; i < in + in % 2; i++)
            six[in_six(r, i)] = r < rows && i < in ? x[r * in + i] : 0.0f;
}

/* `outs` outputs of six rows, a constant where it is called; sums  [outs][6]. Meanwhile `next`, the weights of as many
 * outputs, is read into the caches, a line at a time. */
GPT_INLINE void six_tile(float *sums, const float *six, const float *weight, const float *next,
                         const float *bias, size_t in, size_t outs)
{
    v128_t acc[SIX_OUTS][3], x[3];
    for (size_t o = 0; o < outs; o++)
        for (size_t v = 0; v < 3; v++) acc[o][v] = wasm_f32x4_splat(0.0f);
    const size_t even = in - in % 2, streams = 6 / outs;
    for (size_t i = 0; i < even;) {
        const size_t end = gpt_min(even, i + streams * LINE);
        for (size_t o = 0; o < outs; o++)
            for (size_t s = 0; s < streams; s++)
                (void)*(const volatile float *)(next + o * in + s * (in / streams) + i / streams);
        for (; i < end; i += 2) {
            for (size_t v = 0; v < 3; v++) x[v] = wasm_v128_load(six + i * 6 + v * 4);
            for (size_t o = 0; o < outs; o++) {
                const v128_t w = wasm_v128_load64_splat(weight + o * in + i);
                for (size_t v = 0; v < 3; v++) acc[o][v] = gpt_multiply_add(w, x[v], acc[o][v]);
            }
        }
    }
    if (even < in) {
        for (size_t v = 0; v < 3; v++) x[v] = wasm_v128_load(six + even * 6 + v * 4);
        for (size_t o = 0; o < outs; o++) {
            const float last = weight[o * in + even];
            const v128_t w = wasm_f32x4_make(last, 0.0f, last, 0.0f);
            for (size_t v = 0; v < 3; v++) acc[o][v] = gpt_multiply_add(w, x[v], acc[o][v]);
        }
    }
    for (size_t o = 0; o < outs; o++) {
        const float b = bias ? bias[o] : 0.0f;
        for (size_t v = 0; v < 3; v++) {
            const v128_t pairs =
                wasm_f32x4_add(acc[o][v], wasm_i32x4_shuffle(acc[o][v], acc[o][v], 1, 0, 3, 2));
            sums[o * 6 + v * 2] = wasm_f32x4_extract_lane(pairs, 0) + b;
            sums[o * 6 + v * 2 + 1] = wasm_f32x4_extract_lane(pairs, 2) + b;
        }
    }
}

GPT_INLINE void six_product(float *y, int y_is_six, const float *six, const float *weight, const float *bias,
                            size_t rows, size_t in, size_t out, size_t first_out, size_t end_out)
{
    float sums[SIX_OUTS * GPT_SIX];
    for (size_t o = first_out; o < end_out;) {
        const size_t left = end_out - o, outs = left < SIX_OUTS ? 1 : SIX_OUTS;
        const float *w = weight + o * in, *b = bias ? bias + o : NULL;
        if (outs == SIX_OUTS) {
            six_tile(sums, six, w, left < 2 * SIX_OUTS ? w : w + SIX_OUTS * in, b, in, SIX_OUTS);
        } else {
            six_tile(sums, six, w, w, b, in, 1);
        }
        for (size_t k = 0; k < outs; k++)
            for (size_t r = 0; r < rows; r++)
                y[y_is_six ? in_six(r, o + k) : r * out + o + k] = sums[k * GPT_SIX + r];
        o += outs;
    }
}

void gpt_gemm_six(float *y, const float *six, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out)
{
    six_product(y, 0, six, weight, bias, rows, in, out, first_out, end_out);
}

void gpt_gemm_six_to_six(float *y, const float *six, const float *weight, const float *bias, size_t in,
                         size_t out)
{
    six_product(y, 1, six, weight, bias, GPT_SIX, in, out, 0, out);
    if (out % 2 == 0) return;
    for (size_t r = 0; r < GPT_SIX; r++) y[in_six(r, out)] = 0.0f; /* fills up the last pair */
}

/* `rows` rows, 2 or 1, a constant where it is called, by 4 outputs. */
GPT_INLINE void few_tile(float *y, const float *x, const float *weight, const float *bias, size_t in,
                         size_t out, size_t rows)
{
    v128_t acc[2][4], x_r[2];
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < 4; o++) acc[r][o] = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 4 <= in; i += 4) {
        for (size_t r = 0; r < rows; r++) x_r[r] = wasm_v128_load(x + r * in + i);
        for (size_t o = 0; o < 4; o++) {
            const v128_t w = wasm_v128_load(weight + o * in + i);
            for (size_t r = 0; r < rows; r++) acc[r][o] = gpt_multiply_add(x_r[r], w, acc[r][o]);
        }
    }
    if (i < in) {
        for (size_t r = 0; r < rows; r++) x_r[r] = gpt_load_tail(x + r * in + i, in - i);
        for (size_t o = 0; o < 4; o++) {
            const v128_t w = gpt_load_tail(weight + o * in + i, in - i);
            for (size_t r = 0; r < rows; r++) acc[r][o] = gpt_multiply_add(x_r[r], w, acc[r][o]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < 4; o++) y[r * out + o] = gpt_sum_lanes(acc[r][o]) + (bias ? bias[o] : 0.0f);
}

/* Four sums, since a sum waits for its own additions. */
GPT_INLINE float dot(const float *x, const float *w, size_t in)
{
    v128_t acc[4];
    for (size_t k = 0; k < 4; k++) acc[k] = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 16 <= in; i += 16)
        for (size_t k = 0; k < 4; k++)
            acc[k] = gpt_multiply_add(wasm_v128_load(x + i + 4 * k), wasm_v128_load(w + i + 4 * k), acc[k]);
    v128_t sum = wasm_f32x4_add(wasm_f32x4_add(acc[0], acc[1]), wasm_f32x4_add(acc[2], acc[3]));
    for (; i < in; i += 4) {
        const size_t n = gpt_min(4, in - i);
        sum = gpt_multiply_add(gpt_load_tail(x + i, n), gpt_load_tail(w + i, n), sum);
    }
    return gpt_sum_lanes(sum);
}

void gpt_gemm_few(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out)
{
    size_t o = first_out;
    for (; rows > 1 && o + 4 <= end_out; o += 4) {
        const float *w = weight + o * in, *b = bias ? bias + o : NULL;
        size_t r = 0;
        for (; r + 2 <= rows; r += 2) few_tile(y + r * out + o, x + r * in, w, b, in, out, 2);
        if (r < rows) few_tile(y + r * out + o, x + r * in, w, b, in, out, 1);
    }
    for (; o < end_out; o++)
        for (size_t r = 0; r < rows; r++)
            y[r * out + o] = dot(x + r * in, weight + o * in, in) + (bias ? bias[o] : 0.0f);
}

/* `width` columns side by side, [rows][width], filled up with zeros where there are fewer. */
GPT_INLINE void pack_columns(float *packed, const float *x, size_t rows, size_t row, size_t cols,
                             size_t width)
{
    for (size_t r = 0; r < rows; r++, packed += width, x += row) {
        if (cols >= width) {
            for (size_t c = 0; c < width; c += 4) wasm_v128_store(packed + c, wasm_v128_load(x + c));
        } else {
            for (size_t c = 0; c < width; c++) packed[c] = c < cols ? x[c] : 0.0f;
        }
    }
}

/* Tiles of a last panel of which only `cols` lanes are there to be written. */
static void edge_tiles(float *y, size_t y_row, const float *start, size_t start_row, const float *panel,
                       const float *a, size_t a_row, size_t a_col, size_t depth, size_t rows, size_t cols)
{
    float edge[GPT_TILE * GPT_PANEL] = {0.0f};
    for (size_t r = 0; r < rows; r += GPT_TILE) {
        const size_t outs = gpt_min(GPT_TILE, rows - r);
        for (size_t o = 0; start && o < outs; o++)
            memcpy(edge + o * GPT_PANEL, start + (r + o) * start_row, cols * sizeof(float));
        gpt_gemm_tiles(edge, GPT_PANEL, 0, start ? edge : NULL, GPT_PANEL, panel, GPT_PANEL, 0, a + r * a_row,
                       a_row, a_col, depth, outs, 1);
        for (size_t o = 0; o < outs; o++)
            memcpy(y + (r + o) * y_row, edge + o * GPT_PANEL, cols * sizeof(float));
    }
}

/* y[r, c] = bias[c] + Σ_k a[r, k] · b[k, c], a as it lies or a strip at a time; the sum GPT_DEPTH terms at a time, which
 * go on where the last ones ended. */
static void columns_product(float *y, float *scratch, const float *a, int a_is_transposed, const float *b,
                            const float *bias, size_t rows, size_t depth, size_t cols, size_t first_col,
                            size_t end_col)
{
    for (size_t c = first_col; c < end_col; c += GPT_BLOCK) {
        const size_t n = gpt_min(GPT_BLOCK, end_col - c);
        size_t k = 0, d;
        do {
            d = gpt_min(GPT_DEPTH, depth - k);
            for (size_t p = 0; p < n; p += GPT_PANEL)
                pack_columns(scratch + p * d, b + k * cols + c + p, d, cols, n - p, GPT_PANEL);
            float *strip = scratch + GPT_BLOCK * d;
            const size_t some = a_is_transposed ? GPT_STRIP : rows, whole = n / GPT_PANEL * GPT_PANEL;
            for (size_t r = 0; r < rows; r += some) {
                const size_t left = gpt_min(some, rows - r);
                if (a_is_transposed) pack_columns(strip, a + k * rows + r, d, rows, left, GPT_STRIP);
                const float *a_r = a_is_transposed ? strip : a + k;
                const size_t a_row = a_is_transposed ? 1 : depth, a_col = a_is_transposed ? GPT_STRIP : 1;
                float *y_r = y + r * cols + c;
                const float *start = k > 0 ? y_r : bias ? bias + c : NULL;
                const size_t start_row = k > 0 ? cols : 0;
                gpt_gemm_tiles(y_r, cols, GPT_PANEL, start, start_row, scratch, GPT_PANEL, GPT_PANEL * d, a_r,
                               a_row, a_col, d, left, n / GPT_PANEL);
                if (whole < n)
                    edge_tiles(y_r + whole, cols, start ? start + whole : NULL, start_row,
                               scratch + whole * d, a_r, a_row, a_col, d, left, n - whole);
            }
            k += d;
        } while (k < depth);
    }
}

/* y += a · b, `n` columns of one row. */
GPT_INLINE void add_row(float *y, float a, const float *b, size_t n)
{
    enum { WIDE = 4 };
    const v128_t factor = wasm_f32x4_splat(a);
    size_t c = 0;
    for (; c + 4 * WIDE <= n; c += 4 * WIDE)
        for (size_t w = 0; w < 4 * WIDE; w += 4)
            wasm_v128_store(y + c + w,
                            gpt_multiply_add(factor, wasm_v128_load(b + c + w), wasm_v128_load(y + c + w)));
    for (; c < n; c += 4) {
        const size_t left = gpt_min(4, n - c);
        gpt_store_tail(
            y + c, gpt_multiply_add(factor, gpt_load_tail(b + c, left), gpt_load_tail(y + c, left)), left);
    }
}

void gpt_gemm_nn(float *y, float *scratch, const float *a, const float *b, const float *bias, size_t rows,
                 size_t depth, size_t cols, size_t first_col, size_t end_col)
{
    if (rows >= GPT_PACK_COLUMNS_FROM) {
        columns_product(y, scratch, a, 0, b, bias, rows, depth, cols, first_col, end_col);
        return;
    }
    const size_t n = end_col - first_col;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = first_col; c < end_col; c++) y[r * cols + c] = bias ? bias[c] : 0.0f;
    for (size_t k = 0; k < depth; k++)
        for (size_t r = 0; r < rows; r++)
            add_row(y + r * cols + first_col, a[r * depth + k], b + k * cols + first_col, n);
}

void gpt_gemm_tn(float *y, float *scratch, const float *a, const float *b, size_t rows, size_t depth,
                 size_t cols, size_t first_col, size_t end_col)
{
    columns_product(y, scratch, a, 1, b, NULL, rows, depth, cols, first_col, end_col);
}

void gpt_column_sums(float *sums, const float *x, size_t rows, size_t cols, size_t first_col, size_t end_col)
{
    for (size_t c = first_col; c < end_col; c++) sums[c] = 0.0f;
    for (size_t r = 0; r < rows; r++)
        add_row(sums + first_col, 1.0f, x + r * cols + first_col, end_col - first_col);
}
