/* Tables of what there is: rows of run directories, and which tables and columns SQL has. */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/text.h"
#include "connection.h"

/* --- rows of run directories --- */

/* Columns: file, then every key of any record in the order in which they come. */
struct keys {
    const char **keys; /* the records' */
    struct nvt_column *columns;
    size_t count;
};

static int take_key(struct keys *keys, const struct nvt_member *member)
{
    const enum nvt_type type = member->type == NVT_VALUE_NUMBER ? NVT_REAL
                               : member->type == NVT_VALUE_NULL ? NVT_BOOL
                                                                : NVT_TEXT;
    for (size_t i = 0; i < keys->count; i++)
        if (!strcmp(keys->keys[i], member->key)) {
            /* What is null so far may be anything; what is not all numbers is text. */
            if (keys->columns[i].type == NVT_BOOL)
                keys->columns[i].type = type;
            else if (type != NVT_BOOL && keys->columns[i].type != type)
                keys->columns[i].type = NVT_TEXT;
            return 0;
        }
    if (nvt_grow(&keys->keys, keys->count, sizeof(*keys->keys)) ||
        nvt_grow(&keys->columns, keys->count, sizeof(*keys->columns)))
        return -1;
    keys->keys[keys->count] = member->key;
    keys->columns[keys->count++] = (struct nvt_column){
        .heading = member->key, .unit = "", .type = type, .decimals = NVT_SHORTEST};
    return 0;
}

static struct nvt_cell cell_of(const struct nvt_record *record, const char *key, enum nvt_type type)
{
    for (size_t i = 0; i < record->count; i++)
        if (!strcmp(record->members[i].key, key)) {
            const struct nvt_member *member = &record->members[i];
            if (member->type == NVT_VALUE_NULL)
                return NVT_NULL;
            return type == NVT_REAL ? nvt_cell_real(member->number) : nvt_cell_text(member->text);
        }
    return NVT_NULL;
}

/* Those of all records. 0, or -1 when out of memory. */
static int take_keys(struct keys *keys, const struct nvt_input *input)
{
    int status = 0;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++)
            for (size_t m = 0; m < input->runs[i]->records[k].count && !status; m++)
                status = take_key(keys, &input->runs[i]->records[k].members[m]);
    return status;
}

static int fill_runs(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_input *input = made->sql->input;
    struct keys keys = {0};
    int status = take_keys(&keys, input);
    for (size_t i = 0; i < input->run_count && !status; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            nvt_table_put(table, input->runs[i]->path);
            for (size_t c = 0; c < keys.count && c + 1 < made->column_count; c++)
                nvt_table_more(table, cell_of(&input->runs[i]->records[k], keys.keys[c],
                                              made->columns[c + 1].type));
        }
    free(keys.keys);
    free(keys.columns);
    return status ? nvt_fail(err, "out of memory") : 0;
}

int nvt_sql_list_runs(struct nvt_sql *sql, struct nvt_error *err)
{
    static const struct nvt_column file = {"file", NVT_NAMES};
    const struct nvt_input *input = sql->input;
    struct keys keys = {0};
    int status = take_keys(&keys, input);
    /* As many as a table of SQLite's may have, less the first. */
    const size_t count = keys.count < 1999 ? keys.count : 1999;
    struct nvt_column *columns = status ? NULL : calloc(count + 1, sizeof(*columns));
    if (!columns)
        status = nvt_fail(err, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        columns[i + 1] = keys.columns[i];
        columns[i + 1].type = keys.columns[i].type == NVT_REAL ? NVT_REAL : NVT_TEXT;
    }
    if (!status) {
        columns[0] = file;
        const struct nvt_made made = {.name = "runs",
                                      .about = "rows of run directories, or of traces that "
                                               "'nvtally run' recorded",
                                      .fill = fill_runs};
        status = nvt_sql_add_table(sql, made, columns, count + 1, err);
    }
    free(columns);
    free(keys.keys);
    free(keys.columns);
    return status ? -1 : 0;
}

/* --- tables and columns --- */

static const struct nvt_column table_columns[] = {
    {"name", NVT_NAMES}, {"kind", NVT_NAMES}, {"rows", NVT_COUNTS}, {"about", NVT_NAMES}};

static int fill_tables(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_sql *sql = made->sql;
    const struct nvt_shown_table *shown = nvt_shown_tables();
    (void)err;
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        nvt_table_put(table, shown[i].name, "model", nvt_model_rows(&sql->model, &shown[i]),
                      shown[i].about);
    for (const struct nvt_sql_view *view = nvt_sql_views; view->name; view++)
        nvt_table_put(table, view->name, "view", NVT_NULL, view->about);
    for (size_t i = 0; i < sql->made_count; i++)
        nvt_table_put(table, sql->made[i].name,
                      strncmp(sql->made[i].name, "report_", 7) ? "made" : "report", NVT_NULL,
                      sql->made[i].about);
    return 0;
}

static const struct nvt_column column_columns[] = {{"table_name", NVT_NAMES}, {"name", NVT_NAMES},
                                                   {"type", NVT_NAMES},       {"unit", NVT_NAMES},
                                                   {"refers_to", NVT_NAMES},  {"about", NVT_NAMES}};

static void put_shown(struct nvt_table *table, const char *name,
                      const struct nvt_shown_table *shown, const struct nvt_shown_column *column)
{
    nvt_table_put(table, name, column->name, nvt_shown_type(shown, column),
                  nvt_text_if_any(column->unit),
                  NVT_IF(column->target != NVT_TABLE_COUNT,
                         nvt_shown_tables()[column->target % NVT_TABLE_COUNT].name),
                  column->about);
}

static void put_made(struct nvt_table *table, const struct nvt_made *made)
{
    static const struct nvt_made_meaning nothing;
    for (size_t c = 0; c < made->column_count; c++) {
        const struct nvt_made_meaning *meaning = made->meanings ? &made->meanings[c] : &nothing;
        nvt_table_put(table, made->name, made->columns[c].heading,
                      made->columns[c].type == NVT_TEXT   ? "TEXT"
                      : made->columns[c].type == NVT_REAL ? "REAL"
                                                          : "INTEGER",
                      nvt_text_if_any(made->columns[c].unit), meaning->refers_to, meaning->about);
    }
}

/* A column of a view is that of its tables which has the name, or one of its own. */
static void put_view_column(struct nvt_table *table, const struct nvt_sql_view *view,
                            const char *name)
{
    const char *about = NULL;
    for (size_t i = 0; view->of[i]; i++) {
        const struct nvt_shown_table *shown = nvt_shown_table(view->of[i]);
        const uint32_t at = shown ? nvt_shown_find(shown, name) : 0;
        if (shown && at < shown->count) {
            put_shown(table, view->name, shown, &shown->columns[at]);
            return;
        }
    }
    for (size_t i = 0; nvt_sql_view_columns[i][0]; i++)
        if (!strcmp(nvt_sql_view_columns[i][0], name))
            about = nvt_sql_view_columns[i][1];
    nvt_table_put(table, view->name, name, NVT_NULL, NVT_IF(nvt_has_ending(name, "_ns"), "ns"),
                  NVT_NULL, about);
}

static int put_view(struct nvt_table *table, const struct nvt_sql *sql,
                    const struct nvt_sql_view *view, struct nvt_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(sql->db, view->select, -1, &statement, NULL) != SQLITE_OK)
        return nvt_fail(err, "view %s: %s", view->name, sqlite3_errmsg(sql->db));
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        put_view_column(table, view, sqlite3_column_name(statement, i));
    sqlite3_finalize(statement);
    return 0;
}

static int fill_columns(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_sql *sql = made->sql;
    const struct nvt_shown_table *shown = nvt_shown_tables();
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        for (uint32_t c = 0; c < shown[i].count; c++)
            put_shown(table, shown[i].name, &shown[i], &shown[i].columns[c]);
    for (const struct nvt_sql_view *view = nvt_sql_views; view->name; view++)
        if (put_view(table, sql, view, err))
            return -1;
    for (size_t i = 0; i < sql->made_count; i++)
        put_made(table, &sql->made[i]);
    return 0;
}

int nvt_sql_list_lists(struct nvt_sql *sql, struct nvt_error *err)
{
    static const struct nvt_made_meaning table_meanings[] = {
        {.about = "name of the table: nvtally_columns.table_name"},
        {.about =
             "model: of the trace itself; view; made: worked out; report: as nvtally stats has it"},
        {.about = "rows; NULL: not counted until they are read"},
        {.about = "what its rows are"}};
    static const struct nvt_made_meaning column_meanings[] = {
        {.about = "name of its table: nvtally_tables.name"},
        {.about = "name of the column"},
        {.about = "INTEGER, REAL or TEXT"},
        {.about = "unit of its values"},
        {.about = "table whose id the values are"},
        {.about = "what its values are"}};
    const struct nvt_made tables = {.name = "nvtally_tables",
                                    .about = "tables that SQL has",
                                    .meanings = table_meanings,
                                    .fill = fill_tables};
    const struct nvt_made columns = {.name = "nvtally_columns",
                                     .about = "their columns",
                                     .meanings = column_meanings,
                                     .fill = fill_columns};
    return nvt_sql_add_table(sql, tables, table_columns, NVT_COUNT_OF(table_columns), err) ||
                   nvt_sql_add_table(sql, columns, column_columns, NVT_COUNT_OF(column_columns),
                                     err)
               ? -1
               : 0;
}
#endif
