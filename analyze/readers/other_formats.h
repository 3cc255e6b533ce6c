/*
 * Files that people take for traces, or that hold traces in a form that is not read: what they are, by their first bytes, and what
 * to do.
 */
#ifndef NVT_OTHER_FORMATS_H
#define NVT_OTHER_FORMATS_H

#include <stddef.h>
#include <stdint.h>

/* "is a ZIP archive: unpack it with unzip first", static text; NULL: it is none of them. */
const char *nvt_other_format(const uint8_t *head, size_t size);

/* What another program wrote as JSON, by a key of the outermost object, in words in front of what is missing; NULL: none that is
 * known. */
const char *nvt_other_json(const char *key, size_t size);

/* Whether a key of the outermost object is that of rocprofv3's JSON, which is read (rocprofv3.c). */
int nvt_is_rocprofv3_key(const char *key, size_t size);

#endif
