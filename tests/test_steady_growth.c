/* Levels that grow and do not level off, and those that do not: warm-up, caches that fill, garbage, noise, short runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../analyze/studies/steady_growth.h"
#include "../lib/count_of.h"
#include "random_kit.h"

#define MIB     1048576.0
#define SAMPLES 600

/* A level at a share of the time, from 0 to 1. */
typedef double (*course)(double at);

static double leaks(double at)
{
    return 500 * MIB + 100 * MIB * at;
}

/* In eight large pieces. */
static double leaks_in_steps(double at)
{
    return 500 * MIB + 12.5 * MIB * floor(at * 8.999);
}

/* Batches go up and down by more than what leaks. */
static double leaks_below_batches(double at)
{
    return leaks(at) + 300 * MIB * (fmod(at * 97.3, 1) < 0.6);
}

/* Garbage is collected nine times, and not all of it. */
static double leaks_below_garbage(double at)
{
    return 500 * MIB + 100 * MIB * floor(at * 12.6) / 12.6 + 80 * MIB * fmod(at * 12.6, 1);
}

static double leaks_little(double at)
{
    return 500 * MIB + 9.5 * MIB * at;
}

static double leaks_faster_and_faster(double at)
{
    return 500 * MIB + 200 * MIB * (at + at * at) / 2;
}

/* malloc() finds room for some of it later on. */
static double leaks_more_at_first(double at)
{
    return 500 * MIB + 100 * MIB * fmin(at, 0.4) + 55 * MIB * fmax(at - 0.4, 0);
}

static double is_level(double at)
{
    return at < 0 ? 0 : 700 * MIB;
}

static double warms_up(double at)
{
    return 300 * MIB + 400 * MIB * fmin(at / 0.2, 1);
}

/* Full after so much of the time. */
static double fills_by_half(double at)
{
    return 300 * MIB + 400 * MIB * fmin(at / 0.5, 1);
}

static double fills_by_four_fifths(double at)
{
    return 300 * MIB + 400 * MIB * fmin(at / 0.8, 1);
}

static double fills_late(double at)
{
    return 300 * MIB + 400 * MIB * fmin(at / 0.93, 1);
}

/* Random keys: what is there already is not taken again. */
static double fills_with_random_keys(double at)
{
    return 300 * MIB + 400 * MIB * (1 - exp(-at / 0.5));
}

static double fills_slowly(double at)
{
    return 300 * MIB + 400 * MIB * (1 - exp(-at / 0.8));
}

static double saw_tooth(double at)
{
    return 300 * MIB + 200 * MIB * fmod(at * 21.7, 1);
}

static double slow_saw_tooth(double at)
{
    return 300 * MIB + 200 * MIB * fmod(at * 2.9, 1);
}

/* One tooth and the beginning of another: what it was before counts. */
static double last_tooth(double at)
{
    return 300 * MIB + 200 * MIB * fmod(at * 0.999, 1);
}

static double jumps_once(double at)
{
    return 300 * MIB + 400 * MIB * (at > 0.6);
}

static double jumps_twice(double at)
{
    return 300 * MIB + 400 * MIB * (at > 0.3) + 400 * MIB * (at > 0.8);
}

static double falls(double at)
{
    return 700 * MIB - 200 * MIB * at;
}

static double creeps(double at)
{
    return 500 * MIB + 6 * MIB * at;
}

/* Little of what is there. */
static double creeps_in_much(double at)
{
    return 50000 * MIB + 100 * MIB * at;
}

static int judge(course of, size_t samples, double seconds, double highest_before)
{
    int64_t *time = malloc(samples * sizeof(*time));
    double *level = malloc(samples * sizeof(*level));
    struct nvt_steady_growth found;
    assert_true(time && level);
    for (size_t i = 0; i < samples; i++) {
        const double at = samples > 1 ? (double)i / (double)(samples - 1) : 0;
        time[i] = 1000 + (int64_t)(at * seconds * 1e9);
        level[i] = of(at);
    }
    assert_int_equal(nvt_steady_growth_find(&found, time, level, samples, highest_before), 0);
    free(time);
    free(level);
    return found.is_steady;
}

static void leaks_are_found(void **state)
{
    static const course all[] = {
        leaks,        leaks_in_steps,          leaks_below_batches, leaks_below_garbage,
        leaks_little, leaks_faster_and_faster, leaks_more_at_first};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        if (!judge(all[i], SAMPLES, 60, 0))
            fail_msg("leak %zu is not found", i);
    assert_true(judge(leaks, NVT_STEADY_GROWTH_SAMPLES + 1, 4.1, 0));
}

static void what_levels_off_is_none(void **state)
{
    static const course all[] = {is_level,       warms_up,
                                 fills_by_half,  fills_by_four_fifths,
                                 fills_late,     fills_with_random_keys,
                                 fills_slowly,   saw_tooth,
                                 slow_saw_tooth, jumps_once,
                                 jumps_twice,    falls,
                                 creeps,         creeps_in_much};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        for (size_t samples = 60; samples <= 6000; samples *= 10)
            if (judge(all[i], samples, (double)samples / 10, 0))
                fail_msg("level %zu of %zu samples is taken for a leak", i, samples);
}

static void short_runs_are_not_judged(void **state)
{
    (void)state;
    assert_false(judge(leaks, SAMPLES, 3.9, 0));
    assert_false(judge(leaks, NVT_STEADY_GROWTH_SAMPLES - 1, 60, 0));
    assert_false(judge(leaks, 1, 60, 0));
}

static void what_was_as_high_before_is_none(void **state)
{
    (void)state;
    assert_true(judge(last_tooth, 550, 60, 0)); /* nobody could tell */
    assert_false(judge(leaks, SAMPLES, 60, 600 * MIB));
    assert_true(judge(leaks, SAMPLES, 60, 520 * MIB));
}

static void growth_is_measured(void **state)
{
    (void)state;
    int64_t time[SAMPLES];
    double level[SAMPLES];
    struct nvt_steady_growth found;
    for (size_t i = 0; i < SAMPLES; i++) {
        time[i] = (int64_t)i * 100000000;
        level[i] = leaks_below_batches((double)i / (SAMPLES - 1));
    }
    assert_int_equal(nvt_steady_growth_find(&found, time, level, SAMPLES, 0), 0);
    assert_true(found.is_steady);
    assert_true(fabs(found.growth - 100 * MIB) < 2 * MIB);
}

/* Noise: a level that wanders, and the largest of random batches, which grow ever more seldom. */
static void noise_is_none(void **state)
{
    enum { RUNS = 2000 };
    int wandered = 0, largest = 0;
    (void)state;
    kit_srand(7);
    for (int run = 0; run < RUNS; run++) {
        int64_t time[SAMPLES];
        double wander[SAMPLES], most[SAMPLES], at = 500 * MIB, high = 0;
        struct nvt_steady_growth found;
        for (size_t i = 0; i < SAMPLES; i++) {
            time[i] = (int64_t)i * 100000000;
            wander[i] = at = fmax(at + (kit_uniform() - 0.5) * 4 * MIB, 0);
            most[i] = high = fmax(high, 400 * MIB * (1 + kit_uniform()));
        }
        assert_int_equal(nvt_steady_growth_find(&found, time, wander, SAMPLES, 0), 0);
        wandered += found.is_steady;
        assert_int_equal(nvt_steady_growth_find(&found, time, most, SAMPLES, 0), 0);
        largest += found.is_steady;
    }
    print_message("of %d: %d that wandered, %d largest batches\n", RUNS, wandered, largest);
    assert_in_range(wandered, 0, RUNS / 100);
    assert_int_equal(largest, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_are_found),
        cmocka_unit_test(what_levels_off_is_none),
        cmocka_unit_test(short_runs_are_not_judged),
        cmocka_unit_test(what_was_as_high_before_is_none),
        cmocka_unit_test(growth_is_measured),
        cmocka_unit_test(noise_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
