#include "scene.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../device/gaps.h"
#include "../device/kernel_class.h"
#include "../model/named_iterations.h"
#include "../model/parallel.h"
#include "../model/launches.h"
#include "../path/critical_path.h"

/* Where the launch was not recorded, as in a file that was cut before its API calls, nothing is known of the host. */
enum { CAUSE_UNKNOWN = NVT_GAP_HOST + 1, CAUSES };

static const char *const causes[] = {
    [NVT_GAP_LATENCY] = "launch latency", [NVT_GAP_WAIT] = "the host had waited",
    [NVT_GAP_LAUNCH] = "launch-bound",    [NVT_GAP_LOAD] = "a launch that loads code",
    [NVT_GAP_CALL] = "another API call",  [NVT_GAP_HOST] = "host code",
    [CAUSE_UNKNOWN] = "cause unknown",
};

static const char *const kind_names[NVT_VIEW_KINDS] = {
    "iterations",  "ranges",     "marks",    "API calls",     "MPI calls", "OS calls",
    "CPU samples", "operations", "GPU idle", "critical path", "memory",    "counter"};

const char *nvt_view_kind_name(enum nvt_view_kind kind)
{
    return kind_names[kind];
}

const char *nvt_scene_name(const struct nvt_scene *scene, uint32_t name)
{
    const uint32_t strings = nvt_strings_count(scene->trace->strings);
    if (name < strings)
        return nvt_name(scene->trace, name);
    if (name - strings < CAUSES)
        return causes[name - strings];
    return name < scene->names ? nvt_path_kind_name((enum nvt_path_kind)(name - strings - CAUSES))
                               : "";
}

/* What is of no process comes first, then ranks, then processes that have none. */
static uint32_t place_of(const struct nvt_trace *trace, uint32_t process)
{
    if (process == NVT_NONE)
        return 0;
    const uint32_t rank = trace->processes.rank[process];
    return rank == NVT_NONE ? NVT_NONE : rank + 1;
}

struct nvt_view_lane *nvt_scene_add(struct nvt_scene *scene, enum nvt_view_kind kind,
                                    uint32_t process)
{
    if (!scene->lanes || scene->count == scene->capacity) {
        const size_t room = scene->capacity ? (size_t)scene->capacity * 2 : 16;
        if (nvt_resize(&scene->lanes, room, sizeof(*scene->lanes)))
            return NULL;
        scene->capacity = (uint32_t)room;
    }
    const struct nvt_track_columns *columns = &scene->columns[kind];
    scene->lanes[scene->count] =
        (struct nvt_view_lane){.kind = kind,
                               .process = process,
                               .place = place_of(scene->trace, process),
                               .thread = NVT_NONE,
                               .device = NVT_NONE,
                               .context = NVT_NONE,
                               .stream = NVT_NONE,
                               .tracks.of = columns->start ? columns : NULL};
    return &scene->lanes[scene->count++];
}

static void set_columns(struct nvt_scene *scene)
{
    const struct nvt_trace *trace = scene->trace;
    struct nvt_track_columns *of = scene->columns;
#define COLUMNS(table) {trace->table.start, trace->table.end, trace->table.name, NULL}
    of[NVT_VIEW_ITERATIONS] = of[NVT_VIEW_RANGES] = (struct nvt_track_columns)COLUMNS(ranges);
    of[NVT_VIEW_MARKS] =
        (struct nvt_track_columns){trace->marks.time, trace->marks.time, trace->marks.name, NULL};
    of[NVT_VIEW_CALLS] = (struct nvt_track_columns)COLUMNS(apis);
    of[NVT_VIEW_MPI_CALLS] = (struct nvt_track_columns)COLUMNS(mpi_calls);
    of[NVT_VIEW_OS_CALLS] = (struct nvt_track_columns)COLUMNS(os_calls);
#undef COLUMNS
    of[NVT_VIEW_STREAM] = (struct nvt_track_columns){trace->ops.start, trace->ops.end,
                                                     trace->ops.short_name, trace->ops.name};
}

/* What threads do: rows of one table, each on its thread's lane. */
struct thread_rows {
    enum nvt_view_kind kind;
    uint32_t count;
    const uint32_t *thread;
};

static int put_thread_rows(struct nvt_scene *scene, const struct thread_rows *rows)
{
    const struct nvt_trace *trace = scene->trace;
    const struct nvt_track_columns *columns = &scene->columns[rows->kind];
    const uint32_t threads = trace->threads.count;
    uint32_t *lane_of = calloc(threads ? threads : 1, sizeof(*lane_of)); /* and 1 */
    int status = lane_of ? 0 : -1;
    for (uint32_t i = 0; i < rows->count && !status; i++) {
        const uint32_t thread = rows->thread[i];
        if (!lane_of[thread]) {
            struct nvt_view_lane *lane =
                nvt_scene_add(scene, rows->kind, trace->threads.process[thread]);
            if (lane)
                lane->thread = thread;
            lane_of[thread] = scene->count;
            status = lane ? 0 : -1;
        }
        if (!status)
            status = nvt_tracks_put(&scene->lanes[lane_of[thread] - 1].tracks, columns->start[i],
                                    columns->end[i], columns->name[i], i);
    }
    free(lane_of);
    return status;
}

static int put_threads(struct nvt_scene *scene)
{
    const struct nvt_trace *trace = scene->trace;
    const struct thread_rows rows[] = {
        {NVT_VIEW_RANGES, trace->ranges.count, trace->ranges.thread},
        {NVT_VIEW_MARKS, trace->marks.count, trace->marks.thread},
        {NVT_VIEW_CALLS, trace->apis.count, trace->apis.thread},
        {NVT_VIEW_MPI_CALLS, trace->mpi_calls.count, trace->mpi_calls.thread},
        {NVT_VIEW_OS_CALLS, trace->os_calls.count, trace->os_calls.thread},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(rows); i++)
        if (put_thread_rows(scene, &rows[i]))
            return -1;
    return nvt_scene_samples(scene);
}

static int put_iterations(struct nvt_scene *scene)
{
    const struct nvt_trace *trace = scene->trace;
    uint32_t count = 0, *rows = nvt_iterations(trace, &count);
    if (!rows)
        return -1;
    struct nvt_view_lane *lane = count ? nvt_scene_add(scene, NVT_VIEW_ITERATIONS, NVT_NONE) : NULL;
    int status = count && !lane ? -1 : 0;
    for (uint32_t i = 0; i < count && !status; i++)
        status = nvt_tracks_put(&lane->tracks, trace->ranges.start[rows[i]],
                                trace->ranges.end[rows[i]], trace->ranges.name[rows[i]], rows[i]);
    scene->iterations = count;
    free(rows);
    return status;
}

/* Numbers of streams: of a process's devices, of their contexts, of their streams. */
struct streams {
    struct nvt_map maps[3];
    uint32_t counts[3];
};

/* NVT_MAP_NONE when out of memory. */
static uint32_t stream_of(struct streams *streams, const struct nvt_ops *ops, uint32_t op)
{
    const uint32_t parts[] = {ops->device[op], ops->context[op], ops->stream[op]};
    uint32_t at = ops->process[op];
    for (size_t i = 0; i < 3 && at != NVT_MAP_NONE; i++)
        at = nvt_map_number(&streams->maps[i], (uint64_t)at << 32 | parts[i], &streams->counts[i]);
    return at;
}

static int put_streams(struct nvt_scene *scene)
{
    const struct nvt_ops *ops = &scene->trace->ops;
    const uint32_t first = scene->count;
    struct streams streams = {0};
    int status = 0;
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        uint8_t *class = &scene->classes[nvt_op_name(scene->trace, i)];
        if (!*class)
            *class = (uint8_t)(1 + nvt_kernel_class_of(scene->trace, i));
        const uint32_t stream = stream_of(&streams, ops, i);
        if (stream != NVT_MAP_NONE && first + stream == scene->count) {
            struct nvt_view_lane *lane = nvt_scene_add(scene, NVT_VIEW_STREAM, ops->process[i]);
            if (lane) {
                lane->device = ops->device[i];
                lane->context = ops->context[i];
                lane->stream = ops->stream[i];
            }
        }
        status = stream < scene->count - first
                     ? nvt_tracks_put(&scene->lanes[first + stream].tracks, ops->start[i],
                                      ops->end[i], nvt_op_name(scene->trace, i), i)
                     : -1;
    }
    for (size_t i = 0; i < 3; i++)
        nvt_map_free(&streams.maps[i]);
    return status;
}

struct gap_lane {
    struct nvt_scene *scene;
    uint32_t lane; /* and 1 */
    int64_t last;
    int failed;
};

/* Gaps come device by device, each in the order of time. */
static void put_gap(void *context, const struct nvt_gap *gap)
{
    struct gap_lane *at = context;
    struct nvt_scene *scene = at->scene;
    struct nvt_view_lane *lane = at->lane ? &scene->lanes[at->lane - 1] : NULL;
    if (!lane || lane->device != gap->device || gap->start < at->last) {
        lane = nvt_scene_add(scene, NVT_VIEW_GAPS, gap->process);
        if (!lane) {
            at->failed = 1;
            return;
        }
        lane->device = gap->device;
        at->lane = scene->count;
    }
    const uint32_t cause = gap->thread == NVT_NONE ? CAUSE_UNKNOWN : gap->cause;
    at->last = gap->start;
    at->failed |= nvt_tracks_put(&lane->tracks, gap->start, gap->end,
                                 nvt_strings_count(scene->trace->strings) + cause, gap->after) != 0;
}

/* 0, or -1 when out of memory. */
static int put_paths(struct nvt_scene *scene, const struct nvt_critical_paths *paths)
{
    const uint32_t names = nvt_strings_count(scene->trace->strings) + CAUSES;
    int status = 0;
    for (uint32_t p = 0; p < paths->count && !status; p++) {
        const struct nvt_critical_path *path = &paths->items[p];
        struct nvt_view_lane *lane = nvt_scene_add(scene, NVT_VIEW_PATH, path->process);
        status = lane ? 0 : -1;
        for (uint32_t i = 0; i < path->count && !status; i++)
            status = nvt_tracks_put(&lane->tracks, path->segments[i].start, path->segments[i].end,
                                    names + path->segments[i].kind, i);
    }
    return status;
}

static int put_curves(struct nvt_scene *scene)
{
    const struct nvt_trace *trace = scene->trace;
    if (nvt_levels_make(&scene->levels, trace) || nvt_counter_courses(trace, &scene->courses))
        return -1;
    for (uint32_t i = 0; i < scene->levels.count; i++) {
        struct nvt_view_lane *lane =
            nvt_scene_add(scene, NVT_VIEW_MEMORY, scene->levels.series[i].process);
        if (!lane)
            return -1;
        lane->device = scene->levels.series[i].device;
        lane->item = i;
    }
    for (uint32_t i = 0; i < scene->courses.count; i++) {
        if (!scene->courses.items[i].count)
            continue;
        struct nvt_view_lane *lane =
            nvt_scene_add(scene, NVT_VIEW_COUNTER,
                          trace->counters.is_of_machine[i] ? NVT_NONE : trace->counters.process[i]);
        if (!lane)
            return -1;
        lane->item = i;
    }
    return 0;
}

/* Processes that do something, then the machine, then processes that have curves alone. 0, or -1 when out of memory. */
static int set_order(struct nvt_scene *scene)
{
    const uint32_t processes = scene->trace->processes.count;
    uint8_t *works = calloc(processes ? processes : 1, 1);
    if (!works)
        return -1;
    for (uint32_t i = 0; i < scene->count; i++)
        if (scene->lanes[i].process != NVT_NONE && !nvt_view_is_curve(scene->lanes[i].kind))
            works[scene->lanes[i].process] = 1;
    for (uint32_t i = 0; i < scene->count; i++) {
        struct nvt_view_lane *lane = &scene->lanes[i];
        if (lane->process == NVT_NONE)
            lane->comes = nvt_view_is_curve(lane->kind) ? 1 : 0;
        else
            lane->comes = works[lane->process] ? 0 : 2;
    }
    free(works);
    return 0;
}

/* By rank and process, iterations of all in front; then what threads do, thread by thread; then what devices do; then curves. */
static int by_place(const void *left, const void *right)
{
    const struct nvt_view_lane *a = left, *b = right;
    const uint32_t keys[][2] = {
        {(uint32_t)a->comes, (uint32_t)b->comes},
        {a->place, b->place},
        {a->process + 1, b->process + 1},
        {a->kind >= NVT_VIEW_STREAM, b->kind >= NVT_VIEW_STREAM},
        {a->kind < NVT_VIEW_STREAM ? a->thread : 0, b->kind < NVT_VIEW_STREAM ? b->thread : 0},
        {a->kind, b->kind},
        {a->device, b->device},
        {a->context, b->context},
        {a->stream, b->stream},
        {a->item, b->item},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int put_all(struct nvt_scene *scene, struct nvt_error *err)
{
    struct gap_lane gaps = {.scene = scene};
    if (put_iterations(scene) || put_threads(scene) || put_streams(scene) || put_curves(scene))
        return nvt_fail(err, "out of memory");
    if (nvt_gaps(scene->trace, NULL, put_gap, &gaps, NULL, err))
        return -1;
    return gaps.failed ? nvt_fail(err, "out of memory") : 0;
}

/* The critical path takes about as long as all lanes together. */
enum part { LANES, PATHS, PARTS };

struct making {
    struct nvt_scene *scene;
    struct nvt_critical_paths paths;
    struct nvt_error errors[PARTS];
    int status[PARTS];
};

static void make_part(void *context, size_t part)
{
    struct making *making = context;
    struct nvt_error *err = &making->errors[part];
    making->status[part] =
        part == PATHS
            ? nvt_critical_paths_make(&making->paths, making->scene->trace, NVT_ACROSS_WAITS, err)
            : put_all(making->scene, err);
}

struct finishing {
    struct nvt_scene *scene;
    atomic_int failed;
};

static void finish_lane(void *context, size_t lane)
{
    struct finishing *finishing = context;
    if (nvt_tracks_finish(&finishing->scene->lanes[lane].tracks, finishing->scene->names))
        atomic_store(&finishing->failed, 1);
}

int nvt_scene_make(struct nvt_scene *scene, const struct nvt_trace *trace, int has_path,
                   struct nvt_error *err)
{
    struct making making = {.scene = scene};
    struct finishing finishing = {.scene = scene};
    scene->trace = trace;
    set_columns(scene);
    scene->names = nvt_strings_count(trace->strings) + CAUSES + NVT_PATH_KINDS;
    scene->classes = calloc(scene->names, 1);
    if (!scene->classes)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < PARTS; i++)
        making.errors[i] = (struct nvt_error)NVT_ERROR_INIT;
    nvt_parallel(make_part, &making, has_path ? PARTS : PATHS);
    int status = making.status[PATHS] || making.status[LANES] ? -1 : 0;
    if (status && err)
        *err = making.errors[making.status[LANES] ? LANES : PATHS];
    else if (!status && (put_paths(scene, &making.paths) || set_order(scene)))
        status = nvt_fail(err, "out of memory");
    nvt_critical_paths_free(&making.paths);
    if (status)
        return -1;
    if (scene->count)
        qsort(scene->lanes, scene->count, sizeof(*scene->lanes), by_place);
    nvt_parallel(finish_lane, &finishing, scene->count);
    return atomic_load(&finishing.failed) ? nvt_fail(err, "out of memory") : 0;
}

/* What two scenes have in common: all that the base has. 0, or -1 when out of memory. */
static int share(struct nvt_scene *scene, const struct nvt_scene *base)
{
    const size_t count = base->count ? base->count : 1;
    *scene = *base;
    scene->base = base;
    scene->lanes = malloc(count * sizeof(*scene->lanes));
    if (!scene->lanes) {
        scene->count = 0;
        return -1;
    }
    scene->capacity = (uint32_t)count;
    for (uint32_t i = 0; i < base->count; i++) {
        scene->lanes[i] = base->lanes[i];
        scene->lanes[i].is_shared = 1;
    }
    return 0;
}

int nvt_scene_add_path(struct nvt_scene *scene, const struct nvt_scene *base, struct nvt_error *err)
{
    struct nvt_critical_paths paths = {0};
    struct finishing finishing = {.scene = scene};
    int status = share(scene, base) ? nvt_fail(err, "out of memory") : 0;
    if (!status)
        status = nvt_critical_paths_make(&paths, base->trace, NVT_ACROSS_WAITS, err);
    if (!status && put_paths(scene, &paths))
        status = nvt_fail(err, "out of memory");
    nvt_critical_paths_free(&paths);
    if (status)
        return -1;
    for (uint32_t i = base->count; i < scene->count; i++)
        finish_lane(&finishing, i);
    if (scene->count)
        qsort(scene->lanes, scene->count, sizeof(*scene->lanes), by_place);
    return atomic_load(&finishing.failed) ? nvt_fail(err, "out of memory") : 0;
}

void nvt_scene_free(struct nvt_scene *scene)
{
    for (uint32_t i = 0; i < scene->count; i++)
        if (!scene->lanes[i].is_shared)
            nvt_tracks_free(&scene->lanes[i].tracks);
    free(scene->lanes);
    if (!scene->base) {
        free(scene->classes);
        nvt_counter_courses_free(&scene->courses);
        nvt_levels_free(&scene->levels);
    }
    *scene = (struct nvt_scene){0};
}

uint64_t nvt_scene_bytes(const struct nvt_scene *scene)
{
    uint64_t bytes = scene->capacity * sizeof(*scene->lanes) + scene->names;
    for (uint32_t i = 0; i < scene->count; i++)
        bytes += nvt_tracks_bytes(&scene->lanes[i].tracks);
    for (uint32_t i = 0; i < scene->levels.count; i++)
        bytes += (uint64_t)scene->levels.series[i].count * (sizeof(uint32_t) + 4 * sizeof(int64_t));
    return bytes + (uint64_t)scene->trace->counter_samples.count * 4 * sizeof(double);
}

void nvt_scene_label(const struct nvt_scene *scene, uint32_t lane, char *out, size_t size)
{
    const struct nvt_trace *trace = scene->trace;
    const struct nvt_view_lane *of = &scene->lanes[lane];
    const char *name =
        of->thread == NVT_NONE ? "" : nvt_name(trace, trace->threads.name[of->thread]);
    if (of->kind == NVT_VIEW_COUNTER)
        snprintf(out, size, "%s", nvt_name(trace, trace->counters.name[of->item]));
    else if (of->kind == NVT_VIEW_MEMORY && of->device == NVT_NONE)
        snprintf(out, size, "host memory");
    else if (of->kind == NVT_VIEW_MEMORY)
        snprintf(out, size, "GPU %" PRIu32 " memory", of->device);
    else if (of->kind == NVT_VIEW_STREAM)
        snprintf(out, size, "GPU %" PRIu32 " stream %" PRIu32, of->device, of->stream);
    else if (of->kind == NVT_VIEW_GAPS)
        snprintf(out, size, "GPU %" PRIu32 " idle", of->device);
    else if (of->thread != NVT_NONE)
        snprintf(out, size, "%" PRId64 "%s%s", trace->threads.tid[of->thread], *name ? " " : "",
                 name);
    else
        snprintf(out, size, "%s", nvt_view_kind_name(of->kind));
}

/* Of memory: the tree of maxima has no minima; the level at either end stands for the least. */
static int memory_bounds(const struct nvt_level_series *series, const struct nvt_trace *trace,
                         int64_t from, int64_t to, double *least, double *most, double *last)
{
    const uint32_t first = nvt_level_until(series, trace, from, 0);
    const uint32_t behind = nvt_level_until(series, trace, to, 1);
    const int64_t begin = first ? nvt_level_allocated(series, first - 1) : series->base;
    const int64_t end = behind > first ? nvt_level_allocated(series, behind - 1) : begin;
    const int64_t peak =
        behind > first ? nvt_level_maximum(series->allocated, series->count, first, behind) : begin;
    *least = (double)(begin < end ? begin : end);
    *most = (double)(peak > begin ? peak : begin);
    *last = (double)end;
    return 1;
}

int nvt_scene_bounds(const struct nvt_scene *scene, const struct nvt_view_lane *lane, int64_t from,
                     int64_t to, double *least, double *most, double *last)
{
    if (lane->kind == NVT_VIEW_MEMORY)
        return memory_bounds(&scene->levels.series[lane->item], scene->trace, from, to, least, most,
                             last);
    const struct nvt_counter_course *course = &scene->courses.items[lane->item];
    const uint32_t first = nvt_course_until(course, from),
                   behind = nvt_course_until(course, to - 1);
    const uint32_t begin = first ? first - 1 : 0;
    if (behind <= begin)
        return 0;
    nvt_course_bounds(course, begin, behind, least, most);
    *last = course->level[behind - 1];
    return 1;
}
