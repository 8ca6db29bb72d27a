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
 * A tile is 8 outputs of up to 4 rows. It reads 16 bytes, two inputs of 8 outputs, as eight int16, 256 · high
 * + low (int8.h). i32x4.dot_i16x8_s multiplies them by q and adds pairs:
 *
 *   both = Σ q · (256 · high + low),   low = value + 128
 *   dot of outputs 4 ... 7 = Σ q · high
 *   dot of outputs 0 ... 3 = both - 256 · Σ q · high - 128 · Σ q     modulo 2^32, so nothing overflows
 *
 * One row is bound by reading the values from memory, which are one stream: 27 of the 30 GB/s of a bare read.
 * A second stream beside it, even a thin one, costs a quarter of that. So the scales of 8 outputs are read at
 * once before their values, and so is the packed x, which the values push out of the caches. Many rows are
 * bound by the dot products: 42 billion multiply-adds per second, where dots in registers alone give 45.
 *
 * No sum depends on the other rows, on the parts or on the build.
 */
#include "int8.h"

#include <math.h>

#include "reference.h"

/* COLS_PER_RUN · 32767 · 128 must be below 2^31. */
enum { COLS_PER_RUN = 128, ROWS_PER_TILE = 4, ROWS_PER_BLOCK = 64, FLOATS_PER_CACHE_LINE = 16 };

/* A packed row of this size stays in the first-level cache while the values pass through it. */
enum { FLOATS_THAT_STAY = 1024 };

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
                       gpt_int8_coded(values[gpt_int8_value_at(o, i, in)], o);
            if (bias) sum += (double)bias[o];
            y[r * out + o] = (float)sum;
        }
    }
    return GPT_OK;
}

/* ---- Rows of x as int16. A tile of n rows is [run]{ heads [n], q [pairs][n][2] int16 }. ---- */

/* What a row has at the beginning of each run. */
typedef struct run_head {
    float step;
    int32_t bias; /* -128 · Σ q */
} run_head;

enum { FLOATS_PER_HEAD = sizeof(run_head) / sizeof(float) };

/* Floats of a packed row, at most: each run has at least one pair of columns, which takes one float. */
static size_t packed_size(size_t in) { return gpt_int8_pairs(in) * (FLOATS_PER_HEAD + 1); }

/* max |x| in 8 columns for each lane, and `most`. The bits of floats >= 0 have the order of integers, and NaN
 * is the last. */
GPT_INLINE v128_t larger(v128_t most, const float *x)
{
    most = wasm_i32x4_max(most, wasm_f32x4_abs(wasm_v128_load(x)));
    return wasm_i32x4_max(most, wasm_f32x4_abs(wasm_v128_load(x + 4)));
}

/* x · factor, at most 32767 in magnitude, as integers. Beside 1.5 · 2^23 a float32 has no fraction, and its
 * last bits are the integer. */
GPT_INLINE v128_t to_int(v128_t x, v128_t factor)
{
    const v128_t one_and_a_half = wasm_f32x4_splat(0x1.8p23f);
    return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(x, factor), one_and_a_half), one_and_a_half);
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
static void pack_run(run_head *head, float *q, const float *x, size_t n, size_t rows)
{
    const size_t whole = n / 8 * 8;
    float tail[8] = {0.0f};
    if (whole < n) memcpy(tail, x + whole, (n - whole) * sizeof(float));
    v128_t most_in_lane = larger(wasm_i32x4_splat(0), tail), sum = wasm_i32x4_splat(0);
    for (size_t i = 0; i < whole; i += 8) most_in_lane = larger(most_in_lane, x + i);
    most_in_lane = wasm_i32x4_max(most_in_lane, wasm_i32x4_shuffle(most_in_lane, most_in_lane, 2, 3, 0, 1));
    most_in_lane = wasm_i32x4_max(most_in_lane, wasm_i32x4_shuffle(most_in_lane, most_in_lane, 1, 0, 3, 2));
    const float most = wasm_f32x4_extract_lane(most_in_lane, 0);
    const int is_ordinary = most >= LEAST_X && most < INFINITY;
    const v128_t factor = wasm_f32x4_splat(is_ordinary ? MOST_Q / most : 0.0f);
    for (size_t i = 0; i < n; i += 8, q += 4 * rows) {
        const float *x_i = i < whole ? x + i : tail;
        const v128_t low = to_int(wasm_v128_load(x_i), factor),
                     high = to_int(wasm_v128_load(x_i + 4), factor);
        sum = wasm_i32x4_add(sum, wasm_i32x4_add(low, high));
        store_pairs(q, wasm_i16x8_narrow_i32x4(low, high), gpt_min(gpt_int8_pairs(n - i), 4), rows);
    }
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 1, 0, 3, 2));
    head->step = is_ordinary ? most / MOST_Q : most < LEAST_X ? 0.0f : NAN;
    head->bias = wasm_i32x4_extract_lane(wasm_i32x4_neg(wasm_i32x4_shl(sum, 7)), 0);
}

/* `rows` rows of x. Returns the number of floats. */
static size_t pack_tile(float *packed, const float *x, size_t rows, size_t in, size_t group)
{
    size_t size = 0;
    for (size_t i = 0, left_in_group = group; i < in;) {
        const size_t cols = gpt_min(gpt_min(in - i, left_in_group), COLS_PER_RUN);
        run_head *heads = (run_head *)(void *)(packed + size);
        size += rows * FLOATS_PER_HEAD;
        for (size_t r = 0; r < rows; r++) pack_run(heads + r, packed + size + r, x + r * in + i, cols, rows);
        size += rows * gpt_int8_pairs(cols);
        i += cols;
        left_in_group = left_in_group == cols ? group : left_in_group - cols;
    }
    return size;
}

/* ---- The product ---- */

/* Reads a float of each cache line at once, so that lines which are in memory arrive together. */
static void touch(const float *p, size_t n)
{
    for (size_t k = 0; k < n; k += FLOATS_PER_CACHE_LINE)
        (void)*(const volatile float *)(p + k); /* volatile: the value is unused */
}

typedef struct sums {
    v128_t low, high; /* of outputs 0 ... 3, and of 4 ... 7 */
} sums;

/* dot[r] += q · the values of one pair of inputs. `low` has 256 · high too much. `rows` is a constant. */
GPT_INLINE void add_pair(sums *dot, const float *q, const int8_t *values, size_t rows)
{
    const v128_t both = wasm_v128_load(values), high = wasm_i16x8_shr(both, 8);
    for (size_t r = 0; r < rows; r++) {
        const v128_t q_r = wasm_v128_load32_splat(q + r);
        dot[r].low = wasm_i32x4_add(dot[r].low, wasm_i32x4_dot_i16x8(both, q_r));
        dot[r].high = wasm_i32x4_add(dot[r].high, wasm_i32x4_dot_i16x8(high, q_r));
    }
}

/* Four pairs of one row, as add_pair. One load gives q of all of them. */
GPT_INLINE void add_4_pairs(sums *dot, const float *packed, const int8_t *values)
{
    const v128_t q = wasm_v128_load(packed);
    const v128_t q_of[4] = {wasm_i32x4_shuffle(q, q, 0, 0, 0, 0), wasm_i32x4_shuffle(q, q, 1, 1, 1, 1),
                            wasm_i32x4_shuffle(q, q, 2, 2, 2, 2), wasm_i32x4_shuffle(q, q, 3, 3, 3, 3)};
    for (size_t k = 0; k < 4; k++) {
        const v128_t both = wasm_v128_load(values + k * GPT_INT8_BLOCK), high = wasm_i16x8_shr(both, 8);
        dot->low = wasm_i32x4_add(dot->low, wasm_i32x4_dot_i16x8(both, q_of[k]));
        dot->high = wasm_i32x4_add(dot->high, wasm_i32x4_dot_i16x8(high, q_of[k]));
    }
}

/* sum + dot · step · scale. In this order only y itself can underflow. */
GPT_INLINE v128_t add_run(v128_t sum, v128_t dot, v128_t step, v128_t scale)
{
    const v128_t in_steps = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(dot), step);
    return wasm_f32x4_add(sum, wasm_f32x4_mul(in_steps, scale));
}

/* y of 8 outputs, n <= 8 of which exist, and of `rows` rows, which is a constant. */
GPT_INLINE void multiply(float *y, const float *packed, const int8_t *values, const float *scales,
                         const float *bias, size_t rows, size_t in, size_t out, size_t n, size_t group)
{
    sums sum[ROWS_PER_TILE], dot[ROWS_PER_TILE];
    const v128_t zero = wasm_i32x4_splat(0);
    sums start = {zero, zero};
    if (bias && n == GPT_INT8_OUTS) {
        start = (sums){wasm_v128_load(bias), wasm_v128_load(bias + 4)};
    } else if (bias) {
        start.low = gpt_load_tail(bias, n);
        if (n > 4) start.high = gpt_load_tail(bias + 4, n - 4);
    }
    for (size_t r = 0; r < rows; r++) sum[r] = start;
    for (size_t left = in, left_in_group = group; left > 0;) {
        const size_t cols = gpt_min(gpt_min(left, left_in_group), COLS_PER_RUN);
        const run_head *head = (const run_head *)(const void *)packed;
        packed += rows * FLOATS_PER_HEAD;
        for (size_t r = 0; r < rows; r++) dot[r] = (sums){wasm_v128_load32_splat(&head[r].bias), zero};
        size_t pairs = gpt_int8_pairs(cols);
        for (; rows == 1 && pairs >= 4; pairs -= 4) {
            add_4_pairs(dot, packed, values);
            values += 4 * GPT_INT8_BLOCK;
            packed += 4;
        }
        for (; pairs > 0; pairs--) {
            add_pair(dot, packed, values, rows);
            values += GPT_INT8_BLOCK;
            packed += rows;
        }
        const v128_t scale_low = wasm_v128_load(scales), scale_high = wasm_v128_load(scales + 4);
        for (size_t r = 0; r < rows; r++) {
            const v128_t step = wasm_v128_load32_splat(&head[r].step);
            dot[r].low = wasm_i32x4_sub(dot[r].low, wasm_i32x4_shl(dot[r].high, 8));
            sum[r].low = add_run(sum[r].low, dot[r].low, step, scale_low);
            sum[r].high = add_run(sum[r].high, dot[r].high, step, scale_high);
        }
        left -= cols;
        left_in_group -= cols;
        if (left_in_group == 0) {
            left_in_group = group;
            scales += GPT_INT8_OUTS;
        }
    }
    for (size_t r = 0; r < rows; r++, y += out) {
        if (n == GPT_INT8_OUTS) {
            wasm_v128_store(y, sum[r].low);
            wasm_v128_store(y + 4, sum[r].high);
        } else {
            gpt_store_tail(y, sum[r].low, n);
            if (n > 4) gpt_store_tail(y + 4, sum[r].high, n - 4);
        }
    }
}

size_t gpt_int8_linear_scratch_size(size_t rows, size_t in)
{
    if (!gpt_fits(rows, in)) return GPT_TOO_MANY;
    return gpt_floats(gpt_min(rows, ROWS_PER_BLOCK) * (FLOATS_PER_HEAD + 1), gpt_int8_pairs(in));
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
        size_t size = 0; /* of the last tile */
        for (size_t r = 0; r < rows_here; r += ROWS_PER_TILE)
            size = pack_tile(scratch + r * packed_size(in), x + (row + r) * in,
                             gpt_min(rows_here - r, ROWS_PER_TILE), in, group);
        for (size_t o = first_out; o < end_out; o += GPT_INT8_OUTS) {
            const int8_t *values_o = values + gpt_int8_value_at(o, 0, in);
            const float *scales_o = scales + gpt_int8_scale_at(o, 0, groups),
                        *bias_o = bias ? bias + o : NULL;
            const size_t n = gpt_min(end_out - o, GPT_INT8_OUTS);
            touch(scales_o, groups * GPT_INT8_OUTS);
            if (rows == 1 && size > FLOATS_THAT_STAY) touch(scratch, size);
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
