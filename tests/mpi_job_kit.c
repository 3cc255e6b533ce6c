#include "mpi_job_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/ranks.h"
#include "../lib/count_of.h"
#include "small_trace.h"

struct mpi_job mpi_job_make(int ranks, int files, int64_t ahead)
{
    struct mpi_job job = {.files = files, .ranks = ranks, .ahead = ahead};
    assert_true(files > 0 && files <= MOST && ranks <= MOST);
    for (int i = 0; i < files; i++) {
        job.traces[i] = small_trace();
        job.traces[i]->tells_mpi_peers = 1;
        job.traces[i]->origin_ns = INT64_C(1700000000000000000) - i * ahead;
    }
    for (int i = 0; i < ranks; i++) {
        struct nvt_trace *trace = job.traces[files > 1 ? i : 0];
        job.thread[i] = small_thread(trace, 100 + i, 100 + i);
        trace->processes.rank[trace->threads.process[job.thread[i]]] = (uint32_t)i;
    }
    return job;
}

struct nvt_trace *mpi_job_trace(const struct mpi_job *job, int rank)
{
    return job->traces[job->files > 1 ? rank : 0];
}

int64_t mpi_job_at(const struct mpi_job *job, int rank, double ms)
{
    return (int64_t)(ms * (double)MS) + (job->files > 1 ? rank * job->ahead : 0);
}

static uint8_t kind_of(const char *name)
{
    static const char *const messages[] = {"Send", "Recv", "send", "recv", "robe"};
    for (size_t i = 0; i < NVT_COUNT_OF(messages); i++)
        if (strstr(name, messages[i]))
            return NVT_MPI_P2P;
    return strstr(name, "Wait") || strstr(name, "Start") ? NVT_MPI_WAIT
           : strstr(name, "Init")                        ? NVT_MPI_OTHER
                                                         : NVT_MPI_COLLECTIVE;
}

struct nvt_mpi_call mpi_job_call_of(const struct mpi_job *job, int rank, const char *name,
                                    double start, double end, int32_t peer, int32_t tag)
{
    return (struct nvt_mpi_call){
        .start = mpi_job_at(job, rank, start),
        .end = mpi_job_at(job, rank, end),
        .thread = job->thread[rank],
        .name = nvt_strings_add_text(mpi_job_trace(job, rank)->strings, name),
        .communicator = kind_of(name) == NVT_MPI_WAIT || kind_of(name) == NVT_MPI_OTHER
                            ? 0
                            : 0x44000000 + (uint64_t)rank,
        .sent = 8,
        .received = 8,
        .peer = peer,
        .tag = tag,
        .kind = kind_of(name)};
}

void mpi_job_call(const struct mpi_job *job, int rank, const char *name, double start, double end,
                  int32_t peer, int32_t tag)
{
    const struct nvt_mpi_call row = mpi_job_call_of(job, rank, name, start, end, peer, tag);
    assert_int_not_equal(nvt_mpi_call_add(mpi_job_trace(job, rank), &row), NVT_NONE);
}

void mpi_job_init(const struct mpi_job *job)
{
    for (int i = 0; i < job->ranks; i++)
        mpi_job_call(job, i, "MPI_Init", 0, 1, NVT_MPI_NONE, NVT_MPI_NONE);
}

void mpi_job_finish(struct mpi_job *job)
{
    for (int i = 0; i < job->files; i++) {
        small_trace_finish(job->traces[i]);
        job->inputs[i] = (struct nvt_input_trace){.trace = job->traces[i]};
    }
    job->input = (struct nvt_input){.traces = job->inputs, .trace_count = (size_t)job->files};
}

void mpi_job_end(struct mpi_job *job)
{
    for (int i = 0; i < job->files; i++)
        nvt_trace_free(job->traces[i]);
    nvt_buffer_free(&job->input.notes);
}

void mpi_job_collective(const struct mpi_job *job, const char *name, double start, int late,
                        int32_t root)
{
    for (int i = 0; i < job->ranks; i++)
        mpi_job_call(job, i, name, start + (i == late ? 5 : i), start + 6, root, NVT_MPI_NONE);
}

void mpi_job_group_call(const struct mpi_job *job, int rank, const char *name, uint64_t group,
                        uint32_t ranks, double start, double end)
{
    struct nvt_mpi_call row =
        mpi_job_call_of(job, rank, name, start, end, NVT_MPI_NONE, NVT_MPI_NONE);
    row.communicator = group;
    row.ranks = ranks;
    row.kind = NVT_MPI_COLLECTIVE;
    assert_int_not_equal(nvt_mpi_call_add(mpi_job_trace(job, rank), &row), NVT_NONE);
}
