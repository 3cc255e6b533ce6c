/*
 * Processes that only started the program: which are left out, which are not, and that all of their calls are there again with
 * --launchers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/launchers.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

#define MS INT64_C(1000000)

/* --- made up ------------------------------------------------------------------------------------------ */

/* A process with a main thread of its own. Returns its row. */
static uint32_t add_process(struct nvt_trace *trace, int64_t pid, int64_t parent, const char *name)
{
    const struct nvt_process process = {.pid = pid,
                                        .parent_pid = parent,
                                        .name = nvt_strings_add_text(trace->strings, name),
                                        .rank = NVT_NONE};
    assert_int_not_equal(nvt_process_add(trace, &process), NVT_NONE);
    const struct nvt_thread thread = {.process = trace->processes.count - 1, .tid = pid};
    assert_int_not_equal(nvt_thread_add(trace, &thread), NVT_NONE);
    return trace->processes.count - 1;
}

/* A call of its main thread, ms. */
static void add_call(struct nvt_trace *trace, uint32_t process, const char *name, const char *file,
                     int64_t from, int64_t to)
{
    const struct nvt_os_call call = {.start = from * MS,
                                     .end = to * MS,
                                     .thread = process,
                                     .name = nvt_strings_add_text(trace->strings, name),
                                     .file = file ? nvt_strings_add_text(trace->strings, file) : 0};
    assert_int_not_equal(nvt_os_call_add(trace, &call), NVT_NONE);
}

/* CPU time from one moment to another, ms, in samples of 1 ms. */
static void add_work(struct nvt_trace *trace, uint32_t process, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at++) {
        const struct nvt_cpu_sample sample = {.time = at * MS, .thread = process, .cpu_ns = MS};
        assert_int_not_equal(nvt_cpu_sample_add(trace, &sample), NVT_NONE);
    }
}

static void add_range(struct nvt_trace *trace, uint32_t process, int64_t from, int64_t to)
{
    const struct nvt_range range = {.start = from * MS,
                                    .end = to * MS,
                                    .thread = process,
                                    .name = nvt_strings_add_text(trace->strings, "step"),
                                    .parent = NVT_NONE};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
}

/* A process that works from one moment to another and is there for so long. */
static uint32_t add_program(struct nvt_trace *trace, int64_t pid, int64_t parent, const char *name,
                            int64_t from, int64_t to)
{
    uint32_t process = add_process(trace, pid, parent, name);
    add_call(trace, process, "open64", "/etc/passwd", from, from + 1);
    add_work(trace, process, from + 1, to - 1);
    add_call(trace, process, "write", "/tmp/out", to - 1, to);
    return process;
}

static struct nvt_trace *new_trace(void)
{
    struct nvt_trace *trace = nvt_trace_new("t", "nvt");
    assert_non_null(trace);
    return trace;
}

/* Finish it; a letter for each process says whether it is a launcher ("l") or not ("."). */
static void expect(struct nvt_trace *trace, const char *what, const char *expected)
{
    char found[16] = "";
    uint32_t count = 0, marked = 0;
    assert_int_equal(nvt_trace_finish(trace, NULL), 0);
    uint8_t *launchers = nvt_launchers_find(trace, &count);
    assert_non_null(launchers);
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        found[i] = launchers[i] ? 'l' : '.';
        marked += launchers[i];
    }
    assert_int_equal(marked, count);
    free(launchers);
    nvt_trace_free(trace);
    if (strcmp(found, expected) != 0)
        fail_msg("%s: '%s', not '%s'", what, found, expected);
}

static void what_waits_for_its_child_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *name, *call, *file;
    } waits[] = {{"timeout 5 prog", "waitpid", NULL},  {"timeout 5 prog", "sigsuspend", NULL},
                 {"bash -c x", "read", "pipe:[1]"},    {"make", "wait4", NULL},
                 {"mpirun prog", "poll", NULL},        {"uv run prog", "epoll_wait", NULL},
                 {"torchrun prog", "nanosleep", NULL}, {"agent", "sem_wait", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(waits); i++) {
        struct nvt_trace *trace = new_trace();
        uint32_t launcher = add_process(trace, 10, 1, waits[i].name);
        add_call(trace, launcher, "fork", NULL, 0, 1);
        add_call(trace, launcher, waits[i].call, waits[i].file, 2, 1001);
        add_program(trace, 11, 10, "prog", 2, 1000);
        expect(trace, waits[i].call, "l.");
    }
}

/* Each has what a launcher has but for one thing. */
static void what_works_itself_is_none(void **state)
{
    (void)state;
    enum wrong {
        WORKS,
        MAKES_RANGES,
        WAITS_LITTLE,
        READS_FILES,
        SAME_PROGRAM,
        PYTHONS_WORKERS,
        ITS_TIME,
        NO_CHILD,
        ALL
    };
    static const char *const names[ALL] = {"works",       "makes ranges", "waits little",
                                           "reads files", "same program", "Python's workers",
                                           "its time",    "no child"};
    for (enum wrong wrong = WORKS; wrong < ALL; wrong++) {
        struct nvt_trace *trace = new_trace();
        const int is_forked = wrong == SAME_PROGRAM || wrong == PYTHONS_WORKERS;
        uint32_t parent = add_process(trace, 10, 1, "python3 train.py");
        add_call(trace, parent,
                 is_forked              ? "poll"
                 : wrong == READS_FILES ? "read"
                                        : "waitpid",
                 wrong == READS_FILES ? "/data/a" : NULL, 2, wrong == WAITS_LITTLE ? 700 : 1001);
        if (wrong == WAITS_LITTLE)
            add_call(trace, parent, "write", "/tmp/out", 1000, 1001);
        if (wrong == WORKS)
            add_work(trace, parent, 100, 250);
        if (wrong == ITS_TIME)
            add_work(trace, parent, 1100, 3000);
        if (wrong == MAKES_RANGES)
            add_range(trace, parent, 5, 9);
        add_program(trace, 11, wrong == NO_CHILD ? 1 : 10,
                    wrong == PYTHONS_WORKERS
                        ? "python3 -c from multiprocessing.spawn import spawn_main"
                    : is_forked ? "python3 train.py"
                                : "sort",
                    2, 1000);
        expect(trace, names[wrong], "..");
    }
}

/* The wrapper of a version manager: a shell and what it starts, until it becomes the program. */
static void what_becomes_the_program_is_one(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace();
    add_program(trace, 10, 1, "bash /shims/python3 x.py", 0, 300);
    add_program(trace, 11, 10, "basename x", 100, 120); /* … and its child */
    add_program(trace, 12, 11, "sed s/a/b/", 105, 115);
    uint32_t program = add_program(trace, 10, 1, "python3 x.py", 301, 900);
    add_program(trace, 13, 10, "sort", 400, 500); /* of the program */
    (void)program;
    expect(trace, "a wrapper", "lll..");
    /* The number of a process that has ended is another's later. */
    trace = new_trace();
    add_program(trace, 10, 1, "first", 0, 300);
    add_program(trace, 10, 1, "second", 2000, 3000);
    expect(trace, "a number twice", "..");
    /* One that has worked for long before. */
    trace = new_trace();
    add_program(trace, 10, 1, "prepare", 0, 1500);
    add_program(trace, 10, 1, "solve", 1501, 3000);
    expect(trace, "long work", "..");
    /* The innermost one stays: what it started was not recorded. */
    trace = new_trace();
    uint32_t launcher = add_process(trace, 10, 1, "bash -c x");
    add_call(trace, launcher, "waitpid", NULL, 2, 1001);
    uint32_t inner = add_process(trace, 11, 10, "timeout 3 x");
    add_call(trace, inner, "waitpid", NULL, 3, 1000);
    expect(trace, "a chain", "l.");
}

static void their_rows_are_left_out(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace();
    uint32_t launcher = add_process(trace, 10, 1, "/usr/bin/timeout 5 prog");
    add_call(trace, launcher, "waitpid", NULL, 2, 1001);
    add_work(trace, launcher, 0, 2);
    uint32_t agent = add_process(trace, 11, 10, "python3 /usr/bin/torchrun x");
    add_call(trace, agent, "waitpid", NULL, 3, 1000);
    uint32_t program = add_program(trace, 12, 11, "prog", 3, 999);
    assert_int_equal(nvt_trace_finish(trace, NULL), 0);
    const uint32_t samples = trace->cpu_samples.count;
    assert_int_equal(nvt_launchers_leave_out(trace), 0);
    assert_int_equal(trace->os_calls.count, 2);
    assert_int_equal(trace->cpu_samples.count, samples - 2);
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        assert_int_equal(trace->threads.process[trace->os_calls.thread[i]], program);
    assert_string_equal(trace->notes,
                        "OS calls and CPU samples of 2 processes that only started the program are "
                        "left out (timeout, torchrun); --launchers counts them\n");
    /* Again: there is nothing to leave out any more. */
    assert_int_equal(nvt_launchers_leave_out(trace), 0);
    assert_int_equal(trace->os_calls.count, 2);
    nvt_trace_free(trace);
}

/* --- recorded ------------------------------------------------------------------------------------------- */

static char *stats(const char *option)
{
    const char *argv[] = {"nvtally",       "stats", "-r", "osrt_threads", "-f", "csv",
                          recorded_path(), option,  NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    char *out = strdup(result.out);
    assert_int_equal(strstr(result.err, "only started the program") != NULL, option == NULL);
    cli_result_free(&result);
    return out;
}

/* An export has all rows, and says whose are left out. */
static void expect_exported(void)
{
    struct cli_result result;
    char path[4200];
#ifdef HAVE_SQLITE
    snprintf(path, sizeof(path), "%s.sqlite", recorded_path());
    result = cli_run((const char *const[]){"nvtally", "export", "-f", "--to", "sqlite", "-o", path,
                                           recorded_path(), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char *const options[] = {NULL, "--launchers"};
    for (int i = 0; i < 2; i++) {
        char *sums[2];
        for (int k = 0; k < 2; k++) {
            result =
                cli_run((const char *const[]){"nvtally", "stats", "-r", "osrt_sum", "-f", "csv",
                                              k ? path : recorded_path(), options[i], NULL});
            cli_expect_status(&result, 0);
            sums[k] = strdup(result.out);
            cli_result_free(&result);
        }
        assert_string_equal(sums[1], sums[0]);
        free(sums[0]);
        free(sums[1]);
    }
#endif
    snprintf(path, sizeof(path), "%s.json", recorded_path());
    result = cli_run((const char *const[]){"nvtally", "export", "-f", "--to", "chrome", "-o", path,
                                           recorded_path(), NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "which processes only started the program ("));
    cli_result_free(&result);
}

static void launchers_of_this_machine(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "exec timeout 20 nice -n 1 env A=1 sh -c 'sort -o /dev/null /dev/null; sleep 0.6; exit 0'",
        "echo 0.6 | xargs -n 1 sleep",
        "timeout 20 stdbuf -oL sleep 0.6",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "osrt,cpu", "-o",
                                          recorded_path(), "--", "sh", "-c", scripts[i], NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *program = stats(NULL), *all = stats("--launchers");
        assert_non_null(strstr(program, ",sleep,"));
        assert_null(strstr(program, ",timeout,"));
        assert_null(strstr(program, ",xargs,"));
        assert_non_null(strstr(all, i == 1 ? ",xargs," : ",timeout,"));
        assert_non_null(strstr(all, ",sleep,"));
        free(program);
        free(all);
        expect_exported();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_for_its_child_is_one),
        cmocka_unit_test(what_works_itself_is_none),
        cmocka_unit_test(what_becomes_the_program_is_one),
        cmocka_unit_test(their_rows_are_left_out),
        cmocka_unit_test(launchers_of_this_machine),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
