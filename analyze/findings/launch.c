/* launch-bound: launches follow each other, but more slowly than the device works. */
#include <stdio.h>

#include "../diagnosis/called_from.h"
#include "../diagnosis/running.h"
#include "../device/gaps.h"

#define LEAST_SHARE 0.2
#define LEAST_COUNT 50

static void tell_launch(struct nvt_finding *finding, const struct nvt_view *view,
                        const struct nvt_gap_sum *sum)
{
    const struct nvt_trace *trace = view->trace;
    double calls = 0, calls_ns = 0, kernels = 0, kernels_ns = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        if (nvt_is_steady_call(view, i) &&
            nvt_call_launches(nvt_name(trace, trace->apis.name[i]))) {
            calls++;
            calls_ns += (double)(trace->apis.end[i] - trace->apis.start[i]);
        }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.kind[i] == NVT_OP_KERNEL && nvt_is_steady_op(view, i)) {
            kernels++;
            kernels_ns += (double)(trace->ops.end[i] - trace->ops.start[i]);
        }
    snprintf(finding->what, sizeof(finding->what),
             "GPU is idle %.0f %% of the time, waiting for kernel launches", 100 * sum->share);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s, %s each; average launch %s (CPU), average kernel %s (GPU); %s, %s "
             "%s",
             NVT_COUNTED((double)sum->count / view->units, "gap", "gaps"), view->per,
             NVT_TIME((double)sum->ns / (double)sum->count),
             NVT_TIME(calls > 0 ? calls_ns / calls : 0),
             NVT_TIME(kernels > 0 ? kernels_ns / kernels : 0),
             NVT_COUNTED(calls / view->units, "launch", "launches"),
             NVT_COUNTED(kernels / view->units, "kernel", "kernels"), view->per);
}

static int find_launch(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_LAUNCH};
    if (nvt_view_gaps(view, &sum, err))
        return -1;
    if (sum.count < LEAST_COUNT || sum.usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    tell_launch(&finding, view, &sum);
    if (nvt_called_from_tell_calls(view, nvt_call_launches, "the launches' time", &finding, err) ||
        nvt_running_tell_gaps(view, NVT_GAP_LAUNCH, &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_launch = {
    .cause = "launch-bound",
    .about = "a GPU that waits for kernel launches although the launching thread does nothing but "
             "launch",
    .means = "The GPU finishes each kernel before the CPU has launched the next one. It is idle in "
             "many short gaps, and a faster GPU would not make the program faster. Launch overhead "
             "of the framework and of the driver decides how long an iteration takes.",
    .found = "A gap of a device counts if the thread that launches the next operation was "
             "launching, or between two launches less than 100 µs apart, until then. Gaps after a "
             "wait for the device are sync-bound, longer ones outside of CUDA are GPU idle. With "
             "--trace cpu, the evidence ends with the functions that ran in these gaps.",
    .threshold = "20 % of the device's time and 50 gaps: a queue that runs ahead has such gaps "
                 "only at its beginning. Gaps of 100 µs or more outside of CUDA are the program's "
                 "own work: a launch takes 2 to 10 µs, some tens with a framework's operator",
    .remedy = "fuse kernels, batch them, or capture them into a CUDA graph",
    .in_pytorch = "torch.compile (mode=\"reduce-overhead\" captures CUDA graphs), a larger batch, "
                  "CUDA graphs by hand (torch.cuda.graph), fused=True in the optimizer",
    .helped = "CUDA graphs replay hundreds of launches as one: torch.cuda.graph, "
              "torch.compile(mode=\"reduce-overhead\"), jax.jit. Fused operators (torch.compile, "
              "fused=True or foreach=True optimizers, fused attention and normalisation) need "
              "fewer launches. A larger batch gives each kernel more work. In C++, batched or "
              "grouped library calls replace loops of small ones.",
    .confused =
        "Sync-bound: the CPU waits for results first, so it cannot run ahead; that has to go "
        "before a graph helps. GPU idle: the CPU runs other code between launches. Recording slows "
        "launches down as well: a program just above the threshold may be just below it without.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_launch,
};
