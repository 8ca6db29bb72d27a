/* Turns bytes into calls of kernels. clang's libFuzzer makes the bytes, and keeps those that reach new code.
 *
 * The bytes are a sequence of trials: a kernel, sizes, scalars, styles of values, and perhaps faults. What a
 * call without a fault promises is in tests/c/contract.h. A call with a fault is refused with the status of one
 * of its faults, and writes nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/check.h"
#include "../c/contract.h"
#include "gpt_layers.h"

/* ---- The bytes ---- */

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

/* The kernel whose name has the largest hash with this number: FNV-1a (Fowler, Noll, Vo). A new kernel takes
 * numbers from the others, and the other numbers keep their kernels. */
static const kernel *kernel_of(uint32_t number)
{
    const kernel *chosen = NULL;
    uint32_t largest = 0;
    for (size_t i = 0; i < kernel_count; i++) {
        uint32_t hash = (2166136261u ^ number) * 16777619u;
        for (const char *name = kernels[i]->name; *name; name++) hash = (hash ^ (uint32_t)*name) * 16777619u;
        hash ^= hash >> 15;
        hash *= 0x2c1b3c6du;
        if (chosen && hash <= largest) continue;
        chosen = kernels[i];
        largest = hash;
    }
    return chosen;
}

static size_t take_size(void)
{
    /* below, at and above the kernels' tiles and blocks */
    static const uint16_t odd[32] = {13,  15,  16,  17,  18,  23,  24,  31,  32,  33,  41,
                                     48,  49,  63,  64,  65,  71,  73,  97,  103, 104, 127,
                                     128, 129, 136, 193, 200, 257, 300, 513, 768, 1030};
    const unsigned b = take();
    return b < 6 ? 0 : b < 224 ? 1 + b % 12 : odd[b - 224];
}

static style take_style(void)
{
    const unsigned b = take() % 20;
    return b < 8 ? ORDINARY : (style)(b - 7);
}

/* ---- Faults ---- */

enum { MAY_PASS = 1, MISSING = 2, IMPOSSIBLE = 4, BAD_VALUE = 8 }; /* statuses that a call may return */

/* Which statuses the contract allows for these arguments. `bad_scalar`: a scalar is out of its range. */
static int allowed_statuses(const trial *t, const call *c, int bad_scalar)
{
    const kernel *k = t->k;
    const int is_resized = memcmp(c->s, t->c.s, sizeof c->s) != 0;
    int allowed = bad_scalar || c->part >= c->parts || (t->status != GPT_OK && !is_resized) ? BAD_VALUE : 0;
    for (size_t i = 0; i < tensor_count(k); i++)
        if (!c->t[i] && !is_optional(k, i)) allowed |= MISSING;
    if (!is_addressable(k, c)) allowed |= IMPOSSIBLE;
    for (size_t i = 0; k->sizes[i]; i++) {
        if (c->s[i] < k->least[i] || (k->most[i] && c->s[i] > k->most[i])) allowed |= IMPOSSIBLE;
        if (is_column_step(k, i) && c->s[i] > 1) allowed |= BAD_VALUE;
    }
    if (!allowed) allowed = MAY_PASS;
    /* An impossible size beside a size of 0 may be refused, or be an empty tensor. With another size, an index
     * may have no class, and a wrong value may be no element. */
    if (is_resized) allowed |= k->classes || t->status != GPT_OK ? IMPOSSIBLE | BAD_VALUE : IMPOSSIBLE;
    return allowed;
}

/* Makes one or two faults. Returns whether a scalar is out of its range. */
static int add_faults(const trial *t, call *c, unsigned kind)
{
    const kernel *k = t->k;
    const size_t one = 1, sizes_of = strlen(k->sizes), scalars = k->scalars ? strlen(k->scalars) : 0;
    const size_t impossible[11] = {
        SIZE_MAX,  SIZE_MAX / 2,    PTRDIFF_MAX,      one << 61,    one << 62, (one << 61) + 1,
        one << 32, (one << 32) - 1, SIZE_MAX / 4 + 2, SIZE_MAX / 3, 0};
    for (unsigned i = 0; kind < 3 && i <= kind && sizes_of; i++) {
        const unsigned which = take();
        c->s[which % sizes_of] = i == 1 ? 0 : impossible[which / 8 % 11];
    }
    if (kind == 3 || kind == 7) c->t[take() % tensor_count(k)] = NULL;
    if (kind == 5 && k->has_parts) {
        c->parts = take() % 4;
        c->part = c->parts + take() % 3;
    }
    if (kind != 4 && kind != 7) return 0;
    const unsigned which = take();
    if (k->choose) c->s[which % 2 ? 3 : 5] = 2 + which / 8;
    if (!scalars || !can_be_bad(k->scalars[which % scalars])) return 0;
    c->v[which % scalars] = scalar(k->scalars[which % scalars], which / 8, 1);
    return 1;
}

/* Prints the call and stops: libFuzzer then keeps the bytes. */
static void stop_if_failed(const trial *t, const call *c)
{
    if (!failure()) return;
    printf("gpt_%s: %s\n ", t->k->name, failure());
    print_trial(t, c);
    fflush(stdout);
    abort();
}

/* Whether a tensor with the sizes of c has more elements than we have. */
static int is_larger(const trial *t, const call *c)
{
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        const int is_scratch = t->k->tensors[i].role == SCRATCH;
        const size_t n = is_scratch ? t->k->scratch_size(c) : words_of(t->k, c, i);
        if (n > t->n[i]) return 1;
    }
    return 0;
}

static void try_faults(const trial *t, unsigned kind)
{
    call c = new_call(t, plain);
    const int bad_scalar = add_faults(t, &c, kind), allowed = allowed_statuses(t, &c, bad_scalar);
    if (!(allowed & MAY_PASS) || !is_larger(t, &c)) {
        const int status = run(t->k, &c);
        in_trial(t, "with faults");
        expect(status <= 0 && status >= -3 && allowed & 1 << -status,
               "status %d is not among those allowed: %s%s%s%s", status, allowed & MAY_PASS ? "0 " : "",
               allowed & MISSING ? "-1 " : "", allowed & IMPOSSIBLE ? "-2 " : "",
               allowed & BAD_VALUE ? "-3 " : "");
        if (status != GPT_OK) expect_refused(status, status);
    }
    stop_if_failed(t, &c);
    end_case();
    stop_if_failed(t, &c);
}

/* ---- A trial ---- */

/* A wrong index in each tensor that has indices. */
static void spoil_indices(trial *t)
{
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        if (!has_indices(t->k, i) || !is_input(t->k, i) || t->n[i] == 0) continue;
        ((int32_t *)t->c.t[i])[random_below(t->n[i])] =
            random_below(2) ? -1 - (int32_t)random_below(99) : INT32_MAX;
        t->status = GPT_ERR_VALUE;
    }
}

static way take_way(const trial *t)
{
    const unsigned b = take();
    way w = {
        .offset = b % 4, .is_dirty = 1, .parts = t->k->has_parts ? 1 + b % 5 : 1, .last_first = b / 32 % 2};
    for (size_t i = 1; b & 16 && i < tensor_count(t->k) && !w.is_in_place; i++)
        if (may_be_in_place(t, i) && (b & 8 || random_below(2))) w.is_in_place = 1, w.alias = i;
    return w;
}

static void try_one(void)
{
    const kernel *k = kernel_of(take_word());
    choices chosen = {.most_work = 1 << 15, .is_prepared = 1};
    seed_random(take_word());
    for (size_t i = 0; i < (k->choose ? 2 : strlen(k->sizes)); i++) chosen.sizes[i] = take_size();
    for (size_t i = 0; k->scalars && k->scalars[i]; i++) chosen.scalars[i] = take();
    chosen.steps = (uint32_t)random_below(1 << 24);
    const unsigned unwanted = take(); /* each optional tensor is there in three of four trials */
    for (size_t i = 0; i < tensor_count(k); i++) {
        if (unwanted >= 128) chosen.absent |= (unwanted >> i % 7 & 1) << i;
        if (is_input(k, i)) chosen.styles[i] = take_style();
    }
    if (k->prepare) chosen.is_prepared = take() % 8 != 7;
    trial t;
    if (!make_trial(&t, k, &chosen)) return;
    const unsigned fault = take(); /* none in three of four trials */
    if (fault >= 192 && fault % 8 == 6) spoil_indices(&t);
    if (fault >= 192 && fault % 8 != 6) {
        try_faults(&t, fault % 8);
        return;
    }
    in_trial(&t, "compared with the reference");
    expect_agreement(&t, 0);
    stop_if_failed(&t, &t.c);
    if (!run_plain(&t)) return;
    const way w = take_way(&t);
    in_trial(&t, "again");
    expect_same_result(&t, w);
    if (k->has_parts && random_below(16) == 0)
        expect_part_of_many(&t, random_below(2) ? SIZE_MAX : (size_t)1 << (30 + random_below(33)));
    stop_if_failed(&t, &t.c);
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
    seed_random(seed);
    for (size_t i = 0; i < max_size; i++) data[i] = (uint8_t)random_below(256);
    return max_size;
}

/* Kernels do not allocate, so nothing of theirs can leak; and the leak checker fails where ptrace is
 * forbidden. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:malloc_context_size=4:quarantine_size_mb=8:allocator_may_return_null=1";
}
