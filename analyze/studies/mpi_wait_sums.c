#include "mpi_wait_sums.h"

#include <stdlib.h>

#include "../model/mpi.h"
#include "../model/recorded_parts.h"
#include "mpi_places.h"

int nvt_mpi_wait_sums(struct nvt_groups *groups, const struct nvt_mpi_waits *waits,
                      struct nvt_error *err)
{
    const struct nvt_mpi_job *job = &waits->job;
    struct nvt_mpi_places places = {0};
    int status = nvt_mpi_places_make(&places, job, err);
    for (size_t i = 0; i < waits->count && !status; i++) {
        const struct nvt_mpi_wait *wait = &waits->items[i];
        const struct nvt_trace *own = nvt_mpi_trace(job, wait->rank);
        const struct nvt_trace *other = nvt_mpi_trace(job, wait->late);
        struct nvt_mpi_place at = nvt_mpi_waiting_place(&places, wait);
        struct nvt_mpi_place late = nvt_mpi_late_place(&places, wait);
        const uint32_t key[NVT_MPI_WAIT_PARTS] = {
            [NVT_MPI_WAIT_RANK] = wait->rank,
            [NVT_MPI_WAIT_STATE] = wait->state,
            [NVT_MPI_WAIT_RANGE] = nvt_groups_text(groups, nvt_name(own, at.range)),
            [NVT_MPI_WAIT_CALL] = nvt_groups_text(groups, nvt_name(own, at.call)),
            [NVT_MPI_WAIT_LATE] = wait->late,
            [NVT_MPI_WAIT_LATE_RANGE] = nvt_groups_text(groups, nvt_name(other, late.range)),
            [NVT_MPI_WAIT_LATE_CALL] = nvt_groups_text(groups, nvt_name(other, late.call))};
        nvt_groups_add(groups, nvt_groups_key(groups, key, NVT_MPI_WAIT_PARTS),
                       wait->end - wait->start);
    }
    nvt_mpi_places_free(&places);
    return status || nvt_groups_finish(groups, err);
}

int64_t *nvt_mpi_rank_spans(const struct nvt_mpi_job *job)
{
    int64_t *spans = calloc((size_t)job->count + 1, sizeof(*spans));
    for (size_t i = 0; spans && i < job->file_count; i++) {
        const struct nvt_mpi_file *file = &job->files[i];
        struct nvt_mpi_process *processes = nvt_mpi_processes(file->from->trace);
        for (uint32_t k = 0; processes && k < file->from->trace->processes.count; k++)
            if (file->rank_of[k] != NVT_NONE)
                spans[file->rank_of[k]] = (int64_t)nvt_recorded_ns(
                    file->from->trace, processes[k].first, processes[k].last);
        if (!processes) {
            free(spans);
            spans = NULL;
        }
        free(processes);
    }
    return spans;
}
