/*
 * nvtally ctl where requests meet: several controllers, processes that come and go meanwhile, recorders that are killed, parts with a gap.
 * A puppet (tests/clients/puppet.c) does one thing after the other, so that no test depends on how long anything takes.
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

#include "record_kit.h"

/*
 * In a script: `play OPTIONS` records a puppet in the background, as $recorder; `p WORDS` has it do that and waits until it has; `c REQUEST`
 * asks its recorder; `until_status WORDS` waits until a line of its status begins so; `until_over` has iterations begin until `steps` has
 * ended, which `ask_steps N` has begun, and `finish` ends all. What `steps` has said is in `said`.
 */
static const char kit[] =
    "unset NVTALLY_SESSION; rm -rf sessions said *.nvt; mkdir sessions; "
    "export NVTALLY_TMPDIR=$PWD/sessions; rm -f to* from*; mkfifo to from to2 from2; "
    "play() { \"$0\" record -f -o t.nvt --dormant --trace nvtx \"$@\" -- \"$puppet\" <to >from "
    "2>recorded & recorder=$!; exec 3>to 4<from; p range first; }; "
    "p() { echo \"$*\" >&3; read -r answer <&4; }; "
    "c() { \"$0\" ctl -s $recorder \"$@\"; }; "
    "until_status() { until c status 2>&1 | grep -q \"^$1\"; do sleep 0.05; done; }; "
    "ask_steps() { c steps $1 >said 2>&1 & controller=$!; until_status 'steps.*: iter'; }; "
    "until_over() { while kill -0 $controller 2>/dev/null; do p steps 1; sleep 0.01; done; wait "
    "$controller; }; "
    "finish() { exec 3>&- 4<&-; wait $recorder; cat recorded; }; ";

static struct cli_result play(const char *script)
{
    char text[6000];
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

/* Of a recording of it: closed ranges of that name. */
static void expect_count(const char *name, uint32_t count)
{
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, name), count);
    nvt_trace_free(trace);
}

/* Children that have called _exit are not waited for, however many there were: the page has room for 256. */
static void many_have_been(void **state)
{
    (void)state;
    struct cli_result result = play("play --iteration step; p brief 300; p steps 3; ask_steps 2; "
                                    "p brief 5; until_over; cat said; c status; finish");
    expect(&result, "iterations 4 to 5 (from 0) of 1 process: ");
    expect(&result, "\niterating\t1\n");
    cli_result_free(&result);
    expect_count("step", 2);
}

/* A child that is forked while others are far ahead would take long to come to their numbers. One from before is waited for. */
static void late_ones_are_not_waited_for(void **state)
{
    (void)state;
    struct cli_result result = play("play --iteration step; p steps 9; ask_steps 2; p live 2; "
                                    "until_over; cat said; finish");
    expect(&result, "iterations 10 to 11 (from 0) of 1 process: ");
    cli_result_free(&result);
    result = play("play --iteration step; p live 3; p steps 3; ask_steps 2; p steps 9; "
                  "until_status 'steps.2: iterations'; echo it waits; c stop; wait $controller; "
                  "cat said; finish");
    expect(&result, "it waits\nstopped: ");
    expect(&result, "stopped when 1 of 2 processes had recorded their iterations");
    cli_result_free(&result);
}

/* One that is forked during the iterations, in one of its parent's, has no part in them: its own count from 0. */
static void a_fork_during_the_iterations(void **state)
{
    (void)state;
    struct cli_result result =
        play("play --iteration step; p steps 5; ask_steps 3; p steps 1; p begin; p child 3; p end; "
             "p steps 1; p steps 1; wait $controller; cat said; finish");
    expect(&result, "iterations 6 to 8 (from 0) of 1 process: ");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t steps = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        steps += !strcmp(nvt_name(trace, trace->ranges.name[i]), "step") &&
                 trace->threads.process[trace->ranges.thread[i]] == 0;
    assert_int_equal(steps, 3);
    nvt_trace_free(trace);
}

/* A name that no range has is said at once, with those that there are. */
static void no_such_range(void **state)
{
    (void)state;
    struct cli_result result =
        play("play --iteration nosuch; c steps 2 >said 2>&1 & controller=$!; until_status "
             "'steps.2'; until grep -q waiting: said; do p range epoch; p steps 1; sleep 0.05; "
             "done; kill -INT $controller; wait $controller; cat said; finish");
    expect(&result, "no range 'nosuch' has begun in any process so far (ranges that have: ");
    expect(&result, "epoch");
    expect(&result, "stopped: 0 ns were recorded to ");
    cli_result_free(&result);
}

/* While iterations are recorded for one, nobody else begins; who ends them does not end what begins later. */
static void others_ask_meanwhile(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --iteration step; p steps 3; ask_steps 1; p steps 3; wait $controller; "
        "ask_steps 1000; c mark early 2>&1; p steps 2; for request in start "
        "'steps 3' 'mark now' dump; do c $request 2>&1; echo status $?; done; c stop; c start; "
        "wait $controller; cat said; c status; p range later; finish");
    char refused[200];
    snprintf(refused, sizeof(refused),
             "it is recording 1000 iterations for nvtally ctl steps (process ");
    const char *first = strstr(result.out, refused);
    assert_true(first && strstr(first, "status 2") && strstr(first + 1, refused));
    expect(&result, "the iterations have not begun: a mark has no place in the trace\n");
    expect(&result, "marked in 1 process\nstatus 0\n");
    expect(&result, "-dump1.nvt\nstatus 0\nstopped: ");
    expect(&result, "stopped when 0 of 1 processes had recorded their iterations\n");
    expect(&result, "\nstate\trecording\n");
    cli_result_free(&result);
    expect_count("later", 1);
}

/* Nothing of the time between two parts is recorded, and all of the parts is. */
static void parts_have_a_gap(void **state)
{
    (void)state;
    static const char *const names[] = {"before", "one", "gap", "two", "behind"};
    struct cli_result result =
        play("play; p range before; c start; p range one; c stop; p range gap; c stop; c start; c "
             "start; p range two; c stop; p range behind; finish");
    expect(&result, "recording already, for ");
    expect(&result, "not recording, for ");
    cli_result_free(&result);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        expect_count(names[i], i == 1 || i == 3);
    struct nvt_trace *trace = recorded_trace();
    assert_memory_equal(nvt_trace_meta(trace, "recorded"), "2 parts, ", 9);
    nvt_trace_free(trace);
}

/* "recorded in 2 parts, 850 ms, on request": that time, ns. */
static int64_t said_recorded(const char *out)
{
    static const char text[] = "recorded in 2 parts, ";
    const char *at = strstr(out, text);
    char *unit = NULL;
    const double value = at ? strtod(at + sizeof(text) - 1, &unit) : 0;
    return at ? (int64_t)(value * (!strncmp(unit, " ms", 3)  ? 1e6
                                   : !strncmp(unit, " s", 2) ? 1e9
                                                             : 1))
              : -1;
}

/* Once `stop` has answered, the trace has all of the part, and says how long it was; one under way lasts until where the trace ends. */
static void the_trace_is_up_to_date(void **state)
{
    (void)state;
    struct cli_result result =
        play("play; c start; p range one; c stop; \"$0\" stats -f csv -r nvtx_sum t.nvt; c start; "
             "sleep 0.5; p range two; c stop; \"$0\" stats -r nvtx_sum t.nvt 2>&1; finish");
    expect(&result, ",:one\n");
    expect(&result, " two\n");
    assert_in_range(said_recorded(result.out), 500000000, INT64_MAX);
    cli_result_free(&result);
    result = play("play; c start; p range one; c stop; c start; sleep 0.5; c stop; finish; \"$0\" "
                  "stats -r nvtx_sum t.nvt 2>&1");
    expect(&result, "is left out. Nothing began or ended in the last part (");
    cli_result_free(&result);
    result = play("play; c start; c stop; c start; sleep 0.5; p range two; c dump; kill -9 "
                  "$recorder; \"$0\" stats -r nvtx_sum t.nvt 2>&1; finish");
    assert_in_range(said_recorded(result.out), 500000000, INT64_MAX);
    cli_result_free(&result);
}

/* Two recorders, one is killed: what the other has is said, and what the killed one has lost. */
static void a_recorder_is_killed(void **state)
{
    (void)state;
    struct cli_result result = play(
        "play --iteration step; p steps 3; \"$0\" record -f -o other.nvt --dormant --trace nvtx "
        "--iteration step -- \"$puppet\" <to2 >from2 2>/dev/null & other=$!; exec 5>to2 6<from2; "
        "echo steps 3 >&5; read -r answer <&6; "
        "\"$0\" ctl -s all steps 1000 >said 2>&1 & controller=$!; until_status 'steps.*: iter'; "
        "kill -9 $other; wait $other 2>/dev/null; wait $controller; echo status $?; cat said; "
        "\"$0\" ctl ps 2>&1; exec "
        "5>&- 6<&-; finish");
    expect(&result, "status 2\n");
    expect(&result, "other.nvt can be read up to there\n");
    expect(&result, "t.nvt\n");
    expect(&result,
           " has died: its trace ends there, and 1 process that it recorded goes on without");
    cli_result_free(&result);
}

/* Who has just looked at the variables has made no recording. */
static void variables_are_no_recording(void **state)
{
    (void)state;
    struct cli_result result =
        play("\"$0\" env >/dev/null; \"$0\" env >variables; \"$0\" ctl start 2>&1; echo status $?; "
             "\"$0\" ctl ps -f csv; play; \"$0\" ctl start; finish");
    expect(&result, "no program has begun with the variables of nvtally env");
    expect(&result, "status 2\n");
    expect(&result, "unused");
    expect(&result, "recording to ");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_have_been),
        cmocka_unit_test(late_ones_are_not_waited_for),
        cmocka_unit_test(a_fork_during_the_iterations),
        cmocka_unit_test(no_such_range),
        cmocka_unit_test(others_ask_meanwhile),
        cmocka_unit_test(parts_have_a_gap),
        cmocka_unit_test(the_trace_is_up_to_date),
        cmocka_unit_test(a_recorder_is_killed),
        cmocka_unit_test(variables_are_no_recording),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
