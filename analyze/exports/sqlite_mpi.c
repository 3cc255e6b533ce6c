/*
 * Calls of MPI in nsys's schema, and the ranks of processes. Only where there are some, as nsys takes the tables for a sign
 * that MPI was traced. A table of messages has one size: of a call that sends and receives that which it sends.
 */
#ifdef HAVE_SQLITE
#include "sqlite.h"

static const char tables[] =
    "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
    "CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER,"
    " requestHandle INTEGER);"
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER,"
    " requestHandle INTEGER);"
    "CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER, requestHandle INTEGER);"
    "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,"
    " textId INTEGER);";

static struct nvt_cell rank_of(int32_t rank)
{
    return NVT_IF(rank != NVT_MPI_NONE, rank);
}

static struct nvt_cell bytes_of(uint64_t bytes)
{
    return NVT_IF(bytes != UINT64_MAX, bytes);
}

static int put_message(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    uint64_t sent = calls->sent[call];
    return nvt_sql_put(sql, calls->communicator[call], rank_of(calls->tag[call]),
                       rank_of(calls->peer[call]),
                       bytes_of(sent == UINT64_MAX ? calls->received[call] : sent), NVT_NULL);
}

static int put_collective(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    return nvt_sql_put(sql, calls->communicator[call], rank_of(calls->peer[call]),
                       bytes_of(calls->sent[call]), bytes_of(calls->received[call]), NVT_NULL);
}

static int put_sqlite_mpi_call(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    const int has_ended = !(calls->flags[call] & NVT_RANGE_UNCLOSED);
    nvt_sql_more(sql, calls->start[call], NVT_IF(has_ended, calls->end[call]),
                 nvt_sql_thread(sql, calls->thread[call]), nvt_sql_string(sql, calls->name[call]));
    return calls->kind[call] == NVT_MPI_P2P          ? put_message(sql, call)
           : calls->kind[call] == NVT_MPI_COLLECTIVE ? put_collective(sql, call)
           : calls->kind[call] == NVT_MPI_WAIT       ? nvt_sql_put(sql, NVT_NULL)
                                                     : nvt_sql_row(sql);
}

static int put_sqlite_mpi_calls(struct nvt_sql *sql)
{
    static const struct {
        const char *table;
        int columns;
    } kinds[NVT_MPI_KINDS] = {[NVT_MPI_P2P] = {"MPI_P2P_EVENTS", 9},
                              [NVT_MPI_COLLECTIVE] = {"MPI_COLLECTIVES_EVENTS", 9},
                              [NVT_MPI_WAIT] = {"MPI_START_WAIT_EVENTS", 5},
                              [NVT_MPI_OTHER] = {"MPI_OTHER_EVENTS", 4}};
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    for (unsigned kind = 0; kind < NVT_MPI_KINDS; kind++) {
        if (nvt_sql_prepare(sql, kinds[kind].table, kinds[kind].columns))
            return -1;
        for (uint32_t i = 0; i < calls->count; i++)
            if (calls->kind[i] == kind && put_sqlite_mpi_call(sql, i))
                return -1;
    }
    return 0;
}

/* A thread of the process stands for it: the first that calls MPI. */
static int put_sqlite_mpi_ranks(struct nvt_sql *sql)
{
    const struct nvt_trace *trace = sql->trace;
    if (nvt_sql_prepare(sql, "MPI_RANKS", 2))
        return -1;
    for (uint32_t process = 0; process < trace->processes.count; process++)
        for (uint32_t i = 0; i < trace->mpi_calls.count; i++) {
            uint32_t thread = trace->mpi_calls.thread[i];
            if (trace->threads.process[thread] != process ||
                trace->processes.rank[process] == NVT_NONE)
                continue;
            if (nvt_sql_put(sql, nvt_sql_thread(sql, thread), trace->processes.rank[process]))
                return -1;
            break;
        }
    return 0;
}

int nvt_sql_mpi(struct nvt_sql *sql)
{
    if (!sql->trace->mpi_calls.count)
        return 0;
    return nvt_sql_run(sql, tables) || put_sqlite_mpi_calls(sql) || put_sqlite_mpi_ranks(sql) ? -1
                                                                                              : 0;
}
#endif
