/*
 * Files that people take for traces, or that hold traces in a form that is not read: what they are, by their first bytes, and what
 * to do.
 */
#ifndef NVT_OTHER_FORMATS_H
#define NVT_OTHER_FORMATS_H

#include <stddef.h>
#include <stdint.h>

/* "is a ZIP archive: unpack it with unzip first", static text; NULL: it is none of them. */
const char *nvt_other_format(const char *path, const uint8_t *head, size_t size);

#endif
