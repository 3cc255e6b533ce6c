/*
 * osrt_threads: calls of the operating system's libraries by thread.
 *
 * A thread's calls within each other count once: each moment is that of the call that began first, so that kinds add up to
 * the time in calls.
 */
#include "osrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/cover.h"
#include "../model/os_names.h"
#include "../studies/waits.h"

/* Kinds in the order of these columns. */
static const enum nvt_os_kind kinds[NVT_OS_KINDS] = {
    NVT_OS_FILES,  NVT_OS_NETWORK,   NVT_OS_LOCKS,  NVT_OS_THREADS, NVT_OS_POLL,
    NVT_OS_SLEEPS, NVT_OS_PROCESSES, NVT_OS_MEMORY, NVT_OS_DEVICES, NVT_OS_OTHER};

struct thread {
    int64_t first, last; /* of anything on record; first > last: there is nothing */
    uint64_t calls;
    int64_t until; /* when the last of its calls so far ends */
    int64_t ns[NVT_OS_KINDS];
};

static void see(struct thread *threads, uint32_t count, uint32_t thread, int64_t from, int64_t to)
{
    if (thread >= count)
        return;
    threads[thread].first = from < threads[thread].first ? from : threads[thread].first;
    threads[thread].last = to > threads[thread].last ? to : threads[thread].last;
}

/* What it is on record with, in all tables. */
#define SEE(table, thread, from, to)                                                               \
    for (uint32_t i = 0; i < trace->table.count; i++)                                              \
        see(threads, trace->threads.count, trace->table.thread[i], trace->table.from[i],           \
            trace->table.to[i]);

static void see_all(struct thread *threads, const struct nvt_trace *trace)
{
    SEE(ranges, thread, start, start)
    SEE(ranges, end_thread, end, end)
    SEE(marks, thread, time, time)
    SEE(counter_samples, thread, time, time)
    SEE(apis, thread, start, end)
    SEE(os_calls, thread, start, end)
    SEE(mpi_calls, thread, start, end)
    SEE(memory, thread, time, time)
    SEE(overheads, thread, start, end)
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.launch[i] != INT64_MIN)
            see(threads, trace->threads.count, trace->ops.thread[i], trace->ops.launch[i],
                trace->ops.launch[i]);
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (threads[i].last < trace->threads.last_ns[i])
            threads[i].last = trace->threads.last_ns[i];
}

static void put_osrt_threads_thread(struct nvt_table *table, const struct nvt_trace *trace,
                                    uint32_t thread, const struct thread *of)
{
    int64_t in_calls = 0, span = of->last - of->first;
    for (size_t i = 0; i < NVT_OS_KINDS; i++)
        in_calls += of->ns[i];
    nvt_table_put(table, trace->processes.pid[trace->threads.process[thread]],
                  trace->threads.tid[thread],
                  nvt_text_if_any(nvt_name(trace, trace->threads.name[thread])), span, of->calls,
                  in_calls, nvt_percent(in_calls, span));
    for (size_t i = 0; i < NVT_OS_KINDS; i++)
        nvt_table_more(table, of->ns[kinds[i]]);
}

static int put_osrt_threads(struct nvt_table *table, const struct nvt_trace *trace,
                            const struct nvt_making *making)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct thread *threads = calloc((size_t)trace->threads.count + 1, sizeof(*threads));
    struct nvt_os_names names = {{0}};
    struct nvt_waits waits = {.trace = NULL};
    (void)making;
    if (!threads || nvt_waits_make(&waits, trace)) {
        nvt_waits_free(&waits);
        free(threads);
        return -1;
    }
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        threads[i].first = INT64_MAX;
        threads[i].last = threads[i].until = INT64_MIN;
    }
    see_all(threads, trace);
    for (uint32_t i = 0; i < calls->count; i++) {
        struct thread *thread = &threads[calls->thread[i]];
        enum nvt_os_kind kind = nvt_wait_kind(&waits, &names, i);
        thread->calls++;
        thread->ns[kind] += nvt_cover(&thread->until, calls->start[i], calls->end[i]);
    }
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (threads[i].calls)
            put_osrt_threads_thread(table, trace, i, &threads[i]);
    nvt_os_names_free(&names);
    nvt_waits_free(&waits);
    free(threads);
    return 0;
}

const struct nvt_report nvt_report_osrt_threads = {
    .name = "osrt_threads",
    .about = "time of each thread in OS calls, by kind",
    .columns = {{"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Thread", NVT_NAMES},
                {"Span (ns)", NVT_NS},
                {"Num Calls", NVT_COUNTS},
                {"In Calls (ns)", NVT_NS},
                {"In Calls (%)", NVT_PERCENT},
                {"Files (ns)", NVT_NS},
                {"Network (ns)", NVT_NS},
                {"Locks (ns)", NVT_NS},
                {"Threads (ns)", NVT_NS},
                {"Poll (ns)", NVT_NS},
                {"Sleep (ns)", NVT_NS},
                {"Processes (ns)", NVT_NS},
                {"Memory (ns)", NVT_NS},
                {"Devices (ns)", NVT_NS},
                {"Other (ns)", NVT_NS}},
    .title = "OS calls by thread",
    .order = {"PID", "TID"},
    NVT_OS_CALLS_MISSING,
    .over_traces = put_osrt_threads,
};
