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

static void put_rank(struct nvt_sql *sql, int32_t rank)
{
    if (rank == NVT_MPI_NONE)
        nvt_sql_null(sql);
    else
        nvt_sql_int(sql, rank);
}

static void put_start(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    nvt_sql_int(sql, calls->start[call]);
    if (calls->flags[call] & NVT_RANGE_UNCLOSED)
        nvt_sql_null(sql);
    else
        nvt_sql_int(sql, calls->end[call]);
    nvt_sql_thread(sql, calls->thread[call]);
    nvt_sql_string(sql, calls->name[call]);
}

static void put_message(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    uint64_t sent = calls->sent[call];
    nvt_sql_int(sql, (int64_t)calls->communicator[call]);
    put_rank(sql, calls->tag[call]);
    put_rank(sql, calls->peer[call]);
    nvt_sql_bytes(sql, sent == UINT64_MAX ? calls->received[call] : sent);
    nvt_sql_null(sql);
}

static void put_collective(struct nvt_sql *sql, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    nvt_sql_int(sql, (int64_t)calls->communicator[call]);
    put_rank(sql, calls->peer[call]);
    nvt_sql_bytes(sql, calls->sent[call]);
    nvt_sql_bytes(sql, calls->received[call]);
    nvt_sql_null(sql);
}

static void put_wait(struct nvt_sql *sql, uint32_t call)
{
    (void)call;
    nvt_sql_null(sql);
}

static int put_sqlite_mpi_calls(struct nvt_sql *sql)
{
    static const struct {
        const char *table;
        int columns;
        void (*put)(struct nvt_sql *sql, uint32_t call);
    } kinds[NVT_MPI_KINDS] = {[NVT_MPI_P2P] = {"MPI_P2P_EVENTS", 9, put_message},
                              [NVT_MPI_COLLECTIVE] = {"MPI_COLLECTIVES_EVENTS", 9, put_collective},
                              [NVT_MPI_WAIT] = {"MPI_START_WAIT_EVENTS", 5, put_wait},
                              [NVT_MPI_OTHER] = {"MPI_OTHER_EVENTS", 4, NULL}};
    const struct nvt_mpi_calls *calls = &sql->trace->mpi_calls;
    for (unsigned kind = 0; kind < NVT_MPI_KINDS; kind++) {
        if (nvt_sql_prepare(sql, kinds[kind].table, kinds[kind].columns))
            return -1;
        for (uint32_t i = 0; i < calls->count; i++) {
            if (calls->kind[i] != kind)
                continue;
            put_start(sql, i);
            if (kinds[kind].put)
                kinds[kind].put(sql, i);
            if (nvt_sql_row(sql))
                return -1;
        }
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
            nvt_sql_thread(sql, thread);
            nvt_sql_int(sql, trace->processes.rank[process]);
            if (nvt_sql_row(sql))
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
