#include "json_memo.h"

#include <stddef.h>

/* Places of a key that are looked at. */
#define TRIES 4

/* The place of a key: where it is, where there is none, or the first one, of which the key has to go. */
static uint8_t place_of(const struct nvt_json_memo *memo, const char *at, size_t size)
{
    const uint32_t bytes = (uint32_t)(uint8_t)at[1] << 24 | (uint32_t)(uint8_t)at[2] << 16 |
                           (uint32_t)(uint8_t)at[size / 2] << 8 | (uint32_t)size;
    const uint32_t hash = bytes * UINT32_C(0x9E3779B1) >> 16;
    for (unsigned i = 0; i < TRIES; i++) {
        const unsigned place = 1 + (hash + i) % (NVT_JSON_MEMO_KEYS - 1);
        const struct nvt_json_memo_key *key = &memo->keys[place];
        if (!key->size || (key->size == size && !memcmp(key->text, at, size)))
            return (uint8_t)place;
    }
    return (uint8_t)(1 + hash % (NVT_JSON_MEMO_KEYS - 1));
}

static void expect(struct nvt_json_memo_key *before, uint8_t place)
{
    for (unsigned i = 0; i < NVT_JSON_MEMO_NEXT; i++)
        if (before->next[i] == place)
            return;
    before->next[before->oldest] = place;
    before->oldest = (uint8_t)((before->oldest + 1) % NVT_JSON_MEMO_NEXT);
}

struct nvt_json_memo_key *nvt_json_memo_learn(struct nvt_json_memo *memo, const char *at,
                                              const char *value)
{
    const size_t size = (size_t)(value - at);
    if (size > NVT_JSON_MEMO_TEXT || memchr(at, '\\', size)) {
        memo->last = 0;
        return NULL;
    }
    const uint8_t place = place_of(memo, at, size);
    struct nvt_json_memo_key *key = &memo->keys[place];
    if (key->size != size || memcmp(key->text, at, size) != 0) {
        *key = (struct nvt_json_memo_key){.size = (uint8_t)size};
        memcpy(key->text, at, size);
        key->mask = size < 32 ? (UINT32_C(1) << size) - 1 : UINT32_MAX;
    }
    expect(&memo->keys[memo->last], place);
    memo->last = place;
    return key;
}
