/*
 * How fast a process whose events are cut off was, so that a hang can be told from what is usual although nothing of before it is left:
 * how many events it had, the longest time between two of them, and for each name of push/pop ranges how many there were and how long
 * the longest one was. It is written as a chunk PACE of the process (docs/trace-format.md), in ticks.
 */
#ifndef NVT_CUT_STATE_PACE_H
#define NVT_CUT_STATE_PACE_H

#include "../lib/map.h"
#include "cut_state.h"
#include "cut_state_kept.h"

/* Names that are counted by themselves: those that come later are not. */
#define NVT_CUT_PACE_NAMES 4096

/* Of a process. Zero-initialise; release with nvt_cut_pace_free. */
struct nvt_cut_pace {
    uint64_t events; /* beginnings of ranges, and marks; 0: nothing else is set */
    uint64_t first;  /* when the first of them began, */
    uint64_t begun;  /* and the last one; */
    uint64_t last; /* when the last of them began or ended, or a device operation was handed over */
    /* the longest time between two that follow each other, of threads that are recorded together a chunk's longer */
    uint64_t pause;
    struct nvt_map names; /* domain << 32 | name -> ranges */
    struct nvt_cut_pace_ranges {
        uint64_t domain, name, count, longest;
    } * ranges;
    uint32_t range_count;
};

void nvt_cut_pace_free(struct nvt_cut_pace *pace);

/* Any event that is cut off, and is no sample of a counter. */
void nvt_cut_pace_take(struct nvt_cut_pace *pace, const struct nvt_kept *event);

/* Something of it ended by then. */
void nvt_cut_pace_moved(struct nvt_cut_pace *pace, uint64_t ticks);

/* A range of that domain and name has ended that took so long. 0, or -1 when out of memory. */
int nvt_cut_pace_range(struct nvt_cut_pace *pace, uint64_t domain, uint64_t name, uint64_t length);

/* A chunk PACE of an earlier cut: what it says is of before all that is in the file, wherever it stands there. 0, or -1: it is malformed,
 * or there is no memory. */
int nvt_cut_pace_add(struct nvt_cut_pace *pace, const struct nvt_chunk *chunk,
                     const uint8_t *payload);

/* Put it as a chunk of that process, if there was any event. 0, or -1. */
int nvt_cut_pace_give(const struct nvt_cut_pace *pace, uint32_t process, nvt_cut_state_put *put,
                      void *context);

#endif
