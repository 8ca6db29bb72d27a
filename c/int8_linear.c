/* Linear with int8 weights: y[r,o] = Σ_i x[r,i] · scale[o, i / group] · value[o,i] + bias[o]
 *
 * The columns are cut into runs of at most 128, each in one group. In a run, a row of x becomes int16:
 *
 *   x[r,i] = step[r,run] · q[r,i]   with |q| <= 32767 and step = max |x| / 32767
 *   y[r,o] = Σ_run step[r,run] · scale[o,run] · dot[r,o,run] + bias[o]
 *   dot    = Σ_i q[r,i] · value[o,i], exact in int32
 *
 * Each run has its own step, so an outlier in x coarsens its neighbors only.
 *
 * A tile is 32 outputs of one row or 16 of two: 8 vectors of sums, which fit the registers. It reads 16
 * bytes, two inputs of 8 outputs, as eight int16, 256 · high + low (int8.h). i32x4.dot_i16x8_s multiplies
 * them by q and adds pairs:
 *
 *   both = Σ q · (256 · high + low),   low = value + 128
 *   dot of outputs 4 ... 7 = Σ q · high
 *   dot of outputs 0 ... 3 = both - 256 · Σ q · high - 128 · Σ q     modulo 2^32, so nothing overflows
 *
 * One row from memory is bound by reading the weights, one stream: 23 GB/s where a bare read has 24.
 * From the cache the instructions bound: 37 billion multiply-adds per second for one row, 41 for many, where
 * dots in registers alone give 45.
 *
 * No sum depends on the other rows, on the parts or on the build.
 */
#include "int8.h"

#include <math.h>

/* COLS_PER_RUN · 32767 · 128 must be below 2^31. */
enum { COLS_PER_RUN = 128, ROWS_PER_TILE = 2, ROWS_PER_BLOCK = 64 };

static int check(const float *y, const float *scratch, const float *x, const int8_t *quantized, size_t rows,
                 size_t in, size_t out, size_t group, size_t part, size_t parts)
{
    if (!y || !scratch || !x || !quantized) return GPT_ERR_NULL;
    if (!gpt_int8_group_valid(group) || part >= parts) return GPT_ERR_VALUE;
    const int fits = gpt_fits(rows, in) && gpt_fits(rows, out) && gpt_int8_fits(out, in) &&
                     gpt_fits(gpt_int8_linear_scratch_size(rows, in, group), parts);
    return fits ? GPT_OK : GPT_ERR_SIZE;
}

/* ---- Rows of x as int16. A tile of n rows is [run]{ heads [n], q [pairs][n][2] int16 }. ---- */

enum { FLOATS_PER_HEAD = sizeof(gpt_int8_run) / sizeof(float) };

static size_t pairs_of(size_t cols) { return cols / 2 + cols % 2; }

/* Floats of `cols` columns of a group in a packed row, and of a packed row. */
static size_t packed_cols(size_t cols)
{
    const size_t runs = cols / COLS_PER_RUN + (cols % COLS_PER_RUN != 0);
    return runs * FLOATS_PER_HEAD + pairs_of(cols);
}

static size_t packed_size(size_t in, size_t group)
{
    return in / group * packed_cols(group) + packed_cols(in % group);
}

/* Stores n <= 4 pairs, `rows` floats apart. */
GPT_INLINE void store_pairs(float *q, v128_t pairs, size_t n, size_t rows)
{
    if (rows == 1 && n == 4) {
        wasm_v128_store(q, pairs);
        return;
    }
    wasm_v128_store32_lane(q, pairs, 0);
    if (n > 1) wasm_v128_store32_lane(q + rows, pairs, 1);
    if (n > 2) wasm_v128_store32_lane(q + 2 * rows, pairs, 2);
    if (n > 3) wasm_v128_store32_lane(q + 3 * rows, pairs, 3);
}

/* One run of n columns of one row, in a tile of `rows`. */
static void pack_run(gpt_int8_run *head, float *q, const float *x, size_t n, size_t rows)
{
    const size_t whole = n / 8 * 8;
    float tail[8] = {0.0f};
    if (whole < n) memcpy(tail, x + whole, (n - whole) * sizeof(float));
    v128_t most = gpt_int8_larger(wasm_f32x4_abs(wasm_v128_load(tail)), wasm_v128_load(tail + 4));
    for (size_t i = 0; i < whole; i += 4) most = gpt_int8_larger(most, wasm_v128_load(x + i));
    const gpt_int8_rounding rounding = gpt_int8_rounding_of(most, 32767.0f);
    const v128_t factor = wasm_f32x4_splat(rounding.factor);
    v128_t sum = wasm_i32x4_splat(0);
    for (size_t i = 0; i < n; i += 8, q += 4 * rows) {
        const float *x_i = i < whole ? x + i : tail;
        const v128_t low = gpt_int8_round(wasm_v128_load(x_i), factor),
                     high = gpt_int8_round(wasm_v128_load(x_i + 4), factor);
        sum = wasm_i32x4_add(sum, wasm_i32x4_add(low, high));
        store_pairs(q, wasm_i16x8_narrow_i32x4(low, high), gpt_min(pairs_of(n - i), 4), rows);
    }
    *head = gpt_int8_run_of(rounding.step, sum);
}

static void pack_tile(float *packed, const float *x, size_t rows, size_t in, size_t group)
{
    for (size_t i = 0, n; i < in; i += n) {
        n = gpt_min(gpt_min(in - i, group - i % group), COLS_PER_RUN);
        gpt_int8_run *heads = (gpt_int8_run *)(void *)packed;
        packed += rows * FLOATS_PER_HEAD;
        for (size_t r = 0; r < rows; r++) pack_run(heads + r, packed + r, x + r * in + i, n, rows);
        packed += rows * pairs_of(n);
    }
}

/* ---- The product ---- */

/* sum + dot · step · scale. In this order only y itself can underflow. */
GPT_INLINE v128_t add_run(v128_t sum, v128_t dot, float step, const float *scale)
{
    const v128_t in_steps = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(dot), wasm_f32x4_splat(step));
    return wasm_f32x4_add(sum, wasm_f32x4_mul(in_steps, wasm_v128_load(scale)));
}

/* y of `rows` rows and of `vectors` · 8 outputs, from vector `first` of the block on. `rows` and `vectors`
 * are constants, 1 and 4 or 2 and 2. */
GPT_INLINE void multiply(float *y, size_t stride, const float *packed, const int8_t *block, const float *bias,
                         size_t first, size_t rows, size_t vectors, size_t in, size_t group)
{
    enum { SUMS = 4 }; /* rows · vectors */
    v128_t sum[2 * SUMS], both[SUMS], high[SUMS];
    const size_t outs = vectors * GPT_INT8_LANES;
    y += first * GPT_INT8_LANES;
    for (size_t k = 0; k < 2 * SUMS; k++)
        sum[k] = bias ? wasm_v128_load(bias + first * GPT_INT8_LANES + k * 4 % outs) : wasm_f32x4_splat(0.0f);
    for (size_t left = in; left > 0;) {
        const float *scales = (const float *)(const void *)block + first * GPT_INT8_LANES;
        const int8_t *pair = block + GPT_INT8_SCALES + first * GPT_INT8_VECTOR;
        size_t left_in_group = gpt_min(group, left);
        left -= left_in_group;
        block += gpt_int8_group_size(left_in_group);
        while (left_in_group > 0) {
            const size_t n = gpt_min(left_in_group, COLS_PER_RUN);
            left_in_group -= n;
            const gpt_int8_run *heads = (const gpt_int8_run *)(const void *)packed;
            packed += rows * FLOATS_PER_HEAD;
            for (size_t k = 0; k < SUMS; k++) {
                both[k] = wasm_v128_load32_splat(&heads[k / vectors].bias);
                high[k] = wasm_i32x4_splat(0);
            }
            for (size_t pairs = pairs_of(n); pairs > 0; pairs--, packed += rows, pair += GPT_INT8_PAIR)
                for (size_t v = 0; v < vectors; v++) {
                    const v128_t values = wasm_v128_load(pair + v * GPT_INT8_VECTOR),
                                 values_high = wasm_i16x8_shr(values, 8);
                    for (size_t r = 0, k = v; r < rows; r++, k += vectors) {
                        const v128_t q = wasm_v128_load32_splat(packed + r);
                        both[k] = wasm_i32x4_add(both[k], wasm_i32x4_dot_i16x8(values, q));
                        high[k] = wasm_i32x4_add(high[k], wasm_i32x4_dot_i16x8(values_high, q));
                    }
                }
            for (size_t k = 0; k < SUMS; k++) {
                const float step = heads[k / vectors].step, *scale = scales + k % vectors * GPT_INT8_LANES;
                both[k] = wasm_i32x4_sub(both[k], wasm_i32x4_shl(high[k], 8));
                sum[2 * k] = add_run(sum[2 * k], both[k], step, scale);
                sum[2 * k + 1] = add_run(sum[2 * k + 1], high[k], step, scale + 4);
            }
        }
    }
    for (size_t k = 0; k < 2 * SUMS; k++) wasm_v128_store(y + k * 4 / outs * stride + k * 4 % outs, sum[k]);
}

/* y of a block and of a tile of one or two rows. */
static void multiply_tile(float *y, size_t stride, const float *packed, const int8_t *block,
                          const float *bias, size_t rows, size_t in, size_t group)
{
    if (rows == 1) {
        multiply(y, stride, packed, block, bias, 0, 1, 4, in, group);
    } else {
        for (size_t first = 0; first < 4; first += 2)
            multiply(y, stride, packed, block, bias, first, 2, 2, in, group);
    }
}

/* The same for the last block, of which only `outs` outputs exist. */
static void multiply_last(float *y, size_t stride, const float *packed, const int8_t *block,
                          const float *bias, size_t rows, size_t in, size_t group, size_t outs)
{
    float whole[ROWS_PER_TILE * GPT_INT8_OUTS], whole_bias[GPT_INT8_OUTS] = {0.0f};
    if (bias) memcpy(whole_bias, bias, outs * sizeof(float));
    multiply_tile(whole, GPT_INT8_OUTS, packed, block, whole_bias, rows, in, group);
    for (size_t r = 0; r < rows; r++) memcpy(y + r * stride, whole + r * GPT_INT8_OUTS, outs * sizeof(float));
}

size_t gpt_int8_linear_scratch_size(size_t rows, size_t in, size_t group)
{
    if (!gpt_fits(rows, in) || !gpt_int8_group_valid(group)) return GPT_TOO_MANY;
    return gpt_floats(gpt_min(rows, ROWS_PER_BLOCK), packed_size(in, group));
}

int gpt_int8_linear_forward(float *y, float *scratch, const float *x, const int8_t *quantized,
                            const float *bias, size_t rows, size_t in, size_t out, size_t group, size_t part,
                            size_t parts)
{
    const int status = check(y, scratch, x, quantized, rows, in, out, group, part, parts);
    if (status) return status;
    scratch += part * gpt_int8_linear_scratch_size(rows, in, group);
    const size_t row_size = packed_size(in, group);
    size_t row = 0, end_row = rows, first_out = 0, end_out = out;
    /* Cut by rows if each part gets at least a block of them, otherwise by outputs. */
    if (rows / ROWS_PER_BLOCK >= parts)
        end_row = gpt_share(rows, ROWS_PER_TILE, part, parts, &row);
    else
        end_out = gpt_share(out, GPT_INT8_OUTS, part, parts, &first_out);
    if (first_out == end_out) return GPT_OK;
    for (; row < end_row; row += ROWS_PER_BLOCK) {
        const size_t rows_here = gpt_min(end_row - row, ROWS_PER_BLOCK);
        for (size_t r = 0; r < rows_here; r += ROWS_PER_TILE)
            pack_tile(scratch + r * row_size, x + (row + r) * in, gpt_min(rows_here - r, ROWS_PER_TILE), in,
                      group);
        for (size_t o = first_out; o < end_out; o += GPT_INT8_OUTS) {
            const int8_t *block = quantized + gpt_int8_group_at(o, 0, in, group);
            const float *bias_o = bias ? bias + o : NULL;
            const size_t outs = gpt_min(end_out - o, GPT_INT8_OUTS);
            for (size_t r = 0; r < rows_here; r += ROWS_PER_TILE) {
                float *y_r = y + (row + r) * out + o;
                const float *packed = scratch + r * row_size;
                const size_t n = gpt_min(rows_here - r, ROWS_PER_TILE);
                if (outs == GPT_INT8_OUTS)
                    multiply_tile(y_r, out, packed, block, bias_o, n, in, group);
                else
                    multiply_last(y_r, out, packed, block, bias_o, n, in, group, outs);
            }
        }
    }
    return GPT_OK;
}
