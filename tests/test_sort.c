/*
 * Sorting of rows by time, against the library's sort on random rows of every degree of order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../analyze/model/column.h"
#include "../analyze/model/sort.h"
#include "../lib/count_of.h"
#include "random_kit.h"

static const int64_t *keys, *ties;

static int by_definition(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (keys[a] != keys[b])
        return keys[a] < keys[b] ? -1 : 1;
    if (ties && ties[a] != ties[b])
        return ties[a] > ties[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void orders_are_as_defined(void **state)
{
    (void)state;
    enum { MOST = 300, TRIALS = 3000 };
    int64_t key[MOST], tie[MOST];
    uint32_t expected[MOST] = {0};
    kit_srand(5);
    for (int trial = 0; trial < TRIALS; trial++) {
        uint32_t count = (uint32_t)(rand() % MOST);
        int span = 1 + rand() % 40, step = rand() % 3;
        for (uint32_t i = 0; i < count; i++) {
            key[i] = rand() % span - span / 2 + step * (int64_t)i;
            tie[i] = rand() % 4;
            expected[i] = i;
        }
        keys = key;
        ties = trial % 2 ? tie : NULL;
        uint32_t *order;
        assert_int_equal(nvt_sort_order(key, ties, count, &order), 0);
        qsort(expected, count, sizeof(*expected), by_definition);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(order ? order[i] : i, expected[i]);
        free(order);
    }
}

static void extreme_keys_are_ordered(void **state)
{
    (void)state;
    const int64_t key[] = {INT64_MAX, 0, INT64_MIN, -1, INT64_MAX, INT64_MIN};
    const uint32_t expected[] = {2, 5, 3, 1, 0, 4};
    uint32_t *order;
    assert_int_equal(nvt_sort_order(key, NULL, 6, &order), 0);
    assert_memory_equal(order, expected, sizeof(expected));
    free(order);
    assert_int_equal(nvt_sort_order(key, NULL, 0, &order), 0);
    assert_null(order);
}

#define COLUMN(type, name)                                                                         \
    type *name = nvt_column_grow(NULL, 3 * sizeof(type));                                          \
    assert_non_null(name);                                                                         \
    for (int i = 0; i < 3; i++)                                                                    \
        name[i] = (type)(i + 1);                                                                   \
    assert_int_equal(nvt_sort_column(&name, sizeof(type), order, 3, &scratch), 0);                 \
    for (int i = 0; i < 3; i++)                                                                    \
        assert_int_equal(name[i], i ? i : 3);

static void columns_follow_the_order(void **state)
{
    (void)state;
    const uint32_t order[] = {2, 0, 1};
    struct nvt_sort_scratch scratch = {0};
    COLUMN(uint8_t, bytes)
    COLUMN(uint16_t, shorts)
    COLUMN(uint32_t, words)
    COLUMN(uint32_t, more_words)
    COLUMN(uint64_t, longs)
    COLUMN(uint64_t, more_longs)
    nvt_sort_free(&scratch);
    nvt_column_free(bytes);
    nvt_column_free(shorts);
    nvt_column_free(words);
    nvt_column_free(more_words);
    nvt_column_free(longs);
    nvt_column_free(more_longs);
}

/* From a few bytes to many megabytes: what was there stays, what is new is zero. */
static void columns_grow(void **state)
{
    (void)state;
    uint64_t *column = NULL;
    size_t count = 0;
    for (size_t more = 3; more < 6000000; more = more * 2 + 1) {
        column = nvt_column_grow(column, more * sizeof(*column));
        assert_non_null(column);
        for (size_t i = 0; i < more; i += more / 100 + 1)
            assert_int_equal(column[i], i < count ? i : 0);
        for (; count < more; count++)
            column[count] = count;
    }
    assert_ptr_equal(nvt_column_grow(column, 8), column);
    nvt_column_free(column);
}

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void values_are_sorted(void **state)
{
    (void)state;
    enum { MOST = 700, TRIALS = 600 };
    static const uint32_t masks[] = {UINT32_MAX, 0xff, 0xff00ff, 0x3, 0xf0000000, 0xfffff};
    uint32_t values[MOST], expected[MOST], scratch[MOST];
    kit_srand(6);
    for (int trial = 0; trial < TRIALS; trial++) {
        size_t count = (size_t)(rand() % (trial % 2 ? MOST : 60));
        uint32_t base = trial % 3 ? 0 : UINT32_MAX - 0xfff;
        for (size_t i = 0; i < count; i++) {
            values[i] = base + (((uint32_t)rand() << 16 ^ (uint32_t)rand()) &
                                masks[trial % (int)NVT_COUNT_OF(masks)]);
            expected[i] = values[i];
        }
        nvt_sort_values(values, scratch, count);
        if (count)
            qsort(expected, count, sizeof(*expected), by_value);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(values[i], expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_as_defined),    cmocka_unit_test(extreme_keys_are_ordered),
        cmocka_unit_test(columns_follow_the_order), cmocka_unit_test(columns_grow),
        cmocka_unit_test(values_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
