/*
 * Editions of what is viewed. Traces that are still being recorded grow: they are read again when one of their files has
 * changed, at most a tenth of the time, and the new edition takes the place of the one before. Who asks takes the current
 * edition and gives it back; one that is no longer current goes when nobody has it.
 */
#ifndef NVT_EDITION_H
#define NVT_EDITION_H

#include <pthread.h>

#include "answers.h"

#define NVT_VIEW_SIDES 2

struct nvt_edition {
    const struct nvt_viewer *viewer;
    uint64_t number;                         /* 1, 2 … */
    struct nvt_input inputs[NVT_VIEW_SIDES]; /* what it was read into, */
    struct nvt_viewer own;                   /* and made of that; empty of one that was given */
    uint32_t users;
    pthread_mutex_t lock; /* of the findings, which are made when they are first asked for */
    struct nvt_buffer findings;
    int findings_status, has_findings;
};

struct nvt_editions;

/* Read what is to be shown into inputs, zero-initialised. How many sides, or -1 with err. On any thread. */
typedef int nvt_edition_read(void *context, struct nvt_input inputs[NVT_VIEW_SIDES],
                             struct nvt_error *err);

/* Read the first one, and watch its files from then on, on a thread that takes no signals. NULL with err filled. */
struct nvt_editions *nvt_editions_read(nvt_edition_read *read, void *context,
                                       struct nvt_error *err);
/* One of a viewer that is the caller's. NULL: out of memory. */
struct nvt_editions *nvt_editions_of(const struct nvt_viewer *viewer);
/* Nobody has an edition. NULL is left alone. */
void nvt_editions_free(struct nvt_editions *editions);

struct nvt_edition *nvt_edition_take(struct nvt_editions *editions);
void nvt_edition_release(struct nvt_editions *editions, struct nvt_edition *edition);

/* Append its findings (answers.h). 0, or -1 when out of memory. */
int nvt_edition_findings(struct nvt_edition *edition, struct nvt_buffer *out);

#endif
