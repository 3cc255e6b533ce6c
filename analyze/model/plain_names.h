/*
 * Names without numbers: PyTorch's emit_nvtx writes "aten::mm, seq = 5, op_id = 12" for every call
 * of an operator, its profiler "ProfilerStep#7" for every step, and Python's stack where each object
 * lies ("<built-in method to of Tensor object at 0x7f8fee516940>"). As names that is one range
 * each; what they have in common is "aten::mm", "ProfilerStep#*" and "… at 0x*>". nsys's reports keep them
 * apart, and so do ours unless asked; what is drawn, compared and diagnosed takes them together.
 */
#ifndef NVT_PLAIN_NAMES_H
#define NVT_PLAIN_NAMES_H

#include "trace.h"

/* The plain form of a name, malloc'ed; NULL when out of memory. */
char *nvt_plain_name(const char *name);

/* Whether a range, as reports name it with its domain, is a function of the Python stack; not a module of
 * PyTorch's, which is what its user wrote. */
int nvt_is_python_function(const char *name);

/* The name of the domain of the Python stack's functions, whose ranges are left out where an overview is wanted: a
 * hundred of them lie around each other range, and their names have line numbers. NVT_NONE: it has none, or nothing
 * else. */
uint32_t nvt_python_functions(const struct nvt_trace *trace);

/* Whether a range is a function of the Python stack, not a module of PyTorch's; `functions` is what nvt_python_functions gave. */
int nvt_is_function_of(const struct nvt_trace *trace, uint32_t functions, uint32_t range);

/* Give the ranges of a trace plain names. 0, or -1 with err (out of memory). */
int nvt_plain_names(struct nvt_trace *trace, struct nvt_error *err);

#endif
