/* The matrix product behind linear and feedforward: y = x · weightᵀ + bias.
 *
 * Many rows. A tile is TILE_OUTS outputs by 8 rows: two vectors of a panel, loaded once, meet one weight after the
 * other, each read where it lies and spread over the lanes. So the weights are never packed and never copied, and only
 * x is, which is small. What bounds it is multiplying and adding. V8 keeps 15 vectors in registers: 4 x 8 takes 8 for the
 * sums, and 6 x 8 takes 12, which fits where multiply-add is one instruction and needs no register between.
 * On an AMD EPYC, GFLOP/s of the tile alone at 768 -> 3072, Node 20 (simd) and 24 (relaxed), limit 59:
 *   simd     4 x 8: 59    5 x 8: 23    6 x 8: 28
 *   relaxed  4 x 8: 52    5 x 8: 54    6 x 8: 59
 * Lost: unrolling over `in` (30 to 53: V8 spills), packing the weights (52 to 54, and the time to pack them).
 *
 * Few rows. Reading the weights is everything, so each is loaded once for all rows of a tile, along `in`, where it lies:
 * 2 rows by 4 outputs. A single row takes one output after the other, so that memory sees one stream, from the first
 * weight to the last: 30 GB/s where a bare read of memory gives 30, and 18 to 22 with 4 to 12 outputs at once. From the
 * third-level cache it is the other way round (52 against 60 of 100), but GPT-2's weights are not found there.
 */
#include "gemm.h"
#include "simd.h"

#ifdef __wasm_relaxed_simd__
enum { TILE_OUTS = 6 };
#else
enum { TILE_OUTS = 4 };
#endif

void gpt_gemm_pack(float *packed, const float *x, size_t rows, size_t in)
{
    for (size_t first = 0; first < rows; first += GPT_PANEL, packed += in * GPT_PANEL)
        for (size_t lane = 0; lane < GPT_PANEL; lane++) {
            const float *x_r = x + (first + lane) * in;
            const int filler = first + lane >= rows;
            for (size_t i = 0; i < in; i++) packed[i * GPT_PANEL + lane] = filler ? 0.0f : x_r[i];
        }
}

/* `outs` outputs of one panel, a constant where it is called; sums  [outs][8]. */
static inline __attribute__((always_inline)) void panel_tile(float *sums, const float *panel, const float *weight,
                                                             const float *bias, size_t in, size_t outs)
{
    v128_t low[TILE_OUTS], high[TILE_OUTS];
    for (size_t o = 0; o < outs; o++) low[o] = high[o] = wasm_f32x4_splat(0.0f);
    for (size_t i = 0; i < in; i++) {
        const v128_t x_low = wasm_v128_load(panel + i * GPT_PANEL),
                     x_high = wasm_v128_load(panel + i * GPT_PANEL + 4);
        for (size_t o = 0; o < outs; o++) {
            const v128_t w = wasm_v128_load32_splat(weight + o * in + i);
            low[o] = gpt_multiply_add(w, x_low, low[o]);
            high[o] = gpt_multiply_add(w, x_high, high[o]);
        }
    }
    for (size_t o = 0; o < outs; o++) {
        const v128_t b = wasm_f32x4_splat(bias ? bias[o] : 0.0f);
        wasm_v128_store(sums + o * GPT_PANEL, wasm_f32x4_add(low[o], b));
        wasm_v128_store(sums + o * GPT_PANEL + 4, wasm_f32x4_add(high[o], b));
    }
}

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* All of the packed rows by the outputs from first_out up to end_out. Where y is packed, tiles are written where they
 * belong; otherwise each is turned into rows, which takes little beside its sums. */
static inline __attribute__((always_inline)) void product(float *y, int y_is_packed, const float *packed,
                                                          const float *weight, const float *bias, size_t rows,
                                                          size_t in, size_t out, size_t first_out, size_t end_out)
{
    float sums[TILE_OUTS * GPT_PANEL];
    for (size_t o = first_out; o < end_out;) {
        const size_t outs = end_out - o < TILE_OUTS ? 1 : TILE_OUTS;
        const float *w = weight + o * in, *b = bias ? bias + o : NULL;
        for (size_t first = 0; first < rows; first += GPT_PANEL) {
            float *tile = y_is_packed ? y + first * out + o * GPT_PANEL : sums;
            if (outs == TILE_OUTS) {
                panel_tile(tile, packed + first * in, w, b, in, TILE_OUTS);
            } else {
                panel_tile(tile, packed + first * in, w, b, in, 1);
            }
            if (y_is_packed) continue;
            const size_t n = least(GPT_PANEL, rows - first);
            for (size_t r = 0; r < n; r++)
                for (size_t k = 0; k < outs; k++) y[(first + r) * out + o + k] = sums[k * GPT_PANEL + r];
        }
        o += outs;
    }
}

void gpt_gemm_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows, size_t in,
                     size_t out, size_t first_out, size_t end_out)
{
    product(y, 0, packed, weight, bias, rows, in, out, first_out, end_out);
}

void gpt_gemm_packed_to_packed(float *y, const float *packed, const float *weight, const float *bias, size_t rows,
                               size_t in, size_t out)
{
    product(y, 1, packed, weight, bias, rows, in, out, 0, out);
}

/* `rows` rows by `outs` outputs, both constants where it is called. */
static inline __attribute__((always_inline)) void few_tile(float *y, const float *x, const float *weight,
                                                           const float *bias, size_t in, size_t out, size_t rows,
                                                           size_t outs)
{
    v128_t acc[2][4], x_r[2];
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < outs; o++) acc[r][o] = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 4 <= in; i += 4) {
        for (size_t r = 0; r < rows; r++) x_r[r] = wasm_v128_load(x + r * in + i);
        for (size_t o = 0; o < outs; o++) {
            const v128_t w = wasm_v128_load(weight + o * in + i);
            for (size_t r = 0; r < rows; r++) acc[r][o] = gpt_multiply_add(x_r[r], w, acc[r][o]);
        }
    }
    if (i < in) {
        for (size_t r = 0; r < rows; r++) x_r[r] = gpt_load_tail(x + r * in + i, in - i);
        for (size_t o = 0; o < outs; o++) {
            const v128_t w = gpt_load_tail(weight + o * in + i, in - i);
            for (size_t r = 0; r < rows; r++) acc[r][o] = gpt_multiply_add(x_r[r], w, acc[r][o]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < outs; o++) y[r * out + o] = gpt_sum_lanes(acc[r][o]) + (bias ? bias[o] : 0.0f);
}

/* Four sums, since a sum waits for its own additions. */
static float dot(const float *x, const float *w, size_t in)
{
    v128_t acc[4];
    for (size_t k = 0; k < 4; k++) acc[k] = wasm_f32x4_splat(0.0f);
    size_t i = 0;
    for (; i + 16 <= in; i += 16)
        for (size_t k = 0; k < 4; k++)
            acc[k] = gpt_multiply_add(wasm_v128_load(x + i + 4 * k), wasm_v128_load(w + i + 4 * k), acc[k]);
    for (; i < in; i += 4) {
        const size_t n = least(4, in - i);
        acc[0] = gpt_multiply_add(gpt_load_tail(x + i, n), gpt_load_tail(w + i, n), acc[0]);
    }
    return gpt_sum_lanes(wasm_f32x4_add(wasm_f32x4_add(acc[0], acc[1]), wasm_f32x4_add(acc[2], acc[3])));
}

void gpt_gemm_few(float *y, const float *x, const float *weight, const float *bias, size_t rows, size_t in,
                  size_t out, size_t first_out, size_t end_out)
{
    size_t o = first_out;
    if (rows == 1) {
        for (; o < end_out; o++) y[o] = dot(x, weight + o * in, in) + (bias ? bias[o] : 0.0f);
        return;
    }
    for (; o + 4 <= end_out; o += 4) {
        const float *w = weight + o * in, *b = bias ? bias + o : NULL;
        size_t r = 0;
        for (; r + 2 <= rows; r += 2) few_tile(y + r * out + o, x + r * in, w, b, in, out, 2, 4);
        if (r < rows) few_tile(y + r * out + o, x + r * in, w, b, in, out, 1, 4);
    }
    for (; o < end_out; o++)
        for (size_t r = 0; r < rows; r++)
            few_tile(y + r * out + o, x + r * in, weight + o * in, bias ? bias + o : NULL, in, out, 1, 1);
}
