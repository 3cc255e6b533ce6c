/*
 * What a trace says of its own recording: the levels, how the command ended, what kind of program it was, and which ranges the
 * recorder made.
 */
#ifndef NVT_RECORDING_H
#define NVT_RECORDING_H

#include "trace.h"

/* How the command ended that `record` or `run` had started, for a fact of that name: "was killed by SIGKILL", "ended with exit
 * status 3". Nothing where it ended by itself with status 0. */
#define NVT_FACT_ENDED "ended"

/* Sets that fact from the status that waitpid gave. 0, or -1 when out of memory. */
int nvt_recording_set_ended(struct nvt_trace *trace, int wait_status);

/* Whether the fact is of a signal. */
int nvt_recording_has_signal(const struct nvt_trace *trace);

/* Whether it ended while the program went on: it is read while it is written, is a copy (ctl dump), or was over after --duration. Where its
 * recorder was killed, that is not known: 0. */
int nvt_recording_goes_on(const struct nvt_trace *trace);

/* Whether a level of `record --trace`, or "pytorch", was on: 1, 0, or -1 where the trace does not say. */
int nvt_recording_level(const struct nvt_trace *trace, const char *level);

/* Whether a range is one that `record --pytorch` makes: the program cannot place it elsewhere. */
int nvt_is_recorders_range(const struct nvt_trace *trace, uint32_t range);

/* Whether the program uses PyTorch: by its profiler, by ranges of `record --pytorch` or names of its operators and kernels. */
int nvt_is_pytorch_program(const struct nvt_trace *trace);

#endif
