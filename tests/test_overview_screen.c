/* What is seen first: the screen that shows an overview, after a recording and by `stats`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/overview/overview_text.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "overview_kit.h"
#include "terminal_kit.h"

#define TRAIN "docs/results/h100/traces/train.nvt"

/* Whatever is shown fits a screen, with the line of the prompt below it. */
static void screens_fit(void **state)
{
    (void)state;
    const struct program programs[] = {
        {.iterations = 32, .kernels = 100, .kernel_ns = 2000, .launch_ns = 8000, .backward = 40},
        {.iterations = 4, .kernels = 3, .kernel_ns = 2000000},
        {.no_ranges = 1, .kernels = 30, .kernel_ns = 20000},
        {.iterations = 16, .data_ns = 3000000, .kernels = 5, .kernel_ns = 50000},
        {.iterations = 16, .host_ns = 400000, .held_bytes = 1 << 30, .kernels = 4, .rank = 3}};
    for (size_t i = 0; i < NVT_COUNT_OF(programs); i++) {
        struct nvt_trace *traces[2] = {make_program(&programs[i]), make_program(&programs[0])};
        for (size_t count = 1; count < 3; count++) {
            struct nvt_overview overview = overview_of(traces, count);
            for (size_t width = 60; width < 180; width += 20) {
                char *text = overview_print(&overview, width, 24, 0);
                assert_in_range(kit_expect_fits(text, width), 8, 23);
                free(text);
            }
            char *text = overview_print(&overview, 80, 24, 4);
            assert_in_range(kit_expect_fits(text, 80), 8, 23);
            free(text);
            nvt_overview_free(&overview);
        }
        nvt_trace_free(traces[0]);
        nvt_trace_free(traces[1]);
    }
}

/* Rows and ranks beyond what a screen holds are left out, none of which takes more than one that is shown. */
static void what_takes_most_is_shown(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 4; i++) {
        const int64_t start = maker.now;
        for (int part = 0; part < 20; part++) {
            static const char letters[] = "abcdefghijklmnopqrst";
            const char name[] = {letters[part], letters[part], 0};
            maker.now += 100000 + 10000 * part;
            make_range(&maker, name, maker.now - 100000 - 10000 * part);
        }
        make_range(&maker, "iteration", start);
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_int_equal(overview.row_count, 21);
    char *text = overview_print(&overview, 80, 24, 0);
    kit_expect_fits(text, 80);
    assert_non_null(strstr(text, "\n  tt "));
    assert_non_null(strstr(text, "\n  ss "));
    assert_null(strstr(text, "\n  aa "));
    assert_true(strstr(text, "\n  ss ") < strstr(text, "\n  tt "));
    free(text);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

static char *stats_of(int columns, const char *const argv[])
{
    int status;
    char *text = kit_on_terminal(columns, 24, NULL, argv, &status);
    assert_int_equal(status, 0);
    kit_uncolour(text);
    return text;
}

/* A training step of PyTorch, as it was recorded on an H100. */
static void a_training_step_is_read_at_once(void **state)
{
    (void)state;
    char *text = stats_of(80, (const char *const[]){"nvtally", "stats", TRAIN, NULL});
    assert_in_range(kit_expect_fits(text, 80), 15, 23);
    OVERVIEW_LINE(text, "\nIteration ", "14.7 ms", "median of 10");
    OVERVIEW_LINE(text, "\nGPU busy ", "26 %", "3.8");
    OVERVIEW_LINE(text, "\nPeak memory ", "537 MiB");
    OVERVIEW_LINE(text, "\nStart-up ", "8.38 s");
    OVERVIEW_LINE(text, "\niteration ", "14.7 ms", "100 %", "26 %");
    OVERVIEW_LINE(text, "\n  forward ", "4.42 ms", "30 %", "1.19 ms", "8 %");
    OVERVIEW_LINE(text, "\n  backward ", "8.79 ms", "60 %", "2.18 ms", "15 %");
    OVERVIEW_LINE(text, "\n  optimizer ", "1.61 ms", "11 %", "µs", "3 %");
    OVERVIEW_LINE(text, "\n1  launch-bound ", "6.98 ms", "(48 %)");
    OVERVIEW_LINE(text, "\nNext  ", "nvtally diagnose " TRAIN);
    free(text);
}

static void options_go_on(void **state)
{
    (void)state;
    char *text = stats_of(120, (const char *const[]){"nvtally", "stats", "--iteration", "forward",
                                                     "--filter-time", "0s/20s", TRAIN, NULL});
    OVERVIEW_LINE(text, "\nIteration ", "4.42 ms");
    OVERVIEW_LINE(text, "\nNext  ",
                  "nvtally diagnose --iteration forward --filter-time 0s/20s " TRAIN);
    free(text);
}

static void directories_have_their_study(void **state)
{
    (void)state;
    char *text = stats_of(
        80, (const char *const[]){"nvtally", "stats", "docs/results/h100/transformer-small", NULL});
    assert_in_range(kit_expect_fits(text, 80), 15, 24);
    OVERVIEW_LINE(text, "Runs ", "24", "of transformer, all ok");
    OVERVIEW_LINE(text, "\nPeak memory ", "2.04 GiB");
    assert_non_null(strstr(text, "Phases by configuration  [phases]\n"));
    OVERVIEW_LINE(text, "\n… ", "more rows: -r phases");
    OVERVIEW_LINE(text, "\nNext  ", "nvtally diagnose docs/results/h100/transformer-small");
    free(text);
    struct cli_result all = cli_run(
        (const char *const[]){"nvtally", "stats", "docs/results/h100/transformer-small", NULL});
    cli_expect_status(&all, 0);
    assert_null(strstr(all.out, "more rows"));
    cli_result_free(&all);
}

/* The end of a recording shows the overview, on a terminal alone. */
/* Nothing is a median of two programs, and findings say which one they are of. */
static void programs_stand_by_themselves(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "stats", TRAIN, "docs/results/h100/traces/pytorch.nvt", NULL});
    cli_expect_status(&result, 0);
    assert_memory_equal(result.out, "2 different programs", 20);
    overview_expect_line(result.out, "train.nvt", (const char *const[]){"14.7 ms", "26 %", NULL});
    overview_expect_line(result.out, "pytorch.nvt", (const char *const[]){"5.77 ms", "8 %", NULL});
    assert_null(strstr(result.out, "median of"));
    assert_null(strstr(result.out, "forward"));
    overview_expect_line(result.out, "\n2  ",
                         (const char *const[]){"GPU idle", "pytorch.nvt", NULL});
    overview_expect_line(result.out, "\n3  ", (const char *const[]){"GPU idle", "train.nvt", NULL});
    cli_result_free(&result);
}

static void recordings_end_with_it(void **state)
{
    (void)state;
    const char *const argv[] = {
        "nvtally", "record", "-o", cli_in(cli_folder, "t.nvt"), "--", cli_client("nested"), NULL};
    char *text = stats_of(80, argv);
    OVERVIEW_LINE(text, "\nRanges", "CPU");
    OVERVIEW_LINE(text, "\nouter ", "ms");
    OVERVIEW_LINE(text, "\nNext  ", "nvtally diagnose ");
    kit_expect_fits(text, 80);
    free(text);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "-f", "-o", cli_in(cli_folder, "t.nvt"),
                                      "--", cli_client("nested"), NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "outer"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_fit),
        cmocka_unit_test(what_takes_most_is_shown),
        cmocka_unit_test(a_training_step_is_read_at_once),
        cmocka_unit_test(options_go_on),
        cmocka_unit_test(directories_have_their_study),
        cmocka_unit_test(programs_stand_by_themselves),
        cmocka_unit_test(recordings_end_with_it),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
