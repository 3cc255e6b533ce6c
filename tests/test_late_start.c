/*
 * Recordings that begin late, or again: what tests/clients/late.c has announced to NVTX before is known in them as in a recording from the
 * beginning, of each kind of announcement and in each way to begin late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/memory/levels.h"
#include "../lib/count_of.h"
#include "record_kit.h"

enum { HEAP = 1 << 20, WEIGHTS = 100000, SMALL = 16 };

/* $0 is nvtally, $1 the client, $2 its folder, $3 how it is recorded, $4 the trace, $5 what the client is told besides, $6 another
 * trace. Runs in the recorded job. */
static const char drive[] =
    "until_made() { i=0; until [ -e $2/$1 ]; do sleep 0.02; i=$((i+1)); [ $i -lt 6000 ] || exit 9; "
    "done; }; "
    "until_it_is() { i=0; until \"$0\" ctl status 2>/dev/null | grep -q \"^state.$1$\"; do sleep "
    "0.05; i=$((i+1)); [ $i -lt 2400 ] || exit 8; done; }; "
    "folder=$2; made() { until_made $1 $folder; }; go() { : > $folder/$1; }; "
    "\"$1\" $2 $5 & client=$!; made announced; "
    "case $3 in dormant) \"$0\" ctl start; until_it_is recording;; "
    "env|again) \"$0\" ctl start -o $4; until_it_is recording;; "
    "steps) \"$0\" ctl steps 3;; "
    "delay) until_it_is recording;; esac; "
    "go use; made used; "
    "case $3 in dormant|env) \"$0\" ctl stop; until_it_is dormant;; "
    "again) kill $(\"$0\" ctl ps -f csv | sed -n 's/^\\([0-9][0-9]*\\),.*/\\1/p'); "
    "until_it_is dormant;; esac; "
    "go change; made changed; "
    "case $3 in dormant|env) \"$0\" ctl start; until_it_is recording;; "
    "again) \"$0\" ctl start -o $6; until_it_is recording;; esac; "
    "go end; wait $client";

/* A way to record it: options of record, or of env. */
struct way {
    const char *name, *command, *options;
};

static const struct way ways[] = {
    {"dormant", "record", "--dormant -t nvtx"},
    {"env", "env", "-t nvtx"},
    {"delay", "record", "--delay 1 -t nvtx"},
    {"capture", "record", "--capture step -t nvtx"},
    {"profiler", "record", "--capture cudaProfilerApi -t nvtx,memory"},
};
static const struct way from_the_beginning = {"full", "record", "-t nvtx"};

static const char *trace_name(const struct way *way)
{
    static char name[64];
    snprintf(name, sizeof(name), "%s.nvt", way->name);
    return name;
}

/* The trace of a recording in that way, of a client that is told so. Another one is "other.nvt". */
static struct nvt_trace *record(const struct way *way, const char *argument)
{
    char script[600], stand_in[600], folder[600], trace[600], other[600], place[600];
    snprintf(folder, sizeof(folder), "%s", recorded_in("files"));
    snprintf(trace, sizeof(trace), "%s", recorded_in(trace_name(way)));
    snprintf(other, sizeof(other), "%s", recorded_in("other.nvt"));
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", recorded_in("sessions"));
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    snprintf(script, sizeof(script),
             "rm -rf $2 $4 $6; mkdir -p $2 $NVTALLY_TMPDIR; \"$0\" %s %s %s -- sh -c \"$7\" \"$0\" "
             "\"$@\" || exit; i=0; while [ -n \"$(ls $NVTALLY_TMPDIR)\" ] && [ $i -lt 1200 ]; do "
             "sleep 0.1; i=$((i+1)); done",
             way->command, way->options, strcmp(way->command, "env") ? "-o $4" : "");
    const char *const environment[] = {place, strcmp(way->name, "profiler") ? NULL : stand_in,
                                       NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 120};
    const char *const argv[] = {"sh",
                                "-c",
                                script,
                                cli_built("nvtally"),
                                cli_client("late"),
                                folder,
                                way->name,
                                trace,
                                argument,
                                other,
                                drive,
                                NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace_at(trace);
}

/* --- what is known ---------------------------------------------------------------------------------- */

static void put(char *text, size_t size, const char *what, const char *name, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s %s: %s\n", what, name, more);
}

static void put_ranges(const struct nvt_trace *trace, char *text, size_t size)
{
    static const char *const names[] = {"step", "registered early"};
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t past = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        const uint32_t row = recorded_range(trace, names[i]);
        put(text, size, "range", names[i], nvt_name(trace, ranges->category[row]));
        put(text, size, "payload", names[i], nvt_name(trace, ranges->payload[row]));
        put(text, size, "domain", names[i],
            nvt_name(trace, trace->domains.name[ranges->domain[row]]));
    }
    /* The deferred one: its clock is one that the program reads, and lies within "step". */
    const uint32_t step = recorded_range(trace, "step");
    for (uint32_t i = 0; i < ranges->count; i++)
        past += !*nvt_name(trace, ranges->name[i]) && ranges->start[i] >= ranges->start[step] &&
                ranges->end[i] <= ranges->end[step] &&
                ranges->end[i] - ranges->start[i] >= 2900000 &&
                strstr(nvt_name(trace, ranges->payload[i]), "{\"begin\":") != NULL;
    put(text, size, "deferred", "range", past == 1 ? "one" : "none");
    for (uint32_t i = 0; i < trace->marks.count; i++)
        put(text, size, "mark", nvt_name(trace, trace->marks.name[i]),
            nvt_name(trace, trace->marks.category[i]));
}

/* All that was announced, but for memory, a line each. */
static void put_known(const struct nvt_trace *trace, char *text, size_t size)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    *text = 0;
    put_ranges(trace, text, size);
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint32_t counter = samples->counter[i];
        if (trace->counters.is_of_process[counter] || trace->counters.is_of_machine[counter])
            continue;
        put(text, size, "counter", nvt_name(trace, trace->counters.name[counter]),
            nvt_name(trace, trace->counters.unit[counter]));
        put(text, size, "of", "it", nvt_name(trace, trace->counters.description[counter]));
    }
    for (uint32_t i = 0; i < trace->resources.count; i++)
        put(text, size, nvt_name(trace, trace->resources.type[i]), "",
            nvt_name(trace, trace->resources.name[i]));
}

/* Threads that the trace has; the helper has events behind the start only by chance. */
static void expect_thread(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (!strcmp(nvt_name(trace, trace->threads.name[i]), name))
            return;
    fail_msg("no thread '%s'", name);
}

/* --- memory ----------------------------------------------------------------------------------------- */

/* What a process has of the host's memory, allocated and reserved, as a range of it begins, or ends. */
static void expect_level(const struct nvt_trace *trace, const char *range, int at_end,
                         int64_t allocated, int64_t reserved)
{
    struct nvt_levels levels = {0};
    const uint32_t row = recorded_range(trace, range);
    const uint32_t process = trace->threads.process[trace->ranges.thread[row]];
    uint32_t found = 0;
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    for (uint32_t i = 0; i < levels.count; i++) {
        const struct nvt_level_series *series = &levels.series[i];
        if (series->process != process || series->device != NVT_NONE)
            continue;
        const int64_t time = at_end ? trace->ranges.end[row] : trace->ranges.start[row];
        const uint32_t until = nvt_level_until(series, trace, time, 0);
        assert_true(until > 0);
        found++;
        if (nvt_level_allocated(series, until - 1) != allocated ||
            nvt_level_reserved(series, until - 1) != reserved)
            fail_msg("%s: %lld allocated, not %lld, %lld reserved, not %lld", range,
                     (long long)nvt_level_allocated(series, until - 1), (long long)allocated,
                     (long long)nvt_level_reserved(series, until - 1), (long long)reserved);
    }
    assert_int_equal(found, 1);
    nvt_levels_free(&levels);
}

static uint32_t rows_of(const struct nvt_trace *trace, const char *source)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < trace->memory.count; i++)
        rows += !strcmp(nvt_name(trace, trace->memory.source[i]), source);
    return rows;
}

static bool says(const struct nvt_trace *trace, const char *text)
{
    return trace->notes && strstr(trace->notes, text);
}

enum {
    BEFORE = WEIGHTS + 30000 + 20000 + SMALL,
    STEP = BEFORE + 40000 - 30000,
    CHANGED = STEP - 20000 + 50000 + 5000
};

/* By its names, and with none that the trace does not know. */
static void expect_names(const struct nvt_trace *trace)
{
    assert_true(rows_of(trace, "arena") > 0);
    assert_true(rows_of(trace, "weights") > 0);
    assert_true(rows_of(trace, "reset") > 0);
    assert_int_equal(rows_of(trace, "NVTX heap"), 0);
    assert_false(says(trace, "only regions that began"));
    assert_false(says(trace, "regions of NVTX heaps"));
    assert_false(says(trace, "region of NVTX heaps"));
    assert_false(says(trace, "not defined"));
}

/* --- the tests -------------------------------------------------------------------------------------- */

static char all_known[8192];

static void knows_all_from_the_beginning(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&from_the_beginning, "");
    put_known(trace, all_known, sizeof(all_known));
    static const char *const expected[] = {
        "range registered early: network\n",
        "payload registered early: {\"count\":7,\"fruit\":\"pear\"}\n",
        "domain registered early: early\n",
        "deferred range: one\n",
        "mark named last: late network\n",
        "mark a mark: disk\n",
        "counter loss: nats\n",
        "of it: of the model\n",
        "other : the lock\n",
        "device : first device\n",
        "stream : the copies\n",
        "event : the end of copies\n",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++)
        if (!strstr(all_known, expected[i]))
            fail_msg("no '%s' in:\n%s", expected[i], all_known);
    expect_thread(trace, "the main thread");
    expect_thread(trace, "the helper");
    expect_level(trace, "step", 0, BEFORE, 2 * HEAP);
    expect_level(trace, "step", 1, STEP, 2 * HEAP);
    expect_level(trace, "last step", 1, CHANGED - 50000, 2 * HEAP);
    assert_int_equal(recorded_count(trace, "open"), 1);
    assert_int_equal(recorded_count(trace, "open start"), 1);
    nvt_trace_free(trace);
}

/* Ends of ranges that were open before end nothing that began since. */
static void expect_no_open_ranges(const struct nvt_trace *trace)
{
    static const char *const open[] = {"open", "open, too", "open start", "open in the helper"};
    for (size_t i = 0; i < NVT_COUNT_OF(open); i++)
        assert_int_equal(recorded_count(trace, open[i]), 0);
    assert_int_equal(recorded_count(trace, "step"), 1);
    assert_int_equal(recorded_count(trace, "registered early"), 1);
}

static void expect_late(const struct way *way)
{
    static char known[8192];
    const int is_short = !strcmp(way->name, "capture");
    struct nvt_trace *trace = record(way, "");
    put_known(trace, known, sizeof(known));
    if (strcmp(known, all_known) != 0)
        fail_msg("%s knows\n%s\nnot\n%s", way->name, known, all_known);
    expect_thread(trace, "the main thread");
    expect_no_open_ranges(trace);
    expect_names(trace);
    expect_level(trace, "step", 0, BEFORE, 2 * HEAP);
    expect_level(trace, "step", 1, STEP, 2 * HEAP);
    assert_int_equal(recorded_count(trace, "last step"), !is_short);
    if (!is_short) {
        expect_level(trace, "last step", 0, CHANGED, 2 * HEAP);
        expect_level(trace, "last step", 1, CHANGED - 50000, 2 * HEAP);
    }
    nvt_trace_free(trace);
}

static void knows_all_behind_a_start(void **state)
{
    (void)state;
    expect_late(&ways[0]);
    expect_late(&ways[1]);
}

static void knows_all_behind_a_delay(void **state)
{
    (void)state;
    expect_late(&ways[2]);
}

static void knows_all_within_what_is_captured(void **state)
{
    (void)state;
    expect_late(&ways[3]);
    expect_late(&ways[4]);
}

/* What cudaMalloc gave before, and is freed in the recording, was there from its beginning on: no level is below zero. */
static void memory_of_a_device_that_is_freed_was_there(void **state)
{
    (void)state;
    struct nvt_trace *trace = recorded_trace_at(recorded_in("profiler.nvt"));
    struct nvt_levels levels = {0};
    uint32_t found = 0;
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    for (uint32_t i = 0; i < levels.count; i++) {
        const struct nvt_level_series *series = &levels.series[i];
        if (series->device == NVT_NONE)
            continue;
        found++;
        assert_int_equal(series->base, 5000000);
        assert_int_equal(nvt_level_most(series, NULL), 5000000);
        assert_int_equal(nvt_level_allocated(series, series->count - 1), 0);
    }
    assert_int_equal(found, 1);
    assert_true(says(trace, "freed that had been allocated before the recording"));
    nvt_levels_free(&levels);
    nvt_trace_free(trace);
}

/* With `ctl steps` only what is in iterations is recorded. */
static void knows_all_within_iterations(void **state)
{
    (void)state;
    static const struct way steps = {"steps", "record", "--dormant --iteration step -t nvtx"};
    struct nvt_trace *trace = record(&steps, "steps");
    assert_int_equal(recorded_count(trace, "step"), 3);
    assert_int_equal(trace->ranges.count, 3);
    expect_names(trace);
    expect_level(trace, "step", 0, BEFORE, 2 * HEAP);
    nvt_trace_free(trace);
}

/* What the first recorder knew, the second is told anew. */
static void the_next_recorder_is_told(void **state)
{
    (void)state;
    static const struct way again = {"again", "env", "-t nvtx"};
    struct nvt_trace *trace = record(&again, "");
    expect_level(trace, "step", 0, BEFORE, 2 * HEAP);
    nvt_trace_free(trace);
    trace = recorded_trace_at(recorded_in("other.nvt"));
    expect_names(trace);
    expect_thread(trace, "the main thread");
    expect_level(trace, "last step", 0, CHANGED, 2 * HEAP);
    expect_level(trace, "last step", 1, CHANGED - 50000, 2 * HEAP);
    nvt_trace_free(trace);
}

/* What its parent has defined, a child knows; heaps are those that it has announced itself. */
static void children_know_it_too(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    const struct way *const forked[] = {&from_the_beginning, &ways[0], &ways[1], &ways[3]};
    for (size_t i = 0; i < NVT_COUNT_OF(forked); i++) {
        static char known[8192];
        struct nvt_trace *trace = record(forked[i], "fork");
        put_ranges(trace, strcpy(known, ""), sizeof(known));
        if (strncmp(known, all_known, strlen(known)) != 0)
            fail_msg("a child, %s, knows\n%s\nnot\n%s", forked[i]->name, known, all_known);
        assert_false(says(trace, "not defined"));
        assert_true(rows_of(trace, "arena") > 0);
        assert_int_equal(rows_of(trace, "NVTX heap"), 0);
        expect_level(trace, "step", 0, 30000 + 20000, HEAP);
        expect_level(trace, "step", 1, 20000 + 40000, HEAP);
        nvt_trace_free(trace);
    }
}

/* What finds no room is said, and what is allocated is known at least. */
static void more_regions_than_there_is_room_for(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&ways[0], "crowd");
    struct nvt_levels levels = {0};
    assert_true(says(trace, "allocated memory and its peaks are at least what is shown"));
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    assert_int_equal(levels.count, 1);
    const int64_t most = nvt_level_most(&levels.series[0], NULL);
    assert_true(most > 300000 * 64 && most < 400000 * 64 + HEAP);
    nvt_levels_free(&levels);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_all_from_the_beginning),
        cmocka_unit_test(knows_all_behind_a_start),
        cmocka_unit_test(knows_all_behind_a_delay),
        cmocka_unit_test(knows_all_within_what_is_captured),
        cmocka_unit_test(memory_of_a_device_that_is_freed_was_there),
        cmocka_unit_test(knows_all_within_iterations),
        cmocka_unit_test(the_next_recorder_is_told),
        cmocka_unit_test(children_know_it_too),
        cmocka_unit_test(more_regions_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
