/*
 * Iterations of a program, found in what its device did, without any annotation.
 *
 * The operations of a device, in the order of their launches, are a sequence of names. A training
 * loop makes it nearly periodic. Each pair of neighbouring names that occurs at least four times is
 * tried as the place where an iteration begins: it cuts the sequence into pieces, and its score is
 * the share of operations that are the same, counted from the cut, in one piece and the next. Inner
 * loops (layers) score less, because what comes before and behind them breaks them. The best score
 * wins; of those within half a percent of it, the one that occurs most often (not two iterations
 * for one), and of those, the one that follows the longest median pause of the device.
 */
#ifndef NVT_ITERATIONS_H
#define NVT_ITERATIONS_H

#include "devices.h"
#include "../model/trace.h"

struct nvt_iteration {
    int64_t start;  /* of its first operation on the device */
    int64_t period; /* to the start of the next one; without one, to the end of its operations */
    int64_t busy;   /* part of it in which the device has an operation, whichever iteration's */
    uint32_t ops;
    double match; /* share of operations that are those of the iteration before, NaN of the first */
};

/* Zero-initialise; release with nvt_iterations_free. */
struct nvt_iterations {
    struct nvt_iteration *items;
    uint32_t count;    /* 0: no loop was found */
    uint32_t periods;  /* of them that something follows; others have no period */
    uint32_t first_op; /* row of the operation that the first one begins with */
    /* operations of the device before the first and behind the last, which may
     * be one that was cut off */
    uint32_t before, behind;
    double score;
};

/* Scores below this are no loop. */
#define NVT_ITERATIONS_SCORE 0.7

/* Find the iterations of a device. 0, or -1 when out of memory. Time grows with operations ×
 * candidates, of which there are 128 at most. */
int nvt_iterations_find(struct nvt_iterations *iterations, const struct nvt_trace *trace,
                        const struct nvt_used_device *device);
void nvt_iterations_free(struct nvt_iterations *iterations);

#endif
