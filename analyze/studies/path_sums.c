#include "path_sums.h"

#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../model/buckets.h"
#include "../model/named_iterations.h"

/* The part of a process's time that is looked at. */
struct part {
    const struct nvt_critical_path *path;
    int64_t from, to;
    uint32_t iterations;
};

/* The samples of a trace, with their functions. */
struct sampled {
    const struct nvt_trace *trace;
    struct nvt_sampled_functions functions;
    struct nvt_buckets threads; /* samples of each */
    uint32_t *groups;           /* of each function */
};

struct nvt_path_sums nvt_path_sums_init(const struct nvt_input *input)
{
    return (struct nvt_path_sums){.ranges = {.item_size = sizeof(struct nvt_path_range)},
                                  .cpu = nvt_cpu_count(input)};
}

/* --- functions of the host -------------------------------------------------------------------------- */

/* The samples of a step of the path. 0, or -1 when out of memory. */
static int add_segment(struct nvt_path_sums *sums, const struct sampled *sampled,
                       const struct nvt_path_segment *segment, int64_t from, int64_t to)
{
    const struct nvt_cpu_samples *rows = &sampled->trace->cpu_samples;
    const uint32_t thread = segment->thread;
    from = from > segment->start ? from : segment->start;
    to = to < segment->end ? to : segment->end;
    if (segment->kind != NVT_PATH_HOST || thread == NVT_NONE)
        return 0;
    uint32_t at = nvt_buckets_behind(&sampled->threads, thread, rows->time, from);
    for (; at < sampled->threads.first[thread + 1]; at++) {
        const uint32_t sample = sampled->threads.rows[at];
        const int64_t weight = nvt_sample_weight(&sampled->functions, sample);
        if (rows->time[sample] > to)
            break;
        if (nvt_pairs_add(&sums->code, 0,
                          sampled->groups[nvt_function_of(&sampled->functions, sample)], weight))
            return -1;
        sums->code_weight = nvt_clock_sum(sums->code_weight, weight);
        sums->samples++;
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_all(struct nvt_path_sums *sums, struct sampled *sampled, const struct part *parts,
                   uint32_t count)
{
    const struct nvt_trace *trace = sampled->trace;
    sampled->groups = nvt_cpu_groups(&sums->functions, &sampled->functions);
    if (!sampled->groups || nvt_buckets_make(&sampled->threads, trace->cpu_samples.thread,
                                             trace->threads.count, NULL, trace->cpu_samples.count))
        return -1;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < parts[i].path->count; k++)
            if (add_segment(sums, sampled, &parts[i].path->segments[k], parts[i].from, parts[i].to))
                return -1;
    return 0;
}

/* Add a trace's paths; nothing where it has no samples. 0, or -1 with err filled. */
static int add_code(struct nvt_path_sums *sums, const struct nvt_trace *trace,
                    const struct part *parts, uint32_t count, struct nvt_error *err)
{
    struct sampled sampled = {.trace = trace};
    if (!trace->cpu_samples.count)
        return 0;
    int status = nvt_cpu_functions(&sampled.functions, trace, NVT_BY_FUNCTION, &sums->cpu, err);
    if (!status && add_all(sums, &sampled, parts, count))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_sampled_functions_free(&sampled.functions);
    nvt_buckets_free(&sampled.threads);
    free(sampled.groups);
    return status;
}

/* --- sums -------------------------------------------------------------------------------------------- */

/* 0 on the device, 1 between, 2 on the host. */
static uint32_t side_of(enum nvt_path_kind kind)
{
    return kind <= NVT_PATH_COPY ? 0 : nvt_path_is_of_op(kind) ? 1 : 2;
}

/* The time of [start, end] that lies in a part. */
static int64_t within(const struct part *part, int64_t start, int64_t end)
{
    start = start > part->from ? start : part->from;
    end = end < part->to ? end : part->to;
    return end > start ? nvt_clock_since(end, start) : 0;
}

/* 0, or -1 when out of memory. */
static int add_part(struct nvt_path_sums *sums, const struct nvt_trace *trace,
                    const struct part *part)
{
    const struct nvt_critical_path *path = part->path;
    struct nvt_path_part sum = {.trace = trace,
                                .process = path->process,
                                .iterations = part->iterations,
                                .inferred = path->inferred,
                                .handovers = path->handovers};
    for (uint32_t i = 0; i < path->count; i++) {
        int64_t ns = within(part, path->segments[i].start, path->segments[i].end);
        sum.kinds[path->segments[i].kind] += ns;
        sum.all += ns;
    }
    if (nvt_grow(&sums->parts, sums->part_count, sizeof(*sums->parts)))
        return -1;
    sums->parts[sums->part_count++] = sum;
    return 0;
}

static void add_path(struct nvt_path_sums *sums, const struct nvt_trace *trace,
                     const struct nvt_critical_path *path, const struct part *part)
{
    for (uint32_t i = 0; i < path->count; i++) {
        const struct nvt_path_segment *segment = &path->segments[i];
        int64_t ns = within(part, segment->start, segment->end);
        if (!ns)
            continue;
        uint32_t name = segment->kind == NVT_PATH_HOST && segment->range != NVT_NONE
                            ? nvt_groups_range(&sums->on_path, segment->range)
                            : nvt_groups_text(&sums->on_path, nvt_path_name(trace, segment));
        uint32_t range = segment->range == NVT_NONE
                             ? nvt_groups_text(&sums->ranges, "")
                             : nvt_groups_range(&sums->ranges, segment->range);
        const uint32_t by_name[] = {segment->kind, name};
        struct nvt_path_range *time =
            nvt_groups_item(&sums->ranges, nvt_groups_key(&sums->ranges, &range, 1));
        nvt_groups_add(&sums->on_path, nvt_groups_key(&sums->on_path, by_name, 2), ns);
        if (time)
            time->sides[side_of(segment->kind)] += ns;
        sums->path_ns += ns;
    }
    sums->inferred += path->inferred;
}

static void add_total(struct nvt_path_sums *sums, enum nvt_path_kind kind, uint32_t name,
                      int64_t ns)
{
    const uint32_t key[] = {kind, nvt_groups_string(&sums->all, name)};
    nvt_groups_add(&sums->all, nvt_groups_key(&sums->all, key, 2), ns);
}

/* Everything of a process that could be on its path, in the same part. */
static void add_totals(struct nvt_path_sums *sums, const struct nvt_trace *trace, uint32_t process,
                       const struct part *part)
{
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_os_calls *calls = &trace->os_calls;
    for (uint32_t i = 0; i < ops->count; i++) {
        int64_t ns = within(part, ops->start[i], ops->end[i]);
        if (!ns || ops->process[i] != process)
            continue;
        add_total(sums, nvt_path_kind_of_op(trace, i), ops->name[i], ns);
    }
    for (uint32_t i = 0; i < apis->count; i++) {
        int64_t ns = within(part, apis->start[i], apis->end[i]);
        if (!ns || trace->threads.process[apis->thread[i]] != process)
            continue;
        add_total(sums, NVT_PATH_CALL, apis->name[i], ns);
    }
    for (uint32_t i = 0; i < calls->count; i++) {
        int64_t ns = within(part, calls->start[i], calls->end[i]);
        if (!ns || trace->threads.process[calls->thread[i]] != process)
            continue;
        add_total(sums, NVT_PATH_SYSTEM, calls->name[i], ns);
    }
}

/* 0, or -1 when out of memory. */
static int add_process(struct nvt_path_sums *sums, const struct nvt_trace *trace,
                       const struct part *steady)
{
    const struct part whole = {steady->path, INT64_MIN, INT64_MAX, 0};
    if (add_part(sums, trace, &whole) || (steady->iterations && add_part(sums, trace, steady)))
        return -1;
    sums->has_iterations |= steady->iterations > 0;
    sums->processes++;
    add_path(sums, trace, steady->path, steady);
    add_totals(sums, trace, steady->path->process, steady);
    return 0;
}

/* What is looked at of each path: the second half of the process's iterations; without any, all of it. NULL when out of memory. */
static struct part *find_parts(const struct nvt_trace *trace,
                               const struct nvt_critical_paths *paths)
{
    uint32_t count = 0, *iterations = nvt_iterations(trace, &count);
    struct part *parts = malloc(((size_t)paths->count + 1) * sizeof(*parts));
    for (uint32_t i = 0; i < paths->count && parts && iterations; i++) {
        struct part *part = &parts[i];
        *part = (struct part){&paths->items[i], INT64_MIN, INT64_MAX, 0};
        part->iterations = nvt_steady_iterations(trace, part->path->process, iterations, count,
                                                 &part->from, &part->to);
    }
    if (!iterations) {
        free(parts);
        parts = NULL;
    }
    free(iterations);
    return parts;
}

int nvt_path_sums_add(struct nvt_path_sums *sums, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err)
{
    struct nvt_critical_paths paths = {0};
    struct part *parts = NULL;
    int status = nvt_critical_paths_make(&paths, trace, flags, err);
    if (!status && !(parts = find_parts(trace, &paths)))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    sums->is_blind = paths.is_blind;
    nvt_groups_trace(&sums->on_path, trace);
    nvt_groups_trace(&sums->all, trace);
    nvt_groups_trace(&sums->ranges, trace);
    for (uint32_t i = 0; i < paths.count && !status; i++)
        if (add_process(sums, trace, &parts[i]))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    if (!status)
        status = add_code(sums, trace, parts, paths.count, err);
    nvt_critical_paths_free(&paths);
    free(parts);
    return status;
}

int nvt_path_sums_finish(struct nvt_path_sums *sums, struct nvt_error *err)
{
    if (nvt_groups_finish(&sums->on_path, err) || nvt_groups_finish(&sums->all, err) ||
        nvt_groups_finish(&sums->ranges, err))
        return -1;
    return nvt_pairs_sort(&sums->code, 1) ? nvt_fail(err, "out of memory") : 0;
}

const struct nvt_group *nvt_path_sums_of(struct nvt_path_sums *sums, const struct nvt_group *all)
{
    const char *name = nvt_groups_name(&sums->all, all->key[1]);
    const uint32_t key[] = {all->key[0], nvt_groups_text(&sums->on_path, name)};
    const uint32_t group = nvt_groups_key(&sums->on_path, key, 2);
    return group == NVT_NONE ? NULL : &sums->on_path.groups[group];
}

void nvt_path_sums_free(struct nvt_path_sums *sums)
{
    free(sums->parts);
    nvt_groups_free(&sums->on_path);
    nvt_groups_free(&sums->all);
    nvt_groups_free(&sums->ranges);
    nvt_groups_free(&sums->functions);
    nvt_pairs_free(&sums->code);
}
