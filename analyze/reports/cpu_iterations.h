/*
 * CPU counts of push/pop ranges by iteration: what the ranges of a name have in each iteration that the program names
 * (named_iterations.h) and that has one of them, over all traces. Ranges of one name within each other count once.
 */
#ifndef NVT_CPU_ITERATIONS_H
#define NVT_CPU_ITERATIONS_H

#include "../../lib/table.h"
#include "../model/groups.h"
#include "../studies/range_counts.h"

/* Zero-initialise; release with nvt_cpu_iterations_free, also after a failure. */
struct nvt_cpu_iterations {
    struct nvt_groups names;
    struct nvt_map
        known; /* group << 32 | number of the iteration among those of all traces -> item */
    struct nvt_cpu_iteration {
        uint32_t group, iteration;
        struct nvt_count_values counts; /* -1: unknown of one */
    } * items;
    uint32_t count, iterations;
};

/* 0, or -1 when out of memory. */
int nvt_cpu_iterations_add(struct nvt_cpu_iterations *all,
                           const struct nvt_counted_ranges *counted);

/* A row for each name with the median and the maximum of each count, of these columns. 0, or -1 when out of memory. */
int nvt_cpu_iterations_put(const struct nvt_cpu_iterations *all, struct nvt_table *table);
#define NVT_CPU_ITERATION_COLUMNS                                                                  \
    {"Range", NVT_RANGES}, {"Iterations", NVT_COUNTS}, {"Med CPU (ns)", NVT_NS_AVERAGE},           \
        {"Max CPU (ns)", NVT_NS}, {"Med Minor Faults", NVT_REALS("", 1)},                          \
        {"Max Minor Faults", NVT_COUNTS}, {"Med Major Faults", NVT_REALS("", 1)},                  \
        {"Max Major Faults", NVT_COUNTS}, {"Med Vol. Switches", NVT_REALS("", 1)},                 \
        {"Max Vol. Switches", NVT_COUNTS}, {"Med Invol. Switches", NVT_REALS("", 1)},              \
        {"Max Invol. Switches", NVT_COUNTS}, {"Med Migrations", NVT_SPARE_REALS("", 1)},           \
        {"Max Migrations", NVT_SPARE_COUNTS}, {"Med IPC", NVT_SPARE_REALS("", 2)},                 \
    {                                                                                              \
        "Med LLC MPKI", NVT_SPARE_REALS("", 2)                                                     \
    }

void nvt_cpu_iterations_free(struct nvt_cpu_iterations *all);

#endif
