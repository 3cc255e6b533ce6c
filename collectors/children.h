/*
 * Children that this process had before it started any: who calls exec leaves them to what comes then.
 */
#ifndef NVT_CHILDREN_H
#define NVT_CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

#define NVT_CHILDREN_MOST 256

struct nvt_children {
    pid_t pids[NVT_CHILDREN_MOST];
    int count; /* -1: unknown: there is no /proc, or there are too many */
};

/* The children of the calling process, which must have one thread. */
void nvt_children_read(struct nvt_children *children);

/* Take note of one more, that this process has made for itself: from now on it was there. */
void nvt_children_add(struct nvt_children *children, pid_t pid);

/* Whether there is a child that was not there `before`, who has one: -1 where that cannot be told now. Where it was not known what
 * there was, there is. */
int nvt_children_are_new(const struct nvt_children *before);

/* Send each that was not there `before` a signal. */
void nvt_children_signal(const struct nvt_children *before, int number);

/* Those that were not there `before`: "sleep (12), python3 (13) and 2 more", with their names and numbers; "" where none is
 * known. Returns `text`. */
const char *nvt_children_text(const struct nvt_children *before, char *text, size_t size);

#endif
