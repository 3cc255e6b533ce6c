/*
 * The table: what every analysis returns and all that renderers and charts know.
 *
 * Data lies in columns. A cell that was never set is null. Texts are copied. A table that ran out
 * of memory stays usable and says so once, at the end (nvt_table_failed), so that filling it needs
 * no check a cell.
 */
#ifndef NVT_TABLE_H
#define NVT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum nvt_type { NVT_INT, NVT_REAL, NVT_TEXT, NVT_BOOL };

enum nvt_column_flags {
    NVT_PLAIN = 1, /* a number that names something (a pid, an id): no thousands separators */
};

/* Decimals of an NVT_REAL column that shows as many as it needs. */
#define NVT_SHORTEST (-1)
/* Of one that shows six digits, or those before the point where they are more. */
#define NVT_SIX_DIGITS (-2)

/* What a column is. Static text, which must outlive the tables made of it. */
struct nvt_column_spec {
    const char *heading;
    const char
        *unit; /* "ns", "%", "MiB" …, or "": shown behind the heading, unless that has it already */
    enum nvt_type type;
    int decimals; /* of an NVT_REAL */
    unsigned flags;
};

struct nvt_table;

/* Where the numbers come from. Strings are copied; NULL is unknown. */
struct nvt_provenance {
    const char *backend;   /* "host", "cuda" */
    const char *device;    /* name of the processor or GPU */
    const char *date;      /* of the measurement, as recorded */
    size_t date_length;    /* its first bytes alone, as of the day of several moments; 0: all */
    const char *condition; /* what else must be known to read the numbers, "published", … */
};

/*
 * An empty table. `name` is the report's ("nvtx_sum"), `title` is for people. The columns are
 * copied, their texts are not. NULL when out of memory, as when there was none for the title.
 */
struct nvt_table *nvt_table_new(const char *name, const char *title,
                                const struct nvt_column_spec *columns, size_t column_count);
void nvt_table_free(struct nvt_table *table);

void nvt_table_set_title(struct nvt_table *table, const char *title);
void nvt_table_set_provenance(struct nvt_table *table, const struct nvt_provenance *provenance);

/* Append a row of nulls. Returns its number (when out of memory one that setters ignore, and that reads as a row of nulls). */
size_t nvt_table_add_row(struct nvt_table *table);

/*
 * Set a cell. A setter of another type than the column's is a mistake of the caller: the table is
 * marked as failed. Exceptions: an integer goes into a real column. A value that is not finite and
 * a NULL text are nulls.
 */
void nvt_table_set_int(struct nvt_table *table, size_t row, size_t column, int64_t value);
void nvt_table_set_real(struct nvt_table *table, size_t row, size_t column, double value);
void nvt_table_set_bool(struct nvt_table *table, size_t row, size_t column, int value);
void nvt_table_set_text(struct nvt_table *table, size_t row, size_t column, const char *text);
/* The same of a text that is a null, too, where it is empty. */
void nvt_table_set_name(struct nvt_table *table, size_t row, size_t column, const char *text);

/* Copy a cell into one of a column of the same type; a null stays one. */
void nvt_table_copy_cell(struct nvt_table *to, size_t to_row, size_t to_column,
                         const struct nvt_table *from, size_t row, size_t column);

/* 0, or -1 with err filled when a cell, a row or a text could not be stored. */
int nvt_table_failed(const struct nvt_table *table, struct nvt_error *err);

/* Sort rows by a column, nulls last, texts by their bytes. Stable: sort by the least key first. */
void nvt_table_sort(struct nvt_table *table, size_t column, int descending);

const char *nvt_table_name(const struct nvt_table *table);
const char *nvt_table_title(const struct nvt_table *table);
const struct nvt_provenance *nvt_table_provenance(const struct nvt_table *table);
size_t nvt_table_rows(const struct nvt_table *table);
size_t nvt_table_columns(const struct nvt_table *table);
const struct nvt_column_spec *nvt_table_column(const struct nvt_table *table, size_t column);
/* The column with this heading, or SIZE_MAX. */
size_t nvt_table_find(const struct nvt_table *table, const char *heading);

/* Read a cell of a column of that type; a null reads as 0, 0.0, 0 and "". */
int nvt_table_is_null(const struct nvt_table *table, size_t row, size_t column);
int64_t nvt_table_int(const struct nvt_table *table, size_t row, size_t column);
double nvt_table_real(const struct nvt_table *table, size_t row, size_t column); /* or an integer */
int nvt_table_bool(const struct nvt_table *table, size_t row, size_t column);
const char *nvt_table_text(const struct nvt_table *table, size_t row, size_t column);

/* A list that owns its tables. Zero-initialise. */
struct nvt_tables {
    struct nvt_table **items;
    size_t count;
    size_t
        terminal; /* columns of the terminal that the formats column and grid write for, 0 unknown or none */
    int is_wide; /* nothing is to be shortened or said but once (compact_table.h) */
};

/* Append, taking ownership also on failure. 0, or -1 when out of memory, `table` is NULL, or it has
 * failed (nvt_table_failed): a table that lacks rows is not shown. */
int nvt_tables_add(struct nvt_tables *tables, struct nvt_table *table);
void nvt_tables_free(struct nvt_tables *tables);

#endif
