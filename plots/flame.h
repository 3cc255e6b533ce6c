/*
 * What the flame graphs of charts and of documents have in common.
 */
#ifndef NVT_FLAME_H
#define NVT_FLAME_H

#include "../analyze/device/project.h"
#include "../analyze/studies/stacks.h"

/* How their stacks are made. */
#define NVT_FLAME_STACKS                                                                           \
    (NVT_ACROSS_WAITS | NVT_STACKS_NO_FUNCTIONS | NVT_STACKS_ALIKE | NVT_STACKS_NO_HOST_MEMORY |   \
     NVT_STACKS_NO_UNSEEN | NVT_STACKS_SHORT)

/* The colour of a row. *look is that of the row around it, 0 of none, and becomes its own: names without a colour of theirs
 * have it. plots/charts/flame.c */
const char *nvt_flame_color(const struct nvt_trace *trace, const struct nvt_stacks *stacks,
                            uint32_t row, int *look);

#endif
