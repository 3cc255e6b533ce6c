/*
 * What the published pipeline study says behind "Splitting the module": the bytes that PyTorch's allocator reserved
 * for a partition's weights, and nothing else yet. Our allocator counts as that one does: given the tensors of our
 * cut of the published model, it reserves the published bytes. (In single precision, whatever this is built in.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kernels/pipeline/pipeline.h"

enum { WIDTH = 768, HIDDEN = 3072, VOCABULARY = 3000, SEQUENCE = 128 };
enum { SQUARE = WIDTH * WIDTH, WIDE = HIDDEN * WIDTH };

/* Tensors of the modules in their order, as the published model registers them; 0: no more. */
static const int64_t embedding[] = {VOCABULARY * WIDTH, 0};
static const int64_t positions[] = {SEQUENCE * WIDTH, 0};
static const int64_t block[] = {3 * SQUARE, 3 * WIDTH, SQUARE, WIDTH, WIDTH, WIDTH, WIDE,
                                HIDDEN,     WIDE,      WIDTH,  WIDTH, WIDTH, 0};
static const int64_t norm[] = {WIDTH, WIDTH, 0};
static const int64_t head[] = {VOCABULARY * WIDTH, 0};

static const int64_t *tensors_of(int module, int count)
{
    return module == 0           ? embedding
           : module == 1         ? positions
           : module == count - 1 ? head
           : module == count - 2 ? norm
                                 : block;
}

/* Each of a stretch of modules with `copies` of its tensors: reserved bytes. */
static uint64_t reserved_for(const struct nvt_module *modules, int count, int first, int size,
                             int copies)
{
    struct nvt_allocator *allocator = nvt_allocator_new(0);
    assert_non_null(allocator);
    for (int m = first; m < first + size; m++) {
        const int64_t *tensors = tensors_of(m, count);
        int64_t parameters = 0;
        for (int i = 0; tensors[i]; parameters += tensors[i++])
            for (int copy = 0; copy < copies; copy++)
                assert_non_null(nvt_allocator_take(allocator, (size_t)tensors[i] * 4));
        assert_int_equal(parameters, modules[m].parameters);
    }
    uint64_t reserved = nvt_allocator_use(allocator).reserved;
    nvt_allocator_free(allocator);
    return reserved;
}

/* The lines behind "Splitting the module" of the first configuration with `partitions`. */
static void read_published(int partitions, uint64_t *bytes)
{
    char line[300], wanted[40];
    int found = 0, is_it = 0;
    FILE *log = fopen("data/published/gpipe.log", "r");
    assert_non_null(log);
    snprintf(wanted, sizeof(wanted), "num_partitions: %d\n", partitions);
    while (found < partitions && fgets(line, sizeof(line), log)) {
        if (!strncmp(line, "num_partitions: ", 16))
            is_it = !strcmp(line, wanted);
        if (!is_it || strncmp(line, "cuda:", 5))
            continue;
        bytes[found] = 0;
        for (const char *at = line + strcspn(line, " "); *at != 'B'; at++)
            if (*at >= '0' && *at <= '9')
                bytes[found] = bytes[found] * 10 + (uint64_t)(*at - '0');
        found++;
    }
    fclose(log);
    assert_int_equal(found, partitions);
}

static void published_lines_are_reserved_for_the_weights(void **state)
{
    static struct nvt_module modules[NVT_MODULES_MOST];
    struct nvt_gpt2_shape shape = {WIDTH, 12, 12, HIDDEN, SEQUENCE, VOCABULARY, 1, (real)0.1};
    int count = nvt_gpt2_modules(&shape, modules, NVT_MODULES_MOST);
    (void)state;
    for (int partitions = 1; partitions <= 4; partitions *= 2) {
        int cuts[4], first = 0;
        uint64_t published[4];
        read_published(partitions, published);
        assert_int_equal(nvt_pipeline_cut(modules, count, partitions, cuts), 0);
        for (int p = 0; p < partitions; first += cuts[p++]) {
            assert_int_equal(reserved_for(modules, count, first, cuts[p], 1), published[p]);
            /* Nor are gradients in them. */
            assert_true(reserved_for(modules, count, first, cuts[p], 2) > published[p]);
        }
    }
}

/* Ours: one block of all weights of a partition, before gradients and momentum are taken. */
static void a_partition_knows_what_its_weights_took(void **state)
{
    struct nvt_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    struct nvt_gpt2_shape shape = {512, 2, 2, 2048, 16, 3000, 0, 0};
    struct nvt_pipeline_settings settings;
    struct nvt_error err = NVT_ERROR_INIT;
    const int64_t step = 2 << 20;
    (void)state;
    assert_non_null(pipeline);
    memset(&settings, 0, sizeof(settings));
    settings.partitions = 2;
    settings.microbatches = settings.chunks = 1;
    settings.batch = 1;
    settings.rows = 16;
    settings.classes = 3000;
    pipeline->module_count = nvt_gpt2_modules(&shape, pipeline->modules, NVT_MODULES_MOST);
    nvt_pipeline_cut(pipeline->modules, pipeline->module_count, 2, settings.cuts);
    assert_int_equal(nvt_pipeline_setup(pipeline, &settings, 3000, &err), 0);
    for (int p = 0; p < 2; p++) {
        const struct nvt_partition *partition = &pipeline->partitions[p];
        int64_t bytes = partition->parameters * (int64_t)sizeof(real);
        assert_true(bytes > 5 * step);
        assert_int_equal(partition->weight_bytes, (bytes + step - 1) / step * step);
    }
    nvt_pipeline_teardown(pipeline);
    free(pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_lines_are_reserved_for_the_weights),
        cmocka_unit_test(a_partition_knows_what_its_weights_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
