/* Runs the promises of all kernels, or those that the arguments name. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "table.h"

/* Whether one of the names selects a kernel of the table. */
static int selects_kernel(void)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (is_named(kernels[i]->name)) return 1;
    return 0;
}

static int selects_suite(void)
{
    for (const suite *s = suites; s; s = s->next)
        if (is_named(s->name)) return 1;
    return 0;
}

static int names_nothing(const char *name)
{
    printf("no test has the name %s. Tests:\n", name);
    for (const suite *s = suites; s; s = s->next) printf(" %s", s->name);
    printf("\nKernels, by the rules for every kernel:\n");
    for (size_t i = 0; i < kernel_count; i++) printf(" %s", kernels[i]->name);
    printf("\n");
    return 2;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        set_names(argv + i, 1);
        if (!selects_suite() && !selects_kernel()) return names_nothing(argv[i]);
    }
    set_names(argv + 1, argc > 1 ? (size_t)argc - 1 : 0);
    for (const suite *s = suites; s; s = s->next)
        run_suite(s, is_named(s->name) || (strcmp(s->name, "rules") == 0 && selects_kernel()));
    return summary();
}

/* The sanitizers' options. Kernels do not allocate, so nothing can leak; and the leak checker fails where
 * ptrace is forbidden. Before it aborts, the program names the case. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0:abort_on_error=1"; }

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "print_stacktrace=1:abort_on_error=1"; }
