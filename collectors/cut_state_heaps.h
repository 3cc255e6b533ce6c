/*
 * Of what NVTX's memory extension said in chunks that are cut off (lib/heap_payload.h): the heaps and regions that there are where the
 * cut is, and their names. Threads stand in the file one behind the other: what happened to an address is known by its time.
 */
#ifndef NVT_CUT_STATE_HEAPS_H
#define NVT_CUT_STATE_HEAPS_H

#include "../lib/event_columns.h"
#include "../lib/heap_payload.h"
#include "../lib/map.h"
#include "cut_state_kept.h"

/* Of a process. Zero-initialise; release with nvt_cut_state_heaps_free. */
struct nvt_cut_state_heaps {
    struct nvt_kept_list events;
    struct nvt_heap_said *said; /* of each */
    uint32_t unused;            /* of them */
    struct nvt_map heaps;       /* handle -> event */
    /* address -> event; removed: before it was added in the file */
    struct nvt_map regions, names, removed;
};

void nvt_cut_state_heaps_free(struct nvt_cut_state_heaps *heaps);

/* The event said something. What is malformed is left out. 0, or -1 when out of memory. */
int nvt_cut_state_heaps_take(struct nvt_cut_state_heaps *heaps, const struct nvt_kept *event,
                             const struct nvt_event_attributes *attributes);

/* What is to be said again, in no order, where the first event that stays is of `first` ticks. Nothing is taken behind this. */
struct nvt_kept_list *nvt_cut_state_heaps_left(struct nvt_cut_state_heaps *heaps, uint64_t first);

#endif
