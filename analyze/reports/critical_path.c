/*
 * critical_path: what the time of a program waited for, moment by moment (critical_path.h). The first table has a row a
 * process: its path, and the share of each kind; and another one of the second half of its iterations (ranges `iteration`
 * or `ProfilerStep#…`), which the other tables are about where there are any. The second says what is on the path: of kernels, copies and calls also
 * how much time they took in all, and how much of it is hidden: beside the path, so that nothing is won by making it
 * shorter; and the host by the innermost range that it was in. The third has the same by range: of what was launched in it, and of the host's time in it.
 * Where there are samples, the fourth has the functions that the host ran on it: CPU time, in samples of the
 * thread that is followed, so that of what is waited for there nothing is seen.
 *
 * critical_path_trace: the path step by step.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../path/critical_path.h"
#include "../diagnosis/diagnose.h"
#include "../model/buckets.h"
#include "../model/groups.h"
#include "../device/project.h"
#include "cpu.h"
#include "report.h"

/* --- paths of a trace -------------------------------------------------------------------------------- */

static void tell_missing(struct nvt_input *input, const struct nvt_trace *trace,
                         const struct nvt_critical_paths *paths)
{
    if (paths->is_blind)
        nvt_note(input,
                 "note: %s has no CUDA calls other than launches: it is unknown what the host "
                 "waited for, so there is no critical path%s",
                 trace->path,
                 trace->recorder == NVT_BY_NVTALLY ? " (record --trace kernel,api,sync)" : "");
}

/* --- functions of the host -------------------------------------------------------------------------- */

/* What the host ran on the paths of all traces. */
struct path_code {
    struct nvt_cpu_input input; /* nvt_cpu_count's */
    struct nvt_groups functions;
    struct nvt_pairs pairs; /* whole 0; the groups of functions */
    int64_t weight;
    uint64_t samples;
};

/* A path, from one moment to another. */
struct path_part {
    const struct nvt_critical_path *path;
    int64_t from, to;
};

/* The samples of a trace, with their functions. */
struct sampled {
    const struct nvt_trace *trace;
    struct nvt_sampled_functions functions;
    struct nvt_buckets threads; /* samples of each */
    uint32_t *groups;           /* of each function */
};

/* The samples of a step of the path. 0, or -1 when out of memory. */
static int add_segment(struct path_code *code, const struct sampled *sampled,
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
        if (nvt_pairs_add(&code->pairs, 0,
                          sampled->groups[nvt_function_of(&sampled->functions, sample)], weight))
            return -1;
        code->weight = nvt_clock_sum(code->weight, weight);
        code->samples++;
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_all(struct path_code *code, struct sampled *sampled, const struct path_part *parts,
                   uint32_t count)
{
    const struct nvt_trace *trace = sampled->trace;
    sampled->groups = nvt_cpu_groups(&code->functions, &sampled->functions);
    if (!sampled->groups || nvt_buckets_make(&sampled->threads, trace->cpu_samples.thread,
                                             trace->threads.count, NULL, trace->cpu_samples.count))
        return -1;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < parts[i].path->count; k++)
            if (add_segment(code, sampled, &parts[i].path->segments[k], parts[i].from, parts[i].to))
                return -1;
    return 0;
}

/* Add a trace's paths; nothing where it has no samples. 0, or -1 with err filled. */
static int add_path_code(struct path_code *code, const struct nvt_trace *trace,
                         const struct path_part *parts, uint32_t count, struct nvt_error *err)
{
    struct sampled sampled = {.trace = trace};
    if (!trace->cpu_samples.count)
        return 0;
    int status = nvt_cpu_functions(&sampled.functions, trace, NVT_BY_FUNCTION, &code->input, err);
    if (!status && add_all(code, &sampled, parts, count))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_sampled_functions_free(&sampled.functions);
    nvt_buckets_free(&sampled.threads);
    free(sampled.groups);
    return status;
}

/* 0, or -1 when out of memory. */
static int put_path_code(struct nvt_table *table, struct path_code *code)
{
    if (nvt_pairs_sort(&code->pairs, 1))
        return -1;
    for (uint32_t i = 0; i < code->pairs.count; i++) {
        const struct nvt_pair *pair = &code->pairs.items[i];
        nvt_table_put(table, nvt_percent(pair->weight, code->weight),
                      nvt_cpu_time(&code->input, pair->weight), pair->count,
                      nvt_text_if_any(nvt_groups_part(&code->functions, pair->part, 0)),
                      nvt_text_if_any(nvt_groups_part(&code->functions, pair->part, 1)));
    }
    return 0;
}

static void path_code_free(struct path_code *code)
{
    nvt_groups_free(&code->functions);
    nvt_pairs_free(&code->pairs);
}

/* --- sums -------------------------------------------------------------------------------------------- */

/* Time of a range on the path: device, between, host. */
struct range_time {
    int64_t sides[3];
};

/* The sums of all traces. Keys: kind and name; of ranges the name ("": none). */
struct sums {
    struct nvt_groups on_path, all;
    struct nvt_groups ranges; /* which carry a struct range_time */
    struct path_code code;
    int64_t path_ns; /* of what these are about */
    uint64_t inferred;
    uint32_t processes;           /* that have a path */
    int has_iterations, is_blind; /* is_blind: it was said why there is no path */
};

/* 0 on the device, 1 between, 2 on the host. */
static uint32_t side_of(enum nvt_path_kind kind)
{
    return kind <= NVT_PATH_COPY ? 0 : nvt_path_is_of_op(kind) ? 1 : 2;
}

/* A part of a process's time, with how many iterations it has. */
struct part {
    int64_t from, to;
    uint32_t iterations;
};

/* The second half of a process's iterations; without any, of all time. */
static struct part steady_part(const struct nvt_trace *trace, uint32_t process,
                               const uint32_t *iterations, uint32_t count)
{
    struct part part = {INT64_MIN, INT64_MAX, 0};
    part.iterations =
        nvt_steady_iterations(trace, process, iterations, count, &part.from, &part.to);
    return part;
}

/* The time of [start, end] that lies in a part. */
static int64_t within(const struct part *part, int64_t start, int64_t end)
{
    start = start > part->from ? start : part->from;
    end = end < part->to ? end : part->to;
    return end > start ? nvt_clock_since(end, start) : 0;
}

static void put_process(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_critical_path *path, const struct part *part)
{
    int64_t kinds[NVT_PATH_KINDS] = {0}, all = 0;
    char text[64] = "whole";
    for (uint32_t i = 0; i < path->count; i++) {
        int64_t ns = within(part, path->segments[i].start, path->segments[i].end);
        kinds[path->segments[i].kind] += ns;
        all += ns;
    }
    if (part->iterations)
        snprintf(text, sizeof(text), "last %u iteration%s", part->iterations,
                 part->iterations > 1 ? "s" : "");
    nvt_table_put(table, trace->processes.pid[path->process], text, all);
    for (size_t k = 0; k < NVT_PATH_KINDS; k++)
        nvt_table_more(table, nvt_percent(kinds[k], all));
    if (!part->iterations)
        nvt_table_more(table, path->inferred, path->handovers);
}

static void add_path(struct sums *sums, const struct nvt_trace *trace,
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
        struct range_time *time =
            nvt_groups_item(&sums->ranges, nvt_groups_key(&sums->ranges, &range, 1));
        nvt_groups_add(&sums->on_path, nvt_groups_key(&sums->on_path, by_name, 2), ns);
        if (time)
            time->sides[side_of(segment->kind)] += ns;
        sums->path_ns += ns;
    }
    sums->inferred += path->inferred;
}

static void add_total(struct sums *sums, enum nvt_path_kind kind, uint32_t name, int64_t ns)
{
    const uint32_t key[] = {kind, nvt_groups_string(&sums->all, name)};
    nvt_groups_add(&sums->all, nvt_groups_key(&sums->all, key, 2), ns);
}

/* Everything of a process that could be on its path, in the same part. */
static void add_totals(struct sums *sums, const struct nvt_trace *trace, uint32_t process,
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

static void add_process(struct nvt_table *table, struct sums *sums, const struct nvt_trace *trace,
                        const struct nvt_critical_path *path, const uint32_t *iterations,
                        uint32_t count)
{
    const struct part whole = {INT64_MIN, INT64_MAX, 0};
    struct part steady = steady_part(trace, path->process, iterations, count);
    put_process(table, trace, path, &whole);
    if (steady.iterations)
        put_process(table, trace, path, &steady);
    sums->has_iterations |= steady.iterations > 0;
    sums->processes++;
    add_path(sums, trace, path, &steady);
    add_totals(sums, trace, path->process, &steady);
}

/* Functions of the host, in the same parts. 0, or -1 with err. */
static int add_code(struct sums *sums, const struct nvt_trace *trace,
                    const struct nvt_critical_paths *paths, const uint32_t *iterations,
                    uint32_t count, struct nvt_error *err)
{
    struct path_part *parts = malloc(((size_t)paths->count + 1) * sizeof(*parts));
    if (!parts)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < paths->count; i++) {
        struct part steady = steady_part(trace, paths->items[i].process, iterations, count);
        parts[i] = (struct path_part){&paths->items[i], steady.from, steady.to};
    }
    int status = add_path_code(&sums->code, trace, parts, paths->count, err);
    free(parts);
    return status;
}

static int add_critical_path_trace(struct nvt_table *table, struct sums *sums,
                                   const struct nvt_trace *trace, const struct nvt_making *making)
{
    struct nvt_error *err = making->err;
    struct nvt_critical_paths paths = {0};
    uint32_t count = 0, *iterations = nvt_iterations(trace, &count);
    int status = iterations ? nvt_critical_paths_make(&paths, trace,
                                                      nvt_input_projection(making->input), err)
                            : nvt_fail_at(err, trace->path, -1, "out of memory");
    if (!status) {
        tell_missing(making->input, trace, &paths);
        sums->is_blind |= paths.is_blind;
        nvt_groups_trace(&sums->on_path, trace);
        nvt_groups_trace(&sums->all, trace);
        nvt_groups_trace(&sums->ranges, trace);
    }
    for (uint32_t i = 0; i < paths.count; i++)
        add_process(table, sums, trace, &paths.items[i], iterations, count);
    if (!status)
        status = add_code(sums, trace, &paths, iterations, count, err);
    nvt_critical_paths_free(&paths);
    free(iterations);
    return status;
}

/* Whether all of a kind was added up, be it on the path or not. */
static int has_total(uint32_t kind)
{
    return kind <= NVT_PATH_COPY || kind == NVT_PATH_CALL;
}

/* The group of the path with the kind and name of one of all; NVT_NONE: nothing of it is on the path. */
static uint32_t on_path_of(struct sums *sums, const struct nvt_group *group)
{
    const char *name = nvt_groups_name(&sums->all, group->key[1]);
    const uint32_t key[] = {group->key[0], nvt_groups_text(&sums->on_path, name)};
    return nvt_groups_key(&sums->on_path, key, 2);
}

/* `all`: what there is of it in all, NULL where that is not known. */
static void put_critical_path_name(struct nvt_table *table, const struct sums *sums, uint32_t kind,
                                   const char *name, const struct nvt_group *on_path,
                                   const struct nvt_group *all)
{
    nvt_table_put(table, nvt_percent(on_path->total, sums->path_ns), on_path->total, on_path->count,
                  NVT_IF(all, all->total),
                  NVT_IF(all, 100 * (1 - (double)on_path->total / (double)all->total)),
                  nvt_path_kind_name(kind), nvt_text_if_any(name));
}

/* Kernels, copies and calls, whether they are on the path or not; then what only a path has. */
static void put_critical_path_names(struct nvt_table *table, struct sums *sums)
{
    for (uint32_t i = 0; i < sums->all.count; i++) {
        const struct nvt_group *all = &sums->all.groups[i];
        uint32_t at = on_path_of(sums, all);
        if (at != NVT_NONE)
            put_critical_path_name(table, sums, all->key[0], nvt_groups_part(&sums->all, i, 1),
                                   &sums->on_path.groups[at], all);
    }
    for (uint32_t i = 0; i < sums->on_path.count; i++) {
        const struct nvt_group *on_path = &sums->on_path.groups[i];
        if (!has_total(on_path->key[0]))
            put_critical_path_name(table, sums, on_path->key[0],
                                   nvt_groups_part(&sums->on_path, i, 1), on_path, NULL);
    }
}

static void put_critical_path_ranges(struct nvt_table *table, const struct sums *sums)
{
    for (uint32_t i = 0; i < sums->ranges.count; i++) {
        const struct range_time *time = nvt_groups_item(&sums->ranges, i);
        const int64_t *sides = time->sides, all = sides[0] + sides[1] + sides[2];
        nvt_table_put(table, nvt_percent(all, sums->path_ns), all, sides[0], sides[1], sides[2],
                      nvt_text_if_any(nvt_groups_part(&sums->ranges, i, 0)));
    }
}

/* Of the tables. */
enum { PROCESSES, NAMES, RANGES, CODE };

#define CODE_TITLE "Host code on the critical path"

static int put_sums(const struct nvt_making *making, struct sums *sums)
{
    const char *end = sums->has_iterations ? ", in these iterations" : "";
    const int several = sums->processes > 1;
    char title[160];
    int status = 0;
    if (nvt_groups_finish(&sums->on_path, making->err) ||
        nvt_groups_finish(&sums->all, making->err) || nvt_groups_finish(&sums->ranges, making->err))
        return -1;
    snprintf(title, sizeof(title), "%s%s",
             several ? "Critical paths by operation, added up" : "Critical path by operation", end);
    nvt_table_set_title(making->tables[NAMES], title);
    snprintf(title, sizeof(title), "%s%s",
             several ? "Critical paths by range, added up" : "Critical path by range", end);
    nvt_table_set_title(making->tables[RANGES], title);
    snprintf(title, sizeof(title), CODE_TITLE "%s (%llu sample%s)", end,
             (unsigned long long)sums->code.samples, sums->code.samples == 1 ? "" : "s");
    nvt_table_set_title(making->tables[CODE], title);
    if (sums->path_ns > 0) {
        put_critical_path_names(making->tables[NAMES], sums);
        put_critical_path_ranges(making->tables[RANGES], sums);
    } else {
        nvt_making_leave_out(making, NAMES);
        nvt_making_leave_out(making, RANGES);
    }
    if (sums->code.samples)
        status = put_path_code(making->tables[CODE], &sums->code);
    else
        nvt_making_leave_out(making, CODE);
    return status;
}

static int put_critical_path(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    struct sums sums = {.ranges = {.item_size = sizeof(struct range_time)},
                        .code = {.input = nvt_cpu_count(input)}};
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_critical_path_trace(table, &sums, input->traces[i].trace, making);
    if (!status)
        status = put_sums(making, &sums);
    if (!status && !nvt_table_rows(table) && !sums.is_blind)
        nvt_note(input, "note: no device operations in the input");
    if (sums.inferred)
        nvt_note(input,
                 "note: %llu steps from one stream to another are inferred from their times: the "
                 "event that was waited for was not recorded",
                 (unsigned long long)sums.inferred);
    nvt_groups_free(&sums.on_path);
    nvt_groups_free(&sums.all);
    nvt_groups_free(&sums.ranges);
    path_code_free(&sums.code);
    return status;
}

static const struct nvt_table_kind more[] = {
    [NAMES - 1] = {.title = "Critical path by operation",
                   .columns = {{"Path (%)", NVT_PERCENT},
                               {"On Path (ns)", NVT_NS},
                               {"Steps", NVT_COUNTS},
                               {"Total Time (ns)", NVT_NS},
                               {"Hidden (%)", NVT_PERCENT},
                               {"Kind", NVT_NAME_KINDS},
                               {"Name", NVT_KERNELS}},
                   .order = {"-On Path (ns)", "-Total Time (ns)"}},
    [RANGES - 1] = {.title = "Critical path by range",
                    .columns = {{"Path (%)", NVT_PERCENT},
                                {"On Path (ns)", NVT_NS},
                                {"Device (ns)", NVT_NS},
                                {"Between (ns)", NVT_NS},
                                {"Host (ns)", NVT_NS},
                                {"Range", NVT_RANGES}},
                    .order = {"-On Path (ns)"}},
    [CODE - 1] = {.title = CODE_TITLE,
                  .columns = {{"Of Host Code (%)", NVT_PERCENT},
                              {"CPU Time (ns)", NVT_NS},
                              {"Samples", NVT_COUNTS},
                              {"Function", NVT_NAMES},
                              {"Module", NVT_NAMES}},
                  .order = {"-Of Host Code (%)", "Function"}},
    {.title = NULL},
};

const struct nvt_report nvt_report_critical_path = {
    .name = "critical_path",
    .about = "kernels, copies, calls and host code that decide how long the program takes",
    .needs = NVT_PROJECTS,
    .columns = {{"PID", NVT_SPARE_IDS},
                {"Part", NVT_NAMES},
                {"Path (ns)", NVT_NS},
                {"Compute (%)", NVT_PERCENT},
                {"Communication (%)", NVT_PERCENT},
                {"Copy (%)", NVT_PERCENT},
                {"Gap (%)", NVT_PERCENT},
                {"Stall (%)", NVT_PERCENT},
                {"Launch (%)", NVT_PERCENT},
                {"CUDA Call (%)", NVT_PERCENT},
                {"Wake-up (%)", NVT_PERCENT},
                {"OS Call (%)", NVT_PERCENT},
                {"Host (%)", NVT_PERCENT},
                {"Inferred", NVT_COUNTS},
                {"Handed Over", NVT_COUNTS}},
    .title = "Critical path",
    .of_input = put_critical_path,
    .more = more,
};

/* --- step by step ------------------------------------------------------------------------------------ */

static void put_segment(struct nvt_table *table, const struct nvt_trace *trace, uint32_t process,
                        const struct nvt_path_segment *segment)
{
    const struct nvt_ops *ops = &trace->ops;
    const int is_op = nvt_path_is_of_op(segment->kind);
    const uint32_t range = segment->range, thread = segment->thread;
    nvt_table_put(table, segment->start, nvt_clock_since(segment->end, segment->start),
                  nvt_path_kind_name(segment->kind), nvt_text_if_any(nvt_path_name(trace, segment)),
                  NVT_IF(range != NVT_NONE, nvt_name(trace, trace->ranges.name[range])),
                  trace->processes.pid[process],
                  NVT_IF(thread != NVT_NONE, trace->threads.tid[thread]),
                  NVT_IF(is_op, NVT_DEVICE(trace, process, ops->device[segment->row])),
                  NVT_IF(is_op, ops->stream[segment->row]));
}

static int put_critical_path_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                   const struct nvt_making *making)
{
    struct nvt_critical_paths paths = {0};
    int status =
        nvt_critical_paths_make(&paths, trace, nvt_input_projection(making->input), making->err);
    tell_missing(making->input, trace, &paths);
    for (uint32_t p = 0; p < paths.count; p++)
        for (uint32_t k = 0; k < paths.items[p].count; k++)
            put_segment(table, trace, paths.items[p].process, &paths.items[p].segments[k]);
    nvt_critical_paths_free(&paths);
    return status;
}

const struct nvt_report nvt_report_critical_path_trace = {
    .name = "critical_path_trace",
    .about = "every step of the critical path",
    .needs = NVT_PROJECTS,
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"Kind", NVT_NAME_KINDS},
                {"Name", NVT_KERNELS},
                {"Range", NVT_RANGES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Device", NVT_NAMES},
                {"Stream", NVT_SPARE_IDS}},
    .title = "Critical path, step by step",
    .over_traces = put_critical_path_trace,
};
