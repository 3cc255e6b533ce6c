/*
 * Editions of what is viewed. Traces that are still being recorded grow: they are read again when one of their files has
 * changed, at most a tenth of the time, and the new edition takes the place of the one before. Who asks takes the current
 * edition and gives it back; one that is no longer current goes when nobody has it. The first one of large files is their
 * beginning, so that there is something to see while the rest is read.
 */
#ifndef NVT_EDITION_H
#define NVT_EDITION_H

#include <pthread.h>

#include "answers.h"

#define NVT_VIEW_SIDES 2

struct nvt_edition {
    const struct nvt_viewer *viewer;
    uint64_t number;                         /* 1, 2 … */
    int is_beginning;                        /* the whole is being read */
    struct nvt_input inputs[NVT_VIEW_SIDES]; /* what it was read into, */
    struct nvt_viewer own;                   /* and made of that; empty of one that was given */
    uint32_t users;
    pthread_mutex_t lock; /* of the findings, which are made when they are first asked for */
    struct nvt_buffer findings;
    int findings_status, has_findings;
};

struct nvt_editions;

/* Both on any thread, one at a time. */
struct nvt_edition_source {
    /* Read what is to be shown into inputs, zero-initialised, or so many bytes of each file (0: all). How many sides, or -1 with err:
     * of beginnings also where files are too short for that. */
    int (*read)(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                struct nvt_error *err);
    /* The first edition that is whole is there; NULL with err: there will be none. */
    void (*is_whole)(void *context, const struct nvt_edition *edition, const struct nvt_error *err);
    void *context;
};

/* Read the first one, and watch its files from then on, on a thread that takes no signals. NULL with err filled. */
struct nvt_editions *nvt_editions_read(const struct nvt_edition_source *source,
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
