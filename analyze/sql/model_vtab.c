/*
 * The tables of the model as virtual tables of SQLite: one module for all. Rows are found by id, by their time (tables are
 * sorted by it), and by the value of any other column, in an order of it that is made when it is of use for the second time.
 */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/buffer.h"
#include "connection.h"

struct table {
    sqlite3_vtab base;
    struct nvt_sql *sql;
    const struct nvt_shown_table *shown;
};

/* Rows of a part from `at` on, before `end`; of an order, places in it. */
struct cursor {
    sqlite3_vtab_cursor base;
    size_t part;
    uint32_t at, end;
    const uint32_t *rows; /* NULL: places are rows */
    int is_compared;      /* only rows with this stored number */
    uint64_t stored;
    /* What was asked for. */
    int64_t id_from, id_to, time_from, time_to; /* inclusive */
    uint32_t found;                             /* column with `value`, or UINT32_MAX */
    struct nvt_value value;
    char *text; /* of the value */
};

/* How an argument of xFilter is used: the first character of a pair in idxStr, the column is the second. */
enum use { USE_ID = 'i', USE_TIME = 't', USE_VALUE = 'v' };

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **message)
{
    struct nvt_buffer text = {0};
    const struct nvt_shown_table *shown = nvt_shown_table(argv[0]);
    (void)db;
    (void)argc;
    (void)message;
    struct table *table = shown ? sqlite3_malloc(sizeof(*table)) : NULL;
    if (!table)
        return shown ? SQLITE_NOMEM : SQLITE_ERROR;
    (void)nvt_buffer_printf(&text, "CREATE TABLE x(");
    for (uint32_t i = 0; i < shown->count; i++) {
        const struct nvt_shown_column *column = &shown->columns[i];
        const enum nvt_column_meaning meaning = column->kind == NVT_SHOWN_STORED
                                                    ? shown->layout->columns[column->stored].meaning
                                                : column->kind == NVT_SHOWN_FILE ? NVT_MEANS_TEXT
                                                                                 : NVT_MEANS_NUMBER;
        (void)nvt_buffer_printf(&text, "%s\"%s\" %s", i ? "," : "", column->name,
                                meaning == NVT_MEANS_TEXT   ? "TEXT"
                                : meaning == NVT_MEANS_REAL ? "REAL"
                                                            : "INTEGER");
    }
    (void)nvt_buffer_append(&text, ")", 2);
    int status = text.failed ? SQLITE_NOMEM : nvt_sql_declare(context, (const char *)text.data);
    nvt_buffer_free(&text);
    if (status != SQLITE_OK) {
        sqlite3_free(table);
        return status;
    }
    *table = (struct table){.sql = context, .shown = shown};
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* --- plans --- */

static int is_time(const struct nvt_shown_table *shown, int column)
{
    return column >= 0 && shown->columns[column].kind == NVT_SHOWN_STORED &&
           shown->layout->times != NVT_TIMELESS &&
           shown->columns[column].stored == shown->layout->start;
}

static int is_id(const struct nvt_shown_table *shown, int column)
{
    return column < 0 || shown->columns[column].kind == NVT_SHOWN_ID;
}

static int is_bound(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
           op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
           op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* Rows that have one value of a column, as far as can be said without looking. */
static double rows_of_value(const struct table *table, int column, double rows)
{
    const struct nvt_shown_column *what = &table->shown->columns[column];
    if (!strcmp(what->name, "correlation") || (what->target == NVT_TABLE_apis))
        return 2;
    if (what->target != NVT_TABLE_COUNT) {
        const int64_t targets =
            nvt_model_rows(&table->sql->model, &nvt_shown_tables()[what->target]);
        return rows / (double)(targets > 0 ? targets : 1) + 1;
    }
    return rows / 20 + 1;
}

/* The equality that leaves the fewest rows, or -1. */
static int best_value(const struct table *table, sqlite3_index_info *info, double rows,
                      double *left)
{
    int best = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *each = &info->aConstraint[i];
        if (!each->usable || each->op != SQLITE_INDEX_CONSTRAINT_EQ || each->iColumn < 0 ||
            is_id(table->shown, each->iColumn) || is_time(table->shown, each->iColumn) ||
            !nvt_model_can_find(table->shown, (uint32_t)each->iColumn) ||
            strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        const double count = rows_of_value(table, each->iColumn, rows);
        if (best < 0 || count < *left) {
            best = i;
            *left = count;
        }
    }
    return best;
}

struct plan {
    char text[2 * 16 + 1]; /* pairs: enum use and the operator */
    int count;
    double rows, cost;
    int is_unique;
};

static void use(struct plan *plan, sqlite3_index_info *info, int constraint, enum use how)
{
    if (plan->count == 16)
        return;
    plan->text[2 * plan->count] = (char)how;
    plan->text[2 * plan->count + 1] = (char)(info->aConstraint[constraint].op + '0');
    info->aConstraintUsage[constraint].argvIndex = ++plan->count;
}

static int choose(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct table *table = (struct table *)base;
    const double rows = (double)nvt_model_rows(&table->sql->model, table->shown);
    struct plan plan = {.rows = rows + 1};
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *each = &info->aConstraint[i];
        const int of_id = is_id(table->shown, each->iColumn);
        if (!each->usable || !is_bound(each->op) ||
            (!of_id && !is_time(table->shown, each->iColumn)))
            continue;
        const int is_equal = each->op == SQLITE_INDEX_CONSTRAINT_EQ;
        use(&plan, info, i, of_id ? USE_ID : USE_TIME);
        plan.is_unique |= of_id && is_equal;
        plan.rows = of_id && is_equal ? 1 : is_equal ? 2 : plan.rows / 8 + 1;
    }
    double left = 0;
    const int value = best_value(table, info, rows, &left);
    if (value >= 0 && !plan.is_unique) {
        use(&plan, info, value, USE_VALUE);
        /* The column stands behind the pairs. */
        info->idxNum = info->aConstraint[value].iColumn;
        plan.rows = left < plan.rows ? left : plan.rows;
    }
    info->idxStr = sqlite3_mprintf("%s", plan.text);
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)plan.rows;
    info->estimatedCost = plan.rows + 20;
    info->idxFlags = plan.is_unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    /* Rows come by id, and those of one trace by time, too. */
    info->orderByConsumed =
        info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
        (is_id(table->shown, info->aOrderBy[0].iColumn) ||
         (table->sql->model.count == 1 && is_time(table->shown, info->aOrderBy[0].iColumn)));
    return SQLITE_OK;
}

/* --- cursors --- */

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
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
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static const struct table *table_of(const struct cursor *cursor)
{
    return (const struct table *)cursor->base.pVtab;
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
    const struct table *table = table_of(cursor);
    const struct nvt_model_part *part = &table->sql->model.parts[cursor->part];
    const struct nvt_layout_table *layout = table->shown->layout;
    const int64_t base = part->base[table->shown->number],
                  rows = nvt_layout_rows(part->trace, layout);
    int64_t from = cursor->id_from > base ? cursor->id_from - base : 0;
    int64_t end = cursor->id_to < base + rows - 1 ? cursor->id_to + 1 - base : rows;
    if (layout->times != NVT_TIMELESS && rows) {
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
    const struct table *table = table_of(cursor);
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
    return cursor->rows ? cursor->rows[cursor->at] : cursor->at;
}

/* Go on to a row that may be one of those asked for, of this part or the next ones. */
static int settle(struct cursor *cursor)
{
    const struct table *table = table_of(cursor);
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

/* Keep the value that is looked for, where it is one of the column's type. */
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

static int filter(sqlite3_vtab_cursor *base, int column, const char *plan, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    struct nvt_model *model = &table_of(cursor)->sql->model;
    int status = SQLITE_OK;
    sqlite3_free(cursor->text);
    *cursor = (struct cursor){.base = cursor->base,
                              .id_from = INT64_MIN,
                              .id_to = INT64_MAX,
                              .time_from = INT64_MIN,
                              .time_to = INT64_MAX,
                              .found = UINT32_MAX};
    for (int i = 0; i < argc && status == SQLITE_OK; i++) {
        const unsigned char op = (unsigned char)(plan[2 * i + 1] - '0');
        if (plan[2 * i] == USE_ID)
            narrow(&cursor->id_from, &cursor->id_to, op, argv[i]);
        else if (plan[2 * i] == USE_TIME)
            narrow(&cursor->time_from, &cursor->time_to, op, argv[i]);
        else
            status = take_value(cursor, (uint32_t)column, argv[i]);
    }
    if (status != SQLITE_OK || !model->count)
        return status;
    bound_rows(cursor);
    if (cursor->found != UINT32_MAX)
        status = find_value(cursor);
    return status == SQLITE_OK ? settle(cursor) : status;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    cursor->at++;
    return settle(cursor);
}

static int is_end(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;
    return cursor->part >= table_of(cursor)->sql->model.count || cursor->at >= cursor->end;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct table *table = table_of(cursor);
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_model_prepare(&table->sql->model, &table->shown->columns[column], &err))
        return nvt_sql_vtab_fail(cursor->base.pVtab, &err);
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
    const struct table *table = table_of(cursor);
    *out = table->sql->model.parts[cursor->part].base[table->shown->number] + row_of(cursor);
    return SQLITE_OK;
}

static const sqlite3_module module = {.iVersion = 1,
                                      .xConnect = connect,
                                      .xBestIndex = choose,
                                      .xDisconnect = disconnect,
                                      .xDestroy = disconnect,
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
