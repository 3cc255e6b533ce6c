/*
 * Axes of `switchback`: one linear layer of a vision transformer. The defaults make the 142
 * published configurations, which are no full grid: two widths have a second multiplier, and of the
 * widest layer the largest batch is missing.
 */
#include <inttypes.h>

#include "../lib/count_of.h"
#include "axes.h"

enum { DIM, BATCH, MULTIPLIER, SWITCH, TIMING };

#define FOUR (4 * NVT_AXIS_SCALE)

static const char *const timings[] = {"loop", "single", NULL};

static const struct nvt_axis_spec axes[] = {
    {"dim", "1024,1280,1408,1664,2048,4096,8096", "features of the layer's narrow side", NULL,
     NVT_AXIS_NUMBERS, 1, 131072},
    {"batch", "1024,2048,4096,8192,16384,32768,65536,131072",
     "samples of a batch times its sequence", NULL, NVT_AXIS_NUMBERS, 1, 16777216},
    {"width_multiplier", "4,4.3637,4.9231", "ratio of the wide side to the narrow one", NULL,
     NVT_AXIS_DECIMALS, NVT_AXIS_SCALE / 100, 64 * NVT_AXIS_SCALE},
    {"switch", "off,on", "off: from narrow to wide; on: back", NULL, NVT_AXIS_FLAG, 0, 0},
    {"timing", "loop", "time a loop of calls, or each single call", timings, NVT_AXIS_WORDS, 0, 0},
};

static int64_t wide_side(const int64_t *values)
{
    return values[DIM] * values[MULTIPLIER] / NVT_AXIS_SCALE;
}

/* A square layer has no other way round. */
static int applies(const int64_t *values, size_t axis)
{
    return axis != SWITCH || wide_side(values) != values[DIM];
}

/* int8 products are summed in 32 bits: 133152 of them, each at most 127², are sure to fit. */
static int check(const int64_t *values, unsigned typed, struct nvt_error *err)
{
    (void)typed;
    int64_t wide = wide_side(values);
    if (wide < 1 || wide > 131072)
        return nvt_fail(err,
                        "--dim %" PRId64 " times --width-multiplier: %" PRId64
                        " is not between 1 and 131072",
                        values[DIM], wide);
    return 0;
}

static int belongs(const int64_t *values, unsigned typed)
{
    int is_ours = !(typed & 1u << DIM) && !(typed & 1u << BATCH);
    if (is_ours && values[DIM] == 8096 && values[BATCH] == 131072)
        return 0;
    return typed & 1u << MULTIPLIER || values[MULTIPLIER] == FOUR ||
           (values[DIM] == 1408 && values[MULTIPLIER] == 43637) ||
           (values[DIM] == 1664 && values[MULTIPLIER] == 49231);
}

const struct nvt_workload_axes nvt_axes_switchback = {
    .workload = "switchback",
    .about = "a linear layer in fp16 against its int8 forms, by operation",
    .axes = axes,
    .count = NVT_COUNT_OF(axes),
    .applies = applies,
    .check = check,
    .belongs = belongs,
    .warmup = 32,
    .iterations = 64,
    .small = "--dim 256 --batch 1024,2048",
    .sized_by = "dim batch",
};
