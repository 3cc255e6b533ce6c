/*
 * critical_path: what the time of a program waited for, moment by moment (studies/path_sums.h). The first table has a row a
 * process: its path, and the share of each kind; and another one of the second half of its iterations (ranges `iteration`
 * or `ProfilerStep#…`), which the other tables are about where there are any. The second says what is on the path: of kernels, copies and calls also
 * how much time they took in all, and how much of it is hidden: beside the path, so that nothing is won by making it
 * shorter; and the host by the innermost range that it was in. The third has the same by range: of what was launched in it, and of the host's time in it.
 * Where there are samples, the fourth has the functions that the host ran on it: CPU time, in samples of the
 * thread that is followed, so that of what is waited for there nothing is seen.
 *
 * critical_path_trace: the path step by step.
 */
#include <stdio.h>

#include "../../lib/clock.h"
#include "../device/devices.h"
#include "../studies/path_sums.h"
#include "report.h"

/* Of the tables. */
enum { PROCESSES, NAMES, RANGES, CODE };

#define CODE_TITLE "Host code on the critical path"

static void note_blind(struct nvt_input *input, const struct nvt_trace *trace, int is_blind)
{
    if (is_blind)
        nvt_note(input,
                 "note: %s has no CUDA calls other than launches: it is unknown what the host "
                 "waited for, so there is no critical path%s",
                 trace->path,
                 trace->recorder == NVT_BY_NVTALLY ? " (record --trace kernel,api,sync)" : "");
}

static void put_part(struct nvt_table *table, const struct nvt_path_part *part)
{
    char text[64] = "whole";
    if (part->iterations)
        snprintf(text, sizeof(text), "last %u iteration%s", part->iterations,
                 part->iterations > 1 ? "s" : "");
    nvt_table_put(table, part->trace->processes.pid[part->process], text, part->all);
    for (size_t k = 0; k < NVT_PATH_KINDS; k++)
        nvt_table_more(table, nvt_percent(part->kinds[k], part->all));
    if (!part->iterations)
        nvt_table_more(table, part->inferred, part->handovers);
}

/* `all`: what there is of it in all, NULL where that is not known. */
static void put_name(struct nvt_table *table, const struct nvt_path_sums *sums, uint32_t kind,
                     const char *name, const struct nvt_group *on_path, const struct nvt_group *all)
{
    nvt_table_put(table, nvt_percent(on_path->total, sums->path_ns), on_path->total, on_path->count,
                  NVT_IF(all, all->total),
                  NVT_IF(all, 100 * (1 - (double)on_path->total / (double)all->total)),
                  nvt_path_kind_name(kind), nvt_text_if_any(name));
}

/* Kernels, copies and calls, whether they are on the path or not; then what only a path has. */
static void put_names(struct nvt_table *table, struct nvt_path_sums *sums)
{
    for (uint32_t i = 0; i < sums->all.count; i++) {
        const struct nvt_group *all = &sums->all.groups[i];
        const struct nvt_group *on_path = nvt_path_sums_of(sums, all);
        if (on_path)
            put_name(table, sums, all->key[0], nvt_groups_part(&sums->all, i, 1), on_path, all);
    }
    for (uint32_t i = 0; i < sums->on_path.count; i++) {
        const struct nvt_group *on_path = &sums->on_path.groups[i];
        if (!nvt_path_has_total(on_path->key[0]))
            put_name(table, sums, on_path->key[0], nvt_groups_part(&sums->on_path, i, 1), on_path,
                     NULL);
    }
}

static void put_ranges(struct nvt_table *table, const struct nvt_path_sums *sums)
{
    for (uint32_t i = 0; i < sums->ranges.count; i++) {
        const struct nvt_path_range *range = nvt_groups_item(&sums->ranges, i);
        const int64_t *sides = range->sides, all = sides[0] + sides[1] + sides[2];
        nvt_table_put(table, nvt_percent(all, sums->path_ns), all, sides[0], sides[1], sides[2],
                      nvt_text_if_any(nvt_groups_part(&sums->ranges, i, 0)));
    }
}

static void put_code(struct nvt_table *table, const struct nvt_path_sums *sums)
{
    for (uint32_t i = 0; i < sums->code.count; i++) {
        const struct nvt_pair *pair = &sums->code.items[i];
        nvt_table_put(table, nvt_percent(pair->weight, sums->code_weight),
                      nvt_cpu_time(&sums->cpu, pair->weight), pair->count,
                      nvt_text_if_any(nvt_groups_part(&sums->functions, pair->part, 0)),
                      nvt_text_if_any(nvt_groups_part(&sums->functions, pair->part, 1)));
    }
}

static void put_titles(const struct nvt_making *making, const struct nvt_path_sums *sums)
{
    const char *end = sums->has_iterations ? ", in these iterations" : "";
    const char *paths = sums->processes > 1 ? "Critical paths" : "Critical path",
               *added = sums->processes > 1 ? ", added up" : "";
    char title[160];
    snprintf(title, sizeof(title), "%s by operation%s%s", paths, added, end);
    nvt_table_set_title(making->tables[NAMES], title);
    snprintf(title, sizeof(title), "%s by range%s%s", paths, added, end);
    nvt_table_set_title(making->tables[RANGES], title);
    snprintf(title, sizeof(title), CODE_TITLE "%s (%llu sample%s)", end,
             (unsigned long long)sums->samples, sums->samples == 1 ? "" : "s");
    nvt_table_set_title(making->tables[CODE], title);
}

static void put_sums(const struct nvt_making *making, struct nvt_path_sums *sums)
{
    put_titles(making, sums);
    for (uint32_t i = 0; i < sums->part_count; i++)
        put_part(making->tables[PROCESSES], &sums->parts[i]);
    if (sums->path_ns > 0) {
        put_names(making->tables[NAMES], sums);
        put_ranges(making->tables[RANGES], sums);
    } else {
        nvt_making_leave_out(making, NAMES);
        nvt_making_leave_out(making, RANGES);
    }
    if (sums->samples)
        put_code(making->tables[CODE], sums);
    else
        nvt_making_leave_out(making, CODE);
}

static int put_critical_path(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    struct nvt_path_sums sums = nvt_path_sums_init(input);
    int status = 0, is_blind = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        status = nvt_path_sums_add(&sums, trace, nvt_input_projection(input), making->err);
        note_blind(input, trace, sums.is_blind);
        is_blind |= sums.is_blind;
    }
    if (!status)
        status = nvt_path_sums_finish(&sums, making->err);
    if (!status)
        put_sums(making, &sums);
    if (!status && !nvt_table_rows(table) && !is_blind)
        nvt_note(input, "note: no device operations in the input");
    if (sums.inferred)
        nvt_note(input,
                 "note: %llu steps from one stream to another are inferred from their times: the "
                 "event that was waited for was not recorded",
                 (unsigned long long)sums.inferred);
    nvt_path_sums_free(&sums);
    return status;
}

static const struct nvt_table_kind more[] = {
    [NAMES - 1] = {.title = "Critical path by operation",
                   .columns = {{"Path (%)", NVT_PERCENT},
                               {"On Path (ns)", NVT_NS},
                               {"Steps", NVT_COUNTS},
                               {"Total Time (ns)", NVT_NS},
                               {"Hidden (%)", NVT_PERCENT},
                               {"Kind", NVT_NAME_KINDS},
                               {"Name", NVT_KERNELS}},
                   .order = {"-On Path (ns)", "-Total Time (ns)"}},
    [RANGES - 1] = {.title = "Critical path by range",
                    .columns = {{"Path (%)", NVT_PERCENT},
                                {"On Path (ns)", NVT_NS},
                                {"Device (ns)", NVT_NS},
                                {"Between (ns)", NVT_NS},
                                {"Host (ns)", NVT_NS},
                                {"Range", NVT_RANGES}},
                    .order = {"-On Path (ns)"}},
    [CODE - 1] = {.title = CODE_TITLE,
                  .columns = {{"Of Host Code (%)", NVT_PERCENT},
                              {"CPU Time (ns)", NVT_NS},
                              {"Samples", NVT_COUNTS},
                              {"Function", NVT_NAMES},
                              {"Module", NVT_NAMES}},
                  .order = {"-Of Host Code (%)", "Function"}},
    {.title = NULL},
};

const struct nvt_report nvt_report_critical_path = {
    .name = "critical_path",
    .about = "kernels, copies, calls and host code that decide how long the program takes",
    .needs = NVT_PROJECTS,
    .columns = {{"PID", NVT_SPARE_IDS},
                {"Part", NVT_NAMES},
                {"Path (ns)", NVT_NS},
                {"Compute (%)", NVT_PERCENT},
                {"Communication (%)", NVT_PERCENT},
                {"Copy (%)", NVT_PERCENT},
                {"Gap (%)", NVT_PERCENT},
                {"Stall (%)", NVT_PERCENT},
                {"Launch (%)", NVT_PERCENT},
                {"CUDA Call (%)", NVT_PERCENT},
                {"Wake-up (%)", NVT_PERCENT},
                {"OS Call (%)", NVT_PERCENT},
                {"Host (%)", NVT_PERCENT},
                {"Inferred", NVT_COUNTS},
                {"Handed Over", NVT_COUNTS}},
    .title = "Critical path",
    .of_input = put_critical_path,
    .more = more,
};

/* --- step by step ------------------------------------------------------------------------------------ */

static void put_segment(struct nvt_table *table, const struct nvt_trace *trace, uint32_t process,
                        const struct nvt_path_segment *segment)
{
    const struct nvt_ops *ops = &trace->ops;
    const int is_op = nvt_path_is_of_op(segment->kind);
    const uint32_t range = segment->range, thread = segment->thread;
    nvt_table_put(table, segment->start, nvt_clock_since(segment->end, segment->start),
                  nvt_path_kind_name(segment->kind), nvt_text_if_any(nvt_path_name(trace, segment)),
                  NVT_IF(range != NVT_NONE, nvt_name(trace, trace->ranges.name[range])),
                  trace->processes.pid[process],
                  NVT_IF(thread != NVT_NONE, trace->threads.tid[thread]),
                  NVT_IF(is_op, NVT_DEVICE(trace, process, ops->device[segment->row])),
                  NVT_IF(is_op, ops->stream[segment->row]));
}

static int put_critical_path_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                   const struct nvt_making *making)
{
    struct nvt_critical_paths paths = {0};
    int status =
        nvt_critical_paths_make(&paths, trace, nvt_input_projection(making->input), making->err);
    note_blind(making->input, trace, paths.is_blind);
    for (uint32_t p = 0; p < paths.count; p++)
        for (uint32_t k = 0; k < paths.items[p].count; k++)
            put_segment(table, trace, paths.items[p].process, &paths.items[p].segments[k]);
    nvt_critical_paths_free(&paths);
    return status;
}

const struct nvt_report nvt_report_critical_path_trace = {
    .name = "critical_path_trace",
    .about = "every step of the critical path",
    .needs = NVT_PROJECTS,
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"Kind", NVT_NAME_KINDS},
                {"Name", NVT_KERNELS},
                {"Range", NVT_RANGES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Device", NVT_NAMES},
                {"Stream", NVT_SPARE_IDS}},
    .title = "Critical path, step by step",
    .over_traces = put_critical_path_trace,
};
