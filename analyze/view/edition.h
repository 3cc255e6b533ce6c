/*
 * Editions of what is viewed. Traces that are still being recorded grow: they are read again when one of their files has
 * changed, at most a tenth of the time, and the new edition takes the place of the one before. Who asks takes the current
 * edition and gives it back; one that is no longer current goes when nobody has it. The first one of large files is their
 * beginning, so that there is something to see while the rest is read. Files of other formats, which take long, have an edition 0
 * that shows nothing. What came as such is there without the critical path first, and with it in the next edition.
 */
#ifndef NVT_EDITION_H
#define NVT_EDITION_H

#include <pthread.h>

#include "answers.h"

#define NVT_VIEW_SIDES 2

struct nvt_edition {
    const struct nvt_viewer *viewer; /* NULL: nothing has been read */
    uint64_t number;                 /* 1, 2 …; 0: nothing has been read */
    int is_beginning;                /* the whole is being read */
    int lacks_path;                  /* the next edition has the same, and the critical path */
    struct nvt_edition *base; /* which has what was read, and the findings; NULL: it is here */
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
    /* The first edition that is whole is there; NULL with err: there will be none, and if there was no beginning either, no edition. */
    void (*is_whole)(void *context, const struct nvt_edition *edition, const struct nvt_error *err);
    void *context;
    int64_t bytes;       /* of the files; 0: unknown */
    int64_t patience_ms; /* so long the first edition is waited for */
};

/* Read the first one, and watch its files from then on, on a thread that takes no signals. It returns when there is something to
 * show, or when patience ends. NULL with err filled: it cannot be read. */
struct nvt_editions *nvt_editions_read(const struct nvt_edition_source *source,
                                       struct nvt_error *err);
/* One of a viewer that is the caller's. NULL: out of memory. */
struct nvt_editions *nvt_editions_of(const struct nvt_viewer *viewer);
/* Nobody has an edition. NULL is left alone. */
void nvt_editions_free(struct nvt_editions *editions);

struct nvt_edition *nvt_edition_take(struct nvt_editions *editions);
void nvt_edition_release(struct nvt_editions *editions, struct nvt_edition *edition);

/* Whether an edition, or its critical path, is being made: then nvt_editions_free takes as long as that. */
int nvt_editions_are_reading(struct nvt_editions *editions);

/* Append {"edition":N,"is_beginning":0 or 1,"lacks_path":0 or 1,"same":1 if it has the rows of edition N − 1; "failed":"why the first one, or the
 * rest, was not read"; or while that is read "read":bytes so far,"bytes":of the files, 0 unknown}. 0, or -1 when out of memory. */
int nvt_edition_state(struct nvt_editions *editions, const struct nvt_edition *edition,
                      struct nvt_buffer *out);

/* Append its findings (answers.h). 0, or -1 when out of memory. */
int nvt_edition_findings(struct nvt_edition *edition, struct nvt_buffer *out);

#endif
