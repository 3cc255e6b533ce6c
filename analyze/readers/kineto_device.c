/* What devices did, the calls that had them do it, and waits for them. */
#include "kineto.h"

#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/cuda_names.h"

/* "Memcpy DtoH (Device -> Pinned)"; pages of managed memory, of our own export: "Memcpy Unified DtoH (Device -> Managed)". */
static void parse_copy(const char *name, struct nvt_op *op)
{
    static const struct {
        const char *text;
        uint8_t kind;
    } ways[] = {{"HtoD", 1},
                {"DtoH", 2},
                {"HtoA", 3},
                {"AtoH", 4},
                {"AtoA", 5},
                {"AtoD", 6},
                {"DtoA", 7},
                {"DtoD", 8},
                {"HtoH", 9},
                {"PtoP", 10},
                {"H2D", 1},
                {"D2H", 2},
                {"D2D", 8},
                {"H2H", 9},
                {"P2P", 10},
                {"Unified HtoD", NVT_COPY_UNIFIED_HTOD},
                {"Unified DtoH", NVT_COPY_UNIFIED_DTOH},
                {"Unified DtoD", NVT_COPY_UNIFIED_DTOD},
                {"HostToDevice", 1},
                {"DeviceToHost", 2},
                {"DeviceToDevice", 8},
                {"HostToHost", 9},
                {"HOST_TO_DEVICE", 1},
                {"DEVICE_TO_HOST", 2},
                {"DEVICE_TO_DEVICE", 8},
                {"HOST_TO_HOST", 9}};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++)
        if (strstr(name, ways[i].text))
            op->copy_kind = ways[i].kind;
    const char *source = strchr(name, '('), *target = strstr(name, "-> ");
    for (unsigned kind = 1; kind < NVT_KINDS; kind++) {
        const char *label = nvt_memory_label(kind);
        size_t length = strlen(label);
        if (source && !strncmp(source + 1, label, length))
            op->source_kind = (uint8_t)kind;
        if (target && !strncmp(target + 3, label, length))
            op->target_kind = (uint8_t)kind;
    }
}

static uint32_t name_kernel(struct nvt_kineto *reader, uint32_t name)
{
    struct nvt_kineto_seen *seen = &reader->seen[name % NVT_KINETO_SEEN];
    if (seen->kernel != name) {
        size_t length, part;
        const char *text = nvt_strings_get(reader->trace->strings, name, &length);
        const char *start = nvt_short_name(text, length, &part);
        seen->kernel = name;
        seen->short_name = nvt_strings_add(reader->trace->strings, start, part);
    }
    return seen->short_name;
}

static int add_kernel_detail(struct nvt_kineto *reader, struct nvt_op *op)
{
    const struct nvt_kineto_event *event = &reader->event;
    uint32_t collective = nvt_kineto_collective(reader);
    const struct nvt_kernel kernel = {.grid_x = event->grid[0],
                                      .grid_y = event->grid[1],
                                      .grid_z = event->grid[2],
                                      .block_x = event->block[0],
                                      .block_y = event->block[1],
                                      .block_z = event->block[2],
                                      .registers = nvt_kineto_u32(event, NVT_KN_REGISTERS, 0),
                                      /* Kineto adds static and dynamic shared memory up. */
                                      .static_shared = nvt_kineto_u32(event, NVT_KN_SHARED, 0),
                                      .dynamic_shared =
                                          nvt_kineto_u32(event, NVT_KN_DYNAMIC_SHARED, 0),
                                      .graph = nvt_kineto_size(event, NVT_KN_GRAPH),
                                      .graph_node = nvt_kineto_size(event, NVT_KN_GRAPH_NODE),
                                      .collective = collective};
    op->detail = nvt_trace_kernel(reader->trace, &kernel);
    op->short_name = name_kernel(reader, op->name);
    return op->detail == NVT_NONE || collective == NVT_NONE;
}

/* The process that a device's event says it is of: NVT_NONE where it says nothing, as those of PyTorch, whose pid is
 * the device's number. 0, or -1 when out of memory. */
static int told_process(struct nvt_kineto *reader, uint32_t *process)
{
    const int64_t pid = reader->event.pid,
                  told = nvt_kineto_int(&reader->event, NVT_KN_PROCESS, -1);
    *process = NVT_NONE;
    if (told < 0)
        return 0;
    reader->event.pid = told;
    *process = nvt_kineto_process(reader);
    reader->event.pid = pid;
    return *process == NVT_NONE ? -1 : 0;
}

/* The last operation stands under what is no device's number: files that were put together of those of several ranks name it by the
 * rank. 0, or -1 when out of memory. */
static int keep_lane(struct nvt_kineto *reader)
{
    const struct nvt_kineto_owner *process;
    struct nvt_kineto_owner *thread;
    const uint32_t count = reader->trace->ops.count;
    if (nvt_kineto_owners(reader, &process, &thread) ||
        nvt_reserve_zeroed(&reader->lanes, &reader->lane_capacity, count, sizeof(*reader->lanes)))
        return -1;
    reader->lanes[count - 1] = (uint32_t)(process - reader->owners) + 1;
    return 0;
}

int nvt_kineto_add_op(struct nvt_kineto *reader, enum nvt_op_kind kind)
{
    const struct nvt_kineto_event *event = &reader->event;
    char name[NVT_COPY_NAME_MAX];
    uint32_t process;
    if (told_process(reader, &process))
        return nvt_kineto_no_memory(reader);
    struct nvt_op op = {
        .start = event->time,
        .end = event->time + event->duration,
        .process = process, /* or known at the end */
        .device = nvt_kineto_u32(event, NVT_KN_DEVICE, event->is_device_pid ? event->pid : 0),
        .context = nvt_kineto_u32(event, NVT_KN_CONTEXT, 0),
        .stream = nvt_kineto_u32(event, NVT_KN_STREAM, event->tid),
        .correlation = nvt_kineto_size(event, NVT_KN_CORRELATION),
        .thread = NVT_NONE,
        .launch = INT64_MIN,
        .name = event->name,
        .bytes = nvt_kineto_size(event, NVT_KN_BYTES),
        .detail = NVT_NONE};
    int failed = 0;
    op.kind = (uint8_t)kind;
    if (kind == NVT_OP_KERNEL) {
        op.bytes = 0;
        failed = add_kernel_detail(reader, &op) || nvt_kineto_sequence(reader, process);
    } else if (kind == NVT_OP_MEMCPY) {
        parse_copy(nvt_name(reader->trace, event->name), &op);
        op.name = nvt_strings_add_text(reader->trace->strings, nvt_copy_name(op.copy_kind, name));
        op.short_name = op.name;
    } else {
        op.name = nvt_strings_add_text(reader->trace->strings, NVT_MEMSET_NAME);
        op.short_name = op.name;
    }
    if (failed || op.name == NVT_NO_STRING || op.short_name == NVT_NO_STRING ||
        nvt_op_add(reader->trace, &op) == NVT_NONE)
        return nvt_kineto_no_memory(reader);
    const int is_device = event->is_device_pid && event->pid == (int64_t)op.device;
    return process == NVT_NONE && !is_device && keep_lane(reader) ? nvt_kineto_no_memory(reader)
                                                                  : 0;
}

/* ROCm's calls have CUDA's categories, the others' have their own. */
static void note_backend(struct nvt_kineto *reader)
{
    const char *category = nvt_name(reader->trace, reader->event.category);
    if (reader->backend)
        return;
    if (!strncmp(nvt_name(reader->trace, reader->event.name), "hip", 3))
        reader->backend = "hip";
    else if (!strncmp(category, "xpu_", 4))
        reader->backend = "xpu";
    else if (!strncmp(category, "privateuse1_", 12))
        reader->backend = "privateuse1";
}

int nvt_kineto_add_api(struct nvt_kineto *reader, uint8_t class)
{
    const struct nvt_kineto_event *event = &reader->event;
    struct nvt_kineto_owner *thread = nvt_kineto_thread(reader);
    if (!thread)
        return nvt_kineto_no_memory(reader);
    note_backend(reader);
    const struct nvt_api api = {.start = event->time,
                                .end = event->time + event->duration,
                                .thread = thread->row,
                                .correlation = nvt_kineto_size(event, NVT_KN_CORRELATION),
                                .name = event->name,
                                .class = class};
    if (api.end > reader->trace->threads.last_ns[api.thread])
        reader->trace->threads.last_ns[api.thread] = api.end;
    return nvt_api_add(reader->trace, &api) == NVT_NONE ? nvt_kineto_no_memory(reader) : 0;
}

int nvt_kineto_add_sync(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const char *name = nvt_name(reader->trace, event->name);
    uint32_t process;
    if (told_process(reader, &process))
        return nvt_kineto_no_memory(reader);
    const struct nvt_sync sync = {
        .start = event->time,
        .end = event->time + event->duration,
        .process = process, /* or known at the end */
        .device = nvt_kineto_u32(event, NVT_KN_DEVICE, event->is_device_pid ? event->pid : 0),
        .context = nvt_kineto_u32(event, NVT_KN_CONTEXT, 0),
        .stream = nvt_kineto_u32(event, NVT_KN_STREAM, event->tid),
        .correlation = nvt_kineto_size(event, NVT_KN_CORRELATION),
        .recorded = nvt_kineto_size(event, NVT_KN_RECORDED),
        .recorded_stream = nvt_kineto_u32(event, NVT_KN_RECORDED_STREAM, 0),
        .type = strstr(name, "Wait")      ? NVT_SYNC_WAIT_EVENT
                : strstr(name, "Event")   ? NVT_SYNC_EVENT
                : strstr(name, "Stream")  ? NVT_SYNC_STREAM
                : strstr(name, "Context") ? NVT_SYNC_CONTEXT
                                          : NVT_SYNC_UNKNOWN};
    return nvt_sync_add(reader->trace, &sync) == NVT_NONE ? nvt_kineto_no_memory(reader) : 0;
}

/* Of our own exports alone. */
int nvt_kineto_add_os_call(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    struct nvt_kineto_owner *thread = nvt_kineto_thread(reader);
    if (!thread)
        return nvt_kineto_no_memory(reader);
    const struct nvt_os_call call = {
        .start = event->time,
        .end = event->time + event->duration,
        .thread = thread->row,
        .name = event->name,
        .result = nvt_kineto_int(event, NVT_KN_RESULT, 0),
        .file = event->file,
        .caller = event->caller,
        .address = event->address,
        .bytes = nvt_kineto_size(event, NVT_KN_BYTES),
        .flags = nvt_kineto_int(event, NVT_KN_UNCLOSED, 0) ? NVT_RANGE_UNCLOSED : 0};
    return nvt_os_call_add(reader->trace, &call) == NVT_NONE ? nvt_kineto_no_memory(reader) : 0;
}

/* CUPTI's own threads have the number -1 for a process: it is known at the end. */
int nvt_kineto_add_overhead(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const int is_known = event->pid >= 0 || !event->is_device_pid;
    struct nvt_kineto_owner *thread = is_known ? nvt_kineto_thread(reader) : NULL;
    if (is_known && !thread)
        return nvt_kineto_no_memory(reader);
    const struct nvt_overhead overhead = {.start = event->time,
                                          .end = event->time + event->duration,
                                          .process = thread ? nvt_kineto_process(reader) : NVT_NONE,
                                          .thread = thread ? thread->row : NVT_NONE,
                                          .name = event->name};
    return nvt_overhead_add(reader->trace, &overhead) == NVT_NONE ? nvt_kineto_no_memory(reader)
                                                                  : 0;
}
