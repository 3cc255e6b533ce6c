/* The memory of processes: sampled while a program runs, in reports, and what is said of it when it grows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/model/counters.h"
#include "../analyze/readers/reader.h"
#include "../analyze/studies/process_memory.h"
#include "../collectors/machine_processes.h"
#include "../lib/clock.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "finding_kit.h"

#define MIB 1048576.0

/* --- /proc ---------------------------------------------------------------------------------------------- */

static void reads_a_process(void **state)
{
    (void)state;
    struct nvt_followed followed;
    double values[NVT_MACHINE_PROCESS_COUNT], before;
    int64_t walk_ns;
    assert_int_equal(nvt_followed_open(&followed, 7, getpid()), 0);
    assert_int_equal(nvt_followed_read(&followed, values, &walk_ns), 1);
    before = values[NVT_MACHINE_RESIDENT];
    assert_true(before > 0.5 * MIB && values[NVT_MACHINE_FILE_BACKED] <= before);
    assert_true(isnan(values[NVT_MACHINE_PROPORTIONAL]) && walk_ns == 0);
    char *block = malloc(64u << 20);
    assert_non_null(block);
    memset(block, 1, 64u << 20);
    followed.walk_due = 0;
    assert_int_equal(nvt_followed_read(&followed, values, &walk_ns), 1);
    const double more = values[NVT_MACHINE_RESIDENT] - before;
    assert_true(block[12345] && more > 60 * MIB && more < 70 * MIB);
    assert_true(walk_ns > 0 && followed.walk_due > nvt_monotonic_ns() + 5000000000);
    assert_true(values[NVT_MACHINE_PROPORTIONAL] > 60 * MIB &&
                values[NVT_MACHINE_PROPORTIONAL] <= values[NVT_MACHINE_RESIDENT] + MIB);
    assert_true(values[NVT_MACHINE_PINNED] >= 0 && values[NVT_MACHINE_SWAPPED] >= 0);
    free(block);
    nvt_followed_close(&followed);
}

static void one_that_has_ended_has_nothing(void **state)
{
    (void)state;
    struct nvt_followed followed;
    double values[NVT_MACHINE_PROCESS_COUNT];
    int64_t walk_ns;
    assert_int_equal(nvt_followed_open(&followed, 0, 0x7ffffffe), -1);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(0);
    if (!nvt_followed_open(&followed, 0, child)) {
        struct timespec nap = {0, 1000000};
        while (nvt_followed_read(&followed, values, &walk_ns))
            nanosleep(&nap, NULL);
        assert_true(followed.folder < 0); /* it ended, and nobody has waited for it yet */
    }
}

/* --- recorded ------------------------------------------------------------------------------------------- */

/* what: what --trace has, or "" for --pytorch alone. */
static struct nvt_trace *record(const char *what, const char *kind, const char *iterations)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char option[64];
    if (*what)
        snprintf(option, sizeof(option), "--trace=%s", what);
    else
        snprintf(option, sizeof(option), "--pytorch");
    const char *argv[] = {"nvtally",
                          "record",
                          option,
                          "-o",
                          cli_in(cli_folder, "t.nvt"),
                          "--",
                          cli_client("resident"),
                          kind,
                          iterations,
                          "256",
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
    if (!trace)
        fail_msg("%s", err.message);
    return trace;
}

static char *run(const char *command, const char *option, const char *value)
{
    const char *argv[] = {"nvtally", command, cli_in(cli_folder, "t.nvt"), option, value, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    char *out = result.out;
    result.out = NULL;
    cli_result_free(&result);
    return out;
}

/* The whole way, of a leak: 256 KiB of each of 140 iterations of 50 ms. */
static void a_leak_is_recorded_and_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("nvtx,process", "leak", "140");
    struct nvt_processes_memory all = {.count = 0};
    assert_int_equal(nvt_processes_memory_make(&all, trace), 0);
    assert_int_equal(all.count, 1);
    const double file = nvt_process_memory_last(&all.items[0], NVT_MACHINE_FILE_BACKED);
    const double last = nvt_process_memory_last(&all.items[0], NVT_MACHINE_RESIDENT);
    assert_true(file > 64 * MIB && file < 80 * MIB);
    assert_true(last > 64 * MIB + 30 * MIB && last < 64 * MIB + 60 * MIB);
    assert_true(nvt_process_memory_highest(&all.items[0], NVT_MACHINE_RESIDENT) >= last);
    assert_true(nvt_process_memory_last(&all.items[0], NVT_MACHINE_PROPORTIONAL) > 64 * MIB);
    assert_true(trace->counters.is_of_process[0] && !nvt_machine_counters(trace));
    nvt_processes_memory_free(&all);
    nvt_trace_free(trace);
    char *out = run("diagnose", "-f", "csv");
    if (!strstr(out, "process memory growth") || !strstr(out, "most of it anonymous"))
        fail_msg("%s", out);
    const char *by = strstr(out, "the resident memory of the process grows by ");
    assert_true(by && fabs(strtod(by + 44, NULL) - 0.25) < 0.02);
    free(out);
    out = run("stats", "-r", "process_memory");
    assert_non_null(strstr(out, "Memory per iteration"));
    free(out);
}

static void caches_and_garbage_are_no_leak(void **state)
{
    (void)state;
    static const char *const kinds[] = {"cache", "garbage"};
    for (size_t i = 0; i < 2; i++) {
        nvt_trace_free(record("nvtx,machine", kinds[i], "120"));
        char *out = run("diagnose", "-f", "csv");
        if (strstr(out, "process memory growth"))
            fail_msg("%s: %s", kinds[i], out);
        free(out);
    }
}

static void it_is_sampled_when_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint32_t processes;
    } cases[] = {{"nvtx", 0}, {"nvtx,process", 1}, {"nvtx,machine", 1}, {"full", 1}, {"", 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = record(cases[i].what, "leak", "8");
        if (nvt_processes_sampled(trace) < cases[i].processes) { /* nobody looked within 400 ms */
            nvt_trace_free(trace);
            trace = record(cases[i].what, "leak", "64");
        }
        assert_int_equal(nvt_processes_sampled(trace), cases[i].processes);
        /* What is sampled beside it makes the trace no longer. */
        assert_true(trace->last_ns - trace->first_ns < 60000000000);
        assert_int_equal(trace->last_ns, trace->ranges.end[trace->ranges.count - 1]);
        nvt_trace_free(trace);
    }
}

/* A program that becomes another one, and children of it, each of so many iterations of 50 ms. */
static struct nvt_trace *record_three(int iterations)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const char *client = cli_client("resident");
    char script[1000];
    snprintf(script, sizeof(script), "%s leak %d 64 & %s leak %d %d; wait; exec %s leak %d 64",
             client, iterations, client, iterations, 16384 / iterations, client, iterations);
    const char *argv[] = {"nvtally",
                          "record",
                          "-f",
                          "--trace",
                          "nvtx,process",
                          "-o",
                          cli_in(cli_folder, "t.nvt"),
                          "--",
                          "sh",
                          "-c",
                          script,
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
    assert_non_null(trace);
    return trace;
}

/* Each image of each process has its own. On a machine on which nobody looks while they live, they live for longer. */
static void each_process_has_its_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_three(8);
    for (int iterations = 16; iterations <= 64 && nvt_processes_sampled(trace) < 3;
         iterations *= 2) {
        print_message("%u of 3 processes sampled: again\n", nvt_processes_sampled(trace));
        nvt_trace_free(trace);
        trace = record_three(iterations);
    }
    assert_int_equal(nvt_processes_sampled(trace), 3);
    struct nvt_processes_memory all = {.count = 0};
    assert_int_equal(nvt_processes_memory_make(&all, trace), 0);
    int large = 0;
    for (uint32_t i = 0; i < all.count; i++)
        large += nvt_process_memory_highest(&all.items[i], NVT_MACHINE_RESIDENT) > 75 * MIB;
    assert_int_equal(large, 1);
    nvt_processes_memory_free(&all);
    nvt_trace_free(trace);
}

/* --- made up -------------------------------------------------------------------------------------------- */

/* The rule finds one thing, which says that, and so many MiB per iteration. */
static void expect_one(struct maker *maker, double mib, const char *what, const char *evidence)
{
    struct nvt_findings findings = kit_find(maker, &nvt_rule_resident);
    if (findings.count != 1)
        fail_msg("%zu findings instead of one that says %s", findings.count, what);
    if (!strstr(findings.items[0].what, what) || !strstr(findings.items[0].evidence, evidence))
        fail_msg("%s; %s", findings.items[0].what, findings.items[0].evidence);
    assert_true(fabs(findings.items[0].cost_bytes - mib * MIB) < 0.02 * mib * MIB);
    free(findings.items);
}

/* Iterations of 100 ms in which a process and another one that it started take so many MiB. */
static struct maker grow(double own, double worker)
{
    struct maker maker = make_begin(), other = maker;
    other.process = nvt_trace_process(maker.trace, 2);
    other.thread = nvt_trace_thread(maker.trace, other.process, 2);
    maker.trace->processes.parent_pid[other.process] = 1;
    for (int i = 0; i < 80; i++) {
        const int64_t start = maker.now;
        maker.now += 100000000;
        make_resident(&maker, maker.now - 30000000, (500 + i * own) * MIB);
        make_resident(&other, maker.now - 30000000, (300 + i * worker) * MIB);
        make_range(&maker, "iteration", start);
    }
    return maker;
}

static void workers_are_told_apart(void **state)
{
    (void)state;
    struct maker maker = grow(0, 1);
    expect_one(&maker, 1, "the resident memory of processes that work for the loop grows by",
               "in process 2; 1 of 1 such processes grow");
    maker = grow(0.5, 0);
    expect_one(&maker, 0.5, "the resident memory of the process grows by",
               "iterations, more in each eighth of them");
    maker = grow(0, 0);
    kit_find_nothing(&maker, &nvt_rule_resident);
}

/* Every fifth iteration has an evaluation that keeps what it computes. */
static void it_says_in_which_range_it_grows(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    double bytes = 500 * MIB;
    for (int i = 0; i < 100; i++) {
        const int64_t start = maker.now;
        maker.now += 80000000;
        make_resident(&maker, maker.now - 1000, bytes);
        if (i % 5 == 4) {
            const int64_t evaluates = maker.now;
            maker.now += 100000000;
            bytes += 2 * MIB;
            make_resident(&maker, maker.now - 1000, bytes);
            make_range(&maker, "evaluation", evaluates);
        }
        maker.now += 20000000;
        make_range(&maker, "iteration", start);
    }
    expect_one(&maker, 0.4, "grows by", "of that in range evaluation");
}

/* Without iterations, the outermost range that repeats; without one, nothing is said. */
static void a_loop_may_be_unnamed(void **state)
{
    (void)state;
    for (int has_ranges = 0; has_ranges < 2; has_ranges++) {
        struct maker maker = make_begin();
        for (int i = 0; i < 100; i++) {
            const int64_t start = maker.now;
            maker.now += 100000000;
            make_resident(&maker, maker.now, (500 + i) * MIB);
            if (has_ranges || i < 5)
                make_range(&maker, "request", start);
        }
        if (has_ranges)
            expect_one(&maker, 1, "grows by",
                       "an iteration is taken to begin with each range request");
        else
            kit_find_nothing(&maker, &nvt_rule_resident);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_process),
        cmocka_unit_test(one_that_has_ended_has_nothing),
        cmocka_unit_test(a_leak_is_recorded_and_told),
        cmocka_unit_test(caches_and_garbage_are_no_leak),
        cmocka_unit_test(it_is_sampled_when_asked_for),
        cmocka_unit_test(each_process_has_its_own),
        cmocka_unit_test(workers_are_told_apart),
        cmocka_unit_test(it_says_in_which_range_it_grows),
        cmocka_unit_test(a_loop_may_be_unnamed),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
