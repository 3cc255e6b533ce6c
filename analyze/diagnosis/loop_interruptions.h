/*
 * Interruptions of a training loop: evaluations and checkpoints, and the calls and functions in spans of its time.
 */
#ifndef NVT_LOOP_INTERRUPTIONS_H
#define NVT_LOOP_INTERRUPTIONS_H

#include "../model/batches.h"
#include "called_from.h"
#include "diagnose.h"
#include "places.h"

/* "an evaluation"; and what to do about it. */
const char *nvt_loop_interruption_text(enum nvt_loop_interruption part);
const char *nvt_loop_interruption_remedy(enum nvt_loop_interruption part);

/* Spans of a thread's time, apart and ascending. Zero-initialise but for view and thread; release with nvt_loop_spans_free. */
struct nvt_loop_spans {
    const struct nvt_view *view;
    uint32_t thread;
    struct nvt_span *items;
    uint32_t count;
    double ns;
};

/* 0, or -1 when out of memory. */
int nvt_loop_spans_add(struct nvt_loop_spans *spans, int64_t start, int64_t end);

/*
 * Add to a finding's evidence what the thread does in them, as far as that was recorded: the OS calls that take most of
 * it, with file and caller ("; 91 % of it in fsync() on c.pt, …"), and the functions that it runs. 0, or -1 when out of
 * memory.
 */
int nvt_loop_spans_tell(const struct nvt_loop_spans *spans, struct nvt_finding *finding);
/* The calls alone. */
int nvt_loop_spans_tell_calls(const struct nvt_loop_spans *spans, struct nvt_finding *finding);
void nvt_loop_spans_free(struct nvt_loop_spans *spans);

#endif
