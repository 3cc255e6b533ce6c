/*
 * A trace as projection sees it (analyze/model/launches.h): what each thread did, its ranges and the
 * calls that may have launched something, and what was launched. Rows lie in the order of a
 * thread's time, and there is nothing in them that is not wanted for it: so a reader that fills
 * lanes instead of the model's tables touches half the memory, and nothing has to be sorted.
 *
 * Times are ns. Lengths are of 32 bits, 4.29 s at most: what lasts longer is for the model.
 */
#ifndef NVT_LANES_H
#define NVT_LANES_H

#include "trace.h"

struct nvt_lane_range {
    int64_t start, end;
    uint32_t kind;     /* a name's string: push/pop of the default domain; else nvt_lane_kind */
    uint32_t children; /* of nvt_launches_of; 0 before, or NVT_LANE_OPEN */
};

/* Of a push/pop range that never ended: its end is the last that is known of the thread, and it holds
 * all that began behind it (nvt_nests_in of nesting.h). */
#define NVT_LANE_OPEN UINT32_MAX

/* Calls that launched nothing may be among them. */
struct nvt_lane_call {
    int64_t start;
    uint32_t length;
    uint32_t id;
};

struct nvt_lane_op {
    int64_t start;
    uint32_t length;
    uint32_t name; /* string of a kernel's, NVT_NONE: no kernel */
    uint32_t id;   /* of the call, 0 unknown */
    uint32_t next; /* its process; after nvt_lanes_link: operation of the same call + 1, 0 none */
};

struct nvt_lane_ranges {
    struct nvt_lane_range *items; /* columns, as all that grows here: analyze/model/column.h */
    uint32_t count, capacity;
};

struct nvt_lane_calls {
    struct nvt_lane_call *items;
    uint32_t count, capacity;
};

/* A thread. Calls and what they launched are on the axis of the ranges less `offset`. */
struct nvt_lane {
    struct nvt_lane_ranges ranges;
    struct nvt_lane_calls calls;
    int64_t offset;
    uint32_t process; /* whose ids these are, below id_count */
    int unsure;       /* rows may be out of order: of nvt_launches_of to find out */
    uint32_t thread;  /* row of the model */
};

/* Operations by the id of their call: [id - low] is the first of them + 1, 0 none. */
struct nvt_lane_ids {
    uint32_t low, high; /* of calls; low > high: there are none */
    uint32_t calls;
    uint32_t *first;
};

#define NVT_LANE_KIND 0x80000000u /* kinds from here on are numbers in `kinds` */

struct nvt_lane_kind {
    uint32_t domain, name, style;
};

struct nvt_lanes {
    struct nvt_lane *items;
    uint32_t count;
    struct nvt_lane_op *ops;
    uint32_t op_count, op_capacity;
    struct nvt_lane_ids *ids; /* of each process */
    uint32_t id_count;
    struct nvt_lane_kind *kinds;
    uint32_t kind_count;
    uint32_t loose;   /* of nvt_lanes_link: first operation of no call + 1, 0 none */
    uint32_t *number; /* of nvt_lanes_link: number of a kernel's name, by string, or NVT_NONE */
    uint32_t *name;   /* string of each number */
    uint32_t names;
};

/* Room for so many more rows; the new ones are not counted yet. 0, or -1 when out of memory. */
int nvt_lane_ranges_reserve(struct nvt_lane_ranges *ranges, uint64_t more);
int nvt_lane_calls_reserve(struct nvt_lane_calls *calls, uint64_t more);
int nvt_lanes_reserve_ops(struct nvt_lanes *lanes, uint64_t more);

/* The number of a kind of ranges that is not a name alone, added without looking for it. NVT_NONE
 * when out of memory. */
uint32_t nvt_lanes_add_kind(struct nvt_lanes *lanes, const struct nvt_lane_kind *kind);

/* Which ranges these are. */
static inline struct nvt_lane_kind nvt_lanes_kind(const struct nvt_lanes *lanes, uint32_t kind)
{
    return kind & NVT_LANE_KIND ? lanes->kinds[kind & ~NVT_LANE_KIND]
                                : (struct nvt_lane_kind){0, kind, NVT_PUSH_POP};
}

/*
 * Put operations with their calls, and number the kernels' names. 0; 1: ids lie too far apart; -1
 * when out of memory.
 */
int nvt_lanes_link(struct nvt_lanes *lanes, const struct nvt_trace *trace);

/* A lane's rows by start, those that begin together by end descending, then as they were. 0, or -1
 * when out of memory. */
int nvt_lane_sort(struct nvt_lane *lane);

/* The lanes of a finished trace, linked. Zero-initialise; release with nvt_lanes_free, also after a
 * failure. 0; 1: something lasts too long, or longer than what never ended; -1 when out of memory. */
int nvt_lanes_of_trace(struct nvt_lanes *lanes, const struct nvt_trace *trace);
void nvt_lanes_free(struct nvt_lanes *lanes);

#endif
