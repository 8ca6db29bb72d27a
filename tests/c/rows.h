/* What the rows of the table of kernels are written with. */
#ifndef GPT_ROWS_H
#define GPT_ROWS_H

#include "table.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* what a row leaves out is 0 */

/* The arguments of a call: tensor i, size i, scalar i as a float, double, int or uint32_t. */
#define T(i) c->t[i]
#define S(i) c->s[i]
#define F(i) ((float)c->v[i])
#define D(i) c->v[i]
#define I(i) ((int)c->v[i])
#define U(i) ((uint32_t)c->v[i])
#define PARTS c->part, c->parts

/* run_<name> and run_<name>_ref call gpt_<name> and its reference, which has the same arguments. */
#define WITH_PARTS(name, ...)                                                                                \
    static int run_##name(const call *c) { return gpt_##name(__VA_ARGS__, PARTS); }                          \
    static void run_##name##_ref(const call *c) { gpt_##name##_ref(__VA_ARGS__); }
#define PARTS_ONLY(name, ...)                                                                                \
    static int run_##name(const call *c) { return gpt_##name(__VA_ARGS__, PARTS); }
#define REFERENCE(name, ...)                                                                                 \
    static void run_##name##_ref(const call *c) { gpt_##name##_ref(__VA_ARGS__); }
#define WITHOUT_PARTS(name, ...)                                                                             \
    static int run_##name(const call *c) { return gpt_##name(__VA_ARGS__); }                                 \
    static void run_##name##_ref(const call *c) { gpt_##name##_ref(__VA_ARGS__); }
#define WITHOUT_REFERENCE(name, ...)                                                                         \
    static int run_##name(const call *c) { return gpt_##name(__VA_ARGS__); }

#endif
