/* What every kernel of the form f(y, x, n) promises. The tests of gelu, relu and sqrt use these functions. */
#ifndef GPT_UNARY_H
#define GPT_UNARY_H

#include <stddef.h>

typedef int (*unary)(float *y, const float *x, size_t n);
typedef void (*unary_ref)(float *y, const float *x, size_t n);

/* For random x in [low, high], the kernel agrees with its reference: within `tolerance` as in
 * expect_close, or bit for bit if `tolerance` is 0. */
void unary_agrees(unary kernel, unary_ref reference, float low, float high, double tolerance);

/* The same for every special value at every position of a vector and of a tail, among ordinary values. */
void unary_agrees_on_specials(unary kernel, unary_ref reference, double tolerance);

/* The result for a value has the same bits at every position and with any neighbors. */
void unary_is_elementwise(unary kernel);

#endif
