#include "strings.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Texts lie in blocks that never move, so that pointers stay good while the table grows. */
struct block {
    struct block *next;
    size_t used, capacity;
    char data[];
};

struct entry {
    const char *text;
    uint32_t length;
    uint32_t hash;
};

struct nvt_strings {
    struct block *blocks;
    struct entry *entries;
    uint32_t count;
    uint32_t *slots; /* id + 1, 0 is empty; open addressing, at most half full */
    uint32_t mask;
};

struct nvt_strings *nvt_strings_new(void)
{
    struct nvt_strings *strings = calloc(1, sizeof(*strings));
    if (!strings)
        return NULL;
    strings->mask = 255;
    strings->slots = calloc(256, sizeof(*strings->slots));
    if (!strings->slots || nvt_strings_add(strings, "", 0) != 0) {
        nvt_strings_free(strings);
        return NULL;
    }
    return strings;
}

void nvt_strings_free(struct nvt_strings *strings)
{
    if (!strings)
        return;
    while (strings->blocks) {
        struct block *next = strings->blocks->next;
        free(strings->blocks);
        strings->blocks = next;
    }
    free(strings->entries);
    free(strings->slots);
    free(strings);
}

static uint32_t *find_slot(const struct nvt_strings *strings, const char *text, size_t length,
                           uint32_t hash)
{
    for (uint32_t at = hash & strings->mask;; at = (at + 1) & strings->mask) {
        uint32_t *slot = &strings->slots[at];
        if (!*slot)
            return slot;
        const struct entry *entry = &strings->entries[*slot - 1];
        if (entry->hash == hash && entry->length == length && !memcmp(entry->text, text, length))
            return slot;
    }
}

static int grow_slots(struct nvt_strings *strings)
{
    uint32_t mask = strings->mask * 2 + 1;
    uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
    if (!slots)
        return -1;
    for (uint32_t id = 0; id < strings->count; id++) {
        uint32_t at = strings->entries[id].hash & mask;
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = id + 1;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->mask = mask;
    return 0;
}

static const char *store(struct nvt_strings *strings, const char *text, size_t length)
{
    struct block *block = strings->blocks;
    if (!block || block->capacity - block->used < length + 1) {
        size_t capacity = length + 1 > 64 * 1024 ? length + 1 : 64 * 1024;
        block = malloc(sizeof(*block) + capacity);
        if (!block)
            return NULL;
        block->capacity = capacity;
        block->used = 0;
        block->next = strings->blocks;
        strings->blocks = block;
    }
    char *copy = block->data + block->used;
    memcpy(copy, text, length);
    copy[length] = 0;
    block->used += length + 1;
    return copy;
}

uint32_t nvt_strings_add(struct nvt_strings *strings, const char *text, size_t length)
{
    if (length >= UINT32_MAX || strings->count >= UINT32_MAX / 4)
        return NVT_NO_STRING;
    uint32_t hash = (uint32_t)XXH3_64bits(text, length);
    uint32_t *slot = find_slot(strings, text, length, hash);
    if (*slot)
        return *slot - 1;
    if (strings->count * 2 >= strings->mask) {
        if (grow_slots(strings))
            return NVT_NO_STRING;
        slot = find_slot(strings, text, length, hash);
    }
    if (nvt_grow(&strings->entries, strings->count, sizeof(*strings->entries)))
        return NVT_NO_STRING;
    const char *copy = store(strings, text, length);
    if (!copy)
        return NVT_NO_STRING;
    strings->entries[strings->count] = (struct entry){copy, (uint32_t)length, hash};
    *slot = ++strings->count;
    return strings->count - 1;
}

uint32_t nvt_strings_add_text(struct nvt_strings *strings, const char *text)
{
    return nvt_strings_add(strings, text, strlen(text));
}

uint32_t nvt_strings_find(const struct nvt_strings *strings, const char *text, size_t length)
{
    if (length >= UINT32_MAX)
        return NVT_NO_STRING;
    const uint32_t *slot = find_slot(strings, text, length, (uint32_t)XXH3_64bits(text, length));
    return *slot ? *slot - 1 : NVT_NO_STRING;
}

const char *nvt_strings_get(const struct nvt_strings *strings, uint32_t id, size_t *length)
{
    int known = id < strings->count;
    if (length)
        *length = known ? strings->entries[id].length : 0;
    return known ? strings->entries[id].text : "";
}

uint32_t nvt_strings_count(const struct nvt_strings *strings)
{
    return strings->count;
}
