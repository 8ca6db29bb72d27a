/* The kernels, as gpt_layers.h has them. Append only: the bytes of the fuzzer's corpus name a kernel by its
 * place. */
#include <string.h>

#include "gpt_layers.h"
#include "judges.h"
#include "reference.h"
#include "rows.h"

/* What references compute in float64. */
static double hidden[MOST_WORDS], sums[MOST_WORDS];

PARTS_ONLY(linear_forward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2))
REFERENCE(linear_forward, T(0), T(2), T(3), T(4), S(0), S(1), S(2))
PARTS_ONLY(linear_backward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), S(0), S(1), S(2))
REFERENCE(linear_backward, T(0), T(1), T(2), T(4), T(5), T(6), S(0), S(1), S(2))
PARTS_ONLY(conv1d_forward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2))
REFERENCE(conv1d_forward, T(0), T(2), T(3), T(4), S(0), S(1), S(2))
PARTS_ONLY(conv1d_backward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), S(0), S(1), S(2))
REFERENCE(conv1d_backward, T(0), T(1), T(2), T(4), T(5), T(6), S(0), S(1), S(2))
WITH_PARTS(relu_forward, T(0), T(1), S(0))
WITH_PARTS(relu_backward, T(0), T(1), T(2), S(0))
WITH_PARTS(gelu_forward, T(0), T(1), S(0), I(0))
WITH_PARTS(gelu_backward, T(0), T(1), T(2), S(0), I(0))
WITH_PARTS(layernorm_forward, T(0), T(1), T(2), T(3), T(4), T(5), S(0), S(1), F(0))
WITH_PARTS(layernorm_backward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), T(7), S(0), S(1))
WITH_PARTS(batchnorm_statistics, T(0), T(1), T(2), T(3), S(0), S(1))
WITHOUT_REFERENCE(batchnorm_update, T(0), T(1), T(2), T(3), T(4), S(0), S(1), F(0))
WITH_PARTS(batchnorm_forward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), S(0), S(1), F(0))
WITH_PARTS(batchnorm_backward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), T(7), T(8), S(0), S(1), F(0))
WITH_PARTS(rmsnorm_forward, T(0), T(1), T(2), T(3), S(0), S(1), F(0))
WITH_PARTS(rmsnorm_backward, T(0), T(1), T(2), T(3), T(4), T(5), S(0), S(1))
WITH_PARTS(dropout_forward, T(0), T(1), S(0), U(0), F(1))
PARTS_ONLY(embedding_forward, T(0), T(1), T(2), S(0), S(1), S(2))
REFERENCE(embedding_forward, T(0), T(1), T(2), S(0), S(2))
PARTS_ONLY(embedding_backward, T(0), T(1), T(2), T(3), S(0), S(1), S(2))
REFERENCE(embedding_backward, T(0), T(2), T(3), S(0), S(1), S(2))
WITH_PARTS(softmax_forward, T(0), T(1), S(0), S(1))
WITH_PARTS(softmax_backward, T(0), T(1), T(2), S(0), S(1))
PARTS_ONLY(feedforward_forward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), S(0), S(1), S(2), I(0))
REFERENCE(feedforward_forward, T(0), hidden, T(2), T(3), T(4), T(5), T(6), S(0), S(1), S(2), I(0))
PARTS_ONLY(attention_forward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2), S(3), U(0), F(1))
REFERENCE(attention_forward, T(0), T(1), T(2), T(4), S(0), S(1), S(2), S(3), U(0), F(1))
PARTS_ONLY(attention_weights, T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2), S(3))
REFERENCE(attention_weights, T(0), T(2), S(0), S(1), S(2), S(3))
PARTS_ONLY(attention_backward, T(0), T(1), T(2), T(3), T(4), T(5), T(6), S(0), S(1), S(2), S(3), U(0), F(1))
REFERENCE(attention_backward, T(0), sums, T(2), T(4), S(0), S(1), S(2), S(3), U(0), F(1))
WITH_PARTS(crossentropy_forward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), F(0))
WITH_PARTS(crossentropy_backward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), F(0), F(1))
WITH_PARTS(mse_forward, T(0), T(1), T(2), S(0), S(1))
WITH_PARTS(mse_backward, T(0), T(1), T(2), S(0), F(0))
WITHOUT_PARTS(sgd_step, T(0), T(1), T(2), S(0), D(0), D(1), D(2), D(3), I(4))
WITHOUT_PARTS(adam_step, T(0), T(1), T(2), T(3), S(0), D(0), D(1), D(2), D(3), D(4), D(5), D(6), I(7))
WITHOUT_PARTS(mean, T(0), T(1), S(0), S(1))
WITHOUT_PARTS(var, T(0), T(1), S(0), S(1), I(0))
WITHOUT_PARTS(sum, T(0), T(1), S(0), S(1))
WITH_PARTS(sum_columns, T(0), T(1), S(0), S(1), S(2))
WITHOUT_PARTS(max, T(0), T(1), T(2), S(0), S(1))
WITHOUT_PARTS(square_sum, T(0), T(1), S(0))
#define ARITHMETIC(name, operation)                                                                          \
    static int run_##name(const call *c)                                                                     \
    {                                                                                                        \
        return gpt_##name(T(0), T(1), T(2), S(0), S(1), S(2), S(3), S(4), S(5));                             \
    }                                                                                                        \
    static void run_##name##_ref(const call *c)                                                              \
    {                                                                                                        \
        gpt_arithmetic_ref(operation, T(0), T(1), T(2), S(0), S(1), S(2), S(3), S(4), S(5));                 \
    }
ARITHMETIC(add, '+')
ARITHMETIC(sub, '-')
ARITHMETIC(mul, '*')
ARITHMETIC(div, '/')
ARITHMETIC(maximum, '^')
ARITHMETIC(minimum, 'v')
ARITHMETIC(eq, '=')
ARITHMETIC(ne, '!')
ARITHMETIC(lt, '<')
ARITHMETIC(le, '{')
WITHOUT_PARTS(where, T(0), T(1), T(2), T(3), S(0), S(1), S(2), S(3), S(4), S(5), S(6), S(7))
WITH_PARTS(sin, T(0), T(1), S(0))
WITH_PARTS(cos, T(0), T(1), S(0))
WITH_PARTS(sigmoid, T(0), T(1), S(0))
WITH_PARTS(silu_forward, T(0), T(1), S(0))
WITH_PARTS(silu_backward, T(0), T(1), T(2), S(0))
WITH_PARTS(clamp, T(0), T(1), S(0), F(0), F(1))
WITH_PARTS(clamp_backward, T(0), T(1), T(2), S(0), F(0), F(1))
WITHOUT_PARTS(sqrt, T(0), T(1), S(0))
WITHOUT_PARTS(exp, T(0), T(1), S(0))
WITH_PARTS(log, T(0), T(1), S(0))
WITH_PARTS(tanh, T(0), T(1), S(0))
WITH_PARTS(pow, T(0), T(1), S(0), F(0))
WITH_PARTS(abs, T(0), T(1), S(0))
WITH_PARTS(abs_backward, T(0), T(1), T(2), S(0))
WITHOUT_REFERENCE(transpose, T(0), T(1), S(0), S(1), S(2), S(3))
WITHOUT_REFERENCE(linear_init, T(0), T(1), T(2), S(0), S(1))
WITHOUT_REFERENCE(random_seed, T(0), U(0))
WITHOUT_REFERENCE(random_uniform, T(0), T(1), S(0), F(0), F(1))
WITHOUT_REFERENCE(random_words, T(0), T(1), S(0))
WITHOUT_REFERENCE(random_normal, T(0), T(1), S(0), D(0), D(1))

/* Room for the cached tokens, the new ones, and 0 to 2 more. */
static size_t capacity_of(const call *c)
{
    size_t n;
    if (__builtin_add_overflow(S(1), S(2), &n) || __builtin_add_overflow(n, (size_t)c->v[0], &n))
        return SIZE_MAX;
    return n;
}
static int run_attention_cached_forward(const call *c)
{
    return gpt_attention_cached_forward(T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2), capacity_of(c), S(3),
                                        S(4), PARTS);
}
static void run_attention_cached_forward_ref(const call *c)
{
    gpt_attention_cached_forward_ref(T(0), T(1), T(2), T(4), S(0), S(1), S(2), capacity_of(c), S(3), S(4));
}
static size_t attention_cached_scratch(const call *c)
{
    return gpt_attention_cached_scratch_size(S(1), S(2), S(3), S(4));
}
static size_t floats_of_heads(const call *c, size_t per_head)
{
    const size_t batch = S(0), heads = S(3), sizes_[3] = {batch, heads, per_head};
    size_t floats = 1;
    for (size_t i = 0; i < 3; i++)
        if (__builtin_mul_overflow(floats, sizes_[i] ? sizes_[i] : 1, &floats) || floats > MOST_ADDRESSABLE)
            return UNADDRESSABLE;
    return batch && heads ? floats : 0;
}
static size_t cache_count(const call *c, size_t which)
{
    (void)which;
    return floats_of_heads(c, gpt_attention_cache_size(capacity_of(c), S(4)));
}
static int run_attention_int8_forward(const call *c)
{
    return gpt_attention_int8_forward(T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2), capacity_of(c), S(3),
                                      S(4), I(1), PARTS);
}
static void run_attention_int8_forward_ref(const call *c)
{
    gpt_attention_int8_forward_ref(T(0), T(1), T(2), T(4), S(0), S(1), S(2), capacity_of(c), S(3), S(4),
                                   I(1));
}
static size_t attention_int8_scratch(const call *c)
{
    return gpt_attention_int8_scratch_size(S(1), S(2), S(3), S(4));
}
static size_t int8_cache_count(const call *c, size_t which)
{
    (void)which;
    return floats_of_heads(c, gpt_attention_int8_cache_size(capacity_of(c), S(4)));
}

/* The scalars of int8 weights: v[0] is the group; v[1] is `dot`; v[2] is not 0 if the float32 weight is
 * [in, out]. */
#define GROUP ((size_t)D(0))
WITHOUT_REFERENCE(int8_quantize, T(0), T(1), S(0), S(1), GROUP, 0, S(1), I(2) ? 1 : S(1), I(2) ? S(0) : 1,
                  I(1))
WITHOUT_REFERENCE(int8_pack, T(0), T(1), S(0), S(1), GROUP, I(1))
WITHOUT_REFERENCE(int8_dequantize, T(0), T(1), S(0), S(1), GROUP, I(1))
PARTS_ONLY(int8_linear_forward, T(0), T(1), T(2), T(3), T(4), S(0), S(1), S(2), GROUP, I(1))
static void run_int8_linear_forward_ref(const call *c)
{
    gpt_int8_linear_forward_ref(T(0), T(2), (int8_weight){S(2), S(1), GROUP, I(1), T(3)}, T(4), S(0));
}
PARTS_ONLY(int8_embedding_forward, T(0), T(1), T(2), S(0), S(1), S(2), GROUP, I(1))
static void run_int8_embedding_forward_ref(const call *c)
{
    gpt_int8_embedding_forward_ref(T(0), T(1), (int8_weight){S(1), S(2), GROUP, I(1), T(2)}, S(0));
}

/* A group that is refused has the tensors of another one. */
static size_t valid_group(const call *c) { return GROUP && GROUP % 2 == 0 ? GROUP : 2; }

static size_t int8_linear_scratch(const call *c)
{
    return gpt_int8_linear_scratch_size(S(0), S(1), valid_group(c));
}

/* Words of 32 outputs and n inputs of a group: a word a scale, for `dot` two bytes a sum, a byte a value. */
static size_t words_of_group(size_t n, int dot)
{
    return 32 + (dot ? (n + 127) / 128 * 16 : 0) + (n + 3) / 4 * 32;
}

static size_t quantized_count(const call *c, size_t out, size_t in)
{
    size_t floats;
    const size_t group = valid_group(c);
    const int dot = I(1) == 1;
    if (out > MOST_ADDRESSABLE || in > MOST_ADDRESSABLE) return UNADDRESSABLE;
    const size_t outs = (out + 31) / 32 * 32, ins = (in + 1) / 2 * 2, rest = in % group;
    /* in the rule for what is addressable, a size of 0 counts as 1 */
    if (__builtin_mul_overflow(outs ? outs : 1, ins ? ins : 1, &floats) || floats > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    return outs / 32 * (in / group * words_of_group(group, dot) + (rest ? words_of_group(rest, dot) : 0));
}

static size_t quantize_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(0), S(1));
}

static size_t pack_count(const call *c, size_t which)
{
    const size_t n = quantized_count(c, S(0), S(1));
    return which == 0 || n == UNADDRESSABLE ? n : (S(0) * S(1) + 3) / 4;
}

static size_t int8_linear_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(2), S(1));
}

static size_t int8_embedding_count(const call *c, size_t which)
{
    (void)which;
    return quantized_count(c, S(1), S(2));
}

static size_t linear_scratch(const call *c) { return gpt_linear_scratch_size(S(0), S(1)); }
static size_t linear_backward_scratch(const call *c) { return gpt_linear_backward_scratch_size(S(0), S(2)); }
static size_t conv1d_scratch(const call *c) { return gpt_conv1d_scratch_size(S(0), S(1)); }
static size_t conv1d_backward_scratch(const call *c) { return gpt_conv1d_backward_scratch_size(S(0), S(2)); }
static size_t embedding_scratch(const call *c)
{
    size_t n;
    return __builtin_add_overflow(S(0), S(1), &n) || n > MOST_ADDRESSABLE ? UNADDRESSABLE : n;
}
static size_t feedforward_scratch(const call *c) { return gpt_feedforward_scratch_size(S(0), S(1), S(2)); }
static size_t attention_scratch(const call *c) { return gpt_attention_scratch_size(S(1), S(3)); }
static size_t attention_backward_scratch(const call *c)
{
    return gpt_attention_backward_scratch_size(S(1), S(3));
}

/* Elements of an operand of gpt_add or gpt_where, up to the last one that is read. */
static size_t operand_count(const call *c, size_t which)
{
    const size_t rows = S(0), cols = S(1), row = S(2 * which), col = S(2 * which + 1);
    size_t n, last = col ? cols : 1;
    /* in the rule for what is addressable, a size of 0 counts as 1 */
    if (__builtin_mul_overflow(rows ? rows : 1, row ? row : 1, &n) || n > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    if (__builtin_add_overflow((rows ? rows - 1 : 0) * row, last, &n) || n > MOST_ADDRESSABLE)
        return UNADDRESSABLE;
    return rows && cols ? n : 0;
}

/* The steps of the operands: whole, a repeated row, a repeated column, or rows that overlap or have gaps. */
static void choose_steps(call *c, uint32_t random)
{
    for (size_t k = 2; k < MOST_SIZES; k += 2, random >>= 8) {
        const size_t rows[8] = {S(1), S(1), S(1), 0, 0, 1, S(1) + 3, 2};
        c->s[k] = rows[random % 8];
        c->s[k + 1] = random / 8 % 4 != 0;
    }
}

const kernel kernels[] = {
    {.name = "linear_forward",
     .run = run_linear_forward,
     .reference = run_linear_forward_ref,
     .judge = judge_affine_forward,
     .has_parts = 1,
     .sizes = "rio",
     .tensors = {{OUT, "y", "ro"},
                 {SCRATCH, "scratch"},
                 {IN, "x", "ri"},
                 {IN, "weight", "oi"},
                 {OPTIONAL_IN, "bias", "o"}},
     .scratch_size = linear_scratch},
    {.name = "linear_backward",
     .run = run_linear_backward,
     .reference = run_linear_backward_ref,
     .judge = judge_affine_backward,
     .has_parts = 1,
     .sizes = "rio",
     .tensors = {{OPTIONAL_OUT, "dx", "ri"},
                 {OPTIONAL_OUT, "dweight", "oi"},
                 {OPTIONAL_OUT, "dbias", "o"},
                 {SCRATCH, "scratch"},
                 {IN, "dy", "ro"},
                 {IN, "x", "ri"},
                 {IN, "weight", "oi"}},
     .scratch_size = linear_backward_scratch},
    {.name = "conv1d_forward",
     .run = run_conv1d_forward,
     .reference = run_conv1d_forward_ref,
     .judge = judge_affine_forward,
     .has_parts = 1,
     .sizes = "rio",
     .tensors = {{OUT, "y", "ro"},
                 {SCRATCH, "scratch"},
                 {IN, "x", "ri"},
                 {IN, "weight", "io"},
                 {OPTIONAL_IN, "bias", "o"}},
     .scratch_size = conv1d_scratch},
    {.name = "conv1d_backward",
     .run = run_conv1d_backward,
     .reference = run_conv1d_backward_ref,
     .judge = judge_affine_backward,
     .has_parts = 1,
     .sizes = "rio",
     .tensors = {{OPTIONAL_OUT, "dx", "ri"},
                 {OPTIONAL_OUT, "dweight", "io"},
                 {OPTIONAL_OUT, "dbias", "o"},
                 {SCRATCH, "scratch"},
                 {IN, "dy", "ro"},
                 {IN, "x", "ri"},
                 {IN, "weight", "io"}},
     .scratch_size = conv1d_backward_scratch},
    {.name = "relu_forward",
     .run = run_relu_forward,
     .reference = run_relu_forward_ref,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "relu_backward",
     .run = run_relu_backward,
     .reference = run_relu_backward_ref,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "dx", "n"}, {IN, "dy", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "gelu_forward",
     .run = run_gelu_forward,
     .reference = run_gelu_forward_ref,
     .judge = judge_gelu_forward,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "k",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "gelu_backward",
     .run = run_gelu_backward,
     .reference = run_gelu_backward_ref,
     .judge = judge_gelu_backward,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "k",
     .tensors = {{OUT, "dx", "n"}, {IN, "dy", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "layernorm_forward",
     .run = run_layernorm_forward,
     .reference = run_layernorm_forward_ref,
     .judge = judge_layernorm_forward,
     .has_parts = 1,
     .sizes = "rc",
     .least = {0, 1},
     .scalars = "e",
     .tensors = {{OUT, "y", "rc"},
                 {OPTIONAL_OUT, "mean", "r"},
                 {OPTIONAL_OUT, "rstd", "r"},
                 {IN, "x", "rc"},
                 {IN, "scale", "c"},
                 {OPTIONAL_IN, "shift", "c"}},
     .alias = {{0, 3}}},
    {.name = "layernorm_backward",
     .run = run_layernorm_backward,
     .reference = run_layernorm_backward_ref,
     .judge = judge_layernorm_backward,
     .has_parts = 1,
     .sizes = "rc",
     .least = {0, 1},
     .tensors = {{OPTIONAL_OUT, "dx", "rc"},
                 {OPTIONAL_OUT, "dscale", "c"},
                 {OPTIONAL_OUT, "dshift", "c"},
                 {IN, "dy", "rc"},
                 {IN, "x", "rc"},
                 {IN, "mean", "r"},
                 {IN, "rstd", "r"},
                 {IN, "scale", "c"}},
     .prepare = prepare_layernorm},
    {.name = "batchnorm_statistics",
     .run = run_batchnorm_statistics,
     .reference = run_batchnorm_statistics_ref,
     .judge = judge_batchnorm_statistics,
     .has_parts = 1,
     .sizes = "rc",
     .least = {1, 0},
     .tensors = {{OUT, "mean", "c"}, {OUT, "off", "c"}, {OUT, "var", "c"}, {IN, "x", "rc"}}},
    {.name = "batchnorm_update",
     .run = run_batchnorm_update,
     .judge = judge_batchnorm_update,
     .sizes = "rc",
     .least = {2, 0},
     .scalars = "p",
     .tensors = {{INOUT, "running_mean", "c"},
                 {INOUT, "running_var", "c"},
                 {IN, "mean", "c"},
                 {IN, "off", "c"},
                 {IN, "var", "c", POSITIVES}}},
    {.name = "batchnorm_forward",
     .run = run_batchnorm_forward,
     .reference = run_batchnorm_forward_ref,
     .judge = judge_batchnorm_forward,
     .has_parts = 1,
     .sizes = "rc",
     .scalars = "e",
     .tensors = {{OUT, "y", "rc"},
                 {IN, "x", "rc"},
                 {IN, "mean", "c"},
                 {OPTIONAL_IN, "off", "c"},
                 {IN, "var", "c", POSITIVES},
                 {IN, "scale", "c"},
                 {IN, "shift", "c"}},
     .alias = {{0, 1}},
     .prepare = prepare_batchnorm_forward},
    {.name = "batchnorm_backward",
     .run = run_batchnorm_backward,
     .reference = run_batchnorm_backward_ref,
     .judge = judge_batchnorm_backward,
     .has_parts = 1,
     .sizes = "rc",
     .least = {1, 0},
     .scalars = "e",
     .tensors = {{OPTIONAL_OUT, "dx", "rc"},
                 {OPTIONAL_OUT, "dscale", "c"},
                 {OPTIONAL_OUT, "dshift", "c"},
                 {IN, "dy", "rc"},
                 {IN, "x", "rc"},
                 {IN, "mean", "c"},
                 {IN, "off", "c"},
                 {IN, "var", "c", POSITIVES},
                 {IN, "scale", "c"}},
     .prepare = prepare_batchnorm_backward},
    {.name = "rmsnorm_forward",
     .run = run_rmsnorm_forward,
     .reference = run_rmsnorm_forward_ref,
     .judge = judge_rmsnorm_forward,
     .has_parts = 1,
     .sizes = "rc",
     .least = {0, 1},
     .scalars = "e",
     .tensors = {{OUT, "y", "rc"}, {OPTIONAL_OUT, "rstd", "r"}, {IN, "x", "rc"}, {IN, "scale", "c"}},
     .alias = {{0, 2}}},
    {.name = "rmsnorm_backward",
     .run = run_rmsnorm_backward,
     .reference = run_rmsnorm_backward_ref,
     .judge = judge_rmsnorm_backward,
     .has_parts = 1,
     .sizes = "rc",
     .least = {0, 1},
     .tensors = {{OPTIONAL_OUT, "dx", "rc"},
                 {OPTIONAL_OUT, "dscale", "c"},
                 {IN, "dy", "rc"},
                 {IN, "x", "rc"},
                 {IN, "rstd", "r"},
                 {IN, "scale", "c"}},
     .prepare = prepare_rmsnorm},
    {.name = "dropout_forward",
     .run = run_dropout_forward,
     .reference = run_dropout_forward_ref,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "sp",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "embedding_forward",
     .run = run_embedding_forward,
     .reference = run_embedding_forward_ref,
     .has_parts = 1,
     .sizes = "rnd",
     .tensors = {{OUT, "y", "rd"}, {IN, "indices", "r", INDICES}, {IN, "weight", "nd"}},
     .classes = 'n'},
    {.name = "embedding_backward",
     .run = run_embedding_backward,
     .reference = run_embedding_backward_ref,
     .judge = judge_embedding_backward,
     .has_parts = 1,
     .sizes = "rnd",
     .most = {INT32_MAX - 1},
     .tensors =
         {{OUT, "dweight", "nd"}, {SCRATCH, "scratch"}, {IN, "dy", "rd"}, {IN, "indices", "r", INDICES}},
     .classes = 'n',
     .scratch_size = embedding_scratch},
    {.name = "softmax_forward",
     .run = run_softmax_forward,
     .reference = run_softmax_forward_ref,
     .judge = judge_softmax_forward,
     .has_parts = 1,
     .sizes = "rc",
     .tensors = {{OUT, "y", "rc"}, {IN, "x", "rc"}},
     .alias = {{0, 1}}},
    {.name = "softmax_backward",
     .run = run_softmax_backward,
     .reference = run_softmax_backward_ref,
     .judge = judge_softmax_backward,
     .has_parts = 1,
     .sizes = "rc",
     .tensors = {{OUT, "dx", "rc"}, {IN, "dy", "rc"}, {IN, "y", "rc"}},
     .alias = {{0, 1}},
     .prepare = prepare_softmax},
    {.name = "feedforward_forward",
     .run = run_feedforward_forward,
     .reference = run_feedforward_forward_ref,
     .judge = judge_feedforward,
     .has_parts = 1,
     .sizes = "rdh",
     .scalars = "k",
     .tensors = {{OUT, "y", "rd"},
                 {SCRATCH, "scratch"},
                 {IN, "x", "rd"},
                 {IN, "weight1", "hd"},
                 {OPTIONAL_IN, "bias1", "h"},
                 {IN, "weight2", "dh"},
                 {OPTIONAL_IN, "bias2", "d"}},
     .scratch_size = feedforward_scratch},
    {.name = "attention_forward",
     .run = run_attention_forward,
     .reference = run_attention_forward_ref,
     .judge = judge_attention_forward,
     .has_parts = 1,
     .sizes = "bths",
     .least = {0, 0, 0, 1},
     .scalars = "sp",
     .tensors = {{OUT, "y", "bths"},
                 {OPTIONAL_OUT, "max", "bht"},
                 {OPTIONAL_OUT, "sum", "bht"},
                 {SCRATCH, "scratch"},
                 {IN, "qkv", "bt3hs"}},
     .scratch_size = attention_scratch},
    {.name = "attention_weights",
     .run = run_attention_weights,
     .reference = run_attention_weights_ref,
     .judge = judge_attention_weights,
     .has_parts = 1,
     .sizes = "bths",
     .least = {0, 0, 0, 1},
     .tensors = {{OUT, "w", "bhtt"},
                 {SCRATCH, "scratch"},
                 {IN, "qkv", "bt3hs"},
                 {IN, "max", "bht"},
                 {IN, "sum", "bht"}},
     .scratch_size = attention_scratch,
     .prepare = prepare_attention_weights},
    {.name = "attention_backward",
     .run = run_attention_backward,
     .reference = run_attention_backward_ref,
     .judge = judge_attention_backward,
     .has_parts = 1,
     .sizes = "bths",
     .least = {0, 0, 0, 1},
     .scalars = "sp",
     .tensors = {{OUT, "dqkv", "bt3hs"},
                 {SCRATCH, "scratch"},
                 {IN, "dy", "bths"},
                 {IN, "y", "bths"},
                 {IN, "qkv", "bt3hs"},
                 {IN, "max", "bht"},
                 {IN, "sum", "bht"}},
     .scratch_size = attention_backward_scratch,
     .prepare = prepare_attention_backward},
    {.name = "crossentropy_forward",
     .run = run_crossentropy_forward,
     .reference = run_crossentropy_forward_ref,
     .judge = judge_crossentropy_forward,
     .has_parts = 1,
     .sizes = "rc",
     .scalars = "p",
     .tensors = {{OUT, "loss", "r"},
                 {OPTIONAL_OUT, "max", "r"},
                 {OPTIONAL_OUT, "sum", "r"},
                 {IN, "logits", "rc"},
                 {IN, "targets", "r", TARGETS}},
     .classes = 'c'},
    {.name = "crossentropy_backward",
     .run = run_crossentropy_backward,
     .reference = run_crossentropy_backward_ref,
     .judge = judge_crossentropy_backward,
     .has_parts = 1,
     .sizes = "rc",
     .scalars = "fp",
     .tensors = {{OUT, "dlogits", "rc"},
                 {IN, "logits", "rc"},
                 {IN, "targets", "r", TARGETS},
                 {IN, "max", "r"},
                 {IN, "sum", "r"}},
     .alias = {{0, 1}},
     .classes = 'c',
     .prepare = prepare_crossentropy},
    {.name = "mse_forward",
     .run = run_mse_forward,
     .reference = run_mse_forward_ref,
     .judge = judge_mse_forward,
     .has_parts = 1,
     .sizes = "rc",
     .tensors = {{OUT, "loss", "r"}, {IN, "x", "rc"}, {IN, "target", "rc"}}},
    {.name = "mse_backward",
     .run = run_mse_backward,
     .reference = run_mse_backward_ref,
     .judge = judge_mse_backward,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "f",
     .tensors = {{OUT, "dx", "n"}, {IN, "x", "n"}, {IN, "target", "n"}},
     .alias = {{0, 1}}},
    {.name = "sgd_step",
     .run = run_sgd_step,
     .reference = run_sgd_step_ref,
     .judge = judge_sgd,
     .sizes = "n",
     .scalars = "lbblF",
     .tensors = {{INOUT, "weight", "n"}, {OPTIONAL_INOUT, "velocity", "n"}, {IN, "grad", "n"}}},
    {.name = "adam_step",
     .run = run_adam_step,
     .reference = run_adam_step_ref,
     .judge = judge_adam,
     .sizes = "n",
     .scalars = "lbbElccF",
     .tensors = {{INOUT, "weight", "n"},
                 {INOUT, "mean", "n"},
                 {INOUT, "square", "n", POSITIVES},
                 {IN, "grad", "n"}}},
    {.name = "mean",
     .run = run_mean,
     .reference = run_mean_ref,
     .judge = judge_mean,
     .sizes = "rc",
     .tensors = {{OUT, "mean", "r"}, {IN, "x", "rc"}}},
    {.name = "var",
     .run = run_var,
     .reference = run_var_ref,
     .judge = judge_var,
     .sizes = "rc",
     .scalars = "k",
     .tensors = {{OUT, "var", "r"}, {IN, "x", "rc"}}},
    {.name = "sum",
     .run = run_sum,
     .reference = run_sum_ref,
     .judge = judge_sum,
     .sizes = "rc",
     .tensors = {{OUT, "sum", "r"}, {IN, "x", "rc"}}},
    {.name = "max",
     .run = run_max,
     .reference = run_max_ref,
     .sizes = "rc",
     .least = {0, 1},
     .most = {0, INT32_MAX},
     .tensors = {{OPTIONAL_OUT, "max", "r"}, {OPTIONAL_OUT, "indices", "r", INTEGERS}, {IN, "x", "rc"}}},
    {.name = "square_sum",
     .run = run_square_sum,
     .reference = run_square_sum_ref,
     .judge = judge_square_sum,
     .sizes = "n",
     .tensors = {{OUT, "sum", "2", DOUBLES}, {IN, "x", "n"}}},
    {.name = "add",
     .run = run_add,
     .reference = run_add_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "sub",
     .run = run_sub,
     .reference = run_sub_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "mul",
     .run = run_mul,
     .reference = run_mul_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "div",
     .run = run_div,
     .reference = run_div_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "sqrt",
     .run = run_sqrt,
     .reference = run_sqrt_ref,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "exp",
     .run = run_exp,
     .reference = run_exp_ref,
     .judge = judge_exp,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "transpose",
     .run = run_transpose,
     .judge = judge_transpose,
     .sizes = "krci",
     .tensors = {{OUT, "y", "kcri"}, {IN, "x", "krci"}}},
    {.name = "linear_init",
     .run = run_linear_init,
     .judge = judge_linear_init,
     .sizes = "io",
     .least = {1, 0},
     .tensors = {{OUT, "weight", "oi"}, {OPTIONAL_OUT, "bias", "o"}, {INOUT, "random", "", STATE}}},
    {.name = "random_seed",
     .run = run_random_seed,
     .judge = judge_nothing,
     .sizes = "",
     .scalars = "s",
     .tensors = {{OUT, "random", "", STATE}}},
    {.name = "random_uniform",
     .run = run_random_uniform,
     .judge = judge_uniform,
     .sizes = "n",
     .scalars = "<>",
     .tensors = {{OUT, "y", "n"}, {INOUT, "random", "", STATE}}},
    {.name = "random_words",
     .run = run_random_words,
     .judge = judge_nothing,
     .sizes = "n",
     .tensors = {{OUT, "words", "n", INTEGERS}, {INOUT, "random", "", STATE}}},
    {.name = "random_normal",
     .run = run_random_normal,
     .judge = judge_normal,
     .sizes = "n",
     .scalars = "md",
     .tensors = {{OUT, "y", "n"}, {INOUT, "random", "", STATE}}},
    {.name = "attention_cached_forward",
     .run = run_attention_cached_forward,
     .reference = run_attention_cached_forward_ref,
     .judge = judge_attention_cached,
     .has_parts = 1,
     .sizes = "btphs",
     .least = {0, 0, 0, 0, 1},
     .scalars = "+", /* room for more tokens: 0 to 2 */
     .tensors =
         {{OUT, "y", "bths"}, {INOUT, "keys"}, {INOUT, "values"}, {SCRATCH, "scratch"}, {IN, "qkv", "bt3hs"}},
     .scratch_size = attention_cached_scratch,
     .count = cache_count},
    {.name = "int8_quantize",
     .run = run_int8_quantize,
     .judge = judge_int8_quantize,
     .sizes = "oi",
     .scalars = "gDF",
     .tensors = {{OUT, "quantized", NULL, BYTES}, {IN, "weight", "oi", FINITES}},
     .count = quantize_count},
    {.name = "int8_pack",
     .run = run_int8_pack,
     .judge = judge_int8_pack,
     .sizes = "oi",
     .scalars = "gD",
     .tensors = {{INOUT, "quantized", NULL, BYTES}, {IN, "plain", NULL, BYTES}},
     .count = pack_count},
    {.name = "int8_dequantize",
     .run = run_int8_dequantize,
     .judge = judge_int8_dequantize,
     .sizes = "oi",
     .scalars = "gD",
     .tensors = {{OUT, "weight", "oi"}, {IN, "quantized"}},
     .count = quantize_count},
    {.name = "int8_linear_forward",
     .run = run_int8_linear_forward,
     .reference = run_int8_linear_forward_ref,
     .judge = judge_int8_linear,
     .prepare = prepare_int8_linear,
     .has_parts = 1,
     .sizes = "rio",
     .scalars = "gD",
     .tensors = {{OUT, "y", "ro"},
                 {SCRATCH, "scratch"},
                 {IN, "x", "ri"},
                 {IN, "quantized"},
                 {OPTIONAL_IN, "bias", "o"}},
     .scratch_size = int8_linear_scratch,
     .count = int8_linear_count},
    {.name = "int8_embedding_forward",
     .run = run_int8_embedding_forward,
     .reference = run_int8_embedding_forward_ref,
     .has_parts = 1,
     .sizes = "rnd",
     .scalars = "gD",
     .tensors = {{OUT, "y", "rd"}, {IN, "indices", "r", INDICES}, {IN, "quantized"}},
     .classes = 'n',
     .count = int8_embedding_count},
    {.name = "log",
     .run = run_log,
     .reference = run_log_ref,
     .judge = judge_log,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "tanh",
     .run = run_tanh,
     .reference = run_tanh_ref,
     .judge = judge_tanh,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "pow",
     .run = run_pow,
     .reference = run_pow_ref,
     .judge = judge_pow,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "x",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "abs",
     .run = run_abs,
     .reference = run_abs_ref,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "abs_backward",
     .run = run_abs_backward,
     .reference = run_abs_backward_ref,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "dx", "n"}, {IN, "dy", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "attention_int8_forward",
     .run = run_attention_int8_forward,
     .reference = run_attention_int8_forward_ref,
     .judge = judge_attention_int8,
     .prepare = prepare_attention_int8,
     .has_parts = 1,
     .sizes = "btphs",
     .least = {0, 0, 0, 0, 1},
     .scalars = "+D", /* room for more tokens, 0 to 2; dot */
     .tensors =
         {{OUT, "y", "bths"}, {INOUT, "keys"}, {INOUT, "values"}, {SCRATCH, "scratch"}, {IN, "qkv", "bt3hs"}},
     .scratch_size = attention_int8_scratch,
     .count = int8_cache_count},
    {.name = "maximum",
     .run = run_maximum,
     .reference = run_maximum_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "minimum",
     .run = run_minimum,
     .reference = run_minimum_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "eq",
     .run = run_eq,
     .reference = run_eq_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "ne",
     .run = run_ne,
     .reference = run_ne_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "lt",
     .run = run_lt,
     .reference = run_lt_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "le",
     .run = run_le,
     .reference = run_le_ref,
     .sizes = "rcabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 1}, {0, 2}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "where",
     .run = run_where,
     .reference = run_where_ref,
     .sizes = "rckmabxy",
     .tensors = {{OUT, "y", "rc"}, {IN, "condition"}, {IN, "a"}, {IN, "b"}},
     .alias = {{0, 2}, {0, 3}},
     .count = operand_count,
     .choose = choose_steps},
    {.name = "sin",
     .run = run_sin,
     .reference = run_sin_ref,
     .judge = judge_sin,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "cos",
     .run = run_cos,
     .reference = run_cos_ref,
     .judge = judge_cos,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "sigmoid",
     .run = run_sigmoid,
     .reference = run_sigmoid_ref,
     .judge = judge_sigmoid,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "silu_forward",
     .run = run_silu_forward,
     .reference = run_silu_forward_ref,
     .judge = judge_silu_forward,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "silu_backward",
     .run = run_silu_backward,
     .reference = run_silu_backward_ref,
     .judge = judge_silu_backward,
     .has_parts = 1,
     .sizes = "n",
     .tensors = {{OUT, "dx", "n"}, {IN, "dy", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "clamp",
     .run = run_clamp,
     .reference = run_clamp_ref,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "vv",
     .tensors = {{OUT, "y", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "clamp_backward",
     .run = run_clamp_backward,
     .reference = run_clamp_backward_ref,
     .has_parts = 1,
     .sizes = "n",
     .scalars = "vv",
     .tensors = {{OUT, "dx", "n"}, {IN, "dy", "n"}, {IN, "x", "n"}},
     .alias = {{0, 1}}},
    {.name = "sum_columns",
     .run = run_sum_columns,
     .reference = run_sum_columns_ref,
     .judge = judge_sum_columns,
     .has_parts = 1,
     .sizes = "krc",
     .tensors = {{OUT, "sum", "kc"}, {IN, "x", "krc"}}},
};
const size_t kernel_count = sizeof kernels / sizeof *kernels;

uint64_t kernel_calls;
