/*
 * Signals under `nvtally record`: the command gets each as often as without it, whoever it was sent to.
 */
#include <setjmp.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

/* A recording in a process group of its own. */
struct recording {
    pid_t recorder, command;
    char printed[600];
};

static struct recording begin(const char *before)
{
    char ready[600], line[64];
    struct recording recording = {0};
    snprintf(ready, sizeof(ready), "%s", cli_in(cli_folder, "ready"));
    snprintf(recording.printed, sizeof(recording.printed), "%s", cli_in(cli_folder, "printed"));
    unlink(ready);
    recording.recorder = fork();
    assert_true(recording.recorder >= 0);
    if (!recording.recorder) {
        setpgid(0, 0);
        if (!freopen(recording.printed, "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(99);
        execlp("sh", "sh", "-c", before, cli_built("nvtally"), cli_in(cli_folder, "t.nvt"),
               cli_client("heard"), ready, (char *)NULL);
        _exit(99);
    }
    for (int i = 0; i < 6000 && access(ready, F_OK); i++)
        usleep(10000);
    FILE *file = fopen(ready, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    recording.command = (pid_t)strtol(line, NULL, 10);
    return recording;
}

#define RECORD "exec \"$0\" record -f -o \"$1\" -- \"$2\" \"$3\""

static void expect(const struct recording *recording, const char *printed)
{
    int status;
    assert_int_equal(waitpid(recording->recorder, &status, 0), recording->recorder);
    size_t size;
    char *text = cli_read_file(recording->printed, &size);
    assert_non_null(text);
    assert_string_equal(text, printed);
    free(text);
}

/* More than the time within which somebody sends one to all of a job. */
static void pause_a_moment(void)
{
    usleep(300000);
}

static void those_for_the_recorder_go_to_the_command(void **state)
{
    (void)state;
    struct recording recording = begin(RECORD);
    for (int i = 0; i < 3; i++) {
        kill(recording.recorder, SIGUSR1);
        pause_a_moment();
    }
    kill(recording.recorder, SIGTERM);
    expect(&recording, "USR1 3 TERM 1\n");
}

static void those_for_the_group_come_once(void **state)
{
    (void)state;
    struct recording recording = begin(RECORD);
    for (int i = 0; i < 3; i++) {
        kill(-recording.recorder, SIGUSR1);
        pause_a_moment();
    }
    kill(-recording.recorder, SIGTERM);
    expect(&recording, "USR1 3 TERM 1\n");
}

/* What the group got stays in nobody's way. */
static void one_way_and_then_the_other(void **state)
{
    (void)state;
    struct recording recording = begin(RECORD);
    for (int i = 0; i < 2; i++) {
        kill(-recording.recorder, SIGUSR1);
        pause_a_moment();
        kill(recording.recorder, SIGUSR1);
        pause_a_moment();
        kill(recording.command, SIGUSR1);
        pause_a_moment();
    }
    kill(recording.recorder, SIGTERM);
    expect(&recording, "USR1 6 TERM 1\n");
}

/* As batch systems and systemd do: to each process of the job. */
static void those_for_each_process_come_once(void **state)
{
    (void)state;
    struct recording recording = begin(RECORD);
    char script[200];
    snprintf(script, sizeof(script), "ps -o pid= --ppid %d | xargs kill -USR1 %d",
             recording.recorder, recording.recorder);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    pause_a_moment();
    kill(-recording.recorder, SIGTERM);
    expect(&recording, "USR1 1 TERM 1\n");
}

/* A sender that does not get on, as on a busy machine: between two of its signals it runs for half the time that it is waited for. */
static void send_slowly(pid_t recorder)
{
    char path[64], children[200], *at = children;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", recorder, recorder);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(children, sizeof(children), file))
        _exit(1);
    kill(recorder, SIGUSR1);
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 500);
    for (long child; (child = strtol(at, &at, 10)) > 0;)
        kill((pid_t)child, SIGUSR1);
    _exit(0);
}

static void those_of_a_slow_sender_come_once(void **state)
{
    (void)state;
    int status;
    struct recording recording = begin(RECORD);
    const pid_t sender = fork();
    assert_true(sender >= 0);
    if (!sender)
        send_slowly(recording.recorder);
    assert_int_equal(waitpid(sender, &status, 0), sender);
    assert_int_equal(status, 0);
    pause_a_moment();
    kill(-recording.recorder, SIGTERM);
    expect(&recording, "USR1 1 TERM 1\n");
}

/* By the command's name, which the recorder has in its command line as well, and by the recorder's. */
static void those_for_a_name_come_once(void **state)
{
    (void)state;
    static const char *const names[] = {"clients/heard %s", "nvtally record .*heard %s"};
    for (size_t i = 0; i < 2; i++) {
        struct recording recording = begin(RECORD);
        char pattern[700];
        const char *ready = cli_in(cli_folder, "ready");
        snprintf(pattern, sizeof(pattern), names[i], ready);
        const char *argv[] = {"pkill", "-USR1", "-f", pattern, NULL};
        struct cli_result result = cli_run(argv);
        if (result.status == 127) {
            kill(-recording.recorder, SIGKILL);
            waitpid(recording.recorder, NULL, 0);
            print_message("no pkill here: not run\n");
            skip();
        }
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        pause_a_moment();
        kill(-recording.recorder, SIGTERM);
        expect(&recording, "USR1 1 TERM 1\n");
    }
}

/* It signals its child first and then the group; the same number, and so the same signal, twice within a moment. */
static void timeout_ends_it_as_ever(void **state)
{
    (void)state;
    struct recording recording =
        begin("exec timeout 1 \"$0\" record -f -o \"$1\" -- \"$2\" \"$3\"");
    expect(&recording, "USR1 0 TERM 1\n");
}

/* The kernel tells the leader of the terminal's session alone, as `ssh -t` and `docker run -t` make it of what they start. */
static void a_terminal_that_hangs_up_ends_it(void **state)
{
    (void)state;
    int terminal, status = 0;
    pid_t ended = 0;
    const char *ready = cli_in(cli_folder, "hung");
    const pid_t recorder = forkpty(&terminal, NULL, NULL, NULL);
    if (recorder < 0) {
        print_message("no terminal can be had here: not run\n");
        skip();
    }
    if (!recorder) {
        signal(SIGHUP, SIG_DFL); /* nohup leaves it ignored */
        execl(cli_built("nvtally"), "nvtally", "record", "-f", "-o", cli_in(cli_folder, "t.nvt"),
              "--", cli_client("heard"), ready, (char *)NULL);
        _exit(99);
    }
    for (int i = 0; i < 6000 && access(ready, F_OK); i++)
        usleep(10000);
    close(terminal);
    for (int i = 0; i < 6000 && !ended; i++) {
        ended = waitpid(recorder, &status, WNOHANG);
        usleep(10000);
    }
    kill(ended ? 0 : -recorder, ended ? 0 : SIGKILL);
    assert_int_equal(ended, recorder);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGHUP : WEXITSTATUS(status) == 128 + 1);
}

/* The witness of what the group gets is no process that the recording waits for, and none stays. */
static void nobody_stays(void **state)
{
    (void)state;
    struct recording recording = begin(RECORD);
    kill(recording.command, SIGTERM);
    expect(&recording, "USR1 0 TERM 1\n");
    assert_int_equal(kill(-recording.recorder, 0), -1);
    recording = begin(RECORD);
    kill(recording.recorder, SIGKILL);
    waitpid(recording.recorder, NULL, 0);
    kill(recording.command, SIGTERM);
    for (int i = 0; i < 30000 && !kill(-recording.recorder, 0); i++)
        usleep(10000);
    assert_int_equal(kill(-recording.recorder, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_for_the_recorder_go_to_the_command),
        cmocka_unit_test(those_for_the_group_come_once),
        cmocka_unit_test(one_way_and_then_the_other),
        cmocka_unit_test(those_for_each_process_come_once),
        cmocka_unit_test(those_of_a_slow_sender_come_once),
        cmocka_unit_test(those_for_a_name_come_once),
        cmocka_unit_test(timeout_ends_it_as_ever),
        cmocka_unit_test(a_terminal_that_hangs_up_ends_it),
        cmocka_unit_test(nobody_stays),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
