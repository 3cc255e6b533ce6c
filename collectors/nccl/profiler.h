/*
 * A profiler plugin of NCCL (NCCL_PROFILER_PLUGIN): each collective and message becomes a start/end range of NVTX, and so does what
 * proxy threads move over the network for it (lib/nccl_payload.h). As ranges they survive whatever ends the process, and one that
 * hangs stays open. versions.c has the structs of functions that NCCL looks for.
 *
 * NCCL starts a collective on the thread that launches it and stops it right behind the launch. From version 4 of the interface on it
 * says how many channels it runs on, and each of them when it begins and ends on the device, as a proxy thread sees it: the range
 * ends with the last. Before, it ends with the launch.
 *
 * Handles are numbers, not addresses: NCCL may use one when what it stood for is over.
 */
#ifndef NVT_NCCL_PROFILER_H
#define NVT_NCCL_PROFILER_H

#include <stdint.h>
#include <sys/types.h>

/* Kinds of events, as NCCL numbers them. */
enum nvt_nccl_kind {
    NVT_NCCL_COLLECTIVE = 1 << 1,
    NVT_NCCL_MESSAGE = 1 << 2,
    NVT_NCCL_PROXY = 1 << 3,
    NVT_NCCL_CHANNEL = 1 << 6
};

/* A collective or a message, as far as it is known. Texts are NCCL's, and may be NULL. */
struct nvt_nccl_task {
    const char *function, *type, *algorithm, *protocol;
    const char *name;      /* of the communicator, where the event has it */
    uint64_t communicator; /* the same */
    uint64_t count;        /* elements */
    int peer;              /* or root */
    unsigned channels;     /* 0: it ends with its launch */
};

struct nvt_nccl_proxy {
    pid_t process; /* whose operation it is */
    int channel, peer, steps, chunk, sends;
};

/* A communicator has come up, is gone. Returns its context, which lasts until it is closed; NULL: nobody listens, or out of memory. */
void *nvt_nccl_open(const char *name, uint64_t communicator, int ranks, int rank);
void nvt_nccl_close(void *context);

/* Begin a collective or (is_message) a message of a context. Returns its handle; NULL: it is not recorded. */
void *nvt_nccl_begin(void *context, const struct nvt_nccl_task *task, int is_message);
/* Begin what a proxy thread moves for it, what one of its channels does. */
void *nvt_nccl_begin_proxy(void *parent, const struct nvt_nccl_proxy *proxy);
void *nvt_nccl_begin_channel(void *parent);
/* End any of them. */
void nvt_nccl_end(void *handle);

#endif
