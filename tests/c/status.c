#include <limits.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

static void every_code_has_a_text(void)
{
    static const int codes[] = {GPT_OK, GPT_ERR_NULL, GPT_ERR_SIZE, GPT_ERR_VALUE};
    enum { CODES = sizeof codes / sizeof codes[0] };
    for (size_t i = 0; i < CODES; i++) {
        const char *text = gpt_status_text(codes[i]);
        in_case("status %d", codes[i]);
        expect(text && text[0], "expected a text, got none");
        expect(strcmp(text, "unknown status") != 0, "expected a specific text, got \"%s\"", text);
        for (size_t k = 0; k < i; k++)
            expect(strcmp(text, gpt_status_text(codes[k])) != 0, "has the text of status %d: \"%s\"",
                   codes[k], text);
    }
}

static void other_numbers_are_unknown(void)
{
    static const int numbers[] = {1, -4, 1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *text = gpt_status_text(numbers[i]);
        in_case("status %d", numbers[i]);
        expect(strcmp(text, "unknown status") == 0, "expected \"unknown status\", got \"%s\"", text);
    }
}

static void builds(void)
{
#ifdef __wasm_relaxed_simd__
    expect(gpt_is_relaxed() == 1, "expected the relaxed build");
#else
    expect(gpt_is_relaxed() == 0, "expected the simd build");
#endif
    expect_status(gpt_stack_set(NULL), GPT_ERR_NULL);
#ifndef __wasm__
    expect(gpt_dot_is_fast() == 0, "the native stand-in adds pairs in 16 bits");
    char stack[16];
    expect_status(gpt_stack_set(stack), GPT_OK);
#endif
}

static void test_status(void)
{
    promise("every status code has its own text", every_code_has_a_text);
    promise("any other number is an unknown status", other_numbers_are_unknown);
    promise("a build knows whether it is the relaxed one, and has no stack at NULL", builds);
}

SUITE("status", test_status)
