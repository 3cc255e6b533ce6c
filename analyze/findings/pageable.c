/* pageable copies: transfers from or to memory that is not pinned. */
#include <math.h>
#include <stdio.h>

#include "../model/cuda_names.h"
#include "../diagnosis/called_from.h"

#define LEAST_SHARE 0.05
#define LEAST_COUNT 5
#define LEAST_BYTES 65536
/* From where on copies are told that are no loop: a few large ones, in a trace without iterations. */
#define LEAST_SHARE_ONCE 0.25

struct transfer {
    double count, bytes, ns;
    double longest_ns, second_ns;
    double covered_ns; /* of the devices' time, in the steady part */
    struct nvt_called_from from;
};

static void add_pageable(struct transfer *transfer, const struct nvt_ops *ops, uint32_t op)
{
    double ns = (double)(ops->end[op] - ops->start[op]);
    transfer->count++;
    transfer->bytes += (double)ops->bytes[op];
    transfer->ns += ns;
    transfer->second_ns = fmax(transfer->second_ns, fmin(ns, transfer->longest_ns));
    transfer->longest_ns = fmax(transfer->longest_ns, ns);
}

/* Add up what a device copies. Two copies at once take its time but once. */
static void add_pageable_device(const struct nvt_view *view, const struct nvt_used_device *device,
                                struct transfer *pageable, struct transfer *pinned,
                                struct nvt_finding *finding)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t until = view->from;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        if (ops->kind[op] != NVT_OP_MEMCPY || ops->bytes[op] < LEAST_BYTES ||
            (ops->copy_kind[op] != NVT_COPY_HTOD && ops->copy_kind[op] != NVT_COPY_DTOH))
            continue;
        unsigned kind =
            ops->copy_kind[op] == NVT_COPY_HTOD ? ops->source_kind[op] : ops->target_kind[op];
        if (kind == NVT_KIND_PINNED)
            add_pageable(pinned, ops, op);
        if (kind != NVT_KIND_PAGEABLE || !nvt_is_steady(view, ops->start[op]))
            continue;
        add_pageable(pageable, ops, op);
        nvt_called_from_add_call(&pageable->from, ops->api[op],
                                 (double)(ops->end[op] - ops->start[op]));
        nvt_finding_point(finding, ops->start[op]);
        int64_t start = ops->start[op] > until ? ops->start[op] : until;
        int64_t end = ops->end[op] < view->to ? ops->end[op] : view->to;
        if (end > start) {
            pageable->covered_ns += (double)(end - start);
            until = end;
        }
    }
}

/* 0, or -1 when out of memory. */
static int tell_pageable(const struct nvt_view *view, struct transfer *pageable,
                         const struct transfer *pinned, double share, struct nvt_finding *finding)
{
    finding->cost_ns = share * view->span_ns / view->units;
    snprintf(finding->what, sizeof(finding->what), "%s of pageable memory copied %s",
             NVT_BYTES(pageable->bytes / view->units), view->per);
    nvt_finding_append(finding, "%s %s, %s each, %.0f %% of the time, %.3g GB/s",
                       NVT_COUNTED(pageable->count / view->units, "copy", "copies"), view->per,
                       NVT_TIME(pageable->ns / pageable->count), 100 * share,
                       pageable->bytes / pageable->ns);
    if (pinned->ns > 0)
        nvt_finding_append(finding, "; pinned copies reach %.3g GB/s here",
                           pinned->bytes / pinned->ns);
    return nvt_called_from_tell(&pageable->from, "the copies' time", finding);
}

/* Whether it is a loop that copies; or, once, whether the device mostly copies. */
static int is_enough(const struct transfer *pageable, double share, int once)
{
    if (once)
        return share >= LEAST_SHARE_ONCE;
    double usual =
        nvt_usual_time(pageable->ns, pageable->count, pageable->longest_ns, pageable->second_ns);
    return pageable->count >= LEAST_COUNT && usual / pageable->ns * share >= LEAST_SHARE;
}

/* 1 if there is a finding, 0 if there is none, -1 when out of memory. */
static int look_at(const struct nvt_view *view, int once, struct nvt_finding *finding)
{
    struct transfer pageable = {0}, pinned = {0};
    int status = nvt_called_from_begin(&pageable.from, view->trace) ? -1 : 0;
    for (uint32_t i = 0; i < view->device_count && !status; i++)
        add_pageable_device(view, &view->devices[i], &pageable, &pinned, finding);
    double share = pageable.covered_ns / (view->span_ns * view->device_count);
    if (!status && pageable.count > 0 && is_enough(&pageable, share, once))
        status = tell_pageable(view, &pageable, &pinned, share, finding) ? -1 : 1;
    nvt_called_from_free(&pageable.from);
    return status;
}

static int find_pageable(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_view steady = *view;
    nvt_view_steady_part(&steady);
    struct nvt_finding finding = nvt_finding_of(rule, &steady);
    int found = look_at(&steady, 0, &finding);
    if (!found && !view->iteration_count) {
        finding = nvt_finding_of(rule, view);
        found = look_at(view, 1, &finding);
    }
    if (found < 0)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    return found ? nvt_findings_add(findings, &finding, err) : 0;
}

const struct nvt_rule nvt_rule_pageable = {
    .cause = "pageable copies",
    .about = "copies from or to host memory that is not pinned: slower, and nothing overlaps them",
    .means = "The driver copies pageable memory through a pinned buffer of its own. That is slower "
             "than a copy of pinned memory, the call does not return before the data are read, and "
             "no kernel of the same thread's queue overlaps it.",
    .found = "Copies of at least 64 KiB whose host side CUPTI or nsys calls pageable count; "
             "smaller ones go through the driver's own buffer and return at once. If pinned copies "
             "were recorded too, the finding shows their speed.",
    .threshold =
        "5 copies of at least 64 KiB, 5 % of the time: smaller ones go through the driver's own "
        "buffer and return at once, and an upload at the start is not a loop; without iterations "
        "also copies that take 25 % of the devices' time, however few",
    .remedy = "use pinned memory (cudaMallocHost, pin_memory=True) and asynchronous copies "
              "(non_blocking=True) on a stream of their own",
    .helped = "DataLoader(pin_memory=True) and tensor.to(device, non_blocking=True). "
              "cudaHostRegister for buffers that exist already. One pinned staging buffer that is "
              "reused: pinning itself is slow.",
    .confused = "Exposed copies: copies that no kernel overlaps, pinned or not. Tiny copies: below "
                "4 KiB, where the call is the cost.",
    .show = "stats -r cuda_gpu_mem_time_sum",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .is_of_operations = 1,
    .look = find_pageable,
};
