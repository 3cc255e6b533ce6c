/*
 * Parts of what a report tells (story.h) that have files of their own.
 */
#ifndef NVT_STORY_SECTIONS_H
#define NVT_STORY_SECTIONS_H

#include "../analyze/overview/overview.h"
#include "../lib/buffer.h"
#include "document.h"

/* The first `most` rows of a table, as a document shows it; what was left out stands under it. */
void nvt_story_table(struct nvt_document *document, const struct nvt_table *table, size_t most);

/* Environment: what all of the input has in common, and in what it differs. */
void nvt_story_where(const struct nvt_input *input, struct nvt_document *document);

/* Whether the figures of a directory are others'. */
int nvt_story_published(const struct nvt_runs *runs);

/* What recording took each trace of the input that says so, a row a trace. The caller's; NULL when
 * out of memory. */
struct nvt_table *nvt_story_cost(const struct nvt_input *input);

/* Append lines about devices to what was found, with an overview what that has not; none without their operations. 0, or -1. */
int nvt_story_device(struct nvt_input *input, int has_overview, struct nvt_buffer *text,
                     struct nvt_error *err);

/* Append lines about traces of no run: their iterations, and, where there are no device operations, what ranges the host's time
 * was in. 0, or -1. */
int nvt_story_host(struct nvt_input *input, int has_overview, struct nvt_buffer *text,
                   struct nvt_error *err);

/* What else is known, in a few lines: runs, devices, host, warm-up, cost of collecting. 0, or -1 with err. */
int nvt_story_summary(struct nvt_input *input, int has_overview, struct nvt_document *document,
                      struct nvt_error *err);

/* The findings, of traces; the overview, where the input has one; both as facts for programs. 0, or -1 with err. */
int nvt_story_findings(const struct nvt_input *input, const struct nvt_overview *overview,
                       struct nvt_document *document, struct nvt_error *err);
int nvt_story_overview(const struct nvt_overview *overview, struct nvt_document *document,
                       struct nvt_error *err);
int nvt_story_facts(const struct nvt_input *input, const struct nvt_overview *overview,
                    struct nvt_document *document, struct nvt_error *err);

/* A timeline of the first traces that stand for themselves, in about `most` bytes; none where they have nothing to show. 0, or -1 with err. */
int nvt_story_timeline(const struct nvt_input *input, const struct nvt_overview *overview,
                       size_t most, struct nvt_document *document, struct nvt_error *err);

/* One of the first trace of each of two sides, on one axis; none where a side has no trace. 0, or -1 with err. */
int nvt_story_timelines(const struct nvt_input sides[2], size_t most, struct nvt_document *document,
                        struct nvt_error *err);

/* Flame graphs of the same traces. 0, or -1 with err. */
int nvt_story_flames(const struct nvt_input *input, struct nvt_document *document,
                     struct nvt_error *err);

/* The pages of rules that findings of the document link to, in the order of the findings. */
void nvt_story_rules(struct nvt_document *document);

/* The name of a rule's page in a document, "rule-launch-bound". Returns out. */
#define NVT_ANCHOR_MAX 64
const char *nvt_story_anchor(const struct nvt_rule *rule, char out[NVT_ANCHOR_MAX]);

#endif
