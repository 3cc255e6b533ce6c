/*
 * Model FLOPs of ranges: what the program declares (declared.h), or what the shapes of PyTorch's operators say (operator_work.h), also in
 * the names of ranges that emit_nvtx makes, which say nothing of types: then there are FLOPs, and no share of a peak. They are added
 * up over the ranges around them, and the model FLOPs utilization (MFU): the time that they would take at the machine's peak,
 * divided by the time that they took (Chowdhery et al., "PaLM", 2022, appendix B).
 *
 * A range that declares work has that, and what is declared within it counts as part of it, not on top. With device
 * operations, a range has the work that was launched in it (project.h, so that PyTorch's backward pass counts for the range that
 * waits for it), and its time is from the first to the last operation; of an iteration it is the iteration's own, as
 * nothing else is the program's progress. Without device operations the work is that of ranges within it on its thread, and
 * of an iteration that of all threads which it belongs to.
 */
#ifndef NVT_MODEL_FLOPS_H
#define NVT_MODEL_FLOPS_H

#include "declared.h"

struct nvt_flops_range {
    uint32_t range;
    double flops[NVT_ROOFS]; /* by precision */
    double untyped;          /* whose precision is not known */
    double ns;
    uint32_t device, process; /* of the first operation; NVT_NONE: the host */
};

struct nvt_model_flops {
    struct nvt_flops_range *items; /* ranges with FLOPs */
    uint32_t count;
};

/* Zero-initialise; free the items. `record`: the row of the run, NULL: none. `flags`: of the projection. 0, or -1 with err filled (out of memory). */
int nvt_model_flops_make(struct nvt_model_flops *model, const struct nvt_trace *trace,
                         const struct nvt_record *record, unsigned flags, struct nvt_error *err);

/* Time that FLOPs take at these peaks, ns; NaN: a peak that they need is not known. */
double nvt_model_flops_at_peak(const double flops[NVT_ROOFS], const struct nvt_peaks *peaks);

#endif
