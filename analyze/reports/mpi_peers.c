/*
 * mpi_peers: who sends how much to whom, a row for each rank and each rank that its messages go to or come from
 * (studies/mpi_peers.h), so that each communicator has rows of its own. A megabyte is 10^6 bytes.
 */
#include <stdlib.h>

#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../studies/mpi_peers.h"
#include "report.h"

static void put_peer(struct nvt_table *table, const struct nvt_input_trace *from,
                     const struct nvt_mpi_peer *peer)
{
    const struct nvt_trace *trace = from->trace;
    const uint32_t rank = nvt_input_rank(from, peer->process);
    nvt_table_put(table, NVT_IF(rank != NVT_NONE, rank), nvt_file_name(trace->path),
                  trace->processes.pid[peer->process], peer->communicator,
                  NVT_IF(peer->peer >= 0, peer->peer), peer->sends, peer->sent / NVT_MEGABYTE,
                  peer->receives, peer->received / NVT_MEGABYTE, peer->ns);
}

static int put_mpi_peers(struct nvt_table *table, const struct nvt_trace *trace,
                         const struct nvt_making *making)
{
    uint32_t count = 0;
    struct nvt_mpi_peer *peers = nvt_mpi_peers(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        put_peer(table, making->from, &peers[i]);
    free(peers);
    return peers ? 0 : -1;
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
    .over_traces = put_mpi_peers,
};
