/* What gpt_layers.h promises of every kernel, checked with the table of kernels. A trial is a call with its
 * inputs: rules.c makes trials of every kernel at chosen sizes, and the fuzzer makes them of random bytes. */
#ifndef GPT_CONTRACT_H
#define GPT_CONTRACT_H

#include "table.h"

/* ---- Tensors, by their place among the arguments ---- */

size_t tensor_count(const kernel *k);
int is_output(const kernel *k, size_t i);
int is_input(const kernel *k, size_t i);
int is_optional(const kernel *k, size_t i);
int has_indices(const kernel *k, size_t i);

/* The steps between the columns of the operands of gpt_add and the like are among its sizes, but are 0 or 1. */
int is_column_step(const kernel *k, size_t i);

/* The value of a size's letter. A digit is its own value. */
size_t size_of(const kernel *k, const call *c, char letter);

/* Words of a tensor, or UNADDRESSABLE. 0 for scratch. */
size_t words_of(const kernel *k, const call *c, size_t i);

/* Whether every tensor is addressable, and the scratch. */
int is_addressable(const kernel *k, const call *c);

/* ---- Scalars, by their letter in the table ---- */

/* A value in the scalar's range or, if `bad`, out of it. `choice` is any number. */
double scalar(char kind, unsigned choice, int bad);

/* Whether a scalar of this kind has values out of its range: BAD_SCALARS choices reach all of them. */
int can_be_bad(char kind);
enum { BAD_SCALARS = 6 };

/* ---- Trials ---- */

/* Values of an input of floats. */
typedef enum style {
    ORDINARY,      /* |x| <= 2, and a few zeros of both signs */
    WHOLE_NUMBERS, /* from -2 to 2: their sums have no rounding */
    EQUAL,         /* all additions round in the same direction */
    TWO_VALUES,
    FAR_FROM_0, /* a mean of up to 1e5 deviations */
    DENORMALS,  /* and their neighbors */
    LOGITS,     /* |x| <= 100 */
    SATURATED,  /* a few are larger by 10 to 60 */
    OUTLIER,
    MAGNITUDES,   /* 1e-20 to 1e18 */
    HUGE_ONES,    /* from 1e18 on, half of them near the limit */
    SPECIAL_ONES, /* a few zeros, denormals, limits, infinities and NaN */
    ANY_BITS,
    FIRST_APART, /* the first 16 are far from all others. The fuzzer does not have this style. */
    STYLES
} style;

typedef struct choices {
    size_t sizes[MOST_SIZES]; /* made smaller until the product is at most `most_work` */
    size_t most_work;
    unsigned scalars[MOST_SCALARS];
    uint32_t steps;  /* for sizes that depend on other sizes */
    unsigned absent; /* bit i: the optional tensor i is NULL */
    style styles[MOST_TENSORS];
    const float *special; /* one more value, NULL for none */
    size_t special_in, special_at;
    int is_prepared; /* whether inputs that another kernel makes are those that it makes */
} choices;

enum { MOST_SCRATCH_WORDS = 1 << 20 };

/* Makes a trial. Returns 0 if it would need more memory than there is. Random values continue those of
 * check.h. */
int make_trial(trial *t, const kernel *k, const choices *chosen);

/* What is tested next, with the kernel's name and the sizes. */
void in_trial(const trial *t, const char *what);

/* How to make a call again. The result is the same. */
typedef struct way {
    size_t offset;  /* floats that tensors start past a multiple of 16 bytes */
    int is_dirty;   /* outputs and scratch contain ordinary numbers before */
    unsigned omits; /* bit i: tensor i is NULL */
    size_t parts;
    int last_first;
    int is_in_place; /* output 0 is input `alias` */
    size_t alias;
} way;

enum { MOST_PARTS = 5 };
static const way plain = {.parts = 1};

/* The arguments, in buffers with guards. */
call new_call(const trial *t, way w);
int run(const kernel *k, const call *c);

/* The plain call, compared with the reference. Where the trial has a wrong index or a number that is not
 * finite, the call is refused. */
void expect_agreement(const trial *t, unsigned omits);

/* The plain call: the next expectations compare with its outputs. Returns 0 where it is refused. */
int run_plain(const trial *t);
void expect_same_result(const trial *t, way w);

/* Element i alone, of an elementwise kernel. */
void expect_same_element(const trial *t, size_t i);

/* One of more parts than there are elements. The scratch of so many is not addressable, and then it is
 * refused. */
void expect_part_of_many(const trial *t, size_t parts);

/* Whether output 0 may be input i in this trial. */
int may_be_in_place(const trial *t, size_t i);

/* Prints the arguments. */
void print_trial(const trial *t, const call *c);

/* Calls of kernels so far. prepare() and judges do not count. */
extern uint64_t kernel_calls;

#endif
