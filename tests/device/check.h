/*
 * Every operation on two backends: check.c loads two libraries made of the same table
 * (check_ops.c), one of them on the host in double precision, gives both the same random numbers
 * and compares all that they wrote. This is what the program and its libraries share.
 */
#ifndef NVT_CHECK_H
#define NVT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/error.h"

#define NVT_CHECK_DIMENSIONS 4
#define NVT_CHECK_SHAPES     10
#define NVT_CHECK_RESULTS    24

/* One array that an operation wrote, as double whatever it was. Owned. */
struct nvt_check_array {
    char name[32];
    double *values;
    int64_t count;
    double scale; /* of differences; 0: the root mean square of the values */
    /* The reference's alone: the largest difference of each value. NULL: as the entry says. Owned. */
    double *bounds;
};

struct nvt_check_outcome {
    struct nvt_check_array results[NVT_CHECK_RESULTS];
    int count;
};

/* What the table says about an operation. Shapes are its own; the first one is small, the first
 * with a zero ends them. Differences are at most tolerance · (|expected| + root mean square of the
 * array, or its scale), or tolerance times their bound, of an array that has bounds. */
struct nvt_check_entry {
    const char *name;
    double tolerance;
    int64_t shapes[NVT_CHECK_SHAPES][NVT_CHECK_DIMENSIONS];
};

/* The entries of a library, by these names. start: prepare the backend and tell its device, 0 or
 * -1. run: one operation with one of its shapes and the numbers of a seed; 0, or -1 with err when
 * it failed, wrote beside an array, or changed an input. lost: whether the device is of no more use to this process, as
 * after an illegal address: every later call fails. */
typedef int nvt_check_start_fn(char *device, size_t size, struct nvt_error *err);
typedef const struct nvt_check_entry *nvt_check_entry_fn(int operation); /* NULL behind the last */
typedef int nvt_check_run_fn(int operation, int shape, uint64_t seed,
                             struct nvt_check_outcome *outcome, struct nvt_error *err);
typedef int nvt_check_lost_fn(void);

#define NVT_CHECK_API __attribute__((visibility("default")))

#endif
