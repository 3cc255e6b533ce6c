/*
 * A trace as a file of tables (docs/trace-format.md, "Tables"). Only strings that a row has are in it: what a window
 * left out is not given away.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../lib/packed.h"
#include "../../lib/text.h"
#include "../../lib/trace_file.h"
#include "../../lib/version.h"
#include "../model/layout.h"
#include "../model/table_file.h"
#include "export.h"

/* zstd's; above it, files of this kind take longer to write and get hardly smaller. */
#define LEVEL         3
#define STRINGS_BYTES (1u << 20) /* of a chunk, about */

/* Rows that others refer to, of tables whose rows all stay when a window is cut out: what has no row left there has no
 * name in the file. */
struct used {
    uint8_t *domains, *counters, *call_frames;
};

struct writing {
    const struct nvt_trace *trace;
    struct nvt_trace_writer *writer;
    struct nvt_error *err;
    struct nvt_strings *strings; /* of the file */
    uint32_t written;            /* so many of them are in it */
    uint32_t *ids;    /* of each of the trace's the file's, NVT_NO_STRING: no row has it */
    struct used used; /* NULL each: all are */
    struct nvt_buffer payload;
    uint64_t *values, *from; /* of a column, NVT_TABLES_ROWS each */
};

static int out_of_memory(const struct writing *writing)
{
    return nvt_fail_at(writing->err, writing->trace->path, -1, "out of memory");
}

static int put_chunk(struct writing *writing, const struct nvt_chunk *chunk)
{
    if (writing->payload.failed)
        return out_of_memory(writing);
    int status = nvt_trace_writer_chunk(writing->writer, chunk, writing->payload.data,
                                        writing->payload.size, writing->err);
    writing->payload.size = 0;
    return status;
}

static struct nvt_chunk plain(uint16_t kind, uint32_t count)
{
    return (struct nvt_chunk){
        .kind = kind, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX, .count = count};
}

static uint32_t is_written(const struct nvt_layout_column *column)
{
    return column->meaning != NVT_MEANS_LINKED;
}

/* --- strings ------------------------------------------------------------------------------------ */

static int is_dropped(const struct writing *writing, const struct nvt_layout_table *table,
                      uint32_t row)
{
    const struct nvt_layout_table *layout = nvt_layout();
    const uint8_t *used = table == &layout[NVT_TABLE_domains]       ? writing->used.domains
                          : table == &layout[NVT_TABLE_counters]    ? writing->used.counters
                          : table == &layout[NVT_TABLE_call_frames] ? writing->used.call_frames
                                                                    : NULL;
    return used && !used[row];
}

static void mark_strings(struct writing *writing, const struct nvt_layout_table *table)
{
    uint32_t rows = nvt_layout_rows(writing->trace, table);
    uint32_t count = nvt_strings_count(writing->trace->strings);
    for (uint32_t i = 0; i < table->count; i++) {
        const uint32_t *values = nvt_layout_values(writing->trace, table, i);
        if (table->columns[i].meaning == NVT_MEANS_TEXT)
            for (uint32_t row = 0; row < rows; row++)
                if (values[row] < count && !is_dropped(writing, table, row))
                    writing->ids[values[row]] = 0;
    }
}

/* 0 or -1. */
static int find_used(struct writing *writing)
{
    const struct nvt_trace *trace = writing->trace;
    struct used *used = &writing->used;
    if (!trace->is_part)
        return 0;
    used->domains = calloc((size_t)trace->domains.count + 1, 1);
    used->counters = calloc((size_t)trace->counters.count + 1, 1);
    used->call_frames = calloc((size_t)trace->call_frames.count + 1, 1);
    if (!used->domains || !used->counters || !used->call_frames)
        return out_of_memory(writing);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        used->domains[trace->ranges.domain[i]] = 1;
    for (uint32_t i = 0; i < trace->marks.count; i++)
        used->domains[trace->marks.domain[i]] = 1;
    for (uint32_t i = 0; i < trace->carried.count; i++)
        used->domains[trace->carried.domain[i]] = 1;
    for (uint32_t i = 0; i < trace->earlier.count; i++)
        used->domains[trace->earlier.domain[i]] = 1;
    for (uint32_t i = 0; i < trace->counter_samples.count; i++) {
        used->counters[trace->counter_samples.counter[i]] = 1;
        used->domains[trace->counters.domain[trace->counter_samples.counter[i]]] = 1;
    }
    /* Callers are lower rows. */
    for (uint32_t i = 0; i < trace->memory.count; i++)
        if (trace->memory.frame[i])
            used->call_frames[trace->memory.frame[i] - 1] = 1;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (trace->cpu_samples.frame[i])
            used->call_frames[trace->cpu_samples.frame[i] - 1] = 1;
    for (uint32_t i = trace->call_frames.count; i-- > 0;)
        if (used->call_frames[i] && trace->call_frames.parent[i])
            used->call_frames[trace->call_frames.parent[i] - 1] = 1;
    return 0;
}

/* Those that a row has, in the order in which the trace has them. 0 or -1. */
static int gather_strings(struct writing *writing)
{
    const struct nvt_strings *strings = writing->trace->strings;
    uint32_t count = nvt_strings_count(strings);
    writing->ids = malloc(((size_t)count + 1) * sizeof(*writing->ids));
    if (!writing->ids)
        return out_of_memory(writing);
    if (find_used(writing))
        return -1;
    memset(writing->ids, 0xff, count * sizeof(*writing->ids));
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        mark_strings(writing, &nvt_layout()[i]);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *text = nvt_strings_get(strings, i, &length);
        if (writing->ids[i] == NVT_NO_STRING)
            continue;
        writing->ids[i] = nvt_strings_add(writing->strings, text, length);
        if (writing->ids[i] == NVT_NO_STRING)
            return out_of_memory(writing);
    }
    return 0;
}

/* Those that are not in the file yet. */
static int write_strings(struct writing *writing)
{
    uint32_t count = nvt_strings_count(writing->strings), first = writing->written;
    for (uint32_t i = first; i < count; i++) {
        size_t length;
        const char *text = nvt_strings_get(writing->strings, i, &length);
        if (length > NVT_CHUNK_MAX - NVT_VARINT_MAX)
            return nvt_fail_at(writing->err, writing->trace->path, -1,
                               "has a text of %zu bytes, and a .nvt can hold %u", length,
                               NVT_CHUNK_MAX);
        if (writing->payload.size && writing->payload.size + length > STRINGS_BYTES) {
            struct nvt_chunk chunk = plain(NVT_CHUNK_STRINGS, i - first);
            chunk.first = first;
            first = i;
            if (put_chunk(writing, &chunk))
                return -1;
        }
        nvt_buffer_varint(&writing->payload, length);
        nvt_buffer_append(&writing->payload, text, length);
    }
    struct nvt_chunk chunk = plain(NVT_CHUNK_STRINGS, count - first);
    chunk.first = first;
    writing->written = count;
    return put_chunk(writing, &chunk);
}

/* --- facts -------------------------------------------------------------------------------------- */

static void put_fact(struct writing *writing, const char *name, const char *value, uint32_t *count)
{
    uint32_t ids[2] = {nvt_strings_add_text(writing->strings, name),
                       nvt_strings_add_text(writing->strings, value)};
    if (ids[0] == NVT_NO_STRING || ids[1] == NVT_NO_STRING)
        writing->payload.failed = 1;
    nvt_buffer_varint(&writing->payload, ids[0]);
    nvt_buffer_varint(&writing->payload, ids[1]);
    ++*count;
}

static void put_nvt_number(struct writing *writing, const char *name, int64_t value,
                           uint32_t *count)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    put_fact(writing, name, text, count);
}

/* The file that the trace was read from, by its name without a folder, and how large it is. */
static void put_source(struct writing *writing, uint32_t *count)
{
    const struct nvt_trace *trace = writing->trace;
    const char *name = nvt_file_name(trace->path);
    struct stat status;
    if (stat(trace->path, &status) || !S_ISREG(status.st_mode) || strlen(name) >= NVT_TABLES_NAME)
        return;
    put_fact(writing, NVT_TABLES_SOURCE, name, count);
    put_nvt_number(writing, NVT_TABLES_BYTES_OF_SOURCE, (int64_t)status.st_size, count);
}

/* What the trace has beside its tables. */
static uint32_t put_facts(struct writing *writing)
{
    const struct nvt_trace *trace = writing->trace;
    uint32_t count = 0;
    put_fact(writing, "nvtally", NVT_VERSION, &count);
    put_fact(writing, NVT_TABLES_FORMAT, trace->format, &count);
    put_source(writing, &count);
    put_nvt_number(writing, NVT_TABLES_ORIGIN, trace->origin_ns, &count);
    put_nvt_number(writing, NVT_TABLES_FIRST, trace->first_ns, &count);
    put_nvt_number(writing, NVT_TABLES_LAST, trace->last_ns, &count);
    put_nvt_number(writing, NVT_TABLES_LEVELS, trace->levels_ns, &count);
    if (trace->is_late)
        put_nvt_number(writing, NVT_TABLES_LATE, 1, &count);
    if (trace->was_stopped)
        put_nvt_number(writing, NVT_TABLES_STOPPED, 1, &count);
    if (trace->open_ns)
        put_nvt_number(writing, NVT_TABLES_OPEN, trace->open_ns, &count);
    if (trace->is_part)
        put_nvt_number(writing, NVT_TABLES_PART, 1, &count);
    if (trace->cut_ns)
        put_nvt_number(writing, NVT_TABLES_CUT, trace->cut_ns, &count);
    if (trace->warning)
        put_fact(writing, NVT_TABLES_WARNING, trace->warning, &count);
    if (trace->is_truncated)
        put_nvt_number(writing, NVT_TABLES_TRUNCATED, 1, &count);
    if (trace->notes && strlen(trace->notes) <= NVT_TABLES_FACT_BYTES)
        put_fact(writing, NVT_TABLES_NOTES, trace->notes, &count);
    return count;
}

/* Their strings come first; so whoever wants to know no more needs no more of the file. */
static int write_facts(struct writing *writing)
{
    uint32_t count = put_facts(writing);
    struct nvt_chunk chunk = plain(NVT_CHUNK_META, count);
    struct nvt_buffer facts = writing->payload;
    writing->payload = (struct nvt_buffer){.failed = facts.failed};
    int status = write_strings(writing);
    nvt_buffer_free(&writing->payload);
    writing->payload = facts;
    return status ? status : put_chunk(writing, &chunk);
}

/* --- tables ------------------------------------------------------------------------------------- */

static void put_nvt_name(struct nvt_buffer *out, const char *name)
{
    nvt_buffer_varint(out, strlen(name));
    nvt_buffer_append(out, name, strlen(name));
}

/* An end lies near the start: 1 and the number of the column that a column is written as a difference to; 0: it is written as
 * it is. */
static uint32_t base_of(const struct nvt_layout_table *table, uint32_t column)
{
    if (strcmp(table->columns[column].name, "end") != 0)
        return 0;
    for (uint32_t i = 0, at = 0; i < column; at += is_written(&table->columns[i]), i++)
        if (!strcmp(table->columns[i].name, "start"))
            return at + 1;
    return 0;
}

static int write_directory(struct writing *writing)
{
    const struct nvt_layout_table *layout = nvt_layout();
    struct nvt_chunk chunk = plain(NVT_CHUNK_TABLES, NVT_TABLE_COUNT);
    nvt_buffer_varint(&writing->payload, NVT_TABLE_COUNT);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        uint32_t columns = 0;
        for (uint32_t k = 0; k < layout[i].count; k++)
            columns += is_written(&layout[i].columns[k]);
        put_nvt_name(&writing->payload, layout[i].name);
        nvt_buffer_varint(&writing->payload, nvt_layout_rows(writing->trace, &layout[i]));
        nvt_buffer_varint(&writing->payload, columns);
        for (uint32_t k = 0; k < layout[i].count; k++) {
            const struct nvt_layout_column *column = &layout[i].columns[k];
            if (!is_written(column))
                continue;
            put_nvt_name(&writing->payload, column->name);
            nvt_buffer_varint(&writing->payload, column->meaning);
            nvt_buffer_varint(&writing->payload, base_of(&layout[i], k));
        }
    }
    return put_chunk(writing, &chunk);
}

/* The thread and the launch of what has its call on record are those of the call, and are put there again. */
static void leave_out_launches(const struct writing *writing, uint32_t column, uint32_t row,
                               uint32_t rows)
{
    const struct nvt_layout_column *is = &nvt_layout()[NVT_TABLE_ops].columns[column];
    const uint32_t *calls = writing->trace->ops.api + row;
    int is_launch = !strcmp(is->name, "launch");
    if (!is_launch && strcmp(is->name, "thread") != 0)
        return;
    for (uint32_t i = 0; i < rows; i++)
        if (calls[i] != NVT_NONE)
            writing->values[i] = is_launch ? (uint64_t)INT64_MIN : NVT_NONE;
}

/* A column's values as they are written. */
static void take_values(struct writing *writing, const struct nvt_layout_table *table,
                        uint32_t column, uint32_t row, uint32_t rows)
{
    const struct nvt_layout_column *is = &table->columns[column];
    const char *values = nvt_layout_values(writing->trace, table, column);
    uint64_t *out = writing->values;
    nvt_layout_take(is, values + (size_t)row * is->width, rows, out);
    if (table == &nvt_layout()[NVT_TABLE_ops])
        leave_out_launches(writing, column, row, rows);
    if (is->meaning == NVT_MEANS_TEXT)
        for (uint32_t i = 0; i < rows; i++)
            out[i] = out[i] < nvt_strings_count(writing->trace->strings) &&
                             !is_dropped(writing, table, row + i)
                         ? writing->ids[out[i]]
                         : 0;
    if (!strcmp(is->name, "start"))
        memcpy(writing->from, out, rows * sizeof(*out));
    if (base_of(table, column))
        for (uint32_t i = 0; i < rows; i++)
            out[i] = nvt_zigzag((int64_t)(out[i] - writing->from[i]));
}

static int write_rows(struct writing *writing, uint32_t number, uint32_t row, uint32_t rows)
{
    const struct nvt_layout_table *table = &nvt_layout()[number];
    struct nvt_buffer *payload = &writing->payload;
    struct nvt_chunk chunk = plain(NVT_CHUNK_ROWS, rows);
    chunk.process = number;
    chunk.first = row;
    chunk.last = row + (uint64_t)rows - 1;
    for (uint32_t i = 0; i < table->count; i++) {
        if (!is_written(&table->columns[i]))
            continue;
        take_values(writing, table, i, row, rows);
        nvt_packed_put(payload, writing->values, rows);
    }
    if (payload->size < (size_t)rows * NVT_TABLES_BYTES) {
        size_t more = (size_t)rows * NVT_TABLES_BYTES - payload->size;
        if (nvt_buffer_reserve(payload, more))
            return out_of_memory(writing);
        memset(payload->data + payload->size, 0, more);
        payload->size += more;
    }
    return put_chunk(writing, &chunk);
}

static int write_tables(struct writing *writing)
{
    struct nvt_chunk end = plain(NVT_CHUNK_END, 1);
    if (write_directory(writing))
        return -1;
    for (uint32_t i = 0; i < NVT_TABLE_COUNT; i++) {
        uint32_t rows = nvt_layout_rows(writing->trace, &nvt_layout()[i]);
        for (uint32_t row = 0; row < rows; row += NVT_TABLES_ROWS) {
            uint32_t left = rows - row;
            if (write_rows(writing, i, row, left < NVT_TABLES_ROWS ? left : NVT_TABLES_ROWS))
                return -1;
        }
    }
    return put_chunk(writing, &end);
}

int nvt_tables_write(const struct nvt_trace *trace, const char *path, int level,
                     struct nvt_error *err)
{
    struct writing writing = {.trace = trace, .err = err, .strings = nvt_strings_new()};
    int status = -1;
    writing.values = malloc(NVT_TABLES_ROWS * sizeof(*writing.values));
    writing.from = malloc(NVT_TABLES_ROWS * sizeof(*writing.from));
    if (!writing.strings || !writing.values || !writing.from)
        out_of_memory(&writing);
    else
        writing.writer = nvt_trace_writer_new_tables(path, level, err);
    if (writing.writer) {
        status = write_facts(&writing) || gather_strings(&writing) || write_strings(&writing) ||
                         write_tables(&writing)
                     ? -1
                     : 0;
        if (nvt_trace_writer_close(writing.writer, status ? NULL : err))
            status = -1;
    }
    nvt_strings_free(writing.strings);
    nvt_buffer_free(&writing.payload);
    free(writing.ids);
    free(writing.used.domains);
    free(writing.used.counters);
    free(writing.used.call_frames);
    free(writing.values);
    free(writing.from);
    return status;
}

static int write_file(const struct nvt_trace *trace, const char *path, struct nvt_error *err)
{
    return nvt_tables_write(trace, path, LEVEL, err);
}

const struct nvt_exporter nvt_exporter_nvt = {.name = "nvt",
                                              .about = "small, and fast to read",
                                              .ending = ".nvt",
                                              .is_trace = 1,
                                              .write_file = write_file};
