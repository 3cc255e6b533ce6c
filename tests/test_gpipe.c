/*
 * `nvtally run gpipe`: rows, traces and memory. That no cut changes loss or gradients is in
 * test_pipeline_gradients_double.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "gpipe_kit.h"

/* A forward of the batch. */
static double expected_flops(const struct nvt_record *row)
{
    double d = nvt_record_number(row, "d_model"), h = nvt_record_number(row, "d_ff");
    double t = nvt_record_number(row, "sequence"), v = nvt_record_number(row, "vocabulary");
    double block = 2 * t * (4 * d * d + 2 * d * h) + 4 * d * t * t;
    return nvt_record_number(row, "batch") *
           (nvt_record_number(row, "layers") * block + 2 * t * d * v);
}

/* All is launched before it is done; what a schedule has no time of is null, and there. */
static void expect_launch_times(const struct nvt_record *row, int is_mixed)
{
    static const char *const phases[] = {"step", "forward", "backward"};
    for (size_t i = 0; i < 3; i++) {
        char launch[64], done[64];
        snprintf(launch, sizeof(launch), "%s_launch_ns_mean", phases[i]);
        snprintf(done, sizeof(done), "%s_ns_mean", phases[i]);
        const struct nvt_member *member = nvt_record_find(row, launch);
        assert_non_null(member);
        assert_int_equal(member->type, i && is_mixed ? NVT_VALUE_NULL : NVT_VALUE_NUMBER);
        if (member->type == NVT_VALUE_NUMBER)
            assert_true(member->number > 0 && member->number < nvt_record_number(row, done));
    }
    assert_true(is_mixed || nvt_record_number(row, "step_launch_ns_mean") >=
                                nvt_record_number(row, "forward_launch_ns_mean") +
                                    nvt_record_number(row, "backward_launch_ns_mean"));
}

/* Of each partition, and at this size a segment of 2 MiB. */
static void expect_weights(const struct nvt_record *row)
{
    int partitions = (int)nvt_record_number(row, "partitions");
    for (int p = 0; p <= partitions; p++) {
        char key[64];
        snprintf(key, sizeof(key), "parameter_bytes_per_partition.%d", p);
        assert_true(p == partitions ? !nvt_record_find(row, key)
                                    : nvt_record_number(row, key) == 2 << 20);
    }
}

/* Every K, M, checkpointing and engine gives the loss of the same micro-batches at K = 1. */
static void a_sweep_agrees_with_itself(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "gpipe", "--partitions", "1,2,4", "--microbatches", "1,4", "--schedule",
        "gpipe,1f1b", GPIPE_SMALL, "--iterations", "3", "-o", cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = gpipe_read_runs();
    double losses[5] = {NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(runs->count, 3 * 2 * 2 * 2 * 2);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *row = &runs->records[i];
        int microbatches = (int)gpipe_number(runs, i, "microbatches");
        int is_mixed = !strcmp(nvt_record_text(row, "schedule"), "1f1b");
        assert_string_equal(nvt_record_text(row, "status"), "ok");
        if (isnan(losses[microbatches]))
            losses[microbatches] = gpipe_number(runs, i, "loss");
        /* Single precision, sums in another order: a few units of the last place of about five. */
        assert_true(fabs(gpipe_number(runs, i, "loss") - losses[microbatches]) < 1e-5);
        assert_true(gpipe_number(runs, i, "step_ns_mean") > 0);
        assert_int_equal(isnan(gpipe_number(runs, i, "forward_ns_mean")), is_mixed);
        expect_launch_times(row, is_mixed);
        expect_weights(row);
        assert_true(gpipe_number(runs, i, "total_reserved_bytes") >=
                    12 * gpipe_number(runs, i, "parameters"));
        assert_true(gpipe_number(runs, i, "throughput_samples_per_s") > 0);
        double k = gpipe_number(runs, i, "partitions");
        assert_true(fabs(gpipe_number(runs, i, "bubble_predicted") -
                         (k - 1) / (microbatches + k - 1)) < 1e-12);
        /* By hand: docs/workloads.md. */
        int is_kept = strcmp(nvt_record_text(row, "checkpoint"), "true") != 0;
        double flops = gpipe_number(runs, i, "flops_forward");
        assert_true(flops == expected_flops(row));
        assert_true(fabs(gpipe_number(runs, i, "flops_backward") / flops - 2 -
                         (is_kept ? 0 : 1 - 1.0 / microbatches)) < 1e-9);
        assert_true(gpipe_number(runs, i, "flops_optimizer") ==
                    9 * gpipe_number(runs, i, "parameters"));
        assert_true(isnan(gpipe_number(runs, i, "forward_ns_std")) == is_mixed);
        if (!is_mixed)
            assert_true(fabs(gpipe_number(runs, i, "throughput_samples_per_s") *
                                 (gpipe_number(runs, i, "forward_ns_mean") +
                                  gpipe_number(runs, i, "backward_ns_mean")) /
                                 1e9 / gpipe_number(runs, i, "batch") -
                             1) < 1e-6);
        /* Three timed steps: a forward of the first partition for each micro-batch. */
        assert_int_equal(
            gpipe_count_ranges(cli_in(cli_folder, nvt_record_text(row, "trace")), "forward p0"),
            3 * (uint32_t)microbatches);
    }
    nvt_runs_free(runs);
}

/* The most that a table by partition, phase and micro-batch has as reserved by a partition. */
static double most_reserved(const char *table, int partition)
{
    double most = 0;
    for (const char *line = strstr(table, "configuration,partition,"); line;
         line = strchr(line, '\n')) {
        char phase[16];
        int of, microbatch;
        double allocated, reserved;
        const char *at = strchr(++line, ',');
        if (at && sscanf(at, ",%d,%15[a-z],%d,%lf,%lf,", &of, phase, &microbatch, &allocated,
                         &reserved) == 5)
            most = of == partition ? fmax(most, reserved) : most;
    }
    return most;
}

/* Of a host there are no memory events: its allocator's peaks, by phase, and by partition and micro-batch. These are the
 * row's, messages included. */
static void memory_is_reported_by_phase_and_part(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "peaks");
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "gpipe", "--partitions", "2", "--microbatches", "2", "--engine", "self",
        "--checkpoint", "on", GPIPE_SMALL, "--iterations", "2", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", out, "-r", "memory_peak", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    struct nvt_runs *runs = cli_read_runs(out);
    char line[100];
    snprintf(line, sizeof(line), ",nvtx,forward,%.0f,%.0f\n",
             gpipe_number(runs, 0, "forward_peak_allocated_bytes"),
             gpipe_number(runs, 0, "forward_peak_reserved_bytes"));
    for (int i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof(key), "reserved_bytes_per_partition.%d", i);
        if (!(most_reserved(result.out, i) == gpipe_number(runs, 0, key)))
            fail_msg("partition %d: %.0f bytes, not %.0f", i, most_reserved(result.out, i),
                     gpipe_number(runs, 0, key));
    }
    nvt_runs_free(runs);
    const char *const lines[] = {line, ",0,forward,0,", ",0,backward,1,", ",1,forward,1,"};
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], result.out);
    assert_null(strstr(result.err, "no memory event"));
    cli_result_free(&result);
}

static void bad_configurations_run_nothing(void **state)
{
    static const char *const bad[][3] = {
        {"--microbatches", "3", "cannot be cut into 3"},
        {"--partitions", "9", "there are 8 modules"},
        {"--heads", "5", "not a multiple of 5 heads"},
        {"--schedule", "zigzag", "gpipe"},
        {"--engine", "none", "self"},
        {"--transport", "pigeon", "local"},
        {"--partitions", "0", "--partitions"},
        {"--transport", "nccl", "the host backend has none"},
    };
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "run", "gpipe", GPIPE_SMALL, "--microbatches",
                                          "2", bad[i][0], bad[i][1], NULL});
        cli_expect_failure(&result, bad[i][2]);
        cli_result_free(&result);
    }
}

static void memory_that_runs_out_is_a_row(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally",  "run",        "gpipe", "--partitions", "2", "--microbatches", "4",   "--batch",
        "64",       "--d-model",  "64",    "--layers",     "4", "--heads",        "4",   "--d-ff",
        "256",      "--sequence", "128",   "--iterations", "1", "--memory-limit", "64M", "-o",
        cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = gpipe_read_runs();
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "oom");
        assert_non_null(
            strstr(nvt_record_text(&runs->records[i], "message"), "bytes were asked for"));
    }
    nvt_runs_free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sweep_agrees_with_itself, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(memory_is_reported_by_phase_and_part, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test(bad_configurations_run_nothing),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_a_row, cli_folder_set_up,
                                        cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
