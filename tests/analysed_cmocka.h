/*
 * cmocka as clang-tidy is to see it, included before each test by `make tidy`: what a test asserts holds
 * behind the assertion, since one that fails does not return (it jumps out of the test). cmocka.h says
 * neither, and without it the analyser follows a test on from where that has ended.
 */
#ifndef NVT_TESTS_ANALYSED_CMOCKA_H
#define NVT_TESTS_ANALYSED_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

_Noreturn void _fail(const char *file, int line);
_Noreturn void _skip(const char *file, int line);

#define NVT_HOLDS(condition) ((condition) ? (void)0 : _fail(__FILE__, __LINE__))

#undef assert_true
#undef assert_false
#undef assert_null
#undef assert_non_null
#undef assert_int_equal
#undef assert_int_not_equal
#define assert_true(c)     NVT_HOLDS(c)
#define assert_false(c)    NVT_HOLDS(!(c))
#define assert_null(c)     NVT_HOLDS(!(c))
#define assert_non_null(c) NVT_HOLDS(c)
#define assert_int_equal(a, b)                                                                     \
    NVT_HOLDS(cast_to_largest_integral_type(a) == cast_to_largest_integral_type(b))
#define assert_int_not_equal(a, b)                                                                 \
    NVT_HOLDS(cast_to_largest_integral_type(a) != cast_to_largest_integral_type(b))

#endif
