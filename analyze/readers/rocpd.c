/*
 * rocpd: the databases that rocprofv3 writes (SQLite; its own format since ROCm 7). Source: rocprofiler-sdk,
 * source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql (schema 3) and its successor (4), and source/lib/output/generateRocpd.cpp for what it fills in.
 *
 * Tables have the id of their run behind their names; a merged file has several sets, and the views over them are not read
 * (docs/untrusted.md). Regions are calls of HIP, HSA and libraries, by the category of their event, and ROCTx's ranges, whose text is in
 * the event. stack_id is the correlation id: of a call and of what it launched. GPUs are numbered as HIP does, from 0 (type_index).
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* Where its tables are listed depends on its pages: the reader of nsys's exports looks, and hands it over. */
static int recognizes(const uint8_t *head, size_t size)
{
    (void)head;
    (void)size;
    return 0;
}

#ifdef HAVE_SQLITE
#include <math.h>
#include <stdio.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"
#include "../model/payload.h"
#include "rocpd.h"

/* Runs in a file. */
#define MOST_RUNS 64

enum { ID, TEXT };

/* --- events --- */

/* The text of "message" in a JSON object; 0: there is none. */
static uint32_t message_of(struct nvt_nsys *reader, const char *json)
{
    static const char key[] = "\"message\"";
    const char *from = json ? strstr(json, key) : NULL;
    if (!from)
        return 0;
    const size_t size = strlen(from);
    char *text = malloc(size);
    const uint32_t id =
        text ? nvt_strings_add_text(reader->trace->strings, nvt_member_text(from, key, text, size))
             : NVT_NO_STRING;
    free(text);
    return id;
}

enum { EVENT_CATEGORY = 1, EVENT_STACK, EVENT_EXTRA };

static int take_event(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    struct nvt_rocpd_event *event =
        nvt_map_item(&rocpd->events, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->event,
                     &rocpd->event_count, sizeof(*rocpd->event));
    if (!event)
        return -1;
    event->category = nvt_rocpd_string(rocpd->has_tracks ? &rocpd->categories : &rocpd->strings,
                                       table, EVENT_CATEGORY);
    event->correlation = (uint64_t)nvt_nsys_int(table, EVENT_STACK, 0);
    event->message = message_of(reader, nvt_nsys_plain_text(table, EVENT_EXTRA));
    return event->message == NVT_NO_STRING ? -1 : 0;
}

static struct nvt_rocpd_event event_at(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table,
                                       int column)
{
    static const struct nvt_rocpd_event none;
    const uint32_t at = nvt_rocpd_found(&rocpd->events, table, column);
    return at == NVT_MAP_NONE ? none : rocpd->event[at];
}

enum { REGION_START, REGION_END, REGION_THREAD, REGION_NAME, REGION_EVENT };

static int take_region(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    struct nvt_trace *trace = reader->trace;
    const struct nvt_rocpd_event event = event_at(rocpd, table, REGION_EVENT);
    const char *category = nvt_name(trace, event.category);
    struct nvt_api call = {.thread = nvt_rocpd_thread(rocpd, table, REGION_THREAD),
                           .correlation = event.correlation,
                           .name = nvt_rocpd_string(&rocpd->strings, table, REGION_NAME)};
    if (call.thread == NVT_MAP_NONE)
        return 0;
    if (nvt_rocpd_times(rocpd, table, REGION_START, &call.start, &call.end))
        return 1;
    return nvt_rocm_add_call(trace, &call, category, event.message);
}

/* --- operations --- */

enum { OP_START, OP_END, OP_PROCESS, OP_THREAD, OP_STREAM, OP_EVENT, OP_MORE };
enum {
    DISPATCH_AGENT = OP_MORE,
    DISPATCH_KERNEL,
    DISPATCH_LDS,
    DISPATCH_GROUP,
    DISPATCH_GRID = DISPATCH_GROUP + 3
};
enum { COPY_NAME = OP_MORE, COPY_SIZE, COPY_TARGET, COPY_SOURCE };

/* What kernels and copies have alike. 0, or 1: it has no times. */
static int take_op(const struct nvt_rocpd *rocpd, struct nvt_nsys_table *table, struct nvt_op *op)
{
    const uint32_t process = nvt_rocpd_process(rocpd, table, OP_PROCESS);
    const uint32_t thread = nvt_rocpd_thread(rocpd, table, OP_THREAD);
    *op = (struct nvt_op){.process = process == NVT_MAP_NONE ? 0 : process,
                          .stream = nvt_rocpd_stream(rocpd, table, OP_STREAM),
                          .correlation = event_at(rocpd, table, OP_EVENT).correlation,
                          .thread = thread == NVT_MAP_NONE ? NVT_NONE : thread,
                          .launch = INT64_MIN,
                          .detail = NVT_NONE};
    return nvt_rocpd_times(rocpd, table, OP_START, &op->start, &op->end);
}

static const struct nvt_rocm_agent *agent_at(const struct nvt_rocpd *rocpd,
                                             struct nvt_nsys_table *table, int column)
{
    const uint32_t at = nvt_rocpd_found(&rocpd->agents, table, column);
    return at == NVT_MAP_NONE ? NULL : &rocpd->agent[at];
}

static int take_dispatch(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    const uint32_t symbol = nvt_rocpd_found(&rocpd->kernels, table, DISPATCH_KERNEL);
    const struct nvt_rocpd_kernel *kernel = symbol == NVT_MAP_NONE ? NULL : &rocpd->kernel[symbol];
    const uint32_t at = nvt_rocpd_agent(rocpd, table, DISPATCH_AGENT);
    uint32_t group[3], grid[3];
    struct nvt_op op;
    if (take_op(rocpd, table, &op))
        return 1;
    for (int i = 0; i < 3; i++) {
        group[i] = nvt_nsys_u32(table, DISPATCH_GROUP + i, 0);
        grid[i] = nvt_rocm_blocks(nvt_nsys_u32(table, DISPATCH_GRID + i, 0), group[i]);
    }
    const struct nvt_kernel shape = {
        .grid_x = grid[0],
        .grid_y = grid[1],
        .grid_z = grid[2],
        .block_x = group[0],
        .block_y = group[1],
        .block_z = group[2],
        .registers = kernel ? kernel->registers : 0,
        .static_shared = nvt_nsys_u32(table, DISPATCH_LDS, kernel ? kernel->lds : 0)};
    op.kind = NVT_OP_KERNEL;
    op.device = at == NVT_MAP_NONE ? 0 : rocpd->agent[at].device;
    op.name = kernel ? kernel->name : 0;
    op.short_name = kernel ? kernel->short_name : 0;
    op.detail = nvt_trace_kernel(reader->trace, &shape);
    const uint32_t row = op.detail == NVT_NONE ? NVT_NONE : nvt_op_add(reader->trace, &op);
    return row == NVT_NONE ? -1
                           : nvt_map_set(&nvt_rocpd_of(reader)->dispatches,
                                         (uint64_t)nvt_nsys_int(table, OP_EVENT, -1), row);
}

static int take_copy(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    struct nvt_op op;
    if (take_op(rocpd, table, &op))
        return 1;
    op.bytes = nvt_nsys_size(table, COPY_SIZE);
    return nvt_rocm_add_copy(reader->trace, &op, agent_at(rocpd, table, COPY_SOURCE),
                             agent_at(rocpd, table, COPY_TARGET));
}

/* --- memory and counters --- */

enum { M_START, M_END, M_PROCESS, M_THREAD, M_AGENT, M_TYPE, M_LEVEL, M_ADDRESS, M_SIZE };

static int take_memory(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    const uint32_t process = nvt_rocpd_process(rocpd, table, M_PROCESS);
    const uint32_t thread = nvt_rocpd_thread(rocpd, table, M_THREAD);
    const uint32_t agent = nvt_rocpd_agent(rocpd, table, M_AGENT);
    int64_t start;
    const char *level = nvt_nsys_plain_text(table, M_LEVEL);
    if (level && !strcmp(level, "SCRATCH")) {
        rocpd->unread[0]++;
        return 0;
    }
    const char *type = nvt_nsys_plain_text(table, M_TYPE);
    struct nvt_memory_event event = {.process = process == NVT_MAP_NONE ? 0 : process,
                                     .thread = thread == NVT_MAP_NONE ? NVT_NONE : thread,
                                     .address = (uint64_t)nvt_nsys_int(table, M_ADDRESS, 0),
                                     .bytes = nvt_nsys_size(table, M_SIZE),
                                     .source = nvt_strings_add_text(reader->trace->strings, "HSA"),
                                     .kind = type && !strcmp(type, "FREE") ? NVT_MEMORY_FREE
                                                                           : NVT_MEMORY_ALLOC};
    if (nvt_rocpd_times(rocpd, table, M_START, &start, &event.time))
        return 1;
    return event.source == NVT_NO_STRING
               ? -1
               : nvt_rocm_add_memory(reader->trace, &rocpd->sizes, &event,
                                     agent == NVT_MAP_NONE ? NULL : &rocpd->agent[agent]);
}

static int take_pmc(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t name = nvt_nsys_text(reader, table, TEXT);
    return name == NVT_NO_STRING ? -1
                                 : nvt_map_set(&nvt_rocpd_of(reader)->pmcs,
                                               (uint64_t)nvt_nsys_int(table, ID, -1), name);
}

enum { VALUE_EVENT, VALUE_PMC, VALUE };

/* A counter has a row for each of its instances, as shader engines are: their sum is the kernel's. */
static int take_value(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_rocpd *rocpd = nvt_rocpd_of(reader);
    struct nvt_trace *trace = reader->trace;
    const uint32_t row = nvt_rocpd_found(&rocpd->dispatches, table, VALUE_EVENT);
    const uint32_t name = nvt_rocpd_found(&rocpd->pmcs, table, VALUE_PMC);
    int64_t whole;
    double value = 0;
    nvt_nsys_number(table, VALUE, &whole, &value);
    if (row == NVT_MAP_NONE || name == NVT_MAP_NONE) {
        rocpd->unread[1]++;
        return 0;
    }
    uint32_t *sample = nvt_map_at(&rocpd->values, (uint64_t)row << 32 | name);
    if (!sample)
        return -1;
    if (*sample != NVT_MAP_NONE) {
        const double sum = trace->counter_samples.value[*sample] + value;
        trace->counter_samples.value[*sample] =
            isfinite(sum) ? sum : trace->counter_samples.value[*sample];
        return 0;
    }
    const struct nvt_op op = {.process = trace->ops.process[row],
                              .device = trace->ops.device[row],
                              .end = trace->ops.end[row],
                              .thread = trace->ops.thread[row]};
    if (isfinite(value))
        *sample = trace->counter_samples.count;
    return nvt_rocm_add_value(trace, &rocpd->counters, &op, name, value);
}

/* --- what is not read --- */

static int count_samples(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    (void)table;
    nvt_rocpd_of(reader)->unread[2]++;
    return 0;
}

/* --- the file --- */

/* In their order: operations come before their counters. */
static const struct nvt_nsys_spec specs[] = {
    {"rocpd_event", NULL, 1, {"id", "category_id", "stack_id", "extdata"}, take_event},
    {"rocpd_region", NULL, 4, {"start", "end", "tid", "name_id", "event_id"}, take_region},
    {"rocpd_kernel_dispatch",
     NULL,
     2,
     {"start", "end", "pid", "tid", "stream_id", "event_id", "agent_id", "kernel_id",
      "group_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z",
      "grid_size_x", "grid_size_y", "grid_size_z"},
     take_dispatch},
    {"rocpd_memory_copy",
     NULL,
     2,
     {"start", "end", "pid", "tid", "stream_id", "event_id", "name_id", "size", "dst_agent_id",
      "src_agent_id"},
     take_copy},
    {"rocpd_memory_allocate",
     NULL,
     2,
     {"start", "end", "pid", "tid", "agent_id", "type", "level", "address", "size"},
     take_memory},
    {"rocpd_info_pmc", NULL, 2, {"id", "name"}, take_pmc},
    {"rocpd_pmc_event", NULL, 3, {"event_id", "pmc_id", "value"}, take_value},
    {"rocpd_sample", NULL, 1, {"id"}, count_samples},
};

/* The same columns in schema 4, of tables that have times. */
static const struct {
    const char *column, *newer;
} newer[] = {{"start", "start_id"}, {"end", "end_id"},        {"pid", "track_id"},
             {"tid", "track_id"},   {"agent_id", "track_id"}, {"stream_id", "track_id"}};

static struct nvt_nsys_spec of_tracks(const struct nvt_nsys_spec *spec)
{
    struct nvt_nsys_spec copy = *spec;
    for (size_t i = 0; !strcmp(spec->columns[0], "start") && spec->columns[i]; i++)
        for (size_t k = 0; k < NVT_COUNT_OF(newer); k++)
            if (!strcmp(spec->columns[i], newer[k].column))
                copy.columns[i] = newer[k].newer;
    return copy;
}

static void forget(struct nvt_rocpd *rocpd)
{
    struct nvt_map *const maps[] = {
        &rocpd->strings, &rocpd->processes,  &rocpd->threads,    &rocpd->kernels, &rocpd->agents,
        &rocpd->events,  &rocpd->pmcs,       &rocpd->dispatches, &rocpd->sizes,   &rocpd->counters,
        &rocpd->values,  &rocpd->categories, &rocpd->tracks,     &rocpd->times};
    for (size_t i = 0; i < NVT_COUNT_OF(maps); i++)
        nvt_map_free(maps[i]);
    free(rocpd->kernel);
    free(rocpd->agent);
    free(rocpd->event);
    free(rocpd->track);
    free(rocpd->time);
    rocpd->kernel = NULL;
    rocpd->agent = NULL;
    rocpd->event = NULL;
    rocpd->track = NULL;
    rocpd->time = NULL;
    rocpd->kernel_count = rocpd->agent_count = rocpd->event_count = 0;
    rocpd->track_count = rocpd->time_count = 0;
}

static int read_run(struct nvt_rocpd *rocpd, const char *suffix)
{
    int status = nvt_rocpd_read_known(rocpd, suffix);
    for (size_t i = 0; i < NVT_COUNT_OF(specs) && !status; i++) {
        const struct nvt_nsys_spec spec = rocpd->has_tracks ? of_tracks(&specs[i]) : specs[i];
        status = nvt_rocpd_read_table(rocpd, &spec, suffix);
    }
    forget(rocpd);
    return status;
}

int nvt_rocpd_holds(struct nvt_nsys *reader)
{
    static const char sql[] =
        "SELECT 1 FROM sqlite_master AS r JOIN sqlite_master AS i WHERE r.type = 'table' AND"
        " r.name GLOB 'rocpd_region*' AND i.type = 'table' AND i.name GLOB 'rocpd_info_process*'";
    sqlite3_stmt *statement = NULL;
    const int holds = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                      sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return holds;
}

/* The ends of the names of a run's tables: letters, digits and underscores alone. How many there are, -1 with err filled. */
static int find_runs(struct nvt_rocpd *rocpd, char suffixes[MOST_RUNS][NVT_ROCPD_SUFFIX])
{
    static const char sql[] = "SELECT substr(name, 13) FROM sqlite_master WHERE type = 'table' AND"
                              " name GLOB 'rocpd_region*' AND rootpage > 0";
    sqlite3_stmt *statement = NULL;
    int count = 0, step = SQLITE_DONE;
    if (sqlite3_prepare_v2(rocpd->nsys.db, sql, -1, &statement, NULL) != SQLITE_OK)
        return nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, "cannot be read: %s",
                           sqlite3_errmsg(rocpd->nsys.db));
    while (count < MOST_RUNS && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *suffix = (const char *)sqlite3_column_text(statement, 0);
        if (suffix && strlen(suffix) < NVT_ROCPD_SUFFIX &&
            !suffix[strspn(suffix,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
            snprintf(suffixes[count++], NVT_ROCPD_SUFFIX, "%s", suffix);
    }
    sqlite3_finalize(statement);
    return step == SQLITE_DONE || step == SQLITE_ROW
               ? count
               : nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, "cannot be read: %s",
                             sqlite3_errmsg(rocpd->nsys.db));
}

static int finish(const struct nvt_rocpd *rocpd)
{
    static const char *const what[] = {"scratch memory is not read",
                                       "values of counters without a kernel are not read",
                                       "samples are not read"};
    struct nvt_trace *trace = rocpd->nsys.trace;
    for (size_t i = 0; i < NVT_COUNT_OF(what); i++)
        if (rocpd->unread[i])
            nvt_trace_note(trace, "%s (%llu)", what[i], (unsigned long long)rocpd->unread[i]);
    if (rocpd->nsys.odd)
        nvt_trace_note(
            trace, "rows with values of the wrong kind are left out, or read without those (%llu)",
            (unsigned long long)rocpd->nsys.odd);
    if (rocpd->nsys.untimed)
        nvt_trace_note(trace, NVT_UNTIMED_NOTE, (unsigned long long)rocpd->nsys.untimed);
    return nvt_rocm_finish(trace)
               ? nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, "out of memory")
               : 0;
}

/* Whether the regions of a run have a column: a time of their own (schema 3), or that of another table (schema 4). */
static int has_column(const struct nvt_rocpd *rocpd, const char *suffix, const char *column)
{
    char sql[NVT_ROCPD_SUFFIX + 64];
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof(sql), "SELECT [%.10s] FROM rocpd_region%.79s LIMIT 0", column, suffix);
    const int has = sqlite3_prepare_v2(rocpd->nsys.db, sql, -1, &statement, NULL) == SQLITE_OK;
    sqlite3_finalize(statement);
    return has;
}

static int read_runs(struct nvt_rocpd *rocpd)
{
    static _Thread_local char suffixes[MOST_RUNS][NVT_ROCPD_SUFFIX];
    if (nvt_nsys_open(&rocpd->nsys))
        return -1;
    const int count = find_runs(rocpd, suffixes);
    for (int i = 0; i < count; i++) {
        const int has_times = has_column(rocpd, suffixes[i], "start");
        rocpd->has_tracks = !has_times && has_column(rocpd, suffixes[i], "start_id");
        if (!has_times && !rocpd->has_tracks)
            return nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, NVT_ROCPD_REFUSED);
        if (read_run(rocpd, suffixes[i]))
            return -1;
    }
    const struct nvt_trace *trace = rocpd->nsys.trace;
    if (count >= 0 && !trace->processes.count)
        return nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, NVT_ROCPD_REFUSED);
    return count < 0 ? -1 : finish(rocpd);
}

static int read_rocpd(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_error own = NVT_ERROR_INIT;
    struct nvt_rocpd *rocpd = calloc(1, sizeof(*rocpd));
    if (!rocpd)
        return nvt_fail_at(err, path, -1, "out of memory");
    rocpd->nsys = (struct nvt_nsys){.trace = trace, .path = path, .err = &own, .forgives = 1};
    const int status = read_runs(rocpd);
    forget(rocpd);
    nvt_nsys_close(&rocpd->nsys);
    free(rocpd);
    if (status && err)
        *err = own;
    return status;
}
#else
static int read_rocpd(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return nvt_reader_nsys.read(path, trace, err);
}
#endif

const struct nvt_reader nvt_reader_rocpd = {
    .name = "rocpd", .recorder = NVT_BY_OTHERS, .recognizes = recognizes, .read = read_rocpd};
