/* What Linear and Conv1D promise alike. The two layers differ only in the layout of the weight: [out, in] or
 * [in, out]. */
#ifndef GPT_TEST_AFFINE_H
#define GPT_TEST_AFFINE_H

#include <stddef.h>

typedef struct affine {
    size_t (*forward_scratch_size)(size_t rows, size_t in);
    size_t (*backward_scratch_size)(size_t rows, size_t out);
    int (*forward)(float *y, float *scratch, const float *x, const float *weight, const float *bias,
                   size_t rows, size_t in, size_t out, size_t part, size_t parts);
    void (*forward_ref)(float *y, const float *x, const float *weight, const float *bias, size_t rows,
                        size_t in, size_t out);
    int (*backward)(float *dx, float *dweight, float *dbias, float *scratch, const float *dy, const float *x,
                    const float *weight, size_t rows, size_t in, size_t out, size_t part, size_t parts);
    void (*backward_ref)(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                         const float *weight, size_t rows, size_t in, size_t out);
} affine;

/* A small example by hand: kernel and reference, forward and backward. Both arrays have 6 elements: the
 * weight 1 0 | 0.5 -1 | 2 2 and its gradient -2 -2 | 2 4 | 6 10, one output after the other, in the layer's
 * layout. */
void affine_known_values(affine layer, const float *weight, const float *dweight);

/* Small integers are summed without rounding, so kernel and reference agree bit for bit, also in parts. */
void affine_forward_is_exact(affine layer);
void affine_backward_is_exact(affine layer); /* also with only some of the outputs */

/* Random numbers stay within the bound of the roundings. */
void affine_forward_agrees(affine layer);
void affine_backward_agrees(affine layer);

/* One special value at each position of each input, among numbers of at most 1/2: then FLT_MAX times one of
 * them and the rest of the sum are still finite. */
void affine_forward_agrees_on_specials(affine layer);
void affine_backward_agrees_on_specials(affine layer);

#endif
