/*
 * cpu_functions, cpu_modules: processor time, as samples tell it, by function and by library or program (hot_functions.h),
 * over all traces, threads and ranges. A function comes with the one of the program's own code that most of its time was called
 * from; a module with the function of it that has most of its time.
 */
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../studies/cpu_input.h"
#include "report.h"

/* Of all traces. Rows are groups of functions, or of modules; parts are groups of functions: the callers of a function, those
 * of a module. */
struct tally {
    enum nvt_sampled_functions_by by;
    struct nvt_groups rows, parts; /* rows carry a struct nvt_hot_function */
    struct nvt_pairs pairs;
};

static void add_item(struct tally *tally, uint32_t row, const struct nvt_hot_function *item)
{
    struct nvt_hot_function *sum = nvt_groups_item(&tally->rows, row);
    sum->self = nvt_clock_sum(sum->self, item->self);
    sum->total = nvt_clock_sum(sum->total, item->total);
    sum->samples += item->samples;
    sum->total_samples += item->total_samples;
}

/* The group of the function that is told beside the row of a sample, a caller with the line that calls; NVT_NONE: none is known. */
static uint32_t part_of(struct tally *tally, const struct nvt_sampled_functions *functions,
                        const uint32_t *groups, uint32_t sample)
{
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    uint32_t frame = functions->trace->cpu_samples.frame[sample];
    uint32_t caller = frame ? functions->own_caller[frame - 1] : 0;
    if (tally->by == NVT_BY_MODULE)
        return groups[nvt_function_of(functions, sample)];
    if (!caller)
        return NVT_NONE;
    const uint32_t key[] = {nvt_groups_string(&tally->parts, frames->name[caller - 1]),
                            nvt_groups_string(&tally->parts, frames->module[caller - 1])};
    return nvt_groups_key(&tally->parts, key, 2);
}

/* Sums of a trace. `rows` and `parts`: its functions by both; the groups of each. 0, or -1 when out of memory. */
static int add_up_cpu_functions(struct tally *tally, const struct nvt_hot *hot,
                                const struct nvt_sampled_functions *parts,
                                const uint32_t *row_groups, const uint32_t *part_groups)
{
    const struct nvt_sampled_functions *rows = hot->functions;
    int status = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (hot->items[i].total_samples || hot->items[i].samples)
            add_item(tally, row_groups[i], &hot->items[i]);
    for (uint32_t i = 0; i < rows->trace->cpu_samples.count && !status; i++) {
        uint32_t part = part_of(tally, parts, part_groups, i);
        if (part != NVT_NONE)
            status = nvt_pairs_add(&tally->pairs, row_groups[nvt_function_of(rows, i)], part,
                                   nvt_sample_weight(rows, i));
    }
    return status || nvt_groups_failed(&tally->parts) ? -1 : 0;
}

static int add_cpu_functions_trace(struct tally *tally, const struct nvt_trace *trace,
                                   const struct nvt_cpu_input *all, struct nvt_error *err)
{
    struct nvt_sampled_functions rows = {0}, parts = {0};
    struct nvt_hot hot = {0};
    nvt_groups_trace(&tally->parts, trace);
    int status = nvt_cpu_functions(&rows, trace, tally->by, all, err) ||
                         nvt_cpu_functions(&parts, trace, NVT_BY_FUNCTION, all, err) ||
                         nvt_hot_make(&hot, &rows, err)
                     ? -1
                     : 0;
    if (!status) {
        uint32_t *row_groups = nvt_cpu_groups(&tally->rows, &rows);
        uint32_t *part_groups = nvt_cpu_groups(&tally->parts, &parts);
        if (!row_groups || !part_groups ||
            add_up_cpu_functions(tally, &hot, &parts, row_groups, part_groups))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        free(row_groups);
        free(part_groups);
    }
    nvt_hot_free(&hot);
    nvt_sampled_functions_free(&rows);
    nvt_sampled_functions_free(&parts);
    return status;
}

/* The part with the most of a row's own time, and its share of that. */
static void put_part(struct nvt_table *table, const struct tally *tally, uint32_t row)
{
    const struct nvt_hot_function *item = nvt_groups_item(&tally->rows, row);
    const struct nvt_pair *most = nvt_pairs_most(&tally->pairs, row);
    if (most && item->self > 0)
        nvt_table_more(table, nvt_groups_part(&tally->parts, most->part, 0),
                       nvt_percent(most->weight, item->self));
}

static void put_cpu_functions(struct nvt_table *table, const struct tally *tally,
                              const struct nvt_cpu_input *all)
{
    for (uint32_t i = 0; i < tally->rows.count; i++) {
        const struct nvt_hot_function *item = nvt_groups_item(&tally->rows, i);
        const char *function = nvt_groups_part(&tally->rows, i, 0);
        const char *module = nvt_groups_part(&tally->rows, i, 1);
        if (!item->total_samples)
            continue;
        nvt_table_put(table, nvt_percent(item->self, all->weight), nvt_cpu_time(all, item->self),
                      nvt_percent(item->total, all->weight), nvt_cpu_time(all, item->total),
                      item->samples);
        if (tally->by == NVT_BY_MODULE)
            nvt_table_more(table, *module ? module : NVT_UNKNOWN_FUNCTION);
        else
            nvt_table_more(table, nvt_text_if_any(function), nvt_text_if_any(module));
        put_part(table, tally, i);
    }
}

static int put_all_cpu_functions(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    const struct nvt_cpu_input all = nvt_cpu_look(input, 1);
    struct tally tally = {.by = (enum nvt_sampled_functions_by)making->report->of,
                          .rows = {.item_size = sizeof(struct nvt_hot_function)}};
    int status = 0;
    nvt_cpu_title(table, making->report->title, &all);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_cpu_functions_trace(&tally, input->traces[i].trace, &all, making->err);
    if (!status)
        status = nvt_pairs_sort(&tally.pairs, tally.rows.count);
    if (!status)
        put_cpu_functions(table, &tally, &all);
    nvt_groups_free(&tally.rows);
    nvt_groups_free(&tally.parts);
    nvt_pairs_free(&tally.pairs);
    return status;
}

const struct nvt_report nvt_report_cpu_functions = {
    .name = "cpu_functions",
    .about = "CPU time by function, from samples",
    .columns = {{"Self (%)", NVT_PERCENT},
                {"Self Time (ns)", NVT_NS},
                {"Total (%)", NVT_PERCENT},
                {"Total Time (ns)", NVT_NS},
                {"Samples", NVT_COUNTS},
                {"Function", NVT_NAMES},
                {"Module", NVT_NAMES},
                {"Called From", NVT_NAMES},
                {"Of It (%)", NVT_PERCENT}},
    .title = "CPU time by function",
    .order = {"-Self (%)", "-Total (%)", "Function"},
    .of = NVT_BY_FUNCTION,
    .of_input = put_all_cpu_functions,
};

const struct nvt_report nvt_report_cpu_modules = {
    .name = "cpu_modules",
    .about = "CPU time by library, program and interpreter, from samples",
    .columns = {{"Self (%)", NVT_PERCENT},
                {"Self Time (ns)", NVT_NS},
                {"Total (%)", NVT_PERCENT},
                {"Total Time (ns)", NVT_NS},
                {"Samples", NVT_COUNTS},
                {"Module", NVT_NAMES},
                {"Hottest Function", NVT_NAMES},
                {"Of It (%)", NVT_PERCENT}},
    .title = "CPU time by library and program",
    .order = {"-Self (%)", "-Total (%)", "Module"},
    .of = NVT_BY_MODULE,
    .of_input = put_all_cpu_functions,
};
