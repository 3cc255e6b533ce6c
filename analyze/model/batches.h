/*
 * Ranges of a training loop by their names, as PyTorch's profiler, `record --pytorch` and programs have them.
 */
#ifndef NVT_BATCHES_H
#define NVT_BATCHES_H

#include "trace.h"

/* Whether it is one of `record --pytorch` with that name. */
int nvt_is_of_pytorch(const struct nvt_trace *trace, uint32_t range, const char *name);

/* Whether it lies around DataLoader's __next__: PyTorch's own annotation, and the range of `record --pytorch`. */
int nvt_is_batch_wait(const struct nvt_trace *trace, uint32_t range);

/* Whether it is an operator, as PyTorch's profiler records them ("aten::mm"). */
int nvt_is_pytorch_operator(const struct nvt_trace *trace, uint32_t range);
int nvt_has_pytorch_operators(const struct nvt_trace *trace);

/* Whether a range is an optimizer's step: `optimizer` of any domain, or PyTorch's "Optimizer.step#SGD.step". */
int nvt_is_optimizer_step(const struct nvt_trace *trace, uint32_t range);

enum nvt_loop_interruption {
    NVT_LOOP_EVALUATION,
    NVT_LOOP_CHECKPOINT,
    NVT_LOOP_OTHER,
    NVT_LOOP_INTERRUPTIONS
};

/* What a range is by its name: `evaluation` and `checkpoint` of `record --pytorch`, or what begins with eval, valid, checkpoint,
 * ckpt or save (in any case of letters) in any other domain but PyTorch's profiler's operators. */
enum nvt_loop_interruption nvt_loop_interruption_of(const struct nvt_trace *trace, uint32_t name,
                                                    uint32_t domain);

#endif
