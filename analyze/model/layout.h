/*
 * The tables of the model as data: their columns, and what each refers to. For who goes through a trace as a whole,
 * whatever is in it: to write it, to read it again, to check it. It is made of the lists of trace.h, so that a new
 * column is in all of that.
 */
#ifndef NVT_LAYOUT_H
#define NVT_LAYOUT_H

#include <math.h>
#include <string.h>

#include "trace.h"

/* NVT_TABLE_processes, …: a table's number. */
#define NVT_TABLE_NUMBER(member, ...) NVT_TABLE_##member,
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

/* As NVT_TABLES has them. */
enum nvt_layout_times { NVT_TIMELESS, NVT_MOMENTARY, NVT_SPANS, NVT_NESTED };
enum nvt_layout_extent { NVT_WITHIN, NVT_WIDENS, NVT_PARTLY };

struct nvt_layout_table {
    const char *name;
    size_t at; /* in struct nvt_trace */
    const struct nvt_layout_column *columns;
    uint32_t count;
    int (*reserve)(struct nvt_trace *trace, uint64_t rows);
    enum nvt_layout_times times;
    uint32_t start, end; /* columns; of moments both are the same, of what is timeless NVT_NONE */
    uint32_t owner; /* column, NVT_NONE: no entry; it refers to processes, threads or counters */
    enum nvt_layout_extent extent;
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

/* The starts of a table's rows, or their ends; of moments these are the same. Not of a table that is timeless. */
int64_t *nvt_layout_starts(const struct nvt_trace *trace, const struct nvt_layout_table *table);
int64_t *nvt_layout_ends(const struct nvt_trace *trace, const struct nvt_layout_table *table);

/* Whether a table's rows belong to rows of that one: of processes, threads or counters. */
int nvt_layout_is_owned_by(const struct nvt_layout_table *table, enum nvt_table_number owner);

/* The process of a row of a table that has owners. */
uint32_t nvt_layout_process(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                            uint32_t row);

/* Rows in the order of their times (`times` of NVT_TABLES), those of equal times as they were. 0, or -1 when out of memory. */
int nvt_layout_sort(struct nvt_trace *trace, const struct nvt_layout_table *table);

/* Leave out rows: row i becomes row place[i], at most i, or is gone where that is NVT_NONE. `count` are left. */
void nvt_layout_keep(struct nvt_trace *trace, const struct nvt_layout_table *table,
                     const uint32_t *place, uint32_t count);

/* `count` values of a column as numbers of 64 bits: those with a sign are extended, doubles are their bits. */
void nvt_layout_take(const struct nvt_layout_column *column, const void *values, uint32_t count,
                     uint64_t *out);

/* The largest number that a column may hold; UINT64_MAX: any. */
uint64_t nvt_layout_most(const struct nvt_layout_table *table, uint32_t column);

/* Whether a column of times may hold this one. */
int nvt_layout_is_time(const struct nvt_layout_column *column, uint64_t value);

/* Whether a column of doubles, kept as their bits, may hold this one. */
static inline int nvt_bits_are_finite(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value);
}

/*
 * Whether all that a table refers to is there, and no number is too large: readers see to that, nvt_trace_finish makes sure
 * of it, and analyses rely on it. 0, or -1 with the name of a column that is wrong and the first such row in it.
 */
int nvt_layout_check_table(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                           const char **column, uint32_t *row);

/* Check all tables of a trace with nvt_layout_check_table. NULL, or the name of the first table that is wrong. */
const char *nvt_layout_check(const struct nvt_trace *trace, const char **column, uint32_t *row);

#endif
