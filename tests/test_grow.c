/* Arrays that grow (lib/grow.h): what is in them stays, sizes that overflow are refused and change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/grow.h"

/* Of three bytes: no power of two. */
struct item {
    uint8_t bytes[3];
};

static struct item item_of(size_t number)
{
    return (struct item){{(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16)}};
}

static void assert_numbered(const struct item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct item expected = item_of(i);
        assert_memory_equal(&items[i], &expected, sizeof(expected));
    }
}

static void items_stay_while_an_array_grows(void **state)
{
    (void)state;
    struct item *items = NULL;
    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(nvt_grow(&items, i, sizeof(*items)), 0);
        items[i] = item_of(i);
    }
    assert_numbered(items, 100000);
    free(items);
}

/* Down and up again, over powers of two. */
static void an_array_may_lose_its_last_items(void **state)
{
    (void)state;
    struct item *items = NULL;
    size_t count = 0;
    for (size_t most = 1; most < 70; most++) {
        while (count < most) {
            assert_int_equal(nvt_grow(&items, count, sizeof(*items)), 0);
            items[count] = item_of(count);
            count++;
        }
        assert_numbered(items, count);
        count /= 2;
    }
    free(items);
}

static void room_is_reserved_for_many_at_once(void **state)
{
    (void)state;
    struct item *items = NULL;
    size_t capacity = 0;
    assert_int_equal(nvt_reserve(&items, &capacity, 0, sizeof(*items)), 0);
    assert_null(items);
    for (size_t count = 1; count < 5000; count = count * 3 + 1) {
        assert_int_equal(nvt_reserve(&items, &capacity, count, sizeof(*items)), 0);
        assert_true(capacity >= count);
        for (size_t i = 0; i < capacity; i++)
            items[i] = item_of(i);
    }
    const size_t before = capacity;
    assert_int_equal(nvt_reserve(&items, &capacity, before, sizeof(*items)), 0);
    assert_int_equal(capacity, before);
    assert_int_equal(nvt_reserve(&items, &capacity, before + 1, sizeof(*items)), 0);
    assert_true(capacity >= before * 2);
    assert_numbered(items, before);
    free(items);
}

static void new_items_are_zero(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (size_t needed = 1; needed < 3000; needed = needed * 2 + 3) {
        const size_t before = capacity;
        assert_int_equal(nvt_reserve_zeroed(&items, &capacity, needed, sizeof(*items)), 0);
        for (size_t i = 0; i < capacity; i++)
            assert_int_equal(items[i], i < before ? 7 : 0);
        for (size_t i = 0; i < capacity; i++)
            items[i] = 7;
    }
    free(items);
}

static void sizes_that_overflow_change_nothing(void **state)
{
    (void)state;
    struct item *items = NULL, *before;
    size_t capacity = 0;
    volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2 + 1;
    assert_int_equal(nvt_reserve(&items, &capacity, 1, sizeof(*items)), 0);
    before = items;
    items[0] = item_of(0);
    const size_t room = capacity;
    assert_int_equal(nvt_resize(&items, most, sizeof(*items)), -1);
    assert_int_equal(nvt_resize(&items, most / sizeof(*items) + 1, sizeof(*items)), -1);
    assert_int_equal(nvt_grow(&items, half, sizeof(*items)), -1);
    assert_int_equal(nvt_grow(&items, half, 1), -1);
    assert_int_equal(nvt_reserve(&items, &capacity, most, sizeof(*items)), -1);
    assert_int_equal(nvt_reserve_zeroed(&items, &capacity, most, sizeof(*items)), -1);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, room);
    assert_numbered(items, 1);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_while_an_array_grows),
        cmocka_unit_test(an_array_may_lose_its_last_items),
        cmocka_unit_test(room_is_reserved_for_many_at_once),
        cmocka_unit_test(new_items_are_zero),
        cmocka_unit_test(sizes_that_overflow_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
