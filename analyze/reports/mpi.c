/*
 * mpi_event_trace, with nsys's headings (Nsight Systems Analysis Guide), nvtx_mpi_sum, mpi_ranks: calls of MPI one by one,
 * by the ranges that hold them, and by rank. (mpi_event_sum, by name, is cuda_sum.c's.) A megabyte is 10^6 bytes.
 *
 * A call lies in a range that its thread has open from the call's start to its end, so rows of nested ranges hold it
 * several times, but those of one name, within each other, once. Bytes are those that a rank's own arguments name: of a collective, what it gives and gets, not what
 * goes over the wire. A rank is in MPI while any of its threads is; the columns of kinds have the times of all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../model/buckets.h"
#include "../model/mpi.h"
#include "../model/nesting.h"
#include "../studies/groups.h"
#include "report.h"

#define MEGABYTE 1e6
#define NOTHING  "note: no MPI calls in the input (record --trace mpi, nsys profile --trace=mpi)"

static void note_nothing(struct nvt_report_input *input)
{
    if (!nvt_report_has_mpi(input))
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

static int make_trace(struct nvt_report_input *input, struct nvt_tables *tables,
                      struct nvt_error *err)
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

enum { R_RANGE, R_CALL, R_COUNT, R_TOTAL, R_AVG, R_SHARE = R_AVG + 5, R_SENT, R_RECEIVED };

static const struct nvt_column_spec range_columns[] = {
    {"NVTX Range", "", NVT_TEXT, 0, 0},
    {"MPI Call", "", NVT_TEXT, 0, 0},
    {"Num Calls", "", NVT_INT, 0, 0},
    {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    {"Med (ns)", "ns", NVT_REAL, 1, 0},
    {"Min (ns)", "ns", NVT_INT, 0, 0},
    {"Max (ns)", "ns", NVT_INT, 0, 0},
    {"StdDev (ns)", "ns", NVT_REAL, 1, 0},
    [R_SHARE] = {"Of Range (%)", "%", NVT_REAL, 1, 0},
    [R_SENT] = {"Sent (MB)", "MB", NVT_REAL, 3, 0},
    [R_RECEIVED] = {"Received (MB)", "MB", NVT_REAL, 3, 0},
};

/* Bytes of each group; time of all ranges of each name, by the group's first part. */
struct by_range {
    struct nvt_groups groups;
    struct bytes {
        double sent, received;
    } * bytes;
    uint32_t capacity;
    double *ranges_ns;
    uint32_t range_capacity;
};

/* Room for item `index` of an array, zeroed. 0 or -1. */
static int make_room(void *array, uint32_t index, uint32_t *capacity, size_t width)
{
    void **items = array;
    if (index < *capacity)
        return 0;
    size_t wanted = ((size_t)index + 1) * 2;
    char *grown = realloc(*items, wanted * width);
    if (!grown)
        return -1;
    memset(grown + *capacity * width, 0, (wanted - *capacity) * width);
    *items = grown;
    *capacity = (uint32_t)wanted;
    return 0;
}

static void add_call(struct by_range *all, const struct nvt_trace *trace, uint32_t call,
                     uint32_t range_name)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const uint32_t key[] = {range_name, nvt_groups_string(&all->groups, calls->name[call])};
    uint32_t group = nvt_groups_key(&all->groups, key, 2);
    if (group == NVT_NONE || make_room(&all->bytes, group, &all->capacity, sizeof(*all->bytes))) {
        all->groups.failed = 1;
        return;
    }
    nvt_groups_add(&all->groups, group, calls->end[call] - calls->start[call]);
    if (calls->sent[call] != UINT64_MAX)
        all->bytes[group].sent += (double)calls->sent[call];
    if (calls->received[call] != UINT64_MAX)
        all->bytes[group].received += (double)calls->received[call];
}

/* Push/pop ranges of each thread by start, and the nesting across domains. */
struct nest {
    struct nvt_buckets threads;
    uint32_t *parent;
};

/* Whether no range of the same name is around it. */
static int is_outermost(const struct nest *nest, const struct nvt_ranges *ranges, uint32_t row)
{
    uint32_t depth = 0;
    for (uint32_t at = nest->parent[row]; at != NVT_NONE && depth++ < NVT_NESTING_DEPTH;
         at = nest->parent[at])
        if (ranges->name[at] == ranges->name[row] && ranges->domain[at] == ranges->domain[row])
            return 0;
    return 1;
}

static int make_nest(struct nest *nest, const struct nvt_trace *trace, struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *owner = malloc(((size_t)ranges->count + 1) * sizeof(*owner));
    for (uint32_t i = 0; owner && i < ranges->count; i++)
        owner[i] = ranges->style[i] == NVT_PUSH_POP ? ranges->thread[i] : trace->threads.count;
    int status =
        owner ? nvt_buckets_make(&nest->threads, owner, trace->threads.count, NULL, ranges->count)
              : -1;
    free(owner);
    if (status)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    nest->parent = nvt_nest_threads(trace, err);
    return nest->parent ? 0 : -1;
}

static int collect_ranges(struct by_range *all, const struct nvt_trace *trace,
                          struct nvt_error *err)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nest nest = {{0}, NULL};
    int status = make_nest(&nest, trace, err);
    nvt_groups_trace(&all->groups, trace);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint32_t name = nvt_groups_range(&all->groups, i);
        if (ranges->style[i] != NVT_PUSH_POP || !is_outermost(&nest, ranges, i))
            continue;
        if (make_room(&all->ranges_ns, name, &all->range_capacity, sizeof(*all->ranges_ns)))
            all->groups.failed = 1;
        else
            all->ranges_ns[name] += (double)(ranges->end[i] - ranges->start[i]);
    }
    for (uint32_t i = 0; i < calls->count && !status; i++) {
        const uint32_t *first = nest.threads.first;
        uint32_t thread = calls->thread[i], depth = 0;
        uint32_t at = nvt_buckets_behind(&nest.threads, thread, ranges->start, calls->start[i]);
        uint32_t row = at > first[thread] ? nest.threads.rows[at - 1] : NVT_NONE;
        for (int is_held = 0; row != NVT_NONE || !is_held; row = nest.parent[row]) {
            if (row == NVT_NONE || depth++ > NVT_NESTING_DEPTH) {
                if (!is_held)
                    add_call(all, trace, i, nvt_groups_text(&all->groups, ""));
                break;
            }
            if (ranges->end[row] < calls->end[i] || !is_outermost(&nest, ranges, row))
                continue;
            add_call(all, trace, i, nvt_groups_range(&all->groups, row));
            is_held = 1;
        }
    }
    nvt_buckets_free(&nest.threads);
    free(nest.parent);
    return status;
}

static void put_ranges(struct nvt_table *table, struct by_range *all)
{
    for (uint32_t i = 0; i < all->groups.count; i++) {
        const struct nvt_group *group = &all->groups.groups[i];
        struct nvt_summary summary = nvt_groups_summary(&all->groups, i);
        uint32_t range = group->key[0];
        double ns = range < all->range_capacity ? all->ranges_ns[range] : 0;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, R_RANGE, nvt_groups_name(&all->groups, range));
        nvt_table_set_text(table, row, R_CALL, nvt_groups_name(&all->groups, group->key[1]));
        nvt_table_set_int(table, row, R_COUNT, (int64_t)group->count);
        nvt_table_set_int(table, row, R_TOTAL, group->total);
        nvt_put_summary(table, row, R_AVG, &summary, 1);
        if (ns > 0)
            nvt_table_set_real(table, row, R_SHARE, 100 * (double)group->total / ns);
        nvt_table_set_real(table, row, R_SENT, all->bytes[i].sent / MEGABYTE);
        nvt_table_set_real(table, row, R_RECEIVED, all->bytes[i].received / MEGABYTE);
    }
    nvt_table_sort(table, R_CALL, 0);
    nvt_table_sort(table, R_RANGE, 0);
    nvt_table_sort(table, R_TOTAL, 1);
}

static int make_ranges(struct nvt_report_input *input, struct nvt_tables *tables,
                       struct nvt_error *err)
{
    struct by_range all = {0};
    int status = 0;
    note_nothing(input);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = collect_ranges(&all, input->traces[i].trace, err);
    if (!status)
        status = nvt_groups_finish(&all.groups, err);
    struct nvt_table *table =
        status ? NULL
               : nvt_report_table(&nvt_report_nvtx_mpi_sum, input, "MPI calls by range", err);
    if (table) {
        put_ranges(table, &all);
        status = nvt_report_add(tables, table, err);
    } else {
        status = -1;
    }
    nvt_groups_free(&all.groups);
    free(all.bytes);
    free(all.ranges_ns);
    return status;
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

static int make_rank_table(struct nvt_report_input *input, struct nvt_tables *tables,
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
