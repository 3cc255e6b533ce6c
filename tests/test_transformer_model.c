/*
 * The language model in double precision, from the sources that the backends run: its gradient
 * against finite differences, its training against the reference in tests/reference/transformer.py.
 */
#define NVT_REAL_DOUBLE 1
#undef HAVE_CBLAS

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kernels/frame/allocator.c"
#include "../kernels/host/backend.c"
#include "../kernels/host/matmul.c"
#include "../kernels/ops/attention.c"
#include "../kernels/ops/copy.c"
#include "../kernels/ops/cross_entropy.c"
#include "../kernels/ops/embedding.c"
#include "../kernels/ops/gelu.c"
#include "../kernels/ops/norm.c"
#include "../kernels/ops/optimizer.c"
#include "../kernels/ops/random.c"
#include "../kernels/workloads/transformer_model.c"
#include "../kernels/workloads/transformer_work.c"
#include "cli.h"
#include "reference/transformer.h"

static struct nvt_allocator *allocator;

static const struct nvt_transformer_shape reference_shape = {
    32, 64, 2, 4, 50, 2, 8, NVT_FP32, NVT_PASS_TRAIN};

static void make_model(struct nvt_transformer *model, struct nvt_transformer_shape shape)
{
    memset(model, 0, sizeof(*model));
    model->shape = shape;
    model->allocator = allocator;
    assert_int_equal(nvt_transformer_setup(model, 1), 0);
}

static double loss_of(struct nvt_transformer *model)
{
    nvt_transformer_forward(model);
    return nvt_transformer_loss(model);
}

static double difference(struct nvt_transformer *model, real *w)
{
    const double step = 1e-5;
    double kept = *w;
    *w = kept + step;
    double above = loss_of(model);
    *w = kept - step;
    double below = loss_of(model);
    *w = kept;
    return (above - below) / (2 * step);
}

/* The model's tensors, and which of them a gap-free walk would meet. */
static int list_tensors(struct nvt_transformer *model, struct nvt_tensor **list)
{
    int count = 0;
    list[count++] = &model->table;
    list[count++] = &model->position;
    list[count++] = &model->norm;
    list[count++] = &model->head;
    for (int64_t i = 0; i < model->shape.layers; i++) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        struct nvt_tensor *own[] = {&layer->norm1, &layer->qkv, &layer->projection,
                                    &layer->norm2, &layer->up,  &layer->down};
        for (int k = 0; k < 6; k++)
            list[count++] = own[k];
    }
    return count;
}

static void check_gradients(struct nvt_transformer_shape shape)
{
    struct nvt_transformer model;
    struct nvt_tensor *tensors[64];
    make_model(&model, shape);
    int count = list_tensors(&model, tensors);
    /* Bigger weights than the initial ones, so that the softmax is not flat; norms that are not 1.
     */
    for (int t = 0; t < count; t++)
        nvt_random_normal(tensors[t]->value, tensors[t]->count, 3, (uint64_t)t, 0.4);
    loss_of(&model);
    nvt_transformer_backward(&model);
    for (int t = 0; t < count; t++) {
        int nonzero = 0;
        for (int64_t i = 0; i < tensors[t]->count; i += tensors[t]->count / 29 + 1) {
            double expected = difference(&model, &tensors[t]->value[i]);
            double error = fabs(tensors[t]->gradient[i] - expected);
            if (error > 1e-8 + 1e-6 * fabs(expected))
                fail_msg("tensor %d, element %d: %g, by differences %g", t, (int)i,
                         tensors[t]->gradient[i], expected);
            nonzero += fabs(expected) > 1e-7;
        }
        assert_true(nonzero > 2);
    }
    nvt_transformer_teardown(&model);
}

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    check_gradients(reference_shape);
    struct nvt_transformer_shape odd = {15, 7, 1, 3, 11, 3, 5, NVT_FP32, NVT_PASS_BACKWARD};
    check_gradients(odd);
}

/* A second backward pass finds what the first one found: nothing is left over from an iteration. */
static void passes_can_be_repeated(void **state)
{
    (void)state;
    struct nvt_transformer model;
    make_model(&model, reference_shape);
    size_t bytes = (size_t)model.places * sizeof(real);
    real *first = malloc(bytes);
    assert_non_null(first);
    double loss = loss_of(&model);
    nvt_transformer_backward(&model);
    memcpy(first, model.gradients, bytes);
    assert_true(loss_of(&model) == loss);
    nvt_transformer_backward(&model);
    assert_memory_equal(first, model.gradients, bytes);
    free(first);
    nvt_transformer_teardown(&model);
    assert_int_equal(nvt_allocator_use(allocator).allocated, 0);
}

/* Sharing activations between layers changes what is kept, and nothing that is computed. */
static void forward_alone_computes_the_same(void **state)
{
    (void)state;
    struct nvt_transformer keeping, sharing;
    struct nvt_transformer_shape shape = reference_shape;
    make_model(&keeping, shape);
    uint64_t all = nvt_allocator_use(allocator).allocated;
    shape.pass = NVT_PASS_FORWARD;
    make_model(&sharing, shape);
    assert_true(nvt_allocator_use(allocator).allocated - all < all / 2);
    assert_true(loss_of(&keeping) == loss_of(&sharing));
    nvt_transformer_teardown(&keeping);
    nvt_transformer_teardown(&sharing);
}

static void train(struct nvt_transformer *model, double *losses, int steps)
{
    for (int i = 0; i < steps; i++) {
        losses[i] = loss_of(model);
        nvt_transformer_backward(model);
        nvt_transformer_step(model);
    }
}

static void training_agrees_with_the_reference(void **state)
{
    (void)state;
    struct nvt_transformer model;
    double losses[REFERENCE_STEPS];
    make_model(&model, reference_shape);
    train(&model, losses, REFERENCE_STEPS);
    for (int i = 0; i < REFERENCE_STEPS; i++) {
        assert_true(fabs(losses[i] - reference_losses[i]) <= 1e-10 * reference_losses[i]);
        assert_true(!i || losses[i] < losses[i - 1]);
    }
    nvt_transformer_teardown(&model);
}

/* Whether Python finds these modules; else says that what was stored is taken as it is. */
static int has_modules(const struct cli_options *options, const char *import, const char *modules)
{
    const char *argv[] = {"python3", "-c", import, NULL};
    struct cli_result result = cli_run_with(options, argv);
    int found = result.status == 0;
    cli_result_free(&result);
    if (!found)
        print_message("Python's %s are not here (pip install %s): the stored losses are taken as "
                      "they are\n",
                      modules, modules);
    return found;
}

static const char *const environment[] = {"PYTHONPATH=.deps/python", NULL};
static const struct cli_options python = {.environment = environment, .timeout_s = 180};

/* An array in NumPy's format: magic, version 1.0, the length of a text that says what follows, that text, the numbers. The
 * first four fill a multiple of 64 bytes. */
static void write_array(const char *name, const char *type, const char *shape, const void *numbers,
                        size_t bytes)
{
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 128 - 10, 0};
    char head[128], text[128];
    int length = snprintf(text, sizeof(text),
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    assert_true(length > 0 && length < 117);
    memset(head, ' ', sizeof(head));
    memcpy(head, magic, sizeof(magic));
    memcpy(head + sizeof(magic), text, (size_t)length);
    head[127] = '\n';
    char *all = malloc(sizeof(head) + bytes);
    assert_non_null(all);
    memcpy(all, head, sizeof(head));
    memcpy(all + sizeof(head), numbers, bytes);
    cli_write_file(cli_in(cli_folder, name), all, sizeof(head) + bytes);
    free(all);
}

/* Parameters and tokens as they are now, into the fixture's folder (tests/reference/exchange.py). */
static void write_model(struct nvt_transformer *model)
{
    struct nvt_tensor *tensors[64];
    int tensor_count = list_tensors(model, tensors);
    int64_t rows = model->shape.batch * model->shape.context, count = 0;
    double *numbers = calloc((size_t)model->places, sizeof(*numbers));
    int32_t *words = calloc((size_t)(2 * rows), sizeof(*words));
    char shape[64];
    assert_true(numbers && words);
    for (int t = 0; t < tensor_count; t++)
        for (int64_t i = 0; i < tensors[t]->count; i++)
            numbers[count++] = (double)tensors[t]->value[i];
    memcpy(words, model->token, (size_t)rows * sizeof(*words));
    memcpy(words + rows, model->target, (size_t)rows * sizeof(*words));
    snprintf(shape, sizeof(shape), "%lld,", (long long)count);
    write_array("parameters.npy", "<f8", shape, numbers, (size_t)count * sizeof(*numbers));
    snprintf(shape, sizeof(shape), "2, %lld", (long long)rows);
    write_array("tokens.npy", "<i4", shape, words, (size_t)(2 * rows) * sizeof(*words));
    free(numbers);
    free(words);
}

/* Ten losses, the model's parameters and tokens written before the first step. */
static void write_and_train(double *losses)
{
    struct nvt_transformer model;
    make_model(&model, reference_shape);
    write_model(&model);
    train(&model, losses, REFERENCE_STEPS);
    nvt_transformer_teardown(&model);
}

/* NumPy's losses from the parameters and tokens of this very run are this run's, and those that are stored. The parameters
 * are what docs/workloads.md says of the seed. */
static void numpy_agrees_from_the_same_parameters(void **state)
{
    (void)state;
    double losses[REFERENCE_STEPS], worst = 1;
    int others = 1;
    const char *argv[] = {"python3",  "tests/reference/transformer.py",
                          "32",       "64",
                          "2",        "4",
                          "50",       "2",
                          "8",        "10",
                          cli_folder, NULL};
    const char *draw[] = {
        "python3", "tests/reference/draw.py", "32", "64", "2", "50", "2", "8", "1", cli_folder,
        NULL};
    write_and_train(losses);
    if (!has_modules(&python, "import numpy, autograd", "numpy autograd"))
        skip();
    struct cli_result result = cli_run_with(&python, argv);
    cli_expect_status(&result, 0);
    char *at = result.out;
    for (int i = 0; i < REFERENCE_STEPS; i++) {
        double loss = strtod(at, &at);
        assert_true(fabs(losses[i] - loss) <= 1e-10 * loss);
        assert_true(fabs(reference_losses[i] - loss) <= 1e-10 * loss);
    }
    cli_result_free(&result);
    result = cli_run_with(&python, draw);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%lf %d", &worst, &others), 2);
    assert_true(worst < 1e-15 && !others);
    cli_result_free(&result);
}

/* PyTorch's layers, autograd and AdamW find them too, from the same parameters and tokens, to 1e-4. */
static void pytorch_agrees_from_the_same_parameters(void **state)
{
    (void)state;
    double losses[REFERENCE_STEPS];
    const char *argv[] = {"python3",  "tests/device/transformer.py",
                          "--check",  "--parameters",
                          cli_folder, "--device",
                          "cpu",      NULL};
    write_and_train(losses);
    if (!has_modules(&python, "import numpy, torch", "numpy torch"))
        skip();
    struct cli_result result = cli_run_with(&python, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "10 losses, PyTorch"));
    cli_result_free(&result);
}

/* Norm of the difference of the gradients, relative to the exact ones. */
static double gradient_error(enum nvt_precision precision)
{
    struct nvt_transformer exact, low;
    struct nvt_transformer_shape shape = reference_shape;
    double difference_squared = 0, squared = 0;
    double scale = nvt_transformer_loss_scale(precision);
    make_model(&exact, shape);
    shape.precision = precision;
    make_model(&low, shape);
    double loss = loss_of(&exact), low_loss = loss_of(&low);
    assert_true(loss != low_loss && fabs(loss - low_loss) < 1e-3 * loss);
    nvt_transformer_backward(&exact);
    nvt_transformer_backward(&low);
    for (int64_t i = 0; i < exact.places; i++) {
        difference_squared += pow(low.gradients[i] / scale - exact.gradients[i], 2);
        squared += pow(exact.gradients[i], 2);
    }
    nvt_transformer_teardown(&exact);
    nvt_transformer_teardown(&low);
    return sqrt(difference_squared / squared);
}

/*
 * Each input of a product is off by at most half a unit of its last place: 2⁻⁹ of it with
 * bfloat16's 8 bits, 2⁻¹² with the 11 of TF32 and binary16. A gradient goes through some 20
 * products here, whose errors add up to at most 40 such halves. Without a scaled loss binary16
 * would lose small gradients altogether.
 */
static void low_precisions_are_close(void **state)
{
    (void)state;
    double bf16 = gradient_error(NVT_BF16), tf32 = gradient_error(NVT_TF32);
    double fp16 = gradient_error(NVT_FP16);
    assert_true(bf16 < 40 * 0x1p-9 && bf16 > 0x1p-12);
    assert_true(tf32 < 40 * 0x1p-12 && tf32 > 0x1p-15);
    assert_true(fp16 < 40 * 0x1p-12 && fp16 > 0x1p-15);
}

static struct nvt_transformer_shape published(int64_t d, int64_t ff, int64_t layers, int64_t heads)
{
    struct nvt_transformer_shape shape = {d, ff,  layers,   heads,         10000,
                                          4, 128, NVT_FP32, NVT_PASS_TRAIN};
    return shape;
}

/*
 * By hand, per layer of `small`: 2 · 768 + 4 · 768² + 2 · 768 · 3072 = 7,079,424; twelve of them,
 * two tables of 10,000 · 768, positions 128 · 768, a norm. So are the other models' counts.
 */
static void parameters_are_counted(void **state)
{
    (void)state;
    struct nvt_transformer_shape shape = published(768, 3072, 12, 12);
    assert_int_equal(nvt_transformer_parameters(&shape), 12 * 7079424 + 2 * 7680000 + 98304 + 768);
    shape = published(1024, 4096, 24, 16);
    assert_int_equal(nvt_transformer_parameters(&shape), 322651136);
    shape = published(1280, 5120, 36, 20);
    assert_int_equal(nvt_transformer_parameters(&shape), 733646080);
    shape = published(1600, 6400, 48, 25);
    assert_int_equal(nvt_transformer_parameters(&shape), 1506920000);
    shape = published(2560, 10240, 32, 32);
    assert_int_equal(nvt_transformer_parameters(&shape), 2568276480);
    /* And what is allocated is what is counted. */
    struct nvt_transformer model;
    struct nvt_tensor *tensors[64];
    uint64_t sum = 0;
    make_model(&model, reference_shape);
    int count = list_tensors(&model, tensors);
    for (int i = 0; i < count; i++)
        sum += (uint64_t)tensors[i]->count;
    assert_int_equal(sum, nvt_transformer_parameters(&reference_shape));
    nvt_transformer_teardown(&model);
}

/*
 * By hand for `small`, N = 512 rows. Products of a layer: q, k, v 2·512·768·2304 = 1,811,939,328;
 * scores and values 48 heads · 2·128·128·64 = 100,663,296 each; output 603,979,776; feed-forward
 * twice 2·512·768·3072 = 4,831,838,208. Head: 2·512·768·10000 = 7,864,320,000. The rest is the
 * other operations of docs/workloads.md.
 */
static void flops_are_counted(void **state)
{
    (void)state;
    struct nvt_transformer_shape shape = published(768, 3072, 12, 12);
    struct nvt_transformer_work work = nvt_transformer_count_work(&shape);
    const uint64_t attention = UINT64_C(1811939328) + 2 * 100663296 + 603979776, mlp = 4831838208;
    const uint64_t products = 12 * (attention + mlp) + 7864320000, wide = 512 * 768;
    const uint64_t seen = 48 * 128 * 129 / 2;
    assert_int_equal(work.forward.flops, products + wide + 25 * 4 * wide +
                                             12 * (5 * seen + 2 * wide + 5 * 512 * 3072) +
                                             4 * 512 * 10000);
    assert_int_equal(work.backward.flops, 2 * products + 3 * 512 * 10000 + 25 * 10 * wide +
                                              12 * (10 * 512 * 3072 + 4 * seen) + 2 * wide);
    assert_int_equal(work.part[0][NVT_PART_SCORES].flops, 100663296);
    assert_int_equal(work.part[1][NVT_PART_SCORES].flops, 2 * 100663296);
    assert_int_equal(work.part[0][NVT_PART_SOFTMAX].flops, 5 * seen);
    assert_int_equal(work.part[0][NVT_PART_NORM].bytes, (2 * wide + 768 + 512) * sizeof(real));
    assert_int_equal(work.step.bytes, UINT64_C(7) * 100412160 * sizeof(real));
}

static int open_allocator(void **state)
{
    (void)state;
    allocator = nvt_allocator_new(0);
    return allocator ? 0 : -1;
}

static int close_allocator(void **state)
{
    (void)state;
    nvt_allocator_free(allocator);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(passes_can_be_repeated),
        cmocka_unit_test(forward_alone_computes_the_same),
        cmocka_unit_test(training_agrees_with_the_reference),
        cmocka_unit_test_setup_teardown(numpy_agrees_from_the_same_parameters, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(pytorch_agrees_from_the_same_parameters, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test(low_precisions_are_close),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(flops_are_counted),
    };
    return cmocka_run_group_tests(tests, open_allocator, close_allocator);
}
