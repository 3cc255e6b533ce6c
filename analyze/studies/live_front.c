#include "live_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/mpi_payload.h"
#include "../../lib/os_calls.h"
#include "../model/named_iterations.h"
#include "../model/recorded_parts.h"
#include "../model/recording.h"

int nvt_goes_on(const struct nvt_process_end *end)
{
    const struct nvt_trace *trace = end->open->trace;
    if (nvt_recording_goes_on(trace))
        return 1;
    if (!nvt_trace_meta(trace, "recorded"))
        return 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.process[i] == end->process && trace->threads.ended_ns[i])
            return 0;
    return 1;
}

/* --- what is unusual --------------------------------------------------------------------------------- */

/* Ranges, or MPI calls, of a name in a process that ended. */
struct alike {
    uint64_t count;
    int64_t longest;
};

static void add(struct alike *alike, uint64_t count, int64_t longest)
{
    alike->count += count;
    alike->longest = longest > alike->longest ? longest : alike->longest;
}

/* What was cut off in front may have been longer than what is left of it. */
static int is_whole(unsigned flags)
{
    return !(flags & NVT_RANGE_PARTIAL);
}

static int is_mpi_domain(const struct nvt_trace *trace, uint32_t domain)
{
    return !strcmp(nvt_name(trace, trace->domains.name[domain]), NVT_MPI_DOMAIN);
}

static struct alike alike_of(const struct nvt_trace *trace, uint32_t process,
                             const struct nvt_open_item *item)
{
    struct alike alike = {0, 0};
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const struct nvt_earlier *earlier = &trace->earlier;
    const int is_mpi = item->what == NVT_OPEN_MPI;
    const uint32_t domain = is_mpi ? 0 : ranges->domain[item->row];
    for (uint32_t i = 0; i < ranges->count && !is_mpi; i++)
        if (ranges->name[i] == item->name && ranges->domain[i] == domain &&
            trace->threads.process[ranges->thread[i]] == process && is_whole(ranges->flags[i]))
            add(&alike, 1, ranges->end[i] - ranges->start[i]);
    for (uint32_t i = 0; i < calls->count && is_mpi; i++)
        if (calls->name[i] == item->name && trace->threads.process[calls->thread[i]] == process &&
            is_whole(calls->flags[i]))
            add(&alike, 1, calls->end[i] - calls->start[i]);
    for (uint32_t i = 0; i < earlier->count; i++)
        if (earlier->what[i] && earlier->process[i] == process && earlier->name[i] == item->name &&
            (is_mpi ? is_mpi_domain(trace, earlier->domain[i]) : earlier->domain[i] == domain))
            add(&alike, earlier->number[i], earlier->longest[i]);
    return alike;
}

/* The innermost range or MPI call of items [from, to), NULL: none. */
static const struct nvt_open_item *innermost(const struct nvt_open_items *open, uint32_t from,
                                             uint32_t to)
{
    while (to > from && open->items[to - 1].what == NVT_OPEN_OS)
        to--;
    return to > from ? &open->items[to - 1] : NULL;
}

/* Of iterations that were asked for (ctl steps, --budget), a process is not recorded behind its last one: then it is in none. */
static int is_in_iteration(const struct nvt_open_items *open, uint32_t from, uint32_t to)
{
    const struct nvt_trace *trace = open->trace;
    char name[48];
    snprintf(name, sizeof(name), "iterations of part %u", trace->parts.count);
    if (!nvt_trace_meta(trace, "budget") && !nvt_trace_meta(trace, name))
        return 1;
    for (uint32_t i = from; i < to; i++)
        if (open->items[i].what == NVT_OPEN_RANGE &&
            nvt_is_called_iteration(trace, open->items[i].row))
            return 1;
    return 0;
}

/* What takes unusually long of a thread: nothing, a range or MPI call around the innermost one, or that one. */
enum unusual { USUAL, AROUND, INNERMOST };

static enum unusual unusual_of(const struct nvt_process_end *end, uint32_t from, uint32_t to)
{
    const struct nvt_open_item *last = innermost(end->open, from, to), *item = last;
    if (!last || !is_in_iteration(end->open, from, to))
        return USUAL;
    for (; item >= &end->open->items[from]; item--) {
        const struct alike alike = alike_of(end->open->trace, end->process, item);
        if (alike.count >= NVT_LIVE_ALIKE &&
            (end->ended - item->begun) / NVT_LIVE_TIMES >= alike.longest)
            return item == last ? INNERMOST : AROUND;
    }
    return USUAL;
}

/* --- what a thread waits for ------------------------------------------------------------------------- */

enum waits {
    UNKNOWN,
    RUNS,
    OUTSIDE, /* for something from outside, on purpose, or until a time */
    OTHERS,  /* for another thread */
    BLOCKED, /* for a file, a pipe, the other end of a connection */
};

static enum waits kind_of(const char *call)
{
    const struct nvt_os_call_info *info = nvt_os_call_find(call);
    if (!*call || !strcmp(call, "running"))
        return *call ? RUNS : UNKNOWN;
    if (nvt_os_has_deadline(call) || (info && nvt_os_is_idle(info)))
        return OUTSIDE;
    return info && (info->kind == NVT_OS_LOCKS || info->kind == NVT_OS_THREADS) ? OTHERS : BLOCKED;
}

/* As the recorder saw it as the recording ended; else by its last OS call. */
static enum waits waits_of(const struct nvt_open_items *open, uint32_t thread)
{
    const struct nvt_trace *trace = open->trace;
    const uint32_t call = open->threads[thread].call, seen = trace->threads.waits[thread];
    return kind_of(nvt_name(trace, seen || call == NVT_NONE ? seen : trace->os_calls.name[call]));
}

/* What other threads of the process do, one of which may bring what one waits for. */
enum others { NOBODY, MAY, GO_ON };

/* They go on if one runs, waits for something from outside, or has done anything meanwhile, or if that is unknown; they may if
 * one waits for a file, a pipe or a connection. */
static enum others others_of(const struct nvt_process_end *end, uint32_t thread)
{
    const struct nvt_trace *trace = end->open->trace;
    enum others others = NOBODY;
    if (trace->processes.is_fed[end->process] || nvt_others_go_on(end, thread))
        return GO_ON;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        if (i == thread || trace->threads.process[i] != end->process ||
            trace->threads.tid[i] == trace->threads.tid[thread] ||
            nvt_known_until(trace, i) < end->ended)
            continue;
        const enum waits waits = waits_of(end->open, i);
        /* Who was not looked at as others were has ended, or is a collector's. */
        if (waits == UNKNOWN ? !trace->threads.waits[thread] : waits == RUNS || waits == OUTSIDE)
            return GO_ON;
        if (waits == BLOCKED)
            others = MAY;
    }
    return others;
}

/* --- the front --------------------------------------------------------------------------------------- */

/* How sure it is that a thread hangs whose range takes unusually long: 0 it does not; 1 it may, as what it waits for may come; 2 it
 * is in MPI, or waits for threads none of which can go on. */
static int judge_thread(const struct nvt_process_end *end, uint32_t from, uint32_t to)
{
    const uint32_t thread = end->open->items[from].thread;
    const enum waits waits = waits_of(end->open, thread);
    const struct nvt_open_item *item = innermost(end->open, from, to);
    /* Libraries of MPI look all the time whether something has come, or wait as they like. */
    if (item && item->what == NVT_OPEN_MPI)
        return 2;
    if (waits != OTHERS)
        return waits != OUTSIDE;
    const enum others others = others_of(end, thread);
    return others == GO_ON ? 0 : others == MAY ? 1 : 2;
}

int nvt_live_front(struct nvt_process_end *end)
{
    int most = 0;
    for (uint32_t at = end->first, behind; at < end->end; at = behind) {
        behind = nvt_open_thread_end(end->open, at);
        if (nvt_known_until(end->open->trace, end->open->items[at].thread) < end->ended)
            continue;
        const enum unusual unusual = unusual_of(end, at, behind);
        const int sure = unusual == USUAL ? 0 : judge_thread(end, at, behind);
        /* A first evaluation is long, too; but not while no thread of the process can go on. */
        if (unusual == USUAL || (unusual == AROUND && sure < 2))
            continue;
        const struct nvt_open_item *item = innermost(end->open, at, behind);
        const int is_mpi = item->what == NVT_OPEN_MPI;
        if (!end->is_late || sure > most || (is_mpi && end->mpi == NVT_NONE)) {
            end->front_first = at;
            end->front_end = behind;
            end->mpi = is_mpi ? item->row : NVT_NONE;
            most = sure;
        }
        end->is_late = 1;
    }
    end->is_sure = most > 1;
    return most > 0;
}

/* --- others ------------------------------------------------------------------------------------------ */

/* Of those that started it and have ranges of their own: others are launchers. */
static int is_parent(const struct nvt_process_end *end, const struct nvt_process_end *of)
{
    const struct nvt_processes *processes = &of->open->trace->processes;
    return end->events && end->from == of->from && processes->parent_pid[of->process] > 0 &&
           processes->pid[end->process] == processes->parent_pid[of->process];
}

/* What one waits in MPI for: another rank that gets on will come; one that is in nothing unusual may. */
static void compare_ranks(const struct nvt_process_ends *ends, struct nvt_process_end *end)
{
    size_t others = 0;
    for (size_t i = 0; i < ends->count; i++) {
        const struct nvt_process_end *other = &ends->items[i];
        if (other == end || !other->mpi_calls)
            continue;
        others++;
        if (other->is_over)
            continue;
        if (nvt_still_ns(other) < NVT_STILL_NS)
            end->stands = 0;
        end->is_sure &= other->is_late;
    }
    end->is_sure &= others > 0;
}

void nvt_live_compare(struct nvt_process_ends *ends)
{
    for (size_t i = 0; i < ends->count; i++) {
        struct nvt_process_end *end = &ends->items[i];
        if (!end->stands || !end->goes_on)
            continue;
        if (end->mpi != NVT_NONE)
            compare_ranks(ends, end);
        for (size_t k = 0; k < ends->count && end->stands; k++)
            if (is_parent(&ends->items[k], end) && !ends->items[k].is_late)
                end->stands = 0;
    }
}
