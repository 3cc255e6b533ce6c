/*
 * What threads ran during spans of time, such as gaps of a device, by CPU samples; it ends a finding's evidence.
 */
#ifndef NVT_RUNNING_H
#define NVT_RUNNING_H

#include "../model/buckets.h"
#include "../studies/pairs.h"
#include "diagnose.h"
#include "work_kinds.h"

/* Fewer samples than this within the spans show nothing. */
#define NVT_RUNNING_LEAST 10

/* Zero-initialise; release with nvt_running_free. */
struct nvt_running {
    struct nvt_sampled_functions functions;
    struct nvt_buckets threads; /* samples of each */
    struct nvt_hot hot;
    struct nvt_work work;
    struct nvt_pairs callers; /* whole 0; names of functions of the program's own */
    uint8_t *is_taken;        /* of each sample */
    int failed;
};

/* Nothing is done for a trace without samples. 0, or -1 when out of memory. */
int nvt_running_begin(struct nvt_running *running, const struct nvt_trace *trace);

/* The samples of a thread that were taken within a span. One in several spans counts once. */
void nvt_running_add(struct nvt_running *running, uint32_t thread, int64_t start, int64_t end);

/* "; meanwhile, in 211 samples: forward (model.py) 63 %, memmove (libc.so.6) 12 %; 91 % of them from train (train.py:7)" behind the
 * evidence, where there are as many as that takes. 0, or -1 when out of memory, now or before. */
int nvt_running_tell(struct nvt_running *running, struct nvt_finding *finding);
void nvt_running_free(struct nvt_running *running);

/* Append what threads ran in all gaps of a cause (nvt_view_gaps) to the evidence. 0, or -1 with err filled (out of
 * memory). */
int nvt_running_tell_gaps(const struct nvt_view *view, unsigned cause, struct nvt_finding *finding,
                          struct nvt_error *err);

#endif
