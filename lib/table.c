#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count_of.h"
#include "grow.h"
#include "strings.h"

union cell {
    int64_t integer;
    double real;
    uint32_t text; /* id in the table's strings */
};

struct column {
    struct nvt_column spec;
    union cell *cells;
    uint8_t *filled; /* 0: null */
};

struct nvt_table {
    char *name;
    char *title;
    struct nvt_strings *strings;
    struct nvt_provenance provenance; /* texts in strings */
    struct column *columns;
    size_t column_count;
    size_t rows, capacity;
    size_t all;          /* rows before some were left out, NVT_ROWS_UNKNOWN; 0: none were */
    size_t next;         /* the column that the last row gets its next value in */
    const char *failure; /* static text, NULL when all is well */
};

#define NO_MEMORY "out of memory"

struct nvt_table *nvt_table_new(const char *name, const char *title,
                                const struct nvt_column *columns, size_t column_count)
{
    struct nvt_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->name = strdup(name);
    table->title = title ? strdup(title) : NULL;
    table->strings = nvt_strings_new();
    table->columns = calloc(column_count ? column_count : 1, sizeof(*table->columns));
    if (!table->name || !table->title || !table->strings || !table->columns) {
        nvt_table_free(table);
        return NULL;
    }
    for (size_t i = 0; i < column_count && columns[i].heading; i++)
        table->columns[table->column_count++].spec = columns[i];
    return table;
}

void nvt_table_free(struct nvt_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->column_count; i++) {
        free(table->columns[i].cells);
        free(table->columns[i].filled);
    }
    free(table->columns);
    nvt_strings_free(table->strings);
    free(table->name);
    free(table->title);
    free(table);
}

void nvt_table_set_title(struct nvt_table *table, const char *title)
{
    char *copy = strdup(title);
    if (!copy) {
        table->failure = NO_MEMORY;
        return;
    }
    free(table->title);
    table->title = copy;
}

static const char *keep(struct nvt_table *table, const char *text)
{
    if (!text || !*text)
        return NULL;
    uint32_t id = nvt_strings_add_text(table->strings, text);
    if (id == NVT_NO_STRING)
        table->failure = NO_MEMORY;
    return nvt_strings_get(table->strings, id, NULL);
}

void nvt_table_set_provenance(struct nvt_table *table, const struct nvt_provenance *provenance)
{
    table->provenance.backend = keep(table, provenance->backend);
    table->provenance.device = keep(table, provenance->device);
    char *date = provenance->date && provenance->date_length
                     ? strndup(provenance->date, provenance->date_length)
                     : NULL;
    table->provenance.date = keep(table, date ? date : provenance->date);
    free(date);
    table->provenance.condition = keep(table, provenance->condition);
    table->provenance.begin = provenance->begin;
    table->provenance.has_begin = provenance->has_begin;
}

void nvt_table_drop(struct nvt_table *table, const char *heading, size_t count)
{
    size_t first = table ? nvt_table_find(table, heading) : SIZE_MAX;
    if (!table || table->rows || first > table->column_count ||
        count > table->column_count - first) {
        if (table)
            table->failure = "columns were left out that are not there";
        return;
    }
    table->column_count -= count;
    memmove(&table->columns[first], &table->columns[first + count],
            (table->column_count - first) * sizeof(*table->columns));
}

static int grow(struct nvt_table *table)
{
    size_t capacity = table->capacity ? table->capacity * 2 : 16;
    for (size_t i = 0; i < table->column_count; i++) {
        struct column *column = &table->columns[i];
        if (nvt_resize(&column->cells, capacity, sizeof(*column->cells)) ||
            nvt_resize(&column->filled, capacity, sizeof(*column->filled)))
            return -1;
    }
    table->capacity = capacity;
    return 0;
}

void nvt_table_keep(struct nvt_table *table, size_t rows)
{
    if (!table || rows >= table->rows)
        return;
    table->all = table->all ? table->all : table->rows;
    table->rows = rows;
}

void nvt_table_set_all(struct nvt_table *table, size_t rows)
{
    if (table)
        table->all = rows;
}

size_t nvt_table_all(const struct nvt_table *table)
{
    return table->all > table->rows ? table->all : table->rows;
}

void nvt_table_add_row(struct nvt_table *table)
{
    if (!table)
        return;
    table->next = 0;
    if (table->rows == table->capacity && grow(table)) {
        table->failure = NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        table->columns[i].filled[table->rows] = 0;
        table->columns[i].cells[table->rows].integer = 0;
    }
    table->rows++;
}

/* --- rows --- */

static void put_text(struct nvt_table *table, union cell *cell, const char *text)
{
    cell->text = nvt_strings_add_text(table->strings, text);
    if (cell->text == NVT_NO_STRING)
        table->failure = NO_MEMORY;
}

static void put_cell(struct nvt_table *table, const struct nvt_cell *value)
{
    static const char wrong[] = "a cell was set with a value of another type than its column";
    struct column *column = &table->columns[table->next];
    const size_t row = table->rows - 1;
    if (table->next++ >= table->column_count) {
        table->failure = "a row has more values than the table has columns";
        return;
    }
    const enum nvt_type type = column->spec.type;
    if (value->kind == NVT_CELL_INT && type == NVT_INT)
        column->cells[row].integer = value->integer;
    else if (value->kind == NVT_CELL_INT && type == NVT_REAL)
        column->cells[row].real = (double)value->integer;
    else if (value->kind == NVT_CELL_INT && type == NVT_BOOL)
        column->cells[row].integer = value->integer != 0;
    else if (value->kind == NVT_CELL_REAL && type == NVT_REAL && isfinite(value->real))
        column->cells[row].real = value->real;
    else if (value->kind == NVT_CELL_TEXT && type == NVT_TEXT && value->text)
        put_text(table, &column->cells[row], value->text);
    else {
        if ((value->kind == NVT_CELL_INT) || (value->kind == NVT_CELL_REAL && type != NVT_REAL) ||
            (value->kind == NVT_CELL_TEXT && type != NVT_TEXT))
            table->failure = wrong;
        return;
    }
    column->filled[row] = 1;
}

static void put_summary(struct nvt_table *table, const struct nvt_summary *summary)
{
    const double values[] = {summary->mean, summary->median, summary->min, summary->max,
                             summary->n == 1 ? 0 : summary->std};
    for (size_t i = 0; i < NVT_COUNT_OF(values); i++) {
        int is_whole =
            table->next < table->column_count && table->columns[table->next].spec.type == NVT_INT;
        struct nvt_cell cell = !summary->n ? NVT_NULL
                               : is_whole  ? nvt_cell_int((int64_t)values[i])
                                           : nvt_cell_real(values[i]);
        put_cell(table, &cell);
    }
}

void nvt_table_more_cells(struct nvt_table *table, const struct nvt_cell *cells)
{
    for (; table && !table->failure && cells->kind != NVT_CELL_END; cells++)
        if (cells->kind == NVT_CELL_SUMMARY)
            put_summary(table, cells->summary);
        else
            put_cell(table, cells);
}

void nvt_table_skip(struct nvt_table *table, size_t count)
{
    if (table)
        table->next += count;
}

void nvt_table_put_cells(struct nvt_table *table, const struct nvt_cell *cells)
{
    nvt_table_add_row(table);
    nvt_table_more_cells(table, cells);
}

struct nvt_cell nvt_table_cell(const struct nvt_table *table, size_t row, size_t column)
{
    if (nvt_table_is_null(table, row, column))
        return NVT_NULL;
    switch (table->columns[column].spec.type) {
    case NVT_REAL:
        return nvt_cell_real(nvt_table_real(table, row, column));
    case NVT_TEXT:
        return nvt_cell_text(nvt_table_text(table, row, column));
    case NVT_INT:
    case NVT_BOOL:
        break;
    }
    return nvt_cell_int(nvt_table_int(table, row, column));
}

int nvt_table_failed(const struct nvt_table *table, struct nvt_error *err)
{
    if (!table)
        return nvt_fail(err, NO_MEMORY);
    return table->failure ? nvt_fail(err, "table %s: %s", table->name, table->failure) : 0;
}

struct order {
    const struct nvt_table *table;
    size_t column;
    int sign;
};

static int compare_cells(const struct order *order, size_t a, size_t b)
{
    const struct nvt_table *table = order->table;
    const union cell *cells = table->columns[order->column].cells;
    switch (table->columns[order->column].spec.type) {
    case NVT_REAL:
        return (cells[a].real > cells[b].real) - (cells[a].real < cells[b].real);
    case NVT_TEXT:
        return cells[a].text == cells[b].text
                   ? 0
                   : strcmp(nvt_strings_get(table->strings, cells[a].text, NULL),
                            nvt_strings_get(table->strings, cells[b].text, NULL));
    case NVT_INT:
    case NVT_BOOL:
        break;
    }
    return (cells[a].integer > cells[b].integer) - (cells[a].integer < cells[b].integer);
}

/* Ties go by row number, which makes any sort a stable one. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const uint8_t *filled = order->table->columns[order->column].filled;
    int result = filled[b] - filled[a];
    if (!result && filled[a])
        result = order->sign * compare_cells(order, a, b);
    return result ? result : (a > b) - (a < b);
}

static int reorder(struct nvt_table *table, const size_t *order)
{
    union cell *cells = malloc(table->rows * sizeof(*cells));
    uint8_t *filled = malloc(table->rows);
    for (size_t i = 0; cells && filled && i < table->column_count; i++) {
        struct column *column = &table->columns[i];
        for (size_t row = 0; row < table->rows; row++) {
            cells[row] = column->cells[order[row]];
            filled[row] = column->filled[order[row]];
        }
        memcpy(column->cells, cells, table->rows * sizeof(*cells));
        memcpy(column->filled, filled, table->rows);
    }
    int failed = !cells || !filled;
    free(cells);
    free(filled);
    return failed ? -1 : 0;
}

void nvt_table_sort(struct nvt_table *table, size_t column, int descending)
{
    if (!table || table->rows < 2 || column >= table->column_count)
        return;
    size_t *rows = malloc(table->rows * sizeof(*rows));
    struct order order = {table, column, descending ? -1 : 1};
    if (rows) {
        for (size_t i = 0; i < table->rows; i++)
            rows[i] = i;
        qsort_r(rows, table->rows, sizeof(*rows), compare_rows, &order);
    }
    if (!rows || reorder(table, rows))
        table->failure = NO_MEMORY;
    free(rows);
}

void nvt_table_order(struct nvt_table *table, const char *const headings[NVT_ORDER_MOST])
{
    for (size_t i = table ? NVT_ORDER_MOST : 0; i-- > 0;) {
        if (!headings[i])
            continue;
        const int descends = *headings[i] == '-';
        size_t column = nvt_table_find(table, headings[i] + descends);
        if (column == SIZE_MAX)
            table->failure = "rows were ordered by a column that is not there";
        nvt_table_sort(table, column, descends);
    }
}

const char *nvt_table_name(const struct nvt_table *table)
{
    return table->name;
}

const char *nvt_table_title(const struct nvt_table *table)
{
    return table->title;
}

const struct nvt_provenance *nvt_table_provenance(const struct nvt_table *table)
{
    return &table->provenance;
}

size_t nvt_table_rows(const struct nvt_table *table)
{
    return table ? table->rows : 0;
}

size_t nvt_table_columns(const struct nvt_table *table)
{
    return table->column_count;
}

const struct nvt_column *nvt_table_column(const struct nvt_table *table, size_t column)
{
    return &table->columns[column].spec;
}

size_t nvt_table_find(const struct nvt_table *table, const char *heading)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].spec.heading, heading))
            return i;
    return SIZE_MAX;
}

/* The cell, or one that is null where there was no memory for the row. */
static union cell read_cell(const struct nvt_table *table, size_t row, size_t column)
{
    return row < table->rows ? table->columns[column].cells[row] : (union cell){0};
}

int nvt_table_is_null(const struct nvt_table *table, size_t row, size_t column)
{
    return row >= table->rows || !table->columns[column].filled[row];
}

int64_t nvt_table_int(const struct nvt_table *table, size_t row, size_t column)
{
    return read_cell(table, row, column).integer;
}

double nvt_table_real(const struct nvt_table *table, size_t row, size_t column)
{
    union cell cell = read_cell(table, row, column);
    return table->columns[column].spec.type == NVT_REAL ? cell.real : (double)cell.integer;
}

int nvt_table_bool(const struct nvt_table *table, size_t row, size_t column)
{
    return read_cell(table, row, column).integer != 0;
}

const char *nvt_table_text(const struct nvt_table *table, size_t row, size_t column)
{
    return nvt_table_is_null(table, row, column)
               ? ""
               : nvt_strings_get(table->strings, read_cell(table, row, column).text, NULL);
}

int nvt_tables_add(struct nvt_tables *tables, struct nvt_table *table)
{
    if (!table)
        return -1;
    if (table->failure || nvt_grow(&tables->items, tables->count, sizeof(struct nvt_table *))) {
        nvt_table_free(table);
        return -1;
    }
    tables->items[tables->count++] = table;
    return 0;
}

void nvt_tables_free(struct nvt_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        nvt_table_free(tables->items[i]);
    free(tables->items);
    *tables = (struct nvt_tables){0};
}
