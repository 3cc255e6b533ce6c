/* late rank: ranks wait in MPI or torch.distributed for one that does something else meanwhile. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../diagnosis/late_ranks.h"
#include "../diagnosis/loop_interruptions.h"
#include "../model/mpi.h"

/* Findings of one job: the report has all. */
#define MOST 3
/* What others pass on is named from this part of a wait on. */
#define THROUGH_LEAST 0.05

static const char *const remedies[NVT_MPI_WAIT_STATES] = {
    [NVT_MPI_LATE_SENDER] = "let it send before it does that, or do less of it; receive with "
                            "MPI_Irecv, work, and wait later",
    [NVT_MPI_WRONG_ORDER] = "receive in the order in which messages are sent, or all at once "
                            "(MPI_Irecv, MPI_Waitany), and work with what has arrived",
    [NVT_MPI_LATE_RECEIVER] =
        "let it post the receive before it does that (MPI_Irecv), or send with "
        "MPI_Isend and wait later",
    [NVT_MPI_WAIT_BARRIER] =
        "balance the ranks' work before the barrier, or remove it where nothing needs "
        "it",
    [NVT_MPI_WAIT_NXN] =
        "balance the ranks' work before the call, or begin it earlier and wait later "
        "(MPI_Iallreduce), with work in between",
    [NVT_MPI_EARLY_REDUCE] =
        "balance the ranks' work before the call, or let the root begin it and wait "
        "later (MPI_Ireduce)",
    [NVT_MPI_LATE_BROADCAST] =
        "let the root send before it does that; or MPI_Ibcast, with work in between",
};

/* Of torch.distributed, whose calls are others. */
static const char *remedy_of(const struct nvt_trace *trace, enum nvt_mpi_wait_state state)
{
    if (!nvt_is_torch_alone(trace))
        return remedies[state];
    return state == NVT_MPI_LATE_BROADCAST
               ? "let the root do it behind the broadcast, or all ranks by themselves"
               : "balance what ranks do before they meet: batches of even length, as many workers, "
                 "evaluation, logging and checkpoints on all ranks or outside the loop";
}

/*
 * What the late rank does while the rank that waits longest waits: calls of the operating system and functions, where they were
 * recorded. 0, or -1 when out of memory.
 */
static int tell_late_work(const struct nvt_late_ranks *ranks, const struct nvt_late_rank *item,
                          struct nvt_finding *finding)
{
    const struct nvt_mpi_job *job = &ranks->waits.job;
    const struct nvt_trace *trace = nvt_mpi_trace(job, item->late);
    const struct nvt_view view = {.trace = trace, .process = NVT_NONE};
    struct nvt_loop_spans spans = {.view = &view, .thread = NVT_NONE};
    const struct nvt_late_waiting *waiting = &ranks->waiting[item->rank];
    int failed = 0;
    int64_t until = INT64_MIN;
    if (!trace->os_calls.count && !trace->cpu_samples.count)
        return 0;
    for (size_t i = 0; i < ranks->waits.count && !failed; i++) {
        const struct nvt_mpi_wait *wait = &ranks->waits.items[i];
        if (wait->rank != item->rank || wait->late != item->late || wait->state != item->state ||
            wait->start < waiting->from || wait->start > waiting->to || wait->start < until)
            continue;
        until = wait->end;
        spans.thread = trace->mpi_calls.thread[wait->late_call];
        failed = nvt_loop_spans_add(&spans, nvt_mpi_time(job, item->rank, item->late, wait->start),
                                    nvt_mpi_time(job, item->rank, item->late, wait->end));
    }
    if (spans.count)
        nvt_finding_append(finding, "; this is what rank %u did meanwhile",
                           job->ranks[item->late].number);
    failed = failed || (spans.count && nvt_loop_spans_tell(&spans, finding));
    nvt_loop_spans_free(&spans);
    return failed ? -1 : 0;
}

static void tell_late_what(const struct nvt_late_ranks *ranks, const struct nvt_late_rank *item,
                           struct nvt_finding *finding)
{
    const struct nvt_mpi_job *job = &ranks->waits.job;
    const struct nvt_trace *trace = nvt_mpi_trace(job, item->rank);
    const struct nvt_late_waiting *waiting = &ranks->waiting[item->rank];
    const char *range = nvt_name(nvt_mpi_trace(job, item->late), item->late_range);
    const char *state = nvt_mpi_wait_state_name(item->state);
    char place[128];
    snprintf(place, sizeof(place), "%s%.110s", *range ? "range " : "no range", range);
    /* Without a subject: findings that share one and compare traces are folded, as sweeps, and then name no rank. */
    snprintf(finding->what, sizeof(finding->what),
             "%c%s: rank %u waits %.0f %% of its time in %.40s for rank %u, which is in %s then",
             tolower((unsigned char)*state), state + 1, job->ranks[item->rank].number,
             100 * item->ns / waiting->span_ns, nvt_name(trace, item->call),
             job->ranks[item->late].number, place);
}

static void tell_late_evidence(const struct nvt_late_ranks *ranks, const struct nvt_late_rank *item,
                               struct nvt_finding *finding)
{
    const struct nvt_mpi_job *job = &ranks->waits.job;
    const struct nvt_late_waiting *waiting = &ranks->waiting[item->rank];
    const struct nvt_mpi_unmatched *left = &ranks->waits.unmatched;
    const char *range = nvt_name(nvt_mpi_trace(job, item->rank), item->range);
    const char *each = NVT_COUNT(item->count / waiting->units);
    uint64_t unmatched = left->others + left->any + left->uneven + left->threads + left->impossible;
    nvt_finding_append(finding, "%s wait%s %s, %s each, the longest %s", each,
                       each[0] == '1' && !each[1] ? "" : "s", finding->per,
                       NVT_TIME(item->ns / item->count), NVT_TIME(item->longest.ns[0]));
    if (*range)
        nvt_finding_append(finding, "; it waits in range %.80s", range);
    if (job->count > 2)
        nvt_finding_append(finding, "; %u of the other %u ranks wait%s so for it", item->ranks,
                           job->count - 1, item->ranks == 1 ? "s" : "");
    if (item->through_ns > THROUGH_LEAST * item->ns)
        nvt_finding_append(finding, "; %.0f %% of it through ranks that it held up before",
                           100 * item->through_ns / item->ns);
    if (unmatched)
        nvt_finding_append(finding, "; %llu sends and receives could not be matched",
                           (unsigned long long)unmatched);
}

static int add_late_job(const struct nvt_rule *rule, const struct nvt_late_ranks *ranks,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    int status = 0;
    for (uint32_t i = 0; i < ranks->count && i < MOST && !status; i++) {
        const struct nvt_late_rank *item = &ranks->items[i];
        const struct nvt_late_waiting *waiting = &ranks->waiting[item->rank];
        const struct nvt_mpi_file *file = nvt_mpi_file_of(&ranks->waits.job, item->rank);
        struct nvt_finding finding = nvt_finding_of(rule, NULL);
        nvt_case_name(file->from, finding.where, sizeof(finding.where));
        finding.trace = file->from->trace;
        finding.per = waiting->has_iterations ? "per iteration" : nvt_late_per(finding.trace);
        finding.cost_ns = item->ns / waiting->units;
        finding.whole_ns = waiting->span_ns / waiting->units;
        snprintf(finding.remedy, sizeof(finding.remedy), "%s",
                 remedy_of(finding.trace, item->state));
        tell_late_what(ranks, item, &finding);
        tell_late_evidence(ranks, item, &finding);
        nvt_finding_point_longest(&finding, &item->longest);
        status = tell_late_work(ranks, item, &finding) ? nvt_fail(err, "out of memory")
                                                       : nvt_findings_add(findings, &finding, err);
    }
    return status;
}

static int compare_late(const struct nvt_rule *rule, const struct nvt_case *facts,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_late_jobs jobs = {0};
    int status = nvt_late_jobs_make(&jobs, facts->input, err);
    for (size_t i = 0; i < jobs.count && !status; i++)
        status = add_late_job(rule, &jobs.items[i], findings, err);
    nvt_late_jobs_free(&jobs);
    return status;
}

const struct nvt_rule nvt_rule_late = {
    .cause = "late rank",
    .about = "a rank that others wait for in MPI or torch.distributed, and what it does meanwhile",
    .means = "A rank waits in communication for another one, which is in a range of its own then: "
             "a late "
             "sender, a late receiver, the last one at a barrier or in a collective. The remedy is "
             "in what the late rank does, not in the call that waits.",
    .found =
        "Sends and receives are matched, and collectives put together, over the ranks of a "
        "job on one clock (wait states as Scalasca defines them). The finding "
        "names the call, both ranks and the late one's range. Ranks are the files of a run's "
        "ranks; the rank of a file is that of the process, the trace, its row, or the number "
        "after \"rank\" in its name. What a rank passes on that waited itself before is put down "
        "to the first of the chain.",
    .threshold =
        "10 % of a rank's time in one wait state (late sender, late receiver, wait at barrier ...) "
        "for one rank in one range, in at least 3 waits, even with the two longest cut to the mean "
        "of the rest, less what the late rank waits for others in such a range, and four times "
        "that over the whole trace: ranks that take turns being late are not reported. Not where "
        "the late rank communicates itself: it waits for another one, or for the network",
    .remedy = "balance the ranks' work before they meet",
    .helped = "Posting receives early (MPI_Irecv), sending before computing, dynamic load "
              "balancing, fewer barriers, domain decompositions by cost instead of by size.",
    .confused =
        "Straggler: the same rank is late throughout, wherever it is. MPI: much time in calls "
        "without one rank to blame. On a busy machine another rank is late each time.",
    .show = "stats -r mpi_waits",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_MPI,
    .compare = compare_late,
};
