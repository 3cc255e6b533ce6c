/*
 * The table: what every analysis returns and all that renderers and charts know.
 *
 *     static const struct nvt_column columns[] = {
 *         {"Thread", NVT_NAMES}, {"Calls", NVT_COUNTS}, {"Time (ns)", NVT_NS}};
 *     struct nvt_table *table = nvt_table_new("waits", "Who waits", columns, 3);
 *     nvt_table_put(table, name, calls, end - start);
 *
 * Data lies in columns. A cell that was never set is null. Texts are copied. A table that ran out
 * of memory stays usable and says so once, at the end (nvt_table_failed), so that filling it needs
 * no check; NULL is a table that there was no memory for.
 */
#ifndef NVT_TABLE_H
#define NVT_TABLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "cells.h"
#include "error.h"

enum nvt_type { NVT_INT, NVT_REAL, NVT_TEXT, NVT_BOOL };

enum nvt_column_flags {
    NVT_PLAIN = 1,  /* a number that names something (a pid, an id): no thousands separators */
    NVT_MOMENT = 2, /* a moment on the trace's axis, not a length of time */
    NVT_SPARE = 4,  /* people miss it least: left out first where a terminal has no room */
    NVT_JUDGED = 8, /* a verdict: "slower", "faster" … */
    /* "DOMAIN:NAME", of the default domain ":NAME"; behind "--" for each level of a tree */
    NVT_OF_RANGES = 16,
    NVT_OF_KERNELS = 32, /* whole names of kernels, or telling ones (kernel_names.h) */
    NVT_OF_KINDS = 64, /* what such a name is of, where not all are kernels' (nvt_people_kernels) */
    NVT_ASKED = 128,   /* somebody asked for it by name: shown to people also without any value */
};

/* Decimals of an NVT_REAL column that shows as many as it needs. */
#define NVT_SHORTEST (-1)
/* Of one that shows six digits, or those before the point where they are more. */
#define NVT_SIX_DIGITS (-2)

/* What a column is. Static text, which must outlive the tables made of it. */
struct nvt_column {
    const char *heading;
    /* "ns", "%", "MiB" …, or "": shown behind the heading, unless that has it already */
    const char *unit;
    enum nvt_type type;
    int decimals; /* of an NVT_REAL */
    unsigned flags;
};

/* What columns hold, for their descriptions: {"Total Time (ns)", NVT_NS}. */
#define NVT_NAMES                       "", NVT_TEXT, 0, 0
#define NVT_COUNTS                      "", NVT_INT, 0, 0
#define NVT_SPARE_NAMES                 "", NVT_TEXT, 0, NVT_SPARE
#define NVT_SPARE_COUNTS                "", NVT_INT, 0, NVT_SPARE
#define NVT_RANGES                      "", NVT_TEXT, 0, NVT_OF_RANGES
#define NVT_KERNELS                     "", NVT_TEXT, 0, NVT_OF_KERNELS
#define NVT_NAME_KINDS                  "", NVT_TEXT, 0, NVT_OF_KINDS
#define NVT_VERDICTS                    "", NVT_TEXT, 0, NVT_JUDGED
#define NVT_IDS                         "", NVT_INT, 0, NVT_PLAIN
#define NVT_SPARE_IDS                   "", NVT_INT, 0, NVT_PLAIN | NVT_SPARE
#define NVT_NS                          "ns", NVT_INT, 0, 0
#define NVT_SPARE_NS                    "ns", NVT_INT, 0, NVT_SPARE
#define NVT_SPARE_NS_AVERAGE            "ns", NVT_REAL, 1, NVT_SPARE
#define NVT_SPARE_REALS(unit, decimals) unit, NVT_REAL, decimals, NVT_SPARE
#define NVT_MOMENTS_NS                  "ns", NVT_INT, 0, NVT_MOMENT
#define NVT_NS_AVERAGE                  "ns", NVT_REAL, 1, 0
#define NVT_PERCENT                     "%", NVT_REAL, 1, 0
#define NVT_MB                          "MB", NVT_REAL, 3, 0
#define NVT_MIB                         "MiB", NVT_REAL, 2, 0
#define NVT_MEGABYTE                    1e6 /* bytes */
#define NVT_MEBIBYTE                    (1024.0 * 1024.0)
/* Numbers with this unit and so many decimals. */
#define NVT_REALS(unit, decimals) unit, NVT_REAL, decimals, 0

/* The five columns of a struct nvt_summary of durations; texts before and behind "Avg", "Med" … */
#define NVT_SUMMARY_COLUMNS(before)                                                                \
    {before "Avg (ns)", NVT_NS_AVERAGE}, {before "Med (ns)", NVT_NS_AVERAGE},                      \
        {before "Min (ns)", NVT_SPARE_NS}, {before "Max (ns)", NVT_NS},                            \
    {                                                                                              \
        before "StdDev (ns)", "ns", NVT_REAL, 1, NVT_SPARE                                         \
    }

/* How a table of times by name begins: share, sum, how many (under that heading), and the summary. */
#define NVT_TIME_COLUMNS(instances)                                                                \
    {"Time (%)", NVT_PERCENT}, {"Total Time (ns)", NVT_NS}, {instances, NVT_COUNTS},               \
        NVT_SUMMARY_COLUMNS("")

/* Columns of a table whose description has room for any number of them, at most. */
#define NVT_COLUMNS_MOST 32

struct nvt_table;

/* Where the numbers come from. Strings are copied; NULL is unknown. */
struct nvt_provenance {
    const char *backend;   /* "host", "cuda" */
    const char *device;    /* name of the processor or GPU */
    const char *date;      /* of the measurement, as recorded */
    size_t date_length;    /* its first bytes alone, as of the day of several moments; 0: all */
    const char *condition; /* what else must be known to read the numbers, "published", … */
    int64_t begin;         /* of the trace that all moments are of, ns on its axis … */
    int has_begin;         /* … where there is one */
};

/*
 * An empty table. `name` is the report's ("nvtx_sum"), `title` is for people. The columns are
 * those up to one without a heading, at most column_count. They are copied, their texts are not.
 * NULL when out of memory, as when there was none for the title.
 */
struct nvt_table *nvt_table_new(const char *name, const char *title,
                                const struct nvt_column *columns, size_t column_count);
void nvt_table_free(struct nvt_table *table);

void nvt_table_set_title(struct nvt_table *table, const char *title);
void nvt_table_set_provenance(struct nvt_table *table, const struct nvt_provenance *provenance);

/* Leave out `count` columns from the one with this heading on; before the first row. */
void nvt_table_drop(struct nvt_table *table, const char *heading, size_t count);

/*
 * Append a row: a value for each column from the first one on; columns behind the last value are
 * null. A value is an integer (of a column of numbers, or of booleans), a double, a text, or a
 * pointer to a struct nvt_summary, which fills five columns: average, median, minimum, maximum and
 * deviation (of a single value 0, as nsys prints it; all null where it has no value). NVT_NULL, a
 * double that is not finite and a NULL text are nulls. A value of another type than its column's, and
 * one too many, are mistakes of the caller: the table is marked as failed.
 */
#define nvt_table_put(table, ...)                                                                  \
    nvt_table_put_cells(table, (const struct nvt_cell[]){NVT_CELLS(__VA_ARGS__), NVT_CELLS_END})

/* Put values into the columns behind those that the last row has values for so far; as nvt_table_put takes them. */
#define nvt_table_more(table, ...)                                                                 \
    nvt_table_more_cells(table, (const struct nvt_cell[]){NVT_CELLS(__VA_ARGS__), NVT_CELLS_END})

void nvt_table_put_cells(struct nvt_table *table, const struct nvt_cell *cells);
void nvt_table_more_cells(struct nvt_table *table, const struct nvt_cell *cells);

/* Leave that many columns of the last row null, behind those that it has values for so far. */
void nvt_table_skip(struct nvt_table *table, size_t count);

/* A value, or null where the condition does not hold. */
#define NVT_IF(condition, value) ((condition) ? NVT_CELL(value) : NVT_NULL)

/* A text, or NULL (a null) where it is empty. */
static inline const char *nvt_text_if_any(const char *text)
{
    return *text ? text : NULL;
}

/* A part in percent of a whole; NaN (a null) where there is nothing of the whole. */
#define nvt_percent(part, whole) nvt_percent_of((double)(part), (double)(whole))
static inline double nvt_percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

/* Leave out the rows behind the first ones. */
void nvt_table_keep(struct nvt_table *table, size_t rows);

/* Say how many rows there are in all, where the table has only the first ones. */
#define NVT_ROWS_UNKNOWN SIZE_MAX
void nvt_table_set_all(struct nvt_table *table, size_t rows);
/* Rows in all: those of the table, unless some were left out. */
size_t nvt_table_all(const struct nvt_table *table);

/* Append a row of nulls, to be filled by nvt_table_more. */
void nvt_table_add_row(struct nvt_table *table);

/* A cell, to be put into another table while this one lasts. */
struct nvt_cell nvt_table_cell(const struct nvt_table *table, size_t row, size_t column);

/* 0, or -1 with err filled when a cell, a row or a text could not be stored. */
int nvt_table_failed(const struct nvt_table *table, struct nvt_error *err);

/* Sort rows by a column, nulls last, texts by their bytes. Stable: sort by the least key first. */
void nvt_table_sort(struct nvt_table *table, size_t column, int descending);

/* Sort rows by the headings of up to NVT_ORDER_MOST columns, the most important first, up to a NULL; one with a '-' before it
 * descends: {"Kind", "-Total Time (ns)"}. */
#define NVT_ORDER_MOST 5
void nvt_table_order(struct nvt_table *table, const char *const headings[NVT_ORDER_MOST]);

const char *nvt_table_name(const struct nvt_table *table);
const char *nvt_table_title(const struct nvt_table *table);
const struct nvt_provenance *nvt_table_provenance(const struct nvt_table *table);
size_t nvt_table_rows(const struct nvt_table *table);
size_t nvt_table_columns(const struct nvt_table *table);
const struct nvt_column *nvt_table_column(const struct nvt_table *table, size_t column);
/* The column with this heading, or SIZE_MAX. */
size_t nvt_table_find(const struct nvt_table *table, const char *heading);

/* Read a cell of a column of that type; a null reads as 0, 0.0, 0 and "". */
int nvt_table_is_null(const struct nvt_table *table, size_t row, size_t column);
int64_t nvt_table_int(const struct nvt_table *table, size_t row, size_t column);
double nvt_table_real(const struct nvt_table *table, size_t row, size_t column); /* or an integer */
int nvt_table_bool(const struct nvt_table *table, size_t row, size_t column);
const char *nvt_table_text(const struct nvt_table *table, size_t row, size_t column);

/* What the format facts says besides tables. Zero-initialise. */
struct nvt_facts {
    const char *const *traces; /* paths of what was read */
    size_t trace_count;
    const char *range, *time; /* of a window, as they were given; NULL: none */
    const void *notes;        /* lines, each with its '\n' */
    size_t notes_size;
    const char *text;   /* a text to read, besides or instead of tables; NULL */
    const char *cannot; /* why there is no answer; NULL: there is one, unless no table has a row */
    size_t most_bytes;  /* that it writes, about; 0: any number */
};

/* A list that owns its tables. Zero-initialise. */
struct nvt_tables {
    struct nvt_table **items;
    size_t count;
    /* columns of the terminal that the formats table, column and grid write for, 0 unknown or none */
    size_t terminal;
    int is_coloured;               /* and whether colours are wanted there */
    size_t most_rows;              /* of each table that the format table writes; 0: all */
    const char *more;              /* how to see the others; NULL: by the report's name */
    const char *wider;             /* how to see columns that have no room; NULL: --wide */
    const struct nvt_facts *facts; /* for the format facts; NULL: nothing is known */
    int is_wide; /* nothing is to be shortened, left out or said but once (compact_table.h) */
};

/* Append, taking ownership also on failure. 0, or -1 when out of memory, `table` is NULL, or it has
 * failed (nvt_table_failed): a table that lacks rows is not shown. */
int nvt_tables_add(struct nvt_tables *tables, struct nvt_table *table);
void nvt_tables_free(struct nvt_tables *tables);

#endif
