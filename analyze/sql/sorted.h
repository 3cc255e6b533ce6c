/*
 * Rows of a table in the order of some of its columns, as SQL compares values: NULL, then numbers, then texts by their bytes.
 * The values of a column that differ are found first and compared with each other; rows only by their number among them. A
 * table has few different names, so that this is far less than comparing rows.
 */
#ifndef NVT_SQL_SORTED_H
#define NVT_SQL_SORTED_H

#include "model.h"

struct nvt_sorted_column {
    uint32_t column;
    int is_descending;
};

/* A row of a part of the model. */
struct nvt_place {
    uint32_t part, row;
};

/* Whether a table can be sorted by that column. */
int nvt_can_sort(const struct nvt_shown_table *table, uint32_t column);

/*
 * Sort places, which are in the order of ids, by `count` columns, of which each was prepared (nvt_model_prepare) and can be
 * sorted by: the first decides, then the second. Those that are equal stay as they were. 0, or -1 when out of memory.
 */
int nvt_sort_places(const struct nvt_model *model, const struct nvt_shown_table *table,
                    const struct nvt_sorted_column *columns, size_t count, struct nvt_place *places,
                    uint32_t places_count);

#endif
