/*
 * The tables of the model as virtual tables of SQLite: one module for all. Rows are found by id, by their time (tables are
 * sorted by it), and by the value of any other column, in an order of it that is made when it is of use for the second time.
 */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/buffer.h"
#include "model_vtab.h"
#include "sorted.h"

#define ROWS_AHEAD   12
#define INTEGERS_END 9223372036854775808.0 /* the first real number behind those of 64 bits */

/* Rows of a part from `at` on, before `end`; of an order, places in it. */
struct cursor {
    sqlite3_vtab_cursor base;
    size_t part;
    uint32_t at, end;
    const uint32_t *rows; /* NULL: places are rows */
    /* Instead of all that, rows that were sorted; they stay, as only constants choose them. */
    struct nvt_place *sorted;
    uint32_t sorted_count;
    uint64_t read;   /* bits of the columns that were read of them */
    int is_compared; /* only rows with this stored number */
    uint64_t stored;
    /* What was asked for. */
    int64_t id_from, id_to, time_from, time_to; /* inclusive */
    uint32_t found;                             /* column with `value`, or UINT32_MAX */
    struct nvt_value value;
    char *text; /* of the value */
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **message)
{
    struct nvt_buffer text = {0};
    const struct nvt_shown_table *shown = nvt_shown_table(argv[0]);
    (void)db;
    (void)argc;
    (void)message;
    if (!shown)
        return SQLITE_ERROR;
    (void)nvt_buffer_printf(&text, "CREATE TABLE x(");
    for (uint32_t i = 0; i < shown->count + shown->hidden; i++) {
        const struct nvt_shown_column *column = &shown->columns[i];
        nvt_sql_put_column(&text, column->name, nvt_shown_type(shown, column), column->unit);
        (void)nvt_buffer_printf(&text, "%s", i < shown->count ? "" : " HIDDEN");
    }
    const int status = nvt_sql_declare(context, &text);
    struct nvt_model_vtab *table = status == SQLITE_OK ? sqlite3_malloc(sizeof(*table)) : NULL;
    if (!table)
        return status == SQLITE_OK ? SQLITE_NOMEM : status;
    *table = (struct nvt_model_vtab){.sql = context, .shown = shown};
    *out = &table->base;
    return SQLITE_OK;
}

/* --- cursors --- */

/* The authorizer is not asked of all tables: not of columns that USING names. */
static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    const struct nvt_model_vtab *table = (const struct nvt_model_vtab *)base;
    table->sql->read |= UINT64_C(1) << table->shown->number;
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
    if (!cursor)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof(*cursor));
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    sqlite3_free(cursor->text);
    free(cursor->sorted);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static const struct nvt_model_vtab *table_of(const struct cursor *cursor)
{
    return (const struct nvt_model_vtab *)cursor->base.pVtab;
}

/* The first row of a part from which on times are at least that. */
static uint32_t row_at(const struct nvt_trace *trace, const struct nvt_layout_table *layout,
                       int64_t time)
{
    const int64_t *starts = nvt_layout_starts(trace, layout);
    uint32_t row = 0;
    NVT_BISECT(row, nvt_layout_rows(trace, layout), starts[row] < time);
    return row;
}

/* The rows of a part within what is asked of ids and times. */
static void bound_rows(struct cursor *cursor)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    const struct nvt_model_part *part = &table->sql->model.parts[cursor->part];
    const struct nvt_layout_table *layout = table->shown->layout;
    const int64_t base = part->base[table->shown->number],
                  rows = nvt_layout_rows(part->trace, layout);
    int64_t from = cursor->id_from > base ? cursor->id_from - base : 0;
    int64_t end = cursor->id_to >= base + rows ? rows
                  : cursor->id_to < base       ? 0
                                               : cursor->id_to - base + 1;
    if (cursor->time_from != INT64_MIN || cursor->time_to != INT64_MAX) {
        const int64_t first = row_at(part->trace, layout, cursor->time_from);
        const int64_t last =
            cursor->time_to == INT64_MAX ? rows : row_at(part->trace, layout, cursor->time_to + 1);
        from = from > first ? from : first;
        end = end < last ? end : last;
    }
    cursor->at = (uint32_t)(from < end ? from : 0);
    cursor->end = (uint32_t)(from < end ? end : 0);
}

/* Of those the ones with a value: by an order of it, which is made when it is asked for the second time, or one by one. */
static int find_value(struct cursor *cursor)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    struct nvt_model *model = &table->sql->model;
    const uint32_t column = cursor->found;
    struct nvt_model_order *order =
        &model->parts[cursor->part].orders[table->shown->number][column];
    cursor->is_compared = 1;
    if (!nvt_model_stored_of(model, table->shown, column, cursor->part, &cursor->value,
                             &cursor->stored)) {
        cursor->end = cursor->at;
        return SQLITE_OK;
    }
    if (cursor->at + 64 > cursor->end || order->asked++ < 1)
        return SQLITE_OK;
    if (!nvt_model_order(model, table->shown, column, cursor->part))
        return SQLITE_NOMEM;
    const uint32_t first =
        nvt_model_place(model, table->shown, column, cursor->part, cursor->stored, 0);
    const uint32_t end =
        nvt_model_place(model, table->shown, column, cursor->part, cursor->stored, 1);
    cursor->rows = order->rows;
    /* In no order but that of rows, bounds hold as well. */
    cursor->at = order->rows || first > cursor->at ? first : cursor->at;
    cursor->end = order->rows || end < cursor->end ? end : cursor->end;
    return SQLITE_OK;
}

static uint32_t row_of(const struct cursor *cursor)
{
    if (cursor->sorted)
        return cursor->sorted[cursor->at].row;
    return cursor->rows ? cursor->rows[cursor->at] : cursor->at;
}

static int is_over(const struct cursor *cursor)
{
    return cursor->part >= table_of(cursor)->sql->model.count || cursor->at >= cursor->end;
}

/* Go on to a row that may be one of those asked for, of this part or the next ones. */
static int settle(struct cursor *cursor)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    const struct nvt_model *model = &table->sql->model;
    while (cursor->part < model->count) {
        const struct nvt_trace *trace = model->parts[cursor->part].trace;
        if (cursor->is_compared && !cursor->rows) {
            const uint32_t stored = table->shown->columns[cursor->found].stored;
            while (cursor->at < cursor->end && nvt_model_stored(trace, table->shown->layout, stored,
                                                                cursor->at) != cursor->stored)
                cursor->at++;
        }
        if (cursor->at < cursor->end)
            return SQLITE_OK;
        if (++cursor->part == model->count)
            break;
        cursor->rows = NULL;
        bound_rows(cursor);
        int status = cursor->found != UINT32_MAX ? find_value(cursor) : SQLITE_OK;
        if (status != SQLITE_OK)
            return status;
    }
    return SQLITE_OK;
}

/* Narrow [*from, *to] by a bound. What is no number of 64 bits leaves it as it is: SQLite looks at every row again. */
static void narrow(int64_t *from, int64_t *to, unsigned char op, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return;
    const int64_t number = sqlite3_value_int64(value);
    const int is_lower = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE,
              is_upper = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
    if (!is_upper && number > *from)
        *from = number;
    if (!is_lower && number < *to)
        *to = number;
}

static int is_whole_real(double real, int64_t *whole)
{
    if (!(real >= -INTEGERS_END && real < INTEGERS_END) || real != (double)(int64_t)real)
        return 0;
    *whole = (int64_t)real;
    return 1;
}

/* A value as SQLite compares it with a whole number: a text that is a number is one. 1; 0: it equals none; -1: out of memory. */
static int take_whole(sqlite3_value *value, int64_t *whole)
{
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        *whole = sqlite3_value_int64(value);
        return 1;
    }
    /* The value itself is SQLite's: asked for its number, a text would no longer be one where it is used next. */
    sqlite3_value *copy = sqlite3_value_dup(value);
    if (!copy)
        return -1;
    const int type = sqlite3_value_numeric_type(copy);
    int is_whole = type == SQLITE_INTEGER;
    if (is_whole)
        *whole = sqlite3_value_int64(copy);
    else if (type == SQLITE_FLOAT)
        is_whole = is_whole_real(sqlite3_value_double(copy), whole);
    sqlite3_value_free(copy);
    return is_whole;
}

/* Keep the whole number that is looked for, which alone decides which rows come: of another value, none. */
static int take_number(struct cursor *cursor, uint32_t column, sqlite3_value *value)
{
    cursor->value = (struct nvt_value){.type = NVT_VALUE_IS_INT};
    cursor->found = column;
    const int is_whole = take_whole(value, &cursor->value.integer);
    if (!is_whole)
        cursor->id_to = INT64_MIN;
    return is_whole < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

/* Keep the value that is looked for, where it is one of the column's type; of others SQLite looks at every row. */
static int take_value(struct cursor *cursor, uint32_t column, sqlite3_value *value)
{
    const struct nvt_shown_table *shown = table_of(cursor)->shown;
    const int is_text =
        shown->layout->columns[shown->columns[column].stored].meaning == NVT_MEANS_TEXT;
    if (sqlite3_value_type(value) != (is_text ? SQLITE_TEXT : SQLITE_INTEGER))
        return SQLITE_OK;
    cursor->found = column;
    cursor->value = (struct nvt_value){.type = NVT_VALUE_IS_INT};
    if (!is_text) {
        cursor->value.integer = sqlite3_value_int64(value);
        return SQLITE_OK;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    const size_t length = (size_t)sqlite3_value_bytes(value);
    cursor->text = sqlite3_malloc64(length + 1);
    if (!cursor->text || !text)
        return SQLITE_NOMEM;
    memcpy(cursor->text, text, length);
    cursor->value.text = cursor->text;
    cursor->value.length = length;
    return SQLITE_OK;
}

/* --- rows that are sorted --- */

/* All rows that are left, as places. */
static int take_places(struct cursor *cursor)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    /* Room for all rows: memory is taken only by those that come. */
    const size_t most = (size_t)nvt_model_rows(&table->sql->model, table->shown) + 1;
    struct nvt_place *places = malloc(most * sizeof(*places));
    uint32_t count = 0;
    int status = places ? SQLITE_OK : SQLITE_NOMEM;
    while (status == SQLITE_OK && (status = settle(cursor)) == SQLITE_OK && !is_over(cursor)) {
        if (count == UINT32_MAX) {
            status = SQLITE_NOMEM;
            break;
        }
        places[count++] = (struct nvt_place){(uint32_t)cursor->part, row_of(cursor)};
        cursor->at++;
    }
    if (status != SQLITE_OK) {
        free(places);
        return status;
    }
    cursor->sorted = places;
    cursor->sorted_count = count;
    return SQLITE_OK;
}

/* An order of a value has rows as they were within each part: by id. */
static int sort_rows(struct cursor *cursor, const char *by)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    struct nvt_sorted_column columns[NVT_SORTED_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    size_t count = 0;
    for (; by[0]; by += 2) {
        const uint32_t column = (uint32_t)(by[1] - '0');
        columns[count++] = (struct nvt_sorted_column){column, by[0] == NVT_SORT_DESCENDING};
        if (nvt_model_prepare(&table->sql->model, &table->shown->columns[column], &err))
            return nvt_sql_vtab_fail(cursor->base.pVtab, &err);
    }
    const int status = take_places(cursor);
    if (status != SQLITE_OK)
        return status;
    return nvt_sort_places(&table->sql->model, table->shown, columns, count, cursor->sorted,
                           cursor->sorted_count)
               ? SQLITE_NOMEM
               : SQLITE_OK;
}

/* Begin with the first row of those that were sorted. */
static int begin_sorted(struct cursor *cursor)
{
    cursor->at = 0;
    cursor->end = cursor->sorted_count;
    cursor->part = cursor->end ? cursor->sorted[0].part : 0;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int column, const char *plan, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    struct nvt_model *model = &table_of(cursor)->sql->model;
    int status = SQLITE_OK;
    if (cursor->sorted)
        return begin_sorted(cursor);
    sqlite3_free(cursor->text);
    *cursor = (struct cursor){.base = cursor->base,
                              .id_from = INT64_MIN,
                              .id_to = INT64_MAX,
                              .time_from = INT64_MIN,
                              .time_to = INT64_MAX,
                              .found = UINT32_MAX};
    for (int i = 0; i < argc && status == SQLITE_OK; i++) {
        const unsigned char op = (unsigned char)(plan[2 * i + 1] - '0');
        if (plan[2 * i] == NVT_USE_ID)
            narrow(&cursor->id_from, &cursor->id_to, op, argv[i]);
        else if (plan[2 * i] == NVT_USE_TIME)
            narrow(&cursor->time_from, &cursor->time_to, op, argv[i]);
        else if (plan[2 * i] == NVT_USE_VALUE_ALONE)
            status = take_number(cursor, (uint32_t)column, argv[i]);
        else
            status = take_value(cursor, (uint32_t)column, argv[i]);
    }
    if (status != SQLITE_OK || !model->count)
        return status;
    bound_rows(cursor);
    if (cursor->found != UINT32_MAX)
        status = find_value(cursor);
    if (status == SQLITE_OK && plan[2 * argc]) {
        status = sort_rows(cursor, plan + 2 * argc);
        return status == SQLITE_OK ? begin_sorted(cursor) : status;
    }
    return status == SQLITE_OK ? settle(cursor) : status;
}

/* Rows that were sorted are read all over the table: what they need of it is fetched some rows earlier. */
static void fetch_ahead(const struct cursor *cursor)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    if (cursor->end - cursor->at <= ROWS_AHEAD)
        return;
    const struct nvt_place *place = &cursor->sorted[cursor->at + ROWS_AHEAD];
    for (uint64_t left = cursor->read; left; left &= left - 1)
        nvt_model_fetch(&table->sql->model, table->shown, (uint32_t)__builtin_ctzll(left),
                        place->part, place->row);
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    cursor->at++;
    if (!cursor->sorted)
        return settle(cursor);
    if (cursor->at < cursor->end)
        cursor->part = cursor->sorted[cursor->at].part;
    fetch_ahead(cursor);
    return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *base)
{
    return is_over((const struct cursor *)base);
}

/* Not part of put_column, as an error is 1 KiB to be cleared. */
static int __attribute__((noinline)) prepare_column(struct cursor *cursor, int column)
{
    const struct nvt_model_vtab *table = table_of(cursor);
    struct nvt_error err = NVT_ERROR_INIT;
    return nvt_model_prepare(&table->sql->model, &table->shown->columns[column], &err)
               ? nvt_sql_vtab_fail(cursor->base.pVtab, &err)
               : SQLITE_OK;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct cursor *cursor = (struct cursor *)base;
    const struct nvt_model_vtab *table = table_of(cursor);
    const enum nvt_shown_kind kind = table->shown->columns[column].kind;
    if ((kind == NVT_SHOWN_RANGE || kind == NVT_SHOWN_RANGE_NAME) &&
        !table->sql->model.parts[cursor->part].op_ranges && prepare_column(cursor, column))
        return SQLITE_ERROR;
    cursor->read |= UINT64_C(1) << column;
    const struct nvt_value value = nvt_model_value(&table->sql->model, table->shown,
                                                   (uint32_t)column, cursor->part, row_of(cursor));
    switch (value.type) {
    case NVT_VALUE_IS_INT:
        sqlite3_result_int64(context, value.integer);
        break;
    case NVT_VALUE_IS_REAL:
        sqlite3_result_double(context, value.real);
        break;
    case NVT_VALUE_IS_TEXT:
        sqlite3_result_text64(context, value.text, value.length, SQLITE_STATIC, SQLITE_UTF8);
        break;
    default:
        sqlite3_result_null(context);
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct nvt_model_vtab *table = table_of(cursor);
    *out = table->sql->model.parts[cursor->part].base[table->shown->number] + row_of(cursor);
    return SQLITE_OK;
}

static const sqlite3_module module = {.iVersion = 1,
                                      .xConnect = connect,
                                      .xBestIndex = nvt_model_plan,
                                      .xDisconnect = nvt_sql_vtab_free,
                                      .xDestroy = nvt_sql_vtab_free,
                                      .xOpen = open_cursor,
                                      .xClose = close_cursor,
                                      .xFilter = filter,
                                      .xNext = next,
                                      .xEof = is_end,
                                      .xColumn = put_column,
                                      .xRowid = rowid};

int nvt_sql_add_model(struct nvt_sql *sql)
{
    const struct nvt_shown_table *shown = nvt_shown_tables();
    int status = SQLITE_OK;
    for (size_t i = 0; i < NVT_TABLE_COUNT && status == SQLITE_OK; i++)
        status = sqlite3_create_module(sql->db, shown[i].name, &module, sql);
    return status;
}
#endif
