/* deadlock: threads that wait for locks which nobody can release any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/deadlock.h"
#include "../../lib/count_of.h"
#include "../diagnosis/diagnose.h"
#include "../model/batches.h"
#include "../studies/hot_functions.h"

/* Functions of a stack that are told. */
enum { CALLERS = 120 };

/* "again (hang.py:12) < __getitem__ (hang.py:10)", of what the program itself has on the stack; without a stack "pthread_mutex_lock
 * 0x7f10". NULL when out of memory. */
static const char *place_text(const struct nvt_trace *trace, uint32_t call, char out[CALLERS])
{
    struct nvt_buffer text = {0};
    uint32_t site = nvt_wait_site(trace, trace->os_calls.frame[call]);
    int failed = nvt_put_own_callers(trace, site, &text);
    if (text.size)
        snprintf(out, CALLERS, "%.*s", (int)text.size, (const char *)text.data);
    else
        snprintf(out, CALLERS, "%.40s 0x%llx", nvt_name(trace, trace->os_calls.name[call]),
                 (unsigned long long)trace->os_calls.address[call]);
    nvt_buffer_free(&text);
    return failed ? NULL : out;
}

/* Which kind of worker a process is, by the function that its main loop is: "in a DataLoader worker, ", "" of none. */
static const char *worker_text(const struct nvt_trace *trace, uint32_t call)
{
    static const struct {
        const char *function, *text;
    } workers[] = {{"_worker_loop (worker.py:", "in a DataLoader worker, "},
                   {"_process_worker (process.py:", "in a worker process, "},
                   {"_bootstrap (process.py:", "in a worker process, "}};
    const struct nvt_call_frames *frames = &trace->call_frames;
    for (size_t i = 0; i < NVT_COUNT_OF(workers); i++)
        for (uint32_t frame = trace->os_calls.frame[call]; frame; frame = frames->parent[frame - 1])
            if (!strncmp(nvt_name(trace, frames->name[frame - 1]), workers[i].function,
                         strlen(workers[i].function)))
                return workers[i].text;
    return "";
}

/* 0, or -1 when out of memory. */
static int tell_deadlock_what(const struct nvt_trace *trace, const struct nvt_deadlock *deadlock,
                              struct nvt_finding *finding)
{
    char first[CALLERS], second[CALLERS];
    const char *worker = worker_text(trace, deadlock->calls[0]);
    if (!place_text(trace, deadlock->calls[0], first) ||
        !place_text(trace, deadlock->calls[deadlock->named > 1], second))
        return -1;
    switch (deadlock->kind) {
    case NVT_DEADLOCK_SELF:
        snprintf(finding->what, sizeof(finding->what),
                 "%sa thread waits for a lock that it holds itself, by %s", worker, first);
        break;
    case NVT_DEADLOCK_CYCLE:
        snprintf(finding->what, sizeof(finding->what),
                 "%s%u threads hold each other's locks, by %.80s and by %.80s", worker,
                 deadlock->count, first, second);
        break;
    case NVT_DEADLOCK_FORKED:
        snprintf(
            finding->what, sizeof(finding->what),
            "%sa lock that another thread held at the fork is never released; waited for by %s",
            worker, first);
        break;
    default:
        snprintf(finding->what, sizeof(finding->what),
                 "%sa lock whose holder has ended is never released; waited for by %s", worker,
                 first);
    }
    return 0;
}

/* "; thread 12 has waited for 5.2 s in sem_wait() by transfer (bank.py:10) < main (bank.py:30), for the lock that thread 13 holds" */
static int tell_thread(const struct nvt_trace *trace, uint32_t call, struct nvt_finding *finding)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    char place[CALLERS];
    if (!place_text(trace, call, place))
        return -1;
    nvt_finding_append(finding, "%sthread %lld has waited for %s in %.40s(), by %s",
                       finding->evidence[0] ? "; " : "",
                       (long long)trace->threads.tid[calls->thread[call]],
                       NVT_TIME((double)(calls->end[call] - calls->start[call])),
                       nvt_name(trace, calls->name[call]), place);
    return 0;
}

static void tell_holder(const struct nvt_trace *trace, const struct nvt_deadlock *deadlock,
                        struct nvt_finding *finding)
{
    const uint32_t call = deadlock->calls[0];
    const long long tid = trace->os_calls.holder[call];
    if (deadlock->kind == NVT_DEADLOCK_SELF)
        nvt_finding_append(finding, "; it holds that lock itself%s",
                           nvt_is_python_lock(trace, call)
                               ? ", and nothing else of Python runs in the process"
                               : "");
    else if (deadlock->kind == NVT_DEADLOCK_FORKED)
        nvt_finding_append(
            finding, "; thread %lld of process %lld held it, which fork() did not copy", tid,
            (long long)trace->processes.pid[trace->threads.process[deadlock->holder]]);
    else if (deadlock->kind == NVT_DEADLOCK_ENDED)
        nvt_finding_append(finding, "; thread %lld took it, and ended %s before that", tid,
                           NVT_TIME((double)(trace->os_calls.start[call] -
                                             trace->threads.ended_ns[deadlock->holder])));
}

/* A parent that waits for a batch. */
static void tell_parent(const struct nvt_trace *trace, const struct nvt_deadlock *deadlock,
                        struct nvt_finding *finding)
{
    int64_t parent = trace->processes.parent_pid[deadlock->process];
    for (uint32_t i = 0; parent > 0 && i < trace->ranges.count; i++) {
        if (!(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED) ||
            trace->processes.pid[trace->threads.process[trace->ranges.thread[i]]] != parent ||
            !nvt_is_batch_wait(trace, i))
            continue;
        nvt_finding_append(finding, "; process %lld waits for its batch", (long long)parent);
        return;
    }
}

static const char *remedy_of(const struct nvt_trace *trace, const struct nvt_deadlock *deadlock)
{
    int is_python = nvt_is_python_lock(trace, deadlock->calls[0]);
    switch (deadlock->kind) {
    case NVT_DEADLOCK_SELF:
        return is_python ? "use threading.RLock(), which its holder may take again; or call a "
                           "function that "
                           "takes no lock while the lock is held"
                         : "use a recursive mutex, which its holder may lock again; or call a "
                           "function that "
                           "locks nothing while the mutex is held";
    case NVT_DEADLOCK_CYCLE:
        return "take the locks in the same order everywhere, or one lock for both; or release the "
               "first one before the second is taken";
    case NVT_DEADLOCK_FORKED:
        return is_python ? "start workers before threads, or without fork: "
                           "multiprocessing_context=\"forkserver\" of a DataLoader, "
                           "multiprocessing.set_start_method(\"forkserver\"), or \"spawn\""
                         : "fork before threads are started, or exec() at once in the child; "
                           "pthread_atfork() may take the lock and release it on both sides";
    default:
        return is_python ? "release the lock whatever happens: with lock:, or try and finally"
                         : "release the lock on every way out of the function; a robust mutex "
                           "(PTHREAD_MUTEX_ROBUST) reports to the next thread that its owner died";
    }
}

/* 0, or -1 when out of memory. */
static int tell_deadlock(const struct nvt_rule *rule, const struct nvt_input_trace *from,
                         const struct nvt_deadlock *deadlock, struct nvt_findings *findings)
{
    const struct nvt_trace *trace = from->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    int failed = tell_deadlock_what(trace, deadlock, &finding);
    nvt_case_name(from, finding.where, sizeof(finding.where));
    finding.trace = trace;
    finding.cost_ns = (double)(calls->end[deadlock->calls[0]] - deadlock->since);
    finding.per = "at the end";
    finding.whole_ns = 0;
    nvt_finding_append(&finding, "process %lld",
                       (long long)trace->processes.pid[deadlock->process]);
    for (uint32_t i = 0; i < deadlock->named && !failed; i++)
        failed = tell_thread(trace, deadlock->calls[i], &finding);
    tell_holder(trace, deadlock, &finding);
    if (deadlock->behind)
        nvt_finding_append(&finding, "; %u more thread%s for locks of these", deadlock->behind,
                           deadlock->behind == 1 ? " waits" : "s wait");
    tell_parent(trace, deadlock, &finding);
    if (deadlock->since >= trace->first_ns || !trace->carried.count) /* else it was cut off */
        nvt_finding_point(&finding, deadlock->since);
    snprintf(finding.remedy, sizeof(finding.remedy), "%s", remedy_of(trace, deadlock));
    if (deadlock->kind == NVT_DEADLOCK_CYCLE || !nvt_is_python_lock(trace, deadlock->calls[0]))
        finding.confidence = NVT_SEEN;
    return failed || nvt_findings_add(findings, &finding, NULL);
}

static int compare_deadlock(const struct nvt_rule *rule, const struct nvt_case *facts,
                            struct nvt_findings *findings, struct nvt_error *err)
{
    int failed = 0;
    for (size_t i = 0; i < facts->input->trace_count && !failed; i++) {
        struct nvt_deadlocks deadlocks = {.count = 0};
        failed = nvt_deadlocks_find(&deadlocks, facts->input->traces[i].trace);
        for (uint32_t k = 0; k < deadlocks.count && !failed; k++)
            failed = tell_deadlock(rule, &facts->input->traces[i], &deadlocks.items[k], findings);
        nvt_deadlocks_free(&deadlocks);
    }
    return failed ? nvt_fail(err, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_deadlock = {
    .cause = "deadlock",
    .about = "threads that wait for locks which nobody can release any more",
    .means = "The program will never continue: a thread waits for a lock that it holds itself, "
             "threads hold each other's locks, a lock was held by another thread when the process "
             "was forked, or its holder has ended without releasing it.",
    .found = "Waits without a limit that have lasted for 2 s when the recording ends count, unless "
             "the command ended by itself with status 0. The holder must be known: mutexes, and "
             "Python's locks up to 3.13. The finding names the thread, how long it has waited, and "
             "with stacks (--trace nvtx,osrt,cpu) the line that waits.",
    .threshold = "waits without a limit that have lasted for 2 s at the end of a recording of a "
                 "program that did not end by itself, for mutexes and for locks of Python (to "
                 "3.13) whose holder is known. In Python any thread may release a lock: one that "
                 "its own thread took counts only while nothing else of Python runs in the "
                 "process. Waits for events, conditions and queues never count",
    .remedy =
        "always acquire locks in the same order, and never acquire one again that the thread holds",
    .helped = "One order for all locks, or one lock for both. RLock where a function may call "
              "itself. Workers started before threads, or with spawn or forkserver: a fork copies "
              "a lock in whatever state it is, and not the thread that would release it. \"with "
              "lock:\" or try and finally around everything that is locked.",
    .confused =
        "Hang: nothing moves, but the holder is unknown, or it is no lock. Lock contention (host "
        "blocked): the lock is released in the end. Threads that wait for work hold no lock.",
    .show = "stats -r osrt_locks",
    .is_fatal = 1,
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OS_CALLS,
    .compare = compare_deadlock,
};
