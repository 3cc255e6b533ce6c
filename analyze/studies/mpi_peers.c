#include "mpi_peers.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/mpi_payload.h"

/* A communicator of a process. */
struct communicator {
    uint32_t process, number;
    uint64_t handle;
    uint32_t next; /* of the same key */
};

struct pairs {
    struct communicator *communicators;
    struct nvt_mpi_peer *items;
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

static struct nvt_mpi_peer *pair_of(struct pairs *pairs, uint32_t communicator, int32_t peer)
{
    struct nvt_mpi_peer *pair =
        nvt_map_item(&pairs->rows, (uint64_t)communicator << 32 | (uint32_t)peer, &pairs->items,
                     &pairs->count, sizeof(*pair));
    if (pair) {
        pair->process = pairs->communicators[communicator].process;
        pair->communicator = pairs->communicators[communicator].number;
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
    struct nvt_mpi_peer *pair =
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

struct nvt_mpi_peer *nvt_mpi_peers(const struct nvt_trace *trace, uint32_t *count)
{
    struct pairs pairs = {.numbers =
                              calloc((size_t)trace->processes.count + 1, sizeof(*pairs.numbers))};
    int failed = !pairs.numbers;
    for (uint32_t i = 0; i < trace->mpi_calls.count && !failed; i++)
        failed = add_call(&pairs, trace, i);
    free(pairs.communicators);
    free(pairs.numbers);
    nvt_map_free(&pairs.keys);
    nvt_map_free(&pairs.rows);
    if (failed) {
        free(pairs.items);
        return NULL;
    }
    *count = pairs.count;
    return pairs.items ? pairs.items : malloc(1);
}
