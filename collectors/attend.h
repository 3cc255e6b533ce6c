/*
 * What a session is asked from elsewhere: by a file that it watches, by an address that it listens on. A thread of the recorder's sees to it, so that a
 * file system that does not answer keeps nobody from draining; it asks the recorder as `nvtally ctl` does (ctl_relay.h).
 */
#ifndef NVT_ATTEND_H
#define NVT_ATTEND_H

#include "../lib/error.h"

struct nvt_attend_wish {
    const char *watch;  /* a file (ctl_file.h), or NULL */
    const char *listen; /* ADDRESS[:PORT] (ctl_net.h), or NULL */
    const char *key;    /* of that: its file */
};

struct nvt_attend;

/* Before the command begins, which may depend on it. 0 with *out, NULL where nothing is wished; or -1 with err. */
int nvt_attend_open(const struct nvt_attend_wish *wish, struct nvt_attend **out,
                    struct nvt_error *err);

/* From now on requests are answered, by a thread. `folder`: the session's. Says on stderr where it listens. NULL is allowed here and below. */
void nvt_attend_begin(struct nvt_attend *attend, const char *folder);

/* The thread ends. A dump that it makes is finished. */
void nvt_attend_end(struct nvt_attend *attend);

/* The same in the calling process, as long as goes_on() says so, which is asked once a second and more often. */
void nvt_attend_run(struct nvt_attend *attend, const char *folder, int (*goes_on)(void *context),
                    void *context);

#endif
