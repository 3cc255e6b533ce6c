#include "blocking.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../model/batches.h"
#include "../model/cover.h"
#include "event_loops.h"

/* What is known of a thread. */
enum { REPEATS = 1, LOOP = 2, EVENTS = 4 };

enum nvt_os_kind nvt_blocking_kind(const char *call, const char *file)
{
    const struct nvt_os_call_info *info = nvt_os_call_find(call);
    if (!info)
        return NVT_OS_OTHER;
    if (info->kind == NVT_OS_FILES && (!strcmp(file, "socket") || !strncmp(file, "socket ", 7)))
        return NVT_OS_NETWORK;
    return info->kind == NVT_OS_FILES && !strcmp(file, "pipe") ? NVT_OS_POLL : info->kind;
}

static uint64_t pair_of(uint32_t thread, uint32_t other)
{
    return (uint64_t)thread << 32 | other;
}

static int is_entered_often(const struct nvt_blocking *blocking, uint32_t range)
{
    const struct nvt_ranges *ranges = &blocking->view->trace->ranges;
    uint32_t entries =
        nvt_map_get(&blocking->entries, pair_of(ranges->thread[range], ranges->name[range]));
    return entries != NVT_MAP_NONE && entries >= NVT_BLOCKING_LEAST;
}

/* How often each thread enters each range. 0, or -1 when out of memory. */
static int count_entries(struct nvt_blocking *blocking)
{
    const struct nvt_view *view = blocking->view;
    const struct nvt_ranges *ranges = &view->trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t thread = ranges->thread[i];
        if (ranges->style[i] != NVT_PUSH_POP || !nvt_is_steady(view, ranges->start[i]) ||
            !nvt_is_viewed_thread(view, thread))
            continue;
        uint32_t *at = nvt_map_at(&blocking->entries, pair_of(thread, ranges->name[i]));
        if (!at)
            return -1;
        *at = *at == NVT_MAP_NONE ? 1 : *at + 1;
        if (*at >= NVT_BLOCKING_LEAST)
            blocking->threads[thread] |= REPEATS;
    }
    return 0;
}

/* Without iterations. 0, or -1 when out of memory. */
static int find_main_threads(struct nvt_blocking *blocking)
{
    enum { MAIN = 1, DEVICE = 2 };
    const struct nvt_trace *trace = blocking->view->trace;
    const uint32_t *process = trace->threads.process;
    unsigned char *has = calloc((size_t)trace->processes.count + 1, 1);
    for (uint32_t i = 0; has && i < trace->threads.count; i++)
        if (blocking->threads[i] & REPEATS && nvt_is_main_thread(trace, i))
            has[process[i]] |= MAIN;
    for (uint32_t i = 0; has && i < trace->ops.count; i++)
        has[trace->ops.process[i]] |= DEVICE;
    for (uint32_t i = 0; has && i < trace->threads.count; i++)
        if (blocking->threads[i] & REPEATS &&
            (nvt_is_main_thread(trace, i) || !(has[process[i]] & MAIN)) &&
            (has[process[i]] & DEVICE || !trace->ops.count))
            blocking->threads[i] |= LOOP;
    free(has);
    return has ? 0 : -1;
}

/* What blocks there keeps others waiting, whatever iterations there are. 0, or -1 when out of memory. */
static int find_event_loops(struct nvt_blocking *blocking)
{
    const struct nvt_os_calls *calls = &blocking->view->trace->os_calls;
    blocking->turns = nvt_event_loop_frames(blocking->view->trace);
    for (uint32_t i = 0; blocking->turns && i < calls->count; i++)
        if (calls->frame[i] && blocking->turns[calls->frame[i] - 1])
            blocking->threads[calls->thread[i]] |= EVENTS | LOOP;
    return blocking->turns ? 0 : -1;
}

static int find_threads(struct nvt_blocking *blocking)
{
    const struct nvt_view *view = blocking->view;
    if (find_event_loops(blocking))
        return -1;
    if (!view->iteration_count)
        return find_main_threads(blocking);
    for (uint32_t i = 0; i < view->iteration_count; i++)
        if (nvt_is_steady(view, view->trace->ranges.start[view->iterations[i]]))
            blocking->threads[view->trace->ranges.thread[view->iterations[i]]] |= LOOP;
    return 0;
}

int nvt_blocking_is_event_loop(const struct nvt_blocking *blocking, uint32_t thread)
{
    return (blocking->threads[thread] & EVENTS) != 0;
}

int nvt_blocking_is_loop(const struct nvt_blocking *blocking, uint32_t thread)
{
    return (blocking->threads[thread] & LOOP) != 0;
}

/* How far the calls of CUDA and MPI reach that each thread has begun until now. */
struct others {
    int64_t *until;
    uint32_t api, mpi;
};

static int is_within_others(struct others *others, const struct nvt_trace *trace, uint32_t call)
{
    int64_t start = trace->os_calls.start[call];
    for (; others->api < trace->apis.count && trace->apis.start[others->api] <= start;
         others->api++)
        (void)nvt_cover(&others->until[trace->apis.thread[others->api]], start,
                        trace->apis.end[others->api]);
    for (; others->mpi < trace->mpi_calls.count && trace->mpi_calls.start[others->mpi] <= start;
         others->mpi++)
        (void)nvt_cover(&others->until[trace->mpi_calls.thread[others->mpi]], start,
                        trace->mpi_calls.end[others->mpi]);
    return start < others->until[trace->os_calls.thread[call]];
}

/* Whether calls of a kind in a wait for a batch are input-bound's: those that wait for workers, and, where no device works and that
   rule has all of the wait, what makes the batch. Who holds a lock it does not say. */
static int is_of_input(const struct nvt_trace *trace, enum nvt_os_kind kind)
{
    return kind == NVT_OS_THREADS || kind == NVT_OS_POLL ||
           (!trace->ops.count && kind != NVT_OS_LOCKS);
}

/* Whether a call blocks an event loop that waits for events otherwise. */
static int blocks_events(const struct nvt_blocking *blocking, uint32_t call, enum nvt_os_kind kind)
{
    const uint32_t frame = blocking->view->trace->os_calls.frame[call];
    return kind != NVT_OS_POLL && frame && blocking->turns[frame - 1];
}

/* Whether a call lies in a range of a loop, or a turn of an event loop, and not where that waits for a batch, which is told by itself. */
static int is_in_loop(const struct nvt_blocking *blocking, uint32_t call, enum nvt_os_kind kind)
{
    const struct nvt_trace *trace = blocking->view->trace;
    uint32_t open[NVT_NESTING_DEPTH];
    uint32_t depth = nvt_thread_ranges_open(&blocking->ranges, trace->os_calls.thread[call],
                                            trace->os_calls.start[call], open);
    int is_in =
        (kind == NVT_OS_LOCKS && !trace->ranges.count) || blocks_events(blocking, call, kind);
    for (uint32_t i = 0; i < depth; i++) {
        if (is_of_input(trace, kind) && nvt_is_batch_wait(trace, open[i]))
            return 0;
        is_in |= is_entered_often(blocking, open[i]);
    }
    return is_in;
}

/* NVT_OS_KINDS when out of memory. */
static enum nvt_os_kind kind_of(struct nvt_blocking *blocking, uint32_t call)
{
    const struct nvt_trace *trace = blocking->view->trace;
    uint32_t name = trace->os_calls.name[call], file = trace->os_calls.file[call];
    if (nvt_is_lock_wait(blocking->waits.what[call]))
        return NVT_OS_LOCKS;
    uint32_t *at = nvt_map_at(&blocking->kinds, pair_of(name, file));
    if (!at)
        return NVT_OS_KINDS;
    if (*at == NVT_MAP_NONE)
        *at = nvt_blocking_kind(nvt_name(trace, name), nvt_name(trace, file));
    return (enum nvt_os_kind)(*at);
}

/* The item of a thread and a kind, NVT_NONE when out of memory. */
static uint32_t item_of(struct nvt_blocking *blocking, uint32_t thread, enum nvt_os_kind kind)
{
    const uint32_t item = nvt_map_row(&blocking->places, pair_of(thread, kind), &blocking->items,
                                      &blocking->count, sizeof(*blocking->items));
    if (item != NVT_NONE) {
        blocking->items[item].thread = thread;
        blocking->items[item].kind = kind;
    }
    return item;
}

/* What of a call lies in the steady part and in no call before it. */
static struct nvt_span own_time(const struct nvt_blocking *blocking, uint32_t call)
{
    const struct nvt_os_calls *calls = &blocking->view->trace->os_calls;
    const struct nvt_view *view = blocking->view;
    int64_t *until = &blocking->until[calls->thread[call]];
    struct nvt_span span = {calls->start[call], calls->end[call]};
    span.start = span.start > view->from ? span.start : view->from;
    span.start = span.start > *until ? span.start : *until;
    span.end = span.end < view->to ? span.end : view->to;
    (void)nvt_cover(until, span.start, calls->end[call]);
    return span;
}

/* 0, or -1 when out of memory. */
static int add_call(struct nvt_blocking *blocking, uint32_t call)
{
    uint32_t thread = blocking->view->trace->os_calls.thread[call];
    enum nvt_os_kind kind = kind_of(blocking, call);
    if (kind == NVT_OS_KINDS)
        return -1;
    if (kind == NVT_OS_OTHER || (kind != NVT_OS_LOCKS && !nvt_blocking_is_loop(blocking, thread)))
        return 0;
    struct nvt_span span = own_time(blocking, call);
    if (span.end <= span.start || !is_in_loop(blocking, call, kind))
        return 0;
    uint32_t item = item_of(blocking, thread, kind);
    if (item == NVT_NONE ||
        nvt_grow(&blocking->calls, blocking->call_count, sizeof(*blocking->calls)))
        return -1;
    blocking->calls[blocking->call_count++] = (struct nvt_blocking_call){call, item, span};
    struct nvt_blocked *blocked = &blocking->items[item];
    double ns = (double)(span.end - span.start);
    blocked->ns += ns;
    blocked->count++;
    nvt_longest_add(&blocked->longest, span.start, ns);
    return 0;
}

static int add_calls(struct nvt_blocking *blocking, struct others *others)
{
    const struct nvt_view *view = blocking->view;
    const struct nvt_os_calls *calls = &view->trace->os_calls;
    int failed = 0;
    for (uint32_t i = 0; i < calls->count && !failed; i++) {
        int is_inner = is_within_others(others, view->trace, i);
        int is_whole = !(calls->flags[i] & NVT_RANGE_PARTIAL);
        int is_steady = calls->start[i] < view->to && calls->end[i] > view->from;
        if (!is_inner && is_whole && is_steady &&
            (blocking->threads[calls->thread[i]] || !view->trace->ranges.count) &&
            nvt_is_viewed_thread(view, calls->thread[i]))
            failed = add_call(blocking, i);
    }
    return failed;
}

int nvt_blocking_make(struct nvt_blocking *blocking, const struct nvt_view *view)
{
    uint32_t threads = view->trace->threads.count;
    struct others others = {.until = malloc(((size_t)threads + 1) * sizeof(int64_t))};
    blocking->view = view;
    blocking->threads = calloc((size_t)threads + 1, 1);
    blocking->until = malloc(((size_t)threads + 1) * sizeof(int64_t));
    int failed = !others.until || !blocking->threads || !blocking->until;
    for (uint32_t i = 0; i < threads && !failed; i++)
        others.until[i] = blocking->until[i] = INT64_MIN;
    failed = failed || nvt_thread_ranges_make(&blocking->ranges, view->trace, NULL) ||
             nvt_waits_make(&blocking->waits, view->trace) ||
             nvt_lock_holders_make(&blocking->holders, &blocking->waits) ||
             count_entries(blocking) || find_threads(blocking) || add_calls(blocking, &others);
    free(others.until);
    return failed ? -1 : 0;
}

void nvt_blocking_free(struct nvt_blocking *blocking)
{
    nvt_thread_ranges_free(&blocking->ranges);
    nvt_lock_holders_free(&blocking->holders);
    nvt_waits_free(&blocking->waits);
    nvt_map_free(&blocking->entries);
    nvt_map_free(&blocking->kinds);
    nvt_map_free(&blocking->places);
    free(blocking->threads);
    free(blocking->until);
    free(blocking->turns);
    free(blocking->items);
    free(blocking->calls);
    *blocking = (struct nvt_blocking){0};
}

int nvt_blocking_places(const struct nvt_blocking *blocking, uint32_t item,
                        struct nvt_places *places)
{
    const struct nvt_trace *trace = blocking->view->trace;
    uint32_t open[NVT_NESTING_DEPTH];
    int failed = 0;
    for (uint32_t i = 0; i < blocking->call_count && !failed; i++) {
        const struct nvt_blocking_call *call = &blocking->calls[i];
        if (call->blocked != item)
            continue;
        uint32_t depth = nvt_thread_ranges_open(&blocking->ranges, blocking->items[item].thread,
                                                trace->os_calls.start[call->row], open);
        while (depth && !failed) {
            uint32_t range = open[--depth];
            const struct nvt_span span = {trace->ranges.start[range], trace->ranges.end[range]};
            if (is_entered_often(blocking, range))
                failed = nvt_places_add(places, trace->ranges.name[range], i + UINT64_C(1),
                                        &call->span, &span);
        }
    }
    return failed;
}

int nvt_device_work(const struct nvt_view *view, uint32_t process, struct nvt_span **spans,
                    size_t *count)
{
    const struct nvt_ops *ops = &view->trace->ops;
    for (uint32_t i = 0; i < ops->count && ops->start[i] <= view->to; i++) {
        struct nvt_span *last = *count ? &(*spans)[*count - 1] : NULL;
        if ((process != NVT_NONE && ops->process[i] != process) || ops->end[i] <= view->from)
            continue;
        if (last && ops->start[i] <= last->end) {
            last->end = ops->end[i] > last->end ? ops->end[i] : last->end;
            continue;
        }
        if (nvt_grow(spans, *count, sizeof(**spans)))
            return -1;
        (*spans)[(*count)++] = (struct nvt_span){ops->start[i], ops->end[i]};
    }
    return 0;
}

double nvt_blocking_busy(const struct nvt_blocking *blocking, uint32_t item)
{
    const struct nvt_trace *trace = blocking->view->trace;
    struct nvt_span *work = NULL;
    size_t count = 0;
    double ns = 0;
    size_t first = 0;
    int failed = nvt_device_work(
        blocking->view, trace->threads.process[blocking->items[item].thread], &work, &count);
    for (uint32_t i = 0; i < blocking->call_count && !failed; i++) {
        const struct nvt_blocking_call *call = &blocking->calls[i];
        if (call->blocked == item)
            ns += (double)nvt_span_within(&call->span, work, count, &first);
    }
    free(work);
    return failed ? -1 : ns;
}
