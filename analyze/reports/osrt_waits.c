/*
 * osrt_threads, osrt_locks: calls of the operating system's libraries by thread, and by what they wait for.
 *
 * A thread's calls within each other count once: each moment is that of the call that began first, so that kinds add up to
 * the time in calls.
 *
 * A lock, condition variable, semaphore … is known by its address in its process. A wait for a lock means that another thread
 * held it. Waits for threads (condition variables, semaphores) mostly mean idle workers, and there is much of that: so locks
 * come first, whatever they took. A range has the time of the calls that it is the innermost one to hold (calls_by_range.h).
 */
#include "osrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/cover.h"
#include "../model/os_names.h"
#include "../studies/calls_by_range.h"
#include "../studies/pairs.h"

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
    if (!threads)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        threads[i].first = INT64_MAX;
        threads[i].last = threads[i].until = INT64_MIN;
    }
    see_all(threads, trace);
    for (uint32_t i = 0; i < calls->count; i++) {
        struct thread *thread = &threads[calls->thread[i]];
        enum nvt_os_kind kind = nvt_os_names_kind(&names, trace, calls->name[i]);
        thread->calls++;
        thread->ns[kind] += nvt_cover(&thread->until, calls->start[i], calls->end[i]);
    }
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (threads[i].calls)
            put_thread(table, trace, i, &threads[i]);
    nvt_os_names_free(&names);
    free(threads);
    return 0;
}

static int make_threads(struct nvt_report_input *input, struct nvt_tables *tables,
                        struct nvt_error *err)
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

/* --- by lock ------------------------------------------------------------------------------------ */

enum { L_PID, L_ADDRESS, L_CALL, L_KIND, L_THREADS, L_WAITS, L_TOTAL, L_AVG, L_CALLER = L_AVG + 5 };
enum { L_IN = L_CALLER + 1 };

static const struct nvt_column_spec lock_columns[] = {
    [L_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [L_ADDRESS] = {"Address", "", NVT_TEXT, 0, 0},
    [L_CALL] = {"Call", "", NVT_TEXT, 0, 0},
    [L_KIND] = {"Kind", "", NVT_TEXT, 0, 0},
    [L_THREADS] = {"Threads", "", NVT_INT, 0, 0},
    [L_WAITS] = {"Num Waits", "", NVT_INT, 0, 0},
    [L_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    {"Med (ns)", "ns", NVT_REAL, 1, 0},
    {"Min (ns)", "ns", NVT_INT, 0, 0},
    {"Max (ns)", "ns", NVT_INT, 0, 0},
    {"StdDev (ns)", "ns", NVT_REAL, 1, 0},
    [L_CALLER] = {"Caller", "", NVT_TEXT, 0, 0},
    [L_IN] = {"Most In", "", NVT_TEXT, 0, 0},
};

/* Locks of all traces are the groups; their keys: trace, process, upper and lower half of the address, kind. */
enum { OF_TRACE, OF_PROCESS, OF_HIGH, OF_LOW, OF_KIND, KEY_PARTS };

struct locks {
    struct nvt_groups groups;
    struct nvt_pairs calls, ranges, threads,
        callers; /* time of each lock's waits by one more thing */
};

static int add_wait(struct locks *locks, const struct nvt_thread_ranges *holders,
                    uint32_t trace_number, uint32_t call, enum nvt_os_kind kind)
{
    const struct nvt_trace *trace = holders->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const uint32_t thread = calls->thread[call];
    const uint32_t key[KEY_PARTS] = {[OF_TRACE] = trace_number,
                                     [OF_PROCESS] = trace->threads.process[thread],
                                     [OF_HIGH] = (uint32_t)(calls->address[call] >> 32),
                                     [OF_LOW] = (uint32_t)calls->address[call],
                                     [OF_KIND] = kind};
    int64_t ns = calls->end[call] - calls->start[call];
    uint32_t range = nvt_holder_of(holders, thread, calls->start[call], calls->end[call]);
    uint32_t range_name = range == NVT_NONE ? nvt_groups_text(&locks->groups, "")
                                            : nvt_groups_range(&locks->groups, range);
    uint32_t name = nvt_groups_string(&locks->groups, calls->name[call]);
    uint32_t lock = nvt_groups_key(&locks->groups, key, KEY_PARTS);
    nvt_groups_add(&locks->groups, lock, ns);
    return lock == NVT_NONE || nvt_pairs_add(&locks->calls, lock, name, ns) ||
                   nvt_pairs_add(&locks->ranges, lock, range_name, ns) ||
                   nvt_pairs_add(&locks->threads, lock, thread, ns) ||
                   nvt_pairs_add(&locks->callers, lock,
                                 nvt_groups_string(&locks->groups, calls->caller[call]), ns)
               ? -1
               : 0;
}

static int add_trace(struct locks *locks, const struct nvt_trace *trace, uint32_t number,
                     struct nvt_error *err)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_os_names names = {{0}};
    struct nvt_thread_ranges holders = {0};
    int status = nvt_thread_ranges_make(&holders, trace, err);
    nvt_groups_trace(&locks->groups, trace);
    for (uint32_t i = 0; i < calls->count && !status; i++) {
        enum nvt_os_kind kind = nvt_os_names_kind(&names, trace, calls->name[i]);
        int is_wait = calls->address[i] && (kind == NVT_OS_LOCKS || kind == NVT_OS_THREADS);
        if (is_wait && add_wait(locks, &holders, number, i, kind))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    nvt_thread_ranges_free(&holders);
    nvt_os_names_free(&names);
    return status;
}

static void put_lock(struct nvt_table *table, const struct nvt_report_input *input,
                     struct locks *locks, uint32_t lock)
{
    const struct nvt_pairs *calls = &locks->calls, *threads = &locks->threads;
    const struct nvt_group *group = &locks->groups.groups[lock];
    const struct nvt_trace *trace = input->traces[group->key[OF_TRACE]].trace;
    struct nvt_summary summary = nvt_groups_summary(&locks->groups, lock);
    char call[100];
    size_t row = nvt_table_add_row(table);
    snprintf(call, sizeof(call), "%.80s%s",
             nvt_groups_name(&locks->groups, nvt_pairs_most(calls, lock)->part),
             calls->first[lock + 1] - calls->first[lock] > 1 ? ", …" : "");
    nvt_table_set_int(table, row, L_PID, trace->processes.pid[group->key[OF_PROCESS]]);
    nvt_osrt_put_address(table, row, L_ADDRESS,
                         (uint64_t)group->key[OF_HIGH] << 32 | group->key[OF_LOW]);
    nvt_table_set_text(table, row, L_CALL, call);
    nvt_table_set_text(table, row, L_KIND, nvt_os_kind_name(group->key[OF_KIND]));
    nvt_table_set_int(table, row, L_THREADS, threads->first[lock + 1] - threads->first[lock]);
    nvt_table_set_int(table, row, L_WAITS, (int64_t)group->count);
    nvt_table_set_int(table, row, L_TOTAL, group->total);
    nvt_put_summary(table, row, L_AVG, &summary, 1);
    nvt_table_set_name(
        table, row, L_CALLER,
        nvt_groups_name(&locks->groups, nvt_pairs_most(&locks->callers, lock)->part));
    nvt_table_set_name(table, row, L_IN,
                       nvt_groups_name(&locks->groups, nvt_pairs_most(&locks->ranges, lock)->part));
}

static int put_locks(struct nvt_table *table, const struct nvt_report_input *input,
                     struct locks *locks, struct nvt_error *err)
{
    const uint32_t count = locks->groups.count;
    if (nvt_groups_finish(&locks->groups, err))
        return -1;
    if (nvt_pairs_sort(&locks->calls, count) || nvt_pairs_sort(&locks->ranges, count) ||
        nvt_pairs_sort(&locks->threads, count) || nvt_pairs_sort(&locks->callers, count))
        return nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        put_lock(table, input, locks, i);
    nvt_table_sort(table, L_TOTAL, 1);
    nvt_table_sort(table, L_KIND, 0); /* "locks" before "threads" */
    return 0;
}

static int make_locks(struct nvt_report_input *input, struct nvt_tables *tables,
                      struct nvt_error *err)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_osrt_locks, input, "Waits by lock", err);
    struct locks locks = {.calls = {.count = 0}};
    int status = table ? 0 : -1;
    nvt_osrt_note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&locks, input->traces[i].trace, (uint32_t)i, err);
    if (!status)
        status = put_locks(table, input, &locks, err);
    nvt_groups_free(&locks.groups);
    nvt_pairs_free(&locks.calls);
    nvt_pairs_free(&locks.ranges);
    nvt_pairs_free(&locks.threads);
    nvt_pairs_free(&locks.callers);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    if (!nvt_table_rows(table) && nvt_report_has_os_calls(input))
        nvt_note(input, "note: no OS runtime call of the input says which lock it waited for "
                        "(record --trace osrt does)");
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

const struct nvt_report nvt_report_osrt_locks = {
    .name = "osrt_locks",
    .about = "what threads wait for: locks, then condition variables and the like, by time",
    .needs = NVT_NEEDS_TRACES,
    .columns = lock_columns,
    .column_count = sizeof(lock_columns) / sizeof(lock_columns[0]),
    .make = make_locks,
};
