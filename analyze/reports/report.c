#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../device/launch_cache.h"
#include "../device/project.h"
#include "../input/costs.h"
#include "../input/device_words.h"
#include "../model/counters.h"
#include "../studies/phases.h"

#define NVT_REPORT_LINE(name) &nvt_report_##name,
static const struct nvt_report *const reports[] = {NVT_REPORTS(NVT_REPORT_LINE)};
#undef NVT_REPORT_LINE

const struct nvt_report *const *nvt_reports(size_t *count)
{
    *count = NVT_COUNT_OF(reports);
    return reports;
}

const struct nvt_report *nvt_report_find(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(reports); i++)
        if (!strcmp(reports[i]->name, name))
            return reports[i];
    return NULL;
}

/* The study that a workload belongs to; others have their phases. */
static const struct {
    const char *workload;
    const struct nvt_report *report;
} studies[] = {
    {"linear", &nvt_report_fragments},      {"fragmented", &nvt_report_fragments},
    {"gpipe", &nvt_report_gpipe},           {"accumulate", &nvt_report_accumulate},
    {"switchback", &nvt_report_switchback},
};

/* NULL: it has none of its own. */
static const struct nvt_report *study_of_workload(const char *workload)
{
    for (size_t k = 0; workload && k < NVT_COUNT_OF(studies); k++)
        if (!strcmp(workload, studies[k].workload))
            return studies[k].report;
    return NULL;
}

/* What comes first says it: a published document may have something of another behind. */
static const struct nvt_report *study_of(const struct nvt_runs *runs)
{
    return runs->count ? study_of_workload(nvt_record_text(&runs->records[0], "workload")) : NULL;
}

/* Of traces: their ranges, or else what the device did, or else the calls, or else the marks, or else the system's, or
 * else what was sampled of the machine. */
static const struct nvt_report *report_of_traces(const struct nvt_input *input)
{
    uint64_t ranges = 0, ops = 0, calls = 0, marks = 0, os_calls = 0, mpi = 0, machine = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        ranges += input->traces[i].trace->ranges.count;
        ops += input->traces[i].trace->ops.count;
        calls += input->traces[i].trace->apis.count;
        marks += input->traces[i].trace->marks.count;
        os_calls += input->traces[i].trace->os_calls.count;
        mpi += input->traces[i].trace->mpi_calls.count;
        machine += (uint64_t)nvt_has_machine_samples(input->traces[i].trace);
    }
    if (!ranges && !ops && !calls && mpi)
        return nvt_report_find("mpi_event_sum");
    if (!ranges && !ops && !calls && marks)
        return nvt_report_find("nvtx_marks");
    if (!ranges && !ops && !calls && os_calls)
        return nvt_report_find("osrt_sum");
    if (!ranges && !ops && !calls && machine)
        return &nvt_report_machine;
    if (ranges || (!ops && !calls))
        return &nvt_report_nvtx_sum;
    return nvt_report_find(ops ? "cuda_gpu_sum" : "cuda_api_sum");
}

/* Whether there are phases; of programs that only name what they were run with there may be none. */
static int has_phases(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (!input->traces[i].is_by_name)
            return 1;
    struct nvt_phases *phases = input->trace_count ? nvt_phases_of(input, NULL) : NULL;
    int any = !input->trace_count || (phases && nvt_phases_count(phases));
    nvt_phases_free(phases);
    return any;
}

const struct nvt_report *nvt_report_default(const struct nvt_input *input)
{
    size_t records = 0;
    for (size_t i = 0; i < input->run_count; i++) {
        const struct nvt_report *report = study_of(input->runs[i]);
        if (report)
            return report;
        records += input->runs[i]->count;
    }
    return (records && has_phases(input)) || !input->trace_count ? &nvt_report_phases
                                                                 : report_of_traces(input);
}

/* Append a word unless it is there already; whole words only. */
static void add_word(char *list, size_t size, const char *separator, const char *word)
{
    const size_t length = strlen(word), used = strlen(list);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || strchr(", ", at[-1])) && (!at[length] || at[length] == ','))
            return;
    if (used + strlen(separator) + length < size)
        snprintf(list + used, size - used, "%s%s", used ? separator : "", word);
}

void nvt_report_note_left_out(struct nvt_input *input, const struct nvt_report *shown)
{
    char workloads[200] = "", with[200] = "";
    const int phases = has_phases(input);
    add_word(with, sizeof(with), ",", shown->name);
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const char *workload = nvt_record_text(&input->runs[i]->records[k], "workload");
            const struct nvt_report *study = study_of_workload(workload);
            study = study ? study : &nvt_report_phases;
            if (!workload || study == shown || (study == &nvt_report_phases && !phases))
                continue;
            add_word(workloads, sizeof(workloads), ", ", workload);
            add_word(with, sizeof(with), ",", study->name);
        }
    size_t alone = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        alone += !input->traces[i].runs;
    if (alone && input->run_count && shown != &nvt_report_nvtx_sum)
        nvt_note(input,
                 "note: this is the report %s, of what nvtally run wrote; for the %zu other "
                 "trace%s, use -r nvtx_sum",
                 shown->name, alone, alone == 1 ? "" : "s");
    if (*workloads)
        nvt_note(input,
                 "note: this is the report %s; for %s there is another: -r %s prints them all",
                 shown->name, workloads, with);
}

/* Whether any of the reports has a need; by its own flags, not by those that were asked for. */
static int any_needs(const struct nvt_report *const *shown, size_t count, unsigned need)
{
    for (size_t i = 0; i < count; i++)
        if (shown[i]->needs & need)
            return 1;
    return 0;
}

int nvt_report_note_lent(struct nvt_input *input, const struct nvt_report *const *shown,
                         size_t count, struct nvt_error *err)
{
    const unsigned flags = input->project_flags;
    const int are_nsys = !flags && any_needs(shown, count, NVT_PROJECTS_AS_NSYS);
    const int are_ours =
        any_needs(shown, count, flags ? NVT_PROJECTS | NVT_PROJECTS_AS_NSYS : NVT_PROJECTS);
    struct nvt_lent lent = {0, NVT_NONE};
    size_t i = 0;
    if (flags & (NVT_BY_THREAD | NVT_ACROSS_THREADS) || !(are_nsys || are_ours))
        return 0;
    for (; i < input->trace_count && !lent.ops; i++)
        if (input->traces[i].trace->ops.count &&
            nvt_project_lent(input->traces[i].trace, &lent, err))
            return -1;
    if (!lent.ops)
        return 0;
    const struct nvt_trace *trace = input->traces[i - 1].trace;
    const char *name = nvt_name(trace, trace->ranges.name[lent.range]);
    if (are_ours)
        nvt_note(input,
                 "note: GPU work that another thread launched counts for the range that waited "
                 "for it, such as %.100s (--by-thread: not)",
                 name);
    if (are_nsys)
        nvt_note(input,
                 "note: by nsys's definition, GPU work that another thread launched counts for no "
                 "range, such as %.100s, which waited for it (--across-threads: it does)",
                 name);
    return 0;
}

struct nvt_table *nvt_report_table(const struct nvt_report *report, const struct nvt_input *input,
                                   const char *title, struct nvt_error *err)
{
    char full[1024], words[900];
    nvt_device_title(input, title, words, sizeof(words));
    nvt_costs_title(input, words, full, sizeof(full));
    struct nvt_table *table = nvt_table_new(report->name, full, report->columns, NVT_COLUMNS_MOST);
    if (!table) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    struct nvt_provenance provenance = nvt_input_provenance(input);
    nvt_table_set_provenance(table, &provenance);
    return table;
}

/* A new table of one trace, with its own provenance; where there are several the title names it: "TITLE of PATH". */
static struct nvt_table *trace_table(const struct nvt_report *report, const struct nvt_input *input,
                                     const struct nvt_trace *trace, const char *title,
                                     struct nvt_error *err)
{
    char full[600];
    snprintf(full, sizeof(full), input->trace_count > 1 ? "%s of %.500s" : "%s", title,
             trace->path);
    struct nvt_table *table = nvt_report_table(report, input, full, err);
    for (size_t i = 0; i < input->trace_count && table; i++)
        if (input->traces[i].trace == trace) {
            struct nvt_provenance provenance = nvt_input_trace_provenance(&input->traces[i]);
            nvt_table_set_provenance(table, &provenance);
        }
    return table;
}

int nvt_report_add(struct nvt_tables *tables, struct nvt_table *table, struct nvt_error *err)
{
    if (!table)
        return err && *err->message ? -1 : nvt_fail(err, "out of memory");
    if (nvt_table_failed(table, err)) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_tables_add(tables, table) ? nvt_fail(err, "out of memory") : 0;
}

/* Order a table that was filled, and add it; or free it where that had failed. 0, or -1 with err filled. */
static int finish(struct nvt_table *table, const char *const *order, int is_optional, int status,
                  struct nvt_tables *tables, struct nvt_error *err)
{
    if (status || (is_optional && !nvt_table_rows(table) && !nvt_table_failed(table, NULL))) {
        nvt_table_free(table);
        return status;
    }
    nvt_table_order(table, order);
    return nvt_report_add(tables, table, err);
}

/* -1 for what failed, and said why or had no memory. */
static int failed(int status, const char *path, struct nvt_error *err)
{
    if (status && !*err->message)
        (void)(path ? nvt_fail_at(err, path, -1, "out of memory") : nvt_fail(err, "out of memory"));
    return status ? -1 : 0;
}

int nvt_report_make_each(const struct nvt_report *report, struct nvt_input *input,
                         struct nvt_tables *tables, struct nvt_error *err)
{
    const int several = input->trace_count > 1 || input->run_count;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (several && report->has && !report->has(trace))
            continue;
        struct nvt_table *table = trace_table(report, input, trace, report->title, err);
        const struct nvt_making making = {report, input, &input->traces[i], &table, err};
        status = failed(table ? report->each_trace(table, trace, &making) : -1, trace->path, err);
        status = finish(table, report->order, 0, status, tables, err);
    }
    return status;
}

static int put_devices(const struct nvt_trace *trace, const struct nvt_making *making)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, making->err);
    for (uint32_t i = 0; i < devices.count && !status; i++)
        status = making->report->each_device(making->tables[0], trace, &devices.items[i], making);
    nvt_used_devices_free(&devices);
    return status;
}

/* What a report takes of a trace: rows of the table, or values of the groups. */
static int take_trace(struct nvt_groups *groups, const struct nvt_making *making)
{
    const struct nvt_trace *trace = making->from->trace;
    int status = 0;
    if (making->report->over_traces)
        status = making->report->over_traces(making->tables[0], trace, making);
    if (making->report->each_device)
        status = put_devices(trace, making);
    if (making->report->group) {
        nvt_groups_trace(groups, trace);
        status = making->report->group(groups, trace, making);
    }
    return failed(status, trace->path, making->err);
}

static int fill_report(struct nvt_making *making)
{
    const struct nvt_report *report = making->report;
    struct nvt_groups groups = {.item_size = report->group_size};
    int status = report->of_input
                     ? failed(report->of_input(making->tables[0], making), NULL, making->err)
                     : 0;
    for (size_t i = 0; i < making->input->trace_count && !report->of_input && !status; i++) {
        making->from = &making->input->traces[i];
        status = take_trace(&groups, making);
    }
    making->from = NULL;
    if (report->group && !status)
        status = nvt_groups_finish(&groups, making->err);
    for (uint32_t i = 0; i < groups.count && !status; i++)
        report->put_group(making->tables[0], &groups, i);
    nvt_groups_free(&groups);
    return status;
}

void nvt_making_title(const struct nvt_making *making, const char *title)
{
    char full[1024];
    nvt_costs_title(making->input, title, full, sizeof(full));
    nvt_table_set_title(making->tables[0], full);
}

void nvt_making_leave_out(const struct nvt_making *making, size_t table)
{
    nvt_table_free(making->tables[table]);
    making->tables[table] = NULL;
}

/* An empty table that a report has beside its first. NULL with err filled. */
static struct nvt_table *further_table(const struct nvt_input *input, const struct nvt_table *first,
                                       const struct nvt_table_kind *kind, struct nvt_error *err)
{
    char words[900];
    nvt_device_title(input, kind->title, words, sizeof(words));
    struct nvt_table *table = nvt_table_new(kind->name ? kind->name : nvt_table_name(first), words,
                                            kind->columns, NVT_COLUMNS_MOST);
    if (table)
        nvt_table_set_provenance(table, nvt_table_provenance(first));
    else
        nvt_fail(err, "out of memory");
    return table;
}

int nvt_report_make_tables(const struct nvt_report *report, struct nvt_input *input,
                           struct nvt_tables *tables, struct nvt_error *err)
{
    const struct nvt_table_kind *more = report->more;
    struct nvt_table *made[NVT_REPORT_TABLES_MOST] = {
        nvt_report_table(report, input, report->title, err)};
    struct nvt_making making = {report, input, NULL, made, err};
    size_t count = 1;
    for (; made[count - 1] && more && more[count - 1].title && count < NVT_REPORT_TABLES_MOST;
         count++)
        made[count] = further_table(input, made[0], &more[count - 1], err);
    int status = made[count - 1] ? fill_report(&making) : -1;
    for (size_t i = 0; i < count; i++)
        if (made[i])
            status = finish(made[i], i ? more[i - 1].order : report->order,
                            i ? more[i - 1].is_optional : 0, status, tables, err);
    return status;
}

int nvt_report_make(const struct nvt_report *report, struct nvt_input *input,
                    struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_error unwanted = NVT_ERROR_INIT;
    size_t before = tables->count, rows = 0;
    err = err ? err : &unwanted;
    *err = (struct nvt_error)NVT_ERROR_INIT;
    struct nvt_launch_cache *own = NULL;
    if (report->needs & NVT_TAKES_LAUNCHES && !input->launches) {
        own = input->launches = nvt_launch_cache_new(input);
        if (!own)
            return nvt_fail(err, "out of memory");
    }
    int status = report->make         ? report->make(report, input, tables, err)
                 : report->each_trace ? nvt_report_make_each(report, input, tables, err)
                                      : nvt_report_make_tables(report, input, tables, err);
    if (own)
        input->launches = NULL;
    nvt_launch_cache_free(own);
    for (size_t i = before; i < tables->count; i++)
        rows += nvt_table_rows(tables->items[i]);
    const int is_missing = report->missing && !report->is_in(input);
    const char *note = is_missing ? report->missing : rows ? NULL : report->nothing;
    if (!status && note)
        nvt_note(input, "note: %s", note);
    return status;
}
