/*
 * What a report says: findings and the overview, charts and main tables, roofline, warm-up, profiling overhead, memory, device
 * and calls, published results, the environment, and how to run it again.
 */
#ifndef NVT_STORY_H
#define NVT_STORY_H

#include "../analyze/input/input.h"
#include "chart.h"
#include "document.h"

/* A picture that was drawn for it. */
struct nvt_story_picture {
    const char *path;
    const char *title; /* what it shows */
    enum nvt_chart_part part;
};

struct nvt_story {
    struct nvt_input *input; /* its traces read */
    const char *title;       /* NULL: the workloads or files */
    const char *command;     /* that makes this report */
    const struct nvt_story_picture *pictures;
    size_t picture_count;
    const char *no_pictures; /* why there are none, or NULL */
    size_t embed;            /* bytes of a timeline, at most; 0: none */
};

/* Fill the document. A part that the input has nothing for is left out. 0, or -1 with err filled.
 */
int nvt_story_tell(const struct nvt_story *story, struct nvt_document *document,
                   struct nvt_error *err);

/* "WHAT. Backend …, device …, date; condition" of the input; malloc'ed, NULL when out of memory. */
char *nvt_story_caption(const struct nvt_input *input, const char *what);

#endif
