#include "standstill.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/one_of.h"
#include "../../lib/ctl_mark.h"
#include "../../lib/grow.h"
#include "../../lib/mpi_payload.h"
#include "../../lib/os_calls.h"
#include "../input/ranks.h"
#include "../model/nccl.h"
#include "live_front.h"
#include "waits.h"
#include "../model/recorded_parts.h"

/* What is gathered of each process of a trace. */
struct gathering {
    const struct nvt_trace *trace;
    struct nvt_process_end *ends;
    int64_t *before; /* when its event before began */
};

static void gather_event(const struct gathering *gathering, uint32_t thread, int64_t time)
{
    uint32_t process = gathering->trace->threads.process[thread];
    struct nvt_process_end *end = &gathering->ends[process];
    if (end->events++ && time - gathering->before[process] > end->pause &&
        !nvt_is_across_parts(gathering->trace, gathering->before[process], time))
        end->pause = time - gathering->before[process];
    gathering->before[process] = time;
    end->last = time > end->last ? time : end->last;
}

static void gather_end(const struct gathering *gathering, uint32_t process, int64_t time)
{
    struct nvt_process_end *end = &gathering->ends[process];
    end->last = time > end->last ? time : end->last;
}

/* What was open where the front of a trace was cut off is among what was counted there. */
static void gather_start(const struct gathering *gathering, uint32_t thread, int64_t time,
                         unsigned flags)
{
    const uint32_t process = gathering->trace->threads.process[thread];
    if (!(flags & NVT_RANGE_CARRIED) || !gathering->ends[process].earlier)
        gather_event(gathering, thread, time);
}

/* What is known of events that were cut off in front. */
static void gather_earlier(const struct gathering *gathering)
{
    const struct nvt_earlier *earlier = &gathering->trace->earlier;
    for (uint32_t i = 0; i < earlier->count; i++) {
        struct nvt_process_end *end = &gathering->ends[earlier->process[i]];
        if (earlier->what[i]) {
            const char *domain =
                nvt_name(gathering->trace, gathering->trace->domains.name[earlier->domain[i]]);
            end->mpi_calls += strcmp(domain, NVT_MPI_DOMAIN) ? 0 : earlier->number[i];
            continue;
        }
        end->earlier = end->events = earlier->number[i];
        end->pause = earlier->longest[i];
        end->last = earlier->moved[i];
        gathering->before[earlier->process[i]] = earlier->begun[i];
    }
}

static int is_collective_of_nccl(const struct nvt_trace *trace, uint32_t range)
{
    static const char *const words[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                        "ncclReduce"};
    if (strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]), "NCCL") != 0)
        return 0;
    return NVT_HAS_ONE_OF(nvt_name(trace, trace->ranges.name[range]), words);
}

static void count_collective(struct nvt_process_end *end, uint64_t communicator)
{
    end->several_communicators |= end->collectives && end->communicator != communicator;
    end->communicator = communicator;
    end->collectives++;
}

static void gather_range(const struct gathering *gathering, uint32_t i)
{
    const struct nvt_ranges *ranges = &gathering->trace->ranges;
    uint32_t process = gathering->trace->threads.process[ranges->thread[i]];
    gather_start(gathering, ranges->thread[i], ranges->start[i], ranges->flags[i]);
    if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED))
        gather_end(gathering, process, ranges->end[i]);
    if (is_collective_of_nccl(gathering->trace, i))
        count_collective(&gathering->ends[process], nvt_nccl_communicator(gathering->trace, i));
}

/* Who looks at a hang may have marked it (nvtally ctl): the program has done nothing. */
static void gather_mark(const struct gathering *gathering, uint32_t i)
{
    const struct nvt_marks *marks = &gathering->trace->marks;
    if (!marks->domain[i] ||
        strcmp(nvt_domain_name(gathering->trace, marks->domain[i]), NVT_CTL_MARK_NAME) != 0)
        gather_event(gathering, marks->thread[i], marks->time[i]);
}

static void gather_mpi(const struct gathering *gathering, uint32_t i)
{
    const struct nvt_mpi_calls *calls = &gathering->trace->mpi_calls;
    uint32_t process = gathering->trace->threads.process[calls->thread[i]];
    gather_start(gathering, calls->thread[i], calls->start[i], calls->flags[i]);
    if (!(calls->flags[i] & NVT_RANGE_UNCLOSED))
        gather_end(gathering, process, calls->end[i]);
    gathering->ends[process].mpi_calls++;
}

static int64_t time_at(const int64_t *times, uint32_t at, uint32_t count)
{
    return at < count ? times[at] : INT64_MAX;
}

/* All tables are sorted by time; of a process, events are wanted in the order of all of them. */
static void gather_events(const struct gathering *gathering)
{
    const struct nvt_trace *trace = gathering->trace;
    uint32_t range = 0, call = 0, mark = 0;
    gather_earlier(gathering);
    for (;;) {
        int64_t a = time_at(trace->ranges.start, range, trace->ranges.count);
        int64_t b = time_at(trace->mpi_calls.start, call, trace->mpi_calls.count);
        int64_t c = time_at(trace->marks.time, mark, trace->marks.count);
        if (range < trace->ranges.count && a <= b && a <= c)
            gather_range(gathering, range++);
        else if (call < trace->mpi_calls.count && b <= c)
            gather_mpi(gathering, call++);
        else if (mark < trace->marks.count)
            gather_mark(gathering, mark++);
        else
            break;
    }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        gather_end(gathering, trace->ops.process[i], trace->ops.end[i]);
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        struct nvt_process_end *end = &gathering->ends[trace->threads.process[i]];
        int64_t ended = nvt_known_until(trace, i);
        end->ended = ended > end->ended ? ended : end->ended;
    }
}

/* --- what is in front ----------------------------------------------------------------------------------- */

/* The open call of MPI of items [from, to), a row; the innermost one that there is. */
static uint32_t mpi_of(const struct nvt_open_items *open, uint32_t from, uint32_t to)
{
    uint32_t call = NVT_NONE;
    for (uint32_t i = from; i < to; i++)
        if (open->items[i].what == NVT_OPEN_MPI)
            call = open->items[i].row;
    return call;
}

/* A thread that ended before its process did has left its ranges behind: it waits for nothing. */
static int lives(const struct nvt_process_end *end, uint32_t item)
{
    enum { NOTICED = 1000000000 };
    const struct nvt_trace *trace = end->open->trace;
    return nvt_known_until(trace, end->open->items[item].thread) + NOTICED >= end->ended;
}

/* In MPI, in a range, in an OS call only, in nothing: 3 to 0. */
static int weight(const struct nvt_open_items *open, uint32_t from, uint32_t to)
{
    int has_range = 0;
    for (uint32_t i = from; i < to; i++)
        has_range |= open->items[i].what != NVT_OPEN_OS;
    return mpi_of(open, from, to) != NVT_NONE ? 3 : has_range ? 2 : to > from;
}

static void find_front(struct nvt_process_end *end)
{
    for (uint32_t at = end->first, behind; at < end->end; at = behind) {
        behind = nvt_open_thread_end(end->open, at);
        uint32_t mpi = mpi_of(end->open, at, behind);
        if (!lives(end, at) ||
            weight(end->open, at, behind) <= weight(end->open, end->front_first, end->front_end))
            continue;
        end->front_first = at;
        end->front_end = behind;
        end->mpi = mpi;
    }
}

int nvt_others_go_on(const struct nvt_process_end *end, uint32_t thread)
{
    const struct nvt_trace *trace = end->open->trace;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        if (i == thread || trace->threads.process[i] != end->process)
            continue;
        const struct nvt_os_call_info *call = nvt_open_call(end->open, i);
        if ((call && nvt_os_waits_outside(call)) ||
            end->open->threads[i].returned > end->last + NVT_STILL_NS / 5)
            return 1;
    }
    return 0;
}

/* Whether a call waits for work from a queue, which somebody may still bring: so idle consumers wait. Without memory, no. */
static int waits_for_work(const struct nvt_process_end *end, uint32_t call)
{
    struct nvt_waits waits = {.trace = NULL};
    int is_idle = !nvt_waits_make(&waits, end->open->trace) && waits.what[call] == NVT_WAIT_WORK &&
                  nvt_others_go_on(end, end->open->trace->os_calls.thread[call]);
    nvt_waits_free(&waits);
    return is_idle;
}

/* Whether what is innermost is a call that waits on purpose: for a time, for something from outside, or for work. */
static int is_meant(const struct nvt_process_end *end)
{
    const struct nvt_trace *trace = end->open->trace;
    const struct nvt_open_item *item = &end->open->items[end->front_end - 1];
    const struct nvt_os_call_info *info =
        item->what == NVT_OPEN_OS ? nvt_os_call_find(nvt_name(trace, item->name)) : NULL;
    return end->mpi == NVT_NONE && info && (nvt_os_is_idle(info) || waits_for_work(end, item->row));
}

/* Whether another thread of the process is in no OS call as it ends: it computes. */
static int computes(const struct nvt_process_end *end, uint32_t thread)
{
    const struct nvt_trace *trace = end->open->trace;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (i != thread && trace->threads.process[i] == end->process &&
            nvt_known_until(trace, i) >= end->ended && end->open->threads[i].call == NVT_NONE)
            return 1;
    return 0;
}

/* Whether the thread in front is known to be blocked, by nothing that ends by itself and with no other thread of its process that
 * computes, sleeps or goes on. Without OS calls that is not known, and not doubted. */
static int is_blocked(const struct nvt_process_end *end)
{
    const struct nvt_trace *trace = end->open->trace;
    const struct nvt_open_item *item = &end->open->items[end->front_end - 1];
    if (end->mpi != NVT_NONE || !trace->os_calls.count)
        return 1;
    if (item->what != NVT_OPEN_OS)
        return 0;
    const char *call = nvt_name(trace, item->name);
    const struct nvt_os_call_info *info = nvt_os_call_find(call);
    if (nvt_os_has_deadline(call))
        return 0;
    return !info || (info->kind != NVT_OS_LOCKS && info->kind != NVT_OS_THREADS) ||
           (!nvt_others_go_on(end, item->thread) && !computes(end, item->thread));
}

/* Of few events the pauses are not known: in a call of MPI, then, all of its time before counts as one. */
static int is_pause_known(struct nvt_process_end *end)
{
    if (end->events >= NVT_STILL_EVENTS)
        return 1;
    if (end->mpi == NVT_NONE)
        return 0;
    const struct nvt_trace *trace = end->open->trace;
    const uint32_t part = nvt_part_at(trace, end->last);
    end->pause = end->last - (part ? trace->parts.start[part - 1] : 0);
    return 1;
}

/* Whether nothing more has happened in it for much longer than ever before. */
static int is_still(struct nvt_process_end *end)
{
    const int64_t still = end->last > INT64_MIN ? nvt_still_ns(end) : 0;
    return end->open->trace->was_stopped && end->ended > 0 && still >= NVT_STILL_NS &&
           is_pause_known(end) && still / NVT_STILL_PAUSES >= end->pause;
}

static void judge(struct nvt_process_end *end)
{
    find_front(end);
    end->goes_on = nvt_goes_on(end);
    end->is_sure = 1;
    if (end->goes_on) {
        end->stands = is_still(end) && nvt_live_front(end);
        return;
    }
    end->stands =
        weight(end->open, end->front_first, end->front_end) > 1 && is_still(end) && !is_meant(end);
    if (end->stands)
        end->is_sure = is_blocked(end);
}

/* --- all of them ---------------------------------------------------------------------------------------- */

/* Those of a trace, at ends->items[ends->count] and behind, which have room. */
static void keep(struct nvt_process_ends *ends, const struct gathering *gathering,
                 const struct nvt_open_items *open)
{
    uint32_t processes = gathering->trace->processes.count;
    for (uint32_t i = 0, item = 0; i < processes; i++) {
        struct nvt_process_end *end = &gathering->ends[i];
        end->first = item;
        while (item < open->count && nvt_open_process(open, item) == i)
            item++;
        end->end = item;
        if (end->events || end->end > end->first) {
            judge(end);
            ends->items[ends->count++] = *end;
        }
    }
}

/* 0, or -1 when out of memory. */
static int add_trace(struct nvt_process_ends *ends, const struct nvt_input_trace *from)
{
    const struct nvt_trace *trace = from->trace;
    size_t processes = trace->processes.count;
    struct nvt_open_items *open = &ends->open[ends->open_count++];
    struct gathering gathering = {.trace = trace,
                                  .ends = calloc(processes + 1, sizeof(*gathering.ends)),
                                  .before = calloc(processes + 1, sizeof(*gathering.before))};
    int failed = nvt_resize(&ends->items, ends->count + processes, sizeof(*ends->items)) ||
                 !gathering.ends || !gathering.before || nvt_open_items_find_known(open, trace);
    for (uint32_t i = 0; i < processes && !failed; i++)
        gathering.ends[i] = (struct nvt_process_end){.from = from,
                                                     .open = open,
                                                     .process = i,
                                                     .rank = nvt_input_rank(from, i),
                                                     .mpi = NVT_NONE,
                                                     .last = INT64_MIN};
    if (!failed) {
        gather_events(&gathering);
        keep(ends, &gathering, open);
    }
    free(gathering.ends);
    free(gathering.before);
    return failed ? -1 : 0;
}

/* Whether a trace knows how its processes ended. */
static int is_told(const struct nvt_trace *trace)
{
    return !trace->is_part && trace->threads.count && trace->threads.ended_ns;
}

/* On the clock that traces of a machine share. */
static int64_t real_end(const struct nvt_process_end *end)
{
    return nvt_clock_sum(end->from->trace->origin_ns, end->ended);
}

/* Behind the last of those that are of the same trace as one. */
static size_t trace_end(const struct nvt_process_ends *ends, size_t first)
{
    size_t i = first;
    while (i < ends->count && ends->items[i].from == ends->items[first].from)
        i++;
    return i;
}

/* Those that were gone for long when the others ended. Traces that do not know when they began say nothing of each other. */
static void find_gone(struct nvt_process_ends *ends)
{
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < ends->count; i++)
        if (ends->items[i].from->trace->origin_ns && ends->items[i].ended &&
            real_end(&ends->items[i]) > latest)
            latest = real_end(&ends->items[i]);
    for (size_t from = 0, to; from < ends->count; from = to) {
        const int64_t origin = ends->items[from].from->trace->origin_ns;
        int64_t last = origin && latest > INT64_MIN ? nvt_clock_since(latest, origin) : 0;
        to = trace_end(ends, from);
        for (size_t i = from; i < to; i++)
            last = ends->items[i].ended > last ? ends->items[i].ended : last;
        for (size_t i = from; i < to; i++) {
            struct nvt_process_end *end = &ends->items[i];
            end->is_over |= end->ended && nvt_clock_since(last, end->ended) >= NVT_STILL_NS;
            end->stands &= !end->is_over;
        }
    }
}

int nvt_process_ends_make(struct nvt_process_ends *ends, const struct nvt_input *input,
                          const size_t *numbers, size_t run)
{
    int status = 0;
    ends->open = calloc(input->trace_count + 1, sizeof(*ends->open));
    if (!ends->open)
        return -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (numbers[i] == run && is_told(input->traces[i].trace))
            status = add_trace(ends, &input->traces[i]);
    if (!status) {
        find_gone(ends);
        nvt_live_compare(ends);
    }
    return status;
}

void nvt_process_ends_free(struct nvt_process_ends *ends)
{
    for (size_t i = 0; i < ends->open_count; i++)
        nvt_open_items_free(&ends->open[i]);
    free(ends->open);
    free(ends->items);
    *ends = (struct nvt_process_ends){0};
}
