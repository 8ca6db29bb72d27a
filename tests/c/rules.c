/* The rules of gpt_layers.h for every function, tested with every argument of every kernel in table.c. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "gpt_layers.h"

/* Runs `test` for each kernel that the command line selects. */
static void each_kernel(void (*test)(const kernel *k))
{
    for (size_t i = 0; i < kernel_count; i++)
        if (is_named("rules") || is_named(kernels[i].name)) test(&kernels[i]);
}

static size_t tensor_count(const kernel *k)
{
    size_t n = 0;
    while (n < MOST_TENSORS && k->tensors[n].role) n++;
    return n;
}

static int has_indices(const kernel *k, size_t i)
{
    return k->tensors[i].content == INDICES || k->tensors[i].content == TARGETS;
}

/* The steps between the columns of the operands of gpt_add and the like are among its sizes, but are 0 or 1. */
static int is_column_step(const kernel *k, size_t i) { return k->choose && i >= 3 && i % 2; }

/* ---- Examples: right calls, with the values of their inputs ---- */

enum { MOST_WORK = 1 << 17, MOST_SCRATCH_WORDS = 1 << 20, MOST_PARTS = 5 };

/* The words of each tensor, by its place: inputs, outputs of the whole call, outputs of the reference. */
static _Alignas(16) uint32_t values[MOST_TENSORS][MOST_WORDS], results[MOST_TENSORS][MOST_WORDS],
    expected[MOST_TENSORS][MOST_WORDS];

/* `what` is tested next. */
static void in_example(const trial *t, const char *what)
{
    char text[160] = "";
    int n = 0;
    for (size_t i = 0; t->k->sizes[i]; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %c %zu", t->k->sizes[i], t->c.s[i]);
    in_case("%s%s, %s", t->k->name, text, what);
}

/* Values in the domain of every kernel: |x| <= 2. */
static void fill_values(const trial *t, size_t i)
{
    const size_t n = t->n[i];
    void *words = values[i];
    switch (t->k->tensors[i].content) {
    case INDICES:
    case TARGETS:
        for (size_t j = 0; j < n; j++)
            ((int32_t *)words)[j] = (int32_t)random_below(size_of(t->k, &t->c, t->k->classes));
        if (t->k->tensors[i].content == TARGETS && n > 2) ((int32_t *)words)[n / 2] = GPT_IGNORE;
        break;
    case BYTES:
        for (size_t j = 0; j < 4 * n; j++) ((uint8_t *)words)[j] = (uint8_t)random_below(256);
        break;
    case STATE: gpt_random_seed(words, 123u); break;
    case POSITIVES: fill_random(words, n, 0.0f, 2.0f); break;
    default: fill_random(words, n, -2.0f, 2.0f);
    }
}

/* A right call with sizes near `wanted`. Bit i of `absent`: the optional tensor i is NULL. Returns 0 where an
 * index would have no class. */
static int make_example(trial *t, const kernel *k, const size_t *wanted, size_t choice, unsigned absent)
{
    *t = (trial){.k = k, .c = {.part = 0, .parts = 1}};
    const size_t n = k->choose ? 2 : strlen(k->sizes);
    for (size_t i = 0; i < n; i++) t->c.s[i] = wanted[i] < k->least[i] ? k->least[i] : wanted[i];
    limit_sizes(k, &t->c, n, MOST_WORK);
    for (size_t i = 0; k->scalars && k->scalars[i]; i++)
        t->c.v[i] = scalar(k->scalars[i], (unsigned)(choice + i), 0);
    if (k->choose) k->choose(&t->c, (uint32_t)random_below(1 << 16));
    for (size_t i = 0; i < tensor_count(k); i++) {
        const int is_scratch = k->tensors[i].role == SCRATCH;
        t->n[i] = is_scratch ? k->scratch_size(&t->c) : words_of(k, &t->c, i);
        in_example(t, k->tensors[i].name);
        expect(t->n[i] <= (is_scratch ? (size_t)MOST_SCRATCH_WORDS : MOST_WORDS), "too many words: %zu",
               t->n[i]);
        if (has_indices(k, i) && t->n[i] && size_of(k, &t->c, k->classes) == 0) return 0;
        if (absent >> i & 1) continue;
        t->c.t[i] = values[i];
        if (is_input(k, i)) fill_values(t, i);
    }
    t->prepared = 1;
    if (k->prepare) k->prepare(t);
    return 1;
}

enum { SIZE_SETS = 11 };
static const size_t size_sets[SIZE_SETS][MOST_SIZES] = {
    {1, 1, 1, 1, 1},   {2, 3, 5, 4, 3},    {3, 5, 2, 7, 4},     {5, 17, 6, 3, 2},
    {6, 33, 24, 2, 5}, {17, 9, 40, 3, 8},  {7, 65, 19, 2, 3},   {200, 19, 41, 2, 4},
    {1, 70, 2, 9, 16}, {33, 130, 7, 2, 3}, {1030, 20, 9, 2, 4},
};

/* Calls `test` with examples of k: small, odd and longer sizes, each size 0, all sizes 0; each with and
 * without the optional inputs. */
static void each_example(const kernel *k, void (*test)(trial *t))
{
    const size_t n = strlen(k->sizes), sets = SIZE_SETS + n + 1;
    unsigned optional = 0;
    for (size_t i = 0; i < tensor_count(k); i++)
        if (is_optional(k, i) && is_input(k, i)) optional |= 1u << i;
    for (size_t set = 0; set < sets; set++) {
        size_t wanted[MOST_SIZES] = {0};
        if (set < SIZE_SETS + n) memcpy(wanted, size_sets[set < SIZE_SETS ? set : 2], sizeof wanted);
        if (set >= SIZE_SETS && set < SIZE_SETS + n) wanted[set - SIZE_SETS] = 0;
        for (size_t again = 0; again < (k->choose ? 8 : 1); again++)
            for (unsigned absent = optional;; absent = (absent - 1) & optional) {
                trial t;
                if (make_example(&t, k, wanted, set, absent)) test(&t);
                if (absent == 0) break;
            }
    }
}

/* ---- Calls of an example ---- */

/* What differs from the plain call. The result is the same. */
typedef struct way {
    size_t offset;  /* floats that tensors start past a multiple of 16 bytes */
    int is_dirty;   /* outputs and scratch contain ordinary numbers before */
    unsigned omits; /* bit i: tensor i is NULL */
    size_t parts;
    int last_first;
    const int *alias; /* an output, and the input that it is; NULL for none */
} way;

static const way plain = {.parts = 1};

/* The arguments, in buffers with guards. */
static call new_call(const trial *t, way w)
{
    enum { MOST_DIRT = MOST_PARTS * MOST_SCRATCH_WORDS };
    static float dirt[MOST_DIRT];
    for (size_t i = 0; i < MOST_DIRT && dirt[i] == 0.0f; i++) dirt[i] = 12345.0f;
    call c = t->c;
    c.parts = w.parts;
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        const tensor *a = &t->k->tensors[i];
        const int is_aligned = a->content == STATE || a->content == DOUBLES; /* to 8 bytes */
        const size_t offset = is_aligned ? 0 : w.offset;
        if (!c.t[i] || w.omits >> i & 1)
            c.t[i] = NULL;
        else if (a->role == SCRATCH)
            c.t[i] = output_at(a->name, w.is_dirty ? dirt : NULL, w.parts * t->n[i], offset);
        else if (!is_input(t->k, i))
            c.t[i] = output_at(a->name, w.is_dirty ? dirt : NULL, t->n[i], offset);
        else if (is_output(t->k, i))
            c.t[i] = output_at(a->name, (const float *)t->c.t[i], t->n[i], offset);
        else
            c.t[i] = (void *)(uintptr_t)input_at(a->name, t->c.t[i], t->n[i], offset);
    }
    if (w.alias)
        c.t[w.alias[0]] = c.t[w.alias[1]] =
            output_at("the output that is an input", t->c.t[w.alias[1]], t->n[w.alias[1]], w.offset);
    return c;
}

/* The plain call. `results` has its outputs. */
static void run_whole(const trial *t)
{
    const call c = new_call(t, plain);
    expect_status(t->k->run(&c), GPT_OK);
    for (size_t i = 0; i < tensor_count(t->k); i++)
        if (c.t[i] && is_output(t->k, i)) memcpy(results[i], c.t[i], 4 * t->n[i]);
    end_case();
}

/* Runs a part, which must leave the scratch of the others alone: they may run at the same time. */
static void run_part(const trial *t, const call *c)
{
    static float before[MOST_PARTS * MOST_SCRATCH_WORDS];
    const float *scratch = NULL;
    size_t size = 0;
    for (size_t i = 0; i < tensor_count(t->k); i++)
        if (t->k->tensors[i].role == SCRATCH) scratch = c->t[i], size = t->n[i];
    const size_t begin = c->part * size, end = begin + size, n = c->parts * size;
    if (n) memcpy(before, scratch, n * sizeof *before);
    expect_status(t->k->run(c), GPT_OK);
    for (size_t i = 0; i < n; i++)
        if (i < begin || i >= end)
            expect(memcmp(scratch + i, before + i, sizeof *before) == 0, "part %zu wrote scratch[%zu]",
                   c->part, i);
}

/* The same call in another way gives the same bits. run_whole() was before. */
static void expect_same_result(const trial *t, way w)
{
    call c = new_call(t, w);
    for (size_t i = 0; i < w.parts; i++) {
        c.part = w.last_first ? w.parts - 1 - i : i;
        run_part(t, &c);
    }
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        /* for an output that is omitted, nothing is drawn from the generator */
        if (w.omits && t->k->tensors[i].content == STATE) continue;
        if (c.t[i] && is_output(t->k, i)) expect_same_tensor(&t->k->tensors[i], c.t[i], results[i], t->n[i]);
    }
    end_case();
}

/* ---- Right calls ---- */

static unsigned optional_outputs(const kernel *k)
{
    unsigned optional = 0;
    for (size_t i = 0; i < tensor_count(k); i++)
        if (is_optional(k, i) && !is_input(k, i)) optional |= 1u << i;
    return optional;
}

/* "without a b", for the tensors that are omitted. */
static void in_example_without(const trial *t, unsigned omits)
{
    char text[80] = "without";
    for (size_t i = 0; i < tensor_count(t->k); i++)
        if (omits >> i & 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s", t->k->tensors[i].name);
    in_example(t, omits ? text : "compared with the reference");
}

static void expect_agreement(const trial *t, unsigned omits)
{
    const kernel *k = t->k;
    trial judged = *t;
    judged.c = new_call(t, (way){.omits = omits, .parts = 1});
    expect_status(k->run(&judged.c), GPT_OK);
    call reference = judged.c;
    for (size_t i = 0; i < tensor_count(k); i++) {
        if (!judged.c.t[i] || !is_output(k, i)) continue;
        if (is_input(k, i)) judged.before[i] = values[i];
        memcpy(expected[i], values[i], 4 * t->n[i]);
        judged.expected[i] = reference.t[i] = expected[i];
    }
    if (k->reference) k->reference(&reference);
    if (k->judge)
        k->judge(&judged);
    else
        for (size_t i = 0; i < tensor_count(k); i++)
            if (judged.expected[i]) expect_same_tensor(&k->tensors[i], judged.c.t[i], expected[i], t->n[i]);
    end_case();
}

static void example_agrees(trial *t)
{
    const unsigned optional = optional_outputs(t->k);
    for (unsigned omits = optional;; omits = (omits - 1) & optional) {
        in_example_without(t, omits);
        expect_agreement(t, omits);
        if (omits == 0) return;
    }
}

static void example_at_other_alignments(trial *t)
{
    run_whole(t);
    for (size_t offset = 1; offset < 4; offset++) {
        char text[40];
        snprintf(text, sizeof text, "%zu floats past 16 bytes", offset);
        in_example(t, text);
        expect_same_result(t, (way){.offset = offset, .is_dirty = 1, .parts = 1});
    }
}

static void example_in_parts(trial *t)
{
    if (!t->k->has_parts) return;
    run_whole(t);
    for (size_t parts = 2; parts <= MOST_PARTS; parts++)
        for (int last_first = 0; last_first <= 1; last_first++) {
            char text[40];
            snprintf(text, sizeof text, "%zu parts, the %s one first", parts, last_first ? "last" : "first");
            in_example(t, text);
            expect_same_result(t, (way){.is_dirty = 1, .parts = parts, .last_first = last_first});
        }
}

static void example_without_outputs(trial *t)
{
    const unsigned optional = optional_outputs(t->k);
    run_whole(t);
    for (unsigned omits = optional; omits; omits = (omits - 1) & optional) {
        in_example_without(t, omits);
        expect_same_result(t, (way){.omits = omits, .parts = 1});
    }
}

static void example_in_place(trial *t)
{
    run_whole(t);
    for (size_t i = 0; i < 2; i++) {
        const int alias[2] = {t->k->alias[i].output, t->k->alias[i].input};
        if (alias[1] == 0) continue;
        /* an operand of gpt_add that is broadcast cannot be the output */
        if (t->n[alias[0]] != t->n[alias[1]]) continue;
        if (t->k->choose && (t->c.s[2 * alias[1]] != t->c.s[1] || t->c.s[2 * alias[1] + 1] != 1)) continue;
        char text[80];
        snprintf(text, sizeof text, "%s is %s", t->k->tensors[alias[0]].name, t->k->tensors[alias[1]].name);
        in_example(t, text);
        expect_same_result(t, (way){.parts = 1, .alias = alias});
        if (t->k->has_parts) expect_same_result(t, (way){.parts = 3, .alias = alias});
    }
}

static void kernel_agrees(const kernel *k) { each_example(k, example_agrees); }
static void kernel_at_other_alignments(const kernel *k) { each_example(k, example_at_other_alignments); }
static void kernel_in_parts(const kernel *k) { each_example(k, example_in_parts); }
static void kernel_without_outputs(const kernel *k) { each_example(k, example_without_outputs); }
static void kernel_in_place(const kernel *k) { each_example(k, example_in_place); }

/* ---- Wrong calls ---- */

/* A call of small tensors, for faults. If the kernel has scratch, it needs some. */
static call small_call(trial *t, const kernel *k)
{
    for (size_t set = 2; set < SIZE_SETS; set++)
        if (make_example(t, k, size_sets[set], 1, 0) && (!k->scratch_size || k->scratch_size(&t->c))) break;
    return new_call(t, plain);
}

static void kernel_refuses_null(const kernel *k)
{
    trial t;
    const call right = small_call(&t, k);
    for (size_t i = 0; i < tensor_count(k); i++)
        for (int is_empty = 0; is_empty <= 1; is_empty++) {
            if (is_optional(k, i)) continue;
            call c = right;
            c.t[i] = NULL;
            if (is_empty) memcpy(c.s, k->least, sizeof c.s);
            in_case("%s, %s is NULL%s", k->name, k->tensors[i].name, is_empty ? ", all sizes 0" : "");
            expect_refused(k->run(&c), GPT_ERR_NULL);
        }
    end_case();
}

static int is_addressable(const kernel *k, const call *c)
{
    for (size_t i = 0; i < tensor_count(k); i++)
        if (words_of(k, c, i) == UNADDRESSABLE) return 0;
    return !k->scratch_size || k->scratch_size(c) != UNADDRESSABLE;
}

static void in_sizes(const kernel *k, const call *c, const char *what)
{
    const trial t = {.k = k, .c = *c};
    in_example(&t, what);
}

/* One size too large and the others 0 or 1; two sizes whose product is too large or wraps to 0. */
static void kernel_refuses_sizes(const kernel *k)
{
    enum { LARGE = 5, BITS = 8 * sizeof(size_t) };
    static const size_t large[LARGE] = {SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX / 4, SIZE_MAX / 2, SIZE_MAX};
    const size_t n = strlen(k->sizes);
    size_t refused = 0;
    trial t;
    const call right = small_call(&t, k);
    for (size_t i = 0; i < n; i++) {
        if (is_column_step(k, i)) continue;
        call c = right;
        if (k->least[i]) {
            c.s[i] = k->least[i] - 1;
            in_sizes(k, &c, "too small");
            expect_refused(k->run(&c), GPT_ERR_SIZE);
        }
        if (k->most[i]) {
            c.s[i] = k->most[i] + 1;
            in_sizes(k, &c, "too large");
            expect_refused(k->run(&c), GPT_ERR_SIZE);
        }
        for (size_t other = 0; other <= 1; other++) {
            for (size_t j = 0; j < n; j++) c.s[j] = other || is_column_step(k, j) ? 1 : k->least[j];
            const size_t ordinary = c.s[i];
            for (size_t l = 0; l < LARGE; l++) {
                c.s[i] = large[l];
                if (is_addressable(k, &c)) continue;
                in_sizes(k, &c, "not addressable");
                expect_refused(k->run(&c), GPT_ERR_SIZE);
                refused++;
            }
            for (size_t j = i; j < n; j++)
                for (size_t bits = BITS / 2 - 1; bits <= BITS / 2 && !is_column_step(k, j); bits++) {
                    const size_t before = c.s[j];
                    c.s[i] = c.s[j] = (size_t)1 << bits;
                    in_sizes(k, &c, "not addressable together");
                    if (!is_addressable(k, &c)) expect_refused(k->run(&c), GPT_ERR_SIZE);
                    c.s[j] = before;
                }
            c.s[i] = ordinary;
        }
    }
    in_case("%s", k->name);
    expect(n == 0 || refused >= n, "expected more sizes that are not addressable, found %zu", refused);
    end_case();
}

/* Sizes of addressable tensors whose scratch is not, unless it stops growing or a tensor is always larger;
 * and so many parts that theirs is not. */
static void kernel_refuses_scratch(const kernel *k)
{
    enum { CANDIDATES = 11 };
    const size_t most = MOST_ADDRESSABLE, n = strlen(k->sizes);
    const size_t candidates[CANDIDATES] = {
        1, 2, 7, 64, most / 64, most / 24, most / 8, most / 7, most / 3, most / 2, most,
    };
    if (!k->scratch_size) return;
    trial t;
    call c = small_call(&t, k);
    in_case("%s, too many parts", k->name);
    c.parts = MOST_ADDRESSABLE / k->scratch_size(&c) + 1;
    for (size_t part = 0; part <= 1; part++) {
        c.part = part ? c.parts - 1 : 0;
        expect_refused(k->run(&c), GPT_ERR_SIZE);
    }
    c.part = 0, c.parts = 1;
    size_t refused = 0, largest = 0, combinations = 1;
    int is_smaller = 1; /* than a tensor */
    for (size_t i = 0; i < n; i++) combinations *= CANDIDATES;
    for (size_t number = 0; number < combinations && refused < 100; number++) {
        size_t rest = number;
        for (size_t i = 0; i < n; i++, rest /= CANDIDATES) c.s[i] = candidates[rest % CANDIDATES];
        int fits = 1;
        size_t largest_tensor = 0;
        for (size_t i = 0; i < tensor_count(k); i++) {
            const size_t words = words_of(k, &c, i);
            fits &= words != UNADDRESSABLE;
            if (words > largest_tensor) largest_tensor = words;
        }
        if (!fits) continue;
        const size_t size = k->scratch_size(&c);
        if (size > largest && size != UNADDRESSABLE) largest = size;
        if (size > largest_tensor) is_smaller = 0;
        if (size != UNADDRESSABLE) continue;
        in_sizes(k, &c, "scratch not addressable");
        expect_refused(k->run(&c), GPT_ERR_SIZE);
        refused++;
    }
    in_case("%s", k->name);
    expect(refused > 0 || largest <= MOST_SCRATCH_WORDS || is_smaller,
           "scratch of %zu floats was not refused", largest);
    end_case();
}

static void kernel_refuses_parts(const kernel *k)
{
    static const size_t wrong[4][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}};
    if (!k->has_parts) return;
    trial t;
    call c = small_call(&t, k);
    for (size_t i = 0; i < 4; i++) {
        c.part = wrong[i][0], c.parts = wrong[i][1];
        in_case("%s, part %zu of %zu", k->name, c.part, c.parts);
        expect_refused(k->run(&c), GPT_ERR_VALUE);
    }
    end_case();
}

static void kernel_refuses_scalars(const kernel *k)
{
    trial t;
    const call right = small_call(&t, k);
    for (size_t i = 0; k->scalars && k->scalars[i]; i++)
        for (unsigned choice = 0; choice < BAD_SCALARS && can_be_bad(k->scalars[i]); choice++) {
            call c = right;
            c.v[i] = scalar(k->scalars[i], choice, 1);
            in_case("%s, scalar %zu is %g", k->name, i, c.v[i]);
            expect_refused(k->run(&c), GPT_ERR_VALUE);
        }
    for (size_t i = 0; k->sizes[i]; i++)
        for (size_t step = 2; is_column_step(k, i) && step; step = step == 2 ? SIZE_MAX : 0) {
            call c = right;
            c.s[i] = step;
            in_case("%s, size %c is %zu", k->name, k->sizes[i], step);
            expect_refused(k->run(&c), GPT_ERR_VALUE);
        }
    end_case();
}

/* A wrong value at each position of a small input: an index without a class, or a number that is not
 * finite. */
static void kernel_refuses_values(const kernel *k)
{
    static const uint32_t not_finite[3] = {0x7f800000u, 0xff800000u, 0x7fc00000u};
    trial t;
    const call c = small_call(&t, k);
    for (size_t i = 0; i < tensor_count(k); i++) {
        const int is_index = has_indices(k, i);
        if (!is_index && k->tensors[i].content != FINITES) continue;
        const uint32_t classes = is_index ? (uint32_t)size_of(k, &c, k->classes) : 0;
        const uint32_t no_class[5] = {classes, (uint32_t)-1, (uint32_t)-99, INT32_MAX, (uint32_t)INT32_MIN};
        uint32_t *words = c.t[i];
        for (size_t j = 0; j < t.n[i]; j++)
            for (size_t wrong = 0; wrong < (is_index ? 5 : 3); wrong++) {
                const uint32_t right = words[j];
                words[j] = is_index ? no_class[wrong] : not_finite[wrong];
                in_case("%s, %s[%zu] is 0x%08x", k->name, k->tensors[i].name, j, (unsigned)words[j]);
                expect_refused(k->run(&c), GPT_ERR_VALUE);
                words[j] = right;
            }
    }
    end_case();
}

/* ---- Empty calls ---- */

/* The largest addressable value of size i. The other sizes are addressable with 0. */
static size_t largest_size(const kernel *k, call c, size_t i)
{
    size_t low = 0, high = k->most[i] ? k->most[i] + 1 : MOST_ADDRESSABLE + 1;
    while (low + 1 < high) {
        c.s[i] = low + (high - low) / 2;
        if (is_addressable(k, &c))
            low = c.s[i];
        else
            high = c.s[i];
    }
    return low;
}

/* One size as large as it can be, others 0, so that the outputs are empty. Natively, a loop over the largest
 * size would take years. */
static void kernel_returns_at_once(const kernel *k)
{
    const size_t n = strlen(k->sizes);
    trial t;
    const call small = small_call(&t, k);
    for (size_t i = 0; i < n; i++)
        for (size_t zero = 0; zero <= n; zero++) {
            /* zero == n: the other sizes are as small as they can be; else this one is 0 and the others 1 */
            if (zero == i || (zero < n && (k->least[zero] || is_column_step(k, zero)))) continue;
            if (is_column_step(k, i)) continue;
            call c = small;
            for (size_t j = 0; j < n; j++) c.s[j] = zero == n ? k->least[j] : zero != j;
            c.s[i] = largest_size(k, c, i);
            int is_empty = 1;
            for (size_t j = 0; j < tensor_count(k); j++)
                if (is_output(k, j)) is_empty &= words_of(k, &c, j) == 0;
            for (size_t j = 0; j < tensor_count(k); j++)
                if (has_indices(k, j)) is_empty &= words_of(k, &c, j) == 0;
            if (!is_empty || c.s[i] < k->least[i]) continue;
            in_sizes(k, &c, "empty");
            expect_refused(k->run(&c), GPT_OK);
        }
    end_case();
}

static void agree(void) { each_kernel(kernel_agrees); }
static void at_other_alignments(void) { each_kernel(kernel_at_other_alignments); }
static void in_parts(void) { each_kernel(kernel_in_parts); }
static void without_outputs(void) { each_kernel(kernel_without_outputs); }
static void in_place(void) { each_kernel(kernel_in_place); }
static void refuse_null(void) { each_kernel(kernel_refuses_null); }
static void refuse_sizes(void) { each_kernel(kernel_refuses_sizes); }
static void refuse_scratch(void) { each_kernel(kernel_refuses_scratch); }
static void refuse_parts(void) { each_kernel(kernel_refuses_parts); }
static void refuse_scalars(void) { each_kernel(kernel_refuses_scalars); }
static void refuse_values(void) { each_kernel(kernel_refuses_values); }
static void return_at_once(void) { each_kernel(kernel_returns_at_once); }

static void test_rules(void)
{
    promise(
        "every kernel is within its bounds at small, odd and empty sizes, also without the outputs that may "
        "be NULL",
        agree);
    promise(
        "every kernel gives the same bits at every alignment, whatever its outputs and its scratch contain",
        at_other_alignments);
    promise("every kernel gives the same bits in parts, in any order", in_parts);
    promise("every kernel gives the same bits without the outputs that may be NULL", without_outputs);
    promise("every kernel gives the same bits with an output that may be an input", in_place);
    promise("every kernel refuses a required pointer that is NULL, also if it is empty, and writes nothing",
            refuse_null);
    promise("every kernel refuses each size and each product of sizes that is not addressable, also where "
            "another size is 0, and writes nothing",
            refuse_sizes);
    promise("every kernel with scratch refuses sizes and parts whose scratch is not addressable, and writes "
            "nothing",
            refuse_scratch);
    promise("every kernel refuses a part that is not below parts, and writes nothing", refuse_parts);
    promise("every kernel refuses scalars out of their range, and writes nothing", refuse_scalars);
    promise(
        "every kernel refuses indices without a class and weights that are not finite, wherever they are, "
        "and writes nothing",
        refuse_values);
    promise("every kernel returns at once if its outputs are empty, however large the other sizes are",
            return_at_once);
}

SUITE("rules", test_rules)
