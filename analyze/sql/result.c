#ifdef HAVE_SQLITE
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/grow.h"
#include "../../lib/text.h"

/* A cell; a text is at `integer` in the texts. */
struct cell {
    enum nvt_cell_kind kind;
    union {
        int64_t integer;
        double real;
    };
};

struct rows {
    struct cell *cells;
    size_t count, capacity, rows;
    size_t columns;
    struct nvt_buffer texts;
};

/* The bytes of a blob in hexadecimal. */
static int append_blob(struct nvt_buffer *texts, const uint8_t *bytes, size_t size)
{
    int failed = 0;
    for (size_t i = 0; i < size && !failed; i++)
        failed = nvt_buffer_printf(texts, "%02x", bytes[i]);
    return failed || nvt_buffer_append(texts, "", 1);
}

static int take_cell(struct rows *rows, sqlite3_stmt *statement, int column)
{
    struct cell cell = {.kind = NVT_CELL_NULL};
    int failed = 0;
    if (nvt_reserve(&rows->cells, &rows->capacity, rows->count + 1, sizeof(*rows->cells)))
        return -1;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        cell = (struct cell){NVT_CELL_INT, {.integer = sqlite3_column_int64(statement, column)}};
        break;
    case SQLITE_FLOAT:
        cell = (struct cell){NVT_CELL_REAL, {.real = sqlite3_column_double(statement, column)}};
        break;
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        cell = (struct cell){NVT_CELL_TEXT, {.integer = (int64_t)rows->texts.size}};
        failed = !text || nvt_buffer_append(&rows->texts, text, strlen(text) + 1);
        break;
    }
    case SQLITE_BLOB:
        cell = (struct cell){NVT_CELL_TEXT, {.integer = (int64_t)rows->texts.size}};
        failed = append_blob(&rows->texts, sqlite3_column_blob(statement, column),
                             (size_t)sqlite3_column_bytes(statement, column));
        break;
    default:
        break;
    }
    rows->cells[rows->count++] = cell;
    return failed ? -1 : 0;
}

static int take_row(struct rows *rows, sqlite3_stmt *statement, struct nvt_error *err)
{
    for (size_t i = 0; i < rows->columns; i++)
        if (take_cell(rows, statement, (int)i))
            return nvt_fail(err, "out of memory");
    rows->rows++;
    if (rows->count * sizeof(*rows->cells) + rows->texts.size > NVT_SQL_RESULT_MOST)
        return nvt_fail(err, "sql: the result has more than %zu MiB after %zu rows: ask for fewer",
                        NVT_SQL_RESULT_MOST >> 20, rows->rows);
    return 0;
}

/* That of the table's column, where a result has no value of it. */
static enum nvt_type declared_type(sqlite3_stmt *statement, size_t column)
{
    const char *type = sqlite3_column_decltype(statement, (int)column);
    return type && !strncmp(type, "TEXT", 4)   ? NVT_TEXT
           : type && !strncmp(type, "REAL", 4) ? NVT_REAL
                                               : NVT_INT;
}

/* Integers where all are, numbers where all are, else texts. */
static enum nvt_type type_of(sqlite3_stmt *statement, const struct rows *rows, size_t column)
{
    enum nvt_type type = NVT_INT;
    int has_value = 0;
    for (size_t i = column; i < rows->count; i += rows->columns) {
        if (rows->cells[i].kind == NVT_CELL_TEXT)
            return NVT_TEXT;
        if (rows->cells[i].kind == NVT_CELL_REAL)
            type = NVT_REAL;
        has_value |= rows->cells[i].kind != NVT_CELL_NULL;
    }
    return has_value ? type : declared_type(statement, column);
}

static struct nvt_cell cell_of(const struct rows *rows, const struct cell *cell, enum nvt_type type,
                               char number[32])
{
    if (cell->kind == NVT_CELL_NULL)
        return NVT_NULL;
    if (cell->kind == NVT_CELL_TEXT)
        return nvt_cell_text((const char *)rows->texts.data + cell->integer);
    if (type == NVT_TEXT) {
        if (cell->kind == NVT_CELL_INT)
            snprintf(number, 32, "%lld", (long long)cell->integer);
        else
            snprintf(number, 32, "%.17g", cell->real);
        return nvt_cell_text(number);
    }
    if (type == NVT_REAL)
        return nvt_cell_real(cell->kind == NVT_CELL_INT ? (double)cell->integer : cell->real);
    return nvt_cell_int(cell->integer);
}

/* The unit of a result that is a column of a table as it is: declared types end in it (nvt_sql_put_column). The sql's; "" where there is
 * none, NULL when out of memory. */
static const char *declared_unit(struct nvt_sql *sql, sqlite3_stmt *statement, size_t column)
{
    const char *type = sqlite3_column_decltype(statement, (int)column);
    const char *begin = type ? strchr(type, '"') : NULL;
    const char *end = begin ? strrchr(type, '"') : NULL;
    if (begin == end)
        return "";
    const uint32_t id = nvt_strings_add(sql->names, begin + 1, (size_t)(end - begin - 1));
    return id == NVT_NO_STRING ? NULL : nvt_strings_get(sql->names, id, NULL);
}

/* What the columns are; their names are kept with the connection. 0 or -1. */
static int describe(struct nvt_sql *sql, sqlite3_stmt *statement, const struct rows *rows,
                    struct nvt_column *columns)
{
    for (size_t i = 0; i < rows->columns; i++) {
        const char *name = sqlite3_column_name(statement, (int)i);
        const enum nvt_type type = type_of(statement, rows, i);
        const uint32_t id = name ? nvt_strings_add_text(sql->names, name) : NVT_NO_STRING;
        const char *unit = type == NVT_TEXT ? "" : declared_unit(sql, statement, i);
        if (id == NVT_NO_STRING || !unit)
            return -1;
        columns[i] = (struct nvt_column){
            .heading = nvt_strings_get(sql->names, id, NULL),
            .unit = !*unit && nvt_has_ending(name, "_ns") && type != NVT_TEXT ? "ns" : unit,
            .type = type,
            .decimals = NVT_SHORTEST,
            .flags = NVT_ASKED | (nvt_has_ending(name, "_ns") ? 0u : NVT_PLAIN)};
    }
    return 0;
}

static int put_rows(struct nvt_sql *sql, sqlite3_stmt *statement, const struct rows *rows,
                    struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_column *columns = calloc(rows->columns + 1, sizeof(*columns));
    struct nvt_table *table = columns && !describe(sql, statement, rows, columns)
                                  ? nvt_table_new("sql", "Result", columns, rows->columns)
                                  : NULL;
    for (size_t row = 0; table && row < rows->rows; row++) {
        nvt_table_add_row(table);
        for (size_t i = 0; i < rows->columns; i++) {
            char number[32];
            nvt_table_more(table, cell_of(rows, &rows->cells[row * rows->columns + i],
                                          columns[i].type, number));
        }
    }
    free(columns);
    return nvt_tables_add(tables, table) ? nvt_fail(err, "out of memory") : 0;
}

int nvt_sql_collect(struct nvt_sql *sql, sqlite3_stmt *statement, sqlite3_stmt *named,
                    const struct nvt_sql_limits *limits, struct nvt_tables *tables, int *is_cut,
                    struct nvt_error *err)
{
    struct rows rows = {.columns = (size_t)sqlite3_column_count(statement)};
    int step, status = 0;
    *is_cut = 0;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        *is_cut = limits->rows && rows.rows == limits->rows;
        if (*is_cut)
            break;
        status = take_row(&rows, statement, err);
        if (status)
            break;
    }
    if (!status && step != SQLITE_ROW && step != SQLITE_DONE)
        status = 1;
    if (!status)
        status = put_rows(sql, named, &rows, tables, err);
    free(rows.cells);
    nvt_buffer_free(&rows.texts);
    return status;
}
#endif
