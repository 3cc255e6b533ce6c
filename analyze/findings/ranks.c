/*
 * stragglers: a rank that the others wait for in collectives, and why it is late (diagnosis/stragglers.h).
 *
 * Of devices that only copy to each other, and of processes that call MPI, no collectives are paired: there it is the one that is in
 * communication the least, and computes longer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../device/communication.h"
#include "../device/devices.h"
#include "../input/ranks.h"
#include "../model/cover.h"
#include "../model/mpi.h"
#include "../studies/rank_runs.h"
#include "../diagnosis/late_ranks.h"
#include "../diagnosis/rank_waits.h"
#include "../diagnosis/stragglers.h"

#define LEAST_SHARE 0.05
#define RANKS_MAX   4096
#define PARTS       64
/* Findings of one run. */
#define MOST 8

/* One device of one process, or (device NVT_NONE) a process that calls MPI. */
struct rank {
    const struct nvt_input_trace *from;
    uint32_t process, device;
    double communication_ns, compute_ns, span_ns; /* in all */
    double units;                                 /* iterations, 1 without any */
    int has_iterations;
    struct nvt_longest kernels;
    double parts[PARTS]; /* communication_ns in equal parts of a process's time */
};

struct ranks {
    struct rank *items;
    size_t count;
};

static void measure_ranks(struct rank *rank, const struct nvt_used_device *device)
{
    const struct nvt_trace *trace = rank->from->trace;
    const struct nvt_ops *ops = &trace->ops;
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        double ns = (double)(ops->end[op] - ops->start[op]);
        end = ops->end[op] > end ? ops->end[op] : end;
        if (nvt_is_communication(trace, op)) {
            rank->communication_ns += ns;
        } else {
            rank->compute_ns += ns;
            nvt_longest_add(&rank->kernels, ops->start[op], ns);
        }
    }
    rank->span_ns = device->count ? (double)(end - ops->start[device->ops[0]]) : 0;
}

/* NULL when there is no room, or out of memory (with err). */
static struct rank *add_rank(struct ranks *ranks, const struct nvt_input_trace *from,
                             struct nvt_error *err)
{
    if (nvt_grow(&ranks->items, ranks->count, sizeof(*ranks->items))) {
        nvt_fail_at(err, from->trace->path, -1, "out of memory");
        return NULL;
    }
    ranks->items[ranks->count] =
        (struct rank){.from = from, .process = NVT_NONE, .device = NVT_NONE};
    return &ranks->items[ranks->count++];
}

static int add_devices(struct ranks *ranks, const struct nvt_input_trace *from, uint32_t iterations,
                       struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, from->trace, err);
    for (uint32_t i = 0; i < devices.count && !status && ranks->count < RANKS_MAX; i++) {
        struct rank *rank = add_rank(ranks, from, err);
        /* Every process enters its own iterations. */
        double units = (double)iterations / (from->trace->processes.count > 1 ? devices.count : 1);
        status = rank ? 0 : -1;
        if (!rank)
            break;
        rank->process = devices.items[i].process;
        rank->device = devices.items[i].device;
        rank->has_iterations = iterations > 0;
        rank->units = units >= 1 ? units : 1;
        measure_ranks(rank, &devices.items[i]);
    }
    nvt_used_devices_free(&devices);
    return status;
}

/* The time in calls, of each part of the time between the first and the last. */
static void measure_parts(struct rank *rank, const struct nvt_mpi_process *process)
{
    const struct nvt_trace *trace = rank->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const double part = rank->span_ns / PARTS;
    int64_t until = INT64_MIN;
    for (uint32_t i = 0; i < calls->count && part > 0; i++) {
        if (trace->threads.process[calls->thread[i]] != rank->process || nvt_mpi_is_edge(trace, i))
            continue;
        const int64_t covered = nvt_cover(&until, calls->start[i], calls->end[i]);
        const double end = (double)(calls->end[i] - process->first), start = end - (double)covered;
        for (int k = (int)fmax(start / part, 0); covered && k < PARTS && k * part < end; k++)
            rank->parts[k] += fmin(end, (k + 1) * part) - fmax(start, k * part);
    }
}

/* What they do outside of MPI is their own work. */
static int add_processes(struct ranks *ranks, const struct nvt_input_trace *from,
                         uint32_t iterations, struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct nvt_mpi_process *processes = nvt_mpi_processes(trace);
    double units = (double)iterations / (trace->processes.count ? trace->processes.count : 1);
    int status = processes ? 0 : nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < trace->processes.count && !status && ranks->count < RANKS_MAX; i++) {
        struct rank *rank = processes[i].calls ? add_rank(ranks, from, err) : NULL;
        if (!rank) {
            status = processes[i].calls ? -1 : 0;
            continue;
        }
        rank->process = i;
        rank->has_iterations = iterations > 0;
        rank->units = units >= 1 ? units : 1;
        rank->span_ns = (double)(processes[i].last - processes[i].first);
        rank->communication_ns = (double)processes[i].in_mpi;
        rank->compute_ns = rank->span_ns - rank->communication_ns;
        measure_parts(rank, &processes[i]);
    }
    free(processes);
    return status;
}

static int communicates(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (nvt_is_communication(trace, i))
            return 1;
    return 0;
}

static int add_ranks_trace(struct ranks *ranks, const struct nvt_input_trace *from,
                           struct nvt_error *err)
{
    uint32_t iterations = 0;
    uint32_t *rows = nvt_iterations(from->trace, &iterations);
    if (!rows)
        return nvt_fail_at(err, from->trace->path, -1, "out of memory");
    free(rows);
    return from->trace->mpi_calls.count && !communicates(from->trace)
               ? add_processes(ranks, from, iterations, err)
               : add_devices(ranks, from, iterations, err);
}

static void name_rank(const struct nvt_input_trace *from, uint32_t process, uint32_t device,
                      char *out, size_t size)
{
    const struct nvt_trace *trace = from->trace;
    uint32_t number = nvt_input_rank(from, process);
    if (number != NVT_NONE)
        snprintf(out, size, "rank %u", number);
    else if (device == NVT_NONE)
        snprintf(out, size, "process %lld", (long long)trace->processes.pid[process]);
    else
        snprintf(
            out, size, "device %u of process %lld", device,
            (long long)(process < trace->processes.count ? trace->processes.pid[process] : -1));
}

/* --- by what they do in all --- */

/* The one that communicates least, and medians of the others. */
struct uneven {
    const struct ranks *ranks;
    const struct rank *slow;
    double communication, compute;
};

/* Medians over all ranks but the slow one. 0, or -1 when out of memory. */
static int find_medians(struct uneven *uneven)
{
    const struct ranks *ranks = uneven->ranks;
    double *values = malloc((2 * ranks->count + 1) * sizeof(*values));
    size_t count = 0;
    if (!values)
        return -1;
    double *const compute = values + ranks->count;
    for (size_t i = 0; i < ranks->count; i++) {
        if (&ranks->items[i] == uneven->slow)
            continue;
        values[count] = ranks->items[i].communication_ns;
        compute[count++] = ranks->items[i].compute_ns;
    }
    uneven->communication = nvt_sample_median(values, count);
    uneven->compute = nvt_sample_median(compute, count);
    free(values);
    return 0;
}

/* Whether the others wait for the slow process for longer than for it to wait for them by turns, as on a busy machine. 1 or 0, or
 * -1 when out of memory. */
static int is_one_sided(const struct uneven *uneven)
{
    const struct ranks *ranks = uneven->ranks;
    double *values = malloc((ranks->count + 1) * sizeof(*values));
    double theirs = 0, own = 0;
    for (int k = 0; values && k < PARTS; k++) {
        size_t count = 0;
        for (size_t i = 0; i < ranks->count; i++)
            if (&ranks->items[i] != uneven->slow)
                values[count++] = ranks->items[i].parts[k];
        const double longer = nvt_sample_median(values, count) - uneven->slow->parts[k];
        theirs += fmax(longer, 0);
        own += fmax(-longer, 0);
    }
    const int failed = !values;
    free(values);
    return failed ? -1 : theirs >= NVT_LATE_TIMES * own;
}

/* The rank that communicates least. NULL: not all communicate. */
static const struct rank *find_slow(const struct ranks *ranks)
{
    const struct rank *slow = NULL;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        if (!(rank->communication_ns > 0))
            return NULL;
        slow = !slow || rank->communication_ns < slow->communication_ns ? rank : slow;
    }
    return slow;
}

static int tell_uneven(const struct nvt_rule *rule, const struct uneven *uneven, double waits,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    const struct rank *slow = uneven->slow;
    const double longer = slow->compute_ns - uneven->compute;
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    const size_t others = uneven->ranks->count - 1;
    char name[96];
    nvt_case_name(slow->from, finding.where, sizeof(finding.where));
    name_rank(slow->from, slow->process, slow->device, name, sizeof(name));
    finding.trace = slow->from->trace;
    finding.process = slow->process;
    finding.cost_ns = fmin(waits, longer) / slow->units;
    finding.whole_ns = slow->span_ns / slow->units;
    if (!slow->has_iterations)
        finding.per = "in the trace";
    snprintf(finding.what, sizeof(finding.what),
             "%s is slower than the other %zu, which wait%s for it", name, others,
             others == 1 ? "s" : "");
    nvt_finding_append(&finding, "its own work takes %s, that of the others %s (median, +%.1f %%)",
                       NVT_TIME(slow->compute_ns), NVT_TIME(uneven->compute),
                       100 * longer / uneven->compute);
    nvt_finding_point_longest(&finding, &slow->kernels);
    nvt_finding_append(&finding, "; it is in communication for %s, the others for %s%s",
                       NVT_TIME(slow->communication_ns), NVT_TIME(uneven->communication),
                       finding.moment_count ? "; the moments are its longest kernels" : "");
    return nvt_findings_add(findings, &finding, err);
}

/* Of ranks of MPI, what the slow one does while the others wait is told (rule `late`), where that is known. */
static int judge_uneven(const struct nvt_rule *rule, const struct ranks *ranks,
                        const struct nvt_late_jobs *late, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    struct uneven uneven = {.ranks = ranks, .slow = find_slow(ranks)};
    const struct rank *slow = uneven.slow;
    if (!slow || ranks->count < 2)
        return 0;
    if (find_medians(&uneven))
        return nvt_fail(err, "out of memory");
    const double least = LEAST_SHARE * slow->span_ns;
    const double waits = uneven.communication - slow->communication_ns;
    if (waits < least || slow->compute_ns - uneven.compute < least)
        return 0;
    if (slow->device == NVT_NONE && nvt_late_jobs_tell(late, slow->from->trace, slow->process))
        return 0;
    const int one_sided = slow->device == NVT_NONE ? is_one_sided(&uneven) : 1;
    if (one_sided <= 0)
        return one_sided ? nvt_fail(err, "out of memory") : 0;
    return tell_uneven(rule, &uneven, waits, findings, err);
}

/* --- by the collectives of devices --- */

/* Iterations of a rank, 1 without any. */
static double units_of(const struct nvt_rank *rank)
{
    return rank->iterations ? rank->iterations : 1;
}

static void tell_what(const struct nvt_stragglers *all, const struct nvt_straggler *item,
                      const char *name, struct nvt_finding *finding)
{
    static const struct {
        const char *late, *remedy;
    } causes[NVT_LATE_CAUSES] = {
        [NVT_LATE_HOST] = {"the host of %s launches late",
                           "look at what its host does in these gaps: data loading, logging, "
                           "garbage collection, other processes on its cores (diagnose its trace "
                           "alone; record --trace osrt,cpu)"},
        [NVT_LATE_LOADING] =
            {"%s waits for its batches",
             "give its DataLoader as many workers, free cores and as fast a disk as "
             "the others have, and prefetch_factor batches ahead"},
        [NVT_LATE_GARBAGE] =
            {"%s collects garbage",
             "gc.freeze() after the setup; gc.disable(), and gc.collect() on all ranks in the same "
             "iteration"},
        [NVT_LATE_CLOCK] = {"the clock of %s is lower",
                            "look at what throttles it (diagnose its trace alone, record --trace "
                            "machine): power limit, heat, a setting; or leave out that GPU"},
        [NVT_LATE_OUTSIDE] =
            {"%s comes late to collectives",
             "record with --trace nccl,kernel,nvtx what its GPU and its host do meanwhile"},
        [NVT_LATE_TRANSFER] = {"%s is held up by longer collectives of another group",
                               "look at the interconnect of that group, or balance what its ranks "
                               "exchange"}};
    const char *late = causes[item->cause].late;
    char what[160];
    if (item->kind != NVT_NONE) {
        char group[160];
        snprintf(finding->what, sizeof(finding->what),
                 "collectives of group %.100s take longer than those of groups alike, and %u "
                 "other rank%s wait%s for its ranks",
                 nvt_rank_group_text(&all->ranks, all->pairs.kinds[item->kind].group, group,
                                     sizeof(group)),
                 item->waiting, item->waiting == 1 ? "" : "s", item->waiting == 1 ? "s" : "");
        snprintf(finding->remedy, sizeof(finding->remedy), "%s", causes[item->cause].remedy);
        return;
    }
    if (!late) {
        snprintf(finding->what, sizeof(finding->what),
                 "%s is slower than the other %u, which wait%s for it", name, item->waiting,
                 item->waiting == 1 ? "s" : "");
        return;
    }
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table above */
    snprintf(what, sizeof(what), late, name);
    snprintf(finding->what, sizeof(finding->what), "%s, and the other %u rank%s wait%s for it",
             what, item->waiting, item->waiting == 1 ? "" : "s", item->waiting == 1 ? "s" : "");
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", causes[item->cause].remedy);
}

static void tell_evidence(const struct nvt_stragglers *all, const struct nvt_straggler *item,
                          struct nvt_finding *finding)
{
    const struct nvt_rank *rank = &all->ranks.items[item->rank];
    const double compute = all->shares[item->rank].compute, idle = all->shares[item->rank].idle;
    if (item->cause == NVT_LATE_CLOCK)
        nvt_finding_append(finding,
                           "%.0f MHz while it works, that of the others %.0f MHz (median); ",
                           rank->clock, item->clock);
    if (item->cause == NVT_LATE_KERNELS || item->cause == NVT_LATE_WORK ||
        item->cause == NVT_LATE_CLOCK)
        nvt_finding_append(finding,
                           "its own work takes %s, that of the others %s (median, %+.1f %%)%s",
                           NVT_TIME(compute), NVT_TIME(item->compute_ns),
                           100 * (compute - item->compute_ns) / item->compute_ns,
                           item->cause == NVT_LATE_WORK ? ", as it runs more kernels" : "");
    else if (item->kind != NVT_NONE)
        nvt_finding_append(
            finding,
            "one of %.80s takes %s there, elsewhere %s (means of the shortest kernel "
            "of each); it holds up %u of its ranks",
            nvt_strings_get(all->ranks.names, all->pairs.kinds[item->kind].name, NULL),
            NVT_TIME(item->transfer_ns), NVT_TIME(item->others_ns), item->alike + 1);
    else if (item->cause == NVT_LATE_OUTSIDE)
        nvt_finding_append(finding,
                           "it is outside of collectives for %s, the others for %s (median); what "
                           "it does there was not recorded",
                           NVT_TIME(compute), NVT_TIME(item->compute_ns));
    else if (item->cause == NVT_LATE_TRANSFER)
        nvt_finding_append(finding, "it computes for %s, the others for %s", NVT_TIME(compute),
                           NVT_TIME(item->compute_ns));
    else
        nvt_finding_append(finding, "its GPU is idle for %s, the others' for %s (median)",
                           NVT_TIME(idle), NVT_TIME(item->idle_ns));
    nvt_finding_append(
        finding,
        "; %s comes last in %u of %u collectives; each of the others waits %s for it, "
        "and %s in all, it %s",
        item->kind != NVT_NONE ? "one of these" : "it", item->last, all->blame.met[item->rank],
        NVT_TIME(item->caused_ns), NVT_TIME(item->waited_ns),
        NVT_TIME(all->blame.waited[item->rank]));
    if (item->through_ns >= 0.05)
        nvt_finding_append(
            finding, "; %.0f %% of the waits for it are for ranks that it held up in another group",
            100 * item->through_ns);
    if (item->moments.ns[0] > 0)
        nvt_finding_append(finding, "; it is late at the moments");
}

static int tell_straggler(const struct nvt_rule *rule, const struct nvt_stragglers *all,
                          const struct nvt_straggler *item, struct nvt_findings *findings,
                          struct nvt_error *err)
{
    const struct nvt_rank *rank = &all->ranks.items[item->rank];
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    const double units = units_of(rank), met = units * all->shares[item->rank].part;
    char name[96];
    nvt_case_name(rank->from, finding.where, sizeof(finding.where));
    name_rank(rank->from, rank->process, rank->device, name, sizeof(name));
    finding.trace = rank->from->trace;
    finding.process = rank->process;
    finding.cost_ns = fmin(item->caused_ns, item->excess_ns) / met;
    finding.whole_ns = (double)rank->span / units;
    if (!rank->iterations)
        finding.per = "in the trace";
    tell_what(all, item, name, &finding);
    tell_evidence(all, item, &finding);
    nvt_finding_point_longest(&finding, &item->moments);
    return nvt_findings_add(findings, &finding, err);
}

static int tell_stragglers(const struct nvt_rule *rule, const struct nvt_stragglers *all,
                           struct nvt_findings *findings, struct nvt_error *err)
{
    int status = 0;
    char name[96];
    if (all->count) {
        const struct nvt_rank *first = &all->ranks.items[all->items[0].rank];
        name_rank(first->from, first->process, first->device, name, sizeof(name));
    }
    nvt_rank_waits_explain(all, nvt_rule_communication.cause, all->count ? name : NULL, findings);
    for (uint32_t i = 0; i < all->count && i < MOST && !status; i++)
        status = tell_straggler(rule, all, &all->items[i], findings, err);
    return status;
}

/* --- the rule --- */

/* The ranks of a run. */
static int compare_run(const struct nvt_rule *rule, const struct nvt_input *input,
                       const size_t *numbers, size_t run, const struct nvt_late_jobs *late,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_stragglers stragglers = {0};
    struct ranks ranks = {0};
    int status = nvt_stragglers_make(&stragglers, input, numbers, run, err);
    if (!status && nvt_stragglers_has_devices(&stragglers)) {
        status = tell_stragglers(rule, &stragglers, findings, err);
    } else {
        for (size_t i = 0; i < input->trace_count && !status; i++)
            if (numbers[i] == run &&
                (input->traces[i].trace->ops.count || input->traces[i].trace->mpi_calls.count))
                status = add_ranks_trace(&ranks, &input->traces[i], err);
        if (!status)
            status = judge_uneven(rule, &ranks, late, findings, err);
    }
    nvt_stragglers_free(&stragglers);
    free(ranks.items);
    return status;
}

/* Files of the ranks of a run belong together; in any other file, its devices do. */
static int compare_ranks(const struct nvt_rule *rule, const struct nvt_case *facts,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_input *input = facts->input;
    size_t runs, *numbers = nvt_rank_run_numbers(input, &runs);
    struct nvt_late_jobs late = {0};
    int status = numbers ? nvt_late_jobs_make(&late, input, err) : nvt_fail(err, "out of memory");
    for (size_t run = 0; run < runs && !status; run++)
        status = compare_run(rule, input, numbers, run, &late, findings, err);
    nvt_late_jobs_free(&late);
    free(numbers);
    return status;
}

const struct nvt_rule nvt_rule_ranks = {
    .cause = "straggler",
    .about = "a rank or device that the others wait for in their communication",
    .means = "All ranks meet in each collective, so the slowest one sets the pace. The others "
             "spend the difference in communication, which looks like a slow network.",
    .found =
        "The rank that comes last to a collective of its group is compared with those that "
        "wait for it, since the collective before: it computed longer, its device had nothing "
        "to run, or it waited in another group. A lower clock (samples of the machine) is the "
        "cause where it explains half of what its kernels take longer; garbage collection (CPU "
        "samples) where it is half of the time in which its device has nothing to run. A wait "
        "in another group is followed to the "
        "rank that caused it. Of collectives that NCCL alone reported, it is the rank that is "
        "outside of them for longer. Of MPI calls and peer copies, it is the rank that is in "
        "communication the least and computes longer.",
    .threshold =
        "other ranks wait for it at least 5 % of the time on average, and 5 points more than it "
        "waits itself (median): one of the two alone may be different work by design, or ranks "
        "that take turns being late. Nothing is reported where groups are unknown and ranks do not "
        "leave their collectives together. Without collectives on the device, for MPI and "
        "torch.distributed calls: the rank computes 5 % longer, the others communicate 5 % longer, "
        "and they wait for it four times as long as it waits for them. Not where late rank says "
        "what it does meanwhile",
    .remedy = "rebalance its work (shorter sequences, fewer layers), or check its clocks, host and "
              "interconnect",
    .helped =
        "Bucketing samples by length, so that all ranks get as much; the same number of DataLoader "
        "workers and free cores on each host; swapping the GPU or host to see whether the lateness "
        "moves with it; checking its clock (slow clock) and its NUMA binding.",
    .confused = "Late rank names the range, where MPI calls were recorded. Exposed communication: "
                "all ranks communicate as long. Stages of a pipeline do different work by design; "
                "if their times differ on purpose, the finding is correct but not actionable.",
    .show = "stats -r stragglers",
    .confidence = NVT_LIKELY,
    .compare = compare_ranks,
};
