/*
 * Axes of `transformer`; the sizes are the published ones, and `tiny` for two cores.
 */
#include <inttypes.h>
#include <string.h>

#include "axes.h"

enum {
    SIZE,
    D_MODEL,
    D_FF,
    LAYERS,
    HEADS,
    VOCABULARY,
    BATCH,
    CONTEXT,
    PRECISION,
    PHASE,
    GRAPH,
    COUNT
};

static const char *const sizes[] = {"tiny", "small", "medium", "large", "xl", "2.7B", NULL};
static const char *const precisions[] = {"fp32", "tf32", "bf16", "fp16", NULL};
static const char *const phases[] = {"forward", "forward_backward", "train", NULL};

static const struct nvt_axis_spec axes[COUNT] = {
    [SIZE] = {"size", "small,medium,large,xl,2.7B", "published sizes, and tiny", sizes,
              NVT_AXIS_WORDS, 0, 0},
    [D_MODEL] = {"d_model", "0", "features; these four together replace --size", NULL,
                 NVT_AXIS_NUMBERS, 0, 65536},
    [D_FF] = {"d_ff", "0", "hidden features of the feed-forward", NULL, NVT_AXIS_NUMBERS, 0,
              262144},
    [LAYERS] = {"layers", "0", "blocks", NULL, NVT_AXIS_NUMBERS, 0, 256},
    [HEADS] = {"heads", "0", "attention heads; must divide --d-model", NULL, NVT_AXIS_NUMBERS, 0,
               1024},
    [VOCABULARY] = {"vocabulary", "10000", "number of different tokens", NULL, NVT_AXIS_NUMBERS, 1,
                    1048576},
    [BATCH] = {"batch", "4", "samples", NULL, NVT_AXIS_NUMBERS, 1, 65536},
    [CONTEXT] = {"context", "128", "tokens per sample", NULL, NVT_AXIS_NUMBERS, 1, 65536},
    [PRECISION] = {"precision", "fp32", "type of the inputs of GEMMs: fp32, tf32, bf16, fp16",
                   precisions, NVT_AXIS_WORDS, 0, 0},
    [PHASE] = {"phase", "forward_backward", "forward, forward_backward, or train with AdamW",
               phases, NVT_AXIS_WORDS, 0, 0},
    [GRAPH] = {"graph", "off", "on: replay a CUDA graph of each phase", NULL, NVT_AXIS_FLAG, 0, 0},
};

static int given(const int64_t *values)
{
    int count = 0;
    for (int axis = D_MODEL; axis <= HEADS; axis++)
        count += values[axis] != 0;
    return count;
}

/* A size by name, or by its four numbers. */
static int applies(const int64_t *values, size_t axis)
{
    if (axis == SIZE)
        return given(values) != 4;
    return axis < D_MODEL || axis > HEADS || values[axis] != 0;
}

static int check(const int64_t *values, unsigned typed, struct nvt_error *err)
{
    if (given(values) && typed & 1u << SIZE)
        return nvt_fail(err, "give either --size, or --d-model, --d-ff, --layers and --heads");
    if (given(values) && given(values) < 4)
        return nvt_fail(err, "--d-model, --d-ff, --layers and --heads must be given together");
    if (given(values) && values[D_MODEL] % values[HEADS])
        return nvt_fail(err, "--d-model %" PRId64 " cannot be divided into %" PRId64 " heads",
                        values[D_MODEL], values[HEADS]);
    return 0;
}

static int check_backend(const int64_t *values, const char *backend, struct nvt_error *err)
{
    if (values[GRAPH] && strcmp(backend, "cuda"))
        return nvt_fail(err, "--graph on: the %s backend has no CUDA graphs", backend);
    return 0;
}

const struct nvt_workload_axes nvt_axes_transformer = {
    .workload = "transformer",
    .about = "forward, backward and AdamW of a decoder-only language model",
    .axes = axes,
    .count = COUNT,
    .applies = applies,
    .check = check,
    .check_backend = check_backend,
    .warmup = 5,
    .iterations = 10,
    .small = "--size tiny",
    .sized_by = "size d-model",
};
