/* periodic work: what a loop does in every n-th iteration only, and that takes much of its time all the same. */
#include <stdio.h>
#include <string.h>

#include "../diagnosis/loop_interruptions.h"
#include "../diagnosis/periodic.h"

/* "an evaluation", "range log". */
static enum nvt_loop_interruption name_part(const struct nvt_trace *trace,
                                            const struct nvt_periodic_part *part, char out[80])
{
    const enum nvt_loop_interruption kind =
        nvt_loop_interruption_of(trace, part->name, part->domain);
    if (kind == NVT_LOOP_OTHER)
        snprintf(out, 80, "range %.60s", nvt_name(trace, part->name));
    else
        snprintf(out, 80, "%s", nvt_loop_interruption_text(kind));
    return kind;
}

/* What it is, for how long, and what to do about it: of several things about the first. */
static void tell_periodic_what(const struct nvt_beats *beats, const struct nvt_periodic *found,
                               struct nvt_finding *finding)
{
    const double ns = nvt_periodic_ns(found);
    enum nvt_loop_interruption part = NVT_LOOP_OTHER;
    char what[200] = "one", first[80] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < found->part_count; i++) {
        char name[80];
        const enum nvt_loop_interruption kind = name_part(beats->trace, &found->parts[i], name);
        part = i ? part : kind;
        if (!i)
            memcpy(first, name, sizeof(first));
        length +=
            (size_t)snprintf(what + length, sizeof(what) - length, "%s%s takes %s",
                             i ? " and " : "", name, NVT_TIME(found->parts[i].ns / found->hits));
    }
    if (!found->part_count)
        snprintf(what, sizeof(what), "one takes %s longer than the others",
                 NVT_TIME(ns / found->hits));
    snprintf(finding->what, sizeof(finding->what),
             "every %u iterations, %.180s: %.0f %% of the loop's time", found->every, what,
             100 * nvt_finding_share(finding));
    nvt_finding_about(finding, first);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s",
             part == NVT_LOOP_OTHER ? "do what the loop does there less often, or on another thread"
                                    : nvt_loop_interruption_remedy(part));
}

/* 0, or -1 when out of memory. */
static int tell_periodic(const struct nvt_view *view, const struct nvt_beats *beats,
                         const struct nvt_periodic *found, struct nvt_finding *finding)
{
    const double ns = nvt_periodic_ns(found);
    struct nvt_loop_spans spans = {.view = view, .thread = beats->thread};
    struct nvt_longest longest = {{0}, {0}};
    int failed = 0;
    const uint32_t looked = beats->count - NVT_PERIODIC_WARMUP;
    finding->cost_ns = ns / looked;
    finding->whole_ns =
        (double)(beats->items[beats->count - 1].end - beats->items[NVT_PERIODIC_WARMUP].start) /
        looked;
    tell_periodic_what(beats, found, finding);
    nvt_finding_append(finding,
                       "%u of %u such iterations take %s on average, the median of all is %s",
                       found->hits, found->expected, NVT_TIME(found->hit_ns / found->hits),
                       NVT_TIME(found->usual_ns));
    for (uint32_t i = 0; i < beats->count && !failed; i++) {
        const struct nvt_beat *beat = &beats->items[i];
        if (!nvt_is_periodic(found, beats, i))
            continue;
        nvt_longest_add(&longest, beat->start, nvt_beat_ns(beat));
        failed = nvt_loop_spans_add(&spans, beat->step, beat->end);
    }
    if (!failed && !found->part_count)
        failed = nvt_loop_spans_tell(&spans, finding);
    if (beats->is_guess)
        nvt_finding_append(finding, "; an iteration is taken to begin with each range %.60s",
                           nvt_name(view->trace, view->trace->ranges.name[beats->items[0].range]));
    nvt_finding_point_longest(finding, &longest);
    nvt_loop_spans_free(&spans);
    return failed;
}

static int find_periodic(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_beats beats = {0};
    struct nvt_periodic found;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    int failed = nvt_beats_make(&beats, view);
    nvt_beats_keep_longest_part(&beats);
    failed = failed || nvt_periodic_find(&found, &beats);
    if (!failed && found.every && !found.is_slow) {
        finding.per = "per iteration";
        failed = tell_periodic(view, &beats, &found, &finding) ||
                 nvt_findings_add(findings, &finding, NULL);
    }
    nvt_beats_free(&beats);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

static const struct nvt_rule *const reasons[] = {
    &nvt_rule_blocked,    &nvt_rule_busy,    &nvt_rule_between,
    &nvt_rule_allocation, &nvt_rule_sync,    &nvt_rule_communication,
    &nvt_rule_mpi,        &nvt_rule_loading, NULL};

const struct nvt_rule nvt_rule_periodic = {
    .cause = "periodic work",
    .about = "what a loop does in every n-th iteration, such as an evaluation or a checkpoint",
    .means = "Every n-th iteration does something more than the others, and that is a large part "
             "of the loop's time when spread over all of them.",
    .found =
        "Iterations that take a quarter and 5 deviations longer than the median are looked at, "
        "whether they come at one distance. If a range is in all of them and in hardly any other, "
        "the finding names it. A range that every n-th iteration has is found in a loop of uneven "
        "iterations, too, if those take a quarter longer than the median. In a trace without "
        "iterations, the loop is the outermost range that "
        "repeats. With --trace osrt,cpu the evidence says which calls and functions take the time.",
    .threshold = "5 % of the loop's time, from the ninth iteration on, of at least 24: below that "
                 "it does not change the mean. At least 3 iterations at one distance, and 4 in 5 "
                 "of all that are, take a quarter and 5 deviations longer than the median (by the "
                 "median distance); by chance in at most 1 of 100 traces, unless a range lies in "
                 "all of them and in hardly any other. Not for steps, passes and waits for "
                 "batches, which every n-th iteration has where gradients are accumulated. Without "
                 "iterations, a loop is known by the outermost range that repeats",
    .remedy = "do it less often, or on another thread",
    .helped = "Evaluation and checkpoints less often, asynchronously, or in another process. A log "
              "that is flushed by time instead of by iterations. Periodic all-gathers of metrics "
              "on a stream of their own.",
    .confused = "Slow iterations: they come at no fixed distance. Gradient accumulation makes "
                "every n-th iteration longer by design and is not counted if its step is known. "
                "Between steps: the work is in each iteration. If host blocked, busy host or "
                "another rule says what is done there, this finding names it as its reason.",
    .reasons = reasons,
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES,
    .look = find_periodic,
};
