/*
 * `record --trace cpu`: samples of programs whose functions burn so much processor time, and of programs that do everything that
 * samples could be in the way of. A sample carries the processor time that it stands for, so that a busy machine changes
 * nothing about shares.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/cpu_coverage.h"
#include "pythons.h"
#include "read_kit.h"
#include "record_kit.h"

/* --- recording --------------------------------------------------------------------------------------- */

/* A program, recorded with these levels and options (of which up to four count); its output is the caller's. */
static struct cli_result run_with(const char *levels, const char *const options[4],
                                  const char *const command[])
{
    const char *argv[32] = {"nvtally", "record", "--trace", levels, "-o", recorded_path()};
    size_t count = 6;
    for (size_t i = 0; i < 4 && options && options[i]; i++)
        argv[count++] = options[i];
    argv[count++] = "--";
    while (*command)
        argv[count++] = *command++;
    argv[count] = NULL;
    return cli_run_with(&(struct cli_options){.timeout_s = 120}, argv);
}

static struct cli_result run(const char *what, const char *levels, const char *option,
                             const char *value)
{
    const char *const options[4] = {option, value};
    return run_with(levels, options, (const char *const[]){cli_client("cpu_samples"), what, NULL});
}

/* The trace of it; it found nothing wrong, nothing was lost, and it heard nothing of us. Where samples were lost at a full ring it is
 * run again, so many times in all. */
static struct nvt_trace *record_in(int tries, const char *what, const char *levels,
                                   const char *option, const char *value)
{
    struct cli_result result = run(what, levels, option, value);
    for (; --tries > 0 && strstr(result.err, "at full buffers");
         result = run(what, levels, option, value))
        cli_result_free(&result);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    assert_null(strstr(result.err, "dropped"));
    assert_null(strstr(result.err, "line "));
    cli_result_free(&result);
    return recorded_trace();
}

static struct nvt_trace *record(const char *what, const char *levels, const char *option,
                                const char *value)
{
    return record_in(1, what, levels, option, value);
}

/* --- what is in a trace ------------------------------------------------------------------------------- */

/* Compilers and versions of libc add something behind a name. */
static int is_called(const struct nvt_trace *trace, uint32_t frame, const char *name)
{
    const char *found = nvt_name(trace, trace->call_frames.name[frame]);
    size_t length = strlen(name);
    return !strncmp(found, name, length) && (!found[length] || strchr(".( @", found[length]));
}

/* Whether a sample's stack has a function of that name. */
static int is_in(const struct nvt_trace *trace, uint32_t sample, const char *name)
{
    for (uint32_t at = trace->cpu_samples.frame[sample]; at; at = trace->call_frames.parent[at - 1])
        if (is_called(trace, at - 1, name))
            return 1;
    return 0;
}

/* Whether it has the one, and further out the other. */
static int is_below(const struct nvt_trace *trace, uint32_t sample, const char *inner,
                    const char *outer)
{
    uint32_t at = trace->cpu_samples.frame[sample];
    while (at && !is_called(trace, at - 1, inner))
        at = trace->call_frames.parent[at - 1];
    while (at && !is_called(trace, at - 1, outer))
        at = trace->call_frames.parent[at - 1];
    return at != 0;
}

/* Milliseconds of processor time in a function (NULL: anywhere), of threads of that name (NULL: any). */
static int64_t time_in(const struct nvt_trace *trace, const char *function, const char *thread)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if ((!thread ||
             !strcmp(nvt_name(trace, trace->threads.name[trace->cpu_samples.thread[i]]), thread)) &&
            (!function || is_in(trace, i, function)))
            ns += trace->cpu_samples.cpu_ns[i];
    return ns / 1000000;
}

/* A machine that stands still for a while may count that as the time of who ran, and the system's clock does not tick then: what
 * is wrong about times is wrong in each of CLI_TRIES. */
static char wrong[512];

#define EXPECT_TIMES(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            snprintf(wrong, sizeof(wrong), "line %d: %s", __LINE__, #condition);                   \
    } while (0)

static void tried(void **state)
{
    void (*const *test)(void **) = *state;
    for (int i = 0; i < CLI_TRIES; i++) {
        wrong[0] = 0;
        (*test)(NULL);
        if (!wrong[0])
            return;
        print_message("%s\n", wrong);
    }
    cli_give_up("%s, %d times", wrong, CLI_TRIES);
}

/* Processor time is looked at when the system's clock ticks: some ticks are at stake at the ends, and what the collector takes. */
static void expect_time(const struct nvt_trace *trace, const char *function, const char *thread,
                        int64_t ms)
{
    int64_t found = time_in(trace, function, thread), most = ms / 10 + 40;
    if (found < ms - most || found > ms + most)
        snprintf(wrong, sizeof(wrong), "%s of %s: %lld ms, not %lld",
                 function ? function : "everything", thread ? thread : "any thread",
                 (long long)found, (long long)ms);
}

/* Samples in a function that were taken while a range was open. */
static int64_t time_within(const struct nvt_trace *trace, const char *function, const char *range)
{
    int64_t ns = 0;
    uint32_t row = recorded_range(trace, range);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (trace->cpu_samples.time[i] >= trace->ranges.start[row] &&
            trace->cpu_samples.time[i] <= trace->ranges.end[row] && is_in(trace, i, function))
            ns += trace->cpu_samples.cpu_ns[i];
    return ns / 1000000;
}

/* --- programs ----------------------------------------------------------------------------------------- */

static void functions_have_their_shares(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("ranges", "nvtx,cpu", NULL, NULL);
    expect_time(trace, "heavy_work", NULL, 600);
    expect_time(trace, "light_work", NULL, 200);
    expect_time(trace, "main", NULL, 800);
    EXPECT_TIMES(time_within(trace, "heavy_work", "heavy") >=
                 time_in(trace, "heavy_work", NULL) - 20);
    assert_int_equal(time_within(trace, "heavy_work", "light"), 0);
    assert_int_equal(time_within(trace, "light_work", "heavy"), 0);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (is_in(trace, i, "heavy_work")) {
            assert_true(is_below(trace, i, "heavy_work", "ranges"));
            assert_true(is_below(trace, i, "ranges", "main"));
            assert_false(trace->cpu_samples.flags[i]);
        }
    nvt_trace_free(trace);
}

static void more_samples_are_not_more_time(void **state)
{
    uint32_t counts[2];
    (void)state;
    static const char *const rates[] = {"20", "1000"};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = record("ranges", "nvtx,cpu", "--cpu-rate", rates[i]);
        int64_t heavy = time_in(trace, "heavy_work", NULL),
                light = time_in(trace, "light_work", NULL);
        EXPECT_TIMES(heavy >= 450 && heavy <= 700 && light >= 90 && light <= 300);
        counts[i] = trace->cpu_samples.count;
        nvt_trace_free(trace);
    }
    EXPECT_TIMES(counts[0] >= 10 && counts[0] <= 20);
    EXPECT_TIMES(counts[1] > 3 * counts[0]); /* as many as the clock ticks */
}

static void threads_have_their_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("threads", "cpu", NULL, NULL);
    expect_time(trace, "work_of_a", NULL, 300);
    expect_time(trace, "work_of_b", NULL, 600);
    expect_time(trace, "small_work", NULL, 300); /* by thrd_create */
    uint32_t of_a = NVT_NONE, of_b = NVT_NONE;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t thread = trace->cpu_samples.thread[i];
        if (is_in(trace, i, "work_of_a")) {
            assert_true(of_a == NVT_NONE || of_a == thread);
            of_a = thread;
            assert_true(is_below(trace, i, "work_of_a", "thread_a"));
        } else if (is_in(trace, i, "work_of_b")) {
            assert_true(of_b == NVT_NONE || of_b == thread);
            of_b = thread;
        }
        /* What starts threads, ours or libc's, is no part of a stack. */
        assert_false(is_in(trace, i, "start_thread"));
        assert_false(is_in(trace, i, "begin"));
    }
    assert_int_not_equal(of_a, of_b);
    nvt_trace_free(trace);
}

static void threads_that_come_and_go(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("short-threads", "cpu", "--ring-size", "64K");
    /* None of them lived for a period: some stand for all. */
    EXPECT_TIMES(time_in(trace, "short_work", NULL) >= 350);
    EXPECT_TIMES(time_in(trace, "short_work", NULL) <= 700);
    EXPECT_TIMES(trace->cpu_samples.count >= 10);
    nvt_trace_free(trace);
    trace = record("cancelled", "cpu", "--cpu-rate", "1000");
    expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void stacks_may_be_small(void **state)
{
    unsigned own[2], other[2];
    (void)state;
    struct nvt_trace *trace = record("small-stacks", "cpu", NULL, NULL);
    expect_time(trace, "small_work", NULL, 300);
    nvt_trace_free(trace);
    struct cli_result result = run("own-stacks", "cpu", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%u %u %u %u", &own[0], &other[0], &own[1], &other[1]), 4);
    cli_result_free(&result);
    /* The registers, of which some processors have 12 KiB, and little more; where there is another stack, nothing at all. */
    assert_true(own[0] < 16384 && !other[0]);
    assert_true(own[1] < 1024 && other[1] > 0 && other[1] < 16384);
    trace = recorded_trace();
    expect_time(trace, "small_work", NULL, 600);
    nvt_trace_free(trace);
}

static void processes_have_their_own(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = record("forks", "cpu", NULL, NULL);
    expect_time(trace, "child_work", NULL, 300);
    expect_time(trace, "work_before", NULL, 100);
    assert_int_equal(trace->processes.count, 2);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t process = trace->threads.process[trace->cpu_samples.thread[i]];
        if (is_in(trace, i, "child_work"))
            assert_int_equal(process, 1);
    }
    nvt_trace_free(trace);
    trace = record("executes", "cpu", NULL, NULL);
    expect_time(trace, "work_before", NULL, 300);
    expect_time(trace, "work_after", NULL, 300);
    nvt_trace_free(trace);
    trace = record("spawns", "cpu", NULL, NULL);
    expect_time(trace, "work_before", NULL, 50);
    expect_time(trace, "work_after", NULL, 600);
    nvt_trace_free(trace);
}

/* A signal that is on its way to a program that becomes another one would end that. */
static void programs_become_others(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    nvt_trace_free(record("many-executes", "cpu", "--cpu-rate", "1000"));
}

static void samples_survive_a_kill(void **state)
{
    (void)state;
    struct cli_result result = run("killed", "cpu", NULL, NULL);
    assert_int_equal(result.signal, SIGKILL);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_time(trace, "work_before", NULL, 400);
    nvt_trace_free(trace);
}

static void signals_are_the_programs_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("blocked", "cpu", NULL, NULL);
    expect_time(trace, "work_of_main", NULL, 400);
    nvt_trace_free(trace);
    trace = record("handlers", "cpu", NULL, NULL);
    expect_time(trace, "work_of_main", NULL, 800);
    nvt_trace_free(trace);
}

static void children_on_the_same_memory_change_nothing(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = record("shares-memory", "cpu", NULL, NULL);
    expect_time(trace, "work_of_main", NULL, 200);
    nvt_trace_free(trace);
}

/* The thread is sampled although the event that it was in never ended. */
static void handlers_of_faults_stay(void **state)
{
    (void)state;
    nvt_trace_free(record("faults", "cpu", "--cpu-rate", "1000"));
}

static void handlers_may_jump(void **state)
{
    (void)state;
    /* It fills its ring as fast as it can. A handler that jumps out of the wait for room leaves the ring full, and a sample that
     * comes before there is room is dropped and counted: in one run of ten. */
    struct nvt_trace *trace = record_in(CLI_TRIES, "jumps", "nvtx,cpu", "--cpu-rate", "1000");
    expect_time(trace, "work_of_main", NULL, 400);
    assert_true(recorded_count(trace, "jumped out of") > 100);
    nvt_trace_free(trace);
}

/* The innermost functions are kept. */
static void recursion_may_be_deep(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("deep", "cpu", NULL, NULL);
    expect_time(trace, "deepest_work", NULL, 300);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t depth = 0;
        for (uint32_t at = trace->cpu_samples.frame[i]; at; at = trace->call_frames.parent[at - 1])
            depth++;
        if (is_in(trace, i, "deepest_work"))
            assert_true(depth == 192 && !is_in(trace, i, "main"));
    }
    nvt_trace_free(trace);
}

/* Who throws unwinds the same stack; libgcc's tables are wrong where it lands in a handler. */
static void exceptions_are_thrown_meanwhile(void **state)
{
    (void)state;
    static const char *const options[4] = {"--cpu-rate", "1000"};
    for (int turn = 0; turn < 3; turn++) {
        struct cli_result result =
            run_with("cpu", options, (const char *const[]){cli_client("cpu_exceptions"), NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        expect_time(trace, NULL, NULL, 1000);
        EXPECT_TIMES(time_in(trace, "_Unwind_RaiseException", NULL) > 50);
        int64_t thrown = 0, below_main = 0;
        for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
            thrown += is_in(trace, i, "_Unwind_RaiseException");
            below_main += is_below(trace, i, "_Unwind_RaiseException", "main");
        }
        assert_true(below_main >= thrown - thrown / 10 - 2);
        nvt_trace_free(trace);
    }
}

static void libraries_come_and_go(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("libraries", "cpu", "--cpu-rate", "1000");
    expect_time(trace, "thread_that_loads", NULL, 800);
    expect_time(trace, "work_of_main", NULL, 200);
    EXPECT_TIMES(time_in(trace, "dlopen", NULL) > 100);
    nvt_trace_free(trace);
}

/* A sample that interrupts an event is left out, and the event is as it would be. */
static void events_are_not_disturbed(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("pairs", "nvtx,cpu", "--cpu-rate", "1000");
    assert_int_equal(recorded_count(trace, "pair"), 1000000);
    assert_int_equal(trace->ranges.count, 1000000);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.level[i], 0);
    nvt_trace_free(trace);
}

static void forbidden_timers_do_no_harm(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    nvt_trace_free(record("no-timers", "cpu", NULL, NULL));
    struct nvt_trace *trace = record("seccomp", "cpu", NULL, NULL);
    expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void descriptors_may_be_closed(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("closes", "cpu", NULL, NULL);
    expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

/* --- options ------------------------------------------------------------------------------------------ */

static void calls_and_samples_go_together(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("threads", "nvtx,osrt,cpu", NULL, NULL);
    expect_time(trace, "work_of_a", NULL, 300);
    expect_time(trace, "work_of_b", NULL, 600);
    int joins = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        joins += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "pthread_join");
    assert_true(joins > 0);
    nvt_trace_free(trace);
    trace = record("cancelled", "osrt,cpu", "--cpu-rate", "1000");
    expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void small_rings_will_do(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("deep", "cpu", "--ring-size", "64K");
    expect_time(trace, "deepest_work", NULL, 300);
    nvt_trace_free(trace);
    static const char *const options[4] = {"--on-full", "drop", "--ring-size", "64K"};
    struct cli_result result =
        run_with("cpu", options, (const char *const[]){cli_client("cpu_samples"), "threads", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    expect_time(trace, "work_of_b", NULL, 600);
    nvt_trace_free(trace);
}

static void capture_and_age_hold_for_samples(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("captured", "nvtx,cpu", "--capture", "wanted");
    expect_time(trace, "work_of_main", NULL, 300);
    assert_int_equal(time_in(trace, "work_before", NULL), 0);
    assert_int_equal(time_in(trace, "work_after", NULL), 0);
    nvt_trace_free(trace);
    trace = record("ranges", "nvtx,cpu", "--max-age", "250ms");
    EXPECT_TIMES(time_in(trace, "light_work", NULL) > 0); /* how much is up to who else runs */
    EXPECT_TIMES(time_in(trace, "heavy_work", NULL) <= 350);
    nvt_trace_free(trace);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    static const char *const rates[] = {"0", "1001", "x", "-5", "", "1e2", "100000000000000000000"};
    for (size_t i = 0; i < NVT_COUNT_OF(rates); i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "--trace", "cpu", "--cpu-rate", rates[i], "true", NULL});
        cli_expect_failure(&result, "--cpu-rate");
        cli_result_free(&result);
    }
    /* Also the rate that would be taken. */
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "--cpu-rate", "200", "true", NULL});
    cli_expect_failure(&result, "--cpu-rate needs --trace cpu");
    cli_result_free(&result);
    result = run("idle", "cpu", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "no CPU samples were recorded"));
    cli_result_free(&result);
    result = run("ranges", "nvtx", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "sample"));
    cli_result_free(&result);
    nvt_trace_free(recorded_trace());
    result = cli_run((const char *const[]){"nvtally", "record", "--trace", "cpu", "-o",
                                           "/nonexistent/t.nvt", "--", "true", NULL});
    cli_expect_failure(&result, "/nonexistent");
    cli_result_free(&result);
}

/* Their time is in no sample, which record and the reports say; of a program that computes nothing is missed. */
static void time_of_short_processes_is_told(void **state)
{
    (void)state;
    char text[300];
    static const char said[] = "s of CPU time are in no sample: processes and threads ended before";
    /* Of a hundred there may be no sample at all, of a thousand there are some. */
    static const char *const scripts[] = {
        "i=0; while [ $i -lt 100 ]; do ls / >/dev/null; i=$((i + 1)); done",
        "i=0; while [ $i -lt 1000 ]; do ls / >/dev/null; i=$((i + 1)); done"};
    struct cli_result result;
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "cpu", "-o",
                                          recorded_path(), "--", "sh", "-c", scripts[i], NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.err, said))
            fail_msg("%s", result.err);
        cli_result_free(&result);
    }
    result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "cpu_functions", recorded_path(), NULL});
    if (!strstr(result.err, said))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    result = run("ranges", "cpu", NULL, NULL);
    assert_null(strstr(result.err, "in no sample"));
    cli_result_free(&result);
    assert_int_equal(nvt_cpu_coverage_note(700000000, 1000000000, text, sizeof(text)), 1);
    assert_int_equal(strncmp(text, "0.30 s of 1.00 s of CPU time", 28), 0);
    assert_int_equal(nvt_cpu_coverage_note(750000000, 1000000000, text, sizeof(text)), 0);
    assert_int_equal(nvt_cpu_coverage_note(0, 49000000, text, sizeof(text)), 0);
    assert_int_equal(nvt_cpu_coverage_note(0, 50000000, text, sizeof(text)), 1);
    assert_int_equal(nvt_cpu_coverage_note(INT64_MAX, 0, text, sizeof(text)), 0);
}

/* --- Python ------------------------------------------------------------------------------------------- */

static const char *python_script(const char *name, const char *text)
{
    const char *path = recorded_in(name);
    cli_write_file(path, text, strlen(text));
    return path;
}

static void skip_without_python(void)
{
    struct cli_result result = cli_run((const char *const[]){"python3", "-c", "pass", NULL});
    int status = result.status;
    cli_result_free(&result);
    if (status) {
        print_message("no python3 here: not run\n");
        skip();
    }
}

static struct nvt_trace *record_python(const char *const options[4], const char *const command[])
{
    struct cli_result result = run_with("cpu", options, command);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    return recorded_trace();
}

#define BURNING                                                                                    \
    "import time, zlib, sys, os\n"                                                                 \
    "def inner(ms):\n"                                                                             \
    "    end = time.thread_time() + ms / 1000\n"                                                   \
    "    x = 0\n"                                                                                  \
    "    while time.thread_time() < end:\n"                                                        \
    "        for i in range(1000):\n"                                                              \
    "            x += i * i\n"                                                                     \
    "def outer(ms):\n"                                                                             \
    "    inner(ms)\n"

static void python_tells_its_functions(void **state)
{
    (void)state;
    skip_without_python();
    const char *path =
        python_script("burns.py", BURNING "def packing(ms):\n"
                                          "    data = os.urandom(1 << 20)\n"
                                          "    end = time.thread_time() + ms / 1000\n"
                                          "    while time.thread_time() < end:\n"
                                          "        zlib.compress(data, 6)\n"
                                          "outer(600)\n"
                                          "packing(400)\n");
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){"python3", path, NULL});
    int64_t inner = 0, compress = 0, within = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        int is_inner = 0;
        for (uint32_t at = trace->cpu_samples.frame[i]; at; at = trace->call_frames.parent[at - 1])
            is_inner |=
                !strncmp(nvt_name(trace, trace->call_frames.name[at - 1]), "inner (burns.py:", 16);
        if (is_inner) {
            inner += trace->cpu_samples.cpu_ns[i] / 1000000;
            assert_true(is_in(trace, i, "outer (burns.py:9)"));
            assert_true(is_in(trace, i, "<module> (burns.py:15)"));
        }
        if (is_in(trace, i, "packing (burns.py:14)")) {
            uint32_t innermost = trace->cpu_samples.frame[i] - 1;
            compress += trace->cpu_samples.cpu_ns[i] / 1000000;
            within += strstr(nvt_name(trace, trace->call_frames.module[innermost]), "libz") != NULL;
        }
        /* Of the interpreter's own functions there is none. */
        if (is_inner || is_in(trace, i, "packing (burns.py:14)"))
            assert_false(is_in(trace, i, "_PyEval_EvalFrameDefault"));
    }
    EXPECT_TIMES(inner >= 540 && inner <= 680);
    EXPECT_TIMES(compress >= 340 && compress <= 480);
    (void)within; /* a Python may have zlib in itself */
    nvt_trace_free(trace);
}

/* Where both are in front of libc, a call is the program's, not of the one that hands it on. */
static void calls_are_of_who_makes_them(void **state)
{
    (void)state;
    struct nvt_trace *trace = record("threads", "osrt,cpu", "--osrt-threshold", "0");
    unsigned created = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++) {
        const char *name = nvt_name(trace, trace->os_calls.name[i]);
        const char *caller = nvt_name(trace, trace->os_calls.caller[i]);
        if (!strncmp(caller, "libnvtally", 10))
            fail_msg("%s is of %s", name, caller);
        created += (!strcmp(name, "pthread_create") || !strcmp(name, "thrd_create")) &&
                   !strcmp(caller, "cpu_samples");
    }
    assert_int_equal(created, 3);
    nvt_trace_free(trace);
}

/* A stack that Python writes down for us is no call of the program's. */
static void python_writes_nothing_of_its_own(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script("burns.py", BURNING "outer(400)\n");
    static const char *const options[4] = {"--osrt-threshold", "0", "--cpu-rate", "1000"};
    struct cli_result result =
        run_with("osrt,cpu", options, (const char *const[]){"python3", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_time(trace, "outer (burns.py:9)", NULL, 400);
    uint32_t samples = 0, writes = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        samples += is_in(trace, i, "outer (burns.py:9)") != 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        writes += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "write") &&
                  strstr(nvt_name(trace, trace->os_calls.caller[i]), "python");
    assert_true(samples > 20 && writes < samples);
    nvt_trace_free(trace);
}

static void python_threads_and_processes(void **state)
{
    (void)state;
    skip_without_python();
    const char *path =
        python_script("many.py", BURNING
                      "import threading, subprocess, multiprocessing\n"
                      "def in_thread():\n"
                      "    outer(300)\n"
                      "def in_process():\n"
                      "    outer(300)\n"
                      "if __name__ == '__main__':\n"
                      "    if len(sys.argv) > 1:\n"
                      "        outer(300)\n"
                      "        sys.exit(0)\n"
                      "    threads = [threading.Thread(target=in_thread) for _ in range(2)]\n"
                      "    [t.start() for t in threads]; [t.join() for t in threads]\n"
                      "    child = multiprocessing.get_context('fork').Process(target=in_process)\n"
                      "    child.start(); child.join()\n"
                      "    subprocess.run([sys.executable, __file__, 'again'], check=True)\n");
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){"python3", path, NULL});
    expect_time(trace, "in_thread (many.py:12)", NULL, 600);
    if (recorded_wipes())
        expect_time(trace, "in_process (many.py:14)", NULL, 300);
    expect_time(trace, "<module> (many.py:17)", NULL, 300);
    nvt_trace_free(trace);
}

/* --- every Python there is ----------------------------------------------------------------------------- */

/* What a program does before each part that is then looked for. The signal of the samples is one of all those that it touches. */
static const struct {
    const char *name, *text;
} upsets[] = {
    {"nothing", "pass"},
    {"subprocess", "subprocess.run(['true'], check=True)"},
    {"close_fds", "subprocess.run(['true'], close_fds=False, start_new_session=True, check=True)"},
    {"preexec", "subprocess.run(['true'], preexec_fn=os.setsid, check=True)"},
    {"not_found", "\n    try: subprocess.run(['/nonexistent'])\n    except OSError: pass"},
    {"spawn", "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ,"
              " setsigdef=[s for s in signal.valid_signals() if s not in (9, 19)]), 0)"},
    {"system", "os.system('true'); os.popen('true').read()"},
    {"handlers", "each(lambda s: signal.signal(s, lambda n, f: None))"},
    {"run_with_handlers", "subprocess.run(['true'], check=True)"},
    {"ignored", "each(lambda s: signal.signal(s, signal.SIG_IGN))"},
    {"default", "each(lambda s: signal.signal(s, signal.SIG_DFL))"},
    {"wakeup", "a, b = socket.socketpair(); b.setblocking(False); signal.set_wakeup_fd(b.fileno());"
               " each(lambda s: signal.siginterrupt(s, True))"},
    {"masked", "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"},
    {"faulthandler", "faulthandler.enable(file); faulthandler.dump_traceback(file);"
                     " each(lambda s: faulthandler.register(s, file=file, chain=False))"},
    {"later", "faulthandler.dump_traceback_later(0.01, repeat=True, file=file)"},
    {"unregister", "faulthandler.cancel_dump_traceback_later(); each(faulthandler.unregister);"
                   " faulthandler.disable()"},
    {"forked", "pid = os.fork(); pid and (os.waitpid(pid, 0), outer(10), os._exit(0))"},
};
#define UPSETS NVT_COUNT_OF(upsets)

static void is_upset(const char *python)
{
    static char text[8192];
    size_t length =
        (size_t)snprintf(text, sizeof(text), "%s",
                         BURNING "import faulthandler, signal, socket, subprocess\n"
                                 "file = open(os.devnull, 'w')\n"
                                 "def each(do):\n"
                                 "    for s in range(1, 65):\n"
                                 "        if s in (2, 9, 15, 17, 19, 32): continue\n"
                                 "        try: do(s)\n"
                                 "        except (OSError, ValueError, RuntimeError): pass\n");
    for (size_t i = 0; i < UPSETS; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "def after_%s():\n    outer(100)\n", upsets[i].name);
    length += (size_t)snprintf(text + length, sizeof(text) - length, "if 1:\n");
    for (size_t i = 0; i < UPSETS; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "    %s\n    after_%s()\n",
                                   upsets[i].text, upsets[i].name);
    assert_true(length < sizeof(text) - 1);
    const char *path = python_script("upset.py", text);
    struct nvt_trace *trace = record_python(NULL, (const char *const[]){python, path, NULL});
    for (size_t i = 0; i < UPSETS; i++) {
        int64_t ms = 0;
        char name[64];
        snprintf(name, sizeof(name), "after_%s ", upsets[i].name);
        for (uint32_t row = 0; row < trace->cpu_samples.count; row++)
            for (uint32_t at = trace->cpu_samples.frame[row]; at;
                 at = trace->call_frames.parent[at - 1])
                if (!strncmp(nvt_name(trace, trace->call_frames.name[at - 1]), name, strlen(name)))
                    ms += trace->cpu_samples.cpu_ns[row] / 1000000;
        if (ms < 40) /* the clock's ticks may count for the part before, or behind */
            snprintf(wrong, sizeof(wrong), "%s: %s%lld ms, not 100", python, name, (long long)ms);
    }
    nvt_trace_free(trace);
}

static void stacks_survive_what_programs_do(void **state)
{
    (void)state;
    with_every_python(is_upset);
}

/* Each asks for the handler again, and may not have the module. Nothing is said, and the stacks are of the right interpreter. */
static void has_others(const char *python)
{
    const char *path = python_script(
        "others.py",
        "try: import _interpreters as others\n"
        "except ImportError: import _xxsubinterpreters as others\n"
        "run = getattr(others, 'exec', None) or others.run_string\n"
        "for _ in range(3):\n"
        "    other = others.create()\n"
        "    run(other, \"\"\"\n" BURNING "def in_other(): outer(100)\nin_other()\n\"\"\")\n"
        "    others.destroy(other)\n" BURNING "def in_main(): outer(100)\nin_main()\n"
        "print(sys.version_info >= (3, 12))\n");
    struct cli_result result =
        run_with("cpu", NULL, (const char *const[]){python, "-W", "ignore", path, NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "Python"));
    int tells_others = !strncmp(result.out, "True", 4);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    /* Before 3.12, the thread's stack is that of the interpreter that has called the other. */
    expect_time(trace, tells_others ? "in_other" : "<module> (others.py:6)", NULL, 300);
    expect_time(trace, "in_main", NULL, 100);
    nvt_trace_free(trace);
}

static void sub_interpreters_have_stacks(void **state)
{
    (void)state;
    with_every_python(has_others);
}

/* Of a program that burns as many ms as its last word says: on a busy machine the clock ticks seldom for a thread, so it burns more
 * where a second has few samples. */
static struct cli_result run_with_samples(const char *const command[])
{
    enum { ENOUGH = 60 };
    static const char *const burnt_ms[] = {"1000", "4000", "16000"};
    struct cli_result result = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(burnt_ms); i++) {
        const char *argv[8] = {NULL};
        size_t count = 0;
        for (; command[count]; count++)
            argv[count] = command[count];
        argv[count] = burnt_ms[i];
        cli_result_free(&result);
        result = run_with("cpu", NULL, argv);
        cli_expect_status(&result, 0);
        const char *samples = strstr(result.err, " CPU samples");
        while (samples && samples > result.err && samples[-1] != ' ')
            samples--;
        if (samples && strtol(samples, NULL, 10) >= ENOUGH)
            break;
    }
    return result;
}

/* What record says of missing stacks, and what the report says. */
static void expect_missing(const char *const command[], const char *reason)
{
    struct cli_result result = run_with_samples(command);
    const char *said = strstr(result.err, "Python's stack is missing in ");
    if (!reason != !said || (reason && !strstr(said, reason)))
        fail_msg("not \"%s\": %s", reason ? reason : "nothing", result.err);
    cli_result_free(&result);
    result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "cpu_functions", recorded_path(), NULL});
    cli_expect_status(&result, 0);
    said = strstr(result.err, "note: Python's stack is missing in ");
    if (!reason != !said || (reason && !strstr(said, reason)))
        fail_msg("not \"%s\": %s", reason ? reason : "nothing", result.err);
    cli_result_free(&result);
}

static void missing_stacks_are_told(const char *python)
{
    const char *path = python_script("burns.py", BURNING "outer(int(sys.argv[1]))\n");
    expect_missing((const char *const[]){python, path, NULL}, NULL);
    expect_missing((const char *const[]){python, "-S", path, NULL}, "sitecustomize had not run");
    path = python_script("gone.py", BURNING "import faulthandler\nouter(100)\n"
                                            "for s in range(1, 65):\n"
                                            "    try: faulthandler.unregister(s)\n"
                                            "    except (ValueError, RuntimeError): pass\n"
                                            "outer(int(sys.argv[1]))\n");
    expect_missing((const char *const[]){python, path, NULL}, "faulthandler.unregister");
}

static void who_has_no_stack_and_why(void **state)
{
    (void)state;
    with_every_python(missing_stacks_are_told);
}

/* Python takes its handler back when it ends, and still runs for a while. */
static void python_ends(void **state)
{
    (void)state;
    skip_without_python();
    static const char *const options[4] = {"--cpu-rate", "1000"};
    static const char program[] = "import json, decimal, argparse, email, threading\n"
                                  "threads = [threading.Thread(target=lambda: sum(range(10**7)), "
                                  "daemon=True) for _ in range(2)]\n"
                                  "[t.start() for t in threads]\n";
    for (int turn = 0; turn < 30; turn++)
        nvt_trace_free(record_python(
            options, (const char *const[]){"python3", "-c", turn % 2 ? program : "pass", NULL}));
}

/* Python's handler may find a frame that is just being made, and follows a pointer to nowhere. */
static void python_is_interrupted_anywhere(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script(
        "anywhere.py", "import time, threading, json, gc, os\n"
                       "end = time.time() + 3\n"
                       "def gen(n):\n"
                       "    for i in range(n):\n"
                       "        yield from (x for x in range(3))\n"
                       "def rec(n):\n"
                       "    if n: return rec(n - 1)\n"
                       "    raise ValueError\n"
                       "class A:\n"
                       "    def __getattr__(self, name): return name\n"
                       "def work():\n"
                       "    while time.time() < end:\n"
                       "        list(gen(200))\n"
                       "        try: rec(60)\n"
                       "        except ValueError: pass\n"
                       "        [A().foo for _ in range(50)]\n"
                       "        json.loads(json.dumps({str(i): [i] * 3 for i in range(50)}))\n"
                       "        sorted(range(200), key=lambda x: -x)\n"
                       "        exec('def f(x): return x + 1\\nf(2)', {})\n"
                       "        gc.collect(0)\n"
                       "threads = [threading.Thread(target=work) for _ in range(3)]\n"
                       "[t.start() for t in threads]; [t.join() for t in threads]\n"
                       "pid = os.fork()\n"
                       "if not pid: os.kill(os.getpid(), 11)\n"
                       "assert os.waitpid(pid, 0)[1] & 127 == 11\n");
    static const char *const options[4] = {"--cpu-rate", "1000"};
    for (int turn = 0; turn < 2; turn++) {
        struct nvt_trace *trace =
            record_python(options, (const char *const[]){"python3", path, NULL});
        int64_t all = time_in(trace, NULL, NULL), known = 0;
        for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
            known +=
                is_in(trace, i, "work (anywhere.py:13)") ||
                        is_in(trace, i, "gen (anywhere.py:5)") ||
                        strstr(nvt_name(trace,
                                        trace->call_frames.name[trace->cpu_samples.frame[i] - 1]),
                               ".py:")
                    ? trace->cpu_samples.cpu_ns[i] / 1000000
                    : 0;
        EXPECT_TIMES(known > all / 4); /* to the end: most are in other lines */
        nvt_trace_free(trace);
    }
}

/* What Python leaves out by these options is no failure. */
static void python_without_site(void **state)
{
    (void)state;
    skip_without_python();
    const char *path = python_script("burns.py", BURNING "outer(400)\n");
    static const char *const options[] = {"-S", "-I", "-E"};
    for (size_t i = 0; i < 3; i++) {
        struct nvt_trace *trace =
            record_python(NULL, (const char *const[]){"python3", options[i], path, NULL});
        EXPECT_TIMES(time_in(trace, NULL, NULL) >= 350);
        assert_false(time_in(trace, "outer (burns.py:9)", NULL));
        nvt_trace_free(trace);
    }
}

/* The user's path, module of that name, handlers and descriptors are as they would be. */
static void python_is_the_users(void **state)
{
    char folder[4200], path_is[4400];
    (void)state;
    skip_without_python();
    snprintf(folder, sizeof(folder), "%s", recorded_in("."));
    snprintf(path_is, sizeof(path_is), "PYTHONPATH=%s", folder);
    python_script("sitecustomize.py", "import builtins\nbuiltins.mine = 42\n");
    const char *script = python_script(
        "users.py", BURNING
        "import faulthandler, signal\n"
        "assert mine == 42\n"
        "assert os.environ['PYTHONPATH'].split(':')[-1] == sys.argv[1], os.environ['PYTHONPATH']\n"
        "faulthandler.enable()\n"
        "with open(sys.argv[2], 'w+') as file:\n"
        "    faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)\n"
        "    seen = []\n"
        "    for number in signal.valid_signals():\n"
        "        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):\n"
        "            try: signal.signal(number, lambda n, f: seen.append(n))\n"
        "            except (OSError, ValueError): pass\n"
        "    outer(300)\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    assert not seen, seen\n"
        "    file.seek(0)\n"
        "    text = file.read()\n"
        "    assert 'users.py\", line 22 in <module>' in text, text\n"
        "    faulthandler.dump_traceback(file, False)\n"
        "    faulthandler.dump_traceback_later(0.05, file=file)\n"
        "    outer(100)\n"
        "    faulthandler.cancel_dump_traceback_later()\n"
        "    os.closerange(3, 1024)\n"
        "    outer(100)\n"
        "    os._exit(0)\n");
    const char *argv[] = {"nvtally",           "record", "--trace", "cpu",  "-o",
                          recorded_path(),     "--",     "python3", script, folder,
                          recorded_in("dump"), NULL};
    struct cli_result result = cli_run_with(
        &(struct cli_options){.environment = (const char *const[]){path_is, NULL}}, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    assert_null(strstr(result.err, "Traceback"));
    cli_result_free(&result);
    unlink(recorded_in("sitecustomize.py"));
    struct nvt_trace *trace = recorded_trace();
    expect_time(trace, "outer (users.py:9)", NULL, 500);
    nvt_trace_free(trace);
}

/* Programs that no library comes in front of are told of. */
static void programs_that_drop_the_library(void **state)
{
    (void)state;
    struct cli_result result =
        run_with("cpu", NULL,
                 (const char *const[]){"env", "-u", "LD_PRELOAD", cli_client("cpu_samples"),
                                       "ranges", NULL});
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(time_in(trace, "heavy_work", NULL), 0);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

#define TESTS(X)                                                                                   \
    X(functions_have_their_shares)                                                                 \
    X(more_samples_are_not_more_time)                                                              \
    X(threads_have_their_own)                                                                      \
    X(threads_that_come_and_go)                                                                    \
    X(stacks_may_be_small)                                                                         \
    X(processes_have_their_own)                                                                    \
    X(programs_become_others)                                                                      \
    X(samples_survive_a_kill)                                                                      \
    X(signals_are_the_programs_own)                                                                \
    X(children_on_the_same_memory_change_nothing)                                                  \
    X(handlers_of_faults_stay)                                                                     \
    X(handlers_may_jump)                                                                           \
    X(recursion_may_be_deep)                                                                       \
    X(exceptions_are_thrown_meanwhile)                                                             \
    X(libraries_come_and_go)                                                                       \
    X(events_are_not_disturbed)                                                                    \
    X(forbidden_timers_do_no_harm)                                                                 \
    X(descriptors_may_be_closed)                                                                   \
    X(calls_and_samples_go_together)                                                               \
    X(small_rings_will_do)                                                                         \
    X(capture_and_age_hold_for_samples)                                                            \
    X(time_of_short_processes_is_told)                                                             \
    X(what_cannot_be_is_told)                                                                      \
    X(python_tells_its_functions)                                                                  \
    X(python_writes_nothing_of_its_own)                                                            \
    X(python_threads_and_processes)                                                                \
    X(stacks_survive_what_programs_do)                                                             \
    X(sub_interpreters_have_stacks)                                                                \
    X(who_has_no_stack_and_why)                                                                    \
    X(python_ends)                                                                                 \
    X(python_is_interrupted_anywhere)                                                              \
    X(python_without_site)                                                                         \
    X(python_is_the_users) X(programs_that_drop_the_library) X(calls_are_of_who_makes_them)

#define TEST(name) {#name, tried, NULL, NULL, &(void (*)(void **)){name}},

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS(TEST)};
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
