#include "straggler_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../device/communication.h"
#include "../device/devices.h"
#include "../input/ranks.h"
#include "../model/cover.h"
#include "../model/mpi.h"
#include "mpi_ranks.h"

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
static void measure_device(struct nvt_rank *rank, const struct nvt_used_device *device)
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
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is one of those that were added */
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
    if (nvt_grow(&all->items, all->count, sizeof(*all->items)))
        return NULL;
    all->items[all->count] = (struct nvt_rank){.trace = from->trace,
                                               .process = process,
                                               .device = device,
                                               .number = number_of(from, process)};
    return &all->items[all->count++];
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
            measure_device(rank, device);
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

/* A process of MPI: its rank (NVT_NONE: it calls none), and the communicator of its collectives that are looked at. */
struct user {
    uint32_t rank;
    uint32_t ranks; /* of a group that is known by name, 0: it is none */
    int has_communicator;
    uint64_t communicator;
};

/* Processes that call MPI, each with its user. 0, or -1 when out of memory. */
static int add_users(struct nvt_ranks *all, const struct nvt_mpi_file *file, struct user *users)
{
    const struct nvt_trace *trace = file->from->trace;
    struct nvt_mpi_process *processes = nvt_mpi_processes(trace);
    int failed = !processes;
    for (uint32_t i = 0; i < trace->processes.count && !failed; i++) {
        users[i] = (struct user){.rank = NVT_NONE};
        if (processes[i].first > processes[i].last)
            continue;
        struct nvt_rank *rank = add_rank(all, file->from, i, NVT_NONE);
        failed = !rank;
        if (!rank)
            break;
        users[i].rank = all->count - 1;
        rank->span = processes[i].last - processes[i].first;
        rank->compute = rank->span - processes[i].in_mpi;
    }
    free(processes);
    return failed ? -1 : 0;
}

/* How long a call took that was cut off nobody knows. */
static int is_part(const struct nvt_trace *trace, uint32_t call)
{
    return nvt_mpi_waits_for_all(trace, call) &&
           !(trace->mpi_calls.flags[call] & NVT_RANGE_PARTIAL);
}

/*
 * The one that each process uses first. Where a rank makes one of some of the ranks, calls of any kind tell that, as in mpi_ranks.h:
 * a first collective may be on a part. Else all have the same ranks, and it is that of the first collective: of a program that
 * copies MPI_COMM_WORLD and works on the copy these are. Of groups that are known by name, it is the largest.
 */
static void choose_communicators(const struct nvt_mpi_job *job, const struct nvt_mpi_file *file,
                                 struct user *users)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        struct user *user = &users[trace->threads.process[calls->thread[i]]];
        if (calls->ranks[i] > user->ranks && is_part(trace, i)) {
            *user = (struct user){user->rank, calls->ranks[i], 1, calls->communicator[i]};
            continue;
        }
        if (user->has_communicator || calls->ranks[i] ||
            !(job->has_parts ? nvt_mpi_has_communicator(file, i) : is_part(trace, i)))
            continue;
        user->communicator = calls->communicator[i];
        user->has_communicator = 1;
    }
}

/*
 * Processes with their calls of MPI. Those on other communicators are left out: handles say nothing of who takes part, and in the
 * n-th call on a part of the ranks others may wait than in the n-th of another.
 */
static int add_processes(struct nvt_ranks *all, const struct nvt_mpi_job *job,
                         const struct nvt_mpi_file *file)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    struct user *users = malloc(((size_t)trace->processes.count + 1) * sizeof(*users));
    int failed = !users || add_users(all, file, users);
    if (!failed)
        choose_communicators(job, file, users);
    for (uint32_t i = 0; i < calls->count && !failed; i++) {
        const struct user *user = &users[trace->threads.process[calls->thread[i]]];
        if (user->rank == NVT_NONE || !is_part(trace, i))
            continue;
        if (calls->communicator[i] != user->communicator)
            all->left_out++;
        else
            failed =
                add_part(&all->items[user->rank], calls->name[i], calls->start[i], calls->end[i]);
    }
    free(users);
    return failed ? -1 : 0;
}

/* The processes of all traces, as of one job. 0, or -1 with err. */
static int add_job(struct nvt_ranks *all, const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_mpi_job job = {0};
    size_t *numbers = calloc(input->trace_count + 1, sizeof(*numbers));
    int status =
        numbers ? nvt_mpi_job_make(&job, input, numbers, 0, err) : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < job.file_count && !status; i++)
        if (add_processes(all, &job, &job.files[i]))
            status = nvt_fail_at(err, job.files[i].from->trace->path, -1, "out of memory");
    nvt_mpi_job_free(&job);
    free(numbers);
    return status;
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

int nvt_ranks_find(struct nvt_ranks *all, const struct nvt_input *input, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (add_devices(all, &input->traces[i], err))
            return -1;
    if (has_parts(all) || !nvt_input_has_mpi(input))
        return 0;
    nvt_ranks_free(all);
    return add_job(all, input, err);
}
