/*
 * What NVTX's memory extension has said, in sessions whose recording may begin late, or again (--dormant, --budget, --capture, --delay,
 * `nvtally env`): a pool is announced at a program's start, and in use for as long as it runs.
 *
 * While nothing is recorded it is kept which heaps and regions there are (heap_table.h). With the first event behind each beginning of a
 * recording they are told, once to each recorder, as samples with the time of that beginning; then comes NVT_HEAP_TOLD. What began or
 * ended between two parts of a recording is told at the beginning of the second. A region that a thread changes before it was told is
 * told by that thread, first.
 */
#ifndef NVT_INJECT_HEAPS_H
#define NVT_INJECT_HEAPS_H

#include "../../lib/heap_payload.h"
#include "capture.h"
#include "events.h"
#include "heap_table.h"
#include "session.h"

extern int nvt_heaps_watch; /* the session is such a one */

/* Zeros in a child of fork, which begins without heaps. */
struct nvt_heaps_state {
    struct nvt_heap_table heaps, regions;
    _Atomic uint64_t opening;  /* the latest that was told of, and 1 */
    _Atomic uint64_t recorder; /* that it was told to, 0: none */
    _Atomic uint64_t names;    /* bytes of names that are kept for this alone */
    _Atomic uint32_t changed;  /* something is to be told */
};
/* NULL: nothing was said of any heap so far */
extern struct nvt_heaps_state *_Atomic nvt_heaps_state;

/* When the joined session may begin late: watch it. */
void nvt_heaps_begin(void);

/* When the recording that is going on has begun, ticks. */
static inline uint64_t nvt_heaps_opening(void)
{
    const uint64_t opened =
        atomic_load_explicit(&nvt_session.control->opened, memory_order_relaxed);
    const uint64_t captured = atomic_load_explicit(&nvt_capture_opened, memory_order_relaxed);
    return opened > captured ? opened : captured;
}

/* Whether what there is may have to be told. */
static inline int nvt_heaps_are_due(void)
{
    struct nvt_heaps_state *state = atomic_load_explicit(&nvt_heaps_state, memory_order_acquire);
    return NVT_UNLIKELY(state != NULL) &&
           atomic_load_explicit(&state->opening, memory_order_relaxed) != nvt_heaps_opening() + 1;
}

/* Tell it, if something is recorded now. */
void nvt_heaps_tell(void);

/* Of a session that is watched: keep what was said, and record it if something is recorded now. The name: as NVTX has it. */
void nvt_heaps_take(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                    uint32_t message_type, nvtxMessageValue_t message);

/* What was said, as an event: a mark that is recorded now, with the time `told` (ticks; 0: its own). */
void nvt_heaps_record(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                      uint32_t message_type, nvtxMessageValue_t message, uint64_t told);

#endif
