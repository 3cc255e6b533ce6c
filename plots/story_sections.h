/*
 * Parts of what a report tells (story.h) that have files of their own.
 */
#ifndef NVT_STORY_SECTIONS_H
#define NVT_STORY_SECTIONS_H

#include "../analyze/diagnosis/diagnose.h"
#include "../lib/buffer.h"
#include "document.h"

/* The first `most` rows of a table, as a document shows it; what was left out stands under it. */
void nvt_story_table(struct nvt_document *document, const struct nvt_table *table, size_t most);

/* What was run, and where: what all of the input has in common, and in what it differs. */
void nvt_story_where(const struct nvt_input *input, struct nvt_document *document);

/* Whether the figures of a directory are others'. */
int nvt_story_published(const struct nvt_runs *runs);

/* What recording took each trace of the input that says so, a row a trace. The caller's; NULL when
 * out of memory. */
struct nvt_table *nvt_story_cost(const struct nvt_input *input);

/* Append lines about devices to what was found; none without their operations. 0, or -1. */
int nvt_story_device(struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err);

/* Append lines about traces of no run: their iterations, and, where there are no device operations, what ranges the host's time
 * was in. 0, or -1. */
int nvt_story_host(struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err);

/* What was found, in a few lines: runs, devices, host, warm-up, cost of collecting, memory, findings. 0,
 * or -1 with err filled. */
int nvt_story_summary(struct nvt_input *input, const struct nvt_findings *findings,
                      struct nvt_document *document, struct nvt_error *err);

#endif
