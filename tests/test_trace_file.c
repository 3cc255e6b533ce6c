/*
 * The trace file: any prefix of it, and any damage to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/clock.h"
#include "../lib/trace_file.h"
#include "cli.h"

static char *directory;
static char path[512];
static char *whole;
static size_t whole_size;

/* A small real trace, which every test cuts or damages. */
static int record_once(void **state)
{
    (void)state;
    directory = cli_tempdir();
    snprintf(path, sizeof(path), "%s", cli_in(directory, "t.nvt"));
    const char *argv[] = {"nvtally", "record", "-o", path, "--", cli_client("everything"), NULL};
    struct cli_result result = cli_run(argv);
    int status = result.status;
    cli_result_free(&result);
    whole = cli_read_file(path, &whole_size);
    return status || !whole;
}

static int remove_all(void **state)
{
    (void)state;
    free(whole);
    cli_tempdir_remove(directory);
    return 0;
}

/* Offsets behind each whole chunk. */
static size_t chunk_ends(size_t *ends, size_t most)
{
    struct nvt_error err;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t count = 0;
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1) {
        assert_true(count < most);
        ends[count++] = (size_t)nvt_trace_file_offset(file);
    }
    nvt_trace_file_close(file);
    return count;
}

static struct nvt_trace *read_bytes(const char *data, size_t size, struct nvt_error *err)
{
    cli_write_file(path, data, size);
    return nvt_trace_read(path, err);
}

/* Cut at every byte of the file: what is whole is read, with a warning; nothing whole is an error. */
static void every_prefix_is_read_as_far_as_it_is_whole(void **state)
{
    (void)state;
    size_t ends[256], seen = 0;
    cli_write_file(path, whole, whole_size);
    size_t count = chunk_ends(ends, 256);
    assert_true(count > 6);
    assert_int_equal(ends[count - 1], whole_size);
    uint32_t before = 0;
    for (size_t size = 0; size < whole_size; size++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace = read_bytes(whole, size, &err);
        while (seen < count && ends[seen] <= size)
            seen++;
        if (!seen) {
            assert_null(trace);
            assert_true(err.message[0]);
            continue;
        }
        assert_non_null(trace);
        assert_non_null(trace->warning);
        assert_true(trace->ranges.count >= before);
        before = trace->ranges.count;
        nvt_trace_free(trace);
    }
    assert_true(before > 10);
}

/* What a recorder appends behind the end that a reader knows, whole or not, is not there for it until it is told so. */
static void appended_chunks_are_not_of_the_file_yet(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t ends[256], read = 0;
    cli_write_file(path, whole, whole_size);
    const size_t count = chunk_ends(ends, 256);
    assert_true(count > 4);
    for (size_t more = 1; more <= whole_size - ends[2]; more++) {
        cli_write_file(path, whole, ends[2]);
        struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
        assert_non_null(file);
        cli_write_file(path, whole, ends[2] + more);
        for (read = 0; nvt_trace_file_next(file, &chunk, &payload, &err) == 1;)
            read++;
        assert_int_equal(read, 3);
        assert_false(err.message[0]);
        if (ends[2] + more >= ends[3]) {
            nvt_trace_file_grow(file, (int64_t)ends[3]);
            assert_int_equal(nvt_trace_file_next(file, &chunk, &payload, &err), 1);
            assert_int_equal(nvt_trace_file_next(file, &chunk, &payload, &err), 0);
        }
        nvt_trace_file_close(file);
    }
}

/* The command says it once, on stderr, and ends well. */
static void a_cut_file_is_a_warning(void **state)
{
    (void)state;
    cli_write_file(path, whole, whole_size - 5);
    const char *argv[] = {"nvtally", "stats", path, "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "outer"));
    const char *warning = strstr(result.err, "the last chunk is cut");
    assert_non_null(warning);
    assert_null(strstr(warning + 1, "the last chunk is cut"));
    cli_result_free(&result);
}

/* Every byte flipped: the checksum or the header's checks find it; nothing read is from behind it. */
static void every_damaged_byte_is_noticed(void **state)
{
    (void)state;
    char *copy = malloc(whole_size);
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *sound = read_bytes(whole, whole_size, &err);
    assert_non_null(sound);
    assert_null(sound->warning);
    for (size_t at = 0; at < whole_size; at++) {
        memcpy(copy, whole, whole_size);
        copy[at] = (char)(copy[at] ^ 0x41);
        struct nvt_trace *trace = read_bytes(copy, whole_size, &err);
        /* Bytes 12 to 15 of the file are reserved and not looked at. */
        if (at >= 12 && at < NVT_FILE_HEADER) {
            nvt_trace_free(trace);
            continue;
        }
        if (trace) {
            assert_non_null(trace->warning);
            assert_true(trace->ranges.count <= sound->ranges.count);
        }
        nvt_trace_free(trace);
    }
    nvt_trace_free(sound);
    free(copy);
}

/* Chunks written by hand with sound checksums and senseless contents. */
static struct nvt_trace *read_forged(uint16_t kind, uint32_t count, const void *payload,
                                     size_t size, struct nvt_error *err)
{
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 0, err);
    struct nvt_chunk good = {
        .kind = NVT_CHUNK_STRINGS, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX, .count = 1};
    struct nvt_chunk bad = {.kind = kind, .count = count};
    assert_int_equal(nvt_trace_writer_chunk(writer, &good, "\0", 1, err), 0);
    assert_int_equal(nvt_trace_writer_chunk(writer, &bad, payload, size, err), 0);
    assert_int_equal(nvt_trace_writer_close(writer, err), 0);
    return nvt_trace_read(path, err);
}

static void senseless_chunks_end_the_reading(void **state)
{
    (void)state;
    static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    for (int kind = NVT_CHUNK_STRINGS; kind < NVT_CHUNK_DEVICE; kind++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace =
            read_forged((uint16_t)kind, UINT32_MAX, huge, sizeof(huge) - 1, &err);
        assert_non_null(trace);
        assert_non_null(strstr(trace->warning, "malformed"));
        nvt_trace_free(trace);
    }
}

/* A malformed chunk behind many that unpack to much: these are read a second time, and are no bomb for it. */
static void much_before_a_senseless_chunk_is_read(void **state)
{
    (void)state;
    enum { EVENTS = 1 << 18, CHUNKS = 24 };
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    struct nvt_buffer pairs = {0};
    cli_write_file(path, whole, whole_size);
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    struct nvt_trace_writer *writer = nvt_trace_writer_new(cli_in(directory, "much.nvt"), 1, &err);
    assert_non_null(file);
    assert_non_null(writer);
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1 && chunk.kind != NVT_CHUNK_EVENTS)
        assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, payload, chunk.raw_size, &err), 0);
    nvt_buffer_varint(&pairs, NVT_COLUMN_TOKENS);
    nvt_buffer_varint(&pairs, EVENTS);
    for (int i = 0; i < EVENTS; i++)
        nvt_buffer_varint(&pairs, (uint64_t)i % 2);
    nvt_buffer_varint(&pairs, NVT_COLUMN_TIMES);
    nvt_buffer_varint(&pairs, EVENTS);
    for (int i = 0; i < EVENTS; i++)
        nvt_buffer_varint(&pairs, 1);
    chunk.count = EVENTS;
    chunk.flags = 0;
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, pairs.data, pairs.size, &err), 0);
    chunk.count = EVENTS + 1;
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, pairs.data, pairs.size, &err), 0);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    nvt_trace_file_close(file);
    nvt_buffer_free(&pairs);
    struct nvt_trace *trace = nvt_trace_read(cli_in(directory, "much.nvt"), &err);
    if (!trace)
        fail_msg("%s", err.message);
    assert_non_null(strstr(trace->warning, "malformed"));
    assert_int_equal(trace->ranges.count, CHUNKS * (EVENTS / 2));
    nvt_trace_free(trace);
}

static void clock_is_linear_between_samples(void **state)
{
    (void)state;
    static const struct nvt_clock_sample samples[] = {
        {1000, 500, 0}, {3000, 1500, 0}, {4000, 3500, 0}};
    assert_int_equal(nvt_clock_convert(samples, 3, 1000), 500);
    assert_int_equal(nvt_clock_convert(samples, 3, 2000), 1000);
    assert_int_equal(nvt_clock_convert(samples, 3, 3500), 2500);
    /* Outside: along the line from first to last, one nanosecond a tick here. */
    assert_int_equal(nvt_clock_convert(samples, 3, 900), 400);
    assert_int_equal(nvt_clock_convert(samples, 3, 4100), 3600);
    assert_int_equal(nvt_clock_convert(samples, 1, 4100), 4100);
    /* Of a broken file: no sum leaves 62 bits, so that differences of times stay within 64. */
    static const struct nvt_clock_sample wild[] = {
        {0, INT64_MIN, 0}, {1, INT64_MAX, 0}, {UINT64_MAX, INT64_C(8462941363912143771), 0}};
    for (uint64_t ticks = 0; ticks < 64; ticks++) {
        int64_t time = nvt_clock_convert(wild, 3, UINT64_C(1) << ticks);
        assert_true(time >= INT64_MIN / 2 && time <= INT64_MAX / 2);
    }
    for (size_t count = 0; count <= 3; count++)
        for (int64_t origin = -1; origin <= 1; origin++) {
            int64_t times[] = {INT64_MIN, INT64_MIN / 2, -1, 0, 1, INT64_MAX / 2, INT64_MAX};
            nvt_clock_convert_all(wild, count,
                                  origin < 0   ? INT64_MIN
                                  : origin > 0 ? INT64_MAX
                                               : 0,
                                  times, 7);
            for (int i = 0; i < 7; i++)
                assert_true(times[i] >= INT64_MIN / 2 && times[i] <= INT64_MAX / 2);
        }
}

/* Two seconds apart by two clocks, the time-stamp counter's and the system's. */
static void clock_agrees_with_the_system(void **state)
{
    (void)state;
    enum nvt_clock clock = nvt_clock_best();
    struct nvt_clock_sample samples[2] = {nvt_clock_now(clock)};
    while (nvt_monotonic_ns() - samples[0].monotonic_ns < 200000000) {
    }
    samples[1] = nvt_clock_now(clock);
    for (int i = 0; i < 100; i++) {
        int64_t before = nvt_monotonic_ns();
        int64_t now = nvt_clock_convert(samples, 2, nvt_ticks(clock));
        int64_t after = nvt_monotonic_ns();
        assert_true(now >= before - 5000 && now <= after + 5000);
    }
}

/* Chunks that are all alike are stored as they are before readers would take the file for a bomb. */
static void reads_all_that_it_writes(void **state)
{
    (void)state;
    enum { CHUNKS = 64, BYTES = 1 << 20 };
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk = {.kind = 0, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX};
    const uint8_t *payload;
    uint8_t *zeros = calloc(1, BYTES);
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 1, &err);
    assert_non_null(writer);
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, zeros, BYTES, &err), 0);
    assert_true(nvt_trace_writer_size(writer) < (uint64_t)CHUNKS * BYTES / 50);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(nvt_trace_file_next(file, &chunk, &payload, &err), 1);
    assert_int_equal(nvt_trace_file_next(file, &chunk, &payload, &err), 0);
    nvt_trace_file_close(file);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_is_read_as_far_as_it_is_whole),
        cmocka_unit_test(appended_chunks_are_not_of_the_file_yet),
        cmocka_unit_test(a_cut_file_is_a_warning),
        cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(senseless_chunks_end_the_reading),
        cmocka_unit_test(reads_all_that_it_writes),
        cmocka_unit_test(much_before_a_senseless_chunk_is_read),
        cmocka_unit_test(clock_is_linear_between_samples),
        cmocka_unit_test(clock_agrees_with_the_system),
    };
    return cmocka_run_group_tests(tests, record_once, remove_all);
}
