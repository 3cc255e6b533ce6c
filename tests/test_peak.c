/* Shares of what a machine reaches: by hand from a record and an environment, and measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
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

/* Those of one measurement, which has a date, have one peak. */
static void directories_of_one_measurement_share_it(void **state)
{
    (void)state;
    static const char format[] =
        "{\"peak_flops_fp32\": 2e12, \"peak_bytes\": 4e11, \"device\": \"a GPU\", "
        "\"peak_date\": \"2026-11-26T09:20:%sZ\"}\n";
    static const char *const seconds[] = {"39", "40"};
    char *folders[2];
    for (int i = 0; i < 2; i++) {
        char env[300];
        folders[i] = strdup(cli_in(cli_folder, i ? "second" : "first"));
        assert_int_equal(mkdir(folders[i], 0700), 0);
        snprintf(env, sizeof(env), format, seconds[0]);
        cli_write_file(cli_in(folders[i], "results.jsonl"), results, strlen(results));
        cli_write_file(cli_in(folders[i], "env.json"), env, strlen(env));
    }
    for (int i = 0; i < 2; i++) {
        char env[300];
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "stats", "-r", "phases", "-f", "csv", folders[0], folders[1], NULL});
        cli_expect_status(&result, 0);
        assert_int_equal(!!strstr(result.out, "0.500000,25.0,100.000,25.0,ok"), !i);
        assert_int_equal(!!strstr(result.err, "measured 2026-11-26T09:20:39Z"), !i);
        cli_result_free(&result);
        snprintf(env, sizeof(env), format, seconds[1]);
        cli_write_file(cli_in(folders[1], "env.json"), env, strlen(env));
    }
    free(folders[0]);
    free(folders[1]);
}

/* A phase whose row says what it multiplies is compared with that alone; others with what the configuration says. */
static void a_phase_has_the_peak_of_its_products(void **state)
{
    (void)state;
    static const char rows[] =
        "{\"workload\": \"toy\", \"dim\": 8, \"backend\": \"host\", \"iterations\": 1, \"status\": "
        "\"ok\", "
        "\"eights_ns_mean\": 1000000, \"flops_eights\": 500000000, \"precision_eights\": \"int8\", "
        "\"halves_ns_mean\": 1000000, \"flops_halves\": 500000000, \"precision_halves\": \"fp16\", "
        "\"floats_ns_mean\": 1000000, \"flops_floats\": 500000000, \"trace\": null}\n";
    static const char *const envs[] = {
        "{\"peak_flops_fp32\": 1e11, \"peak_flops_int8\": 1e12, \"peak_flops_fp16\": 2e12}\n",
        "{\"peak_flops_fp32\": 1e11}\n"};
    static const char *const shares[][2] = {{"50.0", "25.0"}, {"", ""}};
    const char *const inputs[] = {cli_folder, NULL};
    char expected[600];
    cli_write_file(cli_in(cli_folder, "results.jsonl"), rows, strlen(rows));
    for (size_t i = 0; i < NVT_COUNT_OF(envs); i++) {
        cli_write_file(cli_in(cli_folder, "env.json"), envs[i], strlen(envs[i]));
        snprintf(expected, sizeof(expected),
                 "toy,dim=8,eights,1,1000000.0,,,,,0.500000,%s,,,ok,measured\n"
                 "toy,dim=8,halves,1,1000000.0,,,,,0.500000,%s,,,ok,measured\n"
                 "toy,dim=8,floats,1,1000000.0,,,,,0.500000,500.0,,,ok,measured\n",
                 shares[i][0], shares[i][1]);
        expect_phases(inputs, expected);
    }
}

/* SwitchBack says what it multiplies; a host emulates halves, so it has no peak for them. */
static void switchback_is_compared_with_its_own(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "switchback");
    const char *argv[] = {"nvtally", "run",       "switchback", "--dim",  "64",
                          "--batch", "64",        "--warmup",   "0",      "--iterations",
                          "2",       "--collect", "off",        "--peak", "--backend",
                          "host",    "-o",        out,          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_string_equal(nvt_record_text(&runs->records[0], "precision_standard_gx"), "fp16");
    assert_string_equal(nvt_record_text(&runs->records[0], "precision_rowwise_fwd"), "int8");
    assert_null(nvt_record_find(&runs->records[0], "precision_cast_x"));
    const int has_int8 = nvt_record_number(&runs->env, "peak_flops_int8") > 1e8;
    nvt_runs_free(runs);
    const char *stats[] = {"nvtally", "stats", "-r", "phases", "-f", "csv", out, NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    double rate, share;
    const char *half = strstr(result.out, ",standard_fwd,"),
               *integer = strstr(result.out, ",rowwise_fwd,");
    assert_non_null(half);
    assert_non_null(integer);
    assert_int_equal(sscanf(half, ",standard_fwd,2,%*f,,,,,%lf,%lf", &rate, &share), 1);
    assert_int_equal(sscanf(integer, ",rowwise_fwd,2,%*f,,,,,%lf,%lf", &rate, &share),
                     has_int8 ? 2 : 1);
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

/* A line from before products of int8 were measured: ours, the last, without its last field. */
static void an_old_line_says_the_rest(const struct cli_options *options, const char *path)
{
    const char *info[] = {"nvtally", "info", NULL};
    char *lines = cli_read_file(path, NULL), *last = strrchr(lines, '\t');
    assert_non_null(last);
    *last = '\n';
    cli_write_file(path, lines, (size_t)(last + 1 - lines));
    free(lines);
    struct cli_result result = cli_run_with(options, info);
    const char *peak = strstr(result.out, "\npeak\n");
    assert_non_null(peak);
    assert_non_null(strstr(peak, "host fp32"));
    assert_non_null(strstr(peak, "host copy"));
    assert_null(strstr(peak, "host int8"));
    cli_result_free(&result);
}

static const char others[] =
    "elsewhere\thost\tA processor\tlibraries\t2\t2026-01-01T00:00:00Z\t1\t0\t0\t0\t1\nno line "
    "of ours\n";

/* What `info` has measured is known to it from then on, and to runs; of another machine or backend nothing is. */
static void what_was_measured_once_is_known(void **state)
{
    (void)state;
    char cache[600], path[700];
    snprintf(cache, sizeof(cache), "NVTALLY_CACHE=%s", cli_in(cli_folder, "cache/below"));
    const char *const environment[] = {cache, NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 120};
    const char *info[] = {"nvtally", "info", NULL, NULL};
    struct cli_result result = cli_run_with(&options, info);
    assert_null(strstr(result.out, "\npeak\n"));
    cli_result_free(&result);
    info[2] = "--peak";
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        result = cli_run_with(&options, info);
        cli_expect_status(&result, 0);
        assert_null(strstr(result.out, "not kept"));
        cli_result_free(&result);
        if (i)
            break;
        snprintf(path, sizeof(path), "%s/peaks.tsv", strchr(cache, '=') + 1);
        FILE *file = fopen(path, "a");
        assert_non_null(file);
        fputs(others, file);
        fclose(file);
    }
    char *lines = cli_read_file(path, NULL);
    assert_non_null(strstr(lines, "elsewhere\thost\t"));
    assert_null(strstr(lines, "no line of ours"));
    size_t count = 0;
    for (const char *at = lines; (at = strchr(at, '\n')); at++)
        count++;
    free(lines);
    info[2] = NULL;
    result = cli_run_with(&options, info);
    const char *peak = strstr(result.out, "\npeak\n");
    assert_non_null(peak);
    assert_non_null(strstr(peak, "host fp32"));
    assert_non_null(strstr(peak, ", measured 20"));
    assert_null(strstr(peak, "A processor"));
    cli_result_free(&result);
    an_old_line_says_the_rest(&options, path);
    const char *out = cli_in(cli_folder, "known");
    const char *run[] = {"nvtally", "run",       "linear", "--size",       "64", "--batch",
                         "4",       "--warmup",  "0",      "--iterations", "2",  "--collect",
                         "off",     "--backend", "host",   "-o",           out,  NULL};
    result = cli_run_with(&options, run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp32") > 1e8);
    assert_non_null(nvt_record_text(&runs->env, "peak_date"));
    nvt_runs_free(runs);
    const char *stats[] = {"nvtally", "stats", "-r", "phases", "-f", "csv", out, NULL};
    result = cli_run(stats);
    assert_non_null(
        strstr(result.err, "note: shares are of what 'nvtally info --peak' measured 20"));
    cli_result_free(&result);
    assert_true(count >= 2);
}

/* Where it cannot be kept it is shown, with a word. */
static void what_cannot_be_kept_is_shown(void **state)
{
    (void)state;
    static const char *const places[] = {"NVTALLY_CACHE=", "NVTALLY_CACHE=/proc/self/nowhere"};
    for (int i = 0; i < 2; i++) {
        const char *const environment[] = {places[i], NULL};
        const struct cli_options options = {.environment = environment, .timeout_s = 120};
        const char *info[] = {"nvtally", "info", "--peak", NULL};
        struct cli_result result = cli_run_with(&options, info);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "host fp32"));
        assert_non_null(strstr(result.out, "not kept"));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_by_hand),
        cmocka_unit_test(directories_of_one_measurement_share_it),
        cmocka_unit_test(a_phase_has_the_peak_of_its_products),
        cmocka_unit_test(switchback_is_compared_with_its_own),
        cmocka_unit_test(a_run_measures_its_peak),
        cmocka_unit_test(what_was_measured_once_is_known),
        cmocka_unit_test(what_cannot_be_kept_is_shown),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
