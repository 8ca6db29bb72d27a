#include "check.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, BUFFERS = 48, TEXT = 256 };

/* A quiet NaN that no arithmetic produces. It reveals kernels that read a guard or leave an output
 * unwritten. */
static const uint32_t pattern = 0x7fc5a5a5u;

typedef struct buffer {
    const char *name;
    void *block;
    float *data;
    uint32_t *initial; /* the initial bits; NULL for work() */
    size_t n;
    int is_output;
} buffer;

static buffer buffers[BUFFERS];
static size_t buffer_count;

static char context[TEXT], first_failure[2 * TEXT + 2];
static size_t failures;
static int passed, failed;
static char *const *given_names;
static size_t name_count;
static int runs_all = 1;
static const char *running; /* the promise */
static uint64_t random_state;

const float specials[SPECIALS] = {
    0.0f,    -0.0f,    1e-45f, -1e-45f, 0.75f * FLT_MIN, -0.75f * FLT_MIN, FLT_MIN, -FLT_MIN,
    FLT_MAX, -FLT_MAX, 3e38f,  -3e38f,  INFINITY,        -INFINITY,        NAN,     -NAN,
};

static void fail(const char *format, va_list arguments)
{
    if (failures++) return;
    char what[TEXT];
    vsnprintf(what, sizeof what, format, arguments);
    snprintf(first_failure, sizeof first_failure, "%s%s%s", context, context[0] ? ": " : "", what);
}

void expect(int holds, const char *format, ...)
{
    if (holds) return;
    va_list arguments;
    va_start(arguments, format);
    fail(format, arguments);
    va_end(arguments);
}

const char *failure(void) { return failures ? first_failure : NULL; }

suite *suites;

void add_suite(suite *s)
{
    suite **place = &suites;
    while (*place && strcmp((*place)->name, s->name) < 0) place = &(*place)->next;
    s->next = *place;
    *place = s;
}

void set_names(char *const *names, size_t n)
{
    given_names = names;
    name_count = n;
}

/* Whether `text` without its spaces begins with `name`. */
static int begins_with(const char *text, const char *name)
{
    for (; *name; text++) {
        if (*text == ' ') continue;
        if (*text != *name++) return 0;
    }
    return 1;
}

int is_named(const char *text)
{
    for (size_t i = 0; i < name_count; i++)
        for (const char *start = text; *start; start++)
            if (begins_with(start, given_names[i])) return 1;
    return name_count == 0;
}

void run_suite(const suite *s, int all)
{
    runs_all = all;
    s->tests();
}

/* A sanitizer aborts after its report, which does not know the case. */
#ifndef __wasm__
static void name_case(int signal_number)
{
    (void)signal_number;
    printf("not ok - %s: %s: see the sanitizer's report\n", running, context);
    fflush(stdout);
}
#endif

void seed_random(uint32_t seed) { random_state = seed; }

void promise(const char *name, void (*test)(void))
{
    if (!runs_all && !is_named(name)) return;
    running = name;
#ifndef __wasm__
    signal(SIGABRT, name_case);
#endif
    failures = 0;
    context[0] = '\0';
    seed_random(123);
    test();
    end_case();
    if (failures == 0) {
        passed++;
        printf("ok - %s\n", name);
    } else {
        failed++;
        printf("not ok - %s: %s", name, first_failure);
        if (failures > 1) printf(" (and %zu more)", failures - 1);
        printf("\n");
    }
    fflush(stdout); /* so that a crash in the next promise does not lose this line */
}

int summary(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

void in_case(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes ? bytes : 1);
    if (!block) {
        printf("out of memory\n");
        exit(2);
    }
    return block;
}

/* Adds a buffer with `before` and `after` floats around the data. */
static buffer *new_buffer(const char *name, size_t before, size_t n, size_t after)
{
    if (buffer_count == BUFFERS) {
        printf("more than %d buffers in a case\n", BUFFERS);
        exit(2);
    }
    buffer *b = &buffers[buffer_count++];
    float *block = allocate((before + n + after) * sizeof(float));
    *b = (buffer){.name = name, .block = block, .data = block + before, .n = n};
    return b;
}

static void keep_initial(buffer *b)
{
    b->initial = allocate(b->n * sizeof(float));
    memcpy(b->initial, b->data, b->n * sizeof(float));
}

const float *input_at(const char *name, const float *values, size_t n, size_t offset)
{
    buffer *b = new_buffer(name, offset, n, 0);
    memcpy(b->data, values, n * sizeof(float));
    keep_initial(b);
    return b->data;
}

const float *input_of(const char *name, const float *values, size_t n)
{
    return input_at(name, values, n, buffer_count % 4);
}

const float *random_input(const char *name, size_t n, float low, float high)
{
    buffer *b = new_buffer(name, buffer_count % 4, n, 0);
    fill_random(b->data, n, low, high);
    keep_initial(b);
    return b->data;
}

float *output_at(const char *name, const float *values, size_t n, size_t offset)
{
    const size_t before = GUARD + offset;
    buffer *b = new_buffer(name, before, n, GUARD);
    b->is_output = 1;
    for (size_t i = 0; i < before + n + GUARD; i++) memcpy((float *)b->block + i, &pattern, sizeof pattern);
    if (values) memcpy(b->data, values, n * sizeof(float));
    keep_initial(b);
    return b->data;
}

float *output(const char *name, size_t n) { return output_at(name, NULL, n, buffer_count % 4); }

float *output_of(const char *name, const float *values, size_t n)
{
    return output_at(name, values, n, buffer_count % 4);
}

float *work(size_t n) { return new_buffer("work", 0, n, 0)->data; }

static void expect_unchanged(const buffer *b)
{
    if (b->n == 0 || memcmp(b->initial, b->data, b->n * sizeof(float)) == 0) return;
    size_t i = 0;
    while (b->initial[i] == bits_of(b->data[i])) i++;
    float before;
    memcpy(&before, &b->initial[i], sizeof before);
    expect(0, "%s[%zu] should be unchanged: expected %.9g, got %.9g", b->name, i, before, b->data[i]);
}

static void expect_guards(const buffer *b)
{
    for (size_t i = 0; i < GUARD; i++) {
        expect(bits_of(b->data[b->n + i]) == pattern, "%s[%zu] was written, past the end at %zu", b->name,
               b->n + i, b->n);
        expect(bits_of(*(b->data - i - 1)) == pattern, "%s[-%zu] was written, before the start", b->name,
               i + 1);
    }
}

void end_case(void)
{
    for (size_t k = 0; k < buffer_count; k++) {
        buffer *b = &buffers[k];
        if (b->is_output)
            expect_guards(b);
        else if (b->initial)
            expect_unchanged(b);
        free(b->block);
        free(b->initial);
    }
    buffer_count = 0;
}

void expect_status(int got, int expected)
{
    expect(got == expected, "expected status %d, got %d", expected, got);
}

void expect_refused(int got, int expected)
{
    expect_status(got, expected);
    for (size_t k = 0; k < buffer_count; k++)
        if (buffers[k].is_output) expect_unchanged(&buffers[k]);
}

void expect_within(const char *name, size_t index, double got, double expected, double tolerance)
{
    if (isnan(got) && isnan(expected)) return;
    if (isinf(got) && got == expected) return;
    const double difference = fabs(got - expected);
    /* not `difference > tolerance`, which is false for NaN */
    if (!(difference <= tolerance) || isinf(expected))
        expect(0, "%s[%zu]: expected %.9g, got %.9g, tolerance %.3g", name, index, expected, got, tolerance);
}

void expect_close(const char *name, const float *got, const float *expected, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        expect_within(name, i, (double)got[i], (double)expected[i],
                      tolerance * fmax(1.0, fabs((double)expected[i])));
}

void expect_same(const char *name, const float *got, const float *expected, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t got_bits = bits_of(got[i]), expected_bits = bits_of(expected[i]);
        expect(got_bits == expected_bits || (isnan(got[i]) && isnan(expected[i])),
               "%s[%zu]: expected %.9g (0x%08x), got %.9g (0x%08x)", name, i, (double)expected[i],
               (unsigned)expected_bits, (double)got[i], (unsigned)got_bits);
    }
}

void expect_hash(const float *values, size_t n, uint32_t expected)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bits_of(values[i])) * 16777619u;
    expect(hash == expected, "the hash is 0x%08x", (unsigned)hash);
}

/* splitmix64: Steele, Lea, Flood 2014, doi:10.1145/2714064.2660195 */
static uint64_t random_u64(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_unit(void) { return (double)(random_u64() >> 11) * 0x1p-53; }

float random_in(float low, float high)
{
    return (float)((double)low + ((double)high - (double)low) * random_unit());
}

float random_gauss(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += random_unit();
    return (float)sum;
}

size_t random_below(size_t n) { return (size_t)(random_u64() % n); }

void fill_random(float *values, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++) values[i] = random_in(low, high);
}

double largest(const float *values, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)values[i]));
    return most;
}
