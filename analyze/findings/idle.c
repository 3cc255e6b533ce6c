/* GPU idle: the device has nothing to do while the host works outside of CUDA. */
#include <stdio.h>
#include <stdlib.h>

#include "../model/buckets.h"
#include "../diagnosis/diagnose.h"
#include "../device/gaps.h"
#include "../../lib/map.h"
#include "../model/nesting.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

/* A name of what the launching threads were in during gaps: a range, a call of the system. */
struct place {
    uint32_t name;
    int64_t ns;    /* of gaps */
    int64_t until; /* of the gap that was looked at last */
    uint64_t gap;  /* its number */
    double instances, instances_ns;
};

struct places {
    struct nvt_buckets threads; /* rows of each, by their starts */
    struct nvt_map names;
    struct place *items;
    uint32_t count;
};

struct host {
    const struct nvt_trace *trace;
    struct places ranges; /* push/pop ranges */
    uint32_t *parent;     /* of each range */
    struct places calls;  /* of the system's libraries */
    uint64_t gaps;
    int64_t ns; /* of all gaps */
    int failed;
};

static struct place *place_of(struct places *places, uint32_t name)
{
    uint32_t *at = nvt_map_at(&places->names, name);
    if (!at)
        return NULL;
    if (*at == NVT_MAP_NONE) {
        struct place *items = realloc(places->items, (places->count + 1) * sizeof(*items));
        if (!items)
            return NULL;
        places->items = items;
        items[places->count] = (struct place){.name = name};
        *at = places->count++;
    }
    return &places->items[*at];
}

struct span {
    int64_t start, end;
};

/* Time of a gap within a span of that name, that within spans of one name once. They come by their starts. */
static void add_span(struct host *host, struct places *places, const struct nvt_gap *gap,
                     uint32_t name, const struct span *span)
{
    struct place *place = place_of(places, name);
    host->failed |= !place;
    if (!place)
        return;
    if (place->gap != host->gaps)
        place->until = gap->start;
    place->gap = host->gaps;
    int64_t start = span->start > place->until ? span->start : place->until;
    int64_t end = span->end < gap->end ? span->end : gap->end;
    if (end <= start)
        return;
    place->ns += end - start;
    place->until = end;
    place->instances++;
    place->instances_ns += (double)span->end - (double)span->start;
}

static void add_range(struct host *host, const struct nvt_gap *gap, uint32_t range)
{
    const struct nvt_ranges *ranges = &host->trace->ranges;
    const struct span span = {ranges->start[range], ranges->end[range]};
    add_span(host, &host->ranges, gap, ranges->name[range], &span);
}

/* The ranges that are open where it begins, outer before inner, and those that begin within it. */
static void add_ranges(struct host *host, const struct nvt_gap *gap)
{
    const struct nvt_ranges *ranges = &host->trace->ranges;
    uint32_t open[NVT_NESTING_DEPTH], depth = 0;
    const uint32_t *rows = host->ranges.threads.rows, *first = host->ranges.threads.first;
    uint32_t at = nvt_buckets_from(&host->ranges.threads, gap->thread, ranges->start, gap->start);
    for (uint32_t row = at > first[gap->thread] ? rows[at - 1] : NVT_NONE;
         row != NVT_NONE && depth < NVT_NESTING_DEPTH; row = host->parent[row])
        if (ranges->end[row] > gap->start)
            open[depth++] = row;
    while (depth)
        add_range(host, gap, open[--depth]);
    for (; at < first[gap->thread + 1] && ranges->start[rows[at]] < gap->end; at++)
        add_range(host, gap, rows[at]);
}

/* Calls of a thread follow each other: one at most is open where the gap begins. */
static void add_calls(struct host *host, const struct nvt_gap *gap)
{
    const struct nvt_os_calls *calls = &host->trace->os_calls;
    const uint32_t *rows = host->calls.threads.rows, *first = host->calls.threads.first;
    uint32_t at = nvt_buckets_from(&host->calls.threads, gap->thread, calls->start, gap->start);
    at -= at > first[gap->thread];
    for (; at < first[gap->thread + 1] && calls->start[rows[at]] < gap->end; at++) {
        const struct span span = {calls->start[rows[at]], calls->end[rows[at]]};
        add_span(host, &host->calls, gap, calls->name[rows[at]], &span);
    }
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    struct host *host = context;
    host->gaps++;
    host->ns += gap->end - gap->start;
    if (gap->thread >= host->trace->threads.count)
        return;
    add_ranges(host, gap);
    add_calls(host, gap);
}

/* 0, or -1 when out of memory. */
static int begin(struct host *host)
{
    const struct nvt_ranges *ranges = &host->trace->ranges;
    const struct nvt_os_calls *calls = &host->trace->os_calls;
    uint32_t threads = host->trace->threads.count;
    uint32_t *owner = malloc(((size_t)ranges->count + 1) * sizeof(*owner));
    for (uint32_t i = 0; owner && i < ranges->count; i++)
        owner[i] = ranges->style[i] == NVT_PUSH_POP ? ranges->thread[i] : threads;
    int status =
        owner ? nvt_buckets_make(&host->ranges.threads, owner, threads, NULL, ranges->count) : -1;
    free(owner);
    if (!status)
        status = nvt_buckets_make(&host->calls.threads, calls->thread, threads, NULL, calls->count);
    host->parent = status ? NULL : nvt_nest_threads(host->trace, NULL);
    return host->parent ? 0 : -1;
}

static void free_host(struct host *host)
{
    struct places *const both[] = {&host->ranges, &host->calls};
    for (int i = 0; i < 2; i++) {
        nvt_buckets_free(&both[i]->threads);
        nvt_map_free(&both[i]->names);
        free(both[i]->items);
    }
    free(host->parent);
}

/* The place that at least half of the gaps' time is in, of several the one of the shortest spans; NULL: none. */
static const struct place *best_of(const struct places *places, int64_t ns)
{
    const struct place *best = NULL;
    for (uint32_t i = 0; i < places->count; i++) {
        const struct place *place = &places->items[i];
        if (place->ns >= ns - place->ns && (!best || place->instances_ns / place->instances <
                                                         best->instances_ns / best->instances))
            best = place;
    }
    return best;
}

/* Where the host was, into the finding. 0, or -1 when out of memory. */
static int find_place(const struct nvt_view *view, struct nvt_finding *finding)
{
    struct host host = {.trace = view->trace};
    struct nvt_gap_sum sum = {.cause = NVT_GAP_HOST, .each = add_gap, .context = &host};
    double share = 0, usual = 0;
    char part[24] = "", inside[84] = "";
    int failed = begin(&host) || nvt_view_gaps(view, &sum, &share, &usual, NULL) || host.failed;
    const struct place *best = failed ? NULL : best_of(&host.ranges, host.ns);
    const struct place *call = failed ? NULL : best_of(&host.calls, host.ns);
    if (best)
        nvt_finding_about(finding, nvt_name(view->trace, best->name));
    if (best && (double)best->ns < 0.9 * (double)host.ns)
        snprintf(part, sizeof(part), ", %.0f %% of it", 100 * (double)best->ns / (double)host.ns);
    if (call)
        snprintf(inside, sizeof(inside), ", for %.0f %% of that time in %.44s()",
                 100 * (double)call->ns / (double)host.ns, nvt_name(view->trace, call->name));
    snprintf(finding->what, sizeof(finding->what),
             "the device has nothing to do while the host works%s%s%s%.80s%s",
             call ? " or waits" : "", part, best ? " in range " : "", finding->subject, inside);
    free_host(&host);
    return failed ? -1 : 0;
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_HOST};
    double share = 0, usual = 0;
    if (nvt_view_gaps(view, &sum, &share, &usual, err))
        return -1;
    if (sum.count < LEAST_COUNT || usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    if (find_place(view, &finding))
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s gaps %s, %s each, %.0f %% of the device's time, in which the "
             "launching thread was outside of CUDA; the longest %s",
             NVT_COUNT((double)sum.count / view->units), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * share,
             NVT_TIME((double)sum.longest_ns[0]));
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_idle = {
    .cause = "GPU idle",
    .about = "gaps in which the launching thread does its own work: data, logging, checks",
    .threshold =
        "10 % of the device's time, in at least 3 gaps of 100 us or more, even if the two longest "
        "were like the others: one gap is not a loop, and shorter ones are the launching itself",
    .remedy = "do that work on another thread, or one iteration ahead, or after the launches of "
              "the iteration instead of before them",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = look,
};
