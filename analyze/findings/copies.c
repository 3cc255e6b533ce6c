/* tiny copies: many copies between host and device of a few bytes each. */
#include <math.h>
#include <stdio.h>

#include "../model/cover.h"
#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "../diagnosis/called_from.h"

#define TINY_BYTES    4096
#define LEAST_SHARE   0.05
#define LEAST_AN_UNIT 10
#define LEAST_COUNT   100
#define LATENCY_NS    10000 /* within which an idle device begins what was launched: 2 to 10 us */

struct copies {
    double count, bytes, ns, to_host;
    int64_t until; /* that what was added of a device reaches to */
    struct nvt_called_from from;
};

/* A copy and its call, without the time that the call waited for what its device had been given before, until `free`. Calls go
 * on while the copies before them are done, and the two take their time once. */
static double add_copy(struct copies *copies, const struct nvt_trace *trace, uint32_t op,
                       int64_t free)
{
    uint32_t call = trace->ops.api[op];
    int64_t ns = 0;
    if (call != NVT_NONE) {
        int64_t start = trace->apis.start[call], end = trace->apis.end[call];
        int waited = end >= trace->ops.start[op] && free > start;
        /* A copy that begins as soon as it can is one piece with its call. */
        if (trace->ops.start[op] - end < LATENCY_NS)
            end = trace->ops.end[op] > end ? trace->ops.end[op] : end;
        ns = nvt_cover(&copies->until, waited ? (free < end ? free : end) : start, end);
    }
    ns += nvt_cover(&copies->until, trace->ops.start[op], trace->ops.end[op]);
    copies->ns += (double)ns;
    return (double)ns;
}

static void add_up_copies(const struct nvt_view *view, const struct nvt_used_device *device,
                          struct copies *copies, struct nvt_finding *finding)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t free = INT64_MIN;
    copies->until = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int is_tiny = ops->kind[op] == NVT_OP_MEMCPY && ops->bytes[op] &&
                      ops->bytes[op] < TINY_BYTES &&
                      (ops->copy_kind[op] == NVT_COPY_HTOD || ops->copy_kind[op] == NVT_COPY_DTOH);
        if (is_tiny && nvt_is_steady(view, ops->start[op])) {
            copies->count++;
            copies->bytes += (double)ops->bytes[op];
            copies->to_host += ops->copy_kind[op] == NVT_COPY_DTOH;
            nvt_called_from_add_call(&copies->from, ops->api[op],
                                     add_copy(copies, view->trace, op, free));
            nvt_finding_point(finding, ops->start[op]);
        }
        free = ops->end[op] > free ? ops->end[op] : free;
    }
}

/* 0, or -1 when out of memory. */
static int tell_copies(const struct nvt_view *view, struct copies *all, double share,
                       struct nvt_finding *finding)
{
    finding->cost_ns = share * view->span_ns / view->units;
    snprintf(finding->what, sizeof(finding->what), "%s of %.0f bytes between host and device %s",
             NVT_COUNTED(all->count / view->units, "copy", "copies"), all->bytes / all->count,
             view->per);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s each with its call (without waits for earlier work), %.0f %% of the time, %.3g "
             "MB/s; %.0f %% of them go to the host",
             NVT_TIME(all->ns / all->count), 100 * share, all->bytes / all->ns * 1e3,
             100 * all->to_host / all->count);
    return nvt_called_from_tell(&all->from, "that time", finding);
}

static int find_copies(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct copies all = {.count = 0};
    int failed = nvt_called_from_begin(&all.from, view->trace), status = 0;
    for (uint32_t i = 0; i < view->device_count && !failed; i++)
        add_up_copies(view, &view->devices[i], &all, &finding);
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    /* Two threads may copy at once. */
    double share = fmin(all.ns / (view->span_ns * view->device_count), 1);
    if (!failed && all.count >= least && share >= LEAST_SHARE) {
        failed = tell_copies(view, &all, share, &finding);
        status = failed ? 0 : nvt_findings_add(findings, &finding, err);
    }
    nvt_called_from_free(&all.from);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : status;
}

const struct nvt_rule nvt_rule_copies = {
    .cause = "tiny copies",
    .about = "copies between host and device that are all overhead",
    .means = "Each copy moves a few bytes, but costs what any copy costs: a call, and the start of "
             "a transfer. Copied together, they would take no longer than one of them.",
    .found = "Copies of less than 4 KiB between host and device count, with their calls, without "
             "the time that a call waits for earlier work of the device.",
    .threshold =
        "10 per iteration (100 without iterations) of less than 4 KiB, and 5 % of the time with "
        "their calls: at 25 GB/s, 4 KiB take 0.2 µs, but setting up a copy takes 1 to 10 µs; time "
        "that a call waits for earlier work of the device does not count",
    .remedy = "collect them into one buffer and copy it once, or leave the values on the device",
    .helped = "Losses and metrics summed on the GPU and fetched every n-th iteration. Arguments "
              "passed to kernels by value (up to 4 KiB of parameters) instead of by copies. One "
              "struct or packed tensor for many scalars.",
    .confused = "Sync-bound: a tiny copy to the host that waits for the GPU is usually a question "
                "(.item()); then the idle GPU after it costs more than the copy. Exposed copies: "
                "large ones.",
    .show = "stats -r cuda_gpu_mem_size_sum",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .look = find_copies,
};
