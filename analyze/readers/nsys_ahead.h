/*
 * Rows of a long table by ranges of their row ids, as exports number them: threads read ranges ahead, each on a connection of its
 * own. Who takes the rows reads ranges as well while the next one is not there, and steps by itself through one that is not as
 * usual: with an error, more rows than ids, or texts of more than NVT_NSYS_AHEAD_TEXTS bytes.
 */
#ifndef NVT_NSYS_AHEAD_H
#define NVT_NSYS_AHEAD_H

#include "nsys.h"

/* A cell of a statement's row, which is looked up once for its type and for what it is. A text is the statement's, and NULL when out
 * of memory. Unprotected, as sqlite3.h calls it: nobody else uses the connection. */
static inline struct nvt_nsys_cell nvt_nsys_cell_of(sqlite3_stmt *statement, int column)
{
    sqlite3_value *value = sqlite3_column_value(statement, column);
    struct nvt_nsys_cell cell = {.type = (uint32_t)sqlite3_value_type(value)};
    if (cell.type == SQLITE_INTEGER) {
        cell.whole = sqlite3_value_int64(value);
    } else if (cell.type == SQLITE_FLOAT) {
        cell.real = sqlite3_value_double(value);
    } else if (cell.type == SQLITE_TEXT) {
        cell.text = (const char *)sqlite3_column_text(statement, column);
        cell.size = (uint32_t)sqlite3_column_bytes(statement, column);
    }
    return cell;
}

/* Row ids that a table spans before it is read so; those of a range; and the text that a range may have. */
#ifndef NVT_NSYS_AHEAD_FROM /* the fuzzer has smaller ones */
#define NVT_NSYS_AHEAD_FROM  20000
#define NVT_NSYS_AHEAD_ROWS  512
#define NVT_NSYS_AHEAD_TEXTS (4 << 20)
#endif

struct nvt_nsys_ahead;

/*
 * Rows from the first to the last id of a table: both are parameters of the query, in this order, which is prepared in
 * `statement`, and are bound here. The columns of a mask are read. NULL: there is no memory, and both of the statement are bound.
 */
struct nvt_nsys_ahead *nvt_nsys_ahead_open(struct nvt_nsys *reader, sqlite3_stmt *statement,
                                           unsigned present, int64_t first, int64_t last);

/* The next row: SQLITE_ROW, and its cells by column, the caller's until the next call, or NULL, then they are the statement's;
 * what sqlite3_step has at the end. */
int nvt_nsys_ahead_next(struct nvt_nsys_ahead *ahead, const struct nvt_nsys_cell **row);

/* Ends the threads, wherever they are. */
void nvt_nsys_ahead_close(struct nvt_nsys_ahead *ahead);

#endif
