#include "thread_work.h"

#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../model/cover.h"
#include "blocking.h"

/* From how many calls on in which it waits a thread is known by them. */
#define LEAST_CALLS 3

struct maker {
    struct nvt_thread_work *work;
    const struct nvt_view *view;
    const struct nvt_thread_ranges *ranges;
    uint32_t process;
    struct nvt_map kinds;
    uint32_t *waits;       /* of each thread: calls in which it waits */
    int64_t *first, *last; /* of each thread: what is on record of it; first > last: nothing */
};

int nvt_is_waiting_call(struct nvt_map *kinds, const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t *at = nvt_map_at(kinds, (uint64_t)calls->name[call] << 32 | calls->file[call]);
    if (!at)
        return -1;
    if (*at == NVT_MAP_NONE)
        *at = nvt_blocking_kind(nvt_name(trace, calls->name[call]),
                                nvt_name(trace, calls->file[call]));
    switch ((enum nvt_os_kind) * at) {
    case NVT_OS_NETWORK:
    case NVT_OS_LOCKS:
    case NVT_OS_THREADS:
    case NVT_OS_POLL:
    case NVT_OS_SLEEPS:
    case NVT_OS_PROCESSES:
        return 1;
    default:
        return 0;
    }
}

/* --- what is on record -------------------------------------------------------------------------- */

static void see(struct maker *maker, uint32_t thread, int64_t start, int64_t end)
{
    maker->first[thread] = start < maker->first[thread] ? start : maker->first[thread];
    maker->last[thread] = end > maker->last[thread] ? end : maker->last[thread];
}

static int is_of(const struct maker *maker, uint32_t thread)
{
    return maker->view->trace->threads.process[thread] == maker->process;
}

/* 0, or -1 when out of memory. */
static int see_all(struct maker *maker)
{
    const struct nvt_trace *trace = maker->view->trace;
    const struct nvt_view *view = maker->view;
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        uint32_t thread = trace->os_calls.thread[i];
        if (!is_of(maker, thread))
            continue;
        see(maker, thread, trace->os_calls.start[i], trace->os_calls.end[i]);
        if (trace->os_calls.end[i] < view->from || trace->os_calls.start[i] > view->to)
            continue;
        int is_waiting = nvt_is_waiting_call(&maker->kinds, trace, i);
        if (is_waiting < 0)
            return -1;
        maker->waits[thread] += (uint32_t)is_waiting;
    }
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t thread = trace->cpu_samples.thread[i];
        if (is_of(maker, thread))
            see(maker, thread, trace->cpu_samples.time[i], trace->cpu_samples.time[i]);
    }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (trace->ranges.style[i] == NVT_PUSH_POP && is_of(maker, trace->ranges.thread[i]))
            see(maker, trace->ranges.thread[i], trace->ranges.start[i], trace->ranges.end[i]);
    return 0;
}

/* Threads that enter iterations of the steady part; without iterations the main one. */
static void find_loops(struct maker *maker)
{
    const struct nvt_view *view = maker->view;
    const struct nvt_trace *trace = view->trace;
    for (uint32_t i = 0; i < view->iteration_count; i++) {
        uint32_t thread = trace->ranges.thread[view->iterations[i]];
        if (is_of(maker, thread) && nvt_is_steady(view, trace->ranges.start[view->iterations[i]]))
            maker->work->is_loop[thread] = 1;
    }
    for (uint32_t i = 0; i < trace->threads.count && !view->iteration_count; i++)
        maker->work->is_loop[i] = is_of(maker, i) && nvt_is_main_thread(trace, i);
}

static void find_known(struct maker *maker)
{
    const struct nvt_trace *trace = maker->view->trace;
    struct nvt_thread_work *work = maker->work;
    int has_calls = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        has_calls |= maker->waits[i] >= LEAST_CALLS;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        if (!is_of(maker, i) || maker->first[i] > maker->last[i])
            continue;
        if (maker->waits[i] >= LEAST_CALLS || (has_calls && work->is_loop[i]))
            work->known[i] = NVT_KNOWN_BY_CALLS;
        else
            work->known[i] = trace->cpu_samples.count ? NVT_KNOWN_BY_SAMPLES : NVT_KNOWN_BY_RANGES;
    }
}

/* --- stretches ---------------------------------------------------------------------------------- */

/* A stretch as far as it lies in the steady part and behind the last one of its thread. 0, or -1 when out of memory. */
static int add(struct maker *maker, uint32_t thread, int64_t start, int64_t end)
{
    struct nvt_thread_work *work = maker->work;
    struct nvt_thread_stretch *last = work->count ? &work->items[work->count - 1] : NULL;
    start = start > maker->view->from ? start : maker->view->from;
    end = end < maker->view->to ? end : maker->view->to;
    if (last && last->thread == thread && start <= last->end) {
        last->end = end > last->end ? end : last->end;
        return 0;
    }
    if (end <= start)
        return 0;
    if (nvt_grow(&work->items, work->count, sizeof(*work->items)))
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
    work->items[work->count++] = (struct nvt_thread_stretch){start, end, thread};
    return 0;
}

/* What lies between waits: in order of their starts, calls within each other. 0, or -1 when out of memory. */
static int add_between(struct maker *maker, const struct nvt_buckets *os,
                       const struct nvt_buckets *mpi, uint32_t thread)
{
    const struct nvt_trace *trace = maker->view->trace;
    uint32_t i = os->first[thread], k = mpi->first[thread];
    int64_t until = maker->first[thread];
    while (i < os->first[thread + 1] || k < mpi->first[thread + 1]) {
        uint32_t call = i < os->first[thread + 1] ? os->rows[i] : NVT_NONE;
        uint32_t other = k < mpi->first[thread + 1] ? mpi->rows[k] : NVT_NONE;
        int is_os = other == NVT_NONE || (call != NVT_NONE && trace->os_calls.start[call] <=
                                                                  trace->mpi_calls.start[other]);
        int64_t start = is_os ? trace->os_calls.start[call] : trace->mpi_calls.start[other];
        int64_t end = is_os ? trace->os_calls.end[call] : trace->mpi_calls.end[other];
        int is_waiting = is_os ? nvt_is_waiting_call(&maker->kinds, trace, call) : 1;
        i += (uint32_t)is_os;
        k += (uint32_t)!is_os;
        if (is_waiting < 0 || (is_waiting && start > until && add(maker, thread, until, start)))
            return -1;
        if (is_waiting)
            (void)nvt_cover(&until, start, end);
    }
    return maker->last[thread] > until ? add(maker, thread, until, maker->last[thread]) : 0;
}

/* 0, or -1 when out of memory. */
static int add_samples(struct maker *maker, const struct nvt_buckets *samples, uint32_t thread)
{
    const struct nvt_cpu_samples *rows = &maker->view->trace->cpu_samples;
    int64_t until = INT64_MIN; /* how far the sample before reaches */
    for (uint32_t i = samples->first[thread]; i < samples->first[thread + 1]; i++) {
        int64_t time = rows->time[samples->rows[i]], ns = rows->cpu_ns[samples->rows[i]];
        if (ns <= 0 || time < maker->view->from || time > maker->view->to)
            continue;
        if (ns > maker->work->slack_ns)
            maker->work->slack_ns = ns;
        maker->work->sampled_ns += (double)ns;
        maker->work->samples++;
        /* What lies between two samples and is shorter than that is none of them: it cannot be seen. */
        int64_t start = nvt_clock_since(time, ns);
        if (add(maker, thread, until > nvt_clock_since(start, ns) && until < start ? until : start,
                time))
            return -1;
        until = time;
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_ranges(struct maker *maker, uint32_t thread)
{
    const struct nvt_buckets *threads = &maker->ranges->threads;
    const struct nvt_ranges *rows = &maker->view->trace->ranges;
    for (uint32_t i = threads->first[thread]; i < threads->first[thread + 1]; i++)
        if (maker->ranges->parent[threads->rows[i]] == NVT_NONE &&
            add(maker, thread, rows->start[threads->rows[i]], rows->end[threads->rows[i]]))
            return -1;
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_all(struct maker *maker)
{
    const struct nvt_trace *trace = maker->view->trace;
    const uint32_t threads = trace->threads.count;
    struct nvt_buckets os = {0}, mpi = {0}, samples = {0};
    int failed =
        nvt_buckets_make(&os, trace->os_calls.thread, threads, NULL, trace->os_calls.count) ||
        nvt_buckets_make(&mpi, trace->mpi_calls.thread, threads, NULL, trace->mpi_calls.count) ||
        nvt_buckets_make(&samples, trace->cpu_samples.thread, threads, NULL,
                         trace->cpu_samples.count);
    for (uint32_t i = 0; i < threads && !failed; i++)
        switch ((enum nvt_work_known)maker->work->known[i]) {
        case NVT_KNOWN_BY_CALLS:
            failed = add_between(maker, &os, &mpi, i);
            break;
        case NVT_KNOWN_BY_SAMPLES:
            failed = add_samples(maker, &samples, i);
            break;
        case NVT_KNOWN_BY_RANGES:
            failed = add_ranges(maker, i);
            break;
        default:
            break;
        }
    nvt_buckets_free(&os);
    nvt_buckets_free(&mpi);
    nvt_buckets_free(&samples);
    return failed ? -1 : 0;
}

int nvt_thread_work_make(struct nvt_thread_work *work, const struct nvt_view *view,
                         uint32_t process, const struct nvt_thread_ranges *ranges)
{
    const size_t threads = (size_t)view->trace->threads.count + 1;
    struct maker maker = {.work = work, .view = view, .ranges = ranges, .process = process};
    maker.waits = calloc(threads, sizeof(*maker.waits));
    maker.first = malloc(threads * sizeof(*maker.first));
    maker.last = malloc(threads * sizeof(*maker.last));
    work->known = calloc(threads, 1);
    work->is_loop = calloc(threads, 1);
    int failed = !maker.waits || !maker.first || !maker.last || !work->known || !work->is_loop;
    for (size_t i = 0; i < threads && !failed; i++) {
        maker.first[i] = INT64_MAX;
        maker.last[i] = INT64_MIN;
    }
    if (!failed)
        find_loops(&maker);
    failed = failed || see_all(&maker);
    if (!failed)
        find_known(&maker);
    failed = failed || add_all(&maker);
    nvt_map_free(&maker.kinds);
    free(maker.waits);
    free(maker.first);
    free(maker.last);
    return failed ? -1 : 0;
}

void nvt_thread_work_free(struct nvt_thread_work *work)
{
    free(work->items);
    free(work->known);
    free(work->is_loop);
    *work = (struct nvt_thread_work){0};
}
