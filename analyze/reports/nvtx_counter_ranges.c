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

enum { RANGE, COUNTER, UNIT, INSTANCES, SAMPLES, AVG, TOTAL, RATE, TIME_AVG, LOWEST, HIGHEST };

static const struct nvt_column_spec columns[] = {
    [RANGE] = {"Range", "", NVT_TEXT, 0, 0},
    [COUNTER] = {"Counter", "", NVT_TEXT, 0, 0},
    [UNIT] = {"Unit", "", NVT_TEXT, 0, 0},
    [INSTANCES] = {"Instances", "", NVT_INT, 0, 0},
    [SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [AVG] = {"Avg Change", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [TOTAL] = {"Total Change", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [RATE] = {"Change/s", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [TIME_AVG] = {"Time Avg", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [LOWEST] = {"Lowest", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [HIGHEST] = {"Highest", "", NVT_REAL, NVT_SIX_DIGITS, 0},
};

struct sum {
    uint64_t instances, samples;
    double change, ns, lowest, highest;
    double integral, held_ns; /* of the level, over the time for which it is known */
    int is_delta;
};

struct sums {
    struct nvt_groups groups;
    struct sum *items; /* of every group */
    uint32_t count;
};

/* What a counter did between two times: `first` to `end` are the samples within. Nothing where its level is not
 * known at either. */
static void add(struct sum *sum, const struct nvt_counter_course *course, uint32_t first,
                uint32_t end, int64_t from, int64_t to)
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

static struct sum *sum_of(struct sums *sums, const struct nvt_trace *trace, uint32_t range,
                          uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    uint32_t parts[] = {
        nvt_groups_range(&sums->groups, range),
        nvt_groups_named(&sums->groups, counters->domain[counter], counters->name[counter]),
        nvt_groups_string(&sums->groups, counters->unit[counter]), counters->values[counter]};
    uint32_t group = nvt_groups_key(&sums->groups, parts, 4);
    if (group == NVT_NONE)
        return NULL;
    if (group == sums->count) {
        struct sum *items = realloc(sums->items, ((size_t)group + 1) * sizeof(*items));
        if (!items)
            return NULL;
        sums->items = items;
        sums->items[sums->count++] =
            (struct sum){.lowest = INFINITY,
                         .highest = -INFINITY,
                         .is_delta = counters->values[counter] == NVT_COUNTER_DELTA};
    }
    return &sums->items[group];
}

static int add_range(struct sums *sums, const struct nvt_trace *trace, uint32_t range,
                     const struct nvt_counter_courses *courses)
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
        struct sum *sum = sum_of(sums, trace, range, i);
        if (!sum)
            return -1;
        add(sum, course, first, last, start, end);
    }
    return 0;
}

static int add_trace(struct sums *sums, const struct nvt_trace *trace)
{
    struct nvt_counter_courses courses;
    int status = nvt_counter_courses(trace, &courses);
    nvt_groups_trace(&sums->groups, trace);
    for (uint32_t i = 0; i < trace->ranges.count && !status && trace->counter_samples.count; i++)
        status = add_range(sums, trace, i, &courses);
    nvt_counter_courses_free(&courses);
    return nvt_groups_failed(&sums->groups) ? -1 : status;
}

static void put_sums(struct nvt_table *table, const struct sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct sum *sum = &sums->items[i];
        const uint32_t *key = sums->groups.groups[i].key;
        if (!sum->samples)
            continue;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, RANGE, nvt_groups_name(&sums->groups, key[0]));
        nvt_table_set_text(table, row, COUNTER, nvt_groups_name(&sums->groups, key[1]));
        nvt_table_set_name(table, row, UNIT, nvt_groups_name(&sums->groups, key[2]));
        nvt_table_set_int(table, row, INSTANCES, (int64_t)sum->instances);
        nvt_table_set_int(table, row, SAMPLES, (int64_t)sum->samples);
        nvt_table_set_real(table, row, AVG, sum->change / (double)sum->instances);
        nvt_table_set_real(table, row, TOTAL, sum->change);
        nvt_table_set_real(table, row, RATE, sum->ns > 0 ? sum->change / sum->ns * 1e9 : NAN);
        /* How much a counter of differences had come to is a matter of when it was first seen. */
        if (!sum->is_delta) {
            nvt_table_set_real(table, row, TIME_AVG,
                               sum->held_ns > 0 ? sum->integral / sum->held_ns : NAN);
            nvt_table_set_real(table, row, LOWEST, sum->lowest);
            nvt_table_set_real(table, row, HIGHEST, sum->highest);
        }
    }
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct sums sums = {.groups = {0}};
    struct nvt_table *table = nvt_report_table(&nvt_report_nvtx_counter_ranges, input,
                                               "NVTX counters within ranges", err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (add_trace(&sums, input->traces[i].trace))
            status = nvt_fail_at(err, input->traces[i].trace->path, -1, "out of memory");
    if (!status)
        put_sums(table, &sums);
    if (!status && !nvt_table_rows(table))
        nvt_note(input, "note: no NVTX counter was sampled within a range");
    nvt_groups_free(&sums.groups);
    free(sums.items);
    if (!status)
        return nvt_report_add(tables, table, err);
    nvt_table_free(table);
    return -1;
}

const struct nvt_report nvt_report_nvtx_counter_ranges = {
    .name = "nvtx_counter_ranges",
    .about =
        "how NVTX counters changed within ranges: in total, per second, average, lowest, highest",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
