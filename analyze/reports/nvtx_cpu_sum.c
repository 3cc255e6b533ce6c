/*
 * nvtx_cpu_sum: processor time, as samples tell it, by the push/pop ranges that are open on the sample's thread, beside their
 * own time: what is left of that they waited. cpu_threads: by thread, beside the length of the trace.
 *
 * Rows of nested ranges hold a sample several times, but those of one name, within each other, once. A sample stands for the
 * time up to it: of ranges that are shorter than the distance of samples it takes many to tell anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../model/thread_ranges.h"
#include "report.h"
#include "cpu.h"

/* --- by range ----------------------------------------------------------------------------------- */

enum { RANGE, INSTANCES, WALL, CPU, BUSY, SHARE, SAMPLES, HOTTEST };

static const struct nvt_column_spec columns[] = {
    [RANGE] = {"NVTX Range", "", NVT_TEXT, 0, 0},
    [INSTANCES] = {"Instances", "", NVT_INT, 0, 0},
    [WALL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [CPU] = {"CPU Time (ns)", "ns", NVT_INT, 0, 0},
    [BUSY] = {"CPU (%)", "%", NVT_REAL, 1, 0},
    [SHARE] = {"Of All (%)", "%", NVT_REAL, 1, 0},
    [SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [HOTTEST] = {"Hottest Functions", "", NVT_TEXT, 0, 0},
};

/* What stands for no range at all. */
#define NOWHERE "[in no range]"

/* Ranges of one name. */
struct range {
    uint64_t instances, samples;
    int64_t wall_ns, weight;
};

/* Of all traces: groups of ranges, and of functions. */
struct by_range {
    struct nvt_groups ranges, functions;
    struct range *items; /* of each group of ranges */
    uint32_t count;
    struct nvt_pairs pairs;
};

/* Of a trace. */
struct sampled {
    struct nvt_sampled_functions functions;
    uint32_t *function_groups;
    struct nvt_thread_ranges ranges;
    uint32_t *
        range_groups; /* of ranges; NVT_NONE: it is none of push and pop, or within one of the same name */
    uint32_t nowhere;
};

static struct range *range_of(struct by_range *all, uint32_t group)
{
    while (group != NVT_NONE && all->count <= group) {
        if (nvt_grow(&all->items, all->count, sizeof(*all->items)))
            return NULL;
        all->items[all->count++] = (struct range){0};
    }
    return group == NVT_NONE ? NULL : &all->items[group];
}

/* 0, or -1 when out of memory. */
static int add_ranges(struct by_range *all, struct sampled *sampled)
{
    const struct nvt_ranges *rows = &sampled->ranges.trace->ranges;
    const uint32_t nowhere = nvt_groups_text(&all->ranges, NOWHERE);
    sampled->nowhere = nvt_groups_key(&all->ranges, &nowhere, 1);
    sampled->range_groups = malloc(((size_t)rows->count + 1) * sizeof(*sampled->range_groups));
    if (!sampled->range_groups || !range_of(all, sampled->nowhere))
        return -1;
    for (uint32_t i = 0; i < rows->count; i++) {
        sampled->range_groups[i] = NVT_NONE;
        if (rows->style[i] != NVT_PUSH_POP || !nvt_thread_ranges_is_outermost(&sampled->ranges, i))
            continue;
        const uint32_t name = nvt_groups_range(&all->ranges, i);
        uint32_t group = nvt_groups_key(&all->ranges, &name, 1);
        struct range *range = range_of(all, group);
        if (!range)
            return -1;
        sampled->range_groups[i] = group;
        range->instances++;
        range->wall_ns = nvt_clock_sum(range->wall_ns, rows->end[i] - rows->start[i]);
    }
    return nvt_groups_failed(&all->ranges) ? -1 : 0;
}

static int add_to(struct by_range *all, const struct sampled *sampled, uint32_t group,
                  uint32_t sample)
{
    const int64_t weight = nvt_sample_weight(&sampled->functions, sample);
    struct range *range = range_of(all, group);
    range->samples++;
    range->weight = nvt_clock_sum(range->weight, weight);
    return nvt_pairs_add(&all->pairs, group,
                         sampled->function_groups[nvt_function_of(&sampled->functions, sample)],
                         weight);
}

/* 0, or -1 when out of memory. */
static int add_samples(struct by_range *all, const struct sampled *sampled)
{
    const struct nvt_cpu_samples *samples = &sampled->functions.trace->cpu_samples;
    uint32_t open[NVT_NESTING_DEPTH];
    int status = 0;
    for (uint32_t i = 0; i < samples->count && !status; i++) {
        uint32_t depth =
            nvt_thread_ranges_open(&sampled->ranges, samples->thread[i], samples->time[i], open);
        for (uint32_t k = 0; k < depth && !status; k++)
            if (sampled->range_groups[open[k]] != NVT_NONE)
                status = add_to(all, sampled, sampled->range_groups[open[k]], i);
        if (!depth)
            status = add_to(all, sampled, sampled->nowhere, i);
    }
    return status;
}

static int add_trace(struct by_range *all, const struct nvt_trace *trace,
                     const struct nvt_cpu_input *input, struct nvt_error *err)
{
    struct sampled sampled = {.range_groups = NULL};
    if (!trace->cpu_samples.count)
        return 0;
    nvt_groups_trace(&all->ranges, trace);
    int status = nvt_cpu_functions(&sampled.functions, trace, NVT_BY_FUNCTION, input, err) ||
                         nvt_thread_ranges_make(&sampled.ranges, trace, err)
                     ? -1
                     : 0;
    if (!status) {
        sampled.function_groups = nvt_cpu_groups(&all->functions, &sampled.functions);
        if (!sampled.function_groups || add_ranges(all, &sampled) || add_samples(all, &sampled))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    nvt_sampled_functions_free(&sampled.functions);
    nvt_thread_ranges_free(&sampled.ranges);
    free(sampled.function_groups);
    free(sampled.range_groups);
    return status;
}

/* "gemm (libblas.so) 63 %, malloc (libc.so.6) 12 %": up to three, of at least 1 %. */
static void put_hottest(struct nvt_table *table, size_t row, const struct by_range *all,
                        uint32_t group)
{
    enum { MOST = 3 };
    const struct nvt_pair *pairs = &all->pairs.items[all->pairs.first[group]];
    uint32_t count = all->pairs.first[group + 1] - all->pairs.first[group];
    struct nvt_buffer text = {0};
    int failed = 0;
    for (uint32_t i = 0; i < count && i < MOST && !failed; i++) {
        double share = 100 * (double)pairs[i].weight / (double)all->items[group].weight;
        const uint32_t *key = all->functions.groups[pairs[i].part].key;
        const char *module = nvt_groups_name(&all->functions, key[1]);
        const char *name = nvt_groups_name(&all->functions, key[0]);
        int has_module = *module && *name != '[' && strcmp(module, NVT_PYTHON_MODULE) != 0;
        if (share < 1)
            break;
        failed = nvt_buffer_printf(&text, "%s%s%s%s%s %.0f %%", i ? ", " : "", name,
                                   has_module ? " (" : "", has_module ? module : "",
                                   has_module ? ")" : "", share);
    }
    failed = failed || nvt_buffer_append(&text, "", 1);
    if (!failed)
        nvt_table_set_name(table, row, HOTTEST, (const char *)text.data);
    nvt_buffer_free(&text);
}

static void put_range(struct nvt_table *table, const struct by_range *all,
                      const struct nvt_cpu_input *input, uint32_t group)
{
    const struct range *range = &all->items[group];
    if (!range->instances && !range->samples)
        return;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, RANGE,
                       nvt_groups_name(&all->ranges, all->ranges.groups[group].key[0]));
    if (range->instances) {
        nvt_table_set_int(table, row, INSTANCES, (int64_t)range->instances);
        nvt_table_set_int(table, row, WALL, range->wall_ns);
    }
    nvt_cpu_put(table, row, SHARE, CPU, input, range->weight, input->weight);
    if (input->has_times && range->wall_ns > 0)
        nvt_table_set_real(table, row, BUSY, 100 * (double)range->weight / (double)range->wall_ns);
    nvt_table_set_int(table, row, SAMPLES, (int64_t)range->samples);
    put_hottest(table, row, all, group);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct by_range all = {.count = 0};
    const struct nvt_cpu_input facts = nvt_cpu_look(input, 0);
    struct nvt_table *table =
        nvt_cpu_table(&nvt_report_nvtx_cpu_sum, input, "Processor time by range", &facts, err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&all, input->traces[i].trace, &facts, err);
    if (!status && nvt_pairs_sort(&all.pairs, all.ranges.count))
        status = nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < all.count && !status; i++)
        put_range(table, &all, &facts, i);
    nvt_groups_free(&all.ranges);
    nvt_groups_free(&all.functions);
    nvt_pairs_free(&all.pairs);
    free(all.items);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    nvt_table_sort(table, RANGE, 0);
    nvt_table_sort(table, WALL, 1);
    nvt_table_sort(table, SHARE, 1);
    return nvt_report_add(tables, table, err);
}

/* --- by thread ---------------------------------------------------------------------------------- */

enum { T_PID, T_TID, T_NAME, T_TIME, T_BUSY, T_SHARE, T_SAMPLES, T_HOTTEST, T_MODULE, T_OF_IT };

static const struct nvt_column_spec thread_columns[] = {
    [T_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [T_TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [T_NAME] = {"Thread", "", NVT_TEXT, 0, 0},
    [T_TIME] = {"CPU Time (ns)", "ns", NVT_INT, 0, 0},
    [T_BUSY] = {"Of Trace (%)", "%", NVT_REAL, 1, 0},
    [T_SHARE] = {"Of All (%)", "%", NVT_REAL, 1, 0},
    [T_SAMPLES] = {"Samples", "", NVT_INT, 0, 0},
    [T_HOTTEST] = {"Hottest Function", "", NVT_TEXT, 0, 0},
    [T_MODULE] = {"Module", "", NVT_TEXT, 0, 0},
    [T_OF_IT] = {"Of It (%)", "%", NVT_REAL, 1, 0},
};

/* Time and samples of a thread; 0 where it has none. */
static void put_thread(struct nvt_table *table, const struct nvt_sampled_functions *functions,
                       const struct nvt_cpu_input *all, const struct nvt_pairs *pairs,
                       uint32_t thread)
{
    const struct nvt_trace *trace = functions->trace;
    const struct nvt_pair *most = nvt_pairs_most(pairs, thread);
    const double span = (double)trace->last_ns - (double)trace->first_ns;
    int64_t weight = 0, samples = 0;
    for (uint32_t i = pairs->first[thread]; i < pairs->first[thread + 1]; i++) {
        weight = nvt_clock_sum(weight, pairs->items[i].weight);
        samples += pairs->items[i].count;
    }
    if (!most)
        return;
    const struct nvt_sampled_function *function = &functions->items[most->part];
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, T_PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, T_TID, trace->threads.tid[thread]);
    nvt_table_set_name(table, row, T_NAME, nvt_name(trace, trace->threads.name[thread]));
    nvt_cpu_put(table, row, T_SHARE, T_TIME, all, weight, all->weight);
    if (all->has_times && span > 0)
        nvt_table_set_real(table, row, T_BUSY, 100 * (double)weight / span);
    nvt_table_set_int(table, row, T_SAMPLES, samples);
    nvt_table_set_text(table, row, T_HOTTEST, function->name);
    nvt_table_set_name(table, row, T_MODULE, function->module);
    if (weight > 0)
        nvt_table_set_real(table, row, T_OF_IT, 100 * (double)most->weight / (double)weight);
}

static int put_threads(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_cpu_input *all, struct nvt_error *err)
{
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    struct nvt_sampled_functions functions = {0};
    struct nvt_pairs pairs = {0};
    int status = nvt_cpu_functions(&functions, trace, NVT_BY_FUNCTION, all, err), failed = 0;
    for (uint32_t i = 0; i < samples->count && !status && !failed; i++)
        failed = nvt_pairs_add(&pairs, samples->thread[i], nvt_function_of(&functions, i),
                               nvt_sample_weight(&functions, i));
    if (!status && (failed || nvt_pairs_sort(&pairs, trace->threads.count)))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < trace->threads.count && !status; i++)
        put_thread(table, &functions, all, &pairs, i);
    nvt_pairs_free(&pairs);
    nvt_sampled_functions_free(&functions);
    return status;
}

static int make_threads(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    const struct nvt_cpu_input all = nvt_cpu_look(input, 0);
    struct nvt_table *table =
        nvt_cpu_table(&nvt_report_cpu_threads, input, "Processor time by thread", &all, err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_threads(table, input->traces[i].trace, &all, err);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    nvt_table_sort(table, T_TID, 0);
    nvt_table_sort(table, T_PID, 0);
    nvt_table_sort(table, T_SHARE, 1);
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_nvtx_cpu_sum = {
    .name = "nvtx_cpu_sum",
    .about = "processor time within ranges, and the functions that took most of it",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};

const struct nvt_report nvt_report_cpu_threads = {
    .name = "cpu_threads",
    .about = "processor time by thread, and the function that took most of it",
    .needs = NVT_NEEDS_TRACES,
    .columns = thread_columns,
    .column_count = sizeof(thread_columns) / sizeof(thread_columns[0]),
    .make = make_threads,
};
