/*
 * The table that `compare` prints of its outcomes.
 */
#ifndef NVT_COMPARE_TABLE_H
#define NVT_COMPARE_TABLE_H

#include "outcomes.h"

/*
 * The table "compare": the first `top` outcomes, 0 all of them, a row each; the column of configurations only where there is
 * one. The title has the level of the intervals. NULL when out of memory; one whose rows could not be added has failed
 * (nvt_table_failed).
 */
struct nvt_table *nvt_compare_table(const struct nvt_outcomes *outcomes,
                                    const struct nvt_sides *groups, size_t sides, size_t top);

/* Say backend, device, date and condition of all sides in the caption of a table: once where they are the same. */
void nvt_compare_set_provenance(struct nvt_table *table, const struct nvt_sides *groups,
                                size_t sides);

#endif
