#include "cpu_chosen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The name of the n-th counter of a list, "a,b". 0: there are not so many. */
static int name_of(const char *list, unsigned n, char *out, size_t size)
{
    while (n && *list) {
        list += strcspn(list, ",");
        list += *list == ',';
        n--;
    }
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
    return *out != 0;
}

static int add_range(struct nvt_groups *groups, const struct nvt_counted_ranges *counted,
                     uint32_t range, unsigned which, uint32_t name)
{
    const int64_t *of = counted->all[range].of, value = of[NVT_COUNT_CHOSEN + which];
    const uint32_t key[] = {nvt_groups_range(groups, range), name};
    struct nvt_cpu_chosen *sum = nvt_groups_item(groups, nvt_groups_key(groups, key, 2));
    if (!sum)
        return -1;
    sum->instances++;
    sum->total = sum->total >= 0 && value >= 0 ? nvt_clock_sum(sum->total, value) : -1;
    sum->instructions = sum->instructions >= 0 && of[NVT_COUNT_INSTRUCTIONS] >= 0
                            ? nvt_clock_sum(sum->instructions, of[NVT_COUNT_INSTRUCTIONS])
                            : -1;
    return 0;
}

int nvt_cpu_chosen_add(struct nvt_groups *groups, const struct nvt_counted_ranges *counted)
{
    const struct nvt_trace *trace = counted->ranges.trace;
    const char *list = nvt_trace_meta(trace, NVT_FACT_CHOSEN);
    char text[128];
    nvt_groups_trace(groups, trace);
    for (unsigned which = 0; list && which < NVT_CHOSEN_MOST; which++) {
        if (!name_of(list, which, text, sizeof(text)))
            return 0;
        const uint32_t name = nvt_groups_text(groups, text);
        for (uint32_t i = 0; i < trace->ranges.count; i++)
            if (nvt_is_counted(&counted->all[i]) &&
                nvt_thread_ranges_is_outermost(&counted->ranges, i) &&
                add_range(groups, counted, i, which, name))
                return -1;
    }
    return 0;
}

void nvt_cpu_chosen_put(const struct nvt_groups *groups, struct nvt_table *table)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_cpu_chosen *sum = nvt_groups_item(groups, i);
        if (sum->total < 0)
            continue;
        nvt_table_put(table, nvt_groups_part(groups, i, 0), nvt_groups_part(groups, i, 1),
                      sum->instances, sum->total, (double)sum->total / (double)sum->instances,
                      sum->instructions > 0 ? 1000 * (double)sum->total / (double)sum->instructions
                                            : NAN);
    }
}
