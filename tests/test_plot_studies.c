/* Charts of studies: scaling, linear layers alone, repetitions, phases, SwitchBack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "plot_kit.h"

/* Linear layers alone are no fragment study: their phases are drawn, with axes of their own. */
static void test_linear_alone(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char rows[] =
        "{\"workload\": \"linear\", \"size\": 8, \"batch\": 1, \"backend\": \"host\", "
        "\"forward_ns_mean\": 7, \"backward_ns_mean\": 9}\n"
        "{\"workload\": \"linear\", \"size\": 16, \"batch\": 1, \"backend\": \"host\", "
        "\"forward_ns_mean\": 9, \"backward_ns_mean\": 9}\n";
    static const char fragments[] =
        "{\"workload\": \"fragmented\", \"size\": 16, \"batch\": 1, \"mode\": \"train\", "
        "\"fragments\": 4, \"backend\": \"host\", \"forward_ns_mean\": 5}\n";
    char *directory = cli_tempdir(), text[2000], expected[4200];
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    snprintf(expected, sizeof(expected), "%s/phases-1.svg\n", directory);
    assert_string_equal(result.out, expected);
    cli_result_free(&result);
    char *svg = cli_read_text(directory, "phases-1.svg");
    assert_null(strstr(svg, "ragment"));
    assert_non_null(strstr(svg, "size=16"));
    free(svg);
    /* With fragments of one of the sizes, that has a sheet, and the other is left with the phases. */
    snprintf(text, sizeof(text), "%s%s", rows, fragments);
    cli_write_file(cli_in(directory, "results.jsonl"), text, strlen(text));
    result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    snprintf(expected, sizeof(expected), "%s/fragments-size16-batch1.svg\n%s/phases-1.svg\n",
             directory, directory);
    assert_string_equal(result.out, expected);
    svg = cli_read_text(directory, "phases-1.svg");
    assert_non_null(strstr(svg, "size=8"));
    assert_null(strstr(svg, "size=16"));
    free(svg);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

static const char *const repeated_levels[] = {"off", "nvtx"};

/* Three fragment counts at two levels of collection, three times each: means of 1, 2 and 3 ms with
 * fragments = 2, ten times as much when collected; medians are half of it. */
static void write_repeated(const char *directory)
{
    FILE *file = fopen(cli_in(directory, "results.jsonl"), "w");
    assert_non_null(file);
    for (int i = 0; i < 36; i++) {
        int repeat = i / 12 + 1, fragments = 2 << i % 3, level = i / 3 % 2, grouped = i / 6 % 2;
        fprintf(file,
                "{\"workload\": \"fragmented\", \"size\": 8, \"batch\": 1, \"mode\": "
                "\"inference\", \"fragments\": %d, \"variant\": \"%s\", \"backend\": \"host\", "
                "\"collect\": \"%s\", \"warmup\": 1, \"repeat\": %d, \"device\": \"made\", "
                "\"status\": \"ok\", \"forward_ns_mean\": %d, \"forward_ns_std\": 7, "
                "\"forward_ns_min\": 1, \"forward_ns_median\": %d, \"forward_ns_max\": 9e9}\n",
                fragments, grouped ? "grouped" : "looped", repeated_levels[level], repeat,
                500000 * repeat * fragments * (level ? 10 : 1),
                250000 * repeat * fragments * (level ? 10 : 1));
    }
    assert_int_equal(fclose(file), 0);
}

/* A median has a bar, a mean alone, as published figures have it, none; each is said. */
static void bars_are_of_what_is_known(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    plot_write_rows(directory, "A CPU");
    for (int known = 0; known < 2; known++) {
        FILE *out = fopen(cli_in(directory, "results.jsonl"), "a");
        assert_non_null(out);
        if (known)
            fputs("{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"fragments\": 64, "
                  "\"mode\": \"train\", \"forward_ns_mean\": 20000, \"forward_ns_median\": 19000, "
                  "\"forward_ns_min\": 15000, \"forward_ns_max\": 40000}\n",
                  out);
        fclose(out);
        struct cli_result result = plot_run(directory, NULL, NULL);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *script = cli_read_text(directory, "fragments-size64-batch1.gp");
        char *data = cli_read_text(directory, "fragments-size64-batch1.dat");
        assert_int_equal(strstr(script, "yerrorbars") != NULL, known);
        assert_int_equal(strstr(data, "\n64\t0.019\t0.015\t0.04\t") != NULL, known);
        assert_non_null(strstr(script, known ? "'Medians; bars: from the" : "'Means.'"));
        free(script);
        free(data);
    }
    cli_tempdir_remove(directory);
}

#define PHASES_ROW(size, results)                                                                  \
    "{\"workload\": \"transformer\", \"size\": \"" size "\", \"precision\": \"fp32\", "            \
    "\"phase\": \"forward_backward\", \"vocabulary\": 10000, \"context\": 128, \"backend\": "      \
    "\"host\", \"warmup\": 5, \"iterations\": 5, \"status\": " results "}\n"

/* One that did not fit is named; one configuration alone is named as a whole. */
static void test_phases(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char rows[] =
        PHASES_ROW("tiny", "\"ok\", \"forward_ns_mean\": 1e6, \"forward_ns_std\": 2e6")
            PHASES_ROW("large", "\"ok\", \"forward_ns_mean\": 5e8, \"forward_ns_median\": 4e8, "
                                "\"forward_ns_min\": 3e8, \"forward_ns_max\": 6e8")
                PHASES_ROW("2.7B", "\"oom\", \"forward_ns_mean\": null");
    static const char alone[] = PHASES_ROW("tiny", "\"ok\", \"forward_ns_mean\": 1e6");
    char *directory = cli_tempdir();
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *script = cli_read_text(directory, "phases-1.gp");
    assert_non_null(strstr(script, "'size=large'"));
    assert_non_null(strstr(script, "'Not drawn: size=2.7B (oom).'"));
    assert_non_null(strstr(script, "using 1:4:2:3 with xerrorbars"));
    free(script);
    script = cli_read_text(directory, "phases-1.dat");
    assert_non_null(strstr(script, "1\tNaN\tNaN\t0.56\n400\t300\t600\t1.56\n"));
    free(script);
    cli_write_file(cli_in(directory, "results.jsonl"), alone, strlen(alone));
    result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    script = cli_read_text(directory, "phases-1.gp");
    assert_non_null(strstr(script, "set label 1 'transformer' at"));
    assert_non_null(strstr(script, "'transformer size=tiny precision=fp32"));
    assert_null(strstr(script, "…"));
    assert_null(strstr(script, "Not drawn"));
    free(script);
    cli_tempdir_remove(directory);
}

/* Every side that was measured has its label, and what is not drawn is said. */
static void test_switchback(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    const char *const import[] = {"nvtally", "import",  "data/published/switchback.txt",
                                  "-o",      directory, NULL};
    struct cli_result result = cli_run(import);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char *const charts[] = {"switchback-times.svg", "switchback-speedup.svg"};
    static const char *const sides[] = {"1024", "1280", "1408", "1664", "2048", "4096", "8096"};
    for (size_t i = 0; i < NVT_COUNT_OF(charts); i++) {
        char *svg = cli_read_text(directory, charts[i]);
        for (size_t side = 0; side < NVT_COUNT_OF(sides); side++)
            if (!strstr(svg, sides[side]))
                fail_msg("%s has no %s", charts[i], sides[side]);
        assert_non_null(strstr(svg, "not drawn: 4.3637, 4.9231."));
        free(svg);
    }
    cli_tempdir_remove(directory);
}

/* One point a configuration: the median of its runs, from the shortest iteration to the longest, of the lowest level of
 * collection; and each is said. */
static void test_repetitions(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    write_repeated(directory);
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *data = cli_read_text(directory, "fragments-size8-batch1.dat");
    assert_non_null(strstr(data, "# looped\n2\t1\t1e-06\t9000\tNaN\t"));
    assert_non_null(strstr(data, "# grouped\n2\t1\t1e-06\t9000\t"));
    assert_null(strstr(data, "\n2\t10\t"));
    free(data);
    char *svg = cli_read_text(directory, "fragments-size8-batch1.svg");
    assert_non_null(strstr(svg, "Medians of up to 3 repetitions; bars:"));
    assert_non_null(strstr(svg, "collect=off."));
    free(svg);
    /* Medians of the runs: the middle one, from the least to the largest of them. */
    data = cli_read_text(directory, "scaling-fragments-fragmented_size_8_batch_1.dat");
    assert_non_null(strstr(data, "2\t1\t0.5\t1.5\n4\t2\t1\t3\n8\t4\t2\t6\n"));
    free(data);
    cli_tempdir_remove(directory);
}

/* A line is drawn where there is one: neither through points that do not grow, nor through those
 * that it misses. */
static void test_scaling_without_a_line(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const double times[][5] = {{1e6, 1.1e6, 0.9e6, 1.05e6, 1e6}, /* flat */
                                      {1e6, 2e6, 4e6, 8e6, 16e6},       /* twice for twice */
                                      {1e6, 9e6, 1e6, 40e6, 9e6}};      /* no line at all */
    static const char *const variants[] = {"flat", "straight", "wild"};
    char *directory = cli_tempdir();
    FILE *file = fopen(cli_in(directory, "results.jsonl"), "w");
    assert_non_null(file);
    for (int i = 0; i < 15; i++)
        fprintf(file,
                "{\"workload\": \"made\", \"n\": %d, \"variant\": \"%s\", \"backend\": \"host\", "
                "\"status\": \"ok\", \"forward_ns_mean\": 9e9, \"forward_ns_median\": %g, "
                "\"forward_ns_min\": %g, \"forward_ns_max\": 9e12, \"forward_ns_std\": 9e9}\n",
                4 << i % 5, variants[i / 5], times[i / 5][i % 5], times[i / 5][i % 5] * 0.9);
    assert_int_equal(fclose(file), 0);
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *script = cli_read_text(directory, "scaling-n-made.gp");
    char *data = cli_read_text(directory, "scaling-n-made.dat");
    char *svg = cli_read_text(directory, "scaling-n-made.svg");
    size_t lines = 0, joins = 0;
    for (const char *at = script; (at = strstr(at, "*x : NaN")); at++)
        lines++;
    for (const char *at = script; (at = strstr(at, "dashtype 3")); at++)
        joins++;
    assert_int_equal(lines, 1);
    assert_int_equal(joins, 2);
    /* The line ends where its points do. */
    assert_non_null(strstr(script, "(x >= 3.999996 && x <= 64.000064 ? "));
    assert_non_null(strstr(data, "4\t1\t0.9\t9000000\n"));
    /* A bar of hours does not make the axis, and is said to go on. */
    double low, high;
    const char *range = strstr(script, "set yrange [");
    assert_non_null(range);
    assert_int_equal(sscanf(range, "set yrange [%lf:%lf]", &low, &high), 2);
    assert_true(low > 0.5 && low < 0.7 && high < 200);
    assert_non_null(strstr(svg, "shortest iteration to the"));
    assert_non_null(strstr(svg, "cut at a triangle"));
    free(svg);
    free(script);
    free(data);
    cli_tempdir_remove(directory);
}

/* Two variants with a + b·n of 1 + 0.5·n and 5 + 0.1·n ms forward, which meet at 10; none backward. */
static void test_scaling_with_a_crossing(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir(), name[] = "scaling-n-made.svg";
    FILE *file = fopen(cli_in(directory, "results.jsonl"), "w");
    assert_non_null(file);
    for (int i = 0; i < 10; i++) {
        int n = 4 << i % 5;
        fprintf(file,
                "{\"workload\": \"made\", \"n\": %d, \"variant\": \"%s\", \"backend\": \"host\", "
                "\"status\": \"ok\", \"forward_ns_median\": %d, \"trace\": null}\n",
                n, i < 5 ? "it's simple" : "clever",
                i < 5 ? 1000000 + 500000 * n : 5000000 + 100000 * n);
    }
    assert_int_equal(fclose(file), 0);
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, name));
    char *svg = cli_read_text(directory, name),
         *data = cli_read_text(directory, "scaling-n-made.dat");
    char *script = cli_read_text(directory, "scaling-n-made.gp");
    assert_non_null(strstr(svg, "meets variant=clever at 10 (10 to"));
    assert_non_null(strstr(svg, "clever"));
    assert_non_null(strstr(data, "4\t3\t3\t3\n8\t5\t5\t5\n"));
    assert_non_null(strstr(script, "1 + 0.5*x"));
    assert_non_null(strstr(script, "5 + 0.1*x"));
    free(svg);
    free(data);
    free(script);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Over partitions, which colours stand for in other charts, each line has a colour of its own. */
static void test_scaling_over_partitions(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    FILE *file = fopen(cli_in(directory, "results.jsonl"), "w");
    assert_non_null(file);
    for (int i = 0; i < 24; i++)
        fprintf(
            file,
            "{\"workload\": \"gpipe\", \"partitions\": %d, \"checkpoint\": %s, \"engine\": \"%s\", "
            "\"schedule\": \"%s\", \"backend\": \"host\", \"status\": \"ok\", "
            "\"forward_ns_median\": %d, \"trace\": null}\n",
            1 << i % 3, i / 3 % 2 ? "true" : "false", i / 6 % 2 ? "self" : "torchgpipe",
            i / 12 ? "gpipe" : "1f1b", 1000000 + 500000 * (i / 3) + 100000 * (i % 3));
    assert_int_equal(fclose(file), 0);
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    char *script = cli_read_text(directory, "scaling-partitions-gpipe.gp");
    static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73", "#000000"};
    for (size_t i = 0; i < 4; i++)
        if (!strcasestr(script, colors[i]))
            fail_msg("no line is %s", colors[i]);
    free(script);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scaling_with_a_crossing),
        cmocka_unit_test(test_scaling_without_a_line),
        cmocka_unit_test(test_scaling_over_partitions),
        cmocka_unit_test(test_linear_alone),
        cmocka_unit_test(test_repetitions),
        cmocka_unit_test(bars_are_of_what_is_known),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_switchback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
