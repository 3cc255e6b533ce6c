/*
 * The trace model as tables that programs ask for by name: SQL and Arrow. There is no line for any table: names, units
 * and meanings are data (columns.def), over what layout.h has. Values stay where they are.
 *
 * Rows of all traces of an input stand behind each other, and have one number over all of them, `id`: what refers to a
 * row has that number, so that joins need no file. A number that stands for "unknown" reads as null.
 *
 * Every table has the columns id, file (the path of the trace) and rank (of the row's process; null where none is known),
 * then those of the model. Spans have a duration, null where no end or begin was seen; operations the innermost range that
 * they belong to (device/project.h, as nvt_input_projection says), and its name. Hidden columns of operations are those of their
 * kernel's row, so that nothing has to be joined.
 */
#ifndef NVT_SQL_MODEL_H
#define NVT_SQL_MODEL_H

#include "../input/input.h"
#include "../model/layout.h"

enum nvt_shown_kind {
    NVT_SHOWN_ID,
    NVT_SHOWN_FILE,
    NVT_SHOWN_RANK,
    NVT_SHOWN_STORED, /* a column of the layout */
    NVT_SHOWN_DURATION,
    NVT_SHOWN_RANGE,
    NVT_SHOWN_RANGE_NAME,
    NVT_SHOWN_OF_KERNEL /* of the row of kernels that an operation refers to */
};

/* As columns.def has it. */
enum nvt_unknown {
    NVT_UNKNOWN_NEVER,
    NVT_UNKNOWN_ZERO,
    NVT_UNKNOWN_NONE,
    NVT_UNKNOWN_LEAST,
    NVT_UNKNOWN_MINUS,
    NVT_UNKNOWN_AND_1,
    NVT_UNKNOWN_WITH_REGISTERS
};

struct nvt_shown_column {
    const char *name, *unit, *about;
    enum nvt_shown_kind kind;
    /* which column of the layout; of NVT_SHOWN_OF_KERNEL which shown column of kernels */
    uint32_t stored;
    enum nvt_unknown unknown;
    uint32_t target; /* table that it is a row of, NVT_TABLE_COUNT: none */
};

#define NVT_SHOWN_COLUMNS_MOST 48

struct nvt_shown_table {
    const char *name, *about;
    const struct nvt_layout_table *layout;
    enum nvt_table_number number;
    struct nvt_shown_column columns[NVT_SHOWN_COLUMNS_MOST];
    uint32_t count;
    uint32_t hidden; /* further columns behind those, which SQL has by name alone */
};

/* NVT_TABLE_COUNT of them, by number; made once. */
const struct nvt_shown_table *nvt_shown_tables(void);
/* A table by its name, NULL: there is none. */
const struct nvt_shown_table *nvt_shown_table(const char *name);
/* TEXT, REAL or INTEGER. */
const char *nvt_shown_type(const struct nvt_shown_table *table,
                           const struct nvt_shown_column *column);
/* A column of a table by its name, or its count. */
uint32_t nvt_shown_find(const struct nvt_shown_table *table, const char *column);

struct nvt_value {
    enum { NVT_VALUE_IS_NULL, NVT_VALUE_IS_INT, NVT_VALUE_IS_REAL, NVT_VALUE_IS_TEXT } type;
    int64_t integer;
    double real;
    const char *text; /* the trace's, of `length` bytes */
    size_t length;
};

/* Rows in the order of a column's values. */
struct nvt_model_order {
    uint32_t *rows; /* NULL: they are in that order */
    int is_made;
    uint32_t asked; /* how often it would have been of use */
    uint32_t last;  /* place that was found last: the next one is near it in most joins */
};

/* A trace within a model. */
struct nvt_model_part {
    const struct nvt_trace *trace;
    uint32_t *ranks;          /* of its processes */
    uint32_t rank;            /* of all of them, NVT_NONE: none, or several */
    uint32_t *op_ranges;      /* NULL: not made yet; NVT_NONE: in no range */
    uint32_t *op_range_names; /* made together with it: their names, 0 where there is none */
    struct nvt_model_order orders[NVT_TABLE_COUNT][NVT_SHOWN_COLUMNS_MOST];
    int64_t base[NVT_TABLE_COUNT]; /* id of the first row of each table */
};

struct nvt_model {
    const struct nvt_input *input; /* which lasts as long as the model does */
    struct nvt_model_part *parts;
    size_t count;
};

/* 0, or -1 with err filled (out of memory), when nothing is left to be released. */
int nvt_model_make(struct nvt_model *model, const struct nvt_input *input, struct nvt_error *err);
void nvt_model_free(struct nvt_model *model);

/* How many rows a table has in all traces. */
int64_t nvt_model_rows(const struct nvt_model *model, const struct nvt_shown_table *table);

/* Make what has to be worked out before a column can be read. 0, or -1 with err filled. */
int nvt_model_prepare(struct nvt_model *model, const struct nvt_shown_column *column,
                      struct nvt_error *err);

/* A value of a row of a part; of a column that needed it, after nvt_model_prepare. */
struct nvt_value nvt_model_value(const struct nvt_model *model, const struct nvt_shown_table *table,
                                 uint32_t column, size_t part, uint32_t row);

/* A number that is the same for rows of a part that have the same value of a column, and for no others. Not of one whose meaning
 * is NVT_MEANS_DETAIL; of a column that needed it, after nvt_model_prepare. */
uint64_t nvt_model_key(const struct nvt_model *model, const struct nvt_shown_table *table,
                       uint32_t column, size_t part, uint32_t row);

/* Have the processor fetch what a value is made of, for who reads rows in another order than theirs. */
void nvt_model_fetch(const struct nvt_model *model, const struct nvt_shown_table *table,
                     uint32_t column, size_t part, uint32_t row);

/* A stored number of a row, as nvt_layout_take has it. */
uint64_t nvt_model_stored(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                          uint32_t column, uint32_t row);

/*
 * Which stored number a column has where it shows this value; 0 where no row of the part can have it. Where it cannot be said
 * (a number that is shown in several ways) columns are not asked for: nvt_model_can_find.
 */
int nvt_model_can_find(const struct nvt_shown_table *table, uint32_t column);
int nvt_model_stored_of(const struct nvt_model *model, const struct nvt_shown_table *table,
                        uint32_t column, size_t part, const struct nvt_value *value,
                        uint64_t *stored);

/* The rows of a part in the order of a stored column, made when it is first asked for. NULL when out of memory. */
const struct nvt_model_order *nvt_model_order(struct nvt_model *model,
                                              const struct nvt_shown_table *table, uint32_t column,
                                              size_t part);
/* The first place in that order at which the number is at least, or with `behind` more than, `stored`. */
uint32_t nvt_model_place(struct nvt_model *model, const struct nvt_shown_table *table,
                         uint32_t column, size_t part, uint64_t stored, int behind);

#endif
