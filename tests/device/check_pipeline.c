/*
 * A pipeline whose partitions are spread over all devices of the process against the same one on a single device: whatever
 * runs where, the numbers are the same to the bit. Where there is one device there is nothing to compare. Devices of
 * different kinds may have different products, and are left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/pipeline/pipeline.h"
#include "check_arrays.h"

#define STEPS 2

/* What training has made of a pipeline. */
struct trained {
    double losses[STEPS];
    /* of each partition in turn: gradients of the first step, then weights and momentum of the last */
    real *numbers;
    int64_t count;
};

static int devices_are_alike(void)
{
    char first[NVT_DEVICE_NAME_SIZE], name[NVT_DEVICE_NAME_SIZE];
    int count = nvt_backend_devices();
    if (count < 2 || nvt_backend_device_name(0, first, sizeof(first)))
        return 0;
    for (int i = 1; i < count; i++)
        if (nvt_backend_device_name(i, name, sizeof(name)) || strcmp(name, first) != 0)
            return 0;
    return 1;
}

static void add(struct trained *trained, const struct nvt_partition *partition, const real *numbers)
{
    int64_t count = partition->parameters;
    real *grown =
        (real *)realloc(trained->numbers, (size_t)(trained->count + count) * sizeof(*grown));
    if (!grown)
        abort();
    trained->numbers = grown;
    nvt_partition_enter(partition);
    nvt_backend_to_host(grown + trained->count, numbers, (size_t)count * sizeof(*grown));
    trained->count += count;
}

static int step(struct nvt_pipeline *pipeline, struct trained *trained, int number,
                struct nvt_error *err)
{
    const int partitions = pipeline->settings.partitions;
    int status = nvt_pipeline_run(pipeline, NVT_RUN_BOTH, err);
    nvt_backend_sync();
    nvt_pipeline_end_step(pipeline);
    trained->losses[number] = nvt_pipeline_loss(pipeline);
    for (int p = 0; p < partitions && !number; p++)
        add(trained, &pipeline->partitions[p], pipeline->partitions[p].g);
    nvt_pipeline_optimize(pipeline);
    nvt_backend_sync();
    for (int p = 0; p < partitions && number == STEPS - 1; p++) {
        add(trained, &pipeline->partitions[p], pipeline->partitions[p].w);
        add(trained, &pipeline->partitions[p], pipeline->partitions[p].momentum);
    }
    return status;
}

/* 0, or -1 when it could not be trained, which is an answer, too. */
static int train(const struct nvt_pipeline_settings *settings, struct trained *trained)
{
    static const struct nvt_gpt2_shape shape = {8, 4, 2, 16, 3, 11, 0, (real)0.1};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_pipeline *pipeline = (struct nvt_pipeline *)calloc(1, sizeof(*pipeline));
    struct nvt_pipeline_settings own = *settings;
    if (!pipeline)
        abort();
    memset(trained, 0, sizeof(*trained));
    pipeline->module_count = nvt_gpt2_modules(&shape, pipeline->modules, NVT_MODULES_MOST);
    int status = nvt_pipeline_cut(pipeline->modules, pipeline->module_count,
                                  own.partitions * own.chunks, own.cuts) ||
                 nvt_pipeline_setup(pipeline, &own, shape.vocabulary, &err);
    for (int i = 0; i < STEPS && !status; i++)
        status = step(pipeline, trained, i, &err);
    nvt_pipeline_teardown(pipeline);
    free(pipeline);
    nvt_backend_use_device(0);
    nvt_backend_use_stream(0);
    return status;
}

/* Numbers in memory that nobody has written are none, here and there. */
static int is_other(double one, double other)
{
    return one != other || !signbit(one) != !signbit(other) || !isfinite(one);
}

/* Numbers that differ, losses among them; all if one of the two was not trained. */
static int64_t differences(const struct nvt_pipeline_settings *settings)
{
    struct nvt_pipeline_settings alone = *settings;
    struct trained one = {{0}, NULL, 0}, all = {{0}, NULL, 0};
    alone.devices = 1;
    const int failed = train(&alone, &one) || train(settings, &all);
    const int is_whole = !failed && one.count && one.count == all.count;
    int64_t count = !is_whole;
    for (int64_t i = 0; i < one.count && is_whole; i++)
        count += is_other((double)one.numbers[i], (double)all.numbers[i]);
    for (int i = 0; i < STEPS; i++)
        count += is_other(one.losses[i], all.losses[i]);
    free(one.numbers);
    free(all.numbers);
    return count;
}

/* Partitions, micro-batches, schedule from 1 on, parts of the model on each partition; both engines, with and without
 * checkpointing. */
OP(pipeline_devices)
{
    int64_t count = 0;
    for (int way = 0; way < 4 && devices_are_alike(); way++) {
        struct nvt_pipeline_settings settings = {0};
        settings.partitions = (int)s[0];
        settings.microbatches = (int)s[1];
        settings.schedule = (enum nvt_schedule_kind)(s[2] - 1);
        settings.chunks = (int)s[3];
        settings.has_workers = way & 1;
        settings.checkpoint = way >> 1;
        settings.batch = 4;
        settings.rows = 3;
        settings.classes = 11;
        settings.seed = c->random;
        count += differences(&settings);
    }
    check_number(c, "different", (double)count);
}

/* clang-format off */
const struct check_line check_pipeline[] = {
    LINE(pipeline_devices, EXACT, {2, 2, NVT_GPIPE + 1, 1}, {2, 4, NVT_INTERLEAVED + 1, 2}, {3, 2, NVT_1F1B + 1, 1},
         {4, 1, NVT_GPIPE + 1, 1}, {4, 4, NVT_1F1B + 1, 1}, {4, 4, NVT_INTERLEAVED + 1, 2}),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
