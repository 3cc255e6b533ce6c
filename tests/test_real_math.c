/*
 * The host's own exponential against the C library's, over all of its range.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../kernels/ops/real_math.h"

static void exp_is_off_by_two_units_at_most(void **state)
{
    (void)state;
    /* Every 61st float of both signs, from 1e-9 up: ever denser towards zero. */
    for (uint32_t magnitude = 0x30800000; magnitude < 0x42af0000; magnitude += 61)
        for (int negative = 0; negative < 2; negative++) {
            uint32_t bits = magnitude | (negative ? 0x80000000u : 0);
            float x;
            memcpy(&x, &bits, sizeof(x));
            if (x < -87)
                continue;
            double expected = exp((double)x);
            double unit = ldexp(1, ilogb(expected) - 23);
            if (fabs((double)nvt_expf(x) - expected) > 2 * unit)
                fail_msg("exp(%.9g) is %.9g, not %.9g", (double)x, (double)nvt_expf(x), expected);
        }
    assert_true(nvt_expf(0) == 1);
    assert_true(nvt_expf(-0.0f) == 1);
}

static void exp_has_ends(void **state)
{
    (void)state;
    assert_true(nvt_expf(-INFINITY) == 0 && nvt_expf(-1000) == 0 && nvt_expf(-88) == 0);
    assert_true(isinf(nvt_expf(INFINITY)) && isinf(nvt_expf(1000)));
    assert_true(isnan(nvt_expf(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_off_by_two_units_at_most),
        cmocka_unit_test(exp_has_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
