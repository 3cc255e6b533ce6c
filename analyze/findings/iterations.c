/* slow iterations: a few take far longer than the others, now and then or every so often. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <string.h>

#include "../device/machine_load.h"
#include "../diagnosis/crowd.h"
#include "../diagnosis/periodic.h"

#define WARMUP      8 /* iterations that are the rule warmup's */
#define LEAST_COUNT 16
#define LEAST_SHARE 0.05
/* From where on the machine was another in them: threads more for each processor, and a lower clock. */
#define LEAST_READIER 0.5
#define MOST_CLOCK    0.9

struct slow {
    uint32_t count, last, every; /* every: the distance of all, 0 when they differ */
    double excess, longest;
};

static void add_iterations(struct slow *slow, uint32_t iteration, double ns, double usual)
{
    if (slow->count == 1)
        slow->every = iteration - slow->last;
    else if (slow->count > 1 && iteration - slow->last != slow->every)
        slow->every = 0;
    slow->last = iteration;
    slow->count++;
    slow->excess += ns - usual;
    slow->longest = fmax(slow->longest, ns);
}

/* Whether they come at a fixed distance, three at least, and none is missing. */
static int is_regular(const struct slow *slow, uint32_t looked)
{
    return slow->count >= 3 && slow->every > 1 && slow->count + 1 >= looked / slow->every;
}

static void tell_iterations(struct nvt_finding *finding, const struct slow *slow, uint32_t looked,
                            double usual, double limit)
{
    char every[64] = "";
    if (is_regular(slow, looked))
        snprintf(every, sizeof(every), ", every %u iterations", slow->every);
    finding->cost_ns = slow->excess / looked;
    finding->whole_ns = usual + finding->cost_ns;
    snprintf(finding->what, sizeof(finding->what), "%u of %u iterations take%s far longer%s",
             slow->count, looked, slow->count == 1 ? "s" : "", every);
    snprintf(
        finding->evidence, sizeof(finding->evidence),
        "median %s; these take more than %s, %s on average, the slowest %s; without them the mean "
        "would be %.1f %% lower",
        NVT_TIME(usual), NVT_TIME(limit), NVT_TIME(usual + slow->excess / slow->count),
        NVT_TIME(slow->longest), 100 * slow->excess / (slow->excess + usual * looked));
    if (*every)
        snprintf(finding->remedy, sizeof(finding->remedy),
                 "look for what is done every %u iterations: a checkpoint, a log, an evaluation",
                 slow->every);
}

/* --- what the machine was like in them ------------------------------------------------------------------ */

/* Averages of a counter over the slow iterations and over the others. */
static void average(const struct nvt_view *view, const struct nvt_counter_courses *courses,
                    uint32_t counter, double limit, double *in_slow, double *in_others)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct nvt_machine_sum slow = {0, 0}, others = {0, 0};
    for (uint32_t i = WARMUP; i < view->iteration_count; i++) {
        uint32_t range = view->iterations[i];
        nvt_machine_add(courses, counter, ranges->start[range], ranges->end[range],
                        nvt_iteration_ns(view, i) > limit ? &slow : &others);
    }
    *in_slow = nvt_machine_average(&slow);
    *in_others = nvt_machine_average(&others);
}

static void add_evidence(struct nvt_finding *finding, const char *text)
{
    size_t used = strlen(finding->evidence);
    snprintf(finding->evidence + used, sizeof(finding->evidence) - used, "%s", text);
}

static void tell_threads(const struct nvt_view *view, const struct nvt_counter_courses *courses,
                         double limit, struct nvt_finding *finding)
{
    char text[160];
    double slow, others, processors, ignored;
    average(view, courses, nvt_machine_host_counter(view->trace, NVT_MACHINE_RUNNABLE), limit,
            &slow, &others);
    average(view, courses, nvt_machine_host_counter(view->trace, NVT_MACHINE_PROCESSORS), limit,
            &processors, &ignored);
    /* Not less than: what is unknown is not told. */
    if (!(slow > processors) || !(slow - others >= LEAST_READIER * processors))
        return;
    snprintf(text, sizeof(text), "; %.1f threads were runnable on %.0f core%s in them, else %.1f",
             slow, processors, processors > 1 ? "s" : "", others);
    add_evidence(finding, text);
}

static void tell_clocks(const struct nvt_view *view, const struct nvt_counter_courses *courses,
                        double limit, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_counters *counters = &trace->counters;
    const char *clock = nvt_machine_gpu_quantity(NVT_MACHINE_SM_CLOCK)->name;
    for (uint32_t i = 0; i < counters->count; i++) {
        char text[200];
        double slow, others;
        if (!counters->gpu[i] || strcmp(nvt_name(trace, counters->name[i]), clock) != 0)
            continue;
        average(view, courses, i, limit, &slow, &others);
        if (!(slow <= MOST_CLOCK * others))
            continue;
        snprintf(text, sizeof(text), "; the clock of %.60s was %.0f MHz in them, else %.0f",
                 nvt_name(trace, trace->domains.name[counters->domain[i]]), slow, others);
        add_evidence(finding, text);
        return;
    }
}

/* While others keep the cores busy, slow iterations may be theirs: the thread was not running. 0, or -1 with err. */
static int doubt_on_busy_machine(const struct nvt_view *view, struct nvt_finding *finding,
                                 struct nvt_error *err)
{
    struct nvt_crowd crowd;
    if (nvt_crowd_make(&crowd, view, err))
        return -1;
    if (!crowd.is_crowded || nvt_is_own_crowd(&crowd))
        return 0;
    finding->confidence = NVT_POSSIBLE;
    add_evidence(finding, "; other programs kept the cores busy all the while, which may be why");
    snprintf(finding->remedy, sizeof(finding->remedy),
             "measure again on an idle machine before looking for a cause in the program");
    return 0;
}

/* 0, or -1 with err. */
static int tell_machine(const struct nvt_view *view, double limit, struct nvt_finding *finding,
                        struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    int has = nvt_machine_courses(view->trace, &courses, err);
    if (has > 0) {
        tell_threads(view, &courses, limit, finding);
        tell_clocks(view, &courses, limit, finding);
    }
    nvt_counter_courses_free(&courses);
    return has < 0 ? -1 : 0;
}

/* Those of the iterations that periodic work tells of: a byte each, the caller's. *every gets how many iterations lie between
 * slow ones that it leaves, 0: they do not come so. NULL when out of memory. */
static unsigned char *mark_told(const struct nvt_view *view, uint32_t *every)
{
    struct nvt_beats beats = {0};
    struct nvt_periodic periodic;
    unsigned char *told = calloc(view->iteration_count, 1);
    int failed = !told || nvt_beats_make(&beats, view);
    nvt_beats_keep_longest_part(&beats);
    failed = failed || nvt_periodic_find(&periodic, &beats);
    if (!failed)
        *every = periodic.is_slow ? periodic.every : 0;
    for (uint32_t i = 0, beat = 0; i < view->iteration_count && !failed; i++)
        if (beat < beats.count && beats.items[beat].range == view->iterations[i]) {
            told[i] = !periodic.is_slow && nvt_is_periodic(&periodic, &beats, beat) ? 1 : 0;
            beat++;
        }
    nvt_beats_free(&beats);
    if (failed)
        free(told);
    return failed ? NULL : told;
}

static int find_iterations(const struct nvt_rule *rule, const struct nvt_view *view,
                           struct nvt_findings *findings, struct nvt_error *err)
{
    double usual;
    struct slow slow = {0};
    struct nvt_finding finding = nvt_finding_of(rule, view);
    if (view->iteration_count < WARMUP + LEAST_COUNT)
        return 0;
    uint32_t every = 0;
    unsigned char *told = mark_told(view, &every);
    const double limit = nvt_slow_iteration_ns(view, WARMUP, &usual);
    if (!told || isnan(limit)) {
        free(told);
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    }
    uint32_t looked = view->iteration_count - WARMUP;
    for (uint32_t i = WARMUP; i < view->iteration_count; i++)
        if (nvt_iteration_ns(view, i) > limit && !told[i]) {
            add_iterations(&slow, i, nvt_iteration_ns(view, i), usual);
            nvt_finding_point(&finding, view->trace->ranges.start[view->iterations[i]]);
        }
    free(told);
    if (!slow.count || slow.excess < LEAST_SHARE * usual * looked)
        return 0;
    slow.every = every ? every : slow.every;
    tell_iterations(&finding, &slow, looked, usual, limit);
    if (tell_machine(view, limit, &finding, err) ||
        (!is_regular(&slow, looked) && doubt_on_busy_machine(view, &finding, err)))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_iterations = {
    .cause = "slow iterations",
    .about = "single iterations that take far longer than the rest",
    .means = "A few iterations are so slow that they change the mean. What they have in common is "
             "not known; the moments show where to look.",
    .found =
        "Iterations from the ninth on are compared with their median. Those that periodic "
        "work explains are left out. With record --trace machine, the evidence says whether "
        "more threads were runnable or a clock was lower in them; where other programs keep the "
        "cores busy, slow iterations at no fixed distance are only possible.",
    .threshold = "from the ninth iteration on, of at least 24: more than 1.5 times the median and "
                 "5 deviations above it (by the median distance, which outliers do not move), and "
                 "together 5 % of the time: below that, they do not change the mean",
    .remedy = "look at what the host does there; keep other work off the machine, and read the "
              "median instead of the mean",
    .helped = "Python's garbage collector (gc.freeze(), or gc.collect() at a fixed point), other "
              "programs on the machine, file systems that stall, thermal throttling, and "
              "recompilation for a new shape are common reasons.",
    .confused = "Periodic work: slow iterations at a fixed distance. Warm-up inside: only the "
                "first ones. Iterations whose inputs differ in size vary by design.",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .look = find_iterations,
};
