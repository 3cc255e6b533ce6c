/*
 * A table as people read it: what all its configurations have in common is printed once, and rows keep only what
 * distinguishes them.
 */
#ifndef NVT_COMPACT_TABLE_H
#define NVT_COMPACT_TABLE_H

#include <stdio.h>

#include "table.h"

struct nvt_compact_table {
    const struct nvt_table *table; /* to show: the one that was given, or `own` */
    /* without those words; without the column where nothing is left of it; or NULL */
    struct nvt_table *own;
    char *common; /* the words, or NULL where there are none */
};

/*
 * Of a table with a column "configuration" of words key=value, and at least `least` rows. `table` must outlive
 * *compact, which nvt_compact_free releases. 0, or -1 when out of memory.
 */
int nvt_compact_make(struct nvt_compact_table *compact, const struct nvt_table *table,
                     size_t least);
void nvt_compact_free(struct nvt_compact_table *compact);

/* The caption (nvt_render_caption) with the common words behind it, malloc'ed; NULL when out of memory. */
char *nvt_compact_caption(const struct nvt_compact_table *compact);

/* Write all tables by `render`, an empty line between them: briefly, unless they are to be wide. 0, or -1 when out of
 * memory. */
int nvt_compact_each(const struct nvt_tables *tables,
                     int (*render)(const struct nvt_compact_table *compact,
                                   const struct nvt_tables *tables, FILE *out),
                     FILE *out);

#endif
