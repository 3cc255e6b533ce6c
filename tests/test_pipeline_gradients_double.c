/*
 * Models in double precision, from the sources that the backends run: gradients against finite differences; that
 * neither the cut nor the schedule nor the engine nor checkpointing changes loss or gradients; and memory.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kernels/pipeline/pipeline.h"
#include "../lib/count_of.h"
#include "cli.h"

/* Sums of a few thousand terms of order one: far above their rounding, far below any real difference. */
#define SAME 1e-11

/* --- pipelines --------------------------------------------------------------------------------------- */

struct choice {
    int partitions, microbatches, chunks, checkpoint, has_workers, attends_batch, is_resnet;
    enum nvt_schedule_kind schedule;
    real dropout;
    int batch; /* 0: 8 */
};

static struct nvt_pipeline *make_pipeline(const struct choice *choice)
{
    struct nvt_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    struct nvt_gpt2_shape shape = {8, 4, 2, 16, 4, 11, choice->attends_batch, choice->dropout};
    struct nvt_pipeline_settings settings;
    struct nvt_error err = NVT_ERROR_INIT;
    memset(&settings, 0, sizeof(settings));
    settings.partitions = choice->partitions;
    settings.microbatches = choice->microbatches;
    settings.chunks = choice->chunks;
    settings.schedule = choice->schedule;
    settings.has_workers = choice->has_workers;
    settings.checkpoint = choice->checkpoint;
    settings.batch = choice->batch ? choice->batch : 8;
    settings.rows = choice->is_resnet ? 1 : 4;
    settings.classes = choice->is_resnet ? 10 : 11;
    settings.seed = 5;
    pipeline->module_count = choice->is_resnet
                                 ? nvt_resnet_modules(pipeline->modules, NVT_MODULES_MOST)
                                 : nvt_gpt2_modules(&shape, pipeline->modules, NVT_MODULES_MOST);
    assert_int_equal(nvt_pipeline_cut(pipeline->modules, pipeline->module_count,
                                      choice->partitions * choice->chunks, settings.cuts),
                     0);
    assert_int_equal(nvt_pipeline_setup(pipeline, &settings, choice->is_resnet ? 0 : 11, &err), 0);
    return pipeline;
}

static void drop(struct nvt_pipeline *pipeline)
{
    nvt_pipeline_teardown(pipeline);
    free(pipeline);
}

static double run(struct nvt_pipeline *pipeline)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (pipeline->settings.schedule == NVT_GPIPE) {
        assert_int_equal(nvt_pipeline_run(pipeline, NVT_RUN_FORWARD, &err), 0);
        assert_int_equal(nvt_pipeline_run(pipeline, NVT_RUN_BACKWARD, &err), 0);
    } else {
        assert_int_equal(nvt_pipeline_run(pipeline, NVT_RUN_BOTH, &err), 0);
    }
    double loss = nvt_pipeline_loss(pipeline);
    nvt_pipeline_end_step(pipeline);
    return loss;
}

static double loss_at(struct nvt_pipeline *pipeline, double *w, double value)
{
    double kept = *w;
    *w = value;
    /* The same dropout as in the first run. */
    pipeline->iteration = 0;
    double loss = run(pipeline);
    *w = kept;
    return loss;
}

/* The gradient of every weight by a central difference would take long: a few of every module. */
static void check_gradients(const struct choice *choice, int each, double bound)
{
    struct nvt_pipeline *pipeline = make_pipeline(choice);
    const double step = 1e-5;
    const int count = pipeline->module_count;
    double *gradients[NVT_MODULES_MOST];
    run(pipeline);
    /* Further runs add to them. */
    for (int m = 0; m < count; m++) {
        size_t bytes = (size_t)pipeline->modules[m].parameters * sizeof(double);
        gradients[m] = malloc(bytes + 1);
        memcpy(gradients[m], pipeline->modules[m].g, bytes);
    }
    for (int m = 0; m < count; m++) {
        struct nvt_module *module = &pipeline->modules[m];
        for (int i = 0; i < each && module->parameters; i++) {
            int64_t at = module->parameters * (2 * i + 1) / (2 * each);
            double *w = &module->w[at], gradient = gradients[m][at];
            double above = loss_at(pipeline, w, *w + step), below = loss_at(pipeline, w, *w - step);
            double difference = (above - below) / (2 * step);
            if (!(fabs(difference - gradient) < bound * (1 + fabs(gradient))))
                fail_msg("module %d (%s) weight %lld: %.12g by difference, %.12g", m,
                         module->type->name, (long long)at, difference, gradient);
        }
        free(gradients[m]);
    }
    drop(pipeline);
}

static void gradients_of_gpt2(void **state)
{
    const struct choice plain = {1, 1, 1, 0, 0, 0, 0, NVT_GPIPE, 0, 0};
    const struct choice full = {2, 2, 1, 1, 0, 1, 0, NVT_GPIPE, (real)0.1, 0};
    (void)state;
    check_gradients(&plain, 40, 1e-8);
    check_gradients(&full, 40, 1e-8);
}

static double largest_difference(const struct nvt_pipeline *a, const struct nvt_pipeline *b)
{
    double most = 0;
    for (int m = 0; m < a->module_count; m++)
        for (int64_t i = 0; i < a->modules[m].parameters; i++) {
            double off = fabs(a->modules[m].g[i] - b->modules[m].g[i]);
            most = off > most ? off : most;
        }
    return most;
}

/* One module between a random input and the loss Σ c·y, c random too. */
struct bench {
    struct nvt_allocator *allocator;
    struct nvt_kept kept;
    struct nvt_pass pass;
    struct nvt_module *module;
    real *x, *y, *dy, *dx, *c;
};

static real *random_numbers(struct bench *bench, int64_t n, uint64_t stream)
{
    real *numbers = nvt_allocator_take(bench->allocator, (size_t)(n ? n : 1) * sizeof(real));
    nvt_random_normal(numbers, n, 3, stream, 1);
    return numbers;
}

static void open_bench(struct bench *bench, struct nvt_module *module, int64_t samples)
{
    memset(bench, 0, sizeof(*bench));
    bench->allocator = nvt_allocator_new(0);
    bench->pass = (struct nvt_pass){bench->allocator, samples, 1, 0, 0, &bench->kept};
    bench->module = module;
    module->w = random_numbers(bench, module->parameters, 1);
    module->g = random_numbers(bench, module->parameters, 2);
    memset(module->g, 0, (size_t)module->parameters * sizeof(real));
    if (module->type->init)
        module->type->init(module, 4);
    bench->x = random_numbers(bench, samples * module->in, 5);
    bench->y = random_numbers(bench, samples * module->out, 6);
    bench->dy = random_numbers(bench, samples * module->out, 7);
    bench->dx = random_numbers(bench, samples * module->in, 8);
    bench->c = random_numbers(bench, samples * module->out, 9);
}

static double bench_loss(struct bench *bench)
{
    double sum = 0;
    assert_int_equal(bench->module->type->forward(bench->module, &bench->pass, bench->x, bench->y),
                     0);
    nvt_pass_release(&bench->pass);
    for (int64_t i = 0; i < bench->pass.samples * bench->module->out; i++)
        sum += bench->c[i] * bench->y[i];
    return sum;
}

static void check_slope(struct bench *bench, const char *what, double *at, double gradient)
{
    const double step = 1e-6, kept = *at;
    *at = kept + step;
    double above = bench_loss(bench);
    *at = kept - step;
    double below = bench_loss(bench);
    *at = kept;
    double difference = (above - below) / (2 * step);
    if (!(fabs(difference - gradient) < 1e-5 * (1 + fabs(gradient))))
        fail_msg("%s, %s: %.12g by difference, %.12g", bench->module->type->name, what, difference,
                 gradient);
}

/* Every kind of module of the residual network by itself: 33 blocks of batch norm are too steep. */
static void gradients_of_resnet(void **state)
{
    static struct nvt_module modules[NVT_MODULES_MOST];
    static const int kinds[] = {0, 1, 2, 3, 4, 7, 53, 54, 55};
    int count = nvt_resnet_modules(modules, NVT_MODULES_MOST);
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("one thread, and convolutions in double precision take minutes");
    assert_int_equal(count, 56);
    for (size_t k = 0; k < NVT_COUNT_OF(kinds); k++) {
        struct nvt_module *module = &modules[kinds[k]];
        struct bench bench;
        open_bench(&bench, module, 2);
        assert_int_equal(module->type->forward(module, &bench.pass, bench.x, bench.y), 0);
        memcpy(bench.dy, bench.c, (size_t)(2 * module->out) * sizeof(real));
        assert_int_equal(
            module->type->backward(module, &bench.pass, bench.x, bench.y, bench.dy, bench.dx), 0);
        nvt_pass_release(&bench.pass);
        for (int i = 0; i < 6; i++) {
            int64_t w = module->parameters * (2 * i + 1) / 12,
                    x = 2 * module->in * (2 * i + 1) / 12;
            if (module->parameters)
                check_slope(&bench, "a weight", &module->w[w], module->g[w]);
            check_slope(&bench, "an input", &bench.x[x], bench.dx[x]);
        }
        nvt_allocator_free(bench.allocator);
    }
}

static double largest_gradient(const struct nvt_module *module)
{
    double most = 0;
    for (int64_t i = 0; i < module->parameters; i++)
        most = fmax(most, fabs(module->g[i]));
    return most;
}

/* The cut of the residual network changes nothing either, nor does checkpointing, which runs its batch norms twice; the
 * micro-batch does, by its batch norm, and is the same in all. Of one sample, which has one place at the end, batch norm
 * would leave nothing: then only the classifier has gradients, whatever goes wrong before it. */
static void cutting_resnet_changes_nothing(void **state)
{
    const struct choice one = {1, 2, 1, 0, 0, 0, 1, NVT_GPIPE, 0, 0};
    const struct choice cuts[] = {{4, 2, 1, 1, 1, 0, 1, NVT_1F1B, 0, 0},
                                  {2, 2, 1, 1, 0, 0, 1, NVT_GPIPE, 0, 0},
                                  {2, 2, 2, 1, 1, 0, 1, NVT_INTERLEAVED, 0, 0}};
    (void)state;
    CLI_SKIP_THREAD_SANITIZED(
        "minutes of convolutions; the threads are those of cutting_changes_nothing");
    struct nvt_pipeline *a = make_pipeline(&one);
    double loss = run(a);
    for (int m = 0; m < a->module_count; m++)
        if (a->modules[m].parameters && !(largest_gradient(&a->modules[m]) > 1e-6))
            fail_msg("module %d (%s) has no gradient", m, a->modules[m].type->name);
    for (int i = 0; i < (cli_is_long() ? 3 : 1); i++) {
        struct nvt_pipeline *b = make_pipeline(&cuts[i]);
        double other = run(b);
        if (!(fabs(other - loss) < SAME) || !(largest_difference(a, b) < SAME))
            fail_msg("schedule %d: loss %.17g, not %.17g; gradients off by %g", cuts[i].schedule,
                     other, loss, largest_difference(a, b));
        drop(b);
    }
    drop(a);
}

/* Two steps with the optimizer between them: loss and gradients of the second are compared. */
static double train(struct nvt_pipeline *pipeline)
{
    run(pipeline);
    nvt_pipeline_optimize(pipeline);
    return run(pipeline);
}

static void expect_same(const struct choice *choice, const struct choice *reference)
{
    struct nvt_pipeline *a = make_pipeline(choice), *b = make_pipeline(reference);
    double loss_a = train(a), loss_b = train(b);
    assert_true(isfinite(loss_a) && loss_a > 0);
    if (!(fabs(loss_a - loss_b) < SAME) || !(largest_difference(a, b) < SAME))
        fail_msg("K=%d M=%d V=%d checkpoint %d workers %d schedule %d dropout %g: loss %.17g, not "
                 "%.17g; "
                 "gradients off by %g",
                 choice->partitions, choice->microbatches, choice->chunks, choice->checkpoint,
                 choice->has_workers, choice->schedule, (double)choice->dropout, loss_a, loss_b,
                 largest_difference(a, b));
    drop(a);
    drop(b);
}

/* Every K, M, schedule, engine and checkpointing against one partition. */
static void cutting_changes_nothing(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++)
        for (int schedule = NVT_GPIPE; schedule <= NVT_INTERLEAVED; schedule++)
            for (int k = 1; k <= 4; k *= 2)
                for (int m = 1; m <= 8; m *= 2) {
                    int chunks = schedule == NVT_INTERLEAVED ? 2 : 1;
                    struct choice choice = {k,
                                            m,
                                            chunks,
                                            bits & 1,
                                            bits >> 1 & 1,
                                            bits >> 2,
                                            0,
                                            (enum nvt_schedule_kind)schedule,
                                            0,
                                            0};
                    /* Attention across the batch sees the micro-batch; along the sequence it does not. */
                    struct choice one = {1, choice.attends_batch ? m : 1,
                                         1, 0,
                                         0, choice.attends_batch,
                                         0, NVT_GPIPE,
                                         0, 0};
                    struct choice same = one;
                    if (m % k && schedule == NVT_INTERLEAVED)
                        continue;
                    expect_same(&choice, &one);
                    choice.dropout = same.dropout = (real)0.1;
                    same.microbatches = m;
                    expect_same(&choice, &same);
                }
}

/* The study's largest numbers of micro-batches, a sample in each at last. */
static void many_microbatches_change_nothing(void **state)
{
    (void)state;
    int bits = 0;
    for (int schedule = NVT_GPIPE; schedule <= NVT_INTERLEAVED; schedule++)
        for (int k = 1; k <= 4; k *= 2)
            for (int m = 16; m <= 64; m *= 2, bits++) {
                int chunks = schedule == NVT_INTERLEAVED ? 2 : 1;
                struct choice choice = {k,
                                        m,
                                        chunks,
                                        bits & 1,
                                        bits >> 1 & 1,
                                        bits % 3 == 0,
                                        0,
                                        (enum nvt_schedule_kind)schedule,
                                        0,
                                        64};
                struct choice one = {
                    1, choice.attends_batch ? m : 1, 1, 0, 0, choice.attends_batch, 0, NVT_GPIPE, 0,
                    64};
                struct choice same = one;
                expect_same(&choice, &one);
                choice.dropout = same.dropout = (real)0.1;
                same.microbatches = m;
                expect_same(&choice, &same);
            }
}

static void dropout_changes_between_steps_and_seeds(void **state)
{
    struct choice choice = {1, 2, 1, 0, 0, 0, 0, NVT_GPIPE, (real)0.5, 0};
    struct nvt_pipeline *pipeline = make_pipeline(&choice);
    (void)state;
    double first = run(pipeline), second = run(pipeline);
    assert_true(fabs(first - second) > 1e-6);
    pipeline->iteration = 0;
    assert_true(run(pipeline) == first);
    drop(pipeline);
}

/* --- memory -------------------------------------------------------------------------------------------- */

static uint64_t peak_of(const struct choice *choice)
{
    struct nvt_pipeline *pipeline = make_pipeline(choice);
    uint64_t most = 0;
    run(pipeline);
    for (int i = 0; i < choice->partitions; i++)
        most += nvt_partition_memory(&pipeline->partitions[i]).peak_allocated;
    drop(pipeline);
    return most;
}

static void checkpointing_saves_memory(void **state)
{
    (void)state;
    struct choice kept = {2, 8, 1, 0, 0, 0, 0, NVT_GPIPE, 0, 0}, checkpointed = kept, even = kept;
    checkpointed.checkpoint = 1;
    even.schedule = NVT_1F1B;
    assert_true(peak_of(&checkpointed) < peak_of(&kept));
    assert_true(peak_of(&even) < peak_of(&kept));
}

static void nothing_leaks_between_steps(void **state)
{
    struct choice choice = {4, 4, 1, 1, 1, 0, 0, NVT_1F1B, (real)0.1, 0};
    struct nvt_pipeline *pipeline = make_pipeline(&choice);
    uint64_t before[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        before[i] = nvt_partition_memory(&pipeline->partitions[i]).allocated;
    for (int step = 0; step < 3; step++) {
        run(pipeline);
        for (int i = 0; i < 4; i++)
            assert_int_equal(nvt_partition_memory(&pipeline->partitions[i]).allocated, before[i]);
    }
    drop(pipeline);
}

/* A limit that the weights fit in and the activations do not: an error with the bytes, no hang. */
static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    for (int has_workers = 0; has_workers < 2; has_workers++) {
        struct nvt_pipeline *pipeline = calloc(1, sizeof(*pipeline));
        struct nvt_gpt2_shape shape = {32, 4, 2, 128, 64, 500, 0, 0};
        struct nvt_pipeline_settings settings;
        struct nvt_error err = NVT_ERROR_INIT;
        memset(&settings, 0, sizeof(settings));
        settings.partitions = 2;
        settings.microbatches = 4;
        settings.chunks = 1;
        settings.has_workers = has_workers;
        settings.batch = 64;
        settings.rows = 64;
        settings.classes = 500;
        settings.memory_limit = 16 << 20;
        pipeline->module_count = nvt_gpt2_modules(&shape, pipeline->modules, NVT_MODULES_MOST);
        nvt_pipeline_cut(pipeline->modules, pipeline->module_count, 2, settings.cuts);
        assert_int_equal(nvt_pipeline_setup(pipeline, &settings, 500, &err), 0);
        assert_int_equal(nvt_pipeline_run(pipeline, NVT_RUN_FORWARD, &err), -1);
        assert_true(pipeline->refused > 0);
        drop(pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_gpt2),
        cmocka_unit_test(gradients_of_resnet),
        cmocka_unit_test(cutting_resnet_changes_nothing),
        cmocka_unit_test(cutting_changes_nothing),
        cmocka_unit_test(many_microbatches_change_nothing),
        cmocka_unit_test(dropout_changes_between_steps_and_seeds),
        cmocka_unit_test(checkpointing_saves_memory),
        cmocka_unit_test(nothing_leaks_between_steps),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    /* Loops of a few numbers are not worth waking threads for. */
    setenv("OMP_NUM_THREADS", "1", 1);
    nvt_backend_share(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
