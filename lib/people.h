/*
 * Cells as a person reads them: three or four digits and a unit, "14.7 ms", "8.25 µs", "537 MiB". What the format `table`
 * prints; units are part of the cells, so headings have none.
 */
#ifndef NVT_PEOPLE_H
#define NVT_PEOPLE_H

#include "kernel_names.h"
#include "quantity_text.h"
#include "render.h"

/* "537 MiB", "1.05 GiB", "64 B": three or four digits in the unit of 1024 that fits. Returns out. */
const char *nvt_binary_text(double bytes, char out[NVT_TIME_MAX]);

/* "1,234", "0.0312", "12.5", "3.47e-09": at most four digits that mean something, and `decimals` at most; whole numbers
 * keep all their digits. Returns out. */
const char *nvt_digits_text(double value, int decimals, char out[NVT_NUMBER_MAX]);

/* Short names for the kernels of a table, which must outlive them: of all rows, or of those whose NVT_OF_KINDS is that of kernels.
 * `kernels` is zero-initialised. 0, or -1 when out of memory. Release with nvt_kernel_labels_free in any case. */
int nvt_people_kernels(const struct nvt_table *table, struct nvt_kernel_labels *kernels);
/* Whether a cell is such a kernel. */
int nvt_people_is_kernel(const struct nvt_table *table, size_t row, size_t column);

/*
 * A cell. Times and sizes are put into the unit that fits; a moment counts from the beginning of the table's trace where
 * that is known (nvt_provenance), as in diagnoses, charts and --filter-time, and else is ns with separators. In place or
 * in `number`. Kernels are called what `kernels` says; NULL: their whole names.
 */
const char *nvt_people_cell(const struct nvt_table *table, size_t row, size_t column,
                            const struct nvt_kernel_labels *kernels, char number[NVT_NUMBER_MAX]);

/* The heading for such cells: without the unit where cells have it. Returns out. */
const char *nvt_people_heading(const struct nvt_table *table, size_t column, char *out,
                               size_t size);

/* Whether its cells have a unit of at most two letters behind a blank, so that they can be aligned at that. */
int nvt_people_has_unit(const struct nvt_table *table, size_t column);

#endif
