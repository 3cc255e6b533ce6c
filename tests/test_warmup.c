/* Warming up: change points that are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../analyze/studies/warmup.h"
#include "../lib/count_of.h"
#include "cli.h"

/* Noise between 0 and 1 that is the same in every run. */
static double noise(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) / 16777216.0;
}

enum { LENGTH = 40, MOST = 5 };

/* Series of 1000 and up to 100 of noise; the first `slow` of each are `factor` times that. */
static struct nvt_change_point find(size_t count, size_t slow, double factor, uint64_t seed)
{
    double values[MOST][LENGTH];
    const double *series[MOST];
    struct nvt_change_point found;
    for (size_t s = 0; s < count; s++) {
        series[s] = values[s];
        for (size_t i = 0; i < LENGTH; i++)
            values[s][i] = (1000 + 100 * noise(&seed)) * (i < slow ? factor : 1);
    }
    assert_int_equal(nvt_change_point_find(series, count, LENGTH, 1.01, &found), 0);
    return found;
}

static void a_known_change_point_is_found(void **state)
{
    (void)state;
    for (size_t slow = 1; slow <= 8; slow++) {
        struct nvt_change_point found = find(4, slow, 2, slow);
        assert_int_equal(found.at, slow);
        assert_int_equal(found.low, slow);
        assert_int_equal(found.high, slow);
        /* No rotation of four series that did not change anything is likely: 40^-4. */
        assert_true(found.p < 0.002);
        assert_true(found.before > 1990 && found.before < 2210);
        assert_true(found.after > 990 && found.after < 1110);
    }
}

/* One process: of its 40 rotations only the one that was measured is as extreme. */
static void one_process_is_one_in_its_length(void **state)
{
    (void)state;
    struct nvt_change_point found = find(1, 1, 10, 3);
    assert_int_equal(found.at, 1);
    assert_true(fabs(found.p - 1.0 / LENGTH) < 1e-12);
}

/* Without a change p is uniform, or nearly: of 400 studies 20 should be below 1/20; more than 35 or
 * fewer than 7 have a chance of about one in a thousand each (binomial). Speeding up alone counts.
 */
static void without_a_change_one_in_twenty(void **state)
{
    (void)state;
    int below = 0;
    for (uint64_t study = 0; study < 400; study++)
        below += find(3, 0, 1, 1000 + study * 7919).p < 0.05;
    assert_in_range(below, 7, 35);
    assert_true(find(4, 5, 0.5, 1).p > 0.5);
}

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(noise(seed) + 1e-9)) * cos(6.283185307179586 * noise(seed));
}

/* Series of 100, AR(1) with this memory and this deviation; the first iteration takes `first` times as long, and
 * those behind it fall by `decay` more. Whether a change-point is found. */
struct study {
    size_t count, length;
    double deviation, memory, first, decay;
};

static int finds(const struct study *study, uint64_t *seed, struct nvt_change_point *found)
{
    double values[MOST][100];
    const double *series[MOST];
    for (size_t s = 0; s < study->count; s++) {
        double slow = normal(seed);
        series[s] = values[s];
        for (size_t i = 0; i < study->length; i++) {
            slow = study->memory * slow + sqrt(1 - study->memory * study->memory) * normal(seed);
            values[s][i] = 100 * (1 + study->deviation * slow) *
                           (i ? 1 + study->decay * exp(-(double)i / 8) : study->first);
        }
    }
    assert_int_equal(
        nvt_change_point_find(series, study->count, study->length, NVT_WARMUP_EFFECT, found), 0);
    return found->p < NVT_WARMUP_ALPHA && found->is_slower;
}

/* At most 5 % of studies in which nothing warms up have a change-point, and of 400 by chance 33. */
static void noise_does_not_warm_up(void **state)
{
    (void)state;
    static const struct study studies[] = {{4, 30, 0.02, 0, 1, 0},   {4, 30, 0.02, 0.7, 1, 0},
                                           {1, 40, 0.02, 0, 1, 0},   {1, 40, 0.02, 0.7, 1, 0},
                                           {2, 20, 0.05, 0.7, 1, 0}, {1, 100, 0.05, 0.7, 1, 0},
                                           {1, 25, 0.02, 0.7, 1, 0}};
    uint64_t seed = 1;
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++) {
        struct nvt_change_point found;
        int wrong = 0;
        for (int trial = 0; trial < 400; trial++)
            wrong += finds(&studies[i], &seed, &found);
        print_message("%zu of %zu iterations, memory %.1f: a change-point in %d of 400\n",
                      studies[i].count, studies[i].length, studies[i].memory, wrong);
        assert_in_range(wrong, 0, 33);
    }
}

/* A first iteration ten times as long before very quiet ones that fall slowly. */
static void a_slow_first_iteration_is_found_among_quiet_ones(void **state)
{
    (void)state;
    static const struct study studies[] = {
        {1, 40, 0.001, 0, 10, 0.006}, {4, 30, 0.001, 0, 10, 0.006}, {4, 40, 0.0001, 0.7, 3, 0.02}};
    uint64_t seed = 1;
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++)
        for (int trial = 0; trial < 100; trial++) {
            struct nvt_change_point found;
            assert_true(finds(&studies[i], &seed, &found));
            assert_int_equal(found.at, 1);
        }
}

/* More than half of the iterations are slow: it ends where nothing was looked at any more. */
static void a_long_warm_up_ends_at_the_limit(void **state)
{
    (void)state;
    const double *series[2];
    double values[2][LENGTH];
    struct nvt_change_point found;
    uint64_t seed = 5;
    for (size_t s = 0; s < 2; s++) {
        series[s] = values[s];
        for (size_t i = 0; i < LENGTH; i++)
            values[s][i] = (i < 24 ? 130 : 100) + noise(&seed);
    }
    assert_int_equal(nvt_change_point_find(series, 2, LENGTH, 1.01, &found), 0);
    assert_true(found.p < 0.05 && found.is_slower);
    assert_int_equal(found.limit, LENGTH / 2);
    assert_int_equal(found.high, found.limit);
}

/* A tie in all: nothing changes, and nothing breaks. */
static void equal_times_have_no_change_point(void **state)
{
    (void)state;
    const double flat[] = {5, 5, 5, 5, 5, 5};
    const double *series[] = {flat, flat};
    struct nvt_change_point found;
    assert_int_equal(nvt_change_point_find(series, 2, 6, 1.01, &found), 0);
    assert_true(found.p == 1);
    assert_int_equal(nvt_change_point_find(series, 2, 3, 1.01, &found), 0);
    assert_int_equal(found.at, 0);
    assert_true(isnan(found.p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_change_point_is_found),
        cmocka_unit_test(one_process_is_one_in_its_length),
        cmocka_unit_test(without_a_change_one_in_twenty),
        cmocka_unit_test(noise_does_not_warm_up),
        cmocka_unit_test(a_slow_first_iteration_is_found_among_quiet_ones),
        cmocka_unit_test(a_long_warm_up_ends_at_the_limit),
        cmocka_unit_test(equal_times_have_no_change_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
