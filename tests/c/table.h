/* The kernels as a table: their tensors, sizes and scalars, as gpt_layers.h has them. The rows are in
 * table.c, the bounds of their outputs in judges.c. rules.c and the fuzzer make calls from this table. */
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
    void (*reference)(const call *c); /* NULL if there is none */
    /* Checks the outputs, where the inputs are in the domain of the contract. NULL: the bits of the
     * reference. */
    void (*judge)(const trial *t);
    int has_parts;
    const char *sizes;            /* a letter for each size */
    size_t least[MOST_SIZES];     /* what a size must be at least */
    size_t most[MOST_SIZES];      /* what it may be at most; 0: what is addressable */
    const char *scalars;          /* a letter for each scalar: see scalar() */
    tensor tensors[MOST_TENSORS]; /* in the order of the arguments */
    struct {
        int output, input;
    } alias[2];                                   /* "y may be x"; output 0, input 0: none */
    char classes;                                 /* the size that bounds INDICES or TARGETS */
    size_t (*scratch_size)(const call *c);        /* floats for one part */
    size_t (*count)(const call *c, size_t which); /* elements of a tensor without dims */
    void (*choose)(call *c, uint32_t random);     /* sets sizes that depend on other sizes */
    void (*prepare)(trial *t);                    /* writes inputs that another kernel makes */
} kernel;

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
};

extern const kernel kernels[];
extern const size_t kernel_count;

/* A size that no tensor can have, as the number of its elements. */
#define UNADDRESSABLE SIZE_MAX

/* Most floats of a tensor, as gpt_layers.h has it. */
#define MOST_ADDRESSABLE ((size_t)PTRDIFF_MAX / sizeof(float) - 31)

/* Most words of a tensor. */
enum { MOST_WORDS = 20000 };

/* Calls of kernels so far. prepare() adds its own. */
extern uint64_t kernel_calls;

#endif
