/*
 * Cells as a person reads them: three or four digits and a unit, "14.7 ms", "8.25 µs", "537 MiB". What the format `table`
 * prints; units are part of the cells, so headings have none.
 */
#ifndef NVT_PEOPLE_H
#define NVT_PEOPLE_H

#include "quantity_text.h"
#include "render.h"

/* "537 MiB", "1.05 GiB", "64 B": three or four digits in the unit of 1024 that fits. Returns out. */
const char *nvt_binary_text(double bytes, char out[NVT_TIME_MAX]);

/* "1,234", "0.0312", "12.5", "3.47e-09": at most four digits that mean something, and `decimals` at most; whole numbers
 * keep all their digits. Returns out. */
const char *nvt_digits_text(double value, int decimals, char out[NVT_NUMBER_MAX]);

/*
 * A cell. Times and sizes are put into the unit that fits; a moment counts from the beginning of the table's trace where
 * that is known (nvt_provenance), as in diagnoses, charts and --filter-time, and else is ns with separators. In place or
 * in `number`.
 */
const char *nvt_people_cell(const struct nvt_table *table, size_t row, size_t column,
                            char number[NVT_NUMBER_MAX]);

/* The heading for such cells: without the unit where cells have it. Returns out. */
const char *nvt_people_heading(const struct nvt_table *table, size_t column, char *out,
                               size_t size);

/* Whether its cells have a unit of at most two letters behind a blank, so that they can be aligned at that. */
int nvt_people_has_unit(const struct nvt_table *table, size_t column);

#endif
