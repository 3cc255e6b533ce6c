/*
 * Local pipelines over several devices of one process, on the stand-in for CUDA: that they compute what one device does,
 * to the bit and in any order, that nothing of this rests on luck, and what is said when a device refuses.
 */
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

#define WORDS_MOST 64
#define MOST       8

#define PIPELINE                                                                                   \
    "gpipe --layers 4 --d-model 16 --heads 2 --d-ff 32 --batch 4 --sequence 6 --vocabulary 31 "    \
    "--iterations 2 --warmup 1 "

/* Threads of its own only keep the processor busy here. */
static const char *const *with_one_thread(const char *const *environment)
{
    static const char *all[MOST + 1];
    size_t count = 0;
    all[count++] = "OMP_NUM_THREADS=1";
    for (size_t i = 0; environment[i]; i++) {
        assert_true(count < MOST);
        all[count++] = environment[i];
    }
    all[count] = NULL;
    return all;
}

/* The rows of a run of words apart by blanks, which ends with this status. */
static struct nvt_runs *rows(int status, const char *words, const char *const *environment)
{
    static int runs;
    char text[512], folder[32];
    const char *argv[WORDS_MOST];
    size_t count = 0;
    snprintf(text, sizeof(text), "run %s", words);
    snprintf(folder, sizeof(folder), "run-%d", runs++);
    argv[count++] = cli_built("emulated/nvtally");
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    const char *const more[] = {"--backend", "cuda", "--collect",
                                "off",       "-o",   cli_in(cli_folder, folder)};
    assert_true(count + 7 <= WORDS_MOST);
    for (size_t i = 0; i < NVT_COUNT_OF(more); i++)
        argv[count++] = more[i];
    argv[count] = NULL;
    struct cli_options options = {.environment = with_one_thread(environment), .timeout_s = 300};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.status != status)
        print_error("%s: %s\n", words, result.err);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    return cli_read_runs(cli_in(cli_folder, folder));
}

static const char *text_of(const struct nvt_runs *runs, size_t row, const char *key)
{
    const char *text = nvt_record_text(&runs->records[row], key);
    return text ? text : "";
}

static double number_of(const struct nvt_runs *runs, size_t row, const char *key)
{
    return nvt_record_number(&runs->records[row], key);
}

/* Gradients, weights, momentum and losses of small pipelines, those on all devices beside those on one. */
static struct cli_result check(const char *const *environment, int is_small)
{
    const char *argv[] = {cli_built("emulated/device/check"),
                          cli_built("emulated/device/libcheck-reference.so"),
                          cli_built("emulated/device/libcheck-cuda.so"),
                          "--only",
                          "pipeline_devices",
                          is_small ? "--most" : NULL,
                          "1",
                          NULL};
    struct cli_options options = {.environment = with_one_thread(environment), .timeout_s = 300};
    return cli_run_with(&options, argv);
}

static void gradients_are_those_of_one_device(void **state)
{
    (void)state;
    static const char *const environments[][4] = {
        {"EMULATED_DEVICES=2", "EMULATED_SEED=3", NULL},
        {"EMULATED_DEVICES=4", "EMULATED_PEERS=0", "EMULATED_SEED=4", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(environments); i++) {
        struct cli_result result = check(environments[i], i || !cli_is_long());
        if (result.status)
            print_error("%s\n%s", result.out, result.err);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "1 of 1 operations agree"));
        cli_result_free(&result);
    }
    struct cli_result result =
        check((const char *const[]){"EMULATED_DEVICES=2", "EMULATED_POOL=0", NULL}, 1);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Each of these is a mistake that a real device may forgive for a while. */
static void what_is_left_out_is_found(void **state)
{
    (void)state;
    static const char *const broken[][4] = {
        /* A message is read before it has come. */
        {"EMULATED_DEVICES=2", "EMULATED_IGNORE=waits", NULL},
        /* Work is given to a device that is not the current one. */
        {"EMULATED_DEVICES=2", "EMULATED_IGNORE=devices", NULL},
        /* A device touches the memory of one that it does not reach. */
        {"EMULATED_DEVICES=2", "EMULATED_IGNORE=staging", "EMULATED_PEERS=0", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(broken); i++) {
        struct cli_result result = check(broken[i], 1);
        assert_int_not_equal(result.status, 0);
        assert_null(strstr(result.out, "1 of 1 operations agree"));
        cli_result_free(&result);
    }
    /* Where it was given access, it does. */
    struct cli_result result =
        check((const char *const[]){"EMULATED_DEVICES=2", "EMULATED_IGNORE=staging", NULL}, 1);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Every number of partitions and micro-batches, schedule, engine and checkpointing; three steps. In short: of each, what differs most
 * from one partition without checkpoints. */
static void losses_are_those_of_one_device(void **state)
{
    (void)state;
    static const char *const all_words[] = {
        PIPELINE "--partitions 1,2,4 --microbatches 1,4 --schedule gpipe,1f1b --one-process",
        PIPELINE
        "--partitions 2,3 --microbatches 6 --batch 6 --schedule interleaved --one-process"};
    static const char *const few_words[] = {
        PIPELINE
        "--partitions 1,4 --microbatches 4 --schedule gpipe,1f1b --checkpoint on --one-process",
        PIPELINE "--partitions 3 --microbatches 6 --batch 6 --schedule interleaved --checkpoint on "
                 "--engine self --one-process"};
    const char *const *words = cli_is_long() ? all_words : few_words;
    static const char *const same[] = {"loss", "peak_allocated_bytes", "peak_reserved_bytes"};
    for (size_t w = 0; w < 2; w++) {
        struct nvt_runs *one = rows(0, words[w], (const char *const[]){NULL});
        for (int devices = cli_is_long() ? 2 : 4; devices <= 4; devices += 2) {
            char setting[32];
            snprintf(setting, sizeof(setting), "EMULATED_DEVICES=%d", devices);
            struct nvt_runs *all =
                rows(0, words[w], (const char *const[]){setting, "EMULATED_SEED=9", NULL});
            assert_int_equal(all->count, one->count);
            for (size_t i = 0; i < all->count; i++) {
                double partitions = number_of(all, i, "partitions");
                for (size_t k = 0; k < NVT_COUNT_OF(same); k++)
                    assert_string_equal(text_of(all, i, same[k]), text_of(one, i, same[k]));
                assert_true(number_of(one, i, "devices") == 1);
                assert_true(number_of(all, i, "devices") ==
                            (partitions < devices ? partitions : devices));
            }
            nvt_runs_free(all);
        }
        nvt_runs_free(one);
    }
}

/* Each device has memory of its own: what one has no room for, four have. */
static void memory_is_each_devices(void **state)
{
    (void)state;
    static const char words[] = PIPELINE
        "--partitions 4,1 --microbatches 4 --engine self,torchgpipe --checkpoint off --one-process";
    /* A workspace of cuBLAS of 32 MiB for each stream, and segments of 2 MiB. */
    static const char *const one[] = {"EMULATED_MEMORY=10000000", NULL};
    static const char *const four[] = {"EMULATED_MEMORY=10000000", "EMULATED_DEVICES=4", NULL};
    struct nvt_runs *full = rows(0, words, one), *room = rows(0, words, four);
    int ooms = 0;
    for (size_t i = 0; i < full->count; i++) {
        ooms += !strcmp(text_of(full, i, "status"), "oom");
        assert_string_equal(text_of(room, i, "status"), "ok");
    }
    assert_int_equal(ooms, 2);
    nvt_runs_free(full);
    nvt_runs_free(room);
}

/* A bound is each partition's; what a run that did not fit has taken on any device is there for the next. */
static void what_does_not_fit_leaves_nothing(void **state)
{
    (void)state;
    static const char *const two[] = {"EMULATED_MEMORY=7000000", "EMULATED_DEVICES=2", NULL};
    struct nvt_runs *runs = rows(0,
                                 PIPELINE "--partitions 4,2 --microbatches 4 --checkpoint off "
                                          "--engine self --one-process --repeat 2",
                                 two);
    int ooms = 0, fits = 0;
    for (size_t i = 0; i < runs->count; i++) {
        int is_large = number_of(runs, i, "partitions") == 4;
        assert_string_equal(text_of(runs, i, "status"), is_large ? "oom" : "ok");
        ooms += is_large;
        fits += !is_large;
    }
    assert_int_equal(ooms, fits);
    nvt_runs_free(runs);
    runs = rows(0, PIPELINE "--partitions 2 --microbatches 4 --checkpoint off --memory-limit 2M",
                (const char *const[]){"EMULATED_DEVICES=2", NULL});
    for (size_t i = 0; i < runs->count; i++)
        assert_string_equal(text_of(runs, i, "status"), "oom");
    nvt_runs_free(runs);
}

/* What one run leaves on its devices changes nothing for the next. */
static void one_process_changes_nothing(void **state)
{
    (void)state;
    static const char *const four[] = {"EMULATED_DEVICES=4", NULL};
    const char *words = cli_is_long()
                            ? PIPELINE "--partitions 4,1,2 --microbatches 4,1 --checkpoint on"
                            : PIPELINE "--partitions 4,1 --microbatches 4 --checkpoint on";
    char together[512];
    snprintf(together, sizeof(together), "%s --one-process", words);
    struct nvt_runs *each = rows(0, words, four), *all = rows(0, together, four);
    assert_int_equal(each->count, all->count);
    for (size_t i = 0; i < all->count; i++) {
        assert_string_equal(text_of(all, i, "loss"), text_of(each, i, "loss"));
        assert_string_equal(text_of(all, i, "devices"), text_of(each, i, "devices"));
        assert_string_equal(text_of(all, i, "peak_reserved_bytes"),
                            text_of(each, i, "peak_reserved_bytes"));
    }
    nvt_runs_free(each);
    nvt_runs_free(all);
}

static void a_rank_keeps_to_one(void **state)
{
    (void)state;
    struct nvt_runs *runs = rows(0, PIPELINE "--partitions 4 --microbatches 2 --engine self",
                                 (const char *const[]){"EMULATED_DEVICES=4", "SLURM_LOCALID=2",
                                                       "EMULATED_NUMBERED=1", NULL});
    for (size_t i = 0; i < runs->count; i++) {
        assert_true(number_of(runs, i, "devices") == 1);
        assert_non_null(strstr(text_of(runs, i, "device"), "emulated device 2"));
    }
    assert_true(nvt_record_number(&runs->env, "devices") == 1);
    nvt_runs_free(runs);
}

static void rows_tell_of_their_devices(void **state)
{
    (void)state;
    static const char words[] =
        PIPELINE "--partitions 3 --microbatches 2 --engine self --checkpoint off --schedule gpipe";
    struct nvt_runs *runs =
        rows(0, words, (const char *const[]){"EMULATED_DEVICES=8", "EMULATED_NUMBERED=1", NULL});
    assert_int_equal(runs->count, 1);
    assert_true(nvt_record_number(&runs->env, "devices") == 8);
    assert_true(number_of(runs, 0, "devices") == 3);
    assert_true(number_of(runs, 0, "peer_access") == 1);
    assert_non_null(strstr(text_of(runs, 0, "message"), "its devices differ"));
    nvt_runs_free(runs);
    /* That there is no access, or that it cannot be had, is told and no failure. */
    static const char *const without[] = {"EMULATED_PEERS=0",
                                          "EMULATED_FAIL=cudaMemPoolSetAccess:1",
                                          "EMULATED_FAIL=cudaDeviceEnablePeerAccess:2"};
    for (size_t i = 0; i < NVT_COUNT_OF(without); i++) {
        runs = rows(0, words, (const char *const[]){"EMULATED_DEVICES=3", without[i], NULL});
        assert_string_equal(text_of(runs, 0, "status"), "ok");
        assert_string_equal(text_of(runs, 0, "message"), "");
        assert_true(number_of(runs, 0, "peer_access") == 0);
        nvt_runs_free(runs);
    }
}

static void calls_that_fail_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaMemcpyPeerAsync:1",  "cudaSetDevice:2",
                                        "cudaSetDevice:12",       "cudaDeviceGetDefaultMemPool:2",
                                        "cublasCreate:2",         "cudaStreamCreateWithFlags:3",
                                        "cudaEventRecord:3",      "cudaMallocAsync:3",
                                        "cudaDeviceSynchronize:4"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        for (int has_workers = 0; has_workers < 2; has_workers++) {
            char setting[96];
            snprintf(setting, sizeof(setting), "EMULATED_FAIL=%s", calls[i]);
            struct nvt_runs *runs =
                rows(2,
                     has_workers ? PIPELINE "--partitions 2 --microbatches 2 --checkpoint on "
                                            "--schedule gpipe --engine torchgpipe"
                                 : PIPELINE "--partitions 2 --microbatches 2 --checkpoint on "
                                            "--schedule gpipe --engine self",
                     (const char *const[]){"EMULATED_DEVICES=2", setting, NULL});
            if (strcmp(text_of(runs, 0, "status"), "error") != 0)
                fail_msg("%s fails, and the row is %s", calls[i], text_of(runs, 0, "status"));
            if (!strstr(text_of(runs, 0, "message"), "CUDA: "))
                fail_msg("%s fails: %s", calls[i], text_of(runs, 0, "message"));
            nvt_runs_free(runs);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_one_device),
        cmocka_unit_test(what_is_left_out_is_found),
        cmocka_unit_test(losses_are_those_of_one_device),
        cmocka_unit_test(memory_is_each_devices),
        cmocka_unit_test(what_does_not_fit_leaves_nothing),
        cmocka_unit_test(one_process_changes_nothing),
        cmocka_unit_test(a_rank_keeps_to_one),
        cmocka_unit_test(rows_tell_of_their_devices),
        cmocka_unit_test(calls_that_fail_are_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
