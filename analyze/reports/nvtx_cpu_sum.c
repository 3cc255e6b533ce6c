/*
 * nvtx_cpu_sum: processor time, as samples tell it, by the push/pop ranges that are open on the sample's thread, beside their
 * own time: what is left of that they waited. cpu_threads: by thread, beside the length of the trace.
 *
 * Rows of nested ranges hold a sample several times, but those of one name, within each other, once. A sample stands for the
 * time up to it: of ranges that are shorter than the distance of samples it takes many to tell anything.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../model/recorded_parts.h"
#include "report.h"
#include "../studies/cpu_sums.h"

/* --- by range ----------------------------------------------------------------------------------- */

/* "gemm (libblas.so) 63 %, malloc (libc.so.6) 12 %": up to three, of at least 1 %; *text is to be freed. NULL: there are none. */
static const char *hottest(const struct nvt_cpu_by_range *all, uint32_t group,
                           struct nvt_buffer *text)
{
    enum { MOST = 3 };
    const struct nvt_cpu_range *range = nvt_groups_item(&all->ranges, group);
    const struct nvt_pair *pairs = &all->pairs.items[all->pairs.first[group]];
    uint32_t count = all->pairs.first[group + 1] - all->pairs.first[group];
    int failed = 0;
    for (uint32_t i = 0; i < count && i < MOST && !failed; i++) {
        double share = 100 * (double)pairs[i].weight / (double)range->weight;
        const char *name = nvt_groups_part(&all->functions, pairs[i].part, 0);
        const char *module = nvt_groups_part(&all->functions, pairs[i].part, 1);
        int has_module = *module && *name != '[' && strcmp(module, NVT_PYTHON_MODULE) != 0;
        if (share < 1)
            break;
        failed = nvt_buffer_printf(text, "%s%s%s%s%s %.0f %%", i ? ", " : "", name,
                                   has_module ? " (" : "", has_module ? module : "",
                                   has_module ? ")" : "", share);
    }
    failed = failed || nvt_buffer_append(text, "", 1);
    return failed ? NULL : nvt_text_if_any((const char *)text->data);
}

static void put_nvtx_cpu_sum_range(struct nvt_table *table, const struct nvt_cpu_by_range *all,
                                   const struct nvt_cpu_input *input, uint32_t group)
{
    const struct nvt_cpu_range *range = nvt_groups_item(&all->ranges, group);
    struct nvt_buffer text = {0};
    if (!range->instances && !range->samples)
        return;
    nvt_table_put(
        table, nvt_groups_part(&all->ranges, group, 0), NVT_IF(range->instances, range->instances),
        NVT_IF(range->instances, range->wall_ns), nvt_cpu_time(input, range->weight),
        input->has_times ? nvt_percent(range->weight, range->wall_ns) : NAN,
        nvt_percent(range->weight, input->weight), range->samples, hottest(all, group, &text));
    nvt_buffer_free(&text);
}

static int put_nvtx_cpu_sum_ranges(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    const struct nvt_cpu_input facts = nvt_cpu_look(input, 0);
    struct nvt_cpu_by_range all = {.ranges = {.count = 0}};
    nvt_cpu_title(table, making->report->title, &facts);
    const int status = nvt_cpu_by_range_make(&all, input, &facts, making->err);
    for (uint32_t i = 0; i < all.ranges.count && !status; i++)
        put_nvtx_cpu_sum_range(table, &all, &facts, i);
    nvt_cpu_by_range_free(&all);
    return status;
}

/* --- by thread ---------------------------------------------------------------------------------- */

/* Time and samples of a thread; 0 where it has none. */
static void put_nvtx_cpu_sum_thread(struct nvt_table *table,
                                    const struct nvt_sampled_functions *functions,
                                    const struct nvt_cpu_input *all, const struct nvt_pairs *pairs,
                                    uint32_t thread)
{
    const struct nvt_trace *trace = functions->trace;
    const struct nvt_pair *most = nvt_pairs_most(pairs, thread);
    const double span = nvt_recorded_ns(trace, trace->first_ns, trace->last_ns);
    int64_t weight = 0, samples = 0;
    for (uint32_t i = pairs->first[thread]; i < pairs->first[thread + 1]; i++) {
        weight = nvt_clock_sum(weight, pairs->items[i].weight);
        samples += pairs->items[i].count;
    }
    if (!most)
        return;
    const struct nvt_sampled_function *function = &functions->items[most->part];
    nvt_table_put(
        table, trace->processes.pid[trace->threads.process[thread]], trace->threads.tid[thread],
        nvt_text_if_any(nvt_name(trace, trace->threads.name[thread])), nvt_cpu_time(all, weight),
        all->has_times ? nvt_percent(weight, span) : NAN, nvt_percent(weight, all->weight), samples,
        function->name, nvt_text_if_any(function->module), nvt_percent(most->weight, weight));
}

static int put_nvtx_cpu_sum_threads(struct nvt_table *table, const struct nvt_trace *trace,
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
        put_nvtx_cpu_sum_thread(table, &functions, all, &pairs, i);
    nvt_pairs_free(&pairs);
    nvt_sampled_functions_free(&functions);
    return status;
}

static int put_all_threads(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    const struct nvt_cpu_input all = nvt_cpu_look(input, 0);
    int status = 0;
    nvt_cpu_title(table, making->report->title, &all);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_nvtx_cpu_sum_threads(table, input->traces[i].trace, &all, making->err);
    return status;
}

const struct nvt_report nvt_report_nvtx_cpu_sum = {
    .name = "nvtx_cpu_sum",
    .about = "CPU time within ranges, and the functions that took most of it",
    .columns = {{"NVTX Range", NVT_RANGES},
                {"Instances", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                {"CPU Time (ns)", NVT_NS},
                {"CPU (%)", NVT_PERCENT},
                {"Of All (%)", NVT_PERCENT},
                {"Samples", NVT_COUNTS},
                {"Hottest Functions", NVT_NAMES}},
    .title = "CPU time by range",
    .order = {"-Of All (%)", "-Total Time (ns)", "NVTX Range"},
    .of_input = put_nvtx_cpu_sum_ranges,
};

const struct nvt_report nvt_report_cpu_threads = {
    .name = "cpu_threads",
    .about = "CPU time by thread, and the function that took most of it",
    .columns = {{"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Thread", NVT_NAMES},
                {"CPU Time (ns)", NVT_NS},
                {"Of Trace (%)", NVT_PERCENT},
                {"Of All (%)", NVT_PERCENT},
                {"Samples", NVT_COUNTS},
                {"Hottest Function", NVT_NAMES},
                {"Module", NVT_NAMES},
                {"Of It (%)", NVT_PERCENT}},
    .title = "CPU time by thread",
    .order = {"-Of All (%)", "PID", "TID"},
    .of_input = put_all_threads,
};
