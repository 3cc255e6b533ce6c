/*
 * Nesting of push/pop ranges of a thread across domains.
 *
 * The model's own parents follow NVTX: a stack for each thread and domain. nsys's reports, and the
 * question which phase a library's range lies in, look at the thread as a whole: the parent is the
 * innermost range of the same thread, of any domain, that encloses it in time.
 */
#ifndef NVT_NESTING_H
#define NVT_NESTING_H

#include "trace.h"

/*
 * parent[i] of every range: a lower row, or NVT_NONE (outermost, or a start/end range). malloc'ed,
 * one more element than there are ranges; NULL with err filled when out of memory.
 */
uint32_t *nvt_nest_threads(const struct nvt_trace *trace, struct nvt_error *err);

#endif
