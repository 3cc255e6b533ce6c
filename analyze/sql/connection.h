/* What the parts of analyze/sql share: the connection, and the two kinds of virtual tables. */
#ifndef NVT_SQL_CONNECTION_H
#define NVT_SQL_CONNECTION_H

#include <sqlite3.h>

#include "model.h"
#include "sql.h"

struct nvt_sql_guarded; /* guarded.h */

struct nvt_sql {
    sqlite3 *db;
    struct nvt_sql_guarded *guarded;
    struct nvt_input *input;
    struct nvt_model model;
    struct nvt_strings *names; /* of columns that are worked out */
    struct nvt_made *made;     /* tables that are made when they are asked for */
    size_t made_count;
    int64_t until_ns;                  /* when a statement has to end, 0: never */
    int is_late;                       /* it had not */
    const volatile sig_atomic_t *stop; /* struct nvt_sql_limits */
    int is_grouped;                    /* there is a table of sums (regroup.h) */
    size_t grouped;                    /* statements that were answered from such */
    int is_declaring; /* a table of our own is being declared, which is a CREATE TABLE to SQLite */
    int is_preparing; /* a statement is, whose reads are noted (lacking.h) */
    uint64_t read;    /* a bit for each table of the model that was read */
    struct nvt_buffer lacks; /* what these lack, with a NUL; empty: nothing */
    int lacks_all;           /* nothing else that was read has rows */
    size_t notes_from;       /* the input's notes from here on are of this answer */
};

/* Which rows of a made table a statement asks for, by the value of its column `key`. */
enum nvt_wanted {
    NVT_WANTED_ALL,
    NVT_WANTED_SAME,
    NVT_WANTED_NOCASE, /* the same but for capital letters */
    NVT_WANTED_LIKE,   /* those that match this pattern of LIKE, or of GLOB */
    NVT_WANTED_GLOB
};

/* What a column of a made table is, beyond its heading. NULL: nothing is to be said. */
struct nvt_made_meaning {
    const char *about;
    const char *unit;      /* where it is not part of the name */
    const char *refers_to; /* the table whose id it is */
};

/* A table that is made when it is first read. */
struct nvt_made {
    struct nvt_sql *sql;
    const char *name, *about;
    const struct nvt_column *columns; /* its own, with names as SQL has them */
    size_t column_count;
    const struct nvt_made_meaning *meanings; /* of each column; NULL: headings say all */
    /* Put its rows into `table`, which has these columns. 0, or -1 with err filled. */
    int (*fill)(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err);
    /* A statement asks for these rows, which are there by now. NULL: nobody has to know. 0, or -1 with err filled. */
    int (*want)(struct nvt_made *made, enum nvt_wanted how, const char *value,
                struct nvt_error *err);
    size_t key;          /* the column that `want` is told of */
    const void *context; /* of fill */
    size_t part;         /* which of several tables */
    unsigned need; /* enum nvt_rule_needs: what there must be for it to have rows; 0: anything */
    struct nvt_table *table;
    struct nvt_buffer notes; /* lines about it, each with its '\n' */
    int is_read;             /* by the statements that are being answered */
    /* why there are none of the rows that these asked for; empty: there may be */
    struct nvt_buffer lacks;
    int has_wanted; /* there may be some of those that they asked for besides */
};

/* A table of the model by each of its names, as virtual tables. SQLite's status. */
int nvt_sql_add_model(struct nvt_sql *sql);
/* One that is made. SQLite's status. */
int nvt_sql_add_made(struct nvt_sql *sql);

/* List the tables that are made: reports, findings, gaps, rows of runs, and what there is. 0, or -1 with err filled. */
int nvt_sql_list_made(struct nvt_sql *sql, struct nvt_error *err);
/* Parts of it: findings and rules; rows of run directories; tables and columns. */
int nvt_sql_list_findings(struct nvt_sql *sql, struct nvt_error *err);
int nvt_sql_list_runs(struct nvt_sql *sql, struct nvt_error *err);
int nvt_sql_list_lists(struct nvt_sql *sql, struct nvt_error *err);
/* Add one, with columns whose headings become names. */
int nvt_sql_add_table(struct nvt_sql *sql, struct nvt_made made, const struct nvt_column *columns,
                      size_t count, struct nvt_error *err);

/* Fill in the rows of a made table where it has none. 0, or -1 with err filled. */
int nvt_sql_make(struct nvt_made *made, struct nvt_error *err);

/* Views over them, as statements; ended by one without a name. */
struct nvt_sql_view {
    const char *name, *about, *select;
    const char *of[3]; /* tables whose columns it has under the same names, up to a NULL */
    int kind_and_1;    /* its rows are all ops of this kind; 0: they are something else */
};
extern const struct nvt_sql_view nvt_sql_views[];
/* What other columns of views are: name and text, up to a NULL. */
extern const char *const nvt_sql_view_columns[][2];

/* "Total Time (ns)" as total_time_ns; kept as long as the sql is. NULL when out of memory. */
const char *nvt_sql_heading(struct nvt_sql *sql, const char *heading, const char *unit);

/* Append a column's name and type to a declaration: INTEGER "ns", with the unit behind it, by which results have it. */
void nvt_sql_put_column(struct nvt_buffer *text, const char *name, const char *type,
                        const char *unit);

/* Declare a table with columns that were put behind a '('; frees `text`. SQLite's status. */
int nvt_sql_declare(struct nvt_sql *sql, struct nvt_buffer *text);

/* A virtual table that has nothing but its own memory is left: xDisconnect. */
int nvt_sql_vtab_free(sqlite3_vtab *table);

/* A virtual table fails: SQLITE_ERROR, and the message is SQLite's. */
int nvt_sql_vtab_fail(sqlite3_vtab *table, const struct nvt_error *err);

#endif
