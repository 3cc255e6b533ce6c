#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "communication.h"
#include "gaps.h"
#include "../model/recorded_parts.h"

/* Times of a class in which at least one operation ran, apart and ascending. */
struct intervals {
    int64_t *start, *end;
    uint32_t count, at;
};

enum nvt_op_class nvt_op_class(const struct nvt_trace *trace, uint32_t op)
{
    if (nvt_is_communication(trace, op))
        return NVT_CLASS_COMMUNICATION;
    return trace->ops.kind[op] == NVT_OP_KERNEL ? NVT_CLASS_COMPUTE : NVT_CLASS_COPY;
}

static void add_interval(struct intervals *intervals, int64_t start, int64_t end)
{
    uint32_t last = intervals->count - 1;
    if (start == end)
        return;
    if (intervals->count && start <= intervals->end[last]) {
        if (end > intervals->end[last])
            intervals->end[last] = end;
        return;
    }
    intervals->start[intervals->count] = start;
    intervals->end[intervals->count++] = end;
}

/* Cut the time into pieces at whose boundaries a class begins or ends. One in which nothing runs is none where it reaches from one part
 * of the recording into the next. */
static void sweep(const struct nvt_trace *trace, struct intervals *classes, int64_t from,
                  int64_t to, nvt_overlap_visit visit, void *context)
{
    while (from < to) {
        int64_t next = to;
        unsigned running = 0;
        for (int i = 0; i < NVT_CLASSES; i++) {
            struct intervals *class = &classes[i];
            while (class->at < class->count && class->end[class->at] <= from)
                class->at++;
            if (class->at == class->count)
                continue;
            int runs = class->start[class->at] <= from;
            int64_t change = runs ? class->end[class->at] : class->start[class->at];
            running |= (unsigned)runs << i;
            if (change < next)
                next = change;
        }
        if (running || !nvt_is_across_parts(trace, from, next))
            visit(context, running, from, next);
        from = next;
    }
}

/* From when an operation keeps its device busy, `last` being the end of all before it. */
static int64_t busy_from(int64_t start, int64_t last, int64_t least)
{
    return start > last && !nvt_is_gap(last, start, least) ? last : start;
}

int nvt_overlap_walk(const struct nvt_trace *trace, const struct nvt_used_device *device,
                     nvt_overlap_visit visit, void *context)
{
    struct intervals classes[NVT_CLASSES];
    int64_t *times = malloc((size_t)device->count * 2 * NVT_CLASSES * sizeof(*times));
    if (!times)
        return -1;
    for (uint32_t i = 0; i < NVT_CLASSES; i++)
        classes[i] = (struct intervals){times + (size_t)device->count * 2 * i,
                                        times + (size_t)device->count * (2 * i + 1), 0, 0};
    int64_t first = trace->ops.start[device->ops[0]], last = first, least = nvt_gap_least(trace);
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int64_t start = busy_from(trace->ops.start[op], last, least);
        add_interval(&classes[nvt_op_class(trace, op)], start, trace->ops.end[op]);
        if (trace->ops.end[op] > last)
            last = trace->ops.end[op];
    }
    sweep(trace, classes, first, last, visit, context);
    free(times);
    return 0;
}

int64_t nvt_kernel_time(const struct nvt_trace *trace, const struct nvt_used_device *device)
{
    int64_t last = trace->ops.start[device->ops[0]], least = nvt_gap_least(trace);
    int64_t until = INT64_MIN, sum = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int64_t start = busy_from(trace->ops.start[op], last, least), end = trace->ops.end[op];
        if (trace->ops.kind[op] == NVT_OP_KERNEL && end > until) {
            sum += end - (start > until ? start : until);
            until = end;
        }
        last = end > last ? end : last;
    }
    return sum;
}

static void add_up(void *context, unsigned running, int64_t from, int64_t to)
{
    ((struct nvt_overlap *)context)->time[running] += to - from;
}

int nvt_overlap_make(struct nvt_overlap *overlap, const struct nvt_trace *trace,
                     const struct nvt_used_device *device)
{
    *overlap = (struct nvt_overlap){{0}};
    return nvt_overlap_walk(trace, device, add_up, overlap);
}

int64_t nvt_overlap_with(const struct nvt_overlap *overlap, unsigned with)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < 1u << NVT_CLASSES; i++)
        if ((i & with) == with)
            sum += overlap->time[i];
    return sum;
}
