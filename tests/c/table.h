/* The kernels as a table: how each is called, with which tensors, sizes and scalars, and what its outputs may
 * differ from its reference's. The rows are in table.c. */
#ifndef GPT_TABLE_H
#define GPT_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_TENSORS = 10, MOST_SIZES = 8, MOST_SCALARS = 8 };

/* The arguments of a call: tensors, sizes and scalars in the order of gpt_layers.h. */
typedef struct call {
    void *t[MOST_TENSORS];
    size_t s[MOST_SIZES];
    double v[MOST_SCALARS];
    size_t part, parts;
} call;

typedef enum role {
    NO_TENSOR,
    OUT,
    OPTIONAL_OUT,
    INOUT, /* read and written */
    OPTIONAL_INOUT,
    IN,
    OPTIONAL_IN,
    SCRATCH
} role;

typedef enum content {
    FLOATS,
    POSITIVES, /* floats >= 0 */
    FINITES,   /* floats, GPT_ERR_VALUE if one is not finite */
    INDICES,   /* int32 from 0 to the kernel's `classes` - 1 */
    TARGETS,   /* the same, or GPT_IGNORE */
    INTEGERS,  /* int32 */
    BYTES,     /* int8, four in a word */
    DOUBLES,   /* an output of float64, of two words each */
    STATE      /* a gpt_random, seeded */
} content;

typedef struct tensor {
    role role;
    const char *name;
    /* A product of sizes, by their letters in `sizes`, and of digits: "bt3hs". "" is 1. NULL: see `count`. */
    const char *dims;
    content content;
} tensor;

typedef struct trial trial;

typedef struct kernel {
    const char *name;
    int (*run)(const call *c);
    void (*reference)(const call *c);
    /* Checks the outputs, where the inputs are in the domain of the contract. NULL: the bits of the
     * reference. */
    void (*judge)(const trial *t);
    int has_parts;
    const char *sizes;        /* a letter for each size */
    size_t least[MOST_SIZES]; /* what a size must be at least */
    size_t most[MOST_SIZES];  /* what it may be at most; 0: what is addressable */
    const char *scalars;      /* a letter for each scalar: see scalar() */
    /* "y:rc max?:r keys*": names and dims in the header's order. ?: may be NULL. *: also read. */
    const char *outputs, *inputs;
    content contents[MOST_TENSORS];               /* by the tensor's place among the arguments */
    size_t may_be[2];                             /* the inputs that output 0 may be; 0 for none */
    char classes;                                 /* the size that bounds INDICES or TARGETS */
    size_t (*scratch_size)(const call *c);        /* floats for one part */
    size_t (*count)(const call *c, size_t which); /* elements of a tensor without dims */
    void (*choose)(call *c, uint32_t random);     /* sets sizes that depend on other sizes */
    void (*prepare)(trial *t);                    /* writes inputs that another kernel makes */
    tensor tensors[MOST_TENSORS];                 /* outputs, scratch, inputs: made by add_kernel() */
    char text[96];                                /* their names and dims */
} kernel;

/* A row: how the kernel is called, its reference with the same arguments, and its other fields. */
#define KERNEL(name_, call_, reference_, ...)                                                                \
    static int run_##name_(const call *c) { return call_; }                                                  \
    static void reference_of_##name_(const call *c)                                                          \
    {                                                                                                        \
        (void)c;                                                                                             \
        reference_;                                                                                          \
    }                                                                                                        \
    __attribute__((constructor)) static void add_##name_(void)                                               \
    {                                                                                                        \
        static kernel k = {                                                                                  \
            .name = #name_, .run = run_##name_, .reference = reference_of_##name_, __VA_ARGS__};             \
        add_kernel(&k);                                                                                      \
    }
#define NO_REFERENCE (void)0 /* the judge knows what is right */

/* In a row: tensor i, the first i tensors, size i, the first i sizes, scalar i as a float, double, int or
 * uint32_t. */
#define T(i) c->t[i]
#define T2 T(0), T(1)
#define T3 T2, T(2)
#define T4 T3, T(3)
#define T5 T4, T(4)
#define T6 T5, T(5)
#define T7 T6, T(6)
#define T8 T7, T(7)
#define T9 T8, T(8)
#define S(i) c->s[i]
#define S2 S(0), S(1)
#define S3 S2, S(2)
#define S4 S3, S(3)
#define S6 S4, S(4), S(5)
#define S8 S6, S(6), S(7)
#define F(i) ((float)c->v[i])
#define D(i) c->v[i]
#define I(i) ((int)c->v[i])
#define U(i) ((uint32_t)c->v[i])
#define PARTS c->part, c->parts
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* what a row leaves out is 0 */

/* What a tensor's values can be: judges have a domain. */
enum {
    SMALL = 0,       /* |x| <= 2 */
    MODERATE = 1,    /* up to 1e6: means of 1e4, logits of 100 */
    WIDE = 2,        /* up to 1e18 */
    HUGE_VALUES = 4, /* up to the largest float */
    NOT_FINITE = 8
};

struct trial {
    const kernel *k;
    call c;                       /* its outputs are those of the whole call */
    void *before[MOST_TENSORS];   /* what is read and written, before the call */
    void *expected[MOST_TENSORS]; /* outputs of the reference */
    size_t n[MOST_TENSORS];       /* words of 4 bytes */
    unsigned range[MOST_TENSORS]; /* of inputs: SMALL, or several of the others */
    int prepared;                 /* whether prepare() has run, or there is none */
    int is_whole;                 /* whether all floats are small whole numbers */
    int status;                   /* GPT_ERR_VALUE if an index or a number is wrong */
};

enum { MOST_KERNELS = 128 };
extern const kernel *kernels[MOST_KERNELS]; /* by name */
extern size_t kernel_count;

void add_kernel(kernel *k);

/* A size that no tensor can have, as the number of its elements. */
#define UNADDRESSABLE SIZE_MAX

/* Most floats of a tensor, as gpt_layers.h has it. */
#define MOST_ADDRESSABLE ((size_t)PTRDIFF_MAX / sizeof(float) - 31)

/* Most words of a tensor. */
enum { MOST_WORDS = 20000 };

/* In a judge: floats of tensor i, what the reference made of it, and what was there before; its name; size i. */
#define FLOATS_OF(i) ((const float *)t->c.t[i])
#define EXPECTED(i) ((const float *)t->expected[i])
#define BEFORE(i) ((const float *)t->before[i])
#define NAME(i) (t->k->tensors[i].name)
#define SIZE(i) (t->c.s[i])

#endif
