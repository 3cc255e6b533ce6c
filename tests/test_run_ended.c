/*
 * The command `run` when it is interrupted, killed or takes too long; and directories, which are of one run at a time.
 */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "cli.h"

#ifdef __SANITIZE_THREAD__
/* So many that the last size is not through when the first result is seen, and that the first comes. */
#define LONG_RUN "200"

#else
#define LONG_RUN "2000"

#endif
/* The beginning of a script: a run into `out` that takes long, as $p, and has written its first row. `quietly`: its output
 * goes nowhere. Returns its length. */
static size_t begin_long_run(char *script, size_t size, const char *out, int quietly)
{
    return (size_t)snprintf(
        script, size,
        "%s run linear --size 256,2048,4096 --batch 16 --iterations " LONG_RUN
        " --backend host -o %s %s & "
        "p=$!; for i in $(seq 5000); do sleep 0.1; [ -s %s/results.jsonl ] && break; done; ",
        cli_built("nvtally"), out, quietly ? ">/dev/null 2>&1" : "", out);
}

static void ctrl_c_keeps_what_was_finished(void **state)
{
    (void)state;
    char script[2048];
    const char *out = cli_in(cli_folder, "stopped");
    size_t used = begin_long_run(script, sizeof(script), out, 0);
    snprintf(script + used, sizeof(script) - used, "kill -TERM $p; wait $p");
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    assert_false(result.timed_out);
    assert_int_equal(result.status, 128 + SIGTERM);
    assert_non_null(strstr(result.err, "finished runs are kept"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_null(runs->warning);
    assert_in_range(runs->count, 1, 2);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    nvt_runs_free(runs);
}

/* A recorded sweep of many short runs that gets a signal at some time after its first row: to itself alone, or, as a
 * terminal sends it, to its process group. Its wait status. */
static int interrupt_sweep(const char *out, int number, int is_to_all, int after_us)
{
    enum { LIMIT_S = 30, POLL_US = 5000 };
    const char *rows = cli_in(out, "results.jsonl"), *program = cli_built("nvtally");
    struct stat status;
    int wait_status = 0, waited_us = 0;
    char batches[256] = "1";
    for (int i = 2; i < 60; i++)
        snprintf(batches + strlen(batches), sizeof(batches) - strlen(batches), ",%d", i);
    const char *argv[] = {program, "run",          "fragmented", "--size",   "128", "--batch",
                          batches, "--iterations", "20",         "--warmup", "2",   "--backend",
                          "host",  "-o",           out,          NULL};
    pid_t sweep = fork();
    if (!sweep) {
        setpgid(0, 0);
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execv(program, (char *const *)argv);
        _exit(127);
    }
    assert_true(sweep > 0);
    setpgid(sweep, sweep);
    for (; (stat(rows, &status) || !status.st_size) && waited_us < LIMIT_S * 1000000;
         waited_us += POLL_US)
        usleep(POLL_US);
    usleep((useconds_t)after_us);
    kill(is_to_all ? -sweep : sweep, number);
    assert_int_equal(waitpid(sweep, &wait_status, 0), sweep);
    return wait_status;
}

static size_t count_traces(const char *folder)
{
    glob_t found = {0};
    int status = glob(cli_in(folder, "*.nvt*"), 0, NULL, &found);
    assert_true(!status || status == GLOB_NOMATCH);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* Between the end of a run's process and that of its trace a quarter of a sweep's time goes by. */
static void no_signal_is_lost(void **state)
{
    (void)state;
    enum { TRIES = 24 };
    for (int try = 0; try < TRIES; try++) {
        char name[32];
        int is_to_all = try % 2, number = is_to_all ? SIGINT : SIGTERM;
        snprintf(name, sizeof(name), "signal-%d", try);
        const char *out = cli_in(cli_folder, name);
        int wait_status = interrupt_sweep(out, number, is_to_all, try * 3700);
        assert_true(WIFEXITED(wait_status));
        assert_int_equal(WEXITSTATUS(wait_status), 128 + number);
        struct nvt_runs *runs = cli_read_runs(out);
        assert_null(runs->warning);
        assert_int_equal(count_traces(out), runs->count);
        for (size_t i = 0; i < runs->count; i++)
            assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        nvt_runs_free(runs);
    }
}

/* Two runs do not write to one directory, and the first is not disturbed by who tries. */
static void a_directory_is_of_one_run(void **state)
{
    (void)state;
    char script[2048];
    const char *out = cli_in(cli_folder, "taken");
    size_t used = begin_long_run(script, sizeof(script), out, 1);
    snprintf(script + used, sizeof(script) - used,
             "%s run linear --size 64 --batch 1 --iterations 1 --backend host -o %s; s=$?; "
             "kill -TERM $p; wait $p; exit $s",
             cli_built("nvtally"), out);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    cli_expect_failure(&result, "another nvtally run is writing to it");
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    assert_in_range(runs->count, 1, 2);
    assert_true(nvt_record_number(&runs->records[0], "size") == 256);
    nvt_runs_free(runs);
    /* When it has ended, or was killed, the directory is free. */
    result =
        cli_run((const char *const[]){"nvtally", "run", "linear", "--size", "64", "--batch", "1",
                                      "--iterations", "1", "--backend", "host", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* What takes longer than it may is an error of its own row, however it is run. */
static void a_run_that_takes_too_long_is_ended(void **state)
{
    (void)state;
    static const char *const levels[] = {"off", "off", "nvtx"};
    for (int i = 0; i < 3; i++) {
        const char *out = cli_in(cli_folder, "long");
        const char *argv[] = {"nvtally", "run",
                              "linear",  "--size",
                              "512,256", "--batch",
                              "64",      "--iterations",
                              "1000000", "--backend",
                              "host",    "--collect",
                              levels[i], "-o",
                              out,       "--time-limit",
                              "1",       i == 1 ? "--one-process" : NULL,
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 128 + SIGALRM);
        cli_result_free(&result);
        struct nvt_runs *runs = cli_read_runs(out);
        assert_int_equal(runs->count, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(nvt_record_text(&runs->records[k], "status"), "error");
            assert_string_equal(nvt_record_text(&runs->records[k], "message"),
                                "took longer than 1 s");
        }
        nvt_runs_free(runs);
    }
}

/* What is left of a run that was killed holds the directory for a moment longer. */
static void a_directory_is_waited_for(void **state)
{
    (void)state;
    static const char script[] =
        "mkdir held\n"
        "flock held sh -c 'touch is-held; sleep 1' &\n"
        "for i in $(seq 6000); do [ -e is-held ] && break; sleep 0.05; done\n"
        "\"$0\" run linear --backend host --size 32 --batch 1 --iterations 2 -o held >/dev/null\n";
    struct cli_result result =
        cli_run_with(&(struct cli_options){.directory = cli_folder, .timeout_s = 60},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Whoever kills a run ends what it had started, and no run takes another one's results for its own. */
static void a_killed_run_leaves_nobody(void **state)
{
    (void)state;
    static const char script[] =
        "set -e\n"
        "for level in off nvtx off,nvtx; do\n"
        "    \"$0\" run linear --backend host --size 512 --batch 512 --iterations 100000 --collect "
        "$level \\\n"
        "        --interleave $(case $level in *,*) echo iterations;; *) echo runs;; esac) -o left "
        "2>/dev/null &\n"
        "    run=$!\n"
        "    workers() { ps -A -o pid= -o args= | grep -c \"[-]-worker.*left\" || :; }\n"
        "    for i in $(seq 6000); do [ \"$(workers)\" != 0 ] && break; sleep 0.1; done\n"
        "    [ \"$(workers)\" != 0 ]\n"
        "    kill -9 $run\n"
        "    wait $run 2>/dev/null || :\n"
        "    for i in $(seq 6000); do [ \"$(workers)\" = 0 ] && break; sleep 0.1; done\n"
        "    echo \"$level $(workers)\"\n"
        "done\n"
        "printf '{\"status\": \"ok\", \"parameters\": 1}' >left/.result-0.json\n"
        "cp left/.result-0.json left/.result-0-1.json\n"
        "\"$0\" run linear --backend host --size 32 --batch 1 --iterations 2 --collect off -o left "
        ">/dev/null\n"
        "ls -A left | grep '^[.]' || :\n"
        "grep -o '\"parameters\": [0-9]*' left/results.jsonl\n";
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder, .timeout_s = 60},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "off 0\nnvtx 0\noff,nvtx 0\n"
                                    "\"parameters\": 1056\n");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctrl_c_keeps_what_was_finished),
        cmocka_unit_test(no_signal_is_lost),
        cmocka_unit_test(a_run_that_takes_too_long_is_ended),
        cmocka_unit_test(a_directory_is_of_one_run),
        cmocka_unit_test(a_directory_is_waited_for),
        cmocka_unit_test(a_killed_run_leaves_nobody),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
