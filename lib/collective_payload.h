/*
 * What a collective of torch.distributed says of itself, as the payload of its range: between the library that makes ranges of
 * PyTorch (collectors/pytorch/ranges.c) and the reader of traces. Ranges are of the domain NVT_COLLECTIVE_DOMAIN, start/end, and
 * called all_reduce, all_gather, … or wait.
 */
#ifndef NVT_COLLECTIVE_PAYLOAD_H
#define NVT_COLLECTIVE_PAYLOAD_H

#include <stdint.h>

#define NVT_COLLECTIVE_DOMAIN "PyTorch"
#define NVT_COLLECTIVE_SCHEMA "nvtally: collective"

enum nvt_collective_flags {
    NVT_COLLECTIVE_BLOCKS = 1, /* the thread goes on when it is done */
    /* a backward pass launched it, which waits for all of these at its end */
    NVT_COLLECTIVE_BACKWARD = 2,
    NVT_COLLECTIVE_WAIT = 4, /* it is a wait for one that was launched before */
};

struct nvt_collective_said {
    char group[40];    /* name of the group, the same on all of its ranks; cut, NUL-terminated */
    char type[16];     /* of an element, "float32" */
    uint64_t sequence; /* which of its group's it is, from 0 on */
    uint64_t given, taken; /* bytes of the rank's own tensors */
    int32_t ranks, rank;   /* of the group, and which of them it is */
    int32_t world, world_rank;
    int32_t root; /* rank of the group, or -1 */
    uint32_t flags;
};

#endif
