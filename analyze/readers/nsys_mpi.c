/*
 * Calls of MPI (nsys profile --trace=mpi), and the ranks of processes. nsys has a row of a wait for each request that is
 * waited for, all with the times of the one call, and two of one that sends to one rank and gets from another: they are read
 * as one.
 */
#ifdef HAVE_SQLITE
#include <string.h>

#include "../../lib/count_of.h"
#include "nsys.h"

enum { M_START, M_END, M_TID, M_NAME, M_COMMUNICATOR, M_SIZE, M_PEER, M_LAST };
enum { P_TAG = M_LAST };      /* of a message */
enum { C_RECEIVED = M_LAST }; /* of a collective */

static uint64_t optional_size(struct nvt_nsys_table *table, int column)
{
    return nvt_nsys_is_null(table, column) ? UINT64_MAX : nvt_nsys_size(table, column);
}

static int32_t optional_rank(struct nvt_nsys_table *table, int column)
{
    int64_t number = nvt_nsys_int(table, column, NVT_MPI_NONE);
    return number < INT32_MIN || number > INT32_MAX ? NVT_MPI_NONE : (int32_t)number;
}

static int is_same(const struct nvt_mpi_calls *calls, uint32_t row, const struct nvt_mpi_call *call)
{
    return calls->start[row] == call->start && calls->end[row] == call->end &&
           calls->thread[row] == call->thread && calls->name[row] == call->name;
}

static int add_call(struct nvt_nsys *reader, struct nvt_nsys_table *table,
                    struct nvt_mpi_call *call)
{
    const struct nvt_mpi_calls *calls = &reader->trace->mpi_calls;
    call->start = nvt_nsys_time(table, M_START);
    call->thread = nvt_nsys_thread(reader, table, M_TID);
    call->name = nvt_nsys_name(reader, table, M_NAME);
    if (nvt_nsys_is_null(table, M_END))
        call->flags = NVT_RANGE_UNCLOSED;
    else
        call->end = nvt_nsys_time(table, M_END);
    if (call->thread == NVT_NONE || call->name == NVT_NO_STRING)
        return -1;
    if (!call->flags && nvt_nsys_is_untimed(call->start, call->end))
        return 1;
    if (calls->count && is_same(calls, calls->count - 1, call))
        return 0;
    return nvt_mpi_call_add(reader->trace, call) == NVT_NONE ? -1 : 0;
}

/* Whether a row is the second one of a call that sends to one rank and gets from another: the first, of what it sends,
 * lasts no time. */
static int is_second(const struct nvt_nsys *reader, struct nvt_nsys_table *table, uint32_t name)
{
    const struct nvt_mpi_calls *calls = &reader->trace->mpi_calls;
    uint32_t last = calls->count - 1;
    return calls->count && calls->kind[last] == NVT_MPI_P2P && calls->name[last] == name &&
           calls->end[last] == calls->start[last] && !calls->flags[last] &&
           calls->start[last] == nvt_nsys_time(table, M_START) &&
           strstr(nvt_name(reader->trace, name), "Sendrecv");
}

/* What receives has the bytes that it got. */
static int message(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_mpi_call call = {.kind = NVT_MPI_P2P,
                                .communicator = (uint64_t)nvt_nsys_int(table, M_COMMUNICATOR, 0),
                                .peer = optional_rank(table, M_PEER),
                                .tag = optional_rank(table, P_TAG),
                                .sent = optional_size(table, M_SIZE),
                                .received = UINT64_MAX};
    uint32_t name = nvt_nsys_name(reader, table, M_NAME), last = reader->trace->mpi_calls.count - 1;
    if (name != NVT_NO_STRING && is_second(reader, table, name) &&
        reader->trace->mpi_calls.thread[last] == nvt_nsys_thread(reader, table, M_TID)) {
        if (nvt_nsys_is_null(table, M_END))
            reader->trace->mpi_calls.flags[last] = NVT_RANGE_UNCLOSED;
        else if (nvt_nsys_is_untimed(nvt_nsys_time(table, M_START), nvt_nsys_time(table, M_END)))
            return 1;
        else
            reader->trace->mpi_calls.end[last] = nvt_nsys_time(table, M_END);
        reader->trace->mpi_calls.received[last] = call.sent;
        return 0;
    }
    if (name != NVT_NO_STRING && strcasestr(nvt_name(reader->trace, name), "recv") &&
        !strcasestr(nvt_name(reader->trace, name), "send")) {
        call.received = call.sent;
        call.sent = UINT64_MAX;
    }
    return add_call(reader, table, &call);
}

static int collective(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_mpi_call call = {.kind = NVT_MPI_COLLECTIVE,
                                .communicator = (uint64_t)nvt_nsys_int(table, M_COMMUNICATOR, 0),
                                .peer = optional_rank(table, M_PEER),
                                .tag = NVT_MPI_NONE,
                                .sent = optional_size(table, M_SIZE),
                                .received = optional_size(table, C_RECEIVED)};
    return add_call(reader, table, &call);
}

static int add_other(struct nvt_nsys *reader, struct nvt_nsys_table *table, uint8_t kind)
{
    struct nvt_mpi_call call = {.kind = kind,
                                .peer = NVT_MPI_NONE,
                                .tag = NVT_MPI_NONE,
                                .sent = UINT64_MAX,
                                .received = UINT64_MAX};
    return add_call(reader, table, &call);
}

static int wait_call(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return add_other(reader, table, NVT_MPI_WAIT);
}

static int other(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    return add_other(reader, table, NVT_MPI_OTHER);
}

static int rank(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t process = nvt_nsys_process(reader, table, 0),
             number = nvt_nsys_u32(table, 1, NVT_NONE);
    if (process == NVT_NONE)
        return -1;
    reader->trace->processes.rank[process] = number;
    return 0;
}

/* A call that never ended lasts until the last that is known of its thread. */
static void close_calls(struct nvt_trace *trace)
{
    struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->flags[i] & NVT_RANGE_UNCLOSED)
            calls->end[i] = trace->threads.last_ns[calls->thread[i]];
}

int nvt_nsys_read_mpi(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec tables[] = {
        {"MPI_P2P_EVENTS",
         NULL,
         4,
         {"start", "end", "globalTid", "textId", "commHandle", "size", "remoteRank", "tag"},
         message},
        {"MPI_COLLECTIVES_EVENTS",
         NULL,
         4,
         {"start", "end", "globalTid", "textId", "commHandle", "size", "rootRank", "recvSize"},
         collective},
        {"MPI_START_WAIT_EVENTS", NULL, 4, {"start", "end", "globalTid", "textId"}, wait_call},
        {"MPI_OTHER_EVENTS", NULL, 4, {"start", "end", "globalTid", "textId"}, other},
        {"MPI_RANKS", NULL, 2, {"globalTid", "rank"}, rank},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        if (nvt_nsys_read(reader, &tables[i]))
            return -1;
    close_calls(reader->trace);
    return 0;
}
#endif
