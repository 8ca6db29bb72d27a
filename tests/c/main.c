/* Runs the promises of all kernels, or those that the arguments name. */
#include <stdio.h>

#include "check.h"
#include "table.h"

typedef struct group {
    const char *name;
    void (*tests)(void);
} group;

static const group groups[] = {
    {"simd", test_simd},
    {"sizes", test_sizes},
    {"sums", test_sums},
    {"status", test_status},
    {"rules", test_rules},
    {"relu", test_relu},
    {"gelu", test_gelu},
    {"elementwise", test_elementwise},
    {"reduce", test_reduce},
    {"transpose", test_transpose},
    {"gemm", test_gemm},
    {"linear", test_linear},
    {"conv1d", test_conv1d},
    {"int8", test_int8},
    {"layernorm", test_layernorm},
    {"dropout", test_dropout},
    {"embedding", test_embedding},
    {"softmax", test_softmax},
    {"rmsnorm", test_rmsnorm},
    {"batchnorm", test_batchnorm},
    {"feedforward", test_feedforward},
    {"attention", test_attention},
    {"attention_cached", test_attention_cached},
    {"attention_int8", test_attention_int8},
    {"crossentropy", test_crossentropy},
    {"mse", test_mse},
    {"sgd", test_sgd},
    {"adamw", test_adamw},
    {"random", test_random},
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* Whether one of the names selects a kernel of the table. */
static int selects_kernel(void)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (is_named(kernels[i].name)) return 1;
    return 0;
}

static int selects_group(void)
{
    for (size_t i = 0; i < GROUPS; i++)
        if (is_named(groups[i].name)) return 1;
    return 0;
}

static int names_nothing(const char *name)
{
    printf("no test has the name %s. Tests:\n", name);
    for (size_t i = 0; i < GROUPS; i++) printf(" %s", groups[i].name);
    printf("\nKernels, by the rules for every kernel:\n");
    for (size_t i = 0; i < kernel_count; i++) printf(" %s", kernels[i].name);
    printf("\n");
    return 2;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        set_names(argv + i, 1);
        if (!selects_group() && !selects_kernel()) return names_nothing(argv[i]);
    }
    set_names(argv + 1, argc > 1 ? (size_t)argc - 1 : 0);
    for (size_t i = 0; i < GROUPS; i++)
        run_group(groups[i].tests,
                  is_named(groups[i].name) || (groups[i].tests == test_rules && selects_kernel()));
    return summary();
}
