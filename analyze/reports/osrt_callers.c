/*
 * osrt_callers: calls of the operating system's libraries by who makes them: the program, or a library of its. A megabyte is
 * 10^6 bytes. Where calls have stacks, a further table has them by the function of the program (callers.h).
 */
#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "report.h"
#include "../studies/callers.h"
#include "osrt.h"

/* Groups are of a caller and a name. */
struct moved {
    double read, written;
};

static int group_osrt_callers(struct nvt_groups *groups, const struct nvt_trace *trace,
                              const struct nvt_making *making)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    (void)making;
    for (uint32_t i = 0; i < calls->count; i++) {
        const uint32_t key[] = {nvt_groups_string(groups, calls->caller[i]),
                                nvt_groups_string(groups, calls->name[i]),
                                nvt_os_names_kind(&names, trace, calls->name[i])};
        uint32_t number = nvt_groups_key(groups, key, 3);
        struct moved *moved = nvt_groups_item(groups, number);
        uint64_t bytes;
        nvt_groups_add(groups, number, calls->end[i] - calls->start[i]);
        if (moved && nvt_os_has_read(&names, trace, i, &bytes))
            moved->read += (double)bytes;
        if (moved && nvt_os_has_written(&names, trace, i, &bytes))
            moved->written += (double)bytes;
    }
    nvt_os_names_free(&names);
    return 0;
}

static void put_osrt_callers_group(struct nvt_table *table, struct nvt_groups *groups,
                                   uint32_t number)
{
    const struct nvt_group *of = &groups->groups[number];
    const struct moved *moved = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    nvt_table_put(table, nvt_text_if_any(nvt_groups_part(groups, number, 0)),
                  nvt_groups_part(groups, number, 1), nvt_os_kind_name(of->key[2]), of->count,
                  of->total, &times, moved->read / NVT_MEGABYTE, moved->written / NVT_MEGABYTE);
}

/* --- by function -------------------------------------------------------------------------------- */

static void add_osrt_callers_calls(struct nvt_callers *callers, const struct nvt_trace *trace)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        nvt_callers_add(callers, calls->name[i], calls->frame[i], calls->end[i] - calls->start[i]);
}

static int group_functions(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_making *making)
{
    (void)making;
    return nvt_callers_group(groups, trace, add_osrt_callers_calls);
}

static const struct nvt_report functions = {
    .name = "osrt_caller_functions",
    .title = "OS calls by function of the program",
    .columns = {NVT_CALLERS_COLUMNS},
    .order = NVT_CALLERS_ORDER,
    .group = group_functions,
    .put_group = nvt_callers_put,
};

static const char *const further[] = {"osrt_caller_functions", NULL};

static int make_osrt_callers(const struct nvt_report *report, struct nvt_input *input,
                             struct nvt_tables *tables, struct nvt_error *err)
{
    if (nvt_report_make_tables(report, input, tables, err))
        return -1;
    return nvt_input_has_os_stacks(input) ? nvt_report_make_tables(&functions, input, tables, err)
                                          : 0;
}

const struct nvt_report nvt_report_osrt_callers = {
    .name = "osrt_callers",
    .about = "OS calls by the library or program that makes them, and by function where stacks "
             "were recorded",
    .columns = {{"Caller", NVT_NAMES},
                {"Call", NVT_NAMES},
                {"Kind", NVT_NAMES},
                NVT_CALLS_COLUMNS,
                {"Read (MB)", NVT_MB},
                {"Written (MB)", NVT_MB}},
    .title = "OS calls by caller",
    .order = {"-Total Time (ns)", "Call"},
    NVT_OS_CALLS_MISSING,
    .group = group_osrt_callers,
    .put_group = put_osrt_callers_group,
    .group_size = sizeof(struct moved),
    .make = make_osrt_callers,
    .further = further,
};
