/*
 * What a recording and nvtally ctl need is taken away while it goes on: the file that is watched, the session's folder. Each is said once,
 * and what can go on does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record_kit.h"

/*
 * In a script: `play OPTIONS` records a puppet in the background, and what the recorder says is in `recorded`; `p WORDS` has the puppet do
 * that; `until_said N WORDS` waits until the recorder has said so N times; `finish` ends all.
 */
static const char kit[] =
    "unset NVTALLY_SESSION; rm -rf sessions commands* *.nvt to from; mkdir sessions; mkfifo to "
    "from; "
    "export NVTALLY_TMPDIR=$PWD/sessions; umask 077; "
    "play() { \"$0\" record -f -o t.nvt --trace nvtx \"$@\" -- \"$puppet\" <to >from 2>recorded & "
    "recorder=$!; exec 3>to 4<from; p range first; }; "
    "p() { echo \"$*\" >&3; read -r answer <&4; }; "
    "until_said() { until [ $(grep -c \"$2\" recorded) = $1 ]; do sleep 0.05; done; }; "
    "finish() { exec 3>&- 4<&-; wait $recorder; cat recorded; }; ";

static struct cli_result play(const char *script)
{
    char text[5000];
    snprintf(text, sizeof(text), "puppet=$1; %s%s", kit, script);
    const char *argv[] = {"sh", "-c", text, cli_built("nvtally"), cli_client("puppet"), NULL};
    const struct cli_options options = {
        .directory = recorded_in(""), .timeout_s = 120, .is_exact = true};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.timed_out)
        fail_msg("it never ended:\n%s%s", result.out, result.err);
    return result;
}

static void expect(const struct cli_result *result, const char *needle)
{
    if (!strstr(result->out, needle))
        fail_msg("not '%s':\n%s%s", needle, result->out, result->err);
}

static uint32_t count_of(const char *needle, const char *text)
{
    uint32_t count = 0;
    for (; (text = strstr(text, needle)); text += strlen(needle))
        count++;
    return count;
}

/* Who asks makes a file anew that sessions watch, and is answered. */
static void the_watched_file_is_removed(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --watch commands; rm commands; until_said 1 'commands: it was removed: no request "
        "comes before it is there again'; \"$0\" ctl --watch commands mark again; echo status "
        "$?; until_said 1 'commands: requests that come from now on are followed again'; finish");
    expect(&result, "marked in 1 process\nstatus 0\n");
    assert_int_equal(count_of("it was removed", result.out), 1);
    cli_result_free(&result);
}

static void the_watched_file_is_another(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --watch commands; echo stop >fresh; mv fresh commands; until_said 1 'commands: it "
        "is another file now: requests that come from now on are followed'; \"$0\" ctl --watch "
        "commands mark again; echo status $?; finish");
    expect(&result, "marked in 1 process\nstatus 0\n");
    assert_null(strstr(result.out, "passed over"));
    cli_result_free(&result);
}

static void others_may_write_to_the_watched_file(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --watch commands; for i in 1 2; do chmod 666 commands; until_said $i 'nobody else "
        "may write to: no request in it is followed until'; chmod 600 commands; until_said $i "
        "'followed again'; done; finish");
    assert_int_equal(count_of("nobody else may write to", result.out), 2);
    cli_result_free(&result);
}

/* What somebody has written by hand is none of ctl's requests. */
static void lines_that_are_no_requests(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --watch commands; for i in 1 2 3 4 5; do echo \"stop $i\" >>commands; done; "
        "until_said 1 \"passed over: 'stop 3' (further ones are not said)\"; \"$0\" ctl --watch "
        "commands mark again; echo status $?; finish");
    expect(&result, "commands: no request of nvtally ctl --watch, and passed over: 'stop 1'\n");
    expect(&result, "marked in 1 process\nstatus 0\n");
    assert_int_equal(count_of("passed over", result.out), 3);
    cli_result_free(&result);
}

/* What runs is recorded on; what begins is not, which is counted and said. */
static void the_folder_is_removed(void **state)
{
    (void)state;
    struct cli_result result =
        play("play; until \"$0\" ctl status | grep -q '^processes.1'; do sleep 0.05; done; rm -r "
             "sessions/nvtally-*; until_said 1 'was removed: processes and threads that "
             "begin from now on are not recorded'; p range later; p child 2; \"$0\" ctl -s "
             "$recorder status 2>&1; finish");
    expect(&result, "no recording has the recorder ");
    expect(&result, "a thread gets no buffer once the recording's folder was removed");
    assert_int_equal(count_of("was removed: ", result.out), 1);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "later"), 1);
    assert_int_equal(recorded_count(trace, "step"), 0);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watched_file_is_removed),
        cmocka_unit_test(the_watched_file_is_another),
        cmocka_unit_test(others_may_write_to_the_watched_file),
        cmocka_unit_test(lines_that_are_no_requests),
        cmocka_unit_test(the_folder_is_removed),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
