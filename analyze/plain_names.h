/*
 * Names without numbers: PyTorch's emit_nvtx writes "aten::mm, seq = 5, op_id = 12" for every call
 * of an operator, and its profiler "ProfilerStep#7" for every step. As names that is one range
 * each; what they have in common is "aten::mm" and "ProfilerStep#*". nsys's reports keep them
 * apart, and so do ours unless asked; what is drawn, compared and diagnosed takes them together.
 */
#ifndef NVT_PLAIN_NAMES_H
#define NVT_PLAIN_NAMES_H

#include "trace.h"

/* The plain form of a name, malloc'ed; NULL when out of memory. */
char *nvt_plain_name(const char *name);

/* Give the ranges of a trace plain names. 0, or -1 with err (out of memory). */
int nvt_plain_names(struct nvt_trace *trace, struct nvt_error *err);

#endif
