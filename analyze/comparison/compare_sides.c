#include "compare_sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../input/ranks.h"
#include "../../lib/map.h"
#include "../model/cuda_names.h"
#include "../model/named_iterations.h"
#include "../model/plain_names.h"
#include "../studies/phases.h"

int nvt_sides_init(struct nvt_sides *groups)
{
    *groups = (struct nvt_sides){.strings = nvt_strings_new(),
                                 .by_key = calloc(1, sizeof(*groups->by_key))};
    return groups->strings && groups->by_key ? 0 : -1;
}

static void free_times(struct nvt_compared_side *side)
{
    for (size_t i = 0; i < side->time_count; i++)
        free(side->times[i].values);
    free(side->times);
    side->times = NULL;
    side->time_count = 0;
}

void nvt_sides_free(struct nvt_sides *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        for (size_t side = 0; side < NVT_SIDES; side++) {
            free_times(&groups->items[i].sides[side]);
            free(groups->items[i].sides[side].series);
        }
    free(groups->items);
    nvt_strings_free(groups->strings);
    if (groups->by_key)
        nvt_map_free(groups->by_key);
    free(groups->by_key);
}

const char *nvt_compared_kind_name(enum nvt_compared_kind kind)
{
    static const char *const names[] = {"phase", "range", "kernel", "function", "call tree"};
    return names[kind];
}

static struct nvt_compared *new_group(struct nvt_sides *groups, enum nvt_compared_kind kind,
                                      uint32_t configuration, uint32_t name)
{
    if (nvt_grow(&groups->items, groups->count, sizeof(*groups->items)))
        return NULL;
    struct nvt_compared *group = &groups->items[groups->count++];
    *group = (struct nvt_compared){kind,
                                   nvt_strings_get(groups->strings, configuration, NULL),
                                   nvt_strings_get(groups->strings, name, NULL),
                                   {{0}}};
    return group;
}

static struct nvt_compared *find_group(struct nvt_sides *groups, enum nvt_compared_kind kind,
                                       const char *configuration, const char *name)
{
    uint32_t where = nvt_strings_add_text(groups->strings, configuration);
    uint32_t what = nvt_strings_add_text(groups->strings, name);
    if (where == NVT_NO_STRING || what == NVT_NO_STRING)
        return NULL;
    /* Ids are below 2^30 (lib/strings.c), so the three parts do not overlap. */
    uint32_t *index =
        nvt_map_at(groups->by_key, (uint64_t)kind << 60 | (uint64_t)where << 30 | what);
    if (!index)
        return NULL;
    if (*index != NVT_MAP_NONE)
        return &groups->items[*index];
    struct nvt_compared *group = new_group(groups, kind, where, what);
    if (group)
        *index = (uint32_t)(groups->count - 1);
    return group;
}

static struct nvt_typical *new_series(struct nvt_compared_side *side)
{
    if (nvt_grow(&side->series, side->count, sizeof(*side->series)))
        return NULL;
    return &side->series[side->count++];
}

/* The times of a rank of the trace that is being added. NULL when out of memory. */
static struct nvt_compared_times *times_of(struct nvt_compared_side *side, uint32_t rank)
{
    for (size_t i = 0; i < side->time_count; i++)
        if (side->times[i].rank == rank)
            return &side->times[i];
    if (nvt_grow(&side->times, side->time_count, sizeof(*side->times)))
        return NULL;
    struct nvt_compared_times *times = &side->times[side->time_count++];
    *times = (struct nvt_compared_times){.rank = rank};
    return times;
}

static int add_time(struct nvt_compared_side *side, uint32_t rank, double ns)
{
    struct nvt_compared_times *times = times_of(side, rank);
    if (!times)
        return -1;
    if (nvt_grow(&times->values, times->count, sizeof(*times->values)))
        return -1;
    times->values[times->count++] = ns;
    return 0;
}

/* A trace is complete: its times become series. */
static int finish_trace(struct nvt_sides *groups, size_t which)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct nvt_compared_side *side = &groups->items[i].sides[which];
        for (size_t r = 0; r < side->time_count; r++) {
            const struct nvt_compared_times *times = &side->times[r];
            struct nvt_typical *series = new_series(side);
            if (!series || nvt_typical_of_times(times->values, times->count, times->rank, series))
                return -1;
        }
        free_times(side);
    }
    return 0;
}

static int is_phase(const char *name)
{
    return !strcmp(name, "forward") || !strcmp(name, "backward") || !strcmp(name, "optimizer");
}

/* NVT_NO_RANK is NVT_NONE. */
static uint32_t rank_of_process(const struct nvt_trace *trace, uint32_t process, uint32_t otherwise)
{
    if (process == NVT_NONE || trace->processes.rank[process] == NVT_NONE)
        return otherwise;
    return trace->processes.rank[process];
}

static uint32_t rank_of_thread(const struct nvt_trace *trace, uint32_t thread, uint32_t otherwise)
{
    return thread == NVT_NONE ? otherwise
                              : rank_of_process(trace, trace->threads.process[thread], otherwise);
}

/* A trace that is added to a side. */
struct adding {
    struct nvt_sides *groups;
    size_t side;
    const struct nvt_trace *trace;
    const char *configuration;
    /* whole: the name of the range that names the configuration, or NVT_NO_STRING */
    uint32_t rank, whole;
};

#define NAME_MAX_SHOWN 1024

/* "domain:name"; what a range that names a configuration is of stands there. */
static void name_range(const struct adding *adding, uint32_t range, char out[NAME_MAX_SHOWN])
{
    const struct nvt_trace *trace = adding->trace;
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    const size_t shown = trace->ranges.name[range] == adding->whole
                             ? nvt_configuration_workload(name)
                             : strlen(name);
    snprintf(out, NAME_MAX_SHOWN, "%s:%.*s",
             nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]), (int)shown, name);
}

/* What the iterations of all traces are called: as in the first, or "iteration" where each has a name of its own there. 0, or -1
 * when out of memory. */
static int name_iterations(const struct adding *adding, const uint32_t *rows, uint32_t count)
{
    const struct nvt_ranges *ranges = &adding->trace->ranges;
    char text[NAME_MAX_SHOWN] = ":iteration";
    int is_one_name = 1;
    if (adding->groups->iteration || !count)
        return 0;
    for (uint32_t i = 1; i < count; i++)
        is_one_name &= ranges->name[rows[i]] == ranges->name[rows[0]];
    if (is_one_name)
        name_range(adding, rows[0], text);
    adding->groups->iteration = nvt_strings_add_text(adding->groups->strings, text);
    return adding->groups->iteration == NVT_NO_STRING ? -1 : 0;
}

/* The group of a range's name; iterations are compared whatever they are called. NULL when out of memory. */
static struct nvt_compared *group_of(const struct adding *adding, uint32_t range, int is_iteration)
{
    struct nvt_sides *groups = adding->groups;
    const char *name = nvt_name(adding->trace, adding->trace->ranges.name[range]);
    char text[NAME_MAX_SHOWN];
    groups->origins[adding->side].has_ranges |= is_phase(name);
    if (is_phase(name))
        return find_group(groups, NVT_GROUP_PHASE, adding->configuration, name);
    if (is_iteration)
        return find_group(groups, NVT_GROUP_RANGE, adding->configuration,
                          nvt_strings_get(groups->strings, groups->iteration, NULL));
    name_range(adding, range, text);
    return find_group(groups, NVT_GROUP_RANGE, adding->configuration, text);
}

/* Groups of a trace's names, so that each name is looked up once: group + 1 by name and domain, and whether it is an iteration. */
static int add_ranges(const struct adding *adding)
{
    struct nvt_sides *groups = adding->groups;
    const struct nvt_trace *trace = adding->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map known = {0};
    uint32_t functions = nvt_python_functions(trace), count, next = 0;
    uint32_t *iterations = nvt_iterations(trace, &count);
    int status = !iterations || name_iterations(adding, iterations, count) ? -1 : 0;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        const int is_iteration = next < count && iterations[next] == i;
        next += is_iteration ? 1 : 0;
        if (ranges->flags[i] & NVT_RANGE_PARTIAL || nvt_is_function_of(trace, functions, i))
            continue;
        uint32_t *at = nvt_map_at(&known, (uint64_t)ranges->domain[i] << 33 |
                                              (uint64_t)is_iteration << 32 | ranges->name[i]);
        if (at && *at == NVT_MAP_NONE) {
            const struct nvt_compared *group = group_of(adding, i, is_iteration);
            *at = group ? (uint32_t)(group - groups->items) : NVT_MAP_NONE;
        }
        if (!at || *at == NVT_MAP_NONE ||
            add_time(&groups->items[*at].sides[adding->side],
                     rank_of_thread(trace, ranges->thread[i], adding->rank),
                     (double)(ranges->end[i] - ranges->start[i])))
            status = -1;
    }
    free(iterations);
    nvt_map_free(&known);
    return status;
}

static int add_kernels(const struct adding *adding)
{
    struct nvt_sides *groups = adding->groups;
    const struct nvt_trace *trace = adding->trace;
    const struct nvt_ops *ops = &trace->ops;
    char telling[NVT_TELLING_NAME_MAX];
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_KERNEL)
            continue;
        const char *name = nvt_name(trace, ops->name[i]);
        struct nvt_compared *group = find_group(groups, NVT_GROUP_KERNEL, adding->configuration,
                                                nvt_telling_name(name, strlen(name), telling));
        if (!group || add_time(&group->sides[adding->side],
                               rank_of_process(trace, ops->process[i], adding->rank),
                               (double)(ops->end[i] - ops->start[i])))
            return -1;
    }
    return 0;
}

/* Phases of a record that has no trace here: its mean and deviation are all that is known. */
static int add_record(struct nvt_sides *groups, size_t side, const struct nvt_record *record)
{
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    char *configuration = nvt_record_configuration(record);
    int status = configuration ? 0 : -1;
    for (size_t i = 0; i < 3 && !status; i++) {
        char key[64];
        snprintf(key, sizeof(key), "%s_ns_mean", phases[i]);
        double mean = nvt_record_number(record, key);
        snprintf(key, sizeof(key), "%s_ns_std", phases[i]);
        double std = nvt_record_number(record, key), n = nvt_record_number(record, "iterations");
        if (!(mean > 0) || !(std >= 0) || !(n >= 1))
            continue;
        struct nvt_compared *group = find_group(groups, NVT_GROUP_PHASE, configuration, phases[i]);
        struct nvt_typical *series = group ? new_series(&group->sides[side]) : NULL;
        status = series ? 0 : -1;
        groups->origins[side].has_records = 1;
        if (series)
            *series = nvt_typical_of_summary(mean, std, (size_t)n);
    }
    free(configuration);
    return status;
}

static void agree(char *known, size_t size, int given, const char *value, const char *several)
{
    if (!given)
        snprintf(known, size, "%s", value ? value : "");
    else if (strncmp(known, value ? value : "", size - 1))
        snprintf(known, size, "%s", several);
}

void nvt_sides_add_origin(struct nvt_sides *groups, size_t side, const struct nvt_input *input)
{
    struct nvt_origin *origin = &groups->origins[side];
    const struct nvt_provenance from = nvt_input_provenance(input);
    agree(origin->backend, sizeof(origin->backend), origin->given, from.backend, "several");
    agree(origin->device, sizeof(origin->device), origin->given, from.device, "several");
    char date[sizeof(origin->date)];
    const int length = from.date_length ? (int)from.date_length : (int)sizeof(date);
    snprintf(date, sizeof(date), "%.*s", length, from.date ? from.date : "");
    agree(origin->date, sizeof(origin->date), origin->given, date, "several dates");
    agree(origin->condition, sizeof(origin->condition), origin->given, from.condition,
          "several conditions");
    origin->given = 1;
    groups->has_directories |= input->run_count > 0;
}

char *nvt_compared_configuration(const struct nvt_input_trace *from)
{
    const struct nvt_record *record = nvt_record_of_trace(from);
    const char *named = nvt_trace_meta(from->trace, "configuration");
    char *both = NULL, *axes = !record            ? strdup(named ? named : "")
                               : from->is_by_name ? nvt_record_sorted_axes(record, NULL)
                                                  : nvt_record_configuration(record);
    if (!axes || !from->is_by_name)
        return axes;
    /* A program's own, which may have any name. */
    if (asprintf(&both, "%s %s", nvt_record_text(record, "workload"), axes) < 0)
        both = NULL;
    free(axes);
    return both;
}

int nvt_sides_add(struct nvt_sides *groups, size_t side, const struct nvt_input *input,
                  struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_input_trace *from = &input->traces[i];
        char *configuration = nvt_compared_configuration(from);
        const uint32_t whole = from->is_by_name ? from->named : NVT_NO_STRING;
        const struct adding adding = {
            groups, side, from->trace, configuration, nvt_input_rank(from, NVT_NONE), whole};
        if (!configuration || add_ranges(&adding) || add_kernels(&adding) ||
            finish_trace(groups, side))
            status = -1;
        free(configuration);
    }
    for (size_t r = 0; r < input->run_count && !status; r++)
        for (size_t i = 0; i < input->runs[r]->count && !input->runs[r]->is_of_traces && !status;
             i++)
            if (!nvt_input_has_trace(input, input->runs[r], i))
                status = add_record(groups, side, &input->runs[r]->records[i]);
    return status ? nvt_fail(err, "out of memory") : 0;
}

int nvt_sides_move(struct nvt_sides *groups, const struct nvt_compared *from,
                   const char *configuration)
{
    struct nvt_compared *to = find_group(groups, from->kind, configuration, from->name);
    if (!to)
        return -1;
    for (size_t side = 0; side < NVT_SIDES; side++)
        for (size_t i = 0; i < from->sides[side].count; i++) {
            struct nvt_typical *series = new_series(&to->sides[side]);
            if (!series)
                return -1;
            *series = from->sides[side].series[i];
        }
    for (size_t side = 0; side < NVT_SIDES; side++)
        to->sides[side].shown += from->sides[side].shown;
    return 0;
}

int nvt_sides_add_samples(struct nvt_sides *groups, enum nvt_compared_kind kind,
                          const char *configuration, const char *name, size_t side,
                          const struct nvt_typical *value, double shown)
{
    struct nvt_compared *group = find_group(groups, kind, configuration, name);
    struct nvt_typical *series = group ? new_series(&group->sides[side]) : NULL;
    if (!series)
        return -1;
    *series = *value;
    group->sides[side].shown += shown;
    return 0;
}
