/*
 * `nvtally ctl` and sessions that have no recorder yet (standing.h): who is in them, and a recorder for them.
 */
#ifndef NVT_CTL_STANDING_H
#define NVT_CTL_STANDING_H

#include "ctl_socket.h"

/* Lines as those of the request status (live.h): state, processes (that have joined it), folder, command (of the first of them, ""). */
void nvt_ctl_standing_status(const struct nvt_ctl_session *session, char *text, size_t size);

/*
 * Start a recorder for a session that has none, a process of its own that outlives us, and wait until it records (`opens`) or answers.
 * `output`: the trace, as record -o takes it; NULL: as record has it; `overwrite`: over one that is there. The session has a recorder then, and `trace` its file. 0,
 * or -1 with err. Where somebody else was faster, his recorder is as good.
 */
int nvt_ctl_standing_start(struct nvt_ctl_session *session, const char *output, int overwrite,
                           int opens, char *trace, size_t size, struct nvt_error *err);

/* Where NVT_SESSION_ENV names a standing session, make it unless it is there, as the first of its processes would. Returns its folder,
 * in `folder`; that of another session; NULL: it is not set. */
const char *nvt_ctl_standing_own(char *folder, size_t size);

#endif
