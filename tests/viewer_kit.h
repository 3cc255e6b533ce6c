/* A viewer of traces, without a server (analyze/view/). */
#ifndef NVT_TESTS_VIEWER_KIT_H
#define NVT_TESTS_VIEWER_KIT_H

#include <stdint.h>

#include "../analyze/view/server.h"

/* A training step as it was recorded on an H100. */
#define TRAIN "docs/results/h100/traces/train.nvt"

/* A trace that is shown. */
struct shown {
    struct nvt_input_trace item;
    struct nvt_input input;
    struct nvt_viewer viewer;
    struct nvt_editions *editions; /* of a server, else NULL */
};

/* Show a trace; hide frees it, too. */
void viewer_show(struct shown *shown, struct nvt_trace *trace);
void viewer_hide(struct shown *shown);

/* An answer as a text, which is the buffer's. */
const char *viewer_text_of(struct nvt_buffer *buffer);

/* A loop with host work, kernels, copies and OS calls. */
struct nvt_trace *viewer_made_loop(void);

/* How many spans lanes of a kind have, and how long these are in all. */
uint64_t viewer_spans_of(const struct nvt_scene *scene, enum nvt_view_kind kind, int64_t *ns);

/* What its state says, until it has a text. */
void viewer_expect_state(const char *address, const char *needle);

#endif
