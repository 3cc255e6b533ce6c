/* Ranges of an overview that never ended: what is in no row, as its time is not known. */
#ifndef NVT_OVERVIEW_OPEN_H
#define NVT_OVERVIEW_OPEN_H

#include "overview.h"

/* Until when a trace is known to go, in ns on its axis: its last moment, or, where something is open on a thread, the end of that
 * thread or of the recording. A part that was cut out of a trace ends where it was cut. */
int64_t nvt_overview_end(const struct nvt_trace *trace);

/* "open for 1.20 s, since 810 ms", "3, the first open for 1.20 s, since 810 ms": how many, for how long and since when. Returns out. */
const char *nvt_overview_open_text(const struct nvt_overview_open *open,
                                   char out[NVT_OVERVIEW_TEXT]);

/* The open ranges of all traces, those of a name together. 0, or -1 with err (out of memory). */
int nvt_overview_take_open(struct nvt_overview *overview, const struct nvt_input *input,
                           struct nvt_error *err);

#endif
