/* Binary search, next to a search from the first place on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/bisect.h"
#include "random_kit.h"

static void finds_the_first_place_that_does_not_hold(void **state)
{
    enum { MOST = 40 };
    (void)state;
    kit_srand(1);
    for (int round = 0; round < 20000; round++) {
        int values[MOST] = {0}, last = 0;
        const uint32_t count = (uint32_t)rand() % MOST, from = (uint32_t)rand() % (count + 1);
        const int wanted = rand() % (2 * MOST);
        for (uint32_t i = 0; i < count; i++)
            values[i] = last += rand() % 4;
        uint32_t expected = from, at = from;
        while (expected < count && values[expected] < wanted)
            expected++;
        NVT_BISECT(at, count, values[at] < wanted);
        assert_int_equal(at, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_first_place_that_does_not_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
