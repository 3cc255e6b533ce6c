/*
 * mpi_peers: who sends how much to whom, a row for each rank and each rank that its messages go to or come from.
 *
 * Ranks are those of the call's communicator, so that each communicator has rows of its own: its number is that of its
 * first message in the process. The one of number 1 is MPI_COMM_WORLD in most programs, and ranks are then those of the job.
 * What a call with two other ranks (MPI_Sendrecv) gets is left out: the other one is not recorded. Receives count where they
 * were asked for, with room for as much; those of any rank have no peer. A megabyte is 10^6 bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/mpi_payload.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/text.h"
#include "../input/ranks.h"
#include "report.h"

/* A communicator of a process. */
struct communicator {
    uint32_t process, number;
    uint64_t handle;
    uint32_t next; /* of the same key */
};

/* What a rank has to do with another. */
struct pair {
    uint32_t communicator; /* row of communicators */
    int32_t peer;
    uint64_t sends, receives;
    double sent, received;
    int64_t ns;
};

struct pairs {
    struct communicator *communicators;
    struct pair *items;
    uint32_t communicator_count, count;
    uint32_t *numbers;   /* of each process: how many communicators it has so far */
    struct nvt_map keys; /* of handle and process -> the last of them */
    struct nvt_map rows; /* communicator << 32 | peer -> item */
};

/* NVT_NONE when out of memory. */
static uint32_t communicator_of(struct pairs *pairs, uint32_t process, uint64_t handle)
{
    uint32_t *last = nvt_map_at(&pairs->keys, handle * 0x9e3779b97f4a7c15u + process);
    if (!last)
        return NVT_NONE;
    for (uint32_t i = *last; i != NVT_MAP_NONE; i = pairs->communicators[i].next)
        if (pairs->communicators[i].process == process && pairs->communicators[i].handle == handle)
            return i;
    if (nvt_grow(&pairs->communicators, pairs->communicator_count, sizeof(*pairs->communicators)))
        return NVT_NONE;
    pairs->communicators[pairs->communicator_count] =
        (struct communicator){process, ++pairs->numbers[process], handle, *last};
    *last = pairs->communicator_count;
    return pairs->communicator_count++;
}

static struct pair *pair_of(struct pairs *pairs, uint32_t communicator, int32_t peer)
{
    struct pair *pair = nvt_map_item(&pairs->rows, (uint64_t)communicator << 32 | (uint32_t)peer,
                                     &pairs->items, &pairs->count, sizeof(*pair));
    if (pair) {
        pair->communicator = communicator;
        pair->peer = peer;
    }
    return pair;
}

/* What gets, and does not give: by its name where bytes are not known. */
static int receives(const char *name)
{
    return (strcasestr(name, "recv") && !strcasestr(name, "send")) || !strcmp(name, "MPI_Get") ||
           !strcmp(name, "MPI_Rget");
}

/* What waits for a message, and moves none. */
static int only_looks(const char *name)
{
    return strcasestr(name, "probe") != NULL;
}

static int add_call(struct pairs *pairs, const struct nvt_trace *trace, uint32_t call)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    const char *name = nvt_name(trace, calls->name[call]);
    uint32_t process = trace->threads.process[calls->thread[call]];
    if (calls->kind[call] != NVT_MPI_P2P || calls->peer[call] == NVT_MPI_NONE ||
        calls->peer[call] == NVT_MPI_NOBODY)
        return 0;
    uint32_t communicator = communicator_of(pairs, process, calls->communicator[call]);
    struct pair *pair =
        communicator == NVT_NONE ? NULL : pair_of(pairs, communicator, calls->peer[call]);
    if (!pair)
        return -1;
    pair->ns += calls->end[call] - calls->start[call];
    if (only_looks(name))
        return 0;
    if (receives(name)) {
        pair->receives++;
        pair->received += calls->received[call] == UINT64_MAX ? 0 : (double)calls->received[call];
    } else {
        pair->sends++;
        pair->sent += calls->sent[call] == UINT64_MAX ? 0 : (double)calls->sent[call];
    }
    return 0;
}

static void put_pair(struct nvt_table *table, const struct nvt_input_trace *from,
                     const struct pairs *pairs, const struct pair *pair)
{
    const struct communicator *communicator = &pairs->communicators[pair->communicator];
    const struct nvt_trace *trace = from->trace;
    uint32_t rank = nvt_input_rank(from, communicator->process);
    nvt_table_put(table, NVT_IF(rank != NVT_NONE, rank), nvt_file_name(trace->path),
                  trace->processes.pid[communicator->process], communicator->number,
                  NVT_IF(pair->peer >= 0, pair->peer), pair->sends, pair->sent / NVT_MEGABYTE,
                  pair->receives, pair->received / NVT_MEGABYTE, pair->ns);
}

static int put_mpi_peers_trace(struct nvt_table *table, const struct nvt_trace *trace,
                               const struct nvt_making *making)
{
    struct pairs pairs = {.numbers =
                              calloc((size_t)trace->processes.count + 1, sizeof(*pairs.numbers))};
    int status = pairs.numbers ? 0 : -1;
    for (uint32_t i = 0; i < trace->mpi_calls.count && !status; i++)
        status = add_call(&pairs, trace, i);
    for (uint32_t i = 0; i < pairs.count && !status; i++)
        put_pair(table, making->from, &pairs, &pairs.items[i]);
    free(pairs.communicators);
    free(pairs.items);
    free(pairs.numbers);
    nvt_map_free(&pairs.keys);
    nvt_map_free(&pairs.rows);
    return status;
}

const struct nvt_report nvt_report_mpi_peers = {
    .name = "mpi_peers",
    .about = "MPI messages and bytes by sender and receiver",
    .columns = {{"Rank", NVT_IDS},
                {"File", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Communicator", NVT_IDS},
                {"Peer", NVT_IDS},
                {"Sends", NVT_COUNTS},
                {"Sent (MB)", NVT_MB},
                {"Receives", NVT_COUNTS},
                {"Received (MB)", NVT_MB},
                {"Total Time (ns)", NVT_NS}},
    .title = "MPI messages by rank and peer",
    .order = {"Rank", "Communicator", "Peer"},
    .nothing = "no MPI messages in the input (record --trace mpi, nsys profile --trace=mpi)",
    .over_traces = put_mpi_peers_trace,
};
