#include "rising.h"

#include <stdlib.h>

#include "places.h"
#include "running.h"

#define LEAST_RISES 0.6
#define MOST_TIME   (1 / 3.0)
#define LEAST_SPANS 3
/* A range is named from so many times its share of all time on. */
#define LEAST_LIFT 1.5

/* A stretch between two samples, and by how much the level rises in it. */
struct rise {
    struct nvt_span span;
    double bytes;
};

static double rate_of(const struct rise *rise)
{
    return rise->bytes / (double)(rise->span.end - rise->span.start);
}

static int by_rate(const void *left, const void *right)
{
    const double a = rate_of(left), b = rate_of(right);
    return (a < b) - (a > b);
}

static int by_start(const void *left, const void *right)
{
    const struct rise *a = left, *b = right;
    return (a->span.start > b->span.start) - (a->span.start < b->span.start);
}

/* The fastest, in the order of time; *count 0: they are too much of the time to tell anything. *largest gets the largest. */
static struct rise *find_rises(const struct nvt_rising *rising, size_t *count, double *share,
                               struct nvt_longest *largest)
{
    const struct nvt_counter_course *course = rising->course;
    const uint32_t first = nvt_course_until(course, rising->from - 1);
    const uint32_t end = nvt_course_until(course, rising->to);
    struct rise *rises = malloc(((size_t)(end - first) + 1) * sizeof(*rises));
    double all = 0, held = 0, ns = 0;
    size_t found = 0;
    *count = 0;
    for (uint32_t i = first + 1; rises && i < end; i++) {
        const double bytes = course->level[i] - course->level[i - 1];
        if (bytes <= 0 || course->time[i] <= course->time[i - 1])
            continue;
        rises[found++] = (struct rise){{course->time[i - 1], course->time[i]}, bytes};
        all += bytes;
        nvt_longest_add(largest, course->time[i - 1], bytes);
    }
    if (!rises || !found)
        return rises;
    qsort(rises, found, sizeof(*rises), by_rate);
    for (; *count < found && held < LEAST_RISES * all; (*count)++) {
        held += rises[*count].bytes;
        ns += (double)(rises[*count].span.end - rises[*count].span.start);
    }
    *share = ns / (double)(rising->to - rising->from);
    if (*share > MOST_TIME || *count < LEAST_SPANS)
        *count = 0;
    qsort(rises, *count, sizeof(*rises), by_start);
    return rises;
}

/* Time of a thread's push/pop ranges, by name and domain, in spans or (rises NULL) in all of the time. */
static int add_ranges(const struct nvt_rising *rising, const struct rise *rises, size_t count,
                      struct nvt_places *places)
{
    const struct nvt_ranges *ranges = &rising->trace->ranges;
    const struct nvt_span whole = {rising->from, rising->to};
    size_t at = 0;
    int failed = 0;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        const struct nvt_span range = {ranges->start[i], ranges->end[i]};
        if (ranges->thread[i] != rising->thread || ranges->style[i] != NVT_PUSH_POP)
            continue;
        const uint64_t key = (uint64_t)ranges->domain[i] << 32 | ranges->name[i];
        if (!rises) {
            failed = nvt_places_add(places, key, 1, &whole, &range);
            continue;
        }
        while (at < count && rises[at].span.end <= range.start)
            at++;
        for (size_t k = at; k < count && rises[k].span.start < range.end && !failed; k++)
            failed = nvt_places_add(places, key, k + 1, &rises[k].span, &range);
    }
    return failed;
}

static double ns_of(const struct nvt_places *places, uint64_t key)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (places->items[i].key == key)
            return (double)places->items[i].ns;
    return 0;
}

/* 0, or -1 when out of memory. */
static int tell_range(const struct nvt_rising *rising, const struct rise *rises, size_t count,
                      double share, struct nvt_finding *finding)
{
    struct nvt_places spans = {.count = 0}, all = {.count = 0};
    int failed = add_ranges(rising, rises, count, &spans) || add_ranges(rising, NULL, 0, &all);
    const double whole_ns = (double)(rising->to - rising->from);
    const struct nvt_place *most =
        failed ? NULL : nvt_places_best(&spans, (int64_t)(share * whole_ns));
    const double in = most ? (double)most->ns / (share * whole_ns) : 0;
    if (most && in >= LEAST_LIFT * ns_of(&all, most->key) / whole_ns)
        nvt_finding_append(finding, ", %.0f %% of that in range %.60s", 100 * in,
                           nvt_name(rising->trace, (uint32_t)most->key));
    nvt_places_free(&spans);
    nvt_places_free(&all);
    return failed ? -1 : 0;
}

/* What all threads of the process run in the spans. 0, or -1 when out of memory. */
static int tell_functions(const struct nvt_rising *rising, const struct rise *rises, size_t count,
                          struct nvt_finding *finding)
{
    const struct nvt_trace *trace = rising->trace;
    struct nvt_running running = {.is_taken = NULL};
    int failed = nvt_running_begin(&running, trace);
    for (uint32_t thread = 0; thread < trace->threads.count && !failed; thread++)
        for (size_t i = 0; i < count && trace->threads.process[thread] == rising->process; i++)
            nvt_running_add(&running, thread, rises[i].span.start, rises[i].span.end);
    failed = failed || nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return failed ? -1 : 0;
}

/* Who calls what allocates or fills memory, in all of the time. 0, or -1 when out of memory. */
static int tell_allocations(const struct nvt_rising *rising, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = rising->trace;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    struct nvt_running running = {.is_taken = NULL};
    uint32_t count = 0;
    int failed = nvt_running_begin(&running, trace);
    for (uint32_t i = 0; i < samples->count && !failed; i++) {
        const enum nvt_work_kind kind = nvt_work_of(&running.work, i);
        const uint32_t frame = samples->frame[i];
        const uint32_t caller = frame ? running.work.caller[frame - 1] : 0;
        if ((kind != NVT_WORK_ALLOCATES && kind != NVT_WORK_COPIES) || !caller ||
            trace->threads.process[samples->thread[i]] != rising->process ||
            samples->time[i] < rising->from || samples->time[i] > rising->to)
            continue;
        count++;
        failed = nvt_pairs_add(&running.callers, 0, trace->call_frames.name[caller - 1], 1);
    }
    failed = failed || (count && nvt_pairs_sort(&running.callers, 1));
    const struct nvt_pair *most = failed || !count ? NULL : nvt_pairs_most(&running.callers, 0);
    if (most && count >= NVT_RUNNING_LEAST)
        nvt_finding_append(finding,
                           "; of %u samples in allocators, copying and filling, %.0f %% from %.80s",
                           count, 100 * (double)most->weight / count, nvt_name(trace, most->part));
    nvt_running_free(&running);
    return failed ? -1 : 0;
}

int nvt_rising_tell(const struct nvt_rising *rising, struct nvt_finding *finding)
{
    struct nvt_longest largest = {{0}, {0}};
    double share = 0;
    size_t count = 0;
    struct rise *rises = find_rises(rising, &count, &share, &largest);
    int failed = !rises;
    if (!failed && count) {
        nvt_finding_append(finding, "; %.0f %% of it comes in %.2g %% of the time",
                           100 * LEAST_RISES, 100 * share);
        failed =
            tell_range(rising, rises, count, share, finding) ||
            (rising->trace->cpu_samples.count && tell_functions(rising, rises, count, finding));
    } else if (!failed && rising->trace->cpu_samples.count) {
        failed = tell_allocations(rising, finding);
    }
    if (!failed)
        nvt_finding_point_longest(finding, &largest);
    free(rises);
    return failed ? -1 : 0;
}
