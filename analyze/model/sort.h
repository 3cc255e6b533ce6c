/*
 * Stable sorting of rows by time, as a permutation that is then applied to each column.
 */
#ifndef NVT_SORT_H
#define NVT_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The stable order of `count` rows by key[] ascending, rows with equal keys by tie[] descending
 * when tie is given, then by position. *order is a new array of row numbers (caller frees), or
 * NULL when the rows are in that order already. 0, or -1 when out of memory.
 *
 * Natural merge sort: a trace consists of runs in order (a chunk, a thread), and those that follow
 * each other, as the chunks of a thread do, are joined before anything is merged (as in patience
 * sorting). So the cost is count × log2(threads), with memory read in order; of rows in no order,
 * count × log2(count).
 */
int nvt_sort_order(const int64_t *key, const int64_t *tie, uint32_t count, uint32_t **order);

/* Sort values ascending, by their bytes: cost goes with their number. `scratch` has room for as
 * many. */
void nvt_sort_values(uint32_t *values, uint32_t *scratch, size_t count);

/* Columns that others were gathered into. Zero-initialise; release with nvt_sort_free. */
struct nvt_sort_scratch {
    void *wide, *narrow; /* of 8 bytes a row, and of 4 */
};

/*
 * Rearrange a column (analyze/model/column.h; `column` points to the pointer to it, which may change) of
 * `count` values of `width` bytes so that row i becomes the former order[i]. 0, or -1 when out of
 * memory (the column is unchanged).
 */
int nvt_sort_column(void *column, size_t width, const uint32_t *order, uint32_t count,
                    struct nvt_sort_scratch *scratch);
void nvt_sort_free(struct nvt_sort_scratch *scratch);

#endif
