/*
 * Axes of `gpipe`; the defaults are the published study's.
 */
#include <inttypes.h>
#include <string.h>

#include "../lib/count_of.h"
#include "axes.h"
#include "nccl_library.h"

enum {
    PARTITIONS,
    MICROBATCHES,
    CHECKPOINT,
    ENGINE,
    SCHEDULE,
    VIRTUAL_STAGES,
    TRANSPORT,
    MODEL,
    ATTENTION_AXIS,
    BATCH,
    SEQUENCE,
    VOCABULARY,
    D_MODEL,
    LAYERS,
    HEADS,
    D_FF
};
enum { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED };
enum { MODEL_GPT2, MODEL_RESNET };
enum { TRANSPORT_LOCAL, TRANSPORT_MPI, TRANSPORT_NCCL };

static const char *const engines[] = {"self", "torchgpipe", NULL};
static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", NULL};
static const char *const transports[] = {"local", "mpi", "nccl", NULL};
static const char *const models[] = {"gpt2", "resnet", NULL};
static const char *const attention_axes[] = {"sequence", "batch", NULL};

#define NUMBERS(name, defaults, about, most)                                                       \
    {                                                                                              \
        name, defaults, about, NULL, NVT_AXIS_NUMBERS, 1, most                                     \
    }
#define WORDS(name, defaults, about, words)                                                        \
    {                                                                                              \
        name, defaults, about, words, NVT_AXIS_WORDS, 0, 0                                         \
    }

static const struct nvt_axis_spec gpipe[] = {
    NUMBERS("partitions", "1,2,4", "parts that the model is cut into", 16),
    NUMBERS("microbatches", "1,2,4,8,16,32,64", "parts that the batch is cut into", 4096),
    {"checkpoint", "off,on", "keep only inputs and recompute", NULL, NVT_AXIS_FLAG, 0, 0},
    WORDS("engine", "self,torchgpipe", "one thread issues all, or one thread per partition",
          engines),
    WORDS("schedule", "gpipe", "gpipe, 1f1b or interleaved", schedules),
    NUMBERS("virtual_stages", "2", "parts of the model on each partition, for interleaved", 8),
    WORDS("transport", "local", "how partitions exchange messages: local, mpi or nccl", transports),
    WORDS("model", "gpt2", "gpt2 or resnet", models),
    WORDS("attention_axis", "sequence", "for gpt2; batch: across samples, as published",
          attention_axes),
    NUMBERS("batch", "64", "samples, a multiple of the micro-batches; 128 for resnet", 65536),
    NUMBERS("sequence", "128", "tokens per sample", 65536),
    NUMBERS("vocabulary", "3000", "number of different tokens", 1000000),
    NUMBERS("d_model", "768", "width of gpt2, a multiple of its heads", 65536),
    NUMBERS("layers", "12", "blocks of gpt2", 240),
    NUMBERS("heads", "12", "attention heads of gpt2", 1024),
    NUMBERS("d_ff", "3072", "width within the blocks of gpt2", 262144),
};

static int applies(const int64_t *values, size_t axis)
{
    if (axis == VIRTUAL_STAGES)
        return values[SCHEDULE] == SCHEDULE_INTERLEAVED;
    if (axis == ATTENTION_AXIS || (axis >= SEQUENCE && axis <= D_FF))
        return values[MODEL] == MODEL_GPT2;
    return 1;
}

/* The published batch of images is another than that of texts. */
static void settle(int64_t *values, unsigned typed)
{
    if (values[MODEL] == MODEL_RESNET && !(typed & 1u << BATCH))
        values[BATCH] = 128;
}

static int check(const int64_t *values, unsigned typed, struct nvt_error *err)
{
    (void)typed;
    int64_t chunks = values[SCHEDULE] == SCHEDULE_INTERLEAVED ? values[VIRTUAL_STAGES] : 1;
    int64_t parts = values[PARTITIONS] * chunks;
    int64_t modules = values[MODEL] == MODEL_GPT2 ? values[LAYERS] + 4 : 56;
    if (values[BATCH] % values[MICROBATCHES])
        return nvt_fail(err, "--batch %" PRId64 " cannot be cut into %" PRId64 " micro-batches",
                        values[BATCH], values[MICROBATCHES]);
    if (parts > modules || parts > 64)
        return nvt_fail(err, "--partitions %" PRId64 ": there are %" PRId64 " modules to cut",
                        values[PARTITIONS], modules);
    if (values[MODEL] == MODEL_GPT2 && values[D_MODEL] % values[HEADS])
        return nvt_fail(err, "--d-model %" PRId64 " is not a multiple of %" PRId64 " heads",
                        values[D_MODEL], values[HEADS]);
    return 0;
}

/* Chunks take turns in groups of as many micro-batches as there are partitions. */
static int belongs(const int64_t *values, unsigned typed)
{
    (void)typed;
    return values[SCHEDULE] != SCHEDULE_INTERLEAVED ||
           values[MICROBATCHES] % values[PARTITIONS] == 0;
}

static int check_backend(const int64_t *values, const char *backend, struct nvt_error *err)
{
    if (values[TRANSPORT] != TRANSPORT_NCCL)
        return 0;
    /* A library of somebody's own can do without a device, as the tests' does. */
    if (strcmp(backend, "cuda") && !nvt_nccl_named())
        return nvt_fail(err, "--transport nccl is between devices, and the %s backend has none",
                        backend);
    return nvt_nccl_library(err) ? 0 : -1;
}

const struct nvt_workload_axes nvt_axes_gpipe = {
    .workload = "gpipe",
    .about = "pipeline-parallel training of a GPT-2-like model or a residual network",
    .axes = gpipe,
    .count = NVT_COUNT_OF(gpipe),
    .applies = applies,
    .settle = settle,
    .check = check,
    .check_backend = check_backend,
    .belongs = belongs,
    .belongs_when = "--schedule interleaved needs --microbatches to be a multiple of --partitions",
    .warmup = 0,
    .iterations = 100,
    .small = "--d-model 64 --layers 4 --heads 4 --d-ff 256 --sequence 16 --vocabulary 500 "
             "--iterations 5",
    .sized_by = "d-model layers batch",
};
