/*
 * A sweep: the configurations that `nvtally run` was asked for, and where their results go.
 */
#ifndef NVT_SWEEP_H
#define NVT_SWEEP_H

#include <stdint.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/json.h"
#include "workload.h"

/* One configuration: the text that travels with it, and its axes as members of a JSON object. */
struct nvt_configuration {
    char text[NVT_CONFIGURATION_MAX]; /* "size=256 batch=8 mode=train fragments=32": no nulls */
    char label[NVT_CONFIGURATION_MAX]; /* "size256-batch8-train-fragments32": for file names */
    void (*axes)(struct nvt_json *json, const struct nvt_configuration *configuration);
};

struct nvt_sweep {
    const char *workload;
    struct nvt_configuration *configurations;
    size_t count;
    int64_t warmup, iterations;
    uint64_t seed, memory_limit;
    const char *backend; /* "host" or "cuda" */
    const char *library; /* path of its library */
    const char *collect; /* "off" or "nvtx" */
    const char *directory;
    int argc;            /* the command line, for env.json */
    char **argv;
};

/* The configurations of the fragment study (axes_fragmented.c). Axes that were not given have count 0 and
 * get the published defaults. 0, or -1 with err: a size that its fragments do not divide. */
struct nvt_fragment_axes {
    struct nvt_axis size, batch, fragments, mode, variant;
};
extern const char *const nvt_fragment_modes[], *const nvt_fragment_variants[];
int nvt_fragment_configurations(struct nvt_sweep *sweep, struct nvt_fragment_axes *axes,
                                struct nvt_error *err);

/* Run the sweep: results.jsonl, env.json and traces into the directory. The number of configurations
 * that are not ok, or -1 with err when nothing could be written. Ends early at SIGINT or SIGTERM;
 * *interrupted is then the signal. */
int nvt_sweep_run(const struct nvt_sweep *sweep, int *interrupted, struct nvt_error *err);

/* Write env.json. 0 or -1 with err. */
int nvt_environment_write(const struct nvt_sweep *sweep, const char *device, struct nvt_error *err);

/* In the child: run one configuration with the library at `library` and write its result as one JSON
 * object to `path`. The exit status. */
int nvt_worker_main(int argc, char **argv);

#endif
