/*
 * A window on a trace: what begins in it is kept, and nothing else is seen by any analysis. It is one NVTX range, or lies
 * between two moments, or both. The options of the commands that take traces, named as nsys's are.
 */
#ifndef NVT_WINDOW_H
#define NVT_WINDOW_H

#include "trace.h"

/* A moment as it was typed. */
struct nvt_moment {
    int64_t ns;
    int is_given;
    int from_begin; /* of the trace; else on its axis, as tables have it */
};

/* Zero-initialised there is none. The texts are the caller's. */
struct nvt_window {
    const char *range; /* --filter-nvtx, NULL: not given */
    const char *time;  /* --filter-time, NULL: not given */
    struct nvt_moment from, to;
    uint32_t part; /* of a recording in parts, from 1 (recorded_parts.h); 0: given by moments */
    int launchers; /* --launchers: what launchers.h leaves out stays in */
};

/*
 * --filter-time FROM/TO, either of which may be missing. A number of nanoseconds is a moment on the trace's axis, as in
 * the columns "Start (ns)"; one with a unit (ns, us, ms, s) counts from the beginning of the trace, as diagnoses, charts
 * and Perfetto do. Or part=N: the N-th part of a recording in parts. 0, or -1 with err.
 */
int nvt_window_set_time(struct nvt_window *window, const char *text, struct nvt_error *err);

/*
 * --filter-nvtx RANGE[@DOMAIN][/N]: the N-th range of this name, from 0 by their starts (0 when not given), in each
 * process. Without DOMAIN, or with *, in any; "DOMAIN:RANGE", as tables have it, will do too. A name that has @ or / in
 * it is taken as a whole where such a range exists. 0, or -1 with err: it is empty.
 */
int nvt_window_set_range(struct nvt_window *window, const char *text, struct nvt_error *err);

static inline int nvt_window_is_set(const struct nvt_window *window)
{
    return window && (window->range || window->time);
}

/*
 * Leave nothing in a finished trace but what begins in the window. Device operations are of the range that was open in
 * their process when they were launched (when they began, where that is unknown), whenever they run; between two
 * moments are those that begin there, whenever they were launched. Rows stay whole that end behind it, but ranges among them have NVT_RANGE_CUT: what
 * counts per iteration leaves them out, and a note says where no other iterations are left. What a range
 * had in children that are gone is its own time. Of memory what was in use when the window opens is taken then (when
 * the first of the processes' windows does); of a counter the last sample before it stays. The fact "condition" names
 * the window, and first_ns and last_ns are those of what is left. 0, or -1 with err: no such range in any process, or
 * out of memory.
 */
int nvt_window_cut(const struct nvt_window *window, struct nvt_trace *trace, struct nvt_error *err);

#endif
