/* unified memory: pages of managed memory that move when they are touched, some KiB at a time. */
#include <math.h>
#include <stdio.h>

#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "../diagnosis/diagnose.h"
#include "../studies/managed_memory.h"

#define LEAST_SHARE   0.1
#define LEAST_AN_UNIT 10
#define LEAST_COUNT   100

struct moves {
    double count, bytes, to_host; /* to_host: bytes */
    double ns;                    /* moving, also beside kernels, which wait for it */
    double gaps;                  /* between one and the next, with nothing else in between */
};

static void add_up_unified(const struct nvt_view *view, const struct nvt_used_device *device,
                           struct moves *moves, struct nvt_finding *finding)
{
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t until = INT64_MIN, moved = INT64_MIN; /* ends of all that was, and of what moved */
    int follows = 0;                              /* the last one moved */
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int64_t start = ops->start[op], end = ops->end[op];
        if (nvt_is_page_move(ops, op) && nvt_is_steady(view, start)) {
            moves->count++;
            moves->bytes += (double)ops->bytes[op];
            if (ops->copy_kind[op] == NVT_COPY_UNIFIED_DTOH)
                moves->to_host += (double)ops->bytes[op];
            if (end > moved)
                moves->ns += (double)(end - (start > moved ? start : moved));
            if (follows && start > until)
                moves->gaps += (double)(start - until);
            moved = end > moved ? end : moved;
            nvt_finding_point(finding, start);
        }
        follows = nvt_is_page_move(ops, op);
        until = end > until ? end : until;
    }
}

static int find_unified(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct moves all = {0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < view->device_count; i++)
        add_up_unified(view, &view->devices[i], &all, &finding);
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    double share = fmin((all.ns + all.gaps) / (view->span_ns * view->device_count), 1);
    if (all.count < least || share < LEAST_SHARE)
        return 0;
    finding.cost_ns = share * view->span_ns / view->units;
    snprintf(finding.what, sizeof(finding.what),
             "managed memory migrates on page faults, %s %s, %.0f KiB each",
             NVT_COUNTED(all.count / view->units, "time", "times"), view->per,
             all.bytes / all.count / 1024);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s each and %s until the next, %.0f %% of the time; %.3g GB/s during a migration; "
             "%.0f %% of the bytes go to the host",
             NVT_TIME(all.ns / all.count), NVT_TIME(all.gaps / all.count), 100 * share,
             all.ns > 0 ? all.bytes / all.ns : 0,
             all.bytes > 0 ? 100 * all.to_host / all.bytes : 0);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_unified = {
    .cause = "pages on demand",
    .about = "managed memory that migrates between host and device when it is touched",
    .means = "Pages of cudaMallocManaged memory move to whoever touches them, one fault at a time. "
             "Each migration is small and somebody waits for it; one explicit copy or prefetch of "
             "all of them would run at the full speed of the link.",
    .found = "Migrations are counted, with the gaps to the next one in which nothing else runs. "
             "Needs an nsys export, or --trace um of nvtally record.",
    .threshold = "10 migrations per iteration (100 without iterations), and 10 % of the time with "
                 "what lies between one and the next: each is a fault that somebody waits for, and "
                 "takes some tens of us for what one copy of everything would move in a few",
    .remedy = "cudaMemPrefetchAsync to where the data are needed next, ahead of time, or "
              "cudaMemAdvise; or device memory and explicit copies",
    .helped =
        "cudaMemPrefetchAsync before a kernel and before the host reads results. "
        "cudaMemAdviseSetReadMostly for tables, SetPreferredLocation and SetAccessedBy for data "
        "that both sides touch. cudaMalloc with explicit copies where access is regular.",
    .confused = "Page faults: what kernels wait for; this rule counts what moves. On systems where "
                "CPU and GPU share memory by hardware (Grace Hopper), accesses need no migration.",
    .show = "stats -r um_total_sum",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS,
    .look = find_unified,
};
