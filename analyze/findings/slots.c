/* lost slots: ranges in which the core begins few operations, by top-down analysis (lib/topdown.h). */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/topdown.h"
#include "../diagnosis/counted_loop.h"

#define LEAST_SHARE 0.2

/* Where slots are lost, and from which part of them on that is told. */
static const struct place {
    const char *name, *why, *remedy;
    double least;
} places[] = {
    {"is backend-bound", "wait for data or for units that compute",
     "use data again while it is in a cache, and break chains of operations that each wait for "
     "the one before: perf stat -M TopdownL2, or --trace counters=llc-misses,instructions, "
     "shows whether it is memory",
     0.6},
    {"is frontend-bound", "get no instructions in time",
     "smaller and straighter code: profile-guided optimisation (-fprofile-use), BOLT, fewer "
     "templates and calls in the loop, huge pages for code",
     0.35},
    {"speculates badly", "begin operations that are thrown away",
     "branches that can be foreseen, or none: sort the data, compute both sides and select, look "
     "values up in a table",
     0.25},
};
#define PLACES 3

/* Sums over ranges of one name. */
struct code {
    double cpu_ns;
    int64_t cycles, events[NVT_CHOSEN_MOST];
};

struct slots {
    struct nvt_counted_loop loop;
    const struct nvt_topdown_set *set;
    struct code *codes;
    double ns[PLACES]; /* CPU time of ranges that are told of a place */
};

static void add_codes(struct slots *slots)
{
    const struct nvt_ranges *ranges = &slots->loop.view->trace->ranges;
    struct nvt_topdown parts;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int64_t *own = slots->loop.counted->own[i].of;
        struct code *code = &slots->codes[ranges->name[i]];
        if (!slots->loop.counts[i] || own[NVT_COUNT_CPU_TIME] < 0 ||
            !nvt_topdown(slots->set, own[NVT_COUNT_CYCLES], &own[NVT_COUNT_CHOSEN], &parts))
            continue;
        code->cpu_ns += (double)own[NVT_COUNT_CPU_TIME];
        code->cycles += own[NVT_COUNT_CYCLES] > 0 ? own[NVT_COUNT_CYCLES] : 0;
        for (unsigned k = 0; k < NVT_CHOSEN_MOST; k++)
            code->events[k] += own[NVT_COUNT_CHOSEN + k];
    }
}

/* The part of a code's slots that is lost at a place. */
static double lost_at(const struct slots *slots, const struct code *code, unsigned place)
{
    struct nvt_topdown parts;
    if (!nvt_topdown(slots->set, code->cycles, code->events, &parts))
        return 0;
    return place == 0 ? parts.backend : place == 1 ? parts.frontend : parts.bad_speculation;
}

static int tell_slots(const struct slots *slots, unsigned at, struct nvt_finding *finding,
                      struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_view *view = slots->loop.view;
    const struct place *place = &places[at];
    double of_all, saved = 0;
    const uint32_t name = nvt_counted_loop_most(&slots->loop, &of_all);
    const struct code *code = &slots->codes[name];
    struct nvt_topdown parts;
    nvt_topdown(slots->set, code->cycles, code->events, &parts);
    for (uint32_t i = 1; i < nvt_strings_count(view->trace->strings); i++)
        if (slots->loop.lost[i] > 0)
            saved += slots->codes[i].cpu_ns * lost_at(slots, &slots->codes[i], at);
    finding->cost_ns = saved / slots->loop.threads / view->units;
    nvt_finding_about(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what), "range %s %s: %.0f %% of the core's slots %s",
             finding->subject, place->name, 100 * lost_at(slots, code, at), place->why);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "of its slots %.0f %% retire, %.0f %% are lost to bad speculation, %.0f %% to the "
             "front end, %.0f %% to the back end; range %s takes %s of CPU time %s; the cost is at "
             "most that part of the CPU time",
             100 * parts.retiring, 100 * parts.bad_speculation, 100 * parts.frontend,
             100 * parts.backend, finding->subject, NVT_TIME(code->cpu_ns / view->units),
             view->per);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", place->remedy);
    nvt_counted_loop_point(&slots->loop, name, NVT_COUNT_CYCLES, finding);
    return nvt_findings_add(findings, finding, err);
}

/* The place where most CPU time goes; PLACES: none takes enough. */
static unsigned worst(struct slots *slots)
{
    const struct nvt_view *view = slots->loop.view;
    const uint32_t strings = nvt_strings_count(view->trace->strings);
    unsigned at = 0;
    for (unsigned place = 0; place < PLACES; place++) {
        for (uint32_t i = 1; i < strings; i++)
            if (lost_at(slots, &slots->codes[i], place) >= places[place].least)
                slots->ns[place] += slots->codes[i].cpu_ns;
        at = slots->ns[place] > slots->ns[at] ? place : at;
    }
    for (uint32_t i = 1; i < strings; i++)
        if (lost_at(slots, &slots->codes[i], at) >= places[at].least)
            slots->loop.lost[i] = slots->codes[i].cpu_ns;
    return slots->ns[at] > 0 && slots->ns[at] >= LEAST_SHARE * view->span_ns * slots->loop.threads
               ? at
               : PLACES;
}

static int find_slots(const struct nvt_rule *rule, const struct nvt_view *view,
                      struct nvt_findings *findings, struct nvt_error *err)
{
    const char *name = nvt_trace_meta(view->trace, NVT_FACT_TOPDOWN);
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct slots slots = {.set = name ? nvt_topdown_named(name) : NULL};
    if (!slots.set)
        return 0;
    slots.codes = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, sizeof(*slots.codes));
    int status = slots.codes ? nvt_counted_loop_make(&slots.loop, view, err)
                             : nvt_fail_at(err, view->trace->path, -1, "out of memory");
    if (!status && slots.loop.threads) {
        add_codes(&slots);
        const unsigned at = worst(&slots);
        if (at < PLACES)
            status = tell_slots(&slots, at, &finding, findings, err);
    }
    nvt_counted_loop_free(&slots.loop);
    free(slots.codes);
    return status;
}

static const struct nvt_rule *const reasons[] = {&nvt_rule_misses, NULL};

const struct nvt_rule nvt_rule_slots = {
    .cause = "lost slots",
    .about = "ranges of the CPU in which the core begins few operations, and where they get lost",
    .means = "In each cycle a core has slots, in which it can begin so many operations. A slot is "
             "lost to the front end, which has no instruction ready, to the back end, which has no "
             "room for it, as operations wait for data or units, or to bad speculation, whose "
             "operations are thrown away. The rest retires: that is work.",
    .found = "Top-down analysis, level 1, from four counters of the processor and its cycles, by "
             "range, in user code. Needs nvtally record --trace counters=topdown, on Intel from "
             "Ice Lake on and AMD from Zen 4 on, and a machine that passes the counters on; "
             "nvtally info says whether this one does.",
    .threshold = "ranges that lose 60 % of their slots to the back end, 35 % to the front end or "
                 "25 % to bad speculation, and take 20 % of the time of the loop's threads. The "
                 "largest of the three is told. The cost is an upper bound: all of those slots",
    .remedy = "see the finding: it depends on where slots get lost",
    .helped = "Back end: blocking, smaller types, independent accumulators. Front end: "
              "profile-guided optimisation. Bad speculation: sorted data, branch-free selection.",
    .confused = "Memory-bound code is one reason of a backend-bound range, and needs other "
                "counters (llc-misses). A thread on the core's other half takes slots, too: the "
                "report has them apart where the processor counts them.",
    .show = "stats -r nvtx_cpu_counters",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_COUNTS,
    .reasons = reasons,
    .look = find_slots,
};
