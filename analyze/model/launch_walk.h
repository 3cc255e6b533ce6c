/*
 * Inside of analyze/model/launches.h: following a thread, with the ranges that are open on it on a stack,
 * and putting what its calls launched into classes and cells.
 */
#ifndef NVT_LAUNCH_WALK_H
#define NVT_LAUNCH_WALK_H

#include "../../lib/grow.h"
#include "launches.h"
#include "../../lib/map.h"

/* Places for classes seen last: a power of two. */
#define NVT_WALK_RECENT 1024

/* What becomes of a thread. Complex: it is not as simple as launches.h wants it. */
enum nvt_walk_outcome { NVT_WALK_DONE, NVT_WALK_COMPLEX, NVT_WALK_NO_MEMORY };

/* An open range. */
struct nvt_walk_open {
    int64_t start, end;
    int64_t first, last; /* of its operations */
    uint32_t kind, level;
    uint32_t children; /* with operations, as far as they have ended */
    uint32_t node;     /* among the ranges with operations, from 1; 0: it has none yet */
    uint32_t class, ops;
    uint32_t row;    /* of the lane's ranges */
    uint32_t parent; /* row of the range that it counts as a child of, NVT_NONE */
};

struct nvt_walk {
    const struct nvt_lanes *lanes;
    struct nvt_lane *lane;
    struct nvt_launch_lane *out;
    const struct nvt_lane_ids *ids;
    uint32_t number; /* of the lane, with NVT_WALK_TAKEN */
    uint32_t *cells; /* that all lanes have */
    struct nvt_walk_open *open;
    uint32_t depth;
    size_t capacity;
    struct nvt_map classes; /* class around it << 32 | kind -> class */
    struct {
        uint64_t key;
        uint32_t class;
    } recent[NVT_WALK_RECENT]; /* of them, by their keys */
    uint32_t nodes;
    uint64_t ops;
    enum nvt_walk_outcome outcome;
};

/* An entry of nvt_lane_ids that was taken by a lane, whose number is below. */
#define NVT_WALK_TAKEN 0x80000000u

/* Make room for one more time; add one. Both return 0, or -1 when out of memory. */
int nvt_launch_grow_times(struct nvt_launch_times *times);
static inline int nvt_launch_add_time(struct nvt_launch_times *times, uint32_t value)
{
    if (!(times->count & (times->count - 1)) && nvt_launch_grow_times(times))
        return -1;
    times->values[times->count++] = value;
    return 0;
}

/* Room for twice as many classes, cells zeroed. *all: cells of all lanes, which are limited. */
enum nvt_walk_outcome nvt_launch_grow(struct nvt_launch_lane *out, uint32_t names, uint32_t *all);

/* Follow a lane from its first call and range to its last; it may put the lane's rows into order. */
void nvt_walk_lane(struct nvt_walk *walk);

#endif
