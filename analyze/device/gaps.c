#include "gaps.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../model/buckets.h"
#include "../model/recorded_parts.h"
#include "shared.h"

/* Calls that may enclose a moment: a runtime call around a driver call around … */
#define NESTED_CALLS 8

int nvt_call_waits(const char *name)
{
    static const char *const calls[] = {
        "cudaMemcpy",    "cudaMemcpy2D",        "cudaMemcpyToSymbol", "cudaMemcpyFromSymbol",
        "cuMemcpyDtoH",  "cuMemcpyHtoD",        "cuMemcpy",           "hipMemcpy",
        "hipMemcpy2D",   "hipMemcpyWithStream", "hipMemcpyToSymbol",  "hipMemcpyFromSymbol",
        "hipMemcpyDtoH", "hipMemcpyHtoD",       "urQueueFinish",      "urEventWait"};
    size_t length = strcspn(name, "_"); /* nsys writes cudaMemcpy_v3020 */
    if (strstr(name, "Synchronize"))
        return 1;
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++)
        if (strlen(calls[i]) == length && !strncmp(name, calls[i], length))
            return 1;
    return 0;
}

int nvt_call_launches(const char *name)
{
    return strstr(name, "LaunchKernel") || strstr(name, "KernelLaunch") ||
           strstr(name, "GraphLaunch") || !strncmp(name, "cudaLaunch", 10) ||
           !strncmp(name, "cuLaunch", 8);
}

int64_t nvt_gap_least(const struct nvt_trace *trace)
{
    const char *backend = nvt_trace_meta(trace, "backend");
    return backend && !strcmp(backend, "hip");
}

/* Whether a call waited for the device before the gap: by its name, or as the copy that the gap
 * follows returned behind it (an asynchronous copy to pageable memory does). */
static int waited(const struct nvt_trace *trace, const struct nvt_gap *gap, uint32_t call)
{
    const struct nvt_ops *ops = &trace->ops;
    return nvt_call_waits(nvt_name(trace, trace->apis.name[call])) ||
           (ops->kind[gap->before] == NVT_OP_MEMCPY && ops->api[gap->before] == call &&
            trace->apis.end[call] >= ops->end[gap->before]);
}

/* A call took most of a gap. */
static enum nvt_gap_cause cause_of_call(const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_apis *apis = &trace->apis;
    const char *name = nvt_name(trace, apis->name[call]);
    if (!nvt_call_launches(name))
        return NVT_GAP_CALL;
    return apis->end[call] - apis->start[call] >= NVT_GAP_LOAD_NS && !strstr(name, "GraphLaunch")
               ? NVT_GAP_LOAD
               : NVT_GAP_LAUNCH;
}

/* What the launching thread did from the start of the gap until its call returned. */
static void explain(struct nvt_gap *gap, const struct nvt_trace *trace,
                    const struct nvt_buckets *threads)
{
    const struct nvt_apis *apis = &trace->apis;
    int64_t from = gap->start, to = gap->start + gap->host_ns, until = from, inside = 0, most = 0;
    uint32_t wait = NVT_NONE;
    uint32_t at = nvt_buckets_from(threads, gap->thread, apis->start, from);
    uint32_t low = threads->first[gap->thread], last = threads->first[gap->thread + 1];
    uint32_t back = at - low < NESTED_CALLS ? at - low : NESTED_CALLS;
    for (uint32_t i = at - back; i < last && apis->start[threads->rows[i]] < to; i++) {
        uint32_t call = threads->rows[i];
        int64_t start = apis->start[call] > until ? apis->start[call] : until;
        int64_t end = apis->end[call] < to ? apis->end[call] : to;
        if (apis->end[call] < from)
            continue;
        if (wait == NVT_NONE && waited(trace, gap, call))
            wait = call;
        if (end > start) {
            inside += end - start;
            until = end;
        }
        if (end > start && end - start > most) {
            most = end - start;
            gap->call = call;
        }
    }
    /* A launch that loads code, or an allocation, is told as such also where a wait came before it; not the call of the copy
     * that ends the gap, which launches like any other. */
    enum nvt_gap_cause call = NVT_GAP_LAUNCH;
    if (most > gap->host_ns - most && gap->call != NVT_NONE && gap->call != wait)
        call = cause_of_call(trace, gap->call);
    if (call == NVT_GAP_CALL && wait != NVT_NONE && gap->call == trace->ops.api[gap->after])
        call = NVT_GAP_LAUNCH;
    gap->cause = call;
    if (gap->host_ns >= NVT_GAP_HOST_NS && inside < gap->host_ns - inside)
        gap->cause = NVT_GAP_HOST;
    else if (wait != NVT_NONE && call == NVT_GAP_LAUNCH) {
        gap->cause = NVT_GAP_WAIT;
        gap->call = wait;
    }
}

/* `threads`: NULL, what the host did is not asked for. */
static void fill_gap(struct nvt_gap *gap, const struct nvt_trace *trace,
                     const struct nvt_buckets *threads)
{
    uint32_t call = trace->ops.api[gap->after];
    gap->thread = call == NVT_NONE ? NVT_NONE : trace->apis.thread[call];
    gap->call = NVT_NONE;
    gap->cause = NVT_GAP_LATENCY;
    gap->host_ns = 0;
    if (call == NVT_NONE)
        return;
    int64_t launched = trace->apis.end[call] < gap->end ? trace->apis.end[call] : gap->end;
    if (launched <= gap->start)
        return;
    gap->host_ns = launched - gap->start;
    if (threads)
        explain(gap, trace, threads);
}

/* Until when a device was busy before `start`: work of other files that begins before, from *at on. */
static int64_t busy_until(const struct nvt_used_device *device, size_t *at, int64_t until,
                          int64_t start)
{
    for (; *at < device->elsewhere_count && device->elsewhere[*at][0] < start; ++*at)
        if (device->elsewhere[*at][1] > until)
            until = device->elsewhere[*at][1];
    return until;
}

static void walk(const struct nvt_trace *trace, const struct nvt_used_device *device,
                 const struct nvt_buckets *threads, nvt_gap_visit visit, void *context)
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t until = ops->start[device->ops[0]], least = nvt_gap_least(trace);
    struct nvt_gap gap = {.before = device->ops[0]};
    size_t elsewhere = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        until = busy_until(device, &elsewhere, until, ops->start[op]);
        if (nvt_is_across_parts(trace, until, ops->start[op]))
            until = ops->start[op];
        if (nvt_is_gap(until, ops->start[op], least)) {
            gap.start = until;
            gap.end = ops->start[op];
            gap.after = op;
            gap.process = ops->process[op];
            gap.device = ops->device[op];
            fill_gap(&gap, trace, threads);
            visit(context, &gap);
            until = ops->start[op];
        }
        if (ops->end[op] > until) {
            until = ops->end[op];
            gap.before = op;
        }
    }
}

void nvt_device_gaps(const struct nvt_trace *trace, const struct nvt_used_device *device,
                     nvt_gap_visit visit, void *context)
{
    walk(trace, device, NULL, visit, context);
}

static int visit_gaps(const struct nvt_trace *trace, const struct nvt_used_device *devices,
                      uint32_t count, nvt_gap_visit visit, void *context, struct nvt_error *err)
{
    struct nvt_buckets threads = {0};
    int status = nvt_buckets_make(&threads, trace->apis.thread, trace->threads.count, NULL,
                                  trace->apis.count)
                     ? nvt_fail_at(err, trace->path, -1, "out of memory")
                     : 0;
    for (uint32_t i = 0; i < count && !status; i++)
        if (devices[i].count)
            walk(trace, &devices[i], &threads, visit, context);
    nvt_buckets_free(&threads);
    return status;
}

int nvt_gaps(const struct nvt_trace *trace, const struct nvt_input *input, nvt_gap_visit visit,
             void *context, uint32_t *devices, struct nvt_error *err)
{
    struct nvt_used_devices used = {0};
    int status = nvt_used_gpus_make(&used, trace, 1, err);
    if (!status && input)
        status = nvt_shared_work(&used, trace, input, err);
    if (!status)
        status = visit_gaps(trace, used.items, used.count, visit, context, err);
    if (devices)
        *devices = used.count;
    nvt_used_devices_free(&used);
    return status;
}

static void keep_longest(struct nvt_gap_sum *sum, struct nvt_gap gap, int64_t ns)
{
    for (size_t i = 0; i < 3; i++) {
        struct nvt_gap other = sum->longest[i];
        int64_t other_ns = sum->longest_ns[i];
        if (other_ns >= ns)
            continue;
        sum->longest[i] = gap;
        sum->longest_ns[i] = ns;
        gap = other;
        ns = other_ns;
    }
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct nvt_gap_sum *sum = context;
    struct nvt_gap part = *gap;
    int64_t launched = gap->start + gap->host_ns;
    int64_t start = sum->stalls ? launched : gap->start, end = sum->stalls ? gap->end : launched;
    if (sum->process != NVT_NONE && gap->process != sum->process)
        return;
    if (sum->stalls ? gap->thread == NVT_NONE || end - start < NVT_GAP_STALL_NS
                    : gap->cause != sum->cause)
        return;
    part.start = start > sum->from ? start : sum->from;
    part.end = end < sum->to ? end : sum->to;
    if (part.start >= part.end)
        return;
    part.host_ns = sum->stalls ? 0 : part.end - part.start;
    sum->ns = nvt_clock_sum(sum->ns, part.end - part.start);
    if (sum->each)
        sum->each(sum->context, &part);
    /* The two that reach over an end of a loop would else make one too many. */
    if (part.end - part.start < end - start - (part.end - part.start))
        return;
    sum->count++;
    keep_longest(sum, part, part.end - part.start);
}

int nvt_gaps_add_up(const struct nvt_trace *trace, const struct nvt_used_device *devices,
                    struct nvt_gap_sum *sum, struct nvt_error *err)
{
    return visit_gaps(trace, devices, sum->devices, add_gap, sum, err);
}
