/* exposed copies: the device does nothing but copy from or to the host. */
#include <stdio.h>
#include <string.h>

#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "../diagnosis/called_from.h"

#define LEAST_SHARE 0.2
#define LEAST_COUNT 5

struct copies {
    double count, ns, exposed_ns;
    double sized, bytes, sized_ns; /* those whose sizes are known */
    int64_t longest[NVT_MOMENTS], longest_ns[NVT_MOMENTS];
    struct nvt_called_from from;
};

static int is_transfer(const struct nvt_ops *ops, uint32_t op)
{
    return ops->kind[op] == NVT_OP_MEMCPY &&
           (ops->copy_kind[op] == NVT_COPY_HTOD || ops->copy_kind[op] == NVT_COPY_DTOH);
}

static void add_transfers(struct copies *copies, const struct nvt_ops *ops, uint32_t op)
{
    int64_t ns = ops->end[op] - ops->start[op];
    copies->count++;
    copies->ns += (double)ns;
    if (ops->bytes[op]) {
        copies->sized++;
        copies->bytes += (double)ops->bytes[op];
        copies->sized_ns += (double)ns;
    }
    nvt_called_from_add_call(&copies->from, ops->api[op], (double)ns);
    for (size_t i = 0; i < NVT_MOMENTS; i++)
        if (ns > copies->longest_ns[i]) {
            memmove(&copies->longest[i + 1], &copies->longest[i],
                    (NVT_MOMENTS - 1 - i) * sizeof(int64_t));
            memmove(&copies->longest_ns[i + 1], &copies->longest_ns[i],
                    (NVT_MOMENTS - 1 - i) * sizeof(int64_t));
            copies->longest[i] = ops->start[op];
            copies->longest_ns[i] = ns;
            return;
        }
}

/* Time of kernels and transfers together, less that of kernels. */
static void measure_transfers(const struct nvt_view *view, const struct nvt_used_device *device,
                              struct copies *copies)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t any = INT64_MIN, kernel = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int64_t start = ops->start[op], end = ops->end[op];
        int transfers = is_transfer(ops, op);
        end = end < view->to ? end : view->to;
        if (!nvt_is_steady(view, start) || (!transfers && ops->kind[op] != NVT_OP_KERNEL))
            continue;
        if (transfers)
            add_transfers(copies, ops, op);
        if (end > any)
            copies->exposed_ns += (double)(end - (start > any ? start : any));
        if (!transfers && end > kernel) {
            copies->exposed_ns -= (double)(end - (start > kernel ? start : kernel));
            kernel = end;
        }
        any = end > any ? end : any;
    }
}

/* 0, or -1 when out of memory. */
static int tell_transfers(const struct nvt_view *view, struct copies *copies, double share,
                          struct nvt_finding *finding)
{
    char size[32] = "", speed[32] = "";
    if (copies->sized > 0) {
        snprintf(size, sizeof(size), "%.4g MB and ", copies->bytes / copies->sized / 1e6);
        snprintf(speed, sizeof(speed), ", %.3g GB/s", copies->bytes / copies->sized_ns);
    }
    finding->cost_ns = copies->exposed_ns / view->units / view->device_count;
    snprintf(finding->what, sizeof(finding->what),
             "%.0f %% of GPU time is host-device copies with no kernel overlapping", 100 * share);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s, %s%s each%s; no kernel overlaps %.0f %% of their time",
             NVT_COUNTED(copies->count / view->units, "copy", "copies"), view->per, size,
             NVT_TIME(copies->ns / copies->count), speed, 100 * copies->exposed_ns / copies->ns);
    for (size_t i = 0; i < NVT_MOMENTS && copies->longest_ns[i]; i++)
        nvt_finding_point(finding, copies->longest[i]);
    return nvt_called_from_tell(&copies->from, "the copies' time", finding);
}

static int find_transfers(const struct nvt_rule *rule, const struct nvt_view *view,
                          struct nvt_findings *findings, struct nvt_error *err)
{
    struct copies copies = {0};
    int failed = nvt_called_from_begin(&copies.from, view->trace), status = 0;
    for (uint32_t i = 0; i < view->device_count && !failed; i++)
        measure_transfers(view, &view->devices[i], &copies);
    double share = copies.exposed_ns / (view->span_ns * view->device_count);
    double usual = nvt_usual_time(copies.ns, copies.count, (double)copies.longest_ns[0],
                                  (double)copies.longest_ns[1]) /
                   copies.ns * share;
    if (!failed && copies.count >= LEAST_COUNT && usual >= LEAST_SHARE) {
        struct nvt_finding finding = nvt_finding_of(rule, view);
        failed = tell_transfers(view, &copies, share, &finding);
        status = failed ? 0 : nvt_findings_add(findings, &finding, err);
    }
    nvt_called_from_free(&copies.from);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : status;
}

static const struct nvt_rule *const reasons[] = {&nvt_rule_pageable, &nvt_rule_copies, NULL};

const struct nvt_rule nvt_rule_transfers = {
    .cause = "exposed copies",
    .about = "host-device copies not overlapped with kernels",
    .means = "The GPU copies from or to the host and computes nothing meanwhile, although its copy "
             "engines could do both at once.",
    .found = "The time in which a device copies from or to the host and runs no kernel is added "
             "up, over all streams. The finding does not count copies between devices.",
    .threshold = "20 % of the device's time and 5 copies: below that, kernels and gaps matter more",
    .remedy = "copy less (keep weights and data on the device, smaller types), or copy ahead on a "
              "stream of its own while kernels run",
    .helped = "A second stream that copies the next batch while the current one is computed (a "
              "prefetcher), with pinned memory. Chunks: copy piece n+1 while piece n is processed. "
              "Keeping data on the GPU between iterations. Smaller types: uint8 images, converted "
              "on the GPU.",
    .confused =
        "Pageable copies: the same copies cannot overlap before their memory is pinned; that "
        "finding comes first then. Exposed communication: copies between GPUs, and collectives.",
    .show = "stats -r overlap",
    .reasons = reasons,
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .look = find_transfers,
};
