/*
 * The tables of the model as data: their columns, and what each refers to. For who goes through a trace as a whole,
 * whatever is in it: to write it, to read it again, to check it. It is made of the lists of trace.h, so that a new
 * column is in all of that.
 */
#ifndef NVT_LAYOUT_H
#define NVT_LAYOUT_H

#include "trace.h"

/* NVT_TABLE_processes, …: a table's number. */
#define NVT_TABLE_NUMBER(member, row, columns) NVT_TABLE_##member,
enum nvt_table_number { NVT_TABLES(NVT_TABLE_NUMBER) NVT_TABLE_COUNT };
#undef NVT_TABLE_NUMBER

/* Files have these numbers (docs/trace-format.md). */
enum nvt_column_meaning {
    NVT_MEANS_NUMBER,      /* without a sign, or an enumeration, or bits */
    NVT_MEANS_SIGNED,      /* with a sign */
    NVT_MEANS_REAL,        /* a double that is finite */
    NVT_MEANS_TEXT,        /* id of a string */
    NVT_MEANS_ROW,         /* row of `target` */
    NVT_MEANS_ROW_OR_NONE, /* the same, or NVT_NONE */
    NVT_MEANS_ROW_AND_1,   /* row of `target` and 1, or 0; of its own table a lower one */
    NVT_MEANS_DETAIL, /* of ops: row of kernels of a kernel, of migrations of a copy, or NVT_NONE */
    NVT_MEANS_TIME,   /* on the trace's axis, ns, of 62 bits */
    NVT_MEANS_TIME_OR_NONE, /* the same, or INT64_MIN */
    NVT_MEANS_LINKED,       /* nvt_trace_finish makes it of the others */
};

struct nvt_layout_column {
    const char *name;
    uint32_t width; /* bytes: 1, 2, 4 or 8 */
    enum nvt_column_meaning meaning;
    enum nvt_table_number target; /* of rows */
};

struct nvt_layout_table {
    const char *name;
    size_t at; /* in struct nvt_trace */
    const struct nvt_layout_column *columns;
    uint32_t count;
    int (*reserve)(struct nvt_trace *trace, uint64_t rows);
};

/* NVT_TABLE_COUNT of them, by number; tables that others refer to come before these. */
const struct nvt_layout_table *nvt_layout(void);

/* How many rows a table has; and to set it, of columns that were filled behind the last. */
uint32_t nvt_layout_rows(const struct nvt_trace *trace, const struct nvt_layout_table *table);
void nvt_layout_set_rows(struct nvt_trace *trace, const struct nvt_layout_table *table,
                         uint32_t rows);

/* A column's first value; NULL where there never was room for a row. */
void *nvt_layout_values(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                        uint32_t column);

/* `count` values of a column as numbers of 64 bits: those with a sign are extended, doubles are their bits. */
void nvt_layout_take(const struct nvt_layout_column *column, const void *values, uint32_t count,
                     uint64_t *out);

/* Of a number: the largest that the column may hold; UINT64_MAX: any. */
uint64_t nvt_layout_most(const struct nvt_layout_table *table, uint32_t column);

/* Of a column of times: whether it may hold this one. */
int nvt_layout_is_time(const struct nvt_layout_column *column, uint64_t value);

/*
 * Whether all that a trace refers to is there, and no number is too large: readers see to that, and analyses rely
 * on it. NULL, or the name of a table that is wrong, with *column that of its column and *row which.
 */
const char *nvt_layout_check(const struct nvt_trace *trace, const char **column, uint32_t *row);

#endif
