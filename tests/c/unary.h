/* What every kernel of the form f(y, x, n) promises. The kernels' own files say it by name. */
#ifndef GPT_UNARY_H
#define GPT_UNARY_H

#include <stddef.h>

typedef int (*unary)(float *y, const float *x, size_t n);

/* `expect_close` and `expect_same` as the comparison: a tolerance of 0 means the same bits. */
void unary_agrees(unary kernel, unary reference, float low, float high, double tolerance);

/* Each special value at each place of a vector and of a tail, among ordinary ones. */
void unary_agrees_on_specials(unary kernel, unary reference, double tolerance);

/* The result for a value is the same bits, whatever its place and its neighbours. */
void unary_is_elementwise(unary kernel);

/* y may be x. */
void unary_in_place(unary kernel);

/* NULL, sizes that cannot be addressed; and that an empty tensor is no error. */
void unary_refuses(unary kernel);

#endif
