/*
 * What was launched, out of a file in which ranges are nested as they should be: each thread is
 * followed while its events are decoded, and no range is kept longer than it is open.
 *
 * Device rows are read first. Then the calls of a thread lie in order, and what each launched is
 * known. A push opens a range, a pop ends it, and in between come the calls that began before it.
 * What nvt_launches_of would find out about ranges in memory is known at once: how deep one lies is
 * how many are open, its children are the pushes above it. Only where a range ends is not known
 * when a call is put into it; that the call had ended by then is seen at the pop.
 *
 * All that is less plain than this is left to those who have the ranges in memory: ranges of two
 * domains that cross, ranges that begin at the same moment, one without a length at the end of that
 * around it, a call that begins where a range ends or ends behind it. What comes out is the same.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../device/launch_walk.h"
#include "../model/parallel.h"
#include "nvt_events.h"

/* Ranges within each other, at most: they take more memory here than in a lane. */
#define DEPTH_MOST 65536

struct walks {
    struct nvt_nvt_reader *reader;
    const struct nvt_trace_file *file;
    uint32_t *threads;    /* in the file, of the model's threads; NVT_NONE: not there */
    uint32_t *first;      /* chunk of events of each thread in the file, NVT_NONE: there is none */
    uint32_t *next;       /* chunk of the same thread, likewise */
    pthread_mutex_t lock; /* of the kinds of ranges */
    int in_vain;          /* atomic: events are damaged, or are too much for lanes as well */
};

struct follower {
    struct walks *all;
    struct nvt_walk *walk;
    struct nvt_nvt_thread *thread;
    struct nvt_clock_line line; /* for times near the last */
    int64_t now;                /* of the last event */
    int64_t pushed;             /* when a range began last */
    int64_t empty;              /* when one ended last that had begun at the same time */
    int64_t call_start;         /* of the next call; INT64_MAX: there is none */
    uint32_t call;
};

/* What is not plain about ranges is of no interest where nothing was called. */
static void give_up(struct follower *follower)
{
    if (follower->walk->lane->calls.count)
        nvt_walk_give_up(follower->walk, NVT_WALK_COMPLEX);
}

/* There is something that nobody can follow. */
static void give_up_all(struct follower *follower)
{
    __atomic_store_n(&follower->all->in_vain, 1, __ATOMIC_RELAXED);
    nvt_walk_give_up(follower->walk, NVT_WALK_COMPLEX);
}

/* --- calls and ranges --- */

static void find_next_call(struct follower *follower)
{
    const struct nvt_lane *lane = follower->walk->lane;
    follower->call_start = follower->call < lane->calls.count
                               ? lane->calls.items[follower->call].start - lane->offset
                               : INT64_MAX;
}

/* Calls that began before that. */
static void take_calls(struct follower *follower, int64_t before)
{
    struct nvt_walk *walk = follower->walk;
    while (follower->call_start < before && walk->outcome == NVT_WALK_DONE) {
        uint32_t call = follower->call++, op = nvt_walk_take(walk, call);
        if (op && walk->depth) {
            struct nvt_walk_open *open = &walk->open[walk->depth - 1];
            int64_t end = follower->call_start + walk->lane->calls.items[call].length;
            open->end = end > open->end ? end : open->end;
        }
        if (op)
            nvt_walk_put(walk, walk->depth, op);
        find_next_call(follower);
    }
}

/* `at`: how many lie around it. */
static inline void close_open(struct nvt_walk *walk, struct nvt_walk_open *open, uint32_t at)
{
    if (at && open->node)
        open[-1].children++;
    nvt_walk_close(walk, open, at ? open - 1 : NULL);
}

static inline void push(struct follower *follower, int64_t now, uint32_t kind, uint32_t domain)
{
    struct nvt_walk *walk = follower->walk;
    if (now > follower->call_start)
        take_calls(follower, now);
    if (now <= follower->pushed)
        give_up(follower);
    if (walk->depth == DEPTH_MOST)
        nvt_walk_give_up(walk, NVT_WALK_COMPLEX);
    if (nvt_walk_reserve(walk))
        return;
    struct nvt_walk_open *open = &walk->open[walk->depth];
    *open = (struct nvt_walk_open){.start = now,
                                   .end = now,
                                   .first = INT64_MAX,
                                   .last = INT64_MIN,
                                   .kind = kind,
                                   .level = walk->depth,
                                   .from = domain};
    walk->depth++;
    follower->pushed = now;
}

/* There is no range of this domain at the top: where there is one below, it ends within others. */
static void pop_elsewhere(struct follower *follower, uint32_t domain)
{
    const struct nvt_walk *walk = follower->walk;
    for (uint32_t i = 0; i < walk->depth; i++)
        if (walk->open[i].from == domain)
            give_up(follower);
}

static inline void pop(struct follower *follower, int64_t now, uint32_t domain)
{
    struct nvt_walk *walk = follower->walk;
    if (!walk->depth || walk->open[walk->depth - 1].from != domain) {
        pop_elsewhere(follower, domain);
        return;
    }
    if (now >= follower->call_start) {
        if (now == follower->call_start)
            give_up(follower);
        take_calls(follower, now);
    }
    uint32_t at = --walk->depth;
    struct nvt_walk_open *open = &walk->open[at];
    if (now < open->end || (now == follower->empty && now != open->start))
        give_up(follower);
    if (now == open->start)
        follower->empty = now;
    open->end = now;
    close_open(walk, open, at);
}

/* --- events --- */

static inline int64_t time_of(struct follower *follower, uint64_t ticks)
{
    const struct nvt_nvt_reader *reader = follower->all->reader;
    int64_t now = nvt_clock_convert_near(reader->samples, reader->sample_count,
                                         reader->lanes->origin, &follower->line, ticks);
    if (now < follower->now)
        give_up(follower);
    follower->now = now;
    return now;
}

/* Pushes and pops of the default domain: from event `from` to the first that is something else, at
 * most to `end`. Returns where it stopped; the columns stand there. */
static uint32_t take_plain(struct follower *follower, const struct nvt_nvt_later *later,
                           struct nvt_event_columns *columns, uint32_t from, uint32_t end)
{
    const uint32_t *strings = follower->all->reader->strings.ids;
    struct nvt_cursor tokens = columns->tokens, times = columns->times;
    uint64_t ticks = columns->ticks, token, step;
    int has_pext = nvt_has_pext();
    for (; from < end && follower->walk->outcome == NVT_WALK_DONE; from++) {
        const uint8_t *next = nvt_varint_take(tokens.at, tokens.end, &token, has_pext);
        const uint8_t *time = nvt_varint_take(times.at, times.end, &step, has_pext);
        if (!next || !time || (token & 7) > NVT_TOKEN_POP || token >> 3 >= later->strings)
            break;
        ticks += step;
        int64_t now = time_of(follower, ticks);
        if ((token & 7) == NVT_TOKEN_PUSH)
            push(follower, now, strings[token >> 3], 0);
        else
            pop(follower, now, 0);
        tokens.at = next;
        times.at = time;
    }
    columns->tokens = tokens;
    columns->times = times;
    columns->ticks = follower->thread->last = ticks;
    return from;
}

static void take_event(struct follower *follower, const struct nvt_nvt_event *event)
{
    struct walks *all = follower->all;
    int64_t now = time_of(follower, event->ticks);
    uint32_t kind;
    switch (event->kind) {
    case NVT_TOKEN_PUSH:
        pthread_mutex_lock(&all->lock);
        kind = nvt_nvt_lane_kind(all->reader->lanes, event);
        pthread_mutex_unlock(&all->lock);
        if (kind == NVT_NONE)
            nvt_walk_give_up(follower->walk, NVT_WALK_NO_MEMORY);
        else
            push(follower, now, kind, event->domain_number);
        return;
    case NVT_TOKEN_POP:
        pop(follower, now, event->domain_number);
        return;
    case NVT_TOKEN_MARK:
        return;
    default: /* any thread may end it */
        give_up_all(follower);
    }
}

/* 0, or -1 when the chunk is malformed. */
static int take_events(struct follower *follower, const struct nvt_nvt_later *later,
                       const uint8_t *payload)
{
    struct nvt_nvt_reader *reader = follower->all->reader;
    struct nvt_nvt_process *process = &reader->processes[follower->thread->process];
    struct nvt_event_columns columns;
    struct nvt_nvt_event event;
    uint32_t count = later->header.count;
    if (nvt_event_columns_open(&columns, &later->header, payload))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        if (nvt_nvt_is_plain(&columns))
            i = take_plain(follower, later, &columns, i, count);
        if (i == count || follower->walk->outcome != NVT_WALK_DONE)
            break;
        if (nvt_nvt_next_event(reader, later, process, &columns, &event))
            return -1;
        take_event(follower, &event);
        follower->thread->last = event.ticks;
    }
    return follower->walk->outcome == NVT_WALK_DONE ? nvt_nvt_check_rest(&columns, count) : 0;
}

/* All chunks of a thread in the file. */
static void take_chunks(struct follower *follower, uint32_t thread)
{
    struct walks *all = follower->all;
    struct nvt_chunk_memory memory = {0};
    struct nvt_error ignored = NVT_ERROR_INIT;
    const uint8_t *payload;
    for (uint32_t i = all->first[thread]; i != NVT_NONE && follower->walk->outcome == NVT_WALK_DONE;
         i = all->next[i]) {
        const struct nvt_nvt_later *later = &all->reader->events.items[i];
        if (nvt_trace_file_load(all->file, later->offset, &later->header, &memory, &payload,
                                &ignored) ||
            take_events(follower, later, payload))
            give_up_all(follower);
    }
    nvt_chunk_memory_free(&memory);
}

/* Ranges that were never closed hold whatever the thread still called, and last as long as it is
 * known to have lived. */
static void close_all(struct follower *follower)
{
    struct nvt_walk *walk = follower->walk;
    int64_t end = time_of(follower, follower->thread->last);
    if (!walk->depth)
        return;
    take_calls(follower, INT64_MAX);
    end = nvt_nvt_lane_last(walk->lane, end);
    while (walk->depth && walk->outcome == NVT_WALK_DONE) {
        struct nvt_walk_open *open = &walk->open[--walk->depth];
        open->end = end;
        close_open(walk, open, walk->depth);
    }
}

/* --- threads --- */

static void follow(void *context, struct nvt_walk *walk, uint32_t lane)
{
    struct walks *all = context;
    uint32_t thread = all->threads[lane];
    struct follower follower = {
        .all = all, .walk = walk, .now = INT64_MIN, .pushed = INT64_MIN, .empty = INT64_MIN};
    if (nvt_walk_begin(walk))
        return;
    find_next_call(&follower);
    if (thread != NVT_NONE) {
        follower.thread = &all->reader->threads[thread];
        take_chunks(&follower, thread);
        close_all(&follower);
    }
    take_calls(&follower, INT64_MAX);
}

/* Which chunks are whose. 0, or -1 when out of memory. */
static int find_chunks(struct walks *all, uint32_t threads)
{
    const struct nvt_nvt_reader *reader = all->reader;
    const struct nvt_nvt_laters *events = &reader->events;
    all->threads = malloc(((size_t)threads + 1) * sizeof(*all->threads));
    all->first = malloc(((size_t)reader->thread_count + 1) * sizeof(*all->first));
    all->next = malloc((events->count + 1) * sizeof(*all->next));
    if (!all->threads || !all->first || !all->next || events->count >= NVT_NONE)
        return -1;
    memset(all->threads, 0xff, threads * sizeof(*all->threads));
    memset(all->first, 0xff, reader->thread_count * sizeof(*all->first));
    for (uint32_t i = 0; i < reader->thread_count; i++)
        all->threads[reader->threads[i].row] = i;
    for (size_t i = events->count; i-- > 0;) {
        uint32_t *first = &all->first[events->items[i].header.thread];
        all->next[i] = *first;
        *first = (uint32_t)i;
    }
    return 0;
}

int nvt_nvt_walk(struct nvt_nvt_reader *reader, const struct nvt_trace_file *file,
                 struct nvt_launches *launches)
{
    struct nvt_lanes *lanes = reader->lanes->lanes;
    struct walks all = {.reader = reader, .file = file, .lock = PTHREAD_MUTEX_INITIALIZER};
    int status = find_chunks(&all, lanes->count) || nvt_lanes_link(lanes, reader->trace) ? -1 : 0;
    if (!status)
        status = nvt_launches_walk(launches, lanes, follow, &all,
                                   reader->events.rows + lanes->op_count >= NVT_BESIDE_FROM);
    free(all.threads);
    free(all.first);
    free(all.next);
    pthread_mutex_destroy(&all.lock);
    return status > 0 && all.in_vain ? -1 : status;
}
