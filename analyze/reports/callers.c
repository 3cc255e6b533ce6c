#include "callers.h"

#include <stdio.h>

#include "../../lib/text.h"
#include "../studies/hot_functions.h"
#include "report.h"

/* From now on calls are of this trace. 0, or -1 with err filled. */
static int begin_trace(struct nvt_callers *callers, const struct nvt_trace *trace,
                       struct nvt_error *err)
{
    nvt_call_sites_free(&callers->sites);
    nvt_groups_trace(&callers->groups, trace);
    return nvt_call_sites_make(&callers->sites, trace)
               ? nvt_fail_at(err, trace->path, -1, "out of memory")
               : 0;
}

/* A library's, or of no stack. */
static void key_without_function(struct nvt_callers *callers, uint32_t frame, uint32_t *key)
{
    const struct nvt_trace *trace = callers->sites.trace;
    char text[256] = "";
    const char *module = "";
    if (frame) {
        uint32_t row = nvt_calling_library(&callers->sites, frame);
        module = nvt_file_name(nvt_name(trace, trace->call_frames.module[row]));
        snprintf(text, sizeof(text), *module == '[' ? "%.250s" : "[%.250s]",
                 *module ? module : "unknown");
    }
    key[NVT_CALLERS_FUNCTION] = nvt_groups_text(&callers->groups, text);
    key[NVT_CALLERS_MODULE] = nvt_groups_text(&callers->groups, module);
}

void nvt_callers_add(struct nvt_callers *callers, uint32_t name, uint32_t frame, int64_t ns)
{
    const struct nvt_trace *trace = callers->sites.trace;
    const struct nvt_call_frames *frames = &trace->call_frames;
    uint32_t site = nvt_call_site(&callers->sites, frame);
    char text[NVT_FRAME_NAME_MAX];
    uint32_t key[3] = {[NVT_CALLERS_CALL] = nvt_groups_string(&callers->groups, name)};
    if (site) {
        const char *module = nvt_file_name(nvt_name(trace, frames->module[site - 1]));
        key[NVT_CALLERS_FUNCTION] =
            nvt_groups_text(&callers->groups, nvt_frame_name(trace, site - 1, text));
        key[NVT_CALLERS_MODULE] =
            nvt_groups_text(&callers->groups, *module ? module : NVT_PYTHON_MODULE);
    } else
        key_without_function(callers, frame, key);
    nvt_groups_add(&callers->groups, nvt_groups_key(&callers->groups, key, 3), ns);
}

/* 0, or -1 with err filled: out of memory, now or before. */
static int put(struct nvt_table *table, struct nvt_callers *callers, struct nvt_error *err)
{
    struct nvt_groups *groups = &callers->groups;
    if (nvt_groups_finish(groups, err))
        return -1;
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_group *group = &groups->groups[i];
        struct nvt_summary summary = nvt_groups_summary(groups, i);
        size_t row = nvt_table_add_row(table);
        for (size_t part = 0; part < NVT_CALLERS_CALLS; part++)
            nvt_table_set_name(table, row, part, nvt_groups_name(groups, group->key[part]));
        nvt_table_set_int(table, row, NVT_CALLERS_CALLS, (int64_t)group->count);
        nvt_table_set_int(table, row, NVT_CALLERS_CALLS + 1, group->total);
        nvt_put_summary(table, row, NVT_CALLERS_CALLS + 2, &summary, 1);
    }
    nvt_table_sort(table, NVT_CALLERS_CALL, 0);
    nvt_table_sort(table, NVT_CALLERS_FUNCTION, 0);
    nvt_table_sort(table, NVT_CALLERS_CALLS + 1, 1);
    return 0;
}

int nvt_callers_make(const struct nvt_report *report, const char *title,
                     void (*add)(struct nvt_callers *callers, const struct nvt_trace *trace),
                     struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_callers callers = {.sites = {.trace = NULL}};
    struct nvt_table *table = nvt_report_table(report, input, title, err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        status = begin_trace(&callers, input->traces[i].trace, err);
        if (!status)
            add(&callers, input->traces[i].trace);
    }
    if (!status)
        status = put(table, &callers, err);
    nvt_call_sites_free(&callers.sites);
    nvt_groups_free(&callers.groups);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_report_add(tables, table, err);
}
