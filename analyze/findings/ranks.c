/* stragglers: a rank whose own work takes longer, so that the others wait for it in communication. Of programs that do not
 * communicate on devices, in MPI: a rank is a process then.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/sample.h"
#include "../device/communication.h"
#include "../device/devices.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../diagnosis/late_ranks.h"

#define LEAST_SHARE 0.05
#define RANKS_MAX   4096

/* One device of one process, or (device NVT_NONE) a process that calls MPI. */
struct rank {
    const struct nvt_input_trace *from;
    uint32_t process, device;
    double communication_ns, compute_ns, span_ns; /* in all */
    double units;
    int64_t longest[3]; /* starts of its longest kernels */
    int64_t longest_ns[3];
};

struct ranks {
    struct rank *items;
    size_t count;
};

static void keep_longest(struct rank *rank, int64_t start, int64_t ns)
{
    size_t at = 3;
    while (at > 0 && ns > rank->longest_ns[at - 1])
        at--;
    for (size_t i = 2; at < 3 && i > at; i--) {
        rank->longest[i] = rank->longest[i - 1];
        rank->longest_ns[i] = rank->longest_ns[i - 1];
    }
    if (at < 3) {
        rank->longest[at] = start;
        rank->longest_ns[at] = ns;
    }
}

static void measure(struct rank *rank, const struct nvt_used_device *device)
{
    const struct nvt_trace *trace = rank->from->trace;
    const struct nvt_ops *ops = &trace->ops;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        int64_t ns = ops->end[op] - ops->start[op];
        first = ops->start[op] < first ? ops->start[op] : first;
        last = ops->end[op] > last ? ops->end[op] : last;
        if (nvt_is_communication(trace, op))
            rank->communication_ns += (double)ns;
        else {
            rank->compute_ns += (double)ns;
            keep_longest(rank, ops->start[op], ns);
        }
    }
    rank->span_ns = device->count ? (double)(last - first) : 0;
}

/* NULL when there is no room, or out of memory (with err). */
static struct rank *add_rank(struct ranks *ranks, const struct nvt_input_trace *from,
                             struct nvt_error *err)
{
    struct rank *grown = realloc(ranks->items, (ranks->count + 1) * sizeof(*grown));
    if (!grown) {
        nvt_fail_at(err, from->trace->path, -1, "out of memory");
        return NULL;
    }
    ranks->items = grown;
    grown[ranks->count] = (struct rank){.from = from, .process = NVT_NONE, .device = NVT_NONE};
    return &grown[ranks->count++];
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
        rank->units = units >= 1 ? units : 1;
        measure(rank, &devices.items[i]);
    }
    nvt_used_devices_free(&devices);
    return status;
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
        rank->units = units >= 1 ? units : 1;
        rank->span_ns = (double)(processes[i].last - processes[i].first);
        rank->communication_ns = (double)processes[i].in_mpi;
        rank->compute_ns = rank->span_ns - rank->communication_ns;
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

static int add_trace(struct ranks *ranks, const struct nvt_input_trace *from, struct nvt_error *err)
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

/* Medians over all ranks but one. */
static int others(const struct ranks *ranks, size_t but, double *communication, double *compute)
{
    double *values = malloc((2 * ranks->count + 1) * sizeof(*values));
    size_t count = 0;
    if (!values)
        return -1;
    for (size_t i = 0; i < ranks->count; i++)
        if (i != but) {
            values[count] = ranks->items[i].communication_ns;
            values[ranks->count + count++] = ranks->items[i].compute_ns;
        }
    nvt_sample_sort(values, count);
    nvt_sample_sort(values + ranks->count, count);
    *communication = nvt_sample_quantile(values, count, 0.5);
    *compute = nvt_sample_quantile(values + ranks->count, count, 0.5);
    free(values);
    return 0;
}

/* Of ranks of MPI, what the slow one does while the others wait is told (rule `late`), where that is known. */
static int judge(const struct nvt_rule *rule, const struct ranks *ranks,
                 const struct nvt_late_jobs *late, struct nvt_findings *findings,
                 struct nvt_error *err)
{
    size_t least = 0;
    double communication, compute;
    char name[96];
    for (size_t i = 0; i < ranks->count; i++) {
        if (!(ranks->items[i].communication_ns > 0))
            return 0;
        if (ranks->items[i].communication_ns < ranks->items[least].communication_ns)
            least = i;
    }
    const struct rank *slow = &ranks->items[least];
    if (others(ranks, least, &communication, &compute))
        return nvt_fail(err, "out of memory");
    double waits = communication - slow->communication_ns, longer = slow->compute_ns - compute;
    if (waits < LEAST_SHARE * slow->span_ns || longer < LEAST_SHARE * slow->span_ns)
        return 0;
    if (slow->device == NVT_NONE && nvt_late_jobs_tell(late, slow->from->trace, slow->process))
        return 0;
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    nvt_case_name(slow->from, finding.where, sizeof(finding.where));
    name_rank(slow, name, sizeof(name));
    finding.trace = slow->from->trace;
    finding.cost_ns = (waits < longer ? waits : longer) / slow->units;
    snprintf(finding.what, sizeof(finding.what),
             "%s is slower than the other %zu, which wait for it", name, ranks->count - 1);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "its own work takes %s, that of the others %s (median, +%.1f %%); it is in "
             "communication for %s, the others for %s%s",
             NVT_TIME(slow->compute_ns), NVT_TIME(compute), 100 * longer / compute,
             NVT_TIME(slow->communication_ns), NVT_TIME(communication),
             slow->longest_ns[0] ? "; the moments are its longest kernels" : "");
    for (size_t i = 0; i < 3 && slow->longest_ns[i]; i++)
        nvt_finding_point(&finding, slow->longest[i]);
    return nvt_findings_add(findings, &finding, err);
}

/* Files of the ranks of a run belong together; in any other file, its devices do. */
static int compare(const struct nvt_rule *rule, const struct nvt_case *facts,
                   struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_report_input *input = facts->input;
    size_t runs, *numbers = nvt_input_run_numbers(input, &runs);
    struct nvt_late_jobs late = {0};
    int status = numbers ? nvt_late_jobs_make(&late, input, err) : nvt_fail(err, "out of memory");
    for (size_t run = 0; run < runs && !status; run++) {
        struct ranks ranks = {0};
        for (size_t i = 0; i < input->trace_count && !status; i++)
            if (numbers[i] == run &&
                (input->traces[i].trace->ops.count || input->traces[i].trace->mpi_calls.count))
                status = add_trace(&ranks, &input->traces[i], err);
        if (!status && ranks.count > 1)
            status = judge(rule, &ranks, &late, findings, err);
        free(ranks.items);
    }
    nvt_late_jobs_free(&late);
    free(numbers);
    return status;
}

const struct nvt_rule nvt_rule_ranks = {
    .cause = "straggler",
    .about = "a rank or device that the others wait for in their communication",
    .threshold =
        "the rank with the least time in communication (NCCL, peer copies; without them MPI) "
        "computes longer than "
        "the others' median, and they communicate longer than it does, each by 5 % of its time: "
        "either alone may be different work by design, both together are waiting. Not where late "
        "rank tells what it does meanwhile",
    .remedy = "give it less work (shorter sequences, fewer layers), or look at its clocks, its "
              "host and its link",
    .confidence = NVT_LIKELY,
    .compare = compare,
};
