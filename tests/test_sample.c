/* Statistics: against values worked out by hand or taken from printed tables, and hard cases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/sample.h"
#include "random_kit.h"

static void assert_close(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", value, tolerance, expected);
}

static void test_small(void **state)
{
    (void)state;
    double values[] = {9, 2, 4, 4, 5, 4, 7, 5};
    struct nvt_summary s;
    nvt_sample_summary(values, 8, &s);
    assert_int_equal(s.n, 8);
    assert_close(s.sum, 40, 0);
    assert_close(s.mean, 5, 0);
    assert_close(s.std, sqrt(32.0 / 7), 1e-15);
    assert_close(s.min, 2, 0);
    assert_close(s.median, 4.5, 0);
    assert_close(s.max, 9, 0);
    assert_close(s.ci95, 2.364624252 * sqrt(32.0 / 7) / sqrt(8), 1e-8);
}

static void test_none_and_one(void **state)
{
    (void)state;
    struct nvt_summary s;
    nvt_sample_summary(NULL, 0, &s);
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.mean) && isnan(s.std) && isnan(s.median) && isnan(s.ci95));
    double one = 3;
    nvt_sample_summary(&one, 1, &s);
    assert_close(s.mean, 3, 0);
    assert_close(s.median, 3, 0);
    assert_true(isnan(s.std) && isnan(s.ci95));
}

/* The mean of whole numbers is rounded once: what stands half way between two printed digits is rounded as others round it. */
static void test_one_rounding(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int sample = 0; sample < 2000; sample++) {
        double values[1000], sum = 0;
        for (int i = 0; i < 1000; i++) {
            random = random * 1664525u + 1013904223u;
            values[i] = 60 + (random >> 16) % 70;
            sum += values[i];
        }
        struct nvt_summary s;
        nvt_sample_summary(values, 1000, &s);
        assert_close(s.mean, sum / 1000, 0);
    }
}

/* A spread of 1 ns around a day: the textbook sum of squares loses it altogether. */
static void test_large_offset(void **state)
{
    (void)state;
    const double day = 86400e9;
    double values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = day + i % 2;
    struct nvt_summary s;
    nvt_sample_summary(values, 1000, &s);
    assert_close(s.mean, day + 0.5, 1e-2);
    assert_close(s.std, sqrt(250.0 / 999), 1e-9);
    assert_close(s.median, day + 0.5, 0);
}

/* Selection against sorting, with ties, sorted and reversed input. */
static void test_median_and_quantiles(void **state)
{
    (void)state;
    kit_srand(1);
    for (size_t n = 1; n < 300; n++) {
        double values[300], sorted[300];
        int kind = rand() % 4, range = rand() % 2 ? 4 : 1000000;
        for (size_t i = 0; i < n; i++) {
            double random = rand() % range;
            values[i] = kind == 0 ? (double)i : kind == 1 ? -(double)i : random;
            sorted[i] = values[i];
        }
        struct nvt_summary s;
        nvt_sample_summary(values, n, &s);
        nvt_sample_sort(sorted, n);
        for (size_t i = 1; i < n; i++)
            assert_true(sorted[i - 1] <= sorted[i]);
        double expected = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
        assert_close(s.median, expected, 0);
        assert_close(nvt_sample_quantile(sorted, n, 0.5), expected, 1e-9);
        assert_close(nvt_sample_median(values, n), expected, 1e-9);
        assert_close(nvt_sample_quantile(sorted, n, 0), s.min, 0);
        assert_close(nvt_sample_quantile(sorted, n, 1), s.max, 0);
    }
    const double four[] = {1, 2, 3, 10};
    assert_close(nvt_sample_quantile(four, 4, 0.25), 1.75, 1e-15);
    assert_close(nvt_sample_quantile(four, 4, 0.9), 3 + 0.7 * 7, 1e-12);
    assert_true(isnan(nvt_sample_quantile(four, 0, 0.5)));
    double median, apart[] = {10, 1, 3, 2};
    assert_close(nvt_sample_deviation(apart, 4, &median), 1.4826, 1e-15);
    assert_close(median, 2.5, 0);
    assert_true(isnan(nvt_sample_deviation(apart, 0, &median)) && isnan(median));
}

/* Printed tables of Student's t, two-sided 95 %. */
/* Of whole numbers: the same as of doubles, for all lengths, spans and ties. */
static void test_whole_numbers(void **state)
{
    (void)state;
    static uint32_t whole[3000];
    static double values[3000], scratch[3000];
    uint64_t random = 1;
    for (size_t n = 0; n < 3000; n += n < 50 ? 1 : 137)
        for (unsigned bits = 1; bits <= 32; bits++) {
            struct nvt_summary expected, summary;
            for (size_t i = 0; i < n; i++) {
                random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                whole[i] = (uint32_t)(random >> (64 - bits));
                values[i] = whole[i];
            }
            nvt_sample_summary(values, n, &expected);
            const struct nvt_piece piece = {whole, n, nvt_sums_of(whole, n), 0};
            nvt_sample_summary_pieces(&piece, 1, scratch, &summary);
            assert_int_equal(summary.n, n);
            if (!n)
                continue;
            assert_true(summary.sum == expected.sum && summary.min == expected.min &&
                        summary.max == expected.max && summary.median == expected.median);
            assert_close(summary.mean, expected.mean, 1e-14 * expected.mean);
            if (n > 1)
                assert_close(summary.std, expected.std, 1e-12 * expected.std);
        }
}

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Pieces in order have the median of pieces in no order. */
static void test_ascending_pieces(void **state)
{
    (void)state;
    enum { PIECES = 5, MOST = 40 };
    uint32_t values[PIECES][MOST];
    double scratch[PIECES * MOST + 1];
    kit_srand(7);
    for (int trial = 0; trial < 3000; trial++) {
        struct nvt_piece pieces[PIECES];
        struct nvt_summary expected, got;
        uint32_t span = trial % 4 ? 1 + (uint32_t)rand() % 50 : UINT32_MAX;
        for (int p = 0; p < PIECES; p++) {
            size_t count = (size_t)(rand() % (trial % 3 ? MOST : 3));
            for (size_t i = 0; i < count; i++)
                values[p][i] = ((uint32_t)rand() * 2u + (uint32_t)(rand() & 1)) % span;
            pieces[p] = (struct nvt_piece){values[p], count, nvt_sums_of(values[p], count), 0};
        }
        nvt_sample_summary_pieces(pieces, PIECES, scratch, &expected);
        for (int p = 0; p < PIECES; p++) {
            if (pieces[p].count)
                qsort(values[p], pieces[p].count, sizeof(**values), by_value);
            pieces[p].ascends = 1;
        }
        nvt_sample_summary_pieces(pieces, PIECES, scratch, &got);
        assert_int_equal(got.n, expected.n);
        if (got.n)
            assert_true(got.median == expected.median && got.mean == expected.mean);
    }
}

static void test_student(void **state)
{
    (void)state;
    assert_close(nvt_welch_degrees(1, 9, 1, 9), 18, 1e-9);
    assert_close(nvt_welch_degrees(4, 4, 1, 9), 25 / (16.0 / 4 + 1.0 / 9), 1e-9);
    assert_close(nvt_welch_degrees(0, 9, 0, 9), 1, 0);
    assert_true(isnan(nvt_student_t95(0)));
    assert_close(nvt_student_t95(1), 12.7062047364, 1e-9);
    assert_close(nvt_student_t95(2), 4.3026527297, 1e-9);
    assert_close(nvt_student_t95(3), 3.1824463053, 1e-9);
    assert_close(nvt_student_t95(10), 2.2281388520, 1e-9);
    assert_close(nvt_student_t95(30), 2.0422724563, 1e-9);
    assert_close(nvt_student_t95(99), 1.9842169515, 1e-9);
    assert_close(nvt_student_t95(1000), 1.9623390808, 1e-8);
    /* The two formulas meet. */
    assert_close(nvt_student_t95(200) - nvt_student_t95(201), 6.0e-5, 1e-5);
}

/* Summaries of parts, put together, are that of the whole but for its median. */
static void test_adding(void **state)
{
    (void)state;
    double values[] = {5, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    double first[] = {5}, second[] = {1, 4, 1, 5, 9}, third[] = {2, 6, 5, 3, 5, 8};
    struct nvt_summary whole, part, sum = {0};
    nvt_sample_summary(values, 12, &whole);
    nvt_sample_summary(second, 5, &part);
    nvt_summary_add(&sum, &part);
    assert_true(sum.median == 4);
    nvt_sample_summary(first, 1, &part);
    nvt_summary_add(&sum, &part);
    nvt_sample_summary(third, 6, &part);
    nvt_summary_add(&sum, &part);
    assert_int_equal(sum.n, 12);
    assert_true(sum.sum == whole.sum && sum.min == 1 && sum.max == 9 && isnan(sum.median));
    assert_true(fabs(sum.mean - whole.mean) < 1e-12 && fabs(sum.std - whole.std) < 1e-12);
    assert_true(fabs(sum.ci95 - whole.ci95) < 1e-12);
    /* A mean of several values whose deviation is not known has none afterwards. */
    nvt_summary_add(&sum, &(struct nvt_summary){.n = 2, .mean = 3, .std = NAN, .min = NAN});
    assert_true(isnan(sum.std) && isnan(sum.min) && sum.n == 14);
}

/* Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3. */
static void test_shares(void **state)
{
    static const struct {
        uint64_t of, n;
        double low, high;
    } cases[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611},
                 {1, 29, 0.0061, 0.1718},   {20, 20, 0.8389, 1},       {0, 0, 0, 1}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        double low, high;
        nvt_share_interval(cases[i].of, cases[i].n, &low, &high);
        assert_true(fabs(low - cases[i].low) < 5.1e-5);
        assert_true(fabs(high - cases[i].high) < 5.1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_none_and_one),
        cmocka_unit_test(test_one_rounding),
        cmocka_unit_test(test_large_offset),
        cmocka_unit_test(test_median_and_quantiles),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_ascending_pieces),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
