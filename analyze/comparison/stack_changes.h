/*
 * Stacks of the sides of a comparison, as one tree: what differential flame graphs show (Gregg, "Differential Flame Graphs",
 * 2014).
 *
 * A row is a path of names (stacks.h) that any side has. Iterations stand next to the range that names their configuration, which
 * is another one on each side, so that they are compared; it keeps the rest of its time. What a row takes on a side is its mean over
 * the typical iterations of the side's traces (NVT_STACKS_INSIDE), so that an iteration takes what compare calls typical; where a trace of
 * any side names no iterations, or a side has nothing in them, it is the mean of all over the side's traces.
 */
#ifndef NVT_STACK_CHANGES_H
#define NVT_STACK_CHANGES_H

#include "../../lib/map.h"
#include "../studies/stacks.h"
#include "compare_sides.h"

struct nvt_stack_change {
    uint32_t parent; /* a lower row, or NVT_NONE */
    uint32_t name, depth, kind;
    double total[NVT_SIDES];   /* ns or samples of all traces */
    uint64_t count[NVT_SIDES]; /* of instances, operations or samples of its own and below it */
    double inside[NVT_SIDES];  /* what of both lies in typical iterations */
    uint64_t inside_count[NVT_SIDES];
};

/* Zero-initialise but for `what`; release with nvt_stack_changes_free, also after a failure. */
struct nvt_stack_changes {
    enum nvt_stacks_of what;
    struct nvt_stack_change *items;
    uint32_t count;
    struct nvt_strings *names;
    struct nvt_map by_path; /* of parent, name and kind */
    double total[NVT_SIDES], inside[NVT_SIDES], unseen[NVT_SIDES];
    size_t traces[NVT_SIDES];       /* that have any of it */
    uint64_t iterations[NVT_SIDES]; /* typical ones */
    int lacks_iterations;           /* some trace names none */
    int counts_samples;             /* of some trace, which do not say which time they stand for */
    int has_times;                  /* of some trace, which do */
    int has_alike;
};

/* Add a trace to a side, in time linear in its stacks but for making these. 0, or -1 with err (out of memory). */
int nvt_stack_changes_add(struct nvt_stack_changes *changes, size_t side,
                          const struct nvt_trace *trace, struct nvt_error *err);
void nvt_stack_changes_free(struct nvt_stack_changes *changes);

/* Whether values are of typical iterations. */
int nvt_stack_changes_are_inside(const struct nvt_stack_changes *changes);

/* By what values of a side are divided; 0: the side has none. */
double nvt_stack_changes_units(const struct nvt_stack_changes *changes, size_t side);

/* Whether two sides have something that can be compared. */
int nvt_stack_changes_has(const struct nvt_stack_changes *changes, size_t a, size_t b);

/*
 * The rows in an order in which each comes behind what it lies in, brothers by the larger one of what they take on both sides,
 * the largest first. malloc'ed, NULL when out of memory.
 */
uint32_t *nvt_stack_changes_order(const struct nvt_stack_changes *changes, size_t a, size_t b);

/* What a row takes on a side, and how many instances, operations or samples that are in all. */
static inline double nvt_stack_change_value(const struct nvt_stack_changes *changes, uint32_t row,
                                            size_t side)
{
    const struct nvt_stack_change *of = &changes->items[row];
    const double units = nvt_stack_changes_units(changes, side);
    const double sum = nvt_stack_changes_are_inside(changes) ? of->inside[side] : of->total[side];
    return units > 0 ? sum / units : 0;
}
static inline uint64_t nvt_stack_change_count(const struct nvt_stack_changes *changes, uint32_t row,
                                              size_t side)
{
    const struct nvt_stack_change *of = &changes->items[row];
    return nvt_stack_changes_are_inside(changes) ? of->inside_count[side] : of->count[side];
}

/* What a side takes. */
double nvt_stack_changes_value(const struct nvt_stack_changes *changes, size_t side);

#endif
