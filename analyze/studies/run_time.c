#include "run_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../model/batches.h"
#include "../model/loop_names.h"
#include "../model/named_iterations.h"
#include "../model/os_names.h"
#include "../model/recorded_parts.h"
#include "open_items.h"

const char *nvt_run_part_name(const struct nvt_run_time *time, enum nvt_run_part part)
{
    static const char *const names[NVT_RUN_PARTS] = {
        [NVT_RUN_START] = "start and imports", [NVT_RUN_TRAINING] = "training",
        [NVT_RUN_EVALUATION] = "evaluation",   [NVT_RUN_CHECKPOINT] = "checkpoints",
        [NVT_RUN_DATA] = "waiting for data",   [NVT_RUN_LOCKS] = "waiting for locks",
        [NVT_RUN_BETWEEN] = "between steps",   [NVT_RUN_RANGES] = "in ranges",
        [NVT_RUN_END] = "after the loop",      [NVT_RUN_REST] = "the rest",
    };
    return part == NVT_RUN_TRAINING && time->infers ? "inference" : names[part];
}

/* --- spans of time ----------------------------------------------------------------------------- */

struct span {
    int64_t start, end;
};

/* Apart from each other, ascending. */
struct spans {
    struct span *items;
    uint32_t count;
};

/* Append one that begins no earlier than those before it, as far as they leave it. 0, or -1 when out of memory. */
static int add_span(struct spans *spans, int64_t start, int64_t end)
{
    if (spans->count && spans->items[spans->count - 1].end > start)
        start = spans->items[spans->count - 1].end;
    if (end <= start)
        return 0;
    if (nvt_grow(&spans->items, spans->count, sizeof(*spans->items)))
        return -1;
    spans->items[spans->count++] = (struct span){start, end};
    return 0;
}

/* Append what `taken` leaves of a span. 0, or -1 when out of memory. */
static int add_left(struct spans *left, struct span span, const struct spans *taken, uint32_t *at)
{
    while (*at < taken->count && taken->items[*at].end <= span.start)
        ++*at;
    for (uint32_t k = *at; k < taken->count && taken->items[k].start < span.end; k++) {
        if (add_span(left, span.start, taken->items[k].start))
            return -1;
        span.start = taken->items[k].end;
    }
    return add_span(left, span.start, span.end);
}

/* Put two ascending lists that share nothing together, into `taken`. 0, or -1 when out of memory. */
static int merge(struct spans *taken, const struct spans *more)
{
    struct spans both = {NULL, 0};
    int failed = 0;
    for (uint32_t i = 0, k = 0; (i < taken->count || k < more->count) && !failed;) {
        const int is_first =
            k == more->count || (i < taken->count && taken->items[i].start < more->items[k].start);
        const struct span *next = is_first ? &taken->items[i++] : &more->items[k++];
        failed = add_span(&both, next->start, next->end);
    }
    free(taken->items);
    *taken = both;
    return failed;
}

/* Count spans for a part, as far as no part before has them. They are freed. 0, or -1 when out of memory. */
static int take(struct nvt_run_time *time, enum nvt_run_part part, struct spans *spans,
                struct spans *taken)
{
    struct spans left = {NULL, 0};
    uint32_t at = 0;
    int failed = 0;
    for (uint32_t i = 0; i < spans->count && !failed; i++) {
        struct span span = spans->items[i];
        span.start = span.start > time->from ? span.start : time->from;
        span.end = span.end < time->to ? span.end : time->to;
        if (span.start < span.end)
            failed = add_left(&left, span, taken, &at);
    }
    for (uint32_t i = 0; i < left.count; i++)
        time->ns[part] += left.items[i].end - left.items[i].start;
    failed = failed || merge(taken, &left);
    free(left.items);
    free(spans->items);
    *spans = (struct spans){NULL, 0};
    return failed;
}

/* --- what is what ------------------------------------------------------------------------------ */

struct walk {
    const struct nvt_trace *trace;
    const uint32_t *iterations; /* of all threads */
    uint32_t count;
    struct nvt_run_time *time;
    struct spans taken;
};

/* NVT_RUN_RANGES: a range that is none of the others. */
static enum nvt_run_part part_of(const struct nvt_trace *trace, uint32_t range)
{
    if (nvt_is_batch_wait(trace, range))
        return NVT_RUN_DATA;
    switch (
        nvt_loop_interruption_of(trace, trace->ranges.name[range], trace->ranges.domain[range])) {
    case NVT_LOOP_EVALUATION:
        return NVT_RUN_EVALUATION;
    case NVT_LOOP_CHECKPOINT:
        return NVT_RUN_CHECKPOINT;
    default:
        return NVT_RUN_RANGES;
    }
}

/* Push/pop ranges of a part, of the thread. */
static int take_ranges(struct walk *walk, enum nvt_run_part part)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    struct spans spans = {NULL, 0};
    int64_t until = INT64_MIN;
    int failed = 0;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        if (ranges->thread[i] != walk->time->thread || ranges->style[i] != NVT_PUSH_POP ||
            (part != NVT_RUN_RANGES && part_of(walk->trace, i) != part))
            continue;
        failed = add_span(&spans, ranges->start[i], ranges->end[i]);
        walk->time->count[part] += ranges->start[i] >= until && part != NVT_RUN_RANGES;
        until = ranges->end[i] > until ? ranges->end[i] : until;
    }
    return take(walk->time, part, &spans, &walk->taken) || failed;
}

static int take_locks(struct walk *walk)
{
    const struct nvt_os_calls *calls = &walk->trace->os_calls;
    struct nvt_os_names names = {0};
    struct spans spans = {NULL, 0};
    int failed = 0;
    for (uint32_t i = 0; i < calls->count && !failed; i++) {
        if (calls->thread[i] != walk->time->thread ||
            nvt_os_names_kind(&names, walk->trace, calls->name[i]) != NVT_OS_LOCKS)
            continue;
        failed = add_span(&spans, calls->start[i], calls->end[i]);
        walk->time->count[NVT_RUN_LOCKS]++;
    }
    nvt_os_names_free(&names);
    return take(walk->time, NVT_RUN_LOCKS, &spans, &walk->taken) || failed;
}

/* From the last step of each iteration to the next one; behind the last iteration nothing, but what its range has. */
static int take_between(struct walk *walk)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    struct spans spans = {NULL, 0};
    int64_t step = 0, until = INT64_MIN;
    uint32_t row = 0, has_step = 0;
    int failed = 0;
    for (uint32_t i = 0; i <= walk->count && !failed; i++) {
        const uint32_t next = i < walk->count ? walk->iterations[i] : NVT_NONE;
        if (next != NVT_NONE && ranges->thread[next] != walk->time->thread)
            continue;
        const int64_t to = next == NVT_NONE ? until : ranges->start[next];
        for (; row < ranges->count && ranges->start[row] < to; row++)
            if (ranges->thread[row] == walk->time->thread &&
                nvt_is_optimizer_step(walk->trace, row) && (!has_step || ranges->end[row] > step)) {
                step = ranges->end[row];
                has_step = 1;
            }
        if (has_step && until != INT64_MIN && !nvt_is_across_parts(walk->trace, step, to)) {
            failed = add_span(&spans, step, to);
            walk->time->count[NVT_RUN_BETWEEN]++;
        }
        has_step = 0;
        until = next == NVT_NONE ? until : ranges->end[next];
    }
    return take(walk->time, NVT_RUN_BETWEEN, &spans, &walk->taken) || failed;
}

/* The iteration that the thread was in when it ended, as it does in a crash; NVT_NONE: none. */
static uint32_t left_open(const struct walk *walk)
{
    const struct nvt_trace *trace = walk->trace;
    for (uint32_t i = trace->ranges.count; i-- > 0 && walk->time->iterations;)
        if (trace->ranges.thread[i] == walk->time->thread && nvt_is_left_open(trace, i) &&
            nvt_is_called_iteration(trace, i))
            return i;
    return NVT_NONE;
}

static int take_iterations(struct walk *walk)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    struct spans spans = {NULL, 0};
    int failed = 0;
    for (uint32_t i = 0; i < walk->count && !failed; i++)
        if (ranges->thread[walk->iterations[i]] == walk->time->thread)
            failed = add_span(&spans, ranges->start[walk->iterations[i]],
                              ranges->end[walk->iterations[i]]);
    const uint32_t last = left_open(walk);
    if (last != NVT_NONE && !failed)
        failed = add_span(&spans, ranges->start[last], walk->time->to);
    walk->time->count[NVT_RUN_TRAINING] = walk->time->iterations;
    return take(walk->time, NVT_RUN_TRAINING, &spans, &walk->taken) || failed;
}

/* When the first iteration begins, or the first range of a thread without any. */
static int64_t first_of(const struct walk *walk)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    for (uint32_t i = 0; i < walk->count; i++)
        if (ranges->thread[walk->iterations[i]] == walk->time->thread)
            return ranges->start[walk->iterations[i]];
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->thread[i] == walk->time->thread)
            return ranges->start[i];
    return walk->time->from;
}

/* When the last iteration ends, or the last range of a thread without any. */
static int64_t last_of(const struct walk *walk)
{
    const struct nvt_ranges *ranges = &walk->trace->ranges;
    int64_t last = INT64_MIN;
    if (left_open(walk) != NVT_NONE)
        return walk->time->to;
    for (uint32_t i = walk->count; i-- > 0;)
        if (ranges->thread[walk->iterations[i]] == walk->time->thread)
            return ranges->end[walk->iterations[i]];
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->thread[i] == walk->time->thread && ranges->end[i] > last)
            last = ranges->end[i];
    return last == INT64_MIN ? walk->time->to : last;
}

static int take_span(struct walk *walk, enum nvt_run_part part, int64_t start, int64_t end)
{
    struct spans spans = {NULL, 0};
    int failed = add_span(&spans, start, end);
    return take(walk->time, part, &spans, &walk->taken) || failed;
}

/* What a moment is first counts. 0, or -1 when out of memory. */
static int split(struct walk *walk)
{
    struct nvt_run_time *time = walk->time;
    int failed = take_ranges(walk, NVT_RUN_EVALUATION) || take_ranges(walk, NVT_RUN_CHECKPOINT) ||
                 take_ranges(walk, NVT_RUN_DATA) || take_locks(walk) || take_between(walk) ||
                 take_iterations(walk) ||
                 take_span(walk, NVT_RUN_START, time->from, first_of(walk)) ||
                 (!time->iterations && take_ranges(walk, NVT_RUN_RANGES)) ||
                 take_span(walk, NVT_RUN_END, last_of(walk), time->to) ||
                 take_span(walk, NVT_RUN_REST, time->from, time->to);
    free(walk->taken.items);
    return failed ? -1 : 0;
}

/* --- processes --------------------------------------------------------------------------------- */

/* Of a thread: iterations, time in outermost ranges, and when its first event is. */
struct thread {
    uint32_t iterations;
    int64_t in_ranges_ns, until, first;
};

static struct thread *look_at_threads(const struct nvt_trace *trace, const uint32_t *iterations,
                                      uint32_t count)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct thread *threads = calloc((size_t)trace->threads.count + 1, sizeof(*threads));
    for (uint32_t i = 0; threads && i < trace->threads.count; i++)
        threads[i].until = threads[i].first = INT64_MAX;
    for (uint32_t i = 0; threads && i < ranges->count; i++) {
        struct thread *thread = &threads[ranges->thread[i]];
        if (thread->first == INT64_MAX)
            thread->first = thread->until = ranges->start[i];
        if (ranges->style[i] != NVT_PUSH_POP || ranges->end[i] <= thread->until)
            continue;
        thread->in_ranges_ns +=
            ranges->end[i] - (ranges->start[i] > thread->until ? ranges->start[i] : thread->until);
        thread->until = ranges->end[i];
    }
    for (uint32_t i = 0; threads && i < count; i++)
        threads[ranges->thread[iterations[i]]].iterations++;
    return threads;
}

/* The thread of a process that runs its loop; NVT_NONE: it has neither iterations nor ranges. */
static uint32_t loop_of(const struct nvt_trace *trace, const struct thread *threads,
                        uint32_t process)
{
    uint32_t best = NVT_NONE;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        if (trace->threads.process[i] != process || threads[i].first == INT64_MAX)
            continue;
        if (best == NVT_NONE || threads[i].iterations > threads[best].iterations ||
            (threads[i].iterations == threads[best].iterations &&
             threads[i].in_ranges_ns > threads[best].in_ranges_ns))
            best = i;
    }
    return best;
}

/* When the last thread of a process was seen to end; INT64_MIN: that is not known. */
static int64_t end_of(const struct nvt_trace *trace, uint32_t process)
{
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < trace->threads.count && !trace->is_part; i++)
        if (trace->threads.process[i] == process && trace->threads.ended_ns[i] > end &&
            trace->threads.ended_ns[i])
            end = trace->threads.ended_ns[i];
    return end;
}

static int64_t start_of(const struct nvt_trace *trace, uint32_t process, int64_t first)
{
    int64_t from = 0;
    if (end_of(trace, process) == INT64_MIN || trace->is_late || trace->first_ns < 0)
        return trace->first_ns;
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        const int64_t end = i == process ? INT64_MIN : end_of(trace, i);
        from = end <= first && end > from ? end : from;
    }
    return from;
}

/* Whether a program infers on threads of which none has half of its passes: as a server does, with a thread for each request. */
static int has_no_loop(const struct walk *walk, const struct thread *threads, uint32_t thread)
{
    const struct nvt_trace *trace = walk->trace;
    uint32_t all = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        all +=
            trace->threads.process[i] == trace->threads.process[thread] ? threads[i].iterations : 0;
    return nvt_infers(trace) && 2 * threads[thread].iterations < all;
}

/* 0, or -1 when out of memory. `first`: when the first event of the thread is. */
static int add_thread(struct nvt_run_times *times, struct walk *walk, uint32_t thread,
                      int64_t first, uint32_t iterations)
{
    const struct nvt_trace *trace = walk->trace;
    const uint32_t process = trace->threads.process[thread];
    if (nvt_grow(&times->items, times->count, sizeof(*times->items)))
        return -1;
    const int64_t end = end_of(trace, process);
    walk->time = &times->items[times->count];
    walk->taken = (struct spans){NULL, 0};
    *walk->time = (struct nvt_run_time){.process = process,
                                        .thread = thread,
                                        .from = start_of(trace, process, first),
                                        .to = end == INT64_MIN ? trace->last_ns : end,
                                        .iterations = iterations,
                                        .infers = nvt_infers(trace)};
    if (walk->time->to <= walk->time->from)
        return 0;
    times->count++;
    return split(walk);
}

static int add_process(struct nvt_run_times *times, struct walk *walk, const struct thread *threads,
                       uint32_t process)
{
    const uint32_t thread = loop_of(walk->trace, threads, process);
    if (thread == NVT_NONE || (walk->count && !threads[thread].iterations) ||
        has_no_loop(walk, threads, thread))
        return 0;
    return add_thread(times, walk, thread, threads[thread].first, threads[thread].iterations);
}

/* Whether one of the first `count` processes was started by this one. */
static int has_child(const struct nvt_run_times *times, uint32_t count,
                     const struct nvt_trace *trace, uint32_t process)
{
    uint32_t k = 0;
    while (k < count &&
           trace->processes.parent_pid[times->items[k].process] != trace->processes.pid[process])
        k++;
    return k < count;
}

/* A process that started some of those that are there, and has no ranges itself. */
static int add_parent(struct nvt_run_times *times, struct walk *walk, const struct thread *threads,
                      uint32_t count, uint32_t process)
{
    const struct nvt_trace *trace = walk->trace;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    uint32_t thread = 0, row = 0;
    if (loop_of(trace, threads, process) != NVT_NONE || !has_child(times, count, trace, process))
        return 0;
    while (thread < trace->threads.count && trace->threads.process[thread] != process)
        thread++;
    while (row < samples->count && trace->threads.process[samples->thread[row]] != process)
        row++;
    return row < samples->count && thread < trace->threads.count
               ? add_thread(times, walk, thread, samples->time[row], 0)
               : 0;
}

int nvt_run_times_make(struct nvt_run_times *times, const struct nvt_trace *trace)
{
    struct walk walk = {.trace = trace};
    uint32_t *iterations = nvt_iterations(trace, &walk.count);
    struct thread *threads = iterations ? look_at_threads(trace, iterations, walk.count) : NULL;
    int failed = !threads;
    walk.iterations = iterations;
    for (uint32_t i = 0; i < trace->processes.count && !failed; i++)
        failed = add_process(times, &walk, threads, i);
    const uint32_t count = times->count;
    for (uint32_t i = 0; i < trace->processes.count && !failed && !walk.count && count; i++)
        failed = add_parent(times, &walk, threads, count, i);
    free(threads);
    free(iterations);
    return failed ? -1 : 0;
}

void nvt_run_times_free(struct nvt_run_times *times)
{
    free(times->items);
    *times = (struct nvt_run_times){0};
}

int nvt_run_time_is_whole(const struct nvt_run_time *time, const struct nvt_trace *trace)
{
    return trace->threads.ended_ns[time->thread] && !trace->open_ns && !trace->is_part &&
           !trace->is_late;
}

void nvt_run_time_text(const struct nvt_run_time *time, char *out, size_t size)
{
    const double all = (double)(time->to - time->from);
    unsigned told = 0;
    size_t used = (size_t)snprintf(out, size, "%.*f s", all < 10e9 ? 2 : 1, all / 1e9);
    for (int n = 0; n < NVT_RUN_PARTS; n++) {
        int most = -1;
        for (int part = 0; part < NVT_RUN_PARTS; part++)
            if (!(told >> part & 1) && (most < 0 || time->ns[part] > time->ns[most]))
                most = part;
        told |= 1u << most;
        if ((double)time->ns[most] < 0.01 * all || used >= size)
            break;
        used += (size_t)snprintf(out + used, size - used, "%s%.0f %% %s", n ? ", " : ": ",
                                 100 * (double)time->ns[most] / all,
                                 nvt_run_part_name(time, (enum nvt_run_part)most));
    }
}
