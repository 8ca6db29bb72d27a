/* What Linear and Conv1D share: the check and the plain references. The two layers differ only in the layout
 * of the weight: [out, in] or [in, out].
 */
#ifndef GPT_AFFINE_H
#define GPT_AFFINE_H

#include "gpt_layers.h"
#include "simd.h"

/* `y` is forward's y or backward's dy; `scratch_size` is for each part. */
static inline int gpt_affine_check(const float *y, const float *scratch, size_t scratch_size, const float *x,
                                   const float *weight, size_t rows, size_t in, size_t out, size_t part,
                                   size_t parts)
{
    if (!y || !scratch || !x || !weight) return GPT_ERR_NULL;
    if (!gpt_fits(rows, in) || !gpt_fits(rows, out) || !gpt_fits(in, out) || !gpt_fits(scratch_size, parts))
        return GPT_ERR_SIZE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

/* The weight of input i for output o is weight[o · steps.out + i · steps.in]. */
typedef struct gpt_steps {
    size_t out, in;
} gpt_steps;

/* Inlined, so that a step of 1 is a constant. */
GPT_INLINE void gpt_affine_forward_plain(float *y, const float *x, const float *weight, gpt_steps steps,
                                         const float *bias, size_t rows, size_t in, size_t out)
{
    for (size_t r = 0; r < rows; r++) {
        const float *x_r = x + r * in;
        for (size_t o = 0; o < out; o++) {
            /* y[r,o] = Σ_i x[r,i] · weight[o,i] + bias[o] */
            const float *weight_o = weight + o * steps.out;
            double sum = 0.0;
            for (size_t i = 0; i < in; i++) sum += (double)x_r[i] * (double)weight_o[i * steps.in];
            if (bias) sum += (double)bias[o];
            y[r * out + o] = (float)sum;
        }
    }
}

GPT_INLINE void gpt_affine_backward_plain(float *dx, float *dweight, float *dbias, const float *dy,
                                          const float *x, const float *weight, gpt_steps steps, size_t rows,
                                          size_t in, size_t out)
{
    for (size_t r = 0; dx && r < rows; r++) {
        for (size_t i = 0; i < in; i++) {
            /* dx[r,i] = Σ_o dy[r,o] · weight[o,i] */
            double sum = 0.0;
            for (size_t o = 0; o < out; o++)
                sum += (double)dy[r * out + o] * (double)weight[o * steps.out + i * steps.in];
            dx[r * in + i] = (float)sum;
        }
    }
    for (size_t o = 0; dweight && o < out; o++) {
        for (size_t i = 0; i < in; i++) {
            /* dweight[o,i] = Σ_r dy[r,o] · x[r,i] */
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + o] * (double)x[r * in + i];
            dweight[o * steps.out + i * steps.in] = (float)sum;
        }
    }
    for (size_t o = 0; dbias && o < out; o++) {
        /* dbias[o] = Σ_r dy[r,o] */
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) sum += (double)dy[r * out + o];
        dbias[o] = (float)sum;
    }
}

#endif
