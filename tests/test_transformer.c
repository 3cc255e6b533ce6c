/*
 * `nvtally run transformer`: the float model against the reference, its rows, its ranges, its
 * refusals.
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

#include "../analyze/readers/reader.h"
#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "reference/transformer.h"

#define REFERENCE_SHAPE                                                                            \
    "--d-model", "32", "--d-ff", "64", "--layers", "2", "--heads", "4", "--vocabulary", "50",      \
        "--batch", "2", "--context", "8"

/* Run the transformer on the host with these options into a folder, and read its rows. */
static struct nvt_runs *run(const char *folder, const char *const options[], int status)
{
    const char *argv[64] = {"nvtally", "run", "transformer", "--backend", "host", "-o", folder};
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1200];
    int count = 7;
    for (int i = 0; options[i]; i++)
        argv[count++] = options[i];
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    struct nvt_runs *runs = nvt_runs_read(folder, &err);
    if (!runs)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return runs;
}

static double number(const struct nvt_runs *runs, size_t row, const char *key)
{
    return nvt_record_number(&runs->records[row], key);
}

/* The same steps, however many of them are warm-ups; the loss is that of the last forward pass. */
static void losses_agree_with_the_reference(void **state)
{
    (void)state;
    static const char *const lengths[][2] = {{"0", "10"}, {"7", "3"}, {"0", "1"}};
    static const int steps[] = {10, 10, 1};
    for (int i = 0; i < 3; i++) {
        const char *options[] = {REFERENCE_SHAPE, "--phase",  "train",       "--collect",
                                 "off",           "--warmup", lengths[i][0], "--iterations",
                                 lengths[i][1],   NULL};
        struct nvt_runs *runs = run(cli_in(cli_folder, "loss"), options, 0);
        double expected = reference_losses[steps[i] - 1];
        assert_int_equal(runs->count, 1);
        assert_true(fabs(number(runs, 0, "loss") - expected) <= 1e-5 * expected);
        nvt_runs_free(runs);
    }
}

/* The lower precisions are close, are not the same, and are called what they are. */
static void emulation_is_named(void **state)
{
    (void)state;
    const char *options[] = {REFERENCE_SHAPE,
                             "--phase",
                             "train",
                             "--precision",
                             "fp32,tf32,bf16,fp16",
                             "--collect",
                             "off",
                             "--warmup",
                             "0",
                             "--iterations",
                             "10",
                             NULL};
    struct nvt_runs *runs = run(cli_in(cli_folder, "precision"), options, 0);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const char *message = nvt_record_text(&runs->records[i], "message");
        double error = fabs(number(runs, i, "loss") / reference_losses[REFERENCE_STEPS - 1] - 1);
        assert_true(error < 1e-3);
        assert_true(!i || number(runs, i, "loss") != number(runs, 0, "loss"));
        assert_int_equal(number(runs, i, "precision_emulated"), i > 0);
        assert_int_equal(message != NULL, i > 0);
        assert_true(!message || strstr(message, "emulated"));
    }
    nvt_runs_free(runs);
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    return count;
}

static struct nvt_trace *trace_of(const char *folder, const struct nvt_runs *runs, size_t row)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1200];
    struct nvt_trace *trace =
        nvt_trace_read(cli_in(folder, nvt_record_text(&runs->records[row], "trace")), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

static void phases_and_parts_have_ranges(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "ranges");
    const char *options[] = {"--size",       "tiny", "--phase",  "forward,forward_backward,train",
                             "--context",    "16",   "--warmup", "1",
                             "--iterations", "3",    NULL};
    struct nvt_runs *runs = run(out, options, 0);
    assert_int_equal(runs->count, 3);
    for (uint32_t row = 0; row < 3; row++) {
        struct nvt_trace *trace = trace_of(out, runs, row);
        char *configuration = nvt_record_configuration(&runs->records[row]), name[600];
        snprintf(name, sizeof(name), "transformer %s", configuration);
        assert_int_equal(count_ranges(trace, name), 1);
        free(configuration);
        uint32_t passes = row ? 6 : 3; /* forward, or forward and backward, of three iterations */
        assert_int_equal(count_ranges(trace, "forward"), 3);
        assert_int_equal(count_ranges(trace, "backward"), row >= 1 ? 3 : 0);
        assert_int_equal(count_ranges(trace, "optimizer"), row >= 2 ? 3 : 0);
        assert_int_equal(count_ranges(trace, "embedding"), passes);
        assert_int_equal(count_ranges(trace, "norm"), passes * 5);
        assert_int_equal(count_ranges(trace, "attention"), passes * 2);
        assert_int_equal(count_ranges(trace, "attention.scores"), passes * 2);
        assert_int_equal(count_ranges(trace, "attention.softmax"), passes * 2);
        assert_int_equal(count_ranges(trace, "attention.values"), passes * 2);
        assert_int_equal(count_ranges(trace, "mlp"), passes * 2);
        assert_int_equal(count_ranges(trace, "lm_head"), passes);
        assert_int_equal(count_ranges(trace, "loss"), passes);
        assert_int_equal(isnan(number(runs, row, "backward_ns_mean")), row < 1);
        assert_int_equal(isnan(number(runs, row, "optimizer_ns_mean")), row < 2);
        /* 2 · 10,000 · 128, 16 + 1 times 128, and two layers of 196,864. */
        assert_true(number(runs, row, "parameters") == 2560000 + 17 * 128 + 2 * 196864);
        nvt_trace_free(trace);
    }
    /* Neither gradients nor moments where they are not asked for. */
    assert_true(number(runs, 0, "peak_allocated_bytes") < number(runs, 1, "peak_allocated_bytes"));
    assert_true(number(runs, 1, "peak_allocated_bytes") + 8 * number(runs, 2, "parameters") <=
                number(runs, 2, "peak_allocated_bytes"));
    nvt_runs_free(runs);
}

/* What does not fit is a row that says how much was asked for, and the sweep goes on. */
static void out_of_memory_is_a_row(void **state)
{
    (void)state;
    const char *options[] = {"--size",   "2.7B,tiny", "--memory-limit", "500M", "--context", "16",
                             "--warmup", "0",         "--iterations",   "1",    "--collect", "off",
                             NULL};
    struct nvt_runs *runs = run(cli_in(cli_folder, "oom"), options, 0);
    assert_int_equal(runs->count, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    /* All values in one array: 2 · 10,000 · 2560, 16 + 1 times 2560, 32 layers of 78,648,320
     * numbers. */
    assert_non_null(strstr(nvt_record_text(&runs->records[0], "message"), "10271959040 bytes"));
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    nvt_runs_free(runs);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options[6], *needle;
    } cases[] = {
        {{"--size", "tiny", "--graph", "on"}, "--graph on: the host backend has no CUDA graphs"},
        {{"--d-model", "64"}, "must be given together"},
        {{"--size", "huge"}, "--size"},
        {{"--precision", "fp8"}, "--precision"},
        {{"--layers", "257"}, "--layers"},
        {{"--fragments", "2"}, "transformer has no such axis"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *argv[12] = {"nvtally", "run", "transformer", "--backend", "host"};
        for (int k = 0; k < 6; k++)
            argv[5 + k] = cases[i].options[k];
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, cases[i].needle);
        cli_result_free(&result);
    }
    const char *uneven[] = {"nvtally", "run",      "transformer", "--d-model", "64", "--d-ff",
                            "64",      "--layers", "1",           "--heads",   "5",  NULL};
    struct cli_result result = cli_run(uneven);
    cli_expect_failure(&result, "--d-model 64 cannot be divided into 5 heads");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_agree_with_the_reference), cmocka_unit_test(emulation_is_named),
        cmocka_unit_test(phases_and_parts_have_ranges),    cmocka_unit_test(out_of_memory_is_a_row),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
