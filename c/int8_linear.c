/* Linear with int8 weights: y[r,o] = Σ_i x[r,i] · scale[o, i / group] · value[o,i] + bias[o]
 *
 * The columns are cut into runs of at most 128, each in one group. In a run, a row of x becomes 14 bits:
 *
 *   x[r,i] = step[r,run] · q[r,i]   with |q| <= 8191 and step = max |x| / 8191
 *   y[r,o] = Σ_run step[r,run] · scale[o,run] · product[r,o,run] + bias[o]
 *   product = Σ_i q[r,i] · value[o,i], exact in int32, by one of the two loops of int8.h
 *
 * Each run has its own step, so an outlier in x coarsens its neighbors only.
 *
 * A tile is 32 outputs of one row or, by int16, 16 of two: 8 vectors of sums, which fit the registers. One row
 * from memory is bound by reading the weights, one stream. From the cache the instructions bound.
 *
 * No sum depends on the other rows, on the parts, on the loop or on the build.
 */
#include "int8.h"

enum { ROWS_PER_TILE = 2, ROWS_PER_BLOCK = 64 };

static int check(const float *y, const float *scratch, const float *x, const int8_t *quantized, size_t rows,
                 size_t in, size_t out, size_t group, int dot, size_t part, size_t parts)
{
    if (!y || !scratch || !x || !quantized) return GPT_ERR_NULL;
    if (!gpt_int8_is_valid(group, dot) || part >= parts) return GPT_ERR_VALUE;
    const int fits = gpt_fits(rows, in) && gpt_fits(rows, out) && gpt_int8_fits(out, in) &&
                     gpt_fits(gpt_int8_linear_scratch_size(rows, in, group), parts);
    return fits ? GPT_OK : GPT_ERR_SIZE;
}

/* ---- Rows of x as 14 bits. A tile of n rows is [run]{ headers [n], q }: q is [pairs][n][2] int16, or by dot
 * [quads][2 halves][4] bytes of one row. ---- */

enum { FLOATS_PER_HEADER = sizeof(gpt_int8_header) / sizeof(float) };

/* Floats of `cols` columns of a group in a packed row, and of a packed row. */
static size_t packed_cols(size_t cols)
{
    return gpt_int8_runs(cols) * FLOATS_PER_HEADER + 2 * gpt_int8_quads(cols);
}

static size_t packed_size(size_t in, size_t group)
{
    return in / group * packed_cols(group) + packed_cols(in % group);
}

/* Eight numbers q as a loop reads them, 2 bytes each. int16: in their order. dot: four halves `high` of
 * q + offset, four halves `low`, and the same of the other four. */
static v128_t in_order_of(v128_t first, v128_t second, int32_t offset, int dot)
{
    if (!(dot && GPT_INT8_HAS_DOT)) return wasm_i16x8_narrow_i32x4(first, second);
    const v128_t added = wasm_i32x4_splat(offset), seven_bits = wasm_i32x4_splat(127);
    first = wasm_i32x4_add(first, added), second = wasm_i32x4_add(second, added);
    return wasm_i8x16_narrow_i16x8(
        wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(first, 7), wasm_v128_and(first, seven_bits)),
        wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(second, 7), wasm_v128_and(second, seven_bits)));
}

/* Stores 8 numbers, or 4, in pairs that are `rows` floats apart. */
GPT_INLINE void store_pairs(float *q, v128_t pairs, size_t n, size_t rows)
{
    if (rows == 1 && n == 8) {
        wasm_v128_store(q, pairs);
        return;
    }
    wasm_v128_store32_lane(q, pairs, 0);
    wasm_v128_store32_lane(q + rows, pairs, 1);
    if (n == 4) return;
    wasm_v128_store32_lane(q + 2 * rows, pairs, 2);
    wasm_v128_store32_lane(q + 3 * rows, pairs, 3);
}

gpt_int8_rounding gpt_int8_rounding_of(const float *x, size_t n, float most_q)
{
    /* below this, the largest |x| counts as 0, so that most_q / max |x| is finite and exact enough */
    const float least = 0x1p-100f;
    v128_t lanes = wasm_i32x4_splat(0);
    for (; n >= 4; n -= 4, x += 4) lanes = gpt_int8_larger(lanes, wasm_v128_load(x));
    lanes = gpt_int8_larger(lanes, gpt_load_tail(x, n));
    lanes = wasm_i32x4_max(lanes, wasm_i32x4_shuffle(lanes, lanes, 2, 3, 0, 1));
    lanes = wasm_i32x4_max(lanes, wasm_i32x4_shuffle(lanes, lanes, 1, 0, 3, 2));
    const float most = wasm_f32x4_extract_lane(lanes, 0);
    if (!(most < INFINITY)) return (gpt_int8_rounding){0.0f, NAN};
    return most < least ? (gpt_int8_rounding){0.0f, 0.0f} : (gpt_int8_rounding){most_q / most, most / most_q};
}

gpt_int8_header gpt_int8_numbers_of(float *q, const float *x, size_t n, size_t rows, float most_q,
                                    int32_t offset, int dot)
{
    const size_t whole = n / 8 * 8;
    float tail[8] = {0.0f};
    if (whole < n) memcpy(tail, x + whole, (n - whole) * sizeof(float));
    const gpt_int8_rounding rounding = gpt_int8_rounding_of(x, n, most_q);
    const v128_t factor = wasm_f32x4_splat(rounding.factor);
    v128_t sum = wasm_i32x4_splat(0);
    for (size_t i = 0; i < n; i += 8, q += 4 * rows) {
        const float *x_i = i < whole ? x + i : tail;
        const v128_t first = gpt_int8_round(wasm_v128_load(x_i), factor),
                     second = gpt_int8_round(wasm_v128_load(x_i + 4), factor);
        sum = wasm_i32x4_add(sum, wasm_i32x4_add(first, second));
        store_pairs(q, in_order_of(first, second, offset, dot), n - i > 4 ? 8 : 4, rows);
    }
    const v128_t bias = wasm_i32x4_neg(wasm_i32x4_shl(gpt_int8_sum(sum), 7));
    return (gpt_int8_header){rounding.step, wasm_i32x4_extract_lane(bias, 0)};
}

static void pack_tile(float *packed, const float *x, size_t rows, size_t in, size_t group, int dot)
{
    for (size_t i = 0, n; i < in; i += n) {
        n = gpt_min(gpt_min(in - i, group - i % group), GPT_INT8_RUN);
        gpt_int8_header *headers = (gpt_int8_header *)(void *)packed;
        packed += rows * FLOATS_PER_HEADER;
        for (size_t r = 0; r < rows; r++)
            headers[r] = gpt_int8_numbers_of(packed + r, x + r * in + i, n, rows, GPT_INT8_MOST_Q,
                                             GPT_INT8_OFFSET, dot);
        packed += rows * 2 * gpt_int8_quads(n);
    }
}

/* ---- The product ---- */

/* sum + product · step · scale. In this order only y itself can underflow. */
GPT_INLINE v128_t add_run(v128_t sum, v128_t product, float step, const float *scale)
{
    const v128_t in_steps = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(product), wasm_f32x4_splat(step));
    return wasm_f32x4_add(sum, wasm_f32x4_mul(in_steps, wasm_v128_load(scale)));
}

#ifdef __wasm_relaxed_simd__
void gpt_int8_multiply_dot(v128_t products[8], const int8_t *panel, const int8_t *sums, size_t ins,
                           const float *q, size_t quads)
{
    for (size_t half = 0; half < 2;
         half++, products += 4, sums += 32, panel += gpt_int8_panel_size(ins) / 2) {
        v128_t high[4], low[4];
        for (size_t k = 0; k < 4; k++) high[k] = low[k] = wasm_i32x4_splat(0);
        const int8_t *values = panel;
        const float *halves = q;
        for (size_t left = quads; left > 0; left--, values += GPT_INT8_TURN, halves += 2) {
            const v128_t q_high = wasm_v128_load32_splat(halves), q_low = wasm_v128_load32_splat(halves + 1);
            for (size_t k = 0; k < 4; k++) {
                const v128_t value = wasm_v128_load(values + 16 * k);
                high[k] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(value, q_high, high[k]);
                low[k] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(value, q_low, low[k]);
            }
        }
        for (size_t k = 0; k < 4; k++) {
            const v128_t offset = wasm_i32x4_shl(wasm_i32x4_load16x4(sums + 8 * k), GPT_INT8_OFFSET_BITS);
            products[k] = wasm_i32x4_sub(wasm_i32x4_add(wasm_i32x4_shl(high[k], 7), low[k]), offset);
        }
    }
}
#endif

/* y of `rows` rows and of `vectors` · 8 outputs, from vector `first` of the block on. `rows` and `vectors`
 * are constants: 1 and 4, or by int16 2 and 2. */
GPT_INLINE void multiply(float *y, size_t stride, const float *packed, const int8_t *block, const float *bias,
                         size_t first, size_t rows, size_t vectors, size_t in, size_t group, int dot)
{
    enum { SUMS = 8 }; /* rows · vectors · 2 */
    v128_t sum[SUMS], products[SUMS];
    const size_t outs = vectors * GPT_INT8_LANES;
    y += first * GPT_INT8_LANES;
    for (size_t k = 0; k < SUMS; k++)
        sum[k] = bias ? wasm_v128_load(bias + first * GPT_INT8_LANES + k * 4 % outs) : wasm_f32x4_splat(0.0f);
    for (size_t left = in; left > 0;) {
        const float *scales = (const float *)(const void *)block + first * GPT_INT8_LANES;
        size_t left_in_group = gpt_min(group, left);
        left -= left_in_group;
        block += GPT_INT8_SCALES;
        while (left_in_group > 0) {
            const size_t n = gpt_min(left_in_group, GPT_INT8_RUN);
            left_in_group -= n;
            const gpt_int8_header *headers = (const gpt_int8_header *)(const void *)packed;
            const float *q = packed + rows * FLOATS_PER_HEADER;
            if (dot) {
                v128_t in_memory[SUMS];
                gpt_int8_multiply_dot(in_memory, block + GPT_INT8_SUMS, block, n, q, gpt_int8_quads(n));
                for (size_t k = 0; k < SUMS; k++) products[k] = in_memory[k];
            } else {
                gpt_int8_multiply_int16(products, block + first * 16, q, headers, n / 2 + n % 2, rows,
                                        vectors);
            }
            for (size_t k = 0; k < SUMS; k++)
                sum[k] = add_run(sum[k], products[k], headers[k * 4 / outs].step, scales + k * 4 % outs);
            packed = q + rows * 2 * gpt_int8_quads(n);
            block += (dot ? GPT_INT8_SUMS : 0) + gpt_int8_panel_size(n);
        }
    }
    for (size_t k = 0; k < SUMS; k++) wasm_v128_store(y + k * 4 / outs * stride + k * 4 % outs, sum[k]);
}

/* Rows of the next tile, of those that are left: two, by dot one. */
static size_t rows_of_tile(size_t rows, int dot) { return dot ? 1 : gpt_min(rows, ROWS_PER_TILE); }

/* y of a block and of a tile. */
static void multiply_tile(float *y, size_t stride, const float *packed, const int8_t *block,
                          const float *bias, size_t rows, size_t in, size_t group, int dot)
{
    if (rows == 1) {
        multiply(y, stride, packed, block, bias, 0, 1, 4, in, group, dot && GPT_INT8_HAS_DOT);
    } else {
        for (size_t first = 0; first < 4; first += 2)
            multiply(y, stride, packed, block, bias, first, 2, 2, in, group, 0);
    }
}

/* The same for the last block, of which only `outs` outputs exist. */
static void multiply_last(float *y, size_t stride, const float *packed, const int8_t *block,
                          const float *bias, size_t rows, size_t in, size_t group, size_t outs, int dot)
{
    float whole[ROWS_PER_TILE * GPT_INT8_OUTS], whole_bias[GPT_INT8_OUTS] = {0.0f};
    if (bias) memcpy(whole_bias, bias, outs * sizeof(float));
    multiply_tile(whole, GPT_INT8_OUTS, packed, block, whole_bias, rows, in, group, dot);
    for (size_t r = 0; r < rows; r++) memcpy(y + r * stride, whole + r * GPT_INT8_OUTS, outs * sizeof(float));
}

size_t gpt_int8_linear_scratch_size(size_t rows, size_t in, size_t group)
{
    if (!gpt_fits(rows, in) || !gpt_int8_is_valid(group, 0)) return GPT_TOO_MANY;
    return gpt_floats(gpt_min(rows, ROWS_PER_BLOCK), packed_size(in, group));
}

int gpt_int8_linear_forward(float *y, float *scratch, const float *x, const int8_t *quantized,
                            const float *bias, size_t rows, size_t in, size_t out, size_t group, int dot,
                            size_t part, size_t parts)
{
    const int status = check(y, scratch, x, quantized, rows, in, out, group, dot, part, parts);
    if (status) return status;
    scratch += part * gpt_int8_linear_scratch_size(rows, in, group);
    const size_t row_size = packed_size(in, group), block_size = gpt_int8_block_size(in, group, dot);
    size_t row = 0, end_row = rows, first_out = 0, end_out = out;
    /* Cut by rows if each part gets at least a block of them, otherwise by outputs. */
    if (rows / ROWS_PER_BLOCK >= parts)
        end_row = gpt_share(rows, ROWS_PER_TILE, part, parts, &row);
    else
        end_out = gpt_share(out, GPT_INT8_OUTS, part, parts, &first_out);
    if (first_out == end_out) return GPT_OK;
    for (; row < end_row; row += ROWS_PER_BLOCK) {
        const size_t rows_here = gpt_min(end_row - row, ROWS_PER_BLOCK);
        for (size_t r = 0, n; r < rows_here; r += n) {
            n = rows_of_tile(rows_here - r, dot);
            pack_tile(scratch + r * row_size, x + (row + r) * in, n, in, group, dot);
        }
        for (size_t o = first_out; o < end_out; o += GPT_INT8_OUTS) {
            const int8_t *block = quantized + o / GPT_INT8_OUTS * block_size;
            const float *bias_o = bias ? bias + o : NULL;
            const size_t outs = gpt_min(end_out - o, GPT_INT8_OUTS);
            for (size_t r = 0, n; r < rows_here; r += n) {
                float *y_r = y + (row + r) * out + o;
                const float *packed = scratch + r * row_size;
                n = rows_of_tile(rows_here - r, dot);
                if (outs == GPT_INT8_OUTS)
                    multiply_tile(y_r, out, packed, block, bias_o, n, in, group, dot);
                else
                    multiply_last(y_r, out, packed, block, bias_o, n, in, group, outs, dot);
            }
        }
    }
    return GPT_OK;
}
