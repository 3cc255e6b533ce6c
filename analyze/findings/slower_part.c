/* slower part: iterations take longer in one part of a recording on request than in another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "../../lib/sample.h"
#include "../diagnosis/diagnose.h"
#include "../model/recorded_parts.h"
#include "../model/thread_ranges.h"

#define LEAST_COUNT 5
#define LEAST_SHARE 0.1

/* What the iterations of a part take. */
struct part {
    struct nvt_summary summary;
    uint32_t number; /* from 1 */
};

struct comparison {
    const struct nvt_view *view;
    struct part slow, fast;
    double low, high; /* of the difference of their means, with 95 % confidence; ns */
};

/* Whether an iteration is compared: a whole one that is called as the first one is, but for a number behind '#'. */
static int is_compared(const struct nvt_view *view, uint32_t iteration)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    const uint32_t first = view->iterations[0], row = view->iterations[iteration];
    const char *name = nvt_name(view->trace, ranges->name[row]),
               *as = nvt_name(view->trace, ranges->name[first]);
    const size_t length = strcspn(as, "#");
    return !(ranges->flags[row] & NVT_RANGE_NOT_WHOLE) && strcspn(name, "#") == length &&
           !strncmp(name, as, length);
}

/* Of the iterations from `from` on that are of one part; behind the last of them. `values` has room for all. */
static uint32_t take_part(const struct nvt_view *view, uint32_t from, double *values,
                          struct part *part)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    size_t count = 0;
    uint32_t i = from;
    part->number = nvt_part_at(view->trace, ranges->start[view->iterations[from]]);
    for (; i < view->iteration_count &&
           nvt_part_at(view->trace, ranges->start[view->iterations[i]]) == part->number;
         i++)
        if (is_compared(view, i))
            values[count++] = nvt_iteration_ns(view, i);
    nvt_sample_summary(values, count, &part->summary);
    return i;
}

/* Welch's interval of the difference of two means. */
static void find_interval(struct comparison *comparison)
{
    const struct nvt_summary *a = &comparison->slow.summary, *b = &comparison->fast.summary;
    const double of_a = a->std * a->std / (double)a->n, of_b = b->std * b->std / (double)b->n;
    const double degrees = nvt_welch_degrees(of_a, (double)a->n - 1, of_b, (double)b->n - 1);
    const double half = nvt_student_t95((size_t)fmin(fmax(degrees, 1), 1e9)) * sqrt(of_a + of_b);
    comparison->low = a->mean - b->mean - half;
    comparison->high = a->mean - b->mean + half;
}

/* A later part with the first one that has enough iterations: the one that differs most. 0, or -1 when out of memory. */
static int compare_parts(struct comparison *comparison)
{
    const struct nvt_view *view = comparison->view;
    double *values = malloc(((size_t)view->iteration_count + 1) * sizeof(*values));
    struct part first = {.number = 0}, part;
    for (uint32_t i = 0; values && i < view->iteration_count;) {
        i = take_part(view, i, values, &part);
        if (part.summary.n < LEAST_COUNT)
            continue;
        if (!first.number) {
            first = part;
            continue;
        }
        const int is_slower = part.summary.mean > first.summary.mean;
        struct comparison next = {
            .view = view, .slow = is_slower ? part : first, .fast = is_slower ? first : part};
        find_interval(&next);
        if (next.low > comparison->low)
            *comparison = next;
    }
    free(values);
    return values ? 0 : -1;
}

/* Whether it is worth a word: by the means, and not because of a single iteration. */
static int is_much(const struct comparison *comparison)
{
    const struct nvt_summary *slow = &comparison->slow.summary, *fast = &comparison->fast.summary;
    return slow->n && comparison->low >= LEAST_SHARE * fast->mean &&
           slow->median >= (1 + LEAST_SHARE) * fast->median;
}

/* --- where the time went ------------------------------------------------------------------------------ */

/* Of a name: its own time, without what lies in it, in iterations of either part. */
struct own {
    uint32_t name;
    double slow_ns, fast_ns;
};

struct owns {
    const struct comparison *comparison;
    struct nvt_thread_ranges ranges;
    struct nvt_map places;
    struct own *items;
    uint32_t count;
};

/* Time of a range, which is not that of the one around it. 0, or -1 when out of memory. */
static int add_own(struct owns *owns, uint32_t name, double ns, uint32_t part)
{
    struct own *own = nvt_map_item(&owns->places, name, &owns->items, &owns->count, sizeof(*own));
    if (!own)
        return -1;
    own->name = name;
    *(part == owns->comparison->slow.number ? &own->slow_ns : &own->fast_ns) += ns;
    return 0;
}

/* All ranges of the iterations' threads that lie in them, and they themselves. 0, or -1 when out of memory. */
static int add_all(struct owns *owns)
{
    const struct comparison *comparison = owns->comparison;
    const struct nvt_view *view = comparison->view;
    const struct nvt_ranges *ranges = &view->trace->ranges;
    uint32_t at = 0;
    for (uint32_t i = view->iterations[0]; i < ranges->count; i++) {
        while (at + 1 < view->iteration_count && view->iterations[at + 1] <= i)
            at++;
        const uint32_t iteration = view->iterations[at];
        const uint32_t part = nvt_part_at(view->trace, ranges->start[iteration]);
        if ((part != comparison->slow.number && part != comparison->fast.number) ||
            !is_compared(view, at) || ranges->thread[i] != ranges->thread[iteration] ||
            ranges->style[i] != NVT_PUSH_POP || ranges->flags[i] & NVT_RANGE_NOT_WHOLE ||
            ranges->end[i] > ranges->end[iteration])
            continue;
        const double ns = (double)(ranges->end[i] - ranges->start[i]);
        const uint32_t around = i == iteration ? NVT_NONE : owns->ranges.parent[i];
        if (add_own(owns, ranges->name[i], ns, part) ||
            (around != NVT_NONE && add_own(owns, ranges->name[around], -ns, part)))
            return -1;
    }
    return 0;
}

/* What of the difference an iteration has in a range itself. */
static double more_of(const struct comparison *comparison, const struct own *own)
{
    return own->slow_ns / (double)comparison->slow.summary.n -
           own->fast_ns / (double)comparison->fast.summary.n;
}

/* The range that has half of the difference and more. 0, or -1 when out of memory. */
static int tell_range(const struct comparison *comparison, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = comparison->view->trace;
    struct owns owns = {.comparison = comparison};
    const struct own *most = NULL;
    const int failed = nvt_thread_ranges_make(&owns.ranges, trace, NULL) || add_all(&owns);
    for (uint32_t i = 0; i < owns.count && !failed; i++)
        if (!most || more_of(comparison, &owns.items[i]) > more_of(comparison, most))
            most = &owns.items[i];
    if (most && more_of(comparison, most) >= finding->cost_ns / 2) {
        nvt_finding_append(finding, "; most of it in range %.60s itself: %s per iteration, not %s",
                           nvt_name(trace, most->name),
                           NVT_TIME(most->slow_ns / (double)comparison->slow.summary.n),
                           NVT_TIME(most->fast_ns / (double)comparison->fast.summary.n));
        nvt_finding_about(finding, nvt_name(trace, most->name));
    }
    nvt_thread_ranges_free(&owns.ranges);
    nvt_map_free(&owns.places);
    free(owns.items);
    return failed;
}

/* --- the finding --------------------------------------------------------------------------------------- */

/* 0, or -1 when out of memory. */
static int tell(const struct comparison *comparison, struct nvt_finding *finding)
{
    const struct nvt_view *view = comparison->view;
    const struct nvt_summary *slow = &comparison->slow.summary, *fast = &comparison->fast.summary;
    finding->cost_ns = slow->mean - fast->mean;
    finding->whole_ns = slow->mean;
    finding->per = "per iteration";
    snprintf(finding->what, sizeof(finding->what),
             "iterations take %s in part %u of the recording, %.3g times as long as in part %u",
             NVT_TIME(slow->mean), comparison->slow.number, slow->mean / fast->mean,
             comparison->fast.number);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "part %u: %zu iterations, mean %s, median %s; part %u: %zu, mean %s, median %s; the "
             "difference is %s to %s with 95 %% confidence",
             comparison->fast.number, fast->n, NVT_TIME(fast->mean), NVT_TIME(fast->median),
             comparison->slow.number, slow->n, NVT_TIME(slow->mean), NVT_TIME(slow->median),
             NVT_TIME(comparison->low), NVT_TIME(comparison->high));
    for (uint32_t i = 0; i < view->iteration_count; i++)
        if (nvt_part_at(view->trace, view->trace->ranges.start[view->iterations[i]]) ==
            comparison->slow.number)
            nvt_finding_point(finding, view->trace->ranges.start[view->iterations[i]]);
    return tell_range(comparison, finding);
}

static int find_slower_part(const struct nvt_rule *rule, const struct nvt_view *view,
                            struct nvt_findings *findings, struct nvt_error *err)
{
    struct comparison comparison = {.view = view, .low = 0};
    /* A budget chooses its parts itself, and has hundreds of them. */
    if (view->trace->parts.count < 2 || !view->iteration_count ||
        nvt_trace_meta(view->trace, "budget"))
        return 0;
    int failed = compare_parts(&comparison);
    if (!failed && is_much(&comparison)) {
        struct nvt_finding finding = nvt_finding_of(rule, view);
        failed = tell(&comparison, &finding) || nvt_findings_add(findings, &finding, NULL);
    }
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_slower_part = {
    .cause = "slower part",
    .about = "a recording in parts (record --dormant, nvtally ctl) whose iterations take longer in "
             "one part than in another",
    .means = "The same loop ran slower when one part was recorded than when another was: what has "
             "changed between is a cause, not the program's usual time.",
    .found = "The mean of the iterations of each later part is compared with that of the first "
             "part; of several the one that differs most is reported. The evidence names the range "
             "whose own time has most of the difference. --filter-time part=2 shows a part by "
             "itself, and compare takes the two parts as two traces (nvtally export).",
    .threshold = "5 iterations in each part; the lower end of the difference's 95 % interval "
                 "(Welch) is 10 % of the faster part's mean, and its median 10 % higher, so no "
                 "single iteration makes it. Not with --budget, which has hundreds of parts",
    .remedy = "look at what the range does there, and at what else ran on the machine then "
              "(record --trace machine,cpu)",
    .helped = "A cache, list or log that grows with the job's age; a file system that fills up; a "
              "GPU that throttles; another job on the machine since.",
    .confused = "Slow iterations: single ones within the same part. Warm-up inside: the first part "
                "has the first iterations of the program, and is the slower one.",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .look = find_slower_part,
};
