/* Clocks of hosts against each other, from moments that are the same on both, some of them wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../analyze/model/clock_fit.h"

#define MOMENTS 400

/* Clocks apart by `offset` that drift by `ppm`; each moment is known to 2 us, every fifth is wrong by a millisecond. */
static void expect_fit(int64_t offset, int64_t ppm, uint32_t count)
{
    int64_t from[MOMENTS], to[MOMENTS];
    struct nvt_clock_fit fit;
    for (uint32_t i = 0; i < count; i++) {
        from[i] = 1700000000000000000 + 25000000 * (int64_t)i;
        const int64_t since = from[i] - from[0];
        to[i] = from[i] + offset + since * ppm / 1000000 + (int64_t)(i * 7919 % 41) * 100 - 2000 +
                (i % 5 == 3 ? 1000000 : 0);
    }
    assert_int_equal(nvt_clock_fit(from, to, count, &fit), 0);
    assert_int_equal(fit.count, count);
    assert_in_range(fit.residual_ns, 0, 3000);
    for (uint32_t i = 0; i < count; i++)
        if (i % 5 != 3)
            assert_in_range(llabs(nvt_clock_fit_apply(&fit, from[i]) - to[i]), 0, 6000);
    for (uint32_t i = 0; i < count; i++)
        assert_in_range(
            llabs(nvt_clock_fit_revert(&fit, nvt_clock_fit_apply(&fit, from[i])) - from[i]), 0, 2);
}

static void offset_and_drift_are_found(void **state)
{
    (void)state;
    expect_fit(0, 0, MOMENTS);
    expect_fit(3000000000, 50, MOMENTS);
    expect_fit(-2500000000, -50, MOMENTS);
    expect_fit(-1700000000000000000, 20, MOMENTS);
    expect_fit(700000, 0, 7);
    expect_fit(1, 0, 1);
}

/* What goes apart by a thousandth are no clocks: the residual says so. */
static void what_is_no_clock_has_a_residual(void **state)
{
    (void)state;
    int64_t from[100], to[100];
    struct nvt_clock_fit fit;
    for (int64_t i = 0; i < 100; i++) {
        from[i] = 1000000 * i;
        to[i] = 1010000 * i;
    }
    assert_int_equal(nvt_clock_fit(from, to, 100, &fit), 0);
    assert_true(fit.residual_ns > 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset_and_drift_are_found),
        cmocka_unit_test(what_is_no_clock_has_a_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
