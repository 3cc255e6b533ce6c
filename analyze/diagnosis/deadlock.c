#include "deadlock.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/os_calls.h"
#include "../../lib/text.h"
#include "../model/recording.h"
#include "../studies/hot_functions.h"

/* After a deadlock has begun, what ran before comes to its own end. */
#define SETTLES_NS INT64_C(1000000000)

struct search {
    struct nvt_deadlocks *found;
    const struct nvt_trace *trace;
    uint32_t *call;   /* of each thread: the call in which it waits for a lock, NVT_NONE */
    uint32_t *holder; /* of each: the row of who holds that */
    uint32_t *mark;   /* of each: the walk that has come by last */
    uint8_t *is_python;
};

int nvt_is_python_lock(const struct nvt_trace *trace, uint32_t call)
{
    return nvt_is_interpreter(nvt_file_name(nvt_name(trace, trace->os_calls.caller[call])));
}

/* --- who waits for whom ----------------------------------------------------------------------------- */

/* Whether a call has not returned, and does not by itself. */
static int waits_for_good(const struct search *search, uint32_t call)
{
    const struct nvt_os_calls *calls = &search->trace->os_calls;
    const struct nvt_os_call_info *info =
        nvt_os_call_find(nvt_name(search->trace, calls->name[call]));
    return info && nvt_os_waits_on((unsigned)(info - nvt_os_calls)) && calls->address[call] &&
           search->found->waits.what[call] == NVT_WAIT_LOCK &&
           calls->end[call] - calls->start[call] >= NVT_DEADLOCK_NS;
}

/* The last call of each thread that never returned, where it waits for a lock. */
static void find_waits(struct search *search)
{
    const struct nvt_os_calls *calls = &search->trace->os_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->flags[i] & NVT_RANGE_UNCLOSED)
            search->call[calls->thread[i]] = i;
    for (uint32_t i = 0; i < search->trace->threads.count; i++) {
        if (search->call[i] != NVT_NONE && !waits_for_good(search, search->call[i]))
            search->call[i] = NVT_NONE;
        if (search->call[i] != NVT_NONE)
            search->holder[i] = nvt_lock_holder(&search->found->holders, search->call[i]);
    }
}

/* A thread that runs code of Python, as far as its calls and samples say. */
static void find_python(struct search *search)
{
    const struct nvt_trace *trace = search->trace;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        if (nvt_is_python_lock(trace, i))
            search->is_python[trace->os_calls.thread[i]] = 1;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t frame = trace->cpu_samples.frame[i];
        for (; frame && !search->is_python[trace->cpu_samples.thread[i]];
             frame = trace->call_frames.parent[frame - 1])
            if (nvt_frame_owner(trace, frame - 1) == NVT_OF_PYTHON)
                search->is_python[trace->cpu_samples.thread[i]] = 1;
    }
}

/* Whether a call that goes on behind the end of the recording may return by itself: it waits for something from outside, or for a time. */
static int may_go_on(const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_os_call_info *info =
        nvt_os_call_find(nvt_name(trace, trace->os_calls.name[call]));
    return nvt_recording_goes_on(trace) && trace->os_calls.flags[call] & NVT_RANGE_UNCLOSED &&
           info && nvt_os_waits_outside(info);
}

/* Whether another thread of Python's in the process is known to have done anything after a moment, or may yet. */
static int others_run(const struct search *search, uint32_t thread, int64_t since)
{
    const struct nvt_trace *trace = search->trace;
    const uint32_t *process = trace->threads.process;
#define IS_OTHER(of) ((of) != thread && process[of] == process[thread] && search->is_python[of])
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        if (IS_OTHER(trace->os_calls.thread[i]) &&
            ((!(trace->os_calls.flags[i] & NVT_RANGE_UNCLOSED) && trace->os_calls.end[i] > since) ||
             may_go_on(trace, i)))
            return 1;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (IS_OTHER(trace->cpu_samples.thread[i]) && trace->cpu_samples.time[i] > since)
            return 1;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (IS_OTHER(trace->ranges.thread[i]) && trace->ranges.start[i] > since)
            return 1;
#undef IS_OTHER
    return 0;
}

/* --- what has come to an end -------------------------------------------------------------------------- */

/* A thread of the parent of a process, by its number; NVT_NONE. */
static uint32_t thread_of_parent(const struct nvt_trace *trace, uint32_t process, uint32_t tid)
{
    int64_t parent = trace->processes.parent_pid[process];
    for (uint32_t i = 0; tid && parent > 0 && i < trace->threads.count; i++)
        if (trace->threads.tid[i] == (int64_t)tid && trace->threads.process[i] != process &&
            trace->processes.pid[trace->threads.process[i]] == parent)
            return i;
    return NVT_NONE;
}

static int64_t start_of(const struct search *search, uint32_t thread)
{
    return search->trace->os_calls.start[search->call[thread]];
}

/* The cycle that a thread is in, from it on. */
static struct nvt_deadlock cycle_of(const struct search *search, uint32_t thread)
{
    struct nvt_deadlock deadlock = {
        .process = search->trace->threads.process[thread], .holder = NVT_NONE, .since = INT64_MIN};
    uint32_t at = thread;
    do {
        if (deadlock.named < NVT_DEADLOCK_MOST)
            deadlock.calls[deadlock.named++] = search->call[at];
        deadlock.count++;
        deadlock.since =
            start_of(search, at) > deadlock.since ? start_of(search, at) : deadlock.since;
        at = search->holder[at];
    } while (at != thread);
    deadlock.kind = deadlock.count > 1 ? NVT_DEADLOCK_CYCLE : NVT_DEADLOCK_SELF;
    return deadlock;
}

/* What a thread waits for that is not in a cycle, where its holder cannot release it. */
static int find_lost(const struct search *search, uint32_t thread, struct nvt_deadlock *deadlock)
{
    const struct nvt_trace *trace = search->trace;
    uint32_t call = search->call[thread], holder = search->holder[thread];
    *deadlock = (struct nvt_deadlock){.process = trace->threads.process[thread],
                                      .calls = {call},
                                      .named = 1,
                                      .count = 1,
                                      .since = trace->os_calls.start[call]};
    if (holder == NVT_NONE) {
        deadlock->kind = NVT_DEADLOCK_FORKED;
        deadlock->holder = thread_of_parent(trace, deadlock->process, trace->os_calls.holder[call]);
        return deadlock->holder != NVT_NONE;
    }
    deadlock->kind = NVT_DEADLOCK_ENDED;
    deadlock->holder = holder;
    return trace->threads.ended_ns[holder] && trace->threads.ended_ns[holder] < deadlock->since;
}

/* --- all of them -------------------------------------------------------------------------------------- */

static int counts(const struct search *search, uint32_t thread, const struct nvt_deadlock *deadlock)
{
    return deadlock->kind != NVT_DEADLOCK_SELF ||
           !nvt_is_python_lock(search->trace, deadlock->calls[0]) ||
           !others_run(search, thread, deadlock->since + SETTLES_NS);
}

/* 0, or -1 when out of memory. */
static int add(struct search *search, uint32_t thread, const struct nvt_deadlock *deadlock)
{
    struct nvt_deadlocks *found = search->found;
    if (!counts(search, thread, deadlock))
        return 0;
    if (nvt_grow(&found->items, found->count, sizeof(*found->items)))
        return -1;
    found->items[found->count++] = *deadlock;
    return 0;
}

/* Walk on from a thread to who holds what it wants, until nobody is known, or a walk has been there. Where that is this one, it is a
 * cycle. 0, or -1 when out of memory. */
static int walk(struct search *search, uint32_t thread)
{
    uint32_t at = thread;
    struct nvt_deadlock deadlock;
    while (at != NVT_NONE && search->call[at] != NVT_NONE && search->mark[at] == NVT_NONE) {
        search->mark[at] = thread;
        if (search->holder[at] == NVT_NONE || search->call[search->holder[at]] == NVT_NONE)
            return find_lost(search, at, &deadlock) ? add(search, at, &deadlock) : 0;
        at = search->holder[at];
    }
    if (at == NVT_NONE || search->call[at] == NVT_NONE || search->mark[at] != thread)
        return 0;
    deadlock = cycle_of(search, at);
    return add(search, at, &deadlock);
}

static int is_named(const struct nvt_deadlock *deadlock, uint32_t call)
{
    for (uint32_t i = 0; i < deadlock->named; i++)
        if (deadlock->calls[i] == call)
            return 1;
    return 0;
}

/* Threads that wait for locks of those that are in it, directly or not. */
static void count_behind(const struct search *search, struct nvt_deadlock *deadlock)
{
    uint32_t threads = search->trace->threads.count;
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t at = i, steps = 0;
        if (search->call[i] == NVT_NONE || is_named(deadlock, search->call[i]))
            continue;
        while (at != NVT_NONE && search->call[at] != NVT_NONE && steps++ < threads &&
               !is_named(deadlock, search->call[at]))
            at = search->holder[at];
        deadlock->behind +=
            at != NVT_NONE && search->call[at] != NVT_NONE && is_named(deadlock, search->call[at]);
    }
}

static int find_all(struct search *search)
{
    int failed = 0;
    find_waits(search);
    find_python(search);
    for (uint32_t i = 0; i < search->trace->threads.count && !failed; i++)
        if (search->call[i] != NVT_NONE)
            failed = walk(search, i);
    for (uint32_t i = 0; i < search->found->count && !failed; i++)
        count_behind(search, &search->found->items[i]);
    return failed;
}

int nvt_deadlocks_find(struct nvt_deadlocks *deadlocks, const struct nvt_trace *trace)
{
    size_t bytes = ((size_t)trace->threads.count + 1) * sizeof(uint32_t);
    if (!trace->was_stopped || !trace->os_calls.count)
        return 0;
    struct search search = {.found = deadlocks,
                            .trace = trace,
                            .call = malloc(bytes),
                            .holder = malloc(bytes),
                            .mark = malloc(bytes),
                            .is_python = calloc((size_t)trace->threads.count + 1, 1)};
    int failed = !search.call || !search.holder || !search.mark || !search.is_python ||
                 nvt_waits_make(&deadlocks->waits, trace) ||
                 nvt_lock_holders_make(&deadlocks->holders, &deadlocks->waits);
    if (!failed) {
        memset(search.call, 0xff, bytes); /* NVT_NONE */
        memset(search.holder, 0xff, bytes);
        memset(search.mark, 0xff, bytes);
        failed = find_all(&search);
    }
    free(search.call);
    free(search.holder);
    free(search.mark);
    free(search.is_python);
    return failed ? -1 : 0;
}

void nvt_deadlocks_free(struct nvt_deadlocks *deadlocks)
{
    nvt_lock_holders_free(&deadlocks->holders);
    nvt_waits_free(&deadlocks->waits);
    free(deadlocks->items);
    *deadlocks = (struct nvt_deadlocks){.count = 0};
}
