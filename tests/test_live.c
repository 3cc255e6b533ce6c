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

#include "../lib/count_of.h"
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

/* What `stats` says on stderr, once there is that in it; the caller's. Within some minutes, else the test fails. */
static char *wait_for(const char *text)
{
    for (int i = 0; i < 3000; i++) {
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

/* With --wait primary what the command leaves behind is recorded no more, and has not ended. */
static void one_that_was_left_was_within_it(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "nvtx,osrt", "--wait", "primary", "-o", recorded_path(),
        "--", "sh", "-c", "exec >/dev/null 2>&1; \"$0\" hangs / & sleep 2", cli_client("os_calls"),
        NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *said = wait_for(" was within: step (");
    assert_non_null(strstr(said, " > read pipe ("));
    assert_null(strstr(said, "ended within"));
    free(said);
    kill_client();
}

/* The front of the file is cut off again and again, and the call stays. */
static void what_is_cut_off_is_told_again(void **state)
{
    (void)state;
    pid_t recorder = start("os_calls", "hangs-beside-ranges", "--max-age=1s");
    free(wait_for("were kept"));
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

/* A recording to its end, with samples; the trace is the caller's. */
static struct nvt_trace *record_waits(const char *what)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "record", "--trace", "nvtx,osrt,cpu", "-o",
                              recorded_path(), "--", cli_client("os_calls"), what, "/", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

/* The function that called it, and 1 if that is known; else 0. */
static uint32_t called_by(const struct nvt_trace *trace, uint32_t call, const char *name)
{
    uint32_t frame = trace->os_calls.frame[call];
    while (frame && strcmp(nvt_name(trace, trace->call_frames.name[frame - 1]), name) != 0)
        frame = trace->call_frames.parent[frame - 1];
    return frame;
}

/* Who waits for other threads for more than a second is asked where; and waits on as if it was not. */
static void a_thread_that_waits_is_asked_where(void **state)
{
    static const char *const names[] = {"pthread_mutex_lock", "pthread_rwlock_rdlock",
                                        "pthread_cond_wait",  "sem_wait",
                                        "pthread_join",       "waitpid"};
    (void)state;
    struct nvt_trace *trace = record_waits("waits-long");
    unsigned found = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        int64_t ns = trace->os_calls.end[i] - trace->os_calls.start[i];
        const char *name = nvt_name(trace, trace->os_calls.name[i]);
        for (unsigned k = 0; k < NVT_COUNT_OF(names) && ns > 1500000000; k++)
            if (!strcmp(name, names[k])) {
                if (!called_by(trace, i, "waits_long"))
                    fail_msg("nobody knows who called %s", name);
                found |= 1u << k;
            }
    }
    assert_int_equal(found, 63);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        assert_true(trace->cpu_samples.cpu_ns[i] > 0);
    nvt_trace_free(trace);
}

/* A program that has no handler for the signal would be ended by it. */
static void a_program_that_takes_the_place_is_left_alone(void **state)
{
    (void)state;
    nvt_trace_free(record_waits("execs-beside"));
}

static void a_hang_is_told_with_the_places(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "--trace", "nvtx,osrt,cpu", "-o", recorded_path(), "--", "timeout",
        "-s", "KILL", "7", cli_client("os_calls"), "hangs", "/", NULL});
    cli_result_free(&result);
    result = cli_run((const char *const[]){"nvtally", "diagnose", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    /* How it ended, then the first finding. */
    assert_int_equal(strncmp(result.out, "the command was killed by SIGKILL", 33), 0);
    assert_non_null(strstr(result.out, "\n\n1  hang   "));
    assert_non_null(strstr(result.out, ", in read pipe ("));
    assert_non_null(strstr(result.out, " > read pipe ("));
    const char *other = strstr(result.out, ": pthread_mutex_lock 0x");
    assert_non_null(other);
    assert_non_null(strstr(other, " by waits (os_calls)"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_recorded_is_within_a_call),
        cmocka_unit_test(one_whose_recorder_was_killed_was_within_it),
        cmocka_unit_test(one_that_was_left_was_within_it),
        cmocka_unit_test(what_is_cut_off_is_told_again),
        cmocka_unit_test(a_long_call_that_ends_is_one_row),
        cmocka_unit_test(a_thread_that_waits_is_asked_where),
        cmocka_unit_test(a_program_that_takes_the_place_is_left_alone),
        cmocka_unit_test(a_hang_is_told_with_the_places),
    };
    return cmocka_run_group_tests_name("traces that are being recorded", tests, recorded_set_up,
                                       recorded_tear_down);
}
