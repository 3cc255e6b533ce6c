/*
 * Rows of a table that a thread steps through ahead of who takes them, which saves the time of one of the two. Until it is closed,
 * nobody else may use the statement and its connection.
 */
#ifndef NVT_NSYS_AHEAD_H
#define NVT_NSYS_AHEAD_H

#include "nsys.h"

/* Rows that a table has had before it is worth a thread. */
#define NVT_NSYS_AHEAD_FROM 20000

struct nvt_nsys_ahead;

/* The columns of a mask are read of each row. NULL: there is no thread, and the statement is the caller's. */
struct nvt_nsys_ahead *nvt_nsys_ahead_open(sqlite3_stmt *statement, unsigned present);

/* The next row: SQLITE_ROW, and its cells by column, the caller's until the next call; what sqlite3_step had at the end. */
int nvt_nsys_ahead_next(struct nvt_nsys_ahead *ahead, const struct nvt_nsys_cell **row);

/* Ends the thread, wherever it is. */
void nvt_nsys_ahead_close(struct nvt_nsys_ahead *ahead);

#endif
