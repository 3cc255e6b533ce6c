#include "../../lib/one_of.h"
#include "chrome_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/json.h"
#include "../model/call_stacks.h"
#include "../device/devices.h"
#include "../model/cuda_names.h"
#include "export.h"

static int put_chrome_args_name(struct nvt_buffer *text, const char *before, const char *name)
{
    return *name ? nvt_buffer_printf(text, "%s", before) || nvt_json_quote(text, name) : 0;
}

/* "[0,1]" in its quotes: of what a file may have there, what is in lists of ranks. */
static int put_members(struct nvt_buffer *text, const char *members)
{
    int failed = *members ? nvt_buffer_printf(text, ",\"Process Group Ranks\":\"[") : 0;
    for (const char *at = members; *at && !failed; at++)
        if (strchr("0123456789,.", *at))
            failed = nvt_buffer_append(text, at, 1);
    return failed || (*members && nvt_buffer_printf(text, "]\""));
}

static int put_collective(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t at)
{
    const struct nvt_collectives *rows = &trace->collectives;
    int failed =
        nvt_buffer_printf(text, ",\"Collective name\":") ||
        nvt_json_quote(text, nvt_name(trace, rows->name[at])) ||
        nvt_buffer_printf(text, ",\"In msg nelems\":%" PRIu64 ",\"Out msg nelems\":%" PRIu64,
                          rows->given[at], rows->taken[at]);
    if (rows->ranks[at])
        failed |= nvt_buffer_printf(text, ",\"Group size\":%" PRIu32, rows->ranks[at]);
    failed |= put_chrome_args_name(text, ",\"dtype\":", nvt_name(trace, rows->type[at]));
    failed |=
        put_chrome_args_name(text, ",\"Process Group Name\":", nvt_name(trace, rows->group[at]));
    failed |= put_chrome_args_name(
        text, ",\"Process Group Description\":", nvt_name(trace, rows->purpose[at]));
    failed |= put_members(text, nvt_name(trace, rows->members[at]));
    if (rows->peer[at])
        failed |= nvt_buffer_printf(text, ",\"%s Rank\":%" PRIu32,
                                    strstr(nvt_name(trace, rows->name[at]), "send") ? "Dst" : "Src",
                                    rows->peer[at] - 1);
    return failed;
}

static int put_kernel(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t kernel)
{
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t collective = kernels->collective[kernel];
    const uint64_t shared =
        (uint64_t)kernels->static_shared[kernel] + kernels->dynamic_shared[kernel];
    int failed = 0;
    if (kernels->grid_x[kernel])
        failed |= nvt_buffer_printf(text, ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
                                    kernels->grid_x[kernel], kernels->grid_y[kernel],
                                    kernels->grid_z[kernel]);
    if (kernels->block_x[kernel])
        failed |= nvt_buffer_printf(text, ",\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
                                    kernels->block_x[kernel], kernels->block_y[kernel],
                                    kernels->block_z[kernel]);
    if (kernels->registers[kernel])
        failed |= nvt_buffer_printf(text, ",\"registers per thread\":%" PRIu32,
                                    kernels->registers[kernel]);
    if (kernels->registers[kernel] || shared)
        failed |= nvt_buffer_printf(text, ",\"shared memory\":%" PRIu64, shared);
    if (kernels->graph[kernel])
        failed |= nvt_buffer_printf(text, ",\"graph id\":%" PRIu64 ",\"graph node id\":%" PRIu64,
                                    kernels->graph[kernel], kernels->graph_node[kernel]);
    if (collective && collective <= trace->collectives.count)
        failed |= put_collective(text, trace, collective - 1);
    return failed ? -1 : 0;
}

const char *nvt_chrome_way(uint8_t copy_kind)
{
    static const char *const ways[NVT_COPY_KINDS] = {
        "",     "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",
        "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"};
    return copy_kind < NVT_COPY_KINDS ? ways[copy_kind] : "";
}

uint32_t nvt_chrome_rank(const struct nvt_trace *trace)
{
    uint32_t rank = NVT_NONE;
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        uint32_t own = trace->processes.rank[i];
        if (own != NVT_NONE && rank != NVT_NONE && own != rank)
            return NVT_NONE;
        rank = own != NVT_NONE ? own : rank;
    }
    return rank;
}

int nvt_chrome_label(const struct nvt_trace *trace, uint32_t process, char *out, size_t size)
{
    *out = 0;
    if (process == NVT_NONE || trace->processes.rank[process] == NVT_NONE ||
        nvt_chrome_rank(trace) != NVT_NONE)
        return 0;
    snprintf(out, size, "rank %" PRIu32, trace->processes.rank[process]);
    return 1;
}

const char *nvt_chrome_device(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                              char *out, size_t size)
{
    const char *model = nvt_device_name(trace, process, device);
    char label[32];
    const int is_labelled = nvt_chrome_label(trace, process, label, sizeof(label));
    snprintf(out, size, "GPU %" PRIu32 "%s%.150s (of %s%sprocess %" PRId64 ")", device,
             *model ? ": " : "", model, label, is_labelled ? ", " : "",
             process == NVT_NONE ? 0 : trace->processes.pid[process]);
    return out;
}

/* ,"stack":["usleep","wait","main"]; nothing where there is none. */
static int put_stack(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t frame)
{
    uint32_t rows[NVT_CALL_STACK_MOST], count = nvt_call_stack(trace, frame, rows);
    int failed = 0;
    for (uint32_t i = 0; i < count && !failed; i++)
        failed = nvt_buffer_printf(text, i ? "," : ",\"stack\":[") ||
                 nvt_json_quote(text, nvt_name(trace, trace->call_frames.name[rows[i]]));
    return failed || (count && nvt_buffer_printf(text, "]"));
}

int nvt_chrome_call(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call)
{
    static const char *const categories[] = {"cuda_runtime", "cuda_driver", "library", "call"};
    const struct nvt_apis *apis = &trace->apis;
    uint8_t class = apis->class[call];
    int failed =
        nvt_buffer_printf(text, ",\"cat\":\"%s\",\"name\":",
                          categories[class <= NVT_API_OTHER ? class : NVT_API_OTHER]) ||
        nvt_json_quote(text, nvt_name(trace, apis->name[call])) ||
        nvt_buffer_printf(text, ",\"args\":{\"correlation\":%" PRIu64 ",\"result\":%" PRId32,
                          apis->correlation[call], apis->result[call]) ||
        put_stack(text, trace, apis->frame[call]);
    return failed || nvt_buffer_printf(text, "}") ? -1 : 0;
}

int nvt_chrome_os(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    int failed = nvt_buffer_printf(text, ",\"cat\":\"os_runtime\",\"name\":") ||
                 nvt_json_quote(text, nvt_name(trace, calls->name[call])) ||
                 nvt_buffer_printf(text, ",\"args\":{\"result\":%" PRId64, calls->result[call]);
    failed |= put_chrome_args_name(text, ",\"file\":", nvt_name(trace, calls->file[call]));
    if (calls->address[call])
        failed |= nvt_buffer_printf(text, ",\"address\":\"0x%" PRIx64 "\"", calls->address[call]);
    failed |= put_chrome_args_name(text, ",\"caller\":", nvt_name(trace, calls->caller[call]));
    if (calls->bytes[call])
        failed |= nvt_buffer_printf(text, ",\"bytes\":%" PRIu64, calls->bytes[call]);
    if (calls->flags[call] & NVT_RANGE_UNCLOSED)
        failed |= nvt_buffer_printf(text, ",\"unclosed\":1");
    failed |= put_stack(text, trace, calls->frame[call]);
    return failed || nvt_buffer_printf(text, "}") ? -1 : 0;
}

int nvt_chrome_mpi(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    int is_collective = calls->kind[call] == NVT_MPI_COLLECTIVE;
    int failed = nvt_buffer_printf(text, ",\"cat\":\"" NVT_EXPORT_MPI "\",\"name\":") ||
                 nvt_json_quote(text, nvt_name(trace, calls->name[call])) ||
                 nvt_buffer_printf(text, ",\"args\":{\"communicator\":\"0x%" PRIx64 "\"",
                                   calls->communicator[call]);
    if (calls->peer[call] != NVT_MPI_NONE)
        failed |= nvt_buffer_printf(text, ",\"%s\":%" PRId32, is_collective ? "root" : "peer",
                                    calls->peer[call]);
    if (calls->tag[call] != NVT_MPI_NONE)
        failed |= nvt_buffer_printf(text, ",\"tag\":%" PRId32, calls->tag[call]);
    if (calls->sent[call] != UINT64_MAX)
        failed |= nvt_buffer_printf(text, ",\"bytes sent\":%" PRIu64, calls->sent[call]);
    if (calls->received[call] != UINT64_MAX)
        failed |= nvt_buffer_printf(text, ",\"bytes received\":%" PRIu64, calls->received[call]);
    return failed || nvt_buffer_printf(text, "}") ? -1 : 0;
}

int nvt_chrome_um_lasts(const struct nvt_trace *trace, uint32_t event)
{
    return trace->um_events.kind[event] == NVT_UM_GPU_FAULT ||
           trace->um_events.kind[event] == NVT_UM_THROTTLING;
}

int nvt_chrome_um(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t event)
{
    const struct nvt_um_events *events = &trace->um_events;
    uint8_t kind = events->kind[event], reason = events->reason[event];
    int failed = nvt_buffer_printf(text,
                                   ",\"cat\":\"" NVT_EXPORT_UM
                                   "\",\"name\":\"%s\",\"args\":{\"address\":\"0x%" PRIx64 "\"",
                                   nvt_um_label(kind), events->address[event]);
    if (events->faults[event])
        failed |= nvt_buffer_printf(text, ",\"faults\":%" PRIu64, events->faults[event]);
    if (events->bytes[event])
        failed |= nvt_buffer_printf(text, ",\"bytes\":%" PRIu64, events->bytes[event]);
    if (kind == NVT_UM_REMOTE_MAP)
        failed |= nvt_buffer_printf(text, ",\"cause\":\"%s\"", nvt_um_map_label(reason));
    else if (reason)
        failed |= nvt_buffer_printf(text, ",\"access\":\"%s\"", nvt_um_access_label(reason));
    failed |= put_chrome_args_name(
        text, ",\"instruction\":", nvt_name(trace, events->instruction[event]));
    failed |= put_chrome_args_name(text, ",\"module\":", nvt_name(trace, events->module[event]));
    failed |= put_chrome_args_name(text, ",\"source\":", nvt_name(trace, events->source[event]));
    if (events->line[event])
        failed |= nvt_buffer_printf(text, ",\"line\":%" PRIu32, events->line[event]);
    return failed || nvt_buffer_printf(text, "}") ? -1 : 0;
}

static int put_migration(struct nvt_buffer *text, const struct nvt_trace *trace, uint32_t op)
{
    uint32_t row = trace->ops.detail[op];
    if (trace->ops.kind[op] != NVT_OP_MEMCPY || row == NVT_NONE)
        return 0;
    return nvt_buffer_printf(
        text, ",\"migration\":\"%s\",\"address\":\"0x%" PRIx64 "\",\"cause\":\"%s\"",
        nvt_copy_label(trace->ops.copy_kind[op]), trace->migrations.address[row],
        nvt_um_move_label(trace->migrations.cause[row]));
}

int nvt_chrome_op(struct nvt_buffer *text, const struct nvt_trace *trace,
                  const struct nvt_map *sequences, uint32_t op)
{
    const struct nvt_ops *ops = &trace->ops;
    const uint64_t number = nvt_sequence_of(sequences, trace, op);
    int failed = put_migration(text, trace, op);
    if (ops->bytes[op])
        failed |= nvt_buffer_printf(text, ",\"bytes\":%" PRIu64, ops->bytes[op]);
    if (ops->kind[op] == NVT_OP_KERNEL && ops->detail[op] != NVT_NONE)
        failed |= put_kernel(text, trace, ops->detail[op]);
    if (ops->kind[op] == NVT_OP_KERNEL && number != UINT64_MAX)
        failed |= nvt_buffer_printf(text, ",\"Seq\":%" PRIu64, number);
    return failed ? -1 : 0;
}

int nvt_chrome_is_taken(const char *category)
{
    static const char *const taken[] = {
        "kernel",          "gpu_memcpy",          "gpu_memset",   "cuda_runtime",
        "cuda_driver",     "cuda_sync",           "overhead",     "Trace",
        "user_annotation", "gpu_user_annotation", "nvtx",         NVT_EXPORT_UM,
        NVT_EXPORT_MEMORY, NVT_EXPORT_MACHINE,    NVT_EXPORT_MPI, NVT_EXPORT_PROCESS,
        NVT_EXPORT_PATH,
    };
    return NVT_IS_ONE_OF(category, taken);
}
