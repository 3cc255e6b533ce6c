/*
 * The iterations of a loop one after the other, each from its start to that of the next one: what a loop takes for an
 * iteration, whether its range holds all of that or, as around a step alone, a part.
 */
#ifndef NVT_BEATS_H
#define NVT_BEATS_H

#include "../model/thread_ranges.h"
#include "diagnose.h"

struct nvt_beat {
    uint32_t range;     /* row of the iteration */
    int64_t start, end; /* ns; of one that none follows, the end of its range */
    int is_followed; /* the next one of the loop is known: not of the last one, nor of the last of a part */
    /* End of its last optimizer step, at most `end`; of its range where it has none. */
    int64_t step;
    /* `end`, or when PyTorch's profiler saw the wait for the next batch begin behind the step: its next step may begin later. */
    int64_t until;
};

/* Zero-initialise; release with nvt_beats_free, also after a failure. */
struct nvt_beats {
    const struct nvt_trace *trace;
    struct nvt_beat *items; /* by their starts */
    uint32_t count;
    uint32_t thread; /* that enters them */
    int has_steps;   /* optimizer steps were seen in half of them and more */
    int is_guess; /* there are no iterations: these are the outermost ranges that the loop repeats */
    struct nvt_thread_ranges ranges;
};

/*
 * Of a view: its iterations, of the thread that has most of them. Where the trace has none, the outermost push/pop range that
 * takes most of a thread's time and that this thread enters NVT_BEATS_LEAST times and more; none unless the user named the
 * iterations. 0, or -1 when out of memory.
 */
#define NVT_BEATS_LEAST 24
int nvt_beats_make(struct nvt_beats *beats, const struct nvt_view *view);
void nvt_beats_free(struct nvt_beats *beats);

/* Leave those of the part of the recording that has most: how many iterations lie between two parts is not known. */
void nvt_beats_keep_longest_part(struct nvt_beats *beats);

static inline double nvt_beat_ns(const struct nvt_beat *beat)
{
    return (double)(beat->end - beat->start);
}

#endif
