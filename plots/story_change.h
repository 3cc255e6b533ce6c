/*
 * What a report of a comparison tells: how much has changed, in pictures and in the table of `compare`, the peaks of memory, what is
 * to be known of the numbers, and how to make it again.
 */
#ifndef NVT_STORY_CHANGE_H
#define NVT_STORY_CHANGE_H

#include "changes.h"
#include "story.h"

struct nvt_change_story {
    const struct nvt_changes *changes;
    const char *title;   /* NULL: the sides' names */
    const char *command; /* that makes this report */
    const struct nvt_story_picture *pictures;
    size_t picture_count;
    const char *no_pictures;       /* why there are none, or NULL */
    const struct nvt_input *sides; /* two that have a timeline, or NULL */
    size_t embed;                  /* bytes of it, at most; 0: none */
};

/* Fill the document. 0, or -1 with err filled (out of memory). */
int nvt_change_story_tell(const struct nvt_change_story *story, struct nvt_document *document,
                          struct nvt_error *err);

/* "WHAT. Backend …, device …, date; condition" of all sides; malloc'ed, NULL when out of memory. */
char *nvt_change_story_caption(const struct nvt_changes *changes, const char *what);

#endif
