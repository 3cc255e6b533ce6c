/*
 * Verdicts of `compare`, on made-up runs whose truth is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/change.h"

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* A run: times around `mean` that resemble their neighbours, with a long tail to the right. */
static void make_run(double *values, size_t count, double mean, double noise)
{
    double slow = normal();
    for (size_t i = 0; i < count; i++) {
        slow = 0.5 * slow + sqrt(0.75) * normal();
        values[i] = mean * (1 + noise * slow);
        if (uniform() < 0.02)
            values[i] *= 1 + 3 * noise * -log(uniform());
    }
}

enum { RANGES = 10, MOST = 400 };

/* Compare two runs of some ranges; how many verdicts there were of each kind. */
static void compare_runs(size_t count, double change, size_t found[4])
{
    static double values[2][RANGES][MOST];
    struct nvt_change changes[RANGES];
    for (int range = 0; range < RANGES; range++) {
        struct nvt_series series[2];
        for (int side = 0; side < 2; side++) {
            make_run(values[side][range], count, 1e6 * (side ? change : 1), 0.05);
            series[side] = (struct nvt_series){values[side][range], count};
        }
        struct nvt_side a = {&series[0], 1}, b = {&series[1], 1};
        assert_int_equal(nvt_change_measure(&a, &b, &changes[range]), 0);
    }
    assert_int_equal(nvt_change_verdicts(changes, RANGES, NVT_CHANGE_ALPHA, 0.01), 0);
    memset(found, 0, 4 * sizeof(*found));
    for (int range = 0; range < RANGES; range++)
        found[changes[range].verdict]++;
}

/* A run against its like, 1000 times: a false verdict in at most 5 % of the comparisons. */
static void equal_runs_are_rarely_called_different(void **unused)
{
    (void)unused;
    static const size_t lengths[] = {20, 100, 400};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        size_t wrong = 0, found[4];
        for (int trial = 0; trial < 1000; trial++) {
            compare_runs(lengths[l], 1, found);
            wrong += found[NVT_FASTER] + found[NVT_SLOWER] > 0;
        }
        print_message("%zu times a run: %zu of 1000 comparisons of equal runs gave a verdict\n",
                      lengths[l], wrong);
        assert_true(wrong <= 50);
    }
}

/* And it is not blind: a tenth more is seen, and in the right direction. */
static void real_changes_are_found(void **unused)
{
    (void)unused;
    size_t slower = 0, faster = 0, wrong = 0, found[4];
    for (int trial = 0; trial < 50; trial++) {
        compare_runs(100, 1.1, found);
        slower += found[NVT_SLOWER];
        wrong += found[NVT_FASTER];
        compare_runs(100, 0.9, found);
        faster += found[NVT_FASTER];
        wrong += found[NVT_SLOWER];
    }
    print_message("of 500 real changes of 10 %% up %zu were found, of 500 down %zu\n", slower,
                  faster);
    assert_true(slower > 350);
    assert_true(faster > 350);
    assert_int_equal(wrong, 0);
}

static void equal_to_a_hair_is_the_same(void **unused)
{
    (void)unused;
    double a[100], b[100];
    for (int i = 0; i < 100; i++) {
        a[i] = 1e6 + 100 * normal();
        b[i] = 1e6 + 100 * normal();
    }
    struct nvt_series left = {a, 100}, right = {b, 100};
    struct nvt_side sides[2] = {{&left, 1}, {&right, 1}};
    struct nvt_change change;
    assert_int_equal(nvt_change_measure(&sides[0], &sides[1], &change), 0);
    assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01), 0);
    assert_int_equal(change.verdict, NVT_SAME);
    assert_true(change.low <= change.ratio && change.ratio <= change.high);
}

/* Repetitions vary more than the times within one: five a side show it, one does not. */
static void repetitions_carry_the_noise_between_runs(void **unused)
{
    (void)unused;
    static double values[2][8][50];
    struct nvt_series series[2][8];
    size_t wrong = 0;
    for (int trial = 0; trial < 300; trial++) {
        for (int side = 0; side < 2; side++)
            for (int r = 0; r < 8; r++) {
                make_run(values[side][r], 50, 1e6 * (1 + 0.03 * normal()), 0.01);
                series[side][r] = (struct nvt_series){values[side][r], 50};
            }
        struct nvt_side a = {series[0], 8}, b = {series[1], 8};
        struct nvt_change change;
        assert_int_equal(nvt_change_measure(&a, &b, &change), 0);
        assert_int_equal(change.observations[0], 8);
        assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.001), 0);
        wrong += change.verdict == NVT_FASTER || change.verdict == NVT_SLOWER;
    }
    assert_true(wrong <= 300 / 10);
}

static void too_little_says_nothing(void **unused)
{
    (void)unused;
    double few[] = {1, 2, 3, 4};
    struct nvt_series series = {few, 4};
    struct nvt_side side = {&series, 1}, none = {NULL, 0};
    struct nvt_change change;
    assert_int_equal(nvt_change_measure(&side, &side, &change), 0);
    assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01), 0);
    assert_int_equal(change.verdict, NVT_CANNOT_TELL);
    assert_true(isnan(change.low));
    assert_int_equal(nvt_change_measure(&side, &none, &change), 0);
    assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01), 0);
    assert_int_equal(change.verdict, NVT_CANNOT_TELL);
}

/* Single times far off on both sides: the interval is wide, but nobody gets faster than 0. */
static void no_time_is_negative(void **unused)
{
    (void)unused;
    double wild[2][50];
    struct nvt_series series[2];
    struct nvt_change change;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 50; i++)
            wild[side][i] = 1000 + i;
        wild[side][10 + 20 * side] = 4e6 * (1 + side);
        series[side] = (struct nvt_series){wild[side], 50};
    }
    const struct nvt_side a = {&series[0], 1}, b = {&series[1], 1};
    assert_int_equal(nvt_change_measure(&a, &b, &change), 0);
    assert_true(change.low >= 0 && change.low <= change.ratio && change.high > change.ratio);
    nvt_change_from_summaries((double[]){100, 120}, (double[]){5000, 5000}, (size_t[]){50, 50},
                              &change);
    assert_true(change.low == 0 && change.high > 1);
}

static void summaries_give_the_same_answer(void **unused)
{
    (void)unused;
    struct nvt_change change;
    nvt_change_from_summaries((double[]){100, 120}, (double[]){5, 5}, (size_t[]){50, 50}, &change);
    assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01), 0);
    assert_int_equal(change.verdict, NVT_SLOWER);
    assert_true(fabs(change.ratio - 1.2) < 1e-12);
    assert_true(fabs(change.high - change.low - 2 * 1.96 * sqrt(0.5 + 0.5) / 100) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_are_rarely_called_different),
        cmocka_unit_test(real_changes_are_found),
        cmocka_unit_test(equal_to_a_hair_is_the_same),
        cmocka_unit_test(repetitions_carry_the_noise_between_runs),
        cmocka_unit_test(too_little_says_nothing),
        cmocka_unit_test(no_time_is_negative),
        cmocka_unit_test(summaries_give_the_same_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
