/*
 * Statements that aggregate one table of the model, from sums over rows with the same values (partial.h) in place of the rows.
 *
 * SELECT name, count(*), sum(duration) FROM kernels WHERE stream = 7 GROUP BY name is the same as SELECT name, sum(rows),
 * sum(sum of durations) FROM the sums by stream and name WHERE stream = 7 GROUP BY name: all columns outside of aggregates are
 * keys. So whatever else is done with keys and results is left to SQLite. A statement that has anything else in it than that,
 * or too many keys, stays as it is; so it is never wrong to ask.
 */
#ifndef NVT_SQL_REGROUP_H
#define NVT_SQL_REGROUP_H

#include "connection.h"

/*
 * For a statement that SQLite has prepared: another one with the same rows, or NULL where it is to be run itself. 0, or -1 with
 * err filled. Until nvt_sql_ungroup, which comes after the statement was finalized, the connection has one such at a time.
 */
int nvt_sql_regroup(struct nvt_sql *sql, const char *text, sqlite3_stmt **out,
                    struct nvt_error *err);
void nvt_sql_ungroup(struct nvt_sql *sql);

#endif
