/*
 * Threads out of the ordinary under `nvtally record`: small stacks, late ends, interrupted beginnings,
 * crowds, and what they carry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "faults_kit.h"
#include "record_kit.h"

static struct nvt_trace *recorded(const char *how)
{
    struct cli_result result = recorded_run("threads", how);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    return trace;
}

static void keeps_what_destructors_do(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("there, 20 of the ranges in destructors get a buffer of their own");
    struct nvt_trace *trace = recorded("destructors");
    assert_int_equal(recorded_count(trace, "a thread's life"), 20);
    assert_int_equal(recorded_count(trace, "in a destructor"), 20 * 3);
    assert_int_equal(trace->threads.count, 41);
    nvt_trace_free(trace);
}

/* Every range of a handler is in the thread's own ring, or counted as one that interrupted an event. */
static void gives_a_thread_under_signals_one_ring(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("it calls handlers itself, late and without a signal's frame");
    struct cli_result result = recorded_run("threads", "signals");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "under fire"), 50 * 100);
    assert_int_equal(trace->threads.count, 51);
    nvt_trace_free(trace);
}

/* Where a ring is full and nobody waits, an end goes without what it carries before its range goes
 * without an end. */
static void ends_ranges_whose_payload_finds_no_room(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",
                          "record",
                          "--on-full",
                          "drop",
                          "--ring-size",
                          "64K",
                          "-o",
                          recorded_path(),
                          "--",
                          cli_client("threads"),
                          "popped_payloads",
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_true(trace->ranges.count > 0);
    assert_true(trace->ranges.count < 200000);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        assert_false(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
        assert_true(trace->ranges.level[i] < 10);
    }
    nvt_trace_free(trace);
}

/* On 16 KiB of stack; what is too large to keep is counted. */
static void keeps_large_schemas_of_threads_with_small_stacks(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("threads", "large_schema");
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 1);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, ""), 2);
    const char *text = nvt_name(trace, trace->ranges.payload[recorded_range(trace, "")]);
    assert_non_null(strstr(text, "{\"a long name 0\":0,"));
    assert_non_null(strstr(text, "\"a long name 1499\":1499}"));
    nvt_trace_free(trace);
}

/* Record a client whose buffers lie on a small disk: nothing is lost, and there are `count` ranges of that name. */
static void record_in_little_memory(const char *disk, const char *size, const char *ring,
                                    const char *how, const char *range, uint32_t count)
{
    char place[600];
    const char *memory = recorded_in(disk);
    mkdir(memory, 0700);
    if (mount("tmpfs", memory, "tmpfs", 0, size)) {
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", memory);
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally",     "record", "-o", recorded_path(),
                          "--ring-size", ring,     "--", cli_client("life"),
                          how,           NULL};
    struct cli_result result = cli_run_with(&options, argv);
    umount(memory);
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, range), count);
    nvt_trace_free(trace);
}

/* A folder for three rings at a time, and two hundred threads one after the other. */
static void keeps_threads_that_follow_each_other_in_little_memory(void **state)
{
    (void)state;
    record_in_little_memory("memory", "size=3500k", "1M", "threads", "in a thread", 200);
}

/* Threads at the same time, of whose buffers not all have room as they were asked for: those are smaller, and none is in
 * the way of another. */
static void makes_smaller_buffers_where_there_is_no_room(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        record_in_little_memory("small", "size=8m", "4M", "together", "together", 16 * 1000);
    record_in_little_memory("small", "size=8m", "4M", "turn", "together", 16 * 1000);
}

static void hears_a_thread_after_a_jump_out_of_an_event(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("threads", "jumps");
    cli_expect_status(&result, 0);
    uint32_t returned = (uint32_t)strtoul(result.out, NULL, 10);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_int_equal(recorded_count(trace, "after all jumps"), 1000);
    uint32_t count = recorded_count(trace, "within reach");
    assert_true(returned > 10000);
    assert_true(count + 1000 >= returned); /* two for each jump, at most */
    assert_true(count <= returned + 1000);
    nvt_trace_free(trace);
}

/* What a client printed that takes events in steps: skips where there are none. */
static void run_in_steps(const char *how, char *printed, size_t size)
{
    const char *argv[] = {"nvtally", "record",        "-f", "--ring-size",         "64K",
                          "-o",      recorded_path(), "--", cli_client("threads"), how,
                          NULL};
    const struct cli_options options = {.timeout_s = 150};
    struct cli_result result = cli_run_with(&options, argv);
    /* A recorder that gets no time for a second is not waited for. */
    for (int try = 1; try < CLI_TRIES && strstr(result.err, "were lost"); try++) {
        print_message("%sagain\n", result.err);
        cli_result_free(&result);
        result = cli_run_with(&options, argv);
    }
    if (result.status == 77) {
        cli_result_free(&result);
        print_message("no steps on this processor, or under a sanitizer: not run\n");
        skip();
    }
    cli_expect_status(&result, 0);
    if (strstr(result.err, "were lost"))
        cli_give_up("%s", result.err);
    snprintf(printed, size, "%s", result.out);
    cli_result_free(&result);
}

/* Before each instruction of an event, and of what sets the thread right behind a jump, where the ring comes around,
 * too. */
static void hears_a_thread_wherever_an_event_was_left(void **state)
{
    (void)state;
    char printed[64], *rest;
    run_in_steps("steps", printed, sizeof(printed));
    uint32_t way = (uint32_t)strtoul(printed, &rest, 10);
    assert_true(strtoul(rest, NULL, 10) > 200);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_int_equal(recorded_count(trace, "on the way"), way);
    assert_int_equal(recorded_count(trace, "after all jumps"), 1000);
    nvt_trace_free(trace);
}

/* No range gets the name of an event that was left. */
static void keeps_names_wherever_an_event_was_left(void **state)
{
    (void)state;
    char printed[64], name[16];
    run_in_steps("names", printed, sizeof(printed));
    uint32_t used = (uint32_t)strtoul(printed, NULL, 10);
    struct nvt_trace *trace = recorded_trace();
    enum { MOST = 20000 };
    uint32_t *counts = calloc(MOST, sizeof(*counts)), found = 0;
    assert_non_null(counts);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (trace->ranges.name[i] < MOST)
            counts[trace->ranges.name[i]]++;
    for (uint32_t i = 0; i < MOST; i++) {
        if (!counts[i])
            continue;
        snprintf(name, sizeof(name), "%.15s", nvt_name(trace, i));
        if (strncmp(name, "name ", 5))
            continue;
        assert_int_equal(counts[i], used);
        found++;
    }
    assert_int_equal(found, 6000);
    free(counts);
    nvt_trace_free(trace);
}

/* Memory that is full before the recording begins is not where it is. */
static void goes_elsewhere_where_there_is_no_room(void **state)
{
    (void)state;
    char place[600], script[600];
    const char *memory = recorded_in("full");
    mkdir(memory, 0700);
    if (mount("tmpfs", memory, "tmpfs", 0, "size=64k")) {
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    snprintf(script, sizeof(script), "head -c 100000 /dev/zero >%s/all 2>/dev/null", memory);
    const char *fill[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(fill);
    cli_result_free(&result);
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", memory);
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "record",           "-o",    recorded_path(),
                          "--",      cli_client("life"), "plain", NULL};
    result = cli_run_with(&options, argv);
    umount(memory);
    cli_expect_status(&result, 3);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "plain"), 1);
    nvt_trace_free(trace);
}

/* Of a process that has ended, if only as a zombie, and of an image before an exec, no ring stays. */
static void takes_rings_away_when_their_process_has_ended(void **state)
{
    (void)state;
    static const struct {
        const char *how, *range;
        uint32_t count;
    } ways[] = {{"zombies", "child", 20}, {"images", "image", 20}};
    for (size_t i = recorded_wipes() ? 0 : 1; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = recorded_run("life", ways[i].how);
        cli_expect_status(&result, 0);
        assert_string_equal(result.out, "1 rings\n");
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_int_equal(recorded_count(trace, ways[i].range), ways[i].count);
        nvt_trace_free(trace);
    }
}

/* What a thread of that name has: ranges that were closed, and those that were not. */
static void count_ranges(const struct nvt_trace *trace, uint32_t thread, const char *range,
                         uint32_t *closed, uint32_t *open, uint32_t *others)
{
    *closed = *open = *others = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const char *name = nvt_name(trace, trace->ranges.name[i]);
        if (trace->ranges.thread[i] != thread)
            continue;
        if (trace->ranges.flags[i] & NVT_RANGE_UNCLOSED)
            *open += !strcmp(name, "left open");
        else if (!strcmp(name, range))
            ++*closed;
        else
            ++*others;
    }
}

/* A buffer that one thread leaves to the next: each has what it did and nothing else, and a few buffers are enough. */
static void gives_each_thread_its_own_ranges(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("threads", "followers");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    if (recorded_wipes())
        assert_string_equal(result.out, "2 rings\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t followers = 0;
    for (uint32_t thread = 0; thread < trace->threads.count; thread++) {
        int number;
        char range[16];
        uint32_t closed, open, others;
        if (sscanf(nvt_name(trace, trace->threads.name[thread]), "follower %d", &number) != 1)
            continue;
        snprintf(range, sizeof(range), "work %d", number % 7);
        count_ranges(trace, thread, range, &closed, &open, &others);
        assert_int_equal(closed, number % 7 ? 1 : 500);
        assert_int_equal(open, number % 5 == 0);
        assert_int_equal(others, 0);
        followers++;
    }
    assert_int_equal(followers, 300 + 2 * 304);
    nvt_trace_free(trace);
}

/* A control group of `bytes`, or skip. Returns its folder. */
static const char *group_of(const char *bytes)
{
    static char folder[64], path[96];
    const char *place =
        access("/sys/fs/cgroup/memory", F_OK) ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char *file = strcmp(place, "/sys/fs/cgroup") ? "memory.limit_in_bytes" : "memory.max";
    snprintf(folder, sizeof(folder), "%s/nvtally-test-%d", place, getpid());
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *out = mkdir(folder, 0700) ? NULL : fopen(path, "w");
    if (!out || fputs(bytes, out) < 0 || fclose(out)) {
        rmdir(folder);
        print_message("no control group of memory can be made here: not run\n");
        skip();
    }
    return folder;
}

/* 400 threads at a time, whose buffers would take more memory than their control group has. */
/* The end of a range whose beginning found no buffer is lost, too. */
static void counts_what_is_lost(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("threads", "homeless");
    cli_expect_status(&result, 0);
    if (!strstr(result.err,
                "nvtally: 4 events were lost: 0 at full buffers, 0 could not be written, "
                "4 of threads without a buffer") ||
        !strstr(result.err, "nvtally: 2 events of 1 thread"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "seen"), 1);
    assert_int_equal(trace->ranges.count, 1);
    nvt_trace_free(trace);
}

static void leaves_the_program_its_memory(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED(); /* whose own memory, of 400 threads, is more than the limit */
    char script[2000];
    const char *group = group_of("100M");
    snprintf(script, sizeof(script), "echo $$ >%s/cgroup.procs && exec %s record -o %s -- %s crowd",
             group, cli_built("nvtally"), recorded_path(), cli_client("threads"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    for (int i = 0; i < 100 && rmdir(group); i++)
        usleep(20000);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "in a crowd"), 400);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_destructors_do),
        cmocka_unit_test(gives_a_thread_under_signals_one_ring),
        cmocka_unit_test(keeps_large_schemas_of_threads_with_small_stacks),
        cmocka_unit_test(keeps_threads_that_follow_each_other_in_little_memory),
        cmocka_unit_test(makes_smaller_buffers_where_there_is_no_room),
        cmocka_unit_test(hears_a_thread_after_a_jump_out_of_an_event),
        cmocka_unit_test(hears_a_thread_wherever_an_event_was_left),
        cmocka_unit_test(keeps_names_wherever_an_event_was_left),
        cmocka_unit_test(goes_elsewhere_where_there_is_no_room),
        cmocka_unit_test(takes_rings_away_when_their_process_has_ended),
        cmocka_unit_test(gives_each_thread_its_own_ranges),
        cmocka_unit_test(counts_what_is_lost),
        cmocka_unit_test(leaves_the_program_its_memory),
        cmocka_unit_test(ends_ranges_whose_payload_finds_no_room),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
