/*
 * A recording, .nvt, written as nsys's SQLite and read back, gives every report row for row, by the
 * commands that people use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "cli.h"

#ifdef HAVE_SQLITE
static void run(const char *const argv[])
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Reports over a recording of this client and over its export; how many of them have rows. */
static size_t compare(const char *client, const char *argument, const char *second)
{
    size_t count, with_rows = 0;
    char *recording = strdup(cli_in(cli_folder, "t.nvt")),
         *exported = strdup(cli_in(cli_folder, "t.sqlite"));
    const struct nvt_report *const *reports = nvt_reports(&count);
    run((const char *const[]){"nvtally", "record", "-o", recording, "--", cli_client(client),
                              argument, second, NULL});
    run((const char *const[]){"nvtally", "export", "--to", "sqlite", "-o", exported, recording,
                              NULL});
    for (size_t i = 0; i < count; i++) {
        if (reports[i]->needs & NVT_NEEDS_RUNS)
            continue;
        struct cli_result ours = cli_run((const char *const[]){
            "nvtally", "stats", "-r", reports[i]->name, "-f", "csv", recording, NULL});
        struct cli_result theirs = cli_run((const char *const[]){
            "nvtally", "stats", "-r", reports[i]->name, "-f", "csv", exported, NULL});
        cli_expect_status(&ours, 0);
        cli_expect_status(&theirs, 0);
        assert_string_equal(ours.out, theirs.out);
        /* A heading and a row; a report may have no table. */
        const char *heading = strchr(ours.out, '\n');
        with_rows += heading && heading[1];
        cli_result_free(&ours);
        cli_result_free(&theirs);
    }
    remove(exported); /* the next one would not replace it */
    free(recording);
    free(exported);
    return with_rows;
}

static void a_recording_gives_every_report_again(void **state)
{
    (void)state;
    assert_true(compare("everything", NULL, NULL) >= 4);
    assert_true(compare("pairs", "2", "1000") >= 3);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_SQLITE
        cmocka_unit_test(a_recording_gives_every_report_again),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
