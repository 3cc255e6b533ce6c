/* Clocks of the hosts of a job by the ends of collectives. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "mpi_match.h"

/* What is known to less, or is apart by more, is no clock. */
#define MOST_RESIDUAL_NS 1e6
#define MOST_APART_NS    (INT64_C(86400) * 1000000000)
#define LEAST_MOMENTS    8
/* Ranks leave so many collectives before others have come: clocks are apart. */
#define LEAST_BROKEN 0.1

/* Calls of a rank that all ranks leave together, in their order: times of the first file, as far as they are known. */
struct meetings {
    int64_t *starts, *ends;
    uint32_t *names; /* strings of its trace */
    uint32_t count;
};

static void free_meetings(struct meetings *meetings)
{
    free(meetings->starts);
    free(meetings->ends);
    free(meetings->names);
}

static int is_meeting(const struct nvt_mpi_file *file, uint32_t call)
{
    const struct nvt_mpi_does *does = &file->does[call];
    return (does->role == NVT_MPI_DOES_BARRIER || does->role == NVT_MPI_DOES_ALL_TO_ALL) &&
           !(does->flags & NVT_MPI_LATER) && !does->communicator &&
           !(file->from->trace->mpi_calls.flags[call] & NVT_RANGE_PARTIAL);
}

/* 0, or -1 when out of memory. */
static int find_meetings(const struct nvt_mpi_job *job, uint32_t rank, struct meetings *meetings)
{
    const struct nvt_mpi_file *file = nvt_mpi_file_of(job, rank);
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const size_t room = (size_t)calls->count + 1;
    meetings->starts = malloc(room * sizeof(*meetings->starts));
    meetings->ends = malloc(room * sizeof(*meetings->ends));
    meetings->names = malloc(room * sizeof(*meetings->names));
    if (!meetings->starts || !meetings->ends || !meetings->names)
        return -1;
    for (uint32_t i = 0; i < calls->count; i++) {
        if (file->rank_of[trace->threads.process[calls->thread[i]]] != rank || !is_meeting(file, i))
            continue;
        meetings->starts[meetings->count] = nvt_clock_sum(calls->start[i], job->ranks[rank].shift);
        meetings->ends[meetings->count] = nvt_clock_sum(calls->end[i], job->ranks[rank].shift);
        meetings->names[meetings->count++] = calls->name[i];
    }
    return 0;
}

/* Whether those of two ranks are the same: as many, of the same names. */
static int belong_together(const struct meetings *a, const struct nvt_trace *of_a,
                           const struct meetings *b, const struct nvt_trace *of_b)
{
    if (a->count != b->count || a->count < LEAST_MOMENTS)
        return 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(nvt_name(of_a, a->names[i]), nvt_name(of_b, b->names[i])) != 0)
            return 0;
    return 1;
}

/* Whether clocks have to be set: hosts are others, or one leaves before another has come. */
static int are_apart(const struct meetings *a, const struct nvt_trace *of_a,
                     const struct meetings *b, const struct nvt_trace *of_b)
{
    const char *host = nvt_trace_meta(of_a, "host"), *other = nvt_trace_meta(of_b, "host");
    uint32_t broken = 0;
    if (host && other)
        return strcmp(host, other) != 0;
    for (uint32_t i = 0; i < a->count; i++)
        broken += nvt_clock_since(b->starts[i], a->ends[i]) > NVT_MPI_APART_NS ||
                  nvt_clock_since(a->starts[i], b->ends[i]) > NVT_MPI_APART_NS;
    return broken >= LEAST_BROKEN * a->count;
}

/* Set the clock of a file by a rank of it. 1: it was set; 0, or -1 when out of memory. */
static int set_clock(struct nvt_mpi_job *job, const struct meetings *first, uint32_t reference,
                     uint32_t rank)
{
    const struct nvt_trace *trace = nvt_mpi_trace(job, rank), *to = nvt_mpi_trace(job, reference);
    struct meetings own = {0};
    struct nvt_clock_fit fit = {0};
    int status = find_meetings(job, rank, &own);
    if (!status && belong_together(&own, trace, first, to) &&
        (job->unknown_clocks || are_apart(&own, trace, first, to))) {
        status = nvt_clock_fit(own.ends, first->ends, own.count, &fit);
        if (!status && fit.residual_ns <= MOST_RESIDUAL_NS && llabs(fit.offset) <= MOST_APART_NS)
            status = 1;
    }
    free_meetings(&own);
    for (uint32_t i = 0; status == 1 && i < job->count; i++)
        if (job->ranks[i].file == job->ranks[rank].file)
            job->ranks[i].clock = fit;
    if (status == 1) {
        job->set_clocks++;
        job->apart_ns = llabs(fit.offset) > job->apart_ns ? llabs(fit.offset) : job->apart_ns;
        if (fit.residual_ns > job->clock_error_ns)
            job->clock_error_ns = fit.residual_ns;
    }
    return status;
}

/* The first rank of a file, job->count where there is none. */
static uint32_t rank_of(const struct nvt_mpi_job *job, size_t file)
{
    uint32_t rank = 0;
    while (rank < job->count && job->ranks[rank].file != file)
        rank++;
    return rank;
}

int nvt_mpi_set_clocks(struct nvt_mpi_job *job)
{
    const uint32_t reference = rank_of(job, 0);
    struct meetings first = {0};
    size_t known = 1;
    if (job->file_count < 2 || reference == job->count)
        return 0;
    int failed = find_meetings(job, reference, &first) != 0;
    for (size_t file = 1; file < job->file_count && !failed; file++) {
        const uint32_t rank = rank_of(job, file);
        const int set = rank == job->count ? 0 : set_clock(job, &first, reference, rank);
        failed = set < 0;
        known += set > 0;
    }
    if (known == job->file_count)
        job->unknown_clocks = 0;
    free_meetings(&first);
    return failed ? -1 : 0;
}
