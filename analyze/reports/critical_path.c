/*
 * critical_path: what the time of a program waited for, moment by moment (critical_path.h). The first table has a row a
 * process: its path, and the share of each kind; and another one of the second half of its iterations (ranges `iteration`
 * or `ProfilerStep#…`), which the other tables are about where there are any. The second says what is on the path: of kernels, copies and calls also
 * how much time they took in all, and how much of it is hidden: beside the path, so that nothing is won by making it
 * shorter; and the host by the innermost range that it was in. The third has the same by range: of what was launched in it, and of the host's time in it.
 * Where there are samples, the fourth has the functions that the host ran on it (critical_path_code.h).
 *
 * critical_path_trace: the path step by step.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../path/critical_path.h"
#include "../diagnosis/diagnose.h"
#include "../model/groups.h"
#include "../device/project.h"
#include "critical_path_code.h"
#include "report.h"

enum { PID, PART, PATH, FIRST_KIND, INFERRED = FIRST_KIND + NVT_PATH_KINDS, HANDOVERS };

static const struct nvt_column_spec columns[] = {
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [PART] = {"Part", "", NVT_TEXT, 0, 0},
    [PATH] = {"Path (ns)", "ns", NVT_INT, 0, 0},
    [FIRST_KIND + NVT_PATH_COMPUTE] = {"Compute (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_COMMUNICATION] = {"Communication (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_COPY] = {"Copy (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_GAP] = {"Gap (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_STALL] = {"Stall (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_LAUNCH] = {"Launch (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_CALL] = {"CUDA Call (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_WAKE] = {"Wake-up (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_SYSTEM] = {"OS Call (%)", "%", NVT_REAL, 1, 0},
    [FIRST_KIND + NVT_PATH_HOST] = {"Host (%)", "%", NVT_REAL, 1, 0},
    [INFERRED] = {"Inferred", "", NVT_INT, 0, 0},
    [HANDOVERS] = {"Handed Over", "", NVT_INT, 0, 0},
};

enum { N_SHARE, N_TIME, N_STEPS, N_TOTAL, N_HIDDEN, N_KIND, N_NAME };

static const struct nvt_column_spec name_columns[] = {
    [N_SHARE] = {"Path (%)", "%", NVT_REAL, 1, 0},
    [N_TIME] = {"On Path (ns)", "ns", NVT_INT, 0, 0},
    [N_STEPS] = {"Steps", "", NVT_INT, 0, 0},
    [N_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [N_HIDDEN] = {"Hidden (%)", "%", NVT_REAL, 1, 0},
    [N_KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    [N_NAME] = {"Name", "", NVT_TEXT, 0, 0},
};

enum { R_SHARE, R_TIME, R_DEVICE, R_BETWEEN, R_HOST, R_RANGE };

static const struct nvt_column_spec range_columns[] = {
    [R_SHARE] = {"Path (%)", "%", NVT_REAL, 1, 0},
    [R_TIME] = {"On Path (ns)", "ns", NVT_INT, 0, 0},
    [R_DEVICE] = {"Device (ns)", "ns", NVT_INT, 0, 0},
    [R_BETWEEN] = {"Between (ns)", "ns", NVT_INT, 0, 0},
    [R_HOST] = {"Host (ns)", "ns", NVT_INT, 0, 0},
    [R_RANGE] = {"Range", "", NVT_TEXT, 0, 0},
};

enum { T_START, T_DURATION, T_KIND, T_NAME, T_RANGE, T_PID, T_TID, T_DEVICE, T_STREAM };

static const struct nvt_column_spec trace_columns[] = {
    [T_START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [T_DURATION] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [T_KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    [T_NAME] = {"Name", "", NVT_TEXT, 0, 0},
    [T_RANGE] = {"Range", "", NVT_TEXT, 0, 0},
    [T_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [T_TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [T_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [T_STREAM] = {"Stream", "", NVT_INT, 0, NVT_PLAIN},
};

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

/* --- paths of a trace -------------------------------------------------------------------------------- */

/* Visit the innermost range of each operation where it is looked for across threads. */
static int keep_innermost(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    uint32_t *innermost = context;
    innermost[op] = count ? ranges[count - 1] : NVT_NONE;
    return 0;
}

/* The paths, with the ranges of operations as the input wants them. */
static int make_paths(const struct nvt_input *input, const struct nvt_trace *trace,
                      struct nvt_critical_paths *paths, struct nvt_error *err)
{
    if (nvt_critical_paths_make(paths, trace, err))
        return -1;
    if (!(input->project_flags & NVT_ACROSS_THREADS) || !paths->count)
        return 0;
    uint32_t *innermost = malloc(((size_t)trace->ops.count + 1) * sizeof(*innermost));
    int status = innermost
                     ? nvt_project(trace, input->project_flags, keep_innermost, innermost, err)
                     : nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < paths->count && !status; i++)
        for (uint32_t k = 0; k < paths->items[i].count; k++) {
            struct nvt_path_segment *segment = &paths->items[i].segments[k];
            if (nvt_path_is_of_op(segment->kind))
                segment->range = innermost[segment->row];
        }
    free(innermost);
    if (status)
        nvt_critical_paths_free(paths);
    return status;
}

static void tell_missing(struct nvt_input *input, const struct nvt_trace *trace,
                         const struct nvt_critical_paths *paths)
{
    if (paths->is_blind)
        nvt_note(input,
                 "note: %s has no CUDA calls other than launches: what the host waited for is "
                 "unknown, so no path can be followed%s",
                 trace->path,
                 trace->recorder == NVT_BY_NVTALLY ? " (record --trace kernel,api,sync)" : "");
}

/* --- sums -------------------------------------------------------------------------------------------- */

/* Of all traces. Keys: kind and name; of ranges the name ("": none) and what their time is (device, between, host). */
struct sums {
    struct nvt_groups on_path, all, ranges;
    struct nvt_path_code code;
    struct nvt_table *table;
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
    size_t row = nvt_table_add_row(table);
    char text[64] = "whole";
    for (uint32_t i = 0; i < path->count; i++) {
        int64_t ns = within(part, path->segments[i].start, path->segments[i].end);
        kinds[path->segments[i].kind] += ns;
        all += ns;
    }
    if (part->iterations)
        snprintf(text, sizeof(text), "last %u iteration%s", part->iterations,
                 part->iterations > 1 ? "s" : "");
    nvt_table_set_int(table, row, PID, trace->processes.pid[path->process]);
    nvt_table_set_text(table, row, PART, text);
    nvt_table_set_int(table, row, PATH, all);
    for (size_t k = 0; k < NVT_PATH_KINDS && all; k++)
        nvt_table_set_real(table, row, FIRST_KIND + k, 100 * (double)kinds[k] / (double)all);
    if (part->iterations)
        return;
    nvt_table_set_int(table, row, INFERRED, path->inferred);
    nvt_table_set_int(table, row, HANDOVERS, path->handovers);
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
        const uint32_t by_range[] = {range, side_of(segment->kind)};
        nvt_groups_add(&sums->on_path, nvt_groups_key(&sums->on_path, by_name, 2), ns);
        nvt_groups_add(&sums->ranges, nvt_groups_key(&sums->ranges, by_range, 2), ns);
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

static void add_process(struct sums *sums, const struct nvt_trace *trace,
                        const struct nvt_critical_path *path, const uint32_t *iterations,
                        uint32_t count)
{
    const struct part whole = {INT64_MIN, INT64_MAX, 0};
    struct part steady = steady_part(trace, path->process, iterations, count);
    put_process(sums->table, trace, path, &whole);
    if (steady.iterations)
        put_process(sums->table, trace, path, &steady);
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
    struct nvt_path_part *parts = malloc(((size_t)paths->count + 1) * sizeof(*parts));
    if (!parts)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < paths->count; i++) {
        struct part steady = steady_part(trace, paths->items[i].process, iterations, count);
        parts[i] = (struct nvt_path_part){&paths->items[i], steady.from, steady.to};
    }
    int status = nvt_path_code_add(&sums->code, trace, parts, paths->count, err);
    free(parts);
    return status;
}

static int add_trace(struct nvt_input *input, struct sums *sums, const struct nvt_trace *trace,
                     struct nvt_error *err)
{
    struct nvt_critical_paths paths = {0};
    uint32_t count = 0, *iterations = nvt_iterations(trace, &count);
    int status = iterations ? make_paths(input, trace, &paths, err)
                            : nvt_fail_at(err, trace->path, -1, "out of memory");
    if (!status) {
        tell_missing(input, trace, &paths);
        sums->is_blind |= paths.is_blind;
        nvt_groups_trace(&sums->on_path, trace);
        nvt_groups_trace(&sums->all, trace);
        nvt_groups_trace(&sums->ranges, trace);
    }
    for (uint32_t i = 0; i < paths.count; i++)
        add_process(sums, trace, &paths.items[i], iterations, count);
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

static struct nvt_table *table_like(const struct sums *sums, const char *what,
                                    const struct nvt_column_spec *specs, size_t count)
{
    char title[100];
    snprintf(title, sizeof(title), "%s%s", what,
             sums->has_iterations ? ", in these iterations" : "");
    struct nvt_table *table = nvt_table_new("critical_path", title, specs, count);
    if (table)
        nvt_table_set_provenance(table, nvt_table_provenance(sums->table));
    return table;
}

/* The group of the path with the kind and name of one of all; NVT_NONE: nothing of it is on the path. */
static uint32_t on_path_of(struct sums *sums, const struct nvt_group *group)
{
    const char *name = nvt_groups_name(&sums->all, group->key[1]);
    const uint32_t key[] = {group->key[0], nvt_groups_text(&sums->on_path, name)};
    return nvt_groups_key(&sums->on_path, key, 2);
}

static size_t put_name(struct nvt_table *table, const struct sums *sums, uint32_t kind,
                       const char *name, const struct nvt_group *on_path)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_real(table, row, N_SHARE, 100 * (double)on_path->total / (double)sums->path_ns);
    nvt_table_set_int(table, row, N_TIME, on_path->total);
    nvt_table_set_int(table, row, N_STEPS, (int64_t)on_path->count);
    nvt_table_set_text(table, row, N_KIND, nvt_path_kind_name(kind));
    nvt_table_set_name(table, row, N_NAME, name);
    return row;
}

/* Kernels, copies and calls, whether they are on the path or not; then what only a path has. */
static struct nvt_table *name_table(struct sums *sums)
{
    const char *title = sums->processes > 1 ? "What the critical paths consist of, added up"
                                            : "What the critical path consists of";
    struct nvt_table *table = table_like(sums, title, name_columns, COUNT(name_columns));
    for (uint32_t i = 0; table && i < sums->all.count; i++) {
        const struct nvt_group *group = &sums->all.groups[i];
        uint32_t at = on_path_of(sums, group);
        if (at == NVT_NONE)
            continue;
        const struct nvt_group *on_path = &sums->on_path.groups[at];
        size_t row = put_name(table, sums, group->key[0],
                              nvt_groups_name(&sums->all, group->key[1]), on_path);
        nvt_table_set_int(table, row, N_TOTAL, group->total);
        nvt_table_set_real(table, row, N_HIDDEN,
                           100 * (1 - (double)on_path->total / (double)group->total));
    }
    for (uint32_t i = 0; table && i < sums->on_path.count; i++) {
        const struct nvt_group *on_path = &sums->on_path.groups[i];
        if (!has_total(on_path->key[0]))
            put_name(table, sums, on_path->key[0], nvt_groups_name(&sums->on_path, on_path->key[1]),
                     on_path);
    }
    if (table) {
        nvt_table_sort(table, N_TOTAL, 1);
        nvt_table_sort(table, N_TIME, 1);
    }
    return table;
}

/* The time of a group in its range's row, found by the range's name. 0, or -1 when out of memory. */
static int add_range_time(struct nvt_table *table, struct nvt_map *rows, const struct sums *sums,
                          const struct nvt_group *group)
{
    uint32_t *row = nvt_map_at(rows, group->key[0]);
    if (!row)
        return -1;
    if (*row == NVT_MAP_NONE) {
        *row = (uint32_t)nvt_table_add_row(table);
        nvt_table_set_name(table, *row, R_RANGE, nvt_groups_name(&sums->ranges, group->key[0]));
        for (size_t k = R_DEVICE; k <= R_HOST; k++)
            nvt_table_set_int(table, *row, k, 0);
    }
    int64_t time = nvt_table_int(table, *row, R_TIME) + group->total;
    nvt_table_set_int(table, *row, R_TIME, time);
    nvt_table_set_real(table, *row, R_SHARE, 100 * (double)time / (double)sums->path_ns);
    nvt_table_set_int(table, *row, R_DEVICE + group->key[1], group->total);
    return 0;
}

static struct nvt_table *range_table(struct sums *sums)
{
    const char *title = sums->processes > 1 ? "The critical paths by range, added up"
                                            : "The critical path by range";
    struct nvt_table *table = table_like(sums, title, range_columns, COUNT(range_columns));
    struct nvt_map rows = {0};
    int failed = !table;
    for (uint32_t i = 0; i < sums->ranges.count && !failed; i++)
        failed = add_range_time(table, &rows, sums, &sums->ranges.groups[i]);
    nvt_map_free(&rows);
    if (failed) {
        nvt_table_free(table);
        return NULL;
    }
    nvt_table_sort(table, R_TIME, 1);
    return table;
}

/* What is added to the tables is theirs; the others are freed. */
static int add_tables(struct sums *sums, struct nvt_tables *tables, struct nvt_error *err)
{
    int has_path = sums->path_ns > 0;
    struct nvt_table *names = has_path ? name_table(sums) : NULL;
    struct nvt_table *ranges = has_path ? range_table(sums) : NULL;
    int status = nvt_report_add(tables, sums->table, err);
    sums->table = NULL;
    if (has_path && !status) {
        status = nvt_report_add(tables, names, err);
        names = NULL;
    }
    if (has_path && !status) {
        status = nvt_report_add(tables, ranges, err);
        ranges = NULL;
    }
    if (sums->code.samples && !status)
        status = nvt_report_add(
            tables,
            nvt_path_code_table(&sums->code, "critical_path",
                                sums->has_iterations ? ", in these iterations" : "", err),
            err);
    nvt_table_free(names);
    nvt_table_free(ranges);
    return status;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct sums sums = {.code = {.input = nvt_cpu_count(input)}};
    sums.table = nvt_report_table(&nvt_report_critical_path, input, "Critical path", err);
    int status = sums.table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(input, &sums, input->traces[i].trace, err);
    if (!status && (nvt_groups_finish(&sums.on_path, err) || nvt_groups_finish(&sums.all, err) ||
                    nvt_groups_finish(&sums.ranges, err)))
        status = -1;
    if (!status && !nvt_table_rows(sums.table) && !sums.is_blind)
        nvt_note(input, "note: no device operations in the input");
    if (sums.inferred)
        nvt_note(input,
                 "note: %llu steps from one stream to another are inferred from their times: the "
                 "event that was waited for is not on record",
                 (unsigned long long)sums.inferred);
    status = status ? -1 : add_tables(&sums, tables, err);
    nvt_table_free(sums.table);
    nvt_groups_free(&sums.on_path);
    nvt_groups_free(&sums.all);
    nvt_groups_free(&sums.ranges);
    nvt_path_code_free(&sums.code);
    return status;
}

const struct nvt_report nvt_report_critical_path = {
    .name = "critical_path",
    .about = "what the program's time was spent waiting for: kernels, copies, calls, host",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = COUNT(columns),
    .make = make,
};

/* --- step by step ------------------------------------------------------------------------------------ */

static void put_segment(struct nvt_table *table, const struct nvt_trace *trace, uint32_t process,
                        const struct nvt_path_segment *segment)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, T_START, segment->start);
    nvt_table_set_int(table, row, T_DURATION, nvt_clock_since(segment->end, segment->start));
    nvt_table_set_text(table, row, T_KIND, nvt_path_kind_name(segment->kind));
    nvt_table_set_name(table, row, T_NAME, nvt_path_name(trace, segment));
    if (segment->range != NVT_NONE)
        nvt_table_set_text(table, row, T_RANGE,
                           nvt_name(trace, trace->ranges.name[segment->range]));
    nvt_table_set_int(table, row, T_PID, trace->processes.pid[process]);
    if (segment->thread != NVT_NONE)
        nvt_table_set_int(table, row, T_TID, trace->threads.tid[segment->thread]);
    if (nvt_path_is_of_op(segment->kind)) {
        nvt_put_device(table, row, T_DEVICE, trace, process, trace->ops.device[segment->row]);
        nvt_table_set_int(table, row, T_STREAM, trace->ops.stream[segment->row]);
    }
}

static int make_trace(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_critical_path_trace, input,
                                               "Critical path, step by step", err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_critical_paths paths = {0};
        status = make_paths(input, trace, &paths, err);
        tell_missing(input, trace, &paths);
        for (uint32_t p = 0; p < paths.count; p++)
            for (uint32_t k = 0; k < paths.items[p].count; k++)
                put_segment(table, trace, paths.items[p].process, &paths.items[p].segments[k]);
        nvt_critical_paths_free(&paths);
    }
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_critical_path_trace = {
    .name = "critical_path_trace",
    .about = "every step of the critical path",
    .needs = NVT_NEEDS_TRACES,
    .columns = trace_columns,
    .column_count = COUNT(trace_columns),
    .make = make_trace,
};
