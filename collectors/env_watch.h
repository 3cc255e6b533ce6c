/*
 * `nvtally env --watch FILE -- COMMAND`: a process of its own that watches the file for a session which has no recorder (ctl_file.h), and
 * starts one when that is asked for. It ends when the session's holder has ended and no process of it is left.
 */
#ifndef NVT_ENV_WATCH_H
#define NVT_ENV_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "../lib/error.h"

/* Start it. `holder` keeps the session, see nvt_process_start. 0, or -1 with err: the file cannot be watched. */
int nvt_env_watch(const char *path, const char *folder, pid_t holder, uint64_t holder_start,
                  struct nvt_error *err);

#endif
