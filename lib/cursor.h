/*
 * Bytes that are read from their front to their end, by who does not know whether they are sound.
 */
#ifndef NVT_CURSOR_H
#define NVT_CURSOR_H

#include "buffer.h"

/* Bytes being read. `at` is NULL once something did not fit. */
struct nvt_cursor {
    const uint8_t *at, *end;
};

/* The next varint; 0 and a NULL cursor when it is cut. */
static inline uint64_t nvt_cursor_varint(struct nvt_cursor *cursor)
{
    uint64_t value = 0;
    if (cursor->at)
        cursor->at = nvt_varint_get(cursor->at, cursor->end, &value);
    return cursor->at ? value : 0;
}

/* The next `size` bytes, or NULL (and a NULL cursor). */
static inline const uint8_t *nvt_cursor_bytes(struct nvt_cursor *cursor, uint64_t size)
{
    const uint8_t *bytes = cursor->at;
    if (!bytes || size > (uint64_t)(cursor->end - bytes)) {
        cursor->at = NULL;
        return NULL;
    }
    cursor->at += size;
    return bytes;
}

/* The next little-endian number of so many bytes. */
static inline uint64_t nvt_cursor_number(struct nvt_cursor *cursor, int size)
{
    uint64_t value = 0;
    const uint8_t *bytes = nvt_cursor_bytes(cursor, (uint64_t)size);
    for (int i = 0; bytes && i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

#endif
