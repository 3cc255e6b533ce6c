/*
 * The collector end to end: programs run under `nvtally record`, and what their traces then hold.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/reader.h"
#include "cli.h"
#include "faults_kit.h"

static char *directory;

static int make_directory(void **state)
{
    (void)state;
    directory = cli_tempdir();
    return directory ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

static const char *trace_path(void)
{
    return cli_in(directory, "t.nvt");
}

static struct cli_result record(const char *client, const char *argument)
{
    const char *argv[] = {"nvtally", "record",           "-o",     trace_path(),
                          "--",      cli_client(client), argument, NULL};
    return cli_run(argv);
}

static struct nvt_trace *read_trace(void)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(trace_path(), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name) &&
                 !(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    return count;
}

static uint32_t find_range(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range '%s'", name);
    return 0;
}

static uint32_t find_mark(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->marks.count; i++)
        if (!strcmp(nvt_name(trace, trace->marks.name[i]), name))
            return i;
    fail_msg("no mark '%s'", name);
    return 0;
}

static void assert_name(const struct nvt_trace *trace, uint32_t id, const char *expected)
{
    assert_string_equal(nvt_name(trace, id), expected);
}

/* --- what is recorded ------------------------------------------------------------------------------ */

static void check_plain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    static const char *const inner[] = {
        "reused buffer one", "reused buffer two", "wide \xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80",
        "a name that is much longer than the thirty-one bytes of the short way",
        "quote \" comma , pipe | tab\tline\nend _ & %"};
    uint32_t outer = find_range(trace, "outer");
    assert_int_equal(ranges->level[outer], 0);
    assert_int_equal(ranges->children[outer], 7);
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        uint32_t row = find_range(trace, inner[i]);
        assert_int_equal(ranges->parent[row], outer);
        assert_int_equal(ranges->level[row], 1);
        assert_true(ranges->start[row] >= ranges->start[outer]);
        assert_true(ranges->end[row] <= ranges->end[outer]);
    }
    assert_int_equal(count_ranges(trace, ""), 2);
    assert_int_equal(ranges->style[find_range(trace, "started")], NVT_START_END);
    assert_int_equal(ranges->style[find_range(trace, "started wide")], NVT_START_END);
    assert_true(ranges->flags[find_range(trace, "never ended")] & NVT_RANGE_UNCLOSED);
    assert_true(ranges->flags[find_range(trace, "never popped")] & NVT_RANGE_UNCLOSED);
    find_mark(trace, "a mark");
    find_mark(trace, "a wide mark");
}

static void check_domain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t first = find_range(trace, "registered"), second = find_range(trace, "registered wide");
    assert_name(trace, trace->domains.name[ranges->domain[first]], "my, domain");
    assert_name(trace, ranges->category[first], "network");
    assert_true(ranges->flags[first] & NVT_RANGE_HAS_COLOR);
    assert_int_equal(ranges->color[first], 0xff3366cc);
    assert_name(trace, ranges->payload[first], "2.5");
    assert_int_equal(ranges->parent[second], first);
    assert_name(trace, ranges->category[second], "8");
    assert_false(ranges->flags[second] & NVT_RANGE_HAS_COLOR);
    assert_name(trace, ranges->payload[second], "-42");
    uint32_t mark = find_mark(trace, "domain mark");
    assert_name(trace, trace->marks.payload[mark], "4000000000");
    assert_name(trace, trace->domains.name[trace->marks.domain[mark]], "my, domain");
    assert_int_equal(ranges->style[find_range(trace, "domain start")], NVT_START_END);
    assert_int_equal(trace->domains.count, 2);
}

static void records_everything_that_nvtx_has(void **state)
{
    (void)state;
    struct cli_result result = record("everything", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_null(trace->warning);
    check_plain(trace);
    check_domain(trace);
    assert_name(trace, trace->ranges.payload[find_range(trace, "with schema")],
                "{\"rank\":-3,\"fruit\":\"pear\",\"seconds\":0.125,\"name\":\"a \\\"pointed\\\" "
                "text\",\"code\":\"ab\",\"inner\":{\"ratio\":1.5,\"counts\":[1,2,65535]}}");
    assert_name(trace, trace->ranges.payload[find_range(trace, "payload at the end")], "99");
    assert_int_equal(trace->threads.count, 1);
    assert_name(trace, trace->threads.name[0], "the main thread");
    assert_int_equal(trace->resources.count, 1);
    assert_name(trace, trace->resources.name[0], "first device");
    nvt_trace_free(trace);
}

static void records_cpp_clients(void **state)
{
    (void)state;
    struct cli_result result = record("scoped", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    uint32_t scoped = find_range(trace, "scoped");
    assert_int_equal(count_ranges(trace, "main"), 1);
    assert_int_equal(count_ranges(trace, "unique"), 1);
    assert_name(trace, trace->domains.name[trace->ranges.domain[scoped]], "a C++ library");
    assert_name(trace, trace->ranges.category[scoped], "network");
    assert_name(trace, trace->ranges.payload[scoped], "17");
    assert_int_equal(trace->ranges.color[scoped], 0xff010203);
    find_mark(trace, "marked");
    nvt_trace_free(trace);
}

static void keeps_names_of_all_lengths_and_numbers(void **state)
{
    (void)state;
    char name[80];
    struct cli_result result = record("life", "lengths");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    for (int length = 1; length < 70; length++) {
        memset(name, 'a' + length % 26, sizeof(name));
        name[length] = 0;
        /* 'z' names of less than 39 bytes are made a fourth time, at a page's end. */
        uint32_t expected = length % 26 == 25 && length < 39 ? 4 : 3;
        assert_int_equal(count_ranges(trace, name), expected);
    }
    nvt_trace_free(trace);
    result = record("life", "names");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = read_trace();
    assert_int_equal(trace->ranges.count, 40000);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        snprintf(name, sizeof(name), "name %u", i % 20000);
        assert_name(trace, trace->ranges.name[i], name);
    }
    nvt_trace_free(trace);
}

/* The reader takes pushes and pops without attributes by a short way of its own. */
static void closes_ranges_with_attributes(void **state)
{
    (void)state;
    struct cli_result result = record("life", "attributes");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "colored"), 3);
    assert_int_equal(count_ranges(trace, "plain"), 3);
    nvt_trace_free(trace);
}

static void pops_too_many_are_ignored(void **state)
{
    (void)state;
    struct cli_result result = record("life", "deep");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "deep"), 2000);
    assert_int_equal(trace->ranges.level[trace->ranges.count - 1], 1999);
    nvt_trace_free(trace);
}

/* --- lives and ends -------------------------------------------------------------------------------- */

static void follows_forks(void **state)
{
    (void)state;
    struct cli_result result = record("life", "forks");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "parent"), 2);
    assert_int_equal(count_ranges(trace, "child"), 20);
    assert_int_equal(trace->processes.count, 21);
    nvt_trace_free(trace);
    result = record("life", "raw_fork");
    cli_result_free(&result);
    trace = read_trace();
    assert_int_equal(count_ranges(trace, "parent"), 2);
    assert_int_equal(count_ranges(trace, "child"), 1);
    assert_int_equal(trace->processes.count, 2);
    nvt_trace_free(trace);
}

static void waits_for_orphans(void **state)
{
    (void)state;
    struct cli_result result = record("life", "orphan");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "grandchild"), 1);
    nvt_trace_free(trace);
}

static void follows_exec(void **state)
{
    (void)state;
    struct cli_result result = record("life", "exec");
    cli_expect_status(&result, 3);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "exec"), 1);
    assert_int_equal(count_ranges(trace, "after exec"), 1);
    assert_int_equal(trace->processes.count, 2);
    assert_int_equal(trace->processes.pid[0], trace->processes.pid[1]);
    nvt_trace_free(trace);
}

static void keeps_threads_that_come_and_go(void **state)
{
    (void)state;
    struct cli_result result = record("life", "threads");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "in a thread"), 200);
    assert_int_equal(trace->threads.count, 200);
    nvt_trace_free(trace);
}

static void survives_closed_descriptors(void **state)
{
    (void)state;
    struct cli_result result = record("life", "closed");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "after closing"), 1);
    assert_int_equal(count_ranges(trace, "in a thread"), 1);
    nvt_trace_free(trace);
}

/* Every range of the handler is in the file, or counted as one that came in the middle of an event. */
static void counts_events_of_signal_handlers(void **state)
{
    (void)state;
    struct cli_result result = record("life", "signals");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "main"), 2000000);
#ifndef __SANITIZE_THREAD__ /* it keeps a signal until the next call into libc: none in that loop */
    assert_true(count_ranges(trace, "handler") > 0);
#endif
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_false(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
}

static void passes_on_how_the_command_ended(void **state)
{
    (void)state;
    static const struct {
        const char *how;
        int status, signal;
    } ends[] = {{"plain", 3, 0},       {"_exit", 7, 0},       {"abort", -1, SIGABRT},
                {"segv", -1, SIGSEGV}, {"kill", -1, SIGKILL}, {"term", -1, SIGTERM}};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct cli_result result = record("life", ends[i].how);
        assert_int_equal(result.status, ends[i].status);
        assert_int_equal(result.signal, ends[i].signal);
        cli_result_free(&result);
        struct nvt_trace *trace = read_trace();
        assert_null(trace->warning);
        assert_int_equal(count_ranges(trace, ends[i].how), 1);
        nvt_trace_free(trace);
    }
}

static void passes_on_signals_and_output(void **state)
{
    (void)state;
    /* The shell signals the recorder, not the client. */
    char script[2048];
    snprintf(script, sizeof(script),
             "%s record -o %s -- %s wait & sleep 0.5; kill -USR1 $!; wait $!", cli_built("nvtally"),
             trace_path(), cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 5);
    assert_string_equal(result.out, "ready\n");
    cli_result_free(&result);
    const char *both[] = {"nvtally", "record", "-o", trace_path(),
                          "--",      "sh",     "-c", "echo out; echo err >&2; cat",
                          NULL};
    struct cli_options options = {.input = "typed\n"};
    result = cli_run_with(&options, both);
    assert_string_equal(result.out, "out\ntyped\n");
    assert_memory_equal(result.err, "err\n", 4);
    cli_result_free(&result);
}

/* --- SIGKILL --------------------------------------------------------------------------------------- */

#define KILLS        20
#define KILL_THREADS 4

static uint64_t returned_pairs(const char *counters, uint64_t *by_thread)
{
    size_t size;
    uint64_t sum = 0, *lines = (uint64_t *)(void *)cli_read_file(counters, &size);
    assert_non_null(lines);
    assert_true(size >= KILL_THREADS * 64);
    for (int i = 0; i < KILL_THREADS; i++)
        sum += by_thread[i] = lines[i * 8];
    free(lines);
    return sum;
}

/* Pairs that had returned before the kill are in the file: the program counts them in shared memory,
 * each thread its own, after each pop. */
static void loses_nothing_when_the_target_is_killed(void **state)
{
    (void)state;
    char script[2048];
    char counters[512]; /* cli_in's paths do not last for so many runs */
    snprintf(counters, sizeof(counters), "%s", cli_in(directory, "counters"));
    for (int run = 0; run < KILLS; run++) {
        uint64_t by_thread[KILL_THREADS];
        unlink(counters);
        /* It would go on for hours: killed once its first thread has counted, it is midway, however
         * late the machine starts it. */
        snprintf(script, sizeof(script),
                 "%s %d 1000000000000 literal %s & p=$!; "
                 "until od -An -tu8 -N8 %s 2>&1 | grep -q '^ *[1-9][0-9]*$'; do sleep 0.01; done; "
                 "sleep 0.0%d; kill -9 $p; wait $p",
                 cli_client("pairs"), KILL_THREADS, counters, counters, 1 + run % 9);
        const char *argv[] = {"nvtally", "record", "-o",   trace_path(), "--",
                              "sh",      "-c",     script, NULL};
        struct cli_result result = cli_run(argv);
        assert_false(result.timed_out);
        struct nvt_trace *trace = read_trace();
        uint64_t returned = returned_pairs(counters, by_thread);
        assert_true(count_ranges(trace, "work") >= returned);
        assert_true(count_ranges(trace, "work") <= returned + KILL_THREADS);
        assert_true(returned > 0);
        if (run == KILLS - 1)
            faults_note("SIGKILL from outside, midway", returned, count_ranges(trace, "work"), 0,
                        (double)result.elapsed_ns / 1e9);
        cli_result_free(&result);
        nvt_trace_free(trace);
    }
}

static void stays_readable_when_the_recorder_is_killed(void **state)
{
    (void)state;
    char script[2048];
    /* Killed when a third has ended, so that the first has long been written. */
    snprintf(
        script, sizeof(script),
        "%s record -o %s -- sh -c 'for i in 1 2 3 4 5; do %s many; echo >>%s; sleep 0.1; done' & "
        "until [ \"$(wc -l <%s)\" -ge 3 ]; do sleep 0.05; done 2>/dev/null; "
        "kill -9 $!; wait $! 2>/dev/null; exit 0",
        cli_built("nvtally"), trace_path(), cli_client("life"), cli_in(directory, "ended"),
        cli_in(directory, "ended"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    assert_false(result.timed_out);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_non_null(trace->warning);
    assert_true(count_ranges(trace, "many") >= 300000);
    nvt_trace_free(trace);
}

/* --- full rings, full disks -------------------------------------------------------------------------- */

static uint64_t sum_threads(const struct nvt_trace *trace, const uint64_t *column)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        sum += column[i];
    return sum;
}

static void drops_and_counts_whole_ranges_when_told(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record",  "--on-full",  "drop", "--ring-size",
                          "64K",     "-o",      trace_path(), "--",   cli_client("pairs"),
                          "2",       "2000000", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = read_trace();
    uint64_t dropped = sum_threads(trace, trace->threads.dropped);
    uint64_t events = sum_threads(trace, trace->threads.events);
    assert_int_equal(events + dropped, 2 * 2 * 2000000);
    assert_true(dropped > 0);
    assert_non_null(strstr(result.err, "events were lost"));
    assert_int_equal(count_ranges(trace, "work") * 2, events);
    cli_result_free(&result);
    nvt_trace_free(trace);
}

static void waits_and_loses_nothing_by_default(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record",     "--ring-size", "64K",
                          "-o",      trace_path(), "--",          cli_client("pairs"),
                          "2",       "1000000",    "dynamic",     NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(trace->ranges.count, 2000000);
    assert_int_equal(sum_threads(trace, trace->threads.dropped), 0);
    nvt_trace_free(trace);
}

/* A recorder that stops for good: the target goes on after a second, and what it lost is counted. */
static void goes_on_when_the_recorder_stops(void **state)
{
    (void)state;
    char script[2048];
    snprintf(
        script, sizeof(script),
        "%s record --ring-size 64K -o %s -- %s many & r=$!; kill -STOP $r; sleep 3; kill -CONT $r;"
        "wait $r",
        cli_built("nvtally"), trace_path(), cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_options options = {.timeout_s = 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = read_trace();
    faults_note("recorder stopped for 3 s", 300000, count_ranges(trace, "many"),
                sum_threads(trace, trace->threads.dropped), (double)result.elapsed_ns / 1e9);
    cli_result_free(&result);
    assert_int_equal(sum_threads(trace, trace->threads.dropped) +
                         sum_threads(trace, trace->threads.events),
                     600000);
    nvt_trace_free(trace);
}

/* Run under a recorder that writes to a disk of this size. -1 when no disk can be mounted here. */
static int record_to_disk(const char *size, const char *how, struct cli_result *result,
                          struct nvt_trace **trace)
{
    char script[2048], option[32];
    struct nvt_error err = NVT_ERROR_INIT;
    const char *disk = cli_in(directory, "disk");
    mkdir(disk, 0700);
    snprintf(option, sizeof(option), "size=%s", size);
    if (mount("tmpfs", disk, "tmpfs", 0, option))
        return -1;
    snprintf(script, sizeof(script), "%s %s; echo done; exit 4", cli_client("life"), how);
    const char *argv[] = {"nvtally", "record", "--level", "0",    "-o", cli_in(disk, "t.nvt"),
                          "--",      "sh",     "-c",      script, NULL};
    *result = cli_run(argv);
    *trace = nvt_trace_read(cli_in(disk, "t.nvt"), &err);
    return umount(disk);
}

/* A disk that is full with the very first names, and one that is full midway: the target's output and
 * status are as always, the loss is counted and said. */
static void survives_a_full_disk(void **state)
{
    (void)state;
    static const struct {
        const char *fault, *size, *how;
        uint32_t ranges;
    } disks[] = {{"disk full from the first", "64k", "names", 40000},
                 {"disk full midway", "1m", "many", 300000}};
    for (size_t i = 0; i < 2; i++) {
        struct cli_result result;
        struct nvt_trace *trace;
        if (record_to_disk(disks[i].size, disks[i].how, &result, &trace)) {
            print_message("no right to mount a small disk here: not run\n");
            skip();
        }
        cli_expect_status(&result, 4);
        assert_string_equal(result.out, "done\n");
        assert_non_null(strstr(result.err, "No space left on device"));
        assert_non_null(strstr(result.err, "could not be written"));
        assert_non_null(trace);
        assert_true(i == 0 || trace->ranges.count > 0);
        faults_note(disks[i].fault, disks[i].ranges, trace->ranges.count, faults_said_lost(&result),
                    (double)result.elapsed_ns / 1e9);
        cli_result_free(&result);
        nvt_trace_free(trace);
    }
}

/* --- bad use ----------------------------------------------------------------------------------------- */

static void says_what_cannot_be_run(void **state)
{
    (void)state;
    const char *missing[] = {"nvtally", "record",          "-o", trace_path(),
                             "--",      "no-such-command", NULL};
    unlink(trace_path());
    struct cli_result result = cli_run(missing);
    cli_expect_failure(&result, "no-such-command: command not found");
    cli_result_free(&result);
    assert_int_equal(access(trace_path(), F_OK), -1);
    const char *folder[] = {"nvtally", "record", "-o", trace_path(), "--", "/", NULL};
    result = cli_run(folder);
    cli_expect_failure(&result, "Permission denied");
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "record", "-o", "/no/such/folder/t.nvt",
                             "--",      "true",   NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "/no/such/folder/t.nvt: cannot be created");
    cli_result_free(&result);
}

static void leaves_another_tool_alone(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record", "-o", trace_path(),
                          "--",      "sh",     "-c", "echo $NVTX_INJECTION64_PATH",
                          NULL};
    const char *environment[] = {"NVTX_INJECTION64_PATH=/opt/other/tool.so", NULL};
    struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "/opt/other/tool.so\n");
    assert_non_null(strstr(result.err, "another tool is injected already"));
    cli_result_free(&result);
}

static void leaves_no_session_behind(void **state)
{
    (void)state;
    /* A place of its own: other recordings may come and go in the common one. */
    char place[600];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", cli_in(directory, "sessions"));
    assert_int_equal(mkdir(cli_in(directory, "sessions"), 0700), 0);
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally",
                          "record",
                          "-o",
                          trace_path(),
                          "--",
                          "sh",
                          "-c",
                          "ls -d \"$NVTALLY_TMPDIR\"/nvtally-*/control; exec \"$0\" forks",
                          cli_client("life"),
                          NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/sessions/nvtally-"));
    cli_result_free(&result);
    assert_int_equal(rmdir(cli_in(directory, "sessions")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_everything_that_nvtx_has),
        cmocka_unit_test(records_cpp_clients),
        cmocka_unit_test(keeps_names_of_all_lengths_and_numbers),
        cmocka_unit_test(closes_ranges_with_attributes),
        cmocka_unit_test(pops_too_many_are_ignored),
        cmocka_unit_test(follows_forks),
        cmocka_unit_test(waits_for_orphans),
        cmocka_unit_test(follows_exec),
        cmocka_unit_test(keeps_threads_that_come_and_go),
        cmocka_unit_test(survives_closed_descriptors),
        cmocka_unit_test(counts_events_of_signal_handlers),
        cmocka_unit_test(passes_on_how_the_command_ended),
        cmocka_unit_test(passes_on_signals_and_output),
        cmocka_unit_test(loses_nothing_when_the_target_is_killed),
        cmocka_unit_test(stays_readable_when_the_recorder_is_killed),
        cmocka_unit_test(drops_and_counts_whole_ranges_when_told),
        cmocka_unit_test(waits_and_loses_nothing_by_default),
        cmocka_unit_test(goes_on_when_the_recorder_stops),
        cmocka_unit_test(survives_a_full_disk),
        cmocka_unit_test(says_what_cannot_be_run),
        cmocka_unit_test(leaves_another_tool_alone),
        cmocka_unit_test(leaves_no_session_behind),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
