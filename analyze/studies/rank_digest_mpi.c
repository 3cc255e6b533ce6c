/* Ranks of jobs that communicate by MPI calls and those of torch.distributed alone. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/mpi.h"
#include "mpi_ranks.h"
#include "rank_digest.h"
#include "../model/recorded_parts.h"

/* A process of MPI: its rank (NVT_NONE: it calls none), and the communicator that is taken for that of all. */
struct user {
    uint32_t rank;
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
        struct nvt_rank *rank = nvt_ranks_add(all, file->from, i, NVT_NONE);
        failed = !rank;
        if (!rank)
            break;
        users[i].rank = all->count - 1;
        rank->span = (int64_t)nvt_recorded_ns(trace, processes[i].first, processes[i].last);
        rank->compute = rank->span - processes[i].in_mpi;
        rank->communication = processes[i].in_mpi;
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
 * copies MPI_COMM_WORLD and works on the copy these are.
 */
static void choose_communicators(const struct nvt_mpi_job *job, const struct nvt_mpi_file *file,
                                 struct user *users)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        struct user *user = &users[trace->threads.process[calls->thread[i]]];
        if (user->has_communicator || calls->ranks[i] ||
            !(job->has_parts ? nvt_mpi_has_communicator(file, i) : is_part(trace, i)))
            continue;
        user->communicator = calls->communicator[i];
        user->has_communicator = 1;
    }
}

/* The group of a call: one that is known by name, else the communicator of all. NVT_NONE when out of memory. */
static uint32_t group_of(struct nvt_ranks *all, const struct nvt_trace *trace, uint32_t call)
{
    static const struct nvt_rank_group whole = {.flags = NVT_GROUP_CALLS};
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    char key[64];
    if (!calls->ranks[call])
        return nvt_ranks_group(all, "MPI", &whole);
    const struct nvt_rank_group group = {
        .name = nvt_strings_add_text(all->names, nvt_name(trace, calls->group[call])),
        .size = calls->ranks[call]};
    snprintf(key, sizeof(key), "group %" PRIx64 " %" PRIu32, calls->communicator[call],
             calls->ranks[call]);
    return group.name == NVT_NO_STRING ? NVT_NONE : nvt_ranks_group(all, key, &group);
}

static int add_call(struct nvt_ranks *all, struct nvt_rank *rank, const struct nvt_trace *trace,
                    uint32_t call)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const struct nvt_rank_part part = {
        .name = nvt_strings_add_text(all->names, nvt_name(trace, calls->name[call])),
        .group = group_of(all, trace, call),
        .sequence = calls->sequence_and_1[call] - 1,
        .bus_bytes = NAN,
        .start = calls->start[call],
        .end = calls->end[call]};
    return part.name == NVT_NO_STRING || part.group == NVT_NONE || nvt_rank_add_part(rank, &part);
}

/*
 * Processes with their MPI calls. Those on other communicators are left out, but for groups that are known by name: handles say
 * nothing of who takes part, and in the n-th call on a part of the ranks others may wait than in the n-th of another.
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
        if (!calls->ranks[i] && calls->communicator[i] != user->communicator)
            all->left_out++;
        else
            failed = add_call(all, &all->items[user->rank], trace, i);
    }
    free(users);
    return failed ? -1 : 0;
}

int nvt_ranks_of_mpi(struct nvt_ranks *ranks, const struct nvt_input *input, const size_t *numbers,
                     size_t number, struct nvt_error *err)
{
    struct nvt_mpi_job job = {0};
    size_t *all = numbers ? NULL : calloc(input->trace_count + 1, sizeof(*all));
    int status = numbers || all
                     ? nvt_mpi_job_make(&job, input, numbers ? numbers : all, number, err)
                     : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < job.file_count && !status; i++)
        if (add_processes(ranks, &job, &job.files[i]))
            status = nvt_fail_at(err, job.files[i].from->trace->path, -1, "out of memory");
    nvt_mpi_job_free(&job);
    free(all);
    return status;
}
