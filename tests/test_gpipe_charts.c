/*
 * The charts of the pipeline study: what they say of their rows, lines that would hide each other, and parts of the
 * model on one partition.
 */
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

static void run(const char *const argv[])
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* A file of the pictures of a directory, drawn into itself. */
static char *drawn(const char *directory, const char *name)
{
    run((const char *const[]){"nvtally", "plot", directory, "-o", directory, NULL});
    char *text = cli_read_file(cli_in(directory, name), NULL);
    assert_non_null(text);
    return text;
}

static void expect(const char *text, const char *needle)
{
    if (!strstr(text, needle))
        fail_msg("no '%s' in\n%s", needle, text);
}

#define ROW(k, m, checkpoint, memory, rest)                                                        \
    "{\"workload\": \"gpipe\", \"partitions\": " k ", \"microbatches\": " m                        \
    ", \"checkpoint\": " checkpoint ", \"engine\": \"self\", \"schedule\": \"1f1b\", "             \
    "\"virtual_stages\": null, \"transport\": \"local\", \"model\": \"gpt2\", "                    \
    "\"attention_axis\": \"batch\", \"batch\": 8, \"d_model\": 32, \"backend\": \"host\", "        \
    "\"device\": \"made\", \"collect\": \"off\", " rest "\"status\": \"ok\", \"peak_activation_"   \
    "bytes\": " memory ", \"throughput_samples_per_s\": 10" memory "}\n"

static void write_rows(const char *rows)
{
    cli_write_file(cli_in(cli_folder, "results.jsonl"), rows, strlen(rows));
}

/* Checkpointing changes nothing with one partition, a stretch of it with two, and one point with four. */
static void lines_do_not_hide_each_other(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    write_rows(ROW("1", "1", "false", "3000000", "") ROW("1", "2", "false", "2000000", "")
                   ROW("1", "1", "true", "3000001", "") ROW("1", "2", "true", "2000000", "") ROW(
                       "2", "1", "false", "5000000", "") ROW("2", "2", "false", "5000000", "")
                       ROW("2", "4", "false", "5000000", "") ROW("2", "1", "true", "5000000", "")
                           ROW("2", "2", "true", "5000000", "") ROW("2", "4", "true", "1000000", "")
                               ROW("4", "1", "false", "9000000", "")
                                   ROW("4", "2", "false", "8000000", "")
                                       ROW("4", "1", "true", "9000000", "")
                                           ROW("4", "2", "true", "7000000", ""));
    char *script = drawn(cli_folder, "gpipe-memory.gp");
    static const struct {
        const char *line, *style;
    } wanted[] = {{"'e0k1c0'", "linespoints linecolor '#0072B2' linewidth 3"},
                  {"'e0k1c1'", "linewidth 1.2 dashtype 1 linecolor 'white'"},
                  {"'e0k2c0'", "linespoints linecolor '#D55E00' linewidth 3"},
                  {"'e0k2c1'", "linewidth 1.2 dashtype 1 linecolor 'white'"},
                  {"'e0k4c0'", "linespoints linecolor '#009E73' linewidth 1.6 dashtype 1"},
                  {"'e0k4c1'", "linespoints linecolor '#009E73' linewidth 1.6 dashtype 2"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wanted); i++) {
        char *at = strstr(script, wanted[i].line);
        assert_non_null(at);
        char *end = strchr(at, '\n');
        assert_non_null(end);
        *end = 0;
        expect(at, wanted[i].style);
        *end = '\n';
    }
    free(script);
}

/* What all rows have in common stands below, and nothing that they have not. */
static void charts_say_what_was_run(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    write_rows(ROW("1", "1", "false", "3000000", "") ROW("2", "2", "true", "2000000", ""));
    static const char *const names[] = {"gpipe-memory.svg", "gpipe-throughput.svg"};
    for (int i = 0; i < 2; i++) {
        char *picture = drawn(cli_folder, names[i]);
        expect(picture, ">model=gpt2 schedule=1f1b attention_axis=batch batch=8<");
        assert_null(strstr(picture, "partitions="));
        assert_null(strstr(picture, "virtual_stages"));
        free(picture);
    }
}

/* Rows that the lines are not of are counted, and what they differ in stands below. */
static void charts_say_what_they_leave_out(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char rows[] = ROW("1", "1", "false", "3000000", "") ROW("2", "2", "true", "2000000", "")
        ROW("2", "4", "true", "1000000", "");
    char *transport = strstr(strstr(rows, "local") + 1, "\"local\"");
    memcpy(transport, "\"mpi\"  ", 7);
    write_rows(rows);
    char *picture = drawn(cli_folder, "gpipe-memory.svg");
    expect(picture, ">1 row of another transport not shown.<");
    expect(picture, ">model=gpt2 schedule=1f1b transport=local");
    free(picture);
}

/* Throughput of completed work, of launches, and of both. */
static void throughput_says_which_times_it_is_of(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const struct {
        const char *rows, *said;
    } cases[] = {
        {ROW("1", "1", "false", "3000000", "\"step_ns_mean\": 5, "),
         ">Forward and backward, completed; engine self.<"},
        {ROW("1", "1", "false", "3000000", "\"source\": \"published\", \"step_ns_mean\": 5, "),
         ">Forward and backward, completed; engine self.<"},
        {ROW("1", "1", "false", "3000000", "\"source\": \"published\", "),
         ">Forward and backward, launched, not waited for; engine self.<"},
        {ROW("1", "1", "false", "3000000", "\"source\": \"published\", ")
             ROW("1", "2", "false", "3000000", ""),
         ">Forward and backward, completed; of published rows,"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        write_rows(cases[i].rows);
        char *picture = drawn(cli_folder, "gpipe-throughput.svg");
        expect(picture, cases[i].said);
        free(picture);
    }
    const char *published = cli_in(cli_folder, "published");
    run((const char *const[]){"nvtally", "import", "data/published/gpipe.log", "-o", published,
                              NULL});
    char *picture = drawn(published, "gpipe-throughput.svg");
    expect(picture, ">Forward and backward, launched, not waited for.<");
    expect(picture, ">model=gpt2 batch=64<");
    free(picture);
}

/* Without checkpoints nothing is recomputed, and no key says that something is. */
static void keys_are_of_what_is_there(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    const char *out = cli_in(cli_folder, "kept");
    run((const char *const[]){"nvtally", "run",
                              "gpipe",   "--partitions",
                              "2",       "--microbatches",
                              "2",       "--checkpoint",
                              "off",     "--engine",
                              "self",    "--d-model",
                              "16",      "--layers",
                              "2",       "--heads",
                              "2",       "--d-ff",
                              "32",      "--vocabulary",
                              "32",      "--batch",
                              "4",       "--sequence",
                              "8",       "--iterations",
                              "2",       "--backend",
                              "host",    "-o",
                              out,       NULL});
    char *picture = drawn(out, "gpipe-schedule.svg");
    expect(picture, ">forward<");
    expect(picture, ">backward<");
    assert_null(strstr(picture, ">recompute<"));
    free(picture);
}

/* A dashed key is dashed beside one of the same colour that is not. */
static void keys_have_the_dashes_of_their_lines(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    write_rows(ROW("1", "1", "false", "5000000", "") ROW("1", "2", "false", "4000000", "")
                   ROW("1", "1", "true", "3000000", "") ROW("1", "2", "true", "2000000", "")
                       ROW("2", "1", "false", "9000000", "") ROW("2", "2", "false", "8000000", "")
                           ROW("2", "1", "true", "7000000", "")
                               ROW("2", "2", "true", "6000000", ""));
    char *picture = drawn(cli_folder, "gpipe-memory.svg");
    int dashed = 0;
    for (const char *at = picture; (at = strstr(at, "stroke-dasharray")) != NULL; at++)
        dashed++;
    assert_int_equal(dashed, 4);
    free(picture);
}

/* Of an interleaved schedule a partition has two boxes for each micro-batch: they differ, and the legend says how. */
static void parts_on_a_partition_are_told_apart(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    const char *out = cli_in(cli_folder, "parts");
    run((const char *const[]){"nvtally",     "run",          "gpipe", "--schedule",
                              "interleaved", "--partitions", "2",     "--microbatches",
                              "2",           "--checkpoint", "on",    "--engine",
                              "self",        "--d-model",    "16",    "--layers",
                              "2",           "--heads",      "2",     "--d-ff",
                              "32",          "--vocabulary", "32",    "--batch",
                              "4",           "--sequence",   "8",     "--warmup",
                              "1",           "--iterations", "2",     "--backend",
                              "host",        "-o",           out,     NULL});
    char *picture = drawn(out, "gpipe-schedule.svg");
    static const char *const said[] = {">forward<", ">forward .1<", ">backward .1<",
                                       ">recompute .1<",
                                       ">.1, paler: the second part of the model on a partition.<"};
    for (size_t i = 0; i < NVT_COUNT_OF(said); i++)
        expect(picture, said[i]);
    free(picture);
    char *script = drawn(out, "gpipe-schedule.gp");
    static const char *const drawn_as[] = {
        "'forward' using ($5==0?$1:NaN):3:1:(until($1,$2)):($3-0.36):($3+0.36) with boxxyerror "
        "fillcolor "
        "'#56B4E9'",
        "'forward' using ($5>=1?$1:NaN):3:1:(until($1,$2)):($3-0.36):($3+0.36) with boxxyerror "
        "fillcolor "
        "'#88CAEF'",
        "($5>0?sprintf('%d.%d',$4,$5):sprintf('%d',$4)) with labels"};
    for (size_t i = 0; i < NVT_COUNT_OF(drawn_as); i++)
        expect(script, drawn_as[i]);
    free(script);
    /* A forward of each micro-batch in each part of each partition. */
    char *data = drawn(out, "gpipe-schedule.dat");
    int seen[2][2][2] = {{{0}}}, partition, microbatch, part;
    for (char *at = strstr(data, "# forward\n"); (at = strchr(at, '\n')) && at[1] != '\n'; at++)
        if (sscanf(at + 1, "%*g\t%*g\t%d\t%d\t%d", &partition, &microbatch, &part) == 3 &&
            at[1] != '-') {
            assert_in_range(partition, 0, 1);
            assert_in_range(microbatch, 0, 1);
            assert_in_range(part, 0, 1);
            seen[partition][microbatch][part]++;
        }
    for (int i = 0; i < 8; i++)
        assert_int_equal(seen[i / 4][i / 2 % 2][i % 2], 1);
    free(data);
}

/* Each schedule of a sweep has pictures of its own, and none of them misses a row. */
static void schedules_have_their_own_pictures(void **state)
{
    (void)state;
    static const char *const names[] = {"gpipe-memory", "gpipe-throughput", "gpipe-schedule",
                                        "gpipe-memory-time"};
    static const char *const schedules[] = {"gpipe", "1f1b", "interleaved"};
    if (!cli_has_gnuplot())
        skip();
    const char *out = cli_in(cli_folder, "schedules");
    run((const char *const[]){"nvtally",
                              "run",
                              "gpipe",
                              "--partitions",
                              "2",
                              "--microbatches",
                              "2,4",
                              "--schedule",
                              "gpipe,1f1b,interleaved",
                              "--layers",
                              "4",
                              "--d-model",
                              "16",
                              "--heads",
                              "2",
                              "--d-ff",
                              "16",
                              "--batch",
                              "4",
                              "--sequence",
                              "4",
                              "--vocabulary",
                              "11",
                              "--iterations",
                              "2",
                              "--warmup",
                              "0",
                              "-o",
                              out,
                              NULL});
    run((const char *const[]){"nvtally", "plot", out, "-o", out, NULL});
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            char name[80];
            snprintf(name, sizeof(name), "%s%s%s.svg", names[i], k ? "-" : "",
                     k ? schedules[k] : "");
            char *picture = cli_read_file(cli_in(out, name), NULL);
            if (!picture)
                fail_msg("no %s", name);
            char wanted[40];
            snprintf(wanted, sizeof(wanted), "schedule=%s", schedules[k]);
            expect(picture, wanted);
            assert_null(strstr(picture, "not shown"));
            free(picture);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_do_not_hide_each_other, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(charts_say_what_was_run, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(charts_say_what_they_leave_out, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(throughput_says_which_times_it_is_of, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(keys_are_of_what_is_there, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(keys_have_the_dashes_of_their_lines, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(schedules_have_their_own_pictures, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(parts_on_a_partition_are_told_apart, cli_folder_set_up,
                                        cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
