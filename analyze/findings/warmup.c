/* warm-up inside: the first iterations of a trace are slower than the rest, and were measured too.
 */
#include <math.h>
#include <stdio.h>

#include "../diagnosis/diagnose.h"

/* Leading iterations that are looked at, and how many must follow. */
#define MOST_WARMUP  8
#define LEAST_REST   8
#define LEAST_WARMUP 2
#define LEAST_SHARE  0.05
#define MOST_CHANCE  0.01

/* Iterations that are slow, and how slow that is. */
struct slow {
    double usual, limit; /* ns: the median behind the first ones, and from where on one is slow */
    uint32_t first, all; /* leading ones that are, and all that are */
};

/* If slow iterations fell anywhere, how probable would it be that the first ones are all slow? */
static double chance_of(const struct slow *slow, uint32_t count)
{
    double chance = 1;
    for (uint32_t i = 0; i < slow->first; i++)
        chance *= (double)(slow->all - i) / (double)(count - i);
    return chance;
}

/* Warm-ups on record before the first iteration: how many, and how many of them were slow. */
struct warmups {
    uint32_t count, slow;
};

static struct warmups find_warmups(const struct nvt_view *view, const struct slow *slow)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t first = view->iterations[0];
    uint32_t name = nvt_strings_find(trace->strings, "warmup", 6);
    struct warmups found = {0, 0};
    for (uint32_t i = 0; i < first; i++) {
        if (ranges->name[i] != name || ranges->thread[i] != ranges->thread[first])
            continue;
        found.count++;
        found.slow += (double)(ranges->end[i] - ranges->start[i]) > slow->limit;
    }
    return found;
}

/* How many the run had: those on record, or what its row tells. */
static uint32_t count_warmups(const struct nvt_view *view, const struct warmups *found)
{
    const struct nvt_record *record = nvt_record_of_trace(view->input);
    if (found->count || !record)
        return found->count;
    const double told = nvt_record_number(record, "warmup");
    return told > 0 && told < UINT32_MAX / 2 ? (uint32_t)told : 0;
}

static void tell_warmup(struct nvt_finding *finding, const struct nvt_view *view,
                        const struct slow *slow, double excess, uint32_t had)
{
    const uint32_t count = view->iteration_count;
    char behind[64] = "";
    if (had)
        snprintf(behind, sizeof(behind), " after %s", NVT_COUNTED(had, "warm-up", "warm-ups"));
    finding->cost_ns = excess / count;
    finding->whole_ns = slow->usual + finding->cost_ns;
    snprintf(finding->what, sizeof(finding->what),
             "the first %u of %u iterations%s are slower, and are measured", slow->first, count,
             behind);
    snprintf(
        finding->evidence, sizeof(finding->evidence),
        "the first took %s, the median from the ninth on is %s; %u in all take more than %s, "
        "and the first %u would be among them by chance in %.2g %% of cases; the mean is %s too "
        "high",
        NVT_TIME(nvt_iteration_ns(view, 0)), NVT_TIME(slow->usual), slow->all,
        NVT_TIME(slow->limit), slow->first, 100 * chance_of(slow, count), NVT_TIME(excess / count));
    /* What the program measures by itself is its own; only `run` has an option for it. */
    const int64_t end = view->trace->ranges.end[view->iterations[slow->first - 1]];
    if (nvt_input_is_own(view->input))
        snprintf(finding->remedy, sizeof(finding->remedy),
                 "exclude the first %u from the measurement; reports do with --filter-time %.6gs/",
                 slow->first, (double)(end - nvt_trace_begin(view->trace)) / 1e9);
    else
        snprintf(finding->remedy, sizeof(finding->remedy), "exclude the first %u%s: --warmup %u",
                 slow->first, had ? " too" : "", had + slow->first);
}

static int find_warmup(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    double excess = 0;
    uint32_t count = view->iteration_count;
    struct slow slow = {0};
    struct nvt_finding finding = nvt_finding_of(rule, view);
    if (count < MOST_WARMUP + LEAST_REST)
        return 0;
    slow.limit = nvt_slow_iteration_ns(view, MOST_WARMUP, &slow.usual);
    if (isnan(slow.limit))
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        if (nvt_iteration_ns(view, i) <= slow.limit)
            continue;
        slow.all++;
        if (i == slow.first && i < MOST_WARMUP) {
            nvt_finding_point(&finding, view->trace->ranges.start[view->iterations[i]]);
            excess += nvt_iteration_ns(view, i) - slow.usual;
            slow.first++;
        }
    }
    if (slow.first < LEAST_WARMUP || chance_of(&slow, count) > MOST_CHANCE ||
        excess <= LEAST_SHARE * slow.usual * count)
        return 0;
    /* A run that had been warm does not warm up again. */
    struct warmups before = find_warmups(view, &slow);
    if (before.slow * 2 < before.count)
        return 0;
    tell_warmup(&finding, view, &slow, excess, count_warmups(view, &before));
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_warmup = {
    .cause = "warm-up inside",
    .about = "first iterations that are slower than the rest, and part of the measurement",
    .means = "The mean is too high, because the first iterations compile, allocate, load and fill "
             "caches. What is compared with it looks better than it is.",
    .found = "Up to eight leading iterations are compared with the median of those from the ninth "
             "on. If many iterations are slow, so many must come first that this happens by chance "
             "in at most 1 of 100 traces. The number in the remedy includes the run's warm-ups.",
    .threshold = "2 to 8 leading iterations, each 1.5 times the median of those from the ninth on "
                 "and 5 deviations above it (by the median distance), which together raise the "
                 "mean by 5 %, and which would all come first by chance in at most 1 of 100 "
                 "traces: one slow iteration may have any cause, even if it is the first; not "
                 "after warm-ups most of which were already fast",
    .remedy = "exclude them from the measurement (nvtally run: --warmup N)",
    .helped = "Warm-up iterations before the timed ones, until times are level: nvtally stats -r "
              "warmup shows from when on. In profiles of PyTorch, torch.profiler.schedule(wait, "
              "warmup, active).",
    .confused = "Cold start: the driver's part of the same time, whether it is measured or not. "
                "Slow iterations: later ones. A learning-rate or sequence-length schedule changes "
                "iterations, too.",
    .show = "stats -r warmup",
    .error = "too much",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .look = find_warmup,
};
