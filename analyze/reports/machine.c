/*
 * machine: the state of the machine beside the program, a row for each quantity that was sampled of the host and of each
 * device. Averages are over time; "At Work" is that of a device over the time in which the trace has operations of it.
 */
#include <math.h>

#include "../device/machine_load.h"
#include "report.h"

/* The counter's average while a device worked, for all processes that use it, as each numbers it. */
static double at_work(const struct nvt_trace *trace, const struct nvt_used_devices *devices,
                      const struct nvt_counter_courses *courses, uint32_t counter)
{
    struct nvt_machine_sum sum = {0, 0};
    uint32_t gpu = trace->counters.gpu[counter];
    for (uint32_t i = 0; gpu && i < devices->count; i++) {
        const struct nvt_used_device *device = &devices->items[i];
        if (nvt_device_gpu(trace, device->process, device->device) == gpu)
            nvt_machine_add_work(trace, device, courses, counter, INT64_MIN / 2, INT64_MAX / 2,
                                 &sum);
    }
    return nvt_machine_average(&sum);
}

/* "GPU 0 NVIDIA H100", "host". */
static void name_of(const struct nvt_trace *trace, uint32_t counter, char *out, size_t size)
{
    const struct nvt_counters *counters = &trace->counters;
    snprintf(out, size, "%.100s%s%.160s", nvt_domain_name(trace, counters->domain[counter]),
             counters->gpu[counter] ? " " : "",
             counters->gpu[counter] ? nvt_name(trace, counters->description[counter]) : "");
}

static void put_counter(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_used_devices *devices,
                        const struct nvt_counter_courses *courses, uint32_t counter)
{
    const struct nvt_counter_course *course = &courses->items[counter];
    struct nvt_machine_sum all = {0, 0};
    double lowest, highest;
    char of[300];
    nvt_machine_add(courses, counter, course->time[0], course->time[course->count - 1], &all);
    nvt_course_bounds(course, 0, course->count, &lowest, &highest);
    name_of(trace, counter, of, sizeof(of));
    nvt_table_put(
        table, nvt_text_if_any(of), nvt_text_if_any(nvt_name(trace, trace->counters.name[counter])),
        nvt_text_if_any(nvt_name(trace, trace->counters.unit[counter])), course->count, lowest,
        nvt_machine_average(&all), at_work(trace, devices, courses, counter), highest);
}

static int put_machine_trace(struct nvt_table *table, const struct nvt_trace *trace,
                             const struct nvt_making *making)
{
    struct nvt_counter_courses courses;
    struct nvt_used_devices devices = {0};
    int has = nvt_machine_courses(trace, &courses, making->err);
    int status = has < 0 || (has && nvt_used_gpus_make(&devices, trace, 0, making->err)) ? -1 : 0;
    for (uint32_t i = 0; !status && i < courses.count; i++)
        if (courses.items[i].count && trace->counters.is_of_machine[i])
            put_counter(table, trace, &devices, &courses, i);
    const char *absent = nvt_trace_meta(trace, "not sampled");
    if (!status && absent)
        nvt_note(making->input, "note: not sampled: %s", absent);
    nvt_counter_courses_free(&courses);
    nvt_used_devices_free(&devices);
    return status;
}

const struct nvt_report nvt_report_machine = {
    .name = "machine",
    .about = "state of the machine: clocks, power, heat, load (record --trace machine)",
    .columns = {{"Of", NVT_NAMES},
                {"Quantity", NVT_NAMES},
                {"Unit", NVT_NAMES},
                {"Samples", NVT_COUNTS},
                {"Min", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Time Avg", NVT_REALS("", NVT_SIX_DIGITS)},
                {"At Work", NVT_REALS("", NVT_SIX_DIGITS)},
                {"Max", NVT_REALS("", NVT_SIX_DIGITS)}},
    .title = "State of the machine",
    .nothing = "no samples of the machine in the input (record --trace nvtx,kernel,machine)",
    .each_trace = put_machine_trace,
};
