/* What both key/value caches share; attention_cache.h explains it. */
#include "attention_cache.h"

int gpt_attention_with(const gpt_cache *cache, float *y, float *keys, float *values, float *scratch,
                       const float *qkv, size_t batch, size_t tokens, size_t past, size_t capacity,
                       size_t heads, size_t size, size_t part, size_t parts)
{
    const int status = gpt_attention_check(y && keys && values && scratch && qkv, batch, tokens, heads, size,
                                           cache->scratch_size, 0.0f, part, parts);
    if (status) return status;
    if (!gpt_fits4(batch, heads, cache->head_size, 1) || gpt_floats_sum(past, tokens) > capacity)
        return GPT_ERR_SIZE;
    if (batch == 0 || tokens == 0 || heads == 0) return GPT_OK; /* y is empty: skip the loops */
    scratch += part * cache->scratch_size;
    const int by_head = tokens >= FEWEST_TOKENS_BY_HEAD;
    const size_t second = heads - heads / 2; /* the second group begins with this head of a sequence */
    size_t n, some;
    const size_t end = gpt_share(batch * heads, by_head ? 1 : second, part, parts, &n);
    for (; n < end; n += some) {
        /* head number n of all: how many heads are before it in its group, and how many the group has */
        const int is_second = n % heads >= second;
        const size_t before = n % heads - (is_second ? second : 0), in_group = is_second ? heads / 2 : second;
        const size_t group = (n - before) * cache->head_size;
        float *keys_n = keys + group + before * cache->key_piece,
              *values_n = values + group + before * cache->value_piece;
        some = by_head ? 1 : gpt_min(end - n, in_group - before);
        gpt_head a = gpt_head_of(qkv, n, tokens, heads, size, 0, 0.0f);
        a.past = past;
        a.cache_step = in_group * cache->value_piece;
        a.dot = cache->dot;
        gpt_head added = a;
        for (size_t h = 0; h < some; h++, added.k += size, added.v += size)
            cache->append(keys_n + h * cache->key_piece, values_n + h * cache->value_piece, &added);
        a.k = keys_n;
        a.v = values_n;
        cache->attend(y + n / heads * tokens * heads * size + n % heads * size, scratch, &a, some);
    }
    return GPT_OK;
}
