/*
 * rocpd: the databases that rocprofv3 writes (SQLite; its own format since ROCm 7). Source: rocprofiler-sdk,
 * source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql (schema 3), and source/lib/output/generateRocpd.cpp for what it fills in.
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
#include "nsys.h"
#include "rocm.h"

/* Runs in a file, and characters of the end of their tables' names. */
#define MOST_RUNS 64
#define SUFFIX    80

struct kernel_symbol {
    uint32_t name, short_name, registers, lds;
};

struct event {
    uint64_t correlation;
    uint32_t category, message;
};

struct rocpd {
    struct nvt_nsys nsys; /* its rows and cells; first, as rows are handed to it */
    char suffix[SUFFIX];
    struct nvt_map strings, processes, threads, kernels, agents,
        events,                             /* id -> string, row or item */
        pmcs, dispatches;                   /* of counters -> string; event of a dispatch -> op */
    struct nvt_map sizes, counters, values; /* rocm.h; op << 32 | counter's name -> sample */
    struct kernel_symbol *kernel;
    struct nvt_rocm_agent *agent;
    struct event *event;
    uint32_t kernel_count, agent_count, event_count;
    uint64_t unread[3]; /* rows of scratch memory, counters of no kernel, and samples */
};

static struct rocpd *rocpd_of(struct nvt_nsys *reader)
{
    return (struct rocpd *)(void *)reader;
}

static uint32_t found(const struct nvt_map *map, struct nvt_nsys_table *table, int column)
{
    return nvt_map_get(map, (uint64_t)nvt_nsys_int(table, column, -1));
}

/* The string of an id in a cell; 0: none. */
static uint32_t string_at(const struct rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    const uint32_t id = found(&rocpd->strings, table, column);
    return id == NVT_MAP_NONE ? 0 : id;
}

/* --- what others refer to --- */

enum { ID, TEXT };

static int take_string(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t text = nvt_nsys_text(reader, table, TEXT);
    return text == NVT_NO_STRING ? -1
                                 : nvt_map_set(&rocpd_of(reader)->strings,
                                               (uint64_t)nvt_nsys_int(table, ID, -1), text);
}

enum { PROCESS_PID = 1, PROCESS_PARENT, PROCESS_COMMAND };

static int take_process(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct nvt_process process = {.pid = nvt_nsys_int(table, PROCESS_PID, -1),
                                        .parent_pid = nvt_nsys_int(table, PROCESS_PARENT, -1),
                                        .name = nvt_nsys_text(reader, table, PROCESS_COMMAND),
                                        .rank = NVT_NONE};
    const uint32_t row =
        process.name == NVT_NO_STRING ? NVT_NONE : nvt_process_add(reader->trace, &process);
    return row == NVT_NONE ? -1
                           : nvt_map_set(&rocpd_of(reader)->processes,
                                         (uint64_t)nvt_nsys_int(table, ID, -1), row);
}

enum { THREAD_PROCESS = 1, THREAD_TID, THREAD_NAME };

static int take_thread(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct rocpd *rocpd = rocpd_of(reader);
    const uint32_t process = found(&rocpd->processes, table, THREAD_PROCESS);
    if (process == NVT_MAP_NONE)
        return 0;
    const struct nvt_thread thread = {.process = process,
                                      .tid = nvt_nsys_int(table, THREAD_TID, -1),
                                      .name = nvt_nsys_text(reader, table, THREAD_NAME)};
    const uint32_t row =
        thread.name == NVT_NO_STRING ? NVT_NONE : nvt_thread_add(reader->trace, &thread);
    return row == NVT_NONE
               ? -1
               : nvt_map_set(&rocpd->threads, (uint64_t)nvt_nsys_int(table, ID, -1), row);
}

enum { AGENT_TYPE = 1, AGENT_INDEX, AGENT_PRODUCT, AGENT_NAME, AGENT_PROCESS };

static int take_agent(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct rocpd *rocpd = rocpd_of(reader);
    const char *type = nvt_nsys_plain_text(table, AGENT_TYPE);
    const int is_gpu = type && !strcmp(type, "GPU");
    const uint32_t process = found(&rocpd->processes, table, AGENT_PROCESS);
    struct nvt_rocm_agent *agent =
        nvt_map_item(&rocpd->agents, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->agent,
                     &rocpd->agent_count, sizeof(*rocpd->agent));
    if (!agent)
        return -1;
    *agent = (struct nvt_rocm_agent){nvt_nsys_u32(table, AGENT_INDEX, 0), (uint32_t)is_gpu};
    if (!is_gpu)
        return 0;
    const uint32_t product = nvt_nsys_text(reader, table, AGENT_PRODUCT);
    const uint32_t name = nvt_nsys_text(reader, table, AGENT_NAME);
    const struct nvt_device device = {.process = process == NVT_MAP_NONE ? NVT_NONE : process,
                                      .device = agent->device,
                                      .name = product ? product : name};
    return product == NVT_NO_STRING || name == NVT_NO_STRING ||
                   nvt_device_add(reader->trace, &device) == NVT_NONE
               ? -1
               : 0;
}

enum { SYMBOL_DISPLAY = 1, SYMBOL_NAME, SYMBOL_REGISTERS, SYMBOL_LDS };

static int take_symbol(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct rocpd *rocpd = rocpd_of(reader);
    const uint32_t display = nvt_nsys_text(reader, table, SYMBOL_DISPLAY);
    const uint32_t mangled = nvt_nsys_text(reader, table, SYMBOL_NAME);
    struct kernel_symbol *kernel =
        nvt_map_item(&rocpd->kernels, (uint64_t)nvt_nsys_int(table, ID, -1), &rocpd->kernel,
                     &rocpd->kernel_count, sizeof(*rocpd->kernel));
    if (!kernel || display == NVT_NO_STRING || mangled == NVT_NO_STRING)
        return -1;
    kernel->name = display ? display : mangled;
    kernel->short_name = nvt_rocm_short_name(reader->trace, kernel->name);
    kernel->registers = nvt_nsys_u32(table, SYMBOL_REGISTERS, 0);
    kernel->lds = nvt_nsys_u32(table, SYMBOL_LDS, 0);
    return kernel->short_name == NVT_NO_STRING ? -1 : 0;
}

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
    struct rocpd *rocpd = rocpd_of(reader);
    struct event *event = nvt_map_item(&rocpd->events, (uint64_t)nvt_nsys_int(table, ID, -1),
                                       &rocpd->event, &rocpd->event_count, sizeof(*rocpd->event));
    if (!event)
        return -1;
    event->category = string_at(rocpd, table, EVENT_CATEGORY);
    event->correlation = (uint64_t)nvt_nsys_int(table, EVENT_STACK, 0);
    event->message = message_of(reader, nvt_nsys_plain_text(table, EVENT_EXTRA));
    return event->message == NVT_NO_STRING ? -1 : 0;
}

static struct event event_at(const struct rocpd *rocpd, struct nvt_nsys_table *table, int column)
{
    static const struct event none;
    const uint32_t at = found(&rocpd->events, table, column);
    return at == NVT_MAP_NONE ? none : rocpd->event[at];
}

enum { REGION_START, REGION_END, REGION_THREAD, REGION_NAME, REGION_EVENT };

static int take_region(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct rocpd *rocpd = rocpd_of(reader);
    struct nvt_trace *trace = reader->trace;
    const struct event event = event_at(rocpd, table, REGION_EVENT);
    const char *category = nvt_name(trace, event.category);
    struct nvt_api call = {.start = nvt_nsys_time(table, REGION_START),
                           .end = nvt_nsys_time(table, REGION_END),
                           .thread = found(&rocpd->threads, table, REGION_THREAD),
                           .correlation = event.correlation,
                           .name = string_at(rocpd, table, REGION_NAME)};
    if (call.thread == NVT_MAP_NONE)
        return 0;
    if (nvt_nsys_is_untimed(call.start, call.end))
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
static int take_op(const struct rocpd *rocpd, struct nvt_nsys_table *table, struct nvt_op *op)
{
    const uint32_t process = found(&rocpd->processes, table, OP_PROCESS);
    const uint32_t thread = found(&rocpd->threads, table, OP_THREAD);
    *op = (struct nvt_op){.start = nvt_nsys_time(table, OP_START),
                          .end = nvt_nsys_time(table, OP_END),
                          .process = process == NVT_MAP_NONE ? 0 : process,
                          .stream = nvt_nsys_u32(table, OP_STREAM, 0),
                          .correlation = event_at(rocpd, table, OP_EVENT).correlation,
                          .thread = thread == NVT_MAP_NONE ? NVT_NONE : thread,
                          .launch = INT64_MIN,
                          .detail = NVT_NONE};
    return nvt_nsys_is_untimed(op->start, op->end);
}

static const struct nvt_rocm_agent *agent_at(const struct rocpd *rocpd,
                                             struct nvt_nsys_table *table, int column)
{
    const uint32_t at = found(&rocpd->agents, table, column);
    return at == NVT_MAP_NONE ? NULL : &rocpd->agent[at];
}

static int take_dispatch(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct rocpd *rocpd = rocpd_of(reader);
    const uint32_t symbol = found(&rocpd->kernels, table, DISPATCH_KERNEL);
    const struct kernel_symbol *kernel = symbol == NVT_MAP_NONE ? NULL : &rocpd->kernel[symbol];
    const struct nvt_rocm_agent *agent = agent_at(rocpd, table, DISPATCH_AGENT);
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
    op.device = agent ? agent->device : 0;
    op.name = kernel ? kernel->name : 0;
    op.short_name = kernel ? kernel->short_name : 0;
    op.detail = nvt_trace_kernel(reader->trace, &shape);
    const uint32_t row = op.detail == NVT_NONE ? NVT_NONE : nvt_op_add(reader->trace, &op);
    return row == NVT_NONE ? -1
                           : nvt_map_set(&rocpd_of(reader)->dispatches,
                                         (uint64_t)nvt_nsys_int(table, OP_EVENT, -1), row);
}

static int take_copy(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const struct rocpd *rocpd = rocpd_of(reader);
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
    struct rocpd *rocpd = rocpd_of(reader);
    const uint32_t process = found(&rocpd->processes, table, M_PROCESS);
    const uint32_t thread = found(&rocpd->threads, table, M_THREAD);
    const char *level = nvt_nsys_plain_text(table, M_LEVEL);
    if (level && !strcmp(level, "SCRATCH")) {
        rocpd->unread[0]++;
        return 0;
    }
    const char *type = nvt_nsys_plain_text(table, M_TYPE);
    struct nvt_memory_event event = {.time = nvt_nsys_time(table, M_END),
                                     .process = process == NVT_MAP_NONE ? 0 : process,
                                     .thread = thread == NVT_MAP_NONE ? NVT_NONE : thread,
                                     .address = (uint64_t)nvt_nsys_int(table, M_ADDRESS, 0),
                                     .bytes = nvt_nsys_size(table, M_SIZE),
                                     .source = nvt_strings_add_text(reader->trace->strings, "HSA"),
                                     .kind = type && !strcmp(type, "FREE") ? NVT_MEMORY_FREE
                                                                           : NVT_MEMORY_ALLOC};
    if (nvt_nsys_is_untimed(nvt_nsys_time(table, M_START), event.time))
        return 1;
    return event.source == NVT_NO_STRING ? -1
                                         : nvt_rocm_add_memory(reader->trace, &rocpd->sizes, &event,
                                                               agent_at(rocpd, table, M_AGENT));
}

static int take_pmc(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t name = nvt_nsys_text(reader, table, TEXT);
    return name == NVT_NO_STRING
               ? -1
               : nvt_map_set(&rocpd_of(reader)->pmcs, (uint64_t)nvt_nsys_int(table, ID, -1), name);
}

enum { VALUE_EVENT, VALUE_PMC, VALUE };

/* A counter has a row for each of its instances, as shader engines are: their sum is the kernel's. */
static int take_value(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct rocpd *rocpd = rocpd_of(reader);
    struct nvt_trace *trace = reader->trace;
    const uint32_t row = found(&rocpd->dispatches, table, VALUE_EVENT);
    const uint32_t name = found(&rocpd->pmcs, table, VALUE_PMC);
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
    rocpd_of(reader)->unread[2]++;
    return 0;
}

/* --- the file --- */

/* In their order: what others refer to comes first. */
static const struct nvt_nsys_spec specs[] = {
    {"rocpd_string", NULL, 2, {"id", "string"}, take_string},
    {"rocpd_info_process", NULL, 2, {"id", "pid", "ppid", "command"}, take_process},
    {"rocpd_info_thread", NULL, 3, {"id", "pid", "tid", "name"}, take_thread},
    {"rocpd_info_agent",
     NULL,
     2,
     {"id", "type", "type_index", "product_name", "name", "pid"},
     take_agent},
    {"rocpd_info_kernel_symbol",
     NULL,
     1,
     {"id", "display_name", "kernel_name", "arch_vgpr_count", "group_segment_size"},
     take_symbol},
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

static void forget(struct rocpd *rocpd)
{
    struct nvt_map *const maps[] = {&rocpd->strings,  &rocpd->processes,  &rocpd->threads,
                                    &rocpd->kernels,  &rocpd->agents,     &rocpd->events,
                                    &rocpd->pmcs,     &rocpd->dispatches, &rocpd->sizes,
                                    &rocpd->counters, &rocpd->values};
    for (size_t i = 0; i < NVT_COUNT_OF(maps); i++)
        nvt_map_free(maps[i]);
    free(rocpd->kernel);
    free(rocpd->agent);
    free(rocpd->event);
    rocpd->kernel = NULL;
    rocpd->agent = NULL;
    rocpd->event = NULL;
    rocpd->kernel_count = rocpd->agent_count = rocpd->event_count = 0;
}

static int read_run(struct rocpd *rocpd, const char *suffix)
{
    char name[SUFFIX + 40];
    int status = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(specs) && !status; i++) {
        struct nvt_nsys_spec spec = specs[i];
        snprintf(name, sizeof(name), "%.38s%.79s", spec.name, suffix);
        spec.name = name;
        status = nvt_nsys_read(&rocpd->nsys, &spec);
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
static int find_runs(struct rocpd *rocpd, char suffixes[MOST_RUNS][SUFFIX])
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
        if (suffix && strlen(suffix) < SUFFIX &&
            !suffix[strspn(suffix,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
            snprintf(suffixes[count++], SUFFIX, "%s", suffix);
    }
    sqlite3_finalize(statement);
    return step == SQLITE_DONE || step == SQLITE_ROW
               ? count
               : nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, "cannot be read: %s",
                             sqlite3_errmsg(rocpd->nsys.db));
}

static int finish(const struct rocpd *rocpd)
{
    static const char *const what[] = {"scratch memory is not read",
                                       "values of counters without a kernel are not read",
                                       "samples are not read"};
    struct nvt_trace *trace = rocpd->nsys.trace;
    for (size_t i = 0; i < NVT_COUNT_OF(what); i++)
        if (rocpd->unread[i])
            nvt_trace_note(trace, "%s (%llu)", what[i], (unsigned long long)rocpd->unread[i]);
    if (rocpd->nsys.untimed)
        nvt_trace_note(trace, NVT_UNTIMED_NOTE, (unsigned long long)rocpd->nsys.untimed);
    return nvt_rocm_finish(trace)
               ? nvt_fail_at(rocpd->nsys.err, rocpd->nsys.path, -1, "out of memory")
               : 0;
}

/* Files of later programs have a table of times that regions refer to. */
static int has_times(const struct rocpd *rocpd, const char *suffix)
{
    char sql[SUFFIX + 64];
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof(sql), "SELECT [start] FROM rocpd_region%.79s LIMIT 0", suffix);
    const int has = sqlite3_prepare_v2(rocpd->nsys.db, sql, -1, &statement, NULL) == SQLITE_OK;
    sqlite3_finalize(statement);
    return has;
}

static int read_runs(struct rocpd *rocpd)
{
    static _Thread_local char suffixes[MOST_RUNS][SUFFIX];
    if (nvt_nsys_open(&rocpd->nsys))
        return -1;
    const int count = find_runs(rocpd, suffixes);
    for (int i = 0; i < count; i++) {
        if (!has_times(rocpd, suffixes[i]))
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
    struct rocpd *rocpd = calloc(1, sizeof(*rocpd));
    if (!rocpd)
        return nvt_fail_at(err, path, -1, "out of memory");
    rocpd->nsys = (struct nvt_nsys){.trace = trace, .path = path, .err = &own};
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
