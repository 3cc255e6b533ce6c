/* The command `run`: rows, traces, and that both tell the same story. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"

static struct nvt_trace *read_trace_of(const char *folder, const struct nvt_record *record)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace =
        nvt_trace_read(cli_in(folder, nvt_record_text(record, "trace")), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    return count;
}

static void a_sweep_has_a_row_and_a_trace_each(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "sweep");
    const char *argv[] = {
        "nvtally", "run",         "fragmented", "--size",   "64,128", "--batch",
        "1,3",     "--fragments", "2,8",        "--warmup", "2",      "--iterations",
        "5",       "--backend",   "host",       "-o",       out,      NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    /* size × batch × (linear + train·F + inference·F·variant) */
    assert_int_equal(runs->count, 2 * 2 * (1 + 2 + 2 * 2));
    size_t longer_backward = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        double size = nvt_record_number(record, "size");
        const char *mode = nvt_record_text(record, "mode");
        const char *variant = nvt_record_text(record, "variant");
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        assert_int_equal((variant != NULL), !strcmp(mode, "inference"));
        assert_int_equal(isnan(nvt_record_number(record, "fragments")), !strcmp(mode, "linear"));
        double expected =
            strcmp(mode, "linear") ? size + size * size + size / 32 * 2 * size : size * size + size;
        assert_true(nvt_record_number(record, "parameters") == expected);
        assert_true(nvt_record_number(record, "peak_allocated_bytes") >= 16 * expected);
        assert_true(nvt_record_number(record, "forward_ns_mean") > 0);
        assert_true(nvt_record_number(record, "optimizer_ns_mean") > 0);
        longer_backward += nvt_record_number(record, "backward_ns_median") >
                           nvt_record_number(record, "optimizer_ns_median");
        struct nvt_trace *trace = read_trace_of(out, record);
        uint32_t fragments = variant && !strcmp(variant, "looped")
                                 ? (uint32_t)nvt_record_number(record, "fragments")
                                 : 0;
        assert_int_equal(count_ranges(trace, "warmup"), 2);
        assert_int_equal(count_ranges(trace, "iteration"), 5);
        assert_int_equal(count_ranges(trace, "forward"), 5);
        assert_int_equal(count_ranges(trace, "optimizer"), 5);
        /* A range per fragment and iteration where the host loops, none where it does not. */
        assert_int_equal(count_ranges(trace, "fragment"), 5 * fragments);
        nvt_trace_free(trace);
    }
    /* Twice as long, or thrice; phases of some 10 us, of which a busy machine makes what it will. */
    assert_true(2 * longer_backward > runs->count);
    nvt_runs_free(runs);
}

/* Both variants start from the same seed and do the same steps: float rounding apart, the same loss. */
static void both_variants_agree(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "variants");
    const char *argv[] = {"nvtally", "run",       "fragmented", "--size",
                          "256",     "--batch",   "8",          "--fragments",
                          "4,32",    "--mode",    "inference",  "--iterations",
                          "5",       "--collect", "off",        "--backend",
                          "host",    "-o",        out,          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i += 2) {
        double looped = nvt_record_number(&runs->records[i], "loss");
        double grouped = nvt_record_number(&runs->records[i + 1], "loss");
        assert_true(looped > 0);
        assert_true(fabs(looped - grouped) <= 1e-4 * looped);
        assert_null(nvt_record_text(&runs->records[i], "trace"));
    }
    nvt_runs_free(runs);
}

/* The text of a CSV cell by row and heading, into out. */
static void csv_cell(const char *csv, int row, const char *heading, char *out, size_t size)
{
    int column = 0;
    const char *at = csv, *end = strchr(csv, '\n');
    while (strncmp(at, heading, strlen(heading)) ||
           (at[strlen(heading)] != ',' && at[strlen(heading)] != '\n' &&
            at[strlen(heading)] != '\r')) {
        at = memchr(at, ',', (size_t)(end - at));
        if (!at)
            fail_msg("no heading '%s'", heading);
        at++;
        column++;
    }
    for (at = csv; row >= 0; row--)
        at = strchr(at, '\n') + 1;
    while (column--)
        at = strchr(at, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, ",\r\n"), at);
}

/* The times of a phase, by the run's own clock or by the trace's report; in ns. */
struct phase_times {
    double mean, std;
};

static struct phase_times times_of_run(const struct nvt_record *record, const char *phase)
{
    char mean[64], std[64];
    snprintf(mean, sizeof(mean), "%s_ns_mean", phase);
    snprintf(std, sizeof(std), "%s_ns_std", phase);
    return (struct phase_times){nvt_record_number(record, mean), nvt_record_number(record, std)};
}

static struct phase_times times_of_trace(const char *csv, int row, const char *phase)
{
    char cell[64];
    struct phase_times times;
    csv_cell(csv, row, "phase", cell, sizeof(cell));
    assert_string_equal(cell, phase);
    csv_cell(csv, row, "mean (ns)", cell, sizeof(cell));
    times.mean = strtod(cell, NULL);
    csv_cell(csv, row, "std (ns)", cell, sizeof(cell));
    times.std = strtod(cell, NULL);
    return times;
}

/* Whether run and trace agree in all phases, to 1 %, and to that of a millisecond where a fast machine takes less. */
static bool phases_agree(const struct nvt_record *record, const char *csv)
{
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    int apart = 0;
    for (int row = 0; row < 3; row++) {
        struct phase_times ours = times_of_run(record, phases[row]);
        struct phase_times theirs = times_of_trace(csv, row, phases[row]);
        double slack = 0.01 * fmax(ours.mean, 1e6);
        if (fabs(theirs.mean - ours.mean) < slack && fabs(theirs.std - ours.std) < slack)
            continue;
        apart++;
        print_message("%s: the run says %.0f ± %.0f ns, its trace %.0f ± %.0f ns\n", phases[row],
                      ours.mean, ours.std, theirs.mean, theirs.std);
    }
    return !apart;
}

static bool a_run_and_its_trace_agree(const char *out)
{
    const char *argv[] = {"nvtally",  "run", "linear",       "--size", "2048",      "--batch", "16",
                          "--warmup", "2",   "--iterations", "20",     "--backend", "host",    "-o",
                          out,        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    const char *trace = cli_in(out, nvt_record_text(&runs->records[0], "trace"));
    const char *stats[] = {"nvtally", "stats", trace, "-r", "phases", "-f", "csv", NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    bool agree = phases_agree(&runs->records[0], result.out);
    cli_result_free(&result);
    nvt_runs_free(runs);
    return agree;
}

/* Phases of some milliseconds, on a fast machine of less: the trace alone gives the mean within 1 %, and the
 * deviation. Two clocks are read a few ns apart, and a machine that takes the processor away in between, for
 * some ms, sets the two apart in that run; what is wrong in the program does so in each. */
static void the_trace_tells_what_the_run_measured(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("what it does between two clocks takes milliseconds");
    cli_expect_one_run("story", a_run_and_its_trace_agree);
}

/* Runs that differ only in how they were measured are rows of their own. */
static void phases_keep_levels_and_warmups_apart(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "run", "linear", "--size", "32", "--batch", "1", "--collect", "off,nvtx",
        "--warmup", "0,2", "--iterations", "3", "-o", cli_folder, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", cli_folder, "-r", "phases", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    for (const char *const *way = (const char *const[]){"collect=off warmup=0,forward,3,",
                                                        "collect=off warmup=2,forward,3,",
                                                        "collect=nvtx warmup=0,forward,3,",
                                                        "collect=nvtx warmup=2,forward,3,", NULL};
         *way; way++)
        if (!strstr(result.out, *way))
            fail_msg("no '%s' in\n%s", *way, result.out);
    cli_result_free(&result);
}

static void memory_that_runs_out_is_a_row(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "oom");
    const char *argv[] = {"nvtally", "run",       "linear",       "--size", "64,1024",
                          "--batch", "1",         "--iterations", "2",      "--memory-limit",
                          "8M",      "--backend", "host",         "-o",     out,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "1 of 2 configurations"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"), "bytes were asked for"));
    assert_non_null(strstr(nvt_record_text(&runs->records[1], "message"),
                           "would exceed --memory-limit (8388608 bytes)"));
    assert_true(isnan(nvt_record_number(&runs->records[1], "forward_ns_mean")));
    nvt_runs_free(runs);
}

/* A row whose trace is gone is run again, and has it; frees the rows as they were. */
static void run_without_trace(const char *const *argv, const char *folder, struct nvt_runs *runs)
{
    char gone[4096];
    snprintf(gone, sizeof(gone), "%s", cli_in(folder, nvt_record_text(&runs->records[0], "trace")));
    nvt_runs_free(runs);
    assert_int_equal(unlink(gone), 0);
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(gone, R_OK), 0);
    runs = cli_read_runs(folder);
    assert_int_equal(runs->count, 4);
    assert_int_equal((int)nvt_record_number(&runs->records[3], "batch"), 1);
    nvt_runs_free(runs);
}

/* What ended stays as it is, with its traces; what failed, was cut or is missing is run. */
static void a_sweep_is_resumed(void **state)
{
    (void)state;
    char folder[4096], path[4096];
    snprintf(folder, sizeof(folder), "%s", cli_in(cli_folder, "resumed"));
    snprintf(path, sizeof(path), "%s", cli_in(folder, "results.jsonl"));
    const char *argv[] = {"nvtally", "run",     "linear",       "--size",   "32",
                          "--batch", "1,2,3,4", "--iterations", "2",        "--backend",
                          "host",    "-o",      folder,         "--resume", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    size_t size;
    char *before = cli_read_file(path, &size), *rows[5] = {before};
    assert_non_null(before);
    for (int i = 0; i < 4; i++)
        rows[i + 1] = strchr(rows[i], '\n') + 1;
    /* Of the four: ok, an error, out of memory, and one that was cut. */
    memcpy(strstr(rows[1], "\"status\": \"ok\""), "\"status\": \"no\"", 14);
    memcpy(strstr(rows[2], "\"status\": \"ok\", "), "\"status\": \"oom\",", 16);
    cli_write_file(path, before, size - 20);
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "that ended are kept"));
    cli_result_free(&result);
    char *after = cli_read_file(path, NULL);
    assert_non_null(after);
    size_t first = (size_t)(rows[1] - before);
    assert_memory_equal(after, before, first);
    struct nvt_runs *runs = cli_read_runs(folder);
    static const char *const statuses[] = {"ok", "oom", "ok", "ok"};
    static const int batches[] = {1, 3, 2, 4};
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "status"), statuses[i]);
        assert_int_equal((int)nvt_record_number(record, "batch"), batches[i]);
        nvt_trace_free(read_trace_of(folder, record));
    }
    run_without_trace(argv, folder, runs);
    free(before);
    free(after);
    /* Of other counts there is none. */
    argv[8] = "3";
    argv[6] = "1";
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: the results that were in "));
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "run", "linear", "--resume", NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "needs -o DIR");
    cli_result_free(&result);
}

static struct nvt_runs *run_with(const char *option, const char *value, const char *folder,
                                 const char *collect, const char *iterations, int status)
{
    const char *out = cli_in(cli_folder, folder);
    const char *argv[] = {"nvtally",  "run",       "linear",   "--size",    "64,128",
                          "--batch",  "8",         "--warmup", "0",         "--iterations",
                          iterations, "--backend", "host",     "--collect", collect,
                          "-o",       out,         option,     value,       NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    return cli_read_runs(out);
}

/* One after the other in one process they compute what they do each in its own; one that runs out of memory is a row, and
 * those behind it come in a new one. */
static void one_process_runs_all(void **state)
{
    (void)state;
    struct nvt_runs *alone = run_with("--seed", "1", "alone", "off", "5", 0);
    struct nvt_runs *together = run_with("--one-process", NULL, "together", "off", "5", 0);
    assert_int_equal(together->count, 2);
    for (size_t i = 0; i < 2; i++) {
        static const char *const same[] = {"size", "loss", "peak_allocated_bytes",
                                           "peak_reserved_bytes", "parameters"};
        assert_string_equal(nvt_record_text(&together->records[i], "status"), "ok");
        for (size_t k = 0; k < NVT_COUNT_OF(same); k++)
            assert_true(nvt_record_number(&alone->records[i], same[k]) ==
                        nvt_record_number(&together->records[i], same[k]));
    }
    nvt_runs_free(alone);
    nvt_runs_free(together);
    const char *out = cli_in(cli_folder, "full");
    const char *full[] = {"nvtally",    "run",
                          "linear",     "--size",
                          "1024,32,64", "--batch",
                          "8",          "--iterations",
                          "2",          "--backend",
                          "host",       "--collect",
                          "off",        "--memory-limit",
                          "8M",         "--one-process",
                          "-o",         out,
                          NULL};
    struct cli_result result = cli_run(full);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 3);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[2], "status"), "ok");
    nvt_runs_free(runs);
    const char *traced[] = {"nvtally", "run", "linear", "--one-process", "--collect", "nvtx", NULL};
    result = cli_run(traced);
    cli_expect_failure(&result, "needs --collect off");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_has_a_row_and_a_trace_each),
        cmocka_unit_test(both_variants_agree),
        cmocka_unit_test(the_trace_tells_what_the_run_measured),
        cmocka_unit_test(phases_keep_levels_and_warmups_apart),
        cmocka_unit_test(memory_that_runs_out_is_a_row),
        cmocka_unit_test(a_sweep_is_resumed),
        cmocka_unit_test(one_process_runs_all),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
