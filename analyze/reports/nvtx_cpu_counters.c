/*
 * nvtx_cpu_counters: what threads did on the CPU in push/pop ranges, by name, over all traces: CPU time, page faults and
 * context switches. In the first table with the ranges within them, where those of one name within each other count once; in the
 * second one without.
 *
 * The third one has them by iteration, the fourth one counters that the user named, the fifth one
 * what became of the slots of the core (studies/count_sums.h).
 *
 * A range without counts is left out; in the second table, one that has such a range in it, too.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "../../lib/hardware_counters.h"
#include "../../lib/sample.h"
#include "../studies/count_sums.h"
#include "report.h"

enum {
    ALL = NVT_COUNTS_ALL,
    OWN = NVT_COUNTS_OWN,
    BY_ITERATION = NVT_COUNTS_KINDS,
    CHOSEN,
    TOPDOWN
};

#define KNOWN(value) NVT_IF((value) >= 0, value)

/* For each of something, NaN where either is unknown. */
static double ratio_of(const int64_t *of, enum nvt_count count, enum nvt_count to)
{
    return of[count] >= 0 && of[to] > 0 ? (double)of[count] / (double)of[to] : NAN;
}

static void put_sum(struct nvt_table *table, const char *name, const struct nvt_count_sum *sum)
{
    const int64_t *of = sum->counts.of;
    const int64_t cpu_ns = of[NVT_COUNT_CPU_TIME];
    if (!sum->instances)
        return;
    nvt_table_put(table, name, sum->instances, sum->wall_ns, KNOWN(cpu_ns),
                  cpu_ns >= 0 ? nvt_percent(cpu_ns, sum->wall_ns) : NAN,
                  KNOWN(of[NVT_COUNT_MINOR_FAULTS]), KNOWN(of[NVT_COUNT_MAJOR_FAULTS]),
                  KNOWN(of[NVT_COUNT_VOLUNTARY]), KNOWN(of[NVT_COUNT_INVOLUNTARY]),
                  KNOWN(of[NVT_COUNT_MIGRATIONS]),
                  ratio_of(of, NVT_COUNT_INSTRUCTIONS, NVT_COUNT_CYCLES),
                  1000 * ratio_of(of, NVT_COUNT_CACHE_MISSES, NVT_COUNT_INSTRUCTIONS),
                  1000 * ratio_of(of, NVT_COUNT_BRANCH_MISSES, NVT_COUNT_INSTRUCTIONS));
}

/* Median and maximum of a count over some items, NaN where it is unknown in one of them. */
static void put_count(const struct nvt_counted *all, const uint32_t *rows, uint32_t count,
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
static void put_ratio(const struct nvt_counted *all, const uint32_t *rows, uint32_t count,
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

/* A row for each name with the median and the maximum of each count. 0, or -1 when out of memory. */
static int put_iterations(struct nvt_table *table, const struct nvt_counted *all)
{
    static const enum nvt_count ipc[] = {NVT_COUNT_INSTRUCTIONS, NVT_COUNT_CYCLES},
                                mpki[] = {NVT_COUNT_CACHE_MISSES, NVT_COUNT_INSTRUCTIONS};
    double *values = malloc(((size_t)all->count + 1) * sizeof(*values));
    for (uint32_t group = 0; group < all->names.count && values; group++) {
        const uint32_t first = all->by_name.first[group];
        const uint32_t *rows = &all->by_name.rows[first];
        const uint32_t count = all->by_name.first[group + 1] - first;
        nvt_table_put(table, nvt_groups_part(&all->names, group, 0), count);
        for (unsigned which = 0; which < NVT_COUNT_CYCLES; which++)
            put_count(all, rows, count, which, values, table);
        put_count(all, rows, count, NVT_COUNT_MIGRATIONS, values, table);
        put_ratio(all, rows, count, ipc, 1, values, table);
        put_ratio(all, rows, count, mpki, 1000, values, table);
    }
    free(values);
    return values ? 0 : -1;
}

static void put_chosen(struct nvt_table *table, const struct nvt_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_chosen_sum *sum = nvt_groups_item(groups, i);
        if (sum->total < 0)
            continue;
        nvt_table_put(table, nvt_groups_part(groups, i, 0), nvt_groups_part(groups, i, 1),
                      sum->instances, sum->total, (double)sum->total / (double)sum->instances,
                      sum->instructions > 0 ? 1000 * (double)sum->total / (double)sum->instructions
                                            : NAN);
    }
}

static void put_topdown(struct nvt_table *table, const struct nvt_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_topdown_sum *sum = nvt_groups_item(groups, i);
        struct nvt_topdown parts;
        if (nvt_topdown(sum->set, sum->counts.of[NVT_COUNT_CYCLES],
                        &sum->counts.of[NVT_COUNT_CHOSEN], &parts))
            nvt_table_put(table, nvt_groups_part(groups, i, 0), sum->instances, parts.slots,
                          100 * parts.retiring, 100 * parts.bad_speculation, 100 * parts.frontend,
                          100 * parts.backend, 100 * parts.other);
    }
}

static void note_left_out(const struct nvt_making *making, uint64_t without)
{
    if (without)
        nvt_note(making->input,
                 "note: %s leaves out %" PRIu64 " range%s whose counts were not recorded",
                 making->report->name, without, without == 1 ? "" : "s");
}

/* Which counters there are none of, and why, as the first trace has it that says so. */
static void note_missing(const struct nvt_making *making)
{
    const char *why = NULL;
    for (size_t i = 0; i < making->input->trace_count && !why; i++)
        why = nvt_trace_meta(making->input->traces[i].trace, NVT_FACT_NO_HARDWARE);
    if (why)
        nvt_note(making->input,
                 "note: cycles, instructions and cache misses were not counted: %.384s", why);
}

static int put_nvtx_cpu_counters(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_counted all = nvt_counted_init();
    int status = 0;
    (void)table;
    for (size_t i = 0; i < making->input->trace_count && !status; i++)
        status = nvt_counted_add(&all, making->input->traces[i].trace, making->err);
    if (!status)
        status = nvt_counted_finish(&all);
    for (uint32_t i = 0; i < all.ranges.count && !status; i++) {
        const struct nvt_count_sums *sums = nvt_groups_item(&all.ranges, i);
        for (unsigned k = 0; k < NVT_COUNTS_KINDS; k++)
            put_sum(making->tables[k], nvt_groups_part(&all.ranges, i, 0), &sums->of[k]);
    }
    if (!status) {
        put_chosen(making->tables[CHOSEN], &all.chosen);
        put_topdown(making->tables[TOPDOWN], &all.topdown);
        status = put_iterations(making->tables[BY_ITERATION], &all);
    }
    note_left_out(making, all.without);
    note_missing(making);
    nvt_counted_free(&all);
    return status;
}

#define COLUMNS(instances, wall)                                                                   \
    {                                                                                              \
        {"Range", NVT_RANGES}, {instances, NVT_COUNTS}, {wall, NVT_NS}, {"CPU Time (ns)", NVT_NS}, \
            {"CPU (%)", NVT_PERCENT}, {"Minor Faults", NVT_COUNTS}, {"Major Faults", NVT_COUNTS},  \
            {"Vol. Switches", NVT_COUNTS}, {"Invol. Switches", NVT_COUNTS},                        \
            {"Migrations", NVT_SPARE_COUNTS}, {"IPC", NVT_SPARE_REALS("", 2)},                     \
            {"LLC MPKI", NVT_SPARE_REALS("", 2)},                                                  \
        {                                                                                          \
            "Branch MPKI", NVT_SPARE_REALS("", 2)                                                  \
        }                                                                                          \
    }

static const struct nvt_table_kind more[] = {
    {.name = "nvtx_cpu_counters_own",
     .title = "CPU counters of ranges, without those within them",
     .columns = COLUMNS("Instances", "Own Time (ns)"),
     .order = {"-CPU Time (ns)", "Range"}},
    {.name = "nvtx_cpu_counters_iterations",
     .title = "CPU counters of ranges by iteration",
     .columns = {{"Range", NVT_RANGES},
                 {"Iterations", NVT_COUNTS},
                 {"Med CPU (ns)", NVT_NS_AVERAGE},
                 {"Max CPU (ns)", NVT_NS},
                 {"Med Minor Faults", NVT_REALS("", 1)},
                 {"Max Minor Faults", NVT_COUNTS},
                 {"Med Major Faults", NVT_REALS("", 1)},
                 {"Max Major Faults", NVT_COUNTS},
                 {"Med Vol. Switches", NVT_REALS("", 1)},
                 {"Max Vol. Switches", NVT_COUNTS},
                 {"Med Invol. Switches", NVT_REALS("", 1)},
                 {"Max Invol. Switches", NVT_COUNTS},
                 {"Med Migrations", NVT_SPARE_REALS("", 1)},
                 {"Max Migrations", NVT_SPARE_COUNTS},
                 {"Med IPC", NVT_SPARE_REALS("", 2)},
                 {"Med LLC MPKI", NVT_SPARE_REALS("", 2)}},
     .order = {"-Med CPU (ns)", "Range"},
     .is_optional = 1},
    {.name = "nvtx_cpu_counters_chosen",
     .title = "Named hardware counters of ranges",
     .columns = {{"Range", NVT_RANGES},
                 {"Counter", NVT_NAMES},
                 {"Instances", NVT_COUNTS},
                 {"Total", NVT_COUNTS},
                 {"Avg", NVT_REALS("", 1)},
                 {"Per 1,000 Instructions", NVT_REALS("", 2)}},
     .order = {"-Total", "Range", "Counter"},
     .is_optional = 1},
    {.name = "nvtx_cpu_counters_topdown",
     .title = "Top-down analysis of ranges",
     .columns = {{"Range", NVT_RANGES},
                 {"Instances", NVT_COUNTS},
                 {"Slots", NVT_REALS("", NVT_SIX_DIGITS)},
                 {"Retiring (%)", NVT_PERCENT},
                 {"Bad Speculation (%)", NVT_PERCENT},
                 {"Frontend-Bound (%)", NVT_PERCENT},
                 {"Backend-Bound (%)", NVT_PERCENT},
                 {"Other Thread (%)", NVT_PERCENT}},
     .order = {"-Slots", "Range"},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_nvtx_cpu_counters = {
    .name = "nvtx_cpu_counters",
    .about = "CPU time, page faults, context switches and hardware counters of ranges",
    .title = "CPU counters of ranges",
    .columns = COLUMNS("Instances", "Total Time (ns)"),
    .order = {"-CPU Time (ns)", "Range"},
    .missing = "no CPU counters in the input (record --trace counters)",
    .is_in = nvt_input_has_range_counts,
    .of_input = put_nvtx_cpu_counters,
    .more = more,
};
