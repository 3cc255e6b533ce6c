#include "idle_gaps.h"

#include <stdlib.h>

#include "overlap.h"

/* A device while its gaps are visited. */
struct finding {
    struct nvt_idle_gaps *idle;
    struct nvt_longest_gaps *longest;
    const struct nvt_trace *trace;
};

static int64_t length_of(const struct nvt_gap *gap)
{
    return gap->end - gap->start;
}

static void keep_longest(struct nvt_longest_gaps *longest, const struct nvt_gap *gap,
                         const struct nvt_trace *trace)
{
    size_t at = longest->count;
    if (at == NVT_LONGEST_GAPS && length_of(&longest->items[at - 1]) >= length_of(gap))
        return;
    if (at < NVT_LONGEST_GAPS)
        longest->count++;
    else
        at--;
    for (; at > 0 && length_of(&longest->items[at - 1]) < length_of(gap); at--) {
        longest->items[at] = longest->items[at - 1];
        longest->traces[at] = longest->traces[at - 1];
    }
    longest->items[at] = *gap;
    longest->traces[at] = trace;
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct finding *finding = context;
    struct nvt_idle_gaps *idle = finding->idle;
    idle->gaps[idle->count++] = (double)length_of(gap);
    idle->not_launched += gap->host_ns;
    keep_longest(finding->longest, gap, finding->trace);
}

int nvt_idle_gaps_find(struct nvt_idle_gaps *idle, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct nvt_longest_gaps *longest)
{
    struct finding finding = {idle, longest, trace};
    struct nvt_overlap overlap;
    idle->gaps = malloc((size_t)device->count * sizeof(*idle->gaps));
    if (!idle->gaps || nvt_overlap_make(&overlap, trace, device))
        return -1;
    idle->span = nvt_overlap_with(&overlap, 0);
    idle->busy = idle->span - overlap.time[0];
    nvt_device_gaps(trace, device, add_gap, &finding);
    return 0;
}
