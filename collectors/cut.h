/*
 * Writing a trace anew without what is too old, while it is still being written: see retain.h; or a copy of it.
 */
#ifndef NVT_CUT_H
#define NVT_CUT_H

#include "../lib/trace_file.h"

struct nvt_cut;

/* Begin a new file next to the writer's. Chunks of events and device records whose last ticks are before `ticks` are
 * left out. NULL with err. */
struct nvt_cut *nvt_cut_begin(const struct nvt_trace_writer *writer, uint64_t ticks,
                              struct nvt_error *err);

/* Go on up to the end of what the writer has written, or to a moment of CLOCK_MONOTONIC. 0: the end; 1: there is
 * more; -1 with err. */
int nvt_cut_go(struct nvt_cut *cut, const struct nvt_trace_writer *writer, int64_t until_ns,
               struct nvt_error *err);

/* Bytes of the writer's file that are still to be looked at. */
uint64_t nvt_cut_left(const struct nvt_cut *cut, const struct nvt_trace_writer *writer);

/* At that end: the new file takes the place of the writer's. 0, or -1 with err. Then, and to give up, nvt_cut_free. */
int nvt_cut_take_over(struct nvt_cut *cut, struct nvt_trace_writer *writer, struct nvt_error *err);

/*
 * Another trace of the first `bytes` of one, which end in a whole chunk: with what ended since `ticks`, as above; 0: all of it. `to` is
 * there and empty; `kept` says in it how much that is ("2 s"; NULL: all), unless less had been left before. The copy has the fact `copy`,
 * by which readers know that it ends where the recording went on. 0, or -1 with err, and `to` is of no use.
 */
int nvt_cut_copy(const char *from, int64_t bytes, uint64_t ticks, const char *kept, const char *to,
                 struct nvt_error *err);

/* Removes the new file if it has not taken over. */
void nvt_cut_free(struct nvt_cut *cut);

#endif
