/*
 * A job of four ranks that hangs: the same five iterations of all of them, a copy of the last two seconds while they hang, and the whole
 * job killed a moment later. With torchrun and gloo, where a Python has PyTorch (NVTALLY_TORCH_PYTHON names one, else python3); and with
 * four processes that do as much without.
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

enum { RANKS = 4, STEPS = 5, PROCESSES = 64 };

/* In $0 nvtally, in the folder of the test. `recorder` starts one in the background, `hang` makes the job hang, and is done when it does. */
static struct cli_result run(const char *recorder, const char *hang, const char *program)
{
    char script[3000];
    snprintf(script, sizeof(script),
             "c() { \"$0\" ctl -s $recorder \"$@\" || echo \"status $?\"; }; "
             "tree() { for p in $(cat /proc/$1/task/*/children); do echo $p; tree $p; done; }; "
             "rm -f hang hang.hangs *.nvt; %s recorder=$!; "
             "until \"$0\" ctl -s $recorder status 2>/dev/null | grep -q '^iterating.4$'; do "
             "sleep 0.05; done; c steps %d; c dump -o steps.nvt; c start; "
             "until c status | grep -q '^processes.[4-9]'; do sleep 0.05; done; sleep 0.3; %s; c "
             "dump --last 2s -o last.nvt; kill -9 $recorder $(tree $recorder)",
             recorder, STEPS, hang);
    const char *argv[] = {"sh", "-c", script, cli_built("nvtally"), program, NULL};
    const struct cli_options options = {.directory = recorded_in("")};
    struct cli_result result = cli_run_with(&options, argv);
    if (strstr(result.out, "status ") || !strstr(result.out, "last.nvt"))
        fail_msg("%s%s", result.out, result.err);
    return result;
}

/* Iterations of that name in each process, by number. */
struct seen {
    uint32_t count;
    int64_t start[STEPS], end[STEPS];
};

/* Each of RANKS processes has STEPS whole ones, and the same: of each, all are in it at some moment. */
static void expect_steps(const char *file, const char *name)
{
    struct nvt_trace *trace = recorded_trace_at(recorded_in(file));
    const struct nvt_ranges *ranges = &trace->ranges;
    struct seen seen[PROCESSES] = {{0}};
    int64_t begun[STEPS] = {0}, first_end[STEPS];
    uint32_t ranks = 0;
    assert_null(trace->warning);
    assert_non_null(strstr(trace->notes, "a copy of a recording that went on"));
    assert_non_null(strstr(trace->notes, ", on request: iterations "));
    assert_non_null(strstr(trace->notes, " of 4 processes (from 0)"));
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (strcmp(nvt_name(trace, ranges->name[i]), name) != 0)
            continue;
        const uint32_t process = trace->threads.process[ranges->thread[i]];
        assert_true(process < PROCESSES && seen[process].count < STEPS);
        assert_false(ranges->flags[i] & NVT_RANGE_UNCLOSED);
        seen[process].start[seen[process].count] = ranges->start[i];
        seen[process].end[seen[process].count++] = ranges->end[i];
    }
    for (int k = 0; k < STEPS; k++)
        first_end[k] = INT64_MAX;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        if (!seen[i].count)
            continue;
        ranks++;
        assert_int_equal(seen[i].count, STEPS);
        for (int k = 0; k < STEPS; k++) {
            begun[k] = seen[i].start[k] > begun[k] ? seen[i].start[k] : begun[k];
            first_end[k] = seen[i].end[k] < first_end[k] ? seen[i].end[k] : first_end[k];
        }
    }
    assert_int_equal(ranks, RANKS);
    for (int k = 0; k < STEPS && strcmp(name, "step") != 0; k++) /* those wait for one another */
        assert_true(begun[k] < first_end[k]);
    nvt_trace_free(trace);
}

/* The copy is whole, and has all ranks; each within a range of that name, NULL: of any, and ended or not. */
static void expect_hang(const char *file, const char *in)
{
    struct nvt_trace *trace = recorded_trace_at(recorded_in(file));
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t open = 0, is_open[PROCESSES] = {0};
    const char *kept = nvt_trace_meta(trace, "kept");
    assert_true(!kept || !strcmp(kept, "2 s")); /* of one that is younger, all */
    assert_null(trace->warning);
    assert_string_equal(nvt_trace_meta(trace, "copy"), "of a recording that went on");
    for (uint32_t i = 0; i < ranges->count; i++) {
        const uint32_t process = trace->threads.process[ranges->thread[i]];
        if (process >= PROCESSES || (in && (!(ranges->flags[i] & NVT_RANGE_UNCLOSED) ||
                                            strcmp(nvt_name(trace, ranges->name[i]), in) != 0)))
            continue;
        open += !is_open[process];
        is_open[process] = 1;
    }
    assert_int_equal(open, RANKS);
    nvt_trace_free(trace);
}

/* Processes that are stopped, as in a system call that does not return. */
static void processes_hang(void **state)
{
    (void)state;
    char recorder[600];
    snprintf(
        recorder, sizeof(recorder),
        "\"$0\" record --dormant --iteration step -t nvtx -f -o job.nvt -- sh -c '\"$0\" 60000 "
        "& \"$0\" 60000 & \"$0\" 60000 & \"$0\" 60000; wait' \"$1\" >record.log 2>&1 &");
    struct cli_result result =
        run(recorder, "for p in $(tree $recorder); do kill -STOP $p; done; sleep 0.2",
            cli_client("flight"));
    cli_result_free(&result);
    expect_steps("steps.nvt", "step");
    expect_hang("last.nvt", NULL);
}

/* One rank sleeps in front of its all_reduce: the others are in it. */
static void ranks_of_torchrun_hang(void **state)
{
    (void)state;
    const char *python =
        getenv("NVTALLY_TORCH_PYTHON") ? getenv("NVTALLY_TORCH_PYTHON") : "python3";
    const char *try[] = {python, "-c",
                         "import torch.distributed as d; assert d.is_gloo_available()", NULL};
    struct cli_result result = cli_run(try);
    const int has_torch = !result.status;
    cli_result_free(&result);
    if (!has_torch) {
        print_message("no PyTorch here: not run\n");
        skip();
    }
    char recorder[1600], *program = realpath("tests/clients/ranks.py", NULL);
    assert_non_null(program);
    snprintf(recorder, sizeof(recorder),
             "\"$0\" record --dormant --pytorch -t nvtx -f -o job.nvt -- "
             "%s -m torch.distributed.run --nproc-per-node %d --standalone \"$1\" hang "
             ">record.log 2>&1 &",
             python, RANKS);
    result =
        run(recorder, ": >hang; until [ -e hang.hangs ]; do sleep 0.05; done; sleep 0.2", program);
    free(program);
    cli_result_free(&result);
    expect_steps("steps.nvt", "iteration");
    expect_hang("last.nvt", "iteration");
}

/* Sessions of others on this machine are none of ours. */
static int set_up(void **state)
{
    const int status = recorded_set_up(state);
    char *folder = realpath(recorded_in("."), NULL);
    setenv("NVTALLY_TMPDIR", folder, 1);
    free(folder);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_hang),
        cmocka_unit_test(ranks_of_torchrun_hang),
    };
    return cmocka_run_group_tests(tests, set_up, recorded_tear_down);
}
