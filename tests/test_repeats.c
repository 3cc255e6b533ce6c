/* Repetitions of a run are one row, and rows that were measured differently are told apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/input/repeats.h"
#include "cli.h"

static struct nvt_error err = NVT_ERROR_INIT;

/* Rows of a run --collect off,nvtx --repeat 2: of 2 iterations of 10 and 20, and of 30 and 40, at `off`; ten times as
 * much at `nvtx`. Then one that is no repetition of theirs. */
static void put_rows(FILE *out, const char *workload, const char *axes)
{
    for (int i = 0; i < 4; i++) {
        const double low = (i < 2 ? 10 : 30) * (i % 2 ? 10 : 1), step = i % 2 ? 100 : 10;
        fprintf(
            out,
            "{\"workload\": \"%s\", %s, \"backend\": \"host\", \"collect\": \"%s\", "
            "\"warmup\": 5, \"repeat\": %d, \"iterations\": 2, \"seed\": %d, \"device\": \"x\", "
            "\"status\": \"ok\", \"message\": null, "
            "\"forward_ns_mean\": %ge6, \"forward_ns_std\": %.17ge6, "
            "\"forward_ns_min\": %ge6, \"forward_ns_median\": %ge6, \"forward_ns_max\": %ge6, "
            "\"peak_allocated_bytes\": %d, \"parameters\": 100, \"flops_forward\": 1000, "
            "\"trace\": null, \"date\": \"2026-01-0%dT00:00:00Z\"}\n",
            workload, axes, i % 2 ? "nvtx" : "off", i / 2 + 1, i / 2, low + step / 2,
            step / sqrt(2), low, low + step / 2, low + step, (i / 2 + 1) << 20, i + 1);
    }
}

static void write_rows(const char *directory, const char *workload, const char *const *axes)
{
    FILE *out = fopen(cli_in(directory, "results.jsonl"), "w");
    assert_non_null(out);
    for (; *axes; axes++)
        put_rows(out, workload, *axes);
    fclose(out);
}

static char *stats(const char *directory, const char *report, const char *format)
{
    const char *const argv[] = {"nvtally", "stats", directory, "-r", report, "-f", format, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    char *text = strdup(result.out);
    cli_result_free(&result);
    return text;
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (; (text = strstr(text, what)); text++)
        count++;
    return count;
}

static void the_numbers_are_those_of_all_iterations(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    static const char *const axes[] = {"\"size\": \"tiny\"", NULL};
    write_rows(directory, "transformer", axes);
    struct nvt_input input = {0}, together;
    assert_int_equal(nvt_input_add(&input, directory, &err), 0);
    assert_int_equal(nvt_repeats_together(&input, &together, &err), 0);
    assert_int_equal(together.runs[0]->count, 2);
    const struct nvt_record *off = &together.runs[0]->records[0];
    assert_string_equal(nvt_record_text(off, "collect"), "off");
    assert_string_equal(nvt_record_text(&together.runs[0]->records[1], "collect"), "nvtx");
    /* 10, 20, 30, 40: mean 25, deviation √(500 / 3). */
    assert_true(nvt_record_number(off, "iterations") == 4);
    assert_true(nvt_record_number(off, "forward_ns_mean") == 25e6);
    assert_true(fabs(nvt_record_number(off, "forward_ns_std") / 1e6 - sqrt(500.0 / 3)) < 1e-9);
    assert_true(nvt_record_number(off, "forward_ns_min") == 10e6);
    assert_true(nvt_record_number(off, "forward_ns_max") == 40e6);
    assert_true(isnan(nvt_record_number(off, "forward_ns_median")));
    assert_true(nvt_record_number(off, "peak_allocated_bytes") == 2 << 20);
    assert_true(nvt_record_number(off, "parameters") == 100);
    nvt_note(&together, "a note");
    nvt_repeats_free(&together, &input);
    assert_int_equal(input.notes.size, strlen("a note\n"));
    nvt_input_free(&input);
    char *text = stats(directory, "phases", "csv");
    assert_int_equal(count_of(text, "\n"), 3);
    assert_non_null(strstr(text,
                           "transformer,size=tiny collect=off,forward,4,25000000.0,12909944.5,"
                           "10000000,,40000000,0.000000,"));
    assert_non_null(strstr(text, "transformer,size=tiny collect=nvtx,forward,4,250000000.0,"));
    free(text);
    cli_tempdir_remove(directory);
}

static void a_table_of_the_write_up_has_a_row_a_size(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    static const char *const axes[] = {"\"size\": \"tiny\"", "\"size\": \"small\"", NULL};
    write_rows(directory, "transformer", axes);
    char *text = stats(directory, "overhead", "published");
    assert_int_equal(count_of(text, "| tiny "), 2);
    assert_int_equal(count_of(text, "| small "), 2);
    /* √(500 / 4) ms: the deviations of the layout divide by n. */
    assert_non_null(strstr(text, "0.025 "));
    assert_non_null(strstr(text, "0.0111803 |"));
    free(text);
    cli_tempdir_remove(directory);
}

/* What a layout with rows of two levels says, and what is read of it again. */
static void expect_levels(const char *directory, const char *report, const char *row, int rows)
{
    char *text = stats(directory, report, "published");
    const char *off = strstr(text, "Measured with collect=off:\n");
    const char *nvtx = strstr(text, "\n\nMeasured with collect=nvtx:\n");
    assert_ptr_equal(off, text);
    assert_non_null(nvtx);
    assert_int_equal(count_of(off, row), 2 * rows);
    assert_int_equal(count_of(nvtx, row), rows);
    char *again = strdup(cli_in(directory, "again"));
    const char *log = cli_in(directory, "log");
    cli_write_file(log, text, strlen(text));
    const char *const import[] = {"nvtally", "import", log, "-o", again, NULL};
    struct cli_result result = cli_run(import);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *same = stats(again, report, "published");
    assert_string_equal(same, text);
    free(same);
    char *table = stats(again, report, "csv");
    assert_non_null(strstr(table, "collect=nvtx\n"));
    free(table);
    free(again);
    free(text);
}

static void levels_are_named_where_they_differ(void **state)
{
    (void)state;
    static const char *const linear[] = {
        "\"size\": 64, \"batch\": 1, \"mode\": \"linear\", \"fragments\": null, \"variant\": null",
        "\"size\": 64, \"batch\": 1, \"mode\": \"train\", \"fragments\": 2, \"variant\": null",
        "\"size\": 64, \"batch\": 2, \"mode\": \"train\", \"fragments\": 2, \"variant\": null",
        NULL};
    char *directory = cli_tempdir();
    write_rows(directory, "fragmented", linear);
    expect_levels(directory, "fragments", "Parameters: 100\n", 3);
    char *text = stats(directory, "fragments", "published");
    assert_int_equal(count_of(text, "Linear Layer:"), 2);
    assert_int_equal(count_of(text, "Forward time: 25.00ms\n"), 3);
    assert_int_equal(count_of(text, "Forward time: 250.00ms\n"), 3);
    assert_int_equal(count_of(text, "Peak memory: 2.0MB\n"), 6);
    free(text);
    cli_tempdir_remove(directory);
}

static void lines_of_switchback_too(void **state)
{
    (void)state;
    static const char *const axes[] = {
        "\"dim\": 64, \"batch\": 8, \"width_multiplier\": 4, \"switch\": false, \"dim_in\": 64, "
        "\"dim_out\": 256, \"standard_fwd\": 1",
        NULL};
    char *directory = cli_tempdir();
    write_rows(directory, "switchback", axes);
    char *text = stats(directory, "phases", "published");
    assert_int_equal(count_of(text, "{\"repeat\": 4, "), 2);
    assert_int_equal(count_of(text, "Measured with collect="), 2);
    free(text);
    cli_tempdir_remove(directory);
}

/* Without levels and repetitions a layout is as it was. */
static void one_level_is_not_named(void **state)
{
    (void)state;
    static const char row[] =
        "{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"mode\": \"linear\", "
        "\"fragments\": null, \"backend\": \"host\", \"collect\": \"nvtx\", \"iterations\": 2, "
        "\"status\": \"ok\", \"forward_ns_mean\": 1e6, \"parameters\": 4160}\n";
    char *directory = cli_tempdir();
    cli_write_file(cli_in(directory, "results.jsonl"), row, strlen(row));
    char *text = stats(directory, "fragments", "published");
    assert_string_equal(text, "Benchmarking with input_size=64, output_size=64, batch_size=1\n\n"
                              "Detailed Results:\nLinear Layer:\n  Forward time: 1.00ms\n"
                              "  Parameters: 4160\n");
    free(text);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_are_those_of_all_iterations),
        cmocka_unit_test(a_table_of_the_write_up_has_a_row_a_size),
        cmocka_unit_test(levels_are_named_where_they_differ),
        cmocka_unit_test(lines_of_switchback_too),
        cmocka_unit_test(one_level_is_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
