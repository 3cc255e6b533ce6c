/*
 * Workloads: what `nvtally run` measures. A workload is one file in kernels/workloads/ with a struct
 * nvt_workload, and one line in the table of kernels/frame/driver.c; its axes are one file in kernels/
 * (axes_*.c) with one line in kernels/run.c.
 */
#ifndef NVT_WORKLOAD_H
#define NVT_WORKLOAD_H

#include <stdint.h>

#include "../lib/error.h"
#include "../lib/nvtx.h"
#include "frame/allocator.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVT_CONFIGURATION_MAX 512

/* One configuration and how it is measured. */
struct nvt_run_settings {
    const char *workload;
    const char *configuration; /* "size=256 batch=8 mode=train fragments=32", no nulls */
    int64_t warmup, iterations;
    uint64_t seed;
    uint64_t memory_limit; /* bytes, 0 none */
};

enum nvt_run_status { NVT_RUN_OK, NVT_RUN_OOM, NVT_RUN_ERROR };

/* Times of every timed iteration in ns; arrays of `iterations`, malloc'ed. */
struct nvt_run_result {
    enum nvt_run_status status;
    char message[512]; /* why it is not ok */
    int64_t iterations;
    double *forward, *backward, *optimizer; /* optimizer: NULL where there is none */
    uint64_t parameters;
    uint64_t peak_allocated, peak_reserved; /* over the timed part */
    struct nvt_work_payload forward_work, backward_work;
    double loss; /* after the last iteration, NaN when not known */
    const char *backend, *device;
};

/* What a workload has at hand. */
struct nvt_run_context {
    const struct nvt_run_settings *settings;
    struct nvt_allocator *allocator;
    struct nvt_nvtx nvtx;
    nvtxStringHandle_t optimizer; /* range names */
    double optimizer_ns;          /* the workload adds the time of its optimizer range here */
};

struct nvt_workload {
    const char *name;
    /* Make the state of a configuration. 0 with *state, or -1 with err; out of device memory is
     * told by the allocator's `refused`. */
    int (*setup)(struct nvt_run_context *context, void **state, struct nvt_error *err);
    /* One iteration's phases; each is synchronised by the driver before its range ends. 0 or -1. */
    int (*forward)(struct nvt_run_context *context, void *state, struct nvt_error *err);
    int (*backward)(struct nvt_run_context *context, void *state, struct nvt_error *err);
    double (*loss)(void *state); /* may be NULL */
    void (*teardown)(struct nvt_run_context *context, void *state);
    uint64_t (*parameters)(const void *state);
    /* Work of one forward and one backward (with its optimizer). */
    void (*work)(const void *state, struct nvt_work_payload *forward,
                 struct nvt_work_payload *backward);
};

/* A value of a configuration text, or `missing`. */
int64_t nvt_configuration_number(const char *configuration, const char *key, int64_t missing);
/* Whether the configuration has this word as the value of the key. */
int nvt_configuration_is(const char *configuration, const char *key, const char *word);

/* Close a range that the workload opened around its optimizer; see nvt_run_context. */
void nvt_optimizer_begin(struct nvt_run_context *context, int64_t *start);
void nvt_optimizer_end(struct nvt_run_context *context, int64_t start);

/* Run one configuration. The entry of libnvtally-host.so and libnvtally-cuda.so. */
__attribute__((visibility("default"))) void nvt_workload_run(const struct nvt_run_settings *settings,
                                                             struct nvt_run_result *result);

extern const struct nvt_workload nvt_workload_linear, nvt_workload_fragmented;

#ifdef __cplusplus
}
#endif
#endif
