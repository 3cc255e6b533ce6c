/* Charts: pictures, scripts and data of the fragment study, and what must not reach gnuplot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "plot_kit.h"

static void test_svg(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir(), expected[4096];
    plot_write_rows(directory, "A CPU");
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    snprintf(expected, sizeof(expected), "%s/fragments-size64-batch1.svg\n", directory);
    assert_string_equal(result.out, expected);
    assert_string_equal(result.err, "");
    char *svg = cli_read_text(directory, "fragments-size64-batch1.svg");
    static const char *const texts[] = {
        "64 × 64, batch 1",    "A CPU",          "inference, looped",
        "inference, grouped",  "memory (MiB)",   "time (ms)",
        "number of fragments", "1 not measured", "</svg>"};
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++)
        if (!strstr(svg, texts[i]))
            fail_msg("no '%s' in the picture", texts[i]);
    free(svg);
    char *data = cli_read_text(directory, "fragments-size64-batch1.dat");
    assert_non_null(strstr(data, "# looped\n2\t0.04\tNaN\tNaN\t0.09\tNaN\tNaN\t2\t4416\n"
                                 "8\t0.16\tNaN\tNaN\t0.09\tNaN\tNaN\t2\t4416\n"));
    assert_null(strstr(data, "\n32\t"));
    free(data);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* A folder of the name of a picture is what nobody wants. */
static void no_folder_gets_the_name_of_a_picture(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), *pictures = cli_tempdir();
    const char *picture = cli_in(pictures, "chart.svg");
    plot_write_rows(directory, "A CPU");
    const char *const argv[] = {"nvtally", "plot", "-o", picture, directory, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "plot -o takes a folder for its pictures");
    assert_int_equal(access(picture, F_OK), -1);
    if (cli_has_gnuplot()) {
        assert_int_equal(mkdir(picture, 0700), 0);
        result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
    cli_tempdir_remove(pictures);
}

static void test_other_formats(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir(), *pictures = cli_tempdir(), below[4096];
    snprintf(below, sizeof(below), "%s/new", pictures);
    plot_write_rows(directory, "A CPU");
    const char *const pdf[] = {"nvtally", "plot", "-f", "pdf", "-o", below, directory, NULL};
    struct cli_result result = cli_run(pdf);
    cli_expect_status(&result, 0);
    /* Text of 12 px, which none is smaller than, is 7 pt in the column: gnuplot's point is 4/3 of one in a PDF. */
    char *pdf_script = cli_read_text(below, "fragments-size64-batch1.gp");
    const char *scale = strstr(pdf_script, " fontscale ");
    assert_non_null(scale);
    assert_non_null(strstr(pdf_script, "size 8.5cm,"));
    assert_true(12 * strtod(scale + strlen(" fontscale "), NULL) * 4 / 3 >= 7);
    free(pdf_script);
    char *picture = cli_read_text(below, "fragments-size64-batch1.pdf");
    assert_int_equal(memcmp(picture, "%PDF-", 5), 0);
    free(picture);
    cli_result_free(&result);
    assert_null(cli_read_file(cli_in(directory, "fragments-size64-batch1.gp"), NULL));
    const char *const png[] = {"nvtally", "plot", directory, "--format=png", NULL};
    result = cli_run(png);
    cli_expect_status(&result, 0);
    picture = cli_read_text(directory, "fragments-size64-batch1.png");
    assert_int_equal(memcmp(picture, "\x89PNG", 4), 0);
    free(picture);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
    cli_tempdir_remove(pictures);
}

/* The script beside the picture draws it again, by itself. */
static void test_restyle(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    plot_write_rows(directory, "A CPU");
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    unlink(cli_in(directory, "fragments-size64-batch1.svg"));
    /* In the plain C locale gnuplot says that it has no degree sign. */
    const char *const environment[] = {"LC_ALL=C.UTF-8", NULL};
    struct cli_options options = {.directory = directory, .environment = environment};
    const char *const argv[] = {"gnuplot", "fragments-size64-batch1.gp", NULL};
    result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.err, "");
    free(cli_read_text(directory, "fragments-size64-batch1.svg"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* A device may call itself anything: it is drawn, never run. */
static void test_hostile_text(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char *const devices[] = {
        "x'; system('touch pwned'); y='",
        "`touch pwned`",
        "$(touch pwned) \\\\' ; system \\\"touch pwned\\\" #",
        "a\\nsystem 'touch pwned'\\n",
        "@pwned {/Symbol a} \\u0000 \\u001b[31m <b>&amp;</b> \\ud83d\\ude80",
        "%s%n%s%n \\\\\\\\",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(devices); i++) {
        char *directory = cli_tempdir();
        plot_write_rows(directory, devices[i]);
        struct cli_options options = {.directory = directory};
        const char *const argv[] = {"nvtally", "plot", ".", NULL};
        struct cli_result result = cli_run_with(&options, argv);
        cli_expect_status(&result, 0);
        assert_string_equal(result.out, "./fragments-size64-batch1.svg\n");
        assert_null(cli_read_file(cli_in(directory, "pwned"), NULL));
        free(cli_read_text(directory, "fragments-size64-batch1.svg"));
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

static void test_gnuplot_missing_or_failing(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), path[4096];
    plot_write_rows(directory, "A CPU");
    const char *const argv[] = {"nvtally", "plot", directory, NULL};
    const char *const nowhere[] = {"PATH=/nonexistent", NULL};
    struct cli_options options = {.environment = nowhere};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "gnuplot-nox");
    cli_result_free(&result);
    char *fake = strdup(cli_in(directory, "gnuplot"));
    static const char script[] = "#!/bin/sh\necho 'line 1: no such terminal' >&2\nexit 3\n";
    cli_write_file(fake, script, strlen(script));
    const char *const chmod[] = {"chmod", "+x", fake, NULL};
    result = cli_run(chmod);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", directory);
    const char *const here[] = {path, NULL};
    options.environment = here;
    result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "line 1: no such terminal");
    cli_result_free(&result);
    free(fake);
    cli_tempdir_remove(directory);
}

static void test_nothing_to_draw(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    static const char other[] = "{\"workload\": \"somethingelse\", \"size\": 1}\n";
    cli_write_file(cli_in(directory, "results.jsonl"), other, strlen(other));
    struct cli_result result = plot_run(directory, NULL, NULL);
    cli_expect_failure(&result, directory);
    cli_result_free(&result);
    result = plot_run(NULL, NULL, NULL);
    cli_expect_failure(&result, "no trace or directory");
    cli_result_free(&result);
    result = plot_run("-f", "bmp", directory);
    cli_expect_failure(&result, "bmp");
    cli_result_free(&result);
    plot_write_rows(directory, "A CPU");
    result = plot_run("-o/proc/no/place", directory, NULL);
    cli_expect_failure(&result, "/proc/no/place");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Values that no chart was made for: zero times, one row only, no fragments at all, huge ones. */
static void test_odd_values(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char *const rows[] = {
        "\"mode\": \"train\", \"fragments\": 4, \"forward_ns_mean\": 0",
        "\"mode\": \"train\", \"fragments\": 4, \"forward_ns_mean\": 5, \"forward_ns_std\": 1e300",
        "\"mode\": \"train\", \"fragments\": 4503599627370496, \"forward_ns_mean\": 1e18",
        "\"mode\": \"train\", \"fragments\": 1, \"forward_ns_mean\": 1e-300, \"parameters\": -1",
        "\"mode\": \"train\", \"fragments\": 1, \"forward_ns_mean\": -4",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(rows); i++) {
        char *directory = cli_tempdir(), text[1000];
        snprintf(text, sizeof(text),
                 "{\"workload\": \"fragmented\", \"size\": 8, \"batch\": 1, %s}\n", rows[i]);
        cli_write_file(cli_in(directory, "results.jsonl"), text, strlen(text));
        struct cli_result result = plot_run(directory, NULL, NULL);
        if (result.status)
            print_error("%s\n", rows[i]);
        cli_expect_status(&result, 0);
        free(cli_read_text(directory, "fragments-size8-batch1.svg"));
        cli_result_free(&result);
        cli_tempdir_remove(directory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg),
        cmocka_unit_test(no_folder_gets_the_name_of_a_picture),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_restyle),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_gnuplot_missing_or_failing),
        cmocka_unit_test(test_nothing_to_draw),
        cmocka_unit_test(test_odd_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
