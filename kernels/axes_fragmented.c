/*
 * Axes of `linear` and `fragmented`; the defaults are the published study's.
 */
#include <inttypes.h>

#include "axes.h"

enum { SIZE, BATCH, MODE, FRAGMENTS, VARIANT };
enum { MODE_LINEAR, MODE_TRAIN, MODE_INFERENCE };

static const char *const modes[] = {"linear", "train", "inference", NULL};
static const char *const variants[] = {"looped", "grouped", NULL};

#define AXIS_SIZE                                                                                  \
    {                                                                                              \
        "size", "2048,4096,8192", "features in and out, multiples of 32", NULL, NVT_AXIS_NUMBERS,  \
            32, 65536                                                                              \
    }
#define AXIS_BATCH                                                                                 \
    {                                                                                              \
        "batch", "1,8,16", "samples", NULL, NVT_AXIS_NUMBERS, 1, 65536                             \
    }

static const struct nvt_axis_spec fragmented[] = {
    AXIS_SIZE,
    AXIS_BATCH,
    {"mode", "linear,train,inference", "plain layer, soft or hard choice", modes, NVT_AXIS_WORDS, 0,
     0},
    {"fragments", "2,8,32,128", "fragments that a sample is cut into", NULL, NVT_AXIS_NUMBERS, 1,
     65536},
    {"variant", "looped,grouped", "for inference", variants, NVT_AXIS_WORDS, 0, 0},
};

/* The same keys, so that its rows stand in the study's table. */
static const struct nvt_axis_spec linear[] = {
    AXIS_SIZE,
    AXIS_BATCH,
    {"mode", "linear", "", modes, NVT_AXIS_FIXED, 0, 0},
    {"fragments", "1", "", (const char *const[]){"1", NULL}, NVT_AXIS_FIXED, 0, 0},
    {"variant", "looped", "", variants, NVT_AXIS_FIXED, 0, 0},
};

static int applies(const int64_t *values, size_t axis)
{
    if (axis == FRAGMENTS)
        return values[MODE] != MODE_LINEAR;
    return axis != VARIANT || values[MODE] == MODE_INFERENCE;
}

static int check(const int64_t *values, unsigned typed, struct nvt_error *err)
{
    (void)typed;
    if (values[SIZE] % 32)
        return nvt_fail(err, "--size %" PRId64 ": must be a multiple of 32", values[SIZE]);
    if (applies(values, FRAGMENTS) && values[SIZE] % values[FRAGMENTS])
        return nvt_fail(err, "--size %" PRId64 " cannot be cut into %" PRId64 " fragments",
                        values[SIZE], values[FRAGMENTS]);
    return 0;
}

const struct nvt_workload_axes nvt_axes_linear = {
    .workload = "linear",
    .about = "y = x·Wᵀ + b, mean squared error, Adam",
    .axes = linear,
    .count = 5,
    .applies = applies,
    .check = check,
    .small = "--size 256",
    .sized_by = "size",
};
const struct nvt_workload_axes nvt_axes_fragmented = {
    .workload = "fragmented",
    .about = "the fragment study: linear, soft and hard fragment selection",
    .axes = fragmented,
    .count = 5,
    .applies = applies,
    .check = check,
    .small = "--size 256",
    .sized_by = "size",
};
