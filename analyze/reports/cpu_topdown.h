/*
 * Top-down analysis of push/pop ranges (record --trace counters=topdown, lib/topdown.h), over all traces: ranges of one name within
 * each other count once.
 */
#ifndef NVT_CPU_TOPDOWN_H
#define NVT_CPU_TOPDOWN_H

#include "../../lib/table.h"
#include "../../lib/topdown.h"
#include "../model/groups.h"
#include "../studies/range_counts.h"

/* What ranges of a name have, of one set of counters. */
struct nvt_cpu_topdown {
    const struct nvt_topdown_set *set;
    uint64_t instances;
    struct nvt_count_values counts; /* -1: unknown of one */
};

/* Begin with {.item_size = sizeof(struct nvt_cpu_topdown)}. 0, or -1 when out of memory. */
int nvt_cpu_topdown_add(struct nvt_groups *groups, const struct nvt_counted_ranges *counted);

/* A row for each name whose counters are known of all its ranges, of these columns. */
void nvt_cpu_topdown_put(const struct nvt_groups *groups, struct nvt_table *table);
#define NVT_CPU_TOPDOWN_COLUMNS                                                                    \
    {"Range", NVT_RANGES}, {"Instances", NVT_COUNTS}, {"Slots", NVT_REALS("", NVT_SIX_DIGITS)},    \
        {"Retiring (%)", NVT_PERCENT}, {"Bad Speculation (%)", NVT_PERCENT},                       \
        {"Frontend-Bound (%)", NVT_PERCENT}, {"Backend-Bound (%)", NVT_PERCENT},                   \
    {                                                                                              \
        "Other Thread (%)", NVT_PERCENT                                                            \
    }

#endif
