/*
 * What ranges did on the devices, worked out once for several reports: projection
 * (analyze/device/project.h) where it is simple. It is simple when operations are not looked for across
 * threads, and whenever something is launched, the ranges that are open on its thread lie one
 * within the other. Then the ranges of an operation are the innermost that holds its launch and
 * those around it, and it is enough to follow a stack a thread. Threads are followed side by side.
 *
 * Ranges with operations are put into classes: of the same thread, with the same name, domain and
 * style, within ranges of the same class. A training loop of millions of ranges has some hundred
 * classes. Class 0 of a thread is "no range".
 */
#ifndef NVT_LAUNCHES_H
#define NVT_LAUNCHES_H

#include "../../lib/sample.h"
#include "lanes.h"
#include "trace.h"

/* How operations belong to ranges (device/project.h); of nsys's definition without any. */
enum nvt_project_flags {
    NVT_ACROSS_THREADS = 1, /* of threads without ranges to those open on others */
    NVT_ACROSS_WAITS = 2,   /* the same, but only of threads that others wait for */
    NVT_BY_THREAD = 4,      /* nsys's definition, because it was asked for */
    NVT_PROJECT_FLAGS = 7
};

/* Times, ns. */
struct nvt_launch_times {
    uint32_t *values;
    uint32_t count;
};

struct nvt_launch_class {
    uint32_t outer; /* class of the ranges around these, 0: there are none */
    uint32_t kind;  /* of the ranges: nvt_lanes_kind */
    /* Of these ranges, added up: levels as in analyze/model/nesting.h; children those with operations. */
    uint64_t ops, levels, children;
    int64_t original; /* time of these ranges on the host, added up */
    /* From the start of a range's first operation to the end of its last, of every range with
     * operations; those that are too long for `times` are in `longer`. */
    struct nvt_launch_times times;
    int64_t *longer;
    uint32_t longer_count;
};

/* Kernels of a name and ranges of a class. */
struct nvt_launch_cell {
    struct nvt_launch_times times; /* of those in these ranges, but in none within them */
    uint32_t instances;            /* ranges with such a kernel */
    uint32_t last;                 /* of these ranges, as it is worked out */
};

/* What a thread launched. */
struct nvt_launch_lane {
    uint32_t thread;                  /* NVT_NONE: what has no known launch */
    struct nvt_launch_class *classes; /* class 0 has nothing in it */
    uint32_t class_count, class_capacity;
    struct nvt_launch_cell *cells; /* [class * names + number of the name] */
    int ascend;                    /* the times of each cell do */
};

/* Times and their sums. */
struct nvt_piece nvt_launch_class_piece(const struct nvt_launch_class *class);
struct nvt_piece nvt_launch_cell_piece(const struct nvt_launch_lane *lane,
                                       const struct nvt_launch_cell *cell);

struct nvt_launches {
    struct nvt_launch_lane *lanes;
    uint32_t lane_count;
    struct nvt_lane_kind *kinds; /* of nvt_launch_kind */
    uint32_t *name;              /* string of each number of a kernel's name */
    uint32_t names;
};

/* Whether operations may belong to ranges of other threads than those that launched them: a process has a thread that launches
 * and another one with ranges. 1, 0, or -1 when out of memory. */
int nvt_may_lend(const struct nvt_trace *trace);

/* Which ranges a class is of. */
struct nvt_lane_kind nvt_launch_kind(const struct nvt_launches *launches,
                                     const struct nvt_launch_class *class);

/*
 * Work it out for a finished trace: memory of *launches, which nvt_launches_free releases. 0; 1: it
 * is not as simple as that, nvt_project has to do it; -1 with err filled when out of memory. In the
 * latter two cases nothing is left to be released.
 */
int nvt_launches_make(struct nvt_launches *launches, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err);

/* Work launches out from linked lanes, whose rows it may put into order. Returns as nvt_launches_make does, but fills no err. */
int nvt_launches_of(struct nvt_launches *launches, struct nvt_lanes *lanes);
void nvt_launches_free(struct nvt_launches *launches);

#endif
