/*
 * What all charts have in common, whatever they show: they are as wide as the column of a paper, or as a screen has
 * room for, no text is smaller than 7 pt in that column, none lies on another or out of the picture, axes have their
 * units, where it was measured stands below, and script and data lie beside it. Here charts of studies, of rooflines
 * and of comparisons.
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

#include "../analyze/exports/export.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "chart_kit.h"
#include "cli.h"
#include "made_trace.h"

/* --- what each chart must say --- */

static void expect_charts_of(const char *const argv[], const char *directory, int seen[CHARTS])
{
    struct cli_options options = {.timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *const plot[] = {"nvtally", "plot", directory, NULL};
    result = cli_run_with(&options, plot);
    cli_expect_status(&result, 0);
    chart_expect_pictures(result.out, seen);
    cli_result_free(&result);
}

/* One of each study that is drawn by itself, as small as its charts take. */
static const char *const runs[][32] = {
    {"nvtally", "run",          "gpipe",  "--partitions", "1,2", "--microbatches",
     "1,2,4",   "--checkpoint", "off,on", "--d-model",    "16",  "--layers",
     "2",       "--heads",      "2",      "--d-ff",       "32",  "--vocabulary",
     "32",      "--batch",      "4",      "--sequence",   "8",   "--warmup",
     "1",       "--iterations", "2"},
    {"nvtally", "run", "linear", "--size", "64", "--batch", "1", "--warmup", "0,2", "--iterations",
     "4", "--repeat", "2"},
    {"nvtally",  "run",      "transformer", "--d-model",    "32", "--d-ff",       "64", "--layers",
     "1",        "--heads",  "2",           "--context",    "16", "--vocabulary", "50", "--collect",
     "off,nvtx", "--warmup", "1",           "--iterations", "4",  "--peak"},
    {"nvtally", "run", "switchback", "--dim", "64,128,1024", "--batch", "1024", "--timing",
     "single", "--warmup", "1", "--iterations", "2", "--width-multiplier", "4"},
    {"nvtally", "run", "fragmented", "--size", "64", "--batch", "1", "--fragments", "2,4,8",
     "--iterations", "4", "--warmup", "1"},
    /* One phase alone: a panel without a title of its own. */
    {"nvtally", "run", "accumulate", "--form", "fp32,fp16", "--count", "100,1000,10000",
     "--iterations", "4", "--warmup", "1"}};

enum { STUDIES = NVT_COUNT_OF(runs) };

static void expect_all(const int *seen, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (!seen[i])
            fail_msg("no chart %s was drawn", chart_name(i));
}

static void test_studies(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    static const char *const published[] = {"fragments.txt", "switchback.txt", "gpipe.log",
                                            "transformer.md"};
    int seen[CHARTS] = {0};
    char *directories[4 + STUDIES] = {NULL}, path[200];
    for (int i = 0; i < 4 + STUDIES; i++)
        directories[i] = cli_tempdir();
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "data/published/%s", published[i]);
        const char *const import[] = {"nvtally", "import", path, "-o", directories[i], NULL};
        expect_charts_of(import, directories[i], seen);
    }
    for (int i = 0; i < STUDIES; i++) {
        const char *argv[35];
        int count = 0;
        for (; runs[i][count]; count++)
            argv[count] = runs[i][count];
        argv[count++] = "-o";
        argv[count++] = directories[4 + i];
        argv[count] = NULL;
        expect_charts_of(argv, directories[4 + i], seen);
    }
    expect_all(seen, CHANGE_CHARTS, CHARTS - TRACE_CHARTS);
    for (int i = 0; i < 4 + STUDIES; i++)
        cli_tempdir_remove(directories[i]);
}

/* Numbers that stretch an axis: from `least` nanoseconds on, a hundred times as much with each
 * step, and deviations a hair below their means, so that bars end next to zero. */
static void write_hostile(const char *directory, double least)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/results.jsonl", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 12; i++) {
        int step = i / 2, fragments = 2 << 2 * step, grouped = i % 2;
        double value = least * pow(100, step);
        fprintf(out,
                "{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"mode\": "
                "\"inference\", \"fragments\": %d, \"variant\": \"%s\", \"backend\": \"host\", "
                "\"device\": \"made\", \"iterations\": 9, \"status\": \"ok\"",
                fragments, grouped ? "grouped" : "looped");
        for (int phase = 0; phase < 2; phase++) {
            const char *name = phase ? "backward" : "forward";
            double mean = grouped && phase ? least : value;
            fprintf(out, ", \"%s_ns_mean\": %.17g, \"%s_ns_std\": %.17g, \"%s_ns_median\": %.17g",
                    name, mean, name, mean * (1 - 1e-9), name, mean);
        }
        fprintf(out, ", \"peak_allocated_bytes\": %.0f, \"parameters\": 4160}\n", value * 1e3);
    }
    assert_int_equal(fclose(out), 0);
}

static void test_hostile_numbers(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    static const double least[] = {1e-3, 1, 7.5e4, 3e9};
    for (size_t i = 0; i < NVT_COUNT_OF(least); i++) {
        int seen[CHARTS] = {0};
        char *directory = cli_tempdir();
        write_hostile(directory, least[i]);
        const char *const plot[] = {"nvtally", "plot", directory, NULL};
        struct cli_result result = cli_run(plot);
        cli_expect_status(&result, 0);
        chart_expect_pictures(result.out, seen);
        expect_all(seen, CHANGE_CHARTS, CHANGE_CHARTS + 1);
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

/* Phases in a heap, far apart, above the roof and far below it, with names as long as they come; and peaks of all kinds. */
static void write_rooflines(const char *directory, double spread)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/env.json", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"peak_flops_fp32\": 6e13, \"peak_flops_tf32\": 4e14, \"peak_flops_bf16\": 8e14, "
          "\"peak_flops_fp16\": 8.1e14, \"peak_flops_int8\": 1.5e15, \"peak_bytes\": 3e12, "
          "\"backend\": \"host\"}\n",
          out);
    assert_int_equal(fclose(out), 0);
    snprintf(path, sizeof(path), "%s/results.jsonl", directory);
    out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 60; i++)
        fprintf(out,
                "{\"workload\": \"made\", \"a_name_that_is_long\": %d, \"precision\": \"%s\", "
                "\"backend\": \"host\", \"iterations\": 9, \"status\": \"ok\", "
                "\"forward_ns_mean\": %.17g, \"forward_ns_std\": 9, \"flops_forward\": %.17g, "
                "\"bytes_forward\": %.17g, "
                "\"own_%d_ns_mean\": 1000, \"flops_own_%d\": 1e6, \"bytes_own_%d\": 0, "
                "\"trace\": null}\n",
                i, i % 2 ? "fp32" : "bf16", 1e6 + i, 1e9 * pow(spread, i % 7),
                1e7 * pow(spread, i % 5), i, i, i);
    assert_int_equal(fclose(out), 0);
}

static void test_rooflines(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    static const double spreads[] = {1, 1.2, 10, 1e40, 1e-40};
    for (size_t i = 0; i < NVT_COUNT_OF(spreads); i++) {
        int seen[CHARTS] = {0};
        char *directory = cli_tempdir();
        write_rooflines(directory, spreads[i]);
        const char *const plot[] = {"nvtally", "plot", directory, NULL};
        struct cli_result result = cli_run(plot);
        cli_expect_status(&result, 0);
        chart_expect_pictures(result.out, seen);
        assert_non_null(strstr(result.out, "roofline.svg"));
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

/* --- comparisons --- */

/* A loop of steps that spend so much in functions, a sample each 1 ms, and in a kernel. */
struct side {
    const char *name;
    int copy, work, solve, late; /* samples a step */
    int64_t kernel_ns;
};

static void make_side(const char *directory, const struct side *side)
{
    static const char tool[] = "/home/x/bin/tool";
    struct nvt_error err = NVT_ERROR_INIT;
    struct maker maker = make_begin();
    const uint32_t main = make_function(&maker, 0, "main", tool);
    const uint32_t functions[] = {
        make_function(&maker, main,
                      "void deep::copy<std::vector<int, std::allocator<int> > >(int const&)", tool),
        make_function(&maker, main, "work", tool), make_function(&maker, main, "solve", tool),
        make_function(&maker, main, "late", tool)};
    const int counts[] = {side->copy, side->work, side->solve, side->late};
    assert_int_equal(nvt_trace_set_meta(maker.trace, "device", "A made GPU"), 0);
    for (int step = 0; step < 20; step++) {
        const int64_t begun = maker.now;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < counts[i]; k++)
                make_sample(&maker, maker.thread, maker.now += 1000000, 1000000, functions[i]);
        make_range(&maker, "load, which has a name that is far too long for any box", begun);
        const int64_t forward = maker.now += 1000;
        make_launch(&maker, "matmul", side->kernel_ns + 1000 * (step % 7));
        make_wait(&maker);
        make_range(&maker, "forward", forward);
        make_range(&maker, "iteration", begun);
    }
    struct nvt_trace *trace = make_end(&maker);
    if (nvt_exporter_nvt.write_file(trace, cli_in(directory, side->name), &err))
        fail_msg("%s", err.message);
    nvt_trace_free(trace);
}

/* Something is gone, something is new, less and more, and all is the same. */
static void test_changes(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    static const struct side before = {"before.nvt", 12, 6, 8, 0, 4000000},
                             after = {"after.nvt", 0, 15, 8, 9, 1500000};
    char *directory = cli_tempdir();
    int seen[CHARTS] = {0};
    make_side(directory, &before);
    make_side(directory, &after);
    struct cli_options options = {.directory = directory, .timeout_s = 120};
    const char *const plot[] = {"nvtally",   "plot", "before.nvt", "vs",
                                "after.nvt", "-o",   directory,    NULL};
    struct cli_result result = cli_run_with(&options, plot);
    cli_expect_status(&result, 0);
    chart_expect_pictures(result.out, seen);
    expect_all(seen, 0, CHANGE_CHARTS);
    cli_result_free(&result);
    /* Widths are of one scale, an iteration; names are without scopes. */
    char *data = cli_read_file(cli_in(directory, "flame-change-cpu.dat"), NULL);
    assert_non_null(strstr(data, "\tcopy"));
    assert_non_null(strstr(data, " gone\n"));
    assert_non_null(strstr(data, "work +150 %\n"));
    free(data);
    data = cli_read_file(cli_in(directory, "change.dat"), NULL);
    assert_non_null(strstr(data, "# slower"));
    free(data);
    /* The document counts what the pictures call gone and new. */
    const char *const report[] = {"nvtally",   "report", "before.nvt", "vs",
                                  "after.nvt", "-o",     "change.md",  NULL};
    result = cli_run_with(&options, report);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    data = cli_read_file(cli_in(directory, "change.md"), NULL);
    assert_non_null(strstr(data, " 2 are on one side only"));
    free(data);
    /* The same is the same: no box has a colour. */
    const char *const same[] = {"nvtally",    "plot", "before.nvt", "vs",
                                "before.nvt", "-o",   directory,    NULL};
    result = cli_run_with(&options, same);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    data = cli_read_file(cli_in(directory, "flame-change-host.gp"), NULL);
    assert_non_null(strstr(data, "'within 5 %, or cannot tell'"));
    assert_null(strstr(data, "half or less"));
    assert_null(strstr(data, "'more (outlined)'"));
    free(data);
    cli_tempdir_remove(directory);
}

/* What is no comparison says so in one line, and nothing that was read is written over. */
static void test_no_changes(void **state)
{
    (void)state;
    static const struct side before = {"before.nvt", 12, 6, 8, 0, 4000000},
                             odd = {"change.dat", 12, 6, 8, 0, 4000000};
    static const struct {
        const char *argv[7], *said;
    } wrong[] = {
        {{"nvtally", "plot", "vs", "before.nvt"}, "a side has nothing to compare"},
        {{"nvtally", "plot", "before.nvt", "vs"}, "needs two sides"},
        {{"nvtally", "report", "before.nvt", "vs"}, "needs two sides"},
        {{"nvtally", "plot", "before.nvt", "vs", "nothing.nvt"}, "cannot be opened"},
        {{"nvtally", "plot", "before.nvt", "vs", "change.dat"}, "is an input"},
        {{"nvtally", "report", "before.nvt", "vs", "change.dat", "-o"}, "needs a value"},
    };
    char *directory = cli_tempdir();
    make_side(directory, &before);
    make_side(directory, &odd);
    struct cli_options options = {.directory = directory, .timeout_s = 60};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result = cli_run_with(&options, wrong[i].argv);
        cli_expect_status(&result, 2);
        if (!strstr(result.err, wrong[i].said))
            fail_msg("'%s' does not say '%s'", result.err, wrong[i].said);
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),   cmocka_unit_test(test_no_changes),
        cmocka_unit_test(test_studies),   cmocka_unit_test(test_hostile_numbers),
        cmocka_unit_test(test_rooflines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
