/*
 * SQL over an input: SQLite, whose tables are the trace model, reports, findings and rows of run directories. Nothing is
 * copied into a database: tables are virtual. What has to be worked out (a report, the range of each kernel) is worked out
 * when a statement asks for it, once.
 *
 * Statements only read. What is not a SELECT is refused, as are ATTACH, PRAGMA, extensions and files; a statement ends at
 * its time limit, its result at a number of rows.
 *
 * In a build without SQLite, nvt_sql_open fails and says so.
 */
#ifndef NVT_SQL_H
#define NVT_SQL_H

#include <signal.h>

#include "../input/input.h"

struct nvt_sql;

/* SQLite takes no more memory than that from now on, in all of the process: for commands, which have it to themselves. A
 * statement that wants more ends with an error. */
#define NVT_SQL_MEMORY_MOST (INT64_C(1) << 30)
void nvt_sql_limit_memory(int64_t bytes);

struct nvt_sql_limits {
    double seconds;   /* for all statements of a text together; 0: none */
    size_t rows;      /* of each result; 0: all that fit into NVT_SQL_RESULT_MOST */
    const char *more; /* how to see rows that were left out, for a note; NULL: nothing is noted */
    const volatile sig_atomic_t *stop; /* statements end where it is not 0; NULL: nobody sets one */
};

/*
 * Whether a text is one statement that needs of traces only what was launched, so that an input may be read that way
 * (input->only_launches). nvt_sql_answer says NVT_SQL_NEEDS_ROWS, and nothing else, where a trace turns out to need more: then all is to
 * be read again, as a whole.
 */
int nvt_sql_takes_launches(const char *text);
#define NVT_SQL_NEEDS_ROWS 1

/* Bytes of a text of statements; of a result, as it is kept. */
#define NVT_SQL_TEXT_MOST   65536
#define NVT_SQL_RESULT_MOST ((size_t)1 << 30)

/* Say that a text of so many bytes is too long. -1. */
int nvt_sql_refuse_text(size_t size, struct nvt_error *err);

/* Over an input with its traces read, which has to last longer and gets the notes. NULL with err filled. */
struct nvt_sql *nvt_sql_open(struct nvt_input *input, struct nvt_error *err);
void nvt_sql_free(struct nvt_sql *sql);

/*
 * Run statements, separated by ";", and append the result of each as a table, whose columns are named as SQL names them; a
 * column of which the name ends in _ns has that unit. Cells are integers, numbers or texts by what there is in the column; a
 * blob is its bytes in hexadecimal. Texts of the tables' columns are the sql's: it has to last longer. A result that was cut
 * at limits->rows says so (nvt_table_all) and is noted, as is what the statements read and the input has not. 0, NVT_SQL_NEEDS_ROWS,
 * or -1 with err filled.
 */
int nvt_sql_answer(struct nvt_sql *sql, const char *text, const struct nvt_sql_limits *limits,
                   struct nvt_tables *tables, struct nvt_error *err);

/* What the statements of the last nvt_sql_answer read and the input has not, so that no row of it means nothing: "no OS calls in the
 * trace (nvtally record --trace osrt)". NULL: nothing. It lasts until the next one. */
const char *nvt_sql_lacks(const struct nvt_sql *sql);

/* The same where they read nothing else that has rows: a 0 that they count, too, means nothing. Else NULL. */
const char *nvt_sql_cannot(const struct nvt_sql *sql);

/* Whether a text ends with a whole statement, for a prompt. */
int nvt_sql_is_complete(const char *text);

#endif
