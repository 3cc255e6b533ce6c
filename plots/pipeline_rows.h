/*
 * The rows of the pipeline study as its charts show them: those of one schedule, model and size, by engine, partitions,
 * checkpointing and micro-batches.
 */
#ifndef NVT_PIPELINE_ROWS_H
#define NVT_PIPELINE_ROWS_H

#include "studied.h"

/* Schedules, in the order in which they were run: each has pictures of its own. "" is that of what says none. */
enum { NVT_SCHEDULES_MOST = 8, NVT_SCHEDULE_MAX = 24, NVT_SCHEDULE_SUFFIX = 32 };
struct nvt_schedules {
    char names[NVT_SCHEDULES_MOST][NVT_SCHEDULE_MAX];
    size_t count;
};

/* Add one, unless it is there, or there are too many, or its name is too long. */
void nvt_schedules_add(struct nvt_schedules *schedules, const char *schedule);

/* "schedule=…" of a configuration, "" where it says none. Returns out. */
const char *nvt_schedule_of(const char *configuration, char out[NVT_SCHEDULE_MAX]);

/* What names of its files end with: "", or of those behind the first "-1f1b", or "-2" where that would be no name of a file.
 * Returns out. */
const char *nvt_schedule_suffix(const struct nvt_schedules *schedules, size_t i,
                                char out[NVT_SCHEDULE_SUFFIX]);

struct nvt_pipeline_row {
    int partitions, microbatches, checkpoint, engine; /* engine: 1 torchgpipe, 0 another */
    double memory, throughput, deviation; /* MiB, samples a second and their deviation */
};

struct nvt_pipeline_rows {
    struct nvt_studied studied;
    struct nvt_pipeline_row *items;
    size_t count;
    size_t others;               /* that differ from the first one in something else */
    char differ[200];            /* in what: "schedule, transport" */
    size_t launched;             /* whose throughput is of launches: published/gpipe.h */
    int engines[2];              /* whether there are rows of it */
    char shared[NVT_FRAME_TEXT]; /* "model=gpt2 batch=64 …": what is the same in all of them */
};

/* The schedules of the rows that can be drawn; none: there are no such rows. */
void nvt_pipeline_schedules(const struct nvt_input *input, struct nvt_schedules *schedules);

/* Read those of one schedule; release with nvt_pipeline_rows_free, also after a failure. 0, or -1: out of memory. */
int nvt_pipeline_rows_read(const struct nvt_input *from, const char *schedule,
                           struct nvt_pipeline_rows *rows);
void nvt_pipeline_rows_free(struct nvt_pipeline_rows *rows);

/* Whether the row at `i` begins a line of the charts. */
int nvt_pipeline_row_begins(const struct nvt_pipeline_rows *rows, size_t i);

/* Whether of two lines, that of the row at `i` and the same with, or without, checkpointing, one would hide the
 * other or a stretch of it: of throughput, or of memory. */
int nvt_pipeline_row_is_covered(const struct nvt_pipeline_rows *rows, size_t i, int is_throughput);

#endif
