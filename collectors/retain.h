/*
 * A trace that keeps its latest part (`record --max-age`, `--max-size`), as a flight recorder does: once as much of the
 * file is too old as is not, it is written anew without what is too old, a slice at a time while recording goes on, and
 * the new file takes the old one's name. So there is always a whole trace of that name, whatever ends the recorder, and
 * the file is never more than twice as long as what is kept, for a moment three times.
 *
 * Chunks of events and device records are cut off as wholes (one is written every 100 ms); strings, facts,
 * processes, threads, definitions and moments of the clock stay, and what cut_state.h says.
 */
#ifndef NVT_RETAIN_H
#define NVT_RETAIN_H

#include "../lib/trace_file.h"

struct nvt_retain;

/* 0: no limit of this kind. */
struct nvt_retain_limits {
    int64_t age_ns;
    uint64_t bytes; /* of chunks of events and device records, as they are stored */
};

/* NULL when out of memory. */
struct nvt_retain *nvt_retain_new(const struct nvt_retain_limits *limits);

/* The new file is given up, if there is one. */
void nvt_retain_free(struct nvt_retain *retain);

/* Chunks of events are to be no longer than that, so that some fit into what is kept. */
uint64_t nvt_retain_chunk_bytes(const struct nvt_retain *retain);

/* A chunk has been written, and takes so many bytes of the file. */
void nvt_retain_note(struct nvt_retain *retain, const struct nvt_chunk *chunk, uint64_t bytes);

/* The time: now, and how many ticks a nanosecond has. */
struct nvt_retain_time {
    uint64_t ticks;
    double ticks_per_ns;
};

/*
 * Go on with the work for a few milliseconds, or begin it if it is time to. `writer` has written what was noted.
 * Whether there is more to do at once. What fails is tried again later; the file is left unchanged.
 */
int nvt_retain_step(struct nvt_retain *retain, struct nvt_trace_writer *writer,
                    const struct nvt_retain_time *time);

/* What is older may be cut off, ns; 0: nothing for its age. */
int64_t nvt_retain_age(const struct nvt_retain *retain);

/* How often the front of the file has been cut off. */
uint64_t nvt_retain_cuts(const struct nvt_retain *retain);

/* At the end of the recording: the whole of it, with nothing in the file that is too old. 0; -1 with err, which is
 * the first thing that failed: what is too old may be in the file. */
int nvt_retain_finish(struct nvt_retain *retain, struct nvt_trace_writer *writer,
                      const struct nvt_retain_time *time, struct nvt_error *err);

#endif
