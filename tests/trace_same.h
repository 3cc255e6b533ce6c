/*
 * Whether two traces are the same: every value of every table, texts by what they say, and what lies beside the tables.
 */
#ifndef NVT_TESTS_TRACE_SAME_H
#define NVT_TESTS_TRACE_SAME_H

#include "../analyze/model/trace.h"

/* Both finished. NULL, or what is not the same, in `text`. */
const char *trace_difference(const struct nvt_trace *before, const struct nvt_trace *after,
                             char *text, size_t size);

#endif
