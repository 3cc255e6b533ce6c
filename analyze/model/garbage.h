/* Garbage collection in CPU samples: what Python's collector, or another one, and what it calls run. */
#ifndef NVT_GARBAGE_H
#define NVT_GARBAGE_H

#include "trace.h"

/* Of each row of call_frames: 1 where the function collects garbage, or one of its callers does. malloc'ed; NULL when out of memory. */
uint8_t *nvt_garbage_frames(const struct nvt_trace *trace);

#endif
