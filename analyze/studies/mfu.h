/*
 * Model FLOPs utilization by name, over traces: FLOPs of ranges, modules and iterations (model_flops.h), and their share of the peak.
 * The peak is what was measured on the machine (info --peak), else what the maker states (data_sheet.h).
 */
#ifndef NVT_MFU_H
#define NVT_MFU_H

#include "../input/input.h"
#include "../input/peaks.h"
#include "../model/groups.h"

enum nvt_peak_source { NVT_PEAK_UNKNOWN, NVT_PEAK_MEASURED, NVT_PEAK_STATED };

/* What groups carry, whose keys are a range's name and the source of the peak. */
struct nvt_mfu {
    uint64_t instances;
    double ns, flops[NVT_ROOFS], untyped; /* untyped: FLOPs whose precision is not known */
    double peak_ns;                       /* that they take at the peak; NaN: unknown */
    enum nvt_peak_source source;
};

/* Add the ranges of a trace of the input to groups that carry these, with notes on what has no share and what is left out. 0, or -1 with
 * err filled, or with err left alone: out of memory. */
int nvt_mfu_add(struct nvt_groups *groups, struct nvt_input *input,
                const struct nvt_input_trace *from, struct nvt_error *err);

/* Whether any range says its work, in words or by shapes. */
int nvt_has_flops(const struct nvt_input *input);

#endif
