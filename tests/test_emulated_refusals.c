/* What the CUDA backend says when the device refuses, on the stand-in for CUDA in tests/emulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "emulated_kit.h"

static void what_does_not_fit_is_a_row(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_MEMORY=8388608", NULL};
    struct nvt_runs *runs = emulated_rows_of("linear --size 64,2048,128 --batch 1 --iterations 1",
                                             "cuda", "full", environment);
    assert_int_equal(runs->count, 3);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[2], "status"), "ok");
    nvt_runs_free(runs);
}

/* Memory that a library takes for itself is no other matter. */
static void what_the_backend_cannot_take_is_a_row_too(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_FULL=cublasCreate:1", NULL};
    struct nvt_runs *runs = emulated_rows_of(
        "transformer " SMALL_MODEL "--precision bf16 --phase forward --iterations 1 --warmup 1",
        "cuda", "full-library", environment);
    assert_int_equal(runs->count, 1);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[0], "message"),
                        "out of memory: CUDA: cuBLAS: CUBLAS_STATUS_ALLOC_FAILED");
    nvt_runs_free(runs);
}

/* Of 2 GiB the peak is measured with half of what a device usually has for it; 400 MiB are too few. */
static void a_small_device_has_a_peak_too(void **state)
{
    (void)state;
    static const char *const some[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648", NULL};
    static const char *const few[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=419430400", NULL};
    struct nvt_runs *runs =
        emulated_rows_of("linear --size 64 --batch 1 --iterations 1 --peak", "cuda", "small", some);
    assert_true(nvt_record_number(&runs->env, "peak_bytes") > 0);
    nvt_runs_free(runs);
    struct cli_result result = emulated_run("linear --size 64 --peak", "cuda", "smaller", few);
    cli_expect_status(&result, 2);
    assert_non_null(
        strstr(result.err, "too little memory to measure the peak: 528 MiB are needed"));
    cli_result_free(&result);
}

/* Products of 8-bit integers have a peak of their own, unless cuBLAS leaves them to a plain kernel. */
static void integers_have_a_peak(void **state)
{
    (void)state;
    static const char *const taken[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648", NULL};
    static const char *const refused[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648",
                                          "EMULATED_REFUSE=int8", NULL};
    const char words[] = "switchback --dim 64 --batch 64 --iterations 1 --warmup 0 --peak";
    struct nvt_runs *runs = emulated_rows_of(words, "cuda", "int8", taken);
    assert_true(nvt_record_number(&runs->env, "peak_flops_int8") > 0);
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp16") > 0);
    nvt_runs_free(runs);
    runs = emulated_rows_of(words, "cuda", "int8-refused", refused);
    assert_null(nvt_record_find(&runs->env, "peak_flops_int8"));
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp16") > 0);
    nvt_runs_free(runs);
}

static void a_device_without_pools_will_do(void **state)
{
    (void)state;
    emulated_expect_the_hosts("fragmented --size 64 --batch 3 --fragments 4 --iterations 2",
                              "poolless", "EMULATED_POOL=0");
    emulated_expect_the_hosts(SMALL_PIPELINE "--partitions 2 --microbatches 2 --checkpoint on",
                              "poolless-gpipe", "EMULATED_POOL=0");
}

/* Threads begin on the first device; their streams lie on the rank's. */
static void a_rank_takes_its_device(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_DEVICES=3", "EMULATED_NUMBERED=1",
                                              "OMPI_COMM_WORLD_LOCAL_RANK=4", NULL};
    struct nvt_runs *runs =
        emulated_rows_of(SMALL_PIPELINE "--partitions 2 --microbatches 2 --engine self", "cuda",
                         "rank", environment);
    assert_true(runs->count > 0);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_non_null(strstr(nvt_record_text(&runs->records[i], "device"), "emulated device 1"));
    }
    nvt_runs_free(runs);
}

static void without_a_device_it_is_one_line(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_DEVICES=0", NULL};
    struct cli_result result =
        emulated_run("linear --size 32 --batch 1", "cuda", "none", environment);
    cli_expect_failure(&result, "no CUDA-capable device is detected");
    cli_result_free(&result);
}

/* Whatever call fails, and when: a line, or a row that names it. */
static void calls_that_fail_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaGetDeviceCount",
                                        "cudaSetDevice",
                                        "cudaGetDeviceProperties",
                                        "cudaDeviceGetDefaultMemPool",
                                        "cudaMemPoolSetAttribute",
                                        "cudaStreamCreateWithFlags",
                                        "cublasCreate",
                                        "cublasSetStream",
                                        "cublasSetWorkspace",
                                        "cublasSetMathMode",
                                        "cublasGemm",
                                        "launch",
                                        "cudaMallocAsync",
                                        "cudaFreeAsync",
                                        "cudaMemsetAsync",
                                        "cudaMemcpyAsync",
                                        "cudaStreamSynchronize",
                                        "cudaDeviceSynchronize",
                                        "cudaEventCreateWithFlags",
                                        "cudaEventRecord",
                                        "cudaStreamWaitEvent",
                                        "cudaEventDestroy"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FAIL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "fails-%s", calls[i]);
        struct cli_result result = emulated_run(
            SMALL_PIPELINE "--partitions 2 --microbatches 2 --engine self --checkpoint on", "cuda",
            folder, environment);
        cli_expect_status(&result, 2);
        /* Where nothing could be begun there is no row. */
        if (access(cli_in(cli_in(cli_folder, folder), "results.jsonl"), R_OK)) {
            cli_expect_failure(&result, "");
        } else {
            struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, folder));
            if (strcmp(nvt_record_text(&runs->records[0], "status"), "error") != 0)
                fail_msg("%s fails, and the row is %s", calls[i],
                         nvt_record_text(&runs->records[0], "status"));
            assert_non_null(nvt_record_text(&runs->records[0], "message"));
            print_message("%s: %s\n", calls[i], nvt_record_text(&runs->records[0], "message"));
            nvt_runs_free(runs);
        }
        cli_result_free(&result);
    }
}

/* A graph takes memory of the device, which may be full: as everywhere, that is an answer. */
static void graphs_without_memory_have_no_room(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaGraphInstantiate", "cudaGraphLaunch"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FULL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "full-%s", calls[i]);
        struct nvt_runs *runs = emulated_rows_that_end(
            0,
            "transformer " SMALL_MODEL
            "--phase forward --precision fp32 --graph on --iterations 2 --warmup 1",
            "cuda", folder, environment);
        assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
        print_message("%s: %s\n", calls[i], nvt_record_text(&runs->records[0], "message"));
        nvt_runs_free(runs);
    }
}

static void captures_that_fail_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                                        "cudaGraphInstantiate", "cudaGraphLaunch"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FAIL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "captures-%s", calls[i]);
        struct nvt_runs *runs = emulated_rows_that_end(
            2, "transformer " SMALL_MODEL "--phase forward --graph --iterations 1", "cuda", folder,
            environment);
        assert_string_equal(nvt_record_text(&runs->records[0], "status"), "error");
        assert_non_null(strstr(nvt_record_text(&runs->records[0], "message"), "graph"));
        nvt_runs_free(runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_a_row),
        cmocka_unit_test(what_the_backend_cannot_take_is_a_row_too),
        cmocka_unit_test(a_small_device_has_a_peak_too),
        cmocka_unit_test(integers_have_a_peak),
        cmocka_unit_test(a_device_without_pools_will_do),
        cmocka_unit_test(a_rank_takes_its_device),
        cmocka_unit_test(without_a_device_it_is_one_line),
        cmocka_unit_test(calls_that_fail_are_told),
        cmocka_unit_test(graphs_without_memory_have_no_room),
        cmocka_unit_test(captures_that_fail_are_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
