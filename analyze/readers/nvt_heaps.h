/*
 * Inside of the reader of our own format: heaps of NVTX's memory extension (lib/heap_payload.h), whose regions become rows of
 * the model's memory.
 *
 * A region is an allocation, whose source is its heap's name, or its own where it has one. A heap reserves memory: what it
 * holds is reserved, and allocated is what its regions take. If it lies in an allocation that was recorded, as a pool in
 * what cudaMalloc gave, it is memory of that device, and the row of that allocation has no bytes of its own, like that of one
 * of CUDA's pools; else it is taken for the host's. Regions of the process's whole memory that lie in a recorded allocation are
 * no allocations.
 */
#ifndef NVT_READ_NVT_HEAPS_H
#define NVT_READ_NVT_HEAPS_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/heap_payload.h"

struct nvt_file_reader;

/* Who said something, and when. */
struct nvt_file_heap_event {
    struct nvt_heap_said said;
    uint64_t ticks;        /* when all is read, ns on the trace's axis */
    uint64_t order;        /* among events of the file */
    uint32_t process;      /* in the file */
    uint32_t thread, name; /* in the model */
    uint8_t is_told;       /* it was so when the recording began, which was late, or went on */
};

struct nvt_file_heaps {
    struct nvt_file_heap_event *items;
    size_t count;
};

/* Keep an event: `event` is whole but for `said`, of which these are the extended payloads. What is none is left out. 0, or
 * -1 when out of memory. */
int nvt_file_take_heap(struct nvt_file_reader *reader, struct nvt_file_heap_event event,
                       const uint8_t *payloads, size_t size);

/* When all is read and the times of the model's memory start at `origin`, ns of CLOCK_MONOTONIC: add the rows of regions, with
 * what nvt_pools_follow needs of each. 0, or -1 when out of memory. */
int nvt_file_complete_heaps(struct nvt_file_reader *reader, int64_t origin);

#endif
