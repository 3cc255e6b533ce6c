/*
 * NVTX's memory extension, whose regions are memory, and its deferred events, which are ranges and marks: recorded of
 * tests/clients/heaps.c and read back.
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
#include "../collectors/cut.h"
#include "../lib/count_of.h"
#include "record_kit.h"

enum { HEAP = 16 << 20, LOADED_BYTES = 10000, TRAINED_BYTES = 20000, REGIONS = 1000, LEFT = 10 };
enum { MOST = 600 * LOADED_BYTES + 400 * TRAINED_BYTES };

/* The last line of messages that says this; NULL: none does. */
static const char *said_of(const struct cli_result *result, const char *text)
{
    return strstr(result->err, text);
}

static struct nvt_trace *record(const char *argument)
{
    struct cli_result result = recorded_run("heaps", argument);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

static uint32_t count_of(const struct nvt_trace *trace, enum nvt_memory_kind kind, uint64_t bytes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->memory.count; i++)
        count += trace->memory.kind[i] == kind && trace->memory.bytes[i] == bytes;
    return count;
}

/* The only series, of so much reserved memory. */
static void expect_series(const struct nvt_trace *trace, uint32_t device, int64_t reserved)
{
    struct nvt_levels levels = {0};
    uint32_t last;
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    assert_int_equal(levels.count, 1);
    const struct nvt_level_series *series = &levels.series[0];
    assert_int_equal(series->device, device);
    assert_int_equal(series->base, 0);
    assert_int_equal(nvt_level_most(series, NULL), MOST);
    assert_int_equal(nvt_level_most_reserved(series, NULL), reserved);
    last = nvt_level_until(series, trace, trace->ranges.end[recorded_range(trace, "check")], 0);
    assert_int_equal(nvt_level_allocated(series, last - 1), LEFT * LOADED_BYTES);
    assert_int_equal(nvt_level_reserved(series, last - 1), reserved);
    nvt_levels_free(&levels);
}

static void regions_are_memory(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(NULL);
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(memory->count, 1 + REGIONS + REGIONS - LEFT);
    assert_int_equal(count_of(trace, NVT_MEMORY_ALLOC, LOADED_BYTES), 600);
    assert_int_equal(count_of(trace, NVT_MEMORY_ALLOC, TRAINED_BYTES), 400);
    assert_int_equal(count_of(trace, NVT_MEMORY_FREE, LOADED_BYTES), 590);
    assert_int_equal(count_of(trace, NVT_MEMORY_FREE, TRAINED_BYTES), 400);
    uint32_t named = 0;
    for (uint32_t i = 0; i < memory->count; i++) {
        const char *source = nvt_name(trace, memory->source[i]);
        assert_int_equal(memory->thread[i], trace->ranges.thread[0]);
        named += !strcmp(source, "weights");
        assert_true(!strcmp(source, "arena") || !strcmp(source, "weights"));
    }
    assert_int_equal(named, 2); /* as it began and ended */
    expect_series(trace, NVT_NONE, HEAP);
    assert_int_equal(trace->marks.count, 1); /* none of them is one */
    nvt_trace_free(trace);
}

/* What is allocated after each row of the model's memory, and reserved. */
static void what_changes_is_followed(void **state)
{
    (void)state;
    static const struct {
        enum nvt_memory_kind kind;
        uint64_t bytes;
        int64_t allocated, reserved;
    } expected[] = {
        {NVT_MEMORY_ALLOC, 0, 0, HEAP},       {NVT_MEMORY_ALLOC, 1000, 1000, HEAP},
        {NVT_MEMORY_ALLOC, 1000, 2000, HEAP}, {NVT_MEMORY_ALLOC, 1000, 3000, HEAP},
        {NVT_MEMORY_FREE, 1000, 2000, HEAP},  {NVT_MEMORY_ALLOC, 5000, 7000, HEAP},
        {NVT_MEMORY_FREE, 5000, 2000, HEAP},  {NVT_MEMORY_ALLOC, 2000, 4000, HEAP},
        {NVT_MEMORY_FREE, 2000, 2000, HEAP},  {NVT_MEMORY_FREE, 1000, 1000, HEAP},
        {NVT_MEMORY_FREE, 1000, 0, HEAP},     {NVT_MEMORY_ALLOC, 700, 700, HEAP},
        {NVT_MEMORY_FREE, 700, 0, HEAP},      {NVT_MEMORY_FREE, 0, 0, 0},
        {NVT_MEMORY_ALLOC, 300, 300, 300},
    };
    struct nvt_trace *trace = record("changes");
    const struct nvt_memory *memory = &trace->memory;
    struct nvt_levels levels = {0};
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    assert_int_equal(levels.count, 1);
    assert_int_equal(memory->count, NVT_COUNT_OF(expected));
    for (uint32_t i = 0; i < memory->count; i++) {
        if (memory->kind[i] != expected[i].kind || memory->bytes[i] != expected[i].bytes ||
            nvt_level_allocated(&levels.series[0], i) != expected[i].allocated)
            fail_msg("row %u: %d, %llu bytes, %lld allocated", i, memory->kind[i],
                     (unsigned long long)memory->bytes[i],
                     (long long)nvt_level_allocated(&levels.series[0], i));
        if (memory->reserved[i] != (uint64_t)expected[i].reserved)
            fail_msg("row %u: %llu reserved", i, (unsigned long long)memory->reserved[i]);
    }
    nvt_levels_free(&levels);
    nvt_trace_free(trace);
}

/* MiB of a column of a report's row, counted from 0. */
static double mib_of(const char *csv, const char *row, int column)
{
    char start[64];
    snprintf(start, sizeof(start), "\n%s,", row);
    const char *at = strstr(csv, start);
    if (!at)
        fail_msg("no row %s in %s", row, csv);
    for (at++; column > 0 && at; column--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    assert_non_null(at);
    return strtod(at, NULL);
}

static void expect_mib(const char *csv, const char *row, int column, double bytes)
{
    const double mib = mib_of(csv, row, column), expected = bytes / (1 << 20);
    if (mib < expected - 0.006 || mib > expected + 0.006)
        fail_msg("%s: %.4f MiB, not %.4f in %s", row, mib, expected, csv);
}

static struct cli_result report(const char *name)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "stats", recorded_path(), "-r", name, "-f", "csv", NULL});
    cli_expect_status(&result, 0);
    return result;
}

/* What each range took, what was in use for it at the peak, and what is never freed. */
static void reports_show_them_by_range(void **state)
{
    (void)state;
    enum { PEAK = 4, GROWTH = 6, IN_USE = 1 };
    nvt_trace_free(record(NULL));
    struct cli_result result = report("memory_peak");
    expect_mib(result.out, ":load", PEAK, 6000000);
    expect_mib(result.out, ":load", GROWTH, 6000000);
    expect_mib(result.out, ":train", PEAK, MOST);
    expect_mib(result.out, ":train", GROWTH, 5000000);
    expect_mib(result.out, ":check", PEAK, 11000000);
    expect_mib(result.out, ":check", GROWTH, -10900000);
    expect_mib(result.out, "(whole trace)", GROWTH, LEFT * LOADED_BYTES);
    cli_result_free(&result);
    result = report("memory_at_peak");
    expect_mib(result.out, "--load", IN_USE, 6000000);
    expect_mib(result.out, "--train", IN_USE, 8000000);
    cli_result_free(&result);
}

static void what_had_not_begun_is_said(void **state)
{
    (void)state;
    nvt_trace_free(record(NULL));
    struct cli_result result = report("memory_peak");
    assert_non_null(said_of(&result, "1 region of NVTX heaps began before the recording"));
    assert_null(said_of(&result, "memory of the host"));
    cli_result_free(&result);
}

static void a_late_recording_knows_what_was_there(void **state)
{
    (void)state;
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "--capture", "train", "-o",
                                      recorded_path(), "--", cli_client("heaps"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = report("memory_peak");
    assert_null(said_of(&result, "only regions that began in the recording count"));
    expect_mib(result.out, ":train", 4, MOST);
    expect_mib(result.out, ":train", 6, 400 * TRAINED_BYTES - 300 * LOADED_BYTES);
    cli_result_free(&result);
}

/* --- what a cut leaves behind --- */

/* Moments at which chunks of events end. */
static size_t ends_of_chunks(const char *path, uint64_t *ticks, size_t most)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t count = 0;
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    while (count < most && nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_EVENTS)
            ticks[count++] = chunk.last;
    nvt_trace_file_close(file);
    return count;
}

/* Wherever a trace is cut, what is in use behind the cut is known, by name, too. */
static void a_cut_leaves_regions_behind(void **state)
{
    (void)state;
    uint64_t ticks[64];
    struct stat whole;
    char copy[600];
    unsigned without_load = 0, named = 0;
    nvt_trace_free(record("slow"));
    snprintf(copy, sizeof(copy), "%s", recorded_in("cut.nvt"));
    const size_t count = ends_of_chunks(recorded_path(), ticks, 64);
    assert_int_equal(stat(recorded_path(), &whole), 0);
    for (size_t i = 0; i + 1 < count; i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        (void)unlink(copy);
        assert_int_equal(
            nvt_cut_copy(recorded_path(), whole.st_size, ticks[i] + 1, "1 s", copy, &err), 0);
        struct nvt_trace *trace = recorded_trace_at(copy);
        struct nvt_levels levels = {0};
        assert_int_equal(nvt_levels_make(&levels, trace), 0);
        assert_int_equal(levels.count, 1);
        const struct nvt_level_series *series = &levels.series[0];
        assert_int_equal(nvt_level_allocated(series, series->count - 1), LEFT * LOADED_BYTES);
        assert_int_equal(nvt_level_reserved(series, series->count - 1), HEAP);
        assert_null(trace->notes ? strstr(trace->notes, "only regions that began") : NULL);
        without_load += !recorded_count(trace, "load");
        for (uint32_t k = 0; k < trace->memory.count; k++)
            named += !strcmp(nvt_name(trace, trace->memory.source[k]), "weights");
        nvt_levels_free(&levels);
        nvt_trace_free(trace);
    }
    assert_true(without_load > 0 && named > 0);
}

/* What cudaMalloc gave is the heap's reserve, and no allocation besides what lies in it. */
static void a_heap_lies_in_an_allocation(void **state)
{
    (void)state;
    char stand_in[600];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    const char *const environment[] = {stand_in, NULL};
    const struct cli_options options = {.environment = environment};
    const char *const argv[] = {"nvtally", "record",      "-o", recorded_path(),
                                "--trace", "nvtx,memory", "--", cli_client("heaps"),
                                "device",  NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    expect_series(trace, 0, 2 * (int64_t)HEAP);
    struct nvt_levels levels = {0};
    assert_int_equal(nvt_levels_make(&levels, trace), 0);
    const struct nvt_level_series *series = &levels.series[0];
    /* Freed with all that was in it. */
    assert_int_equal(nvt_level_allocated(series, series->count - 1), 0);
    assert_int_equal(nvt_level_reserved(series, series->count - 1), 0);
    assert_int_equal(count_of(trace, NVT_MEMORY_FREE, LOADED_BYTES), 600);
    nvt_levels_free(&levels);
    nvt_trace_free(trace);
}

/* --- deferred events --- */

static void expect_within_work(const struct nvt_trace *trace, uint32_t row, const char *payload)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t work = recorded_range(trace, "work");
    /* Clocks other than that of events are fitted to it: within 50 us. */
    const int64_t slack = 50000;
    assert_true(ranges->start[row] >= ranges->start[work] - slack);
    assert_true(ranges->end[row] <= ranges->end[work] + slack);
    assert_true(ranges->end[row] - ranges->start[row] >= 2000000 - slack);
    const char *text = nvt_name(trace, ranges->payload[row]);
    if (!strstr(text, payload))
        fail_msg("%s, not %s", text, payload);
}

static void deferred_events_lie_where_they_were(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(NULL);
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t before = INT64_MIN;
    uint32_t past = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        char payload[32];
        if (strcmp(nvt_name(trace, ranges->name[i]), "past") != 0)
            continue;
        snprintf(payload, sizeof(payload), "\"items\":%u", past++);
        expect_within_work(trace, i, payload);
        assert_int_equal(ranges->color[i], 0xff00ff00u);
        assert_true(ranges->start[i] >= before);
        before = ranges->end[i];
    }
    assert_int_equal(past, 3);
    expect_within_work(trace, recorded_range(trace, "monotonic"), "\"items\":7");
    expect_within_work(trace, recorded_range(trace, "real"), "\"items\":8");
    /* Clocks of the program's own: by two moments, by a rate, by functions that read them, by another one of them. */
    static const char *const own[] = {"synced", "rated", "read", "with data", "chained"};
    for (size_t i = 0; i < NVT_COUNT_OF(own); i++) {
        char payload[32];
        snprintf(payload, sizeof(payload), "\"items\":%zu", 9 + i);
        assert_int_equal(recorded_count(trace, own[i]), 1);
        expect_within_work(trace, recorded_range(trace, own[i]), payload);
    }
    assert_int_equal(recorded_count(trace, "before"), 0);
    const uint32_t mark = recorded_mark(trace, "moment");
    assert_int_equal(trace->marks.time[mark], ranges->start[recorded_range(trace, "past")]);
    assert_int_equal(nvt_trace_lost(trace), 1); /* that of the unknown clock */
    nvt_trace_free(trace);
    struct cli_result result = report("nvtx_sum");
    assert_non_null(said_of(&result, "deferred events with times outside of the recording are left "
                                     "out: 1"));
    assert_non_null(strstr(result.out, "pool:past"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_memory),
        cmocka_unit_test(reports_show_them_by_range),
        cmocka_unit_test(what_changes_is_followed),
        cmocka_unit_test(what_had_not_begun_is_said),
        cmocka_unit_test(a_late_recording_knows_what_was_there),
        cmocka_unit_test(a_cut_leaves_regions_behind),
        cmocka_unit_test(a_heap_lies_in_an_allocation),
        cmocka_unit_test(deferred_events_lie_where_they_were),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
