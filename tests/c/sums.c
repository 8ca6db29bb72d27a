/* Gradients that are sums over rows stay exact with many rows. Equal rows are the hardest case: each addition
 * rounds in the same direction. */
#include <math.h>

#include "check.h"
#include "gpt_layers.h"

enum { COLS = 5, MANY = 262144, COUNTS = 4 };
static const size_t counts[COUNTS] = {63, 1024, 16384, MANY};
static const float values[COLS] = {0.1f, -0.7f, 1.3f, 1e-3f, 1.9f};

static float *equal_rows(size_t rows, float factor)
{
    float *x = work(rows * COLS);
    for (size_t i = 0; i < rows * COLS; i++) x[i] = factor * values[i % COLS];
    return x;
}

/* sums[c] within `tolerance` of rows · terms[c], relative. */
static void expect_sums(const char *name, const float *sums, const double *terms, size_t rows,
                        double tolerance)
{
    for (size_t c = 0; c < COLS; c++) {
        const double exact = (double)rows * terms[c];
        expect_within(name, c, (double)sums[c], exact, tolerance * fabs(exact));
    }
}

static void affine_sums(size_t rows)
{
    float *x = equal_rows(rows, 1.1f), *dy = equal_rows(rows, 1.0f);
    const size_t linear_size = gpt_linear_backward_scratch_size(rows, COLS);
    const size_t conv1d_size = gpt_conv1d_backward_scratch_size(rows, COLS);
    float *scratch = output("scratch", linear_size > conv1d_size ? linear_size : conv1d_size);
    float *dbias = output("dbias", COLS), *dweight = output("dweight", COLS * COLS);
    double terms[COLS];
    for (size_t layer = 0; layer < 2; layer++) {
        const char *name = layer == 0 ? "linear dweight" : "conv1d dweight";
        if (layer == 0)
            expect_status(
                gpt_linear_backward(NULL, dweight, dbias, scratch, dy, x, x, rows, COLS, COLS, 0, 1), GPT_OK);
        else
            expect_status(
                gpt_conv1d_backward(NULL, dweight, dbias, scratch, dy, x, x, rows, COLS, COLS, 0, 1), GPT_OK);
        for (size_t a = 0; a < COLS; a++) {
            for (size_t b = 0; b < COLS; b++)
                terms[b] = layer == 0 ? (double)dy[a] * (double)x[b] : (double)x[a] * (double)dy[b];
            expect_sums(name, dweight + a * COLS, terms, rows, 2e-5);
        }
        for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c];
        expect_sums(layer == 0 ? "linear dbias" : "conv1d dbias", dbias, terms, rows, 1e-6);
    }
}

static void embedding_sums(size_t rows)
{
    float *dy = equal_rows(rows, 1.0f), *dweight = output("dweight", 2 * COLS),
          *scratch = output("scratch", rows + 2);
    int32_t *indices = (int32_t *)(void *)work(rows);
    double terms[COLS];
    for (size_t r = 0; r < rows; r++) indices[r] = 1;
    for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c];
    expect_status(gpt_embedding_backward(dweight, scratch, dy, indices, rows, 2, COLS, 0, 1), GPT_OK);
    expect_sums("embedding dweight", dweight + COLS, terms, rows, 1e-6);
}

static void norm_sums(size_t rows)
{
    const float *scale = input_of("scale", values, COLS);
    float *x = equal_rows(rows, 1.1f), *dy = equal_rows(rows, 1.0f), *y = work(rows * COLS);
    float *mean = work(rows), *rstd = work(rows);
    float *dscale = output("dscale", COLS), *dshift = output("dshift", COLS);
    double terms[COLS];
    expect_status(gpt_layernorm_forward(y, mean, rstd, x, scale, scale, rows, COLS, 1e-5f, 0, 1), GPT_OK);
    expect_status(gpt_layernorm_backward(NULL, dscale, dshift, dy, x, mean, rstd, scale, rows, COLS, 0, 1),
                  GPT_OK);
    double exact_mean = 0.0;
    for (size_t c = 0; c < COLS; c++) exact_mean += (double)x[c] / COLS;
    for (size_t c = 0; c < COLS; c++)
        terms[c] = (double)dy[c] * ((double)x[c] - exact_mean) * (double)rstd[0];
    expect_sums("layer norm dscale", dscale, terms, rows, 1e-6);
    for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c];
    expect_sums("layer norm dshift", dshift, terms, rows, 1e-6);

    expect_status(gpt_rmsnorm_forward(y, rstd, x, scale, rows, COLS, 1e-5f, 0, 1), GPT_OK);
    expect_status(gpt_rmsnorm_backward(NULL, dscale, dy, x, rstd, scale, rows, COLS, 0, 1), GPT_OK);
    for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c] * (double)x[c] * (double)rstd[0];
    expect_sums("rms norm dscale", dscale, terms, rows, 1e-6);

    static const float zero[COLS], one[COLS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    expect_status(
        gpt_batchnorm_backward(NULL, dscale, dshift, dy, x, zero, zero, one, one, rows, COLS, 1e-12f, 0, 1),
        GPT_OK);
    for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c] * (double)x[c];
    expect_sums("batch norm dscale", dscale, terms, rows, 1e-6);
    for (size_t c = 0; c < COLS; c++) terms[c] = (double)dy[c];
    expect_sums("batch norm dshift", dshift, terms, rows, 1e-6);
}

static void for_counts(void (*sums)(size_t rows))
{
    for (size_t k = 0; k < COUNTS; k++) {
        in_case("%zu equal rows", counts[k]);
        sums(counts[k]);
        end_case();
    }
}

static void affine_gradients(void) { for_counts(affine_sums); }
static void embedding_gradient(void) { for_counts(embedding_sums); }
static void norm_gradients(void) { for_counts(norm_sums); }

static void test_sums(void)
{
    promise("linear's and conv1d's dweight is within 2e-5 and their dbias within 1e-6 of float64, for 63 to "
            "262,144 equal rows",
            affine_gradients);
    promise("embedding's gradient of one index is within 1e-6 of float64, for 63 to 262,144 equal rows",
            embedding_gradient);
    promise("layer norm's, rms norm's and batch norm's gradients of scale and shift are within 1e-6 of "
            "float64, for 63 to 262,144 equal rows",
            norm_gradients);
}

SUITE("sums", test_sums)
