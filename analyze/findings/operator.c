/* dominant operator: one operator of PyTorch that takes most of a loop's time on the CPU, and is none that models consist of. */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/one_of.h"
#include "../diagnosis/diagnose.h"
#include "../model/batches.h"
#include "../model/nesting.h"

#define LEAST_SHARE 0.4
#define LEAST_COUNT 3

/* Own time of the operators of one name. */
struct operator_time {
    double ns, count;
    struct nvt_longest longest;
};

/* Products, convolutions, attention and recurrent layers: what a model's time should go into. */
static int is_of_models(const char *name)
{
    static const char *const parts[] = {"mm",  "conv",   "attention", "linear", "lstm",
                                        "gru", "matmul", "einsum",    "dot",    "fft",
                                        "mv",  "addr",   "bilinear"};
    return NVT_HAS_ONE_OF(name, parts);
}

/* By name, malloc'ed; NULL when out of memory. */
static struct operator_time *add_up_operators(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_nesting nesting = {0};
    struct operator_time *times = NULL;
    if (!nvt_nesting_make(&nesting, trace, NULL))
        times = calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(*times));
    for (uint32_t i = 0; times && i < ranges->count; i++) {
        if (!nvt_is_pytorch_operator(trace, i) || !nvt_is_steady(view, ranges->start[i]) ||
            !nvt_is_viewed_thread(view, ranges->thread[i]) || ranges->flags[i] & NVT_RANGE_PARTIAL)
            continue;
        const double ns = (double)(ranges->end[i] - ranges->start[i] - nesting.children_ns[i]);
        struct operator_time *time = &times[ranges->name[i]];
        time->ns += ns;
        time->count++;
        nvt_longest_add(&time->longest, ranges->start[i], ns);
    }
    nvt_nesting_free(&nesting);
    return times;
}

static void tell_operator(const struct nvt_view *view, const struct operator_time *time,
                          const char *name, struct nvt_finding *finding)
{
    finding->cost_ns = time->ns / view->units;
    snprintf(finding->what, sizeof(finding->what), "%.0f %% of the time is spent in %.80s itself",
             100 * time->ns / view->span_ns, name);
    nvt_finding_about(finding, name);
    nvt_finding_append(finding, "%s calls %s, %s each, the longest %s",
                       NVT_COUNT(time->count / view->units), finding->per,
                       NVT_TIME(time->ns / time->count), NVT_TIME(time->longest.ns[0]));
    nvt_finding_point_longest(finding, &time->longest);
}

static int find_operator(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    if (!nvt_has_pytorch_operators(trace) || trace->ops.count || trace->apis.count)
        return 0;
    struct operator_time *times = add_up_operators(view);
    if (!times)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    int status = 0;
    for (uint32_t name = 0; name < nvt_strings_count(trace->strings) && !status; name++) {
        const struct operator_time *time = &times[name];
        if (time->count < LEAST_COUNT || is_of_models(nvt_name(trace, name)) ||
            nvt_usual_time(time->ns, time->count, time->longest.ns[0], time->longest.ns[1]) <
                LEAST_SHARE * view->span_ns)
            continue;
        struct nvt_finding finding = nvt_finding_of(rule, view);
        tell_operator(view, time, nvt_name(trace, name), &finding);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(times);
    return status;
}

const struct nvt_rule nvt_rule_operator = {
    .cause = "dominant operator",
    .about = "one operator that most of a loop's time on the CPU goes into",
    .means =
        "One operator of PyTorch, which is no GEMM, convolution, attention or recurrent layer, "
        "takes most of each iteration: what it does not take is hardly worth looking at.",
    .found = "PyTorch's profiler with ProfilerActivity.CPU alone: the time of each operator less "
             "that of those that it calls.",
    .threshold =
        "40 % of the time in operators of one name, at least 3 of them, even with the two longest "
        "cut to the mean of the rest. Not with GPU activity, and not GEMMs, convolutions, "
        "attention, recurrent layers and Fourier transforms, which models consist of",
    .remedy = "fewer calls on larger tensors, a cheaper algorithm or a smaller size for it; "
              "record_shapes=True in torch.profiler shows its shapes, with_stack=True who calls it",
    .helped = "Leaving a decomposition or a sort out of the loop, copying once and not in each "
              "layer, contiguous tensors, a fused optimizer (fused=True), torch.compile for chains "
              "of elementwise operators.",
    .confused = "Time in no operator: the time goes between operators. Between steps: it goes into "
                "what follows the optimizer's step.",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPERATORS,
    .look = find_operator,
};
