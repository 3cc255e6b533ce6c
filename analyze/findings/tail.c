/* tail effect: grids whose last wave of blocks leaves most SMs idle. */
#include <stdio.h>
#include <stdlib.h>

#include "../device/communication.h"
#include "../device/devices.h"
#include "../device/occupancy.h"
#include "../diagnosis/diagnose.h"

#define LEAST_SHARE 0.1
#define LEAST_NS    20000
#define MOST_WAVES  3 /* behind so many, blocks have spread */

/* Kernels of one name with such a grid. */
struct tail_name {
    /* idle: alone on the device, times the part of its room for blocks that stays empty */
    double idle_ns, ns;
    uint64_t count;
    uint64_t blocks, wave; /* of the one that costs most */
    double most_ns;
};

struct tails {
    const struct nvt_trace *trace;
    uint32_t device;         /* row */
    struct tail_name *names; /* by string */
    double idle_ns;
    struct nvt_longest longest;
};

static void add_tail(void *context, uint32_t op, int64_t alone_ns)
{
    struct tails *tails = context;
    const struct nvt_ops *ops = &tails->trace->ops;
    const uint64_t blocks = nvt_grid(tails->trace, op),
                   wave = nvt_wave(tails->trace, op, tails->device);
    if (!wave || blocks <= wave || blocks % wave == 0 || blocks > MOST_WAVES * wave ||
        ops->end[op] - ops->start[op] < LEAST_NS || nvt_is_communication(tails->trace, op))
        return;
    const uint64_t waves = (blocks + wave - 1) / wave;
    const double idle = (double)alone_ns * (1 - (double)blocks / (double)(waves * wave));
    struct tail_name *name = &tails->names[ops->name[op]];
    name->count++;
    name->ns += (double)(ops->end[op] - ops->start[op]);
    name->idle_ns += idle;
    tails->idle_ns += idle;
    if (idle > name->most_ns) {
        name->most_ns = idle;
        name->blocks = blocks;
        name->wave = wave;
    }
    nvt_longest_add(&tails->longest, ops->start[op], idle);
}

static void tell_tail(const struct nvt_view *view, const struct tails *tails, uint32_t subject,
                      struct nvt_finding *finding)
{
    const struct tail_name *name = &tails->names[subject];
    const uint64_t last = name->wave ? name->blocks % name->wave : 0;
    finding->cost_ns = tails->idle_ns / view->units / view->device_count;
    nvt_finding_about_kernel(finding, nvt_name(view->trace, subject));
    snprintf(finding->what, sizeof(finding->what),
             "the last wave of %s has %llu block%s, and room for %llu", finding->subject,
             (unsigned long long)last, last == 1 ? "" : "s", (unsigned long long)name->wave);
    nvt_finding_append(finding,
                       "%llu blocks, of which the GPU holds %llu at once by registers, shared "
                       "memory and threads; %s %s, %s each",
                       (unsigned long long)name->blocks, (unsigned long long)name->wave,
                       NVT_COUNTED((double)name->count / view->units, "launch", "launches"),
                       view->per, NVT_TIME(name->ns / (double)name->count));
    if (tails->idle_ns > name->idle_ns * 1.05)
        nvt_finding_append(finding, "; this kernel has %.0f %% of the idle time",
                           100 * name->idle_ns / tails->idle_ns);
    nvt_finding_append(
        finding,
        "; the cost assumes blocks that take equally long, and time that grows with waves");
    nvt_finding_point_longest(finding, &tails->longest);
}

static int find_tail(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    const uint32_t count = nvt_strings_count(view->trace->strings);
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct tails tails = {.trace = view->trace,
                          .names = calloc((size_t)count + 1, sizeof(*tails.names))};
    uint32_t subject = 0;
    int status = 0;
    if (!tails.names)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->device_count; i++) {
        tails.device =
            nvt_device_row(view->trace, view->devices[i].process, view->devices[i].device);
        if (tails.device != NVT_NONE)
            nvt_each_alone(view->trace, &view->devices[i], view->from, view->to, add_tail, &tails);
    }
    for (uint32_t i = 0; i < count; i++)
        if (tails.names[i].idle_ns > tails.names[subject].idle_ns)
            subject = i;
    if (tails.idle_ns >= LEAST_SHARE * view->span_ns * view->device_count && tails.idle_ns > 0) {
        tell_tail(view, &tails, subject, &finding);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(tails.names);
    return status;
}

const struct nvt_rule nvt_rule_tail = {
    .cause = "tail effect",
    .about = "kernels with a few blocks more than the device holds at once: the last wave runs "
             "nearly alone",
    .means =
        "Blocks run in waves of as many as all SMs hold at once. A grid of a little more than a "
        "whole number of waves takes a whole wave longer for the rest, in which most SMs are idle.",
    .found = "A wave is what all SMs hold at once by the kernel's registers, shared memory and "
             "threads (CUDA's occupancy calculator). Kernels with more than one wave and at most "
             "three are looked at, while they run alone. The cost assumes blocks that take equally "
             "long: it is what filling the last wave would save at most.",
    .threshold =
        "kernels of 20 µs and more, alone on the device, whose grid is more than one wave and at "
        "most three; the room for blocks that their last wave leaves empty is 10 % of the device's "
        "time. A wave is what all SMs hold at once by the kernel's registers, shared memory and "
        "threads (CUDA's occupancy calculator): unknown without the number of SMs or the compute "
        "capability. With more waves, blocks no longer end together. Collectives are left out",
    .remedy = "choose block and tile sizes so that the grid is just below a whole number of waves, "
              "let blocks loop over tiles (persistent kernels, stream-K), or run another kernel "
              "alongside it on a second stream",
    .helped = "Tile sizes that fit the number of SMs (cuBLASLt's heuristics and autotuning in "
              "Triton or CUTLASS try several); stream-K and persistent kernels; batch sizes that "
              "fill whole waves; a second stream with independent work.",
    .confused = "Small grid: less than one wave. Blocks that take different times even out: the "
                "finding is possible only. Other work that fills the last wave is no loss, and "
                "only time alone counts.",
    .show = "stats -r cuda_gpu_kern_gb_sum",
    .confidence = NVT_POSSIBLE,
    .needs = NVT_RULE_OPS,
    .is_of_operations = 1,
    .look = find_tail,
};
