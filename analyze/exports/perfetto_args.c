/* What the export to Perfetto's binary traces says of each slice: the words of PyTorch's profiles, as the other export does. */
#include "perfetto.h"

#include <inttypes.h>
#include <string.h>

#include "../model/cuda_names.h"
#include "../model/interchange.h"
#include "../model/sequences.h"
#include "chrome_args.h"

/* --- annotations --- */

static void put_number(struct nvt_pf *pf, const char *name, int64_t value)
{
    nvt_proto_number(&pf->inner, 1, nvt_pf_intern(pf, NVT_PF_ANNOTATION, name));
    nvt_proto_number(&pf->inner, value < 0 ? 4 : 3, (uint64_t)value);
    nvt_proto_message(&pf->event, 4, &pf->inner);
}

/* Nothing where there is none: zero of what starts at one. */
static void put_if(struct nvt_pf *pf, const char *name, uint64_t value)
{
    if (value)
        put_number(pf, name, (int64_t)value);
}

static void put_text(struct nvt_pf *pf, const char *name, const char *text)
{
    if (!*text)
        return;
    nvt_proto_number(&pf->inner, 1, nvt_pf_intern(pf, NVT_PF_ANNOTATION, name));
    nvt_proto_number(&pf->inner, 17, nvt_pf_intern(pf, NVT_PF_TEXT, text));
    nvt_proto_message(&pf->event, 4, &pf->inner);
}

static void put_address(struct nvt_pf *pf, const char *name, uint64_t address)
{
    if (!address)
        return;
    nvt_proto_number(&pf->inner, 1, nvt_pf_intern(pf, NVT_PF_ANNOTATION, name));
    nvt_proto_number(&pf->inner, 7, address);
    nvt_proto_message(&pf->event, 4, &pf->inner);
}

static void put_sizes(struct nvt_pf *pf, const char *name, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t sizes[] = {x, y, z};
    nvt_proto_number(&pf->inner, 1, nvt_pf_intern(pf, NVT_PF_ANNOTATION, name));
    for (int i = 0; i < 3; i++) {
        nvt_proto_number(&pf->deep, 3, sizes[i]);
        nvt_proto_message(&pf->inner, 12, &pf->deep);
    }
    nvt_proto_message(&pf->event, 4, &pf->inner);
}

static void put_name(struct nvt_pf *pf, const char *category, const char *name)
{
    if (*name)
        nvt_proto_number(&pf->event, 10, nvt_pf_intern(pf, NVT_PF_NAME, name));
    nvt_proto_number(&pf->event, 3, nvt_pf_intern(pf, NVT_PF_CATEGORY, category));
}

/* --- ranges and marks --- */

/* Readers take the category for the domain, and some names for something else. */
static void put_domain(struct nvt_pf *pf, uint32_t domain, uint32_t name)
{
    char taken[300];
    const char *category = nvt_domain_name(pf->trace, domain);
    if (nvt_chrome_is_taken(category)) {
        snprintf(taken, sizeof(taken), "nvtx.%.250s", category);
        category = taken;
    }
    put_name(pf, *category ? category : "user_annotation", nvt_name(pf->trace, name));
}

static void put_attributes(struct nvt_pf *pf, uint32_t category, uint32_t color, uint32_t payload,
                           uint8_t flags)
{
    char text[16];
    put_text(pf, "category", nvt_name(pf->trace, category));
    snprintf(text, sizeof(text), "#%08" PRIX32, color);
    if (flags & NVT_RANGE_HAS_COLOR)
        put_text(pf, "color", text);
    if (flags & NVT_RANGE_UNCLOSED)
        put_number(pf, "unclosed", 1);
    if (!(flags & NVT_RANGE_HAS_PAYLOAD))
        return;
    /* No two may be the same: not interned. */
    nvt_proto_number(&pf->inner, 1, nvt_pf_intern(pf, NVT_PF_ANNOTATION, "payload"));
    nvt_proto_text(&pf->inner, 6, nvt_pf_clean(pf, nvt_name(pf->trace, payload)));
    nvt_proto_message(&pf->event, 4, &pf->inner);
}

static void describe_range(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_ranges *ranges = &pf->trace->ranges;
    put_domain(pf, ranges->domain[i], ranges->name[i]);
    put_attributes(pf, ranges->category[i], ranges->color[i], ranges->payload[i], ranges->flags[i]);
}

static void describe_mark(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_marks *marks = &pf->trace->marks;
    put_domain(pf, marks->domain[i], marks->name[i]);
    put_attributes(pf, marks->category[i], marks->color[i], marks->payload[i], marks->flags[i]);
}

/* --- calls --- */

static void describe_api(struct nvt_pf *pf, uint32_t i)
{
    static const char *const categories[] = {"cuda_runtime", "cuda_driver", "library", "call"};
    const struct nvt_apis *apis = &pf->trace->apis;
    const uint8_t class = apis->class[i];
    put_name(pf, categories[class <= NVT_API_OTHER ? class : NVT_API_OTHER],
             nvt_name(pf->trace, apis->name[i]));
    put_if(pf, "correlation", apis->correlation[i]);
    if (apis->result[i])
        put_number(pf, "result", apis->result[i]);
}

static void describe_os(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_os_calls *calls = &pf->trace->os_calls;
    put_name(pf, "os_runtime", nvt_name(pf->trace, calls->name[i]));
    put_number(pf, "result", calls->result[i]);
    put_text(pf, "file", nvt_name(pf->trace, calls->file[i]));
    put_text(pf, "caller", nvt_name(pf->trace, calls->caller[i]));
    put_address(pf, "address", calls->address[i]);
    put_if(pf, "bytes", calls->bytes[i]);
    put_if(pf, "unclosed", calls->flags[i] & NVT_RANGE_UNCLOSED);
}

static void describe_mpi(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_mpi_calls *calls = &pf->trace->mpi_calls;
    put_name(pf, NVT_EXPORT_MPI, nvt_name(pf->trace, calls->name[i]));
    put_address(pf, "communicator", calls->communicator[i]);
    if (calls->peer[i] != NVT_MPI_NONE)
        put_number(pf, calls->kind[i] == NVT_MPI_COLLECTIVE ? "root" : "peer", calls->peer[i]);
    if (calls->tag[i] != NVT_MPI_NONE)
        put_number(pf, "tag", calls->tag[i]);
    if (calls->sent[i] != UINT64_MAX)
        put_number(pf, "bytes sent", (int64_t)calls->sent[i]);
    if (calls->received[i] != UINT64_MAX)
        put_number(pf, "bytes received", (int64_t)calls->received[i]);
}

/* --- operations --- */

static void put_collective(struct nvt_pf *pf, uint32_t at)
{
    const struct nvt_trace *trace = pf->trace;
    const struct nvt_collectives *rows = &trace->collectives;
    const char *name = nvt_name(trace, rows->name[at]);
    put_text(pf, "Collective name", name);
    put_number(pf, "In msg nelems", (int64_t)rows->given[at]);
    put_number(pf, "Out msg nelems", (int64_t)rows->taken[at]);
    put_if(pf, "Group size", rows->ranks[at]);
    put_text(pf, "dtype", nvt_name(trace, rows->type[at]));
    put_text(pf, "Process Group Name", nvt_name(trace, rows->group[at]));
    put_text(pf, "Process Group Description", nvt_name(trace, rows->purpose[at]));
    put_text(pf, "Process Group Ranks", nvt_name(trace, rows->members[at]));
    if (rows->peer[at])
        put_number(pf, strstr(name, "send") ? "Dst Rank" : "Src Rank", (int64_t)rows->peer[at] - 1);
}

static void put_kernel(struct nvt_pf *pf, uint32_t op)
{
    const struct nvt_kernels *kernels = &pf->trace->kernels;
    const uint32_t i = pf->trace->ops.detail[op];
    const uint64_t number = nvt_sequence_of(&pf->sequences, pf->trace, op);
    if (i == NVT_NONE)
        return;
    if (kernels->grid_x[i] || kernels->grid_y[i] || kernels->grid_z[i])
        put_sizes(pf, "grid", kernels->grid_x[i], kernels->grid_y[i], kernels->grid_z[i]);
    if (kernels->block_x[i] || kernels->block_y[i] || kernels->block_z[i])
        put_sizes(pf, "block", kernels->block_x[i], kernels->block_y[i], kernels->block_z[i]);
    put_if(pf, "registers per thread", kernels->registers[i]);
    put_if(pf, "shared memory", (uint64_t)kernels->static_shared[i] + kernels->dynamic_shared[i]);
    put_if(pf, "graph id", kernels->graph[i]);
    put_if(pf, "graph node id", kernels->graph_node[i]);
    if (kernels->collective[i] && kernels->collective[i] <= pf->trace->collectives.count)
        put_collective(pf, kernels->collective[i] - 1);
    if (number != UINT64_MAX)
        put_number(pf, "Seq", (int64_t)number);
}

static void put_place(struct nvt_pf *pf, uint32_t process, uint32_t device, uint32_t context,
                      uint32_t stream)
{
    if (process != NVT_NONE)
        put_number(pf, "process", pf->trace->processes.pid[process]);
    put_number(pf, "device", device);
    put_if(pf, "context", context);
    put_number(pf, "stream", stream);
}

static void describe_op(struct nvt_pf *pf, uint32_t i)
{
    char name[80];
    const struct nvt_ops *ops = &pf->trace->ops;
    if (ops->kind[i] == NVT_OP_KERNEL)
        put_name(pf, "kernel", nvt_name(pf->trace, ops->name[i]));
    else if (ops->kind[i] == NVT_OP_MEMCPY) {
        snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", nvt_chrome_way(ops->copy_kind[i]),
                 nvt_memory_label(ops->source_kind[i]), nvt_memory_label(ops->target_kind[i]));
        put_name(pf, "gpu_memcpy", name);
    } else {
        snprintf(name, sizeof(name), "Memset (%s)", nvt_memory_label(ops->target_kind[i]));
        put_name(pf, "gpu_memset", name);
    }
    put_place(pf, ops->process[i], ops->device[i], ops->context[i], ops->stream[i]);
    put_if(pf, "correlation", ops->correlation[i]);
    if (ops->kind[i] == NVT_OP_KERNEL)
        put_kernel(pf, i);
    else
        put_if(pf, "bytes", ops->bytes[i]);
}

static void describe_sync(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_syncs *syncs = &pf->trace->syncs;
    put_name(pf, "cuda_sync", nvt_sync_label(syncs->type[i]));
    put_place(pf, syncs->process[i], syncs->device[i], syncs->context[i], syncs->stream[i]);
    put_if(pf, "correlation", syncs->correlation[i]);
    if (!syncs->recorded[i])
        return;
    put_number(pf, "wait_on_stream", syncs->recorded_stream[i]);
    put_number(pf, "wait_on_cuda_event_record_corr_id", (int64_t)syncs->recorded[i]);
}

static void describe_um(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_um_events *events = &pf->trace->um_events;
    put_name(pf, NVT_EXPORT_UM, nvt_um_label(events->kind[i]));
    put_address(pf, "address", events->address[i]);
    put_if(pf, "faults", events->faults[i]);
    put_if(pf, "bytes", events->bytes[i]);
    put_text(pf, "instruction", nvt_name(pf->trace, events->instruction[i]));
    put_text(pf, "module", nvt_name(pf->trace, events->module[i]));
    put_text(pf, "source", nvt_name(pf->trace, events->source[i]));
    put_if(pf, "line", events->line[i]);
}

static void describe_memory(struct nvt_pf *pf, uint32_t i)
{
    const struct nvt_memory *memory = &pf->trace->memory;
    const int on_device = memory->device[i] != NVT_NONE;
    const int64_t bytes = (int64_t)memory->bytes[i];
    put_name(pf, "cpu_instant_event", "[memory]");
    put_number(pf, "Addr", (int64_t)memory->address[i]);
    put_number(pf, "Bytes", memory->kind[i] == NVT_MEMORY_FREE ? -bytes : bytes);
    put_number(pf, "Device Type", on_device);
    put_number(pf, "Device Id", on_device ? (int64_t)memory->device[i] : -1);
    if (memory->allocated[i] != UINT64_MAX)
        put_number(pf, "Total Allocated", (int64_t)memory->allocated[i]);
    if (memory->reserved[i] != UINT64_MAX)
        put_number(pf, "Total Reserved", (int64_t)memory->reserved[i]);
}

static void describe_overhead(struct nvt_pf *pf, uint32_t i)
{
    put_name(pf, "overhead", nvt_name(pf->trace, pf->trace->overheads.name[i]));
}

void nvt_pf_describe(struct nvt_pf *pf, const struct nvt_pf_entry *entry)
{
    static void (*const describe[])(struct nvt_pf *, uint32_t) = {
        [NVT_PF_RANGE] = describe_range, [NVT_PF_MPI] = describe_mpi,
        [NVT_PF_API] = describe_api,     [NVT_PF_OS] = describe_os,
        [NVT_PF_OP] = describe_op,       [NVT_PF_SYNC] = describe_sync,
        [NVT_PF_UM] = describe_um,       [NVT_PF_OVERHEAD] = describe_overhead,
        [NVT_PF_MARK] = describe_mark,   [NVT_PF_MEMORY] = describe_memory,
    };
    describe[entry->kind](pf, entry->row);
}
