#include "critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../device/gaps.h"
#include "../device/overlap.h"
#include "path_index.h"
#include "path_lent.h"

/* Threads are looked at for who handed over so often at most: a hundred of them a million times. */
#define LOOKS_AT_MOST UINT64_C(100000000)
/* How late a kernel is that begins within a call of NVT_PATH_LONG_CALL_NS: what ended less before it counts more. */
#define WITHIN_CALL_NS 2000

const char *nvt_path_kind_name(enum nvt_path_kind kind)
{
    static const char *const names[NVT_PATH_KINDS] = {
        [NVT_PATH_COMPUTE] = "Compute", [NVT_PATH_COMMUNICATION] = "Communication",
        [NVT_PATH_COPY] = "Copy",       [NVT_PATH_GAP] = "Gap",
        [NVT_PATH_STALL] = "Stall",     [NVT_PATH_LAUNCH] = "Launch",
        [NVT_PATH_CALL] = "CUDA Call",  [NVT_PATH_WAKE] = "Wake-up",
        [NVT_PATH_SYSTEM] = "OS Call",  [NVT_PATH_HOST] = "Host",
    };
    return names[kind];
}

enum nvt_path_kind nvt_path_kind_of_op(const struct nvt_trace *trace, uint32_t op)
{
    static const enum nvt_path_kind kinds[] = {
        [NVT_CLASS_COMPUTE] = NVT_PATH_COMPUTE,
        [NVT_CLASS_COMMUNICATION] = NVT_PATH_COMMUNICATION,
        [NVT_CLASS_COPY] = NVT_PATH_COPY,
    };
    return kinds[nvt_op_class(trace, op)];
}

int nvt_path_is_of_op(enum nvt_path_kind kind)
{
    return kind <= NVT_PATH_LAUNCH;
}

const char *nvt_path_name(const struct nvt_trace *trace, const struct nvt_path_segment *segment)
{
    if (segment->row == NVT_NONE)
        return "";
    return nvt_name(trace, nvt_path_is_of_op(segment->kind)   ? trace->ops.name[segment->row]
                           : segment->kind == NVT_PATH_SYSTEM ? trace->os_calls.name[segment->row]
                                                              : trace->apis.name[segment->row]);
}

/* Where the walk is: at `time`, with everything behind it told. On the device in an operation, else on a thread. */
struct walk {
    const struct nvt_path_index *index;
    struct nvt_critical_path *path;
    int64_t time;
    uint32_t op, thread;
    /* the thread is within this one whatever the time is: it launched what came next */
    uint32_t call;
    uint64_t looks; /* at other threads, so far */
    int is_over, has_failed;
};

/* --- telling ----------------------------------------------------------------------------------------- */

/* The innermost range at the start of something on a thread, or at the launch of an operation. */
static uint32_t range_of(const struct walk *walk, enum nvt_path_kind kind, uint32_t row,
                         int64_t start)
{
    const struct nvt_ops *ops = &walk->index->trace->ops;
    if (!nvt_path_is_of_op(kind))
        return nvt_path_range_at(walk->index, walk->thread, start);
    return ops->launch[row] == INT64_MIN
               ? NVT_NONE
               : nvt_path_range_at(walk->index, ops->thread[row], ops->launch[row]);
}

/* Put the time from `start` to where the walk is on the path, and move the walk there. */
static void tell(struct walk *walk, enum nvt_path_kind kind, uint32_t row, int64_t start)
{
    struct nvt_critical_path *path = walk->path;
    int64_t end = walk->time;
    if (start >= end)
        return;
    walk->time = start;
    if (nvt_grow(&path->segments, path->count, sizeof(*path->segments))) {
        walk->has_failed = 1;
        return;
    }
    path->segments[path->count++] = (struct nvt_path_segment){
        start, end, row, range_of(walk, kind, row, start), walk->thread, (uint8_t)kind};
}

/* Put the host's time back to `start` on the path, divided by the calls of the operating system that its thread is in. */
static void tell_host(struct walk *walk, int64_t start)
{
    const struct nvt_buckets *calls = &walk->index->os_calls;
    const struct nvt_os_calls *rows = &walk->index->trace->os_calls;
    uint32_t at = nvt_buckets_from(calls, walk->thread, rows->start, walk->time);
    while (at > calls->first[walk->thread] && walk->time > start && !walk->has_failed) {
        uint32_t call = calls->rows[--at];
        if (rows->end[call] <= start)
            break;
        tell(walk, NVT_PATH_HOST, NVT_NONE, rows->end[call]);
        tell(walk, NVT_PATH_SYSTEM, call, rows->start[call] > start ? rows->start[call] : start);
    }
    tell(walk, NVT_PATH_HOST, NVT_NONE, start);
}

static void go_to_op(struct walk *walk, uint32_t op)
{
    walk->op = op;
    walk->thread = NVT_NONE;
    walk->call = NVT_NONE;
}

static void go_to_thread(struct walk *walk, uint32_t thread, uint32_t call)
{
    walk->op = NVT_NONE;
    walk->thread = thread;
    walk->call = call;
}

/* --- on a device ------------------------------------------------------------------------------------- */

/* Why an operation began when it did. */
struct cause {
    int64_t late; /* how much later than it could have, ns; the least counts */
    uint32_t op;  /* NVT_NONE: it had just been launched */
    int is_known;
};

static void consider(struct cause *cause, int64_t late, uint32_t op)
{
    if (cause->is_known && late >= cause->late)
        return;
    *cause = (struct cause){late > 0 ? late : 0, op, 1};
}

/* The operation of another stream that ended just before; of this device, or of another one. */
static uint32_t just_ended(const struct nvt_path_index *index, uint32_t op)
{
    const struct nvt_ops *ops = &index->trace->ops;
    struct nvt_path_ops of = {NVT_NONE, ops->process[op], ops->device[op], NVT_NONE};
    int64_t after = nvt_clock_sum(ops->start[op], -NVT_PATH_STALL_NS);
    int64_t until = nvt_clock_sum(ops->start[op], index->knows_behind ? -index->delays.behind : 0);
    uint32_t other = nvt_path_last(index, of, after, until, INT64_MAX);
    of.device = NVT_NONE;
    if (other == NVT_NONE)
        other = nvt_path_last(index, of, after, until, INT64_MAX);
    return other < op ? other : NVT_NONE;
}

/* How much later than its launch allowed an operation began. A call that takes long, as the first of a kernel does that has to
 * be loaded, hands it over near its end; but a copy may begin anywhere in a call that waits for it. */
static int64_t late_behind_launch(const struct nvt_path_index *index, uint32_t op)
{
    const struct nvt_ops *ops = &index->trace->ops;
    const struct nvt_apis *apis = &index->trace->apis;
    uint32_t call = ops->api[op];
    int64_t late = nvt_clock_since(ops->start[op], ops->launch[op]) -
                   index->delays.launch[nvt_path_launch_class(index->trace, op)];
    if (call == NVT_NONE ||
        nvt_clock_since(apis->end[call], apis->start[call]) < NVT_PATH_LONG_CALL_NS)
        return late;
    int64_t behind = nvt_clock_since(ops->start[op], apis->end[call]);
    if (behind < 0)
        behind = ops->kind[op] == NVT_OP_KERNEL ? WITHIN_CALL_NS : late;
    return behind < late ? behind : late;
}

static struct cause cause_of(struct walk *walk, uint32_t op)
{
    const struct nvt_path_index *index = walk->index;
    const struct nvt_ops *ops = &index->trace->ops;
    uint32_t before = nvt_path_before(index, op), event = nvt_path_event_before(index, op);
    struct cause cause = {0, NVT_NONE, 0};
    if (event != NVT_NONE)
        consider(&cause, nvt_clock_since(ops->start[op], ops->end[event]) - index->delays.event,
                 event);
    if (before != NVT_NONE)
        consider(&cause, nvt_clock_since(ops->start[op], ops->end[before]) - index->delays.behind,
                 before);
    if (ops->launch[op] != INT64_MIN && ops->thread[op] != NVT_NONE)
        consider(&cause, late_behind_launch(index, op), NVT_NONE);
    if (!cause.is_known || cause.late > NVT_PATH_STALL_NS) {
        uint32_t other = just_ended(index, op);
        if (other != NVT_NONE && other != cause.op) {
            cause = (struct cause){0, other, 1};
            walk->path->inferred++;
        }
    }
    return cause;
}

static void step_on_device(struct walk *walk)
{
    const struct nvt_trace *trace = walk->index->trace;
    const struct nvt_ops *ops = &trace->ops;
    uint32_t op = walk->op, call = ops->api[op];
    tell(walk, nvt_path_kind_of_op(trace, op), op, ops->start[op]);
    struct cause cause = cause_of(walk, op);
    int is_stall = cause.late > NVT_PATH_STALL_NS;
    if (!cause.is_known) {
        walk->is_over = 1;
    } else if (cause.op != NVT_NONE) {
        tell(walk, is_stall ? NVT_PATH_STALL : NVT_PATH_GAP, op, ops->end[cause.op]);
        go_to_op(walk, cause.op);
    } else {
        tell(walk, is_stall ? NVT_PATH_STALL : NVT_PATH_LAUNCH, op,
             call == NVT_NONE ? ops->launch[op] : trace->apis.end[call]);
        go_to_thread(walk, ops->thread[op], call);
    }
}

/* --- on a thread ------------------------------------------------------------------------------------- */

/* The thread that handed over to one that was silent since `since`: it was at work in the meantime, then fell
 * silent itself, and stays so. With `anyhow`, the one that did something last. NVT_NONE: nobody. */
static uint32_t handed_over(struct walk *walk, int64_t since, int anyhow)
{
    const struct nvt_threads *threads = &walk->index->trace->threads;
    int64_t time = walk->time, latest = since;
    uint32_t by = NVT_NONE;
    if ((!anyhow && nvt_clock_since(time, since) < NVT_PATH_HANDOVER_NS) ||
        (walk->looks += threads->count) > LOOKS_AT_MOST)
        return NVT_NONE;
    for (uint32_t t = 0; t < threads->count; t++) {
        if (t == walk->thread || threads->process[t] != walk->path->process ||
            threads->tid[t] < 0) /* not one thread: what PyTorch knows no thread of */
            continue;
        int64_t edge = nvt_path_edge_before(walk->index, t, time);
        if (edge <= latest)
            continue;
        int is_handover =
            nvt_clock_since(time, edge) <= nvt_clock_since(time, since) / 2 &&
            nvt_clock_since(nvt_path_edge_from(walk->index, t, time), time) >= NVT_PATH_HANDOVER_NS;
        if (!is_handover && !anyhow)
            continue;
        latest = edge;
        by = t;
    }
    return by;
}

/* Behind a call that has ended: to what it waited for, or to its start. */
static void step_over_call(struct walk *walk, uint32_t call)
{
    const struct nvt_path_index *index = walk->index;
    const struct nvt_trace *trace = index->trace;
    const struct nvt_apis *apis = &trace->apis;
    uint32_t op = nvt_path_waited_for(index, call);
    if (op != NVT_NONE) {
        int64_t late = nvt_clock_since(apis->end[call], trace->ops.end[op]) - index->delays.wake;
        int64_t own = nvt_clock_since(apis->end[call], apis->start[call]) - index->delays.call;
        if (late <= own || late <= 0) {
            tell(walk, NVT_PATH_WAKE, call, trace->ops.end[op]);
            go_to_op(walk, op);
            return;
        }
    }
    tell(walk, NVT_PATH_CALL, call, apis->start[call]);
}

static void step_on_thread(struct walk *walk)
{
    const struct nvt_path_index *index = walk->index;
    const struct nvt_apis *apis = &index->trace->apis;
    if (walk->call != NVT_NONE) {
        uint32_t outer = nvt_path_outermost(index, walk->call);
        tell(walk, NVT_PATH_CALL, outer, apis->start[outer]);
        walk->call = NVT_NONE;
        return;
    }
    uint32_t call = nvt_path_call_before(index, walk->thread, walk->time);
    int64_t ended = call == NVT_NONE ? INT64_MIN : apis->end[call];
    if (ended == walk->time) {
        step_over_call(walk, call);
        return;
    }
    if (ended > walk->time) {
        tell(walk, NVT_PATH_CALL, call, apis->start[call]);
        return;
    }
    uint32_t piece = nvt_path_piece_before(index, walk->thread, walk->time);
    int64_t since = piece == NVT_NONE ? INT64_MIN : index->pieces[piece].time;
    since = ended > since ? ended : since;
    uint32_t by = handed_over(walk, since, since == INT64_MIN);
    if (by != NVT_NONE) {
        walk->path->handovers++;
        go_to_thread(walk, by, NVT_NONE);
    } else if (since == INT64_MIN) {
        walk->is_over = 1;
    } else {
        tell_host(walk, since);
    }
}

/* --- the walk ---------------------------------------------------------------------------------------- */

/* To the last event of the process. */
static void begin(struct walk *walk)
{
    const struct nvt_path_index *index = walk->index;
    const struct nvt_trace *trace = index->trace;
    const struct nvt_path_ops all = {NVT_NONE, walk->path->process, NVT_NONE, NVT_NONE};
    uint32_t op = nvt_path_last(index, all, INT64_MIN, INT64_MAX, INT64_MAX);
    walk->time = trace->ops.end[op];
    go_to_op(walk, op);
    for (uint32_t t = 0; t < trace->threads.count; t++) {
        int64_t edge = trace->threads.process[t] == walk->path->process
                           ? nvt_path_edge_before(index, t, INT64_MAX)
                           : INT64_MIN;
        if (edge > walk->time) {
            walk->time = edge;
            go_to_thread(walk, t, NVT_NONE);
        }
    }
}

static void reverse(struct nvt_critical_path *path)
{
    for (uint32_t i = 0, j = path->count; i + 1 < j; i++) {
        struct nvt_path_segment swapped = path->segments[i];
        path->segments[i] = path->segments[--j];
        path->segments[j] = swapped;
    }
}

/* 0, or -1 when out of memory. */
static int walk_back(const struct nvt_path_index *index, struct nvt_critical_path *path)
{
    const struct nvt_trace *trace = index->trace;
    struct walk walk = {.index = index, .path = path};
    /* Each step goes back in time or to an earlier row; what a broken trace may do to that, this ends. */
    uint64_t steps = 4 * ((uint64_t)trace->ops.count + trace->apis.count) +
                     8 * (uint64_t)trace->ranges.count + trace->threads.count + 16;
    for (begin(&walk); !walk.is_over && !walk.has_failed && steps; steps--) {
        if (walk.op != NVT_NONE)
            step_on_device(&walk);
        else
            step_on_thread(&walk);
    }
    reverse(path);
    return walk.has_failed ? -1 : 0;
}

static int has_ops(const struct nvt_path_index *index, uint32_t process)
{
    return index->process_by_end.first[process] < index->process_by_end.first[process + 1];
}

/* Whether there are calls beside those that give a device something to do: then waits would be on record, too. */
static int has_other_calls(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->apis.count; i++) {
        const char *name = nvt_name(trace, trace->apis.name[i]);
        if (trace->apis.class[i] != NVT_API_LIBRARY && !nvt_call_launches(name) &&
            !strstr(name, "emcpy") && !strstr(name, "emset"))
            return 1;
    }
    return 0;
}

int nvt_critical_paths_make(struct nvt_critical_paths *paths, const struct nvt_trace *trace,
                            unsigned flags, struct nvt_error *err)
{
    struct nvt_path_index index = {0};
    int status = 0;
    *paths = (struct nvt_critical_paths){.is_blind = trace->ops.count && !has_other_calls(trace)};
    if (!trace->ops.count || paths->is_blind)
        return 0;
    paths->items = calloc((size_t)trace->processes.count + 1, sizeof(*paths->items));
    if (!paths->items || nvt_path_index_make(&index, trace))
        status = -1;
    for (uint32_t p = 0; p < trace->processes.count && !status; p++)
        if (has_ops(&index, p)) {
            paths->items[paths->count].process = p;
            status = walk_back(&index, &paths->items[paths->count++]);
        }
    status = status ? nvt_fail_at(err, trace->path, -1, "out of memory")
                    : nvt_path_lend(&index, paths, flags, err);
    nvt_path_index_free(&index);
    if (status)
        nvt_critical_paths_free(paths);
    return status;
}

void nvt_critical_paths_free(struct nvt_critical_paths *paths)
{
    for (uint32_t i = 0; i < paths->count; i++)
        free(paths->items[i].segments);
    free(paths->items);
    *paths = (struct nvt_critical_paths){0};
}
