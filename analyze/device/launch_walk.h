/*
 * Inside of analyze/device/launches.h: following a thread, with the ranges that are open on it on a stack,
 * and putting what its calls launched into classes and cells. Where ranges come from is the business
 * of whoever follows: from lanes (launch_lane.c), or out of a file as it is decoded
 * (readers/nvt_walk.c).
 */
#ifndef NVT_LAUNCH_WALK_H
#define NVT_LAUNCH_WALK_H

#include "launches.h"
#include "../../lib/map.h"

/* Places for classes seen last: a power of two. */
#define NVT_WALK_RECENT 1024

/* What becomes of a thread. Complex: it is not as simple as launches.h wants it. */
enum nvt_walk_outcome { NVT_WALK_DONE, NVT_WALK_COMPLEX, NVT_WALK_NO_MEMORY };

/* An open range. */
struct nvt_walk_open {
    int64_t start, end;  /* of the range; where its end is not known yet, no end before this */
    int64_t first, last; /* of its operations */
    uint32_t kind, level;
    uint32_t children; /* with operations, as far as they have ended */
    uint32_t node;     /* among the ranges with operations, from 1; 0: it has none yet */
    uint32_t class, ops;
    uint32_t from;   /* of whoever follows: where it came from */
    uint32_t parent; /* likewise: that of the range which it counts as a child of, NVT_NONE */
};

struct nvt_walk {
    const struct nvt_lanes *lanes;
    struct nvt_lane *lane;
    struct nvt_launch_lane *out;
    const struct nvt_lane_ids *ids;
    uint32_t number; /* of the lane, with NVT_WALK_TAKEN */
    uint32_t *cells; /* that all lanes have */
    struct nvt_walk_open *open;
    uint32_t depth, capacity;
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

/* Both: 0, or -1 when out of memory. */
int nvt_launch_grow_times(struct nvt_launch_times *times);
static inline int nvt_launch_add_time(struct nvt_launch_times *times, uint32_t value)
{
    if (times->count == times->capacity && nvt_launch_grow_times(times))
        return -1;
    times->values[times->count++] = value;
    return 0;
}

/* Room for twice as many classes, cells zeroed. *all: cells of all lanes, which are limited. */
enum nvt_walk_outcome nvt_launch_grow(struct nvt_launch_lane *out, uint32_t names, uint32_t *all);

/* The first thing that went wrong stays. */
void nvt_walk_give_up(struct nvt_walk *walk, enum nvt_walk_outcome outcome);

/* Before anything else: calls into order if they may not be in it, and class 0 if there are any. 0;
 * -1: the walk has given up. */
int nvt_walk_begin(struct nvt_walk *walk);

/* Room for one more open range. 0; -1: there is none, and the walk has given up. */
int nvt_walk_grow(struct nvt_walk *walk);

static inline int nvt_walk_reserve(struct nvt_walk *walk)
{
    return walk->depth < walk->capacity ? 0 : nvt_walk_grow(walk);
}

/* A range that is not open any more, with its end and children in it: what it held, `outer` (that
 * around it, or NULL) held as well. */
void nvt_walk_close(struct nvt_walk *walk, const struct nvt_walk_open *open,
                    struct nvt_walk_open *outer);

/* The first operation of the lane's call i + 1, 0 none. It is this call's from now on. */
uint32_t nvt_walk_take(struct nvt_walk *walk, uint32_t i);

/* An operation that was taken and the others of its call, in the first `count` open ranges. */
void nvt_walk_put(struct nvt_walk *walk, uint32_t count, uint32_t op);

/* Follow a lane from its first call and range to its last. */
typedef void nvt_walk_follow(void *context, struct nvt_walk *walk, uint32_t lane);

/*
 * nvt_launches_of with lanes followed by somebody else: `follow` is called once for each of them, if
 * `beside` is set on several threads at once. 0, 1 and -1 as there.
 */
int nvt_launches_walk(struct nvt_launches *launches, struct nvt_lanes *lanes,
                      nvt_walk_follow *follow, void *context, int beside);

#endif
