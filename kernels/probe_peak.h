/* What each backend reaches here, measured by `nvtally info --peak` and kept for `nvtally info`. */
#ifndef NVT_PROBE_PEAK_H
#define NVT_PROBE_PEAK_H

#include <stddef.h>

#include "../lib/probe.h"

/*
 * Measure what each backend reaches that answers here, in a process of its own each: a large product of every
 * precision that it does not emulate, one of 8-bit integers and a large copy. Fills at most `room` items of
 * the section "peak" and returns how many. Takes seconds. What was measured is kept (kept_peak.h).
 */
size_t nvt_probe_peaks(struct nvt_probe_item *items, size_t room);

/* The same of what was kept on this machine. */
size_t nvt_probe_kept_peaks(struct nvt_probe_item *items, size_t room);

#endif
