/*
 * What a trace of the workload `gpipe` says of its pipeline: which partition worked on which micro-batch
 * when, and what memory it held. Read from the ranges and marks of the domain "nvtally" that docs/workloads.md
 * lists. Traces of several ranks make one pipeline: those that a run directory's record names, and those that say of
 * themselves, by their configuration and their mark "clock offset", that they are ranks of one. They are put on the axis of
 * the first one's trace: the mark has its rank's clock at that moment, and how far rank 0's is from it.
 */
#ifndef NVT_ANALYZE_PIPELINE_H
#define NVT_ANALYZE_PIPELINE_H

#include "../input/input.h"

enum nvt_pipeline_kind {
    NVT_PIPE_FORWARD,
    NVT_PIPE_BACKWARD,
    NVT_PIPE_RECOMPUTE,
    NVT_PIPE_WAIT,
    NVT_PIPE_MESSAGE /* an operation that sends or receives, launched in any of the others */
};

/* A stretch of work. On a device it is the time of the operations that were launched in it and do not communicate
 * (pipeline_device.h). A wait for such a span is the time from its partition's work before, or its step's start, until
 * the span. Without recorded operations it is the host's time. */
struct nvt_pipeline_span {
    int64_t start, end;
    int64_t host_end;   /* of its range */
    int64_t operations; /* time of its device operations, added up; 0 on the host */
    int on_device;      /* its times are the device's */
    int device;         /* the number that its process gives it; -1 on the host */
    int trace;          /* which of the view's traces it is in, from 0 */
    int step;           /* of the timed ones, from 0 */
    int partition, chunk, microbatch;
    enum nvt_pipeline_kind kind;
};

/* What a partition's allocator held behind a forward or a backward, and at most within it, in bytes. On a device the
 * allocator is ahead: memory is taken when work is launched; the times are those of the work. */
struct nvt_pipeline_level {
    /* of the forward or backward, and its end; both the mark's where its span is not known */
    int64_t start, time;
    int step, partition, microbatch, is_backward;
    double allocated, reserved, peak_allocated, peak_reserved;
};

/* From when the first rank is in it until the last one has left it. A rank is in it from its first work on, and that with the
 * model's first part as soon as it has entered it: the others may wait for it while the step before is still under way.
 * Steps of ranks may overlap even so. */
struct nvt_pipeline_step {
    int64_t start, end;     /* forward and backward together */
    int64_t backward_start; /* of the first one's span; INT64_MAX where they are mixed */
};

struct nvt_pipeline_view {
    char *configuration;   /* "partitions=4 microbatches=8 …", "" when unknown */
    int partitions;        /* the highest number of one in the traces, plus one */
    int ranks, ranks_here; /* of the run, and those whose traces are here */
    int on_device;         /* spans are device time */
    int has_workers;       /* partitions were on different threads or ranks */
    int traces;            /* that it was read from */
    double predicted;      /* bubble, 0 … 1: the record's, or by the configuration; NaN unknown */
    struct nvt_pipeline_step *steps;
    size_t step_count;
    struct nvt_pipeline_span *spans; /* by start */
    size_t span_count;
    struct nvt_pipeline_level *levels; /* by time */
    size_t level_count;
};

/* What a partition held before a step began: behind the last step, or else behind this one; NaN unknown. */
double nvt_pipeline_level_before(const struct nvt_pipeline_view *view, int step, int partition);

struct nvt_pipeline_views {
    struct nvt_pipeline_view *items; /* traces of one record, its ranks, make one */
    size_t count;
};

/* The pipelines of all traces of the input, those of other workloads left out. 0, or -1 with err. */
int nvt_pipeline_views_make(struct nvt_pipeline_views *views, const struct nvt_input *input,
                            struct nvt_error *err);
void nvt_pipeline_views_free(struct nvt_pipeline_views *views);

/* Whether a trace is of the workload, by the range that its configuration is named by. */
int nvt_pipeline_is_in(const struct nvt_trace *trace);

/* Whether a partition's spans are in the traces. */
int nvt_pipeline_has(const struct nvt_pipeline_view *view, int partition);

/* The number of the device that a partition's work was on; -1: on the host, or on several. */
int nvt_pipeline_device_of(const struct nvt_pipeline_view *view, int partition);
/* Whether a partition before this one, of the same process, was on the same device. */
int nvt_pipeline_shares(const struct nvt_pipeline_view *view, int partition);

/* Time of a partition in a kind of span over all steps, overlaps counted once; -1: forward and backward together.
 * NVT_PIPE_WAIT includes messages; it is the part of waits and messages that its forwards and backwards do not
 * overlap. */
int64_t nvt_pipeline_time(const struct nvt_pipeline_view *view, int partition, int kind);
/* Time of the device operations of a partition's forwards and backwards, messages and those of others in between
 * not counted. */
int64_t nvt_pipeline_operations(const struct nvt_pipeline_view *view, int partition);
/* Time in which any step was under way: where steps overlap, once. */
int64_t nvt_pipeline_span_of_steps(const struct nvt_pipeline_view *view);

/* The share of time in which a partition stands idle when every forward takes the same time, every backward too, and a
 * message none (kernels/pipeline/schedule.h): (K−1)/(V·M+K−1), where V, the virtual stages, is 1 unless the schedule is
 * interleaved. Of "partitions=K microbatches=M schedule=…"; NaN where that does not say it. */
double nvt_pipeline_bubble(const char *configuration);

/* Append the table, of that name, of memory by partition, phase and micro-batch; none where no trace is of a pipeline. 0, or -1
 * with err. */
#define NVT_PIPELINE_MEMORY "pipeline_memory"
int nvt_pipeline_memory(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err);

#endif
