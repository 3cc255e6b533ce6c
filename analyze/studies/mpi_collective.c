/*
 * Wait states in collective calls. All ranks of a communicator call its collectives in the same order (MPI 4.1, 6.14), so that the
 * n-th of each belong together; what they are called tells whether that holds.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi_waits.h"

/* Collective calls, those of each communicator and rank one after the other. */
struct collectives {
    struct nvt_mpi_waits *waits;
    uint32_t *calls;
    size_t *all_first;   /* of each communicator and rank, and behind the last */
    const size_t *first; /* of each rank, of the communicator that is looked at */
    uint32_t *members;   /* ranks of that */
    uint32_t member_count;
};

/* Where what there is of the communicator and the rank of a call is; SIZE_MAX: it is no collective, or (*is_other) on a
 * communicator that is not known. */
static size_t place_of(const struct nvt_mpi_job *job, const struct nvt_mpi_file *file,
                       uint32_t call, int *is_other)
{
    const struct nvt_trace *trace = file->from->trace;
    uint32_t rank = file->rank_of[trace->threads.process[trace->mpi_calls.thread[call]]];
    *is_other = 0;
    if (rank == NVT_NONE || file->does[call].role < NVT_MPI_DOES_BARRIER)
        return SIZE_MAX;
    *is_other = file->does[call].communicator == NVT_MPI_OTHER_ONE;
    return *is_other ? SIZE_MAX : (size_t)file->does[call].communicator * job->count + rank;
}

/* 0, or -1 when out of memory. */
static int collect(struct collectives *all)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    const size_t places = (size_t)job->count * NVT_MPI_COMMUNICATORS;
    size_t *next = calloc(places + 1, sizeof(*next)), place;
    int is_other, failed = !next;
    all->all_first = calloc(places + 2, sizeof(*all->all_first));
    failed = failed || !all->all_first;
    for (size_t i = 0; i < job->file_count && !failed; i++)
        for (uint32_t k = 0; k < job->files[i].from->trace->mpi_calls.count; k++) {
            place = place_of(job, &job->files[i], k, &is_other);
            all->waits->others += (uint64_t)is_other;
            if (place != SIZE_MAX)
                all->all_first[place + 1]++;
        }
    for (size_t i = 0; i < places && !failed; i++) {
        all->all_first[i + 1] += all->all_first[i];
        next[i] = all->all_first[i];
    }
    if (!failed)
        all->calls = calloc(all->all_first[places] + 1, sizeof(*all->calls));
    failed = failed || !all->calls;
    for (size_t i = 0; i < job->file_count && !failed; i++)
        for (uint32_t k = 0; k < job->files[i].from->trace->mpi_calls.count; k++) {
            place = place_of(job, &job->files[i], k, &is_other);
            if (place != SIZE_MAX)
                all->calls[next[place]++] = k;
        }
    free(next);
    return failed ? -1 : 0;
}

static uint32_t call_of(const struct collectives *all, uint32_t rank, size_t number)
{
    return all->calls[all->first[rank] + number];
}

/* Who takes part in a communicator: all, or of a group that is known by name those that call anything on it. 0: not all
 * of these are there. */
static int find_members(struct collectives *all, size_t communicator)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    const size_t named = NVT_MPI_COMMUNICATORS - 1 - communicator;
    const int is_named = named < job->named_count;
    all->member_count = 0;
    for (uint32_t i = 0; i < job->count; i++)
        if (!is_named || all->first[i + 1] > all->first[i])
            all->members[all->member_count++] = i;
    return !is_named || all->member_count == job->named_ranks[named];
}

/* How many of each rank belong together, as far as can be known. */
static size_t count_together(const struct collectives *all)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    size_t fewest = SIZE_MAX, most = 0;
    int is_whole = 1;
    if (!all->member_count)
        return 0;
    for (uint32_t i = 0; i < all->member_count; i++) {
        const uint32_t rank = all->members[i];
        size_t count = all->first[rank + 1] - all->first[rank];
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
        is_whole &= job->ranks[rank].is_whole;
    }
    size_t together = 0, least = is_whole ? fewest : most;
    for (int is_same = 1; fewest == least && together < fewest && is_same;
         together += (size_t)is_same) {
        const struct nvt_trace *first = nvt_mpi_trace(job, all->members[0]);
        const uint32_t call = call_of(all, all->members[0], together);
        const char *name = nvt_name(first, first->mpi_calls.name[call]);
        for (uint32_t i = 1; i < all->member_count && is_same; i++) {
            const struct nvt_trace *trace = nvt_mpi_trace(job, all->members[i]);
            const uint32_t other = call_of(all, all->members[i], together);
            is_same = !strcmp(name, nvt_name(trace, trace->mpi_calls.name[other]));
        }
    }
    return !is_whole && together < most ? 0 : together;
}

/* When a rank comes to its collective of a number, and (is_end) when it leaves it, on the axis of rank 0. */
static int64_t time_of(const struct collectives *all, uint32_t rank, size_t number, int is_end)
{
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(&all->waits->job, rank)->mpi_calls;
    uint32_t call = call_of(all, rank, number);
    return nvt_mpi_time(&all->waits->job, rank, 0, (is_end ? calls->end : calls->start)[call]);
}

/* The rank that comes last, of all but one (NVT_NONE: of all). */
static uint32_t last_of(const struct collectives *all, size_t number, uint32_t but)
{
    uint32_t last = NVT_NONE;
    for (uint32_t i = 0; i < all->member_count; i++) {
        const uint32_t rank = all->members[i];
        if (rank != but &&
            (last == NVT_NONE || time_of(all, rank, number, 0) > time_of(all, last, number, 0)))
            last = rank;
    }
    return last;
}

/* 0, or -1 when out of memory. */
static int add_wait(struct collectives *all, size_t number, uint32_t rank, uint32_t late,
                    enum nvt_mpi_wait_state state)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    const uint32_t call = call_of(all, rank, number), late_call = call_of(all, late, number);
    return nvt_mpi_wait_add(
        all->waits, (struct nvt_mpi_wait){
                        .rank = rank,
                        .late = late,
                        .call = call,
                        .late_call = late_call,
                        .start = nvt_mpi_trace(job, rank)->mpi_calls.start[call],
                        .end = nvt_mpi_time(job, late, rank,
                                            nvt_mpi_trace(job, late)->mpi_calls.start[late_call]),
                        .state = (uint8_t)state});
}

/* Who waits for the last one: everybody. Nobody leaves before it has come, or clocks are apart. */
static int add_of_all(struct collectives *all, size_t number, enum nvt_mpi_wait_state state)
{
    const uint32_t count = all->member_count, last = last_of(all, number, NVT_NONE);
    const int64_t came = time_of(all, last, number, 0);
    for (uint32_t i = 0; i < count; i++)
        if (time_of(all, all->members[i], number, 1) < came - NVT_MPI_APART_NS) {
            all->waits->apart += count;
            return 0;
        }
    for (uint32_t i = 0; i < count; i++)
        if (all->members[i] != last && add_wait(all, number, all->members[i], last, state))
            return -1;
    return 0;
}

/* The rank that is the root that all name, by its number in the communicator; NVT_NONE: there is none. */
static uint32_t root_of(const struct collectives *all, size_t number)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    int32_t root = NVT_MPI_NONE;
    for (uint32_t i = 0; i < all->member_count; i++) {
        const uint32_t rank = all->members[i];
        int32_t named = nvt_mpi_trace(job, rank)->mpi_calls.peer[call_of(all, rank, number)];
        if (named < 0 || (uint32_t)named >= all->member_count || (i && named != root))
            return NVT_NONE;
        root = named;
    }
    return all->members[root];
}

/* 0, or -1 when out of memory. */
static int add_of_root(struct collectives *all, size_t number, enum nvt_mpi_role role)
{
    const uint32_t count = all->member_count, root = root_of(all, number);
    if (root == NVT_NONE) {
        all->waits->apart += count;
        return 0;
    }
    if (role == NVT_MPI_DOES_TO_ROOT)
        return count > 1
                   ? add_wait(all, number, root, last_of(all, number, root), NVT_MPI_EARLY_REDUCE)
                   : 0;
    for (uint32_t i = 0; i < count; i++)
        if (all->members[i] != root &&
            add_wait(all, number, all->members[i], root, NVT_MPI_LATE_BROADCAST))
            return -1;
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_collective(struct collectives *all, size_t number)
{
    const struct nvt_mpi_job *job = &all->waits->job;
    const struct nvt_trace *first = nvt_mpi_trace(job, all->members[0]);
    const uint32_t call = call_of(all, all->members[0], number);
    enum nvt_mpi_role role = nvt_mpi_file_of(job, all->members[0])->does[call].role;
    switch (role) {
    case NVT_MPI_DOES_BARRIER:
        return add_of_all(all, number, NVT_MPI_WAIT_BARRIER);
    case NVT_MPI_DOES_ALL_TO_ALL:
        return add_of_all(all, number, NVT_MPI_WAIT_NXN);
    case NVT_MPI_DOES_TO_ROOT:
    case NVT_MPI_DOES_FROM_ROOT:
        return add_of_root(all, number, role);
    default:
        if (!strncmp(nvt_name(first, first->mpi_calls.name[call]), "MPI_I", 5))
            all->waits->later += all->member_count;
        return 0;
    }
}

int nvt_mpi_waits_collective(struct nvt_mpi_waits *waits)
{
    struct collectives all = {.waits = waits};
    const uint32_t ranks = waits->job.count;
    int failed = collect(&all);
    all.members = failed ? NULL : malloc(((size_t)ranks + 1) * sizeof(*all.members));
    failed = failed || !all.members;
    for (size_t c = 0; c < NVT_MPI_COMMUNICATORS && !failed; c++) {
        all.first = all.all_first + c * ranks;
        const size_t together = find_members(&all, c) ? count_together(&all) : 0;
        for (size_t i = 0; i < together && !failed; i++)
            failed = add_collective(&all, i);
        waits->apart += all.first[ranks] - all.first[0] - together * all.member_count;
    }
    free(all.members);
    free(all.calls);
    free(all.all_first);
    return failed ? -1 : 0;
}
