/*
 * cpu_functions, cpu_modules: processor time, as samples tell it, by function and by library or program (hot_functions.h),
 * over all traces, threads and ranges. A function comes with the one of the program's own code that most of its time was called
 * from; a module with the function of it that has most of its time.
 */
#include "../studies/cpu_sums.h"
#include "report.h"

/* The part with the most of a row's own time, and its share of that. */
static void put_part(struct nvt_table *table, const struct nvt_cpu_rows *rows, uint32_t row)
{
    const struct nvt_hot_function *item = nvt_groups_item(&rows->rows, row);
    const struct nvt_pair *most = nvt_pairs_most(&rows->pairs, row);
    if (most && item->self > 0)
        nvt_table_more(table, nvt_groups_part(&rows->parts, most->part, 0),
                       nvt_percent(most->weight, item->self));
}

static void put_cpu_functions(struct nvt_table *table, const struct nvt_cpu_rows *rows,
                              const struct nvt_cpu_input *all)
{
    for (uint32_t i = 0; i < rows->rows.count; i++) {
        const struct nvt_hot_function *item = nvt_groups_item(&rows->rows, i);
        const char *function = nvt_groups_part(&rows->rows, i, 0);
        const char *module = nvt_groups_part(&rows->rows, i, 1);
        if (!item->total_samples)
            continue;
        nvt_table_put(table, nvt_percent(item->self, all->weight), nvt_cpu_time(all, item->self),
                      nvt_percent(item->total, all->weight), nvt_cpu_time(all, item->total),
                      item->samples);
        if (rows->by == NVT_BY_MODULE)
            nvt_table_more(table, *module ? module : NVT_UNKNOWN_FUNCTION);
        else
            nvt_table_more(table, nvt_text_if_any(function), nvt_text_if_any(module));
        put_part(table, rows, i);
    }
}

static int put_all_cpu_functions(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    const struct nvt_cpu_input all = nvt_cpu_look(input, 1);
    struct nvt_cpu_rows rows = {.rows = {.count = 0}};
    nvt_cpu_title(table, making->report->title, &all);
    const int status = nvt_cpu_rows_make(&rows, (enum nvt_sampled_functions_by)making->report->of,
                                         input, &all, making->err);
    if (!status)
        put_cpu_functions(table, &rows, &all);
    nvt_cpu_rows_free(&rows);
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
