/* What the module of the model's tables (model_vtab.c) and its plans (model_plan.c) share. */
#ifndef NVT_SQL_MODEL_VTAB_H
#define NVT_SQL_MODEL_VTAB_H

#include "connection.h"

struct nvt_model_vtab {
    sqlite3_vtab base;
    struct nvt_sql *sql;
    const struct nvt_shown_table *shown;
};

/* How an argument of xFilter is used: the first character of a pair in idxStr, the operator is the second. Behind those there are
 * pairs for the columns that rows are sorted by. */
enum nvt_plan_use {
    NVT_USE_ID = 'i',
    NVT_USE_TIME = 't',
    NVT_USE_VALUE = 'v',
    NVT_USE_VALUE_ALONE = 'w', /* SQLite does not look again: all rows that come have it */
    NVT_SORT_ASCENDING = 'a',
    NVT_SORT_DESCENDING = 'd'
};

/* Columns that rows are sorted by. */
#define NVT_SORTED_MOST 8

/* Choose a plan: idxStr, and in idxNum the column of an equality. */
int nvt_model_plan(sqlite3_vtab *base, sqlite3_index_info *info);

#endif
