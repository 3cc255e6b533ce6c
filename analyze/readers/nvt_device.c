#include "nvt_device.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/cuda_names.h"
#include "nvt.h"
#include "nvt_device_chunk.h"
#include "reader.h"

static uint32_t name_of(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row,
                        int field)
{
    return nvt_device_name_at(chunk, row->fields[field]);
}

/* A number that the model keeps in fewer bits. */
static uint32_t narrow(const struct nvt_device_row *row, int field)
{
    return (uint32_t)row->fields[field];
}

struct nvt_device_process *nvt_file_device_process(struct nvt_file_devices *devices,
                                                   uint32_t process)
{
    for (size_t i = devices->process_count; i-- > 0;)
        if (devices->processes[i].process == process)
            return &devices->processes[i];
    if (nvt_grow(&devices->processes, devices->process_count, sizeof(*devices->processes)))
        return NULL;
    struct nvt_device_process *fresh = &devices->processes[devices->process_count++];
    *fresh = (struct nvt_device_process){.process = process};
    return fresh;
}

/* --- names --- */

uint32_t nvt_device_full_name(const struct nvt_device_chunk *chunk, uint32_t mangled)
{
    struct nvt_file_devices *devices = chunk->devices;
    uint32_t *full = nvt_map_at(&devices->kernel_names, mangled);
    if (!full)
        return NVT_NO_STRING;
    if (*full != NVT_MAP_NONE)
        return *full;
    if (!devices->has_looked) {
        devices->has_looked = 1;
        devices->demangler = nvt_demangler_new();
    }
    char *text = nvt_demangle(devices->demangler, nvt_name(chunk->trace, mangled));
    *full = text ? nvt_strings_add_text(chunk->trace->strings, text) : mangled;
    free(text);
    return *full;
}

uint32_t nvt_device_short_name(const struct nvt_device_chunk *chunk, uint32_t full)
{
    uint32_t *part = nvt_map_at(&chunk->devices->short_names, full);
    if (!part)
        return NVT_NO_STRING;
    if (*part == NVT_MAP_NONE) {
        size_t size, length;
        const char *text = nvt_strings_get(chunk->trace->strings, full, &size);
        const char *start = nvt_short_name(text, size, &length);
        /* A copy: adding a string may move the others. */
        char *copy = strndup(start, length);
        *part = copy ? nvt_strings_add_text(chunk->trace->strings, copy) : NVT_NO_STRING;
        free(copy);
    }
    return *part;
}

/* --- operations --- */

/* What all operations have. */
static void fill_op(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row,
                    struct nvt_op *op)
{
    *op = (struct nvt_op){.start = (int64_t)row->fields[NVT_ROW_START],
                          .end = (int64_t)row->fields[NVT_ROW_END],
                          .process = chunk->owner,
                          .device = narrow(row, NVT_OP_DEVICE),
                          .context = narrow(row, NVT_OP_CONTEXT),
                          .stream = narrow(row, NVT_OP_STREAM),
                          .correlation = row->fields[NVT_ROW_CORRELATION],
                          .api = NVT_NONE,
                          .thread = NVT_NONE,
                          .launch = INT64_MIN,
                          .detail = NVT_NONE};
}

static int add_op(const struct nvt_device_chunk *chunk, struct nvt_op *op)
{
    if (op->name == NVT_NO_STRING || op->short_name == NVT_NO_STRING)
        return -1;
    return nvt_op_add(chunk->trace, op) == NVT_NONE ? -1 : 0;
}

static int read_kernel(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_op op;
    const struct nvt_kernel kernel = {.grid_x = narrow(row, NVT_KERNEL_GRID),
                                      .grid_y = narrow(row, NVT_KERNEL_GRID + 1),
                                      .grid_z = narrow(row, NVT_KERNEL_GRID + 2),
                                      .block_x = narrow(row, NVT_KERNEL_BLOCK),
                                      .block_y = narrow(row, NVT_KERNEL_BLOCK + 1),
                                      .block_z = narrow(row, NVT_KERNEL_BLOCK + 2),
                                      .registers = narrow(row, NVT_KERNEL_REGISTERS),
                                      .static_shared = narrow(row, NVT_KERNEL_STATIC_SHARED),
                                      .dynamic_shared = narrow(row, NVT_KERNEL_DYNAMIC_SHARED),
                                      .local_memory = row->fields[NVT_KERNEL_LOCAL],
                                      .graph = row->fields[NVT_OP_GRAPH],
                                      .graph_node = row->fields[NVT_OP_NODE]};
    fill_op(chunk, row, &op);
    op.name = nvt_device_full_name(chunk, name_of(chunk, row, NVT_OP_NAME));
    op.short_name = op.name == NVT_NO_STRING ? op.name : nvt_device_short_name(chunk, op.name);
    op.kind = NVT_OP_KERNEL;
    op.detail = nvt_trace_kernel(chunk->trace, &kernel);
    return op.detail == NVT_NONE ? -1 : add_op(chunk, &op);
}

static int read_copy(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_op op;
    char text[NVT_COPY_NAME_MAX];
    uint64_t kind = row->fields[NVT_COPY_KIND];
    uint64_t source = row->fields[NVT_COPY_SOURCE], target = row->fields[NVT_COPY_TARGET];
    fill_op(chunk, row, &op);
    op.kind = NVT_OP_MEMCPY;
    op.copy_kind = kind < NVT_COPY_KINDS ? (uint8_t)kind : NVT_COPY_UNKNOWN;
    op.source_kind = source < NVT_KINDS ? (uint8_t)source : NVT_KIND_UNKNOWN;
    op.target_kind = target < NVT_KINDS ? (uint8_t)target : NVT_KIND_UNKNOWN;
    op.bytes = nvt_reader_size(row->fields[NVT_COPY_BYTES]);
    op.name = op.short_name =
        nvt_strings_add_text(chunk->trace->strings, nvt_copy_name(op.copy_kind, text));
    if (nvt_is_migration(op.copy_kind) && nvt_device_read_migration(chunk, row, &op.detail))
        return -1;
    return add_op(chunk, &op);
}

static int read_set(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_op op;
    uint64_t kind = row->fields[NVT_SET_KIND];
    fill_op(chunk, row, &op);
    op.kind = NVT_OP_MEMSET;
    op.target_kind = kind < NVT_KINDS ? (uint8_t)kind : NVT_KIND_UNKNOWN;
    op.bytes = nvt_reader_size(row->fields[NVT_SET_BYTES]);
    op.name = op.short_name = nvt_strings_add_text(chunk->trace->strings, NVT_MEMSET_NAME);
    return add_op(chunk, &op);
}

/* A graph that was recorded as a whole stands as one kernel, whose name says what it is. */
static int read_graph(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_op op;
    char text[NVT_GRAPH_NAME_MAX];
    const struct nvt_kernel kernel = {.graph = row->fields[NVT_OP_GRAPH]};
    fill_op(chunk, row, &op);
    op.kind = NVT_OP_KERNEL;
    op.name = op.short_name =
        nvt_strings_add_text(chunk->trace->strings, nvt_graph_name(kernel.graph, text));
    op.detail = nvt_trace_kernel(chunk->trace, &kernel);
    return op.detail == NVT_NONE ? -1 : add_op(chunk, &op);
}

/* --- the host's side --- */

uint32_t nvt_device_caller(const struct nvt_device_chunk *chunk, uint64_t tid)
{
    struct nvt_file_devices *devices = chunk->devices;
    const uint32_t index =
        nvt_map_row(&devices->callers, (uint64_t)chunk->process << 32 | (uint32_t)tid,
                    &devices->threads, &devices->thread_count, sizeof(*devices->threads));
    if (index != NVT_MAP_NONE) {
        devices->threads[index].process = chunk->process;
        devices->threads[index].tid = (int64_t)(uint32_t)tid;
    }
    return index;
}

uint32_t nvt_device_call_name(const struct nvt_device_chunk *chunk, uint32_t name)
{
    size_t size;
    struct nvt_strings *strings = chunk->trace->strings;
    const char *text = nvt_strings_get(strings, name, &size);
    size_t length = nvt_call_name_length(text, size);
    if (length == size)
        return name;
    char plain[256];
    size_t part = length < sizeof(plain) ? length : sizeof(plain);
    memcpy(plain, text, part);
    return nvt_strings_add(strings, plain, part);
}

static int read_call(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    uint32_t name = nvt_device_call_name(chunk, name_of(chunk, row, NVT_CALL_NAME));
    struct nvt_api api = {
        .start = (int64_t)row->fields[NVT_ROW_START],
        .end = (int64_t)row->fields[NVT_ROW_END],
        .thread = nvt_device_caller(chunk, row->fields[NVT_CALL_THREAD]),
        .correlation = row->fields[NVT_ROW_CORRELATION],
        .name = name,
        .result = (int32_t)row->fields[NVT_CALL_RESULT],
        .class = row->fields[NVT_CALL_CLASS] == NVT_CALL_DRIVER ? NVT_API_DRIVER : NVT_API_RUNTIME};
    if (api.thread == UINT32_MAX || name == NVT_NO_STRING)
        return -1;
    return nvt_api_add(chunk->trace, &api) == NVT_NONE ? -1 : 0;
}

static int read_wait(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    uint64_t type = row->fields[NVT_WAIT_TYPE];
    struct nvt_sync sync = {.start = (int64_t)row->fields[NVT_ROW_START],
                            .end = (int64_t)row->fields[NVT_ROW_END],
                            .process = chunk->owner,
                            .context = narrow(row, NVT_WAIT_CONTEXT),
                            .stream = narrow(row, NVT_WAIT_STREAM),
                            .correlation = row->fields[NVT_ROW_CORRELATION],
                            .type = type < NVT_SYNC_TYPES ? (uint8_t)type : NVT_SYNC_UNKNOWN};
    /* CUPTI's number for "no stream": a context is waited for. */
    if (row->fields[NVT_WAIT_STREAM] == UINT32_MAX)
        sync.stream = 0;
    if (type == NVT_SYNC_EVENT || type == NVT_SYNC_WAIT_EVENT)
        sync.recorded = row->fields[NVT_WAIT_EVENT] + 1; /* until nvt_recorded_events_link */
    uint32_t device =
        nvt_map_get(&chunk->devices->contexts, (uint64_t)chunk->process << 32 | sync.context);
    sync.device = device == NVT_MAP_NONE ? 0 : device;
    return nvt_sync_add(chunk->trace, &sync) == NVT_NONE ? -1 : 0;
}

/* CUpti_ActivityMemoryOperationType and …PoolOperationType. */
enum { OPERATION_RELEASE = 2, POOL_CREATED = 1 };

static int read_memory(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_file_devices *devices = chunk->devices;
    int is_pool = row->kind == NVT_DEVICE_POOL;
    uint64_t kind = row->fields[NVT_MEM_KIND];
    int is_host = kind == NVT_KIND_PAGEABLE || kind == NVT_KIND_PINNED;
    int frees = is_pool ? row->fields[NVT_MEM_OPERATION] != POOL_CREATED
                        : row->fields[NVT_MEM_OPERATION] == OPERATION_RELEASE;
    struct nvt_memory_event event = {.time = (int64_t)row->fields[NVT_ROW_START],
                                     .process = chunk->owner,
                                     .device = is_host ? NVT_NONE : narrow(row, NVT_MEM_DEVICE),
                                     .thread = NVT_NONE,
                                     .address = row->fields[NVT_MEM_ADDRESS],
                                     .bytes = row->fields[NVT_MEM_BYTES],
                                     .allocated = UINT64_MAX,
                                     .reserved = UINT64_MAX,
                                     .source = is_pool ? 0 : name_of(chunk, row, NVT_MEM_NAME),
                                     .kind = frees ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC};
    if (!event.source)
        event.source = nvt_strings_add_text(
            chunk->trace->strings, row->fields[NVT_MEM_POOL]
                                       ? "Memory pool"
                                       : nvt_memory_label(kind < NVT_KINDS ? (unsigned)kind : 0));
    if (event.source == NVT_NO_STRING ||
        nvt_grow(&devices->words, devices->memory_count, sizeof(*devices->words)) ||
        nvt_grow(&devices->memory_calls, devices->memory_count, sizeof(*devices->memory_calls)))
        return -1;
    devices->memory_calls[devices->memory_count] = row->fields[NVT_ROW_CORRELATION];
    devices->words[devices->memory_count++] =
        (struct nvt_pool_word){row->fields[NVT_MEM_POOL], row->fields[NVT_MEM_POOL_USED],
                               row->fields[NVT_MEM_POOL_SIZE], is_pool};
    return nvt_memory_event_add(chunk->trace, &event) == NVT_NONE ? -1 : 0;
}

/* CUpti_ActivityOverheadKind in nsys's words: 0 and 1 are unknown and the compiler, the others are
 * in the upper half, in nsys's order; the last two have no word there. */
static const char *cost_label(uint64_t kind)
{
    uint64_t upper = kind >> 16;
    if (kind == 7 << 16)
        return "Activity buffer request";
    if (kind == 8 << 16)
        return "UVM activity initialization";
    if (kind == 1)
        return nvt_overhead_label(NVT_OVERHEAD_UNKNOWN + 1);
    return nvt_overhead_label(!(kind & 0xffff) && upper && upper < 7 ? (unsigned)upper + 2
                                                                     : NVT_OVERHEAD_UNKNOWN);
}

static int read_cost(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    uint64_t tid = row->fields[NVT_COST_THREAD];
    struct nvt_overhead overhead = {
        .start = (int64_t)row->fields[NVT_ROW_START],
        .end = (int64_t)row->fields[NVT_ROW_END],
        .process = chunk->owner,
        .thread = tid ? nvt_device_caller(chunk, tid) : NVT_NONE,
        .name =
            nvt_strings_add_text(chunk->trace->strings, cost_label(row->fields[NVT_COST_KIND]))};
    if ((tid && overhead.thread == UINT32_MAX) || overhead.name == NVT_NO_STRING)
        return -1;
    return nvt_overhead_add(chunk->trace, &overhead) == NVT_NONE ? -1 : 0;
}

/* --- objects --- */

static int read_external(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    const struct nvt_external_id external = {.process = chunk->owner,
                                             .correlation = row->fields[NVT_EXT_CORRELATION],
                                             .external = row->fields[NVT_EXT_ID],
                                             .kind = narrow(row, NVT_EXT_KIND)};
    return nvt_external_id_add(chunk->trace, &external) == NVT_NONE ? -1 : 0;
}

/* Of two with the same number, the one that CUDA sees is told by its UUID. */
static int read_device(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_devices *known = &chunk->trace->devices;
    struct nvt_device device = {
        .process = chunk->owner,
        .device = narrow(row, NVT_DEV_ID),
        .name = name_of(chunk, row, NVT_DEV_NAME),
        .memory_bytes = row->fields[NVT_DEV_MEMORY],
        .multiprocessors = narrow(row, NVT_DEV_MULTIPROCESSORS),
        .capability = narrow(row, NVT_DEV_MAJOR) < 1000
                          ? 10 * narrow(row, NVT_DEV_MAJOR) + narrow(row, NVT_DEV_MINOR) % 10
                          : 0,
        .gpu = row->count > NVT_DEV_GPU ? name_of(chunk, row, NVT_DEV_GPU) : 0};
    for (uint32_t i = 0; i < known->count; i++) {
        if (known->process[i] != device.process || known->device[i] != device.device)
            continue;
        if (device.gpu && !known->gpu[i]) {
            known->name[i] = device.name;
            known->memory_bytes[i] = device.memory_bytes;
            known->multiprocessors[i] = device.multiprocessors;
            known->capability[i] = device.capability;
            known->gpu[i] = device.gpu;
        }
        return 0;
    }
    return nvt_device_add(chunk->trace, &device) == NVT_NONE ? -1 : 0;
}

static int read_context(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    return nvt_map_set(&chunk->devices->contexts,
                       (uint64_t)chunk->process << 32 | narrow(row, NVT_CTX_ID),
                       narrow(row, NVT_CTX_DEVICE));
}

/* CUpti_ActivityObjectKind, as the model's resources: by CUPTI's ids, as operations have them. */
static int read_name(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    static const char *const types[] = {"other",  "process",    "thread",
                                        "device", "context id", "stream id"};
    uint64_t type = row->fields[NVT_NAME_TYPE];
    struct nvt_resource resource = {
        .process = chunk->owner,
        .type = nvt_strings_add_text(chunk->trace->strings,
                                     types[type < NVT_COUNT_OF(types) ? type : 0]),
        .handle = row->fields[NVT_NAME_ID],
        .name = name_of(chunk, row, NVT_NAME_TEXT)};
    if (resource.type == NVT_NO_STRING)
        return -1;
    return nvt_resource_add(chunk->trace, &resource) == NVT_NONE ? -1 : 0;
}

/* --- about the recording --- */

static int read_moment(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_file_devices *devices = chunk->devices;
    if (nvt_grow(&devices->moments, devices->moment_count, sizeof(*devices->moments)))
        return -1;
    devices->moments[devices->moment_count++] = (struct nvt_device_moment){
        chunk->process, row->fields[NVT_CLOCK_CUPTI], (int64_t)row->fields[NVT_CLOCK_MONOTONIC_NS]};
    return 0;
}

static int read_edge(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_file_devices *devices = chunk->devices;
    if (nvt_grow(&devices->edges, devices->edge_count, sizeof(*devices->edges)))
        return -1;
    devices->edges[devices->edge_count++] = (struct nvt_capture_edge){
        chunk->process, chunk->ticks, row->fields[NVT_CAPTURE_BEGIN] != 0};
    return 0;
}

static int read_delivered(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct nvt_device_process *process = nvt_file_device_process(chunk->devices, chunk->process);
    if (!process)
        return -1;
    process->is_used = 1;
    if (chunk->ticks >= process->delivered) {
        process->delivered = chunk->ticks;
        process->until_ns = (int64_t)row->fields[NVT_DELIVERED_UNTIL_NS];
        process->final = row->fields[NVT_DELIVERED_FINAL] != 0; /* it may begin again (--dormant) */
    }
    return 0;
}

static int read_problem(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    nvt_trace_note(chunk->trace, "devices of process %lld: %s",
                   (long long)chunk->trace->processes.pid[chunk->owner],
                   nvt_name(chunk->trace, name_of(chunk, row, NVT_PROBLEM_TEXT)));
    return 0;
}

static int read_lost(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    chunk->devices->lost_cupti += row->fields[NVT_LOST_CUPTI];
    chunk->devices->lost_ring += row->fields[NVT_LOST_RING];
    chunk->devices->unknown += row->fields[NVT_LOST_UNKNOWN];
    return 0;
}

static int read_event(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    const struct nvt_recorded_event event = {chunk->owner, narrow(row, NVT_EVENT_STREAM),
                                             row->fields[NVT_EVENT_ID],
                                             row->fields[NVT_EVENT_CORRELATION]};
    return nvt_recorded_events_add(&chunk->devices->events, &event);
}

/* Streams are known by their operations; what a later version adds is left out. */
static int (*const readers[])(const struct nvt_device_chunk *, const struct nvt_device_row *) = {
    [NVT_DEVICE_KERNEL] = read_kernel,
    [NVT_DEVICE_MEMCPY] = read_copy,
    [NVT_DEVICE_MEMSET] = read_set,
    [NVT_DEVICE_GRAPH] = read_graph,
    [NVT_DEVICE_API] = read_call,
    [NVT_DEVICE_SYNC] = read_wait,
    [NVT_DEVICE_MEMORY] = read_memory,
    [NVT_DEVICE_POOL] = read_memory,
    [NVT_DEVICE_OVERHEAD] = read_cost,
    [NVT_DEVICE_UM] = nvt_device_read_um,
    [NVT_DEVICE_SAMPLE] = nvt_device_read_sample,
    [NVT_DEVICE_COUNTED] = nvt_device_read_sample,
    [NVT_DEVICE_EXTERNAL] = read_external,
    [NVT_DEVICE_DEVICE] = read_device,
    [NVT_DEVICE_CONTEXT] = read_context,
    [NVT_DEVICE_NAME] = read_name,
    [NVT_DEVICE_CLOCK] = read_moment,
    [NVT_DEVICE_LOST] = read_lost,
    [NVT_DEVICE_DELIVERED] = read_delivered,
    [NVT_DEVICE_CAPTURE] = read_edge,
    [NVT_DEVICE_PROBLEM] = read_problem,
    [NVT_DEVICE_EVENT] = read_event,
    [NVT_DEVICE_METRIC] = nvt_device_read_metric,
};

int nvt_device_knows(uint64_t kind)
{
    return kind < NVT_COUNT_OF(readers) && readers[kind];
}

int nvt_device_read_row(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    if (!nvt_device_knows(row->kind))
        return 0;
    /* CUPTI had no room to take its times, or it had not ended. */
    if (row->kind < NVT_DEVICE_TIMED &&
        !nvt_device_is_timed(row->fields[NVT_ROW_START], row->fields[NVT_ROW_END])) {
        chunk->devices->untimed++;
        return 0;
    }
    return readers[row->kind](chunk, row);
}

static int read_names(struct nvt_device_chunk *chunk, struct nvt_cursor *cursor, uint32_t strings)
{
    uint64_t count = nvt_cursor_varint(cursor);
    /* Each takes a byte at least. */
    if (!cursor->at || count > (uint64_t)(cursor->end - cursor->at))
        return -1;
    chunk->names = malloc(((size_t)count + 1) * sizeof(*chunk->names));
    chunk->known = malloc(((size_t)count + 1) * sizeof(*chunk->known));
    if (!chunk->names || !chunk->known)
        return -1;
    memset(chunk->known, 0xff, ((size_t)count + 1) * sizeof(*chunk->known));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = nvt_cursor_varint(cursor);
        chunk->names[i] = id < strings ? chunk->reader->strings.ids[id] : 0;
    }
    chunk->name_count = count;
    return cursor->at ? 0 : -1;
}

static int read_row(struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    return chunk->reader->lanes ? nvt_device_lane_row(chunk, row) : nvt_device_read_row(chunk, row);
}

/* Rows one after the other. 0, or -1 when they are malformed or there is no memory. */
static int read_rows(struct nvt_device_chunk *chunk, const struct nvt_cursor *cursor)
{
    struct nvt_device_reader rows = {cursor->at, cursor->end, 0};
    struct nvt_device_row row;
    int more, status = 0;
    while (!status && (more = nvt_device_reader_next(&rows, &row)))
        status = more < 0 ? -1 : read_row(chunk, &row);
    return status;
}

static int read_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group)
{
    struct nvt_device_row row;
    int status = 0;
    if (group->kind == NVT_DEVICE_KERNEL || group->kind == NVT_DEVICE_API)
        return chunk->reader->lanes ? nvt_device_lane_group(chunk, group)
                                    : nvt_device_plain_group(chunk, group);
    while (!status && nvt_device_group_row(group, &row))
        status = read_row(chunk, &row);
    return status;
}

/* What has to be in order is of no interest to lanes; calls are left for later there. */
static int read_columns(struct nvt_device_reading *reading, const struct nvt_cursor *cursor)
{
    struct nvt_device_columns *columns = &reading->columns;
    struct nvt_device_chunk *chunk = &reading->chunk;
    struct nvt_device_row row;
    int has_lanes = chunk->reader->lanes != NULL;
    int status = nvt_device_columns_open(columns, cursor->at, cursor->end);
    int in_order = !status && !has_lanes && columns->order;
    while (!status && in_order && nvt_device_columns_next(columns, &row))
        status = read_row(chunk, &row);
    for (uint32_t i = 0; !status && !in_order && i < columns->groups; i++) {
        struct nvt_device_group *group = &columns->group[i];
        if (has_lanes && group->kind == NVT_DEVICE_API && !reading->calls)
            reading->calls = group;
        else
            status = read_group(chunk, group);
    }
    return status;
}

int nvt_file_device_chunk(struct nvt_device_reading *reading, struct nvt_file_reader *reader,
                          const struct nvt_file_later *later, const uint8_t *payload)
{
    const struct nvt_chunk *header = &later->header;
    struct nvt_cursor cursor = {payload, payload + header->raw_size};
    if (header->process >= reader->process_count)
        return -1;
    reading->chunk = (struct nvt_device_chunk){.reader = reader,
                                               .devices = &reader->devices,
                                               .trace = reader->trace,
                                               .process = header->process,
                                               .owner = reader->processes[header->process].row,
                                               .ticks = header->last,
                                               .caller = NVT_NONE};
    if (read_names(&reading->chunk, &cursor, later->strings))
        return -1;
    return header->kind == NVT_CHUNK_DEVICE ? read_rows(&reading->chunk, &cursor)
                                            : read_columns(reading, &cursor);
}

int nvt_file_device_calls(struct nvt_device_reading *reading)
{
    return reading->calls ? nvt_device_lane_group(&reading->chunk, reading->calls) : 0;
}

void nvt_file_device_done(struct nvt_device_reading *reading)
{
    free(reading->chunk.names);
    free(reading->chunk.known);
    reading->chunk.names = NULL;
    reading->chunk.known = NULL;
    reading->calls = NULL;
}
