/*
 * A model cut into partitions that train as a pipeline: micro-batches run through them by a schedule, by one
 * host thread or a thread for each partition, within one process or over several.
 */
#ifndef NVT_PIPELINE_H
#define NVT_PIPELINE_H

#include <pthread.h>
#include <stdint.h>

#include "module.h"
#include "schedule.h"
#include "transport.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVT_PARTITIONS_MOST 16
#define NVT_MODULES_MOST    256
#define NVT_PARTS_MOST      64 /* partitions times chunks */

enum nvt_span { NVT_SPAN_FORWARD, NVT_SPAN_BACKWARD, NVT_SPAN_RECOMPUTE, NVT_SPAN_WAIT };

/* What is told of a stretch of work of a partition, on the thread that does it. */
struct nvt_span_facts {
    enum nvt_span span;
    int partition, chunk, microbatch;
    /* At the end of a forward, a backward and a recomputation, with the messages that it has; 0 otherwise. */
    uint64_t allocated, reserved;           /* bytes of the partition now */
    uint64_t peak_allocated, peak_reserved; /* bytes within it */
};

struct nvt_pipeline_settings {
    int partitions, microbatches, chunks;
    enum nvt_schedule_kind schedule;
    int has_workers;       /* a thread for each partition, else one thread issues for all */
    int checkpoint;        /* of every micro-batch but the last only a partition's input is kept */
    int64_t batch;         /* samples, a multiple of microbatches */
    int64_t rows, classes; /* of a sample: rows that are classified, into how many classes */
    uint64_t seed;
    uint64_t memory_limit; /* bytes a partition may hold, 0: no bound */
    /* modules of each part, in the model's order; part i is chunk i / K of partition i mod K */
    int cuts[NVT_PARTS_MOST];
    struct nvt_transport *transport; /* NULL: all partitions are here */
    int devices; /* how many of this process's devices they are spread over at most, 0: all; ranks have one each */
    /* Told of every stretch of work; NULL: nobody is. */
    void (*begin)(void *user, const struct nvt_span_facts *facts);
    void (*end)(void *user, const struct nvt_span_facts *facts);
    void *user;
};

/* --- state: read it, change it through the functions below -------------------------------------------- */

/* A message on its way into a part. */
struct nvt_message {
    real *data;
    void *event;
    int is_ready;
};

/* What a part holds of one micro-batch between its forward and its backward. */
struct nvt_flow {
    const real *input;
    real *outputs[NVT_MODULES_MOST];
    struct nvt_kept kept[NVT_MODULES_MOST];
};

/* A stretch of the model: its modules and what is under way in it. */
struct nvt_part {
    int first, count;       /* modules */
    struct nvt_flow *flows; /* by micro-batch; NULL where the partition is not here */
    /* by micro-batch: activations from before, gradients from behind */
    struct nvt_message *messages[2];
    /* by micro-batch: what goes to another device until it is there; may be NULL */
    struct nvt_message *sent[2];
};

struct nvt_partition {
    struct nvt_pipeline *pipeline;
    int index, is_here;
    int device; /* of this process: index mod how many there are */
    struct nvt_allocator *allocator;
    /* Messages have memory of their own, as the sender takes it; given back at the end of the step. */
    struct nvt_allocator *inbox;
    pthread_mutex_t lock; /* of the inbox and the messages */
    pthread_cond_t arrived;
    int64_t parameters;
    real *w, *g, *momentum;
    uint64_t weight_bytes; /* reserved for its weights alone, before there is anything else */
    /* Its thread, where partitions have one. */
    pthread_t thread;
    int has_thread, run_wanted, run_done, filter;
};

struct nvt_pipeline {
    struct nvt_pipeline_settings settings;
    struct nvt_schedule order;
    struct nvt_module modules[NVT_MODULES_MOST];
    int module_count;
    struct nvt_part parts[NVT_PARTS_MOST];
    int part_count;
    struct nvt_partition partitions[NVT_PARTITIONS_MOST];
    real *inputs;       /* [batch][in of the first module], the first partition's; NULL elsewhere */
    int32_t *targets;   /* [batch][rows], the last partition's; NULL elsewhere */
    size_t input_bytes; /* of a sample */
    /* [batch][rows] each, the last partition's: loss, and logarithm of the row's sum */
    real *losses, *sums;
    int64_t iteration;
    /* The first failure of any thread. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic int failed; /* looked at without the lock */
    int stopping;
    uint64_t refused;
    struct nvt_error err;
};

/* --- functions ------------------------------------------------------------------------------------------ */

/*
 * Make a pipeline of the model that stands in pipeline->modules and module_count: weights, data, threads.
 * 0, or -1 with err and, when memory ran out, pipeline->refused; in both cases teardown it.
 * `tokens`: the inputs are numbers of tokens below this (int32), 0: normally distributed images.
 */
int nvt_pipeline_setup(struct nvt_pipeline *pipeline, const struct nvt_pipeline_settings *settings,
                       int64_t tokens, struct nvt_error *err);
void nvt_pipeline_teardown(struct nvt_pipeline *pipeline);

/*
 * Run what the schedule has of one direction (NVT_GPIPE only) or of both; when it returns all is launched,
 * not done: wait for the device. 0 or -1 with err.
 */
enum nvt_direction { NVT_RUN_FORWARD = 1, NVT_RUN_BACKWARD = 2, NVT_RUN_BOTH = 3 };
int nvt_pipeline_run(struct nvt_pipeline *pipeline, enum nvt_direction direction,
                     struct nvt_error *err);

/* Behind a run of all, when the device is done: messages are given back, the next iteration has other
 * dropout. */
void nvt_pipeline_end_step(struct nvt_pipeline *pipeline);

/* SGD (lr 0.01, Nesterov momentum 0.9, weight decay 1e-4) over every partition here; gradients become 0. */
void nvt_pipeline_optimize(struct nvt_pipeline *pipeline);

/* Mean loss of the last run; waits for the device. Over a transport all ranks must ask. NaN on failure. */
double nvt_pipeline_loss(struct nvt_pipeline *pipeline);

/* On how many devices the partitions that are here live. */
int nvt_pipeline_devices(const struct nvt_pipeline *pipeline);

/* Peaks of a partition that is here since nvt_pipeline_reset_peaks: its own memory and its inbox. */
struct nvt_memory_use nvt_partition_memory(struct nvt_partition *partition);
void nvt_pipeline_reset_peaks(struct nvt_pipeline *pipeline);

/* Parameters of the whole model. */
int64_t nvt_pipeline_parameters(const struct nvt_pipeline *pipeline);

/* The modules of each of `parts` contiguous parts: the published cuts where there are (16 of gpt2 and 56 of
 * resnet in 1, 2 or 4), else so that the largest part has as few parameters as possible. 0, or -1 when there
 * are fewer modules than parts. */
int nvt_pipeline_cut(const struct nvt_module *modules, int count, int parts, int *cuts);

/* --- between the files here --- */

/* One action of the schedule, on this thread. 0 or -1, and then the pipeline has failed. */
int nvt_flow_run(struct nvt_pipeline *pipeline, const struct nvt_action *action);
/* Note a failure and wake whoever waits. Always -1. bytes: what could not be had, 0: another reason. */
int nvt_pipeline_fail(struct nvt_pipeline *pipeline, uint64_t bytes, const char *text);
/* Give `count` numbers to a part's message; wait for one (NULL when the pipeline has failed). The message
 * stays until the end of the step. */
int nvt_message_send(struct nvt_pipeline *pipeline, int to_part, int is_backward, int microbatch,
                     const real *data, int64_t count);
const real *nvt_message_receive(struct nvt_pipeline *pipeline, int part, int is_backward,
                                int microbatch, int64_t count);
/* Open the channels of a transport whose messages stay on the device. 0, or -1 with err. */
int nvt_message_channels(struct nvt_pipeline *pipeline, struct nvt_error *err);
/* Have this thread launch on the partition's device: 0, or -1 when that does not come up, which nvt_backend_failed tells. */
int nvt_partition_enter(const struct nvt_partition *partition);
/* The stream of a partition on its device, for nvt_backend_use_stream. */
int nvt_partition_stream(const struct nvt_partition *partition);
int nvt_workers_start(struct nvt_pipeline *pipeline, struct nvt_error *err);
void nvt_workers_stop(struct nvt_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
