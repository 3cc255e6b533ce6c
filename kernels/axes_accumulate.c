/*
 * Axes of `accumulate`; the published sums are the first four forms.
 */
#include "../lib/count_of.h"
#include "axes.h"

/* In the order of enum nvt_accumulate_form (kernels/ops/accumulate.h). */
static const char *const forms[] = {"fp32",       "fp16",          "mixed", "cast",
                                    "bf16",       "mixed-bf16",    "kahan", "pairwise",
                                    "kahan-bf16", "pairwise-bf16", NULL};

static const struct nvt_axis_spec axes[] = {
    {"form", "fp32,fp16,mixed,cast,bf16,mixed-bf16,kahan,pairwise,kahan-bf16,pairwise-bf16",
     "formats of sum and addend, and how they are added", forms, NVT_AXIS_WORDS, 0, 0},
    {"count", "1000", "number of additions", NULL, NVT_AXIS_NUMBERS, 1, 1000000000},
};

const struct nvt_workload_axes nvt_axes_accumulate = {
    .workload = "accumulate",
    .about = "0.01 added a thousand times, in formats that round every sum",
    .axes = axes,
    .count = NVT_COUNT_OF(axes),
};
