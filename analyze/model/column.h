/*
 * Memory of the model's columns: it is zero until something is written, and pages that were never
 * written take no memory. So a column that a trace has no use for costs nothing.
 */
#ifndef NVT_COLUMN_H
#define NVT_COLUMN_H

#include <stddef.h>

/*
 * A column with room for `bytes` bytes, from one that has room for fewer, or from NULL; what was in
 * it stays, the rest is zero. NULL when out of memory (the old one is then unchanged).
 */
void *nvt_column_grow(void *column, size_t bytes);
void nvt_column_free(void *column);

/* What malloc gives, and free takes; in huge pages where it is large. */
void *nvt_large_alloc(size_t bytes);

#endif
