/*
 * stragglers: a rank that the others wait for in communication, because its own work takes longer, or because its host
 * launches that late. Of programs that do not communicate on devices, in MPI: a rank is a process then.
 *
 * Ranks are compared within the group that most of their communication is in. Where more ranks name a group than it has, who
 * is in it is not known, and nobody is blamed.
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
#include "../diagnosis/late_ranks.h"

#define LEAST_SHARE 0.05
#define RANKS_MAX   4096
#define PARTS       64

/* One device of one process, or (device NVT_NONE) a process that calls MPI. */
struct rank {
    const struct nvt_input_trace *from;
    uint32_t process, device;
    double communication_ns, compute_ns, span_ns; /* in all */
    double idle_ns;                               /* its device runs nothing */
    double units;                                 /* iterations, 1 without any */
    int has_iterations;
    struct nvt_longest kernels, gaps;
    int64_t *collectives; /* how long each took, in their order; owned, NULL: processes of MPI */
    size_t collective_count;
    const char *group;   /* that most of its communication is in; "": not recorded */
    uint32_t size;       /* ranks of that, 0: not recorded */
    double parts[PARTS]; /* communication_ns in equal parts of a process's time */
};

struct ranks {
    struct rank *items;
    size_t count;
};

static void free_ranks(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        free(ranks->items[i].collectives);
    free(ranks->items);
}

/* The group with most of the time in communication; `ns` by its name. */
static void find_group(struct rank *rank, const double *ns)
{
    const struct nvt_trace *trace = rank->from->trace;
    const struct nvt_collectives *collectives = &trace->collectives;
    double most = 0;
    rank->group = "";
    for (uint32_t i = 0; i < collectives->count; i++) {
        const uint32_t group = collectives->group[i];
        if (ns[group] <= most)
            continue;
        most = ns[group];
        rank->group = nvt_name(trace, group);
        rank->size = collectives->ranks[i];
    }
}

static void add_collective(struct rank *rank, uint32_t op, double *of_groups)
{
    const struct nvt_trace *trace = rank->from->trace;
    int64_t ns = trace->ops.end[op] - trace->ops.start[op];
    uint32_t detail = trace->ops.detail[op];
    uint32_t row = trace->ops.kind[op] == NVT_OP_KERNEL && detail != NVT_NONE
                       ? trace->kernels.collective[detail]
                       : 0;
    rank->communication_ns += (double)ns;
    rank->collectives[rank->collective_count++] = ns;
    if (row)
        of_groups[trace->collectives.group[row - 1]] += (double)ns;
}

/* 0, or -1 when out of memory. */
static int measure_ranks(struct rank *rank, const struct nvt_used_device *device)
{
    const struct nvt_trace *trace = rank->from->trace;
    const struct nvt_ops *ops = &trace->ops;
    double *of_groups = calloc((size_t)nvt_strings_count(trace->strings) + 1, sizeof(double));
    int64_t until = device->count ? ops->start[device->ops[0]] : 0;
    int64_t first = until;
    rank->collectives = malloc(((size_t)device->count + 1) * sizeof(*rank->collectives));
    if (!rank->collectives || !of_groups) {
        free(of_groups);
        return -1;
    }
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        double ns = (double)(ops->end[op] - ops->start[op]);
        if (ops->start[op] > until) {
            rank->idle_ns += (double)(ops->start[op] - until);
            nvt_longest_add(&rank->gaps, until, (double)(ops->start[op] - until));
        }
        until = ops->end[op] > until ? ops->end[op] : until;
        if (nvt_is_communication(trace, op)) {
            add_collective(rank, op, of_groups);
        } else {
            rank->compute_ns += ns;
            nvt_longest_add(&rank->kernels, ops->start[op], ns);
        }
    }
    rank->span_ns = (double)(until - first);
    find_group(rank, of_groups);
    free(of_groups);
    return 0;
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
        (struct rank){.from = from, .process = NVT_NONE, .device = NVT_NONE, .group = ""};
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
        if (measure_ranks(rank, &devices.items[i]))
            status = nvt_fail_at(err, from->trace->path, -1, "out of memory");
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

static void name_rank(const struct rank *rank, char *out, size_t size)
{
    const struct nvt_trace *trace = rank->from->trace;
    uint32_t number = nvt_input_rank(rank->from, rank->process);
    if (number != NVT_NONE)
        snprintf(out, size, "rank %u", number);
    else if (rank->device == NVT_NONE)
        snprintf(out, size, "process %lld", (long long)trace->processes.pid[rank->process]);
    else
        snprintf(out, size, "device %u of process %lld", rank->device,
                 (long long)(rank->process < trace->processes.count
                                 ? trace->processes.pid[rank->process]
                                 : -1));
}

/* What the ranks of a group are judged by: those that wait for the others least. */
struct group {
    const struct ranks *ranks;
    const struct rank *slow;
    size_t count;                        /* ranks in it */
    double communication, compute, idle; /* medians of the others */
    uint64_t last, collectives; /* how often `slow` comes last, of how many; 0: not known */
};

static int is_in_group(const struct rank *rank, const struct rank *of)
{
    return !strcmp(rank->group, of->group);
}

/* Medians over all ranks of a group but the slow one. 0, or -1 when out of memory. */
static int find_medians(struct group *group)
{
    const struct ranks *ranks = group->ranks;
    double *values = malloc((3 * ranks->count + 1) * sizeof(*values));
    size_t count = 0;
    if (!values)
        return -1;
    double *const compute = values + ranks->count, *const idle = values + 2 * ranks->count;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        if (rank == group->slow || !is_in_group(rank, group->slow))
            continue;
        values[count] = rank->communication_ns;
        compute[count] = rank->compute_ns;
        idle[count++] = rank->idle_ns;
    }
    nvt_sample_sort(values, count);
    nvt_sample_sort(compute, count);
    nvt_sample_sort(idle, count);
    group->communication = nvt_sample_quantile(values, count, 0.5);
    group->compute = nvt_sample_quantile(compute, count, 0.5);
    group->idle = nvt_sample_quantile(idle, count, 0.5);
    free(values);
    return 0;
}

/* Whether the others wait for the slow process for longer than for it to wait for them by turns, as on a busy machine. 1 or 0, or
 * -1 when out of memory. */
static int is_one_sided(const struct group *group)
{
    const struct ranks *ranks = group->ranks;
    double *values = malloc((ranks->count + 1) * sizeof(*values));
    double theirs = 0, own = 0;
    for (int k = 0; values && k < PARTS; k++) {
        size_t count = 0;
        for (size_t i = 0; i < ranks->count; i++)
            if (&ranks->items[i] != group->slow && is_in_group(&ranks->items[i], group->slow))
                values[count++] = ranks->items[i].parts[k];
        nvt_sample_sort(values, count);
        const double longer = nvt_sample_quantile(values, count, 0.5) - group->slow->parts[k];
        theirs += fmax(longer, 0);
        own += fmax(-longer, 0);
    }
    const int failed = !values;
    free(values);
    return failed ? -1 : theirs >= NVT_LATE_TIMES * own;
}

/* All leave a collective together, so who came last is in it for the shortest time. Known where all ranks have as many. */
static void count_last(struct group *group)
{
    const struct ranks *ranks = group->ranks;
    const struct rank *slow = group->slow;
    for (size_t i = 0; i < ranks->count; i++)
        if (is_in_group(&ranks->items[i], slow) &&
            ranks->items[i].collective_count != slow->collective_count)
            return;
    group->collectives = slow->collective_count;
    for (size_t k = 0; k < slow->collective_count; k++) {
        int is_last = 1;
        for (size_t i = 0; i < ranks->count && is_last; i++)
            is_last = &ranks->items[i] == slow || !is_in_group(&ranks->items[i], slow) ||
                      ranks->items[i].collectives[k] > slow->collectives[k];
        group->last += (uint64_t)is_last;
    }
}

/* The rank of a group, given by one of it, that communicates least. NULL: not all communicate, or who is in it is not known. */
static const struct rank *find_slow(struct group *group, const struct rank *of)
{
    const struct rank *slow = NULL;
    for (size_t i = 0; i < group->ranks->count; i++) {
        const struct rank *rank = &group->ranks->items[i];
        if (!is_in_group(rank, of))
            continue;
        if (!(rank->communication_ns > 0))
            return NULL;
        group->count++;
        slow = !slow || rank->communication_ns < slow->communication_ns ? rank : slow;
    }
    return of->size && group->count > of->size ? NULL : slow;
}

/* The rank that a finding is of, if it is one of the group that waits; NULL: none. */
static const struct rank *find_waiting(const struct group *group, const struct nvt_finding *finding)
{
    for (size_t i = 0; i < group->ranks->count; i++) {
        const struct rank *rank = &group->ranks->items[i];
        if (rank != group->slow && is_in_group(rank, group->slow) &&
            rank->from->trace == finding->trace &&
            (finding->process == NVT_NONE || finding->process == rank->process))
            return rank;
    }
    return NULL;
}

static void tell_work(const struct group *group, struct nvt_finding *finding)
{
    const struct rank *slow = group->slow;
    nvt_finding_append(finding, "its own work takes %s, that of the others %s (median, +%.1f %%)",
                       NVT_TIME(slow->compute_ns), NVT_TIME(group->compute),
                       100 * (slow->compute_ns - group->compute) / group->compute);
    nvt_finding_point_longest(finding, &slow->kernels);
}

static void tell_host(const struct group *group, struct nvt_finding *finding)
{
    const struct rank *slow = group->slow;
    nvt_finding_append(finding, "its GPU is idle for %s, the others' for %s (median)",
                       NVT_TIME(slow->idle_ns), NVT_TIME(group->idle));
    snprintf(finding->remedy, sizeof(finding->remedy),
             "look at what its host does in these gaps: data loading, logging, garbage collection, "
             "other processes on its cores (diagnose its trace alone; record --trace osrt,cpu)");
    nvt_finding_point_longest(finding, &slow->gaps);
}

static int tell_ranks(const struct nvt_rule *rule, const struct group *group, double waits,
                      struct nvt_findings *findings, struct nvt_error *err)
{
    const struct rank *slow = group->slow;
    const double longer = slow->compute_ns - group->compute, later = slow->idle_ns - group->idle;
    const int is_host = later > longer && slow->device != NVT_NONE;
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    const size_t others = group->count - 1;
    char name[96];
    nvt_case_name(slow->from, finding.where, sizeof(finding.where));
    name_rank(slow, name, sizeof(name));
    finding.trace = slow->from->trace;
    finding.process = slow->process;
    finding.cost_ns = fmin(waits, is_host ? later : longer) / slow->units;
    finding.whole_ns = slow->span_ns / slow->units;
    if (!slow->has_iterations)
        finding.per = "in the trace";
    if (is_host) {
        snprintf(finding.what, sizeof(finding.what),
                 "the host of %s launches late, and the other %zu rank%s wait%s for it", name,
                 others, others == 1 ? "" : "s", others == 1 ? "s" : "");
        tell_host(group, &finding);
    } else {
        snprintf(finding.what, sizeof(finding.what),
                 "%s is slower than the other %zu, which wait%s for it", name, others,
                 others == 1 ? "s" : "");
        tell_work(group, &finding);
    }
    if (group->collectives)
        nvt_finding_append(&finding, "; it comes last in %llu of %llu collectives",
                           (unsigned long long)group->last, (unsigned long long)group->collectives);
    nvt_finding_append(&finding, "; it is in communication for %s, the others for %s%s",
                       NVT_TIME(slow->communication_ns), NVT_TIME(group->communication),
                       !finding.moment_count ? ""
                       : is_host             ? "; the moments are its longest gaps"
                                             : "; the moments are its longest kernels");
    if (*slow->group && group->count < group->ranks->count)
        nvt_finding_append(&finding, "; in group %.40s", slow->group);
    return nvt_findings_add(findings, &finding, err);
}

/* Waiting for a straggler is no communication that could be overlapped: takes it off the findings of the ranks that wait, and
 * those away that are little else. */
static void explain_communication(const struct group *group, struct nvt_findings *findings)
{
    char name[96];
    size_t kept = 0;
    name_rank(group->slow, name, sizeof(name));
    for (size_t i = 0; i < findings->count; i++) {
        struct nvt_finding *finding = &findings->items[i];
        const struct rank *waits =
            finding->cause == nvt_rule_communication.cause ? find_waiting(group, finding) : NULL;
        double ns =
            waits ? fmax(waits->communication_ns - group->slow->communication_ns, 0) / waits->units
                  : 0;
        if (2 * ns > finding->cost_ns)
            continue;
        if (ns > 0) {
            finding->cost_ns -= ns;
            nvt_finding_append(finding, "; a further %s %s are waiting for %s", NVT_TIME(ns),
                               finding->per, name);
        }
        findings->items[kept++] = *finding;
    }
    findings->count = kept;
}

/* Of ranks of MPI, what the slow one does while the others wait is told (rule `late`), where that is known. */
static int judge_ranks(const struct nvt_rule *rule, const struct ranks *ranks,
                       const struct rank *of, const struct nvt_late_jobs *late,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct group group = {.ranks = ranks};
    group.slow = find_slow(&group, of);
    if (!group.slow || group.count < 2)
        return 0;
    if (find_medians(&group))
        return nvt_fail(err, "out of memory");
    const struct rank *slow = group.slow;
    const double least = LEAST_SHARE * slow->span_ns;
    const double waits = group.communication - slow->communication_ns;
    if (waits < least || (slow->compute_ns - group.compute < least &&
                          (slow->device == NVT_NONE || slow->idle_ns - group.idle < least)))
        return 0;
    if (slow->device == NVT_NONE && nvt_late_jobs_tell(late, slow->from->trace, slow->process))
        return 0;
    const int one_sided = slow->device == NVT_NONE ? is_one_sided(&group) : 1;
    if (one_sided <= 0)
        return one_sided ? nvt_fail(err, "out of memory") : 0;
    if (slow->device != NVT_NONE) {
        count_last(&group);
        explain_communication(&group, findings);
    }
    return tell_ranks(rule, &group, waits, findings, err);
}

/* Each group once: with its first rank. */
static int judge_groups(const struct nvt_rule *rule, const struct ranks *ranks,
                        const struct nvt_late_jobs *late, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < ranks->count && !status; i++) {
        size_t first = 0;
        while (!is_in_group(&ranks->items[first], &ranks->items[i]))
            first++;
        if (first == i)
            status = judge_ranks(rule, ranks, &ranks->items[i], late, findings, err);
    }
    return status;
}

/* Files of the ranks of a run belong together; in any other file, its devices do. */
static int compare_ranks(const struct nvt_rule *rule, const struct nvt_case *facts,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_input *input = facts->input;
    size_t runs, *numbers = nvt_input_run_numbers(input, &runs);
    struct nvt_late_jobs late = {0};
    int status = numbers ? nvt_late_jobs_make(&late, input, err) : nvt_fail(err, "out of memory");
    for (size_t run = 0; run < runs && !status; run++) {
        struct ranks ranks = {0};
        for (size_t i = 0; i < input->trace_count && !status; i++)
            if (numbers[i] == run &&
                (input->traces[i].trace->ops.count || input->traces[i].trace->mpi_calls.count))
                status = add_ranks_trace(&ranks, &input->traces[i], err);
        if (!status && ranks.count > 1)
            status = judge_groups(rule, &ranks, &late, findings, err);
        free_ranks(&ranks);
    }
    nvt_late_jobs_free(&late);
    free(numbers);
    return status;
}

const struct nvt_rule nvt_rule_ranks = {
    .cause = "straggler",
    .about = "a rank or device that the others wait for in their communication",
    .means = "All ranks meet in each collective, so the slowest one sets the pace. The others "
             "spend the difference in communication, which looks like a slow network.",
    .found = "The straggler is the rank that is in communication the least (NCCL, peer copies; "
             "without them MPI calls), if it also computes longer, or its device is idle for "
             "longer because its host launches late. Ranks are compared within the group that most "
             "of their communication is in. Where all ranks have as many collectives, the finding "
             "counts in how many it came last.",
    .threshold =
        "the rank with the least time in communication (NCCL, peer copies; without them "
        "MPI) computes longer than the others' median, or its device is idle for longer, "
        "and they communicate longer than it does, each by 5 % of its time: either alone "
        "may be different work by design, both together are waiting. Within the group "
        "that most of their communication is in, where that is recorded. Of processes that "
        "call MPI or torch.distributed, the others wait for it four times as long as it does "
        "for them by turns. Not where late rank says what it does meanwhile",
    .remedy = "rebalance its work (shorter sequences, fewer layers), or check its clocks, host and "
              "interconnect",
    .helped =
        "Bucketing samples by length, so that all ranks get as much; the same number of DataLoader "
        "workers and free cores on each host; swapping the GPU or host to see whether the lateness "
        "moves with it; checking its clock (slow clock) and its NUMA binding.",
    .confused = "Late rank names the range, where MPI calls were recorded. Exposed communication: "
                "all ranks communicate as long. Stages of a pipeline do different work by design; "
                "if their times differ on purpose, the finding is right and of no use.",
    .show = "stats -r stragglers",
    .confidence = NVT_LIKELY,
    .compare = compare_ranks,
};
