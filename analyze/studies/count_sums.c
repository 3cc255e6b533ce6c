#include "count_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/hardware_counters.h"
#include "../model/named_iterations.h"

/* A trace while it is added. */
struct adding {
    struct nvt_counted *all;
    struct nvt_counted_ranges from;
    struct nvt_named_iterations iterations;
    const struct nvt_topdown_set *set; /* NULL: none was counted */
    uint32_t set_name;                 /* of all->topdown */
    uint32_t chosen[NVT_CHOSEN_MOST];  /* names of all->chosen */
    unsigned chosen_count;
};

struct nvt_counted nvt_counted_init(void)
{
    return (struct nvt_counted){.ranges = {.item_size = sizeof(struct nvt_count_sums)},
                                .chosen = {.item_size = sizeof(struct nvt_chosen_sum)},
                                .topdown = {.item_size = sizeof(struct nvt_topdown_sum)}};
}

/* --- a range ---------------------------------------------------------------------------------------- */

static void add_to(struct nvt_count_sum *sum, const struct nvt_count_values *values,
                   int64_t wall_ns)
{
    nvt_count_values_add(&sum->counts, values);
    sum->instances++;
    sum->wall_ns = nvt_clock_sum(sum->wall_ns, wall_ns);
}

/* 0, or -1 when out of memory. */
static int add_sums(struct adding *adding, uint32_t range, int is_outermost)
{
    struct nvt_groups *groups = &adding->all->ranges;
    const struct nvt_counted_ranges *from = &adding->from;
    const struct nvt_ranges *ranges = &from->ranges.trace->ranges;
    const uint32_t name = nvt_groups_range(groups, range);
    struct nvt_count_sums *sums = nvt_groups_item(groups, nvt_groups_key(groups, &name, 1));
    const int64_t wall_ns = ranges->end[range] - ranges->start[range];
    if (!sums)
        return -1;
    if (is_outermost)
        add_to(&sums->of[NVT_COUNTS_ALL], &from->all[range], wall_ns);
    if (nvt_is_counted(&from->own[range]))
        add_to(&sums->of[NVT_COUNTS_OWN], &from->own[range], wall_ns - from->children_ns[range]);
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_iteration(struct adding *adding, uint32_t range)
{
    struct nvt_counted *all = adding->all;
    const struct nvt_trace *trace = adding->from.ranges.trace;
    const uint32_t thread = trace->ranges.thread[range];
    const uint32_t at = nvt_iteration_at(
        &adding->iterations, thread, trace->threads.process[thread], trace->ranges.start[range]);
    if (at == NVT_NONE)
        return 0;
    const uint32_t name = nvt_groups_range(&all->names, range),
                   group = nvt_groups_key(&all->names, &name, 1), iteration = all->iterations + at;
    struct nvt_iteration_counts *item =
        group == NVT_NONE ? NULL
                          : nvt_map_item(&all->known, (uint64_t)group << 32 | iteration,
                                         &all->items, &all->count, sizeof(*item));
    if (!item)
        return -1;
    item->group = group;
    item->iteration = iteration;
    nvt_count_values_add(&item->counts, &adding->from.all[range]);
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_chosen(struct adding *adding, uint32_t range, unsigned which)
{
    struct nvt_groups *groups = &adding->all->chosen;
    const int64_t *of = adding->from.all[range].of, value = of[NVT_COUNT_CHOSEN + which];
    const uint32_t key[] = {nvt_groups_range(groups, range), adding->chosen[which]};
    struct nvt_chosen_sum *sum = nvt_groups_item(groups, nvt_groups_key(groups, key, 2));
    if (!sum)
        return -1;
    sum->instances++;
    sum->total = sum->total >= 0 && value >= 0 ? nvt_clock_sum(sum->total, value) : -1;
    sum->instructions = sum->instructions >= 0 && of[NVT_COUNT_INSTRUCTIONS] >= 0
                            ? nvt_clock_sum(sum->instructions, of[NVT_COUNT_INSTRUCTIONS])
                            : -1;
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_topdown(struct adding *adding, uint32_t range)
{
    struct nvt_groups *groups = &adding->all->topdown;
    const uint32_t key[] = {nvt_groups_range(groups, range), adding->set_name};
    struct nvt_topdown_sum *sum = nvt_groups_item(groups, nvt_groups_key(groups, key, 2));
    if (!sum)
        return -1;
    sum->set = adding->set;
    sum->instances++;
    nvt_count_values_add(&sum->counts, &adding->from.all[range]);
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_range(struct adding *adding, uint32_t range)
{
    const int is_outermost = nvt_thread_ranges_is_outermost(&adding->from.ranges, range);
    int failed = add_sums(adding, range, is_outermost);
    if (!is_outermost || failed)
        return failed;
    failed = add_iteration(adding, range) || (adding->set && add_topdown(adding, range));
    for (unsigned i = 0; i < adding->chosen_count && !failed; i++)
        failed = add_chosen(adding, range, i);
    return failed ? -1 : 0;
}

/* --- a trace ---------------------------------------------------------------------------------------- */

/* What the trace says that was counted: "a,b", and the name of a set. */
static void read_facts(struct adding *adding, const struct nvt_trace *trace)
{
    const char *list = nvt_trace_meta(trace, NVT_FACT_CHOSEN);
    const char *set = nvt_trace_meta(trace, NVT_FACT_TOPDOWN);
    adding->set = set ? nvt_topdown_named(set) : NULL;
    adding->set_name = adding->set ? nvt_groups_text(&adding->all->topdown, set) : 0;
    while (list && *list && *list != ',' && adding->chosen_count < NVT_CHOSEN_MOST) {
        char text[128];
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(list, ","), list);
        adding->chosen[adding->chosen_count++] = nvt_groups_text(&adding->all->chosen, text);
        list += strcspn(list, ",");
        list += *list == ',';
    }
}

static void begin(struct nvt_counted *counted, const struct nvt_trace *trace)
{
    nvt_groups_trace(&counted->ranges, trace);
    nvt_groups_trace(&counted->chosen, trace);
    nvt_groups_trace(&counted->topdown, trace);
    nvt_groups_trace(&counted->names, trace);
}

int nvt_counted_add(struct nvt_counted *counted, const struct nvt_trace *trace,
                    struct nvt_error *err)
{
    struct adding adding = {.all = counted};
    if (!trace->range_counts.count)
        return 0;
    begin(counted, trace);
    read_facts(&adding, trace);
    int status = nvt_counted_ranges_make(&adding.from, trace, err);
    if (!status)
        status = nvt_named_iterations_of(&adding.iterations, trace);
    for (uint32_t i = 0; i < trace->ranges.count && !status; i++)
        if (nvt_is_counted(&adding.from.all[i]))
            status = add_range(&adding, i);
    counted->iterations += adding.iterations.count;
    counted->without += adding.from.without;
    nvt_named_iterations_free(&adding.iterations);
    nvt_counted_ranges_free(&adding.from);
    return status || nvt_groups_failed(&counted->names) ? -1 : 0;
}

int nvt_counted_finish(struct nvt_counted *counted)
{
    uint32_t *owner = malloc(((size_t)counted->count + 1) * sizeof(*owner));
    for (uint32_t i = 0; owner && i < counted->count; i++)
        owner[i] = counted->items[i].group;
    const int failed = !owner || nvt_buckets_make(&counted->by_name, owner, counted->names.count,
                                                  NULL, counted->count);
    free(owner);
    return failed ? -1 : 0;
}

void nvt_counted_free(struct nvt_counted *counted)
{
    nvt_groups_free(&counted->ranges);
    nvt_groups_free(&counted->chosen);
    nvt_groups_free(&counted->topdown);
    nvt_groups_free(&counted->names);
    nvt_map_free(&counted->known);
    nvt_buckets_free(&counted->by_name);
    free(counted->items);
}
