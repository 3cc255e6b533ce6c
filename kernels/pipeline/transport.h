/*
 * Transports between partitions that live in different processes. A transport is a shared library with one
 * entry, nvt_transport_open; messages between partitions of one process need none.
 */
#ifndef NVT_TRANSPORT_H
#define NVT_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A channel carries what one part sends to the next, or gives back to the one before, in the order in which
 * it is sent.
 *
 * Partition p lives in the process of rank p mod size. All calls may come from any thread of the process.
 * Those with err return 0, or -1 with err; a rank that has ended, or cannot go on, is such an error, told
 * within seconds.
 */
struct nvt_channel {
    int from, to; /* ranks */
};

/* Why a rank cannot go on. */
struct nvt_rank_failure {
    uint64_t bytes; /* of memory that it could not have, 0: another reason */
    int rank;
    char text[236];
};

struct nvt_transport {
    int rank, size;
    void *state;
    /* Begin to send; `data` is malloc'ed and becomes the transport's. */
    int (*send)(struct nvt_transport *, int to, int tag, void *data, size_t bytes,
                struct nvt_error *err);
    /* Wait for a message into `data`, until *abandoned is set by another thread (then -1). */
    int (*receive)(struct nvt_transport *, int from, int tag, void *data, size_t bytes,
                   const _Atomic int *abandoned, struct nvt_error *err);
    /* values[i] becomes the sum over all ranks. All ranks call it, and wait for each other. */
    int (*sum)(struct nvt_transport *, double *values, int count, struct nvt_error *err);
    /* Rank 0's clock less this process's, and the half of the shortest round trip that it was measured
     * with, an upper bound of its error. All ranks call it. */
    int (*clock_offset)(struct nvt_transport *, int64_t *offset_ns, int64_t *error_ns,
                        struct nvt_error *err);
    /*
     * Messages that stay on the device, in the order of the device's stream that is given; all NULL where
     * messages go by the host. Channels are opened once, by all ranks; both ends being one rank, they need
     * no opening, and copy_device takes their messages. What is sent must stay until the stream is through.
     */
    int (*open_channels)(struct nvt_transport *, const struct nvt_channel *channels, int count,
                         struct nvt_error *err);
    int (*send_device)(struct nvt_transport *, int channel, const void *data, size_t bytes,
                       void *stream, struct nvt_error *err);
    int (*receive_device)(struct nvt_transport *, int channel, void *data, size_t bytes,
                          void *stream, struct nvt_error *err);
    int (*copy_device)(struct nvt_transport *, void *to, const void *from, size_t bytes,
                       void *stream, struct nvt_error *err);
    /* This rank cannot go on, for want of so many bytes of memory or (0) for another reason: tell the others, whose
     * calls fail from then on, and let nothing on the device wait any longer for a message. From any thread, any number of
     * times: the first reason counts. */
    void (*abandon)(struct nvt_transport *, uint64_t bytes, const char *text);
    /* Whether another rank has told that it cannot go on, and then why. */
    int (*told)(struct nvt_transport *, struct nvt_rank_failure *failure);
    /* When the device is done: -1 with err where that is because messages were abandoned. */
    int (*check)(struct nvt_transport *, struct nvt_error *err);
    /* All ranks call it, and wait for each other; one that does not come is waited for a minute at most. */
    void (*close)(struct nvt_transport *);
};

/* 0, or -1 with err. Once in a process. */
typedef int nvt_transport_open_function(struct nvt_transport *transport, struct nvt_error *err);

#ifdef __cplusplus
}
#endif
#endif
