/*
 * machine: the state of the machine beside the program, a row for each quantity that was sampled of the host and of each
 * device. Averages are over time; "At Work" is that of a device over the time in which the trace has operations of it.
 */
#include <math.h>

#include "../device/machine.h"
#include "report.h"

enum { OF, QUANTITY, UNIT, SAMPLES, MIN, AVG, AT_WORK, MAX };

static const struct nvt_column_spec columns[] = {
    [OF] = {"Of", "", NVT_TEXT, 0, 0},
    [QUANTITY] = {"Quantity", "", NVT_TEXT, 0, 0},
    [UNIT] = {"Unit", "", NVT_TEXT, 0, 0},
    [SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [MIN] = {"Min", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [AVG] = {"Time Avg", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [AT_WORK] = {"At Work", "", NVT_REAL, NVT_SIX_DIGITS, 0},
    [MAX] = {"Max", "", NVT_REAL, NVT_SIX_DIGITS, 0},
};

/* Of all processes that use the device, as each numbers it. */
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
static void put_of(struct nvt_table *table, size_t row, const struct nvt_trace *trace,
                   uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    const char *name = nvt_domain_name(trace, counters->domain[counter]);
    char of[300];
    snprintf(of, sizeof(of), "%.100s%s%.160s", name, counters->gpu[counter] ? " " : "",
             counters->gpu[counter] ? nvt_name(trace, counters->description[counter]) : "");
    nvt_table_set_name(table, row, OF, of);
}

static void put_counter(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_used_devices *devices,
                        const struct nvt_counter_courses *courses, uint32_t counter)
{
    const struct nvt_counter_course *course = &courses->items[counter];
    struct nvt_machine_sum all = {0, 0};
    double lowest, highest;
    size_t row = nvt_table_add_row(table);
    nvt_machine_add(courses, counter, course->time[0], course->time[course->count - 1], &all);
    nvt_course_bounds(course, 0, course->count, &lowest, &highest);
    put_of(table, row, trace, counter);
    nvt_table_set_name(table, row, QUANTITY, nvt_name(trace, trace->counters.name[counter]));
    nvt_table_set_name(table, row, UNIT, nvt_name(trace, trace->counters.unit[counter]));
    nvt_table_set_int(table, row, SAMPLES, course->count);
    nvt_table_set_real(table, row, MIN, lowest);
    nvt_table_set_real(table, row, AVG, nvt_machine_average(&all));
    nvt_table_set_real(table, row, AT_WORK, at_work(trace, devices, courses, counter));
    nvt_table_set_real(table, row, MAX, highest);
}

/* 0, or -1 with err. */
static int put_trace(struct nvt_table *table, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    struct nvt_used_devices devices = {0};
    int has = nvt_machine_courses(trace, &courses, err);
    int status = has < 0 || (has && nvt_used_gpus_make(&devices, trace, 0, err)) ? -1 : 0;
    for (uint32_t i = 0; !status && i < courses.count; i++)
        if (courses.items[i].count && trace->counters.is_of_machine[i])
            put_counter(table, trace, &devices, &courses, i);
    nvt_counter_courses_free(&courses);
    nvt_used_devices_free(&devices);
    return status;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t rows = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const char *absent = nvt_trace_meta(trace, "not sampled");
        struct nvt_table *table =
            nvt_report_trace_table(&nvt_report_machine, input, trace, "State of the machine", err);
        if (table && put_trace(table, trace, err)) {
            nvt_table_free(table);
            return -1;
        }
        rows += table ? nvt_table_rows(table) : 0;
        if (nvt_report_add(tables, table, err))
            return -1;
        if (absent)
            nvt_note(input, "note: not sampled: %s", absent);
    }
    if (!rows)
        nvt_note(input, "note: nothing was sampled of the machine: record --trace "
                        "nvtx,kernel,machine does it");
    return 0;
}

const struct nvt_report nvt_report_machine = {
    .name = "machine",
    .about = "the machine beside the program: clocks, power, heat, load (record --trace machine)",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
