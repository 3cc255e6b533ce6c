/*
 * What a process keeps of a trace, as bytes for another process of the same program (lib/job.h): numbers as they lie in memory. Nothing
 * is stored so, and nothing of it comes from a file: sizes are checked, values are not.
 */
#ifndef NVT_IMAGE_H
#define NVT_IMAGE_H

#include "../../lib/buffer.h"
#include "../../lib/cursor.h"
#include "../../lib/strings.h"
#include "../model/trace.h"

/* An array: how many items, and their bytes. What does not fit leaves a NULL cursor; items are malloc'ed, NULL where there are none, or
 * out of memory, which also leaves a NULL cursor. */
void nvt_image_put(struct nvt_buffer *out, const void *items, uint64_t count, size_t width);
void *nvt_image_take(struct nvt_cursor *in, uint64_t *count, size_t width);

/* A text, which may be NULL. */
void nvt_image_put_text(struct nvt_buffer *out, const char *text);
char *nvt_image_take_text(struct nvt_cursor *in);

/* Static text, or another constant of the program; NULL is none. */
void nvt_image_put_constant(struct nvt_buffer *out, const void *constant);
const void *nvt_image_take_constant(struct nvt_cursor *in);

/* Strings, with their ids. NULL when out of memory. */
void nvt_image_put_strings(struct nvt_buffer *out, const struct nvt_strings *strings);
struct nvt_strings *nvt_image_take_strings(struct nvt_cursor *in);

/* A finished trace with its tables. NULL when out of memory, or cut. Failures of a buffer are in `failed`. */
void nvt_image_put_trace(struct nvt_buffer *out, const struct nvt_trace *trace);
struct nvt_trace *nvt_image_take_trace(struct nvt_cursor *in);

#endif
