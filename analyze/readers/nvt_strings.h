/*
 * The strings of a .nvt file: its ids, and the model's ids of the same texts.
 */
#ifndef NVT_READ_STRINGS_H
#define NVT_READ_STRINGS_H

#include "../../lib/cursor.h"
#include "../../lib/strings.h"
#include "../../lib/trace_file.h"

/* Zero-initialise; release with nvt_file_strings_free. */
struct nvt_file_strings {
    uint32_t *ids; /* of each string of the file the model's */
    uint32_t count;
};

/* A STRINGS chunk, which goes on where the one before ended. 0, or -1: it is malformed, or there is no memory. */
int nvt_file_strings_read(struct nvt_file_strings *strings, const struct nvt_chunk *chunk,
                          struct nvt_cursor cursor, struct nvt_strings *to);

/* The model's id; 0 where the file has no such string. */
static inline uint32_t nvt_file_string(const struct nvt_file_strings *strings, uint64_t id)
{
    return id < strings->count ? strings->ids[id] : 0;
}

void nvt_file_strings_free(struct nvt_file_strings *strings);

#endif
