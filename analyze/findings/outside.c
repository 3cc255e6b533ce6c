/* time in no operator: what a loop does between PyTorch's operators, in a profile of the CPU that says no more of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../diagnosis/diagnose.h"
#include "../model/batches.h"
#include "../model/plain_names.h"

#define LEAST_SHARE 0.15
#define LEAST_NS    100000 /* shorter gaps are Python between two operators, and the profiler itself */
#define LEAST_COUNT 3

/* Gaps between two operators of the same names. */
struct place {
    uint32_t before, after; /* strings */
    uint32_t last;          /* range behind the last one */
    double ns, count;
    struct nvt_longest longest;
};

struct outside {
    const struct nvt_view *view;
    uint32_t functions;      /* nvt_python_functions */
    struct nvt_map by_names; /* before << 32 | after -> place */
    struct place *places;
    uint32_t count;
    int follows_steps; /* what lies behind the optimizer's step is another rule's */
};

/* What PyTorch itself names: an operator, the wait for a batch, an optimizer's step. */
static int is_named(const struct outside *outside, uint32_t range)
{
    const struct nvt_trace *trace = outside->view->trace;
    return nvt_is_pytorch_operator(trace, range) || nvt_is_batch_wait(trace, range) ||
           nvt_is_optimizer_step(trace, range);
}

/* 0, or -1 when out of memory. */
static int add_gap(struct outside *outside, uint32_t before, uint32_t after, int64_t start,
                   int64_t end)
{
    const struct nvt_ranges *ranges = &outside->view->trace->ranges;
    if (end - start < LEAST_NS ||
        (outside->follows_steps && nvt_is_optimizer_step(outside->view->trace, before)))
        return 0;
    uint32_t *at =
        nvt_map_at(&outside->by_names, (uint64_t)ranges->name[before] << 32 | ranges->name[after]);
    if (!at || (*at == NVT_MAP_NONE &&
                nvt_grow(&outside->places, outside->count, sizeof(*outside->places))))
        return -1;
    if (*at == NVT_MAP_NONE) {
        *at = outside->count++;
        outside->places[*at] =
            (struct place){.before = ranges->name[before], .after = ranges->name[after]};
    }
    struct place *place = &outside->places[*at];
    place->last = after;
    place->ns += (double)(end - start);
    place->count++;
    nvt_longest_add(&place->longest, start, (double)(end - start));
    return 0;
}

/* Behind the last operator of the steady part: as behind others of its name. 0, or -1 when out of memory. */
static int add_last_gap(struct outside *outside, uint32_t before)
{
    const struct nvt_ranges *ranges = &outside->view->trace->ranges;
    const struct place *most = NULL;
    for (uint32_t i = 0; before != NVT_NONE && i < outside->count; i++)
        if (outside->places[i].before == ranges->name[before] &&
            (!most || outside->places[i].ns > most->ns))
            most = &outside->places[i];
    return most ? add_gap(outside, before, most->last, ranges->end[before], outside->view->to) : 0;
}

/* Of all threads of the process, as a backward pass may be on another one. 0, or -1 when out of memory. */
static int add_gaps(struct outside *outside)
{
    const struct nvt_view *view = outside->view;
    const struct nvt_ranges *ranges = &view->trace->ranges;
    uint32_t before = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count && ranges->start[i] <= view->to; i++) {
        if (!nvt_is_viewed_thread(view, ranges->thread[i]) || !is_named(outside, i))
            continue;
        if (before != NVT_NONE && ranges->start[i] > view->from &&
            add_gap(outside, before, i,
                    ranges->end[before] > view->from ? ranges->end[before] : view->from,
                    ranges->start[i]))
            return -1;
        if (before == NVT_NONE || ranges->end[i] > ranges->end[before])
            before = i;
    }
    return add_last_gap(outside, before);
}

/* The function of Python, or else the range, that is innermost in the middle of a gap; NVT_NONE: an iteration, or none. */
static uint32_t innermost_at(const struct outside *outside, int64_t moment)
{
    const struct nvt_view *view = outside->view;
    const struct nvt_ranges *ranges = &view->trace->ranges;
    const uint32_t iteration = view->iteration_count ? ranges->name[view->iterations[0]] : NVT_NONE;
    uint32_t found = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count && ranges->start[i] <= moment; i++)
        if (ranges->end[i] >= moment && nvt_is_viewed_thread(view, ranges->thread[i]) &&
            ranges->name[i] != iteration &&
            strncmp(nvt_name(view->trace, ranges->name[i]), "ProfilerStep#", 13) != 0)
            found = i;
    return found;
}

static void tell_place(const struct outside *outside, const struct place *place,
                       struct nvt_finding *finding)
{
    const struct nvt_trace *trace = outside->view->trace;
    const uint32_t within =
        innermost_at(outside, place->longest.start[0] + (int64_t)(place->longest.ns[0] / 2));
    finding->cost_ns = place->ns / outside->view->units;
    snprintf(finding->what, sizeof(finding->what),
             "%.0f %% of the time passes in no operator, between %.60s and %.60s",
             100 * place->ns / outside->view->span_ns, nvt_name(trace, place->before),
             nvt_name(trace, place->after));
    nvt_finding_about(finding, nvt_name(trace, place->after));
    const char *each = NVT_COUNT(place->count / outside->view->units);
    nvt_finding_append(finding, "%s gap%s %s, %s each, the longest %s; ", each,
                       !strcmp(each, "1") ? "" : "s", finding->per,
                       NVT_TIME(place->ns / place->count), NVT_TIME(place->longest.ns[0]));
    if (within != NVT_NONE && outside->functions != NVT_NONE &&
        nvt_is_function_of(trace, outside->functions, within))
        nvt_finding_append(finding, "the longest is in %.120s",
                           nvt_name(trace, trace->ranges.name[within]));
    else if (within != NVT_NONE)
        nvt_finding_append(finding,
                           "the longest is in range %.80s; what the thread did there is "
                           "not recorded: Python, a sleep, a file, a lock",
                           nvt_name(trace, trace->ranges.name[within]));
    else
        nvt_finding_append(finding, "what the thread did there is not recorded: Python, a sleep, "
                                    "a file, a lock");
    nvt_finding_point_longest(finding, &place->longest);
}

/* The place that costs most is told. 0, or -1 when out of memory. */
static int tell_outside(struct outside *outside, const struct nvt_rule *rule,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_view *view = outside->view;
    const struct place *most = NULL;
    for (uint32_t i = 0; i < outside->count; i++) {
        const struct place *place = &outside->places[i];
        const double usual =
            nvt_usual_time(place->ns, place->count, place->longest.ns[0], place->longest.ns[1]);
        if (place->count >= LEAST_COUNT && usual >= LEAST_SHARE * view->span_ns &&
            (!most || place->ns > most->ns))
            most = place;
    }
    if (!most)
        return 0;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    tell_place(outside, most, &finding);
    return nvt_findings_add(findings, &finding, err);
}

/* Whether the time behind the optimizer's step has a finding of its own. 0 or 1, or -1 with err. */
static int is_between(const struct nvt_view *view, struct nvt_error *err)
{
    struct nvt_findings between = {0};
    const int status =
        view->iteration_count ? nvt_rule_between.look(&nvt_rule_between, view, &between, err) : 0;
    free(between.items);
    return status ? -1 : between.count > 0;
}

static int find_outside(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    struct outside outside = {.view = view, .functions = nvt_python_functions(trace)};
    /* Of what has more on record, other rules speak. */
    if (!nvt_has_pytorch_operators(trace) || trace->ops.count || trace->apis.count ||
        trace->os_calls.count || trace->cpu_samples.count)
        return 0;
    outside.follows_steps = is_between(view, err);
    if (outside.follows_steps < 0)
        return -1;
    int status = add_gaps(&outside) ? nvt_fail_at(err, trace->path, -1, "out of memory")
                                    : tell_outside(&outside, rule, findings, err);
    nvt_map_free(&outside.by_names);
    free(outside.places);
    return status;
}

const struct nvt_rule nvt_rule_outside = {
    .cause = "time in no operator",
    .about = "a loop that does something else than PyTorch's operators, in a profile of the CPU",
    .means = "Between two operators of each iteration passes much time. PyTorch's profiler records "
             "operators, not what else a thread does: Python code, a sleep, a file, a lock, a wait "
             "for another process.",
    .found = "PyTorch's profiler with ProfilerActivity.CPU alone. No operator, wait for a batch or "
             "optimizer's step of any thread of the process runs meanwhile. With with_stack=True "
             "the finding names the function of Python that was open then.",
    .threshold =
        "15 % of the time between operators of the same two names, in at least 3 gaps of 100 µs "
        "and more, even with the two longest cut to the mean of the rest: shorter ones are Python "
        "between two operators, and the profiler's own work. Not with GPU activity, whose gaps "
        "have rules of their own, nor behind the optimizer's step where between steps says it",
    .remedy = "see what runs there: with_stack=True in torch.profiler names the function, nvtally "
              "record --python calls, files, locks and lines",
    .helped = "Moving logs, metrics and checkpoints to every n-th step or another thread; removing "
              "a sleep or a poll; vectorising a loop in Python that touches tensors element by "
              "element.",
    .confused = "Input-bound: the loop waits for its DataLoader, whose wait is recorded. Between "
                "steps: it is behind the optimizer's step.",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPERATORS,
    .look = find_outside,
};
