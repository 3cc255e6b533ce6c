/*
 * Device rows as columns: what was put in comes out again, and whatever bytes they are, nothing
 * beyond them is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/device_columns.h"

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    uint64_t x = state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint32_t pick(uint32_t below)
{
    return (uint32_t)(random_bits() % below);
}

/* Small ones more often; all lengths. */
static uint64_t random_value(uint32_t longest)
{
    return random_bits() >> (64 - 7 * (1 + pick(longest))) % 64;
}

/* A copy of its own size, so that a sanitizer sees what is read behind it. */
static uint8_t *tight(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

/* --- rows --- */

enum { ROWS = 600, ROOM = 1 << 18 };

/* How the values of a field go on from row to row. */
static uint64_t next_value(uint32_t manner, uint64_t last)
{
    switch (manner) {
    case 0:
        return 0;
    case 1:
        return last;
    case 2:
        return last + pick(9);
    case 3:
        return pick(20) ? last : pick(500);
    case 4:
        return last + random_value(3) - random_value(3);
    default:
        return random_value(10);
    }
}

/* Rows of these kinds, as a traced process makes them. */
static void make_batch(struct nvt_device_batch *batch, uint8_t *memory, const uint32_t *kinds,
                       uint32_t kind_count)
{
    uint64_t last[8][NVT_DEVICE_FIELDS_MAX];
    uint32_t manner[8][NVT_DEVICE_FIELDS_MAX], fields[8] = {0}, rows = pick(ROWS);
    nvt_device_batch_init(batch, memory, ROOM);
    for (uint32_t k = 0; k < kind_count; k++) {
        fields[k] = pick(NVT_DEVICE_FIELDS_MAX + 1);
        for (uint32_t i = 0; i < NVT_DEVICE_FIELDS_MAX; i++) {
            manner[k][i] = i < 2 ? 4 + pick(2) : pick(6);
            last[k][i] = random_value(9);
        }
    }
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t k = pick(kind_count);
        for (uint32_t i = 0; i < NVT_DEVICE_FIELDS_MAX; i++)
            last[k][i] = next_value(manner[k][i], last[k][i]);
        uint32_t count = pick(10) ? fields[k] : pick(NVT_DEVICE_FIELDS_MAX + 1);
        if (nvt_device_batch_add(batch, kinds[k], last[k], count))
            return;
    }
}

static void expect_row(const struct nvt_device_row *got, const struct nvt_device_row *expected)
{
    assert_int_equal(got->kind, expected->kind);
    assert_true(got->count >= expected->count);
    assert_memory_equal(got->fields, expected->fields, sizeof(got->fields));
}

/* The rows, in order, or (of the kind at `only`) those of a kind. Returns how many. */
static size_t compare_rows(const uint8_t *rows, size_t size, struct nvt_device_columns *columns,
                           struct nvt_device_group *only)
{
    struct nvt_device_reader reader = {rows, rows + size, 0};
    struct nvt_device_row expected, got;
    size_t count = 0;
    while (nvt_device_reader_next(&reader, &expected) == 1) {
        if (only && expected.kind != only->kind)
            continue;
        assert_int_equal(
            only ? nvt_device_group_row(only, &got) : nvt_device_columns_next(columns, &got), 1);
        expect_row(&got, &expected);
        count++;
    }
    assert_int_equal(
        only ? nvt_device_group_row(only, &got) : nvt_device_columns_next(columns, &got), 0);
    return count;
}

/* Kinds whose rows are read in order, kinds of which each may be read for itself, one alone. */
static const uint32_t sets[][8] = {
    {NVT_DEVICE_MEMORY, NVT_DEVICE_POOL, NVT_DEVICE_KERNEL, NVT_DEVICE_API, NVT_DEVICE_MEMCPY, 77,
     NVT_DEVICE_NAME, 20},
    {NVT_DEVICE_CONTEXT, NVT_DEVICE_SYNC, NVT_DEVICE_SYNC, NVT_DEVICE_API, NVT_DEVICE_KERNEL,
     NVT_DEVICE_DEVICE, NVT_DEVICE_CLOCK, NVT_DEVICE_EXTERNAL},
    {NVT_DEVICE_KERNEL, NVT_DEVICE_API, NVT_DEVICE_KERNEL, NVT_DEVICE_API, NVT_DEVICE_MEMCPY,
     NVT_DEVICE_SYNC, NVT_DEVICE_EXTERNAL, 20},
    {NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL,
     NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL, NVT_DEVICE_KERNEL},
};

static void rows_come_back(void **unused)
{
    (void)unused;
    static struct nvt_device_batch batch;
    static struct nvt_device_columns columns;
    static uint8_t memory[ROOM];
    int as_columns = 0, ordered = 0;
    for (int trial = 0; trial < 1000; trial++) {
        struct nvt_buffer out = {0};
        size_t size, total = 0;
        make_batch(&batch, memory, sets[trial % 4], 8);
        const uint8_t *rows = nvt_device_batch_rows(&batch, &size);
        assert_int_equal(nvt_buffer_append(&out, "before", 6), 0);
        if (nvt_device_columns_put(&out, rows, size)) {
            assert_int_equal(out.size, 6);
            nvt_buffer_free(&out);
            continue;
        }
        as_columns++;
        uint8_t *copy = tight(out.data + 6, out.size - 6);
        assert_int_equal(nvt_device_columns_open(&columns, copy, copy + out.size - 6), 0);
        assert_int_equal(columns.rows, batch.rows);
        ordered += columns.order != NULL;
        if (columns.order)
            total = compare_rows(rows, size, &columns, NULL);
        for (uint32_t i = 0; i < columns.groups && !columns.order; i++)
            total += compare_rows(rows, size, &columns, &columns.group[i]);
        assert_int_equal(total, batch.rows);
        free(copy);
        nvt_buffer_free(&out);
    }
    print_message("%d of 1000 as columns, %d of them in order\n", as_columns, ordered);
    assert_true(as_columns > 900 && ordered > 300 && ordered < as_columns);
}

/* What columns do not suit is left as rows. */
static void some_stay_rows(void **unused)
{
    (void)unused;
    static struct nvt_device_batch batch;
    static uint8_t memory[ROOM];
    struct nvt_buffer out = {0};
    const uint64_t field = 5;
    size_t size;
    nvt_device_batch_init(&batch, memory, sizeof(memory));
    for (uint32_t kind = 40; kind < 40 + NVT_DEVICE_GROUPS + 1; kind++)
        assert_int_equal(nvt_device_batch_add(&batch, kind, &field, 1), 0);
    const uint8_t *rows = nvt_device_batch_rows(&batch, &size);
    assert_int_equal(nvt_device_columns_put(&out, rows, size), -1);
    nvt_device_batch_clear(&batch);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(nvt_device_batch_add(&batch, 40, &field, 1), 0);
    rows = nvt_device_batch_rows(&batch, &size);
    assert_int_equal(nvt_device_columns_put(&out, rows, size), -1);
    assert_int_equal(nvt_device_columns_put(&out, (const uint8_t *)"\1\7\2", 3), -1);
    assert_int_equal(out.size, 0);
    nvt_buffer_free(&out);
}

/* Read all there is. Returns how many rows. */
static uint64_t read_all(struct nvt_device_columns *columns)
{
    struct nvt_device_row row;
    uint64_t count = 0;
    while (nvt_device_columns_next(columns, &row))
        count++;
    return count;
}

/* Bytes changed and cut off: refused, or as many rows as they claim, for which there are bytes. */
static void damage_is_seen_when_opened(void **unused)
{
    (void)unused;
    static struct nvt_device_batch batch;
    static struct nvt_device_columns columns;
    static uint8_t memory[ROOM];
    int refused = 0, read = 0;
    for (int trial = 0; trial < 4000; trial++) {
        struct nvt_buffer out = {0};
        size_t size;
        make_batch(&batch, memory, sets[trial % 4], 1 + pick(8));
        const uint8_t *rows = nvt_device_batch_rows(&batch, &size);
        if (nvt_device_columns_put(&out, rows, size)) {
            nvt_buffer_free(&out);
            continue;
        }
        size_t length = pick(4) ? out.size : pick((uint32_t)out.size);
        uint8_t *copy = tight(out.data, length);
        for (uint32_t i = pick(4); i > 0 && length; i--)
            copy[pick(3) ? pick((uint32_t)length) : pick(length < 30 ? (uint32_t)length : 30)] =
                (uint8_t)(pick(2) ? random_bits() : pick(2) * 0xff);
        if (nvt_device_columns_open(&columns, copy, copy + length)) {
            refused++;
        } else {
            assert_true(columns.rows <= length / 2);
            assert_int_equal(read_all(&columns), columns.rows);
            read++;
        }
        free(copy);
        nvt_buffer_free(&out);
    }
    print_message("%d refused, %d read\n", refused, read);
    assert_true(refused > 500 && read > 500);
}

/* No claim without bytes for it. */
static void claims_need_bytes(void **unused)
{
    (void)unused;
    static struct nvt_device_columns columns;
    static const struct {
        const char *bytes;
        size_t size;
    } claims[] = {
        {"\1\x28\xff\xff\xff\xff\xf\1\0", 9}, /* 2^32 - 1 rows that are all zero */
        {"\1\x28\x50\1\x09\5", 6},            /* 80 rows that are all 5 */
        {"\1\x28\x50\1\x14\5\x50", 7},        /* a run of 80 */
        {"\1\x28\x50\1\2", 5},                /* 80 rows in no plane */
        {"\1\x28\2\1\x0f\1", 6},              /* an encoding that there is not */
        {"\1\x28\2\x19", 4},                  /* 25 columns */
        {"\1\5\1\1\x0a\1", 6},                /* times without an end */
        {"\x21", 1},                          /* 33 groups */
        {"\1\x28\2\1\x1a\1\2\3", 8},          /* three bytes for two rows */
        {"\1\x28\2\1\x92\1"
         "123456789012345678",
         24},                              /* nine planes */
        {"\1\x28\2\1\x1b\x81\x81\x81", 8}, /* no first value */
        {"\1\x28\2\1\x14\5\3", 7},         /* a run of three in two rows */
        {"\1\x28\2\1\x12\1\2\1", 8},       /* an order that leaves a row out */
        {"", 0},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(claims); i++) {
        uint8_t *copy = tight(claims[i].bytes, claims[i].size);
        if (!nvt_device_columns_open(&columns, copy, copy + claims[i].size))
            fail_msg("claim %zu was believed", i);
        free(copy);
    }
    static const uint8_t right[] = {1, 0x28, 2, 1, 0x12, 1, 2, 2};
    assert_int_equal(nvt_device_columns_open(&columns, right, right + sizeof(right)), 0);
    assert_int_equal(read_all(&columns), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(some_stay_rows),
        cmocka_unit_test(damage_is_seen_when_opened),
        cmocka_unit_test(claims_need_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
