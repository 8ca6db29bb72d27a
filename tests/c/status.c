#include <limits.h>
#include <string.h>

#include "check.h"
#include "gpt_layers.h"

static void texts(void)
{
    static const struct {
        int status;
        const char *text;
    } expected[] = {
        {GPT_OK, "ok"},
        {GPT_ERR_NULL, "a required pointer is NULL"},
        {GPT_ERR_SIZE, "a size is 0 or too large to address"},
        {GPT_ERR_VALUE, "a value is out of its range"},
        {1, "unknown status"},
        {-4, "unknown status"},
        {INT_MAX, "unknown status"},
        {INT_MIN, "unknown status"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *text = gpt_status_text(expected[i].status);
        expect(strcmp(text, expected[i].text) == 0, "status %d: expected \"%s\", got \"%s\"",
               expected[i].status, expected[i].text, text);
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
    promise("every status has its text, and any other number is an unknown status", texts);
    promise("a build knows whether it is the relaxed one, and has no stack at NULL", builds);
}

SUITE("status", test_status)
