/* The hash map from keys to rows, beside an array of all keys that there may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/map.h"
#include "random_kit.h"

/* Few keys, many of them in the same places: addresses as allocators give them out. */
enum { KEYS = 4096, STEPS = 300000 };

static uint64_t key_of(uint32_t i)
{
    return i == KEYS - 1 ? UINT64_MAX : UINT64_C(0x12c000000000) + (uint64_t)i * 512;
}

/* Keys come, get other rows and go. */
static void keeps_what_others_leave(void **state)
{
    (void)state;
    struct nvt_map map = {0};
    uint32_t *rows = malloc(KEYS * sizeof(*rows));
    assert_non_null(rows);
    for (uint32_t i = 0; i < KEYS; i++)
        rows[i] = NVT_MAP_NONE;
    kit_srand(1);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = (uint32_t)rand() % KEYS, row = rand() % 3 ? step : NVT_MAP_NONE;
        assert_int_equal(nvt_map_get(&map, key_of(i)), rows[i]);
        if (rand() % 2)
            continue;
        uint32_t *at = nvt_map_at(&map, key_of(i));
        assert_non_null(at);
        assert_int_equal(*at, rows[i]);
        rows[i] = *at = row;
    }
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(nvt_map_get(&map, key_of(i)), rows[i]);
    free(rows);
    nvt_map_free(&map);
    assert_int_equal(nvt_map_get(&map, 7), NVT_MAP_NONE);
}

/* A million keys that come and go take no more room than what is there at a time. */
static void takes_room_for_what_is_there(void **state)
{
    (void)state;
    struct nvt_map map = {0};
    for (uint64_t i = 0; i < 1000000; i++) {
        uint32_t *at = nvt_map_at(&map, i * 512);
        assert_non_null(at);
        *at = (uint32_t)i;
        if (i >= 10)
            *nvt_map_at(&map, (i - 10) * 512) = NVT_MAP_NONE;
    }
    assert_true(map.mask < 1024);
    assert_int_equal(nvt_map_get(&map, UINT64_C(999999) * 512), 999999);
    nvt_map_free(&map);
}

/* Items keep what they hold while the array moves; a new one is all zero. */
static void numbers_items_of_an_array(void **state)
{
    (void)state;
    struct item {
        uint64_t key, times;
    } *items = NULL;
    struct nvt_map map = {0};
    uint32_t count = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t key = i % 1000 ? i % 1000 << 40 : UINT64_MAX;
        struct item *item = nvt_map_item(&map, key, &items, &count, sizeof(*items));
        assert_non_null(item);
        assert_int_equal(item->times++, i / 1000);
        assert_int_equal(item->key, i < 1000 ? 0 : key);
        item->key = key;
    }
    assert_int_equal(count, 1000);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(nvt_map_get(&map, items[i].key), i);
    free(items);
    nvt_map_free(&map);
}

/* Numbers count up from where the count was; rows are those of the items; a row that was set stays. */
static void numbers_rows_and_sets(void **state)
{
    struct nvt_map map = {0}, numbers = {0};
    uint32_t count = 0, next = 5;
    uint64_t *items = NULL;
    (void)state;
    for (uint32_t step = 0; step < 2 * KEYS; step++) {
        const uint64_t key = key_of(step * 7 % KEYS);
        assert_int_equal(nvt_map_row(&map, key, &items, &count, sizeof(*items)), step % KEYS);
        assert_int_equal(nvt_map_number(&numbers, key, &next), 5 + step % KEYS);
    }
    assert_int_equal(count, KEYS);
    assert_int_equal(next, 5 + KEYS);
    assert_int_equal(nvt_map_set(&numbers, key_of(3), 17), 0);
    assert_int_equal(nvt_map_get(&numbers, key_of(3)), 17);
    /* No room for an item: none is counted, and the key gets its row later. */
    assert_int_equal(nvt_map_row(&map, 1, &items, &count, SIZE_MAX / 8), NVT_MAP_NONE);
    assert_int_equal(count, KEYS);
    assert_int_equal(nvt_map_row(&map, 1, &items, &count, sizeof(*items)), KEYS);
    nvt_map_free(&map);
    nvt_map_free(&numbers);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_others_leave),
        cmocka_unit_test(takes_room_for_what_is_there),
        cmocka_unit_test(numbers_items_of_an_array),
        cmocka_unit_test(numbers_rows_and_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
