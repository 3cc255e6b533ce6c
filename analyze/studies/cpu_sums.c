#include "cpu_sums.h"

#include <stdlib.h>

#include "../../lib/clock.h"
#include "../model/thread_ranges.h"

/* --- by function or module --------------------------------------------------------------------------- */

static void add_item(struct nvt_cpu_rows *made, uint32_t row, const struct nvt_hot_function *item)
{
    struct nvt_hot_function *sum = nvt_groups_item(&made->rows, row);
    sum->self = nvt_clock_sum(sum->self, item->self);
    sum->total = nvt_clock_sum(sum->total, item->total);
    sum->samples += item->samples;
    sum->total_samples += item->total_samples;
}

/* The group of the function that is told beside the row of a sample, a caller with the line that calls; NVT_NONE: none is known. */
static uint32_t part_of(struct nvt_cpu_rows *made, const struct nvt_sampled_functions *functions,
                        const uint32_t *groups, uint32_t sample)
{
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    uint32_t frame = functions->trace->cpu_samples.frame[sample];
    uint32_t caller = frame ? functions->own_caller[frame - 1] : 0;
    if (made->by == NVT_BY_MODULE)
        return groups[nvt_function_of(functions, sample)];
    if (!caller)
        return NVT_NONE;
    const uint32_t key[] = {nvt_groups_string(&made->parts, frames->name[caller - 1]),
                            nvt_groups_string(&made->parts, frames->module[caller - 1])};
    return nvt_groups_key(&made->parts, key, 2);
}

/* Sums of a trace. `rows` and `parts`: its functions by both; the groups of each. 0, or -1 when out of memory. */
static int add_up(struct nvt_cpu_rows *made, const struct nvt_hot *hot,
                  const struct nvt_sampled_functions *parts, const uint32_t *row_groups,
                  const uint32_t *part_groups)
{
    const struct nvt_sampled_functions *rows = hot->functions;
    int status = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (hot->items[i].total_samples || hot->items[i].samples)
            add_item(made, row_groups[i], &hot->items[i]);
    for (uint32_t i = 0; i < rows->trace->cpu_samples.count && !status; i++) {
        uint32_t part = part_of(made, parts, part_groups, i);
        if (part != NVT_NONE)
            status = nvt_pairs_add(&made->pairs, row_groups[nvt_function_of(rows, i)], part,
                                   nvt_sample_weight(rows, i));
    }
    return status || nvt_groups_failed(&made->parts) ? -1 : 0;
}

static int add_trace_rows(struct nvt_cpu_rows *made, const struct nvt_trace *trace,
                          const struct nvt_cpu_input *all, struct nvt_error *err)
{
    struct nvt_sampled_functions rows = {0}, parts = {0};
    struct nvt_hot hot = {0};
    nvt_groups_trace(&made->parts, trace);
    int status = nvt_cpu_functions(&rows, trace, made->by, all, err) ||
                         nvt_cpu_functions(&parts, trace, NVT_BY_FUNCTION, all, err) ||
                         nvt_hot_make(&hot, &rows, err)
                     ? -1
                     : 0;
    if (!status) {
        uint32_t *row_groups = nvt_cpu_groups(&made->rows, &rows);
        uint32_t *part_groups = nvt_cpu_groups(&made->parts, &parts);
        if (!row_groups || !part_groups || add_up(made, &hot, &parts, row_groups, part_groups))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        free(row_groups);
        free(part_groups);
    }
    nvt_hot_free(&hot);
    nvt_sampled_functions_free(&rows);
    nvt_sampled_functions_free(&parts);
    return status;
}

int nvt_cpu_rows_make(struct nvt_cpu_rows *made, enum nvt_sampled_functions_by by,
                      const struct nvt_input *input, const struct nvt_cpu_input *all,
                      struct nvt_error *err)
{
    int status = 0;
    made->by = by;
    made->rows.item_size = sizeof(struct nvt_hot_function);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace_rows(made, input->traces[i].trace, all, err);
    return status || nvt_pairs_sort(&made->pairs, made->rows.count) ? -1 : 0;
}

void nvt_cpu_rows_free(struct nvt_cpu_rows *rows)
{
    nvt_groups_free(&rows->rows);
    nvt_groups_free(&rows->parts);
    nvt_pairs_free(&rows->pairs);
}

/* --- by range ---------------------------------------------------------------------------------------- */

/* The samples of a trace, with its functions and ranges. */
struct sampled {
    struct nvt_sampled_functions functions;
    uint32_t *function_groups;
    struct nvt_thread_ranges ranges;
    /* of ranges; NVT_NONE: it is none of push and pop, or within one of the same name */
    uint32_t *range_groups;
    uint32_t nowhere;
};

/* 0, or -1 when out of memory. */
static int add_ranges(struct nvt_cpu_by_range *made, struct sampled *sampled)
{
    const struct nvt_ranges *rows = &sampled->ranges.trace->ranges;
    const uint32_t nowhere = nvt_groups_text(&made->ranges, NVT_IN_NO_RANGE);
    sampled->nowhere = nvt_groups_key(&made->ranges, &nowhere, 1);
    sampled->range_groups = malloc(((size_t)rows->count + 1) * sizeof(*sampled->range_groups));
    if (!sampled->range_groups || sampled->nowhere == NVT_NONE)
        return -1;
    for (uint32_t i = 0; i < rows->count; i++) {
        sampled->range_groups[i] = NVT_NONE;
        if (rows->style[i] != NVT_PUSH_POP || !nvt_thread_ranges_is_outermost(&sampled->ranges, i))
            continue;
        const uint32_t name = nvt_groups_range(&made->ranges, i);
        uint32_t group = nvt_groups_key(&made->ranges, &name, 1);
        struct nvt_cpu_range *range = nvt_groups_item(&made->ranges, group);
        if (!range)
            return -1;
        sampled->range_groups[i] = group;
        range->instances++;
        range->wall_ns = nvt_clock_sum(range->wall_ns, rows->end[i] - rows->start[i]);
    }
    return nvt_groups_failed(&made->ranges) ? -1 : 0;
}

static int add_to(struct nvt_cpu_by_range *made, const struct sampled *sampled, uint32_t group,
                  uint32_t sample)
{
    const int64_t weight = nvt_sample_weight(&sampled->functions, sample);
    struct nvt_cpu_range *range = nvt_groups_item(&made->ranges, group);
    range->samples++;
    range->weight = nvt_clock_sum(range->weight, weight);
    return nvt_pairs_add(&made->pairs, group,
                         sampled->function_groups[nvt_function_of(&sampled->functions, sample)],
                         weight);
}

/* 0, or -1 when out of memory. */
static int add_samples(struct nvt_cpu_by_range *made, const struct sampled *sampled)
{
    const struct nvt_cpu_samples *samples = &sampled->functions.trace->cpu_samples;
    uint32_t open[NVT_NESTING_DEPTH];
    int status = 0;
    for (uint32_t i = 0; i < samples->count && !status; i++) {
        uint32_t depth =
            nvt_thread_ranges_open(&sampled->ranges, samples->thread[i], samples->time[i], open);
        for (uint32_t k = 0; k < depth && !status; k++)
            if (sampled->range_groups[open[k]] != NVT_NONE)
                status = add_to(made, sampled, sampled->range_groups[open[k]], i);
        if (!depth)
            status = add_to(made, sampled, sampled->nowhere, i);
    }
    return status;
}

static int add_trace_ranges(struct nvt_cpu_by_range *made, const struct nvt_trace *trace,
                            const struct nvt_cpu_input *all, struct nvt_error *err)
{
    struct sampled sampled = {.range_groups = NULL};
    if (!trace->cpu_samples.count)
        return 0;
    nvt_groups_trace(&made->ranges, trace);
    int status = nvt_cpu_functions(&sampled.functions, trace, NVT_BY_FUNCTION, all, err) ||
                         nvt_thread_ranges_make(&sampled.ranges, trace, err)
                     ? -1
                     : 0;
    if (!status) {
        sampled.function_groups = nvt_cpu_groups(&made->functions, &sampled.functions);
        if (!sampled.function_groups || add_ranges(made, &sampled) || add_samples(made, &sampled))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    nvt_sampled_functions_free(&sampled.functions);
    nvt_thread_ranges_free(&sampled.ranges);
    free(sampled.function_groups);
    free(sampled.range_groups);
    return status;
}

int nvt_cpu_by_range_make(struct nvt_cpu_by_range *made, const struct nvt_input *input,
                          const struct nvt_cpu_input *all, struct nvt_error *err)
{
    int status = 0;
    made->ranges.item_size = sizeof(struct nvt_cpu_range);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace_ranges(made, input->traces[i].trace, all, err);
    return status || nvt_pairs_sort(&made->pairs, made->ranges.count) ? -1 : 0;
}

void nvt_cpu_by_range_free(struct nvt_cpu_by_range *made)
{
    nvt_groups_free(&made->ranges);
    nvt_groups_free(&made->functions);
    nvt_pairs_free(&made->pairs);
}
