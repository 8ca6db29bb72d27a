/* The matrix products at the numbers of rows where they change their algorithm or end in a part of a tile, in
 * both builds: GPT_TILE_ROWS is 4 in simd and 6 in relaxed. Small integers are summed without rounding, so
 * every result is exact. */
#include "gemm.h"
#include "sums.h"

#include "check.h"

enum { MOST_ROWS = 13, SHAPES = 8 };
static const struct {
    size_t depth, cols;
} shapes[SHAPES] = {{0, 5}, {1, 1}, {5, 12}, {16, 24}, {7, 13}, {9, 71}, {513, 9}, {1030, 3}};

static const size_t some_parts[3] = {1, 2, 5};

static const float *integers(const char *name, size_t n)
{
    float *values = work(n);
    for (size_t i = 0; i < n; i++) values[i] = (float)random_below(15) - 7.0f;
    return input_of(name, values, n);
}

/* y[r, c] = bias[c] + Σ_k a[r, k] · b[k, c]. a[r, k] is at r · a_row + k · a_col, and b[k, c] likewise. */
static void plain(float *y, const float *a, size_t a_row, size_t a_col, const float *b, size_t b_row,
                  size_t b_col, const float *bias, size_t rows, size_t depth, size_t cols)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            y[r * cols + c] = bias ? bias[c] : 0.0f;
            for (size_t k = 0; k < depth; k++)
                y[r * cols + c] += a[r * a_row + k * a_col] * b[k * b_row + c * b_col];
        }
}

typedef struct product {
    size_t rows, depth, cols;
    const float *a, *b, *bias;
    float *expected;
} product;

static void every_product(void (*try_one)(product, size_t parts))
{
    for (size_t rows = 0; rows <= MOST_ROWS; rows++)
        for (size_t s = 0; s < SHAPES; s++)
            for (size_t p = 0; p < 3; p++) {
                const size_t depth = shapes[s].depth, cols = shapes[s].cols;
                in_case("rows %zu, depth %zu, cols %zu, parts %zu", rows, depth, cols, some_parts[p]);
                try_one((product){.rows = rows,
                                  .depth = depth,
                                  .cols = cols,
                                  .a = integers("a", rows * depth),
                                  .b = integers("b", depth * cols),
                                  .bias = p == 0 ? NULL : integers("bias", cols),
                                  .expected = work(rows * cols)},
                        some_parts[p]);
                end_case();
            }
}

static void try_nt(product m, size_t parts)
{
    plain(m.expected, m.a, m.depth, 1, m.b, 1, m.depth, m.bias, m.rows, m.depth, m.cols);
    float *y = output("y", m.rows * m.cols);
    for (size_t part = 0; part < parts; part++) {
        float *scratch = output("scratch", gpt_gemm_nt_scratch_size(m.rows, m.depth));
        gpt_gemm_nt(y, scratch, m.a, m.b, m.bias, m.rows, m.depth, m.cols, part, parts);
    }
    expect_close("y", y, m.expected, m.rows * m.cols, 0.0);
}

static void try_nn(product m, size_t parts)
{
    plain(m.expected, m.a, m.depth, 1, m.b, m.cols, 1, m.bias, m.rows, m.depth, m.cols);
    float *y = output("y", m.rows * m.cols);
    for (size_t part = 0; part < parts; part++) {
        float *scratch = output("scratch", gpt_gemm_nn_scratch_size(m.rows, m.depth));
        gpt_gemm_nn(y, scratch, m.a, m.b, m.bias, m.rows, m.depth, m.cols, part, parts);
    }
    expect_close("y", y, m.expected, m.rows * m.cols, 0.0);
}

static void try_tn(product m, size_t parts)
{
    plain(m.expected, m.a, 1, m.rows, m.b, m.cols, 1, NULL, m.rows, m.depth, m.cols);
    float *y = output("y", m.rows * m.cols);
    for (size_t part = 0; part < parts; part++) {
        float *scratch = output("scratch", gpt_gemm_tn_scratch_size(m.depth));
        gpt_gemm_tn(y, scratch, m.a, m.b, m.rows, m.depth, m.cols, part, parts);
    }
    expect_close("y", y, m.expected, m.rows * m.cols, 0.0);
}

/* The sums of a's columns are ones · a. */
static void try_column_sums(product m, size_t parts)
{
    static const float one[1] = {1.0f};
    float *sums = output("sums", m.depth), *expected = work(m.depth);
    plain(expected, one, 0, 0, m.a, m.depth, 1, NULL, 1, m.rows, m.depth);
    for (size_t part = 0; part < parts; part++) gpt_column_sums(sums, m.a, m.rows, m.depth, part, parts);
    expect_close("sums", sums, expected, m.depth, 0.0);
}

/* The product of packed rows stays packed, and becomes the rows of the next product: (a · bᵀ + bias) · bᵀ'
 * with b' = b read as [depth, cols]. */
static void try_repacked(product m, size_t parts)
{
    if (m.rows == 0 || parts > 1) return;
    const gpt_rows_layout layout = gpt_gemm_rows_layout(m.rows);
    plain(m.expected, m.a, m.depth, 1, m.b, 1, m.depth, m.bias, m.rows, m.depth, m.cols);
    float *expected = work(m.rows * m.depth), *y = output("y", m.rows * m.depth);
    plain(expected, m.expected, m.cols, 1, m.b, 1, m.cols, NULL, m.rows, m.cols, m.depth);
    float *scratch = output("scratch", gpt_gemm_packed_size(layout, m.rows, m.depth));
    float *between = output("between", gpt_gemm_packed_size(layout, m.rows, m.cols));
    const float *packed = gpt_gemm_pack(scratch, m.a, m.rows, m.depth, layout);
    gpt_gemm_nt_packed(&(gpt_packed_product){.y = between,
                                             .packed = packed,
                                             .b = m.b,
                                             .bias = m.bias,
                                             .rows = m.rows,
                                             .depth = m.depth,
                                             .cols = m.cols,
                                             .end_col = m.cols,
                                             .layout = layout,
                                             .repack = 1});
    gpt_gemm_nt_packed(&(gpt_packed_product){.y = y,
                                             .packed = between,
                                             .b = m.b,
                                             .rows = m.rows,
                                             .depth = m.cols,
                                             .cols = m.depth,
                                             .end_col = m.depth,
                                             .layout = layout});
    expect_close("y", y, expected, m.rows * m.depth, 0.0);
}

static void nt(void) { every_product(try_nt); }
static void nn(void) { every_product(try_nn); }
static void tn(void) { every_product(try_tn); }
static void column_sums(void) { every_product(try_column_sums); }
static void repacked(void) { every_product(try_repacked); }

static void test_gemm(void)
{
    promise("a · bᵀ is exact on integers at 0 to 13 rows, also in parts", nt);
    promise("a · b is exact on integers at 0 to 13 rows, also in parts", nn);
    promise("aᵀ · b is exact on integers at 0 to 13 rows, also in parts", tn);
    promise("the sums of columns are exact on integers at 0 to 13 rows, also in parts", column_sums);
    promise("a packed product is exact as the rows of the next product", repacked);
}

SUITE("gemm", test_gemm)
