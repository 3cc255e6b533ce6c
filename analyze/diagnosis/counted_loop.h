/*
 * What threads did on the CPU in the steady part of a view, range by range (record --trace counters): own counts, so that nothing
 * counts twice (range_counts.h).
 *
 * Where the view has iterations, the threads are those that enter them; else all. A range counts that begins in the steady part
 * and whose own counts are known.
 */
#ifndef NVT_COUNTED_LOOP_H
#define NVT_COUNTED_LOOP_H

#include "../studies/range_counts.h"
#include "diagnose.h"

/* Zero-initialise; release with nvt_counted_loop_free, also after a failure. */
struct nvt_counted_loop {
    const struct nvt_view *view;
    const struct nvt_counted_ranges *counted; /* the view's */
    uint8_t *counts;                          /* of each range, whether it counts */
    double *lost;     /* ns, by the string of a range's name: a rule's own */
    uint32_t threads; /* that have a range that counts */
    double wall_ns;   /* own time of all ranges that count */
};

/* 0, or -1 with err filled (out of memory). */
int nvt_counted_loop_make(struct nvt_counted_loop *loop, const struct nvt_view *view,
                          struct nvt_error *err);
void nvt_counted_loop_free(struct nvt_counted_loop *loop);

/* Time that a range has of its own, ns. */
double nvt_counted_loop_own_ns(const struct nvt_counted_loop *loop, uint32_t range);

/* The name whose ranges lose most, 0: none does; *share gets its part of what all lose. */
uint32_t nvt_counted_loop_most(const struct nvt_counted_loop *loop, double *share);

/* Point a finding at ranges of that name that count and have any of a count. */
void nvt_counted_loop_point(const struct nvt_counted_loop *loop, uint32_t name,
                            enum nvt_count count, struct nvt_finding *finding);

#endif
