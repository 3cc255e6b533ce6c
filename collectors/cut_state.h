/*
 * What chunks that are cut off the front of a trace leave behind, so that what stays can be understood: the
 * ranges that were open where the cut is, ends of ranges whose start is behind it, and of device records
 * contexts, streams, names, memory in use (cut_state_device.h). It is written into chunks that are flagged
 * NVT_CHUNK_CARRIED, with the times that it had. Besides, how fast each process was (cut_state_pace.h).
 */
#ifndef NVT_CUT_STATE_H
#define NVT_CUT_STATE_H

#include "../lib/trace_file.h"

struct nvt_cut_state;

/* NULL when out of memory. */
struct nvt_cut_state *nvt_cut_state_new(void);
void nvt_cut_state_free(struct nvt_cut_state *state);

/* A chunk of kind EVENTS, DEVICE, DEVICE_COLUMNS or PACE that is cut off, in the order of the file. 0, or -1: it
 * is malformed or there is no memory. */
int nvt_cut_state_take(struct nvt_cut_state *state, const struct nvt_chunk *chunk,
                       const uint8_t *payload);

/* The thread ended before the cut: so did what it had pushed. 0, or -1: there is no memory. */
int nvt_cut_state_thread_ended(struct nvt_cut_state *state, uint32_t index);

/* Where chunks go. 0, or -1 when one could not be written. */
typedef int nvt_cut_state_put(void *context, const struct nvt_chunk *chunk, const void *payload,
                              size_t size);

/*
 * Put what is left of the chunk's thread (EVENTS: its pushes), or of its process (DEVICE, DEVICE_COLUMNS), before that
 * chunk, which stays; once. nvt_cut_state_give_all, when all chunks have been looked at: what is left of all others,
 * and starts and ends of ranges, for which it does not matter where they stand. 0; -1: `put` failed or there is no
 * memory.
 */
int nvt_cut_state_give(struct nvt_cut_state *state, const struct nvt_chunk *chunk,
                       nvt_cut_state_put *put, void *context);
int nvt_cut_state_give_all(struct nvt_cut_state *state, nvt_cut_state_put *put, void *context);

/* Whether it has been put for a chunk like this: those that follow stay, too, but for carried ones. */
int nvt_cut_state_is_given(const struct nvt_cut_state *state, const struct nvt_chunk *chunk);

#endif
