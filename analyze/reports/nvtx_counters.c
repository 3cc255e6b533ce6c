/*
 * nvtx_counters: the samples of NVTX counters, a row a counter and process (of a group, one for each of its
 * numbers), in the order in which they were first seen. A table a trace.
 *
 * "Avg" and "StdDev" are of the samples, "Time Avg" of the level, which holds from a sample to the next one, up to the
 * last. "Change" is from the first sample to the last, and, of a counter whose samples say how much more there is, their
 * sum; "Change/s" goes from the first sample to the last in either case.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../model/counters.h"
#include "report.h"

enum { PID, DOMAIN, NAME, UNIT, COUNT, FIRST, LAST, MIN, AVG, TIME_AVG, MAX, STD, CHANGE, RATE };

static const struct nvt_column_spec columns[] = {
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [DOMAIN] = {"Domain", "", NVT_TEXT, 0, 0},
    [NAME] = {"Counter", "", NVT_TEXT, 0, 0},
    [UNIT] = {"Unit", "", NVT_TEXT, 0, 0},
    [COUNT] = {"Samples", "", NVT_INT, 0, 0},
    [FIRST] = {"First", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [LAST] = {"Last", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [MIN] = {"Min", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [AVG] = {"Avg", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [TIME_AVG] = {"Time Avg", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [MAX] = {"Max", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [STD] = {"StdDev", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [CHANGE] = {"Change", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [RATE] = {"Change/s", "", NVT_REAL, NVT_SIX_DIGITS, 0},
};

/* The level's average over the time from the first sample to the last; NaN where that is none. */
static double time_average(const struct nvt_counter_course *course)
{
    double sum = 0, length = (double)(course->time[course->count - 1] - course->time[0]);
    for (uint32_t i = 1; i < course->count; i++)
        sum += course->level[i - 1] * (double)(course->time[i] - course->time[i - 1]);
    return length > 0 ? sum / length : NAN;
}

static void put_change(struct nvt_table *table, size_t row, const struct nvt_counter_course *course,
                       int is_delta)
{
    uint32_t last = course->count - 1;
    double seconds = (double)(course->time[last] - course->time[0]) / 1e9;
    double between = course->level[last] - course->level[0];
    nvt_table_set_real(table, row, CHANGE, is_delta ? course->level[last] : between);
    nvt_table_set_real(table, row, RATE, seconds > 0 ? between / seconds : NAN);
}

static void put_counter(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_counter_course *course, double *scratch)
{
    const struct nvt_counters *counters = &trace->counters;
    uint32_t i = course->counter, domain = counters->domain[i];
    struct nvt_summary summary;
    size_t row = nvt_table_add_row(table);
    if (!counters->is_of_machine[i])
        nvt_table_set_int(table, row, PID, trace->processes.pid[counters->process[i]]);
    nvt_table_set_name(table, row, DOMAIN, nvt_domain_name(trace, domain));
    nvt_table_set_text(table, row, NAME, nvt_name(trace, counters->name[i]));
    nvt_table_set_name(table, row, UNIT, nvt_name(trace, counters->unit[i]));
    nvt_table_set_int(table, row, COUNT, course->count);
    nvt_table_set_real(table, row, FIRST, course->value[0]);
    nvt_table_set_real(table, row, LAST, course->value[course->count - 1]);
    memcpy(scratch, course->value, course->count * sizeof(*scratch));
    nvt_sample_summary(scratch, course->count, &summary);
    nvt_table_set_real(table, row, MIN, summary.min);
    nvt_table_set_real(table, row, AVG, summary.mean);
    nvt_table_set_real(table, row, MAX, summary.max);
    nvt_table_set_real(table, row, STD, summary.std);
    if (counters->values[i] != NVT_COUNTER_DELTA)
        nvt_table_set_real(table, row, TIME_AVG, time_average(course));
    put_change(table, row, course, counters->values[i] == NVT_COUNTER_DELTA);
}

static struct nvt_table *make_one(struct nvt_input *input, const struct nvt_trace *trace,
                                  struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    double *scratch = malloc(((size_t)trace->counter_samples.count + 1) * sizeof(*scratch));
    struct nvt_table *table =
        nvt_report_trace_table(&nvt_report_nvtx_counters, input, trace, "NVTX counters", err);
    if (nvt_counter_courses(trace, &courses) || !scratch) {
        nvt_table_free(table);
        table = NULL;
        nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    for (uint32_t i = 0; table && i < courses.count; i++)
        if (courses.items[i].count)
            put_counter(table, trace, &courses.items[i], scratch);
    nvt_counter_courses_free(&courses);
    free(scratch);
    return table;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        struct nvt_table *table = make_one(input, input->traces[i].trace, err);
        if (!table || nvt_report_add(tables, table, err))
            return -1;
        samples += input->traces[i].trace->counter_samples.count;
    }
    if (!samples)
        nvt_note(input, "note: no samples of NVTX counters in the input");
    return 0;
}

const struct nvt_report nvt_report_nvtx_counters = {
    .name = "nvtx_counters",
    .about = "NVTX counters: samples, minimum, maximum, average, change per second",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
