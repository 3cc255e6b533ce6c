/*
 * nvtx_counter_ranges: what NVTX counters did within ranges, a row for each "domain:name" of ranges and each
 * counter that had a sample in one of them, over all traces; what came first is first.
 *
 * Within a range is what any thread of its process sampled behind its begin, up to and at its end, so that no sample
 * is in two ranges that follow each other. Its change goes from the level at its begin (of a counter that had none yet: from the first sample within) to the level at its end;
 * "Change/s" is all of it over the time of these ranges, "Time Avg" that of the level, as far as it is known there. A range whose end was never seen is left out.
 */
#include <math.h>
#include <stdlib.h>

#include "../model/counters.h"
#include "../model/groups.h"
#include "report.h"

struct sum {
    uint64_t instances, samples;
    double change, ns, lowest, highest;
    double integral, held_ns; /* of the level, over the time for which it is known */
    int is_delta;
};

/* What a counter did between two times: `first` to `end` are the samples within. Nothing where its level is not
 * known at either. */
static void add_nvtx_counter_ranges(struct sum *sum, const struct nvt_counter_course *course,
                                    uint32_t first, uint32_t end, int64_t from, int64_t to)
{
    double before, lowest, highest;
    if (first)
        before = course->level[first - 1];
    else if (sum->is_delta)
        before = 0;
    else
        before = course->level[0];
    sum->instances++;
    sum->samples += end - first;
    sum->ns += (double)(to - from);
    sum->integral += nvt_course_integral(course, from, to, &sum->held_ns);
    if (end)
        sum->change += course->level[end - 1] - before;
    nvt_course_bounds(course, first ? first - 1 : 0, end, &lowest, &highest);
    sum->lowest = fmin(sum->lowest, lowest);
    sum->highest = fmax(sum->highest, highest);
}

static struct sum *sum_of(struct nvt_groups *groups, const struct nvt_trace *trace, uint32_t range,
                          uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    uint32_t parts[] = {
        nvt_groups_range(groups, range),
        nvt_groups_named(groups, counters->domain[counter], counters->name[counter]),
        nvt_groups_string(groups, counters->unit[counter]), counters->values[counter]};
    struct sum *sum = nvt_groups_item(groups, nvt_groups_key(groups, parts, 4));
    if (sum && !sum->instances)
        *sum = (struct sum){.lowest = INFINITY,
                            .highest = -INFINITY,
                            .is_delta = counters->values[counter] == NVT_COUNTER_DELTA};
    return sum;
}

static int add_nvtx_counter_ranges_range(struct nvt_groups *groups, const struct nvt_trace *trace,
                                         uint32_t range, const struct nvt_counter_courses *courses)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t thread = ranges->thread[range];
    int64_t start = ranges->start[range], end = ranges->end[range];
    if (ranges->flags[range] & NVT_RANGE_PARTIAL)
        return 0;
    for (uint32_t i = 0; i < courses->count; i++) {
        const struct nvt_counter_course *course = &courses->items[i];
        int is_here = trace->counters.is_of_machine[i] ||
                      trace->counters.process[i] == trace->threads.process[thread];
        if (!course->count || !is_here || course->time[0] > end)
            continue;
        uint32_t first = nvt_course_until(course, start), last = nvt_course_until(course, end);
        struct sum *sum = sum_of(groups, trace, range, i);
        if (!sum)
            return -1;
        add_nvtx_counter_ranges(sum, course, first, last, start, end);
    }
    return 0;
}

static int group_nvtx_counter_ranges(struct nvt_groups *groups, const struct nvt_trace *trace,
                                     const struct nvt_making *making)
{
    struct nvt_counter_courses courses;
    int status = nvt_counter_courses(trace, &courses);
    (void)making;
    for (uint32_t i = 0; i < trace->ranges.count && !status && trace->counter_samples.count; i++)
        status = add_nvtx_counter_ranges_range(groups, trace, i, &courses);
    nvt_counter_courses_free(&courses);
    return status;
}

static void put_nvtx_counter_ranges_group(struct nvt_table *table, struct nvt_groups *groups,
                                          uint32_t number)
{
    const struct sum *sum = nvt_groups_item(groups, number);
    if (!sum->samples)
        return;
    nvt_table_put(table, nvt_groups_part(groups, number, 0), nvt_groups_part(groups, number, 1),
                  nvt_text_if_any(nvt_groups_part(groups, number, 2)), sum->instances, sum->samples,
                  sum->change / (double)sum->instances, sum->change,
                  sum->ns > 0 ? sum->change / sum->ns * 1e9 : NAN);
    /* How much a counter of differences had come to is a matter of when it was first seen. */
    if (!sum->is_delta)
        nvt_table_more(table, sum->held_ns > 0 ? sum->integral / sum->held_ns : NAN, sum->lowest,
                       sum->highest);
}

const struct nvt_report nvt_report_nvtx_counter_ranges = {
    .name = "nvtx_counter_ranges",
    .about =
        "how NVTX counters changed within ranges: in total, per second, average, lowest, highest",
    .columns = {{"Range", NVT_RANGES},
                {"Counter", NVT_NAMES},
                {"Unit", NVT_NAMES},
                {"Instances", NVT_COUNTS},
                {"Samples", NVT_COUNTS},
                {"Avg Change", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Total Change", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Change/s", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Time Avg", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Lowest", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Highest", NVT_REALS("", NVT_SIX_DIGITS)}},
    .title = "NVTX counters within ranges",
    .nothing = "no NVTX counter was sampled within a range",
    .group = group_nvtx_counter_ranges,
    .put_group = put_nvtx_counter_ranges_group,
    .group_size = sizeof(struct sum),
};
