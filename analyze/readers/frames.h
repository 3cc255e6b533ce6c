/*
 * Stacks of samples as the model has them: each function once below each that called it (call_frames).
 */
#ifndef NVT_FRAMES_H
#define NVT_FRAMES_H

#include "../../lib/frame_tree.h"
#include "../model/trace.h"

/* The row of call_frames, and 1, of a function below another one (its row and 1; 0: below none); both texts are strings of the
 * trace. Added when new; the tree holds the rows of one trace. 0: out of memory. */
uint32_t nvt_frames_below(struct nvt_frame_tree *tree, struct nvt_trace *trace, uint32_t caller,
                          uint32_t name, uint32_t module);

#endif
