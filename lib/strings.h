/*
 * Interned strings: each different content once, named by a small id. Used by the trace writer, by
 * the trace model and by every reader, so that names are compared as integers.
 */
#ifndef NVT_STRINGS_H
#define NVT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct nvt_strings;

/* An id that no table hands out. */
#define NVT_NO_STRING UINT32_MAX

/* A new table; id 0 is the empty string. NULL when out of memory. */
struct nvt_strings *nvt_strings_new(void);
void nvt_strings_free(struct nvt_strings *strings);

/* The id of this content (length in bytes, NUL bytes allowed), added when new. Returns
 * NVT_NO_STRING when out of memory or past 2^32 - 2 strings. */
uint32_t nvt_strings_add(struct nvt_strings *strings, const char *text, size_t length);

/* The id of a NUL-terminated text, added when new; NVT_NO_STRING as of nvt_strings_add. */
uint32_t nvt_strings_add_text(struct nvt_strings *strings, const char *text);

/* The id of this content, or NVT_NO_STRING when it is not in the table. */
uint32_t nvt_strings_find(const struct nvt_strings *strings, const char *text, size_t length);

/* The text (NUL-terminated, owned by the table, stable until it is freed); "" for an unknown id.
 * *length, unless NULL, gets its length in bytes. */
const char *nvt_strings_get(const struct nvt_strings *strings, uint32_t id, size_t *length);

/* How many strings, ids 0 … n-1. */
uint32_t nvt_strings_count(const struct nvt_strings *strings);

#endif
