/*
 * Input that can be read only once, standard input ("-") and pipes, as a file that readers open and
 * go through as often as they like: a copy in TMPDIR (or /tmp) that has no name, so that nothing is
 * left of it however the process ends.
 */
#ifndef NVT_SPOOL_H
#define NVT_SPOOL_H

#include "../../lib/error.h"

struct nvt_spool {
    const char *name; /* for people: the path as it was given, or "standard input" */
    const char *path; /* to open */
    char copy[32];    /* that path, of a copy */
    int descriptor;   /* of the copy, -1: none */
};

/* Copy what has to be. `path` has to live as long as the spool does. 0, or -1 with err filled, and
 * then there is nothing to close. */
int nvt_spool_open(struct nvt_spool *spool, const char *path, struct nvt_error *err);
void nvt_spool_close(struct nvt_spool *spool);

/* The open file of a copy's path, for who cannot open one; -1: it is none. */
int nvt_spool_descriptor(const char *path);

/* An error about the copy becomes one about what was given. */
void nvt_spool_rename(const struct nvt_spool *spool, struct nvt_error *err);

#endif
