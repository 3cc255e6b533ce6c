#include "cpu_topdown.h"

static int add_range(struct nvt_groups *groups, const struct nvt_counted_ranges *counted,
                     uint32_t range, const struct nvt_topdown_set *set, uint32_t set_name)
{
    const uint32_t key[] = {nvt_groups_range(groups, range), set_name};
    struct nvt_cpu_topdown *sum = nvt_groups_item(groups, nvt_groups_key(groups, key, 2));
    if (!sum)
        return -1;
    sum->set = set;
    sum->instances++;
    nvt_count_values_add(&sum->counts, &counted->all[range]);
    return 0;
}

int nvt_cpu_topdown_add(struct nvt_groups *groups, const struct nvt_counted_ranges *counted)
{
    const struct nvt_trace *trace = counted->ranges.trace;
    const char *name = nvt_trace_meta(trace, NVT_FACT_TOPDOWN);
    const struct nvt_topdown_set *set = name ? nvt_topdown_named(name) : NULL;
    int status = 0;
    if (!set)
        return 0;
    nvt_groups_trace(groups, trace);
    const uint32_t set_name = nvt_groups_text(groups, name);
    for (uint32_t i = 0; i < trace->ranges.count && !status; i++)
        if (nvt_is_counted(&counted->all[i]) && nvt_thread_ranges_is_outermost(&counted->ranges, i))
            status = add_range(groups, counted, i, set, set_name);
    return status;
}

void nvt_cpu_topdown_put(const struct nvt_groups *groups, struct nvt_table *table)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_cpu_topdown *sum = nvt_groups_item(groups, i);
        struct nvt_topdown parts;
        if (nvt_topdown(sum->set, sum->counts.of[NVT_COUNT_CYCLES],
                        &sum->counts.of[NVT_COUNT_CHOSEN], &parts))
            nvt_table_put(table, nvt_groups_part(groups, i, 0), sum->instances, parts.slots,
                          100 * parts.retiring, 100 * parts.bad_speculation, 100 * parts.frontend,
                          100 * parts.backend, 100 * parts.other);
    }
}
