/*
 * mpi_event_trace, with nsys's headings (Nsight Systems Analysis Guide), nvtx_mpi_sum, mpi_ranks: calls of MPI, and of
 * torch.distributed as far as threads wait in them, one by one, by the ranges that hold them, and by rank. (mpi_event_sum, by name, is cuda_sum.c's.) A megabyte is 10^6 bytes.
 *
 * Which ranges hold a call says calls_by_range.h. Bytes are those that a rank's own arguments name: of a collective, what it
 * gives and gets, not what goes over the wire. A rank is in MPI while any of its threads is; the columns of kinds have the
 * times of all of them.
 */
#include <math.h>
#include <stdlib.h>

#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../studies/calls_by_range.h"
#include "report.h"

#define MISSING                                                                                    \
    .is_in = nvt_input_has_mpi,                                                                    \
    .missing = "no MPI calls in the input (record --trace mpi, nsys profile --trace=mpi)"

static uint32_t process_of(const struct nvt_trace *trace, uint32_t call)
{
    return trace->threads.process[trace->mpi_calls.thread[call]];
}

/* --- one by one --------------------------------------------------------------------------------- */

static double megabytes(uint64_t bytes)
{
    return bytes == UINT64_MAX ? NAN : (double)bytes / NVT_MEGABYTE;
}

static void put_mpi_call(struct nvt_table *table, const struct nvt_input_trace *from, uint32_t call)
{
    const struct nvt_trace *trace = from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    uint32_t process = process_of(trace, call), rank = nvt_input_rank(from, process);
    uint64_t sent = calls->sent[call], received = calls->received[call];
    int is_collective = calls->kind[call] == NVT_MPI_COLLECTIVE;
    int has_peer = calls->peer[call] != NVT_MPI_NONE;
    nvt_table_put(table, calls->start[call], calls->end[call],
                  calls->end[call] - calls->start[call], nvt_name(trace, calls->name[call]),
                  trace->processes.pid[process], trace->threads.tid[calls->thread[call]],
                  NVT_IF(calls->tag[call] != NVT_MPI_NONE, calls->tag[call]),
                  NVT_IF(rank != NVT_NONE, rank),
                  NVT_IF(has_peer && !is_collective, calls->peer[call]),
                  NVT_IF(has_peer && is_collective, calls->peer[call]),
                  is_collective ? NAN : megabytes(sent == UINT64_MAX ? received : sent),
                  is_collective ? megabytes(sent) : NAN, is_collective ? megabytes(received) : NAN);
}

static int put_mpi_calls(struct nvt_table *table, const struct nvt_trace *trace,
                         const struct nvt_making *making)
{
    for (uint32_t call = 0; call < trace->mpi_calls.count; call++)
        put_mpi_call(table, making->from, call);
    return 0;
}

/* --- by range ----------------------------------------------------------------------------------- */

static void add_bytes(void *context, const struct nvt_trace *trace, uint32_t call, double sums[2])
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    (void)context;
    if (calls->sent[call] != UINT64_MAX)
        sums[0] += (double)calls->sent[call];
    if (calls->received[call] != UINT64_MAX)
        sums[1] += (double)calls->received[call];
}

static int group_by_range(struct nvt_groups *groups, const struct nvt_trace *trace,
                          const struct nvt_making *making)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const struct nvt_held_calls held = {.count = calls->count,
                                        .start = calls->start,
                                        .end = calls->end,
                                        .thread = calls->thread,
                                        .name = calls->name,
                                        .bytes = add_bytes};
    return nvt_calls_by_range_add(groups, trace, &held, making->err);
}

static void put_mpi_range(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    nvt_calls_by_range_put(table, groups, group, NULL);
}

/* --- by rank ------------------------------------------------------------------------------------ */

static void put_rank(struct nvt_table *table, const struct nvt_input_trace *from, uint32_t process,
                     const struct nvt_mpi_process *rank)
{
    const struct nvt_trace *trace = from->trace;
    uint32_t number = nvt_input_rank(from, process);
    nvt_table_put(table, NVT_IF(number != NVT_NONE, number), nvt_file_name(trace->path),
                  trace->processes.pid[process], rank->last - rank->first, rank->calls,
                  rank->in_mpi, nvt_percent(rank->in_mpi, rank->last - rank->first),
                  (int64_t)rank->ns[NVT_MPI_P2P], (int64_t)rank->ns[NVT_MPI_COLLECTIVE],
                  (int64_t)rank->ns[NVT_MPI_WAIT], (int64_t)rank->ns[NVT_MPI_OTHER],
                  rank->sent / NVT_MEGABYTE, rank->received / NVT_MEGABYTE);
}

static int put_mpi_ranks(struct nvt_table *table, const struct nvt_trace *trace,
                         const struct nvt_making *making)
{
    struct nvt_mpi_process *ranks = nvt_mpi_processes(trace);
    if (nvt_is_torch_alone(trace))
        nvt_making_title(making, "torch.distributed by rank");
    for (uint32_t i = 0; ranks && i < trace->processes.count; i++)
        if (ranks[i].first <= ranks[i].last)
            put_rank(table, making->from, i, &ranks[i]);
    int status = ranks ? 0 : -1;
    free(ranks);
    return status;
}

const struct nvt_report nvt_report_mpi_event_trace = {
    .name = "mpi_event_trace",
    .about = "every MPI call, with its peer, tag and bytes",
    .title = "MPI event trace",
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"End (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"Event", NVT_NAMES},
                {"Pid", NVT_SPARE_IDS},
                {"Tid", NVT_SPARE_IDS},
                {"Tag", NVT_IDS},
                {"Rank", NVT_IDS},
                {"PeerRank", NVT_IDS},
                {"RootRank", NVT_IDS},
                {"Size (MB)", NVT_MB},
                {"CollSendSize (MB)", NVT_MB},
                {"CollRecvSize (MB)", NVT_MB}},
    MISSING,
    .each_trace = put_mpi_calls,
};

const struct nvt_report nvt_report_nvtx_mpi_sum = {
    .name = "nvtx_mpi_sum",
    .about = "MPI calls by the range that encloses them",
    .title = "MPI calls by range",
    .columns = {{"NVTX Range", NVT_RANGES},
                {"MPI Call", NVT_NAMES},
                NVT_CALLS_COLUMNS,
                {"Of Range (%)", NVT_PERCENT},
                {"Sent (MB)", NVT_MB},
                {"Received (MB)", NVT_MB}},
    .order = NVT_CALLS_BY_RANGE_ORDER("MPI Call"),
    MISSING,
    .group = group_by_range,
    .put_group = put_mpi_range,
    .group_size = sizeof(struct nvt_held_sums),
};

const struct nvt_report nvt_report_mpi_ranks = {
    .name = "mpi_ranks",
    .about = "time in MPI and bytes of each rank, by kind of call",
    .title = "MPI by rank",
    .columns = {{"Rank", NVT_IDS},
                {"File", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Span (ns)", NVT_NS},
                {"Num Calls", NVT_COUNTS},
                {"In MPI (ns)", NVT_NS},
                {"In MPI (%)", NVT_PERCENT},
                {"Point-to-Point (ns)", NVT_NS},
                {"Collectives (ns)", NVT_NS},
                {"Wait Calls (ns)", NVT_NS},
                {"Other (ns)", NVT_NS},
                {"Sent (MB)", NVT_MB},
                {"Received (MB)", NVT_MB}},
    .order = {"Rank"},
    MISSING,
    .over_traces = put_mpi_ranks,
};
