/*
 * Flatbuffers (https://flatbuffers.dev/internals/), as far as Arrow's messages need them. They are written from the front: a table
 * first, then what it refers to, which is entered once its place is known. Places are bytes from the buffer's start. Where there is
 * no memory, the buffer's `failed` says so at the end, and nothing more is written.
 */
#ifndef NVT_FLAT_H
#define NVT_FLAT_H

#include "../../lib/buffer.h"

#define NVT_FLAT_FIELDS_MOST 8

/* Begin: the place, 0, of what refers to the first table. */
uint32_t nvt_flat_root(struct nvt_buffer *out);

/* A table of `count` fields of these sizes (1, 2, 4 or 8 bytes; 0: the field has its default), all zero. places[i] becomes
 * where field i is. Returns the place of the table. */
uint32_t nvt_flat_table(struct nvt_buffer *out, const uint8_t *sizes, uint32_t count,
                        uint32_t *places);

/* A vector of `count` elements of `width` bytes, all zero: the place of its first element. What refers to it refers to the 4
 * bytes before. */
uint32_t nvt_flat_vector(struct nvt_buffer *out, uint32_t count, uint32_t width);

/* A text: its place. */
uint32_t nvt_flat_text(struct nvt_buffer *out, const char *text, uint32_t length);

/* Enter a number of `size` bytes. */
void nvt_flat_put(struct nvt_buffer *out, uint32_t place, uint64_t value, uint32_t size);
/* Enter what a place refers to, which comes behind it. */
void nvt_flat_link(struct nvt_buffer *out, uint32_t place, uint32_t target);

#endif
