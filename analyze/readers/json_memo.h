/*
 * Inside the scanner of JSON: keys that came before, and which of them came behind which. Objects of a list have the same ones in one
 * of a few orders, so that most keys are known at a comparison with those that are expected, without a search for their end.
 */
#ifndef NVT_JSON_MEMO_H
#define NVT_JSON_MEMO_H

#include <stdint.h>
#include <string.h>

#include "json_bytes.h"

#define NVT_JSON_MEMO_KEYS 128 /* the first one stands for none */
#define NVT_JSON_MEMO_TEXT 32
#define NVT_JSON_MEMO_NEXT 4

/* A key from its quote on, with its colon, up to the value: "ts": */
struct nvt_json_memo_key {
    char text[NVT_JSON_MEMO_TEXT];
    uint32_t mask;  /* a bit for each byte of it */
    uint8_t size;   /* 0: none */
    uint8_t oldest; /* of those that came behind it, up to a 0: */
    uint8_t next[NVT_JSON_MEMO_NEXT];
    int number; /* by the handler */
};

/* Empty when it is zero. */
struct nvt_json_memo {
    struct nvt_json_memo_key keys[NVT_JSON_MEMO_KEYS];
    uint8_t last; /* the key before */
};

/* Whether a key is at `at`. */
static inline int nvt_json_memo_is_at(const struct nvt_json_memo_key *key, const char *at,
                                      const char *end)
{
    if (end - at <= NVT_JSON_MEMO_TEXT || !key->size)
        return 0;
#ifdef __SSE2__
    const __m128i *const text = (const __m128i *)(const void *)key->text;
    const __m128i *const there = (const __m128i *)(const void *)at;
    const __m128i first = _mm_cmpeq_epi8(_mm_loadu_si128(text), _mm_loadu_si128(there));
    const __m128i second = _mm_cmpeq_epi8(_mm_loadu_si128(text + 1), _mm_loadu_si128(there + 1));
    const uint32_t same = (uint32_t)_mm_movemask_epi8(first) | (uint32_t)_mm_movemask_epi8(second)
                                                                   << 16;
    return !(~same & key->mask);
#else
    return !memcmp(key->text, at, key->size);
#endif
}

/* The one that is at `at` of the expected keys; NULL: another one is there, or none is expected. */
static inline const struct nvt_json_memo_key *nvt_json_memo_next(const struct nvt_json_memo *memo,
                                                                 const char *at, const char *end)
{
    const uint8_t *next = memo->keys[memo->last].next;
    for (unsigned i = 0; i < NVT_JSON_MEMO_NEXT && next[i]; i++)
        if (nvt_json_memo_is_at(&memo->keys[next[i]], at, end))
            return &memo->keys[next[i]];
    return NULL;
}

/* A key from its quote up to `value` came behind the one before. Which one it is; NULL: one that is not kept. Its number is to be set
 * where it is 0. */
struct nvt_json_memo_key *nvt_json_memo_learn(struct nvt_json_memo *memo, const char *at,
                                              const char *value);

#endif
