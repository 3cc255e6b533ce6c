/*
 * What the formats column and grid share: cells padded to the width of their column, as a terminal
 * counts it. Numbers to the right, texts to the left.
 */
#ifndef NVT_RENDER_ALIGNED_H
#define NVT_RENDER_ALIGNED_H

#include <stdio.h>

#include "shorten.h"
#include "table.h"

/* A table as it is printed. */
struct nvt_aligned {
    const struct nvt_table *table;
    size_t *widths;            /* columns of the terminal that each column takes */
    struct nvt_shorten *texts; /* of each column what has no room in it */
};

/*
 * Lay a table out, which must outlive it. For a terminal of `room` columns the longest texts are shortened until rows
 * fit into it (0: none is), with `between` blank columns between two columns of the table, and `around` on either side
 * of the table; numbers never are. 0, or -1 when out of memory. Release with nvt_aligned_free in any case.
 */
int nvt_aligned_make(struct nvt_aligned *view, const struct nvt_table *table, size_t room,
                     size_t between, size_t around);
void nvt_aligned_free(struct nvt_aligned *view);

/* Write one cell, or the heading with row SIZE_MAX, padded to its width; `ragged`: nothing behind it.
 */
void nvt_aligned_cell(const struct nvt_aligned *view, size_t row, size_t column, int ragged,
                      FILE *out);

/* Write a character `count` times. */
void nvt_aligned_fill(char character, size_t count, FILE *out);

#endif
