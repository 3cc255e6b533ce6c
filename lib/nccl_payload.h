/*
 * What NCCL says of a collective or a message to its profiler plugin, as the payload of a range: between the plugin
 * (collectors/nccl/) and the reader of traces. Ranges are of the domain NVT_NCCL_DOMAIN, start/end, and called as NCCL calls the
 * function: AllReduce, AllGather, Send, …; or "network send" and "network recv", what a proxy thread moves of one. A mark of that domain,
 * NVT_NCCL_BEGINS, says when a collective's first channel began on the device: its range begins with its launch.
 */
#ifndef NVT_NCCL_PAYLOAD_H
#define NVT_NCCL_PAYLOAD_H

#include <stdint.h>

#define NVT_NCCL_DOMAIN  "NCCL profiler"
#define NVT_NCCL_SCHEMA  "nvtally: nccl"
#define NVT_NCCL_NETWORK "nvtally: nccl network"
#define NVT_NCCL_BEGUN   "nvtally: nccl begun"

#define NVT_NCCL_BEGINS "begins on the device"

struct nvt_nccl_said {
    /* the name that the program gave the communicator, else "NCCL" and its hash; cut, NUL-terminated */
    char group[40];
    char type[16];                    /* of an element, "float32" */
    char algorithm[16], protocol[16]; /* "" unknown */
    uint64_t communicator;            /* its hash, which all its ranks have; 0 unknown */
    uint64_t sequence;                /* which of its communicator's collectives it is, from 0 on */
    uint64_t given, taken;            /* bytes of the rank's own buffers; UINT64_MAX unknown */
    int32_t ranks, rank; /* of the communicator, and which of them it is; 0, -1 unknown */
    int32_t peer;        /* of a message the other rank, of a collective its root */
    uint32_t channels;   /* on which it runs; 0 unknown */
    /* whether the range ends when the last channel has, or (0) with the launch */
    uint32_t until_done;
};

/* Which collective begins on the device. */
struct nvt_nccl_begun {
    uint64_t communicator, sequence;
};

/* What a proxy thread moves for one, on one channel. */
struct nvt_nccl_moved {
    uint64_t communicator, sequence; /* whose it is; UINT64_MAX: another process's, or unknown */
    int32_t channel, peer, steps;    /* transfers */
    int32_t chunk;                   /* bytes of one at most */
};

#endif
