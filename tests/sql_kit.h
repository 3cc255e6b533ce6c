/* SQL over traces of a training loop that has a bit of everything. */
#ifndef NVT_TESTS_SQL_KIT_H
#define NVT_TESTS_SQL_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "../analyze/sql/sql.h"
#ifdef HAVE_SQLITE
#include "../analyze/sql/connection.h"
#endif

#ifdef HAVE_SQLITE
/* Of the last call that failed. */
extern struct nvt_error sql_err;

/* The traces, and the database over them that sql_open_over has opened. */
extern struct nvt_input_trace sql_given[3];
extern struct nvt_input sql_input;

extern struct nvt_sql *sql_here;

/* Over the first `count` of the traces. */
void sql_open_over(size_t count);

/* Fixtures of the group. */
int sql_set_up(void **state);
int sql_tear_down(void **state);

/* A statement may take what it likes. */
extern const struct nvt_sql_limits sql_no_limits;

/* The only number of a statement's only row. */
int64_t sql_number_of(const char *format, ...);

/* A statement's results as text. */
char *sql_text_of(const char *statement);
#endif

#endif
