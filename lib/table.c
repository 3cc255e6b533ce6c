#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strings.h"

union cell {
    int64_t integer;
    double real;
    uint32_t text; /* id in the table's strings */
};

struct column {
    struct nvt_column_spec spec;
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
    const char *failure; /* static text, NULL when all is well */
};

#define NO_MEMORY "out of memory"

struct nvt_table *nvt_table_new(const char *name, const char *title,
                                const struct nvt_column_spec *columns, size_t column_count)
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
    table->column_count = column_count;
    for (size_t i = 0; i < column_count; i++)
        table->columns[i].spec = columns[i];
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
}

static int grow(struct nvt_table *table)
{
    size_t capacity = table->capacity ? table->capacity * 2 : 16;
    if (capacity > SIZE_MAX / sizeof(union cell))
        return -1;
    for (size_t i = 0; i < table->column_count; i++) {
        struct column *column = &table->columns[i];
        union cell *cells = realloc(column->cells, capacity * sizeof(*cells));
        if (!cells)
            return -1;
        column->cells = cells;
        uint8_t *filled = realloc(column->filled, capacity);
        if (!filled)
            return -1;
        column->filled = filled;
    }
    table->capacity = capacity;
    return 0;
}

size_t nvt_table_add_row(struct nvt_table *table)
{
    if (table->rows == table->capacity && grow(table)) {
        table->failure = NO_MEMORY;
        return SIZE_MAX;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        table->columns[i].filled[table->rows] = 0;
        table->columns[i].cells[table->rows].integer = 0;
    }
    return table->rows++;
}

/* The cell to write to, or NULL. */
static union cell *cell_at(struct nvt_table *table, size_t row, size_t column, enum nvt_type type)
{
    if (row >= table->rows) {
        if (!table->failure)
            table->failure = "a cell was set in a row that is not there";
        return NULL;
    }
    if (column >= table->column_count || table->columns[column].spec.type != type) {
        table->failure = "a cell was set with a value of another type than its column";
        return NULL;
    }
    table->columns[column].filled[row] = 1;
    return &table->columns[column].cells[row];
}

void nvt_table_set_int(struct nvt_table *table, size_t row, size_t column, int64_t value)
{
    if (column < table->column_count && table->columns[column].spec.type == NVT_REAL) {
        nvt_table_set_real(table, row, column, (double)value);
        return;
    }
    union cell *cell = cell_at(table, row, column, NVT_INT);
    if (cell)
        cell->integer = value;
}

void nvt_table_set_real(struct nvt_table *table, size_t row, size_t column, double value)
{
    union cell *cell = cell_at(table, row, column, NVT_REAL);
    if (!cell)
        return;
    cell->real = isfinite(value) ? value : 0;
    table->columns[column].filled[row] = isfinite(value) != 0;
}

void nvt_table_set_bool(struct nvt_table *table, size_t row, size_t column, int value)
{
    union cell *cell = cell_at(table, row, column, NVT_BOOL);
    if (cell)
        cell->integer = value != 0;
}

void nvt_table_set_text(struct nvt_table *table, size_t row, size_t column, const char *text)
{
    union cell *cell = cell_at(table, row, column, NVT_TEXT);
    if (!cell)
        return;
    table->columns[column].filled[row] = text != NULL;
    cell->text = nvt_strings_add_text(table->strings, text ? text : "");
    if (cell->text == NVT_NO_STRING)
        table->failure = NO_MEMORY;
}

void nvt_table_set_name(struct nvt_table *table, size_t row, size_t column, const char *text)
{
    if (*text)
        nvt_table_set_text(table, row, column, text);
}

void nvt_table_copy_cell(struct nvt_table *to, size_t to_row, size_t to_column,
                         const struct nvt_table *from, size_t row, size_t column)
{
    if (nvt_table_is_null(from, row, column))
        return;
    switch (nvt_table_column(from, column)->type) {
    case NVT_INT:
        nvt_table_set_int(to, to_row, to_column, nvt_table_int(from, row, column));
        break;
    case NVT_REAL:
        nvt_table_set_real(to, to_row, to_column, nvt_table_real(from, row, column));
        break;
    case NVT_BOOL:
        nvt_table_set_bool(to, to_row, to_column, nvt_table_bool(from, row, column));
        break;
    case NVT_TEXT:
        nvt_table_set_text(to, to_row, to_column, nvt_table_text(from, row, column));
        break;
    }
}

int nvt_table_failed(const struct nvt_table *table, struct nvt_error *err)
{
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
    if (table->rows < 2 || column >= table->column_count)
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
    return table->rows;
}

size_t nvt_table_columns(const struct nvt_table *table)
{
    return table->column_count;
}

const struct nvt_column_spec *nvt_table_column(const struct nvt_table *table, size_t column)
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
    struct nvt_table **items =
        table->failure ? NULL : realloc(tables->items, (tables->count + 1) * sizeof(*items));
    if (!items) {
        nvt_table_free(table);
        return -1;
    }
    tables->items = items;
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
