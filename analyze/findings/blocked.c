/* host blocked: a loop spends much of its time in calls of the operating system, outside of those for CUDA and MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/between_steps.h"
#include "../diagnosis/called_from.h"
#include "../studies/hot_functions.h"

#define LEAST_SHARE  0.15
#define MOST_BETWEEN 0.9

/* What is said of a kind: what a thread does, what to do about it, and how sure that is. */
struct kind {
    const char *does, *remedy;
    enum nvt_confidence confidence;
    const char *objects; /* what its calls work with, of which there may be several */
};

static const struct kind kinds[NVT_OS_KINDS] = {
    [NVT_OS_FILES] = {"opening, listing and looking up files",
                      "open files once and keep them open; look up and list them once; one large "
                      "file instead of many small ones",
                      NVT_SEEN, "files"},
    [NVT_OS_NETWORK] = {"waiting for the network",
                        "ask for it before it is needed, on another thread; fewer and larger "
                        "messages; keep connections open, and cache what was received",
                        NVT_SEEN, "connections"},
    [NVT_OS_LOCKS] = {"waiting for locks",
                      "shorter critical sections: work outside of the lock, and only exchange "
                      "results within it; a lock for each part of the data instead of one for all, "
                      "or data of its own for each thread",
                      NVT_SEEN, "locks"},
    [NVT_OS_THREADS] = {"waiting for other threads",
                        "find out what they do then (nvtally export --to chrome): give them their "
                        "work earlier, in even parts, and continue until it is done",
                        NVT_POSSIBLE, NULL},
    [NVT_OS_POLL] =
        {"waiting for events or other processes",
         "find out who is late with what it waits for: send or make it ahead, or by more "
         "threads or processes",
         NVT_POSSIBLE, NULL},
    [NVT_OS_SLEEPS] = {"sleeping",
                       "wait for the event itself (a condition variable, poll(), a future) instead "
                       "of sleeping and looking again",
                       NVT_SEEN, NULL},
    [NVT_OS_PROCESSES] = {"starting other programs and waiting for them",
                          "a library instead of a program; or start it once and keep it, send it "
                          "work through a pipe, and do something else until it answers",
                          NVT_SEEN, NULL},
    [NVT_OS_MEMORY] = {"mapping, unmapping or locking memory",
                       "allocate buffers and mappings once, before the loop, and reuse them; one "
                       "large mapping instead of many small ones",
                       NVT_SEEN, NULL},
    [NVT_OS_DEVICES] = {"in calls of device drivers",
                        "most often these allocate, map or register memory: do that once, before "
                        "the loop; with CUDA, a pool and pinned buffers that are reused",
                        NVT_LIKELY, "devices"},
};

/* Of files, where most of the time goes into one of the two. */
static const struct kind reading = {
    "reading files",
    "read ahead on another thread, in larger pieces; keep what is read again in memory (tmpfs, a "
    "cache); convert files once, to a few large ones in the format that the program needs",
    NVT_SEEN, "files"};
static const struct kind writing = {
    "writing files",
    "write on another thread, in larger pieces and less often; fsync() only what must survive a "
    "crash; to a fast disk or tmpfs first",
    NVT_SEEN, "files"};

/* Of waits for other threads, where most of the time goes into one of these. */
static const struct kind waits[NVT_WAITS] = {
    [NVT_WAIT_GIL] =
        {"waiting for Python's GIL",
         "processes instead of threads (multiprocessing, concurrent.futures); or code that "
         "releases "
         "the GIL while it computes (NumPy, PyTorch, Numba nogil, Cython nogil); or a Python built "
         "without it (3.13t and later)",
         NVT_SEEN, NULL},
    [NVT_WAIT_SEMAPHORE] =
        {"waiting for a semaphore",
         "release it earlier: work outside of it; or give it a higher count, if what it guards "
         "allows that",
         NVT_POSSIBLE, NULL},
    [NVT_WAIT_WORK] = {"waiting for work from a queue",
                       "find out why the producer is late: produce ahead, on more threads or "
                       "processes, or in larger pieces",
                       NVT_POSSIBLE, NULL},
    [NVT_WAIT_ROOM] = {"waiting for room in a queue",
                       "the consumer is slower: more consumers, or less work per item; a larger "
                       "maxsize= only helps against bursts",
                       NVT_POSSIBLE, NULL},
};

/* What one thread's calls of one kind are about. */
struct detail {
    struct nvt_places ranges, names, objects; /* objects: files, locks */
    struct nvt_pairs holders, held_in; /* whole 0: threads by their numbers, rows of call_frames */
    double waits_ns[NVT_WAITS];
    struct nvt_called_from from;
    double read_ns, written_ns, bytes;
    uint64_t gil; /* address of the interpreter's, 0: no call waits for it */
};

/* Whether a call brings bytes to a file or waits until they are there: 1; whether it gets some: -1; 0 neither. */
static int is_writing(const char *name)
{
    const struct nvt_os_call_info *info = nvt_os_call_find(name);
    if (!info)
        return 0;
    if (nvt_os_writes(info) || strstr(name, "sync") || strstr(name, "flush") || strstr(name, "put"))
        return 1;
    return nvt_os_reads(info) || strstr(name, "fgets") ? -1 : 0;
}

/* A lock is known by the function that takes it, as far as stacks tell, else by its address. */
#define LOCK_SITE (UINT64_C(1) << 63)
static uint64_t lock_of(const struct nvt_blocking *blocking, uint32_t call)
{
    const struct nvt_trace *trace = blocking->view->trace;
    const int is_gil = blocking->waits.what[call] == NVT_WAIT_GIL; /* whoever waits for it */
    uint32_t site = is_gil ? 0 : nvt_wait_site(trace, blocking->waits.frame[call]);
    return site ? LOCK_SITE | trace->call_frames.name[site - 1] : trace->os_calls.address[call];
}

/* Who held it. 0, or -1 when out of memory. */
static int add_holder(const struct nvt_blocking *blocking, const struct nvt_blocking_call *call,
                      struct detail *detail)
{
    uint32_t holder = nvt_holder_tid(&blocking->waits, call->row);
    return holder &&
                   (nvt_pairs_add(&detail->holders, 0, holder, call->span.end - call->span.start) ||
                    nvt_lock_held_in(&blocking->holders, call->row, 0, &detail->held_in))
               ? -1
               : 0;
}

static void add_stack(const struct nvt_blocking *blocking, const struct nvt_blocking_call *call,
                      struct detail *detail)
{
    const struct nvt_trace *trace = blocking->view->trace;
    uint32_t frame = trace->os_calls.frame[call->row];
    const enum nvt_wait what = blocking->waits.what[call->row];
    double ns = (double)(call->span.end - call->span.start);
    if (what == NVT_WAIT_GIL) /* whatever its stack */
        detail->waits_ns[what] += ns;
    ns = nvt_called_from_add_sampled(&detail->from, frame, nvt_wait_site(trace, frame), ns);
    if (what != NVT_WAIT_GIL)
        detail->waits_ns[what] += ns;
}

/* 0, or -1 when out of memory. */
static int add_up_blocked(const struct nvt_blocking *blocking, uint32_t item, struct detail *detail)
{
    const struct nvt_os_calls *calls = &blocking->view->trace->os_calls;
    enum nvt_os_kind kind = blocking->items[item].kind;
    int failed = nvt_blocking_places(blocking, item, &detail->ranges) ||
                 nvt_called_from_begin(&detail->from, blocking->view->trace);
    for (uint32_t i = 0; i < blocking->call_count && !failed; i++) {
        const struct nvt_blocking_call *call = &blocking->calls[i];
        if (call->blocked != item)
            continue;
        const int is_gil = blocking->waits.what[call->row] == NVT_WAIT_GIL;
        uint64_t object =
            kind == NVT_OS_LOCKS ? lock_of(blocking, call->row) : calls->file[call->row];
        detail->gil = is_gil ? object : detail->gil;
        uint64_t number = i + UINT64_C(1);
        failed = nvt_places_add(&detail->names, calls->name[call->row], number, &call->span,
                                &call->span);
        if (object && !is_gil && !failed)
            failed = nvt_places_add(&detail->objects, object, number, &call->span, &call->span);
        detail->bytes += (double)calls->bytes[call->row];
        if (kind == NVT_OS_LOCKS && !failed)
            failed = add_holder(blocking, call, detail);
        add_stack(blocking, call, detail);
    }
    for (uint32_t i = 0; i < detail->names.count; i++) {
        const struct nvt_place *name = &detail->names.items[i];
        int way = is_writing(nvt_name(blocking->view->trace, (uint32_t)name->key));
        detail->written_ns += way > 0 ? (double)name->ns : 0;
        detail->read_ns += way < 0 ? (double)name->ns : 0;
    }
    return failed;
}

/* Threads of a process that wait for a lock in the steady part; -1 when out of memory. */
static int64_t count_waiting(const struct nvt_blocking *blocking, uint32_t process, uint64_t lock)
{
    const struct nvt_view *view = blocking->view;
    const struct nvt_trace *trace = view->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    unsigned char *seen = calloc((size_t)trace->threads.count + 1, 1);
    int64_t count = 0;
    for (uint32_t i = 0; seen && i < calls->count; i++) {
        uint32_t thread = calls->thread[i];
        enum nvt_wait what = blocking->waits.what[i];
        int is_near = what == NVT_WAIT_PROCESS_LOCK || trace->threads.process[thread] == process;
        int is_steady = calls->start[i] < view->to && calls->end[i] > view->from;
        if (!nvt_is_lock_wait(what) || !is_near || seen[thread] || !is_steady ||
            lock_of(blocking, i) != lock)
            continue;
        seen[thread] = 1;
        count++;
    }
    free(seen);
    return seen ? count : -1;
}

static const struct kind *say_of(const struct nvt_blocked *blocked, const struct detail *detail)
{
    const int is_of_threads = blocked->kind == NVT_OS_THREADS || blocked->kind == NVT_OS_LOCKS;
    for (int what = 0; what < NVT_WAITS && is_of_threads; what++)
        if (waits[what].does && 2 * detail->waits_ns[what] >= blocked->ns)
            return &waits[what];
    if (blocked->kind != NVT_OS_FILES)
        return &kinds[blocked->kind];
    if (2 * detail->read_ns >= blocked->ns)
        return &reading;
    return 2 * detail->written_ns >= blocked->ns ? &writing : &kinds[NVT_OS_FILES];
}

static double share_of(const struct nvt_place *place, const struct nvt_blocked *blocked)
{
    return 100 * (double)place->ns / blocked->ns;
}

/* What it does, for how long, and in which range. */
static void tell_blocked_what(const struct nvt_blocking *blocking,
                              const struct nvt_blocked *blocked, const struct detail *detail,
                              struct nvt_finding *finding)
{
    const struct nvt_view *view = blocking->view;
    const struct kind *kind = say_of(blocked, detail);
    const struct nvt_place *range = nvt_places_best(&detail->ranges, (int64_t)blocked->ns);
    const char *name = range ? nvt_name(view->trace, (uint32_t)range->key) : "";
    char about[512], part[32] = "";
    const int is_event_loop = nvt_blocking_is_event_loop(blocking, blocked->thread);
    const int is_loop = view->iteration_count && nvt_blocking_is_loop(blocking, blocked->thread);
    if (range && share_of(range, blocked) < 90)
        snprintf(part, sizeof(part), ", %.0f %% of that", share_of(range, blocked));
    snprintf(about, sizeof(about), "%s%s%.400s", kind->does, range ? " in range " : "", name);
    nvt_finding_about(finding, about);
    snprintf(finding->what, sizeof(finding->what), "%s spends %.0f %% of its time %s%s%s%.100s",
             is_event_loop ? "the event loop"
             : is_loop     ? "the loop"
                           : "a thread",
             100 * blocked->ns / view->span_ns, kind->does, part, range ? " in range " : "", name);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s",
             is_event_loop ? "await it instead, as no other task runs meanwhile: asyncio.sleep(), "
                             "an asynchronous client; asyncio.to_thread() for what only blocks"
                           : kind->remedy);
    finding->confidence = kind->confidence;
}

/* "; held meanwhile by thread 12 for 90 % of that, most in flush (log.py:40)": as far as it is known. 0, or -1 when out of memory. */
static int tell_holder(const struct nvt_trace *trace, const struct nvt_blocked *blocked,
                       struct detail *detail, struct nvt_finding *finding)
{
    char name[NVT_FRAME_NAME_MAX];
    if (!detail->holders.count)
        return 0;
    if (nvt_pairs_sort(&detail->holders, 1) || nvt_pairs_sort(&detail->held_in, 1))
        return -1;
    const struct nvt_pair *most = nvt_pairs_most(&detail->holders, 0);
    const struct nvt_pair *in = nvt_pairs_most(&detail->held_in, 0);
    nvt_finding_append(finding, "; thread %u holds it for %.0f %% of that", most->part,
                       100 * (double)most->weight / blocked->ns);
    if (detail->holders.count > 1)
        nvt_finding_append(finding, ", one of %u threads", detail->holders.count);
    if (in)
        nvt_finding_append(finding, ", most in %.80s", nvt_frame_name(trace, in->part, name));
    return 0;
}

/* The lock with most of the time. 0, or -1 when out of memory. */
static int tell_lock(const struct nvt_blocking *blocking, const struct nvt_blocked *blocked,
                     struct detail *detail, const char *of, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = blocking->view->trace;
    const struct nvt_place *most = nvt_places_most(&detail->objects);
    int64_t waiting = count_waiting(blocking, trace->threads.process[blocked->thread], most->key);
    const char *plural = waiting == 1 ? "" : "s", *verb = waiting == 1 ? "s" : "";
    if (most->key & LOCK_SITE)
        nvt_finding_append(finding, "; %.0f %% of that time by %.80s%s, where %lld thread%s wait%s",
                           share_of(most, blocked),
                           nvt_name(trace, (uint32_t)(most->key & ~LOCK_SITE)), of,
                           (long long)waiting, plural, verb);
    else
        nvt_finding_append(
            finding, "; %.0f %% of that time for lock 0x%llx%s, for which %lld thread%s wait%s",
            share_of(most, blocked), (unsigned long long)most->key, of, (long long)waiting, plural,
            verb);
    return waiting < 0 ? -1 : tell_holder(trace, blocked, detail, finding);
}

/* How many threads wait for the interpreter's. 0, or -1 when out of memory. */
static int tell_gil(const struct nvt_blocking *blocking, const struct nvt_blocked *blocked,
                    struct detail *detail, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = blocking->view->trace;
    const uint32_t process = trace->threads.process[blocked->thread];
    const int64_t waiting = count_waiting(blocking, process, detail->gil);
    if (waiting > 1)
        nvt_finding_append(finding, "; %lld threads wait for it", (long long)waiting);
    return waiting < 0 ? -1 : 0;
}

/* The lock, the file with most of the time. 0, or -1 when out of memory. */
static int tell_objects(const struct nvt_blocking *blocking, const struct nvt_blocked *blocked,
                        struct detail *detail, struct nvt_finding *finding)
{
    const struct nvt_place *most = nvt_places_most(&detail->objects);
    const char *objects = say_of(blocked, detail)->objects;
    char text[NVT_FILE_TEXT_MAX], of[64] = "";
    if (!most)
        return 0;
    if (objects && detail->objects.count > 1)
        snprintf(of, sizeof(of), ", one of %u %.20s", detail->objects.count,
                 most->key & LOCK_SITE ? "call sites" : objects);
    if (blocked->kind == NVT_OS_LOCKS)
        return tell_lock(blocking, blocked, detail, of, finding);
    nvt_finding_append(finding, "; %.0f %% of that time on %s%s", share_of(most, blocked),
                       nvt_file_text(nvt_name(blocking->view->trace, (uint32_t)most->key),
                                     NVT_FILE_TEXT_MAX, text),
                       of);
    return 0;
}

/* Iterations of the steady part that a thread enters; what the view has where it enters none. */
static double units_of(const struct nvt_view *view, uint32_t thread)
{
    double own = 0;
    for (uint32_t i = 0; i < view->iteration_count; i++)
        own += view->trace->ranges.thread[view->iterations[i]] == thread &&
               nvt_is_steady(view, view->trace->ranges.start[view->iterations[i]]);
    return own > 0 ? own : view->units;
}

/* 0, or -1 when out of memory. */
static int tell_blocked(const struct nvt_blocking *blocking, uint32_t item, double busy_ns,
                        struct nvt_finding *finding)
{
    const struct nvt_view *view = blocking->view;
    const struct nvt_blocked *blocked = &blocking->items[item];
    const double units = units_of(view, blocked->thread);
    struct detail detail = {0};
    int failed = add_up_blocked(blocking, item, &detail);
    const int is_gil = say_of(blocked, &detail) == &waits[NVT_WAIT_GIL];
    const int is_lock = blocked->kind == NVT_OS_LOCKS && !is_gil;
    if (!failed) {
        const char *each = NVT_COUNT(blocked->count / units);
        const struct nvt_place *name = nvt_places_most(&detail.names);
        finding->cost_ns = (blocked->ns - busy_ns) / units;
        tell_blocked_what(blocking, blocked, &detail, finding);
        nvt_finding_append(finding,
                           "%s%s %s%s %s, %s each, the longest %s; %.0f %% of that time in %.40s()",
                           is_lock ? "lock contention: " : "", each, is_lock ? "wait" : "call",
                           strcmp(each, "1") != 0 ? "s" : "", view->per,
                           NVT_TIME(blocked->ns / blocked->count), NVT_TIME(blocked->longest.ns[0]),
                           share_of(name, blocked), nvt_name(view->trace, (uint32_t)name->key));
        failed = (is_gil ? tell_gil : tell_objects)(blocking, blocked, &detail, finding) ||
                 (!is_lock && nvt_called_from_tell(&detail.from, "that time", finding));
        if (detail.bytes > 0)
            nvt_finding_append(finding, "; %s %s, %s/s", NVT_BYTES(detail.bytes / units), view->per,
                               NVT_BYTES(detail.bytes / blocked->ns * 1e9));
        if (busy_ns > 0)
            nvt_finding_append(finding, "; a GPU works for %.0f %% of it",
                               100 * busy_ns / blocked->ns);
        nvt_finding_point_longest(finding, &blocked->longest);
    }
    nvt_places_free(&detail.ranges);
    nvt_places_free(&detail.names);
    nvt_places_free(&detail.objects);
    nvt_pairs_free(&detail.holders);
    nvt_pairs_free(&detail.held_in);
    nvt_called_from_free(&detail.from);
    return failed;
}

static double usual_of(const struct nvt_blocked *blocked)
{
    return nvt_usual_time(blocked->ns, blocked->count, blocked->longest.ns[0],
                          blocked->longest.ns[1]);
}

/* The thread with most time in calls of a kind, where that is enough; NVT_NONE: none is. */
static uint32_t worst_of(const struct nvt_blocking *blocking, enum nvt_os_kind kind)
{
    double most = LEAST_SHARE * blocking->view->span_ns;
    uint32_t worst = NVT_NONE;
    for (uint32_t i = 0; i < blocking->count; i++)
        if (blocking->items[i].kind == kind && usual_of(&blocking->items[i]) >= most) {
            most = usual_of(&blocking->items[i]);
            worst = i;
        }
    return worst;
}

/* What lies almost all between steps is told by that finding, with its calls, files and lines.
 * 0, or -1 when out of memory. */
static int add_kinds(const struct nvt_rule *rule, const struct nvt_blocking *blocking,
                     struct nvt_findings *findings)
{
    struct nvt_between_steps steps = {0};
    int failed = 0;
    for (int kind = 0; kind < NVT_OS_KINDS && !failed; kind++) {
        uint32_t item = worst_of(blocking, (enum nvt_os_kind)kind);
        if (item == NVT_NONE)
            continue;
        if (!steps.view && nvt_between_steps_make(&steps, blocking->view)) {
            failed = -1;
            break;
        }
        if (steps.is_large && nvt_between_steps_part(&steps, blocking, item) >= MOST_BETWEEN)
            continue;
        struct nvt_finding finding = nvt_finding_of(rule, blocking->view);
        double busy_ns = nvt_blocking_busy(blocking, item);
        failed = busy_ns < 0;
        if (!failed && 2 * busy_ns < blocking->items[item].ns)
            failed = tell_blocked(blocking, item, busy_ns, &finding) ||
                     nvt_findings_add(findings, &finding, NULL);
    }
    nvt_between_steps_free(&steps);
    return failed;
}

static int find_blocked(const struct nvt_rule *rule, const struct nvt_view *given,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_blocking blocking = {0};
    size_t first = findings->count;
    if (!given->trace->os_calls.count)
        return 0;
    const struct nvt_view of_calls = nvt_view_of_calls(given);
    const struct nvt_view *view = given->trace->ranges.count ? given : &of_calls;
    int failed = nvt_blocking_make(&blocking, view) || add_kinds(rule, &blocking, findings);
    nvt_findings_sort(findings, first);
    nvt_blocking_free(&blocking);
    return failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
}

const struct nvt_rule nvt_rule_blocked = {
    .cause = "host blocked",
    .about = "a loop that waits in OS calls: files, the network, locks, other threads, sleep",
    .means = "The loop's thread is blocked in the operating system and cannot do anything else: it "
             "reads or writes a file, waits for a lock, the network, another thread or process, or "
             "sleeps. The kind of call says what it waits for, and what helps.",
    .found =
        "OS calls of one kind on one thread count, within push/pop ranges that the thread enters 3 "
        "times or more. One finding for each kind: files, network, locks, other threads, events "
        "(poll, pipes), sleep, other programs, memory mappings, device drivers. It names the "
        "shortest range that holds at least half of that time; for files the bytes, the speed and "
        "the file with most of the time; for locks their number, the one with most of the time and "
        "how many threads wait for it. With stacks (--trace nvtx,osrt,cpu) a lock is known by the "
        "line that takes it, and for mutexes and Python's locks up to 3.13 the holder and its line "
        "are named; and calls that block an event loop of asyncio count wherever they are. The "
        "thread is one that enters iterations, else the main thread, else any with "
        "ranges; of other threads only waits for locks count. Needs --trace osrt of nvtally "
        "record, or nsys profile --trace=osrt.",
    .threshold =
        "15 % of the time for calls of one kind on one thread, in at least 3 calls, even with the "
        "two longest cut to the mean of the rest, within ranges that it enters 3 times or more: "
        "what is done once is no loop. Threads that enter iterations (without any, the main "
        "thread, or if that has no ranges those that have), as others may wait for work; for locks "
        "any, and any place in a program without ranges. Not if a device works for half of it, nor "
        "within MPI and CUDA calls, nor where a loop waits for its DataLoader (input-bound), nor "
        "if 90 % of it lies behind the optimizer's step and that is a finding (between steps)",
    .remedy = "do it on another thread, ahead of the loop, or less often; the finding says what "
              "helps against its kind of calls",
    .helped =
        "Reading: prefetching on a thread of its own, larger reads, a few large files, a copy in "
        "tmpfs. Writing: a writer thread, no fsync in the loop. Locks: shorter critical sections, "
        "one lock for each part of the data, per-thread data. Queues: more producers, larger "
        "pieces. Sleeping: a condition variable or future instead of polling.",
    .confused = "Waits for other threads and events are only possible findings, because healthy "
                "programs wait so for work they handed out. Deadlock and hang: the wait never "
                "ends. Input-bound: a loop that waits for its DataLoader. Time in CUDA calls and "
                "MPI calls belongs to their own rules.",
    .show = "stats -r nvtx_osrt_sum",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OS_CALLS,
    .look = find_blocked,
};
