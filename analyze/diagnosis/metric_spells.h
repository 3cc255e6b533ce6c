/*
 * When GPU metrics were above a value in the steady part of a view, and which kernels ran then.
 */
#ifndef NVT_METRIC_SPELLS_H
#define NVT_METRIC_SPELLS_H

#include "../device/metric_kinds.h"
#include "diagnose.h"

/* Stretches of time, in order, that do not overlap. Zero-initialise; free the items. */
struct nvt_spells {
    int64_t (*items)[2];
    uint32_t count;
    double ns;  /* in all of them */
    double sum; /* of a value times ns */
};

/* Append a sample's interval, with a value in it. 0, or -1 when out of memory. */
int nvt_spells_add(struct nvt_spells *spells, const struct nvt_gpu_metric *metric, uint32_t sample,
                   double value);

/* Add the time of each kernel of a device in the spells to ns[name], by string. */
void nvt_spells_add_kernels(const struct nvt_spells *spells, const struct nvt_view *view,
                            const struct nvt_used_device *device, double *ns);

/* Of numbers by string the one with the most, 0: none has any. */
uint32_t nvt_most_of_names(const struct nvt_trace *trace, const double *ns);

/* Point a finding at the first spells. */
void nvt_spells_point(const struct nvt_spells *spells, struct nvt_finding *finding);

#endif
