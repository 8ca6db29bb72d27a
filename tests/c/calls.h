/* Arguments of calls that the table describes: sizes of tensors, scalars in and out of their range, and
 * comparisons that print a tensor's elements as what they are. */
#ifndef GPT_CALLS_H
#define GPT_CALLS_H

#include "table.h"

/* ---- Tensors, by their place among the arguments ---- */

int is_output(const kernel *k, size_t i);
int is_input(const kernel *k, size_t i);
int is_optional(const kernel *k, size_t i);

/* The value of a size's letter. A digit is its own value. */
size_t size_of(const kernel *k, const call *c, char letter);

/* Words of a tensor, or UNADDRESSABLE. 0 for scratch. */
size_t words_of(const kernel *k, const call *c, size_t i);

/* Halves the largest of the first `n` sizes until their product is at most `most_work` and every tensor has
 * at most MOST_WORDS. Tokens count twice in the product. */
void limit_sizes(const kernel *k, call *c, size_t n, size_t most_work);

/* ---- Scalars, by their letter in the table ---- */

/* A value in the scalar's range or, if `bad`, out of it. `choice` is any number. */
double scalar(char kind, unsigned choice, int bad);

/* Whether a scalar of this kind has values out of its range: BAD_SCALARS choices reach all of them. */
int can_be_bad(char kind);
enum { BAD_SCALARS = 6 };

/* ---- Elements ---- */

/* Like expect_same(). Integers are compared and printed as integers, bytes as bytes. */
void expect_same_tensor(const tensor *t, const void *got, const void *expected, size_t n);

/* Prints a line with the number of elements and the first of them. */
void print_tensor(const char *name, content kind, const void *words, size_t n);

#endif
