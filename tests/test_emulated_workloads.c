/*
 * Workloads by the CUDA backend as it is compiled for a device, on the stand-in for CUDA in tests/emulated: losses,
 * memory, graphs, pipelines, and studies in full size.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "emulated_kit.h"
#include "reference/transformer.h"

static void layers_give_the_losses_of_the_host(void **state)
{
    (void)state;
    emulated_expect_the_hosts(
        "fragmented --size 64,96 --batch 5 --fragments 2,8 --iterations 2 --warmup 1", "layers",
        "EMULATED_SEED=3");
}

static void the_model_gives_the_losses_of_the_host(void **state)
{
    (void)state;
    emulated_expect_the_hosts("transformer " SMALL_MODEL "--phase forward,forward_backward,train "
                              "--iterations 2 --warmup 1",
                              "model", "EMULATED_SEED=4");
}

/* A replayed graph is the same work: the same loss to the bit, in every precision. */
static void graphs_change_nothing(void **state)
{
    (void)state;
    struct nvt_runs *runs =
        emulated_rows_of("transformer " SMALL_MODEL "--phase forward_backward,train --graph off,on "
                         "--precision fp32,tf32,bf16,fp16 --iterations 3 --warmup 1",
                         "cuda", "graphs", NULL);
    assert_int_equal(runs->count, 16);
    for (size_t i = 0; i < runs->count; i += 2) {
        const struct nvt_record *off = &runs->records[i], *on = &runs->records[i + 1];
        assert_string_equal(nvt_record_text(off, "graph"), "false");
        assert_string_equal(nvt_record_text(on, "graph"), "true");
        assert_string_equal(nvt_record_text(on, "status"), "ok");
        assert_string_equal(nvt_record_text(on, "loss"), nvt_record_text(off, "loss"));
    }
    nvt_runs_free(runs);
}

/* How far off the losses of ten steps may be: tests/device/goals.py says why. */
static void losses_of_each_precision_are_near_the_reference(void **state)
{
    (void)state;
    static const double bounds[] = {1e-4, 0x1p-11, 0x1p-8, 0x1p-11};
    struct nvt_runs *runs =
        emulated_rows_of("transformer --d-model 32 --d-ff 64 --layers 2 --heads 4 "
                         "--vocabulary 50 --batch 2 --context 8 --phase train "
                         "--precision fp32,tf32,bf16,fp16 --warmup 0 --iterations 10",
                         "cuda", "reference", NULL);
    const double expected = reference_losses[REFERENCE_STEPS - 1];
    assert_int_equal(runs->count, NVT_COUNT_OF(bounds));
    for (size_t i = 0; i < runs->count; i++) {
        double loss = nvt_record_number(&runs->records[i], "loss");
        if (!(fabs(loss / expected - 1) <= bounds[i]))
            fail_msg("row %zu: the loss is %.9g, not %.9g", i, loss, expected);
        /* Each rounds in a way of its own. */
        assert_true(!i || loss != nvt_record_number(&runs->records[i - 1], "loss"));
    }
    nvt_runs_free(runs);
}

/*
 * N = 128 rows, d = 64, d_ff = 128, V = 128, two layers of four heads, eight samples of 16 positions; an array's bytes are
 * counted as they are, at multiples of 512. What is stored takes two bytes less: of a layer two norms, q, k and v, softmax,
 * attention's output and the hidden features twice; the last norm; rows and groups; the gradients dn, dh, dheads and dp.
 * Copies are added: the weights that products read, and the gradients of logits and of the residual stream.
 */
static void stored_numbers_take_two_bytes(void **state)
{
    (void)state;
    const double wide = 128 * 64, hidden = 128 * 128, square = 8 * 4 * 16 * 16;
    const double logits = 128 * 128;
    const double layer = 2 * wide + 3 * wide + square + wide + 2 * hidden;
    const double passes = wide + 3 * wide + wide, gradients = wide + hidden + 3 * wide + square;
    const double weights = 128 * 64 + 2 * (4 * 64 * 64 + 2 * 64 * 128);
    const double saved[] = {layer + passes - weights,
                            2 * layer + passes + gradients - weights - logits - wide};
    struct nvt_runs *runs = emulated_rows_of(
        "transformer --d-model 64 --d-ff 128 --layers 2 --heads 4 --vocabulary 128 "
        "--batch 8 --context 16 --phase forward,forward_backward "
        "--precision fp32,bf16,fp16 --warmup 0 --iterations 1",
        "cuda", "stored", NULL);
    assert_int_equal(runs->count, 6);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        const int is_backward = !strcmp(nvt_record_text(record, "phase"), "forward_backward");
        const int is_float = !strcmp(nvt_record_text(record, "precision"), "fp32");
        double peak = nvt_record_number(record, "peak_allocated_bytes"), of_float = NAN;
        for (size_t k = 0; k < runs->count; k++)
            if (!strcmp(nvt_record_text(&runs->records[k], "precision"), "fp32") &&
                !strcmp(nvt_record_text(&runs->records[k], "phase"),
                        nvt_record_text(record, "phase")))
                of_float = nvt_record_number(&runs->records[k], "peak_allocated_bytes");
        assert_true(of_float - peak == (is_float ? 0 : 2 * saved[is_backward]));
    }
    nvt_runs_free(runs);
}

/* Partitions have a thread and a stream each: any order that their events allow must do. */
static void pipelines_give_the_losses_of_the_host_in_any_order(void **state)
{
    (void)state;
    static const char *const seeds[] = {"EMULATED_SEED=5", "EMULATED_SEED=6", "EMULATED_SEED=7"};
    for (size_t i = 0; i < (cli_is_long() ? NVT_COUNT_OF(seeds) : 1); i++)
        emulated_expect_the_hosts(SMALL_PIPELINE
                                  "--partitions 4 --microbatches 4 --schedule gpipe,1f1b",
                                  "pipeline", seeds[i]);
    emulated_expect_the_hosts(SMALL_PIPELINE
                              "--partitions 2 --microbatches 4 --schedule interleaved "
                              "--checkpoint on --engine self",
                              "interleaved", "EMULATED_SEED=8");
}

static void pipelines_need_their_events(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=waits", "EMULATED_SEED=5", NULL};
    struct nvt_runs *runs = emulated_rows_of(
        SMALL_PIPELINE "--partitions 4 --microbatches 4 --checkpoint off --engine self", "cuda",
        "unordered", environment);
    struct nvt_runs *right = emulated_rows_of(
        SMALL_PIPELINE "--partitions 4 --microbatches 4 --checkpoint off --engine self", "cuda",
        "ordered", NULL);
    assert_false(emulated_is_near(nvt_record_number(&runs->records[0], "loss"),
                                  nvt_record_number(&right->records[0], "loss")));
    nvt_runs_free(runs);
    nvt_runs_free(right);
}

/* What a run leaves behind in its process, streams and graphs and scratch memory, changes nothing for the next. */
static void one_process_changes_nothing(void **state)
{
    (void)state;
    const char *const words[] = {
        "fragmented --size 64,96 --batch 5 --fragments 2,8 --iterations 2 --warmup 1",
        "transformer " SMALL_MODEL "--phase forward,train --graph on,off --precision bf16,fp32 "
        "--iterations 2 --warmup 1",
        cli_is_long() ? SMALL_PIPELINE "--partitions 4,1,2 --microbatches 4,1"
                      : SMALL_PIPELINE "--partitions 4,1 --microbatches 4 --engine self",
        "switchback --dim 64 --batch 128,64 --iterations 1 --warmup 0"};
    static const char *const same[] = {"loss", "peak_allocated_bytes", "peak_reserved_bytes"};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++) {
        char together[512];
        snprintf(together, sizeof(together), "%s --one-process", words[i]);
        struct nvt_runs *each = emulated_rows_of(words[i], "cuda", "each", NULL);
        struct nvt_runs *all = emulated_rows_of(together, "cuda", "all", NULL);
        assert_int_equal(each->count, all->count);
        for (size_t k = 0; k < all->count; k++)
            for (size_t j = 0; j < NVT_COUNT_OF(same); j++) {
                const char *one = nvt_record_text(&each->records[k], same[j]);
                const char *other = nvt_record_text(&all->records[k], same[j]);
                if (strcmp(one ? one : "", other ? other : "") != 0)
                    fail_msg("%s, row %zu: %s is %s, not %s", words[i], k, same[j], other, one);
            }
        nvt_runs_free(each);
        nvt_runs_free(all);
    }
}

/* What the pool keeps of a run leaves cuBLAS no room for the workspaces of the next one's streams: that has to be given
 * back in between. */
static void a_run_leaves_the_next_its_memory(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work", "EMULATED_REFUSE=bare",
                                              "EMULATED_MEMORY=625000000", NULL};
    struct nvt_runs *runs = emulated_rows_of(
        "gpipe --layers 4 --d-model 512 --heads 8 --d-ff 2048 --batch 32 --sequence 64 "
        "--vocabulary 101 --partitions 1,2 --microbatches 8 --checkpoint off --engine self "
        "--schedule gpipe --iterations 1 --warmup 0 --one-process",
        "cuda", "left", environment);
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < runs->count; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
    nvt_runs_free(runs);
}

/* That cuBLAS has no workspace is said, as its products may take longer then. The next run of the process has one, without
 * which no graph could be made here. */
static void a_missing_workspace_is_told(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_FAIL=cudaMalloc:1", NULL};
    struct cli_result result =
        emulated_run("transformer " SMALL_MODEL "--phase forward --precision fp32 "
                     "--graph off,on --iterations 2 --warmup 1 --one-process",
                     "cuda", "bare", environment);
    cli_expect_status(&result, 0);
    const char *told = strstr(result.err, "no 32 MiB left for cuBLAS");
    assert_non_null(told);
    assert_null(strstr(told + 1, "no 32 MiB left"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "bare"));
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < runs->count; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
    nvt_runs_free(runs);
}

/* A run that takes the device with it takes no other: those behind it have a new process. */
static void a_lost_device_is_of_one_run(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_LOSE=expert_backward", NULL};
    struct nvt_runs *runs = emulated_rows_that_end(
        2, "fragmented --size 64,96 --batch 5 --fragments 2 --iterations 1 --one-process", "cuda",
        "lost", environment);
    size_t lost = 0;
    for (size_t i = 0; i < runs->count; i++) {
        int has_expert = !strcmp(nvt_record_text(&runs->records[i], "mode"), "inference");
        assert_string_equal(nvt_record_text(&runs->records[i], "status"),
                            has_expert ? "error" : "ok");
        lost += (size_t)has_expert;
    }
    assert_int_equal(lost, 4);
    nvt_runs_free(runs);
}

static void sums_are_those_of_the_host(void **state)
{
    (void)state;
    struct nvt_runs *host = emulated_rows_of("accumulate", "host", "sums-host", NULL);
    struct nvt_runs *device = emulated_rows_of("accumulate", "cuda", "sums-device", NULL);
    assert_int_equal(host->count, device->count);
    for (size_t i = 0; i < host->count; i++)
        assert_string_equal(nvt_record_text(&host->records[i], "sum"),
                            nvt_record_text(&device->records[i], "sum"));
    nvt_runs_free(host);
    nvt_runs_free(device);
}

static void the_int8_study_runs(void **state)
{
    (void)state;
    struct nvt_runs *runs =
        emulated_rows_of("switchback --dim 64 --batch 96 --width-multiplier 1,4 "
                         "--iterations 2 --warmup 0",
                         "cuda", "switchback", NULL);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_true(isfinite(nvt_record_number(&runs->records[i], "w_quantize_global_ns_mean")));
    }
    nvt_runs_free(runs);
}

/* The published peak of a row, in bytes; NaN when there is none. */
static double published_peak(const char *csv, const struct nvt_record *record)
{
    char key[96];
    snprintf(key, sizeof(key), "\ngpt2,%s,%s,%s,%s,", nvt_record_text(record, "partitions"),
             nvt_record_text(record, "microbatches"),
             strcmp(nvt_record_text(record, "checkpoint"), "true") ? "off" : "on",
             nvt_record_text(record, "engine"));
    const char *at = strstr(csv, key), *heading = strstr(csv, "peak activation (MiB)");
    assert_non_null(heading);
    if (!at)
        return NAN;
    at++;
    for (const char *before = csv; before < heading; before++)
        if (*before == ',')
            at = strchr(at, ',') + 1;
    return strtod(at, NULL) * 1048576;
}

/* The published pipelines at their own size, nothing of which is computed: what the allocator takes does not depend
 * on numbers. */
static void pipelines_take_no_more_than_published(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work",
                                              "EMULATED_MEMORY=100000000000", NULL};
    const char *argv[] = {"nvtally", "reference", "gpipe", "-f", "csv", NULL};
    struct cli_result reference = cli_run(argv);
    cli_expect_status(&reference, 0);
    struct nvt_runs *runs = emulated_rows_of(
        "gpipe --attention-axis batch --warmup 1 --iterations 1", "cuda", "published", environment);
    int no_more = 0;
    assert_int_equal(runs->count, 84);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        double published = published_peak(reference.out, record);
        assert_true(published > 0);
        no_more += nvt_record_number(record, "peak_activation_bytes") <= published;
        /* Weights, rounded up to 2 MiB a partition. */
        double weights = 0, partitions = nvt_record_number(record, "partitions");
        for (int p = 0; p < partitions; p++) {
            char key[64];
            snprintf(key, sizeof(key), "parameter_bytes_per_partition.%d", p);
            weights += nvt_record_number(record, key);
        }
        assert_true(weights >= 359049216 && weights < 359049216 + partitions * (2 << 20));
    }
    print_message("%d of 84 rows take no more than published\n", no_more);
    assert_true(no_more >= 80);
    nvt_runs_free(runs);
    cli_result_free(&reference);
}

/* Every row of the published studies, nothing of it computed: launches, products and memory have sizes that a device of
 * 139 GiB takes. */
static void studies_fit_a_device(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work",
                                              "EMULATED_MEMORY=149250000000", NULL};
    static const struct {
        const char *words;
        size_t rows;
    } studies[] = {
        {"fragmented --warmup 1 --iterations 1", 117},
        {"switchback --warmup 1 --iterations 1", 142},
        {"transformer --precision fp32,tf32,bf16,fp16 --phase forward,forward_backward,train "
         "--graph off,on --warmup 1 --iterations 1",
         120}};
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++) {
        char folder[16];
        snprintf(folder, sizeof(folder), "study-%zu", i);
        struct nvt_runs *runs = emulated_rows_of(studies[i].words, "cuda", folder, environment);
        assert_int_equal(runs->count, studies[i].rows);
        for (size_t row = 0; row < runs->count; row++)
            if (strcmp(nvt_record_text(&runs->records[row], "status"), "ok") != 0)
                fail_msg("%s, row %zu: %s", studies[i].words, row,
                         nvt_record_text(&runs->records[row], "message"));
        nvt_runs_free(runs);
    }
}

/* Products that nobody computed are NaN; the rows' times stand, and they say so. */
static void a_loss_that_is_no_number_is_told(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=products", NULL};
    struct cli_result result =
        emulated_run("linear --size 64,128 --batch 1", "cuda", "no-loss", environment);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: linear size64-batch1-linear: the loss is not "));
    assert_non_null(strstr(result.err, "nvtally: linear size128-batch1-linear: the loss is not "));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "no-loss"));
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_non_null(
            strstr(nvt_record_text(&runs->records[i], "message"), "the loss is not finite"));
    }
    nvt_runs_free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_give_the_losses_of_the_host),
        cmocka_unit_test(the_model_gives_the_losses_of_the_host),
        cmocka_unit_test(graphs_change_nothing),
        cmocka_unit_test(losses_of_each_precision_are_near_the_reference),
        cmocka_unit_test(stored_numbers_take_two_bytes),
        cmocka_unit_test(pipelines_give_the_losses_of_the_host_in_any_order),
        cmocka_unit_test(pipelines_need_their_events),
        cmocka_unit_test(one_process_changes_nothing),
        cmocka_unit_test(a_run_leaves_the_next_its_memory),
        cmocka_unit_test(a_missing_workspace_is_told),
        cmocka_unit_test(a_lost_device_is_of_one_run),
        cmocka_unit_test(sums_are_those_of_the_host),
        cmocka_unit_test(the_int8_study_runs),
        cmocka_unit_test(pipelines_take_no_more_than_published),
        cmocka_unit_test(studies_fit_a_device),
        cmocka_unit_test(a_loss_that_is_no_number_is_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
