/*
 * The place in the program that makes most of the calls of a finding, by their stacks (call_sites.h); it ends the
 * finding's evidence.
 */
#ifndef NVT_CALLED_FROM_H
#define NVT_CALLED_FROM_H

#include "../studies/call_sites.h"
#include "../studies/pairs.h"
#include "diagnose.h"

/* Zero-initialise; release with nvt_called_from_free. */
struct nvt_called_from {
    struct nvt_call_sites sites;
    struct nvt_pairs callers; /* whole 0; rows of call_frames of functions of the program's own */
    int64_t ns, known_ns;     /* of all that counts; of what has a stack */
    int64_t unseen_ns; /* of calls since the last one with a stack, which should have had one */
    int failed;
};

/* Nothing is done for a trace in which no call has a stack. 0, or -1 when out of memory. */
int nvt_called_from_begin(struct nvt_called_from *from, const struct nvt_trace *trace);

/* Time that counts, ns, of a call with this stack (as calls have it; 0: it was not recorded). */
void nvt_called_from_add(struct nvt_called_from *from, uint32_t frame, double time);

/*
 * Time that counts of a blocking call. Recordings have the stack of one call for so much time in calls of 1 ms or more
 * (collectors/recorder.c): it stands for those before it. `frame`: its stack; `site`: the place in it that counts (0: none).
 * Returns for what time that place now stands, ns: 0 where a later call says it.
 */
double nvt_called_from_add_sampled(struct nvt_called_from *from, uint32_t frame, uint32_t site,
                                   double time);

/* Time that counts, ns, of a call of CUDA: a row of apis, or NVT_NONE. */
void nvt_called_from_add_call(struct nvt_called_from *from, uint32_t call, double ns);

/* "; 92 % of that time called from step (train.py:12)", where that is half of it and more; "at least 92 %" where stacks
 * of some were not recorded. `what` stands for "that time". 0, or -1 when out of memory, now or before. */
int nvt_called_from_tell(struct nvt_called_from *from, const char *what,
                         struct nvt_finding *finding);
void nvt_called_from_free(struct nvt_called_from *from);

/* Add the place that makes the calls in which all gaps of a cause were spent (nvt_view_gaps). 0, or -1 with err filled
 * (out of memory). */
int nvt_called_from_tell_gaps(const struct nvt_view *view, unsigned cause,
                              struct nvt_finding *finding, struct nvt_error *err);

/* Say from where calls of CUDA in the steady part are made for which `counts` is true of their names, by their time. 0, or -1 with
 * err filled (out of memory). */
int nvt_called_from_tell_calls(const struct nvt_view *view, int (*counts)(const char *name),
                               const char *what, struct nvt_finding *finding,
                               struct nvt_error *err);

#endif
