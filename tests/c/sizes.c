/* Every kernel refuses sizes that no memory can hold, whatever the other sizes are, before it writes. */
#include "sizes.h"

#include <string.h>

#include "check.h"
#include "gpt_layers.h"

/* Memory for every pointer of a call. A refused call reads and writes none of it. */
typedef struct memory {
    float *f;
    int32_t *i;
    int8_t *b;
    gpt_random *random;
} memory;

/* A kernel and its sizes s[0], s[1] ... Each letter group names the sizes of one tensor: "ab ac" stands for
 * two tensors, of s[0]·s[1] and of s[0]·s[2] floats. */
typedef struct kernel {
    const char *name;
    int (*call)(const memory *m, const size_t *s);
    const char *tensors;
} kernel;

enum { MOST_SIZES = 4 };

#define KERNEL(name, ...)                                                                                    \
    static int call_##name(const memory *m, const size_t *s)                                                 \
    {                                                                                                        \
        float *const f = m->f;                                                                               \
        (void)f, (void)s;                                                                                    \
        return gpt_##name(__VA_ARGS__);                                                                      \
    }

KERNEL(linear_forward, f, f, f, f, f, s[0], s[1], s[2], 0, 1)
KERNEL(linear_backward, f, f, f, f, f, f, f, s[0], s[1], s[2], 0, 1)
KERNEL(linear_init, f, f, m->random, s[0], s[1])
KERNEL(conv1d_forward, f, f, f, f, f, s[0], s[1], s[2], 0, 1)
KERNEL(conv1d_backward, f, f, f, f, f, f, f, s[0], s[1], s[2], 0, 1)
KERNEL(int8_quantize, m->b, f, f, s[0], s[1], 2, 0, s[1], 1, 1)
KERNEL(int8_pack, m->b, m->b, s[0], s[1])
KERNEL(int8_unpack, m->b, m->b, s[0], s[1])
KERNEL(int8_dequantize, f, m->b, f, s[0], s[1], 2)
KERNEL(int8_linear_forward, f, f, f, m->b, f, f, s[0], s[1], s[2], 2, 0, 1)
KERNEL(int8_embedding_forward, f, m->i, m->b, f, s[0], s[1], s[2], 2, 0, 1)
KERNEL(relu_forward, f, f, s[0], 0, 1)
KERNEL(relu_backward, f, f, f, s[0], 0, 1)
KERNEL(gelu_forward, f, f, s[0], GPT_GELU_TANH, 0, 1)
KERNEL(gelu_backward, f, f, f, s[0], GPT_GELU_ERF, 0, 1)
KERNEL(layernorm_forward, f, f, f, f, f, f, s[0], s[1], 1e-5f, 0, 1)
KERNEL(layernorm_backward, f, f, f, f, f, f, f, f, s[0], s[1], 0, 1)
KERNEL(batchnorm_statistics, f, f, f, f, s[0], s[1], 0, 1)
KERNEL(batchnorm_update, f, f, f, f, f, s[0], s[1], 0.1f)
KERNEL(batchnorm_forward, f, f, f, f, f, f, f, s[0], s[1], 1e-5f, 0, 1)
KERNEL(batchnorm_backward, f, f, f, f, f, f, f, f, f, s[0], s[1], 1e-5f, 0, 1)
KERNEL(rmsnorm_forward, f, f, f, f, s[0], s[1], 1e-5f, 0, 1)
KERNEL(rmsnorm_backward, f, f, f, f, f, f, s[0], s[1], 0, 1)
KERNEL(dropout_forward, f, f, s[0], 1, 0.5f, 0, 1)
KERNEL(embedding_forward, f, m->i, f, s[0], s[1], s[2], 0, 1)
KERNEL(embedding_backward, f, f, f, m->i, s[0], s[1], s[2], 0, 1)
KERNEL(softmax_forward, f, f, s[0], s[1], 0, 1)
KERNEL(softmax_backward, f, f, f, s[0], s[1], 0, 1)
KERNEL(feedforward_forward, f, f, f, f, f, f, f, s[0], s[1], s[2], GPT_GELU_TANH, 0, 1)
KERNEL(attention_forward, f, f, f, f, f, s[0], s[1], s[2], s[3], 1, 0.0f, 0, 1)
KERNEL(attention_weights, f, f, f, f, f, s[0], s[1], s[2], s[3], 0, 1)
KERNEL(attention_cached_forward, f, f, f, f, f, s[0], s[1], 0, s[1], s[2], s[3], 0, 1)
KERNEL(attention_backward, f, f, f, f, f, f, f, s[0], s[1], s[2], s[3], 1, 0.0f, 0, 1)
KERNEL(crossentropy_forward, f, f, f, f, m->i, s[0], s[1], 0, 1)
KERNEL(crossentropy_backward, f, f, m->i, f, f, s[0], s[1], 1.0f, 0, 1)
KERNEL(mse_forward, f, f, f, s[0], s[1], 0, 1)
KERNEL(mse_backward, f, f, f, s[0], 1.0f, 0, 1)
KERNEL(sgd_step, f, f, f, s[0], 0.1, 0.9, 0.0, 0.0, 0)
KERNEL(adamw_step, f, f, f, f, s[0], 0.1, 0.9, 0.999, 1e-8, 0.0, 0.1, 0.1)
KERNEL(mean, f, f, s[0], s[1])
KERNEL(var, f, f, s[0], s[1], 0)
KERNEL(sum, f, f, s[0], s[1])
KERNEL(max, f, m->i, f, s[0], s[1])
KERNEL(square_sum, (double *)(void *)f, f, s[0])
KERNEL(add, f, f, f, s[0], s[1], s[2], 1, s[3], 1)
KERNEL(sub, f, f, f, s[0], s[1], s[2], 1, s[3], 1)
KERNEL(mul, f, f, f, s[0], s[1], s[2], 1, s[3], 1)
KERNEL(div, f, f, f, s[0], s[1], s[2], 1, s[3], 1)
KERNEL(sqrt, f, f, s[0])
KERNEL(exp, f, f, s[0])
KERNEL(log, f, f, s[0], 0, 1)
KERNEL(tanh, f, f, s[0], 0, 1)
KERNEL(pow, f, f, s[0], 3.0f, 0, 1)
KERNEL(abs, f, f, s[0], 0, 1)
KERNEL(abs_backward, f, f, f, s[0], 0, 1)
KERNEL(transpose, f, f, s[0], s[1], s[2], s[3])
KERNEL(random_uniform, f, m->random, s[0], 0.0f, 1.0f)
KERNEL(random_words, (uint32_t *)(void *)m->i, m->random, s[0])
KERNEL(random_normal, f, m->random, s[0], 1.0)

#define ROW(name, tensors) {#name, call_##name, tensors}

static const kernel kernels[] = {
    ROW(linear_forward, "ab ac bc"),
    ROW(linear_backward, "ab ac bc"),
    ROW(linear_init, "ab"),
    ROW(conv1d_forward, "ab ac bc"),
    ROW(conv1d_backward, "ab ac bc"),
    ROW(int8_quantize, "ab"),
    ROW(int8_pack, "ab"),
    ROW(int8_unpack, "ab"),
    ROW(int8_dequantize, "ab"),
    ROW(int8_linear_forward, "ab ac bc"),
    ROW(int8_embedding_forward, "ac bc"),
    ROW(relu_forward, "a"),
    ROW(relu_backward, "a"),
    ROW(gelu_forward, "a"),
    ROW(gelu_backward, "a"),
    ROW(layernorm_forward, "ab"),
    ROW(layernorm_backward, "ab"),
    ROW(batchnorm_statistics, "ab"),
    ROW(batchnorm_update, "ab"),
    ROW(batchnorm_forward, "ab"),
    ROW(batchnorm_backward, "ab"),
    ROW(rmsnorm_forward, "ab"),
    ROW(rmsnorm_backward, "ab"),
    ROW(dropout_forward, "a"),
    ROW(embedding_forward, "ac bc"),
    ROW(embedding_backward, "ac bc"),
    ROW(softmax_forward, "ab"),
    ROW(softmax_backward, "ab"),
    ROW(feedforward_forward, "ab bc"),
    ROW(attention_forward, "abcd"),
    ROW(attention_weights, "abcd"),
    ROW(attention_cached_forward, "abcd"),
    ROW(attention_backward, "abcd"),
    ROW(crossentropy_forward, "ab"),
    ROW(crossentropy_backward, "ab"),
    ROW(mse_forward, "ab"),
    ROW(mse_backward, "a"),
    ROW(sgd_step, "a"),
    ROW(adamw_step, "a"),
    ROW(mean, "ab"),
    ROW(var, "ab"),
    ROW(sum, "ab"),
    ROW(max, "ab"),
    ROW(square_sum, "a"),
    ROW(add, "ab ac ad"),
    ROW(sub, "ab ac ad"),
    ROW(mul, "ab ac ad"),
    ROW(div, "ab ac ad"),
    ROW(sqrt, "a"),
    ROW(exp, "a"),
    ROW(log, "a"),
    ROW(tanh, "a"),
    ROW(pow, "a"),
    ROW(abs, "a"),
    ROW(abs_backward, "a"),
    ROW(transpose, "abcd"),
    ROW(random_uniform, "a"),
    ROW(random_words, "a"),
    ROW(random_normal, "a"),
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static size_t size_of_linear(const size_t *s) { return gpt_linear_scratch_size(s[0], s[1]); }
static size_t size_of_linear_backward(const size_t *s)
{
    return gpt_linear_backward_scratch_size(s[0], s[1]);
}
static size_t size_of_conv1d(const size_t *s) { return gpt_conv1d_scratch_size(s[0], s[1]); }
static size_t size_of_conv1d_backward(const size_t *s)
{
    return gpt_conv1d_backward_scratch_size(s[0], s[1]);
}
static size_t size_of_int8_linear(const size_t *s) { return gpt_int8_linear_scratch_size(s[0], s[1]); }
static size_t size_of_feedforward(const size_t *s) { return gpt_feedforward_scratch_size(s[0], s[1], s[2]); }
static size_t size_of_attention(const size_t *s) { return gpt_attention_scratch_size(s[0], s[1]); }
static size_t size_of_attention_cached(const size_t *s)
{
    return gpt_attention_cached_scratch_size(s[0], 0, s[1], s[2]);
}
static size_t size_of_attention_cached_token(const size_t *s)
{
    return gpt_attention_cached_scratch_size(1, s[0], s[1], s[2]);
}
static size_t size_of_attention_cache(const size_t *s) { return gpt_attention_cache_size(s[0], s[1]); }
static size_t size_of_attention_backward(const size_t *s)
{
    return gpt_attention_backward_scratch_size(s[0], s[1]);
}

typedef struct scratch {
    const char *name;
    size_t (*size)(const size_t *s);
    const char *tensors;
} scratch;

enum { SCRATCHES = 11 };
static const scratch scratches[SCRATCHES] = {
    {"linear", size_of_linear, "ab"},
    {"linear_backward", size_of_linear_backward, "ab"},
    {"conv1d", size_of_conv1d, "ab"},
    {"conv1d_backward", size_of_conv1d_backward, "ab"},
    {"int8_linear", size_of_int8_linear, "ab"},
    {"feedforward", size_of_feedforward, "ab bc"},
    {"attention", size_of_attention, "ab"},
    {"attention_backward", size_of_attention_backward, "ab"},
    {"attention_cached", size_of_attention_cached, "abc"},
    {"attention_cached, one token", size_of_attention_cached_token, "abc"},
    {"attention's cache", size_of_attention_cache, "ab"},
};

/* Calls `expect_one` with every kind of sizes that make one of the tensors unaddressable: one size too large
 * and the others 0 or 1; two sizes whose product is too large or wraps to 0, and the others 0 or 1. */
static void each_impossible_size(const char *tensors, const void *what,
                                 void (*expect_one)(const void *what, const size_t *s))
{
    enum { LARGE = 5, BITS = 8 * sizeof(size_t) };
    static const size_t large[LARGE] = {SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX / 4, SIZE_MAX / 2, SIZE_MAX};
    for (const char *first = tensors; *first; first++) {
        if (*first == ' ') continue;
        for (size_t other = 0; other <= 1; other++) {
            size_t s[MOST_SIZES] = {other, other, other, other}, *const one = s + (*first - 'a');
            for (size_t k = 0; k < LARGE; k++) {
                *one = large[k];
                expect_one(what, s);
            }
            for (const char *second = first + 1; *second && *second != ' '; second++)
                for (size_t bits = BITS / 2 - 1; bits <= BITS / 2; bits++) {
                    *one = s[*second - 'a'] = (size_t)1 << bits;
                    expect_one(what, s);
                    s[*second - 'a'] = other;
                }
        }
    }
}

static memory new_memory(void)
{
    static gpt_random random;
    float *f = output("memory", 64);
    return (memory){.f = f, .i = (int32_t *)(void *)f, .b = (int8_t *)(void *)f, .random = &random};
}

static memory shared; /* of the case */

static void expect_kernel_refuses(const void *what, const size_t *s)
{
    const kernel *k = what;
    in_case("%s, sizes %zu, %zu, %zu, %zu", k->name, s[0], s[1], s[2], s[3]);
    expect_refused(k->call(&shared, s), GPT_ERR_SIZE);
}

static void kernels_refuse(void)
{
    shared = new_memory();
    for (size_t k = 0; k < KERNELS; k++)
        each_impossible_size(kernels[k].tensors, &kernels[k], expect_kernel_refuses);
    end_case();
}

static void expect_no_scratch(const void *what, const size_t *s)
{
    const scratch *k = what;
    in_case("%s, sizes %zu, %zu, %zu", k->name, s[0], s[1], s[2]);
    const size_t size = k->size(s);
    expect(size == SIZE_MAX, "expected SIZE_MAX, got %zu", size);
}

static void scratch_sizes_do_not_wrap(void)
{
    for (size_t k = 0; k < SCRATCHES; k++)
        each_impossible_size(scratches[k].tensors, &scratches[k], expect_no_scratch);
}

/* Tensors that can be addressed, whose scratch cannot: it is rounded up to whole panels, or wanted by many
 * parts. */
static void scratch_is_checked(void)
{
    const size_t most = SIZE_MAX / 8 - 31;
    const memory m = new_memory();
    float *f = m.f;
    in_case("7 rows");
    expect(gpt_linear_scratch_size(7, most / 7) == SIZE_MAX, "expected linear to need too much");
    expect_refused(gpt_linear_forward(f, f, f, f, f, 7, most / 7, 1, 0, 1), GPT_ERR_SIZE);
    expect(gpt_conv1d_backward_scratch_size(7, most / 7) == SIZE_MAX, "expected conv1d to need too much");
    expect_refused(gpt_conv1d_backward(f, f, f, f, f, f, f, 7, 1, most / 7, 0, 1), GPT_ERR_SIZE);
    expect(gpt_feedforward_scratch_size(7, 1, most / 7) == SIZE_MAX, "expected feedforward to need too much");
    expect_refused(gpt_feedforward_forward(f, f, f, f, f, f, f, 7, 1, most / 7, GPT_GELU_TANH, 0, 1),
                   GPT_ERR_SIZE);
    expect(gpt_attention_scratch_size(1, most / 3) == SIZE_MAX, "expected attention to need too much");
    expect_refused(gpt_attention_forward(f, f, f, f, f, 1, 1, 1, most / 3, 1, 0.0f, 0, 1), GPT_ERR_SIZE);
    expect_refused(gpt_attention_weights(f, f, f, f, f, 1, 1, 1, most / 3, 0, 1), GPT_ERR_SIZE);
    expect(gpt_attention_backward_scratch_size(most / 3, 1) == SIZE_MAX, "expected its backward too");
    expect_refused(gpt_attention_backward(f, f, f, f, f, f, f, 1, most / 3, 1, 1, 1, 0.0f, 0, 1),
                   GPT_ERR_SIZE);
    in_case("many parts");
    expect_refused(gpt_linear_forward(f, f, f, f, f, 7, 8, 1, most / 64, most / 32), GPT_ERR_SIZE);
    expect_refused(gpt_linear_backward(f, f, f, f, f, f, f, 7, 8, 1, most / 64, most / 32), GPT_ERR_SIZE);
    expect_refused(gpt_attention_forward(f, f, f, f, f, 1, 1, 1, 1, 1, 0.0f, most / 64, most / 32),
                   GPT_ERR_SIZE);
    in_case("weights of tokens · tokens");
    expect_refused(gpt_attention_weights(f, f, f, f, f, 1, (size_t)1 << (4 * sizeof(size_t) - 1), 1, 1, 0, 1),
                   GPT_ERR_SIZE);
    expect_refused(gpt_attention_weights(f, f, f, f, f, 0, (size_t)1 << (4 * sizeof(size_t) - 1), 1, 1, 0, 1),
                   GPT_ERR_SIZE);
    end_case();
}

/* Natively, a loop over the largest size would take years. */
static void empty_calls_return_at_once(void)
{
    static const struct {
        const char *name;
        size_t s[MOST_SIZES];
    } empty[] = {
        {"linear_forward", {GPT_MAX_FLOATS, 0, 0}},
        {"linear_forward", {0, GPT_MAX_FLOATS, 0}},
        {"linear_forward", {0, 0, GPT_MAX_FLOATS}},
        {"linear_backward", {GPT_MAX_FLOATS, 0, 0}},
        {"conv1d_forward", {GPT_MAX_FLOATS, 0, 0}},
        {"conv1d_forward", {0, GPT_MAX_FLOATS, 0}},
        {"conv1d_forward", {0, 0, GPT_MAX_FLOATS}},
        {"conv1d_backward", {GPT_MAX_FLOATS, 0, 0}},
        {"linear_backward", {0, GPT_MAX_FLOATS, 0}},
        {"conv1d_backward", {0, GPT_MAX_FLOATS, 0}},
        {"int8_quantize", {GPT_MAX_FLOATS, 0}},
        {"int8_quantize", {0, GPT_MAX_FLOATS}},
        {"int8_pack", {GPT_MAX_FLOATS, 0}},
        {"int8_pack", {0, GPT_MAX_FLOATS}},
        {"int8_unpack", {GPT_MAX_FLOATS, 0}},
        {"int8_unpack", {0, GPT_MAX_FLOATS}},
        {"int8_dequantize", {GPT_MAX_FLOATS, 0}},
        {"int8_dequantize", {0, GPT_MAX_FLOATS}},
        {"int8_linear_forward", {GPT_MAX_FLOATS, 0, 0}},
        {"int8_linear_forward", {0, GPT_MAX_FLOATS, 0}},
        {"int8_linear_forward", {0, 0, GPT_MAX_FLOATS}},
        {"layernorm_forward", {0, GPT_MAX_FLOATS}},
        {"batchnorm_statistics", {GPT_MAX_FLOATS, 0}},
        {"batchnorm_forward", {GPT_MAX_FLOATS, 0}},
        {"batchnorm_backward", {GPT_MAX_FLOATS, 0}},
        {"batchnorm_update", {GPT_MAX_FLOATS, 0}},
        {"rmsnorm_forward", {0, GPT_MAX_FLOATS}},
        {"embedding_forward", {0, GPT_MAX_FLOATS, 0}},
        {"embedding_backward", {0, GPT_MAX_FLOATS, 0}},
        {"embedding_backward", {0, 0, GPT_MAX_FLOATS}},
        {"softmax_forward", {GPT_MAX_FLOATS, 0}},
        {"softmax_backward", {GPT_MAX_FLOATS, 0}},
        {"feedforward_forward", {GPT_MAX_FLOATS, 0, 0}},
        {"feedforward_forward", {0, 0, GPT_MAX_FLOATS}},
        {"attention_forward", {GPT_MAX_FLOATS / 3, 0, 1, 1}},
        {"attention_forward", {0, GPT_MAX_FLOATS / 3, 1, 1}},
        {"attention_forward", {1, GPT_MAX_FLOATS / 8, 0, 1}},
        {"attention_weights", {GPT_MAX_FLOATS / 3, 0, 1, 1}},
        {"attention_cached_forward", {GPT_MAX_FLOATS / 36, 0, 1, 1}},
        {"attention_cached_forward", {0, GPT_MAX_FLOATS / 3, 1, 1}},
        {"attention_backward", {GPT_MAX_FLOATS / 3, 0, 1, 1}},
        {"attention_backward", {1, 0, GPT_MAX_FLOATS / 3, 1}},
        {"mse_forward", {0, GPT_MAX_FLOATS}},
        {"max", {0, INT32_MAX / 8}},
        {"add", {GPT_MAX_FLOATS, 0, 0, 0}},
        {"transpose", {GPT_MAX_FLOATS, 0, 1, 1}},
        {"transpose", {1, 1, GPT_MAX_FLOATS, 0}},
    };
    shared = new_memory();
    for (size_t e = 0; e < sizeof empty / sizeof empty[0]; e++) {
        size_t found = 0;
        for (size_t k = 0; k < KERNELS; k++) {
            if (strcmp(kernels[k].name, empty[e].name)) continue;
            found++;
            in_case("%s, sizes %zu, %zu, %zu, %zu", empty[e].name, empty[e].s[0], empty[e].s[1],
                    empty[e].s[2], empty[e].s[3]);
            expect_refused(kernels[k].call(&shared, empty[e].s), GPT_OK);
        }
        expect(found == 1, "no kernel has this name");
    }
    end_case();
}

static void the_rule(void)
{
    const size_t most = GPT_MAX_FLOATS;
    expect(most * sizeof(float) < PTRDIFF_MAX && most > PTRDIFF_MAX / sizeof(float) - 64,
           "expected about PTRDIFF_MAX bytes, got %zu floats", most);
    expect(gpt_fits(most, 1) && gpt_fits(1, most), "expected the largest tensor to fit");
    expect(gpt_fits(most, 0) && gpt_fits(0, most) && gpt_fits(0, 0), "expected an empty tensor to fit");
    expect(!gpt_fits(most + 1, 1) && !gpt_fits(1, most + 1), "expected one float more not to fit");
    expect(!gpt_fits(most + 1, 0) && !gpt_fits(0, most + 1), "expected one float more never to fit");
    expect(gpt_fits(most / 3, 3) && !gpt_fits(most / 3 + 1, 3), "expected a third of it to fit 3 times");
    expect(!gpt_fits(SIZE_MAX, SIZE_MAX) && !gpt_fits(SIZE_MAX / 2 + 1, 2),
           "expected no wrapped product to fit");
    expect(gpt_fits4(most / 6, 1, 2, 3) && !gpt_fits4(most / 6 + 1, 1, 2, 3) &&
               !gpt_fits4(0, most / 6 + 1, 2, 3),
           "expected a sixth of it to fit 1 · 2 · 3 times");
    expect(gpt_floats(0, most) == 0 && gpt_floats(0, most + 1) == SIZE_MAX, "expected 0, then SIZE_MAX");
    expect(gpt_floats_sum(most, 0) == most && gpt_floats_sum(most, 1) == SIZE_MAX &&
               gpt_floats_sum(1, SIZE_MAX) == SIZE_MAX,
           "expected the largest sum, then SIZE_MAX");
    expect(gpt_round_up(most, 24) >= most && gpt_round_up(most + 1, 24) == SIZE_MAX,
           "expected the largest size rounded up, then SIZE_MAX");
}

void test_sizes(void)
{
    promise("a size fits if its bytes are addressable, and counts as 1 where it is 0", the_rule);
    promise("every kernel refuses each size and each product of sizes that is not addressable, also where "
            "another size is 0, and writes nothing",
            kernels_refuse);
    promise("every scratch size is SIZE_MAX where the sizes are not addressable", scratch_sizes_do_not_wrap);
    promise("linear, conv1d, feedforward and attention refuse sizes whose scratch is not addressable",
            scratch_is_checked);
    promise("a call for an empty tensor returns at once, however large the other sizes are",
            empty_calls_return_at_once);
}
