/*
 * Of device records that are cut off, those that later ones are understood by: devices, contexts, streams and
 * their names, the last moment on CUPTI's clock, records lost, problems, until when records are complete, whether a
 * capture is open; allocations that have not been released, and the last record of each memory pool.
 */
#ifndef NVT_CUT_STATE_DEVICE_H
#define NVT_CUT_STATE_DEVICE_H

#include "../lib/device_rows.h"
#include "../lib/map.h"
#include "cut_state.h"

/* A row with the names it has, as the file's string ids. */
struct nvt_carried_row {
    struct nvt_device_row row;
    int is_live;    /* an allocation that has not been released */
    int is_of_pool; /* the last record of its pool */
};

/* Where a capture begins or ends, in ticks. */
struct nvt_carried_edge {
    uint64_t ticks, begins;
};

/* Of a process. Zero-initialise; release with nvt_cut_state_device_free. */
struct nvt_cut_state_device {
    struct nvt_carried_row *rows; /* one that is of no use any more has kind 0 */
    uint32_t count, unused;
    struct nvt_map live;                          /* address -> row */
    struct nvt_map pools;                         /* address of a pool -> row */
    struct nvt_device_row clock, delivered, lost; /* kind 0: none */
    uint64_t delivered_at;                        /* ticks */
    struct nvt_buffer edges;                      /* struct nvt_carried_edge, of captures */
    uint64_t last;                                /* ticks of the last chunk */
    uint32_t thread;                              /* that sent it */
    int has_operations;                           /* that chunk */
    int given;
};

void nvt_cut_state_device_free(struct nvt_cut_state_device *device);

/* A DEVICE or DEVICE_COLUMNS chunk of the process. 0, or -1: malformed, or no memory. */
int nvt_cut_state_device_take(struct nvt_cut_state_device *device, const struct nvt_chunk *chunk,
                              const uint8_t *payload);

/* Moments at which something began that stays: these, which ascend, and any from `all_from` on. */
struct nvt_carried_starts {
    const uint64_t *ticks;
    size_t count;
    uint64_t all_from;
};

/* Captures in which such a moment lies, and the one that is open: a chunk for each edge. 0, or -1. */
int nvt_cut_state_device_give_captures(struct nvt_cut_state_device *device, uint32_t process,
                                       const struct nvt_carried_starts *starts,
                                       nvt_cut_state_put *put, void *context);

/* Put all else that is left as a chunk of that process. 0, or -1. */
int nvt_cut_state_device_give(const struct nvt_cut_state_device *device, uint32_t process,
                              nvt_cut_state_put *put, void *context);

#endif
