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

/* --- by thread ---------------------------------------------------------------------------------- */

enum { H_PID, H_TID, H_NAME, H_SPAN, H_CALLS, H_TOTAL, H_SHARE, H_KINDS };

#define KIND_COLUMN(heading)                                                                       \
    {                                                                                              \
        heading " (ns)", "ns", NVT_INT, 0, 0                                                       \
    }

static const struct nvt_column_spec thread_columns[] = {
    [H_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [H_TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [H_NAME] = {"Thread", "", NVT_TEXT, 0, 0},
    [H_SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [H_CALLS] = {"Num Calls", "", NVT_INT, 0, 0},
    [H_TOTAL] = {"In Calls (ns)", "ns", NVT_INT, 0, 0},
    [H_SHARE] = {"In Calls (%)", "%", NVT_REAL, 1, 0},
    [H_KINDS] = KIND_COLUMN("Files"),
    KIND_COLUMN("Network"),
    KIND_COLUMN("Locks"),
    KIND_COLUMN("Threads"),
    KIND_COLUMN("Poll"),
    KIND_COLUMN("Sleep"),
    KIND_COLUMN("Processes"),
    KIND_COLUMN("Memory"),
    KIND_COLUMN("Devices"),
    KIND_COLUMN("Other"),
};

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

static void put_thread(struct nvt_table *table, const struct nvt_trace *trace, uint32_t thread,
                       const struct thread *of)
{
    int64_t in_calls = 0, span = of->last - of->first;
    size_t row = nvt_table_add_row(table);
    for (size_t i = 0; i < NVT_OS_KINDS; i++) {
        in_calls += of->ns[i];
        nvt_table_set_int(table, row, H_KINDS + i, of->ns[kinds[i]]);
    }
    nvt_table_set_int(table, row, H_PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, H_TID, trace->threads.tid[thread]);
    nvt_table_set_name(table, row, H_NAME, nvt_name(trace, trace->threads.name[thread]));
    nvt_table_set_int(table, row, H_SPAN, span);
    nvt_table_set_int(table, row, H_CALLS, (int64_t)of->calls);
    nvt_table_set_int(table, row, H_TOTAL, in_calls);
    if (span > 0)
        nvt_table_set_real(table, row, H_SHARE, 100 * (double)in_calls / (double)span);
}

static int put_threads(struct nvt_table *table, const struct nvt_trace *trace,
                       struct nvt_error *err)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct thread *threads = calloc((size_t)trace->threads.count + 1, sizeof(*threads));
    struct nvt_os_names names = {{0}};
    struct nvt_waits waits = {.trace = NULL};
    if (!threads || nvt_waits_make(&waits, trace)) {
        nvt_waits_free(&waits);
        free(threads);
        return nvt_fail_at(err, trace->path, -1, "out of memory");
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
            put_thread(table, trace, i, &threads[i]);
    nvt_os_names_free(&names);
    nvt_waits_free(&waits);
    free(threads);
    return 0;
}

static int make_threads(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table =
        nvt_report_table(&nvt_report_osrt_threads, input, "OS runtime calls by thread", err);
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_threads(table, input->traces[i].trace, err);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    nvt_table_sort(table, H_TID, 0);
    nvt_table_sort(table, H_PID, 0);
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_osrt_threads = {
    .name = "osrt_threads",
    .about = "time of each thread in calls of the operating system's libraries, by kind",
    .needs = NVT_NEEDS_TRACES,
    .columns = thread_columns,
    .column_count = sizeof(thread_columns) / sizeof(thread_columns[0]),
    .make = make_threads,
};
