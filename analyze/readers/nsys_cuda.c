#ifdef HAVE_SQLITE
#include "nsys_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/cuda_names.h"
#include "../model/interchange.h"

/* ENUM_CUDA_MEM_KIND to CUpti_ActivityMemoryKind: nsys counts from pageable, CUPTI from unknown. */
static uint8_t memory_kind(int64_t kind)
{
    return kind >= 0 && kind < NVT_KINDS - 1 ? (uint8_t)(kind + 1) : NVT_KIND_UNKNOWN;
}

/* 32 bits, which some versions write with their sign; exports of ours may have more. */
static uint64_t correlation(struct nvt_nsys_table *table, int column)
{
    int64_t value = nvt_nsys_int(table, column, 0);
    return value < 0 ? (uint32_t)value : (uint64_t)value;
}

/* nsys appends the version of the entry point, cudaLaunchKernel_v7000; its reports leave it out. */
static uint32_t without_version(struct nvt_nsys *reader, uint32_t name)
{
    size_t length;
    const char *text = nvt_strings_get(reader->trace->strings, name, &length);
    size_t end = nvt_call_name_length(text, length);
    return end == length ? name : nvt_strings_add(reader->trace->strings, text, end);
}

/* --- API calls --- */

enum { API_START, API_END, API_NAME, API_TID, API_CORRELATION, API_RESULT, API_CLASS, API_CHAIN };

#define API_COLUMN_NAMES                                                                           \
    {                                                                                              \
        "start", "end", "nameId", "globalTid", "correlationId", "returnValue", "eventClass",       \
            "callchainId"                                                                          \
    }

static uint64_t launch_key(uint32_t process, uint64_t correlation)
{
    return (uint64_t)process << 48 ^ correlation;
}

/* A launch that our own export made a call of (export.h). */
static int add_launch(struct nvt_nsys *reader, const struct nvt_api *call)
{
    uint32_t count = reader->launch_count;
    uint32_t process = reader->trace->threads.process[call->thread];
    if (nvt_grow(&reader->launches, count, sizeof(*reader->launches)))
        return -1;
    reader->launches[count].time = call->start;
    reader->launches[count].thread = call->thread;
    return nvt_map_set(&reader->launched, launch_key(process, call->correlation),
                       reader->launch_count++);
}

static int add_api(struct nvt_nsys *reader, struct nvt_nsys_table *table, uint8_t class)
{
    struct nvt_api api = {.start = nvt_nsys_time(table, API_START),
                          .end = nvt_nsys_time(table, API_END),
                          .thread = nvt_nsys_thread(reader, table, API_TID),
                          .name = nvt_nsys_name(reader, table, API_NAME),
                          .result = (int32_t)nvt_nsys_u32(table, API_RESULT, 0),
                          .class = class};
    if (class != NVT_API_LIBRARY) {
        api.correlation = correlation(table, API_CORRELATION);
        api.name = without_version(reader, api.name);
    }
    if (api.thread == NVT_NONE || api.name == NVT_NO_STRING)
        return -1;
    if (nvt_nsys_is_untimed(api.start, api.end))
        return 1;
    struct nvt_threads *threads = &reader->trace->threads;
    if (api.end > threads->last_ns[api.thread])
        threads->last_ns[api.thread] = api.end;
    if (!strcmp(nvt_name(reader->trace, api.name), NVT_EXPORT_LAUNCH))
        return add_launch(reader, &api);
    uint32_t row = nvt_api_add(reader->trace, &api);
    int64_t chain = class == NVT_API_LIBRARY ? 0 : nvt_nsys_int(table, API_CHAIN, 0);
    return row == NVT_NONE || (chain && nvt_nsys_stacks_want(reader, chain, row)) ? -1 : 0;
}

/* CUPTI_ACTIVITY_KIND_RUNTIME holds both interfaces; ENUM_NSYS_EVENT_CLASS tells them apart. */
static int cuda_call(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    int64_t class = nvt_nsys_int(table, API_CLASS, 0);
    return add_api(reader, table, class == 1 ? NVT_API_DRIVER : NVT_API_RUNTIME);
}

static int driver_call(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return add_api(reader, table, NVT_API_DRIVER);
}

static int library_call(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return add_api(reader, table, NVT_API_LIBRARY);
}

/* --- device operations --- */

enum { OP_START, OP_END, OP_DEVICE, OP_STREAM, OP_CONTEXT, OP_CORRELATION, OP_PID, OP_OWN };

#define OP_COLUMN_NAMES                                                                            \
    "start", "end", "deviceId", "streamId", "contextId", "correlationId", "globalPid"

/* What all device operations have. As a spec's row. */
static int fill_op(struct nvt_nsys *reader, struct nvt_nsys_table *table, struct nvt_op *op)
{
    op->start = nvt_nsys_time(table, OP_START);
    op->end = nvt_nsys_time(table, OP_END);
    op->device = nvt_nsys_u32(table, OP_DEVICE, 0);
    op->stream = nvt_nsys_u32(table, OP_STREAM, 0);
    op->context = nvt_nsys_u32(table, OP_CONTEXT, 0);
    op->correlation = correlation(table, OP_CORRELATION);
    op->process = nvt_nsys_process(reader, table, OP_PID);
    op->thread = NVT_NONE;
    op->launch = INT64_MIN;
    op->detail = NVT_NONE;
    uint32_t launch = nvt_map_get(&reader->launched, launch_key(op->process, op->correlation));
    if (launch != NVT_MAP_NONE) {
        op->thread = reader->launches[launch].thread;
        op->launch = reader->launches[launch].time;
    }
    if (op->correlation >= NVT_EXPORT_CORRELATION)
        op->correlation = 0;
    return op->process == NVT_NONE ? -1 : nvt_nsys_is_untimed(op->start, op->end);
}

enum { K_NAME = OP_OWN, K_SHORT, K_GRID_X, K_GRID_Y, K_GRID_Z, K_BLOCK_X, K_BLOCK_Y, K_BLOCK_Z };
enum { K_REGISTERS = K_BLOCK_Z + 1, K_STATIC, K_DYNAMIC, K_LOCAL, K_GRAPH, K_NODE };
enum { K_COLLECTIVE = K_NODE + 1, K_SEQUENCE };

static uint32_t short_name(struct nvt_nsys *reader, uint32_t name)
{
    size_t length, part;
    const char *text = nvt_strings_get(reader->trace->strings, name, &length);
    const char *start = nvt_short_name(text, length, &part);
    return nvt_strings_add(reader->trace->strings, start, part);
}

enum {
    COLLECTIVE_ID,
    COLLECTIVE_NAME,
    COLLECTIVE_TYPE,
    COLLECTIVE_GROUP,
    COLLECTIVE_PURPOSE,
    COLLECTIVE_MEMBERS,
    COLLECTIVE_RANKS,
    COLLECTIVE_GIVEN,
    COLLECTIVE_TAKEN,
    COLLECTIVE_PEER
};

/* What our own export has of messages (export.h). */
static int collective(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const int64_t id = nvt_nsys_int(table, COLLECTIVE_ID, 0);
    const uint32_t peer = nvt_nsys_u32(table, COLLECTIVE_PEER, NVT_NONE);
    const struct nvt_collective row = {.name = nvt_nsys_text(reader, table, COLLECTIVE_NAME),
                                       .type = nvt_nsys_text(reader, table, COLLECTIVE_TYPE),
                                       .group = nvt_nsys_text(reader, table, COLLECTIVE_GROUP),
                                       .purpose = nvt_nsys_text(reader, table, COLLECTIVE_PURPOSE),
                                       .members = nvt_nsys_text(reader, table, COLLECTIVE_MEMBERS),
                                       .ranks = nvt_nsys_u32(table, COLLECTIVE_RANKS, 0),
                                       .given = nvt_nsys_size(table, COLLECTIVE_GIVEN),
                                       .taken = nvt_nsys_size(table, COLLECTIVE_TAKEN),
                                       .peer = peer == NVT_NONE ? 0 : peer + 1};
    if (row.name == NVT_NO_STRING || row.type == NVT_NO_STRING || row.group == NVT_NO_STRING ||
        row.purpose == NVT_NO_STRING || row.members == NVT_NO_STRING)
        return -1;
    const uint32_t added = nvt_collective_add(reader->trace, &row);
    return added == NVT_NONE || nvt_map_set(&reader->collectives, (uint64_t)id, added + 1) ? -1 : 0;
}

/* Which collective a kernel is, and 1; 0: none. */
static uint32_t collective_of(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const int64_t id = nvt_nsys_int(table, K_COLLECTIVE, 0);
    const uint32_t row = id ? nvt_map_get(&reader->collectives, (uint64_t)id) : NVT_MAP_NONE;
    return row == NVT_MAP_NONE ? 0 : row;
}

static int add_sequence(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                        const struct nvt_op *op)
{
    const int64_t number = nvt_nsys_int(table, K_SEQUENCE, -1);
    const struct nvt_sequence row = {
        .process = op->process, .correlation = op->correlation, .number = (uint64_t)number};
    return number >= 0 && op->correlation && nvt_sequence_add(reader->trace, &row) == NVT_NONE ? -1
                                                                                               : 0;
}

static int kernel(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_op op = {.kind = NVT_OP_KERNEL};
    const struct nvt_kernel detail = {.collective = collective_of(reader, table),
                                      .grid_x = nvt_nsys_u32(table, K_GRID_X, 0),
                                      .grid_y = nvt_nsys_u32(table, K_GRID_Y, 0),
                                      .grid_z = nvt_nsys_u32(table, K_GRID_Z, 0),
                                      .block_x = nvt_nsys_u32(table, K_BLOCK_X, 0),
                                      .block_y = nvt_nsys_u32(table, K_BLOCK_Y, 0),
                                      .block_z = nvt_nsys_u32(table, K_BLOCK_Z, 0),
                                      .registers = nvt_nsys_u32(table, K_REGISTERS, 0),
                                      .static_shared = nvt_nsys_u32(table, K_STATIC, 0),
                                      .dynamic_shared = nvt_nsys_u32(table, K_DYNAMIC, 0),
                                      .local_memory = nvt_nsys_size(table, K_LOCAL),
                                      .graph = (uint64_t)nvt_nsys_int(table, K_GRAPH, 0),
                                      .graph_node = (uint64_t)nvt_nsys_int(table, K_NODE, 0)};
    int status = fill_op(reader, table, &op);
    if (status)
        return status;
    op.name = nvt_nsys_name(reader, table, K_NAME);
    op.short_name = nvt_nsys_name(reader, table, K_SHORT);
    if (!op.name)
        op.name = op.short_name;
    if (!op.short_name)
        op.short_name = short_name(reader, op.name);
    op.detail = nvt_trace_kernel(reader->trace, &detail);
    if (op.name == NVT_NO_STRING || op.short_name == NVT_NO_STRING || op.detail == NVT_NONE ||
        add_sequence(reader, table, &op))
        return -1;
    return nvt_op_add(reader->trace, &op) == NVT_NONE ? -1 : 0;
}

enum { G_GRAPH = OP_OWN, G_EXEC };

/* A graph that was recorded as a whole (nsys's --cuda-graph-trace=graph): one kernel, whose name
 * says what it is, as in traces of our own. CUPTI sets both times to 0 where it has none. */
static int graph(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_op op = {.kind = NVT_OP_KERNEL};
    char text[NVT_GRAPH_NAME_MAX];
    int column = nvt_nsys_is_null(table, G_GRAPH) ? G_EXEC : G_GRAPH;
    const struct nvt_kernel detail = {.graph = (uint64_t)nvt_nsys_int(table, column, 0)};
    int status = fill_op(reader, table, &op);
    if (status)
        return status;
    if (!op.start && !op.end)
        return 1;
    op.name = op.short_name =
        nvt_strings_add_text(reader->trace->strings, nvt_graph_name(detail.graph, text));
    op.detail = nvt_trace_kernel(reader->trace, &detail);
    if (op.name == NVT_NO_STRING || op.detail == NVT_NONE)
        return -1;
    return nvt_op_add(reader->trace, &op) == NVT_NONE ? -1 : 0;
}

enum { C_BYTES = OP_OWN, C_KIND, C_SOURCE, C_TARGET, C_CAUSE, C_ADDRESS };

static int copy(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_op op = {.kind = NVT_OP_MEMCPY};
    char name[NVT_COPY_NAME_MAX];
    int status = fill_op(reader, table, &op);
    if (status)
        return status;
    int64_t kind = nvt_nsys_int(table, C_KIND, 0);
    op.copy_kind = kind > 0 && kind < NVT_COPY_KINDS ? (uint8_t)kind : NVT_COPY_UNKNOWN;
    op.source_kind = memory_kind(nvt_nsys_int(table, C_SOURCE, -1));
    op.target_kind = memory_kind(nvt_nsys_int(table, C_TARGET, -1));
    op.bytes = nvt_nsys_size(table, C_BYTES);
    op.name = nvt_strings_add_text(reader->trace->strings, nvt_copy_name(op.copy_kind, name));
    op.short_name = op.name;
    if (op.name == NVT_NO_STRING ||
        (nvt_is_migration(op.copy_kind) &&
         nvt_nsys_migration(reader, table, C_ADDRESS, C_CAUSE, &op.detail)))
        return -1;
    return nvt_op_add(reader->trace, &op) == NVT_NONE ? -1 : 0;
}

enum { S_BYTES = OP_OWN, S_KIND };

static int set(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_op op = {.kind = NVT_OP_MEMSET};
    int status = fill_op(reader, table, &op);
    if (status)
        return status;
    op.target_kind = memory_kind(nvt_nsys_int(table, S_KIND, -1));
    op.bytes = nvt_nsys_size(table, S_BYTES);
    op.name = nvt_strings_add_text(reader->trace->strings, NVT_MEMSET_NAME);
    op.short_name = op.name;
    if (op.name == NVT_NO_STRING)
        return -1;
    return nvt_op_add(reader->trace, &op) == NVT_NONE ? -1 : 0;
}

/* --- synchronisation --- */

enum { E_STREAM, E_CORRELATION, E_PID, E_EVENT, E_SYNC };

/* What links a wait to the call that recorded its event: a number of their own, or where older exports have none, the
 * event's. 0: nothing; else the number and 1. */
static uint64_t event_link(struct nvt_nsys_table *table, int event, int sync)
{
    int64_t link = nvt_nsys_int(table, table->present >> sync & 1 ? sync : event, -1);
    return link < 0 || link == UINT32_MAX ? 0 : (uint64_t)link + 1;
}

static int event(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint64_t link = event_link(table, E_EVENT, E_SYNC);
    if (!link)
        return 0;
    const struct nvt_recorded_event event = {nvt_nsys_process(reader, table, E_PID),
                                             nvt_nsys_u32(table, E_STREAM, 0), link - 1,
                                             correlation(table, E_CORRELATION)};
    return event.process == NVT_NONE ? -1 : nvt_recorded_events_add(&reader->events, &event);
}

enum { Y_TYPE = OP_OWN, Y_EVENT, Y_SYNC };

static int synchronization(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_op op = {0};
    int status = fill_op(reader, table, &op);
    if (status)
        return status;
    int64_t type = nvt_nsys_int(table, Y_TYPE, 0);
    struct nvt_sync sync = {.start = op.start,
                            .end = op.end,
                            .process = op.process,
                            .device = op.device,
                            .context = op.context,
                            .stream = op.stream,
                            .correlation = op.correlation,
                            .type = type > 0 && type < NVT_SYNC_TYPES ? (uint8_t)type
                                                                      : NVT_SYNC_UNKNOWN};
    if (sync.type == NVT_SYNC_EVENT || sync.type == NVT_SYNC_WAIT_EVENT)
        sync.recorded = event_link(table, Y_EVENT, Y_SYNC); /* until nvt_recorded_events_link */
    return nvt_sync_add(reader->trace, &sync) == NVT_NONE ? -1 : 0;
}

/* Stands for the device of a context in which operations of several devices are. */
#define SEVERAL_DEVICES (NVT_MAP_NONE - 1)

static uint64_t context_key(int64_t pid, uint32_t context)
{
    return ((uint64_t)pid & 0xFFFFFF) << 32 | context;
}

enum { X_CONTEXT, X_PID, X_DEVICE };

static int context(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t *device =
        nvt_map_at(&reader->contexts,
                   context_key(nvt_nsys_int(table, X_PID, 0), nvt_nsys_u32(table, X_CONTEXT, 0)));
    if (device && *device == NVT_MAP_NONE)
        *device = nvt_nsys_u32(table, X_DEVICE, 0);
    return device ? 0 : -1;
}

static const struct nvt_nsys_spec context_table = {
    "TARGET_INFO_CUDA_CONTEXT_INFO", NULL, 3, {"contextId", "processId", "deviceId"}, context};

/* CUPTI's records of waits have no device, and nsys writes 0: it is that of the context's operations, or what the
 * table of contexts says, which not all exports have. Contexts count from 1. */
static int place_waits(struct nvt_nsys *reader)
{
    const struct nvt_ops *ops = &reader->trace->ops;
    struct nvt_syncs *syncs = &reader->trace->syncs;
    const int64_t *pids = reader->trace->processes.pid;
    for (uint32_t i = 0; i < ops->count && syncs->count; i++) {
        uint32_t *device =
            nvt_map_at(&reader->contexts, context_key(pids[ops->process[i]], ops->context[i]));
        if (!device)
            return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
        if (*device == NVT_MAP_NONE)
            *device = ops->device[i];
        else if (*device != ops->device[i])
            *device = SEVERAL_DEVICES;
    }
    if (syncs->count && nvt_nsys_read(reader, &context_table))
        return -1;
    for (uint32_t i = 0; i < syncs->count; i++) {
        uint32_t device =
            nvt_map_get(&reader->contexts, context_key(pids[syncs->process[i]], syncs->context[i]));
        if (syncs->context[i] && !syncs->device[i] && device < SEVERAL_DEVICES)
            syncs->device[i] = device;
    }
    return 0;
}

/* --- memory --- */

enum { M_START, M_OPERATION, M_PID, M_DEVICE, M_ADDRESS, M_BYTES, M_KIND, M_CORRELATION };
enum { M_POOL = M_CORRELATION + 1, M_POOL_SIZE, M_POOL_USED, M_NAME, M_TID };

/* Which thread made which call, for the events below, which say only the call. */
static int index_calls(struct nvt_nsys *reader)
{
    const struct nvt_apis *apis = &reader->trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        uint32_t process = reader->trace->threads.process[apis->thread[i]];
        if (nvt_map_set(&reader->calls, (uint64_t)process << 32 | (uint32_t)apis->correlation[i],
                        apis->thread[i]))
            return -1;
    }
    return 0;
}

/* What a record with the address of a pool says is of that pool alone; without one, of the whole device. */
static int take_pool(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                     struct nvt_memory_event *event)
{
    uint64_t pool = (uint64_t)nvt_nsys_int(table, M_POOL, 0);
    int is_told = pool && event->allocated != UINT64_MAX && event->reserved != UINT64_MAX;
    struct nvt_pool_word word = {0};
    if (is_told)
        word =
            (struct nvt_pool_word){.pool = pool, .used = event->allocated, .size = event->reserved};
    reader->has_pools |= is_told;
    /* A pool of size 0 that nothing was taken from is none. */
    if (pool || (!event->reserved && !event->allocated))
        event->allocated = event->reserved = UINT64_MAX;
    return nvt_buffer_append(&reader->words, &word, sizeof(word));
}

static int memory_usage(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_memory_event event = {
        .time = nvt_nsys_time(table, M_START),
        .process = nvt_nsys_process(reader, table, M_PID),
        .device = nvt_nsys_u32(table, M_DEVICE, 0),
        .thread = NVT_NONE,
        .address = (uint64_t)nvt_nsys_int(table, M_ADDRESS, 0),
        .bytes = nvt_nsys_size(table, M_BYTES),
        .allocated = (uint64_t)nvt_nsys_int(table, M_POOL_USED, -1),
        .reserved = (uint64_t)nvt_nsys_int(table, M_POOL_SIZE, -1),
        .kind = nvt_nsys_int(table, M_OPERATION, 0) == 1 ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC};
    if (event.process == NVT_NONE || (table->number == 1 && index_calls(reader)))
        return -1;
    uint8_t kind = memory_kind(nvt_nsys_int(table, M_KIND, -1));
    if (kind == NVT_KIND_PAGEABLE || kind == NVT_KIND_PINNED)
        event.device = NVT_NONE;
    if (take_pool(reader, table, &event))
        return -1;
    uint32_t call = nvt_nsys_u32(table, M_CORRELATION, 0);
    if (call)
        event.thread = nvt_map_get(&reader->calls, (uint64_t)event.process << 32 | call);
    else if (!nvt_nsys_is_null(table, M_TID)) {
        event.thread = nvt_nsys_thread(reader, table, M_TID);
        if (event.thread == NVT_NONE)
            return -1;
    }
    event.source = nvt_nsys_text(reader, table, M_NAME);
    if (!event.source)
        event.source = nvt_strings_add_text(reader->trace->strings, nvt_memory_label(kind));
    if (event.source == NVT_NO_STRING)
        return -1;
    return nvt_memory_event_add(reader->trace, &event) == NVT_NONE ? -1 : 0;
}

/* --- the profiler's own time --- */

enum { O_START, O_END, O_TYPE, O_TID, O_NAME };

static int overhead(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_overhead row = {.start = nvt_nsys_time(table, O_START),
                               .end = nvt_nsys_time(table, O_END),
                               .thread = nvt_nsys_thread(reader, table, O_TID),
                               .name = nvt_nsys_name(reader, table, O_NAME)};
    if (!row.name)
        row.name = nvt_strings_add_text(reader->trace->strings,
                                        nvt_overhead_label(nvt_nsys_u32(table, O_TYPE, 0)));
    if (row.thread == NVT_NONE || row.name == NVT_NO_STRING)
        return -1;
    if (nvt_nsys_is_untimed(row.start, row.end))
        return 1;
    row.process = reader->trace->threads.process[row.thread];
    return nvt_overhead_add(reader->trace, &row) == NVT_NONE ? -1 : 0;
}

static const struct nvt_nsys_spec tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME", NULL, 3, API_COLUMN_NAMES, cuda_call},
    {"CUPTI_ACTIVITY_KIND_DRIVER", NULL, 3, API_COLUMN_NAMES, driver_call},
    {"CUBLAS_EVENTS", NULL, 3, API_COLUMN_NAMES, library_call},
    {"CUDNN_EVENTS", NULL, 3, API_COLUMN_NAMES, library_call},
    {"NVTALLY_COLLECTIVES",
     NULL,
     1,
     {"id", "name", "type", "groupName", "purpose", "members", "ranks", "given", "taken", "peer"},
     collective},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     NULL,
     2,
     {OP_COLUMN_NAMES, "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
      "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
      "localMemoryTotal", "graphId", "graphNodeId", "nvtallyCollective", "nvtallySequence"},
     kernel},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     NULL,
     2,
     {OP_COLUMN_NAMES, "graphId", "graphExecId"},
     graph},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     NULL,
     2,
     {OP_COLUMN_NAMES, "bytes", "copyKind", "srcKind", "dstKind", "migrationCause",
      "virtualAddress"},
     copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", NULL, 2, {OP_COLUMN_NAMES, "bytes", "memKind"}, set},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
     NULL,
     0,
     {"streamId", "correlationId", "globalPid", "eventId", "eventSyncId"},
     event},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     NULL,
     2,
     {OP_COLUMN_NAMES, "syncType", "eventId", "eventSyncId"},
     synchronization},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     NULL,
     2,
     {"start", "memoryOperationType", "globalPid", "deviceId", "address", "bytes", "memKind",
      "correlationId", "localMemoryPoolAddress", "localMemoryPoolSize",
      "localMemoryPoolUtilizedSize", "name", "globalTid"},
     memory_usage},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD",
     NULL,
     2,
     {"start", "end", "overheadType", "globalTid", "nameId"},
     overhead},
    {"PROFILER_OVERHEAD",
     NULL,
     2,
     {"start", "end", "overheadType", "globalTid", "nameId"},
     overhead},
};

int nvt_nsys_read_cuda(struct nvt_nsys *reader)
{
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        if (nvt_nsys_read(reader, &tables[i]))
            return -1;
    if (nvt_nsys_stacks_read(reader, "CUDA_CALLCHAINS", reader->trace->apis.frame, NULL) ||
        place_waits(reader))
        return -1;
    if (reader->has_pools && nvt_pools_follow(reader->trace, (const void *)reader->words.data))
        return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
    nvt_recorded_events_link(&reader->events, &reader->trace->syncs);
    return 0;
}
#endif
