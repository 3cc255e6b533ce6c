#ifdef HAVE_SQLITE
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"
#include "../model/sequences.h"
#include "export.h"
#include "sqlite.h"

/* CUpti_ActivityMemoryKind to ENUM_CUDA_MEM_KIND: CUPTI counts from unknown, nsys from pageable. */
static int64_t memory_kind(uint8_t kind)
{
    return kind > NVT_KIND_UNKNOWN && kind < NVT_KINDS ? kind - 1 : NVT_KINDS - 1;
}

/* --- calls --- */

/* callchainId: of the stack of who called, whose id is this number (sqlite_stacks.c). */
static struct nvt_cell chain(uint32_t frame)
{
    return NVT_IF(frame, frame);
}

static int put_call(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_apis *apis = &sql->trace->apis;
    if (!nvt_is_cuda_call(apis, i))
        return 0;
    return nvt_sql_put(sql, apis->start[i], apis->end[i], apis->class[i] == NVT_API_DRIVER,
                       nvt_sql_thread(sql, apis->thread[i]), apis->correlation[i],
                       nvt_sql_string(sql, apis->name[i]), apis->result[i], chain(apis->frame[i]));
}

static int put_library_call(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_apis *apis = &sql->trace->apis;
    if (nvt_is_cuda_call(apis, i))
        return 0;
    return nvt_sql_put(sql, apis->start[i], apis->end[i], 29, nvt_sql_thread(sql, apis->thread[i]),
                       nvt_sql_string(sql, apis->name[i]));
}

static int put_os_call(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_os_calls *calls = &sql->trace->os_calls;
    return nvt_sql_put(sql, calls->start[i], calls->end[i], NVT_EXPORT_OS_CALL,
                       nvt_sql_thread(sql, calls->thread[i]), NVT_NULL,
                       nvt_sql_string(sql, calls->name[i]), calls->result[i], NVT_NULL,
                       chain(calls->frame[i]));
}

/* Whether an operation's launch is known, but not by a recorded call. */
static int needs_launch(const struct nvt_ops *ops, uint32_t op)
{
    return ops->api[op] == NVT_NONE && ops->thread[op] != NVT_NONE && ops->launch[op] != INT64_MIN;
}

/* Such an operation's call must be found by a number of its own. */
static int64_t correlation(const struct nvt_sql *sql, uint32_t op)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (!needs_launch(ops, op) || ops->correlation[op])
        return (int64_t)ops->correlation[op];
    return (int64_t)NVT_EXPORT_CORRELATION + op;
}

static int put_launch(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (!needs_launch(ops, i))
        return 0;
    sql->has_launches = 1;
    return nvt_sql_put(sql, ops->launch[i], ops->launch[i], 0, nvt_sql_thread(sql, ops->thread[i]),
                       correlation(sql, i), sql->string_count, 0, NVT_NULL);
}

/* --- device operations --- */

/* start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid. */
static void put_op(struct nvt_sql *sql, uint32_t op)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    nvt_sql_more(sql, ops->start[op], ops->end[op], ops->device[op], ops->context[op], NVT_NULL,
                 ops->stream[op], correlation(sql, op), nvt_sql_process(sql, ops->process[op]));
}

/* What kernels that communicate say of their messages; a size is null where it is unknown. */
static int put_collective(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_collectives *rows = &sql->trace->collectives;
    nvt_sql_more(sql, i + 1);
    nvt_sql_name(sql, rows->name[i]);
    nvt_sql_name(sql, rows->type[i]);
    nvt_sql_name(sql, rows->group[i]);
    nvt_sql_name(sql, rows->purpose[i]);
    nvt_sql_name(sql, rows->members[i]);
    return nvt_sql_put(sql, NVT_IF(rows->ranks[i], rows->ranks[i]), rows->given[i], rows->taken[i],
                       NVT_IF(rows->peer[i], rows->peer[i] - 1));
}

/* The last cells of a kernel: which collective it is, and which of its group's. */
static int put_message(struct nvt_sql *sql, uint32_t op)
{
    const uint32_t detail = sql->trace->ops.detail[op];
    const uint32_t row = detail == NVT_NONE ? 0 : sql->trace->kernels.collective[detail];
    const uint64_t number = nvt_sequence_of(&sql->sequences, sql->trace, op);
    return nvt_sql_put(sql, NVT_IF(row, row), NVT_IF(number <= INT64_MAX, (int64_t)number));
}

/* The columns of a kernel from registersPerThread on; nothing is known of localMemoryPerThread. */
static void put_shape(struct nvt_sql *sql, const struct nvt_kernels *kernels, uint32_t at)
{
    nvt_sql_more(sql, kernels->registers[at], kernels->grid_x[at], kernels->grid_y[at],
                 kernels->grid_z[at], kernels->block_x[at], kernels->block_y[at],
                 kernels->block_z[at], kernels->static_shared[at], kernels->dynamic_shared[at], 0,
                 kernels->local_memory[at], 0, NVT_NULL,
                 NVT_IF(kernels->graph_node[at], kernels->graph_node[at]), NVT_NULL,
                 NVT_IF(kernels->graph[at], kernels->graph[at]));
}

/* Whether an operation is a CUDA graph that was recorded as a whole, which has a table of its own. */
static int is_graph(const struct nvt_trace *trace, uint32_t op)
{
    return trace->ops.kind[op] == NVT_OP_KERNEL && trace->ops.detail[op] != NVT_NONE &&
           nvt_is_graph_name(nvt_name(trace, trace->ops.name[op]));
}

static int put_graph(struct nvt_sql *sql, uint32_t i)
{
    if (!is_graph(sql->trace, i))
        return 0;
    uint64_t graph = sql->trace->kernels.graph[sql->trace->ops.detail[i]];
    put_op(sql, i);
    return nvt_sql_put(sql, graph, graph);
}

static int put_kernel(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (ops->kind[i] != NVT_OP_KERNEL || is_graph(sql->trace, i))
        return 0;
    put_op(sql, i);
    nvt_sql_more(sql, nvt_sql_string(sql, ops->name[i]), nvt_sql_string(sql, ops->short_name[i]),
                 NVT_NULL, 1, NVT_NULL);
    if (ops->detail[i] != NVT_NONE)
        put_shape(sql, &sql->trace->kernels, ops->detail[i]);
    else
        nvt_sql_more(sql, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return put_message(sql, i);
}

/* Of pages that the driver moved the cause and the address are known. */
static int put_copy(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    const struct nvt_migrations *migrations = &sql->trace->migrations;
    const uint32_t row = ops->detail[i];
    if (ops->kind[i] != NVT_OP_MEMCPY)
        return 0;
    put_op(sql, i);
    return nvt_sql_put(
        sql, ops->bytes[i], ops->copy_kind[i], NVT_NULL, memory_kind(ops->source_kind[i]),
        memory_kind(ops->target_kind[i]), NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL,
        NVT_IF(row != NVT_NONE, migrations->cause[row]), NVT_NULL,
        NVT_IF(row != NVT_NONE && migrations->address[row], migrations->address[row]), NVT_NULL);
}

/* The value that is set is not in the model. */
static int put_set(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (ops->kind[i] != NVT_OP_MEMSET)
        return 0;
    put_op(sql, i);
    return nvt_sql_put(sql, 0, ops->bytes[i], NVT_NULL, memory_kind(ops->target_kind[i]));
}

static int put_sync(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_syncs *syncs = &sql->trace->syncs;
    return nvt_sql_put(sql, syncs->start[i], syncs->end[i], syncs->device[i], syncs->context[i],
                       NVT_NULL, syncs->stream[i], syncs->correlation[i],
                       nvt_sql_process(sql, syncs->process[i]), NVT_NULL, syncs->type[i], 0,
                       NVT_IF(syncs->recorded[i], syncs->recorded[i]));
}

/* The calls that recorded what syncs wait for, once for each of these; their number is the link. When the event was
 * complete is not in the model. */
static int put_event(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_syncs *syncs = &sql->trace->syncs;
    if (!syncs->recorded[i])
        return 0;
    return nvt_sql_put(sql, NVT_NULL, syncs->device[i], syncs->context[i], NVT_NULL,
                       syncs->recorded_stream[i], syncs->recorded[i],
                       nvt_sql_process(sql, syncs->process[i]), 0, syncs->recorded[i]);
}

/* --- memory and overhead --- */

/* What the source is called, as a kind of memory; host memory that is called otherwise counts as
 * pageable, device memory as such. */
static int64_t source_kind(const struct nvt_sql *sql, uint32_t event)
{
    const struct nvt_memory *memory = &sql->trace->memory;
    int on_host = memory->device[event] == NVT_NONE;
    const char *name = nvt_name(sql->trace, memory->source[event]);
    for (int kind = NVT_KIND_PAGEABLE; kind < NVT_KINDS; kind++)
        if (on_host == (kind <= NVT_KIND_PINNED) && !strcmp(name, nvt_memory_label((uint8_t)kind)))
            return memory_kind((uint8_t)kind);
    return memory_kind(on_host ? NVT_KIND_PAGEABLE : NVT_KIND_DEVICE);
}

static struct nvt_cell bytes_of(uint64_t bytes)
{
    return NVT_IF(bytes != UINT64_MAX, bytes);
}

static int put_memory(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_memory *memory = &sql->trace->memory;
    nvt_sql_more(sql, memory->time[i], nvt_sql_process(sql, memory->process[i]),
                 memory->device[i] == NVT_NONE ? 0 : memory->device[i], 0, memory->address[i], 0,
                 memory->bytes[i], source_kind(sql, i), memory->kind[i] == NVT_MEMORY_FREE);
    nvt_sql_name(sql, memory->source[i]);
    return nvt_sql_put(sql, NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL, bytes_of(memory->reserved[i]),
                       bytes_of(memory->allocated[i]), NVT_NULL, NVT_NULL,
                       nvt_sql_thread(sql, memory->thread[i]));
}

/* ENUM_NSYS_EVENT_CLASS of what CUPTI says of its own time. */
enum { OVERHEAD_CLASS = 103 };

static int put_overhead(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_overheads *overheads = &sql->trace->overheads;
    return nvt_sql_put(sql, overheads->start[i], overheads->end[i], OVERHEAD_CLASS,
                       overheads->thread[i] == NVT_NONE
                           ? nvt_sql_process(sql, overheads->process[i])
                           : nvt_sql_thread(sql, overheads->thread[i]),
                       NVT_NULL, nvt_sql_string(sql, overheads->name[i]),
                       nvt_overhead_type(nvt_name(sql->trace, overheads->name[i])));
}

int nvt_sql_cuda(struct nvt_sql *sql)
{
    const struct nvt_trace *trace = sql->trace;
    const struct {
        const char *table;
        int columns;
        uint32_t count;
        int (*put)(struct nvt_sql *sql, uint32_t item);
    } parts[] = {
        {"CUPTI_ACTIVITY_KIND_RUNTIME", 8, trace->apis.count, put_call},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", 8, trace->ops.count, put_launch},
        {"CUBLAS_EVENTS", 5, trace->apis.count, put_library_call},
        {"OSRT_API", 9, trace->os_calls.count, put_os_call},
        {"NVTALLY_COLLECTIVES", 10, trace->collectives.count, put_collective},
        {"CUPTI_ACTIVITY_KIND_KERNEL", 31, trace->ops.count, put_kernel},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 10, trace->ops.count, put_graph},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", 21, trace->ops.count, put_copy},
        {"CUPTI_ACTIVITY_KIND_MEMSET", 12, trace->ops.count, put_set},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 12, trace->syncs.count, put_sync},
        {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", 9, trace->syncs.count, put_event},
        {"CUDA_GPU_MEMORY_USAGE_EVENTS", 19, trace->memory.count, put_memory},
        {"CUPTI_ACTIVITY_KIND_OVERHEAD", 7, trace->overheads.count, put_overhead},
    };
    int status = nvt_sequences_map(&sql->sequences, trace)
                     ? nvt_fail_at(sql->err, sql->path, -1, "out of memory")
                     : 0;
    for (size_t i = 0; i < NVT_COUNT_OF(parts) && !status; i++)
        status = nvt_sql_rows(sql, parts[i].table, parts[i].columns, parts[i].count, parts[i].put);
    nvt_map_free(&sql->sequences);
    return status;
}
#endif
