/* Turns bytes into calls of kernels. clang's libFuzzer makes the bytes, and keeps those that reach new code.
 *
 * The bytes are a sequence of trials. A trial chooses a kernel, sizes, scalars, values, and perhaps a fault:
 * a missing pointer, an impossible size, a scalar out of its range, a wrong part, a wrong index. It checks
 * what gpt_layers.h promises for every kernel:
 *
 *   - A call with a fault is refused with the status of that fault and leaves its outputs unchanged.
 *   - A call without a fault agrees with the reference: see tests/c/judges.c.
 *   - A second call gives the same bits: in parts, in any order, and with an output that is an input where
 *     the contract allows it. Its outputs and its scratch contain something else before, so that a kernel
 *     that reads them, or leaves an element unwritten, is found.
 *   - Inputs are unchanged.
 *
 * Each tensor ends where its malloc block ends, so that AddressSanitizer sees every access past it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/calls.h"
#include "../c/check.h"
#include "gpt_layers.h"

/* ---- The bytes, and random numbers that they start ---- */

static const uint8_t *bytes;
static size_t bytes_left;

static unsigned take(void)
{
    if (bytes_left == 0) return 0;
    bytes_left--;
    return *bytes++;
}

static uint32_t take_word(void)
{
    const unsigned low = take();
    return low | take() << 8;
}

/* xorshift32: Marsaglia 2003, doi:10.18637/jss.v008.i14 */
static uint32_t random_state;
static uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}
static uint32_t random_number(uint32_t below) { return (uint32_t)((uint64_t)random_word() * below >> 32); }
static float uniform(float low, float high)
{
    return low + (high - low) * ((float)(random_word() >> 8) * 0x1p-24f);
}

/* ---- Memory ---- */

enum { MOST_BLOCKS = 8 * MOST_TENSORS };
static void *blocks[MOST_BLOCKS];
static size_t block_count;

/* n words that end where their block ends. `pattern` fills them. */
static void *place(size_t n, content content, uint32_t pattern)
{
    /* float64 must be aligned to 8; floats start at any multiple of 4 */
    const size_t before = content == DOUBLES || content == STATE ? 0 : block_count % 4;
    uint32_t *block = malloc((before + n) * sizeof *block);
    if (!block) abort();
    blocks[block_count++] = block;
    for (size_t i = 0; i < before + n; i++) block[i] = pattern;
    return block + before;
}

static void *copy_of(const void *words, size_t n, content content)
{
    void *copy = place(n, content, 0);
    memcpy(copy, words, n * 4);
    return copy;
}

static void free_blocks(void)
{
    while (block_count) free(blocks[--block_count]);
}

/* A NaN that no kernel makes, and an ordinary number: outputs contain one or the other before a call. */
static const uint32_t first_pattern = 0x7fc5a5a5u, second_pattern = 0x4640e6b7u;

/* ---- Sizes ---- */

static size_t take_size(void)
{
    /* below, at and above the kernels' tiles and blocks */
    static const uint16_t odd[56] = {13,  15,  16,  17,  18,  19,  20,  23,  24,  25,  31,  32,  33,  39,
                                     40,  41,  47,  48,  49,  63,  64,  65,  66,  67,  70,  71,  72,  73,
                                     95,  96,  97,  99,  100, 103, 104, 127, 128, 129, 130, 135, 136, 160,
                                     191, 192, 193, 199, 200, 255, 256, 257, 260, 300, 511, 513, 768, 1030};
    const unsigned b = take();
    return b < 6 ? 0 : b < 224 ? 1 + b % 12 : odd[random_number(56)];
}

static size_t impossible_size(unsigned byte)
{
    const size_t one = 1;
    const size_t sizes_[10] = {SIZE_MAX,         SIZE_MAX / 2,    PTRDIFF_MAX, one << 61,
                               one << 62,        (one << 61) + 1, one << 32,   (one << 32) - 1,
                               SIZE_MAX / 4 + 2, SIZE_MAX / 3};
    return sizes_[byte % 10];
}

/* ---- Values ---- */

static float power_of_10(float low, float high)
{
    const float value = powf(10.0f, uniform(low, high));
    return random_word() & 1 ? value : -value;
}

static void fill(float *x, size_t n, unsigned style)
{
    static const float means[6] = {1e4f, -1e4f, 1e5f, 1.0f, -1e15f, 1e-3f};
    static const float deviations[6] = {0.1f, 0.1f, 1.0f, 1e-5f, 1e10f, 1e-8f};
    const uint32_t choice = random_number(6), place = n ? random_number((uint32_t)n) : 0;
    const float a = uniform(-2.0f, 2.0f), b = uniform(-2.0f, 2.0f);
    switch (style % 20) {
    default:
        for (size_t i = 0; i < n; i++) x[i] = uniform(-2.0f, 2.0f);
        break;
    case 8: /* sums without rounding */
        for (size_t i = 0; i < n; i++) x[i] = (float)random_number(5) - 2.0f;
        break;
    case 9: /* equal values: all additions round in the same direction */
        for (size_t i = 0; i < n; i++) x[i] = a;
        break;
    case 10:
        for (size_t i = 0; i < n; i++) x[i] = random_number(8) ? a : b;
        break;
    case 11: /* a mean far from 0 */
        for (size_t i = 0; i < n; i++)
            x[i] = means[choice] + deviations[choice] * (uniform(-1.0f, 1.0f) + uniform(-1.0f, 1.0f));
        break;
    case 12: /* denormals and their neighbors */
        for (size_t i = 0; i < n; i++) x[i] = power_of_10(-45.0f, -30.0f);
        break;
    case 13: /* logits */
        for (size_t i = 0; i < n; i++) x[i] = uniform(-100.0f, 100.0f);
        break;
    case 14: /* saturated rows */
        for (size_t i = 0; i < n; i++) x[i] = random_number(7) ? a : a + 10.0f * (float)(choice + 1);
        break;
    case 15: /* an outlier */
        for (size_t i = 0; i < n; i++) x[i] = uniform(-2.0f, 2.0f);
        if (n) x[place] = power_of_10(1.0f, 12.0f);
        break;
    case 16:
        for (size_t i = 0; i < n; i++) x[i] = power_of_10(-20.0f, 18.0f);
        break;
    case 17:
        for (size_t i = 0; i < n; i++) x[i] = power_of_10(30.0f, 38.5f);
        break;
    case 18: /* a few zeros, denormals, limits, infinities and NaN */
        for (size_t i = 0; i < n; i++) x[i] = uniform(-2.0f, 2.0f);
        for (uint32_t i = 0; n && i <= choice % 3; i++)
            x[random_number((uint32_t)n)] = specials[random_number(SPECIALS)];
        break;
    case 19: /* any bits */
        for (size_t i = 0; i < n; i++) {
            const uint32_t bits = random_word();
            memcpy(x + i, &bits, sizeof bits);
        }
    }
}

static unsigned range_of(const float *x, size_t n)
{
    unsigned range = SMALL;
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            range |= NOT_FINITE;
        else if (fabsf(x[i]) > most)
            most = fabsf(x[i]);
    }
    return range | (most <= 2.0f ? SMALL : most <= 1e6f ? MODERATE : most <= 1e18f ? WIDE : HUGE_VALUES);
}

static void fill_indices(int32_t *indices, size_t n, size_t below, int ignored)
{
    const uint32_t limit = below > 1 << 20 ? 1 << 20 : (uint32_t)below, alike = random_number(3);
    for (size_t i = 0; i < n; i++) {
        indices[i] = alike == 0 && i > 0 ? indices[0] : (int32_t)random_number(limit);
        if (ignored && random_number(5) == 0) indices[i] = GPT_IGNORE;
    }
}

/* Whether an input has an index out of range, or a value that is not finite where it must be. */
static int bad_input(const trial *t, size_t i)
{
    const tensor *tensor = &t->k->tensors[i];
    if (tensor->content == FINITES) return (t->range[i] & NOT_FINITE) != 0;
    const int32_t *indices = t->c.t[i];
    const size_t limit = size_of(t->k, &t->c, t->k->classes);
    for (size_t j = 0; j < t->n[i]; j++)
        if ((indices[j] < 0 || (size_t)indices[j] >= limit) &&
            !(tensor->content == TARGETS && indices[j] == GPT_IGNORE))
            return 1;
    return 0;
}

static void fill_input(trial *t, size_t i, unsigned style)
{
    const tensor *tensor = &t->k->tensors[i];
    float *x = t->c.t[i];
    switch (tensor->content) {
    case INDICES:
    case TARGETS:
        fill_indices(t->c.t[i], t->n[i], size_of(t->k, &t->c, t->k->classes), tensor->content == TARGETS);
        break;
    case STATE: gpt_random_seed(t->c.t[i], random_word()); break;
    default:
        fill(x, t->n[i], style);
        if (tensor->content == POSITIVES)
            for (size_t j = 0; j < t->n[i]; j++) x[j] = fabsf(x[j]);
        t->range[i] = range_of(x, t->n[i]);
    }
}

/* ---- Reports ---- */

/* Prints the call and stops: libFuzzer then keeps the bytes. */
static void stop_if_failed(const trial *t, const call *c)
{
    if (!failure()) return;
    printf("gpt_%s: %s\n ", t->k->name, failure());
    for (size_t i = 0; t->k->sizes[i]; i++) printf(" %c = %zu", t->k->sizes[i], c->s[i]);
    for (size_t i = 0; t->k->scalars && t->k->scalars[i]; i++) printf(", scalar %zu = %.17g", i, c->v[i]);
    if (t->k->has_parts) printf(", part %zu of %zu", c->part, c->parts);
    printf("\n");
    for (size_t i = 0; t->k->tensors[i].role; i++) {
        if (!t->c.t[i])
            printf("  %s NULL\n", t->k->tensors[i].name);
        else if (t->k->tensors[i].role != SCRATCH && t->k->tensors[i].content != STATE)
            print_tensor(t->k->tensors[i].name, t->k->tensors[i].content, t->c.t[i], t->n[i]);
        if (t->expected[i]) print_tensor("    expected", t->k->tensors[i].content, t->expected[i], t->n[i]);
    }
    fflush(stdout);
    abort();
}

/* ---- A trial ---- */

enum { MAY_PASS = 1, MISSING = 2, IMPOSSIBLE = 4, BAD_VALUE = 8 }; /* statuses that a call may return */

static int status_is_allowed(int status, int allowed)
{
    return status <= 0 && status >= -3 && (allowed & 1 << -status);
}

/* Which statuses the contract allows for these arguments. */
static int allowed_statuses(const trial *t, int bad_value, int impossible)
{
    int allowed = bad_value ? BAD_VALUE : 0;
    for (size_t i = 0; t->k->tensors[i].role; i++) {
        if (!t->c.t[i] && !is_optional(t->k, i)) allowed |= MISSING;
        if (t->c.t[i] && t->n[i] == UNADDRESSABLE) allowed |= IMPOSSIBLE;
    }
    for (size_t i = 0; t->k->sizes[i]; i++)
        if (t->c.s[i] < t->k->least[i] || (t->k->most[i] && t->c.s[i] > t->k->most[i])) allowed |= IMPOSSIBLE;
    if (t->c.part >= t->c.parts) allowed |= BAD_VALUE;
    /* an impossible size beside a size of 0 may be refused, or be an empty tensor */
    if (!allowed) return impossible ? MAY_PASS | IMPOSSIBLE : MAY_PASS;
    return impossible ? allowed | IMPOSSIBLE : allowed;
}

static int run(const trial *t, const call *c)
{
    kernel_calls++;
    return t->k->run(c);
}

static void expect_inputs_unchanged(const trial *t, void *const *copies)
{
    for (size_t i = 0; t->k->tensors[i].role; i++)
        if (copies[i] && memcmp(copies[i], t->c.t[i], t->n[i] * 4) != 0)
            expect(0, "%s was changed", t->k->tensors[i].name);
}

static void expect_outputs_unchanged(const trial *t)
{
    for (size_t i = 0; t->k->tensors[i].role; i++) {
        if (t->k->tensors[i].role != OUT && t->k->tensors[i].role != OPTIONAL_OUT) continue;
        const uint32_t *words = t->c.t[i];
        const size_t n = t->n[i] <= MOST_WORDS ? t->n[i] : 1;
        for (size_t j = 0; words && j < n; j++)
            expect(words[j] == first_pattern, "%s[%zu] was changed by a call that was refused",
                   t->k->tensors[i].name, j);
    }
}

/* The same call again: in parts, and with an output that is an input, if `choice` says so. */
static void expect_same_again(const trial *t, const call *initial, unsigned choice)
{
    const kernel *k = t->k;
    call c = *initial;
    const size_t parts = k->has_parts ? 1 + choice % 5 : 1;
    for (size_t i = 0; k->tensors[i].role; i++) {
        if (!c.t[i]) continue;
        if (k->tensors[i].role == OUT || k->tensors[i].role == OPTIONAL_OUT)
            c.t[i] = place(t->n[i], k->tensors[i].content, second_pattern);
        else if (is_output(k, i))
            c.t[i] = copy_of(initial->t[i], t->n[i], k->tensors[i].content);
        else if (k->tensors[i].role == SCRATCH)
            c.t[i] = place(parts * t->n[i], FLOATS, second_pattern);
    }
    const size_t output = (size_t)k->alias[choice / 8 % 2].output,
                 input = (size_t)k->alias[choice / 8 % 2].input;
    if (input && choice & 16 && t->n[output] == t->n[input] && (!k->choose || c.s[2 * input] == c.s[1]) &&
        (!k->choose || c.s[2 * input + 1] == 1))
        c.t[output] = c.t[input] = copy_of(initial->t[input], t->n[input], FLOATS);
    c.parts = parts;
    for (size_t part = 0; part < parts; part++) {
        c.part = choice & 32 ? parts - 1 - part : part;
        expect_status(run(t, &c), GPT_OK);
    }
    for (size_t i = 0; k->tensors[i].role; i++)
        if (c.t[i] && is_output(k, i)) expect_same_tensor(&k->tensors[i], c.t[i], t->c.t[i], t->n[i]);
    stop_if_failed(t, &c);
}

/* One of so many parts that only this one is computed: each element has the bits of the whole call, or is
 * unwritten. The scratch of so many parts is not addressable. */
static void expect_part_of_many(const trial *t, const call *initial)
{
    const kernel *k = t->k;
    call c = *initial;
    for (size_t i = 0; k->tensors[i].role; i++)
        if (c.t[i] && is_output(k, i))
            c.t[i] = is_input(k, i) ? copy_of(initial->t[i], t->n[i], k->tensors[i].content)
                                    : place(t->n[i], k->tensors[i].content, second_pattern);
    c.part = 0;
    c.parts = random_number(2) ? SIZE_MAX : (size_t)1 << (30 + random_number(33));
    const int status = run(t, &c);
    if (!k->scratch_size || status != GPT_ERR_SIZE) expect_status(status, GPT_OK);
    for (size_t i = 0; k->tensors[i].role; i++) {
        if (!c.t[i] || !is_output(k, i)) continue;
        const uint32_t *got = c.t[i], *whole = t->c.t[i], *before = is_input(k, i) ? initial->t[i] : NULL;
        for (size_t j = 0; j < t->n[i]; j++)
            if (got[j] != (before ? before[j] : second_pattern))
                expect_same_tensor(&k->tensors[i], got + j, whole + j, 1);
    }
    stop_if_failed(t, &c);
}

static void try_one(void)
{
    trial t = {.k = &kernels[take() % kernel_count], .c = {.part = 0, .parts = 1}};
    const kernel *k = t.k;
    random_state = take_word() * 65537u + 1u;
    size_t sizes_of_tensors = strlen(k->sizes), tensors = 0;
    if (k->choose) sizes_of_tensors = 2;
    for (size_t i = 0; i < sizes_of_tensors; i++) t.c.s[i] = take_size();
    limit_sizes(k, &t.c, sizes_of_tensors, 1 << 15);
    for (size_t i = 0; k->scalars && k->scalars[i]; i++) t.c.v[i] = scalar(k->scalars[i], take(), 0);
    if (k->choose) k->choose(&t.c, random_word());
    while (tensors < MOST_TENSORS && k->tensors[tensors].role) tensors++;

    /* the faults: none in three of four trials, sometimes two */
    const unsigned fault = take();
    int bad_value = 0, impossible = 0, make_bad_index = 0;
    size_t missing = MOST_TENSORS;
    if (fault >= 192 && fault % 8 < 3)
        for (unsigned i = 0; i <= fault % 8 && sizes_of_tensors; i++) {
            const unsigned which = take();
            t.c.s[which % strlen(k->sizes)] = i == 1 ? 0 : impossible_size(which / 8);
            impossible = 1;
        }
    if (k->choose && (t.c.s[3] > 1 || t.c.s[5] > 1 || t.c.s[7] > 1))
        bad_value = 1; /* the steps between columns */
    if (fault >= 192 && (fault % 8 == 3 || fault % 8 == 7)) missing = take() % tensors;
    if (fault >= 192 && (fault % 8 == 4 || fault % 8 == 7)) {
        const unsigned which = take();
        if (k->scalars && can_be_bad(k->scalars[which % strlen(k->scalars)])) {
            t.c.v[which % strlen(k->scalars)] = scalar(k->scalars[which % strlen(k->scalars)], which / 8, 1);
            bad_value = 1;
        } else if (k->choose) {
            t.c.s[which % 2 ? 3 : 5] = 2 + which / 8;
            bad_value = 1;
        }
    }
    if (fault >= 192 && fault % 8 == 5 && k->has_parts) {
        t.c.parts = take() % 4;
        t.c.part = t.c.parts + take() % 3;
    }
    if (fault >= 192 && fault % 8 == 6) make_bad_index = 1;

    /* the tensors */
    const unsigned unwanted = take();
    void *copies[MOST_TENSORS] = {NULL};
    for (size_t i = 0; i < tensors; i++) {
        t.n[i] = words_of(k, &t.c, i);
        /* each optional tensor is there in three of four trials */
        const int there = i != missing && !(is_optional(k, i) && unwanted >= 128 && unwanted >> i % 7 & 1);
        if (there && k->tensors[i].role != SCRATCH)
            t.c.t[i] = place(t.n[i] <= MOST_WORDS ? t.n[i] : 1, k->tensors[i].content, first_pattern);
    }
    for (size_t i = 0; i < tensors; i++)
        if (k->tensors[i].role == SCRATCH && i != missing)
            t.c.t[i] = (void *)blocks; /* until its size is known */
    int allowed = allowed_statuses(&t, bad_value, impossible);
    for (size_t i = 0; i < tensors; i++)
        if (t.c.t[i] && t.n[i] > MOST_WORDS && allowed & MAY_PASS) goto end; /* more than we have */
    for (size_t i = 0; i < tensors; i++) {
        if (!is_input(k, i)) continue;
        const unsigned style = take();
        if (!t.c.t[i] || t.n[i] > MOST_WORDS) continue;
        fill_input(&t, i, style);
        const content content = k->tensors[i].content;
        if (content != INDICES && content != TARGETS && content != FINITES) continue;
        if (make_bad_index && t.n[i] && content != FINITES)
            ((int32_t *)t.c.t[i])[random_number((uint32_t)t.n[i])] =
                random_number(2) ? -1 - (int32_t)random_number(99) : INT32_MAX;
        if (bad_input(&t, i)) allowed = (allowed & ~MAY_PASS) | BAD_VALUE;
    }
    for (size_t i = 0; i < tensors; i++) {
        if (k->tensors[i].role != SCRATCH || !t.c.t[i]) continue;
        t.n[i] = k->scratch_size(&t.c);
        if (t.n[i] == UNADDRESSABLE) allowed = (allowed & ~MAY_PASS) | IMPOSSIBLE;
        if (t.n[i] > 16 * MOST_WORDS && allowed & MAY_PASS) goto end;
        if (t.n[i] > 16 * MOST_WORDS) t.n[i] = 1;
        t.c.t[i] = place(t.n[i], FLOATS, first_pattern);
    }
    t.prepared = 1;
    if (k->prepare && allowed == MAY_PASS) {
        t.prepared = take() % 8 != 0;
        if (t.prepared) k->prepare(&t);
    }
    for (size_t i = 0; i < tensors; i++)
        if (k->tensors[i].role >= IN && k->tensors[i].role <= OPTIONAL_IN && t.c.t[i] && t.n[i] <= MOST_WORDS)
            copies[i] = copy_of(t.c.t[i], t.n[i], k->tensors[i].content);

    /* the calls */
    call initial = t.c;
    for (size_t i = 0; i < tensors; i++) {
        if (!t.c.t[i] || !is_output(k, i) || !is_input(k, i) || t.n[i] > MOST_WORDS) continue;
        t.before[i] = initial.t[i] = copy_of(t.c.t[i], t.n[i], k->tensors[i].content);
        t.expected[i] = copy_of(t.c.t[i], t.n[i], k->tensors[i].content);
    }
    const int status = run(&t, &t.c);
    expect(status_is_allowed(status, allowed), "status %d is not among those allowed: %s%s%s%s", status,
           allowed & MAY_PASS ? "0 " : "", allowed & MISSING ? "-1 " : "", allowed & IMPOSSIBLE ? "-2 " : "",
           allowed & BAD_VALUE ? "-3 " : "");
    stop_if_failed(&t, &t.c);
    if (status != GPT_OK) {
        expect_outputs_unchanged(&t);
        for (size_t i = 0; i < tensors; i++)
            if (t.expected[i] && memcmp(t.expected[i], t.c.t[i], t.n[i] * 4) != 0)
                expect(0, "%s was changed by a call that was refused", k->tensors[i].name);
    } else {
        call reference = initial;
        for (size_t i = 0; i < tensors; i++) {
            if (!t.c.t[i] || !is_output(k, i)) continue;
            if (!t.expected[i]) t.expected[i] = place(t.n[i], k->tensors[i].content, second_pattern);
            reference.t[i] = t.expected[i];
        }
        /* an impossible size beside empty tensors: a reference may loop for long */
        if (k->reference && !impossible) k->reference(&reference);
        if (k->judge && !impossible) k->judge(&t);
        if (!k->judge && !impossible)
            for (size_t i = 0; i < tensors; i++)
                if (t.expected[i]) expect_same_tensor(&k->tensors[i], t.c.t[i], t.expected[i], t.n[i]);
        stop_if_failed(&t, &t.c);
        const unsigned choice = take();
        expect_same_again(&t, &initial, choice);
        if (k->has_parts && choice >= 240) expect_part_of_many(&t, &initial);
    }
    expect_inputs_unchanged(&t, copies);
    stop_if_failed(&t, &t.c);
end:
    free_blocks();
}

/* ---- libFuzzer's functions ---- */

static void print_calls(void) { printf("%" PRIu64 " kernel calls\n", kernel_calls); }

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return atexit(print_calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes = data;
    bytes_left = size;
    while (bytes_left) try_one();
    return 0;
}

/* Every other time fresh bytes, to the full length: libFuzzer's own mutations stay near what it has. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (seed % 2) return LLVMFuzzerMutate(data, size, max_size);
    random_state = seed | 1u;
    for (size_t i = 0; i < max_size; i++) data[i] = (uint8_t)(random_word() >> 24);
    return max_size;
}

/* Kernels do not allocate, so nothing of theirs can leak; and the leak checker fails where ptrace is
 * forbidden. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:malloc_context_size=4:quarantine_size_mb=8:allocator_may_return_null=1";
}
