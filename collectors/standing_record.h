/*
 * The recorder of a standing session (standing.h): it comes when somebody asks for a recording (`nvtally ctl start`), is then asked as
 * that of `record --dormant` is (live.h), and ends when it is told to by a signal, or when no process of the session is left: after a stop
 * at once, else when its holder has ended, too.
 */
#ifndef NVT_STANDING_RECORD_H
#define NVT_STANDING_RECORD_H

#include "../lib/error.h"

struct nvt_standing_wish {
    const char *folder;
    const char *output; /* the trace, an absolute path */
    int overwrite; /* a trace that is there is written over; else it is kept under another name */
    int opens;     /* record from now on; else when it is asked to */
};

/* To be called in a process of its own. `ready` is called once requests are answered, and with `opens` all that comes is recorded. 0, or
 * -1 with err: nothing was recorded (`output` cannot be written; NVT_STANDING_TAKEN), or the trace could not be written to its end. */
int nvt_standing_record(const struct nvt_standing_wish *wish, void (*ready)(void *context),
                        void *context, struct nvt_error *err);

/* In the message: another recorder has come before. */
#define NVT_STANDING_TAKEN "has a recorder already"

#endif
