/* Columns of the model grow without losing what is in them, whatever their sizes are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/column.h"
#include "../lib/count_of.h"

static void growing_keeps_what_is_there(void **state)
{
    (void)state;
    /* Small ones, mappings of their own, and such that are in huge pages. */
    static const size_t sizes[] = {10,      70001,   300001,  300002,   1000003,
                                   5000001, 9000003, 9000004, 20000777, 64000001};
    uint8_t *column = NULL;
    size_t before = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++) {
        column = nvt_column_grow(column, sizes[i]);
        assert_non_null(column);
        for (size_t k = 0; k < before; k += 4099)
            assert_int_equal(column[k], k % 251);
        for (size_t k = before; k < sizes[i]; k += 997)
            assert_int_equal(column[k], 0);
        for (size_t k = 0; k < sizes[i]; k++)
            column[k] = (uint8_t)(k % 251);
        before = sizes[i];
    }
    nvt_column_free(column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(growing_keeps_what_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
