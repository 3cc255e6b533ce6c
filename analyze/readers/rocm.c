#include "rocm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../model/cuda_names.h"

uint32_t nvt_rocm_short_name(struct nvt_trace *trace, uint32_t name)
{
    size_t length, part;
    const char *text = nvt_strings_get(trace->strings, name, &length);
    const char *start = nvt_short_name(text, length, &part);
    return nvt_strings_add(trace->strings, start, part);
}

uint32_t nvt_rocm_blocks(uint32_t threads, uint32_t group)
{
    return group ? threads / group + (threads % group != 0) : threads;
}

static int add_range(struct nvt_trace *trace, const struct nvt_api *call, uint32_t message)
{
    const struct nvt_range range = {.start = call->start,
                                    .end = call->end,
                                    .thread = call->thread,
                                    .end_thread = call->thread,
                                    .name = message ? message : call->name};
    const struct nvt_mark mark = {.time = call->start, .thread = call->thread, .name = range.name};
    if (!strncmp(nvt_name(trace, call->name), "roctxMark", 9))
        return nvt_mark_add(trace, &mark) == NVT_NONE ? -1 : 0;
    return nvt_range_add(trace, &range) == NVT_NONE ? -1 : 0;
}

int nvt_rocm_add_call(struct nvt_trace *trace, struct nvt_api *call, const char *category,
                      uint32_t message)
{
    if (call->end > trace->threads.last_ns[call->thread])
        trace->threads.last_ns[call->thread] = call->end;
    if (!strncmp(category, "MARKER", 6))
        return add_range(trace, call, message);
    call->class = !strncmp(category, "HIP", 3)   ? NVT_API_RUNTIME
                  : !strncmp(category, "HSA", 3) ? NVT_API_DRIVER
                                                 : NVT_API_LIBRARY;
    return nvt_api_add(trace, call) == NVT_NONE ? -1 : 0;
}

int nvt_rocm_add_copy(struct nvt_trace *trace, struct nvt_op *op,
                      const struct nvt_rocm_agent *source, const struct nvt_rocm_agent *target)
{
    const struct nvt_rocm_agent *agent = target && target->is_gpu ? target : source;
    const int from_gpu = source && source->is_gpu, to_gpu = target && target->is_gpu;
    char name[NVT_COPY_NAME_MAX];
    op->kind = NVT_OP_MEMCPY;
    op->copy_kind = (uint8_t)(from_gpu           ? to_gpu ? NVT_COPY_DTOD : NVT_COPY_DTOH
                              : to_gpu           ? NVT_COPY_HTOD
                              : source && target ? NVT_COPY_HTOH
                                                 : NVT_COPY_UNKNOWN);
    op->device = agent ? agent->device : 0;
    op->name = nvt_strings_add_text(trace->strings, nvt_copy_name(op->copy_kind, name));
    op->short_name = op->name;
    return op->name == NVT_NO_STRING || nvt_op_add(trace, op) == NVT_NONE ? -1 : 0;
}

int nvt_rocm_add_memory(struct nvt_trace *trace, struct nvt_map *sizes,
                        struct nvt_memory_event *event, const struct nvt_rocm_agent *agent)
{
    const uint32_t taken =
        event->kind == NVT_MEMORY_FREE ? nvt_map_get(sizes, event->address) : NVT_MAP_NONE;
    event->device = agent && agent->is_gpu ? agent->device : NVT_NONE;
    event->allocated = event->reserved = UINT64_MAX;
    if (taken != NVT_MAP_NONE) {
        event->bytes = event->bytes ? event->bytes : trace->memory.bytes[taken];
        event->device = trace->memory.device[taken];
    }
    const uint32_t row = nvt_memory_event_add(trace, event);
    if (row == NVT_NONE)
        return -1;
    return event->kind == NVT_MEMORY_FREE ? 0 : nvt_map_set(sizes, event->address, row);
}

/* The row of a counter of a GPU; NVT_NONE when out of memory. */
static uint32_t counter_of(struct nvt_trace *trace, struct nvt_map *counters,
                           const struct nvt_op *op, uint32_t name)
{
    char gpu[32];
    snprintf(gpu, sizeof(gpu), "GPU %u", (unsigned)op->device);
    const struct nvt_counter counter = {.process = op->process,
                                        .domain = nvt_trace_domain(trace, op->process, gpu),
                                        .name = name,
                                        .values = NVT_COUNTER_ABSOLUTE};
    if (counter.domain == NVT_NONE)
        return NVT_NONE;
    uint32_t *row = nvt_map_at(counters, (uint64_t)name << 32 | counter.domain);
    if (row && *row == NVT_MAP_NONE)
        *row = nvt_counter_add(trace, &counter);
    return row ? *row : NVT_NONE;
}

int nvt_rocm_add_value(struct nvt_trace *trace, struct nvt_map *counters, const struct nvt_op *op,
                       uint32_t name, double value)
{
    if (!isfinite(value))
        return 0;
    const struct nvt_counter_sample sample = {
        .time = op->end,
        .counter = counter_of(trace, counters, op, name),
        .thread = op->thread == NVT_NONE ? nvt_trace_any_thread(trace) : op->thread,
        .value = value};
    return sample.counter == NVT_NONE || sample.thread == NVT_NONE ||
                   nvt_counter_sample_add(trace, &sample) == NVT_NONE
               ? -1
               : 0;
}

int nvt_rocm_finish(struct nvt_trace *trace)
{
    return nvt_trace_set_meta(trace, "backend", "hip") ||
                   (trace->devices.count &&
                    nvt_trace_set_meta(trace, "device", nvt_name(trace, trace->devices.name[0])))
               ? -1
               : 0;
}
