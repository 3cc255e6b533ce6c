/* page faults: kernels that wait until the driver has brought the pages of managed memory that they touch. */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/map.h"
#include "../device/project.h"
#include "../diagnosis/diagnose.h"
#include "../model/cuda_names.h"

#define LEAST_SHARE   0.1
#define LEAST_AN_UNIT 10
#define LEAST_COUNT   100

/* When the driver was at work on faults of a device: moments in order that do not overlap. `before` is the time in those in
 * front of it. */
struct spell {
    int64_t start, end;
    double before;
};

struct stalls {
    const struct nvt_view *view;
    struct spell **spells; /* of each device of the view */
    uint32_t *counts;
    /* ns that kernels of a name, and in ranges of a name, wait; by string */
    double *kernels, *ranges;
    double faults, records, thrashed, ns, kernel_ns, stalled; /* stalled: kernels */
    double to_device, to_host, both_ways;                     /* bytes that moved */
};

/* Of a device what the steady part has; events come in the order of their starts. 0, or -1 when out of memory. */
static int find_spells(struct stalls *stalls, uint32_t device, struct nvt_finding *finding)
{
    const struct nvt_view *view = stalls->view;
    const struct nvt_used_device *used = &view->devices[device];
    const struct nvt_um_events *events = &view->trace->um_events;
    struct spell *spells = malloc(((size_t)events->count + 1) * sizeof(*spells));
    uint32_t count = 0;
    stalls->spells[device] = spells;
    for (uint32_t i = 0; spells && i < events->count; i++) {
        if (events->process[i] != used->process || !nvt_is_steady(view, events->start[i]))
            continue;
        /* Of thrashing it is not known which devices, and each is asked for it. */
        stalls->thrashed += events->kind[i] == NVT_UM_THRASHING && !device;
        if (events->kind[i] != NVT_UM_GPU_FAULT || events->device[i] != used->device)
            continue;
        stalls->records++;
        stalls->faults += (double)events->faults[i];
        nvt_finding_point(finding, events->start[i]);
        struct spell *last = count ? &spells[count - 1] : NULL;
        if (last && events->start[i] <= last->end)
            last->end = events->end[i] > last->end ? events->end[i] : last->end;
        else {
            double before = last ? last->before + (double)(last->end - last->start) : 0;
            spells[count++] = (struct spell){events->start[i], events->end[i], before};
        }
    }
    stalls->counts[device] = count;
    return spells ? 0 : -1;
}

/* Time in spells before a moment. */
static double until(const struct spell *spells, uint32_t count, int64_t moment)
{
    uint32_t low = 0;
    NVT_BISECT(low, count, spells[low].start < moment);
    if (!low)
        return 0;
    const struct spell *last = &spells[low - 1];
    return last->before + (double)((moment < last->end ? moment : last->end) - last->start);
}

static double between(const struct stalls *stalls, uint32_t device, int64_t start, int64_t end)
{
    const struct spell *spells = stalls->spells[device];
    return until(spells, stalls->counts[device], end) -
           until(spells, stalls->counts[device], start);
}

/* Kernels of a device. Two at once wait but once. */
static void add_kernels(struct stalls *stalls, uint32_t device)
{
    const struct nvt_view *view = stalls->view;
    const struct nvt_used_device *used = &view->devices[device];
    const struct nvt_ops *ops = &view->trace->ops;
    int64_t done = INT64_MIN;
    for (uint32_t i = 0; i < used->count; i++) {
        uint32_t op = used->ops[i];
        if (ops->kind[op] != NVT_OP_KERNEL || !nvt_is_steady(view, ops->start[op]))
            continue;
        double ns = between(stalls, device, ops->start[op], ops->end[op]);
        stalls->kernels[ops->name[op]] += ns;
        stalls->stalled += ns > 0;
        int64_t start = ops->start[op] > done ? ops->start[op] : done;
        if (ops->end[op] > start) {
            stalls->kernel_ns += (double)(ops->end[op] - start);
            stalls->ns += between(stalls, device, start, ops->end[op]);
            done = ops->end[op];
        }
    }
}

/* Bytes that moved in the steady part. Of an address from which and to which some did, what came and went again. 0 or -1. */
static int add_moves(struct stalls *stalls)
{
    const struct nvt_view *view = stalls->view;
    const struct nvt_ops *ops = &view->trace->ops;
    const struct nvt_migrations *migrations = &view->trace->migrations;
    double(*ways)[2] = calloc((size_t)migrations->count + 1, sizeof(*ways));
    struct nvt_map places = {0};
    uint32_t *at = NULL;
    int status = ways ? 0 : -1;
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        uint32_t row = ops->detail[i];
        int to_host = ops->copy_kind[i] == NVT_COPY_UNIFIED_DTOH;
        if (ops->kind[i] != NVT_OP_MEMCPY || !nvt_is_migration(ops->copy_kind[i]) ||
            !nvt_is_steady_op(view, i))
            continue;
        *(to_host ? &stalls->to_host : &stalls->to_device) += (double)ops->bytes[i];
        if (row >= migrations->count || !migrations->address[row])
            continue;
        at = nvt_map_at(&places, migrations->address[row]);
        status = at ? 0 : -1;
        if (status)
            break;
        if (*at == NVT_MAP_NONE)
            *at = row;
        ways[*at][to_host] += (double)ops->bytes[i];
    }
    for (uint32_t i = 0; i < migrations->count && !status; i++)
        stalls->both_ways += 2 * (ways[i][0] < ways[i][1] ? ways[i][0] : ways[i][1]);
    nvt_map_free(&places);
    free(ways);
    return status;
}

/* The innermost range that a kernel was launched in. */
static int add_faults_range(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct stalls *stalls = context;
    const struct nvt_view *view = stalls->view;
    const struct nvt_ops *ops = &view->trace->ops;
    if (!count || ops->kind[op] != NVT_OP_KERNEL || !nvt_is_steady_op(view, op))
        return 0;
    for (uint32_t i = 0; i < view->device_count; i++)
        if (view->devices[i].process == ops->process[op] &&
            view->devices[i].device == ops->device[op])
            stalls->ranges[view->trace->ranges.name[ranges[count - 1]]] +=
                between(stalls, i, ops->start[op], ops->end[op]);
    return 0;
}

/* The name with the most, 0: none has any. */
static uint32_t most_of(const double *ns, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < count; i++)
        if (ns[i] > ns[most])
            most = i;
    return ns[most] > 0 ? most : 0;
}

static void describe(const struct stalls *stalls, double share, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = stalls->view->trace;
    uint32_t strings = nvt_strings_count(trace->strings);
    uint32_t range = most_of(stalls->ranges, strings);
    char place[128] = "", moved[192] = "", thrashed[64] = "", kernel[NVT_TELLING_NAME_MAX];
    if (range)
        snprintf(place, sizeof(place), ", in range %.80s", nvt_name(trace, range));
    if (stalls->to_device > 0 || stalls->to_host > 0)
        snprintf(moved, sizeof(moved), "; %s migrate to devices and %s to the host%s%s%s",
                 NVT_BYTES(stalls->to_device), NVT_BYTES(stalls->to_host),
                 stalls->both_ways > 0 ? ", " : "",
                 stalls->both_ways > 0 ? NVT_BYTES(stalls->both_ways) : "",
                 stalls->both_ways > 0 ? " of it there and back" : "");
    if (stalls->thrashed > 0)
        snprintf(thrashed, sizeof(thrashed), "; the driver reports thrashing, %s times",
                 NVT_COUNT(stalls->thrashed));
    snprintf(finding->what, sizeof(finding->what),
             "kernels wait for pages of managed memory: %s %s, most in %.80s",
             NVT_COUNTED(stalls->faults / stalls->view->units, "fault", "faults"),
             stalls->view->per,
             nvt_kernel_label(nvt_name(trace, most_of(stalls->kernels, strings)), kernel));
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%.0f %% of the time, %.0f %% of kernel time; the driver handles faults %s times "
             "while %s, for %s "
             "each%s%s%s",
             100 * share, 100 * stalls->ns / stalls->kernel_ns, NVT_COUNT(stalls->records),
             NVT_COUNTED(stalls->stalled, "kernel runs", "kernels run"),
             NVT_TIME(stalls->ns / stalls->records), place, moved, thrashed);
}

/* 0, or -1 when out of memory. */
static int measure_faults(struct stalls *stalls, struct nvt_finding *finding)
{
    const struct nvt_view *view = stalls->view;
    size_t strings = (size_t)nvt_strings_count(view->trace->strings) + 1;
    stalls->spells = calloc((size_t)view->device_count + 1, sizeof(*stalls->spells));
    stalls->counts = calloc((size_t)view->device_count + 1, sizeof(*stalls->counts));
    stalls->kernels = calloc(strings, sizeof(*stalls->kernels));
    stalls->ranges = calloc(strings, sizeof(*stalls->ranges));
    if (!stalls->spells || !stalls->counts || !stalls->kernels || !stalls->ranges)
        return -1;
    for (uint32_t i = 0; i < view->device_count; i++) {
        if (find_spells(stalls, i, finding))
            return -1;
        add_kernels(stalls, i);
    }
    return 0;
}

static int find_faults(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct stalls stalls = {.view = view};
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    if (!view->trace->um_events.count)
        return 0;
    int status = measure_faults(&stalls, &finding);
    double share = stalls.ns / (view->span_ns * view->device_count);
    int is_found = !status && stalls.records >= least && share >= LEAST_SHARE;
    if (is_found)
        status = add_moves(&stalls);
    if (status)
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    else if (is_found)
        status = nvt_project(view->trace, NVT_ACROSS_WAITS, add_faults_range, &stalls, err);
    if (is_found && !status) {
        finding.cost_ns = share * view->span_ns / view->units;
        describe(&stalls, share, &finding);
        status = nvt_findings_add(findings, &finding, err);
    }
    for (uint32_t i = 0; i < view->device_count && stalls.spells; i++)
        free(stalls.spells[i]);
    free(stalls.spells);
    free(stalls.counts);
    free(stalls.kernels);
    free(stalls.ranges);
    return status;
}

const struct nvt_rule nvt_rule_faults = {
    .cause = "page faults",
    .about = "kernels that wait for pages of managed memory, which the driver brings on a fault",
    .means = "Kernels touch managed memory that is not on their GPU. Warps stall until the driver "
             "has moved the page, which takes tens of us, and the kernel takes many times as long "
             "as its work.",
    .found = "A kernel is taken to wait while the driver handles any fault of its device: an upper "
             "bound. The finding names the kernel and the range that wait the most, the bytes each "
             "way and back, and thrashing. Needs nvtally record --trace kernel,um, or nsys profile "
             "--cuda-um-gpu-page-faults=true.",
    .threshold = "10 times per iteration (100 without iterations) that the driver handles faults "
                 "of a device, and kernels run meanwhile for 10 % of the time: what is touched for "
                 "the first time faults once, and no more",
    .remedy = "cudaMemPrefetchAsync before the kernel, cudaMemAdvise (preferred location, read "
              "mostly); let the device write first what it uses; or cudaMalloc and copies",
    .helped = "Prefetching all inputs of a kernel, and outputs that it writes completely. First "
              "touch on the side that uses the data. Fewer bytes than device memory: if data do "
              "not fit, every pass faults again (thrashing).",
    .confused = "Pages on demand: the migrations themselves, in either direction. A slow kernel "
                "without faults has another cause.",
    .show = "stats -r um_sum",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS,
    .look = find_faults,
};
