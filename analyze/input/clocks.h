/*
 * Moments of several traces: how far the axis of one is from that of another.
 *
 * Each trace's axis begins elsewhere. Two things show where: ranks of `gpipe` leave a mark "clock offset", with the
 * rank's own clock at that moment and how far rank 0's is from it, as it was measured over messages; and a trace knows
 * CLOCK_REALTIME at time 0 of its axis, which is as good as the synchronisation of the machines, and moves where that
 * clock was set between two recordings.
 */
#ifndef NVT_CLOCKS_H
#define NVT_CLOCKS_H

#include "../model/trace.h"

/* What a trace says of itself by its mark "clock offset". */
struct nvt_rank_clock {
    int rank, ranks;  /* 0 of 0 where there is no such mark */
    int64_t to_rank0; /* added to the trace's times: rank 0's clock, where the mark has the time */
};
struct nvt_rank_clock nvt_rank_clock_of(const struct nvt_trace *trace);

/* Whether a trace knows CLOCK_REALTIME. */
int nvt_has_realtime(const struct nvt_trace *trace);
/* What is to be added to a time of `from`, so that it is one of `to`, by CLOCK_REALTIME, which both know. */
int64_t nvt_realtime_shift(const struct nvt_trace *from, const struct nvt_trace *to);

/*
 * What is to be added to the times of each of `count` traces so that they are on the axis of the first one: by their marks
 * where all are ranks of one run, else by CLOCK_REALTIME. How many know neither, or where the first does not: those begin
 * when the first one does.
 */
size_t nvt_shifts_to_first(const struct nvt_trace *const *traces, size_t count, int64_t *shifts);

#endif
