/*
 * `run --collect`: every level beside the others, and nsys, for which a script stands in that keeps
 * what it was called with and runs the command behind its options.
 */
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

#include "../analyze/input/runs.h"
#include "cli.h"

/* A program called nsys in a folder of its own, which behaves as told. */
static const char *stand_in(const char *name, const char *script)
{
    char text[2048];
    const char *folder = cli_in(cli_folder, name);
    mkdir(folder, 0777);
    const char *path = cli_in(folder, "nsys");
    snprintf(text, sizeof(text), "#!/bin/sh\n%s", script);
    cli_write_file(path, text, strlen(text));
    chmod(path, 0755);
    return path;
}

/* "profile" and its options, then the command: that is what nsys takes. */
static const char obedient[] = "here=$(dirname \"$0\")\n"
                               "echo \"$*\" >>\"$here/calls\"\n"
                               "env >\"$here/environment\"\n"
                               "[ \"$1\" = profile ] || exit 9\n"
                               "shift\n"
                               "while case $1 in -*) true;; *) false;; esac; do\n"
                               "  case $1 in --output=*) echo report >\"${1#--output=}\";; esac\n"
                               "  shift\n"
                               "done\n"
                               "echo 'Generating a report'\n"
                               "\"$@\"\n";

static void levels_are_interleaved(void **state)
{
    (void)state;
    static const char *const levels[] = {"off", "nvtx", "kernel", "full", "nsys"};
    const char *nsys = stand_in("obedient", obedient), *out = cli_in(cli_folder, "levels");
    const char *argv[] = {"nvtally",
                          "run",
                          "linear",
                          "--size",
                          "64",
                          "--batch",
                          "1,2",
                          "--iterations",
                          "3",
                          "--backend",
                          "host",
                          "--collect",
                          "off,nvtx,kernel,full,nsys",
                          "--nsys",
                          nsys,
                          "-o",
                          out,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "Generating a report"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_int_equal(runs->count, 10);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        const char *trace = nvt_record_text(record, "trace");
        assert_string_equal(nvt_record_text(record, "collect"), levels[i % 5]);
        size_t batch = 1 + i / 5;
        assert_true(nvt_record_number(record, "batch") == (double)batch);
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        /* The run's own clock, whoever collects. */
        assert_true(nvt_record_number(record, "forward_ns_mean") > 0);
        if (i % 5 == 0) {
            assert_null(trace);
            continue;
        }
        assert_non_null(strstr(trace, levels[i % 5]));
        assert_non_null(strstr(trace, i % 5 == 4 ? ".nsys-rep" : ".nvt"));
        assert_int_equal(access(cli_in(out, trace), R_OK), 0);
    }
    nvt_runs_free(runs);
}

/* Two tools cannot be injected into one process: nsys gets it alone. */
static void our_collector_stays_out(void **state)
{
    (void)state;
    const char *nsys = stand_in("alone", obedient), *out = cli_in(cli_folder, "alone-out");
    const char *argv[] = {"nvtally", "run",          "linear", "--size",    "64",   "--batch",
                          "1",       "--iterations", "1",      "--backend", "host", "--collect",
                          "nsys",    "--nsys",       nsys,     "-o",        out,    NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *environment = cli_read_file(cli_in(cli_in(cli_folder, "alone"), "environment"), NULL);
    char *calls = cli_read_file(cli_in(cli_in(cli_folder, "alone"), "calls"), NULL);
    assert_non_null(environment);
    assert_null(strstr(environment, "INJECTION64_PATH"));
    assert_non_null(strstr(calls, "profile --trace=cuda,nvtx --sample=none"));
    assert_non_null(strstr(calls, "run --worker run"));
    free(environment);
    free(calls);
}

static void nsys_is_found_on_path(void **state)
{
    (void)state;
    char path[4096];
    stand_in("found", obedient);
    snprintf(path, sizeof(path), "PATH=/nonexistent:%s:/usr/bin:/bin", cli_in(cli_folder, "found"));
    const char *const environment[] = {path, NULL};
    struct cli_options options = {.environment = environment};
    const char *out = cli_in(cli_folder, "found-out");
    const char *argv[] = {"nvtally", "run",          "linear", "--size",    "64",   "--batch",
                          "1",       "--iterations", "1",      "--backend", "host", "--collect",
                          "nsys",    "-o",           out,      NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(cli_in(cli_in(cli_folder, "found"), "calls"), R_OK), 0);
}

/* nsys that cannot profile costs its own rows, not the sweep. */
static void a_failing_nsys_is_a_row(void **state)
{
    (void)state;
    const char *nsys = stand_in("failing", "echo 'no permission' >&2\nexit 3\n");
    const char *out = cli_in(cli_folder, "failing-out");
    const char *argv[] = {"nvtally",  "run",          "linear", "--size",    "64",   "--batch",
                          "1",        "--iterations", "1",      "--backend", "host", "--collect",
                          "nsys,off", "--nsys",       nsys,     "-o",        out,    NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "1 of 2 configurations"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "error");
    assert_string_equal(nvt_record_text(&runs->records[0], "message"), "exit status 3");
    assert_null(nvt_record_text(&runs->records[0], "trace"));
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "ok");
    nvt_runs_free(runs);
}

static void without_nsys_nothing_runs(void **state)
{
    (void)state;
    const char *const environment[] = {"PATH=/nonexistent", NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "run", "linear", "--collect", "off,nsys", NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "there is no nsys on PATH; give it with --nsys PATH");
    cli_result_free(&result);
    const char *wrong[] = {"nvtally", "run",    "linear",   "--collect",
                           "nsys",    "--nsys", cli_folder, NULL};
    result = cli_run(wrong);
    cli_expect_failure(&result, "is not a program that can be run");
    cli_result_free(&result);
    const char *idle[] = {"nvtally", "run", "linear", "--nsys", "/bin/sh", NULL};
    result = cli_run(idle);
    cli_expect_failure(&result, "--nsys is for --collect nsys");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_interleaved),    cmocka_unit_test(our_collector_stays_out),
        cmocka_unit_test(nsys_is_found_on_path),     cmocka_unit_test(a_failing_nsys_is_a_row),
        cmocka_unit_test(without_nsys_nothing_runs),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
