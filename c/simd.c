#include "simd.h"

size_t gpt_share(size_t n, size_t tile, size_t part, size_t parts, size_t *first)
{
    /* every part gets `each` tiles, and the first `extra` parts one more */
    const size_t tiles = n / tile + (n % tile != 0), each = tiles / parts, extra = tiles % parts;
    const size_t begin = part * each + (part < extra ? part : extra), end = begin + each + (part < extra);
    *first = begin * tile < n ? begin * tile : n;
    return end * tile < n ? end * tile : n;
}

v128_t gpt_load_tail(const float *p, size_t n)
{
    v128_t v = wasm_f32x4_splat(0.0f);
    if (n > 0) v = wasm_v128_load32_lane(p, v, 0);
    if (n > 1) v = wasm_v128_load32_lane(p + 1, v, 1);
    if (n > 2) v = wasm_v128_load32_lane(p + 2, v, 2);
    if (n > 3) v = wasm_v128_load32_lane(p + 3, v, 3);
    return v;
}

void gpt_store_tail(float *p, v128_t v, size_t n)
{
    if (n > 0) wasm_v128_store32_lane(p, v, 0);
    if (n > 1) wasm_v128_store32_lane(p + 1, v, 1);
    if (n > 2) wasm_v128_store32_lane(p + 2, v, 2);
    if (n > 3) wasm_v128_store32_lane(p + 3, v, 3);
}
