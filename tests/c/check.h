/* The harness of the kernels' tests, modeled on dav1d's checkasm: buffers with guards, random numbers that
 * are the same in every run, comparisons that fail for NaN, and one line of output per promise.
 *
 * A promise is a function. It runs cases; each case creates buffers, calls the kernel, states what it
 * expects, and calls end_case(). The output shows the first failure of a promise, with the text of the last
 * in_case().
 */
#ifndef GPT_CHECK_H
#define GPT_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* ---- Suites ----
 *
 *     static void test_gelu(void) { promise("gelu of 0 is 0", zero); }
 *
 *     SUITE("gelu", test_gelu)
 *
 * main.c runs every suite: SUITE adds it to the list before main() begins. Without SUITE the compiler warns
 * that test_gelu is not used. */

typedef struct suite {
    const char *name;
    void (*tests)(void);
    struct suite *next;
} suite;

extern suite *suites; /* the first by name */

void add_suite(suite *s);

#define SUITE(suite_name, function)                                                                          \
    __attribute__((constructor)) static void add_##function(void)                                            \
    {                                                                                                        \
        static suite s = {suite_name, function, NULL};                                                       \
        add_suite(&s);                                                                                       \
    }

/* ---- The names on the command line: `build/c/native-simd/test layernorm` runs what these tests select ---- */

void set_names(char *const *names, size_t n);

/* Whether `text` contains one of the names; spaces do not count. Always true without names. */
int is_named(const char *text);

/* Runs the promises of a suite or, unless `all`, only those whose text is_named(). */
void run_suite(const suite *s, int all);

/* ---- Promises ---- */

/* Runs one promise and prints `ok - <name>` or `not ok - <name>: <case, expected, got>`. The name says
 * what a user may rely on. */
void promise(const char *name, void (*test)(void));

/* Prints `N passed, M failed`. Returns the exit status of the program: 1 if a promise failed or none ran. */
int summary(void);

/* ---- Cases ---- */

/* Describes the current case. The text precedes the message of a failure. */
void in_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Checks that guards and inputs are unchanged, and frees the buffers of the case. */
void end_case(void);

/* ---- Buffers. end_case() frees them. Messages call them `name`. ---- */

/* n floats at the end of a malloc block, so that AddressSanitizer and valgrind detect a read past the end.
 * Successive buffers start at different alignments. */
const float *input_of(const char *name, const float *values, size_t n);
const float *random_input(const char *name, size_t n, float low, float high);

/* n floats between guards, filled with one particular NaN, or with `values` for a kernel that overwrites
 * its input. */
float *output(const char *name, size_t n);
float *output_of(const char *name, const float *values, size_t n);

/* The same, `offset` floats past a multiple of 16 bytes. An output without values is filled with the NaN. */
const float *input_at(const char *name, const float *values, size_t n, size_t offset);
float *output_at(const char *name, const float *values, size_t n, size_t offset);

/* n floats for the test itself, without checks. */
float *work(size_t n);

/* ---- Expectations ---- */

void expect(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
void expect_status(int got, int expected);

/* Checks the status, and that every output of the case still has its initial contents. */
void expect_refused(int got, int expected);

/* |got - expected| <= tolerance. NaN equals NaN, and an infinity equals itself. */
void expect_within(const char *name, size_t index, double got, double expected, double tolerance);

/* n values within `tolerance`, which is absolute below 1 and relative above. */
void expect_close(const char *name, const float *got, const float *expected, size_t n, double tolerance);

/* n values with the same bits. Every NaN equals every NaN. */
void expect_same(const char *name, const float *got, const float *expected, size_t n);

/* The hash of the n values' bits, FNV-1a (Fowler, Noll, Vo), which every build and machine should compute. */
void expect_hash(const float *values, size_t n, uint32_t expected);

/* The first failure since the last promise began; NULL if there is none. For programs without promises. */
const char *failure(void);

/* ---- Values ---- */

/* Random numbers. Every promise starts from the same seed. */
void seed_random(uint32_t seed);
float random_in(float low, float high);
float random_gauss(void); /* mean 0, deviation 1, nearly normal */
size_t random_below(size_t n);
void fill_random(float *values, size_t n, float low, float high);

/* The largest |value|. 0 without values. */
double largest(const float *values, size_t n);

/* Zeros, denormals, the limits of the normal range, huge values, infinities and NaN, each with both signs. */
enum { SPECIALS = 16 };
extern const float specials[SPECIALS];

#endif
