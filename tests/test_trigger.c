/*
 * record --on, --on-slow, --on-exit-status: dumps that nobody asks for at the moment when they are made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/trigger.h"
#include "../lib/count_of.h"
#include "record_kit.h"

#define DUMP "t-dump1.nvt" /* beside recorded_path() */

/* `record` with options and a script, in which $0 is nvtally, $1 the client flight and $2 the folder of the dumps. Those of before are
 * gone. */
static struct cli_result record(const char *const options[], const char *script)
{
    const char *argv[24] = {"nvtally", "record", "-f", "-o", recorded_path(), "--trace", "nvtx"};
    size_t count = 7;
    char name[40];
    for (int i = 1; i < 12; i++) {
        snprintf(name, sizeof(name), "t-dump%d.nvt", i);
        unlink(recorded_in(name));
    }
    for (size_t i = 0; options[i]; i++)
        argv[count++] = options[i];
    const char *rest[] = {"sh",           "-c", script, cli_built("nvtally"), cli_client("flight"),
                          recorded_in("")};
    for (size_t i = 0; i < NVT_COUNT_OF(rest); i++)
        argv[count++] = rest[i];
    return cli_run(argv);
}
#define RECORD(script, ...) record((const char *const[]){__VA_ARGS__, NULL}, script)

static uint32_t steps_in(const char *name)
{
    struct nvt_trace *trace = recorded_trace_at(recorded_in(name));
    const uint32_t count = recorded_count(trace, "step");
    nvt_trace_free(trace);
    return count;
}

static int is_there(const char *name)
{
    return !access(recorded_in(name), F_OK);
}

static void expect_said(struct cli_result *result, int status, const char *text)
{
    cli_expect_status(result, status);
    if (!strstr(result->err, text))
        fail_msg("not '%s':\n%s", text, result->err);
    cli_result_free(result);
}

/* The recorder gets it, the command does not: it would end of it. Recording goes on. */
static void a_signal_makes_a_dump(void **state)
{
    (void)state;
    struct cli_result result =
        RECORD(CLI_UNTIL_STATUS "dump() { sleep 0.4; kill -USR2 $PPID; until [ -e "
                                "\"$2/t-dump$1.nvt\" ]; do sleep 0.05; done; }; "
                                "\"$1\" 60000 & until_status processes.1; dump 1 \"$2\"; dump 2 "
                                "\"$2\"; sleep 0.4; kill $!; "
                                "wait; echo done",
               "--on", "SIGUSR2", "dump");
    assert_string_equal(result.out, "done\n");
    expect_said(&result, 0, "signal 12 (User defined signal 2): /");
    const uint32_t first = steps_in(DUMP), second = steps_in("t-dump2.nvt");
    assert_true(first > 10 && second > first);
    struct nvt_trace *trace = recorded_trace();
    assert_true(recorded_count(trace, "step") > second);
    nvt_trace_free(trace);
    assert_false(is_there("t-dump3.nvt"));
}

/* Other signals are the command's, as ever. */
static void other_signals_are_passed_on(void **state)
{
    (void)state;
    struct cli_result result =
        RECORD("trap 'echo heard' USR1; \"$1\" 900 & sleep 0.3; kill -USR1 $PPID; wait; wait",
               "--on", "usr2");
    assert_string_equal(result.out, "heard\n");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_false(is_there(DUMP));
}

static void a_failure_makes_a_dump(void **state)
{
    (void)state;
    struct cli_result result =
        RECORD("\"$1\" 1200; exit 3", "--on-exit-status", "dump", "--dump-last", "300ms");
    expect_said(&result, 3, "the command ended with status 3: /");
    struct nvt_trace *trace = recorded_trace();
    const uint32_t all = recorded_count(trace, "step"), last = steps_in(DUMP);
    nvt_trace_free(trace);
    assert_true(last > 5 && last < all);
    result = RECORD("\"$1\" 100; kill -SEGV $$", "--on-exit-status");
    assert_int_equal(result.signal, 11); /* as the command */
    assert_non_null(strstr(result.err, "the command was ended by signal 11: /"));
    cli_result_free(&result);
    assert_true(steps_in(DUMP) > 0);
    result = RECORD("\"$1\" 100", "--on-exit-status");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_false(is_there(DUMP));
}

/* A pause of the program's makes one step much longer than the others; a flood of slow ones does not flood the disk. */
static void a_slow_range_makes_a_dump(void **state)
{
    (void)state;
    const char *pause = CLI_UNTIL_STATUS "\"$1\" 60000 & until_status processes.1; sleep 0.5; kill "
                                         "-STOP $!; sleep 1.5; kill -CONT $!; "
                                         "sleep 0.5; kill $!; wait";
    struct cli_result result = RECORD(pause, "--on-slow", "step > 100 x median");
    double took, times, median;
    const char *said = strstr(result.err, "goes on and has taken ");
    said = said ? strstr(said, "taken ") : strstr(result.err, "took ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "%*s %lf ms, %lf x the median of %lf ms", &took, &times, &median),
                     3);
    /* The pause, or what a busy machine made of a step before it. */
    if (times < 100 || took < 0.99 * times * median || took > 1.01 * times * median)
        fail_msg("%s", said);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_true(steps_in(DUMP) > 10);
    assert_false(is_there("t-dump2.nvt"));
    result = RECORD(pause, "--on-slow", "step@train>300ms", "dump");
    expect_said(&result, 0, "step@train ");
    assert_true(is_there(DUMP));
    result = RECORD("\"$1\" 400", "--on-slow", "step > 0.1 ms");
    assert_null(strstr(result.err, "of rank"));
    expect_said(&result, 0, "step took ");
    assert_false(is_there("t-dump2.nvt"));
    assert_int_equal(setenv("PMI_RANK", "1", 1), 0);
    result = RECORD("\"$1\" 400", "--on-slow", "step > 0.1 ms");
    unsetenv("PMI_RANK");
    expect_said(&result, 0, ", of rank 1 alone (of all: nvtally ctl --watch FILE dump, ");
    result = RECORD("\"$1\" 400", "--on-slow", "other > 0.1 ms");
    assert_null(strstr(result.err, "took"));
    cli_result_free(&result);
    assert_false(is_there(DUMP));
}

/* A puppet in the recorded script, `p` has it do something. Its first iterations take 10 ms. */
#define PUPPET                                                                                     \
    "cd \"$(dirname \"$DUMPS\")\"; rm -f to from; mkfifo to from; \"${1%flight}puppet\" <to "      \
    ">from "                                                                                       \
    "& puppet=$!; exec 3>to 4<from; p() { echo \"$*\" >&3; read -r answer <&4; }; for i in 1 2 3 " \
    "4 "                                                                                           \
    "5 6 7 8 9; do p slow 10; done; "

static struct cli_result record_puppet(const char *script)
{
    char all[2000];
    assert_int_equal(setenv("DUMPS", recorded_in(DUMP), 1), 0);
    snprintf(all, sizeof(all), "%s%s", PUPPET, script);
    return RECORD(all, "--on-slow", "step > 30 x median");
}

/* One that hangs is copied while it does, once: also when the next dump could be made, ten seconds later, and when it ends. */
static void a_range_that_hangs_makes_a_dump(void **state)
{
    (void)state;
    struct cli_result result =
        record_puppet("p begin; until test -s \"$DUMPS\"; do sleep 0.05; done; echo copied; sleep "
                      "10.5; p end; p steps 1; exec 3>&- 4<&-; wait");
    assert_string_equal(result.out, "copied\n");
    assert_null(strstr(result.err, "step took"));
    expect_said(&result, 0, "step goes on and has taken ");
    struct nvt_trace *trace = recorded_trace_at(recorded_in(DUMP));
    const uint32_t last = trace->ranges.count - 1;
    assert_true(trace->ranges.flags[last] & NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
    assert_false(is_there("t-dump2.nvt"));
}

/* One whose process is killed does not go on; nor does that of a parent in its child. */
static void what_has_ended_does_not_hang(void **state)
{
    (void)state;
    struct cli_result result =
        record_puppet("p begin; p child 2; kill -9 $puppet; exec 3>&- 4<&-; sleep 1.5; echo done");
    assert_non_null(strstr(result.out, "done\n"));
    assert_null(strstr(result.err, "has taken"));
    cli_result_free(&result);
    assert_false(is_there(DUMP));
}

/* Iterations that are counted, and captures, are two things. */
static void slow_ranges_and_captures(void **state)
{
    (void)state;
    struct cli_result result =
        RECORD("\"$1\" 400", "--capture", "step@train/3-7", "--on-slow", "step > 0.1 ms");
    expect_said(&result, 0, "step took ");
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "step"), 5);
    nvt_trace_free(trace);
}

static void wrong_wishes(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *needle;
    } wrong[] = {
        {"--on", "SIGKILL", "--on SIGKILL: must be SIGUSR1"},
        {"--on", "SIGINT", "must be SIGUSR1"},
        {"--on", "", "must be SIGUSR1"},
        {"--on", "12x", "must be SIGUSR1"},
        {"--on-slow", "step", "must be 'RANGE > 1.5 x median'"},
        {"--on-slow", "> 2 x median", "must be 'RANGE > 1.5 x median'"},
        {"--on-slow", "step > ", "must be a factor"},
        {"--on-slow", "step > 0.5 x median", "must be a factor, from 1 to 1000"},
        {"--on-slow", "step > nan x median", "must be a factor"},
        {"--on-slow", "step > 2 x mean", "must be a factor"},
        {"--on-slow", "step > 2", "must be a factor"},
        {"--on-slow", "step > -2s", "must be a factor"},
        {"--dump-last", "2s", "--dump-last needs --on"},
        {"--dump-last", "2", "must be a time"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *argv[] = {"nvtally",       "record",       "-o",   recorded_path(),
                              wrong[i].option, wrong[i].value, "true", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i].needle);
        cli_result_free(&result);
    }
    struct nvt_trigger_wish wish = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trigger_parse_slow(" a > b > 2.25× median", &wish, &err), 0);
    assert_string_equal(wish.range, "a > b");
    assert_int_equal(wish.slow_percent, 225);
    assert_int_equal(nvt_trigger_parse_slow("x>1.5s", &wish, &err), -1);
    assert_non_null(strstr(err.message, "one condition only"));
    wish = (struct nvt_trigger_wish){0};
    assert_int_equal(nvt_trigger_parse_slow("x>1.5s", &wish, &err), 0);
    assert_true(wish.slow_ns == 1500000000 && !wish.slow_percent);
    assert_int_equal(nvt_trigger_parse_signal("10", &wish, &err), 0);
    assert_true(wish.signals == UINT64_C(1) << 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_makes_a_dump),
        cmocka_unit_test(other_signals_are_passed_on),
        cmocka_unit_test(a_failure_makes_a_dump),
        cmocka_unit_test(a_slow_range_makes_a_dump),
        cmocka_unit_test(a_range_that_hangs_makes_a_dump),
        cmocka_unit_test(what_has_ended_does_not_hang),
        cmocka_unit_test(slow_ranges_and_captures),
        cmocka_unit_test(wrong_wishes),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
