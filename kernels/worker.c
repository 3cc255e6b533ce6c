/*
 * The child that runs one configuration: it loads the backend's library, and leaves its result in a file.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sample.h"
#include "sweep.h"

static void put_times(struct nvt_json *json, const char *phase, double *ns, int64_t count)
{
    struct nvt_summary summary;
    char key[64];
    nvt_sample_summary(ns, ns ? (size_t)count : 0, &summary);
    const struct {
        const char *name;
        double value;
    } members[] = {{"mean", summary.mean},
                   {"std", summary.std},
                   {"min", summary.min},
                   {"median", summary.median},
                   {"max", summary.max}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        snprintf(key, sizeof(key), "%s_ns_%s", phase, members[i].name);
        nvt_json_number(json, key, members[i].value);
    }
}

static int write_result(const char *path, struct nvt_run_result *result)
{
    static const char *const statuses[] = {"ok", "oom", "error"};
    struct nvt_buffer out = {0};
    struct nvt_json json;
    int64_t count = result->status == NVT_RUN_OK ? result->iterations : 0;
    nvt_json_begin(&json, &out);
    nvt_json_text(&json, "device", result->device);
    nvt_json_text(&json, "status", statuses[result->status]);
    nvt_json_text(&json, "message", result->message[0] ? result->message : NULL);
    put_times(&json, "forward", result->forward, count);
    put_times(&json, "backward", result->backward, count);
    put_times(&json, "optimizer", result->optimizer, count);
    nvt_json_integer(&json, "peak_allocated_bytes", (int64_t)result->peak_allocated);
    nvt_json_integer(&json, "peak_reserved_bytes", (int64_t)result->peak_reserved);
    nvt_json_integer(&json, "parameters", (int64_t)result->parameters);
    nvt_json_integer(&json, "flops_forward", (int64_t)result->forward_work.flops);
    nvt_json_integer(&json, "flops_backward", (int64_t)result->backward_work.flops);
    nvt_json_integer(&json, "bytes_forward", (int64_t)result->forward_work.bytes);
    nvt_json_integer(&json, "bytes_backward", (int64_t)result->backward_work.bytes);
    nvt_json_number(&json, "loss", result->loss);
    int status = nvt_json_end(&json);
    FILE *file = status ? NULL : fopen(path, "we");
    if (!file || fwrite(out.data, 1, out.size, file) != out.size)
        status = -1;
    if (file && fclose(file))
        status = -1;
    nvt_buffer_free(&out);
    return status;
}

/* argv: worker LIBRARY RESULT WORKLOAD CONFIGURATION WARMUP ITERATIONS SEED LIMIT */
int nvt_worker_main(int argc, char **argv)
{
    if (argc != 9)
        return 2;
    struct nvt_run_settings settings = {argv[3],
                                        argv[4],
                                        strtoll(argv[5], NULL, 10),
                                        strtoll(argv[6], NULL, 10),
                                        strtoull(argv[7], NULL, 10),
                                        strtoull(argv[8], NULL, 10)};
    struct nvt_run_result result;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void (*run)(const struct nvt_run_settings *, struct nvt_run_result *) = NULL;
    if (library)
        *(void **)&run = dlsym(library, "nvt_workload_run");
    if (!run) {
        fprintf(stderr, "nvtally: %s\n", dlerror());
        return 2;
    }
    run(&settings, &result);
    return write_result(argv[2], &result) ? 2 : 0;
}
