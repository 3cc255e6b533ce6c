/*
 * Rows of a table that a thread steps through ahead of who takes them, which saves the time of one of the two. Until it is closed,
 * nobody else may use the statement and its connection.
 */
#ifndef NVT_NSYS_AHEAD_H
#define NVT_NSYS_AHEAD_H

#include "nsys.h"

/* A cell of a statement's row, which is looked up once for its type and for what it is. A text is the statement's, and NULL when out
 * of memory. Unprotected, as sqlite3.h calls it: nobody else uses the connection. */
static inline struct nvt_nsys_cell nvt_nsys_cell_of(sqlite3_stmt *statement, int column)
{
    sqlite3_value *value = sqlite3_column_value(statement, column);
    struct nvt_nsys_cell cell = {.type = sqlite3_value_type(value)};
    if (cell.type == SQLITE_INTEGER) {
        cell.whole = sqlite3_value_int64(value);
    } else if (cell.type == SQLITE_FLOAT) {
        cell.real = sqlite3_value_double(value);
    } else if (cell.type == SQLITE_TEXT) {
        cell.text = (const char *)sqlite3_column_text(statement, column);
        cell.size = (size_t)sqlite3_column_bytes(statement, column);
    }
    return cell;
}

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
