#include "contract.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* ---- The table ---- */

const kernel *kernels[MOST_KERNELS];
size_t kernel_count;

/* Adds the tensors of "y:rc max?:r". `text` has room for their names and dims, and ends at the last one. */
static char *add_tensors(kernel *k, size_t *n, char *text, const char *words, role required, role optional)
{
    while (*words) {
        tensor *t = &k->tensors[*n];
        const size_t length = strcspn(words, " ");
        memcpy(text, words, length);
        words += length + strspn(words + length, " ");
        t->role = memchr(text, '?', length) ? optional : required;
        if (memchr(text, '*', length)) t->role += INOUT - OUT;
        t->content = k->contents[(*n)++];
        t->name = text;
        char *dims = memchr(text, ':', length);
        if (dims) t->dims = dims + 1;
        text[strcspn(text, "*?:")] = '\0';
        text += length + 1;
    }
    return text;
}

void add_kernel(kernel *k)
{
    size_t n = 0, place = kernel_count++;
    char *text = add_tensors(k, &n, k->text, k->outputs, OUT, OPTIONAL_OUT);
    if (k->scratch_size) k->tensors[n++] = (tensor){.role = SCRATCH, .name = "scratch"};
    if (k->inputs) add_tensors(k, &n, text, k->inputs, IN, OPTIONAL_IN);
    for (; place && strcmp(kernels[place - 1]->name, k->name) > 0; place--)
        kernels[place] = kernels[place - 1];
    kernels[place] = k;
}

/* ---- Tensors and sizes ---- */

size_t tensor_count(const kernel *k)
{
    size_t n = 0;
    while (n < MOST_TENSORS && k->tensors[n].role) n++;
    return n;
}

size_t size_of(const kernel *k, const call *c, char letter)
{
    if (letter >= '0' && letter <= '9') return (size_t)(letter - '0');
    return c->s[strchr(k->sizes, letter) - k->sizes];
}

int is_output(const kernel *k, size_t i)
{
    return k->tensors[i].role >= OUT && k->tensors[i].role <= OPTIONAL_INOUT;
}
int is_input(const kernel *k, size_t i)
{
    const role r = k->tensors[i].role;
    return r == INOUT || r == OPTIONAL_INOUT || r == IN || r == OPTIONAL_IN;
}
int is_optional(const kernel *k, size_t i)
{
    const role r = k->tensors[i].role;
    return r == OPTIONAL_OUT || r == OPTIONAL_INOUT || r == OPTIONAL_IN;
}

int has_indices(const kernel *k, size_t i)
{
    return k->tensors[i].content == INDICES || k->tensors[i].content == TARGETS;
}
int is_column_step(const kernel *k, size_t i) { return k->choose && i >= 3 && i % 2; }

size_t words_of(const kernel *k, const call *c, size_t i)
{
    const tensor *t = &k->tensors[i];
    if (t->role == SCRATCH) return 0;
    if (t->content == STATE) return sizeof(gpt_random) / 4;
    if (!t->dims) return k->count(c, i);
    /* in the rule for what is addressable, a size of 0 counts as 1 */
    size_t n = 1, floats = 1;
    for (const char *d = t->dims; *d; d++) {
        const size_t size = size_of(k, c, *d);
        if (__builtin_mul_overflow(floats, size ? size : 1, &floats) || floats > MOST_ADDRESSABLE)
            return UNADDRESSABLE;
        n *= size;
    }
    return n;
}

int is_addressable(const kernel *k, const call *c)
{
    for (size_t i = 0; i < tensor_count(k); i++)
        if (words_of(k, c, i) == UNADDRESSABLE) return 0;
    return !k->scratch_size || k->scratch_size(c) != UNADDRESSABLE;
}

/* Halves the largest of the first sizes until their product is at most `most_work` and every tensor has at
 * most MOST_WORDS. Tokens count twice in the product. */
static void limit_sizes(const kernel *k, call *c, size_t sizes_of_tensors, size_t most_work)
{
    for (;;) {
        size_t work = 1, largest = 0;
        for (size_t i = 0; i < sizes_of_tensors; i++) {
            if (c->s[i]) work *= k->sizes[i] == 't' ? c->s[i] * c->s[i] : c->s[i];
            if (c->s[i] > c->s[largest]) largest = i;
        }
        int cheap = work <= most_work;
        for (size_t i = 0; k->tensors[i].role; i++) cheap &= words_of(k, c, i) <= MOST_WORDS;
        if (cheap) return;
        c->s[largest] /= 2;
    }
}

/* ---- Scalars ---- */

double scalar(char kind, unsigned choice, int bad)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    switch (kind) {
    case 'e': { /* eps of a normalization: >= 0 and finite */
        const double good_eps[8] = {1e-5, 1e-5, 0.0, 1e-12, 1.0, 1e-30, 1e-45, 3e38};
        const double bad_eps[4] = {-1e-5, inf, -inf, nan};
        return bad ? bad_eps[choice % 4] : good_eps[choice % 8];
    }
    case 'p': { /* a probability or a momentum */
        const double good_p[8] = {0.0, 0.0, 0.1, 0.5, 0.3, 1.0, 0.9, (double)1e-9f};
        const double bad_p[6] = {-1e-45, 1.0000001, inf, -inf, nan, 2.0};
        return bad ? bad_p[choice % 6] : good_p[choice % 8];
    }
    case 'k': { /* 0 or 1 */
        const double bad_kinds[4] = {2.0, -1.0, INT32_MAX, INT32_MIN};
        return bad ? bad_kinds[choice % 4] : choice % 2;
    }
    case 'D': { /* the layout of int8: 1 in build `relaxed` only */
#ifdef __wasm_relaxed_simd__
        const double bad_layouts[4] = {2.0, -1.0, INT32_MAX, INT32_MIN};
        return bad ? bad_layouts[choice % 4] : choice % 2;
#else
        const double bad_layouts[4] = {1.0, -1.0, INT32_MAX, INT32_MIN};
        return bad ? bad_layouts[choice % 4] : 0.0;
#endif
    }
    case 'g': { /* inputs in a group of int8 weights: even and > 0 */
        const double good_groups[8] = {2, 4, 6, 190, 32, 128, 1e6, 256}, bad_groups[3] = {0, 1, 33};
        return bad ? bad_groups[choice % 3] : good_groups[choice % 8];
    }
    case 's': return choice * 16843009.0; /* a seed */
    case 'f': {                           /* a factor of a loss */
        const double factors[6] = {1.0, 0.5, -3.0, 1e-3, 0.0, 1.0 / 3.0};
        return factors[choice % 6];
    }
    case 'l': { /* a learning rate, or a weight decay */
        const double rates[6] = {1e-3, 0.1, 0.0, 1.0, 1e-8, 3e-4};
        return rates[choice % 6];
    }
    case 'b': { /* the share of a moving average that is kept */
        const double betas[6] = {0.9, 0.999, 0.0, 0.5, 0.99, 0.95};
        return betas[choice % 6];
    }
    case 'x': { /* an exponent */
        const double exponents[16] = {2.0, 3.0, 0.5, -1.0, 0.0,  -1.7, 17.0, inf,
                                      1.0, 4.0, 8.0, 9.0,  -3.0, -8.0, -0.5, nan};
        return exponents[choice % 16];
    }
    case 'E': { /* eps of Adam */ const double small[4] = {1e-8, 1e-6, 1.0, 1e-10}; return small[choice % 4];
    }
    case 'c': { /* a correction of Adam: > 0 */
        const double good_corrections[6] = {0.1, 1e-3, 1.0, 0.19, 0.5, 1e-5};
        const double bad_corrections[4] = {0.0, -1.0, nan, -inf};
        return bad ? bad_corrections[choice % 4] : good_corrections[choice % 6];
    }
    case 'm': { /* a mean: finite */
        const double means[4] = {0.0, 3.0, -1e-3, 1e30}, bad_means[3] = {nan, inf, -inf};
        return bad ? bad_means[choice % 3] : means[choice % 4];
    }
    case 'd': { /* a deviation: >= 0 and finite */
        const double good_deviations[4] = {1.0, 0.02, 0.0, 1e30};
        const double bad_deviations[4] = {-1.0, inf, nan, -inf};
        return bad ? bad_deviations[choice % 4] : good_deviations[choice % 4];
    }
    case 'v': { /* any number */
        const double numbers[8] = {-0.5, 0.25, 0.0, -0.0, inf, -inf, nan, 1.0};
        return numbers[choice % 8];
    }
    case '<': { /* low, and high */
        const double lows[6] = {-1.0, 0.0, -0.5, -1e30, 2.0, -3.0};
        const double bad_lows[3] = {nan, -inf, inf};
        return bad ? bad_lows[choice % 3] : lows[choice % 6];
    }
    case '>': {
        const double good_highs[4] = {2.0, 3.5, 1e30, 100.0}, bad_highs[4] = {inf, -2e30, nan, -inf};
        return bad ? bad_highs[choice % 4] : good_highs[choice % 4];
    }
    default: return choice % 3; /* a flag */
    }
}

int can_be_bad(char kind) { return strchr("epkcmdgD<>", kind) != NULL; }

/* ---- Values ---- */

static float power_of_10(float low, float high)
{
    const float value = powf(10.0f, random_in(low, high));
    return random_below(2) ? value : -value;
}

static float ordinary(void)
{
    return random_below(16) ? random_in(-2.0f, 2.0f) : random_below(2) ? 0.0f : -0.0f;
}

static void fill(float *x, size_t n, style s)
{
    static const float means[6] = {1e4f, -1e4f, 1e5f, 1.0f, -1e15f, 1e-3f};
    static const float deviations[6] = {0.1f, 0.1f, 1.0f, 1e-5f, 1e10f, 1e-8f};
    const size_t one_of_6 = random_below(6);
    const float a = random_in(-2.0f, 2.0f), b = random_in(-2.0f, 2.0f);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)random_below((size_t)1 << 31) << 1 | (uint32_t)random_below(2);
        switch (s) {
        case WHOLE_NUMBERS: x[i] = (float)random_below(5) - 2.0f; break;
        case EQUAL: x[i] = a; break;
        case TWO_VALUES: x[i] = random_below(8) ? a : b; break;
        case FAR_FROM_0: x[i] = means[one_of_6] + deviations[one_of_6] * random_in(-2.0f, 2.0f); break;
        case DENORMALS: x[i] = power_of_10(-45.0f, -20.0f); break;
        case LOGITS: x[i] = random_in(-100.0f, 100.0f); break;
        case SATURATED: x[i] = random_below(7) ? a : a + 10.0f * (float)(one_of_6 + 1); break;
        case MAGNITUDES: x[i] = power_of_10(-20.0f, 18.0f); break;
        case HUGE_ONES: x[i] = power_of_10(random_below(2) ? 18.0f : 38.4f, 38.5f); break;
        case ANY_BITS: memcpy(x + i, &bits, sizeof bits); break;
        case FIRST_APART: x[i] = means[one_of_6] * (i < 16 ? 1e-4f * random_gauss() : b); break;
        default: x[i] = ordinary();
        }
    }
    for (size_t i = 0; n && s == SPECIAL_ONES && i <= one_of_6 % 3; i++)
        x[random_below(n)] = specials[random_below(SPECIALS)];
    if (n && s == OUTLIER) x[random_below(n)] = power_of_10(1.0f, 12.0f);
}

static void fill_indices(int32_t *indices, size_t n, size_t classes, int some_ignored)
{
    const size_t limit = classes > 1 << 20 ? 1 << 20 : classes ? classes : 1, alike = random_below(3);
    for (size_t i = 0; i < n; i++) {
        indices[i] = alike == 0 && i > 0 ? indices[0] : (int32_t)random_below(limit);
        if (some_ignored && random_below(5) == 0) indices[i] = GPT_IGNORE;
    }
}

static unsigned range_of(const float *x, size_t n)
{
    unsigned range = SMALL;
    double most = 0.0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            most = fmax(most, fabs((double)x[i]));
        else
            range |= NOT_FINITE;
    return range | (most <= 2.0 ? SMALL : most <= 1e6 ? MODERATE : most <= 1e18 ? WIDE : HUGE_VALUES);
}

static int is_whole(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(x[i]) <= 16.0f) || x[i] != rintf(x[i])) return 0;
    return 1;
}

static void fill_input(trial *t, size_t i, const choices *chosen)
{
    const content kind = t->k->tensors[i].content;
    float *x = t->c.t[i];
    switch (kind) {
    case INDICES:
    case TARGETS:
        fill_indices(t->c.t[i], t->n[i], size_of(t->k, &t->c, t->k->classes), kind == TARGETS);
        for (size_t j = 0; j < t->n[i] && size_of(t->k, &t->c, t->k->classes) == 0; j++)
            if (((int32_t *)t->c.t[i])[j] != GPT_IGNORE) t->status = GPT_ERR_VALUE;
        break;
    case BYTES:
        for (size_t j = 0; j < 4 * t->n[i]; j++) ((uint8_t *)t->c.t[i])[j] = (uint8_t)random_below(256);
        break;
    case STATE: gpt_random_seed(t->c.t[i], (uint32_t)random_below((size_t)1 << 31)); break;
    default:
        fill(x, t->n[i], chosen->styles[i]);
        if (chosen->special && chosen->special_in == i) x[chosen->special_at] = *chosen->special;
        for (size_t j = 0; j < t->n[i] && kind == POSITIVES; j++) x[j] = fabsf(x[j]);
        t->range[i] = range_of(x, t->n[i]);
        t->is_whole &= is_whole(x, t->n[i]);
        if (kind == FINITES && t->range[i] & NOT_FINITE) t->status = GPT_ERR_VALUE;
    }
}

/* ---- Elements ---- */

/* Elements in n words. */
static size_t elements_in(content kind, size_t n)
{
    return kind == BYTES ? 4 * n : kind == DOUBLES ? n / 2 : n;
}

enum { TEXT = 40 };

/* Element i as text. */
static void describe(char text[TEXT], content kind, const void *words, size_t i)
{
    switch (kind) {
    case INDICES:
    case TARGETS:
    case INTEGERS: snprintf(text, TEXT, "%" PRId32, ((const int32_t *)words)[i]); break;
    case BYTES: snprintf(text, TEXT, "%d", ((const int8_t *)words)[i]); break;
    case DOUBLES: snprintf(text, TEXT, "%.17g", ((const double *)words)[i]); break;
    case STATE: snprintf(text, TEXT, "0x%08" PRIx32, ((const uint32_t *)words)[i]); break;
    default: snprintf(text, TEXT, "%.9g", (double)((const float *)words)[i]);
    }
}

/* Like expect_same(). Integers are compared and printed as integers, bytes as bytes. */
static void expect_same_tensor(const tensor *t, const void *got, const void *expected, size_t n)
{
    if (t->content == FLOATS || t->content == POSITIVES || t->content == FINITES) {
        expect_same(t->name, got, expected, n);
        return;
    }
    const size_t elements = elements_in(t->content, n), size = elements ? 4 * n / elements : 0;
    for (size_t i = 0; i < elements; i++) {
        char text[2][TEXT];
        if (memcmp((const char *)got + i * size, (const char *)expected + i * size, size) == 0) continue;
        describe(text[0], t->content, expected, i);
        describe(text[1], t->content, got, i);
        expect(0, "%s[%zu]: expected %s, got %s", t->name, i, text[0], text[1]);
    }
}

/* ---- Trials ---- */

/* The words of each tensor, by its place: inputs, outputs of the plain call, outputs of the reference. */
static _Alignas(16) uint32_t values[MOST_TENSORS][MOST_WORDS], results[MOST_TENSORS][MOST_WORDS],
    expected[MOST_TENSORS][MOST_WORDS];

int make_trial(trial *t, const kernel *k, const choices *chosen)
{
    *t = (trial){.k = k, .c = {.part = 0, .parts = 1}, .is_whole = 1, .status = GPT_OK, .prepared = 1};
    const size_t n = k->choose ? 2 : strlen(k->sizes);
    for (size_t i = 0; i < n; i++)
        t->c.s[i] = chosen->sizes[i] < k->least[i] ? k->least[i] : chosen->sizes[i];
    for (size_t i = 0; k->scalars && k->scalars[i]; i++)
        t->c.v[i] = scalar(k->scalars[i], chosen->scalars[i], 0);
    limit_sizes(k, &t->c, n, chosen->most_work);
    if (k->choose) k->choose(&t->c, chosen->steps);
    for (size_t i = 0; i < tensor_count(k); i++) {
        const int is_scratch = k->tensors[i].role == SCRATCH;
        t->n[i] = is_scratch ? k->scratch_size(&t->c) : words_of(k, &t->c, i);
        if (t->n[i] > (is_scratch ? (size_t)MOST_SCRATCH_WORDS : MOST_WORDS)) return 0;
        if (is_optional(k, i) && chosen->absent >> i & 1) continue;
        t->c.t[i] = values[i];
        if (is_input(k, i)) fill_input(t, i, chosen);
    }
    if (k->prepare && t->status == GPT_OK) {
        t->prepared = chosen->is_prepared;
        if (t->prepared) k->prepare(t);
    }
    return 1;
}

void in_trial(const trial *t, const char *what)
{
    char text[160] = "";
    int n = 0;
    for (size_t i = 0; t->k->sizes[i]; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %c %zu", t->k->sizes[i], t->c.s[i]);
    in_case("%s%s, %s", t->k->name, text, what);
}

int may_be_in_place(const trial *t, size_t i)
{
    const kernel *k = t->k;
    if (i == 0 || (k->may_be[0] != i && k->may_be[1] != i)) return 0;
    /* an operand of gpt_add that is broadcast cannot be the output */
    return t->n[0] == t->n[i] && (!k->choose || (t->c.s[2 * i] == t->c.s[1] && t->c.s[2 * i + 1] == 1));
}

call new_call(const trial *t, way w)
{
    static float dirt[MOST_PARTS * MOST_SCRATCH_WORDS];
    for (size_t i = 0; i < sizeof dirt / sizeof *dirt && dirt[i] == 0.0f; i++) dirt[i] = 12345.0f;
    call c = t->c;
    c.parts = w.parts;
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        const tensor *a = &t->k->tensors[i];
        const int is_aligned = a->content == STATE || a->content == DOUBLES; /* to 8 bytes */
        const size_t offset = is_aligned ? 0 : w.offset, n = a->role == SCRATCH ? w.parts * t->n[i] : t->n[i];
        if (!c.t[i] || w.omits >> i & 1)
            c.t[i] = NULL;
        else if (is_input(t->k, i) && !is_output(t->k, i))
            c.t[i] = (void *)(uintptr_t)input_at(a->name, t->c.t[i], n, offset);
        else
            c.t[i] = output_at(a->name, is_input(t->k, i) ? t->c.t[i] : w.is_dirty ? dirt : NULL, n, offset);
    }
    if (w.is_in_place)
        c.t[0] = c.t[w.alias] =
            output_at("the output that is an input", t->c.t[w.alias], t->n[w.alias], w.offset);
    return c;
}

uint64_t kernel_calls;

int run(const kernel *k, const call *c)
{
    kernel_calls++;
    return k->run(c);
}

int run_plain(const trial *t)
{
    const call c = new_call(t, plain);
    const int status = run(t->k, &c);
    if (t->status == GPT_OK)
        expect_status(status, GPT_OK);
    else
        expect_refused(status, t->status);
    for (size_t i = 0; i < tensor_count(t->k); i++)
        if (c.t[i] && is_output(t->k, i)) memcpy(results[i], c.t[i], 4 * t->n[i]);
    end_case();
    return status == GPT_OK;
}

void expect_agreement(const trial *t, unsigned omits)
{
    const kernel *k = t->k;
    if (t->status != GPT_OK) {
        run_plain(t);
        return;
    }
    trial judged = *t;
    judged.c = new_call(t, (way){.omits = omits, .parts = 1});
    expect_status(run(k, &judged.c), GPT_OK);
    call reference = judged.c;
    for (size_t i = 0; i < tensor_count(k); i++) {
        if (!judged.c.t[i] || !is_output(k, i)) continue;
        if (is_input(k, i)) judged.before[i] = values[i];
        memcpy(expected[i], values[i], 4 * t->n[i]);
        judged.expected[i] = reference.t[i] = expected[i];
    }
    k->reference(&reference);
    if (k->judge) k->judge(&judged);
    for (size_t i = 0; i < tensor_count(k) && !k->judge; i++)
        if (judged.expected[i]) expect_same_tensor(&k->tensors[i], judged.c.t[i], expected[i], t->n[i]);
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
    const size_t begin = c->part * size, n = c->parts * size;
    if (n) memcpy(before, scratch, n * sizeof *before);
    expect_status(run(t->k, c), GPT_OK);
    if (n) memcpy(before + begin, scratch + begin, size * sizeof *before);
    expect(n == 0 || memcmp(scratch, before, n * sizeof *before) == 0,
           "part %zu wrote the scratch of another", c->part);
}

void expect_same_result(const trial *t, way w)
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

void expect_same_element(const trial *t, size_t i)
{
    trial alone = *t;
    alone.c.s[0] = 1;
    for (size_t j = 0; j < tensor_count(t->k); j++) {
        alone.n[j] = 1;
        if (t->c.t[j]) alone.c.t[j] = (uint32_t *)t->c.t[j] + i;
    }
    const call c = new_call(&alone, plain);
    expect_status(run(t->k, &c), GPT_OK);
    for (size_t j = 0; j < tensor_count(t->k); j++)
        if (c.t[j] && is_output(t->k, j)) expect_same_tensor(&t->k->tensors[j], c.t[j], results[j] + i, 1);
    end_case();
}

void expect_part_of_many(const trial *t, size_t parts)
{
    call c = new_call(t, plain), before = new_call(t, plain);
    c.parts = parts;
    const int status = run(t->k, &c);
    if (t->k->scratch_size && status == GPT_ERR_SIZE)
        expect_refused(status, GPT_ERR_SIZE);
    else
        expect_status(status, GPT_OK);
    for (size_t i = 0; i < tensor_count(t->k); i++) {
        if (!c.t[i] || !is_output(t->k, i)) continue;
        const uint32_t *got = c.t[i], *unwritten = before.t[i];
        for (size_t j = 0; j < t->n[i]; j++)
            if (got[j] != unwritten[j]) expect_same_tensor(&t->k->tensors[i], got + j, results[i] + j, 1);
    }
    end_case();
}

/* Prints a line with the number of elements and the first of them. */
static void print_tensor(const char *name, content kind, const void *words, size_t n)
{
    const size_t elements = n <= MOST_WORDS ? elements_in(kind, n) : 0, most = 40;
    printf("  %s [%zu]", name, n <= MOST_WORDS ? elements : n);
    for (size_t i = 0; i < elements && i < most; i++) {
        char text[TEXT];
        describe(text, kind, words, i);
        printf("%s%s", i ? ", " : " = ", text);
    }
    printf("%s\n", elements > most ? ", ..." : "");
}

void print_trial(const trial *t, const call *c)
{
    const kernel *k = t->k;
    for (size_t i = 0; k->sizes[i]; i++) printf(" %c = %zu", k->sizes[i], c->s[i]);
    for (size_t i = 0; k->scalars && k->scalars[i]; i++) printf(", scalar %zu = %.17g", i, c->v[i]);
    if (k->has_parts) printf(", part %zu of %zu", c->part, c->parts);
    printf("\n");
    for (size_t i = 0; i < tensor_count(k); i++) {
        const tensor *a = &k->tensors[i];
        if (!c->t[i])
            printf("  %s NULL\n", a->name);
        else if (a->role != SCRATCH && is_input(k, i) && a->content != STATE)
            print_tensor(a->name, a->content, t->c.t[i], t->n[i]);
    }
}
