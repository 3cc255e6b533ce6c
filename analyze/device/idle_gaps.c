#include "idle_gaps.h"

#include <stdlib.h>

#include "gaps.h"

static void keep_longest(struct nvt_longest_gaps *longest, const struct nvt_idle_gap *gap)
{
    size_t at = longest->count;
    if (at == NVT_LONGEST_GAPS && longest->items[at - 1].duration >= gap->duration)
        return;
    if (at < NVT_LONGEST_GAPS)
        longest->count++;
    else
        at--;
    for (; at > 0 && longest->items[at - 1].duration < gap->duration; at--)
        longest->items[at] = longest->items[at - 1];
    longest->items[at] = *gap;
}

/* The time from `from` to the return of the call that launched an operation, 0 when unknown. */
static int64_t launch_after(const struct nvt_trace *trace, uint32_t op, int64_t from, int64_t to)
{
    uint32_t api = trace->ops.api[op];
    if (api == NVT_NONE)
        return 0;
    int64_t launched = trace->apis.end[api] < to ? trace->apis.end[api] : to;
    return launched > from ? launched - from : 0;
}

int nvt_idle_gaps_find(struct nvt_idle_gaps *idle, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct nvt_longest_gaps *longest)
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t first = ops->start[device->ops[0]], until = first, least = nvt_gap_least(trace);
    uint32_t before = device->ops[0];
    idle->gaps = malloc((size_t)device->count * sizeof(*idle->gaps));
    if (!idle->gaps)
        return -1;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        if (nvt_is_gap(until, ops->start[op], least)) {
            const struct nvt_idle_gap gap = {until,
                                             ops->start[op] - until,
                                             launch_after(trace, op, until, ops->start[op]),
                                             before,
                                             op,
                                             trace};
            idle->gaps[idle->count++] = (double)gap.duration;
            idle->not_launched += gap.not_launched;
            keep_longest(longest, &gap);
            until = ops->start[op];
        }
        if (ops->end[op] > until) {
            idle->busy += ops->end[op] - until;
            until = ops->end[op];
            before = op;
        }
    }
    idle->span = until - first;
    return 0;
}
