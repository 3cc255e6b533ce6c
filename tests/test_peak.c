/* Shares of what a machine reaches: by hand from a record and an environment, and measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/runs.h"
#include "cli.h"

/* A run of 1 ms that computes 5e8 and moves 1e8, in float and in bfloat16. */
static const char results[] =
    "{\"workload\": \"toy\", \"precision\": \"fp32\", \"backend\": \"host\", \"iterations\": 1, "
    "\"status\": \"ok\", \"forward_ns_mean\": 1000000, \"flops_forward\": 500000000, "
    "\"bytes_forward\": 100000000, \"trace\": null}\n"
    "{\"workload\": \"toy\", \"precision\": \"bf16\", \"backend\": \"host\", \"iterations\": 1, "
    "\"status\": \"ok\", \"forward_ns_mean\": 1000000, \"flops_forward\": 500000000, "
    "\"bytes_forward\": 100000000, \"trace\": null}\n"
    "{\"workload\": \"toy\", \"precision\": \"tf32\", \"backend\": \"host\", \"iterations\": 1, "
    "\"status\": \"ok\", \"forward_ns_mean\": 1000000, \"flops_forward\": 500000000, "
    "\"trace\": null}\n";

static void expect_phases(const char *const *inputs, const char *expected)
{
    const char *argv[9] = {"nvtally", "stats",   "-r",      "phases", "-f",
                           "csv",     inputs[0], inputs[1], NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *body = strchr(result.out, '\n');
    assert_non_null(body);
    assert_string_equal(body + 1, expected);
    cli_result_free(&result);
}

static void shares_are_those_by_hand(void **state)
{
    (void)state;
    /* 0.5 TFLOP/s of 2 and of 10, 100 GB/s of 400; nothing is known of tf32. */
    static const char env[] =
        "{\"peak_flops_fp32\": 2e12, \"peak_flops_bf16\": 1e13, \"peak_bytes\": 4e11}\n";
    cli_write_file(cli_in(cli_folder, "results.jsonl"), results, strlen(results));
    cli_write_file(cli_in(cli_folder, "env.json"), env, strlen(env));
    const char *const inputs[] = {cli_folder, NULL};
    expect_phases(
        inputs,
        "toy,precision=fp32,forward,1,1000000.0,,,,,0.500000,25.0,100.000,25.0,ok,measured\n"
        "toy,precision=bf16,forward,1,1000000.0,,,,,0.500000,5.0,100.000,25.0,ok,measured\n"
        "toy,precision=tf32,forward,1,1000000.0,,,,,0.500000,,,,ok,measured\n");
    /* Two directories may be of two machines. */
    const char *const twice[] = {cli_folder, cli_folder};
    const char *argv[] = {"nvtally", "stats",  "-r",     "phases", "-f",
                          "csv",     twice[0], twice[1], NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "0.500000,,100.000,,ok,measured\n"));
    assert_null(strstr(result.out, "25.0"));
    cli_result_free(&result);
}

/* What this machine reaches is more than nothing, and only what it does not emulate is measured. */
static void a_run_measures_its_peak(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "out");
    const char *argv[] = {"nvtally", "run",       "linear",   "--size", "64",
                          "--batch", "4",         "--warmup", "0",      "--iterations",
                          "2",       "--collect", "off",      "--peak", "--backend",
                          "host",    "-o",        out,        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_runs *runs = nvt_runs_read(out, &err);
    assert_non_null(runs);
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp32") > 1e8);
    assert_true(nvt_record_number(&runs->env, "peak_bytes") > 1e8);
    assert_null(nvt_record_find(&runs->env, "peak_flops_bf16"));
    nvt_runs_free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_by_hand),
        cmocka_unit_test(a_run_measures_its_peak),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
