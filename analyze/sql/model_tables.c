#include <pthread.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "model.h"

#define NOT_A_TABLE    NVT_TABLE_COUNT
#define OF_apis        NVT_UNKNOWN_NONE, NVT_TABLE_apis
#define OF_ranges      NVT_UNKNOWN_NONE, NVT_TABLE_ranges
#define NEVER          NVT_UNKNOWN_NEVER, NOT_A_TABLE
#define ZERO           NVT_UNKNOWN_ZERO, NOT_A_TABLE
#define NONE           NVT_UNKNOWN_NONE, NOT_A_TABLE
#define LEAST          NVT_UNKNOWN_LEAST, NOT_A_TABLE
#define MINUS          NVT_UNKNOWN_MINUS, NOT_A_TABLE
#define AND_1          NVT_UNKNOWN_AND_1, NOT_A_TABLE
#define WITH_REGISTERS NVT_UNKNOWN_WITH_REGISTERS, NOT_A_TABLE

/* What columns.def says. */
static const struct about_table {
    const char *about;
} about_tables[NVT_TABLE_COUNT] = {
#define TABLE(table, text) [NVT_TABLE_##table] = {text},
#define COLUMN(...)
#include "columns.def"
#undef TABLE
#undef COLUMN
};

static const struct about_column {
    enum nvt_table_number table;
    const char *column, *unit;
    enum nvt_unknown unknown;
    uint32_t target;
    const char *about;
} about_columns[] = {
#define TABLE(...)
#define COLUMN(table, column, unit, unknown, about)                                                \
    {NVT_TABLE_##table, #column, unit, unknown, about},
#include "columns.def"
#undef TABLE
#undef COLUMN
};

/* Names that SQL has as words of its own, or that would mislead. `kernels` are launches to everybody else. */
static const char *const other_names[][2] = {{"kernels", "kernel_shapes"},
                                             {"group", "group_name"},
                                             {"values", "value_kind"},
                                             {"file", "path"},
                                             {"sequence_and_1", "sequence"}};

static struct nvt_shown_table shown[NVT_TABLE_COUNT];

static const char *name_of(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(other_names); i++)
        if (!strcmp(other_names[i][0], name))
            return other_names[i][1];
    return name;
}

static const struct about_column *about(enum nvt_table_number table, const char *column)
{
    for (size_t i = 0; i < NVT_COUNT_OF(about_columns); i++)
        if (about_columns[i].table == table && !strcmp(about_columns[i].column, column))
            return &about_columns[i];
    return NULL;
}

static void add(struct nvt_shown_table *table, struct nvt_shown_column column)
{
    if (table->count < NVT_SHOWN_COLUMNS_MOST)
        table->columns[table->count++] = column;
}

static void add_stored(struct nvt_shown_table *table, uint32_t stored)
{
    const struct nvt_layout_column *column = &table->layout->columns[stored];
    const struct about_column *what = about(table->number, column->name);
    const int refers = column->meaning == NVT_MEANS_ROW ||
                       column->meaning == NVT_MEANS_ROW_OR_NONE ||
                       column->meaning == NVT_MEANS_ROW_AND_1;
    struct nvt_shown_column fresh = {.name = name_of(column->name),
                                     .unit = what ? what->unit : "",
                                     .about = what ? what->about : "",
                                     .kind = NVT_SHOWN_STORED,
                                     .stored = stored,
                                     .unknown = what ? what->unknown : NVT_UNKNOWN_NEVER,
                                     .target = refers ? (uint32_t)column->target
                                               : what ? what->target
                                                      : NOT_A_TABLE};
    add(table, fresh);
}

/* Hidden, behind all others: the columns of kernels, which come before ops. */
static void add_kernels(struct nvt_shown_table *table)
{
    const struct nvt_shown_table *kernels = &shown[NVT_TABLE_kernels];
    for (uint32_t i = 0; i < kernels->count; i++) {
        struct nvt_shown_column column = kernels->columns[i];
        if (column.kind != NVT_SHOWN_STORED ||
            table->count + table->hidden == NVT_SHOWN_COLUMNS_MOST)
            continue;
        column.kind = NVT_SHOWN_OF_KERNEL;
        column.stored = i;
        table->columns[table->count + table->hidden++] = column;
    }
}

static void make_table(enum nvt_table_number number)
{
    struct nvt_shown_table *table = &shown[number];
    const struct nvt_layout_table *layout = &nvt_layout()[number];
    *table = (struct nvt_shown_table){.name = name_of(layout->name),
                                      .about = about_tables[number].about,
                                      .layout = layout,
                                      .number = number};
    add(table, (struct nvt_shown_column){.name = "id",
                                         .unit = "",
                                         .about = "number of the row over all files",
                                         .kind = NVT_SHOWN_ID,
                                         .target = NOT_A_TABLE});
    add(table, (struct nvt_shown_column){.name = "file",
                                         .unit = "",
                                         .about = "path of the trace",
                                         .kind = NVT_SHOWN_FILE,
                                         .target = NOT_A_TABLE});
    add(table, (struct nvt_shown_column){.name = "rank",
                                         .unit = "",
                                         .about = "rank of the process, or of the trace",
                                         .kind = NVT_SHOWN_RANK,
                                         .target = NOT_A_TABLE});
    for (uint32_t i = 0; i < layout->count; i++)
        if (number != NVT_TABLE_processes || strcmp(layout->columns[i].name, "rank") != 0)
            add_stored(table, i);
    if (layout->times == NVT_SPANS || layout->times == NVT_NESTED)
        add(table, (struct nvt_shown_column){
                       .name = "duration",
                       .unit = "ns",
                       .about = "from start to end; NULL where one of them was not seen",
                       .kind = NVT_SHOWN_DURATION,
                       .target = NOT_A_TABLE});
    if (number != NVT_TABLE_ops)
        return;
    add(table, (struct nvt_shown_column){.name = "range",
                                         .unit = "",
                                         .about = "innermost range that launched it, or that "
                                                  "waited for its thread: ranges.id",
                                         .kind = NVT_SHOWN_RANGE,
                                         .target = NVT_TABLE_ranges});
    add(table, (struct nvt_shown_column){.name = "range_name",
                                         .unit = "",
                                         .about = "name of that range",
                                         .kind = NVT_SHOWN_RANGE_NAME,
                                         .target = NOT_A_TABLE});
    add_kernels(table);
}

static void make_model_tables(void)
{
    for (int i = 0; i < NVT_TABLE_COUNT; i++)
        make_table((enum nvt_table_number)i);
}

const struct nvt_shown_table *nvt_shown_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_model_tables);
    return shown;
}

const struct nvt_shown_table *nvt_shown_table(const char *name)
{
    const struct nvt_shown_table *tables = nvt_shown_tables();
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i];
    return NULL;
}

const char *nvt_shown_type(const struct nvt_shown_table *table,
                           const struct nvt_shown_column *column)
{
    if (column->kind == NVT_SHOWN_FILE || column->kind == NVT_SHOWN_RANGE_NAME)
        return "TEXT";
    if (column->kind != NVT_SHOWN_STORED)
        return "INTEGER";
    const enum nvt_column_meaning meaning = table->layout->columns[column->stored].meaning;
    return meaning == NVT_MEANS_TEXT ? "TEXT" : meaning == NVT_MEANS_REAL ? "REAL" : "INTEGER";
}

uint32_t nvt_shown_find(const struct nvt_shown_table *table, const char *column)
{
    uint32_t i = 0;
    while (i < table->count && strcmp(table->columns[i].name, column) != 0)
        i++;
    return i;
}
