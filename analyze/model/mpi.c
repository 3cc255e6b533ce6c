#include "mpi.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "cover.h"

int nvt_is_mpi_call(const struct nvt_trace *trace, uint32_t call)
{
    return !strncmp(nvt_name(trace, trace->mpi_calls.name[call]), "MPI_", 4);
}

const char *nvt_mpi_library(const struct nvt_trace *trace)
{
    int is_mpi = 0, is_other = 0;
    for (uint32_t i = 0; i < trace->mpi_calls.count && !(is_mpi && is_other); i++)
        *(nvt_is_mpi_call(trace, i) ? &is_mpi : &is_other) = 1;
    return !is_other ? "MPI" : is_mpi ? "MPI and torch.distributed" : "torch.distributed";
}

int nvt_is_torch_alone(const struct nvt_trace *trace)
{
    return !strcmp(nvt_mpi_library(trace), "torch.distributed");
}

int nvt_mpi_is_edge(const struct nvt_trace *trace, uint32_t call)
{
    const char *name = nvt_name(trace, trace->mpi_calls.name[call]);
    return !strcmp(name, "MPI_Init") || !strcmp(name, "MPI_Init_thread") ||
           !strcmp(name, "MPI_Finalize");
}

int nvt_mpi_waits_for_all(const struct nvt_trace *trace, uint32_t call)
{
    static const char *const names[] = {
        "MPI_Barrier",    "MPI_Allreduce",      "MPI_Allgather",
        "MPI_Allgatherv", "MPI_Alltoall",       "MPI_Alltoallv",
        "MPI_Alltoallw",  "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
        "barrier",        "all_reduce",         "all_gather",
        "reduce_scatter", "all_to_all"};
    const char *name = nvt_name(trace, trace->mpi_calls.name[call]);
    return NVT_IS_ONE_OF(name, names);
}

/* `until`: when the last of its calls so far ends. */
static void see(struct nvt_mpi_process *process, const struct nvt_trace *trace, uint32_t call,
                int64_t *until)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    int is_edge = nvt_mpi_is_edge(trace, call);
    int is_end = is_edge && !strcmp(nvt_name(trace, calls->name[call]), "MPI_Finalize");
    int64_t from = is_edge && !is_end ? calls->end[call] : calls->start[call];
    int64_t to = is_end ? calls->start[call] : calls->end[call];
    process->first = from < process->first ? from : process->first;
    process->last = to > process->last ? to : process->last;
    if (is_edge)
        return;
    process->calls++;
    process->in_mpi += nvt_cover(until, calls->start[call], calls->end[call]);
    process->ns[calls->kind[call]] += (double)(calls->end[call] - calls->start[call]);
    if (calls->sent[call] != UINT64_MAX)
        process->sent += (double)calls->sent[call];
    if (calls->received[call] != UINT64_MAX)
        process->received += (double)calls->received[call];
}

struct nvt_mpi_process *nvt_mpi_processes(const struct nvt_trace *trace)
{
    const size_t count = (size_t)trace->processes.count + 1;
    struct nvt_mpi_process *all = calloc(count, sizeof(*all));
    int64_t *until = malloc(count * sizeof(*until));
    for (size_t i = 0; all && until && i < count; i++) {
        all[i].first = INT64_MAX;
        all[i].last = until[i] = INT64_MIN;
    }
    for (uint32_t i = 0; all && until && i < trace->mpi_calls.count; i++) {
        uint32_t process = trace->threads.process[trace->mpi_calls.thread[i]];
        see(&all[process], trace, i, &until[process]);
    }
    if (!until) {
        free(all);
        all = NULL;
    }
    free(until);
    return all;
}
