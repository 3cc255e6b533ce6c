/*
 * Sums over the rows of a table that have the same values in some columns: count, sum, least and greatest. SQLite's machine takes
 * several steps for each row of a GROUP BY; who has these sums needs it only for each group (regroup.h).
 */
#ifndef NVT_SQL_PARTIAL_H
#define NVT_SQL_PARTIAL_H

#include "model.h"

#define NVT_PARTIAL_COLUMNS_MOST 8
#define NVT_PARTIAL_GROUPS_MOST  65536

struct nvt_partial {
    const struct nvt_shown_table *table;
    int kind; /* of ops: only those of this kind; -1: all rows */
    uint32_t keys[NVT_PARTIAL_COLUMNS_MOST], key_count;
    uint32_t sums[NVT_PARTIAL_COLUMNS_MOST], sum_count; /* columns of integers */
};

/* Of the values of a column that are not null. */
struct nvt_partial_sum {
    int64_t count, sum, least, greatest;
};

struct nvt_partial_group {
    size_t part;
    uint32_t row; /* the first one */
    /* where the part has no rows (launched.h): strings, in_range NVT_NONE: of no range */
    uint32_t name, in_range;
    int64_t rows;
    struct nvt_partial_sum sums[NVT_PARTIAL_COLUMNS_MOST];
};

struct nvt_partial_groups {
    /* malloc'ed; those of one part behind each other, several parts may have equal ones */
    struct nvt_partial_group *items;
    size_t count;
};

/* Whether a column may be among keys, and whether it may be among sums. */
int nvt_partial_has_key(const struct nvt_shown_table *table, uint32_t column);
int nvt_partial_has_sum(const struct nvt_shown_table *table, uint32_t column);

/*
 * The groups of all parts, of those without rows by launched.h. 1: it cannot do it, there are too many, or a sum has 2^53 and more, from where on doubles are no longer exact, so
 * that SQLite is to go through the rows; 0; -1 with err filled. Nothing is left to be released then.
 */
int nvt_partial_make(struct nvt_model *model, const struct nvt_partial *what,
                     struct nvt_partial_groups *groups, struct nvt_error *err);

/* The value that a key has in a group. */
struct nvt_value nvt_partial_key(const struct nvt_model *model, const struct nvt_partial *what,
                                 uint32_t key, const struct nvt_partial_group *group);

#endif
