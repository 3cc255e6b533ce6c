/*
 * nvtx_cpu_counters: what threads did on the CPU in push/pop ranges, by name, over all traces: CPU time, page faults and
 * context switches. In the first table with the ranges within them, where those of one name within each other count once; in the
 * second one without.
 *
 * The third one has them by iteration (cpu_iterations.h), the fourth one counters that the user named (cpu_chosen.h), the fifth one
 * what became of the slots of the core (cpu_topdown.h).
 *
 * A range without counts is left out; in the second table, one that has such a range in it, too.
 */
#include <inttypes.h>
#include <math.h>

#include "../../lib/hardware_counters.h"
#include "../studies/range_counts.h"
#include "cpu_chosen.h"
#include "cpu_iterations.h"
#include "cpu_topdown.h"
#include "report.h"

enum { ALL, OWN, TABLES, BY_ITERATION = TABLES, CHOSEN, TOPDOWN };

/* What ranges of a name have in each table. */
struct sums {
    struct sum {
        uint64_t instances;
        int64_t wall_ns;
        struct nvt_count_values counts; /* -1: unknown of one */
    } of[TABLES];
};

static void add_nvtx_cpu_counters(struct sum *sum, const struct nvt_count_values *values,
                                  int64_t wall_ns)
{
    nvt_count_values_add(&sum->counts, values);
    sum->instances++;
    sum->wall_ns = nvt_clock_sum(sum->wall_ns, wall_ns);
}

/* 0, or -1 when out of memory. */
static int add_nvtx_cpu_counters_trace(struct nvt_groups *groups,
                                       const struct nvt_counted_ranges *counted)
{
    const struct nvt_ranges *ranges = &counted->ranges.trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!nvt_is_counted(&counted->all[i]))
            continue;
        const uint32_t name = nvt_groups_range(groups, i);
        struct sums *sums = nvt_groups_item(groups, nvt_groups_key(groups, &name, 1));
        const int64_t wall_ns = ranges->end[i] - ranges->start[i];
        if (!sums)
            return -1;
        if (nvt_thread_ranges_is_outermost(&counted->ranges, i))
            add_nvtx_cpu_counters(&sums->of[ALL], &counted->all[i], wall_ns);
        if (nvt_is_counted(&counted->own[i]))
            add_nvtx_cpu_counters(&sums->of[OWN], &counted->own[i],
                                  wall_ns - counted->children_ns[i]);
    }
    return 0;
}

#define KNOWN(value) NVT_IF((value) >= 0, value)

/* For each of something, NaN where either is unknown. */
static double ratio_of(const int64_t *of, enum nvt_count count, enum nvt_count to)
{
    return of[count] >= 0 && of[to] > 0 ? (double)of[count] / (double)of[to] : NAN;
}

static void put_nvtx_cpu_counters_row(struct nvt_table *table, const char *name,
                                      const struct sum *sum)
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

/* What is added up for the tables. */
struct counted {
    struct nvt_groups groups, chosen, topdown;
    struct nvt_cpu_iterations iterations;
    uint64_t without;
};

static void free_counted(struct counted *all)
{
    nvt_cpu_iterations_free(&all->iterations);
    nvt_groups_free(&all->groups);
    nvt_groups_free(&all->chosen);
    nvt_groups_free(&all->topdown);
}

/* A trace that has counts. 0, or -1 with err, or when out of memory. */
static int add_counted(struct counted *all, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_counted_ranges counted = {.all = NULL};
    nvt_groups_trace(&all->groups, trace);
    const int status = nvt_counted_ranges_make(&counted, trace, err) ||
                               add_nvtx_cpu_counters_trace(&all->groups, &counted) ||
                               nvt_cpu_iterations_add(&all->iterations, &counted) ||
                               nvt_cpu_chosen_add(&all->chosen, &counted) ||
                               nvt_cpu_topdown_add(&all->topdown, &counted)
                           ? -1
                           : 0;
    all->without += counted.without;
    nvt_counted_ranges_free(&counted);
    return status;
}

static int put_nvtx_cpu_counters(struct nvt_table *table, const struct nvt_making *making)
{
    struct counted all = {.groups = {.item_size = sizeof(struct sums)},
                          .chosen = {.item_size = sizeof(struct nvt_cpu_chosen)},
                          .topdown = {.item_size = sizeof(struct nvt_cpu_topdown)}};
    int status = 0;
    (void)table;
    for (size_t i = 0; i < making->input->trace_count && !status; i++)
        if (making->input->traces[i].trace->range_counts.count)
            status = add_counted(&all, making->input->traces[i].trace, making->err);
    for (uint32_t i = 0; i < all.groups.count && !status; i++) {
        const struct sums *sums = nvt_groups_item(&all.groups, i);
        for (unsigned k = 0; k < TABLES; k++)
            put_nvtx_cpu_counters_row(making->tables[k], nvt_groups_part(&all.groups, i, 0),
                                      &sums->of[k]);
    }
    if (!status) {
        nvt_cpu_chosen_put(&all.chosen, making->tables[CHOSEN]);
        nvt_cpu_topdown_put(&all.topdown, making->tables[TOPDOWN]);
        status = nvt_cpu_iterations_put(&all.iterations, making->tables[BY_ITERATION]);
    }
    note_left_out(making, all.without);
    note_missing(making);
    free_counted(&all);
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
     .columns = {NVT_CPU_ITERATION_COLUMNS},
     .order = {"-Med CPU (ns)", "Range"},
     .is_optional = 1},
    {.name = "nvtx_cpu_counters_chosen",
     .title = "Named hardware counters of ranges",
     .columns = {NVT_CPU_CHOSEN_COLUMNS},
     .order = {"-Total", "Range", "Counter"},
     .is_optional = 1},
    {.name = "nvtx_cpu_counters_topdown",
     .title = "Top-down analysis of ranges",
     .columns = {NVT_CPU_TOPDOWN_COLUMNS},
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
