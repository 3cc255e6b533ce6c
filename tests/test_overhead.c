/* Profiling overhead: intervals by hand, pairs of interleaved runs, and the command. */
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
#include "../analyze/studies/overhead.h"
#include "../lib/count_of.h"
#include "cli.h"

static void expect_interval(double *ratios, size_t count, double median, double low, double high)
{
    double got[3];
    nvt_ratio_interval(ratios, count, &got[0], &got[1], &got[2]);
    assert_true(fabs(got[0] - median) < 1e-9);
    if (isnan(low))
        assert_true(isnan(got[1]) && isnan(got[2]));
    else if (fabs(got[1] - low) > 1e-6 || fabs(got[2] - high) > 1e-6)
        fail_msg("%.9f to %.9f, not %.9f to %.9f", got[1], got[2], low, high);
}

static void intervals_are_those_by_hand(void **state)
{
    (void)state;
    double one[] = {1.25};
    expect_interval(one, 1, 1.25, NAN, NAN);
    /* Logarithms 0 and 0.2: mean 0.1, deviation 0.1·√2, t of one degree 12.7062, so 0.1 ± 1.27062.
     */
    double two[] = {exp(0.2), 1};
    expect_interval(two, 2, (1 + exp(0.2)) / 2, exp(0.1 - 1.27062047), exp(0.1 + 1.27062047));
    /* Six: all of them, 2 / 64 = 0.031. Eight: still all, as 2·9 / 256 = 0.07 is too much. Nine:
     * from the second on, 2·10 / 512 = 0.039 (the table of Conover, "Practical Nonparametric
     * Statistics"). */
    double six[] = {6, 1, 5, 2, 4, 3}, eight[] = {8, 1, 2, 7, 3, 6, 4, 5};
    double nine[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    expect_interval(six, 6, 3.5, 1, 6);
    expect_interval(eight, 8, 4.5, 1, 8);
    expect_interval(nine, 9, 5, 2, 8);
}

static void put(FILE *out, const char *level, int warmup, const char *status, double median)
{
    fprintf(out,
            "{\"workload\": \"toy\", \"size\": 3, \"backend\": \"host\", \"collect\": \"%s\", "
            "\"warmup\": %d, \"iterations\": 100, \"status\": \"%s\", \"forward_ns_mean\": %g, "
            "\"forward_ns_std\": 10, \"forward_ns_median\": %g, \"backward_ns_mean\": null, "
            "\"trace\": null}\n",
            level, warmup, status, median + 1, median);
}

static const char *make_runs(const char *name, void (*rows)(FILE *))
{
    const char *out = cli_in(cli_folder, name);
    char path[600], command[700];
    snprintf(command, sizeof(command), "%s", out);
    const char *argv[] = {"mkdir", command, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(path, sizeof(path), "%s/results.jsonl", out);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    rows(file);
    fclose(file);
    return out;
}

static void expect_report(const char *runs, const char *rows)
{
    const char *argv[] = {"nvtally", "stats", runs, "-r", "overhead", "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *body = strchr(result.out, '\n');
    assert_non_null(body);
    assert_string_equal(body + 1, rows);
    cli_result_free(&result);
}

/* Whether `stats` and the chart say that an interval is of one pair's iterations, in these words. */
static void expect_caution(const char *runs, const char *words)
{
    const char *const stats[] = {"nvtally", "stats", runs, "-r", "overhead", NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    const char *note = strstr(result.err, "from its iterations alone");
    assert_true(words ? note && strstr(result.err, words) : !note);
    cli_result_free(&result);
    const char *const plot[] = {"nvtally", "plot", runs, NULL};
    result = cli_run(plot);
    if (!strstr(result.err, "gnuplot-nox")) {
        cli_expect_status(&result, 0);
        char *script = cli_read_file(cli_in(runs, "overhead.gp"), NULL);
        assert_non_null(script);
        assert_non_null(strstr(script, "with 95 % intervals."));
        assert_true(!strstr(script, words ? words : "pair of runs") == !words);
        free(script);
    }
    cli_result_free(&result);
}

/* The machine gets slower while it runs: from pair to pair by half. Interleaved, it does not show.
 */
static void drifting(FILE *out)
{
    double slow = 1000;
    for (int pair = 0; pair < 6; pair++) {
        put(out, "off", 5, "ok", slow);
        put(out, "nvtx", 5, "ok", slow * (1.01 + 0.01 * pair));
        slow *= 1.5;
    }
    /* Others that take no part: another warm-up has no bare run, this one failed. */
    put(out, "nvtx", 9, "ok", 5);
    put(out, "kernel", 5, "error", 5);
}

static void pairs_take_out_what_drifts(void **state)
{
    (void)state;
    /* Ratios 1.01 … 1.06: the median is 1.035. Bare: between 1000·1.5² and ·1.5³ (2812.5, and a half is
     * written as the next number away from zero); with:
     * 2250·1.03 and 3375·1.04. */
    expect_report(
        make_runs("drift", drifting),
        "toy size=3,5,nvtx,forward,2813,2914,1.0350,1.0100,1.0600,6,order of pairs,,runs\n"
        "toy size=3,9,nvtx,forward,,,,,,0,,,runs\n");
    expect_caution(cli_in(cli_folder, "drift"), NULL);
}

static void first_level(FILE *out)
{
    put(out, "off", 5, "ok", 1000);
    put(out, "kernel", 5, "ok", 1100);
}

static void second_level(FILE *out)
{
    put(out, "off", 5, "ok", 2000);
    put(out, "full", 5, "ok", 2400);
}

static void without_its_bare(FILE *out)
{
    put(out, "off", 5, "error", 0);
    put(out, "cupti", 5, "ok", 1050);
}

/* Directories with a bare run each: a level's is the one beside it, wherever it is listed. A directory without one has that of
 * the same turn elsewhere. */
static void pairs_are_of_one_directory(void **state)
{
    (void)state;
    char runs[3][4096];
    snprintf(runs[0], sizeof(runs[0]), "%s", make_runs("first", first_level));
    snprintf(runs[1], sizeof(runs[1]), "%s", make_runs("second", second_level));
    snprintf(runs[2], sizeof(runs[2]), "%s", make_runs("third", without_its_bare));
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "stats", runs[0], runs[1], runs[2], "-r", "overhead", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    /* Means: each median and 1. */
    assert_non_null(strstr(result.out, ",kernel,forward,1000,1100,1.0999,"));
    assert_non_null(strstr(result.out, ",full,forward,2000,2400,1.1999,"));
    assert_non_null(strstr(result.out, ",cupti,forward,1000,1050,1.0500,"));
    cli_result_free(&result);
}

static void single(FILE *out)
{
    put(out, "off", 1, "ok", 999);
    put(out, "full", 1, "ok", 1099);
}

static void one_pair_has_its_iterations(void **state)
{
    (void)state;
    /* Means 1000 and 1100, deviations 10 of 100 each: relative errors of 0.001 and 0.00091, with t of
     * 198 degrees ± 1.97 · 0.00135 of the ratio. */
    expect_report(
        make_runs("single", single),
        "toy size=3,1,full,forward,999,1099,1.1000,1.0971,1.1029,1,iterations of one run,,runs\n");
    expect_caution(cli_in(cli_folder, "single"), "One pair of runs: the interval");
}

static void put_turn(FILE *out, const char *level, double median, double recorder)
{
    fprintf(out,
            "{\"workload\": \"toy\", \"size\": 3, \"backend\": \"host\", \"collect\": \"%s\", "
            "\"warmup\": 1, \"interleave\": \"iterations\", \"iterations\": 10, \"status\": "
            "\"ok\", \"forward_ns_mean\": %g, \"forward_ns_median\": %g, \"timed_ns\": 1000000, ",
            level, median, median);
    if (recorder >= 0)
        fprintf(out, "\"recorder_cpu_ns\": %g, ", recorder);
    fputs("\"trace\": null}\n", out);
}

/* Runs one after the other, and others that took turns: the pair of single() of the ones, 1020 / 1000 and
 * 1040 / 1000 of the others. The recorder took 1, 3 and 2 of 1000. */
static void both_ways(FILE *out)
{
    put(out, "off", 1, "ok", 999);
    put(out, "nvtx", 1, "ok", 1099);
    for (int i = 0; i < 3; i++) {
        put_turn(out, "off", 1000, -1);
        put_turn(out, "nvtx", 1020 + 20 * (i == 1), i == 0 ? 1000 : i == 1 ? 3000 : 2000);
        put_turn(out, "control", 1000, -1);
    }
}

static void turns_are_not_mixed_with_runs(void **state)
{
    (void)state;
    /* Logarithms of 1.02, 1.04, 1.02: mean 0.026275, deviation 0.011211, t of two degrees 4.302653: ±
     * 0.027849 about it. */
    expect_report(make_runs("both", both_ways),
                  "toy size=3,1,nvtx,forward,999,1099,1.1000,1.0971,1.1029,1,iterations of one "
                  "run,,runs\n"
                  "toy size=3,1,nvtx,forward,1000,1020,1.0200,0.9984,1.0556,3,t of "
                  "pairs,0.0020,iterations\n"
                  "toy size=3,1,control,forward,1000,1000,1.0000,1.0000,1.0000,3,t of "
                  "pairs,,iterations\n");
    expect_caution(cli_in(cli_folder, "both"), "Where there is one pair of runs,");
}

/* Runs that are their own bare ones: ratios 1.01 … 1.06, and one that says nothing. A run by itself, of
 * another configuration, has no interval. */
static void with_twins(FILE *out)
{
    for (int i = 1; i <= 8; i++)
        fprintf(
            out,
            "{\"workload\": \"toy\", \"size\": %d, \"backend\": \"host\", \"collect\": \"nvtx\", "
            "\"warmup\": 1, \"interleave\": \"within\", \"iterations\": 10, \"status\": "
            "\"%s\", \"forward_ns_mean\": 9999, \"forward_ns_median\": %d, "
            "\"forward_ns_mute_median\": %d, \"forward_ns_twins_ratio\": %g, "
            "\"timed_ns\": 1000000, \"recorder_cpu_ns\": 2000, \"trace\": null}\n",
            i < 8 ? 3 : 4, i == 7 ? "error" : "ok", 1000 + 20 * i, 1000, 1 + 0.01 * i);
}

static void twins_need_no_other_run(void **state)
{
    (void)state;
    expect_report(make_runs("twins", with_twins),
                  "toy size=3,1,nvtx,forward,1000,1070,1.0350,1.0100,1.0600,6,order of "
                  "pairs,0.0020,within\n"
                  "toy size=4,1,nvtx,forward,1000,1160,1.0800,,,1,,0.0020,within\n");
}

/* The twin without NVTX comes first in the first iteration, which is cold. */
static void of_few_iterations(FILE *out)
{
    for (int i = 0; i < 3; i++)
        fprintf(out,
                "{\"workload\": \"toy\", \"size\": 3, \"backend\": \"host\", \"collect\": "
                "\"nvtx\", \"warmup\": 0, "
                "\"interleave\": \"within\", \"iterations\": %d, \"status\": \"ok\", "
                "\"forward_ns_mean\": 1000, \"forward_ns_median\": 1000, "
                "\"forward_ns_mute_median\": %d, \"forward_ns_twins_ratio\": %g, "
                "\"trace\": null}\n",
                i + 1, i < 2 ? 20000 : 1000, i < 2 ? 0.05 : 1.0);
}

static void few_twins_are_no_pair(void **state)
{
    (void)state;
    const char *out = make_runs("few_iterations", of_few_iterations);
    expect_report(out, "toy size=3,0,nvtx,forward,1000,1000,1.0000,,,1,,,within\n");
    const char *argv[] = {"nvtally", "stats", out, "-r", "overhead", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "note: 2 runs of interleaved pairs left out: "));
    cli_result_free(&result);
}

/* Times and the slow-down beside them need not go together; the title says what each is. */
static void the_title_says_what_numbers_are(void **state)
{
    (void)state;
    const char *runs[] = {make_runs("of_twins", with_twins), make_runs("of_one", single)};
    const char *told[] = {
        "Profiling overhead: times are medians over the pairs, slow-down is the median of the "
        "pairs' slow-downs, ",
        "Profiling overhead: times are medians, slow-down is the ratio of the means, "};
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {"nvtally", "stats", runs[i], "-r", "overhead", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        if (!strstr(result.out, told[i]))
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
}

static void bare_only(FILE *out)
{
    put(out, "off", 1, "ok", 999);
}

static void collected_only(FILE *out)
{
    put(out, "nvtx", 1, "ok", 999);
}

static void without_both_there_is_one_line(void **state)
{
    (void)state;
    const char *runs[] = {make_runs("bare", bare_only), make_runs("collected", collected_only)};
    const char *reasons[] = {"holds baseline runs only", "holds no baseline"};
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {"nvtally", "stats", runs[i], "-r", "overhead", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, reasons[i]);
        cli_result_free(&result);
    }
}

/* Repetitions are interleaved runs with traces of their own, and the chart has a point a level. */
static void run_report_and_chart(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "run");
    const char *run[] = {"nvtally",   "run",       "linear",   "--size",   "64",
                         "--batch",   "2",         "--warmup", "1",        "--iterations",
                         "5",         "--collect", "off,nvtx", "--repeat", "3",
                         "--backend", "host",      "-o",       out,        NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "collect"), i % 2 ? "nvtx" : "off");
        size_t repeat = i / 2 + 1;
        assert_true(nvt_record_number(record, "repeat") == (double)repeat);
    }
    assert_string_equal(nvt_record_text(&runs->records[5], "trace"),
                        "linear-size64-batch2-linear-repeat3.nvt");
    nvt_runs_free(runs);
    struct nvt_input input = {0};
    struct nvt_slowdowns overheads = {0};
    assert_int_equal(nvt_input_add(&input, out, &err), 0);
    assert_int_equal(nvt_slowdowns_make(&overheads, &input, &err), 0);
    assert_int_equal(overheads.count, 3); /* forward, backward, optimizer */
    for (size_t i = 0; i < overheads.count; i++) {
        const struct nvt_slowdown_row *row = &overheads.rows[i];
        assert_int_equal(row->pairs, 3);
        assert_true(row->low <= row->ratio && row->ratio <= row->high && row->low > 0);
    }
    nvt_slowdowns_free(&overheads);
    nvt_input_free(&input);
    const char *plot[] = {"nvtally", "plot", out, NULL};
    result = cli_run(plot);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/overhead.svg\n"));
    cli_result_free(&result);
}

/* Runs that are their own bare ones, after so many warm-ups: one that is recorded, one that is not. */
static void run_by_itself(const char *how, const char *warmup, const char *out)
{
    const char *run[] = {"nvtally",      "run",          "linear", "--size",
                         "64",           "--batch",      "2",      "--warmup",
                         warmup,         "--iterations", "5",      "--collect",
                         "nvtx,control", "--interleave", how,      "--backend",
                         "host",         "-o",           out,      NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Each iteration has a twin: the trace has the ranges of half of them, and the row the times of both. */
static void twins_are_without_ranges(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "within");
    struct cli_result result;
    run_by_itself("within", "1", out);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "interleave"), "within");
        assert_true(nvt_record_number(record, "iterations") == 5);
        assert_true(nvt_record_number(record, "forward_ns_mute_median") > 0);
        assert_true(nvt_record_number(record, "backward_ns_twins_ratio") > 0);
    }
    nvt_runs_free(runs);
    const char *stats[] = {"nvtally",
                           "stats",
                           "-r",
                           "nvtx_pushpop_sum",
                           "-f",
                           "csv",
                           cli_in(out, "linear-size64-batch2-linear.nvt"),
                           NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    size_t ranges = 0;
    for (const char *at = result.out; (at = strstr(at, "nvtally:iteration")); at++)
        ranges++;
    assert_int_equal(ranges, 1);
    char *line = strstr(result.out, "nvtally:iteration");
    while (line > result.out && line[-1] != '\n')
        line--;
    line[strcspn(line, "\n")] = 0;
    assert_non_null(strstr(line, ",5,")); /* instances */
    cli_result_free(&result);
}

static void what_cannot_have_twins(void **state)
{
    (void)state;
    static const char *const ways[] = {"within", "halves"};
    for (size_t i = 0; i < 2; i++) {
        const char *off[] = {"nvtally",  "run",          "linear", "--collect",
                             "off,nvtx", "--interleave", ways[i],  NULL};
        struct cli_result result = cli_run(off);
        cli_expect_failure(&result, "remove 'off' from --collect");
        cli_result_free(&result);
        const char *loop[] = {"nvtally",     "run",          "switchback", "--timing",
                              "single,loop", "--interleave", ways[i],      NULL};
        result = cli_run(loop);
        cli_expect_failure(&result, "add --timing single");
        cli_result_free(&result);
    }
    const char *nsys[] = {"nvtally", "run",       "linear",       "--collect", "nsys",
                          "--nsys",  "/bin/true", "--interleave", "halves",    NULL};
    struct cli_result result = cli_run(nsys);
    cli_expect_failure(&result, "not with --collect nsys");
    cli_result_free(&result);
}

/* The rows of a run whose second half is recorded: no ratio of neighbours, as there are none. */
static void check_halves(const char *out)
{
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "interleave"), "halves");
        assert_true(nvt_record_number(record, "iterations") == 5);
        assert_true(nvt_record_number(record, "forward_ns_mute_median") > 0);
        assert_true(isnan(nvt_record_number(record, "forward_ns_twins_ratio")));
    }
    nvt_runs_free(runs);
}

/* A first half that nothing records, and a second with its own warm-ups, which the trace has, with the run's row. It does not
 * have how the process began. */
static void halves_are_bare_and_recorded(void **state)
{
    (void)state;
    const char *out = cli_in(cli_folder, "halves");
    struct cli_result result;
    run_by_itself("halves", "2", out);
    check_halves(out);
    char trace[4200];
    snprintf(trace, sizeof(trace), "%s", cli_in(out, "linear-size64-batch2-linear.nvt"));
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *read = nvt_trace_read(trace, &err);
    static const struct {
        const char *name;
        int count;
    } ranges[] = {
        {"iteration", 5}, {"warmup", 2}, {"forward", 5}, {"linear size=64 batch=2 mode=linear", 1}};
    assert_non_null(read);
    for (size_t k = 0; k < NVT_COUNT_OF(ranges); k++) {
        int count = 0;
        for (uint32_t i = 0; i < read->ranges.count; i++)
            count += !strcmp(nvt_name(read, read->ranges.name[i]), ranges[k].name);
        if (count != ranges[k].count)
            fail_msg("%d ranges %s", count, ranges[k].name);
    }
    nvt_trace_free(read);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", trace, "-r", "overhead", "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ",nvtx,forward,"));
    assert_non_null(strstr(result.out, ",1,,,halves\n"));
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "stats", trace, "-r", "warmup", NULL});
    assert_non_null(
        strstr(result.err, "1 trace is left out: the beginning was cut off or not captured"));
    cli_result_free(&result);
}

/* What the bench makes of this report: it finds the columns by their headings. */
static void the_bench_reads_the_report(void **state)
{
    (void)state;
    char shell[700];
    double ms = 0, ratio = 0;
    snprintf(shell, sizeof(shell),
             "BUILD=$(dirname '%s') REPEAT=1 WORKLOADS=accumulate_fp32 LEVELS=nvtx CONTROL=0 "
             "tests/bench/disturbance",
             cli_built("nvtally"));
    const char *const argv[] = {"sh", "-c", shell, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *row = strstr(result.out, "| accumulate fp32 | nvtx | forward |");
    assert_non_null(row);
    assert_int_equal(sscanf(row, "| accumulate fp32 | nvtx | forward | %lf | %lf |", &ms, &ratio),
                     2);
    assert_true(ms > 0);
    assert_true(ratio > 0);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_those_by_hand),
        cmocka_unit_test(pairs_take_out_what_drifts),
        cmocka_unit_test(pairs_are_of_one_directory),
        cmocka_unit_test(one_pair_has_its_iterations),
        cmocka_unit_test(turns_are_not_mixed_with_runs),
        cmocka_unit_test(twins_need_no_other_run),
        cmocka_unit_test(few_twins_are_no_pair),
        cmocka_unit_test(the_title_says_what_numbers_are),
        cmocka_unit_test(twins_are_without_ranges),
        cmocka_unit_test(what_cannot_have_twins),
        cmocka_unit_test(halves_are_bare_and_recorded),
        cmocka_unit_test(without_both_there_is_one_line),
        cmocka_unit_test(run_report_and_chart),
        cmocka_unit_test(the_bench_reads_the_report),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
