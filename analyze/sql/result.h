/* The rows of a statement, gathered until the types of their columns are known. */
#ifndef NVT_SQL_RESULT_H
#define NVT_SQL_RESULT_H

#include "connection.h"

/*
 * Step through a statement and append its rows as a table, named "sql", whose columns have the names of those of `named`:
 * `limits->rows` at most, where *is_cut says that there were more. 0; 1 where SQLite failed (its message is the connection's); -1 with err filled.
 */
int nvt_sql_collect(struct nvt_sql *sql, sqlite3_stmt *statement, sqlite3_stmt *named,
                    const struct nvt_sql_limits *limits, struct nvt_tables *tables, int *is_cut,
                    struct nvt_error *err);

#endif
