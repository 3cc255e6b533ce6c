/*
 * osrt_callers: calls of the operating system's libraries by who makes them: the program, or a library of its. A megabyte is
 * 10^6 bytes. Where calls have stacks, a further table has them by the function of the program (callers.h).
 */
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "report.h"
#include "callers.h"
#include "osrt.h"

#define MEGABYTE 1e6

enum { CALLER, CALL, KIND, CALLS, TOTAL, AVG, READ = AVG + 5, WRITTEN };

static const struct nvt_column_spec columns[] = {
    [CALLER] = {"Caller", "", NVT_TEXT, 0, 0},
    [CALL] = {"Call", "", NVT_TEXT, 0, 0},
    [KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    NVT_CALLS_COLUMNS,
    [READ] = {"Read (MB)", "MB", NVT_REAL, 3, 0},
    [WRITTEN] = {"Written (MB)", "MB", NVT_REAL, 3, 0},
};

/* Groups are of a caller and a name. */
struct callers {
    struct nvt_groups groups;
    struct moved {
        enum nvt_os_kind kind;
        double read, written;
    } * moved; /* of each */
    uint32_t count;
};

static int add_call(struct callers *callers, struct nvt_os_names *names,
                    const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    const uint32_t key[] = {nvt_groups_string(&callers->groups, calls->caller[call]),
                            nvt_groups_string(&callers->groups, calls->name[call])};
    uint32_t group = nvt_groups_key(&callers->groups, key, 2);
    uint64_t bytes;
    if (group == NVT_NONE)
        return -1;
    if (group == callers->count) {
        if (nvt_grow(&callers->moved, callers->count, sizeof(*callers->moved)))
            return -1;
        callers->moved[callers->count++] =
            (struct moved){.kind = nvt_os_names_kind(names, trace, calls->name[call])};
    }
    nvt_groups_add(&callers->groups, group, calls->end[call] - calls->start[call]);
    if (nvt_os_has_read(names, trace, call, &bytes))
        callers->moved[group].read += (double)bytes;
    if (nvt_os_has_written(names, trace, call, &bytes))
        callers->moved[group].written += (double)bytes;
    return 0;
}

static int add_trace(struct callers *callers, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_os_names names = {{0}};
    int status = 0;
    nvt_groups_trace(&callers->groups, trace);
    for (uint32_t i = 0; i < trace->os_calls.count && !status; i++)
        status = add_call(callers, &names, trace, i);
    nvt_os_names_free(&names);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

static void put(struct nvt_table *table, struct callers *callers)
{
    for (uint32_t i = 0; i < callers->groups.count; i++) {
        const struct nvt_group *group = &callers->groups.groups[i];
        const struct moved *moved = &callers->moved[i];
        struct nvt_summary summary = nvt_groups_summary(&callers->groups, i);
        size_t row = nvt_table_add_row(table);
        nvt_table_set_name(table, row, CALLER, nvt_groups_name(&callers->groups, group->key[0]));
        nvt_table_set_text(table, row, CALL, nvt_groups_name(&callers->groups, group->key[1]));
        nvt_table_set_text(table, row, KIND, nvt_os_kind_name(moved->kind));
        nvt_table_set_int(table, row, CALLS, (int64_t)group->count);
        nvt_table_set_int(table, row, TOTAL, group->total);
        nvt_put_summary(table, row, AVG, &summary, 1);
        nvt_table_set_real(table, row, READ, moved->read / MEGABYTE);
        nvt_table_set_real(table, row, WRITTEN, moved->written / MEGABYTE);
    }
    nvt_table_sort(table, CALL, 0);
    nvt_table_sort(table, TOTAL, 1);
}

/* --- by function -------------------------------------------------------------------------------- */

static const struct nvt_column_spec function_columns[] = {NVT_CALLERS_COLUMNS};
static const char *const further[] = {"osrt_caller_functions", NULL};

static void add_calls(struct nvt_callers *callers, const struct nvt_trace *trace)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        nvt_callers_add(callers, calls->name[i], calls->frame[i], calls->end[i] - calls->start[i]);
}

static int make_functions(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_report report = nvt_report_osrt_callers;
    report.name = further[0];
    report.columns = function_columns;
    report.column_count = sizeof(function_columns) / sizeof(function_columns[0]);
    return nvt_callers_make(&report, "OS runtime calls by function of the program", add_calls,
                            input, tables, err);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct callers callers = {.count = 0};
    struct nvt_table *table =
        nvt_report_table(&nvt_report_osrt_callers, input, "OS runtime calls by caller", err);
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&callers, input->traces[i].trace, err);
    if (!status)
        status = nvt_groups_finish(&callers.groups, err);
    if (!status)
        put(table, &callers);
    nvt_groups_free(&callers.groups);
    free(callers.moved);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    if (nvt_report_add(tables, table, err))
        return -1;
    return nvt_input_has_os_stacks(input) ? make_functions(input, tables, err) : 0;
}

const struct nvt_report nvt_report_osrt_callers = {
    .name = "osrt_callers",
    .about = "calls of the operating system by the library or program that makes them, and where "
             "stacks tell by the function",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .further = further,
};
