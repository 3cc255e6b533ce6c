/*
 * The layers of the fragment study in double precision, from the very sources that the backends run:
 * gradients against finite differences, looped against grouped, operations against their definitions.
 */
#define NVT_REAL_DOUBLE 1
#undef HAVE_CBLAS

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The kernels take part in this test as source: their types are this file's. */
#include "../kernels/frame/allocator.c"
#include "../kernels/host/backend.c"
#include "../kernels/ops/fragment.c"
#include "../kernels/ops/linear.c"
#include "../kernels/ops/random.c"
#include "../kernels/ops/softmax.c"
#include "../kernels/workloads/layer.c"
#include "random_kit.h"

static void make_layer(struct nvt_layer *layer, struct nvt_allocator *allocator,
                       enum nvt_layer_mode mode, int grouped, int64_t batch, int64_t size,
                       int64_t fragments)
{
    memset(layer, 0, sizeof(*layer));
    layer->mode = mode;
    layer->grouped = grouped;
    layer->batch = batch;
    layer->in = layer->out = size;
    layer->fragments = fragments;
    layer->allocator = allocator;
    assert_int_equal(nvt_layer_setup(layer, 7), 0);
}

static double loss_of(struct nvt_layer *layer)
{
    assert_int_equal(nvt_layer_forward(layer), 0);
    return nvt_mse_loss(layer->y, layer->target, layer->batch * layer->out);
}

/* d loss / d w[i] by a central difference; its own error is about step² and 1e-16 / step. */
static double difference(struct nvt_layer *layer, real *w)
{
    const double step = 1e-5;
    double kept = *w;
    *w = kept + step;
    double above = loss_of(layer);
    *w = kept - step;
    double below = loss_of(layer);
    *w = kept;
    return (above - below) / (2 * step);
}

static void check_gradients(enum nvt_layer_mode mode, int grouped, int64_t fragments)
{
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_layer layer;
    make_layer(&layer, allocator, mode, grouped, 3, 64, fragments);
    loss_of(&layer);
    /* Whatever is left of the pass before. */
    for (int p = 0; p < layer.parameter_count; p++)
        for (int64_t i = 0; i < layer.parameters[p].count; i++)
            layer.parameters[p].gradient[i] = NAN;
    nvt_layer_backward(&layer);
    int nonzero = 0;
    for (int p = 0; p < layer.parameter_count; p++) {
        struct nvt_parameter *parameter = &layer.parameters[p];
        int64_t stride = parameter->count / 37 + 1;
        for (int64_t i = 0; i < parameter->count; i += stride) {
            double expected = difference(&layer, &parameter->value[i]);
            double error = fabs(parameter->gradient[i] - expected);
            assert_true(error <= 1e-8 + 1e-6 * fabs(expected));
            nonzero += fabs(expected) > 1e-6;
        }
    }
    assert_true(nonzero > 20);
    nvt_layer_teardown(&layer);
    assert_int_equal(nvt_allocator_use(allocator).allocated, 0);
    nvt_allocator_free(allocator);
}

static void linear_gradients(void **state)
{
    (void)state;
    check_gradients(NVT_LINEAR, 0, 1);
}

static void train_gradients(void **state)
{
    (void)state;
    check_gradients(NVT_TRAIN, 0, 2);
    check_gradients(NVT_TRAIN, 0, 8);
    check_gradients(NVT_TRAIN, 0, 64);
}

static void inference_gradients(void **state)
{
    (void)state;
    check_gradients(NVT_INFERENCE, 0, 8);
    check_gradients(NVT_INFERENCE, 1, 8);
    check_gradients(NVT_INFERENCE, 1, 1);
}

/* The layer's definition, sample by sample and feature by feature. */
static double defined_output(const struct nvt_layer *layer, int64_t b, int64_t o)
{
    const real *x = layer->x + b * layer->in, *s = layer->parameters[NVT_SELECTOR].value;
    const real *e = layer->parameters[NVT_EXPERT].value;
    const real *a = layer->parameters[NVT_COMPRESSOR].value;
    const real *expand = layer->parameters[NVT_EXPANSION].value;
    double score[64], p[64] = {0}, top = -INFINITY, sum = 0, out = 0;
    int64_t best = 0, width = layer->in / layer->fragments;
    for (int64_t f = 0; f < layer->fragments; f++) {
        score[f] = 0;
        for (int64_t i = 0; i < width; i++)
            score[f] += x[f * width + i] * s[f * width + i];
        if (score[f] > top) {
            top = score[f];
            best = f;
        }
    }
    for (int64_t f = 0; f < layer->fragments; f++)
        sum += p[f] = exp(score[f] - top);
    for (int64_t f = 0; f < layer->fragments; f++)
        p[f] = layer->mode == NVT_TRAIN ? p[f] / sum : f == best;
    for (int64_t f = 0; f < layer->fragments; f++)
        for (int64_t i = 0; i < width; i++)
            out += p[f] * x[f * width + i] * e[(f * width + i) * layer->out + o];
    for (int64_t c = 0; c < layer->in / 32; c++) {
        double h = 0;
        for (int64_t i = 0; i < layer->in; i++)
            h += (1 - p[i / width]) * x[i] * a[c * layer->in + i];
        out += h * expand[o * (layer->in / 32) + c];
    }
    return out;
}

static void outputs_are_as_defined(void **state)
{
    (void)state;
    static const struct {
        enum nvt_layer_mode mode;
        int grouped;
    } forms[] = {{NVT_TRAIN, 0}, {NVT_INFERENCE, 0}, {NVT_INFERENCE, 1}};
    for (size_t form = 0; form < 3; form++) {
        struct nvt_allocator *allocator = nvt_allocator_new(0);
        struct nvt_layer layer;
        make_layer(&layer, allocator, forms[form].mode, forms[form].grouped, 5, 64, 8);
        assert_int_equal(nvt_layer_forward(&layer), 0);
        for (int64_t b = 0; b < 5; b++)
            for (int64_t o = 0; o < 64; o++)
                assert_true(fabs(layer.y[b * 64 + o] - defined_output(&layer, b, o)) < 1e-12);
        nvt_layer_teardown(&layer);
        nvt_allocator_free(allocator);
    }
}

/* Weights after some steps of Adam on the same data: the loss goes down, both variants alike. */
static void looped_and_grouped_train_alike(void **state)
{
    (void)state;
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_layer layers[2];
    double first[2], last[2];
    for (int grouped = 0; grouped < 2; grouped++) {
        make_layer(&layers[grouped], allocator, NVT_INFERENCE, grouped, 6, 128, 16);
        first[grouped] = loss_of(&layers[grouped]);
        for (int step = 0; step < 20; step++) {
            nvt_layer_forward(&layers[grouped]);
            nvt_layer_backward(&layers[grouped]);
            nvt_layer_step(&layers[grouped]);
        }
        last[grouped] = loss_of(&layers[grouped]);
        assert_true(last[grouped] < 0.9 * first[grouped]);
    }
    for (int64_t i = 0; i < 6 * 128; i++)
        assert_true(fabs(layers[0].y[i] - layers[1].y[i]) < 1e-12);
    nvt_layer_teardown(&layers[0]);
    nvt_layer_teardown(&layers[1]);
    nvt_allocator_free(allocator);
}

/* Published counts of the study: 2048, 4096, 8192. */
static void parameter_counts_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        int64_t size;
        uint64_t linear, fragmented;
    } published[] = {
        {2048, 4196352, 4458496}, {4096, 16781312, 17829888}, {8192, 67117056, 71311360}};
    for (size_t i = 0; i < 3; i++) {
        int64_t size = published[i].size;
        assert_int_equal(nvt_layer_parameters(NVT_LINEAR, size, size), published[i].linear);
        assert_int_equal(nvt_layer_parameters(NVT_TRAIN, size, size), published[i].fragmented);
        assert_int_equal(nvt_layer_parameters(NVT_INFERENCE, size, size), published[i].fragmented);
    }
    /* And what is allocated is what is counted. */
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    struct nvt_layer layer;
    uint64_t count = 0;
    make_layer(&layer, allocator, NVT_TRAIN, 0, 1, 128, 4);
    for (int p = 0; p < layer.parameter_count; p++)
        count += (uint64_t)layer.parameters[p].count;
    assert_int_equal(count, nvt_layer_parameters(NVT_TRAIN, 128, 128));
    nvt_layer_teardown(&layer);
    nvt_allocator_free(allocator);
}

/* Adam by hand for one weight: Kingma and Ba, algorithm 1. */
static void adam_follows_its_definition(void **state)
{
    (void)state;
    real w = 0.5, m = 0, v = 0;
    double expected = 0.5, first = 0, second = 0;
    static const struct nvt_adam adam = {1e-3, 0.9, 0.999, 1e-8};
    for (int64_t step = 1; step <= 50; step++) {
        real g = sin((double)step);
        first = 0.9 * first + 0.1 * g;
        second = 0.999 * second + 0.001 * g * g;
        expected -= 1e-3 * (first / (1 - pow(0.9, (double)step))) /
                    (sqrt(second / (1 - pow(0.999, (double)step))) + 1e-8);
        nvt_adam_step(&w, &g, &m, &v, 1, step, &adam);
        assert_true(fabs(w - expected) < 1e-14);
    }
}

/* Known answers of the authors' kat_vectors: zeros, and all ones. */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const uint32_t zeros[4] = {0, 0, 0, 0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    static const uint32_t of_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    static const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t out[4];
    nvt_philox(zeros, zeros, out);
    assert_memory_equal(out, of_zeros, sizeof(out));
    nvt_philox(ones, ones, out);
    assert_memory_equal(out, of_ones, sizeof(out));
}

static void normal_numbers_are_normal(void **state)
{
    (void)state;
    enum { COUNT = 200001 };
    real *numbers = malloc(COUNT * sizeof(real));
    double sum = 0, squares = 0, fourth = 0;
    nvt_random_normal(numbers, COUNT, 3, 5, 2);
    for (int i = 0; i < COUNT; i++) {
        sum += numbers[i];
        squares += numbers[i] * numbers[i];
        fourth += pow(numbers[i], 4);
    }
    /* Five standard errors of the mean, the variance and the fourth moment. */
    assert_true(fabs(sum / COUNT) < 5 * 2 / sqrt(COUNT));
    assert_true(fabs(squares / COUNT / 4 - 1) < 5 * sqrt(2.0 / COUNT));
    assert_true(fabs(fourth / COUNT / 16 - 3) < 5 * sqrt(96.0 / COUNT));
    free(numbers);
}

/* Random requests against the plain sum of what is in use. */
static void allocator_counts_what_is_in_use(void **state)
{
    (void)state;
    enum { SLOTS = 64, STEPS = 20000 };
    struct nvt_allocator *allocator = nvt_allocator_new(256u << 20);
    struct {
        char *memory;
        size_t size;
    } slots[SLOTS] = {{0}};
    uint64_t used = 0;
    kit_srand(11);
    for (int step = 0; step < STEPS; step++) {
        int slot = rand() % SLOTS;
        if (slots[slot].memory) {
            /* Nobody else has written here. */
            assert_int_equal(slots[slot].memory[0], slot);
            assert_int_equal(slots[slot].memory[slots[slot].size - 1], slot);
            nvt_allocator_give(allocator, slots[slot].memory);
            slots[slot].memory = NULL;
            used -= (slots[slot].size + 511) / 512 * 512;
        } else {
            slots[slot].size = (size_t)1 << rand() % 23;
            slots[slot].size += (size_t)rand() % slots[slot].size;
            slots[slot].memory = nvt_allocator_take(allocator, slots[slot].size);
            if (!slots[slot].memory)
                continue;
            slots[slot].memory[0] = slots[slot].memory[slots[slot].size - 1] = (char)slot;
            used += (slots[slot].size + 511) / 512 * 512;
        }
        struct nvt_memory_use use = nvt_allocator_use(allocator);
        /* A block that is not worth splitting counts whole. */
        assert_true(use.allocated >= used && use.allocated <= used + SLOTS * SMALL_REQUEST);
        assert_true(use.reserved >= use.allocated && use.reserved <= 256u << 20);
        assert_true(use.peak_allocated >= use.allocated && use.peak_reserved >= use.reserved);
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (slots[slot].memory)
            nvt_allocator_give(allocator, slots[slot].memory);
    assert_int_equal(nvt_allocator_use(allocator).allocated, 0);
    nvt_allocator_free(allocator);
}

static void allocator_refuses_beyond_its_limit(void **state)
{
    (void)state;
    struct nvt_allocator *allocator = nvt_allocator_new(64u << 20);
    void *first = nvt_allocator_take(allocator, 40u << 20);
    assert_non_null(first);
    assert_null(nvt_allocator_take(allocator, 30u << 20));
    assert_int_equal(nvt_allocator_use(allocator).refused, 30u << 20);
    nvt_allocator_give(allocator, first);
    /* What is unused is handed back before it gives up. */
    void *second = nvt_allocator_take(allocator, 60u << 20);
    assert_non_null(second);
    nvt_allocator_reset_peak(allocator);
    assert_int_equal(nvt_allocator_use(allocator).peak_allocated, 60u << 20);
    nvt_allocator_free(allocator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_gradients),
        cmocka_unit_test(train_gradients),
        cmocka_unit_test(inference_gradients),
        cmocka_unit_test(outputs_are_as_defined),
        cmocka_unit_test(looped_and_grouped_train_alike),
        cmocka_unit_test(parameter_counts_are_the_published_ones),
        cmocka_unit_test(adam_follows_its_definition),
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(normal_numbers_are_normal),
        cmocka_unit_test(allocator_counts_what_is_in_use),
        cmocka_unit_test(allocator_refuses_beyond_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
