/* Linear with int8 weights: y[r,o] = Σ_i x[r,i] · scale[o, i / group] · value[o,i] + bias[o]
 *
 * The columns are cut into runs of at most 128, which are in one group. In each run, a row of x becomes
 * int16:
 *
 *   x[r,i] = step[r,run] · q[r,i]   with |q| <= 32767 and step = max |x| / 32767
 *   y[r,o] = Σ_run step[r,run] · scale[o,run] · Σ_i q[r,i] · value[o,i]
 *
 * The inner sum is exact in int32. A run has its own step, so an outlier in x coarsens its neighbors only.
 *
 * A tile is 8 outputs of up to 4 rows. It reads 16 values, two inputs of 8 outputs, widens them to int16, and
 * multiplies and adds pairs (i32x4.dot_i16x8_s). One row is bound by reading the values from memory, which
 * are one stream. Many rows are bound by the dot products.
 *
 * No sum depends on the other rows, on the parts or on the build.
 */
#include "int8.h"

#include <math.h>

#include "reference.h"

/* COLS_PER_RUN · 32767 · 128 must be below 2^31. */
enum { COLS_PER_RUN = 128, ROWS_PER_TILE = 4, ROWS_PER_BLOCK = 64 };

static const float MOST_Q = 32767.0f;

/* Below this, the largest |x| of a run counts as 0, so that 32767 / max |x| is finite and exact enough. */
static const float LEAST_X = 0x1p-100f;

static int check(const float *y, const float *scratch, const float *x, const int8_t *values,
                 const float *scales, size_t rows, size_t in, size_t out, size_t group, size_t part,
                 size_t parts)
{
    if (!y || !scratch || !x || !values || !scales) return GPT_ERR_NULL;
    if (!gpt_fits(rows, in) || !gpt_fits(rows, out) || !gpt_int8_fits(out, in) ||
        !gpt_fits(gpt_int8_linear_scratch_size(rows, in), parts))
        return GPT_ERR_SIZE;
    return gpt_int8_group_valid(group) && part < parts ? GPT_OK : GPT_ERR_VALUE;
}

static int is_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

int gpt_int8_linear_forward_ref(float *y, float *scratch, const float *x, const int8_t *values,
                                const float *scales, const float *bias, size_t rows, size_t in, size_t out,
                                size_t group)
{
    const int status = check(y, scratch, x, values, scales, rows, in, out, group, 0, 1);
    if (status) return status;
    const size_t groups = gpt_int8_groups(in, group);
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * in;
        for (size_t o = 0; o < out; o++) {
            /* dot product of x's row r and the weights of output o */
            double sum = is_finite(x_r, in) ? 0.0 : (double)NAN;
            for (size_t i = 0; i < in; i++)
                sum += (double)x_r[i] * (double)scales[gpt_int8_scale_at(o, i / group, groups)] *
                       values[gpt_int8_value_at(o, i, in)];
            if (bias) sum += (double)bias[o];
            y[r * out + o] = (float)sum;
        }
    }
    return GPT_OK;
}

/* ---- Rows of x as int16. A tile of n rows is [run]{ steps [n] floats, q [pairs][n][2] int16 }. ---- */

/* Where the run that begins at column i ends. */
GPT_INLINE size_t run_end(size_t i, size_t in, size_t group)
{
    return i + gpt_min(gpt_min(in - i, group - i % group), COLS_PER_RUN);
}

/* Floats of a packed row, at most: each run has at least two columns, and two columns take one float. */
static size_t packed_size(size_t in) { return gpt_round_up(in, 2); }

GPT_INLINE v128_t load_up_to_4(const float *x, size_t n)
{
    return n >= 4 ? wasm_v128_load(x) : gpt_load_tail(x, n);
}

/* max |x|; NaN if there is one. */
static float largest(const float *x, size_t n)
{
    v128_t most = wasm_f32x4_splat(0.0f);
    for (size_t i = 0; i < n; i += 4) most = wasm_f32x4_max(most, wasm_f32x4_abs(load_up_to_4(x + i, n - i)));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(most, 0);
}

GPT_INLINE v128_t to_int(v128_t x, v128_t factor)
{
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(wasm_f32x4_mul(x, factor)));
}

/* One run of n columns of one row, in a tile of `rows`. */
static void pack_run(float *step, float *q, const float *x, size_t n, size_t rows)
{
    const float most = largest(x, n);
    const int is_zero = most < LEAST_X, is_ordinary = most >= LEAST_X && most < INFINITY;
    *step = is_ordinary ? most / MOST_Q : is_zero ? 0.0f : NAN;
    const v128_t factor = wasm_f32x4_splat(is_ordinary ? MOST_Q / most : 0.0f);
    for (size_t i = 0; i < n; i += 4, q += 2 * rows) {
        const v128_t wide = to_int(load_up_to_4(x + i, n - i), factor),
                     pairs = wasm_i16x8_narrow_i32x4(wide, wide);
        wasm_v128_store32_lane(q, pairs, 0);
        if (n - i > 2) wasm_v128_store32_lane(q + rows, pairs, 1);
    }
}

/* `rows` rows of x. */
static void pack_tile(float *packed, const float *x, size_t rows, size_t in, size_t group)
{
    for (size_t i = 0, end; i < in; i = end) {
        end = run_end(i, in, group);
        for (size_t r = 0; r < rows; r++)
            pack_run(packed + r, packed + rows + r, x + r * in + i, end - i, rows);
        packed += rows + rows * gpt_int8_pairs(end - i);
    }
}

/* ---- The product ---- */

/* y of 8 outputs, n <= 8 of which exist, and of `rows` rows, which is a constant. */
GPT_INLINE void multiply(float *y, const float *packed, const int8_t *values, const float *scales,
                         const float *bias, size_t rows, size_t in, size_t out, size_t n, size_t group)
{
    v128_t sum[ROWS_PER_TILE][2], dot[ROWS_PER_TILE][2];
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < 2; h++)
            sum[r][h] = bias && n > 4 * h ? load_up_to_4(bias + 4 * h, n - 4 * h) : wasm_f32x4_splat(0.0f);
    for (size_t i = 0, end; i < in; i = end) {
        end = run_end(i, in, group);
        const float *step = packed;
        packed += rows;
        for (size_t r = 0; r < rows; r++) dot[r][0] = dot[r][1] = wasm_i32x4_splat(0);
        for (size_t k = gpt_int8_pairs(end - i); k > 0; k--) {
            const v128_t low = wasm_i16x8_load8x8(values), high = wasm_i16x8_load8x8(values + 8);
            for (size_t r = 0; r < rows; r++) {
                const v128_t q = wasm_v128_load32_splat(packed + r);
                dot[r][0] = wasm_i32x4_add(dot[r][0], wasm_i32x4_dot_i16x8(low, q));
                dot[r][1] = wasm_i32x4_add(dot[r][1], wasm_i32x4_dot_i16x8(high, q));
            }
            values += GPT_INT8_BLOCK;
            packed += rows;
        }
        const float *scale = scales + i / group * GPT_INT8_OUTS;
        for (size_t r = 0; r < rows; r++)
            for (size_t h = 0; h < 2; h++) {
                const v128_t factor =
                    wasm_f32x4_mul(wasm_v128_load32_splat(step + r), wasm_v128_load(scale + 4 * h));
                sum[r][h] =
                    wasm_f32x4_add(sum[r][h], wasm_f32x4_mul(factor, wasm_f32x4_convert_i32x4(dot[r][h])));
            }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < 2 && n > 4 * h; h++)
            if (n - 4 * h >= 4)
                wasm_v128_store(y + r * out + 4 * h, sum[r][h]);
            else
                gpt_store_tail(y + r * out + 4 * h, sum[r][h], n - 4 * h);
}

size_t gpt_int8_linear_scratch_size(size_t rows, size_t in)
{
    if (!gpt_fits(rows, in)) return GPT_TOO_MANY;
    return gpt_floats(gpt_min(rows, ROWS_PER_BLOCK), packed_size(in));
}

int gpt_int8_linear_forward(float *y, float *scratch, const float *x, const int8_t *values,
                            const float *scales, const float *bias, size_t rows, size_t in, size_t out,
                            size_t group, size_t part, size_t parts)
{
    const int status = check(y, scratch, x, values, scales, rows, in, out, group, part, parts);
    if (status) return status;
    scratch += part * gpt_int8_linear_scratch_size(rows, in);
    const size_t groups = gpt_int8_groups(in, group);
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
            pack_tile(scratch + r * packed_size(in), x + (row + r) * in,
                      gpt_min(rows_here - r, ROWS_PER_TILE), in, group);
        for (size_t o = first_out; o < end_out; o += GPT_INT8_OUTS) {
            const int8_t *values_o = values + gpt_int8_value_at(o, 0, in);
            const float *scales_o = scales + gpt_int8_scale_at(o, 0, groups),
                        *bias_o = bias ? bias + o : NULL;
            const size_t n = gpt_min(end_out - o, GPT_INT8_OUTS);
            for (size_t r = 0; r < rows_here; r += ROWS_PER_TILE) {
                float *y_r = y + (row + r) * out + o;
                const float *packed = scratch + r * packed_size(in);
                switch (gpt_min(rows_here - r, ROWS_PER_TILE)) {
                case 1: multiply(y_r, packed, values_o, scales_o, bias_o, 1, in, out, n, group); break;
                case 2: multiply(y_r, packed, values_o, scales_o, bias_o, 2, in, out, n, group); break;
                case 3: multiply(y_r, packed, values_o, scales_o, bias_o, 3, in, out, n, group); break;
                default: multiply(y_r, packed, values_o, scales_o, bias_o, 4, in, out, n, group);
                }
            }
        }
    }
    return GPT_OK;
}
