#ifdef HAVE_SQLITE
#include "nsys_ahead.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/buffer.h"

/* Times beyond this (146 years) are mistakes, and differences of what is within it do not
 * overflow. */
#define TIME_LIMIT (INT64_C(1) << 62)

static int fail_sql(struct nvt_nsys *reader, const char *table)
{
    if (sqlite3_errcode(reader->db) == SQLITE_NOMEM)
        return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
    return nvt_fail_at(reader->err, reader->path, -1, "table %s cannot be read: %s", table,
                       sqlite3_errmsg(reader->db));
}

int nvt_nsys_fail(struct nvt_nsys *reader, const struct nvt_nsys_table *table, const char *what)
{
    return nvt_fail_at(reader->err, reader->path, -1, "table %s, row %llu: %s", table->spec->name,
                       (unsigned long long)table->number, what);
}

/* Whether it is a table with rows of its own: views and virtual tables have no root page. */
static int is_real_table(struct nvt_nsys *reader, const char *name)
{
    sqlite3_stmt *statement;
    static const char sql[] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? "
                              "COLLATE NOCASE AND rootpage > 0";
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return fail_sql(reader, name);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    int status = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (status == SQLITE_ROW)
        return 1;
    return status == SQLITE_DONE ? 0 : fail_sql(reader, name);
}

/* What exports from before schemas had a number call the first column; NULL: the same. */
static const char *old_name(const struct nvt_nsys_spec *spec)
{
    return strcmp(spec->name, "TARGET_INFO_GPU") ? NULL : "deviceId";
}

/* What the ids of rows are called, unless a column of the table has the name. */
#define ROW_ID "_rowid_"

/* Which columns of the spec the table has. table_info leaves out generated columns. */
static int probe(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *old = old_name(table->spec);
    sqlite3_stmt *statement;
    char sql[128];
    int status;
    snprintf(sql, sizeof(sql), "PRAGMA table_info(\"%s\")", table->spec->name);
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return fail_sql(reader, table->spec->name);
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        for (int i = 0; name && i < NVT_NSYS_COLUMNS && table->spec->columns[i]; i++)
            if (!sqlite3_stricmp(name, table->spec->columns[i]))
                table->present |= 1u << i;
        table->is_old |= name && old && !sqlite3_stricmp(name, old);
        table->hides_ids |= name && !sqlite3_stricmp(name, ROW_ID);
    }
    table->is_old &= !(table->present & 1);
    table->present |= table->is_old ? 1 : 0;
    sqlite3_finalize(statement);
    return status == SQLITE_DONE ? 0 : fail_sql(reader, table->spec->name);
}

/* The least or the greatest id of a table's rows: 0, or -1 where there is none. */
static int row_id(struct nvt_nsys *reader, const char *table, const char *which, int64_t *id)
{
    sqlite3_stmt *statement = NULL;
    char sql[160];
    snprintf(sql, sizeof(sql), "SELECT %s(" ROW_ID ") FROM \"%s\" NOT INDEXED", which, table);
    const int is = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                   sqlite3_step(statement) == SQLITE_ROW &&
                   sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
    if (is)
        *id = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return is ? 0 : -1;
}

/* Whether a table is read in ranges of its ids (nsys_ahead.h): many rows, and no more ids than the file can hold rows, in their
 * order. */
static int has_ranges(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const char *name = table->spec->name, *where = table->spec->where;
    if (table->hides_ids || (where && strstr(where, "ORDER BY")) ||
        row_id(reader, name, "min", &table->first) || row_id(reader, name, "max", &table->last) ||
        table->last < table->first)
        return 0;
    const uint64_t span = (uint64_t)table->last - (uint64_t)table->first;
    return span >= NVT_NSYS_AHEAD_FROM && span < reader->size / NVT_NSYS_ROW_BYTES;
}

static int prepare(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_nsys_spec *spec = table->spec;
    struct nvt_buffer sql = {0};
    int failed = nvt_buffer_printf(&sql, "SELECT ");
    for (int i = 0; i < NVT_NSYS_COLUMNS && spec->columns[i]; i++)
        failed |=
            nvt_buffer_printf(&sql, table->present >> i & 1 ? "%s\"%s\"" : "%sNULL", i ? ", " : "",
                              !i && table->is_old ? old_name(spec) : spec->columns[i]);
    /* NOT INDEXED: an index of a stranger's file may hold other rows than its table. */
    failed |= nvt_buffer_printf(&sql, " FROM \"%s\" NOT INDEXED WHERE %s%s", spec->name,
                                table->has_ranges ? ROW_ID " BETWEEN ?1 AND ?2 AND " : "",
                                spec->where ? spec->where : "1");
    int status = failed ? -1 : 0;
    if (failed)
        nvt_fail_at(reader->err, reader->path, -1, "out of memory");
    else if (sqlite3_prepare_v2(reader->db, (const char *)sql.data, (int)sql.size,
                                &table->statement, NULL) != SQLITE_OK)
        status = fail_sql(reader, spec->name);
    nvt_buffer_free(&sql);
    return status;
}

/* The next row of a table. As sqlite3_step. */
static int next_row(struct nvt_nsys_table *table, struct nvt_nsys_ahead *ahead)
{
    return ahead ? nvt_nsys_ahead_next(ahead, &table->cells) : sqlite3_step(table->statement);
}

static int take_rows(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                     struct nvt_nsys_ahead *ahead, int *step)
{
    char what[128];
    while ((*step = next_row(table, ahead)) == SQLITE_ROW) {
        table->number++;
        if (!reader->rows_left--)
            return nvt_nsys_fail(reader, table, "more rows than a file of its size can hold");
        int failed = table->spec->row(reader, table);
        if (table->bad && reader->forgives) {
            table->bad = NULL;
            reader->odd++;
            failed = failed > 0 ? 0 : failed;
        }
        if (table->bad) {
            snprintf(what, sizeof(what), "column %s holds no such value", table->bad);
            return nvt_nsys_fail(reader, table, what);
        }
        if (failed > 0)
            reader->untimed++;
        else if (failed)
            return reader->err && *reader->err->message
                       ? -1
                       : nvt_nsys_fail(reader, table, "out of memory");
    }
    return 0;
}

static int read_rows(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_nsys_ahead *ahead =
        table->has_ranges ? nvt_nsys_ahead_open(reader, table->statement, table->present,
                                                table->first, table->last)
                          : NULL;
    int step = SQLITE_DONE, status = take_rows(reader, table, ahead, &step);
    nvt_nsys_ahead_close(ahead);
    table->cells = NULL;
    if (status || step == SQLITE_DONE)
        return status;
    return step == SQLITE_NOMEM ? nvt_fail_at(reader->err, reader->path, -1, "out of memory")
                                : fail_sql(reader, table->spec->name);
}

int nvt_nsys_read(struct nvt_nsys *reader, const struct nvt_nsys_spec *spec)
{
    struct nvt_nsys_table table = {.spec = spec};
    int there = is_real_table(reader, spec->name);
    if (there <= 0)
        return there;
    if (probe(reader, &table))
        return -1;
    for (int i = 0; i < spec->needs; i++)
        if (!(table.present >> i & 1)) {
            nvt_trace_warn(reader->trace, "table %s has no column %s: left out", spec->name,
                           spec->columns[i]);
            return 0;
        }
    reader->known++;
    table.has_ranges = has_ranges(reader, &table);
    int status = prepare(reader, &table);
    if (!status)
        status = read_rows(reader, &table);
    sqlite3_finalize(table.statement);
    return status;
}

static struct nvt_nsys_cell cell_of(const struct nvt_nsys_table *table, int column)
{
    return table->cells ? table->cells[column] : nvt_nsys_cell_of(table->statement, column);
}

int nvt_nsys_type(const struct nvt_nsys_table *table, int column)
{
    return table->cells ? (int)table->cells[column].type
                        : sqlite3_column_type(table->statement, column);
}

int nvt_nsys_is_null(const struct nvt_nsys_table *table, int column)
{
    return nvt_nsys_type(table, column) == SQLITE_NULL;
}

static void set_bad(struct nvt_nsys_table *table, int column)
{
    if (!table->bad)
        table->bad = table->spec->columns[column];
}

int64_t nvt_nsys_int(struct nvt_nsys_table *table, int column, int64_t missing)
{
    const struct nvt_nsys_cell cell = cell_of(table, column);
    switch (cell.type) {
    case SQLITE_INTEGER:
        return cell.whole;
    case SQLITE_NULL:
        return missing;
    default:
        set_bad(table, column);
        return missing;
    }
}

void nvt_nsys_number(const struct nvt_nsys_table *table, int column, int64_t *whole, double *real)
{
    const struct nvt_nsys_cell cell = cell_of(table, column);
    *whole = 0;
    *real = 0;
    if (cell.type == SQLITE_INTEGER) {
        *whole = cell.whole;
        *real = (double)cell.whole;
    } else if (cell.type == SQLITE_FLOAT) {
        *real = cell.real;
        *whole = cell.real > -9e18 && cell.real < 9e18 ? (int64_t)cell.real : 0;
    }
}

uint32_t nvt_nsys_u32(struct nvt_nsys_table *table, int column, uint32_t missing)
{
    int64_t value = nvt_nsys_int(table, column, missing);
    if (value >= 0 && value <= UINT32_MAX)
        return (uint32_t)value;
    /* Some versions write 32-bit fields with their sign. */
    if (value >= INT32_MIN && value < 0)
        return (uint32_t)value;
    set_bad(table, column);
    return missing;
}

int64_t nvt_nsys_time(struct nvt_nsys_table *table, int column)
{
    int64_t value = nvt_nsys_int(table, column, INT64_MIN);
    if (value > -TIME_LIMIT && value < TIME_LIMIT)
        return value;
    set_bad(table, column);
    return 0;
}

uint64_t nvt_nsys_size(struct nvt_nsys_table *table, int column)
{
    int64_t value = nvt_nsys_int(table, column, 0);
    if (value >= 0)
        return (uint64_t)value;
    set_bad(table, column);
    return 0;
}

const char *nvt_nsys_plain_text(const struct nvt_nsys_table *table, int column)
{
    if (!table->cells)
        return (const char *)sqlite3_column_text(table->statement, column);
    return table->cells[column].type == SQLITE_TEXT ? table->cells[column].text : NULL;
}

uint32_t nvt_nsys_text(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column)
{
    const struct nvt_nsys_cell cell = cell_of(table, column);
    if (cell.type == SQLITE_NULL)
        return 0;
    if (cell.type != SQLITE_TEXT) {
        set_bad(table, column);
        return 0;
    }
    if (!cell.text)
        return NVT_NO_STRING;
    if (cell.size > reader->text_left) {
        nvt_nsys_fail(reader, table, "more text than a file of its size can hold");
        return NVT_NO_STRING;
    }
    reader->text_left -= cell.size;
    return nvt_strings_add(reader->trace->strings, cell.text, cell.size);
}

uint32_t nvt_nsys_name(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column)
{
    const int type = nvt_nsys_type(table, column);
    if (type == SQLITE_TEXT)
        return nvt_nsys_text(reader, table, column);
    if (type == SQLITE_NULL)
        return 0;
    uint32_t id = nvt_map_get(&reader->strings, (uint64_t)nvt_nsys_int(table, column, 0));
    return id == NVT_MAP_NONE ? 0 : id;
}

static uint32_t process_of(struct nvt_nsys *reader, uint64_t key)
{
    uint32_t *row = nvt_map_at(&reader->processes, key);
    if (!row)
        return NVT_NONE;
    if (*row == NVT_MAP_NONE) {
        struct nvt_process process = {
            .pid = (int64_t)(key & 0xFFFFFF), .parent_pid = -1, .rank = NVT_NONE};
        *row = nvt_process_add(reader->trace, &process);
    }
    return *row;
}

uint32_t nvt_nsys_process(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column)
{
    /* Files without this column come from versions that traced one process. */
    if (reader->trace->processes.count && nvt_nsys_is_null(table, column))
        return 0;
    return process_of(reader, (uint64_t)nvt_nsys_int(table, column, 0) >> 24);
}

uint32_t nvt_nsys_thread(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column)
{
    uint64_t key = (uint64_t)nvt_nsys_int(table, column, 0);
    uint32_t *row = nvt_map_at(&reader->threads, key);
    if (!row)
        return NVT_NONE;
    if (*row == NVT_MAP_NONE) {
        struct nvt_thread thread = {.process = process_of(reader, key >> 24),
                                    .tid = (int64_t)(key & 0xFFFFFF)};
        if (thread.process != NVT_NONE)
            *row = nvt_thread_add(reader->trace, &thread);
    }
    return *row;
}
#endif
