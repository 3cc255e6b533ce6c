/*
 * A progress bar with the time left, on a terminal; nothing where the stream is none.
 */
#ifndef NVT_PROGRESS_H
#define NVT_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct nvt_progress {
    int descriptor; /* -1: not shown */
    size_t total;
    int64_t started_ns;
};

/* A bar of `total` steps on this descriptor, shown if it is a terminal. */
void nvt_progress_begin(struct nvt_progress *progress, int descriptor, size_t total);
/* Show that `done` steps are done and what comes next (may be NULL). */
void nvt_progress_show(const struct nvt_progress *progress, size_t done, const char *next);
/* Wipe the bar. */
void nvt_progress_end(const struct nvt_progress *progress);

/* The text of the bar for a terminal so many columns wide, into out; for tests. */
void nvt_progress_text(char *out, size_t size, size_t done, size_t total, int64_t elapsed_ns,
                       const char *next, int columns);

#endif
