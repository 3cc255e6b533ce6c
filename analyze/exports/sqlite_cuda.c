#ifdef HAVE_SQLITE
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"
#include "export.h"
#include "sqlite.h"

/* CUpti_ActivityMemoryKind to ENUM_CUDA_MEM_KIND: CUPTI counts from unknown, nsys from pageable. */
static int64_t memory_kind(uint8_t kind)
{
    return kind > NVT_KIND_UNKNOWN && kind < NVT_KINDS ? kind - 1 : NVT_KINDS - 1;
}

/* --- calls --- */

/* callchainId: of the stack of who called, whose id is this number (sqlite_stacks.c). */
static void put_chain(struct nvt_sql *sql, uint32_t frame)
{
    if (frame)
        nvt_sql_int(sql, frame);
    else
        nvt_sql_null(sql);
}

static int put_sqlite_cuda_calls(struct nvt_sql *sql)
{
    const struct nvt_apis *apis = &sql->trace->apis;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_RUNTIME", 8))
        return -1;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (!nvt_is_cuda_call(apis, i))
            continue;
        nvt_sql_int(sql, apis->start[i]);
        nvt_sql_int(sql, apis->end[i]);
        nvt_sql_int(sql, apis->class[i] == NVT_API_DRIVER);
        nvt_sql_thread(sql, apis->thread[i]);
        nvt_sql_int(sql, (int64_t)apis->correlation[i]);
        nvt_sql_string(sql, apis->name[i]);
        nvt_sql_int(sql, apis->result[i]);
        put_chain(sql, apis->frame[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_library_calls(struct nvt_sql *sql)
{
    const struct nvt_apis *apis = &sql->trace->apis;
    if (nvt_sql_prepare(sql, "CUBLAS_EVENTS", 5))
        return -1;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (nvt_is_cuda_call(apis, i))
            continue;
        nvt_sql_int(sql, apis->start[i]);
        nvt_sql_int(sql, apis->end[i]);
        nvt_sql_int(sql, 29);
        nvt_sql_thread(sql, apis->thread[i]);
        nvt_sql_string(sql, apis->name[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_os_calls(struct nvt_sql *sql)
{
    const struct nvt_os_calls *calls = &sql->trace->os_calls;
    if (nvt_sql_prepare(sql, "OSRT_API", 9))
        return -1;
    for (uint32_t i = 0; i < calls->count; i++) {
        nvt_sql_int(sql, calls->start[i]);
        nvt_sql_int(sql, calls->end[i]);
        nvt_sql_int(sql, NVT_EXPORT_OS_CALL);
        nvt_sql_thread(sql, calls->thread[i]);
        nvt_sql_null(sql);
        nvt_sql_string(sql, calls->name[i]);
        nvt_sql_int(sql, calls->result[i]);
        nvt_sql_null(sql);
        put_chain(sql, calls->frame[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
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

static int put_launches(struct nvt_sql *sql)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_RUNTIME", 8))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (!needs_launch(ops, i))
            continue;
        nvt_sql_int(sql, ops->launch[i]);
        nvt_sql_int(sql, ops->launch[i]);
        nvt_sql_int(sql, 0);
        nvt_sql_thread(sql, ops->thread[i]);
        nvt_sql_int(sql, correlation(sql, i));
        nvt_sql_int(sql, sql->string_count);
        sql->has_launches = 1;
        nvt_sql_int(sql, 0);
        nvt_sql_null(sql);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

/* --- device operations --- */

/* start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid. */
static void put_sqlite_cuda_op(struct nvt_sql *sql, uint32_t op)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    nvt_sql_int(sql, ops->start[op]);
    nvt_sql_int(sql, ops->end[op]);
    nvt_sql_int(sql, ops->device[op]);
    nvt_sql_int(sql, ops->context[op]);
    nvt_sql_null(sql);
    nvt_sql_int(sql, ops->stream[op]);
    nvt_sql_int(sql, correlation(sql, op));
    nvt_sql_process(sql, ops->process[op]);
}

static void put_shape(struct nvt_sql *sql, const struct nvt_kernels *kernels, uint32_t at)
{
    const uint32_t shape[] = {
        kernels->registers[at], kernels->grid_x[at],        kernels->grid_y[at],
        kernels->grid_z[at],    kernels->block_x[at],       kernels->block_y[at],
        kernels->block_z[at],   kernels->static_shared[at], kernels->dynamic_shared[at]};
    for (size_t i = 0; i < NVT_COUNT_OF(shape); i++)
        nvt_sql_int(sql, shape[i]);
    nvt_sql_int(sql, 0); /* localMemoryPerThread */
    nvt_sql_int(sql, (int64_t)kernels->local_memory[at]);
    nvt_sql_int(sql, 0);
    nvt_sql_null(sql);
    if (kernels->graph_node[at])
        nvt_sql_int(sql, (int64_t)kernels->graph_node[at]);
    else
        nvt_sql_null(sql);
    nvt_sql_null(sql);
    if (kernels->graph[at])
        nvt_sql_int(sql, (int64_t)kernels->graph[at]);
    else
        nvt_sql_null(sql);
}

/* Whether an operation is a CUDA graph that was recorded as a whole, which has a table of its own. */
static int is_graph(const struct nvt_trace *trace, uint32_t op)
{
    return trace->ops.kind[op] == NVT_OP_KERNEL && trace->ops.detail[op] != NVT_NONE &&
           nvt_is_graph_name(nvt_name(trace, trace->ops.name[op]));
}

static int put_graphs(struct nvt_sql *sql)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 10))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (!is_graph(sql->trace, i))
            continue;
        int64_t graph = (int64_t)sql->trace->kernels.graph[ops->detail[i]];
        put_sqlite_cuda_op(sql, i);
        nvt_sql_int(sql, graph);
        nvt_sql_int(sql, graph);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_kernels(struct nvt_sql *sql)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_KERNEL", 29))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_KERNEL || is_graph(sql->trace, i))
            continue;
        put_sqlite_cuda_op(sql, i);
        nvt_sql_string(sql, ops->name[i]);
        nvt_sql_string(sql, ops->short_name[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, 1);
        nvt_sql_null(sql);
        if (ops->detail[i] != NVT_NONE)
            put_shape(sql, &sql->trace->kernels, ops->detail[i]);
        else
            for (int column = 0; column < 16; column++)
                nvt_sql_int(sql, 0);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

/* migrationCause, graphNodeId, virtualAddress, copyCount: the first and the third of pages that the driver moved. */
static void put_migration(struct nvt_sql *sql, uint32_t op)
{
    const struct nvt_migrations *migrations = &sql->trace->migrations;
    uint32_t row = sql->trace->ops.detail[op];
    int is_one = row < migrations->count;
    if (is_one)
        nvt_sql_int(sql, migrations->cause[row]);
    else
        nvt_sql_null(sql);
    nvt_sql_null(sql);
    if (is_one && migrations->address[row])
        nvt_sql_int(sql, (int64_t)migrations->address[row]);
    else
        nvt_sql_null(sql);
    nvt_sql_null(sql);
}

static int put_copies(struct nvt_sql *sql)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_MEMCPY", 21))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_MEMCPY)
            continue;
        put_sqlite_cuda_op(sql, i);
        nvt_sql_int(sql, (int64_t)ops->bytes[i]);
        nvt_sql_int(sql, ops->copy_kind[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, memory_kind(ops->source_kind[i]));
        nvt_sql_int(sql, memory_kind(ops->target_kind[i]));
        for (int column = 0; column < 4; column++)
            nvt_sql_null(sql);
        put_migration(sql, i);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_sets(struct nvt_sql *sql)
{
    const struct nvt_ops *ops = &sql->trace->ops;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_MEMSET", 12))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_MEMSET)
            continue;
        put_sqlite_cuda_op(sql, i);
        nvt_sql_int(sql, 0); /* the value is not in the model */
        nvt_sql_int(sql, (int64_t)ops->bytes[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, memory_kind(ops->target_kind[i]));
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

static int put_syncs(struct nvt_sql *sql)
{
    const struct nvt_syncs *syncs = &sql->trace->syncs;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 12))
        return -1;
    for (uint32_t i = 0; i < syncs->count; i++) {
        nvt_sql_int(sql, syncs->start[i]);
        nvt_sql_int(sql, syncs->end[i]);
        nvt_sql_int(sql, syncs->device[i]);
        nvt_sql_int(sql, syncs->context[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, syncs->stream[i]);
        nvt_sql_int(sql, (int64_t)syncs->correlation[i]);
        nvt_sql_process(sql, syncs->process[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, syncs->type[i]);
        nvt_sql_int(sql, 0);
        if (syncs->recorded[i])
            nvt_sql_int(sql, (int64_t)syncs->recorded[i]);
        else
            nvt_sql_null(sql);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

/* The calls that recorded what syncs wait for, once for each of these; their number is the link. When the event was
 * complete is not in the model. */
static int put_events(struct nvt_sql *sql)
{
    const struct nvt_syncs *syncs = &sql->trace->syncs;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", 9))
        return -1;
    for (uint32_t i = 0; i < syncs->count; i++) {
        if (!syncs->recorded[i])
            continue;
        nvt_sql_null(sql);
        nvt_sql_int(sql, syncs->device[i]);
        nvt_sql_int(sql, syncs->context[i]);
        nvt_sql_null(sql);
        nvt_sql_int(sql, syncs->recorded_stream[i]);
        nvt_sql_int(sql, (int64_t)syncs->recorded[i]);
        nvt_sql_process(sql, syncs->process[i]);
        nvt_sql_int(sql, 0);
        nvt_sql_int(sql, (int64_t)syncs->recorded[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
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

static int put_sqlite_cuda_memory(struct nvt_sql *sql)
{
    const struct nvt_memory *memory = &sql->trace->memory;
    if (nvt_sql_prepare(sql, "CUDA_GPU_MEMORY_USAGE_EVENTS", 19))
        return -1;
    for (uint32_t i = 0; i < memory->count; i++) {
        nvt_sql_int(sql, memory->time[i]);
        nvt_sql_process(sql, memory->process[i]);
        nvt_sql_int(sql, memory->device[i] == NVT_NONE ? 0 : memory->device[i]);
        nvt_sql_int(sql, 0);
        nvt_sql_int(sql, (int64_t)memory->address[i]);
        nvt_sql_int(sql, 0);
        nvt_sql_int(sql, (int64_t)memory->bytes[i]);
        nvt_sql_int(sql, source_kind(sql, i));
        nvt_sql_int(sql, memory->kind[i] == NVT_MEMORY_FREE);
        nvt_sql_name(sql, memory->source[i]);
        for (int column = 0; column < 4; column++)
            nvt_sql_null(sql);
        nvt_sql_bytes(sql, memory->reserved[i]);
        nvt_sql_bytes(sql, memory->allocated[i]);
        nvt_sql_null(sql);
        nvt_sql_null(sql);
        nvt_sql_thread(sql, memory->thread[i]);
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

/* ENUM_NSYS_EVENT_CLASS of what CUPTI says of its own time. */
enum { OVERHEAD_CLASS = 103 };

static int put_overheads(struct nvt_sql *sql)
{
    const struct nvt_overheads *overheads = &sql->trace->overheads;
    if (nvt_sql_prepare(sql, "CUPTI_ACTIVITY_KIND_OVERHEAD", 7))
        return -1;
    for (uint32_t i = 0; i < overheads->count; i++) {
        nvt_sql_int(sql, overheads->start[i]);
        nvt_sql_int(sql, overheads->end[i]);
        nvt_sql_int(sql, OVERHEAD_CLASS);
        if (overheads->thread[i] == NVT_NONE)
            nvt_sql_process(sql, overheads->process[i]);
        else
            nvt_sql_thread(sql, overheads->thread[i]);
        nvt_sql_null(sql);
        nvt_sql_string(sql, overheads->name[i]);
        nvt_sql_int(sql, nvt_overhead_type(nvt_name(sql->trace, overheads->name[i])));
        if (nvt_sql_row(sql))
            return -1;
    }
    return 0;
}

int nvt_sql_cuda(struct nvt_sql *sql)
{
    return put_sqlite_cuda_calls(sql) || put_launches(sql) || put_library_calls(sql) ||
                   put_os_calls(sql) || put_kernels(sql) || put_graphs(sql) || put_copies(sql) ||
                   put_sets(sql) || put_syncs(sql) || put_events(sql) ||
                   put_sqlite_cuda_memory(sql) || put_overheads(sql)
               ? -1
               : 0;
}
#endif
