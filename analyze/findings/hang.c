/* hang: processes in which nothing moves at the end of the recording, what they wait for, and which rank has not reached the call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/os_calls.h"
#include "../diagnosis/deadlock.h"
#include "../diagnosis/diagnose.h"
#include "../diagnosis/running.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../model/recorded_parts.h"
#include "../model/recording.h"
#include "../studies/standstill.h"

/* Processes and threads that are told of by what they are in. */
enum { TOLD = 3, STACK = 150 };

/* "rank 3", "process 123", until the end of the block. */
#define NAME_MAX_TEXT 40
static const char *name_text(const struct nvt_process_end *end, char out[NAME_MAX_TEXT])
{
    if (end->rank != NVT_NONE)
        snprintf(out, NAME_MAX_TEXT, "rank %u", end->rank);
    else
        snprintf(out, NAME_MAX_TEXT, "process %lld",
                 (long long)end->open->trace->processes.pid[end->process]);
    return out;
}
#define NAME_OF(end) name_text((end), (char[NAME_MAX_TEXT]){0})

/* The innermost thing of a process: "MPI_Recv", "sem_wait". */
static const char *innermost(const struct nvt_process_end *end)
{
    const struct nvt_trace *trace = end->open->trace;
    if (end->mpi != NVT_NONE)
        return nvt_name(trace, trace->mpi_calls.name[end->mpi]);
    return nvt_name(trace, end->open->items[end->front_end - 1].name);
}

/* "; rank 1: step (33 s) > load (31 s)" behind the evidence. 0, or -1 when out of memory. */
static int tell_stack(struct nvt_finding *finding, const char *who,
                      const struct nvt_process_end *end, uint32_t from, uint32_t to)
{
    struct nvt_buffer text = {0};
    int failed = nvt_open_put_stack(end->open, from, to, &text);
    int size = (int)text.size;
    if (!failed && size > STACK) { /* the end of it says more, from a whole range on */
        const char *cut = (const char *)text.data + size - STACK;
        const char *step = memmem(cut, STACK, " > ", 3);
        size = step ? size - (int)(step - (const char *)text.data) : STACK;
    }
    if (!failed)
        nvt_finding_append(finding, "; %s: %s%.*s", who, size < (int)text.size ? "…" : "", size,
                           (const char *)text.data + text.size - (size_t)size);
    nvt_buffer_free(&text);
    return failed ? -1 : 0;
}

/* The other rank of an open call of MPI; below 0: it has none, or none that is known. */
static int32_t peer_of(const struct nvt_process_end *end)
{
    const struct nvt_mpi_calls *calls = &end->open->trace->mpi_calls;
    return end->mpi != NVT_NONE && calls->kind[end->mpi] == NVT_MPI_P2P ? calls->peer[end->mpi]
                                                                        : -1;
}

static int tell_front(struct nvt_finding *finding, const struct nvt_process_end *end)
{
    int status = tell_stack(finding, NAME_OF(end), end, end->front_first, end->front_end);
    if (!status && peer_of(end) >= 0)
        nvt_finding_append(finding, " with rank %d", peer_of(end));
    return status;
}

/* The one that has stood still for longest: what it tells of is what began first. NULL: none does. */
static const struct nvt_process_end *longest(const struct nvt_process_ends *ends)
{
    const struct nvt_process_end *most = NULL;
    for (size_t i = 0; i < ends->count; i++)
        if (ends->items[i].stands && (!most || nvt_still_ns(&ends->items[i]) > nvt_still_ns(most)))
            most = &ends->items[i];
    return most;
}

static size_t count_still(const struct nvt_process_ends *ends)
{
    size_t count = 0;
    for (size_t i = 0; i < ends->count; i++)
        count += ends->items[i].stands != 0;
    return count;
}

static void tell_pace(struct nvt_finding *finding, const struct nvt_process_end *end)
{
    if (end->events < NVT_STILL_EVENTS) {
        snprintf(finding->evidence, sizeof(finding->evidence), "%s had run for %s before that",
                 NAME_OF(end), NVT_TIME((double)end->pause));
        return;
    }
    snprintf(finding->evidence, sizeof(finding->evidence),
             "before that, nothing took longer than %s to begin (%s ranges, calls and marks)",
             NVT_TIME((double)end->pause), NVT_COUNT((double)end->events));
}

/* What its threads ran meanwhile. 0, or -1 when out of memory. */
static int tell_running(const struct nvt_process_end *end, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = end->open->trace;
    struct nvt_running running = {.is_taken = NULL};
    int status = nvt_running_begin(&running, trace);
    for (uint32_t i = 0; i < trace->threads.count && !status; i++)
        if (trace->threads.process[i] == end->process)
            nvt_running_add(&running, i, end->last, end->ended);
    if (!status && trace->cpu_samples.count)
        status = nvt_running_tell(&running, finding);
    nvt_running_free(&running);
    return status;
}

/* --- ranks ---------------------------------------------------------------------------------------------- */

static int in_mpi(const struct nvt_process_end *end)
{
    return end->mpi != NVT_NONE && end->stands;
}

/* Processes that call MPI and are not in it, or not any more, while others stand still there: whom these wait for. */
static size_t find_absent(const struct nvt_process_ends *ends,
                          const struct nvt_process_end **absent)
{
    size_t count = 0;
    for (size_t i = 0; i < ends->count; i++)
        if (ends->items[i].mpi_calls && (ends->items[i].mpi == NVT_NONE || ends->items[i].is_over))
            absent[count++] = &ends->items[i];
    return count;
}

/* "MPI_Recv with rank 1", "MPI_Allreduce". */
static void tell_call(const struct nvt_process_end *end, char *out, size_t size)
{
    if (peer_of(end) >= 0)
        snprintf(out, size, "%.40s with rank %d", innermost(end), peer_of(end));
    else
        snprintf(out, size, "%.40s", innermost(end));
}

/* What those are in that have been blocked in MPI, or those that have come to their call only just now. 0, or -1 when out of memory. */
static int tell_calls(struct nvt_finding *finding, const struct nvt_process_ends *ends,
                      int are_blocked)
{
    int told = 0, status = 0;
    for (size_t i = 0; i < ends->count && told < TOLD && !status; i++) {
        const struct nvt_process_end *end = &ends->items[i];
        if (end->mpi == NVT_NONE || (end->stands != 0) != are_blocked)
            continue;
        status = tell_front(finding, end);
        told++;
    }
    return status;
}

/* All are in MPI, and none comes out: in what. 0, or -1 when out of memory. */
static int judge_all_in(const struct nvt_process_ends *ends, const struct nvt_process_end *first,
                        struct nvt_finding *finding)
{
    char call[80], which[48];
    size_t count = 0, blocked = 0;
    const struct nvt_process_end *late = NULL;
    int differ = 0;
    for (size_t i = 0; i < ends->count; i++) {
        const struct nvt_process_end *end = &ends->items[i];
        count += end->mpi != NVT_NONE;
        blocked += in_mpi(end) != 0;
        differ |= in_mpi(end) && strcmp(innermost(end), innermost(first)) != 0;
        late = end->mpi != NVT_NONE && !end->stands && !late ? end : late;
    }
    tell_call(first, call, sizeof(call));
    if (late)
        snprintf(which, sizeof(which), "%zu of %zu ranks %s", blocked, count,
                 blocked > 1 ? "have" : "has");
    else
        snprintf(which, sizeof(which), "all %zu ranks have", count);
    snprintf(finding->what, sizeof(finding->what), "%s been blocked in %s for %s, %s in %s%s",
             which, nvt_mpi_library(first->open->trace), NVT_TIME((double)nvt_still_ns(first)),
             NAME_OF(first), call, differ ? ": not all in the same call" : "");
    snprintf(finding->remedy, sizeof(finding->remedy),
             late ? "find out what %s did before its last MPI call: the others waited for it"
                  : "mismatched sends and receives: compare order, number and ranks of the calls",
             late ? NAME_OF(late) : "");
    return tell_calls(finding, ends, 1) || tell_calls(finding, ends, 0) ? -1 : 0;
}

/* What one is in, or was in when it ended. 0, or -1 when out of memory. */
static int tell_absent(struct nvt_finding *finding, const struct nvt_process_end *end)
{
    char who[NAME_MAX_TEXT + 16];
    int has_front = end->front_first < end->front_end;
    snprintf(who, sizeof(who), "%s%s", NAME_OF(end), end->is_over ? " ended within" : "");
    if (has_front)
        return tell_stack(finding, who, end, end->front_first, end->front_end);
    if (end->is_over)
        nvt_finding_append(finding, "; %s ended, in no range and no call", NAME_OF(end));
    else
        nvt_finding_append(finding, "; %s is in no range and no %s call", NAME_OF(end),
                           nvt_mpi_library(end->open->trace));
    return 0;
}

/* Some are not in MPI. 0, or -1 when out of memory. */
static int judge_absent(const struct nvt_process_ends *ends, const struct nvt_process_end *first,
                        const struct nvt_process_end *const *absent, size_t count,
                        struct nvt_finding *finding)
{
    char others[32] = "", call[80];
    size_t waiting = 0;
    int status = 0;
    for (size_t i = 0; i < ends->count; i++)
        waiting += in_mpi(&ends->items[i]) != 0;
    tell_call(first, call, sizeof(call));
    if (count > 1)
        snprintf(others, sizeof(others), " and %zu more", count - 1);
    snprintf(finding->what, sizeof(finding->what),
             "%zu of %zu ranks %s been blocked in %s for %s: %s%s %s", waiting, waiting + count,
             waiting > 1 ? "have" : "has", call, NVT_TIME((double)nvt_still_ns(first)),
             NAME_OF(absent[0]), others,
             count == 1 && absent[0]->is_over ? "has ended"
             : count == 1                     ? "has not reached the call"
                                              : "have not reached the call");
    for (size_t i = 0; i < count && i < TOLD && !status; i++)
        status = tell_absent(finding, absent[i]);
    if (!status)
        status = tell_front(finding, first) || tell_running(absent[0], finding) ? -1 : 0;
    snprintf(
        finding->remedy, sizeof(finding->remedy),
        absent[0]->is_over
            ? "find out why %s ended (its own messages, the kernel's log): the others wait for it"
            : "look at what %s is in (a debugger, py-spy dump): the others only wait for it",
        NAME_OF(absent[0]));
    return status;
}

/* What began fewer collectives of NCCL than another of its communicator has not reached one. Of a process of several communicators
 * it is not known which of their collectives these are. */
static void tell_collectives(const struct nvt_process_ends *ends, struct nvt_finding *finding)
{
    const struct nvt_process_end *least = NULL, *most = NULL;
    for (size_t i = 0; i < ends->count; i++)
        for (size_t k = 0; k < ends->count; k++) {
            const struct nvt_process_end *few = &ends->items[i], *many = &ends->items[k];
            /* Where a beginning is missing, it may be the others'. */
            if (few->open->trace->is_late || many->open->trace->is_late || !few->collectives ||
                few->several_communicators || many->several_communicators ||
                few->communicator != many->communicator || few->collectives >= many->collectives ||
                (least &&
                 many->collectives - few->collectives <= most->collectives - least->collectives))
                continue;
            least = few;
            most = many;
        }
    if (least)
        nvt_finding_append(finding, "; %s has begun %s NCCL collectives, %s %s", NAME_OF(least),
                           NVT_COUNT((double)least->collectives), NAME_OF(most),
                           NVT_COUNT((double)most->collectives));
}

/* --- threads -------------------------------------------------------------------------------------------- */

/* Whether each thread of a process that is on record waits for another: in a call for a lock or a thread. */
static int all_wait(const struct nvt_process_end *end)
{
    const struct nvt_trace *trace = end->open->trace;
    uint32_t waiting = 0, threads = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        if (trace->threads.process[i] != end->process ||
            nvt_known_until(trace, i) + NVT_STILL_NS < end->ended)
            continue;
        const struct nvt_os_call_info *call = nvt_open_call(end->open, i);
        waiting += call && (call->kind == NVT_OS_LOCKS || call->kind == NVT_OS_THREADS);
        threads++;
    }
    return threads > 1 && waiting == threads;
}

/* What its other threads are in. 0, or -1 when out of memory. */
static int tell_threads(const struct nvt_process_end *end, struct nvt_finding *finding)
{
    const struct nvt_open_items *open = end->open;
    char who[48];
    int told = 0, status = 0;
    for (uint32_t at = end->first, behind; at < end->end && told < TOLD && !status; at = behind) {
        behind = nvt_open_thread_end(open, at);
        if (at == end->front_first)
            continue;
        snprintf(who, sizeof(who), "thread %lld",
                 (long long)open->trace->threads.tid[open->items[at].thread]);
        status = tell_stack(finding, who, end, at, behind);
        told++;
    }
    return status;
}

/* In which system call the thread is that is in front, where no OS calls were recorded. */
static void tell_call_seen(const struct nvt_process_end *end, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = end->open->trace;
    const struct nvt_open_item *item = &end->open->items[end->front_end - 1];
    const char *waits = nvt_name(trace, trace->threads.waits[item->thread]);
    if (item->what != NVT_OPEN_OS && *waits)
        nvt_finding_append(
            finding, strcmp(waits, "running") ? "; its thread is in %s" : "; its thread is %s",
            waits);
}

/* Processes that wait for something from outside, as for others of the run, and for unusually long, too. 0, or -1 when out of memory. */
static int tell_late(const struct nvt_process_ends *ends, struct nvt_finding *finding)
{
    int told = 0, status = 0;
    for (size_t i = 0; i < ends->count && told < TOLD && !status; i++) {
        const struct nvt_process_end *end = &ends->items[i];
        if (!end->is_late || end->stands)
            continue;
        status = tell_front(finding, end);
        told++;
    }
    return status;
}

/* Ranks that have ended, for whom the others may wait. 0, or -1 when out of memory. */
static int tell_ended(const struct nvt_process_ends *ends, struct nvt_finding *finding)
{
    int told = 0, status = 0;
    for (size_t i = 0; i < ends->count && told < TOLD && !status; i++)
        if (ends->items[i].is_over && ends->items[i].rank != NVT_NONE) {
            status = tell_absent(finding, &ends->items[i]);
            told++;
        }
    return status;
}

/* " for a lock", of a call in which Python waits; "" where that is not known. 0, or -1 when out of memory. */
static int wait_text(const struct nvt_process_end *end, char *out, size_t size)
{
    const struct nvt_open_item *item = &end->open->items[end->front_end - 1];
    struct nvt_waits waits = {.trace = NULL};
    out[0] = 0;
    if (item->what != NVT_OPEN_OS)
        return 0;
    int failed = nvt_waits_make(&waits, end->open->trace);
    if (!failed && end->open->trace->os_calls.frame[item->row])
        snprintf(out, size, "%s%s", *nvt_wait_text(waits.what[item->row]) ? " for " : "",
                 nvt_wait_text(waits.what[item->row]));
    nvt_waits_free(&waits);
    return failed;
}

/* No MPI: the process by itself, and others that stand still, too. 0, or -1 when out of memory. */
static int judge_process(const struct nvt_process_ends *ends, const struct nvt_process_end *end,
                         struct nvt_finding *finding)
{
    const struct nvt_trace *trace = end->open->trace;
    size_t still = count_still(ends);
    char more[48] = "", object[96] = "";
    const struct nvt_open_item *item = &end->open->items[end->front_end - 1];
    if (still > 1)
        snprintf(more, sizeof(more), " and %zu more process%s", still - 1, still == 2 ? "" : "es");
    if (wait_text(end, object, sizeof(object)))
        return -1;
    if (item->what == NVT_OPEN_OS && trace->os_calls.file[item->row])
        snprintf(object, sizeof(object), " %s",
                 nvt_file_text(nvt_name(trace, trace->os_calls.file[item->row]), 60,
                               (char[NVT_FILE_TEXT_MAX]){0}));
    snprintf(finding->what, sizeof(finding->what), "%s%s %s made no progress for %s, in %.80s%s%s",
             NAME_OF(end), more, still > 1 ? "have" : "has", NVT_TIME((double)nvt_still_ns(end)),
             innermost(end), object, all_wait(end) ? ": every thread waits for another" : "");
    if (tell_ended(ends, finding) || tell_front(finding, end))
        return -1;
    tell_call_seen(end, finding);
    if (tell_threads(end, finding) || tell_late(ends, finding) || tell_running(end, finding))
        return -1;
    if (!trace->os_calls.count && nvt_recording_level(trace, "osrt") < 1)
        nvt_finding_append(finding, "; record --trace nvtx,osrt,cpu shows what it waits for");
    return 0;
}

/* Whether the rule `deadlock` tells of the trace already; below 0: out of memory. */
static int is_deadlock(const struct nvt_trace *trace)
{
    struct nvt_deadlocks deadlocks = {.count = 0};
    int status = nvt_deadlocks_find(&deadlocks, trace) ? -1 : deadlocks.count > 0;
    nvt_deadlocks_free(&deadlocks);
    return status;
}

/* --- all ------------------------------------------------------------------------------------------------ */

static int judge_hang(const struct nvt_rule *rule, const struct nvt_process_ends *ends,
                      struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_process_end *first = longest(ends);
    int is_told = first && !in_mpi(first) ? is_deadlock(first->open->trace) : 0;
    if (!first || is_told > 0)
        return 0;
    const struct nvt_process_end **absent = malloc((ends->count + 1) * sizeof(const void *));
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    size_t count = absent ? find_absent(ends, absent) : 0;
    int status = absent && !is_told ? 0 : -1;
    /* Who waits in MPI tells of the others; those that are not in it may stand still for longer. */
    for (size_t i = 0; i < ends->count && !in_mpi(first); i++)
        if (in_mpi(&ends->items[i]))
            first = &ends->items[i];
    nvt_case_name(first->from, finding.where, sizeof(finding.where));
    finding.trace = first->open->trace;
    finding.cost_ns = (double)nvt_still_ns(first);
    finding.per = "at the end";
    finding.whole_ns = 0;
    if (!first->is_sure)
        finding.confidence = NVT_POSSIBLE;
    tell_pace(&finding, first);
    if (first->last >= finding.trace->first_ns) /* else what was cut off in front has it */
        nvt_finding_point(&finding, first->last);
    if (!status && in_mpi(first))
        status = count ? judge_absent(ends, first, absent, count, &finding)
                       : judge_all_in(ends, first, &finding);
    else if (!status)
        status = judge_process(ends, first, &finding);
    tell_collectives(ends, &finding);
    if (!first->is_sure && first->goes_on)
        nvt_finding_append(&finding, "; it may be a long wait that ends: a second copy shows it");
    free(absent);
    return status ? nvt_fail(err, "out of memory") : nvt_findings_add(findings, &finding, err);
}

static int compare_hang(const struct nvt_rule *rule, const struct nvt_case *facts,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    size_t runs, *numbers;
    int was_stopped = 0;
    for (size_t i = 0; i < facts->input->trace_count; i++)
        was_stopped |= facts->input->traces[i].trace->was_stopped;
    if (!was_stopped)
        return 0;
    numbers = nvt_input_run_numbers(facts->input, &runs);
    int status = numbers ? 0 : nvt_fail(err, "out of memory");
    for (size_t run = 0; run < runs && !status; run++) {
        struct nvt_process_ends ends = {0};
        status = nvt_process_ends_make(&ends, facts->input, numbers, run)
                     ? nvt_fail(err, "out of memory")
                     : judge_hang(rule, &ends, findings, err);
        nvt_process_ends_free(&ends);
    }
    free(numbers);
    return status;
}

const struct nvt_rule nvt_rule_hang = {
    .cause = "hang",
    .about = "processes in which nothing begins or ends any more, what they are in, and which rank "
             "is missing",
    .means = "The program has stopped making progress without ending: no range, MPI call, mark or "
             "device operation begins or ends. Usually one process or rank has a problem, and all "
             "others only wait for it.",
    .found =
        "A process is looked at if the command did not end by itself with status 0. The finding "
        "shows what each process or thread is in and since when, which rank has not reached the "
        "MPI call, which rank has begun fewer collectives, and whether every thread waits for "
        "another. Ranks may be in one trace or in several; the trace may still be recorded, or its "
        "recorder may have been killed. nvtally record --trace nvtx,osrt,cpu shows most.",
    .threshold =
        "nothing more for the last 5 s and for 5 times as long as ever before, of a "
        "process with at least 10 ranges, MPI calls or marks, which is within one of "
        "them (in an MPI call of a process with fewer, for 5 times as long as it had run "
        "before): a program that is still working reaches its next range about as fast as "
        "before. Not while it sleeps or waits for something from outside (poll, accept), "
        "or for work from a queue that another thread may fill: that is meant. In a copy (ctl "
        "dump) or "
        "a recording that was stopped, as the program goes on: its innermost range or MPI call "
        "has lasted for 5 times as long as the longest of 5 or more of its name, or one around it "
        "has where all threads wait for each other; and no other thread runs, does anything "
        "or waits for something from outside while it waits for a thread, or until a time. "
        "Only possible where something may yet end it: a pipe, a file, a thread that computes",
    .remedy = "attach a debugger while the process is alive (gdb -p, py-spy dump); -r range_tree "
              "and -r osrt_trace show what it did before",
    .helped = "py-spy dump --pid on the rank that is missing. NCCL_DEBUG=INFO and "
              "TORCH_NCCL_TRACE_BUFFER_SIZE for collectives that differ between ranks. A timeout "
              "on collectives, so that the program ends with an error. Checking that all ranks "
              "take the same branches and have as many batches.",
    .confused = "Deadlock: the holder of the lock is known. A long phase without ranges, such as a "
                "first compilation, looks alike until it ends: the threshold is five times the "
                "longest pause so far. A server without requests waits in poll and is no hang.",
    .show = "stats -r range_tree",
    .is_fatal = 1,
    .confidence = NVT_LIKELY,
    .compare = compare_hang,
};
