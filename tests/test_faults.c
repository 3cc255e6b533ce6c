/*
 * What may go wrong around a recording: for each fault, the ranges that were completed are in the
 * file or counted as lost, the command ends as it would have, and nothing hangs. A table says how
 * many. Failing calls and allocations are in test_faults_calls.c, device records in
 * test_faults_device.c, clocks in test_faults_clock.c. NVTALLY_FAULTS=full (make check-faults) has
 * larger numbers.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ring.h"
#include "../collectors/stale.h"
#include "../lib/count_of.h"
#include "faults_kit.h"

#define FEW 1000

static double seconds(const struct cli_result *result)
{
    return (double)result->elapsed_ns / 1e9;
}

/* The client ends this way, nothing is lost, and these are its ranges. `fault`: NULL for no row of
 * the table. */
struct expectation {
    const char *fault, *how, *file;
    const char *names[4];
    uint32_t counts[4];
    int status, signal;
};

static void assert_complete(const struct expectation *expected)
{
    uint64_t completed = 0, in_file = 0;
    struct cli_result result = faults_record(expected->how, expected->file);
    if (result.signal != expected->signal ||
        (!expected->signal && result.status != expected->status))
        fail_msg("%s: status %d, signal %d\n%s", expected->how, result.status, result.signal,
                 result.err);
    assert_int_equal(faults_said_lost(&result), 0);
    struct nvt_trace *trace = faults_read();
    assert_null(trace->warning);
    for (int i = 0; i < 4 && expected->names[i]; i++) {
        completed += expected->counts[i];
        in_file += faults_count(trace, expected->names[i]);
        assert_int_equal(faults_count(trace, expected->names[i]), expected->counts[i]);
    }
    nvt_trace_free(trace);
    if (expected->fault)
        faults_note(expected->fault, completed, in_file, 0, seconds(&result));
    cli_result_free(&result);
    faults_no_session_left();
}

/* --- how a target ends ------------------------------------------------------------------------ */

static void keeps_what_was_complete_at_the_end(void **state)
{
    (void)state;
    static const struct expectation ends[] = {
        {"SIGKILL", "killed", NULL, {"before the end"}, {FEW}, -1, SIGKILL},
        {"SIGSEGV", "crashed", NULL, {"before the end"}, {FEW}, -1, SIGSEGV},
        {"abort", "aborted", NULL, {"before the end"}, {FEW}, -1, SIGABRT},
        {"_exit", "exits", NULL, {"before the end"}, {FEW}, 7, 0},
        {"exec", "execs", NULL, {"before the end", "after exec"}, {FEW, FEW}, 0, 0},
        {"double fork", "forks_twice", NULL, {"parent", "grandchild"}, {FEW, FEW}, 0, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(ends); i++)
        assert_complete(&ends[i]);
}

/* --- what a target does to itself ------------------------------------------------------------- */

static void survives_all_descriptors_closed(void **state)
{
    (void)state;
    assert_complete(&(struct expectation){"all descriptors closed",
                                          "close_all",
                                          NULL,
                                          {"without descriptors", "in a thread"},
                                          {FEW, 1},
                                          0,
                                          0});
}

/* A target without room for a ring runs as always, and every event of it is counted as lost. */
static void counts_what_limits_cost(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const char *const ways[] = {"no_files", "no_file_size", "no_memory"};
    static const char *const faults[] = {"setrlimit: no descriptors", "setrlimit: no file size",
                                         "setrlimit: no memory"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = faults_record(ways[i], NULL);
        cli_expect_status(&result, 0);
        struct nvt_trace *trace = faults_read();
        /* NVTX cannot load the library without a descriptor or memory: then nobody counts. */
        if (faults_said_lost(&result)) {
            assert_int_equal(faults_said_lost(&result), 2 * FEW);
            assert_null(strstr(result.err, "no NVTX calls were recorded"));
            faults_note(faults[i], FEW, 0, 2 * FEW, seconds(&result));
        } else {
            assert_non_null(strstr(result.err, "no NVTX calls were recorded"));
            faults_note_said(faults[i], FEW, 0, "no NVTX seen", seconds(&result));
        }
        assert_int_equal(trace->ranges.count, 0);
        nvt_trace_free(trace);
        cli_result_free(&result);
    }
    faults_no_session_left();
}

/* Limits that come when the main thread has its buffer: only another thread's are lost, and
 * counted. */
static void counts_what_later_limits_cost(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const char *const ways[][2] = {{"limited_later", "setrlimit later: no descriptors"},
                                          {"no_memory_later", "setrlimit later: no memory"}};
    for (size_t i = 0; i < 2; i++) {
        struct cli_result result = faults_record(ways[i][0], NULL);
        cli_expect_status(&result, 0);
        assert_int_equal(faults_said_lost(&result), 2);
        struct nvt_trace *trace = faults_read();
        assert_int_equal(faults_count(trace, "before"), FEW);
        assert_int_equal(faults_count(trace, "limited"), FEW);
        assert_int_equal(faults_count(trace, "homeless"), 0);
        faults_note(ways[i][1], 2 * FEW + 1, 2 * FEW, 2, seconds(&result));
        nvt_trace_free(trace);
        cli_result_free(&result);
    }
    faults_no_session_left();
}

static void is_no_cancellation_point(void **state)
{
    (void)state;
    assert_complete(&(struct expectation){
        "cancellation pending, 20 threads", "cancelled", NULL, {"pending"}, {200}, 0, 0});
}

/* What had returned before a thread was cut is in the file. One range a thread may be on its way.
 */
static void keeps_what_cut_threads_completed(void **state)
{
    (void)state;
    struct cli_result result = faults_record("cut", NULL);
    cli_expect_status(&result, 0);
    uint64_t returned = strtoull(result.out, NULL, 10);
    assert_true(returned >= 200);
    struct nvt_trace *trace = faults_read();
    assert_true(faults_count(trace, "cut") >= returned);
    assert_true(faults_count(trace, "cut") <= returned + 20);
    faults_note("20 threads cancelled anywhere", returned, faults_count(trace, "cut"), 0,
                seconds(&result));
    nvt_trace_free(trace);
    cli_result_free(&result);
    faults_no_session_left();
}

static void keeps_a_crowd_of_threads(void **state)
{
    (void)state;
    for (int round = 0; round < (faults_are_full() ? 10 : 1); round++) {
        assert_complete(&(struct expectation){round ? NULL : "1,000 threads, 50 at a time",
                                              "crowd",
                                              NULL,
                                              {"in a crowd"},
                                              {1000},
                                              0,
                                              0});
        struct nvt_trace *trace = faults_read();
        assert_int_equal(trace->threads.count, 1000);
        nvt_trace_free(trace);
    }
}

static void goes_on_after_a_stop(void **state)
{
    (void)state;
    assert_complete(&(struct expectation){"target stopped and continued",
                                          "stopped",
                                          NULL,
                                          {"before the stop", "after the stop"},
                                          {FEW, FEW},
                                          0,
                                          0});
}

static void lives_beside_a_debugger(void **state)
{
    (void)state;
    struct cli_result result = faults_record("traced", NULL);
    if (result.status == 98) {
        cli_result_free(&result);
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "debugged"), FEW);
    assert_true(faults_count(trace, "debugger") > 0);
    faults_note("target that traces its child (ptrace)", FEW, faults_count(trace, "debugged"), 0,
                seconds(&result));
    cli_result_free(&result);
    nvt_trace_free(trace);
}

/* A library of somebody else's, and our own where nobody would put it. */
static void lives_beside_preloaded_libraries(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    const char *const libraries[] = {"tests/libfail-alloc.so", "libnvtally-inject.so"};
    static const char *const faults[] = {"LD_PRELOAD set by the target",
                                         "LD_PRELOAD of our own library"};
    for (size_t i = 0; i < 2; i++)
        assert_complete(&(struct expectation){faults[i],
                                              "preloads",
                                              cli_built(libraries[i]),
                                              {"before exec", "preloaded"},
                                              {FEW, FEW},
                                              0,
                                              0});
}

static void cannot_be_unloaded(void **state)
{
    (void)state;
    assert_complete(&(struct expectation){"library closed with dlclose",
                                          "unloads",
                                          NULL,
                                          {"before", "after", "in a thread"},
                                          {FEW, FEW, 1},
                                          0,
                                          0});
}

/* --- what happens around them ----------------------------------------------------------------- */

/* Recorder and target are stopped together for longer than the silence of a dead recorder, as by a
 * debugger or a freezer: nothing is lost. */
static void loses_nothing_when_all_is_stopped(void **state)
{
    (void)state;
    char script[8192];
    snprintf(script, sizeof(script),
             "%s record --ring-size 64K -o %s -- %s many & r=$!; sleep 0.1; "
             "for i in 1 2 3; do c=$(cat /proc/$r/task/$r/children); kill -STOP $c $r; sleep 1.3; "
             "kill -CONT $c; sleep 0.05; kill -CONT $r; sleep 0.02; done; wait $r",
             cli_built("nvtally"), faults_output(), cli_client("faults"));
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "many"), 500000);
    faults_note("target and recorder stopped, 3 x 1.3 s", 500000, faults_count(trace, "many"), 0,
                seconds(&result));
    cli_result_free(&result);
    nvt_trace_free(trace);
}

/* A target whose recorder is killed as soon as it says, by a file, that it is ready; then it goes on, and how it
 * ended is printed. `file` is the path, and FILE.status stays. */
static struct cli_result outlive_recorder(const char *options, const char *how, const char *file)
{
    char script[8192];
    snprintf(script, sizeof(script),
             "%s record %s -o %s -- sh -c '%s %s %s; echo $? >%s.status' & r=$!; "
             "while [ ! -e %s ]; do sleep 0.02; done; kill -9 $r; wait $r; rm %s; i=0; "
             "while [ ! -s %s.status ] && [ $i -lt 30000 ]; do sleep 0.02; i=$((i+1)); done; "
             "cat %s.status",
             cli_built("nvtally"), options, faults_output(), cli_client("faults"), how, file, file,
             file, file, file, file);
    return faults_shell(script);
}

/* Killed, the recorder leaves what it had flushed; the target ends in its own time and its own way.
 */
static void target_outlives_its_recorder(void **state)
{
    (void)state;
    char file[600];
    snprintf(file, sizeof(file), "%s/ready", faults_folder());
    struct cli_result result = outlive_recorder("--ring-size 64K", "waits", file);
    assert_string_equal(result.out, "6\n");
    struct nvt_trace *trace = faults_read();
    assert_non_null(trace->warning);
    assert_int_equal(faults_count(trace, "early"), FEW);
    faults_note("recorder killed: what was flushed by then", FEW, faults_count(trace, "early"), 0,
                seconds(&result));
    cli_result_free(&result);
    nvt_trace_free(trace);
    /* The next recorder takes away what the dead one left. */
    assert_int_equal(faults_sessions(), 1);
    result = faults_record("once", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    faults_no_session_left();
}

/* Memory that nobody takes away is not taken: of a killed recorder's session the ring of the one thread
 * that was there is all that is left. */
static void makes_no_rings_for_a_dead_recorder(void **state)
{
    (void)state;
    char script[2048], file[600];
    snprintf(file, sizeof(file), "%s/outlived", faults_folder());
    struct cli_result result = outlive_recorder("", "outlives", file);
    assert_string_equal(result.out, "1\n");
    cli_result_free(&result);
    snprintf(script, sizeof(script), "rm -r %s.status %s/nvtally-*", file, faults_folder());
    result = faults_shell(script);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* A recorder that starts beside one that lives leaves it its session. */
static void leaves_a_living_recorder_alone(void **state)
{
    (void)state;
    char script[8192], file[600];
    snprintf(file, sizeof(file), "%s/ready", faults_folder());
    snprintf(script, sizeof(script),
             "%s record -o %s -- %s waits %s & r=$!; while [ ! -e %s ]; do sleep 0.02; done; "
             "%s record -o %s.other -- %s once; rm %s; wait $r",
             cli_built("nvtally"), faults_output(), cli_client("faults"), file, file,
             cli_built("nvtally"), faults_output(), cli_client("faults"), file);
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 6);
    assert_int_equal(faults_said_lost(&result), 0);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "late"), 100000);
    faults_note("another recorder starts and ends", 100000 + FEW,
                faults_count(trace, "late") + faults_count(trace, "early"), 0, seconds(&result));
    nvt_trace_free(trace);
    cli_result_free(&result);
    faults_no_session_left();
}

static void write_page(const char *name, uint32_t version, int recorder, uint64_t start)
{
    char path[1200];
    struct nvt_control page = {.magic = NVT_CONTROL_MAGIC,
                               .version = version,
                               .recorder = recorder,
                               .recorder_start = start};
    snprintf(path, sizeof(path), "%s/%s", faults_folder(), name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/%s", faults_folder(), name, NVT_CONTROL_NAME);
    cli_write_file(path, &page, sizeof(page));
    assert_int_equal(chmod(path, 0600), 0);
}

static int is_there(const char *name)
{
    return !access(cli_in(faults_folder(), name), F_OK);
}

/* What only looks like a dead recorder's session stays; what is one goes, but for foreign files. */
static void removes_dead_sessions_only(void **state)
{
    (void)state;
    uint64_t start = nvt_process_start(getpid());
    assert_true(start > 0);
    write_page("nvtally-dead00", NVT_SHARED_VERSION, getpid(), start + 1); /* number used again */
    cli_write_file(cli_in(faults_folder(), "nvtally-dead00/ring.1"), "", 0);
    write_page("nvtally-lives0", NVT_SHARED_VERSION, getpid(), start);
    write_page("nvtally-other0", NVT_SHARED_VERSION + 1, INT32_MAX, 1);
    write_page("nvtally-open00", NVT_SHARED_VERSION, INT32_MAX, 1);
    assert_int_equal(chmod(cli_in(faults_folder(), "nvtally-open00"), 0770), 0);
    write_page("nvtally-file00", NVT_SHARED_VERSION, INT32_MAX, 1);
    cli_write_file(cli_in(faults_folder(), "nvtally-file00/thesis"), "", 0);
    write_page("elsewhere", NVT_SHARED_VERSION, INT32_MAX, 1);
    assert_int_equal(symlink("elsewhere", cli_in(faults_folder(), "nvtally-link00")), 0);
    assert_int_equal(mkdir(cli_in(faults_folder(), "nvtally-fresh0"), 0700), 0);
    /* Killed before it had a page, or behind it. */
    const struct timespec old[2] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};
    assert_int_equal(mkdir(cli_in(faults_folder(), "nvtally-empty0"), 0700), 0);
    assert_int_equal(mkdir(cli_in(faults_folder(), "nvtally-full00"), 0700), 0);
    cli_write_file(cli_in(faults_folder(), "nvtally-full00/thesis"), "", 0);
    assert_int_equal(utimensat(AT_FDCWD, cli_in(faults_folder(), "nvtally-empty0"), old, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, cli_in(faults_folder(), "nvtally-full00"), old, 0), 0);
    nvt_stale_remove(faults_folder());
    assert_false(is_there("nvtally-dead00"));
    assert_true(is_there("nvtally-lives0/control"));
    assert_true(is_there("nvtally-other0/control"));
    assert_true(is_there("nvtally-open00/control"));
    assert_true(is_there("nvtally-file00/thesis"));
    assert_true(is_there("elsewhere/control"));
    assert_true(is_there("nvtally-link00"));
    assert_true(is_there("nvtally-fresh0"));
    assert_false(is_there("nvtally-empty0"));
    assert_true(is_there("nvtally-full00/thesis"));
    char script[700];
    snprintf(script, sizeof(script), "rm -r %s/nvtally-* %s/elsewhere", faults_folder(),
             faults_folder());
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* Takes the lock of a control page, as a recorder does that begins, over and over while another one looks for
 * dead ones. How often it could not be had. */
static int locks_missed(const char *name)
{
    char path[1200];
    int missed = 0;
    snprintf(path, sizeof(path), "%s/%s/%s", faults_folder(), name, NVT_CONTROL_NAME);
    pid_t other = fork();
    assert_true(other >= 0);
    if (!other)
        for (;;)
            nvt_stale_remove(faults_folder());
    for (int i = 0; i < 50000; i++) {
        int descriptor = open(path, O_RDWR);
        assert_true(descriptor >= 0);
        missed += flock(descriptor, LOCK_EX | LOCK_NB) != 0;
        close(descriptor);
    }
    assert_int_equal(kill(other, SIGKILL), 0);
    assert_int_equal(waitpid(other, NULL, 0), other);
    return missed;
}

/* One that looks for dead recorders never holds the lock of one that is not: without it, that one would be
 * taken for dead by what it records. */
static void locks_dead_sessions_only(void **state)
{
    (void)state;
    char script[700];
    write_page("nvtally-lives0", NVT_SHARED_VERSION, getpid(), nvt_process_start(getpid()));
    write_page("nvtally-begin0", 0, 0, 0);
    assert_int_equal(truncate(cli_in(faults_folder(), "nvtally-begin0/control"), 0), 0);
    assert_int_equal(
        truncate(cli_in(faults_folder(), "nvtally-begin0/control"), sizeof(struct nvt_control)), 0);
    assert_int_equal(locks_missed("nvtally-begin0"), 0);
    assert_int_equal(locks_missed("nvtally-lives0"), 0);
    snprintf(script, sizeof(script), "rm -r %s/nvtally-*", faults_folder());
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* The trace is removed midway: the target notices nothing, and the recorder says that it is gone.
 */
static void says_that_the_output_was_removed(void **state)
{
    (void)state;
    char script[8192], file[600];
    snprintf(file, sizeof(file), "%s/ready", faults_folder());
    snprintf(script, sizeof(script),
             "%s record -o %s -- %s waits %s & r=$!; while [ ! -e %s ]; do sleep 0.02; done; "
             "rm %s %s; wait $r",
             cli_built("nvtally"), faults_output(), cli_client("faults"), file, file,
             faults_output(), file);
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 6);
    assert_non_null(strstr(result.err, "t.nvt: was removed"));
    assert_int_equal(access(faults_output(), F_OK), -1);
    faults_note_said("output removed", 100000 + FEW, 0, "was removed", seconds(&result));
    cli_result_free(&result);
    faults_no_session_left();
}

static void says_where_nothing_can_be_written(void **state)
{
    (void)state;
    const char *folder = cli_in(faults_folder(), "fixed");
    assert_int_equal(mkdir(folder, 0500), 0);
    int mounted = !geteuid() && !mount("tmpfs", folder, "tmpfs", MS_RDONLY, "size=64k");
    const char *argv[] = {"nvtally",
                          "record",
                          "-o",
                          cli_in(folder, "t.nvt"),
                          "--",
                          "touch",
                          cli_in(faults_folder(), "ran"),
                          NULL};
    struct cli_result result = cli_run(argv);
    const char *other[] = {
        "nvtally", "record", "-o", "/proc/t.nvt", "--", "touch", cli_in(faults_folder(), "ran"),
        NULL};
    struct cli_result second = cli_run(other);
    if (mounted)
        umount(folder);
    if (geteuid() || mounted)
        cli_expect_failure(&result, mounted ? "Read-only file system" : "Permission denied");
    faults_note_said("read-only file system", 0, 0, "not begun", seconds(&result));
    cli_expect_failure(&second, "/proc/t.nvt: cannot be created");
    assert_int_equal(access(cli_in(faults_folder(), "ran"), F_OK), -1);
    cli_result_free(&result);
    cli_result_free(&second);
    faults_no_session_left();
}

/* A build: a shell that starts one short process after another, four at a time. */
static void keeps_many_short_processes(void **state)
{
    (void)state;
    char script[8192];
    uint32_t each = faults_are_full() ? 2500 : 50;
    snprintf(script, sizeof(script),
             "%s record --ring-size 64K -o %s -- sh -c 'build() { i=0; while [ $i -lt %u ]; do "
             "%s once; /bin/true; i=$((i+1)); done; }; build & build & build & build & wait'",
             cli_built("nvtally"), faults_output(), each, cli_client("faults"));
    struct cli_result result = faults_shell(script);
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "once"), 4 * each);
    faults_note(faults_are_full() ? "10,000 short processes" : "200 short processes", 4 * each,
                faults_count(trace, "once"), 0, seconds(&result));
    cli_result_free(&result);
    assert_int_equal(trace->processes.count, 4 * each);
    nvt_trace_free(trace);
    faults_no_session_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_complete_at_the_end),
        cmocka_unit_test(survives_all_descriptors_closed),
        cmocka_unit_test(counts_what_limits_cost),
        cmocka_unit_test(counts_what_later_limits_cost),
        cmocka_unit_test(is_no_cancellation_point),
        cmocka_unit_test(keeps_what_cut_threads_completed),
        cmocka_unit_test(keeps_a_crowd_of_threads),
        cmocka_unit_test(goes_on_after_a_stop),
        cmocka_unit_test(lives_beside_a_debugger),
        cmocka_unit_test(lives_beside_preloaded_libraries),
        cmocka_unit_test(cannot_be_unloaded),
        cmocka_unit_test(loses_nothing_when_all_is_stopped),
        cmocka_unit_test(target_outlives_its_recorder),
        cmocka_unit_test(makes_no_rings_for_a_dead_recorder),
        cmocka_unit_test(leaves_a_living_recorder_alone),
        cmocka_unit_test(removes_dead_sessions_only),
        cmocka_unit_test(locks_dead_sessions_only),
        cmocka_unit_test(says_that_the_output_was_removed),
        cmocka_unit_test(says_where_nothing_can_be_written),
        cmocka_unit_test(keeps_many_short_processes),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
