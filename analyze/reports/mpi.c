/*
 * mpi_event_trace, with nsys's headings (Nsight Systems Analysis Guide), nvtx_mpi_sum, mpi_ranks: calls of MPI one by one,
 * by the ranges that hold them, and by rank. (mpi_event_sum, by name, is cuda_sum.c's.) A megabyte is 10^6 bytes.
 *
 * Which ranges hold a call says calls_by_range.h. Bytes are those that a rank's own arguments name: of a collective, what it
 * gives and gets, not what goes over the wire. A rank is in MPI while any of its threads is; the columns of kinds have the
 * times of all of them.
 */
#include <stdlib.h>

#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../studies/calls_by_range.h"
#include "report.h"

#define MEGABYTE 1e6
#define NOTHING  "note: no MPI calls in the input (record --trace mpi, nsys profile --trace=mpi)"

static void note_nothing(struct nvt_input *input)
{
    if (!nvt_input_has_mpi(input))
        nvt_note(input, NOTHING);
}

static uint32_t process_of(const struct nvt_trace *trace, uint32_t call)
{
    return trace->threads.process[trace->mpi_calls.thread[call]];
}

/* --- one by one --------------------------------------------------------------------------------- */

enum { T_START, T_END, T_DURATION, T_EVENT, T_PID, T_TID, T_TAG, T_RANK, T_PEER, T_ROOT, T_SIZE };
enum { T_SENT = T_SIZE + 1, T_RECEIVED };

static const struct nvt_column_spec trace_columns[] = {
    [T_START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [T_END] = {"End (ns)", "ns", NVT_INT, 0, 0},
    [T_DURATION] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [T_EVENT] = {"Event", "", NVT_TEXT, 0, 0},
    [T_PID] = {"Pid", "", NVT_INT, 0, NVT_PLAIN},
    [T_TID] = {"Tid", "", NVT_INT, 0, NVT_PLAIN},
    [T_TAG] = {"Tag", "", NVT_INT, 0, NVT_PLAIN},
    [T_RANK] = {"Rank", "", NVT_INT, 0, NVT_PLAIN},
    [T_PEER] = {"PeerRank", "", NVT_INT, 0, NVT_PLAIN},
    [T_ROOT] = {"RootRank", "", NVT_INT, 0, NVT_PLAIN},
    [T_SIZE] = {"Size (MB)", "MB", NVT_REAL, 3, 0},
    [T_SENT] = {"CollSendSize (MB)", "MB", NVT_REAL, 3, 0},
    [T_RECEIVED] = {"CollRecvSize (MB)", "MB", NVT_REAL, 3, 0},
};

static void put_size(struct nvt_table *table, size_t row, size_t column, uint64_t bytes)
{
    if (bytes != UINT64_MAX)
        nvt_table_set_real(table, row, column, (double)bytes / MEGABYTE);
}

static void put_call(struct nvt_table *table, const struct nvt_input_trace *from, uint32_t call)
{
    const struct nvt_trace *trace = from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    uint32_t process = process_of(trace, call), rank = nvt_input_rank(from, process);
    int is_collective = calls->kind[call] == NVT_MPI_COLLECTIVE;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, T_START, calls->start[call]);
    nvt_table_set_int(table, row, T_END, calls->end[call]);
    nvt_table_set_int(table, row, T_DURATION, calls->end[call] - calls->start[call]);
    nvt_table_set_text(table, row, T_EVENT, nvt_name(trace, calls->name[call]));
    nvt_table_set_int(table, row, T_PID, trace->processes.pid[process]);
    nvt_table_set_int(table, row, T_TID, trace->threads.tid[calls->thread[call]]);
    if (calls->tag[call] != NVT_MPI_NONE)
        nvt_table_set_int(table, row, T_TAG, calls->tag[call]);
    if (rank != NVT_NONE)
        nvt_table_set_int(table, row, T_RANK, rank);
    if (calls->peer[call] != NVT_MPI_NONE)
        nvt_table_set_int(table, row, is_collective ? T_ROOT : T_PEER, calls->peer[call]);
    if (is_collective) {
        put_size(table, row, T_SENT, calls->sent[call]);
        put_size(table, row, T_RECEIVED, calls->received[call]);
    } else {
        put_size(table, row, T_SIZE,
                 calls->sent[call] == UINT64_MAX ? calls->received[call] : calls->sent[call]);
    }
}

static int make_trace(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    note_nothing(input);
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_table *table = nvt_report_trace_table(&nvt_report_mpi_event_trace, input, trace,
                                                         "MPI event trace", err);
        if (!table)
            return -1;
        for (uint32_t call = 0; call < trace->mpi_calls.count; call++)
            put_call(table, &input->traces[i], call);
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    return 0;
}

/* --- by range ----------------------------------------------------------------------------------- */

enum { R_COUNT = 2, R_SHARE = R_COUNT + 7, R_SENT, R_RECEIVED };

static const struct nvt_column_spec range_columns[] = {
    {"NVTX Range", "", NVT_TEXT, 0, 0},
    {"MPI Call", "", NVT_TEXT, 0, 0},
    NVT_CALLS_COLUMNS,
    [R_SHARE] = {"Of Range (%)", "%", NVT_REAL, 1, 0},
    [R_SENT] = {"Sent (MB)", "MB", NVT_REAL, 3, 0},
    [R_RECEIVED] = {"Received (MB)", "MB", NVT_REAL, 3, 0},
};

static void add_bytes(void *context, const struct nvt_trace *trace, uint32_t call, double sums[2])
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    (void)context;
    if (calls->sent[call] != UINT64_MAX)
        sums[0] += (double)calls->sent[call];
    if (calls->received[call] != UINT64_MAX)
        sums[1] += (double)calls->received[call];
}

static int collect_ranges(struct nvt_calls_by_range *all, const struct nvt_trace *trace,
                          struct nvt_error *err)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const struct nvt_held_calls held = {.count = calls->count,
                                        .start = calls->start,
                                        .end = calls->end,
                                        .thread = calls->thread,
                                        .name = calls->name,
                                        .bytes = add_bytes};
    return nvt_calls_by_range_add(all, trace, &held, err);
}

static int make_ranges(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_calls_by_range all = {0};
    struct nvt_table *table =
        nvt_report_table(&nvt_report_nvtx_mpi_sum, input, "MPI calls by range", err);
    int status = table ? 0 : -1;
    note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = collect_ranges(&all, input->traces[i].trace, err);
    if (!status)
        status = nvt_calls_by_range_put(table, &all, R_COUNT, R_SENT, R_RECEIVED, err);
    nvt_calls_by_range_free(&all);
    if (!status)
        return nvt_report_add(tables, table, err);
    nvt_table_free(table);
    return -1;
}

/* --- by rank ------------------------------------------------------------------------------------ */

enum { K_RANK, K_FILE, K_PID, K_SPAN, K_CALLS, K_TOTAL, K_SHARE, K_P2P, K_COLLECTIVES, K_WAITS };
enum { K_OTHER = K_WAITS + 1, K_SENT, K_RECEIVED };

static const struct nvt_column_spec rank_columns[] = {
    [K_RANK] = {"Rank", "", NVT_INT, 0, NVT_PLAIN},
    [K_FILE] = {"File", "", NVT_TEXT, 0, 0},
    [K_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [K_SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [K_CALLS] = {"Num Calls", "", NVT_INT, 0, 0},
    [K_TOTAL] = {"In MPI (ns)", "ns", NVT_INT, 0, 0},
    [K_SHARE] = {"In MPI (%)", "%", NVT_REAL, 1, 0},
    [K_P2P] = {"Point-to-Point (ns)", "ns", NVT_INT, 0, 0},
    [K_COLLECTIVES] = {"Collectives (ns)", "ns", NVT_INT, 0, 0},
    [K_WAITS] = {"Waits (ns)", "ns", NVT_INT, 0, 0},
    [K_OTHER] = {"Other (ns)", "ns", NVT_INT, 0, 0},
    [K_SENT] = {"Sent (MB)", "MB", NVT_REAL, 3, 0},
    [K_RECEIVED] = {"Received (MB)", "MB", NVT_REAL, 3, 0},
};

static void put_rank(struct nvt_table *table, const struct nvt_input_trace *from, uint32_t process,
                     const struct nvt_mpi_process *rank)
{
    const struct nvt_trace *trace = from->trace;
    uint32_t number = nvt_input_rank(from, process);
    size_t row = nvt_table_add_row(table);
    if (number != NVT_NONE)
        nvt_table_set_int(table, row, K_RANK, number);
    nvt_table_set_text(table, row, K_FILE, nvt_file_name(trace->path));
    nvt_table_set_int(table, row, K_PID, trace->processes.pid[process]);
    nvt_table_set_int(table, row, K_SPAN, rank->last - rank->first);
    nvt_table_set_int(table, row, K_CALLS, (int64_t)rank->calls);
    nvt_table_set_int(table, row, K_TOTAL, rank->in_mpi);
    if (rank->last > rank->first)
        nvt_table_set_real(table, row, K_SHARE,
                           100 * (double)rank->in_mpi / (double)(rank->last - rank->first));
    nvt_table_set_int(table, row, K_P2P, (int64_t)rank->ns[NVT_MPI_P2P]);
    nvt_table_set_int(table, row, K_COLLECTIVES, (int64_t)rank->ns[NVT_MPI_COLLECTIVE]);
    nvt_table_set_int(table, row, K_WAITS, (int64_t)rank->ns[NVT_MPI_WAIT]);
    nvt_table_set_int(table, row, K_OTHER, (int64_t)rank->ns[NVT_MPI_OTHER]);
    nvt_table_set_real(table, row, K_SENT, rank->sent / MEGABYTE);
    nvt_table_set_real(table, row, K_RECEIVED, rank->received / MEGABYTE);
}

static int put_processes(struct nvt_table *table, const struct nvt_input_trace *from,
                         struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct nvt_mpi_process *ranks = nvt_mpi_processes(trace);
    if (!ranks)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < trace->processes.count; i++)
        if (ranks[i].first <= ranks[i].last)
            put_rank(table, from, i, &ranks[i]);
    free(ranks);
    return 0;
}

static int make_rank_table(struct nvt_input *input, struct nvt_tables *tables,
                           struct nvt_error *err)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_mpi_ranks, input, "MPI by rank", err);
    int status = table ? 0 : -1;
    note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_processes(table, &input->traces[i], err);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    nvt_table_sort(table, K_RANK, 0);
    return nvt_report_add(tables, table, err);
}

#define REPORT(id, specs, function, text)                                                          \
    const struct nvt_report nvt_report_##id = {                                                    \
        .name = #id,                                                                               \
        .about = text,                                                                             \
        .needs = NVT_NEEDS_TRACES,                                                                 \
        .columns = specs,                                                                          \
        .column_count = sizeof(specs) / sizeof(specs[0]),                                          \
        .make = function,                                                                          \
    };
REPORT(mpi_event_trace, trace_columns, make_trace, "every MPI call, with its peer, tag and bytes")
REPORT(nvtx_mpi_sum, range_columns, make_ranges, "MPI calls by the ranges that hold them")
REPORT(mpi_ranks, rank_columns, make_rank_table,
       "time in MPI and bytes of each rank, by what kind of call")
