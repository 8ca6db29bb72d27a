/* Dropout's mask as a hash of a seed and an element's index. Backward needs only the seed to find the same
 * mask, and every thread can compute every element.
 *
 * The hash is lowbias32 (C. Wellons, "Prospecting for hash functions", 2018) with the better constants found
 * later. On consecutive indices, its words for neighboring elements correlate by up to 8 standard deviations
 * over 2^20 elements. Indices in steps of 2^32 / φ remove this correlation. The seed enters before the first
 * round and, hashed, between the rounds: otherwise the mask of one seed would be the mask of another seed,
 * shifted.
 */
#ifndef GPT_MASK_H
#define GPT_MASK_H

#include "simd.h"

#define GPT_MASK_STEP 0x9e3779b9u

static inline uint32_t gpt_mask_hash(uint32_t x, uint32_t key)
{
    x = (x ^ (x >> 16)) * 0x21f0aaadu ^ key;
    x = (x ^ (x >> 15)) * 0xd35a2d97u;
    return x ^ (x >> 15);
}

/* The hashed seed that enters between the rounds. */
static inline uint32_t gpt_mask_key(uint32_t seed) { return gpt_mask_hash(seed + GPT_MASK_STEP, 0); }

/* 32 random bits for one element. */
static inline uint32_t gpt_mask_word(uint32_t seed, uint32_t index)
{
    return gpt_mask_hash(index * GPT_MASK_STEP + seed, gpt_mask_key(seed));
}

/* Whether p is a probability. NaN is not. */
static inline int gpt_mask_valid(float p) { return p >= 0.0f && p <= 1.0f; }

/* The seed and p as vectors: made once for a call. An element is dropped if its word is less than the threshold,
 * otherwise multiplied by the scale. With p = 1, the few words that are not less are multiplied by 0. */
typedef struct gpt_mask {
    v128_t start, key, threshold, scale;
} gpt_mask;

GPT_INLINE gpt_mask gpt_mask_of(uint32_t seed, float p)
{
    const uint32_t threshold = p < 1.0f ? (uint32_t)((double)p * 0x1p32) : UINT32_MAX;
    const float scale = p < 1.0f ? (float)(1.0 / (1.0 - (double)p)) : 0.0f;
    return (gpt_mask){
        .start = wasm_i32x4_make((int32_t)seed, (int32_t)(seed + GPT_MASK_STEP),
                                 (int32_t)(seed + 2 * GPT_MASK_STEP), (int32_t)(seed + 3 * GPT_MASK_STEP)),
        .key = wasm_i32x4_splat((int32_t)gpt_mask_key(seed)),
        .threshold = wasm_i32x4_splat((int32_t)threshold),
        .scale = wasm_f32x4_splat(scale),
    };
}

/* The factors of the elements index ... index + 3: 0 if dropped, otherwise 1 / (1 - p). */
GPT_INLINE v128_t gpt_mask_factors(const gpt_mask *mask, uint32_t index)
{
    v128_t x = wasm_i32x4_add(mask->start, wasm_i32x4_splat((int32_t)(index * GPT_MASK_STEP)));
    x = wasm_i32x4_mul(wasm_v128_xor(x, wasm_u32x4_shr(x, 16)), wasm_i32x4_splat(0x21f0aaad));
    x = wasm_v128_xor(x, mask->key);
    x = wasm_i32x4_mul(wasm_v128_xor(x, wasm_u32x4_shr(x, 15)), wasm_i32x4_splat((int32_t)0xd35a2d97u));
    x = wasm_v128_xor(x, wasm_u32x4_shr(x, 15));
    return wasm_v128_and(mask->scale, wasm_u32x4_ge(x, mask->threshold));
}

#endif
