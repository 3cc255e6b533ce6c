/*
 * `nvtally ctl steps N`: have recordings record the same N iterations, and wait until they have.
 */
#ifndef NVT_CTL_STEPS_H
#define NVT_CTL_STEPS_H

#include "ctl_socket.h"

/*
 * Agree with all recorders on the numbers of the iterations, and wait; SIGINT and SIGTERM break it off. What was recorded goes to stdout,
 * one line a recording; what keeps us waiting to stderr. Returns 0; or -1 with err, with nothing going on any more: a recording
 * refuses, has ended, was stopped by somebody, or it was broken off.
 */
int nvt_ctl_steps(const struct nvt_ctl_session *sessions, size_t count, const char *wanted,
                  int64_t patience_ns, struct nvt_error *err);

#endif
