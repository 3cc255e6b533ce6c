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

/* Rearrange a column of `count` values of `width` bytes so that row i becomes the former
 * order[i]. `scratch` has count × width bytes. */
void nvt_sort_apply(void *column, size_t width, const uint32_t *order, uint32_t count,
                    void *scratch);

#endif
