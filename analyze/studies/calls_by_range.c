#include "calls_by_range.h"

/* --- which ranges hold a call --- */

/* From `row` outwards, the first range that ends no earlier; `depth` counts those that were looked at. */
static uint32_t holder_from(const struct nvt_thread_ranges *holders, uint32_t row, int64_t end,
                            uint32_t *depth)
{
    while (row != NVT_NONE && holders->trace->ranges.end[row] < end)
        row = ++*depth > NVT_NESTING_DEPTH ? NVT_NONE : holders->parent[row];
    return row;
}

/* From the range around `row` outwards, the first that ends no earlier; `depth` counts those that were looked at. */
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

static void add_call(struct nvt_groups *groups, const struct nvt_trace *trace,
                     const struct nvt_held_calls *calls, uint32_t call, uint32_t range_name)
{
    const uint32_t key[] = {range_name, nvt_groups_string(groups, calls->name[call])};
    uint32_t group = nvt_groups_key(groups, key, 2);
    struct nvt_held_sums *sums = nvt_groups_item(groups, group);
    nvt_groups_add(groups, group, calls->end[call] - calls->start[call]);
    if (sums)
        calls->bytes(calls->context, trace, call, sums->bytes);
}

/* Instead of a call: the group is that of the time of a range's name. */
#define NO_CALL (NVT_NONE - 1)

static uint32_t group_of_range(struct nvt_groups *groups, uint32_t range_name)
{
    const uint32_t key[] = {range_name, NO_CALL};
    return nvt_groups_key(groups, key, 2);
}

static void add_ranges(struct nvt_groups *groups, const struct nvt_thread_ranges *holders)
{
    const struct nvt_ranges *ranges = &holders->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->style[i] != NVT_PUSH_POP || !nvt_thread_ranges_is_outermost(holders, i))
            continue;
        struct nvt_held_sums *sums =
            nvt_groups_item(groups, group_of_range(groups, nvt_groups_range(groups, i)));
        if (sums)
            sums->ranges_ns += (double)(ranges->end[i] - ranges->start[i]);
    }
}

int nvt_calls_by_range_add(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_held_calls *calls, struct nvt_error *err)
{
    struct nvt_thread_ranges holders = {0};
    int status = nvt_thread_ranges_make(&holders, trace, err);
    if (!status)
        add_ranges(groups, &holders);
    for (uint32_t i = 0; i < calls->count && !status; i++) {
        uint32_t depth = 0, held = 0;
        for (uint32_t row =
                 innermost(&holders, calls->thread[i], calls->start[i], calls->end[i], &depth);
             row != NVT_NONE; row = holder_around(&holders, row, calls->end[i], &depth))
            if (nvt_thread_ranges_is_outermost(&holders, row)) {
                add_call(groups, trace, calls, i, nvt_groups_range(groups, row));
                held = 1;
            }
        if (!held)
            add_call(groups, trace, calls, i, nvt_groups_text(groups, ""));
    }
    nvt_thread_ranges_free(&holders);
    return status;
}

const char *nvt_calls_by_range_call(const struct nvt_groups *groups, uint32_t group)
{
    uint32_t call = groups->groups[group].key[1];
    return call == NO_CALL ? "" : nvt_groups_name(groups, call);
}

void nvt_calls_by_range_put(struct nvt_table *table, struct nvt_groups *groups, uint32_t number,
                            const char *kind)
{
    const uint32_t *key = groups->groups[number].key;
    if (key[1] == NO_CALL)
        return;
    const char *range = nvt_groups_name(groups, key[0]);
    const struct nvt_held_sums *of_range =
        *range ? nvt_groups_item(groups, group_of_range(groups, key[0])) : NULL;
    const double ranges_ns = of_range ? of_range->ranges_ns : 0;
    const struct nvt_group *group = &groups->groups[number];
    const struct nvt_held_sums *sums = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    nvt_table_put(table, range, nvt_calls_by_range_call(groups, number));
    if (kind)
        nvt_table_more(table, kind);
    nvt_table_more(table, group->count, group->total, &times, nvt_percent(group->total, ranges_ns),
                   sums->bytes[0] / NVT_MEGABYTE, sums->bytes[1] / NVT_MEGABYTE);
}
