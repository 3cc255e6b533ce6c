/* Devices that hardly work although no rule says why: most of it in one gap, which is no loop. And what
 * is not known of gaps, as devices are shared. */
#include "../../lib/clock.h"
#include "diagnose.h"
#include "../device/gaps.h"
#include "../input/shared.h"

/* From where on it is told, and of how many devices at most. */
#define LEAST_SHARE 0.5
#define MOST_LINES  3

struct idle {
    int64_t ns; /* of all gaps */
    struct nvt_gap longest;
};

static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct idle *idle = context;
    idle->ns = nvt_clock_sum(idle->ns, gap->end - gap->start);
    if (gap->end - gap->start > idle->longest.end - idle->longest.start)
        idle->longest = *gap;
}

/* "(9) has nothing to do for 98 % of 474 ms, …": 0, or -1 when out of memory. */
static int tell(const struct nvt_trace *trace, const struct idle *idle, int64_t span,
                struct nvt_buffer *lines)
{
    const struct nvt_gap *gap = &idle->longest;
    char moment[NVT_TIME_MAX];
    const char *name = nvt_device_name(trace, gap->process, gap->device);
    return nvt_buffer_printf(
        lines,
        "idle, but no rule applies: %.60s%s(%u) has nothing to do for %.0f %% of %s, at the "
        "longest for %s, from %s on, after %.60s (%.200s; nvtally stats -r gpu_idle)\n",
        name, *name ? " " : "", gap->device, 100 * (double)idle->ns / (double)span,
        NVT_TIME((double)span), NVT_TIME((double)(gap->end - gap->start)),
        nvt_moment_text(gap->start - trace->first_ns, moment),
        nvt_name(trace, trace->ops.short_name[gap->before]), trace->path);
}

static int has_finding(const struct nvt_findings *findings, const struct nvt_trace *trace)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].traces && findings->items[i].trace == trace)
            return 1;
    return 0;
}

int nvt_diagnose_idle(const struct nvt_report_input *input, const struct nvt_findings *findings,
                      struct nvt_buffer *lines, struct nvt_error *err)
{
    size_t told = 0;
    for (size_t i = 0; i < input->trace_count && told < MOST_LINES; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct idle idle = {0};
        uint32_t devices = 0;
        if (!trace->ops.count || has_finding(findings, trace))
            continue;
        if (nvt_gaps(trace, input, add_gap, &idle, &devices, err))
            return -1;
        int64_t start = trace->ops.start[0], end = start; /* operations come by their starts */
        for (uint32_t op = 0; op < trace->ops.count; op++)
            end = trace->ops.end[op] > end ? trace->ops.end[op] : end;
        if (devices != 1 || (double)idle.ns < LEAST_SHARE * (double)(end - start) || !idle.ns)
            continue;
        told++;
        if (tell(trace, &idle, end - start, lines))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

static int tells_of_gaps(const struct nvt_findings *findings)
{
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = 0; k < count; k++)
            if (rules[k]->has_gaps && rules[k]->cause == findings->items[i].cause)
                return 1;
    return 0;
}

int nvt_diagnose_shared(struct nvt_report_input *input, const struct nvt_findings *findings,
                        int is_idle, struct nvt_error *err)
{
    struct nvt_shared shared;
    const struct nvt_trace *const *pair = shared.certain;
    if (input->trace_count < 2 || (!is_idle && !tells_of_gaps(findings)))
        return 0;
    if (nvt_shared_find(&shared, input, err))
        return -1;
    if (pair[0] && shared.is_seen)
        nvt_note(input,
                 "note: %s and %s have work on the same device: it is idle only when neither of "
                 "them has",
                 pair[0]->path, pair[1]->path);
    else if (pair[0])
        nvt_shared_note(input, pair);
    pair = shared.possible;
    if (pair[0])
        nvt_note(input,
                 "note: %s and %s have work on devices with the same number, which may be the same "
                 "device: when it is idle in one, it may have work from the other",
                 pair[0]->path, pair[1]->path);
    return 0;
}
