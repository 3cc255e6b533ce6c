/*
 * Ranges that are pushed and never popped: a return, a continue or an exception skips the pop, and each leaves all that comes behind it
 * one level deeper.
 */
#ifndef NVT_MODEL_LEAKED_PUSHES_H
#define NVT_MODEL_LEAKED_PUSHES_H

#include "trace.h"

/* From so many of a name on, of which at most one in ten was popped; fewer are what was open when the program ended. */
#define NVT_LEAKED_PUSHES 20

struct nvt_leaked_pushes {
    uint32_t name, thread; /* of the name with most of them; where the first one is */
    uint32_t pushed;       /* and never popped */
};

/* 1: there are some, 0: none, -1: out of memory. */
int nvt_leaked_pushes_find(const struct nvt_trace *trace, struct nvt_leaked_pushes *leaked);

#endif
