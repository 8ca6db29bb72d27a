/* What Linear and Conv1D promise alike: the gradients of a layer with a weight and a bias. */
#ifndef GPT_WEIGHTED_H
#define GPT_WEIGHTED_H

#include <stddef.h>

/* weight [out, in] or [in, out] */
typedef struct weighted {
    size_t (*scratch_size)(size_t rows, size_t out);
    int (*backward)(float *dx, float *dweight, float *dbias, float *scratch, const float *dy, const float *x,
                    const float *weight, size_t rows, size_t in, size_t out);
    int (*reference)(float *dx, float *dweight, float *dbias, float *scratch, const float *dy, const float *x,
                     const float *weight, size_t rows, size_t in, size_t out);
    int (*part)(float *dx, float *dweight, float *dbias, float *scratch, const float *dy, const float *x,
                const float *weight, size_t rows, size_t in, size_t out, size_t part, size_t parts);
} weighted;

/* Bit for bit, also in parts and with only some of the outputs wanted. */
void weighted_is_exact_on_whole_numbers(weighted layer);
/* Within the bound of the roundings; see linear.c. */
void weighted_agrees(weighted layer);
void weighted_agrees_on_specials(weighted layer);
void weighted_without_rows_or_outputs(weighted layer);
void weighted_refuses(weighted layer);

#endif
