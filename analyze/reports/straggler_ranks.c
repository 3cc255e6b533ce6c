#include "straggler_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../device/communication.h"
#include "../device/devices.h"
#include "../input/ranks.h"
#include "../model/cover.h"
#include "../model/mpi.h"

static int is_collective(const struct nvt_trace *trace, uint32_t op)
{
    return trace->ops.kind[op] == NVT_OP_KERNEL && nvt_is_communication(trace, op) &&
           !strcasestr(nvt_name(trace, trace->ops.short_name[op]), "sendrecv");
}

static int64_t number_of(const struct nvt_input_trace *from, uint32_t process)
{
    const uint32_t rank = nvt_input_rank(from, process);
    return rank == NVT_NONE ? -1 : (int64_t)rank;
}

/* --- the ranks of a trace --- */

/* Time with at least one kernel that computes, and from the first operation to the last. */
static void measure(struct nvt_rank *rank, const struct nvt_used_device *device)
{
    const struct nvt_ops *ops = &rank->trace->ops;
    int64_t until = INT64_MIN, end = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        end = ops->end[op] > end ? ops->end[op] : end;
        if (ops->kind[op] != NVT_OP_KERNEL || nvt_is_communication(rank->trace, op))
            continue;
        rank->compute += nvt_cover(&until, ops->start[op], ops->end[op]);
    }
    rank->span = end - ops->start[device->ops[0]];
}

static int add_part(struct nvt_rank *rank, uint32_t name, int64_t start, int64_t end)
{
    if (nvt_grow(&rank->parts, rank->part_count, sizeof(*rank->parts)))
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made at 0, grown at powers of two */
    rank->parts[rank->part_count++] = (struct nvt_rank_part){name, start, end};
    return 0;
}

/* NULL when out of memory. */
static struct nvt_rank *add_rank(struct nvt_ranks *all, const struct nvt_input_trace *from,
                                 uint32_t process, uint32_t device)
{
    struct nvt_rank *ranks = realloc(all->items, ((size_t)all->count + 1) * sizeof(*ranks));
    if (!ranks)
        return NULL;
    all->items = ranks;
    ranks[all->count] = (struct nvt_rank){.trace = from->trace,
                                          .process = process,
                                          .device = device,
                                          .number = number_of(from, process)};
    return &ranks[all->count++];
}

/* Devices with their kernels. */
static int add_devices(struct nvt_ranks *all, const struct nvt_input_trace *from,
                       struct nvt_error *err)
{
    const struct nvt_ops *ops = &from->trace->ops;
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, from->trace, err);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        const struct nvt_used_device *device = &devices.items[i];
        struct nvt_rank *rank = add_rank(all, from, device->process, device->device);
        if (rank)
            measure(rank, device);
        for (uint32_t k = 0; rank && k < device->count && !status; k++)
            if (is_collective(from->trace, device->ops[k]))
                status = add_part(rank, ops->short_name[device->ops[k]], ops->start[device->ops[k]],
                                  ops->end[device->ops[k]]);
        if (!rank || status)
            status = nvt_fail_at(err, from->trace->path, -1, "out of memory");
    }
    nvt_used_devices_free(&devices);
    return status;
}

/*
 * Processes with their calls of MPI. Those on other communicators than the first that a process uses are left out: handles
 * say nothing of who takes part, and in the n-th call on a part of the ranks others may wait than in the n-th of another.
 */
static int add_processes(struct nvt_ranks *all, const struct nvt_input_trace *from)
{
    const struct nvt_trace *trace = from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    uint32_t first = all->count;
    struct nvt_mpi_process *processes = nvt_mpi_processes(trace);
    uint32_t *ranks = malloc(((size_t)trace->processes.count + 1) * sizeof(*ranks));
    uint64_t *used = malloc(((size_t)trace->processes.count + 1) * sizeof(*used));
    int failed = !processes || !ranks || !used;
    for (uint32_t i = 0; i < trace->processes.count && !failed; i++) {
        ranks[i] = NVT_NONE;
        if (processes[i].first > processes[i].last)
            continue;
        struct nvt_rank *rank = add_rank(all, from, i, NVT_NONE);
        failed = !rank;
        if (!rank)
            break;
        ranks[i] = first++;
        rank->span = processes[i].last - processes[i].first;
        rank->compute = rank->span - processes[i].in_mpi;
    }
    for (uint32_t i = 0; i < calls->count && !failed; i++) {
        uint32_t rank = ranks[trace->threads.process[calls->thread[i]]];
        /* How long a call took that was cut off nobody knows. */
        if (rank == NVT_NONE || !nvt_mpi_waits_for_all(trace, i) ||
            calls->flags[i] & NVT_RANGE_PARTIAL)
            continue;
        struct nvt_rank *item = &all->items[rank];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is one of those that were added */
        if (!item->part_count)
            used[item->process] = calls->communicator[i];
        if (calls->communicator[i] != used[item->process])
            all->left_out++;
        else
            failed = add_part(&all->items[rank], calls->name[i], calls->start[i], calls->end[i]);
    }
    free(processes);
    free(ranks);
    free(used);
    return failed ? -1 : 0;
}

void nvt_ranks_free(struct nvt_ranks *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        free(all->items[i].parts);
    free(all->items);
    all->items = NULL;
    all->count = 0;
}

static int has_parts(const struct nvt_ranks *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].part_count)
            return 1;
    return 0;
}

int nvt_ranks_find(struct nvt_ranks *all, const struct nvt_report_input *input,
                   struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (add_devices(all, &input->traces[i], err))
            return -1;
    if (has_parts(all) || !nvt_report_has_mpi(input))
        return 0;
    nvt_ranks_free(all);
    for (size_t i = 0; i < input->trace_count; i++)
        if (add_processes(all, &input->traces[i]))
            return nvt_fail_at(err, input->traces[i].trace->path, -1, "out of memory");
    return 0;
}
