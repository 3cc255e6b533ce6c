/* Tables that are made when they are read (struct nvt_made), as virtual tables of SQLite: they are small, and read as a whole. */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "connection.h"

struct vtab {
    sqlite3_vtab base;
    struct nvt_made *made;
};

struct cursor {
    sqlite3_vtab_cursor base;
    size_t row;
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **message)
{
    struct nvt_made *made = context;
    struct nvt_buffer text = {0};
    (void)db;
    (void)argc;
    (void)argv;
    (void)message;
    (void)nvt_buffer_printf(&text, "CREATE TABLE x(");
    for (size_t i = 0; i < made->column_count; i++)
        nvt_sql_put_column(&text, made->columns[i].heading,
                           made->columns[i].type == NVT_TEXT   ? "TEXT"
                           : made->columns[i].type == NVT_REAL ? "REAL"
                                                               : "INTEGER",
                           made->columns[i].unit);
    const int status = nvt_sql_declare(made->sql, &text);
    struct vtab *vtab = status == SQLITE_OK ? sqlite3_malloc(sizeof(*vtab)) : NULL;
    if (!vtab)
        return status == SQLITE_OK ? SQLITE_NOMEM : status;
    *vtab = (struct vtab){.made = made};
    *out = &vtab->base;
    return SQLITE_OK;
}

static enum nvt_wanted wanted_by(sqlite3_index_info *info, int number)
{
    const char *collation;
    switch (info->aConstraint[number].op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
        collation = sqlite3_vtab_collation(info, number);
        return collation && !sqlite3_stricmp(collation, "NOCASE") ? NVT_WANTED_NOCASE
                                                                  : NVT_WANTED_SAME;
    case SQLITE_INDEX_CONSTRAINT_LIKE:
        return NVT_WANTED_LIKE;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
        return NVT_WANTED_GLOB;
    default:
        return NVT_WANTED_ALL;
    }
}

/* All rows come in any case, and SQLite looks at each: what is wanted is only to be known. */
static int choose(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct nvt_made *made = ((const struct vtab *)vtab)->made;
    int chosen = -1;
    info->idxNum = NVT_WANTED_ALL;
    for (int i = 0; made->want && i < info->nConstraint; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != (int)made->key)
            continue;
        const enum nvt_wanted wanted = wanted_by(info, i);
        if (wanted == NVT_WANTED_ALL || (chosen >= 0 && (int)wanted >= info->idxNum))
            continue;
        chosen = i;
        info->idxNum = wanted;
    }
    if (chosen >= 0)
        info->aConstraintUsage[chosen].argvIndex = 1;
    info->estimatedRows = chosen >= 0 ? 10 : 1000;
    info->estimatedCost = (double)info->estimatedRows;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    ((struct vtab *)vtab)->made->is_read = 1;
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct cursor){.row = 0};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static struct nvt_made *made_of(const sqlite3_vtab_cursor *cursor)
{
    return ((struct vtab *)cursor->pVtab)->made;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                  sqlite3_value **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_made *made = made_of(cursor);
    const char *value = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
    (void)text;
    ((struct cursor *)cursor)->row = 0;
    int status = nvt_sql_make(made, &err);
    if (!status && made->want && (value || !argc))
        status = made->want(made, (enum nvt_wanted)number, value, &err);
    return status ? nvt_sql_vtab_fail(cursor->pVtab, &err) : SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *cursor)
{
    return ((const struct cursor *)cursor)->row >= nvt_table_rows(made_of(cursor)->table);
}

static int put_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    const struct nvt_cell cell = nvt_table_cell(
        made_of(cursor)->table, ((const struct cursor *)cursor)->row, (size_t)column);
    switch (cell.kind) {
    case NVT_CELL_INT:
        sqlite3_result_int64(context, cell.integer);
        break;
    case NVT_CELL_REAL:
        sqlite3_result_double(context, cell.real);
        break;
    case NVT_CELL_TEXT:
        sqlite3_result_text(context, cell.text, -1, SQLITE_STATIC);
        break;
    default:
        sqlite3_result_null(context);
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((const struct cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {.iVersion = 1,
                                      .xConnect = connect,
                                      .xBestIndex = choose,
                                      .xDisconnect = nvt_sql_vtab_free,
                                      .xDestroy = nvt_sql_vtab_free,
                                      .xOpen = open_cursor,
                                      .xClose = close_cursor,
                                      .xFilter = filter,
                                      .xNext = next,
                                      .xEof = is_end,
                                      .xColumn = put_column,
                                      .xRowid = rowid};

int nvt_sql_make(struct nvt_made *made, struct nvt_error *err)
{
    if (made->table)
        return 0;
    made->table = nvt_table_new(made->name, made->about, made->columns, made->column_count);
    if (!made->table)
        return nvt_fail(err, "out of memory");
    if (!made->fill(made, made->table, err) && !nvt_table_failed(made->table, err))
        return 0;
    if (!err->message[0])
        nvt_fail(err, "out of memory");
    nvt_table_free(made->table);
    made->table = NULL;
    return -1;
}

int nvt_sql_add_made(struct nvt_sql *sql)
{
    int status = SQLITE_OK;
    for (size_t i = 0; i < sql->made_count && status == SQLITE_OK; i++)
        status = sqlite3_create_module(sql->db, sql->made[i].name, &module, &sql->made[i]);
    return status;
}
#endif
