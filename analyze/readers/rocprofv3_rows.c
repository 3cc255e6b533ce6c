/* What rocprofv3's JSON says of a process, as rows of the model. */
#include "rocprofv3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "reader.h"

struct rows {
    struct nvt_v3 *file;
    struct nvt_trace *trace;
    uint32_t process;
    struct nvt_rocm_agent *agent;
    uint32_t *sums_of; /* of each counter, the record that its sum is of, and 1 */
    double *sums;
    struct nvt_map agents;  /* id -> of `agent`, */
    struct nvt_map symbols; /* of kernel_symbols, */
    struct nvt_map names;   /* of counters; */
    struct nvt_map messages, threads, dispatches, sizes, counters;
};

static const struct nvt_v3_item *items(const struct nvt_v3 *file, enum nvt_v3_list list,
                                       uint32_t *count)
{
    *count = (uint32_t)(file->lists[list].size / sizeof(struct nvt_v3_item));
    return (const struct nvt_v3_item *)(const void *)file->lists[list].data;
}

static uint32_t small(const struct nvt_v3_item *item, unsigned number)
{
    const uint64_t value = nvt_v3_get(item, number, 0);
    return value < UINT32_MAX ? (uint32_t)value : 0;
}

/* --- what records refer to --- */

static int index_list(const struct nvt_v3 *file, enum nvt_v3_list list, unsigned number,
                      struct nvt_map *map)
{
    uint32_t count;
    const struct nvt_v3_item *item = items(file, list, &count);
    for (uint32_t i = 0; i < count; i++)
        if (nvt_map_set(map, nvt_v3_get(&item[i], number, i), i))
            return -1;
    return 0;
}

/* Type 2 is a GPU. In files that do not number GPUs they are numbered as they come. */
static int add_agents(struct rows *rows)
{
    uint32_t count, gpus = 0;
    const struct nvt_v3_item *item = items(rows->file, NVT_V3_AGENTS, &count);
    rows->agent = calloc(count + 1, sizeof(*rows->agent));
    if (!rows->agent)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        const int is_gpu = nvt_v3_get(&item[i], NVT_V3_TYPE, 0) == 2;
        const uint64_t index = nvt_v3_get(&item[i], NVT_V3_INDEX, gpus);
        gpus += (uint32_t)is_gpu;
        rows->agent[i] =
            (struct nvt_rocm_agent){index < UINT32_MAX ? (uint32_t)index : 0, (uint32_t)is_gpu};
        const uint32_t product = item[i].text[NVT_V3_PRODUCT];
        const struct nvt_device device = {.process = rows->process,
                                          .device = rows->agent[i].device,
                                          .name = product ? product : item[i].text[NVT_V3_NAME]};
        if (is_gpu && nvt_device_add(rows->trace, &device) == NVT_NONE)
            return -1;
    }
    return 0;
}

static int index_process(struct rows *rows)
{
    struct nvt_v3 *file = rows->file;
    uint32_t count;
    items(file, NVT_V3_COUNTERS, &count);
    rows->sums_of = calloc(count + 1, sizeof(*rows->sums_of));
    rows->sums = calloc(count + 1, sizeof(*rows->sums));
    const struct nvt_process process = {.pid = file->pid > INT32_MAX ? -1 : (int64_t)file->pid,
                                        .parent_pid = -1,
                                        .name = file->command,
                                        .rank = NVT_NONE};
    rows->process = nvt_process_add(rows->trace, &process);
    return !rows->sums_of || !rows->sums || rows->process == NVT_NONE || add_agents(rows) ||
                   index_list(file, NVT_V3_AGENTS, NVT_V3_ID, &rows->agents) ||
                   index_list(file, NVT_V3_SYMBOLS, NVT_V3_KERNEL, &rows->symbols) ||
                   index_list(file, NVT_V3_COUNTERS, NVT_V3_ID, &rows->names) ||
                   index_list(file, NVT_V3_MESSAGES, NVT_V3_ID, &rows->messages)
               ? -1
               : 0;
}

static const struct nvt_rocm_agent *agent_of(const struct rows *rows,
                                             const struct nvt_v3_item *record, unsigned number)
{
    const uint32_t at = nvt_map_get(&rows->agents, nvt_v3_get(record, number, UINT64_MAX));
    return at == NVT_MAP_NONE || !(record->have >> number & 1) ? NULL : &rows->agent[at];
}

/* NVT_NONE when out of memory. */
static uint32_t thread_of(struct rows *rows, const struct nvt_v3_item *record)
{
    const uint64_t tid = nvt_v3_get(record, NVT_V3_THREAD, 0);
    uint32_t *row = nvt_map_at(&rows->threads, tid);
    const struct nvt_thread thread = {.process = rows->process, .tid = (int64_t)(tid & INT64_MAX)};
    if (row && *row == NVT_MAP_NONE)
        *row = nvt_thread_add(rows->trace, &thread);
    return row ? *row : NVT_NONE;
}

/* The names of a record's kind and operation, strings; 0: not known. */
static uint32_t names_of(const struct rows *rows, const struct nvt_v3_item *record, uint32_t *kind)
{
    uint32_t count;
    const struct nvt_v3_item *item = items(rows->file, NVT_V3_KINDS, &count);
    const uint32_t *operations = (const uint32_t *)(const void *)rows->file->operations.data;
    const uint64_t at = nvt_v3_get(record, NVT_V3_KIND, UINT64_MAX),
                   operation = nvt_v3_get(record, NVT_V3_OPERATION, UINT64_MAX);
    *kind = at < count ? item[at].text[NVT_V3_NAME] : 0;
    return at < count && operation < item[at].count ? operations[item[at].first + operation] : 0;
}

/* --- records --- */

/* 0, or 1: it has no times that are any, and is left out. */
static int times_of(struct rows *rows, const struct nvt_v3_item *record, int64_t *start,
                    int64_t *end)
{
    const uint64_t from = nvt_v3_get(record, NVT_V3_START, UINT64_MAX),
                   to = nvt_v3_get(record, NVT_V3_END, UINT64_MAX);
    *start = (int64_t)(from & INT64_MAX);
    *end = (int64_t)(to & INT64_MAX);
    if (from <= to && to < UINT64_C(1) << 62)
        return 0;
    rows->file->untimed++;
    return 1;
}

static int add_call(struct rows *rows, const struct nvt_v3_item *record)
{
    uint32_t kind, count;
    const struct nvt_v3_item *messages = items(rows->file, NVT_V3_MESSAGES, &count);
    struct nvt_api call = {.correlation = nvt_v3_get(record, NVT_V3_CORRELATION, 0)};
    if (times_of(rows, record, &call.start, &call.end))
        return 0;
    const uint32_t message = nvt_map_get(&rows->messages, call.correlation);
    call.thread = thread_of(rows, record);
    call.name = names_of(rows, record, &kind);
    return call.thread == NVT_NONE
               ? -1
               : nvt_rocm_add_call(rows->trace, &call, nvt_name(rows->trace, kind),
                                   message == NVT_MAP_NONE ? 0
                                                           : messages[message].text[NVT_V3_NAME]);
}

/* What kernels and copies have alike. 0; 1: it is left out; -1 when out of memory. */
static int begin_op(struct rows *rows, const struct nvt_v3_item *record, struct nvt_op *op)
{
    const unsigned stream = record->have >> NVT_V3_STREAM & 1 ? NVT_V3_STREAM : NVT_V3_QUEUE;
    *op = (struct nvt_op){.process = rows->process,
                          .stream = (uint32_t)(nvt_v3_get(record, stream, 0) & INT32_MAX),
                          .correlation = nvt_v3_get(record, NVT_V3_CORRELATION, 0),
                          .thread = NVT_NONE,
                          .launch = INT64_MIN,
                          .detail = NVT_NONE};
    if (times_of(rows, record, &op->start, &op->end))
        return 1;
    if (record->have >> NVT_V3_THREAD & 1 && nvt_v3_get(record, NVT_V3_THREAD, 0)) {
        op->thread = thread_of(rows, record);
        return op->thread == NVT_NONE ? -1 : 0;
    }
    return 0;
}

static int name_kernel(struct rows *rows, const struct nvt_v3_item *symbol, struct nvt_op *op)
{
    for (int i = NVT_V3_MANGLED; symbol && i < NVT_V3_TEXTS; i++)
        op->name = symbol->text[i] ? symbol->text[i] : op->name;
    op->short_name = op->name ? nvt_rocm_short_name(rows->trace, op->name) : 0;
    return op->short_name == NVT_NO_STRING ? -1 : 0;
}

static int add_kernel(struct rows *rows, const struct nvt_v3_item *record, struct nvt_op *op)
{
    uint32_t count;
    const struct nvt_v3_item *symbols = items(rows->file, NVT_V3_SYMBOLS, &count);
    const uint32_t at = nvt_map_get(&rows->symbols, nvt_v3_get(record, NVT_V3_KERNEL, UINT64_MAX));
    const struct nvt_v3_item *symbol = at == NVT_MAP_NONE ? NULL : &symbols[at];
    const struct nvt_rocm_agent *agent = agent_of(rows, record, NVT_V3_AGENT);
    uint32_t group[3], grid[3];
    const int status = begin_op(rows, record, op);
    if (status)
        return status < 0 ? -1 : 0;
    for (unsigned i = 0; i < 3; i++) {
        group[i] = small(record, NVT_V3_GROUP + i);
        grid[i] = nvt_rocm_blocks(small(record, NVT_V3_GRID + i), group[i]);
    }
    const struct nvt_kernel shape = {
        .grid_x = grid[0],
        .grid_y = grid[1],
        .grid_z = grid[2],
        .block_x = group[0],
        .block_y = group[1],
        .block_z = group[2],
        .registers = small(symbol && symbol->have >> NVT_V3_REGISTERS & 1 ? symbol : record,
                           NVT_V3_REGISTERS),
        .static_shared = small(record, NVT_V3_LDS)};
    op->kind = NVT_OP_KERNEL;
    op->device = agent ? agent->device : 0;
    op->detail = nvt_trace_kernel(rows->trace, &shape);
    if (name_kernel(rows, symbol, op) || op->detail == NVT_NONE)
        return -1;
    const uint32_t row = nvt_op_add(rows->trace, op);
    return row == NVT_NONE ||
                   nvt_map_set(&rows->dispatches, nvt_v3_get(record, NVT_V3_DISPATCH, 0), row)
               ? -1
               : 0;
}

static int add_copy(struct rows *rows, const struct nvt_v3_item *record)
{
    struct nvt_op op;
    const int status = begin_op(rows, record, &op);
    if (status)
        return status < 0 ? -1 : 0;
    op.bytes = nvt_reader_size(nvt_v3_get(record, NVT_V3_BYTES, 0));
    return nvt_rocm_add_copy(rows->trace, &op, agent_of(rows, record, NVT_V3_SOURCE),
                             agent_of(rows, record, NVT_V3_TARGET));
}

static int add_allocation(struct rows *rows, const struct nvt_v3_item *record)
{
    uint32_t kind;
    int64_t start;
    struct nvt_memory_event event = {.process = rows->process,
                                     .address = nvt_v3_get(record, NVT_V3_ADDRESS, 0),
                                     .bytes = nvt_v3_get(record, NVT_V3_BYTES, 0)};
    if (times_of(rows, record, &start, &event.time))
        return 0;
    const char *name = nvt_name(rows->trace, names_of(rows, record, &kind));
    event.kind = strstr(name, "FREE") ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC;
    event.source = nvt_strings_add_text(rows->trace->strings, "HSA");
    event.thread = thread_of(rows, record);
    return event.source == NVT_NO_STRING || event.thread == NVT_NONE
               ? -1
               : nvt_rocm_add_memory(rows->trace, &rows->sizes, &event,
                                     agent_of(rows, record, NVT_V3_AGENT));
}

/* --- counters --- */

/* A counter has a value for each of its instances, as shader engines are: their sum is the kernel's. */
static int add_values(struct rows *rows, const struct nvt_v3_item *record, uint32_t number,
                      const struct nvt_op *op)
{
    uint32_t count;
    if (!record->count) /* a file may have no values at all, and no memory for them */
        return 0;
    const struct nvt_v3_item *counters = items(rows->file, NVT_V3_COUNTERS, &count);
    const struct nvt_v3_value *value =
        (const struct nvt_v3_value *)(const void *)rows->file->values.data + record->first;
    for (uint32_t i = 0; i < record->count; i++) {
        const uint32_t at = nvt_map_get(&rows->names, value[i].counter);
        if (at == NVT_MAP_NONE)
            continue;
        rows->sums[at] = (rows->sums_of[at] == number ? rows->sums[at] : 0) + value[i].value;
        rows->sums_of[at] = number;
    }
    for (uint32_t i = 0; i < record->count; i++) {
        const uint32_t at = nvt_map_get(&rows->names, value[i].counter);
        if (at == NVT_MAP_NONE || rows->sums_of[at] != number)
            continue;
        rows->sums_of[at] = 0;
        if (nvt_rocm_add_value(rows->trace, &rows->counters, op, counters[at].text[NVT_V3_NAME],
                               rows->sums[at]))
            return -1;
    }
    return 0;
}

/* Without a trace of kernels, those that were counted are the ones that are known. */
static int add_counts(struct rows *rows, const struct nvt_v3_item *record, uint32_t number)
{
    const uint64_t dispatch = nvt_v3_get(record, NVT_V3_DISPATCH, 0);
    struct nvt_op op = {0};
    if (nvt_map_get(&rows->dispatches, dispatch) == NVT_MAP_NONE && add_kernel(rows, record, &op))
        return -1;
    const uint32_t row = nvt_map_get(&rows->dispatches, dispatch);
    if (row == NVT_MAP_NONE)
        return 0;
    op.end = rows->trace->ops.end[row];
    op.device = rows->trace->ops.device[row];
    op.process = rows->process;
    op.thread = rows->trace->ops.thread[row];
    return add_values(rows, record, number, &op);
}

static int add_record(struct rows *rows, enum nvt_v3_list list, const struct nvt_v3_item *record,
                      uint32_t number)
{
    struct nvt_op op;
    return list == NVT_V3_CALLS         ? add_call(rows, record)
           : list == NVT_V3_KERNELS     ? add_kernel(rows, record, &op)
           : list == NVT_V3_COPIES      ? add_copy(rows, record)
           : list == NVT_V3_ALLOCATIONS ? add_allocation(rows, record)
                                        : add_counts(rows, record, number);
}

static void forget(struct nvt_v3 *file)
{
    for (size_t i = 0; i < NVT_COUNT_OF(file->lists); i++)
        file->lists[i].size = 0;
    file->operations.size = file->values.size = 0;
    file->pid = 0;
    file->command = 0;
}

int nvt_v3_add(struct nvt_v3 *file)
{
    struct rows rows = {.file = file, .trace = file->trace};
    int status = index_process(&rows);
    for (unsigned list = NVT_V3_CALLS; list < NVT_V3_LISTS && !status; list++) {
        uint32_t count;
        const struct nvt_v3_item *record = items(file, list, &count);
        for (uint32_t i = 0; i < count && !status; i++)
            status = add_record(&rows, list, &record[i], i + 1);
    }
    struct nvt_map *const maps[] = {&rows.agents,  &rows.symbols,    &rows.names, &rows.messages,
                                    &rows.threads, &rows.dispatches, &rows.sizes, &rows.counters};
    for (size_t i = 0; i < NVT_COUNT_OF(maps); i++)
        nvt_map_free(maps[i]);
    free(rows.agent);
    free(rows.sums_of);
    free(rows.sums);
    forget(file);
    return status;
}

void nvt_v3_free(struct nvt_v3 *file)
{
    for (size_t i = 0; i < NVT_COUNT_OF(file->lists); i++)
        nvt_buffer_free(&file->lists[i]);
    nvt_buffer_free(&file->operations);
    nvt_buffer_free(&file->values);
}
