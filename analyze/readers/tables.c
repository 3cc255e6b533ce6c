/*
 * Files of tables (docs/trace-format.md, "Tables"): the model as it was when somebody wrote it, so that nothing has to
 * be made of it again but what nvt_trace_finish makes. Chunks are found first, from header to header, which says how
 * many rows each table has; then they are unpacked into their places, on several threads if there are many.
 *
 * Nothing that a file says is believed: rows refer only to tables in front of theirs, whose rows are there whatever
 * becomes of the chunks behind them, or to rows of their own table before them.
 */
#include "tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/text.h"
#include "reader.h"

static int recognizes(const uint8_t *head, size_t size)
{
    return size >= NVT_FILE_HEADER && !memcmp(head, NVT_FILE_MAGIC, 8) &&
           head[8] == NVT_FILE_TABLES && !head[9] && !head[10] && !head[11];
}

/* --- what there is ------------------------------------------------------------------------------ */

static const struct nvt_layout_table *table_named(const uint8_t *name, uint64_t length)
{
    const struct nvt_layout_table *layout = nvt_layout();
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (strlen(layout[i].name) == length && !memcmp(layout[i].name, name, length))
            return &layout[i];
    return NULL;
}

static void find_column(const struct nvt_file_table *table, struct nvt_file_column *column,
                        const uint8_t *name, uint64_t length)
{
    for (uint32_t i = 0; table->is && i < table->is->count; i++) {
        const struct nvt_layout_column *is = &table->is->columns[i];
        if (is->meaning != NVT_MEANS_LINKED && strlen(is->name) == length &&
            !memcmp(is->name, name, length)) {
            column->is = is;
            column->number = i;
        }
    }
}

/* Rows that were of something for certain may be of nothing in what a later version writes. */
static int may_mean(const struct nvt_layout_column *is, uint64_t meaning)
{
    return meaning == is->meaning ||
           (is->meaning == NVT_MEANS_ROW_OR_NONE && meaning == NVT_MEANS_ROW);
}

static int read_column(struct nvt_file_table *table, struct nvt_cursor *cursor)
{
    struct nvt_file_column *column = &table->columns[table->count];
    uint64_t length = nvt_cursor_varint(cursor);
    const uint8_t *name = nvt_cursor_bytes(cursor, length);
    uint64_t meaning = nvt_cursor_varint(cursor), base = nvt_cursor_varint(cursor);
    if (!cursor->at || base > table->count)
        return -1;
    *column = (struct nvt_file_column){.base = (uint32_t)base};
    find_column(table, column, name, length);
    for (uint32_t i = 0; column->is && i < table->count; i++)
        if (table->columns[i].is == column->is)
            return -1;
    if (column->is && !may_mean(column->is, meaning))
        return -1;
    /* Where a column is known, so is that which it is a difference to. */
    if (column->is && base &&
        (!table->columns[base - 1].is || table->columns[base - 1].is->width != sizeof(uint64_t)))
        return -1;
    table->count++;
    return 0;
}

static int read_table(struct nvt_tables_reading *reading, struct nvt_cursor *cursor)
{
    struct nvt_file_table *table = &reading->tables[reading->table_count];
    uint64_t length = nvt_cursor_varint(cursor);
    const uint8_t *name = nvt_cursor_bytes(cursor, length);
    uint64_t rows = nvt_cursor_varint(cursor), columns = nvt_cursor_varint(cursor);
    if (!cursor->at || columns > NVT_TABLE_COLUMNS_MOST || rows >= NVT_NONE)
        return -1;
    *table = (struct nvt_file_table){.is = table_named(name, length), .claimed = rows};
    for (uint32_t i = 0; table->is && i < reading->table_count; i++)
        if (reading->tables[i].is == table->is)
            return -1;
    table->columns = calloc((size_t)columns + 1, sizeof(*table->columns));
    reading->table_count++;
    if (!table->columns)
        return -1;
    while (table->count < columns)
        if (read_column(table, cursor))
            return -1;
    return 0;
}

static int read_tables(struct nvt_tables_reading *reading, struct nvt_cursor cursor)
{
    uint64_t tables = nvt_cursor_varint(&cursor);
    if (!cursor.at || reading->tables || tables > NVT_TABLES_MOST)
        return -1;
    reading->tables = calloc((size_t)tables + 1, sizeof(*reading->tables));
    while (reading->tables && reading->table_count < tables)
        if (read_table(reading, &cursor))
            return -1;
    reading->has_tables = reading->tables != NULL;
    return reading->tables ? 0 : -1;
}

/* --- facts -------------------------------------------------------------------------------------- */

static int set_number(int64_t *number, const char *text)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno || end == text || *end ? -1 : 0;
}

static int set_time(int64_t *time, const char *text)
{
    int status = set_number(time, text);
    *time = nvt_clock_within(*time);
    return status;
}

/* Lines for people, from a stranger. */
static int set_lines(char **text, const char *value)
{
    if (strlen(value) > NVT_TABLES_FACT_BYTES)
        return -1;
    char *out = malloc(strlen(value) * NVT_UTF8_MAX + 1), *end = out;
    if (!out)
        return -1;
    for (uint32_t character; (character = nvt_utf8_next(&value));)
        end += nvt_utf8_put(character == '\n' ? character : nvt_char_visible(character), end);
    *end = 0;
    free(*text);
    *text = out;
    return 0;
}

static int set_warning(struct nvt_trace *trace, const char *value)
{
    return strchr(value, '\n') ? -1 : set_lines(&trace->warning, value);
}

/* Each line has its end. */
static int set_notes(struct nvt_trace *trace, const char *value)
{
    size_t length = strlen(value);
    return length && value[length - 1] != '\n' ? -1 : set_lines(&trace->notes, value);
}

static int set_fact(struct nvt_tables_reading *reading, const char *name, const char *value)
{
    struct nvt_trace *trace = reading->trace;
    if (!strcmp(name, NVT_TABLES_FORMAT)) {
        nvt_reader_state(trace, value);
        return 0;
    }
    if (!strcmp(name, NVT_TABLES_ORIGIN))
        return set_number(&trace->origin_ns, value);
    if (!strcmp(name, NVT_TABLES_FIRST))
        return set_time(&reading->first, value);
    if (!strcmp(name, NVT_TABLES_LAST))
        return set_time(&reading->last, value);
    if (!strcmp(name, NVT_TABLES_LEVELS))
        return set_time(&reading->levels, value);
    if (!strcmp(name, NVT_TABLES_WARNING))
        return set_warning(trace, value);
    if (!strcmp(name, NVT_TABLES_NOTES))
        return set_notes(trace, value);
    if (!strcmp(name, NVT_TABLES_LATE))
        trace->is_late = !strcmp(value, "1");
    if (!strcmp(name, NVT_TABLES_TRUNCATED))
        trace->is_truncated = !strcmp(value, "1");
    if (!strcmp(name, NVT_TABLES_STOPPED))
        trace->was_stopped = !strcmp(value, "1");
    if (!strcmp(name, NVT_TABLES_OPEN))
        return set_time(&trace->open_ns, value);
    if (!strcmp(name, NVT_TABLES_CUT))
        return set_time(&trace->cut_ns, value);
    if (!strcmp(name, NVT_TABLES_BYTES_OF_SOURCE))
        return set_number(&reading->source_bytes, value);
    if (!strcmp(name, NVT_TABLES_SOURCE))
        snprintf(reading->source, sizeof(reading->source), "%s",
                 strlen(value) < NVT_TABLES_NAME ? value : "");
    if (!strcmp(name, NVT_TABLES_PART))
        trace->is_part = !strcmp(value, "1");
    return 0;
}

static int read_facts(struct nvt_tables_reading *reading, const struct nvt_chunk *chunk,
                      struct nvt_cursor cursor)
{
    /* There are a dozen, each once. */
    if (reading->has_facts || chunk->count > NVT_TABLES_MOST)
        return -1;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint32_t name = nvt_file_string(&reading->strings, nvt_cursor_varint(&cursor));
        uint32_t value = nvt_file_string(&reading->strings, nvt_cursor_varint(&cursor));
        if (!cursor.at ||
            set_fact(reading, nvt_name(reading->trace, name), nvt_name(reading->trace, value)))
            return -1;
    }
    reading->has_facts = 1;
    return 0;
}

/* --- where rows are ----------------------------------------------------------------------------- */

/* Rows of one table come behind each other, and tables in the order of the directory. */
static int find_rows(struct nvt_tables_reading *reading, const struct nvt_chunk *chunk,
                     int64_t offset)
{
    uint32_t number = chunk->process;
    if (!reading->tables || number >= reading->table_count || number < reading->open)
        return -1;
    struct nvt_file_table *table = &reading->tables[number];
    reading->open = number;
    if (chunk->first != table->rows || !chunk->count || chunk->count > NVT_TABLES_ROWS ||
        chunk->raw_size / NVT_TABLES_BYTES < chunk->count ||
        chunk->count > table->claimed - table->rows)
        return -1;
    if (nvt_grow(&reading->parts, reading->part_count, sizeof(*reading->parts)))
        return -1;
    table->rows += chunk->count;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
    reading->parts[reading->part_count++] = (struct nvt_file_part){*chunk, offset, number};
    return 0;
}

static int read_chunk(struct nvt_tables_reading *reading, const struct nvt_chunk *chunk,
                      const uint8_t *payload)
{
    struct nvt_cursor cursor = {payload, payload + chunk->raw_size};
    switch (chunk->kind) {
    case NVT_CHUNK_STRINGS:
        /* Those of rows come in front of them. */
        return reading->part_count ? -1
                                   : nvt_file_strings_read(&reading->strings, chunk, cursor,
                                                           reading->trace->strings);
    case NVT_CHUNK_META:
        return read_facts(reading, chunk, cursor);
    case NVT_CHUNK_TABLES:
        return read_tables(reading, cursor);
    case NVT_CHUNK_END:
        reading->ended = 1;
        return 0;
    default:
        return 0; /* of a later minor version: it says nothing that is needed here */
    }
}

/* Everything but rows, up to the end or the first damage, of which err tells. Whether there was one. */
static int find_parts(struct nvt_tables_reading *reading, struct nvt_error *err)
{
    struct nvt_chunk chunk;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    int status;
    errno = 0;
    while ((status = nvt_trace_file_header(reading->file, &chunk, err)) > 0) {
        int64_t offset = nvt_trace_file_offset(reading->file);
        int failed;
        if (chunk.kind == NVT_CHUNK_ROWS)
            failed = find_rows(reading, &chunk, offset);
        else if (nvt_trace_file_load(reading->file, offset, &chunk, &memory, &payload, err)) {
            status = -1;
            break;
        } else
            failed = read_chunk(reading, &chunk, payload);
        if (failed) {
            status = nvt_fail_at(err, reading->trace->path, offset,
                                 "a chunk of kind %u is malformed", chunk.kind);
            break;
        }
        nvt_trace_file_skip(reading->file, &chunk);
    }
    if (status < 0)
        reading->no_memory = errno == ENOMEM;
    nvt_chunk_memory_free(&memory);
    return status < 0;
}

/* --- all of it ---------------------------------------------------------------------------------- */

static void warn(struct nvt_trace *trace, const struct nvt_error *damage)
{
    struct nvt_error copy = *damage;
    char text[600];
    copy.file[0] = 0;
    free(trace->warning);
    trace->warning = NULL;
    nvt_trace_warn_truncated(trace, "%s: what comes before it was read",
                             nvt_error_text(&copy, text, sizeof(text)));
}

/* Where the trace was found to begin and end when it was written: nvt_trace_finish sees to the rest. */
static void set_extent(const struct nvt_tables_reading *reading)
{
    struct nvt_trace *trace = reading->trace;
    trace->first_ns = reading->first;
    trace->last_ns = reading->last;
    trace->levels_ns = reading->levels;
    trace->has_extent = 1;
}

static int is_same_text(const struct nvt_file_strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++)
        if (strings->ids[i] != i)
            return 0;
    return 1;
}

static int has_all_rows(const struct nvt_tables_reading *reading)
{
    for (uint32_t i = 0; i < reading->table_count; i++)
        if (reading->tables[i].rows < reading->tables[i].claimed)
            return 0;
    return 1;
}

static int read_file(struct nvt_tables_reading *reading, struct nvt_error *err)
{
    struct nvt_error damage = NVT_ERROR_INIT;
    struct nvt_trace *trace = reading->trace;
    int is_damaged = find_parts(reading, &damage);
    if (reading->no_memory)
        return -1;
    if (!reading->has_tables || !reading->has_facts)
        return nvt_fail_at(err, trace->path, damage.offset, "holds no tables%s%s",
                           is_damaged ? ": " : "", damage.message);
    trace->was_finished = 1;
    reading->is_same_text = is_same_text(&reading->strings);
    if (nvt_tables_fill(reading, err))
        return -1;
    if (reading->damaged < reading->part_count)
        warn(trace, &reading->err);
    else if (is_damaged)
        warn(trace, &damage);
    else if (!reading->ended || !has_all_rows(reading))
        nvt_trace_warn_truncated(trace, "the file was cut off: what is in it was read");
    else
        set_extent(reading);
    return 0;
}

static int read(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_tables_reading reading = {
        .trace = trace, .lock = PTHREAD_MUTEX_INITIALIZER, .err = NVT_ERROR_INIT};
    reading.file = nvt_trace_file_open_tables(path, err);
    if (!reading.file)
        return -1;
    int status = read_file(&reading, err);
    if (reading.no_memory)
        status = nvt_fail_at(err, path, -1, "out of memory");
    nvt_trace_file_close(reading.file);
    for (uint32_t i = 0; i < reading.table_count; i++)
        free(reading.tables[i].columns);
    free(reading.tables);
    free(reading.parts);
    nvt_file_strings_free(&reading.strings);
    pthread_mutex_destroy(&reading.lock);
    return status;
}

/* The first chunks are strings and facts, and hold no more than these. */
int nvt_tables_source(const char *path, char name[NVT_TABLES_NAME], uint64_t *bytes)
{
    struct nvt_trace_file *file = nvt_trace_file_open_tables(path, NULL);
    struct nvt_trace *trace = file ? nvt_trace_new(path, "nvt") : NULL;
    struct nvt_tables_reading reading = {.trace = trace, .file = file};
    struct nvt_chunk chunk;
    struct nvt_error ignored = NVT_ERROR_INIT;
    const uint8_t *payload;
    for (int i = 0; trace && i < 2; i++)
        if (nvt_trace_file_next(file, &chunk, &payload, &ignored) <= 0 ||
            read_chunk(&reading, &chunk, payload))
            break;
    int has_source =
        reading.has_facts && *reading.source && reading.source_bytes >= 0 && !trace->is_part;
    if (has_source) {
        memcpy(name, reading.source, NVT_TABLES_NAME);
        *bytes = (uint64_t)reading.source_bytes;
    }
    nvt_trace_free(trace);
    nvt_file_strings_free(&reading.strings);
    nvt_trace_file_close(file);
    return has_source;
}

const struct nvt_reader nvt_reader_tables = {
    .name = "nvt", .tells_mpi_peers = 1, .recognizes = recognizes, .read = read};
