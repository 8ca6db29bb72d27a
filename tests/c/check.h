/* The harness of the kernels' tests, in the spirit of dav1d's checkasm: guarded buffers, random numbers that are
 * the same in every run, comparisons that a NaN fails, and one line for each promise.
 *
 * A promise is a plain function. It tries cases: build buffers, call the kernel, expect, end_case(). The first
 * failure is the one that is printed, with what in_case() said last.
 */
#ifndef GPT_CHECK_H
#define GPT_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Runs one promise and prints `ok - <name>` or `not ok - <name>: <what, where, expected, got>`. The name says what
 * a user may rely on. */
void promise(const char *name, void (*test)(void));

/* Prints `N passed, M failed`. Returns the exit status of the program: 1 if any failed, or if none ran. */
int summary(void);

/* ---- Cases ---- */

/* Says what is being tried; a failure is printed with it. */
void in_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Verifies that guards are intact and inputs unmodified, and frees the buffers of the case. */
void end_case(void);

/* ---- Buffers, freed by end_case(). `name` is for the message. ---- */

/* n floats that end where their malloc block ends, so that AddressSanitizer and valgrind see a read past the end.
 * The start is at each alignment in turn. */
const float *input_of(const char *name, const float *values, size_t n);
const float *random_input(const char *name, size_t n, float low, float high);

/* n floats between guards, filled with NaN of one bit pattern, or with `values`, for a kernel that writes over its
 * input. */
float *output(const char *name, size_t n);
float *output_of(const char *name, const float *values, size_t n);

/* n floats for the test's own use. */
float *work(size_t n);

/* ---- Expectations ---- */

void expect(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
void expect_status(int got, int expected);

/* The status, and that every output of the case is as it was made. */
void expect_refused(int got, int expected);

/* |got - expected| <= tolerance, where NaN agrees with NaN and an infinity with itself. */
void expect_within(const char *name, size_t index, double got, double expected, double tolerance);

/* Each of n within `tolerance`: absolute below 1, relative above. */
void expect_close(const char *name, const float *got, const float *expected, size_t n, double tolerance);

/* Each of n the same bits; NaN of any kind agrees with NaN. */
void expect_same(const char *name, const float *got, const float *expected, size_t n);

/* ---- Values ---- */

/* Random numbers, from the same start in every promise. */
float random_in(float low, float high);
float random_gauss(void); /* mean 0, deviation 1 */
size_t random_below(size_t n);
void fill_random(float *values, size_t n, float low, float high);

/* Zeros, denormals, the ends of the normal range, huge values, infinities, NaN; each of both signs. */
enum { SPECIALS = 16 };
extern const float specials[SPECIALS];

/* Every length around a vector of 4 and an unrolled 8 and 16, and GPT-2's. */
enum { SIZES = 20, SMALL_SIZES = 17 };
extern const size_t sizes[SIZES]; /* 1 ... 17, then 768, 1023, 3072 */

/* Rows below, at and past the kernels' tiles of 2 and 16. */
enum { ROW_COUNTS = 7 };
extern const size_t row_counts[ROW_COUNTS]; /* 1, 2, 3, 5, 6, 17, 33 */

/* A size no float tensor has: half of what a size_t counts, in bytes twice the address space. */
#define HUGE_SIZE (SIZE_MAX / 2)

/* ---- The promises, in the file of the kernel's name; main.c runs them all ---- */

void test_simd(void);
void test_status(void);
void test_relu(void);
void test_gelu(void);
void test_elementwise(void);
void test_reduce(void);
void test_transpose(void);
void test_linear(void);
void test_conv1d(void);
void test_layernorm(void);
void test_dropout(void);
void test_embedding(void);
void test_softmax(void);
void test_rmsnorm(void);
void test_batchnorm(void);
void test_feedforward(void);
void test_attention(void);
void test_crossentropy(void);
void test_mse(void);
void test_sgd(void);
void test_adamw(void);
void test_parts(void);
void test_random(void);

#endif
