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

/* The level's average over the time from the first sample to the last; NaN where that is none. */
static double time_average(const struct nvt_counter_course *course)
{
    double sum = 0, length = (double)(course->time[course->count - 1] - course->time[0]);
    for (uint32_t i = 1; i < course->count; i++)
        sum += course->level[i - 1] * (double)(course->time[i] - course->time[i - 1]);
    return length > 0 ? sum / length : NAN;
}

static void put_counter(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_counter_course *course, double *scratch)
{
    const struct nvt_counters *counters = &trace->counters;
    const uint32_t i = course->counter, domain = counters->domain[i], last = course->count - 1;
    const int is_delta = counters->values[i] == NVT_COUNTER_DELTA;
    const double seconds = (double)(course->time[last] - course->time[0]) / 1e9;
    const double between = course->level[last] - course->level[0];
    struct nvt_summary summary;
    memcpy(scratch, course->value, course->count * sizeof(*scratch));
    nvt_sample_summary(scratch, course->count, &summary);
    nvt_table_put(
        table,
        NVT_IF(counters->process[i] < trace->processes.count && !counters->is_of_machine[i],
               trace->processes.pid[counters->process[i]]),
        NVT_IF(domain < trace->domains.count,
               nvt_text_if_any(nvt_name(trace, trace->domains.name[domain]))),
        nvt_name(trace, counters->name[i]), nvt_text_if_any(nvt_name(trace, counters->unit[i])),
        course->count, course->value[0], course->value[last], summary.min, summary.mean,
        is_delta ? NAN : time_average(course), summary.max, summary.std,
        is_delta ? course->level[last] : between, seconds > 0 ? between / seconds : NAN);
}

static int put_nvtx_counters_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                   const struct nvt_making *making)
{
    struct nvt_counter_courses courses;
    double *scratch = malloc(((size_t)trace->counter_samples.count + 1) * sizeof(*scratch));
    int status = nvt_counter_courses(trace, &courses) || !scratch ? -1 : 0;
    (void)making;
    for (uint32_t i = 0; !status && i < courses.count; i++)
        if (courses.items[i].count)
            put_counter(table, trace, &courses.items[i], scratch);
    nvt_counter_courses_free(&courses);
    free(scratch);
    return status;
}

const struct nvt_report nvt_report_nvtx_counters = {
    .name = "nvtx_counters",
    .about = "NVTX counters: samples, minimum, maximum, average, change per second",
    .columns = {{"PID", NVT_SPARE_IDS},
                {"Domain", NVT_NAMES},
                {"Counter", NVT_NAMES},
                {"Unit", NVT_NAMES},
                {"Samples", NVT_COUNTS},
                {"First", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Last", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Min", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Avg", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Time Avg", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Max", NVT_REALS("", NVT_SIX_DIGITS)},
                {"StdDev", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Change", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Change/s", NVT_REALS("", NVT_SIX_DIGITS)}},
    .title = "NVTX counters",
    .nothing = "no samples of NVTX counters in the input",
    .each_trace = put_nvtx_counters_trace,
};
