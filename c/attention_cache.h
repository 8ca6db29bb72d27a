/* Causal attention with a key/value cache: the new tokens' keys and values are appended, then each new
 * token attends to the cache up to itself. attention_forward.c has the equations. attention_cached.c has a
 * cache in float32, attention_int8.c one in int8: each says how it appends and attends, and
 * attention_cache.c does the rest.
 *
 *   keys, values  [batch][2 groups][pieces][heads of the group][piece]
 *
 * A piece is a few tokens of one head. The heads of a sequence are in two groups, one after the other. For
 * one new token, a part reads whole groups, each as one stream, so at most two threads work on a sequence.
 * Without groups, half of the heads took longer than all of them, from memory; each more group costs one
 * thread some 3 microseconds.
 */
#ifndef GPT_ATTENTION_CACHE_H
#define GPT_ATTENTION_CACHE_H

#include "attention.h"

/* Fewer new tokens are computed one by one, all heads of a group at once, so that the cache is read as one
 * stream. So many or more are computed head by head, because each token reads the head again, from the
 * processor's cache. Milliseconds for 12 heads of size 64 at 500 in float32, one by one / head by head: 2
 * tokens 0.30 / 0.67, 6 tokens 0.90 / 0.68. */
enum { FEWEST_TOKENS_BY_HEAD = 5 };

typedef struct gpt_cache {
    size_t head_size;              /* floats of a head, all its pieces */
    size_t key_piece, value_piece; /* floats of a piece */
    size_t scratch_size;           /* floats of scratch for each part */
    int dot;                       /* in int8: the inner loop, see int8.h */
    /* Appends one head's new keys and values, which are at a->k and a->v. keys and values begin with the
     * head's first piece. */
    void (*append)(float *keys, float *values, const gpt_head *a);
    /* y of all new tokens, for the `heads` neighboring heads of a group from `a` on. a->k and a->v are in the
     * cache. With FEWEST_TOKENS_BY_HEAD or more tokens it is one head. */
    void (*attend)(float *y, float *scratch, const gpt_head *a, size_t heads);
} gpt_cache;

/* The whole kernel. */
int gpt_attention_with(const gpt_cache *cache, float *y, float *keys, float *values, float *scratch,
                       const float *qkv, size_t batch, size_t tokens, size_t past, size_t capacity,
                       size_t heads, size_t size, size_t part, size_t parts);

#endif
