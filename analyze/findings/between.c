/* between steps: what a loop does in each iteration behind the optimizer's step, and before the next iteration begins. */
#include <stdio.h>
#include <string.h>

#include "../diagnosis/between_steps.h"

/* What lies in the time between steps. */
struct between {
    struct nvt_between_steps steps;
    /* sync: fsync() and the like behind a checkpoint */
    double parts_ns[NVT_LOOP_INTERRUPTIONS], sync_ns;
};

/* Evaluations and checkpoints in the spans; the rest is what they leave. */
static void find_parts(struct between *between)
{
    const struct nvt_trace *trace = between->steps.view->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_loop_spans *spans = &between->steps.spans;
    int64_t until = INT64_MIN;
    between->parts_ns[NVT_LOOP_OTHER] = spans->ns;
    for (uint32_t i = 0, at = 0; i < ranges->count; i++) {
        if (ranges->thread[i] != spans->thread || ranges->style[i] != NVT_PUSH_POP ||
            ranges->start[i] < until)
            continue;
        while (at < spans->count && spans->items[at].end <= ranges->start[i])
            at++;
        if (at == spans->count)
            break;
        const enum nvt_loop_interruption part =
            nvt_loop_interruption_of(trace, ranges->name[i], ranges->domain[i]);
        if (ranges->start[i] < spans->items[at].start || part == NVT_LOOP_OTHER)
            continue;
        until = ranges->end[i] < spans->items[at].end ? ranges->end[i] : spans->items[at].end;
        between->parts_ns[part] += (double)(until - ranges->start[i]);
        between->parts_ns[NVT_LOOP_OTHER] -= (double)(until - ranges->start[i]);
    }
}

/* Calls that wait until a file is on disk, outside of checkpoints, in a loop that makes some. */
static void find_syncs(struct between *between)
{
    const struct nvt_trace *trace = between->steps.view->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const struct nvt_loop_spans *spans = &between->steps.spans;
    if (between->parts_ns[NVT_LOOP_CHECKPOINT] <= 0)
        return;
    for (uint32_t i = 0, at = 0; i < calls->count; i++) {
        uint32_t open[NVT_NESTING_DEPTH];
        if (calls->thread[i] != spans->thread || !strstr(nvt_name(trace, calls->name[i]), "sync"))
            continue;
        while (at < spans->count && spans->items[at].end <= calls->start[i])
            at++;
        if (at == spans->count)
            break;
        if (calls->start[i] < spans->items[at].start || calls->end[i] > spans->items[at].end)
            continue;
        int is_inner = 0;
        for (uint32_t depth = nvt_thread_ranges_open(&between->steps.beats.ranges, spans->thread,
                                                     calls->start[i], open);
             depth--;)
            is_inner |=
                nvt_loop_interruption_of(trace, trace->ranges.name[open[depth]],
                                         trace->ranges.domain[open[depth]]) != NVT_LOOP_OTHER;
        if (!is_inner)
            between->sync_ns += (double)(calls->end[i] - calls->start[i]);
    }
    between->parts_ns[NVT_LOOP_CHECKPOINT] += between->sync_ns;
    between->parts_ns[NVT_LOOP_OTHER] -= between->sync_ns;
}

static enum nvt_loop_interruption largest_of(const struct between *between)
{
    enum nvt_loop_interruption largest = NVT_LOOP_OTHER;
    for (int part = 0; part < NVT_LOOP_INTERRUPTIONS; part++)
        if (between->parts_ns[part] > between->parts_ns[largest])
            largest = (enum nvt_loop_interruption)part;
    return largest;
}

/* "; 31 ms of it an evaluation" of what there is, and what was behind a checkpoint. */
static void tell_parts(const struct between *between, struct nvt_finding *finding)
{
    const double count = between->steps.spans.count;
    for (int part = 0; part < NVT_LOOP_OTHER; part++)
        if (between->parts_ns[part] > 0)
            nvt_finding_append(finding, "; %s of it %s", NVT_TIME(between->parts_ns[part] / count),
                               nvt_loop_interruption_text((enum nvt_loop_interruption)part));
    if (between->sync_ns > 0)
        nvt_finding_append(finding, ", %s of that until it is on disk (fsync)",
                           NVT_TIME(between->sync_ns / count));
    if (between->parts_ns[NVT_LOOP_EVALUATION] > 0)
        nvt_finding_append(finding,
                           " (forward passes without gradient, or of a model in eval() mode)");
    if (between->steps.busy_ns > 0)
        nvt_finding_append(finding, "; a device works for %.0f %% of it",
                           100 * between->steps.busy_ns / between->steps.spans.ns);
}

static void tell_remedy(enum nvt_loop_interruption part, struct nvt_finding *finding)
{
    if (part == NVT_LOOP_OTHER)
        snprintf(finding->remedy, sizeof(finding->remedy),
                 "log and compute metrics every n-th step, or on another thread; do not sleep or "
                 "wait for "
                 "others there");
    else
        snprintf(finding->remedy, sizeof(finding->remedy), "%s",
                 nvt_loop_interruption_remedy(part));
}

/* 0, or -1 when out of memory. */
static int tell_between(struct between *between, struct nvt_finding *finding)
{
    const enum nvt_loop_interruption part = largest_of(between);
    const double all = between->steps.spans.ns;
    char most[64] = "";
    if (part != NVT_LOOP_OTHER)
        snprintf(most, sizeof(most), ", most of that for %s", nvt_loop_interruption_text(part));
    finding->cost_ns =
        between->steps.share * finding->whole_ns * (1 - between->steps.busy_ns / all);
    snprintf(
        finding->what, sizeof(finding->what),
        "the loop spends %.0f %% of its time between the optimizer's step and the next iteration%s",
        100 * between->steps.share, most);
    nvt_finding_about(finding, nvt_loop_interruption_text(part));
    nvt_finding_append(finding, "%s per iteration (median), the longest %s",
                       NVT_TIME(between->steps.median_ns), NVT_TIME(between->steps.longest_ns));
    tell_parts(between, finding);
    tell_remedy(part, finding);
    /* A training that needs targets or actions without gradient looks the same. */
    if (part == NVT_LOOP_EVALUATION)
        finding->confidence = NVT_POSSIBLE;
    nvt_finding_point_longest(finding, &between->steps.longest);
    return nvt_loop_spans_tell(&between->steps.spans, finding);
}

static int find_between(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct between between = {0};
    struct nvt_finding finding = nvt_finding_of(rule, view);
    int failed = nvt_between_steps_make(&between.steps, view);
    if (!failed && between.steps.is_large) {
        find_parts(&between);
        find_syncs(&between);
        failed = tell_between(&between, &finding) || nvt_findings_add(findings, &finding, NULL);
    }
    nvt_between_steps_free(&between.steps);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_between = {
    .cause = "between steps",
    .about = "what each iteration does after the optimizer's step: logs, checkpoints, evaluation",
    .means = "After the optimizer's step a training loop does what is no training: metrics, logs, "
             "schedulers, checkpoints, evaluation. This is a large part of each iteration here, "
             "and no GPU works for the process meanwhile.",
    .found =
        "An iteration is taken to run to the beginning of the next one, and its step is known from "
        "record --pytorch, from Optimizer.step#… of PyTorch's profiler, or from a range optimizer. "
        "The cost is the median time from the step's end to the next iteration, without time in "
        "which a device works. The finding shows how much of it is a checkpoint, with its fsync, "
        "or an evaluation; with --trace osrt,cpu, which calls, files, functions and lines take it.",
    .threshold =
        "15 % of the time, by the median over at least 8 iterations, less what a device works "
        "meanwhile: zeroing gradients, a scheduler and a log line take some percent of any loop. "
        "What every n-th iteration has is periodic work. Known where the optimizer's step is: from "
        "record --pytorch, PyTorch's profiler, or a range optimizer",
    .remedy = "log, evaluate and save less often, or on another thread",
    .helped =
        "Logging every n-th step, with values collected on the GPU and fetched once. Asynchronous "
        "checkpoints (torch.distributed.checkpoint.async_save). Evaluation in a job of its own, "
        "from checkpoints. zero_grad(set_to_none=True), which is PyTorch's default.",
    .confused = "Periodic work: only every n-th iteration has it. Input-bound: the time goes into "
                "the wait for the next batch, which does not count here.",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .look = find_between,
};
