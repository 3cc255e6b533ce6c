/*
 * Ranges about the batches of a training loop, as PyTorch's profiler and `record --pytorch` have them.
 */
#ifndef NVT_BATCHES_H
#define NVT_BATCHES_H

#include "trace.h"

/* Whether it is one of `record --pytorch` with that name. */
int nvt_is_of_pytorch(const struct nvt_trace *trace, uint32_t range, const char *name);

/* Whether it lies around DataLoader's __next__: PyTorch's own annotation, and the range of `record --pytorch`. */
int nvt_is_batch_wait(const struct nvt_trace *trace, uint32_t range);

#endif
