/* small grid: kernels with fewer blocks than half of the device's SMs, while nothing else runs. */
#include <stdio.h>
#include <stdlib.h>

#include "../device/communication.h"
#include "../device/devices.h"
#include "../device/occupancy.h"
#include "../diagnosis/diagnose.h"

#define LEAST_SHARE 0.1
#define LEAST_NS    20000

/* The small kernels of one name. */
struct small_name {
    double idle_ns; /* alone on the device, times the part of the SMs without a block */
    double ns;
    uint64_t count;
    uint64_t least, most; /* blocks */
    uint32_t threads;     /* of a block of the last one */
    uint32_t multiprocessors;
};

struct small_grids {
    struct small_name *names; /* by string */
    double idle_ns;
    struct nvt_longest longest;
};

static void add_kernel(const struct nvt_trace *trace, uint32_t op, uint32_t multiprocessors,
                       double alone_ns, struct small_grids *grids)
{
    const struct nvt_kernels *kernels = &trace->kernels;
    const uint32_t row = trace->ops.detail[op];
    const uint64_t blocks = nvt_grid(trace, op);
    struct small_name *name = &grids->names[trace->ops.name[op]];
    double idle = alone_ns * (1 - (double)blocks / multiprocessors);
    name->least = !name->count || blocks < name->least ? blocks : name->least;
    name->most = blocks > name->most ? blocks : name->most;
    name->threads = kernels->block_x[row] * kernels->block_y[row] * kernels->block_z[row];
    name->multiprocessors = multiprocessors;
    name->count++;
    name->ns += (double)(trace->ops.end[op] - trace->ops.start[op]);
    name->idle_ns += idle;
    grids->idle_ns += idle;
    nvt_longest_add(&grids->longest, trace->ops.start[op], idle);
}

/* Collectives have few blocks by design: what limits them is the link. */
static int is_small(const struct nvt_trace *trace, uint32_t op, uint32_t multiprocessors)
{
    const uint64_t blocks = nvt_grid(trace, op);
    return blocks && trace->ops.end[op] - trace->ops.start[op] >= LEAST_NS &&
           !nvt_is_communication(trace, op) && 2 * blocks <= multiprocessors;
}

struct small_device {
    const struct nvt_trace *trace;
    struct small_grids *grids;
    uint32_t multiprocessors; /* 0: unknown */
};

static void add_alone(void *context, uint32_t op, int64_t alone_ns)
{
    const struct small_device *device = context;
    if (is_small(device->trace, op, device->multiprocessors))
        add_kernel(device->trace, op, device->multiprocessors, (double)alone_ns, device->grids);
}

static void add_grid_device(const struct nvt_view *view, const struct nvt_used_device *device,
                            struct small_grids *grids)
{
    const struct nvt_trace *trace = view->trace;
    const uint32_t row = nvt_device_row(trace, device->process, device->device);
    struct small_device small = {trace, grids,
                                 row == NVT_NONE ? 0 : trace->devices.multiprocessors[row]};
    if (small.multiprocessors)
        nvt_each_alone(trace, device, view->from, view->to, add_alone, &small);
}

static void tell_grid(const struct nvt_view *view, const struct small_grids *grids,
                      uint32_t subject, struct nvt_finding *finding)
{
    const struct small_name *name = &grids->names[subject];
    char blocks[64];
    if (name->least == name->most)
        snprintf(blocks, sizeof(blocks), "%llu block%s", (unsigned long long)name->most,
                 name->most == 1 ? "" : "s");
    else
        snprintf(blocks, sizeof(blocks), "%llu to %llu blocks", (unsigned long long)name->least,
                 (unsigned long long)name->most);
    finding->cost_ns = grids->idle_ns / view->units / view->device_count;
    nvt_finding_about_kernel(finding, nvt_name(view->trace, subject));
    snprintf(finding->what, sizeof(finding->what),
             "%s runs in %s on a GPU of %u SMs: the other SMs are idle", finding->subject, blocks,
             name->multiprocessors);
    nvt_finding_append(finding, "%s %s, %s each, %u threads per block; %.0f %% of the time",
                       NVT_COUNTED((double)name->count / view->units, "launch", "launches"),
                       view->per, NVT_TIME(name->ns / (double)name->count), name->threads,
                       100 * name->ns / view->span_ns / view->device_count);
    if (grids->idle_ns > name->idle_ns * 1.05)
        nvt_finding_append(finding, "; this kernel is %.0f %% of the idle SMs' time",
                           100 * name->idle_ns / grids->idle_ns);
    nvt_finding_point_longest(finding, &grids->longest);
}

static int find_grid(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    const uint32_t count = nvt_strings_count(view->trace->strings);
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct small_grids grids = {.names = calloc((size_t)count + 1, sizeof(*grids.names))};
    uint32_t subject = 0;
    int status = 0;
    if (!grids.names)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->device_count; i++)
        add_grid_device(view, &view->devices[i], &grids);
    for (uint32_t i = 0; i < count; i++)
        if (grids.names[i].idle_ns > grids.names[subject].idle_ns)
            subject = i;
    if (grids.idle_ns >= LEAST_SHARE * view->span_ns * view->device_count && grids.idle_ns > 0) {
        tell_grid(view, &grids, subject, &finding);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(grids.names);
    return status;
}

const struct nvt_rule nvt_rule_grid = {
    .cause = "small grid",
    .about = "kernels with too few blocks to give every SM one, while nothing else runs",
    .means =
        "A block runs on one SM. A kernel with fewer blocks than the GPU has SMs leaves the "
        "rest of the chip idle, although the GPU counts as busy. The utilisation that nvidia-smi "
        "shows is the same as that of a full grid.",
    .found = "The grid of each kernel is compared with the number of SMs of its device. Time "
             "counts in which the kernel runs alone. The cost is that time multiplied by the share "
             "of SMs without a block: what perfect spreading would save.",
    .threshold =
        "kernels of 20 µs and more with at most one block for two SMs, alone on the device, whose "
        "idle SMs are 10 % of the device's time: shorter kernels cost their launch, not their "
        "grid; collectives (NCCL) are left out, and devices whose number of SMs is unknown",
    .remedy = "split the work into more blocks (along another dimension, or split-K), batch small "
              "problems into one launch, or run independent kernels on several streams",
    .helped =
        "Split-K and stream-K GEMMs for small outputs with a long inner dimension; flash-decoding, "
        "which splits the keys of one query, for inference at batch size 1; reductions in two "
        "steps; batching of requests; several streams or MPS for independent work.",
    .confused = "Persistent kernels that fill each SM on purpose have as many blocks as SMs, and "
                "are not found. Kernels of collectives use few SMs by design and are left out. "
                "Many small kernels: short kernels, whatever their grid.",
    .show = "stats -r cuda_gpu_kern_gb_sum",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .is_of_operations = 1,
    .look = find_grid,
};
