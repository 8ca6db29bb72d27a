/* Dropout: y = x · factor, with the factor 0 for a dropped element and 1/(1 - p) for the others.
 * Srivastava et al. 2014, JMLR 15, in the variant that scales during training. mask.h computes the factors.
 *
 * Bound by the hash in mask.h: ReLU, with the same memory traffic, takes 0.4 times as long.
 */
#include "gpt_layers.h"
#include "mask.h"
#include "reference.h"

static int check(const float *y, const float *x, size_t n, float p, size_t part, size_t parts)
{
    if (!y || !x) return GPT_ERR_NULL;
    if (!gpt_fits(n, 1)) return GPT_ERR_SIZE;
    if (!gpt_mask_valid(p)) return GPT_ERR_VALUE;
    return part < parts ? GPT_OK : GPT_ERR_VALUE;
}

void gpt_dropout_forward_ref(float *y, const float *x, size_t n, uint32_t seed, float p)
{
    for (size_t i = 0; i < n; i++) {
        const int dropped = gpt_mask_word(seed, (uint32_t)i) < gpt_mask_threshold(p);
        /* a product with 0, so that a dropped NaN stays NaN, as in PyTorch */
        y[i] = x[i] * (dropped ? 0.0f : gpt_mask_scale(p));
    }
}

int gpt_dropout_forward(float *y, const float *x, size_t n, uint32_t seed, float p, size_t part, size_t parts)
{
    const int status = check(y, x, n, p, part, parts);
    if (status) return status;
    const gpt_mask mask = gpt_mask_of(seed, p);
    size_t i;
    const size_t end = gpt_share(n, 4, part, parts, &i);
    for (; i + 4 <= end; i += 4)
        wasm_v128_store(y + i, wasm_f32x4_mul(wasm_v128_load(x + i), gpt_mask_factors(&mask, (uint32_t)i)));
    if (i < end)
        gpt_store_tail(y + i,
                       wasm_f32x4_mul(gpt_load_tail(x + i, end - i), gpt_mask_factors(&mask, (uint32_t)i)),
                       end - i);
    return GPT_OK;
}
