/*
 * What the formats column and grid share: cells padded to the width of their column, as a terminal
 * counts it. Numbers to the right, texts to the left.
 */
#ifndef NVT_RENDER_ALIGNED_H
#define NVT_RENDER_ALIGNED_H

#include <stdio.h>

#include "table.h"

/* Columns of the terminal that each column takes: malloc'ed, NULL when out of memory. */
size_t *nvt_aligned_widths(const struct nvt_table *table);

/* Write one cell, or the heading with row SIZE_MAX, padded to `width`; `ragged`: nothing behind it.
 */
void nvt_aligned_cell(const struct nvt_table *table, size_t row, size_t column, size_t width,
                      int ragged, FILE *out);

/* The same character `count` times. */
void nvt_aligned_fill(char character, size_t count, FILE *out);

#endif
