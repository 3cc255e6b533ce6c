#include "nvt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/mpi_payload.h"
#include "../../lib/grow.h"
#include "../model/recording.h"
#include "reader.h"

static int recognizes(const uint8_t *head, size_t size)
{
    return size >= 8 && !memcmp(head, NVT_FILE_MAGIC, 8) &&
           (size < NVT_FILE_HEADER || head[8] != NVT_FILE_TABLES);
}

/* Room for item `index` of a growing array, zeroed; indices come one after the other. */
static int extend(void *array, uint32_t index, uint32_t *count, size_t width)
{
    void **items = array;
    if (index != *count || index >= (1u << 24))
        return -1;
    if (nvt_grow(array, index, width))
        return -1;
    memset((char *)*items + index * width, 0, width);
    (*count)++;
    return 0;
}

static uint32_t string_of(const struct nvt_file_reader *reader, uint64_t id)
{
    return nvt_file_string(&reader->strings, id);
}

/* How the command ended. */
static int read_end(struct nvt_file_reader *reader, struct nvt_cursor cursor)
{
    const uint64_t wait_status = nvt_cursor_varint(&cursor), lost = nvt_cursor_varint(&cursor);
    const uint64_t known = nvt_trace_lost(reader->trace); /* of threads that are there */
    reader->ended = 1;
    reader->trace->was_stopped = wait_status != 0;
    if (cursor.at && lost > known && !reader->is_cut)
        nvt_trace_note(reader->trace, "%llu event%s lost%s of threads that got no buffer",
                       (unsigned long long)(lost - known), lost - known == 1 ? " was" : "s were",
                       known ? "," : "");
    return wait_status && nvt_recording_set_ended(reader->trace, (int)(wait_status & 0xffff));
}

static int read_facts(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                      struct nvt_cursor cursor)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t key = nvt_cursor_varint(&cursor), value = nvt_cursor_varint(&cursor);
        if (!cursor.at ||
            nvt_trace_set_meta(reader->trace, nvt_name(reader->trace, string_of(reader, key)),
                               nvt_name(reader->trace, string_of(reader, value))))
            return -1;
    }
    return 0;
}

static int read_clock(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                      struct nvt_cursor cursor)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct nvt_clock_sample sample;
        sample.ticks = nvt_cursor_number(&cursor, 8);
        sample.monotonic_ns = (int64_t)nvt_cursor_number(&cursor, 8);
        sample.realtime_ns = (int64_t)nvt_cursor_number(&cursor, 8);
        if (!cursor.at)
            return -1;
        struct nvt_clock_sample *last =
            reader->sample_count ? &reader->samples[reader->sample_count - 1] : NULL;
        /* The axis runs forward, or it is none. */
        if (last && (sample.ticks <= last->ticks || sample.monotonic_ns <= last->monotonic_ns))
            return -1;
        if (nvt_grow(&reader->samples, reader->sample_count, sizeof(*reader->samples)))
            return -1;
        reader->samples[reader->sample_count++] = sample;
    }
    return 0;
}

/* What events cost the process. Files of before it was measured end in front of it. */
static int read_costs(struct nvt_file_reader *reader, uint32_t process, struct nvt_cursor *cursor)
{
    for (uint8_t i = 0; i < NVT_COSTS && cursor->at && cursor->at < cursor->end; i++) {
        uint64_t ps = nvt_cursor_varint(cursor);
        struct nvt_event_cost row = {process, (uint32_t)ps, i};
        if (ps && ps <= NVT_COST_MOST && nvt_event_cost_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

static int read_process(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                        struct nvt_cursor cursor)
{
    struct nvt_process row = {.rank = NVT_NONE};
    row.pid = (int64_t)nvt_cursor_varint(&cursor);
    row.parent_pid = (int64_t)nvt_cursor_varint(&cursor);
    const uint64_t image = nvt_cursor_varint(&cursor);
    row.name = string_of(reader, nvt_cursor_varint(&cursor));
    if (!cursor.at || extend(&reader->processes, chunk->process, &reader->process_count,
                             sizeof(*reader->processes)))
        return -1;
    uint32_t at = nvt_process_add(reader->trace, &row);
    reader->processes[chunk->process].row = at;
    reader->processes[chunk->process].image = image;
    return at == NVT_NONE || read_costs(reader, at, &cursor) ? -1 : 0;
}

static int read_thread(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                       struct nvt_cursor cursor)
{
    struct nvt_thread row = {0};
    row.tid = (int64_t)nvt_cursor_varint(&cursor);
    row.name = string_of(reader, nvt_cursor_varint(&cursor));
    if (!cursor.at || chunk->process >= reader->process_count ||
        extend(&reader->threads, chunk->thread, &reader->thread_count, sizeof(*reader->threads)))
        return -1;
    row.process = reader->processes[chunk->process].row;
    struct nvt_file_thread *thread = &reader->threads[chunk->thread];
    thread->process = chunk->process;
    thread->row = nvt_thread_add(reader->trace, &row);
    return thread->row == NVT_NONE ? -1 : 0;
}

static int read_thread_end(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                           struct nvt_cursor cursor)
{
    if (chunk->thread >= reader->thread_count)
        return -1;
    struct nvt_threads *threads = &reader->trace->threads;
    uint32_t row = reader->threads[chunk->thread].row;
    threads->events[row] = nvt_cursor_varint(&cursor);
    threads->dropped[row] = nvt_cursor_varint(&cursor);
    threads->dropped[row] += nvt_cursor_varint(&cursor); /* nested in a signal handler */
    threads->dropped[row] += nvt_cursor_varint(&cursor); /* not written */
    threads->waited_ns[row] = nvt_cursor_varint(&cursor);
    reader->threads[chunk->thread].ended = chunk->last;
    /* Files of before it was told end in front of it. */
    if (cursor.at && cursor.at < cursor.end && nvt_cursor_varint(&cursor) &&
        (!reader->left || chunk->last < reader->left))
        reader->left = chunk->last;
    return !cursor.at || nvt_file_device_thread_end(reader, reader->threads[chunk->thread].process,
                                                    chunk->last)
               ? -1
               : 0;
}

/* --- definitions ------------------------------------------------------------------------------ */

static uint32_t model_domain(struct nvt_file_process *process, uint64_t number)
{
    return number ? nvt_map_get(&process->domains, number) : 0;
}

static int define_domain(struct nvt_file_reader *reader, struct nvt_file_process *process,
                         uint64_t number, uint32_t name)
{
    uint32_t *row = nvt_map_at(&process->domains, number);
    uint32_t *since = nvt_map_at(&process->since, number);
    if (!row || !since)
        return -1;
    if (*since == NVT_MAP_NONE)
        *since = reader->number;
    /* Its ranges are calls, which lanes do not hold. */
    if (reader->lanes && !strcmp(nvt_name(reader->trace, name), NVT_MPI_DOMAIN))
        reader->lanes->complex_events = 1;
    if (*row == NVT_MAP_NONE)
        *row = nvt_trace_domain(reader->trace, process->row, nvt_name(reader->trace, name));
    return *row == NVT_NONE ? -1 : 0;
}

static int define_file(struct nvt_file_process *process, uint64_t id, uint32_t name)
{
    return nvt_map_set(&process->files, id, name);
}

static int define_schema(struct nvt_file_reader *reader, struct nvt_file_process *process,
                         uint64_t id, const uint8_t *bytes, uint64_t size, int is_enum)
{
    uint32_t index = reader->schema_count;
    uint32_t *known = nvt_map_at(&process->schemas, id);
    if (!known || extend(&reader->schemas, index, &reader->schema_count, sizeof(*reader->schemas)))
        return -1;
    *known = index;
    reader->schemas[index] = (struct nvt_blob){reader->blobs.size, (size_t)size, is_enum};
    return nvt_buffer_append(&reader->blobs, bytes, (size_t)size);
}

static int define_resource(struct nvt_file_reader *reader, struct nvt_file_process *process,
                           uint64_t handle, uint64_t type, uint32_t name)
{
    static const char *const types[] = {"other", "device", "context", "stream",
                                        "event", "opencl", "other"};
    struct nvt_resource row = {
        .process = process->row,
        .type = nvt_strings_add_text(reader->trace->strings,
                                     types[type <= NVT_RESOURCE_OTHER ? type : 0]),
        .handle = handle,
        .name = name};
    return nvt_resource_add(reader->trace, &row) == NVT_NONE ? -1 : 0;
}

/* The thread may come behind its name. */
static int keep_thread_name(struct nvt_file_reader *reader, uint32_t process, uint64_t tid,
                            uint64_t time, uint32_t name)
{
    struct nvt_file_thread_names *names = &reader->thread_names;
    if (nvt_grow(&names->items, names->count, sizeof(*names->items)))
        return -1;
    names->items[names->count] =
        (struct nvt_file_thread_name){(int64_t)tid, time, names->count, process, name};
    names->count++;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct nvt_file_thread_name *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The last name that a thread was given holds. */
static void name_threads(struct nvt_file_reader *reader)
{
    struct nvt_threads *threads = &reader->trace->threads;
    if (reader->thread_names.count)
        qsort(reader->thread_names.items, reader->thread_names.count,
              sizeof(*reader->thread_names.items), by_time);
    for (size_t k = 0; k < reader->thread_names.count; k++) {
        const struct nvt_file_thread_name *name = &reader->thread_names.items[k];
        for (uint32_t i = 0; i < threads->count; i++)
            if (threads->process[i] == name->process && threads->tid[i] == name->tid)
                threads->name[i] = name->name;
    }
    reader->thread_names.count = 0;
}

static int read_definition(struct nvt_file_reader *reader, struct nvt_file_process *process,
                           struct nvt_cursor *cursor)
{
    uint64_t kind = nvt_cursor_varint(cursor), domain = nvt_cursor_varint(cursor);
    uint64_t id = nvt_cursor_varint(cursor), value = nvt_cursor_varint(cursor);
    uint64_t size = nvt_cursor_varint(cursor);
    const uint8_t *bytes = nvt_cursor_bytes(cursor, size);
    if (!bytes)
        return -1;
    if (kind == NVT_DEFINITION_SCHEMA || kind == NVT_DEFINITION_ENUM)
        return define_schema(reader, process, id, bytes, size, kind == NVT_DEFINITION_ENUM);
    if (kind == NVT_DEFINITION_COUNTER)
        return nvt_file_define_counter(
            reader,
            &(struct nvt_file_counter_key){(uint32_t)(process - reader->processes),
                                           model_domain(process, domain), id},
            (struct nvt_cursor){bytes, bytes + size});
    uint32_t name = nvt_strings_add(reader->trace->strings, (const char *)bytes, (size_t)size);
    if (name == NVT_NO_STRING)
        return -1;
    if (kind == NVT_DEFINITION_DOMAIN)
        return define_domain(reader, process, id, name);
    if (kind == NVT_DEFINITION_FILE)
        return define_file(process, id, name);
    if (kind == NVT_DEFINITION_RESOURCE)
        return define_resource(reader, process, id, value, name);
    if (kind == NVT_DEFINITION_TASK)
        return nvt_file_define_task(reader, value, id, name);
    if (kind == NVT_DEFINITION_THREAD)
        return keep_thread_name(reader, process->row, id, domain << 32 | (uint32_t)value, name);
    if (kind == NVT_DEFINITION_CATEGORY) {
        uint32_t row = model_domain(process, domain);
        return row == NVT_MAP_NONE
                   ? -1
                   : nvt_map_set(&process->categories, (uint64_t)row << 32 | (uint32_t)id, name);
    }
    return 0;
}

static int read_definitions(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                            struct nvt_cursor cursor)
{
    if (chunk->process >= reader->process_count)
        return -1;
    for (uint32_t i = 0; i < chunk->count; i++)
        if (read_definition(reader, &reader->processes[chunk->process], &cursor))
            return -1;
    return 0;
}

static int read_chunk(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                      const uint8_t *payload, struct nvt_error *err)
{
    struct nvt_cursor cursor = {payload, payload + chunk->raw_size};
    int status = 0;
    switch (chunk->kind) {
    case NVT_CHUNK_STRINGS:
        status = nvt_file_strings_read(&reader->strings, chunk, cursor, reader->trace->strings);
        break;
    case NVT_CHUNK_META:
        status = read_facts(reader, chunk, cursor);
        break;
    case NVT_CHUNK_CLOCK:
        status = read_clock(reader, chunk, cursor);
        break;
    case NVT_CHUNK_PROCESS:
        status = read_process(reader, chunk, cursor);
        break;
    case NVT_CHUNK_THREAD:
        status = read_thread(reader, chunk, cursor);
        break;
    case NVT_CHUNK_DEFINITIONS:
        status = read_definitions(reader, chunk, cursor);
        break;
    case NVT_CHUNK_THREAD_END:
        status = read_thread_end(reader, chunk, cursor);
        break;
    case NVT_CHUNK_MACHINE:
        status = nvt_file_read_machine(reader, chunk, cursor);
        break;
    case NVT_CHUNK_OS_CALLS:
        status = nvt_file_read_os(reader, chunk, cursor);
        break;
    case NVT_CHUNK_CPU_SAMPLES:
        status = nvt_file_read_cpu(reader, chunk, cursor);
        break;
    case NVT_CHUNK_PACE:
        status = nvt_file_read_pace(reader, chunk, cursor);
        break;
    case NVT_CHUNK_LOOK:
        status = nvt_file_read_look(reader, chunk, cursor);
        break;
    case NVT_CHUNK_END:
        status = read_end(reader, cursor);
        break;
    case NVT_CHUNK_CUT:
        reader->is_cut = 1;
        reader->cut = chunk->first;
        break;
    default: /* of a later minor version: it says nothing that is needed here */
        break;
    }
    return status ? nvt_fail(err, "a chunk of kind %u is malformed", chunk->kind) : 0;
}

static void free_reader(struct nvt_file_reader *reader)
{
    for (uint32_t i = 0; i < reader->process_count; i++) {
        nvt_map_free(&reader->processes[i].domains);
        nvt_map_free(&reader->processes[i].since);
        nvt_map_free(&reader->processes[i].categories);
        nvt_map_free(&reader->processes[i].ranges);
        nvt_map_free(&reader->processes[i].early);
        free(reader->processes[i].ends);
        nvt_map_free(&reader->processes[i].files);
        nvt_map_free(&reader->processes[i].schemas);
        nvt_map_free(&reader->processes[i].counters);
    }
    for (uint32_t i = 0; i < reader->thread_count; i++) {
        free(reader->threads[i].open);
        free(reader->threads[i].open_call);
    }
    free(reader->waits.items);
    free(reader->events.items);
    free(reader->device_rows.items);
    nvt_strings_free(reader->texts);
    free(reader->processes);
    free(reader->threads);
    nvt_file_strings_free(&reader->strings);
    free(reader->samples);
    free(reader->schemas);
    free(reader->payloads);
    nvt_buffer_free(&reader->blobs);
    nvt_file_counters_free(&reader->counters);
    free(reader->heaps.items);
    nvt_file_machine_free(&reader->machine);
    nvt_file_metrics_free(&reader->metrics);
    nvt_frame_tree_free(&reader->frames);
    free(reader->mpi.items);
    free(reader->collectives.items);
    free(reader->counts.items);
    free(reader->thread_names.items);
    nvt_file_looks_free(&reader->looks);
    nvt_file_tasks_free(&reader->tasks);
    nvt_file_device_free(&reader->devices);
}

static void warn(struct nvt_trace *trace, const struct nvt_error *damage)
{
    struct nvt_error copy = *damage;
    char text[600];
    copy.file[0] = 0;
    nvt_trace_warn_truncated(trace, "%s: what comes before it was read",
                             nvt_error_text(&copy, text, sizeof(text)));
}

/* Keep a chunk of events or device rows for later. Nothing else depends on it, and it depends on
 * nothing behind it. */
static int keep_for_later(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                          int64_t offset)
{
    int is_events = chunk->kind == NVT_CHUNK_EVENTS;
    struct nvt_file_laters *laters = is_events ? &reader->events : &reader->device_rows;
    if (is_events ? chunk->thread >= reader->thread_count : chunk->process >= reader->process_count)
        return -1;
    if (nvt_grow(&laters->items, laters->count, sizeof(*laters->items)))
        return -1;
    laters->items[laters->count++] =
        (struct nvt_file_later){*chunk, offset, reader->number, reader->strings.count};
    laters->rows += chunk->count;
    return 0;
}

/* Whether a chunk is one of those that a file mostly consists of. */
static int is_bulk(const struct nvt_chunk *chunk)
{
    return chunk->kind == NVT_CHUNK_EVENTS || chunk->kind == NVT_CHUNK_DEVICE ||
           chunk->kind == NVT_CHUNK_DEVICE_COLUMNS;
}

/* All chunks up to `limit`, the end, or the first damage; those with events and device rows are
 * left for later. */
static void read_chunks(struct nvt_file_reader *reader, struct nvt_trace_file *file, uint32_t limit,
                        struct nvt_file_damage *damage)
{
    struct nvt_chunk chunk;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    int status = 1;
    for (; reader->number < limit; reader->number++) {
        int64_t offset = nvt_trace_file_offset(file);
        if (reader->most && offset >= reader->most) {
            status = 0;
            break;
        }
        errno = 0;
        status = nvt_trace_file_header(file, &chunk, &damage->err);
        if (status > 0 && is_bulk(&chunk)) {
            if (keep_for_later(reader, &chunk, offset))
                status = nvt_fail(&damage->err, "a chunk of kind %u is malformed", chunk.kind);
        } else if (status > 0 &&
                   (nvt_trace_file_load(file, offset, &chunk, &memory, &payload, &damage->err) ||
                    read_chunk(reader, &chunk, payload, &damage->err)))
            status = -1;
        damage->err.offset = offset;
        if (status <= 0)
            break;
        nvt_trace_file_skip(file, &chunk);
    }
    name_threads(reader);
    damage->no_memory = status < 0 && errno == ENOMEM;
    damage->number = status < 0 ? reader->number : NVT_NONE;
    nvt_chunk_memory_free(&memory);
}

/* Forget what was read. */
static int start_again(struct nvt_file_reader *reader)
{
    struct nvt_trace *fresh = nvt_trace_new(reader->trace->path, reader->trace->format);
    struct nvt_trace *trace = reader->trace;
    if (!fresh)
        return -1;
    fresh->recorder = trace->recorder;
    fresh->tells_mpi_peers = trace->tells_mpi_peers;
    fresh->lacks_page_faults = trace->lacks_page_faults;
    free_reader(reader);
    struct nvt_trace old = *trace;
    *trace = *fresh;
    *fresh = old;
    nvt_trace_free(fresh);
    *reader =
        (struct nvt_file_reader){.trace = trace, .texts = nvt_strings_new(), .most = reader->most};
    return reader->texts ? 0 : -1;
}

/*
 * Everything up to the first damage. What is wrong inside of a chunk of events is known only when
 * what stands behind it has been read: then it is read once more up to there. Returns how many
 * chunks were whole.
 */
static uint32_t read_file(struct nvt_file_reader *reader, struct nvt_trace_file *file,
                          struct nvt_file_damage *damage)
{
    struct nvt_file_damage later;
    read_chunks(reader, file, NVT_NONE, damage);
    nvt_file_read_later(reader, file, &later);
    if (later.number == NVT_NONE)
        return reader->number;
    *damage = later;
    nvt_trace_file_rewind(file);
    if (later.no_memory || start_again(reader)) {
        damage->no_memory = 1;
        return 0;
    }
    struct nvt_file_damage none;
    read_chunks(reader, file, later.number, &none);
    nvt_file_read_later(reader, file, &none);
    return reader->number;
}

static int read_beginning(const char *path, int64_t most, struct nvt_trace *trace,
                          struct nvt_error *err)
{
    struct nvt_file_damage damage = {.err = NVT_ERROR_INIT};
    struct nvt_file_reader reader = {.trace = trace, .texts = nvt_strings_new(), .most = most};
    struct nvt_trace_file *file = nvt_trace_file_open(path, err);
    int status = 0;
    if (!file || !reader.texts) {
        nvt_trace_file_close(file);
        nvt_strings_free(reader.texts);
        return file ? nvt_fail_at(err, path, -1, "out of memory") : -1;
    }
    uint32_t whole = read_file(&reader, file, &damage);
    trace->was_stopped |= !reader.ended && !most;
    trace->goes_on = !reader.ended && nvt_trace_file_is_written(file);
    nvt_trace_file_close(file);
    const char *message = damage.number == NVT_NONE ? "" : damage.err.message;
    if (damage.no_memory)
        status = nvt_fail_at(err, path, damage.err.offset, "out of memory");
    else if (!whole)
        status = nvt_fail_at(err, path, damage.err.offset, "holds no whole chunk%s%s",
                             *message ? ": " : "", message);
    else if (*message)
        warn(trace, &damage.err);
    else if (most)
        nvt_trace_note(trace, "only its beginning was read");
    else if (!reader.ended && trace->goes_on)
        nvt_trace_note(trace, "it is still being recorded: what was written until now was read");
    else if (!reader.ended && nvt_trace_meta(trace, "copy"))
        nvt_trace_note(trace, "a copy of a recording that went on: what was recorded until then");
    else if (!reader.ended)
        nvt_trace_warn_truncated(trace,
                                 "the recording was cut off: what was written until then was read");
    if (!status && nvt_file_complete(&reader))
        status = nvt_fail_at(err, path, -1, "out of memory");
    free_reader(&reader);
    return status;
}

static int read_trace(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_beginning(path, 0, trace, err);
}

/* What is read before events and device rows are. */
static int prepare_lanes(struct nvt_file_reader *reader)
{
    struct nvt_file_lanes *to = reader->lanes;
    struct nvt_lanes *lanes = to->lanes;
    to->threads = calloc((size_t)reader->thread_count + 1, sizeof(*to->threads));
    lanes->ids = calloc((size_t)reader->process_count + 1, sizeof(*lanes->ids));
    if (!to->threads || !lanes->ids)
        return -1;
    lanes->id_count = reader->process_count;
    for (uint32_t i = 0; i < reader->process_count; i++)
        lanes->ids[i].low = UINT32_MAX;
    to->origin = reader->sample_count ? reader->samples[0].monotonic_ns : 0;
    return to->origin < NVT_LANES_TIME && to->origin > -NVT_LANES_TIME ? 0 : -1;
}

/* A file that is whole, and holds nothing that is unusual. */
static int read_lanes(const char *path, struct nvt_trace *trace, struct nvt_lanes *lanes)
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    struct nvt_file_damage damage;
    struct nvt_file_lanes to = {.lanes = lanes};
    struct nvt_file_reader reader = {.trace = trace, .lanes = &to};
    struct nvt_trace_file *file = nvt_trace_file_open(path, &ignored);
    int failed = !file;
    if (!failed) {
        read_chunks(&reader, file, NVT_NONE, &damage);
        failed = damage.number != NVT_NONE || !reader.ended || reader.is_cut ||
                 nvt_trace_meta(trace, "capture") || nvt_trace_meta(trace, "recorded") ||
                 prepare_lanes(&reader);
    }
    if (!failed) {
        nvt_file_read_later(&reader, file, &damage);
        failed = damage.number != NVT_NONE || nvt_file_complete_lanes(&reader);
    }
    nvt_trace_file_close(file);
    nvt_file_lanes_free(&to, reader.thread_count);
    free_reader(&reader);
    return failed ? -1 : 0;
}

const struct nvt_reader nvt_reader_nvt = {.name = "nvt",
                                          .tells_mpi_peers = 1,
                                          .recognizes = recognizes,
                                          .read = read_trace,
                                          .read_beginning = read_beginning,
                                          .read_lanes = read_lanes};
