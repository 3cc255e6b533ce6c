/*
 * Which recordings on this machine a request of `nvtally ctl` is for, by what --session says.
 *
 * `nvtally env` makes a session before there is anything to record. One that no process has ever joined (somebody has just looked at the
 * variables) is taken only if it is named, or is our own; one that all have left, only if there is no other.
 */
#ifndef NVT_CTL_CHOOSE_H
#define NVT_CTL_CHOOSE_H

#include "ctl_socket.h"

/*
 * `which`: the recorder's process, the folder, "all", or NULL: the session that we run in, or the only one. 0 with *count of them, at
 * least one, or -1 with err: there is none, or there are several and none is named.
 */
int nvt_ctl_choose(const char *which, struct nvt_ctl_session *out, size_t most, size_t *count,
                   struct nvt_error *err);

#endif
