/* backward on another thread: work is launched by a thread without ranges, so ranges look empty. */
#include <stdio.h>
#include <stdlib.h>

#include "../diagnosis/diagnose.h"
#include "../device/project.h"

#define LEAST_SHARE 0.05
#define LEAST_COUNT 10

/* What the plain projection misses. */
struct missed {
    const struct nvt_view *view;
    unsigned char *known; /* an operation: it has a range by the plain projection */
    struct nvt_finding *finding;
    double ns, all_ns, count;
    uint32_t thread; /* that launched the first of them */
    uint32_t range;  /* row of the innermost range that the first belongs to */
};

static int note_known(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct missed *missed = context;
    (void)ranges;
    missed->known[op] = count > 0;
    return 0;
}

static int note_missed(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct missed *missed = context;
    const struct nvt_ops *ops = &missed->view->trace->ops;
    double ns = (double)(ops->end[op] - ops->start[op]);
    missed->all_ns += ns;
    if (!count || missed->known[op])
        return 0;
    missed->ns += ns;
    if (missed->count < 1) {
        missed->thread = ops->thread[op];
        missed->range = ranges[count - 1];
    }
    missed->count++;
    nvt_finding_point(missed->finding, ops->start[op]);
    return 0;
}

static void tell_backward(const struct missed *missed, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = missed->view->trace;
    const struct nvt_view *view = missed->view;
    /* All processes enter their iterations side by side. */
    double units = view->iteration_count ? (double)view->iteration_count / view->process_count : 1;
    finding->cost_ns = missed->ns / units / (view->device_count ? view->device_count : 1);
    nvt_finding_about(finding, nvt_name(trace, trace->ranges.name[missed->range]));
    snprintf(
        finding->what, sizeof(finding->what),
        "kernels of range %s are not attributed to it: another thread launches them, as PyTorch's "
        "autograd thread does",
        finding->subject);
    snprintf(
        finding->evidence, sizeof(finding->evidence),
        "%.0f operations, %.0f %% of the GPU's working time, come from thread %lld, which has no "
        "range open; thread %lld has",
        missed->count, 100 * missed->ns / missed->all_ns,
        (long long)(missed->thread == NVT_NONE ? -1 : trace->threads.tid[missed->thread]),
        (long long)trace->threads.tid[trace->ranges.thread[missed->range]]);
}

static int find_backward(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct missed missed = {.view = view, .finding = &finding};
    int status = 0;
    if (!view->trace->ops.count || !view->trace->ranges.count)
        return 0;
    missed.known = calloc((size_t)view->trace->ops.count + 1, 1);
    if (!missed.known)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    status = nvt_project(view->trace, 0, note_known, &missed, err);
    if (!status)
        status = nvt_project(view->trace, NVT_ACROSS_THREADS, note_missed, &missed, err);
    free(missed.known);
    if (status || missed.count < LEAST_COUNT || missed.ns < LEAST_SHARE * missed.all_ns)
        return status;
    tell_backward(&missed, &finding);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_backward = {
    .cause = "backward on another thread",
    .about = "GPU work that belongs to no range, because PyTorch's backward pass runs on its "
             "autograd thread; the cost is the work that ranges miss",
    .means = "A range around loss.backward() looks nearly empty, since the kernels are launched by "
             "another thread, which has no ranges. Shares of forward and backward computed from "
             "ranges are wrong.",
    .found = "Operations are attributed twice: to the ranges of the launching thread, and, where "
             "that has none, to the ranges open on other threads of the process. The cost is the "
             "work that only the second way attributes.",
    .threshold = "10 operations and 5 % of the device's working time that have a range only with "
                 "--across-threads: less does not change what a range seems to cost",
    .remedy = "read reports with --across-threads, or open a range on that thread (hooks)",
    .helped =
        "Reports with --across-threads. In the program: torch.autograd.profiler.emit_nvtx, or "
        "hooks that push a range on the autograd thread.",
    .confused = "A thread of the program's own that launches work at the same time is taken for "
                "part of the open range, too; then give it ranges of its own.",
    .show = "stats -r range_tree --across-threads",
    .error = "not attributed",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_RANGES,
    .is_whole = 1,
    .look = find_backward,
};
