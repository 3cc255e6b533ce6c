/*
 * What is left of device records behind a cut: every row of memory says the same, and before it what is in use there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/output.h"
#include "../lib/clock.h"
#include "../lib/cursor.h"
#include "../lib/device_columns.h"
#include "cut_kit.h"
#include "random_kit.h"
#include "record_kit.h"

enum { BATCHES = 60, ROWS = 30, POOLS = 3, PLACES = 40, ROOM = 1 << 16 };

/* A program's memory: what is allocated where, in a pool or not. Numbers are of CUPTI. */
struct memory {
    uint64_t address[PLACES], bytes[PLACES];
    int pool[PLACES]; /* 0: none */
    uint64_t used[POOLS + 1], reserved[POOLS + 1];
    uint64_t next;
};

static void add(struct nvt_device_batch *batch, uint32_t kind, const uint64_t *fields,
                uint32_t count)
{
    assert_int_equal(nvt_device_batch_add(batch, kind, fields, count), 0);
}

static void allocate(struct memory *memory, struct nvt_device_batch *batch, int place,
                     uint64_t time, uint32_t name)
{
    int pool = rand() % (POOLS + 1);
    int frees = memory->address[place] != 0;
    if (!frees) {
        memory->address[place] = 0x10000 + 256 * (memory->next++ % 64 + 64 * (uint64_t)place);
        memory->bytes[place] = 256 * (1 + (uint64_t)rand() % 1000);
        memory->pool[place] = pool;
    }
    pool = memory->pool[place];
    memory->used[pool] += frees ? -memory->bytes[place] : memory->bytes[place];
    if (memory->used[pool] > memory->reserved[pool])
        memory->reserved[pool] = memory->used[pool];
    uint64_t fields[NVT_MEM_FIELDS] = {time,
                                       time,
                                       0,
                                       frees ? 2 : 1,
                                       0,
                                       memory->address[place],
                                       memory->bytes[place],
                                       pool ? 0x777000u + (uint64_t)pool : 0,
                                       pool ? memory->reserved[pool] : 0,
                                       pool ? memory->used[pool] : 0,
                                       3,
                                       name,
                                       1,
                                       7};
    add(batch, NVT_DEVICE_MEMORY, fields, NVT_MEM_FIELDS);
    if (frees)
        memory->address[place] = 0;
}

/* What every batch has: a kernel, memory, that all was handed over; the first one a device, a context, a name. */
static void fill(struct nvt_device_batch *batch, struct memory *memory, int number, uint64_t time)
{
    uint32_t name = nvt_device_batch_name(batch, "allocator");
    if (!number) {
        uint64_t device[NVT_DEV_FIELDS] = {
            0, nvt_device_batch_name(batch, "GPU of the test"), 1u << 30, 4, 9,
            0, nvt_device_batch_name(batch, "GPU-1234")};
        uint64_t context[NVT_CTX_FIELDS] = {1, 0, 7};
        uint64_t stream[NVT_NAME_FIELDS] = {5, 7, nvt_device_batch_name(batch, "main stream")};
        uint64_t problem = nvt_device_batch_name(batch, "something is missing");
        add(batch, NVT_DEVICE_DEVICE, device, NVT_DEV_FIELDS);
        add(batch, NVT_DEVICE_CONTEXT, context, NVT_CTX_FIELDS);
        add(batch, NVT_DEVICE_NAME, stream, NVT_NAME_FIELDS);
        add(batch, NVT_DEVICE_PROBLEM, &problem, NVT_PROBLEM_FIELDS);
    }
    for (int i = 0; i < ROWS; i++)
        allocate(memory, batch, rand() % PLACES, time + 1000 * (uint64_t)i, name);
    uint64_t kernel[NVT_KERNEL_FIELDS] = {
        time, time + 500, (uint64_t)number + 1, nvt_device_batch_name(batch, "_Z4workv"), 0, 1, 7};
    uint64_t lost[NVT_LOST_FIELDS] = {1, 0, 0}, delivered[NVT_DELIVERED_FIELDS] = {0, time + 50000};
    uint64_t fault[NVT_UM_FIELDS] = {time,   time + 300,           0, 4, 0, UINT32_MAX,
                                     0x7000, (uint64_t)number + 1, 2};
    add(batch, NVT_DEVICE_KERNEL, kernel, NVT_KERNEL_FIELDS);
    add(batch, NVT_DEVICE_UM, fault, NVT_UM_FIELDS);
    add(batch, NVT_DEVICE_LOST, lost, NVT_LOST_FIELDS);
    add(batch, NVT_DEVICE_DELIVERED, delivered, NVT_DELIVERED_FIELDS);
}

/* A trace of device records alone, by the recorder's own output. Times and ticks are ns. */
static void write_devices(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_costs costs = {{0}};
    struct memory memory = {.next = 0};
    static struct nvt_device_batch batch;
    static uint8_t room[ROOM];
    struct nvt_output *output = nvt_output_new(path, 1, &err);
    assert_non_null(output);
    cut_expect_good(nvt_output_begin(output, &err), &err);
    cut_expect_good(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), &err);
    uint64_t origin = (uint64_t)nvt_output_origin(output);
    uint32_t process = nvt_output_process(output, 41, 1, 1, "program", &costs);
    uint32_t thread = nvt_output_thread(output, process, 42, "collector");
    nvt_device_batch_init(&batch, room, sizeof(room));
    for (int i = 0; i < BATCHES; i++) {
        struct nvt_buffer out = {0};
        size_t names_size, rows_size;
        uint64_t time = origin + 1000000 + 100000 * (uint64_t)i;
        nvt_device_batch_clear(&batch);
        fill(&batch, &memory, i, time);
        const uint8_t *names = nvt_device_batch_names(&batch, &names_size);
        const uint8_t *rows = nvt_device_batch_rows(&batch, &rows_size);
        nvt_buffer_varint(&out, batch.names);
        struct nvt_cursor cursor = {names, names + names_size};
        for (uint32_t n = 0; n < batch.names; n++) {
            uint64_t length = nvt_cursor_varint(&cursor);
            const char *text = (const char *)nvt_cursor_bytes(&cursor, length);
            nvt_buffer_varint(&out, nvt_output_string(output, text, length));
        }
        struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE_COLUMNS,
                                  .process = process,
                                  .thread = thread,
                                  .count = batch.rows,
                                  .first = time + 60000,
                                  .last = time + 60000};
        if (i % 2 || nvt_device_columns_put(&out, rows, rows_size)) {
            chunk.kind = NVT_CHUNK_DEVICE;
            nvt_buffer_append(&out, rows, rows_size);
        }
        cut_expect_good(nvt_output_chunk(output, &chunk, out.data, out.size, &err), &err);
        nvt_buffer_free(&out);
    }
    usleep(10000);
    cut_expect_good(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), &err);
    cut_expect_good(nvt_output_close(output, 0, 0, &err), &err);
}

/* Behind the cut every row of memory says the same, and before it what is in use there. */
static void compare_memory(const struct nvt_trace *whole, const struct nvt_trace *rest, int64_t cut)
{
    const struct nvt_memory *all = &whole->memory, *left = &rest->memory;
    uint32_t i = 0, k = 0;
    int64_t in_use[2] = {0, 0};
    for (; i < all->count && all->time[i] <= cut; i++)
        in_use[0] +=
            all->kind[i] == NVT_MEMORY_ALLOC ? (int64_t)all->bytes[i] : -(int64_t)all->bytes[i];
    for (; k < left->count && left->time[k] <= cut; k++)
        if (left->kind[k] == NVT_MEMORY_ALLOC)
            in_use[1] += (int64_t)left->bytes[k];
    assert_int_equal(all->count - i, left->count - k);
    /* A release that is there for its pool's sake stands behind an allocation that is not. */
    assert_int_equal(in_use[0], in_use[1]);
    for (; i < all->count; i++, k++) {
        assert_int_equal(all->time[i], left->time[k]);
        assert_int_equal(all->address[i], left->address[k]);
        assert_int_equal(all->bytes[i], left->bytes[k]);
        assert_int_equal(all->kind[i], left->kind[k]);
        assert_int_equal(all->allocated[i], left->allocated[k]);
        assert_int_equal(all->reserved[i], left->reserved[k]);
        assert_string_equal(nvt_name(whole, all->source[i]), nvt_name(rest, left->source[k]));
    }
}

static void keeps_what_device_records_need(void **state)
{
    (void)state;
    uint64_t ticks[200];
    char whole_path[600], copy[600];
    snprintf(whole_path, sizeof(whole_path), "%s", recorded_in("devices.nvt"));
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    kit_srand(7);
    write_devices(whole_path);
    struct nvt_trace *whole = cut_read_good(whole_path);
    struct nvt_trace_writer *again = cut_copy_of(whole_path, recorded_in("again.nvt"));
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace_file *file = nvt_trace_file_open(whole_path, &err);
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t count = 0;
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_DEVICE || chunk.kind == NVT_CHUNK_DEVICE_COLUMNS)
            ticks[count++] = chunk.last;
    nvt_trace_file_close(file);
    assert_int_equal(count, BATCHES);
    for (size_t i = 0; i + 1 < count; i++) {
        struct nvt_trace_writer *writer = cut_copy_of(whole_path, copy);
        cut_at(writer, ticks[i] + 1);
        cut_close_good(writer);
        cut_at(again, ticks[i] + 1); /* what earlier cuts have left, too */
        for (int twice = 0; twice < 2; twice++) {
            struct nvt_trace *rest = cut_read_good(twice ? recorded_in("again.nvt") : copy);
            compare_memory(whole, rest, cut_on_axis(whole_path, ticks[i]));
            assert_int_equal(rest->ops.count, BATCHES - 1 - i);
            assert_int_equal(rest->um_events.count, BATCHES - 1 - i);
            assert_int_equal(rest->um_events.faults[0], i + 2);
            assert_int_equal(rest->um_events.end[0] - rest->um_events.start[0], 300);
            assert_int_equal(rest->devices.count, 1);
            assert_string_equal(nvt_name(rest, rest->devices.name[0]), "GPU of the test");
            assert_int_equal(rest->resources.count, whole->resources.count);
            assert_non_null(strstr(rest->notes, "something is missing"));
            nvt_trace_free(rest);
        }
    }
    cut_close_good(again);
    nvt_trace_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_device_records_need),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
