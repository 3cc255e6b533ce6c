/*
 * FLOPs (a multiply-add is two) and bytes of the language model's parts and passes. Bytes are what
 * each operation as it is written must move, inputs read once and results written once.
 * docs/workloads.md has the formulas and an example counted by hand.
 */
#ifndef NVT_TRANSFORMER_WORK_H
#define NVT_TRANSFORMER_WORK_H

#include "transformer_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nvt_transformer_work {
    /* Of one occurrence of a part, forward and backward. Attention includes the three parts within
     * it. */
    struct nvt_work_payload part[2][NVT_PARTS];
    struct nvt_work_payload forward, backward, step;
};

struct nvt_transformer_work nvt_transformer_count_work(const struct nvt_transformer_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
