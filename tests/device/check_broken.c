/*
 * Right in double and wrong in float: what the check is for must be found. Part of the reference,
 * and of the library that the check's own test looks at.
 */
#include "../../kernels/ops/ops.h"
#include "check_arrays.h"

#ifdef NVT_REAL_DOUBLE
#define BROKEN 0
#else
#define BROKEN 1
#endif

OP(broken_value)
{
    real *y = check_both(c, "y", s[0]), extra = BROKEN * (real)0.001;
    nvt_bias_forward(y, check_given(c, "b", &extra, 1), 1, 1);
}

/* Less than a tolerance would let pass, and beyond the bound of one number. */
OP(broken_bound)
{
    real *y = check_both(c, "y", s[0]), extra = BROKEN * (real)0.001;
    nvt_bias_forward(y, check_given(c, "b", &extra, 1), 1, 1);
    if (CHECK_IS_REFERENCE) {
        struct check_expected expected = check_expect(c, y);
        for (int64_t i = 0; i < s[0]; i++) {
            expected.values[i] = (double)y[i];
            expected.bounds[i] = i ? 1 : 0.0009;
        }
    }
}

OP(broken_unwritten)
{
    nvt_backend_zero(check_out(c, "y", s[0]), (size_t)(s[0] - BROKEN) * sizeof(real));
}

OP(broken_guard)
{
    nvt_backend_zero(check_out(c, "y", s[0]), (size_t)(s[0] + BROKEN) * sizeof(real));
}

OP(broken_input)
{
    real *x = (real *)(uintptr_t)check_in(c, "x", s[0]);
    nvt_backend_zero(x, BROKEN * sizeof(real));
}

/* clang-format off */
const struct check_line check_broken[] = {
    LINE(broken_value, SUMS, {8}),
    LINE(broken_bound, DERIVED, {8}),
    LINE(broken_unwritten, SUMS, {8}),
    LINE(broken_guard, SUMS, {8}),
    LINE(broken_input, SUMS, {8}),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
