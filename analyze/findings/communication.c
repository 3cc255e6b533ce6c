/* exposed communication: the device communicates, and no kernel computes meanwhile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../diagnosis/diagnose.h"
#include "../device/overlap.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

/* Times of a device in which it communicates and does not compute: apart, ascending, in [from, to]. */
struct stretches {
    int64_t from, to;
    int64_t (*items)[2]; /* start and end */
    size_t count;
    int64_t communication_ns; /* also beside computation */
    int failed;               /* out of memory */
};

/* Over all devices. */
struct exposed {
    size_t count;
    double ns, communication_ns;
    int64_t longest[NVT_MOMENTS], longest_ns[NVT_MOMENTS]; /* descending */
    double *names;                                         /* ns by name of the collective */
};

static void add_piece(void *context, unsigned running, int64_t from, int64_t to)
{
    struct stretches *stretches = context;
    from = from > stretches->from ? from : stretches->from;
    to = to < stretches->to ? to : stretches->to;
    if (from >= to || !(running & 1u << NVT_CLASS_COMMUNICATION))
        return;
    stretches->communication_ns += to - from;
    if (running & 1u << NVT_CLASS_COMPUTE)
        return;
    /* A copy that begins or ends meanwhile makes no other stretch of it. */
    if (stretches->count && stretches->items[stretches->count - 1][1] == from) {
        stretches->items[stretches->count - 1][1] = to;
    } else if (nvt_grow(&stretches->items, stretches->count, sizeof(*stretches->items))) {
        stretches->failed = 1;
    } else {
        stretches->items[stretches->count][0] = from;
        stretches->items[stretches->count++][1] = to;
    }
}

static void keep_longest(struct exposed *exposed, int64_t start, int64_t ns)
{
    for (size_t i = 0; i < NVT_MOMENTS; i++)
        if (ns > exposed->longest_ns[i]) {
            int64_t other = exposed->longest[i], other_ns = exposed->longest_ns[i];
            exposed->longest[i] = start;
            exposed->longest_ns[i] = ns;
            start = other;
            ns = other_ns;
        }
}

/* What of each collective lies in the stretches; two that run at once both count. */
static void add_names(struct exposed *exposed, const struct nvt_trace *trace,
                      const struct nvt_used_device *device, const struct stretches *stretches)
{
    const struct nvt_ops *ops = &trace->ops;
    size_t at = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        if (nvt_op_class(trace, op) != NVT_CLASS_COMMUNICATION)
            continue;
        while (at < stretches->count && stretches->items[at][1] <= ops->start[op])
            at++;
        double *name = &exposed->names[ops->name[op]];
        for (size_t k = at; k < stretches->count && stretches->items[k][0] < ops->end[op]; k++) {
            int64_t from = stretches->items[k][0], to = stretches->items[k][1];
            from = ops->start[op] > from ? ops->start[op] : from;
            *name += (double)((ops->end[op] < to ? ops->end[op] : to) - from);
        }
    }
}

static int add_communication_device(struct exposed *exposed, const struct nvt_view *view,
                                    const struct nvt_used_device *device)
{
    struct stretches stretches = {.from = view->from, .to = view->to};
    int status = nvt_overlap_walk(view->trace, device, add_piece, &stretches);
    if (!status && !stretches.failed)
        add_names(exposed, view->trace, device, &stretches);
    for (size_t i = 0; i < stretches.count; i++) {
        int64_t ns = stretches.items[i][1] - stretches.items[i][0];
        exposed->ns += (double)ns;
        keep_longest(exposed, stretches.items[i][0], ns);
    }
    exposed->count += stretches.count;
    exposed->communication_ns += (double)stretches.communication_ns;
    free(stretches.items);
    return status || stretches.failed ? -1 : 0;
}

/* The name that most of it is in. */
static uint32_t busiest(const struct exposed *exposed, const struct nvt_trace *trace)
{
    uint32_t most = 0;
    for (uint32_t id = 0; id < nvt_strings_count(trace->strings); id++)
        most = exposed->names[id] > exposed->names[most] ? id : most;
    return most;
}

static void tell_communication(struct nvt_finding *finding, const struct nvt_view *view,
                               const struct exposed *exposed, uint32_t devices)
{
    uint32_t name = busiest(exposed, view->trace);
    nvt_finding_about_kernel(finding, nvt_name(view->trace, name));
    finding->cost_ns = exposed->ns / view->units / devices;
    snprintf(finding->what, sizeof(finding->what),
             "%.0f %% of GPU time is communication with no kernel overlapping, most of it in %s",
             100 * exposed->ns / (view->span_ns * devices), finding->subject);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s, %s each, the longest %s; no kernel overlaps %.0f %% of the time in "
             "communication; %s is %.0f %% of that",
             NVT_COUNTED((double)exposed->count / view->units, "stretch", "stretches"), view->per,
             NVT_TIME(exposed->ns / (double)exposed->count),
             NVT_TIME((double)exposed->longest_ns[0]),
             100 * exposed->ns / exposed->communication_ns, finding->subject,
             100 * fmin(exposed->names[name] / exposed->ns, 1));
    for (size_t i = 0; i < NVT_MOMENTS && exposed->longest_ns[i]; i++)
        nvt_finding_point(finding, exposed->longest[i]);
}

static int find_communication(const struct nvt_rule *rule, const struct nvt_view *view,
                              struct nvt_findings *findings, struct nvt_error *err)
{
    struct exposed exposed = {0};
    if (!view->device_count)
        return 0;
    exposed.names = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, sizeof(double));
    int status = exposed.names ? 0 : nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->device_count && !status; i++)
        if (add_communication_device(&exposed, view, &view->devices[i]))
            status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    if (!status && exposed.count >= LEAST_COUNT &&
        exposed.ns >= LEAST_SHARE * view->span_ns * view->device_count) {
        struct nvt_finding finding = nvt_finding_of(rule, view);
        tell_communication(&finding, view, &exposed, view->device_count);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(exposed.names);
    return status;
}

const struct nvt_rule nvt_rule_communication = {
    .cause = "exposed communication",
    .about = "communication between devices or ranks (NCCL, peer copies) that no kernel overlaps",
    .means = "The GPU communicates and computes nothing meanwhile. In training across GPUs this is "
             "the price of scaling; what overlaps with computation costs nothing.",
    .found =
        "The time in which collectives or peer copies run on a device and no other kernel "
        "does is added up over all streams. The finding names the collective with most of "
        "that time. What a rank spends waiting for a straggler is subtracted and shown "
        "separately. Where most of it is waiting for other ranks, the finding says whether in "
        "collectives (imbalance) or in messages (a pipeline's bubble); where files of ranks are "
        "missing, that it may be.",
    .threshold = "10 % of the device's time, in at least 3 stretches in which it communicates and "
                 "no other kernel runs: below that, gaps and kernels matter more",
    .remedy = "overlap it: asynchronous collectives in buckets while the backward pass still runs "
              "(DDP, FSDP's prefetching), larger buckets if they are many and short; if ranks wait "
              "for each other, look at the straggler",
    .helped =
        "DDP overlaps all-reduce with the backward pass in buckets (bucket_cap_mb=); gradient "
        "accumulation with no_sync() communicates less often; FSDP's forward_prefetch and "
        "backward_prefetch; gradients in bf16; collectives in larger pieces; NVLink and GPUDirect "
        "RDMA instead of copies through the host (NCCL_DEBUG=INFO shows which path is used).",
    .confused = "Straggler: collectives last long because one rank comes late; then the network is "
                "not the cause. MPI: communication by MPI calls, on the CPU. Compare the bandwidth "
                "in nvtally stats -r collectives with that of nccl-tests to see whether the link "
                "or the waiting is slow.",
    .show = "stats -r overlap",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .look = find_communication,
};
