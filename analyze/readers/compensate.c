#include "compensate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/counters.h"
#include "../model/sort.h"

/* A moment's own cost, ps: what of it lies before the time that was taken, and what behind. */
struct cost {
    int64_t before, after;
};

struct thread_state {
    int64_t cost;    /* ps so far */
    int64_t was, is; /* its last moment */
    int started;
};

/* All moments: those of the begins of ranges, of their ends, of marks, of samples of counters, of the begins of
 * calls, of their ends. A moment's number says which one it is. */
struct moments {
    const int64_t *was;
    uint32_t ranges, marks, samples, apis;
};

uint32_t nvt_event_cost_of(const struct nvt_trace *trace, uint32_t process, enum nvt_cost what)
{
    const struct nvt_event_costs *costs = &trace->event_costs;
    for (uint32_t i = 0; i < costs->count; i++)
        if (costs->process[i] == process && costs->what[i] == what)
            return costs->ps[i];
    return 0;
}

/* The costs of every process. */
static struct nvt_costs *gather(const struct nvt_trace *trace)
{
    const struct nvt_event_costs *from = &trace->event_costs;
    struct nvt_costs *costs = calloc((size_t)trace->processes.count + 1, sizeof(*costs));
    for (uint32_t i = 0; costs && i < from->count; i++)
        if (from->process[i] < trace->processes.count && from->what[i] < NVT_COSTS)
            costs[from->process[i]].ps[from->what[i]] = from->ps[i];
    return costs;
}

/* Half of what lies inside of a pair is its begin's and half its end's, and so of what lies
 * outside: the collector cannot tell them apart, and the sums are right. */
static struct cost cost_of_range(const struct nvt_trace *trace, const struct nvt_costs *costs,
                                 uint32_t row, int is_end)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    enum nvt_cost what = NVT_COST_PUSH_POP;
    if (ranges->style[row] == NVT_START_END)
        what = NVT_COST_START_END;
    else if (ranges->domain[row] || ranges->category[row] ||
             (ranges->flags[row] & (NVT_RANGE_HAS_COLOR | NVT_RANGE_HAS_PAYLOAD)))
        what = NVT_COST_ATTRIBUTES;
    int64_t pair = costs->ps[what], inside = costs->ps[what + 1];
    int64_t outside = pair > inside ? pair - inside : 0;
    if (is_end && (ranges->flags[row] & NVT_RANGE_UNCLOSED))
        return (struct cost){0, 0};
    if (is_end)
        return (struct cost){inside - inside / 2, outside - outside / 2};
    return (struct cost){outside / 2, inside / 2};
}

/* What a mark costs; and a sample that was taken when it was recorded, all numbers of a group together. */
static struct cost cost_of_mark(const struct nvt_costs *costs)
{
    int64_t half = costs->ps[NVT_COST_MARK] / 2;
    return (struct cost){half, costs->ps[NVT_COST_MARK] - half};
}

static struct cost cost_of_sample(const struct nvt_trace *trace, const struct nvt_costs *costs,
                                  uint32_t row)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    uint32_t counter = samples->counter[row];
    if (samples->flags[row] & NVT_SAMPLE_BATCHED ||
        (counter < trace->counters.count && trace->counters.is_further[counter]))
        return (struct cost){0, 0};
    return cost_of_mark(costs);
}

/* A moment: where its time is kept, its thread, its cost. */
struct moment {
    int64_t *time;
    uint32_t thread;
    struct cost cost;
};

/* The costs of a thread's process. */
static const struct nvt_costs *of_thread(const struct nvt_trace *trace,
                                         const struct nvt_costs *costs, uint32_t thread)
{
    static const struct nvt_costs nothing;
    uint32_t process =
        thread < trace->threads.count ? trace->threads.process[thread] : trace->processes.count;
    return process < trace->processes.count ? &costs[process] : &nothing;
}

/* What moment number `i` is. */
static struct moment identify(struct nvt_trace *trace, const struct moments *moments,
                              const struct nvt_costs *costs, uint32_t i)
{
    if (i < 2 * moments->ranges) {
        int is_end = i >= moments->ranges;
        i -= is_end ? moments->ranges : 0;
        uint32_t thread = is_end ? trace->ranges.end_thread[i] : trace->ranges.thread[i];
        return (struct moment){is_end ? &trace->ranges.end[i] : &trace->ranges.start[i], thread,
                               cost_of_range(trace, of_thread(trace, costs, thread), i, is_end)};
    }
    i -= 2 * moments->ranges;
    if (i < moments->marks)
        return (struct moment){&trace->marks.time[i], trace->marks.thread[i],
                               cost_of_mark(of_thread(trace, costs, trace->marks.thread[i]))};
    i -= moments->marks;
    if (i < moments->samples) {
        uint32_t thread = trace->counter_samples.thread[i];
        uint32_t counter = trace->counter_samples.counter[i];
        if (counter < trace->counters.count && nvt_is_sampled_counter(trace, counter))
            thread = NVT_NONE; /* the thread had no part in it */
        return (struct moment){&trace->counter_samples.time[i], thread,
                               cost_of_sample(trace, of_thread(trace, costs, thread), i)};
    }
    i -= moments->samples;
    int is_end = i >= moments->apis;
    i -= is_end ? moments->apis : 0;
    return (struct moment){
        is_end ? &trace->apis.end[i] : &trace->apis.start[i], trace->apis.thread[i], {0, 0}};
}

static int64_t move(struct thread_state *state, int64_t was, struct cost cost)
{
    state->cost += cost.before;
    int64_t is = was - (state->cost + 500) / 1000;
    int64_t earliest = state->is + (was > state->was);
    if (state->started && is < earliest)
        is = earliest;
    *state = (struct thread_state){state->cost + cost.after, was, is, 1};
    return is;
}

/* The times as they were, in the order of their numbers. */
static int64_t *copy_times(const struct nvt_trace *trace, const struct moments *moments,
                           size_t count)
{
    size_t width = sizeof(int64_t);
    int64_t *times = malloc((count + 1) * width), *at = times;
    if (!times)
        return NULL;
    const struct {
        const int64_t *from;
        uint32_t count;
    } parts[] = {
        {trace->ranges.start, moments->ranges}, {trace->ranges.end, moments->ranges},
        {trace->marks.time, moments->marks},    {trace->counter_samples.time, moments->samples},
        {trace->apis.start, moments->apis},     {trace->apis.end, moments->apis}};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++) {
        if (parts[i].count)
            memcpy(at, parts[i].from, parts[i].count * width);
        at += parts[i].count;
    }
    return times;
}

static void move_all(struct nvt_trace *trace, const struct moments *moments, uint32_t count,
                     const uint32_t *order, const struct nvt_costs *costs,
                     struct thread_state *states)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = order ? order[i] : i;
        struct moment moment = identify(trace, moments, costs, number);
        if (moment.thread < trace->threads.count)
            *moment.time = move(&states[moment.thread], moments->was[number], moment.cost);
    }
    struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->thread[i] != ranges->end_thread[i])
            ranges->end[i] =
                ranges->start[i] + (moments->was[moments->ranges + i] - moments->was[i]);
}

int nvt_compensate(struct nvt_trace *trace, struct nvt_error *err)
{
    struct moments moments = {NULL, trace->ranges.count, trace->marks.count,
                              trace->counter_samples.count, trace->apis.count};
    uint64_t count =
        2 * (uint64_t)moments.ranges + moments.marks + moments.samples + 2 * (uint64_t)moments.apis;
    uint32_t *order = NULL;
    if (!trace->event_costs.count)
        return nvt_fail_at(err, trace->path, -1,
                           "does not have its collector's overhead: only traces of 'nvtally "
                           "record' with ranges have it, except those of the oldest versions");
    if (trace->is_part)
        return nvt_fail_at(
            err, trace->path, -1,
            "is a part of a trace: the collector's overhead can be subtracted only from the whole");
    if (count >= UINT32_MAX)
        return nvt_fail_at(err, trace->path, -1, "has too many events for --compensate");
    trace->has_extent = 0; /* times move */
    struct nvt_costs *costs = gather(trace);
    struct thread_state *states = calloc((size_t)trace->threads.count + 1, sizeof(*states));
    int64_t *was = copy_times(trace, &moments, (size_t)count);
    int failed = !costs || !states || !was || nvt_sort_order(was, NULL, (uint32_t)count, &order);
    moments.was = was;
    if (failed)
        nvt_fail_at(err, trace->path, -1, "out of memory");
    else
        move_all(trace, &moments, (uint32_t)count, order, costs, states);
    free(costs);
    free(states);
    free(was);
    free(order);
    return failed ? -1 : 0;
}
