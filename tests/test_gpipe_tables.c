/*
 * What `stats` makes of the rows of `gpipe`: the study's table, and its published log, which is read again.
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

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

#define LINE_MAX 1200

/* One run of both engines, all schedules and both kinds of checkpointing, for all tests. */
static int run_once(void **state)
{
    if (cli_folder_set_up(state))
        return -1;
    struct cli_result result = cli_run((const char *const[]){"nvtally",
                                                             "run",
                                                             "gpipe",
                                                             "--partitions",
                                                             "2",
                                                             "--microbatches",
                                                             "4",
                                                             "--schedule",
                                                             "gpipe,1f1b,interleaved",
                                                             "--d-model",
                                                             "32",
                                                             "--layers",
                                                             "4",
                                                             "--heads",
                                                             "4",
                                                             "--d-ff",
                                                             "128",
                                                             "--batch",
                                                             "8",
                                                             "--sequence",
                                                             "16",
                                                             "--vocabulary",
                                                             "100",
                                                             "--warmup",
                                                             "1",
                                                             "--iterations",
                                                             "2",
                                                             "--collect",
                                                             "off",
                                                             "--backend",
                                                             "host",
                                                             "-o",
                                                             cli_in(cli_folder, "run"),
                                                             NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return 0;
}

static struct cli_result stats(const char *directory, const char *format)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "stats", directory, "-r", "gpipe", "-f", format, NULL});
    cli_expect_status(&result, 0);
    return result;
}

/* A directory of rows that the test makes up; its name. */
static const char *made_run(const char *name, const char *rows)
{
    const char *directory = cli_in(cli_folder, name);
    struct cli_result result = cli_run((const char *const[]){"mkdir", directory, NULL});
    cli_result_free(&result);
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    return directory;
}

static const char *import(const char *name, const char *log)
{
    char file[80];
    snprintf(file, sizeof(file), "%s.log", name);
    const char *directory = cli_in(cli_folder, name), *path = cli_in(cli_folder, file);
    cli_write_file(path, log, strlen(log));
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "import", path, "-o", directory, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return directory;
}

/* --- the log -------------------------------------------------------------------------------------------- */

/* Between launched and completed times. */
#define NOTE "Times above: when all was launched, as in the published log. When all was done:\n"

/* A line with '#' for every number, and "cuda" for every device. */
static void shape_of(const char *line, char out[LINE_MAX])
{
    size_t used = 0;
    if (!strncmp(line, "cpu:", 4)) {
        used = (size_t)snprintf(out, LINE_MAX, "cuda:");
        line += 4;
    }
    while (*line && *line != '\n' && used + 1 < LINE_MAX) {
        size_t number = strspn(line, "0123456789,.");
        int is_number = number && strspn(line, "0123456789");
        out[used++] = is_number ? '#' : *line;
        line += is_number ? number : 1;
    }
    out[used] = 0;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

/* Whether the configuration at `ours` has the lines of the one at `theirs`, one behind the other as they stand there, and then
 * nothing but what has been completed. */
static void expect_lines_of(const char *ours, const char *theirs)
{
    char wanted[LINE_MAX], got[LINE_MAX];
    for (theirs = next_line(theirs); *theirs && strncmp(theirs, "Running: ", 9);
         theirs = next_line(theirs)) {
        shape_of(theirs, wanted);
        ours = next_line(ours);
        shape_of(ours, got);
        assert_string_equal(got, wanted);
    }
    int own = 0;
    for (ours = next_line(ours); *ours && strncmp(ours, "Running: ", 9); ours = next_line(ours)) {
        shape_of(ours, got);
        assert_true(strstr(got, " (completed): #") || !strncmp(ours, NOTE, strlen(NOTE)));
        own++;
    }
    assert_int_equal(own, 4);
}

static const char *with_command(const char *log, const char *first, const char *second)
{
    for (const char *at = log; *at; at = next_line(at)) {
        size_t length = strcspn(at, "\n");
        if (!strncmp(at, "Running: ", 9) && memmem(at, length, first, strlen(first)) &&
            memmem(at, length, second, strlen(second)))
            return at;
    }
    fail_msg("no command with '%s' and '%s'", first, second);
    return NULL;
}

static void the_log_has_every_published_line(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {
        {"--checkpoint off --engine self", "-k 2 -m 4\n"},
        {"--checkpoint on --engine self", "-k 2 -m 4 -c\n"},
        {"--checkpoint off --engine torchgpipe", "-k 2 -m 4 -t\n"},
        {"--checkpoint on --engine torchgpipe", "-k 2 -m 4 -c -t\n"}};
    char *published = cli_read_file("data/published/gpipe.log", NULL);
    struct cli_result ours = stats(cli_in(cli_folder, "run"), "published");
    assert_non_null(published);
    for (size_t i = 0; i < 4; i++) {
        const char *theirs = strstr(published, kinds[i][1]);
        assert_non_null(theirs);
        expect_lines_of(with_command(ours.out, kinds[i][0], "--schedule gpipe "), theirs);
    }
    /* Once, and of the published log itself not at all. */
    const char *said = strstr(ours.err, "note: cuda:N, or cpu:N, is partition N");
    assert_non_null(said);
    assert_null(strstr(said + 1, "note: cuda:N"));
    struct cli_result again = stats(import("itself", published), "published");
    assert_null(strstr(again.err, "is partition N"));
    assert_string_equal(again.out, published);
    cli_result_free(&again);
    free(published);
    cli_result_free(&ours);
}

/* `COMMAND --list` is the configuration of the row. */
static void its_commands_repeat_the_rows(void **state)
{
    (void)state;
    static const char resnet[] =
        "{\"workload\": \"gpipe\", \"partitions\": 2, \"microbatches\": 2, \"checkpoint\": true, "
        "\"engine\": \"self\", \"schedule\": \"gpipe\", \"virtual_stages\": null, \"transport\": "
        "\"local\", \"model\": \"resnet\", \"attention_axis\": null, \"batch\": 4, \"backend\": "
        "\"host; rm\", \"warmup\": 0, \"iterations\": 1, \"seed\": 7, \"status\": \"ok\"}\n";
    const char *const directories[] = {cli_in(cli_folder, "run"), made_run("resnet", resnet)};
    for (size_t d = 0; d < 2; d++) {
        struct cli_result log = stats(directories[d], "published");
        struct nvt_runs *runs = cli_read_runs(directories[d]);
        size_t row = 0;
        for (const char *at = log.out; *at; at = next_line(at)) {
            static const char begin[] = "Running: nvtally run gpipe ";
            char command[LINE_MAX], wanted[LINE_MAX];
            if (strncmp(at, begin, strlen(begin)) != 0)
                continue;
            snprintf(command, sizeof(command), "exec \"$0\"%.*s --list",
                     (int)(strcspn(at, "\n") - 16), at + 16);
            struct cli_result list =
                cli_run((const char *const[]){"sh", "-c", command, cli_built("nvtally"), NULL});
            cli_expect_status(&list, 0);
            assert_true(row < runs->count);
            char *configuration = nvt_record_configuration(&runs->records[row++]);
            snprintf(wanted, sizeof(wanted), "gpipe %s\n", configuration);
            assert_string_equal(list.out, wanted);
            free(configuration);
            cli_result_free(&list);
        }
        assert_int_equal(row, runs->count);
        assert_true(row == (d ? 1 : 12));
        nvt_runs_free(runs);
        /* How it was measured, too; what cannot be a word of a command is none. */
        assert_non_null(strstr(log.out, d ? " --batch 4 --warmup 0 --iterations 1 --seed 7\n"
                                          : " --backend host --collect off --warmup 1 "
                                            "--iterations 2 --seed 1\n"));
        cli_result_free(&log);
    }
}

#define ROW(schedule, times)                                                                       \
    "{\"workload\": \"gpipe\", \"partitions\": 1, \"microbatches\": 1, \"checkpoint\": false, "    \
    "\"engine\": \"self\", \"schedule\": \"" schedule "\", \"transport\": \"local\", \"model\": "  \
    "\"gpt2\", \"batch\": 90, \"backend\": \"cuda\", \"device\": \"A made GPU\", "                 \
    "\"status\": \"ok\", " times ", \"throughput_samples_per_s\": 100, \"parameters\": 1, "        \
    "\"reserved_bytes_per_partition.0\": 4096, \"total_reserved_bytes\": 4096, "                   \
    "\"peak_activation_bytes\": 4084}\n"

#define APART                                                                                      \
    "\"step_ns_mean\": 9e8, \"forward_ns_mean\": 4e8, \"backward_ns_mean\": 5e8, "                 \
    "\"step_launch_ns_mean\": 6e8, \"forward_launch_ns_mean\": 1e8, \"backward_launch_ns_mean\": " \
    "2e8"
#define MIXED                                                                                      \
    "\"step_ns_mean\": 9e8, \"forward_ns_mean\": null, \"backward_ns_mean\": null, "               \
    "\"step_launch_ns_mean\": 3e8, \"forward_launch_ns_mean\": null, "                             \
    "\"backward_launch_ns_mean\": null"
#define BETWEEN                                                                                    \
    "Profiling Completed.\n"                                                                       \
    "--------------------------------------------------------------------------------\n"           \
    "Max memory per device:\ncuda:0: 4,096 Bytes (0.00 MiB)\n"

/* The published lines are of launches, and so is their throughput. */
static void the_log_says_which_times_are_which(void **state)
{
    (void)state;
    const char *directory = made_run("which", ROW("gpipe", APART) ROW("1f1b", MIXED));
    struct cli_result log = stats(directory, "published");
    assert_non_null(strstr(log.out, "Average Forward Time: 0.100 sec\n"
                                    "Average Backward Time: 0.200 sec\n"
                                    "Throughput: 300.000 samples/sec\n" BETWEEN NOTE
                                    "Average Forward Time (completed): 0.400 sec\n"
                                    "Average Backward Time (completed): 0.500 sec\n"
                                    "Throughput (completed): 100.000 samples/sec\n"
                                    "Running: "));
    assert_non_null(strstr(log.out, "Average Step Time: 0.300 sec\n"
                                    "Throughput: 300.000 samples/sec\n" BETWEEN NOTE
                                    "Average Step Time (completed): 0.900 sec\n"
                                    "Throughput (completed): 100.000 samples/sec\n"));
    /* Nor does reading it mix them up. */
    struct nvt_runs *runs = cli_read_runs(import("which-again", log.out));
    static const char *const keys[] = {
        "forward_ns_mean",         "backward_ns_mean", "forward_launch_ns_mean",
        "backward_launch_ns_mean", "step_ns_mean",     "step_launch_ns_mean",
        "throughput_samples_per_s"};
    static const double values[2][7] = {{4e8, 5e8, 1e8, 2e8, NAN, NAN, 100},
                                        {NAN, NAN, NAN, NAN, 9e8, 3e8, 100}};
    assert_int_equal(runs->count, 2);
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < 7; i++) {
            double got = nvt_record_number(&runs->records[row], keys[i]);
            if (isnan(got) != isnan(values[row][i]) || fabs(got - values[row][i]) > 1e-3)
                fail_msg("row %zu: %s is %g", row, keys[i], got);
        }
    nvt_runs_free(runs);
    cli_result_free(&log);
}

/* Every schedule's: to the byte, with the axes that only the command has, and where it ran. */
static void logs_of_ours_are_read_again(void **state)
{
    (void)state;
    struct cli_result first = stats(cli_in(cli_folder, "run"), "published");
    const char *directory = import("again", first.out);
    struct cli_result second = stats(directory, "published");
    assert_string_equal(first.out, second.out);
    struct nvt_runs *runs = cli_read_runs(directory);
    int schedules[3] = {0};
    assert_int_equal(runs->count, 12);
    assert_string_equal(nvt_record_text(&runs->env, "backend"), "host");
    for (size_t i = 0; i < runs->count; i++) {
        const char *schedule = nvt_record_text(&runs->records[i], "schedule");
        schedules[!strcmp(schedule, "gpipe") ? 0 : !strcmp(schedule, "1f1b") ? 1 : 2]++;
        assert_true(nvt_record_number(&runs->records[i], "d_model") == 32);
        assert_string_equal(nvt_record_text(&runs->records[i], "backend"), "host");
    }
    assert_true(schedules[0] == 4 && schedules[1] == 4 && schedules[2] == 4);
    nvt_runs_free(runs);
    cli_result_free(&first);
    cli_result_free(&second);
}

#define OLD(schedule)                                                                              \
    "Running: nvtally run gpipe --partitions 1 --microbatches 2 --checkpoint off --engine "        \
    "self" schedule "\nInitialize logger for experiment: gpt2_K1_M2_self\nnum_partitions: 1\n"     \
    "num_microbatches: 2\ncheckpoint_enabled: False\nuse_torchgpipe: False\nuse_resnet: False\n"   \
    "batch_size: 64\n# of Model Parameters: 1\nTotal Model Parameter Memory: 12 Bytes (0 GiB)\n"   \
    "Peak Activation Memory: 1 Bytes (0 GiB)\nTotal Memory: 13 Bytes (0 GiB)\n"                    \
    "Throughput: 5 samples/sec\nMax memory per device:\ncpu:0: 13 Bytes (0 MiB)\n"

/* Times are wanted of those that have them. */
static void only_mixed_schedules_need_no_times(void **state)
{
    (void)state;
    struct nvt_runs *runs =
        cli_read_runs(import("old", OLD(" --schedule 1f1b") OLD(" --schedule interleaved")));
    assert_int_equal(runs->count, 2);
    assert_string_equal(nvt_record_text(&runs->records[1], "schedule"), "interleaved");
    assert_true(nvt_record_number(&runs->records[0], "throughput_samples_per_s") == 5);
    nvt_runs_free(runs);
    static const char bad[] = OLD("") OLD(" --schedule 1f1b");
    const char *path = cli_in(cli_folder, "bad.log");
    cli_write_file(path, bad, strlen(bad));
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "import", path, "-o", cli_in(cli_folder, "bad"), NULL});
    cli_expect_failure(&result, "the configuration before this line is incomplete");
    cli_result_free(&result);
}

/* --- the table ------------------------------------------------------------------------------------------ */

/* The cell of a row (0: the headings) below a heading, of csv without quotes; "" where there is no such column. */
static const char *cell(const char *csv, int row, const char *heading, char out[80])
{
    size_t column = 0;
    const char *at = csv, *end = csv + strcspn(csv, "\n");
    out[0] = 0;
    for (; at < end && strncmp(at, heading, strlen(heading)) != 0; column++) {
        at += strcspn(at, ",\n");
        at += at < end;
    }
    if (at >= end)
        return out;
    for (at = csv; row--;)
        at = next_line(at);
    for (; column; column--)
        at += strcspn(at, ",\n") + 1;
    snprintf(out, 80, "%.*s", (int)strcspn(at, ",\n"), at);
    return out;
}

static void the_table_has_times_of_every_schedule(void **state)
{
    (void)state;
    static const struct {
        const char *heading, *cells[2];
    } wanted[] = {{"forward (s)", {"0.4000", ""}},        {"backward (s)", {"0.5000", ""}},
                  {"forward launch (s)", {"0.1000", ""}}, {"backward launch (s)", {"0.2000", ""}},
                  {"step (s)", {"0.9000", "0.9000"}},     {"step launch (s)", {"0.6000", "0.3000"}},
                  {"samples/s", {"100.0", "100.0"}},      {"remark", {"", ""}}};
    const char *directory = made_run("table", ROW("gpipe", APART) ROW("1f1b", MIXED));
    struct cli_result csv = stats(directory, "csv");
    char got[80];
    for (size_t i = 0; i < NVT_COUNT_OF(wanted); i++)
        for (int row = 0; row < 2; row++)
            if (strcmp(cell(csv.out, row + 1, wanted[i].heading, got), wanted[i].cells[row]) != 0)
                fail_msg("%s of row %d: '%s'", wanted[i].heading, row, got);
    cli_result_free(&csv);
}

/* Which throughput is of launches, the row says: as published, not of a log of ours. */
static void published_rows_have_a_remark(void **state)
{
    (void)state;
    char got[80];
    char *log = cli_read_file("data/published/gpipe.log", NULL);
    assert_non_null(log);
    struct cli_result csv = stats(import("remark", log), "csv");
    for (int row = 1; row <= 84; row++)
        assert_string_equal(cell(csv.out, row, "remark", got), "samples/s from launch times");
    cli_result_free(&csv);
    free(log);
    struct cli_result ours = stats(cli_in(cli_folder, "run"), "published");
    csv = stats(import("no-remark", ours.out), "csv");
    assert_string_equal(cell(csv.out, 0, "remark", got), "");
    assert_string_equal(cell(csv.out, 1, "source", got), "published");
    cli_result_free(&csv);
    cli_result_free(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_times_of_every_schedule),
        cmocka_unit_test(published_rows_have_a_remark),
        cmocka_unit_test(the_log_has_every_published_line),
        cmocka_unit_test(its_commands_repeat_the_rows),
        cmocka_unit_test(the_log_says_which_times_are_which),
        cmocka_unit_test(logs_of_ours_are_read_again),
        cmocka_unit_test(only_mixed_schedules_need_no_times),
    };
    return cmocka_run_group_tests(tests, run_once, cli_folder_tear_down);
}
