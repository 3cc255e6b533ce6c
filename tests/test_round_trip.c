/*
 * A recording, .nvt, written as nsys's SQLite and read back, gives every report row for row, by the
 * commands that people use; and any trace, written as a file of tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "cli.h"

/* What is compared has one name, "trace", in two folders: captions have it. */
static char *before, *after;

static int set_up(void **state)
{
    int status = cli_folder_set_up(state);
    before = strdup(cli_in(cli_folder, "before"));
    after = strdup(cli_in(cli_folder, "after"));
    return status || mkdir(before, 0777) || mkdir(after, 0777);
}

static int tear_down(void **state)
{
    free(before);
    free(after);
    return cli_folder_tear_down(state);
}

static void run(const char *const argv[])
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* What a command prints of both is the same. Whether it is a table with a row. */
static size_t expect_same(const char *const argv[])
{
    const struct cli_options here = {.directory = before}, there = {.directory = after};
    struct cli_result ours = cli_run_with(&here, argv), theirs = cli_run_with(&there, argv);
    cli_expect_status(&ours, 0);
    cli_expect_status(&theirs, 0);
    assert_string_equal(ours.out, theirs.out);
    /* A heading and a row; a report may have no table. */
    const char *heading = strchr(ours.out, '\n');
    size_t has_rows = heading && heading[1];
    cli_result_free(&ours);
    cli_result_free(&theirs);
    return has_rows;
}

/* Reports over a trace and over its export; how many of them have rows. */
static size_t compare_export(const char *form)
{
    size_t count, with_rows = 0;
    const struct nvt_report *const *reports = nvt_reports(&count);
    char *to = strdup(cli_in(after, "trace"));
    remove(to); /* one is not replaced by what is something else */
    run((const char *const[]){"nvtally", "export", "--to", form, "-o", to, cli_in(before, "trace"),
                              NULL});
    /* nsys's schema does not say when a process began and ended. */
    const int knows_processes = strcmp(form, "sqlite") != 0;
    for (size_t i = 0; i < count; i++)
        if (!(reports[i]->needs & NVT_NEEDS_RUNS) &&
            (knows_processes || strcmp(reports[i]->name, "run_time") != 0))
            with_rows += expect_same((const char *const[]){
                "nvtally", "stats", "-r", reports[i]->name, "-f", "csv", "trace", NULL});
    free(to);
    return with_rows;
}

static void record(const char *client, const char *argument, const char *second)
{
    remove(cli_in(before, "trace"));
    run((const char *const[]){"nvtally", "record", "-o", cli_in(before, "trace"), "--",
                              cli_client(client), argument, second, NULL});
}

/* As tables: everything else is the same, too. */
static size_t compare_tables(void)
{
    size_t with_rows = compare_export("nvt");
    expect_same((const char *const[]){"nvtally", "export", "--to", "csv", "trace", NULL});
    expect_same((const char *const[]){"nvtally", "export", "--to", "chrome", "trace", NULL});
    expect_same((const char *const[]){"nvtally", "diagnose", "-f", "json", "trace", NULL});
    return with_rows;
}

static size_t compare_file(const char *path)
{
    size_t size;
    char *bytes = cli_read_file(path, &size);
    assert_non_null(bytes);
    cli_write_file(cli_in(before, "trace"), bytes, size);
    free(bytes);
    return compare_tables();
}

/* Calls of the system in a process of two threads, with all that may be known of them. */
static const char system_calls[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":0,\"dur\":100,\"cat\":\"nvtx\",\"name\":\"step\"},"
    "{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":8,\"cat\":\"os_runtime\",\"name\":\"read\","
    "\"args\":{\"result\":4096,\"file\":\"/data/a\",\"caller\":\"libio.so\",\"bytes\":4096}},"
    "{\"ph\":\"X\",\"pid\":7,\"tid\":8,\"ts\":2,\"dur\":5,\"cat\":\"os_runtime\","
    "\"name\":\"pthread_mutex_lock\",\"args\":{\"result\":0,\"address\":\"0x7f12\"}},"
    "{\"ph\":\"X\",\"pid\":7,\"tid\":8,\"ts\":20,\"dur\":9,\"cat\":\"os_runtime\",\"name\":"
    "\"poll\","
    "\"args\":{\"result\":0,\"unclosed\":1}}]}";

static const char *const of_system_calls[] = {"osrt_sum",     "osrt_trace", "nvtx_osrt_sum",
                                              "osrt_threads", "osrt_files", "osrt_locks",
                                              "osrt_callers"};

static void tables_keep_calls_of_the_system(void)
{
    cli_write_file(cli_in(before, "trace"), system_calls, sizeof(system_calls) - 1);
    assert_true(compare_tables() >= 7);
    for (size_t i = 0; i < NVT_COUNT_OF(of_system_calls); i++)
        assert_true(expect_same((const char *const[]){"nvtally", "stats", "-r", of_system_calls[i],
                                                      "-f", "csv", "trace", NULL}));
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "export", "--to", "csv", cli_in(after, "trace"), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "OS call,1000,8000,7,7,,,,4096,,read,files,/data/a\n"));
    assert_non_null(
        strstr(result.out, "OS call,2000,5000,7,8,,,,,,pthread_mutex_lock,locks,0x7f12"));
    assert_non_null(strstr(result.out, "OS call,20000,9000,7,8,,,,,,poll,poll,\n"));
    cli_result_free(&result);
}

static void tables_give_every_report_again(void **state)
{
    (void)state;
    record("everything", NULL, NULL);
    assert_true(compare_tables() >= 4);
    record("pairs", "2", "1000");
    assert_true(compare_tables() >= 3);
    record("counters", NULL, NULL);
    assert_true(compare_tables() >= 3);
    assert_true(compare_file("tests/docs/profile.json") >= 10);
    assert_true(compare_file("tests/docs/snapshot.pickle") >= 2);
    tables_keep_calls_of_the_system();
#ifdef HAVE_SQLITE
    assert_true(compare_file("tests/fuzz/corpus/nsys/both.sqlite") >= 10);
    assert_true(compare_file("tests/fuzz/corpus/nsys/samples.sqlite") >= 2);
    assert_true(compare_file("tests/fuzz/corpus/nsys/calls.sqlite") >= 6);
    assert_true(expect_same((const char *const[]){
        "nvtally", "stats", "-r", "cuda_api_callers,osrt_callers", "-f", "csv", "trace", NULL}));
#endif
}

#ifdef HAVE_SQLITE
static void a_recording_gives_every_report_again(void **state)
{
    (void)state;
    record("everything", NULL, NULL);
    assert_true(compare_export("sqlite") >= 4);
    record("pairs", "2", "1000");
    assert_true(compare_export("sqlite") >= 3);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_give_every_report_again),
#ifdef HAVE_SQLITE
        cmocka_unit_test(a_recording_gives_every_report_again),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
