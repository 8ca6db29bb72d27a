/* Arguments of calls that the table describes. */
#include "calls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* ---- Sizes ---- */

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

void limit_sizes(const kernel *k, call *c, size_t sizes_of_tensors, size_t most_work)
{
    for (;;) {
        size_t work = 1, largest = 0;
        for (size_t i = 0; i < sizes_of_tensors; i++) {
            if (c->s[i]) work *= k->sizes[i] == 't' ? c->s[i] * c->s[i] : c->s[i];
            if (c->s[i] > c->s[largest]) largest = i;
        }
        int cheap = work <= most_work;
        for (size_t i = 0; k->tensors[i].role; i++)
            cheap &= k->tensors[i].dims == NULL || words_of(k, c, i) <= MOST_WORDS;
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
        const double good_groups[6] = {2, 4, 6, 32, 128, 1e6}, bad_groups[3] = {0, 1, 33};
        return bad ? bad_groups[choice % 3] : good_groups[choice % 6];
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
        const double exponents[8] = {2.0, 3.0, 0.5, -1.0, 0.0, -1.7, 17.0, inf};
        return exponents[choice % 8];
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

void expect_same_tensor(const tensor *t, const void *got, const void *expected, size_t n)
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

void print_tensor(const char *name, content kind, const void *words, size_t n)
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
