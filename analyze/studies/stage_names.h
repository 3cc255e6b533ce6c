/*
 * What frameworks call the steps of a pipeline: the passes of a stage over one micro-batch, and its waits for messages. One table
 * (stage_names.c), after their sources.
 */
#ifndef NVT_STAGE_NAMES_H
#define NVT_STAGE_NAMES_H

#include <stdint.h>

enum nvt_step_kind {
    NVT_STEP_NONE, /* no step of a pipeline */
    NVT_STEP_FORWARD,
    NVT_STEP_BACKWARD,
    NVT_STEP_OTHER, /* computes and needs no message of its own: gradients of weights; a forward and a backward pass at once */
    NVT_STEP_FROM_PREVIOUS, /* receives from the stage before; it computes nothing */
    NVT_STEP_FROM_NEXT
};

/* What the name of a range says; numbers are NVT_NONE where it says none. */
struct nvt_stage_name {
    enum nvt_step_kind kind;
    uint32_t stage, batch;
};

struct nvt_stage_name nvt_stage_name(const char *name);

/* Whether such a step computes. */
static inline int nvt_step_computes(enum nvt_step_kind kind)
{
    return kind == NVT_STEP_FORWARD || kind == NVT_STEP_BACKWARD || kind == NVT_STEP_OTHER;
}

#endif
