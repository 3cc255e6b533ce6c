#include "cpu_iterations.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../model/buckets.h"
#include "../model/named_iterations.h"

/* Add what a range has to its iteration. 0, or -1 when out of memory. */
static int add_range(struct nvt_cpu_iterations *all, const struct nvt_counted_ranges *counted,
                     uint32_t range, uint32_t iteration)
{
    const uint32_t name = nvt_groups_range(&all->names, range);
    const uint32_t group = nvt_groups_key(&all->names, &name, 1);
    struct nvt_cpu_iteration *item =
        group == NVT_NONE ? NULL
                          : nvt_map_item(&all->known, (uint64_t)group << 32 | iteration,
                                         &all->items, &all->count, sizeof(*item));
    if (!item)
        return -1;
    item->group = group;
    item->iteration = iteration;
    nvt_count_values_add(&item->counts, &counted->all[range]);
    return 0;
}

int nvt_cpu_iterations_add(struct nvt_cpu_iterations *all, const struct nvt_counted_ranges *counted)
{
    const struct nvt_trace *trace = counted->ranges.trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_named_iterations named = {.trace = NULL};
    int status = nvt_named_iterations_of(&named, trace);
    nvt_groups_trace(&all->names, trace);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        if (!nvt_is_counted(&counted->all[i]) ||
            !nvt_thread_ranges_is_outermost(&counted->ranges, i))
            continue;
        const uint32_t thread = ranges->thread[i];
        const uint32_t at =
            nvt_iteration_at(&named, thread, trace->threads.process[thread], ranges->start[i]);
        if (at != NVT_NONE)
            status = add_range(all, counted, i, all->iterations + at);
    }
    all->iterations += named.count;
    nvt_named_iterations_free(&named);
    return status || nvt_groups_failed(&all->names) ? -1 : 0;
}

/* Median and maximum of a count over some items, NaN where it is unknown in one of them. */
static void put_count(const struct nvt_cpu_iterations *all, const uint32_t *rows, uint32_t count,
                      unsigned which, double *values, struct nvt_table *table)
{
    struct nvt_summary summary = {.median = NAN, .max = NAN};
    int is_known = 1;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t value = all->items[rows[i]].counts.of[which];
        is_known = is_known && value >= 0;
        values[i] = (double)value;
    }
    if (is_known)
        nvt_sample_summary(values, count, &summary);
    nvt_table_more(table, summary.median, NVT_IF(is_known, (int64_t)summary.max));
}

/* The median of a count for each 1 or 1,000 of another one, NaN where it is unknown in one of them. */
static void put_ratio(const struct nvt_cpu_iterations *all, const uint32_t *rows, uint32_t count,
                      const enum nvt_count of[2], double factor, double *values,
                      struct nvt_table *table)
{
    struct nvt_summary summary = {.median = NAN};
    int is_known = 1;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *counts = all->items[rows[i]].counts.of;
        is_known = is_known && counts[of[0]] >= 0 && counts[of[1]] > 0;
        values[i] = is_known ? factor * (double)counts[of[0]] / (double)counts[of[1]] : 0;
    }
    if (is_known)
        nvt_sample_summary(values, count, &summary);
    nvt_table_more(table, summary.median);
}

int nvt_cpu_iterations_put(const struct nvt_cpu_iterations *all, struct nvt_table *table)
{
    struct nvt_buckets groups = {0};
    uint32_t *owner = malloc(((size_t)all->count + 1) * sizeof(*owner));
    double *values = malloc(((size_t)all->count + 1) * sizeof(*values));
    int status = -1;
    for (uint32_t i = 0; owner && i < all->count; i++)
        owner[i] = all->items[i].group;
    if (owner && values)
        status = nvt_buckets_make(&groups, owner, all->names.count, NULL, all->count);
    for (uint32_t group = 0; group < all->names.count && !status; group++) {
        const uint32_t *rows = &groups.rows[groups.first[group]];
        const uint32_t count = groups.first[group + 1] - groups.first[group];
        nvt_table_put(table, nvt_groups_part(&all->names, group, 0), count);
        for (unsigned which = 0; which < NVT_COUNT_CYCLES; which++)
            put_count(all, rows, count, which, values, table);
        put_count(all, rows, count, NVT_COUNT_MIGRATIONS, values, table);
        put_ratio(all, rows, count,
                  (const enum nvt_count[]){NVT_COUNT_INSTRUCTIONS, NVT_COUNT_CYCLES}, 1, values,
                  table);
        put_ratio(all, rows, count,
                  (const enum nvt_count[]){NVT_COUNT_CACHE_MISSES, NVT_COUNT_INSTRUCTIONS}, 1000,
                  values, table);
    }
    nvt_buckets_free(&groups);
    free(owner);
    free(values);
    return status;
}

void nvt_cpu_iterations_free(struct nvt_cpu_iterations *all)
{
    nvt_groups_free(&all->names);
    nvt_map_free(&all->known);
    free(all->items);
}
