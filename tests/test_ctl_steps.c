/* nvtally ctl with iterations: every process records the same ones, whoever dies meanwhile. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl_kit.h"
#include "record_kit.h"

/* `record --dormant --iteration step` of a script, as above. */
static struct cli_result record_steps(const char *output, const char *script)
{
    const char *argv[] = {
        "nvtally", "record", "-f", "-o", output, "--dormant",          "--iteration",        "step",
        "--trace", "nvtx",   "sh", "-c", script, cli_built("nvtally"), cli_client("flight"), NULL};
    return cli_run(argv);
}

/* Every process has `wanted` steps, and they are the same ones, one after the other. Returns the number of the first. */
static uint64_t expect_steps(const struct nvt_trace *trace, uint32_t processes, uint32_t wanted)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (strcmp(nvt_name(trace, ranges->name[i]), "step") != 0)
            continue;
        const uint64_t number = strtoull(nvt_name(trace, ranges->payload[i]), NULL, 10);
        first = number < first ? number : first;
        last = number > last ? number : last;
        assert_true(ranges->end[i] > ranges->start[i]);
    }
    assert_int_equal(recorded_count(trace, "step"), processes * wanted);
    assert_int_equal(last - first + 1, wanted);
    assert_int_equal(recorded_count(trace, "kernel"), processes * wanted * 50);
    return first;
}

/* Whatever pace they have: the same numbers of all. What lies between two of them is recorded, as marks show. */
static void steps_are_the_same_in_all(void **state)
{
    (void)state;
    struct cli_result result = record_steps(
        recorded_path(),
        "\"$1\" 60000 & a=$!; \"$1\" 60000 & b=$!; \"$1\" 60000 & c=$!; until \"$0\" ctl status | "
        "grep -q iterating.3; do sleep 0.05; done; \"$0\" ctl steps 5; \"$0\" ctl status; "
        "kill $a $b $c; wait");
    const char *said = strstr(result.out, "iterations ");
    assert_true(said && strstr(said, " (from 0) of 3 processes: /") && strstr(said, "dormant\n"));
    const uint64_t first = strtoull(said + strlen("iterations "), NULL, 10);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(expect_steps(trace, 3, 5), first);
    assert_true(recorded_count(trace, "epoch") == 0);
    nvt_trace_free(trace);
}

/* Iterations begin half a second after they were asked for: nobody says that this was recorded, and the file has which
 * ones they are. */
static void the_wait_is_not_recorded(void **state)
{
    (void)state;
    struct cli_result result = record_steps(
        recorded_path(),
        "date +%s%N; \"$0\" ctl steps 5 & until \"$0\" ctl status | grep -q recording; do sleep "
        "0.02; done; sleep 0.5; \"$1\" 2500 & wait $!; wait; date +%s%N; \"$0\" ctl status");
    const char *said = strstr(result.out, "iterations "),
               *second = said ? strchr(said, '\n') : NULL;
    const char *recorded = strstr(result.out, "\nrecorded\t");
    if (!second || !recorded) {
        fail_msg("%s%s", result.out, result.err);
        return;
    }
    const int64_t elapsed = strtoll(second + 1, NULL, 10) - strtoll(result.out, NULL, 10);
    const int64_t ns = strtoll(recorded + 10, NULL, 10);
    struct nvt_trace *trace = recorded_trace();
    const uint64_t first = expect_steps(trace, 1, 5);
    char expected[120];
    snprintf(expected, sizeof(expected), "%llu to %llu of 1 process", (unsigned long long)first,
             (unsigned long long)first + 4);
    assert_string_equal(nvt_trace_meta(trace, "iterations of part 1"), expected);
    assert_non_null(strstr(trace->notes, expected));
    const uint32_t row = recorded_range(trace, "step");
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t ctl_end = 0;
    for (uint32_t i = row; i < ranges->count; i++)
        ctl_end = ranges->end[i] > ctl_end && !strcmp(nvt_name(trace, ranges->name[i]), "step")
                      ? ranges->end[i]
                      : ctl_end;
    assert_in_range(ns, (ctl_end - ranges->start[row]) / 100 * 99, elapsed - 500 * MS);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

/* What was broken off, by its client's end or by another's request, leaves nothing behind. */
static void steps_are_broken_off(void **state)
{
    (void)state;
    struct cli_result result = record_steps(
        recorded_path(), CLI_UNTIL_STATUS
        "\"$1\" 60000 & program=$!; until_status iterating.1; "
        "\"$0\" ctl steps 1000000 & client=$!; until_status state.recording; sleep 0.4; "
        "\"$0\" ctl start; \"$0\" ctl steps 2; kill -INT $client; wait $client; "
        "\"$0\" ctl steps 1000000 & client=$!; until_status state.recording; sleep 0.4; "
        "\"$0\" ctl stop; wait $client; echo ended with $?; \"$0\" ctl steps 3; kill $program; "
        "wait");
    if (!strstr(result.err, "recorder ") ||
        !strstr(result.err, "iterations for nvtally ctl steps (process ") ||
        !strstr(result.err, "broken off: recording has stopped") ||
        !strstr(result.err, "stopped when 0 of 1 processes had recorded their iterations") ||
        !strstr(result.out, "ended with 2\n") || !strstr(result.out, "(from 0) of 1 process: "))
        fail_msg("%s\n%s", result.out, result.err);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    /* Those of the last request are whole. */
    const char *argv[] = {"nvtally",
                          "sql",
                          recorded_path(),
                          "SELECT count(*) FROM ranges WHERE name = 'step' AND duration IS NULL",
                          "-f",
                          "csv",
                          NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* A client that is killed, and a process that ends before its turn, keep nobody waiting. */
static void steps_outlive_their_client(void **state)
{
    (void)state;
    struct cli_result result = record_steps(
        recorded_path(),
        "\"$1\" 900 & \"$1\" 4500 & sleep 0.3; \"$0\" ctl steps 1200 & client=$!; sleep 0.2; "
        "kill -9 $client; sleep 3.3; \"$0\" ctl status | grep state; wait");
    assert_non_null(strstr(result.out, "state\tdormant\n"));
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_in_range(recorded_count(trace, "step"), 1200, 2400);
    nvt_trace_free(trace);
}

/* One that was killed had iterations, and has none any more; one that is killed while it is waited for, neither. */
static void killed_processes_are_not_waited_for(void **state)
{
    (void)state;
    struct cli_result result = record_steps(
        recorded_path(),
        "\"$1\" 60000 & first=$!; \"$1\" 60000 & second=$!; \"$1\" 60000 & third=$!; "
        "until \"$0\" ctl status | grep -q iterating.3; do sleep 0.05; done; "
        "kill -9 $first; wait $first; \"$0\" ctl steps 5; kill -STOP $second; \"$0\" ctl steps 3 & "
        "client=$!; until \"$0\" ctl status | grep -q recording; do sleep 0.05; done; sleep 0.3; "
        "kill -9 $second; wait $client; echo ended with $?; kill $third; wait $third");
    if (!strstr(result.out, " of 2 processes: ") || !strstr(result.out, " of 1 process: ") ||
        !strstr(result.out, "ended with 0\n"))
        fail_msg("%s%s", result.out, result.err);
    cli_result_free(&result);
}

/* Several recorders, as of ranks that mpirun starts, agree on the numbers. */
static void recorders_agree_on_steps(void **state)
{
    (void)state;
    char second[PATH_MAX];
    snprintf(second, sizeof(second), "%s", recorded_in("second.nvt"));
    const char *script =
        "\"$0\" record -f -o \"$2\" --dormant --iteration step --trace nvtx \"$1\" 60000 & one=$!; "
        "\"$0\" record -f -o \"$3\" --dormant --iteration step --trace nvtx \"$1\" 60000 & "
        "unset NVTALLY_SESSION; "
        "until [ $(\"$0\" ctl -s all status | grep -c '^iterating.1$') = 2 ]; do sleep 0.1; done; "
        "\"$0\" ctl -s all steps 4; kill $one $!; wait";
    const char *argv[] = {
        "sh",   "-c", script, cli_built("nvtally"), cli_client("flight"), recorded_path(),
        second, NULL};
    struct cli_result result = cli_run(argv);
    assert_non_null(strstr(result.out, "second.nvt"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const uint64_t first = expect_steps(trace, 1, 4);
    nvt_trace_free(trace);
    trace = recorded_trace_at(second);
    assert_int_equal(expect_steps(trace, 1, 4), first);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_same_in_all),
        cmocka_unit_test(the_wait_is_not_recorded),
        cmocka_unit_test(steps_are_broken_off),
        cmocka_unit_test(steps_outlive_their_client),
        cmocka_unit_test(killed_processes_are_not_waited_for),
        cmocka_unit_test(recorders_agree_on_steps),
    };
    return cmocka_run_group_tests(tests, ctl_set_up, recorded_tear_down);
}
