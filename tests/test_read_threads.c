/*
 * The reader of .nvt on several threads: what it reads does not depend on how many there are, also
 * where the file is damaged. TSan has its say when this is built with it.
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
#include "../lib/device_columns.h"
#include "../lib/trace_file.h"
#include "cli.h"

enum { THREADS = 3, ROUNDS = 24, RANGES = 700, LAUNCHES = 500 };
enum { NAME_EMPTY, NAME_COMMAND, NAME_RANGE, NAME_CALL, NAME_KERNEL, NAMES };

static char *directory;
static char path[512];
static char *whole;
static size_t whole_size;
/* Where the chunks with events and device rows begin, in the order of the file. */
static size_t bulk[ROUNDS * (THREADS + 1)];
static size_t bulk_count;

static void put(struct nvt_trace_writer *writer, struct nvt_chunk chunk,
                const struct nvt_buffer *payload)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (chunk.kind == NVT_CHUNK_EVENTS || chunk.kind == NVT_CHUNK_DEVICE_COLUMNS)
        bulk[bulk_count++] = (size_t)nvt_trace_writer_size(writer);
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, payload->data, payload->size, &err), 0);
}

static void number(struct nvt_buffer *out, uint64_t value)
{
    assert_int_equal(nvt_buffer_varint(out, value), 0);
}

static void put_start(struct nvt_trace_writer *writer)
{
    static const char *const names[NAMES] = {"", "made up", "range", "cudaLaunchKernel",
                                             "_Z6kernelv"};
    struct nvt_buffer out = {0};
    for (int i = 0; i < NAMES; i++) {
        number(&out, strlen(names[i]));
        nvt_buffer_append(&out, names[i], strlen(names[i]));
    }
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_STRINGS, .count = NAMES}, &out);
    out.size = 0;
    for (uint64_t i = 1; i <= 2; i++)
        for (int clock = 0; clock < 3; clock++) {
            uint64_t moment = i * 1000000;
            nvt_buffer_append(&out, &moment, sizeof(moment));
        }
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_CLOCK, .count = 2}, &out);
    out.size = 0;
    const uint64_t process[] = {1000, 1, 0, NAME_COMMAND};
    for (int i = 0; i < 4; i++)
        number(&out, process[i]);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_PROCESS, .count = 1}, &out);
    for (uint32_t i = 0; i < THREADS; i++) {
        out.size = 0;
        number(&out, 1000 + i);
        number(&out, NAME_EMPTY);
        put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_THREAD, .thread = i, .count = 1}, &out);
    }
    nvt_buffer_free(&out);
}

/* Ranges one behind the other, of 40 ticks each; every seventh chunk leaves one open for the next.
 */
static void put_events(struct nvt_trace_writer *writer, uint32_t thread, uint32_t round)
{
    struct nvt_buffer tokens = {0}, times = {0}, out = {0};
    uint32_t count = RANGES * 2 - (round % 7 == 3);
    for (uint32_t i = 0; i < count; i++) {
        number(&tokens, i % 2 ? NVT_TOKEN_POP : NAME_RANGE << 3 | NVT_TOKEN_PUSH);
        number(&times, i ? 20 : 0);
    }
    number(&out, NVT_COLUMN_TOKENS);
    number(&out, tokens.size);
    nvt_buffer_append(&out, tokens.data, tokens.size);
    number(&out, NVT_COLUMN_TIMES);
    number(&out, times.size);
    nvt_buffer_append(&out, times.data, times.size);
    put(writer,
        (struct nvt_chunk){.kind = NVT_CHUNK_EVENTS,
                           .thread = thread,
                           .count = count,
                           .first = 1000000 + (uint64_t)round * RANGES * 40 + thread},
        &out);
    nvt_buffer_free(&tokens);
    nvt_buffer_free(&times);
    nvt_buffer_free(&out);
}

static void put_device_rows(struct nvt_trace_writer *writer, uint32_t round)
{
    static uint8_t memory[1 << 18];
    static struct nvt_device_batch batch;
    struct nvt_buffer out = {0};
    size_t size;
    nvt_device_batch_init(&batch, memory, sizeof(memory));
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        uint64_t at = 1000005 + (uint64_t)round * RANGES * 40 + (uint64_t)i * 50;
        uint64_t correlation = (uint64_t)round * LAUNCHES + i + 1;
        const uint64_t call[] = {at, at + 4, correlation, NVT_CALL_RUNTIME, 0, 1000 + i % THREADS};
        uint64_t kernel[NVT_KERNEL_FIELDS] = {at + 9, at + 30 + i % 11, correlation, 1};
        kernel[NVT_KERNEL_GRID] = 1 + i % 5;
        assert_int_equal(nvt_device_batch_add(&batch, NVT_DEVICE_API, call, 6), 0);
        assert_int_equal(nvt_device_batch_add(&batch, NVT_DEVICE_KERNEL, kernel, NVT_KERNEL_FIELDS),
                         0);
    }
    number(&out, 2);
    number(&out, NAME_CALL);
    number(&out, NAME_KERNEL);
    const uint8_t *rows = nvt_device_batch_rows(&batch, &size);
    assert_int_equal(nvt_device_columns_put(&out, rows, size), 0);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_DEVICE_COLUMNS, .count = 2 * LAUNCHES}, &out);
    nvt_buffer_free(&out);
}

static int write_once(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    directory = cli_tempdir();
    snprintf(path, sizeof(path), "%s", cli_in(directory, "t.nvt"));
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 1, &err);
    struct nvt_buffer end = {0};
    put_start(writer);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t thread = 0; thread < THREADS; thread++)
            put_events(writer, thread, round);
        put_device_rows(writer, round);
    }
    number(&end, 0);
    number(&end, 0);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_END}, &end);
    nvt_buffer_free(&end);
    if (nvt_trace_writer_close(writer, &err))
        return -1;
    whole = cli_read_file(path, &whole_size);
    return !whole;
}

static int remove_all(void **state)
{
    (void)state;
    free(whole);
    cli_tempdir_remove(directory);
    return 0;
}

static struct nvt_trace *read_with(const char *threads, const char *data, size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    cli_write_file(path, data, size);
    setenv("NVTALLY_THREADS", threads, 1);
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_non_null(trace);
    return trace;
}

#define SAME(table, field)                                                                         \
    assert_memory_equal(a->table.field, b->table.field, a->table.count * sizeof(*a->table.field))

static void assert_same(const struct nvt_trace *a, const struct nvt_trace *b)
{
    assert_int_equal(a->ranges.count, b->ranges.count);
    assert_int_equal(a->ops.count, b->ops.count);
    assert_int_equal(a->apis.count, b->apis.count);
    SAME(ranges, start);
    SAME(ranges, end);
    SAME(ranges, thread);
    SAME(ranges, name);
    SAME(ranges, parent);
    SAME(ranges, flags);
    SAME(ops, start);
    SAME(ops, end);
    SAME(ops, correlation);
    SAME(ops, name);
    SAME(ops, thread);
    SAME(ops, launch);
    SAME(ops, detail);
    SAME(apis, start);
    SAME(apis, thread);
    assert_int_equal(!a->warning, !b->warning);
    if (a->warning)
        assert_string_equal(a->warning, b->warning);
}

static void threads_make_no_difference(void **state)
{
    (void)state;
    struct nvt_trace *one = read_with("1", whole, whole_size);
    assert_null(one->warning);
    assert_int_equal(one->ranges.count, THREADS * ROUNDS * RANGES);
    assert_int_equal(one->ops.count, ROUNDS * LAUNCHES);
    assert_int_equal(one->apis.count, ROUNDS * LAUNCHES);
    assert_int_equal(one->kernels.count, 5);
    uint32_t unclosed = 0;
    for (uint32_t i = 0; i < one->ranges.count; i++)
        unclosed += (one->ranges.flags[i] & NVT_RANGE_UNCLOSED) != 0;
    assert_in_range(unclosed, 1, 4 * THREADS);
    for (uint32_t i = 0; i < one->ops.count; i++)
        assert_int_equal(one->ops.launch[i], one->apis.start[one->ops.api[i]]);
    for (int count = 2; count <= 4; count++) {
        char text[2] = {(char)('0' + count), 0};
        struct nvt_trace *several = read_with(text, whole, whole_size);
        assert_same(one, several);
        nvt_trace_free(several);
    }
    nvt_trace_free(one);
}

/* A damaged chunk ends the reading: what is read is what a file has that was cut there. */
static void nothing_behind_a_damaged_chunk_is_read(void **state)
{
    (void)state;
    char *damaged = malloc(whole_size);
    for (size_t i = 0; i < bulk_count; i += 5) {
        memcpy(damaged, whole, whole_size);
        damaged[bulk[i] + NVT_CHUNK_HEADER + 3] ^= 0x40;
        struct nvt_trace *cut = read_with("1", whole, bulk[i]);
        struct nvt_trace *one = read_with("1", damaged, whole_size);
        struct nvt_trace *several = read_with("4", damaged, whole_size);
        assert_non_null(strstr(one->warning, "damaged"));
        assert_same(one, several);
        assert_int_equal(one->ranges.count, cut->ranges.count);
        assert_int_equal(one->ops.count, cut->ops.count);
        nvt_trace_free(cut);
        nvt_trace_free(one);
        nvt_trace_free(several);
    }
    free(damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_make_no_difference),
        cmocka_unit_test(nothing_behind_a_damaged_chunk_is_read),
    };
    return cmocka_run_group_tests(tests, write_once, remove_all);
}
