/* The rules of gpt_layers.h for every function, tested with every argument of every kernel in table.c. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "contract.h"
#include "gpt_layers.h"

/* ---- Right calls ---- */

enum { SIZE_SETS = 32, MOST_WORK = 1 << 18 };
static const size_t size_sets[SIZE_SETS][MOST_SIZES] = {
    {1, 1, 1, 1, 1},     {2, 3, 5, 4, 3},    {3, 5, 2, 7, 4},     {5, 17, 6, 3, 2},    {6, 33, 24, 2, 5},
    {17, 9, 40, 3, 8},   {7, 65, 19, 1, 3},  {200, 19, 41, 2, 4}, {1, 70, 2, 9, 16},   {33, 130, 7, 1, 3},
    {1030, 20, 9, 2, 4}, {4, 8, 12, 1, 16},  {8, 4, 79, 1, 6},    {9, 31, 15, 2, 7},   {10, 2, 33, 3, 1},
    {11, 16, 1, 2, 31},  {12, 7, 11, 5, 9},  {15, 31, 79, 2, 8},  {16, 12, 16, 2, 15}, {31, 15, 31, 2, 1},
    {49, 6, 3, 1, 7},    {1, 139, 1, 7, 2},  {1, 200, 1, 5, 2},   {1, 33, 2, 64, 1},   {1, 2, 95, 3, 16},
    {2, 1, 97, 2, 65},   {1, 8, 2403, 1, 1}, {2, 401, 33, 1, 1},  {21, 517, 6, 1, 1},  {21, 6, 517, 1, 1},
    {9, 5, 512, 1, 1},   {1, 37, 512, 1, 1},
};

/* A trial with sizes near a set of these, and with ordinary values. */
static choices near(size_t set)
{
    choices chosen = {.most_work = MOST_WORK, .is_prepared = 1};
    memcpy(chosen.sizes, size_sets[set], sizeof size_sets[set]);
    for (size_t i = 0; i < MOST_SCALARS; i++) chosen.scalars[i] = (unsigned)(set + i);
    chosen.steps = (uint32_t)random_below(1 << 16);
    return chosen;
}

static unsigned optional_tensors(const kernel *k, int (*is_kind)(const kernel *k, size_t i))
{
    unsigned optional = 0;
    for (size_t i = 0; i < tensor_count(k); i++)
        if (is_optional(k, i) && is_kind(k, i)) optional |= 1u << i;
    return optional;
}
static int is_output_only(const kernel *k, size_t i) { return is_output(k, i) && !is_input(k, i); }

/* Calls `test` with trials of k: small, odd and longer sizes, random ones, each size 0, all sizes 0; each with
 * and without the optional inputs. */
static void each_trial(const kernel *k, void (*test)(const trial *t))
{
    enum { RANDOM_SETS = 24, MOST_SIZE = 35, FIRST_ZERO = SIZE_SETS + RANDOM_SETS };
    const size_t n = strlen(k->sizes);
    const unsigned optional = optional_tensors(k, is_input);
    for (size_t set = 0; set < FIRST_ZERO + n + 1; set++)
        for (unsigned absent = optional;; absent = (absent - 1) & optional) {
            choices chosen = near(set % SIZE_SETS);
            chosen.absent = absent;
            if (set >= SIZE_SETS) chosen.most_work = 1 << 13;
            for (size_t i = 0; i < n && set >= SIZE_SETS && set < FIRST_ZERO; i++)
                chosen.sizes[i] = 1 + random_below(MOST_SIZE);
            for (size_t i = 0; i < tensor_count(k) && set % 2; i++) chosen.styles[i] = WHOLE_NUMBERS;
            if (set >= FIRST_ZERO && set < FIRST_ZERO + n) chosen.sizes[set - FIRST_ZERO] = 0;
            if (set == FIRST_ZERO + n) memset(chosen.sizes, 0, sizeof chosen.sizes);
            trial t;
            const int fits = make_trial(&t, k, &chosen);
            in_trial(&t, "as a trial");
            expect(fits, "needs more memory than there is");
            if (fits) test(&t);
            if (absent == 0) break;
        }
}

/* "without a b", for the tensors that are omitted. */
static void in_trial_without(const trial *t, unsigned omits)
{
    char text[80] = "without";
    for (size_t i = 0; i < tensor_count(t->k); i++)
        if (omits >> i & 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s", t->k->tensors[i].name);
    in_trial(t, omits ? text : "compared with the reference");
}

static void trial_agrees(const trial *t)
{
    const unsigned optional = optional_tensors(t->k, is_output_only);
    for (unsigned omits = optional;; omits = (omits - 1) & optional) {
        in_trial_without(t, omits);
        expect_agreement(t, omits);
        if (omits == 0) return;
    }
}

static void trial_at_other_alignments(const trial *t)
{
    if (!run_plain(t)) return;
    for (size_t offset = 1; offset < 4; offset++) {
        char text[40];
        snprintf(text, sizeof text, "%zu floats past 16 bytes", offset);
        in_trial(t, text);
        expect_same_result(t, (way){.offset = offset, .is_dirty = 1, .parts = 1});
    }
}

static void trial_in_parts(const trial *t)
{
    if (!t->k->has_parts || !run_plain(t)) return;
    for (size_t parts = 2; parts <= MOST_PARTS; parts++)
        for (int last_first = 0; last_first <= 1; last_first++) {
            char text[40];
            snprintf(text, sizeof text, "%zu parts, the %s one first", parts, last_first ? "last" : "first");
            in_trial(t, text);
            expect_same_result(t, (way){.is_dirty = 1, .parts = parts, .last_first = last_first});
        }
    in_trial(t, "many parts");
    expect_part_of_many(t, SIZE_MAX);
    expect_part_of_many(t, SIZE_MAX / 2 + 1);
}

static void trial_without_outputs(const trial *t)
{
    const unsigned optional = optional_tensors(t->k, is_output_only);
    if (!run_plain(t)) return;
    for (unsigned omits = optional; omits; omits = (omits - 1) & optional) {
        in_trial_without(t, omits);
        expect_same_result(t, (way){.omits = omits, .parts = 1});
    }
}

static void trial_in_place(const trial *t)
{
    if (!run_plain(t)) return;
    for (size_t i = 1; i < tensor_count(t->k); i++) {
        if (!may_be_in_place(t, i)) continue;
        char text[80];
        snprintf(text, sizeof text, "%s is %s", t->k->tensors[0].name, t->k->tensors[i].name);
        in_trial(t, text);
        expect_same_result(t, (way){.parts = 1, .is_in_place = 1, .alias = i});
        if (!t->k->has_parts) continue;
        in_trial(t, "in place, 3 parts");
        expect_same_result(t, (way){.parts = 3, .last_first = 1, .is_in_place = 1, .alias = i});
    }
}

static int has_floats(const kernel *k, size_t i)
{
    const content kind = k->tensors[i].content;
    return is_input(k, i) && (kind == FLOATS || kind == POSITIVES || kind == FINITES);
}

/* Input i has values of a style, or all inputs have. */
static void agrees_in_style(const kernel *k, choices chosen, size_t i, style s)
{
    trial t;
    char text[80];
    if (i < tensor_count(k) && !has_floats(k, i)) return;
    for (size_t j = 0; j < tensor_count(k); j++)
        if (i == j || i == tensor_count(k)) chosen.styles[j] = s;
    if (!make_trial(&t, k, &chosen)) return;
    snprintf(text, sizeof text, "%s of style %d", i < tensor_count(k) ? k->tensors[i].name : "all", (int)s);
    in_trial(&t, text);
    expect_agreement(&t, 0);
}

static void kernel_agrees_in_styles(const kernel *k)
{
    for (size_t set = 4; set < 10; set++)
        for (size_t i = 0; i <= tensor_count(k); i++)
            for (style s = WHOLE_NUMBERS; s < STYLES; s++) {
                choices chosen = near(set);
                chosen.most_work = 1 << 12;
                if (set == 9) memcpy(chosen.sizes, (size_t[3]){1, 4095, 1}, 3 * sizeof(size_t));
                if (set == 9 && i < tensor_count(k)) continue; /* long rows of all inputs alone */
                agrees_in_style(k, chosen, i, s);
            }
}

/* Long rows, and long columns: the errors of their sums add up. */
static void kernel_agrees_on_many(const kernel *k)
{
    enum { MANY = 8192, HARD = 3 };
    static const style hard[HARD] = {EQUAL, TWO_VALUES, FIRST_APART};
    for (size_t place = 0; place < 2; place++)
        for (size_t i = 0; i <= tensor_count(k); i++)
            for (size_t s = 0; s < HARD; s++) {
                choices chosen = near(s);
                for (size_t j = 0; j < 3; j++) chosen.sizes[j] = j == place ? MANY : 1;
                chosen.most_work = MANY;
                agrees_in_style(k, chosen, i, hard[s]);
            }
}

/* Every special value at every place of every input of a small call, or at some 24 places, with other scalars at
 * each place. */
static void kernel_agrees_on_specials(const kernel *k)
{
    static const size_t small[3][MOST_SIZES] = {{2, 5, 3, 2, 3}, {9, 3, 6, 1, 1}, {21, 1, 9, 1, 5}};
    for (size_t set = 0; set < 3; set++) {
        trial t;
        choices chosen = near(0);
        memcpy(chosen.sizes, small[set], sizeof small[set]);
        make_trial(&t, k, &chosen);
        for (size_t i = 0; i < tensor_count(k); i++)
            for (size_t at = 0; has_floats(k, i) && at < t.n[i]; at += 1 + t.n[i] / 24)
                for (size_t s = 0; s < SPECIALS; s++) {
                    char text[80];
                    for (size_t j = 0; j < MOST_SCALARS; j++) chosen.scalars[j] = (unsigned)(at + j);
                    chosen.special = &specials[s];
                    chosen.special_in = i, chosen.special_at = at;
                    make_trial(&t, k, &chosen);
                    snprintf(text, sizeof text, "%s[%zu] is %g", k->tensors[i].name, at, (double)specials[s]);
                    in_trial(&t, text);
                    expect_agreement(&t, 0);
                }
    }
}

/* Whether an element of the outputs depends only on the same element of the inputs. */
static int is_elementwise(const kernel *k)
{
    for (size_t i = 0; i < tensor_count(k); i++)
        if (!k->tensors[i].dims || strcmp(k->tensors[i].dims, "n") != 0 || !(is_input(k, i) || i == 0))
            return 0;
    return strcmp(k->sizes, "n") == 0 && !(k->scalars && strchr(k->scalars, 's')); /* a seed: a mask */
}

static void kernel_ignores_neighbors(const kernel *k)
{
    if (!is_elementwise(k)) return;
    for (style s = ORDINARY; s < STYLES; s++)
        for (size_t n = 2; n <= 21; n++) {
            choices chosen = near(n % SIZE_SETS);
            trial t;
            chosen.sizes[0] = n;
            for (size_t i = 0; i < tensor_count(k); i++) chosen.styles[i] = s;
            make_trial(&t, k, &chosen);
            in_trial(&t, "each element alone");
            run_plain(&t);
            for (size_t i = 0; i < n; i++) expect_same_element(&t, i);
        }
}

static void kernel_agrees(const kernel *k) { each_trial(k, trial_agrees); }
static void kernel_at_other_alignments(const kernel *k) { each_trial(k, trial_at_other_alignments); }
static void kernel_in_parts(const kernel *k) { each_trial(k, trial_in_parts); }
static void kernel_without_outputs(const kernel *k) { each_trial(k, trial_without_outputs); }
static void kernel_in_place(const kernel *k) { each_trial(k, trial_in_place); }

/* All threads wait for the slowest: of two parts, each writes two fifths of the words or more, as some are cut
 * in tiles. */
static void kernel_shares(const kernel *k)
{
    if (!k->has_parts) return;
    choices chosen = near(0);
    trial t;
    for (size_t i = 0; i < MOST_SIZES; i++) chosen.sizes[i] = 64;
    chosen.most_work = 1 << 24;
    make_trial(&t, k, &chosen);
    size_t written[2] = {0, 0};
    for (size_t part = 0; part < 2; part++) {
        const way halves = {.parts = 2};
        call c = new_call(&t, halves), before = new_call(&t, halves);
        c.part = part;
        in_trial(&t, "a part of two");
        expect_status(run(k, &c), GPT_OK);
        for (size_t i = 0; i < tensor_count(k); i++)
            for (size_t j = 0; c.t[i] && is_output(k, i) && j < t.n[i]; j++)
                written[part] += ((uint32_t *)c.t[i])[j] != ((uint32_t *)before.t[i])[j];
        end_case();
    }
    in_trial(&t, "two parts");
    for (size_t part = 0; part < 2; part++)
        expect(5 * written[part] >= 2 * (written[0] + written[1]), "they write %zu and %zu words", written[0],
               written[1]);
}

/* ---- Wrong calls ---- */

/* A call of small tensors, for faults. If the kernel has scratch, it needs some. */
static call small_call(trial *t, const kernel *k)
{
    for (size_t set = 2; set < SIZE_SETS; set++) {
        const choices chosen = near(set);
        if (make_trial(t, k, &chosen) && (!k->scratch_size || k->scratch_size(&t->c))) break;
    }
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
            expect_refused(run(k, &c), GPT_ERR_NULL);
        }
    end_case();
}

static void in_sizes(const kernel *k, const call *c, const char *what)
{
    const trial t = {.k = k, .c = *c};
    in_trial(&t, what);
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
            expect_refused(run(k, &c), GPT_ERR_SIZE);
        }
        if (k->most[i]) {
            c.s[i] = k->most[i] + 1;
            in_sizes(k, &c, "too large");
            expect_refused(run(k, &c), GPT_ERR_SIZE);
        }
        for (size_t other = 0; other <= 1; other++) {
            for (size_t j = 0; j < n; j++) c.s[j] = other || is_column_step(k, j) ? 1 : k->least[j];
            const size_t ordinary = c.s[i];
            for (size_t l = 0; l < LARGE; l++) {
                c.s[i] = large[l];
                if (is_addressable(k, &c)) continue;
                in_sizes(k, &c, "not addressable");
                expect_refused(run(k, &c), GPT_ERR_SIZE);
                refused++;
            }
            for (size_t j = i; j < n; j++)
                for (size_t bits = BITS / 2 - 1; bits <= BITS / 2 && !is_column_step(k, j); bits++) {
                    const size_t before = c.s[j];
                    c.s[i] = c.s[j] = (size_t)1 << bits;
                    in_sizes(k, &c, "not addressable together");
                    if (!is_addressable(k, &c)) expect_refused(run(k, &c), GPT_ERR_SIZE);
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
        expect_refused(run(k, &c), GPT_ERR_SIZE);
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
        expect_refused(run(k, &c), GPT_ERR_SIZE);
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
        expect_refused(run(k, &c), GPT_ERR_VALUE);
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
            expect_refused(run(k, &c), GPT_ERR_VALUE);
        }
    for (size_t i = 0; k->sizes[i]; i++)
        for (size_t step = 2; is_column_step(k, i) && step; step = step == 2 ? SIZE_MAX : 0) {
            call c = right;
            c.s[i] = step;
            in_case("%s, size %c is %zu", k->name, k->sizes[i], step);
            expect_refused(run(k, &c), GPT_ERR_VALUE);
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
                expect_refused(run(k, &c), GPT_ERR_VALUE);
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
            expect_refused(run(k, &c), GPT_OK);
        }
    end_case();
}

/* A rule, for each kernel that the command line selects. */
static void (*rule)(const kernel *k);
static void each_kernel(void)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (is_named("rules") || is_named(kernels[i]->name)) {
            seed_random(123);
            rule(kernels[i]);
        }
}
static void promise_of_kernels(const char *name, void (*test)(const kernel *k))
{
    rule = test;
    promise(name, each_kernel);
}

static void test_rules(void)
{
    promise_of_kernels(
        "every kernel is within its bounds at small, odd and empty sizes, also without the outputs that may "
        "be NULL",
        kernel_agrees);
    promise_of_kernels(
        "every kernel is within its bounds on whole numbers, equal values, means far from 0, outliers, "
        "denormals and huge values, in one input or in all",
        kernel_agrees_in_styles);
    promise_of_kernels(
        "every kernel is within its bounds on rows and columns of 8192 numbers: equal ones, two "
        "values, and the first ones far from the others",
        kernel_agrees_on_many);
    promise_of_kernels(
        "every kernel is within its bounds on zeros, denormals, limits, infinities and NaN at every place "
        "of a small input",
        kernel_agrees_on_specials);
    promise_of_kernels(
        "every kernel gives the same bits at every alignment, whatever its outputs and its scratch contain",
        kernel_at_other_alignments);
    promise_of_kernels("every kernel gives the same bits in parts, in any order", kernel_in_parts);
    promise_of_kernels("every kernel cuts its work into equal parts", kernel_shares);
    promise_of_kernels("every kernel gives the same bits without the outputs that may be NULL",
                       kernel_without_outputs);
    promise_of_kernels("every kernel gives the same bits with an output that may be an input",
                       kernel_in_place);
    promise_of_kernels(
        "every elementwise kernel gives an element the same bits at every place and beside any neighbors",
        kernel_ignores_neighbors);
    promise_of_kernels(
        "every kernel refuses a required pointer that is NULL, also if it is empty, and writes nothing",
        kernel_refuses_null);
    promise_of_kernels(
        "every kernel refuses each size and each product of sizes that is not addressable, also where "
        "another size is 0, and writes nothing",
        kernel_refuses_sizes);
    promise_of_kernels(
        "every kernel with scratch refuses sizes and parts whose scratch is not addressable, and writes "
        "nothing",
        kernel_refuses_scratch);
    promise_of_kernels("every kernel refuses a part that is not below parts, and writes nothing",
                       kernel_refuses_parts);
    promise_of_kernels("every kernel refuses scalars out of their range, and writes nothing",
                       kernel_refuses_scalars);
    promise_of_kernels(
        "every kernel refuses indices without a class and weights that are not finite, wherever they are, "
        "and writes nothing",
        kernel_refuses_values);
    promise_of_kernels(
        "every kernel returns at once if its outputs are empty, however large the other sizes are",
        kernel_returns_at_once);
}

SUITE("rules", test_rules)
