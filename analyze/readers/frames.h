/*
 * Stacks of samples as the model has them: each function once below each that called it (call_frames).
 */
#ifndef NVT_FRAMES_H
#define NVT_FRAMES_H

#include "../../lib/map.h"
#include "../model/trace.h"

/* Zero-initialise; release with nvt_frames_free. */
struct nvt_frames {
    struct nvt_map pairs; /* name << 32 | module -> number */
    struct nvt_map rows;  /* (row of the caller and 1) << 32 | pair -> row */
    uint32_t pair_count;
};

void nvt_frames_free(struct nvt_frames *frames); /* it is empty then */

/* The row of call_frames, and 1, of a function below another one (its row and 1; 0: below none); both texts are strings of the
 * trace. Added when new. 0: out of memory. */
uint32_t nvt_frames_below(struct nvt_frames *frames, struct nvt_trace *trace, uint32_t caller,
                          uint32_t name, uint32_t module);

#endif
