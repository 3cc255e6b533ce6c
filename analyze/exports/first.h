/*
 * Time 0 of what timelines are written in.
 */
#ifndef NVT_EXPORT_FIRST_H
#define NVT_EXPORT_FIRST_H

#include "../model/trace.h"

/* The earliest of all that is written. What a trace's extent goes without may be before it: calls and samples of a program that
 * starts. In a window, samples of counters before it do not count: they say what a counter was when it opened. */
int64_t nvt_export_first(const struct nvt_trace *trace);

#endif
