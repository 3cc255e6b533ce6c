#include "calls_by_range.h"

#include <stdlib.h>
#include <string.h>

#define MEGABYTE 1e6

/* --- which ranges hold a call --- */

/* From `row` outwards, the first range that ends no earlier; `depth` counts those that were looked at. */
static uint32_t holder_from(const struct nvt_thread_ranges *holders, uint32_t row, int64_t end,
                            uint32_t *depth)
{
    while (row != NVT_NONE && holders->trace->ranges.end[row] < end)
        row = ++*depth > NVT_NESTING_DEPTH ? NVT_NONE : holders->parent[row];
    return row;
}

/* The one around it, likewise. */
static uint32_t holder_around(const struct nvt_thread_ranges *holders, uint32_t row, int64_t end,
                              uint32_t *depth)
{
    if (++*depth > NVT_NESTING_DEPTH)
        return NVT_NONE;
    return holder_from(holders, holders->parent[row], end, depth);
}

static uint32_t innermost(const struct nvt_thread_ranges *holders, uint32_t thread, int64_t start,
                          int64_t end, uint32_t *depth)
{
    return holder_from(holders, nvt_thread_ranges_last(holders, thread, start), end, depth);
}

uint32_t nvt_holder_of(const struct nvt_thread_ranges *holders, uint32_t thread, int64_t start,
                       int64_t end)
{
    uint32_t depth = 0;
    return innermost(holders, thread, start, end, &depth);
}

/* --- sums by range and call --- */

/* Room for item `index` of an array, zeroed. 0 or -1. */
static int make_room(void *array, uint32_t index, uint32_t *capacity, size_t width)
{
    void **items = array;
    if (index < *capacity)
        return 0;
    size_t wanted = ((size_t)index + 1) * 2;
    char *grown = realloc(*items, wanted * width);
    if (!grown)
        return -1;
    memset(grown + *capacity * width, 0, (wanted - *capacity) * width);
    *items = grown;
    *capacity = (uint32_t)wanted;
    return 0;
}

static void add_call(struct nvt_calls_by_range *all, const struct nvt_trace *trace,
                     const struct nvt_held_calls *calls, uint32_t call, uint32_t range_name)
{
    const uint32_t key[] = {range_name, nvt_groups_string(&all->groups, calls->name[call])};
    uint32_t group = nvt_groups_key(&all->groups, key, 2);
    if (group == NVT_NONE || make_room(&all->bytes, group, &all->capacity, sizeof(*all->bytes))) {
        all->groups.failed = 1;
        return;
    }
    nvt_groups_add(&all->groups, group, calls->end[call] - calls->start[call]);
    calls->bytes(calls->context, trace, call, all->bytes[group]);
}

static void add_ranges(struct nvt_calls_by_range *all, const struct nvt_thread_ranges *holders)
{
    const struct nvt_ranges *ranges = &holders->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t name = nvt_groups_range(&all->groups, i);
        if (ranges->style[i] != NVT_PUSH_POP || !nvt_thread_ranges_is_outermost(holders, i))
            continue;
        if (name == NVT_NO_STRING ||
            make_room(&all->ranges_ns, name, &all->range_capacity, sizeof(*all->ranges_ns)))
            all->groups.failed = 1;
        else
            all->ranges_ns[name] += (double)(ranges->end[i] - ranges->start[i]);
    }
}

int nvt_calls_by_range_add(struct nvt_calls_by_range *all, const struct nvt_trace *trace,
                           const struct nvt_held_calls *calls, struct nvt_error *err)
{
    struct nvt_thread_ranges holders = {0};
    int status = nvt_thread_ranges_make(&holders, trace, err);
    nvt_groups_trace(&all->groups, trace);
    if (!status)
        add_ranges(all, &holders);
    for (uint32_t i = 0; i < calls->count && !status; i++) {
        uint32_t depth = 0, held = 0;
        for (uint32_t row =
                 innermost(&holders, calls->thread[i], calls->start[i], calls->end[i], &depth);
             row != NVT_NONE; row = holder_around(&holders, row, calls->end[i], &depth))
            if (nvt_thread_ranges_is_outermost(&holders, row)) {
                add_call(all, trace, calls, i, nvt_groups_range(&all->groups, row));
                held = 1;
            }
        if (!held)
            add_call(all, trace, calls, i, nvt_groups_text(&all->groups, ""));
    }
    nvt_thread_ranges_free(&holders);
    return status;
}

void nvt_calls_by_range_free(struct nvt_calls_by_range *all)
{
    nvt_groups_free(&all->groups);
    free(all->bytes);
    free(all->ranges_ns);
    *all = (struct nvt_calls_by_range){0};
}

enum { RANGE, CALL };
enum { COUNT, TOTAL, AVG, SHARE = AVG + 5 }; /* from `first` on */

int nvt_calls_by_range_put(struct nvt_table *table, struct nvt_calls_by_range *all, size_t first,
                           size_t out, size_t in, struct nvt_error *err)
{
    if (nvt_groups_finish(&all->groups, err))
        return -1;
    for (uint32_t i = 0; i < all->groups.count; i++) {
        const struct nvt_group *group = &all->groups.groups[i];
        struct nvt_summary summary = nvt_groups_summary(&all->groups, i);
        uint32_t range = group->key[0];
        double ns = range < all->range_capacity ? all->ranges_ns[range] : 0;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, RANGE, nvt_groups_name(&all->groups, range));
        nvt_table_set_text(table, row, CALL, nvt_groups_name(&all->groups, group->key[1]));
        nvt_table_set_int(table, row, first + COUNT, (int64_t)group->count);
        nvt_table_set_int(table, row, first + TOTAL, group->total);
        nvt_put_summary(table, row, first + AVG, &summary, 1);
        if (ns > 0)
            nvt_table_set_real(table, row, first + SHARE, 100 * (double)group->total / ns);
        nvt_table_set_real(table, row, out, all->bytes[i][0] / MEGABYTE);
        nvt_table_set_real(table, row, in, all->bytes[i][1] / MEGABYTE);
    }
    nvt_table_sort(table, CALL, 0);
    nvt_table_sort(table, RANGE, 0);
    nvt_table_sort(table, first + TOTAL, 1);
    return 0;
}
