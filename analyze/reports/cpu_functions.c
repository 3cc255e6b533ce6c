/*
 * cpu_functions, cpu_modules: processor time, as samples tell it, by function and by library or program (hot_functions.h),
 * over all traces, threads and ranges. A function comes with the one of the program's own code that most of its time was called
 * from; a module with the function of it that has most of its time.
 */
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "report.h"
#include "cpu.h"

enum { F_SELF_SHARE, F_SELF, F_TOTAL_SHARE, F_TOTAL, F_SAMPLES };
enum { F_NAME = F_SAMPLES + 1, F_MODULE, F_CALLER, F_CALLER_SHARE };
enum { M_MODULE = F_SAMPLES + 1, M_NAME, M_NAME_SHARE };

static const struct nvt_column_spec function_columns[] = {
    [F_SELF_SHARE] = {"Self (%)", "%", NVT_REAL, 1, 0},
    [F_SELF] = {"Self Time (ns)", "ns", NVT_INT, 0, 0},
    [F_TOTAL_SHARE] = {"Total (%)", "%", NVT_REAL, 1, 0},
    [F_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [F_SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [F_NAME] = {"Function", "", NVT_TEXT, 0, 0},
    [F_MODULE] = {"Module", "", NVT_TEXT, 0, 0},
    [F_CALLER] = {"Called From", "", NVT_TEXT, 0, 0},
    [F_CALLER_SHARE] = {"Of It (%)", "%", NVT_REAL, 1, 0},
};

static const struct nvt_column_spec module_columns[] = {
    [F_SELF_SHARE] = {"Self (%)", "%", NVT_REAL, 1, 0},
    [F_SELF] = {"Self Time (ns)", "ns", NVT_INT, 0, 0},
    [F_TOTAL_SHARE] = {"Total (%)", "%", NVT_REAL, 1, 0},
    [F_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [F_SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [M_MODULE] = {"Module", "", NVT_TEXT, 0, 0},
    [M_NAME] = {"Hottest Function", "", NVT_TEXT, 0, 0},
    [M_NAME_SHARE] = {"Of It (%)", "%", NVT_REAL, 1, 0},
};

/* Of all traces. Rows are groups of functions, or of modules; parts are groups of functions: the callers of a function, those
 * of a module. */
struct tally {
    enum nvt_sampled_functions_by by;
    struct nvt_groups rows, parts;
    struct nvt_hot_function *items; /* of each row */
    uint32_t count;
    struct nvt_pairs pairs;
};

static int add_item(struct tally *tally, uint32_t row, const struct nvt_hot_function *item)
{
    while (tally->count <= row) {
        if (nvt_grow(&tally->items, tally->count, sizeof(*tally->items)))
            return -1;
        tally->items[tally->count++] = (struct nvt_hot_function){0};
    }
    struct nvt_hot_function *sum = &tally->items[row];
    sum->self = nvt_clock_sum(sum->self, item->self);
    sum->total = nvt_clock_sum(sum->total, item->total);
    sum->samples += item->samples;
    sum->total_samples += item->total_samples;
    return 0;
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
static int add_up(struct tally *tally, const struct nvt_hot *hot,
                  const struct nvt_sampled_functions *parts, const uint32_t *row_groups,
                  const uint32_t *part_groups)
{
    const struct nvt_sampled_functions *rows = hot->functions;
    int status = 0;
    for (uint32_t i = 0; i < rows->count && !status; i++)
        if (hot->items[i].total_samples || hot->items[i].samples)
            status = add_item(tally, row_groups[i], &hot->items[i]);
    for (uint32_t i = 0; i < rows->trace->cpu_samples.count && !status; i++) {
        uint32_t part = part_of(tally, parts, part_groups, i);
        if (part != NVT_NONE)
            status = nvt_pairs_add(&tally->pairs, row_groups[nvt_function_of(rows, i)], part,
                                   nvt_sample_weight(rows, i));
    }
    return status || nvt_groups_failed(&tally->parts) ? -1 : 0;
}

static int add_trace(struct tally *tally, const struct nvt_trace *trace,
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
        if (!row_groups || !part_groups || add_up(tally, &hot, &parts, row_groups, part_groups))
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
static void put_part(struct nvt_table *table, const struct tally *tally, uint32_t i, size_t row,
                     size_t name, size_t share)
{
    const struct nvt_pair *most = nvt_pairs_most(&tally->pairs, i);
    if (!most || tally->items[i].self <= 0)
        return;
    nvt_table_set_text(table, row, name,
                       nvt_groups_name(&tally->parts, tally->parts.groups[most->part].key[0]));
    nvt_table_set_real(table, row, share,
                       100 * (double)most->weight / (double)tally->items[i].self);
}

static void put(struct nvt_table *table, const struct tally *tally, const struct nvt_cpu_input *all)
{
    const int is_module = tally->by == NVT_BY_MODULE;
    for (uint32_t i = 0; i < tally->count; i++) {
        const struct nvt_hot_function *item = &tally->items[i];
        if (!item->total_samples)
            continue;
        size_t row = nvt_table_add_row(table);
        nvt_cpu_put(table, row, F_SELF_SHARE, F_SELF, all, item->self, all->weight);
        nvt_cpu_put(table, row, F_TOTAL_SHARE, F_TOTAL, all, item->total, all->weight);
        nvt_table_set_int(table, row, F_SAMPLES, item->samples);
        if (is_module) {
            const char *module = nvt_groups_name(&tally->rows, tally->rows.groups[i].key[1]);
            nvt_table_set_text(table, row, M_MODULE, *module ? module : NVT_UNKNOWN_FUNCTION);
            put_part(table, tally, i, row, M_NAME, M_NAME_SHARE);
            continue;
        }
        nvt_cpu_put_function(table, row, F_NAME, F_MODULE, &tally->rows, i);
        put_part(table, tally, i, row, F_CALLER, F_CALLER_SHARE);
    }
    nvt_table_sort(table, is_module ? M_MODULE : F_NAME, 0);
    nvt_table_sort(table, F_TOTAL_SHARE, 1);
    nvt_table_sort(table, F_SELF_SHARE, 1);
}

static int make(const struct nvt_report *report, enum nvt_sampled_functions_by by,
                const char *title, struct nvt_input *input, struct nvt_tables *tables,
                struct nvt_error *err)
{
    struct tally tally = {.by = by};
    const struct nvt_cpu_input all = nvt_cpu_look(input, 1);
    struct nvt_table *table = nvt_cpu_table(report, input, title, &all, err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&tally, input->traces[i].trace, &all, err);
    if (!status && nvt_pairs_sort(&tally.pairs, tally.rows.count))
        status = nvt_fail(err, "out of memory");
    if (!status)
        put(table, &tally, &all);
    nvt_groups_free(&tally.rows);
    nvt_groups_free(&tally.parts);
    nvt_pairs_free(&tally.pairs);
    free(tally.items);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_report_add(tables, table, err);
}

static int make_functions(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_cpu_functions, NVT_BY_FUNCTION, "Processor time by function", input,
                tables, err);
}

static int make_modules(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_cpu_modules, NVT_BY_MODULE, "Processor time by library and program",
                input, tables, err);
}

const struct nvt_report nvt_report_cpu_functions = {
    .name = "cpu_functions",
    .about = "processor time by function, from samples of what threads run",
    .needs = NVT_NEEDS_TRACES,
    .columns = function_columns,
    .column_count = sizeof(function_columns) / sizeof(function_columns[0]),
    .make = make_functions,
};

const struct nvt_report nvt_report_cpu_modules = {
    .name = "cpu_modules",
    .about = "the same by library, program and interpreter",
    .needs = NVT_NEEDS_TRACES,
    .columns = module_columns,
    .column_count = sizeof(module_columns) / sizeof(module_columns[0]),
    .make = make_modules,
};
