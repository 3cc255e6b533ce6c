/* A trace that is read while it is recorded, and one whose recorder was killed: where processes are, and in which call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_kit.h"

/* `nvtally record` of a client, into the folder, beside us. */
static pid_t start(const char *client, const char *argument, const char *option)
{
    const char *program = cli_built("nvtally"), *path = recorded_path(),
               *command = cli_client(client);
    (void)unlink(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
        _exit(126);
    execl(program, program, "record", "--trace", "nvtx,osrt", option, "-o", path, "--", command,
          argument, "/", (char *)NULL);
    _exit(127);
}

/* What `stats` says on stderr, once there is that in it; the caller's. Within 20 s, else the test fails. */
static char *wait_for(const char *text)
{
    for (int i = 0; i < 200; i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "stats", recorded_path(), NULL});
        char *said = strdup(result.err);
        cli_result_free(&result);
        assert_non_null(said);
        if (strstr(said, text))
            return said;
        free(said);
        usleep(100000);
    }
    fail_msg("stats never said '%s'", text);
    return NULL;
}

static void end(pid_t pid, int number)
{
    int status;
    assert_int_equal(kill(pid, number), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* The client that hangs, which a killed recorder leaves behind: what it was called for says which it is. */
static void kill_client(void)
{
    struct nvt_trace *trace = recorded_trace();
    for (uint32_t i = 0; i < trace->processes.count; i++)
        if (strstr(nvt_name(trace, trace->processes.name[i]), "os_calls hangs"))
            (void)kill((pid_t)trace->processes.pid[i], SIGKILL);
    nvt_trace_free(trace);
}

static void a_process_that_is_recorded_is_within_a_call(void **state)
{
    (void)state;
    pid_t recorder = start("os_calls", "hangs", "--on-full=wait");
    char *said = wait_for(" > read pipe (");
    assert_non_null(strstr(said, " is within: step ("));
    assert_non_null(strstr(said, "; thread "));
    assert_non_null(strstr(said, ": pthread_mutex_lock 0x"));
    assert_non_null(strstr(said, ": it is still being recorded: what was written until now was "
                                 "read\n"));
    assert_null(strstr(said, "warning"));
    free(said);
    kill_client();
    int status;
    assert_int_equal(waitpid(recorder, &status, 0), recorder);
    said = wait_for(" ended within: step (");
    assert_non_null(strstr(said, " > read pipe ("));
    assert_null(strstr(said, "still being recorded"));
    free(said);
}

static void one_whose_recorder_was_killed_was_within_it(void **state)
{
    (void)state;
    pid_t recorder = start("os_calls", "hangs", "--on-full=wait");
    free(wait_for(" > read pipe ("));
    end(recorder, SIGKILL);
    char *said = wait_for(" was within: step (");
    assert_non_null(strstr(said, " > read pipe ("));
    assert_non_null(strstr(said, ": pthread_mutex_lock 0x"));
    assert_non_null(strstr(said, "the recording was cut off"));
    free(said);
    kill_client();
}

/* The front of the file is cut off again and again, and the call stays. */
static void what_is_cut_off_is_told_again(void **state)
{
    (void)state;
    pid_t recorder = start("os_calls", "hangs-beside-ranges", "--max-age=1s");
    free(wait_for("were to be kept"));
    char *said = wait_for(": pthread_mutex_lock 0x");
    assert_non_null(strstr(said, " is within: "));
    free(said);
    end(recorder, SIGKILL);
    said = wait_for(" was within: ");
    assert_non_null(strstr(said, ": pthread_mutex_lock 0x"));
    free(said);
    kill_client();
}

/* A call of more than a second has one row in the end, whatever was written of it before. */
static void a_long_call_that_ends_is_one_row(void **state)
{
    (void)state;
    pid_t recorder = start("os_calls", "sleeps-long", "--on-full=wait");
    int status, open_rows = 0;
    while (waitpid(recorder, &status, WNOHANG) == 0) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "stats", "-r", "osrt_trace", "-f", "csv", recorded_path(), NULL});
        open_rows += strstr(result.out, ",sleep,sleep,") && strstr(result.out, ",true\n");
        cli_result_free(&result);
    }
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    assert_true(open_rows > 0);
    struct nvt_trace *trace = recorded_trace();
    uint32_t rows = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        int64_t ns = trace->os_calls.end[i] - trace->os_calls.start[i];
        assert_int_equal(trace->os_calls.flags[i], 0);
        rows += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "sleep") && ns > 2000000000;
    }
    assert_int_equal(rows, 1);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_recorded_is_within_a_call),
        cmocka_unit_test(one_whose_recorder_was_killed_was_within_it),
        cmocka_unit_test(what_is_cut_off_is_told_again),
        cmocka_unit_test(a_long_call_that_ends_is_one_row),
    };
    return cmocka_run_group_tests_name("traces that are being recorded", tests, recorded_set_up,
                                       recorded_tear_down);
}
