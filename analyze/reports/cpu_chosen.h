/*
 * Counters that the user named (record --trace counters=NAME,…) by range, over all traces: ranges of one name within each other count
 * once.
 */
#ifndef NVT_CPU_CHOSEN_H
#define NVT_CPU_CHOSEN_H

#include "../../lib/table.h"
#include "../model/groups.h"
#include "../studies/range_counts.h"

/* What ranges of a name have of a counter. */
struct nvt_cpu_chosen {
    uint64_t instances;
    int64_t total, instructions; /* -1: unknown of one */
};

/* Begin with {.item_size = sizeof(struct nvt_cpu_chosen)}. 0, or -1 when out of memory. */
int nvt_cpu_chosen_add(struct nvt_groups *groups, const struct nvt_counted_ranges *counted);

/* A row for each name and counter that is known of all its ranges, of these columns. */
void nvt_cpu_chosen_put(const struct nvt_groups *groups, struct nvt_table *table);
#define NVT_CPU_CHOSEN_COLUMNS                                                                     \
    {"Range", NVT_RANGES}, {"Counter", NVT_NAMES}, {"Instances", NVT_COUNTS},                      \
        {"Total", NVT_COUNTS}, {"Avg", NVT_REALS("", 1)},                                          \
    {                                                                                              \
        "Per 1,000 Instructions", NVT_REALS("", 2)                                                 \
    }

#endif
