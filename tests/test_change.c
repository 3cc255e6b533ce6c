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

#include "../analyze/studies/change.h"
#include "../lib/count_of.h"
#include "../lib/student.h"
#include "random_kit.h"

/* How times of a run are made: logarithms that resemble their neighbours, and stray ones. */
struct noise {
    double spread; /* of the logarithms */
    double memory; /* correlation of each with the next */
    double stray;  /* share of times that take 10 to 100 times as long */
    double step;   /* by which all times from somewhere in the middle half on are longer */
};

static void make_run(double *values, size_t count, double mean, const struct noise *noise)
{
    double slow = kit_normal();
    const double from = noise->step > 0 ? (0.25 + 0.5 * kit_uniform()) * (double)count : INFINITY;
    for (size_t i = 0; i < count; i++) {
        slow = noise->memory * slow + sqrt(1 - noise->memory * noise->memory) * kit_normal();
        values[i] = mean * exp(noise->spread * slow) * ((double)i < from ? 1 : 1 + noise->step);
        if (kit_uniform() < noise->stray)
            values[i] *= 10 + 90 * kit_uniform();
    }
}

enum { MOST = 1000, RUNS = 8, ROWS = 10 };

/* A comparison: rows of two sides, whose k-th runs are off[side][k] times what they should be. */
struct study {
    size_t runs, count;
    double ratio;
    const double (*off)[RUNS];
};

static void measure(const struct study *study, const struct noise *noise, struct nvt_change *change)
{
    static double values[MOST];
    struct nvt_typical series[2][RUNS];
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < study->runs; k++) {
            const double mean = (side ? study->ratio : 1) * (study->off ? study->off[side][k] : 1);
            make_run(values, study->count, 1e6 * mean, noise);
            assert_int_equal(
                nvt_typical_of_times(values, study->count, NVT_NO_RANK, &series[side][k]), 0);
        }
    const struct nvt_side a = {series[0], study->runs}, b = {series[1], study->runs};
    assert_int_equal(nvt_change_measure(&a, &b, change), 0);
}

static void count_verdicts(struct nvt_change *changes, size_t count, size_t found[4])
{
    double level;
    assert_int_equal(nvt_change_verdicts(changes, count, NVT_CHANGE_ALPHA, 0.001, &level), 0);
    memset(found, 0, 4 * sizeof(*found));
    for (size_t i = 0; i < count; i++)
        found[changes[i].verdict]++;
}

/* What may happen by chance when 5 % are right: three deviations of that many trials more. */
static size_t at_most(size_t trials)
{
    return (size_t)(0.05 * (double)trials + 3 * sqrt(0.05 * 0.95 * (double)trials));
}

/* A run against its like, with noise that follows itself and has stray times. */
static void equal_runs_are_rarely_called_different(void **unused)
{
    (void)unused;
    static const struct noise kinds[] = {{0.05, 0, 0, 0},     {0.05, 0.9, 0, 0},
                                         {0.3, 0.5, 0.01, 0}, {0.3, 0.9, 0.01, 0},
                                         {1, 0, 0.01, 0},     {0.003, 0, 0.01, 0.02}};
    static const size_t lengths[] = {20, 100, 400};
    enum { TRIALS = 300 };
    for (size_t kind = 0; kind < NVT_COUNT_OF(kinds); kind++)
        for (size_t l = 0; l < NVT_COUNT_OF(lengths); l++) {
            const struct study study = {1, lengths[l], 1, NULL};
            size_t wrong = 0, found[4];
            struct nvt_change changes[ROWS];
            for (int trial = 0; trial < TRIALS; trial++) {
                for (int row = 0; row < ROWS; row++)
                    measure(&study, &kinds[kind], &changes[row]);
                count_verdicts(changes, ROWS, found);
                wrong += found[NVT_FASTER] + found[NVT_SLOWER] > 0;
            }
            print_message("spread %g, memory %g, stray %g, step %g, %3zu times: %zu of %d "
                          "comparisons of %d rows of equal runs gave a verdict\n",
                          kinds[kind].spread, kinds[kind].memory, kinds[kind].stray,
                          kinds[kind].step, lengths[l], wrong, TRIALS, ROWS);
            assert_true(wrong <= at_most(TRIALS));
        }
}

/* Few times are taken as they look: right for those that hardly resemble each other. */
static void few_times_are_enough_where_they_are_independent(void **unused)
{
    (void)unused;
    const struct noise noise = {0.1, 0, 0.01, 0};
    const struct study equal = {1, 6, 1, NULL}, more = {1, 6, 1.6, NULL};
    struct nvt_change change;
    size_t wrong = 0, right = 0, found[4];
    for (int trial = 0; trial < 1000; trial++) {
        measure(&equal, &noise, &change);
        count_verdicts(&change, 1, found);
        wrong += found[NVT_FASTER] + found[NVT_SLOWER];
        measure(&more, &noise, &change);
        count_verdicts(&change, 1, found);
        right += found[NVT_SLOWER];
    }
    print_message("six times: %zu of 1000 equal ones gave a verdict, 60 %% more was found in %zu\n",
                  wrong, right);
    assert_true(wrong <= at_most(1000));
    assert_true(right > 700);
}

/* How a machine drifts from run to run, where the sides take turns. */
static void drift(int kind, double off[2][RUNS])
{
    double walk = 0;
    for (int k = 0; k < RUNS; k++)
        for (int side = 0; side < 2; side++) {
            walk += 0.03 * kit_normal();
            off[side][k] = kind == 0   ? exp(0.03 * kit_normal())
                           : kind == 1 ? exp(walk)
                           : kind == 2 ? 1 + 0.02 * (2 * k + side)
                                       : exp(0.05 * exp(kit_normal()));
        }
}

static void runs_carry_the_noise_between_them(void **unused)
{
    (void)unused;
    static const char *const kinds[] = {"independent", "random walk", "straight", "heavy-tailed"};
    const struct noise noise = {0.1, 0.9, 0.01, 0};
    enum { TRIALS = 1000 };
    for (int kind = 0; kind < 4; kind++)
        for (size_t runs = 3; runs <= 8; runs += runs == 3 ? 2 : 3) {
            size_t wrong = 0, found[4];
            for (int trial = 0; trial < TRIALS; trial++) {
                double off[2][RUNS];
                struct nvt_change change;
                drift(kind, off);
                const struct study study = {runs, 50, 1, (const double(*)[RUNS])off};
                measure(&study, &noise, &change);
                count_verdicts(&change, 1, found);
                wrong += found[NVT_FASTER] + found[NVT_SLOWER];
            }
            print_message("%zu runs a side, drift %s: %zu of %d comparisons gave a verdict\n", runs,
                          kinds[kind], wrong, TRIALS);
            assert_true(wrong <= at_most(TRIALS));
        }
}

/* And it is not blind: so many rows of ten are seen, and in the right direction. */
static void real_changes_are_found(void **unused)
{
    (void)unused;
    static const struct noise calm = {0.02, 0.5, 0.01, 0}, wild = {0.3, 0.5, 0.05, 0};
    static const struct {
        const struct noise *noise;
        size_t runs, count;
        double ratio, least;
    } cases[] = {{&calm, 1, 200, 1.02, 0.9},   {&calm, 1, 200, 0.98, 0.9},
                 {&calm, 5, 50, 1.06, 0.99},   {&wild, 1, 200, 1.5, 0.95},
                 {&wild, 5, 200, 1.5, 0.99},   {&wild, 5, 200, 1.2, 0.9},
                 {&calm, 3, 50, 1 / 1.1, 0.95}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct study study = {cases[i].runs, cases[i].count, cases[i].ratio, NULL};
        const enum nvt_verdict right = cases[i].ratio > 1 ? NVT_SLOWER : NVT_FASTER;
        const enum nvt_verdict other = cases[i].ratio > 1 ? NVT_FASTER : NVT_SLOWER;
        size_t seen = 0, wrong = 0, found[4];
        for (int trial = 0; trial < 30; trial++) {
            struct nvt_change changes[ROWS];
            for (int row = 0; row < ROWS; row++)
                measure(&study, cases[i].noise, &changes[row]);
            count_verdicts(changes, ROWS, found);
            seen += found[right];
            wrong += found[other];
        }
        print_message("%+.0f %%, spread %.2f, stray %.2f, %zu runs of %zu times a side: found in "
                      "%.0f %% of rows\n",
                      100 * (cases[i].ratio - 1), cases[i].noise->spread, cases[i].noise->stray,
                      cases[i].runs, cases[i].count, (double)seen / 3);
        assert_true((double)seen >= cases[i].least * 300);
        assert_int_equal(wrong, 0);
    }
}

/* A clock that changes once within a run: small beside the change, which is found for all that. */
static void a_step_hides_no_large_change(void **unused)
{
    (void)unused;
    static const double steps[] = {0.006, 0.02};
    static const size_t lengths[] = {30, 100, 400};
    for (size_t s = 0; s < 2; s++)
        for (size_t l = 0; l < 3; l++) {
            const struct noise noise = {0.003, 0, 0.01, steps[s]};
            const struct study study = {1, lengths[l], 1.26, NULL};
            size_t seen = 0, found[4];
            double widest = 0;
            for (int trial = 0; trial < 30; trial++) {
                struct nvt_change changes[ROWS];
                for (int row = 0; row < ROWS; row++)
                    measure(&study, &noise, &changes[row]);
                count_verdicts(changes, ROWS, found);
                seen += found[NVT_SLOWER];
                for (int row = 0; row < ROWS; row++)
                    widest = fmax(widest, changes[row].high / changes[row].low - 1);
            }
            print_message("a step of %g %%, %zu times: 26 %% more found in %.1f %% of rows, the "
                          "widest interval %.1f %%\n",
                          100 * steps[s], lengths[l], (double)seen / 3, 100 * widest);
            assert_true(seen >= 298);
        }
}

/* Both sides' noise counts, however far they are apart. */
static void intervals_hold_the_ratio(void **unused)
{
    (void)unused;
    static const double ratios[] = {0.1, 1, 3};
    const struct noise noise = {0.3, 0.3, 0.01, 0};
    double level;
    for (size_t r = 0; r < 3; r++)
        for (size_t runs = 1; runs <= 5; runs += 4) {
            const struct study study = {runs, 100, ratios[r], NULL};
            size_t missed = 0;
            for (int trial = 0; trial < 600; trial++) {
                struct nvt_change change;
                measure(&study, &noise, &change);
                assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01, &level), 0);
                assert_true(level == 0.95);
                missed += !(change.low <= ratios[r] && ratios[r] <= change.high);
            }
            print_message("ratio %g, %zu runs a side: missed by %zu of 600 intervals of 95 %%\n",
                          ratios[r], runs, missed);
            assert_in_range(missed, 1, at_most(600));
        }
}

/* The interval that is shown is that of the verdict. */
static void verdicts_are_those_of_the_intervals(void **unused)
{
    (void)unused;
    const struct noise noise = {0.1, 0, 0, 0};
    struct nvt_change changes[40];
    double level;
    for (int row = 0; row < 40; row++) {
        const struct study study = {1, 60, 1 + 0.006 * row, NULL};
        measure(&study, &noise, &changes[row]);
    }
    assert_int_equal(nvt_change_verdicts(changes, 40, 0.05, 0, &level), 0);
    assert_true(level > 0.95 && level < 1 - 0.05 / 40);
    for (int row = 0; row < 40; row++) {
        const int holds = changes[row].low <= 1 && changes[row].high >= 1;
        assert_int_equal(holds, changes[row].verdict == NVT_CANNOT_TELL);
    }
    /* Where nothing is found it is that of all rows together. */
    for (int row = 0; row < 40; row++)
        changes[row].p = 0.5;
    assert_int_equal(nvt_change_verdicts(changes, 40, 0.05, 0, &level), 0);
    assert_true(fabs(level - (1 - 0.05 / 40)) < 1e-12);
}

/* Eight ranks of different speed: the same change of each, whatever order they stand in. */
static void ranks_are_compared_with_themselves(void **unused)
{
    (void)unused;
    const struct noise noise = {0.01, 0, 0, 0};
    static double values[60];
    struct nvt_typical series[2][16];
    struct nvt_change change;
    double level;
    for (size_t runs = 1; runs <= 2; runs++) {
        for (uint32_t i = 0; i < 8 * runs; i++) {
            make_run(values, 60, 1e6 * (1 + i % 8), &noise);
            assert_int_equal(nvt_typical_of_times(values, 60, i % 8, &series[0][i]), 0);
            make_run(values, 60, 1.1e6 * (8 - i % 8), &noise);
            assert_int_equal(nvt_typical_of_times(values, 60, 7 - i % 8, &series[1][i]), 0);
        }
        const struct nvt_side a = {series[0], 8 * runs}, b = {series[1], 8 * runs};
        assert_int_equal(nvt_change_measure(&a, &b, &change), 0);
        assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01, &level), 0);
        assert_int_equal(change.verdict, NVT_SLOWER);
        assert_int_equal(change.ranks, 8);
        assert_int_equal(change.runs[0], runs);
        assert_int_equal(change.left_out, 0);
        assert_true(fabs(change.ratio - 1.1) < 0.005);
        assert_true(change.high - change.low < 0.02);
    }
    /* One rank less, and one that the other side does not have. */
    series[1][0].rank = 9;
    const struct nvt_side a = {series[0], 8}, b = {series[1], 8};
    assert_int_equal(nvt_change_measure(&a, &b, &change), 0);
    assert_int_equal(change.ranks, 7);
    assert_int_equal(change.left_out, 2);
    assert_true(fabs(change.ratio - 1.1) < 0.005);
}

/* The same where nobody says that they are ranks, but they stand in the same order. */
static void runs_that_go_together_are_paired(void **unused)
{
    (void)unused;
    const struct noise noise = {0.01, 0, 0, 0};
    const double off[2][RUNS] = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}};
    const struct study ranks = {8, 60, 1.1, off};
    struct nvt_change change;
    size_t found[4], paired = 0;
    measure(&ranks, &noise, &change);
    count_verdicts(&change, 1, found);
    assert_true(change.is_paired);
    assert_int_equal(found[NVT_SLOWER], 1);
    /* The same files on both sides are the same. */
    struct nvt_typical series[RUNS];
    for (size_t k = 0; k < RUNS; k++)
        series[k] = nvt_typical_of_summary(100 * off[0][k], 50, 20);
    const struct nvt_side side = {series, RUNS};
    assert_int_equal(nvt_change_measure(&side, &side, &change), 0);
    count_verdicts(&change, 1, found);
    assert_int_equal(found[NVT_SAME], 1);
    for (int trial = 0; trial < 1000; trial++) {
        const struct study runs = {5, 20, 1, NULL};
        measure(&runs, &noise, &change);
        paired += change.is_paired != 0;
    }
    assert_true(paired <= 5);
}

static void equal_to_a_hair_is_the_same(void **unused)
{
    (void)unused;
    const struct noise noise = {1e-4, 0, 0, 0};
    const struct study study = {1, 100, 1, NULL};
    struct nvt_change change;
    size_t found[4];
    measure(&study, &noise, &change);
    count_verdicts(&change, 1, found);
    assert_int_equal(change.verdict, NVT_SAME);
    assert_true(change.low <= change.ratio && change.ratio <= change.high);
}

static void too_little_says_nothing(void **unused)
{
    (void)unused;
    static const double few[] = {1, 2, 3, 4}, zeros[] = {0, 0, 0, 0, 0, 0};
    struct nvt_typical series[2];
    assert_int_equal(nvt_typical_of_times(few, 4, NVT_NO_RANK, &series[0]), 0);
    assert_int_equal(nvt_typical_of_times(zeros, 6, NVT_NO_RANK, &series[1]), 0);
    const struct nvt_side sides[] = {{&series[0], 1}, {NULL, 0}, {&series[1], 1}};
    struct nvt_change change;
    size_t found[4];
    for (size_t other = 0; other < 3; other++) {
        assert_int_equal(nvt_change_measure(&sides[0], &sides[other], &change), 0);
        count_verdicts(&change, 1, found);
        assert_int_equal(change.verdict, NVT_CANNOT_TELL);
        assert_true(isnan(change.low));
        assert_true(fabs(change.typical[0] - 2.5) < 1e-12 || other == 2);
    }
    assert_int_equal(nvt_change_measure(&sides[1], &sides[0], &change), 0);
    assert_true(isnan(change.typical[0]) && fabs(change.typical[1] - 2.5) < 1e-12);
}

static void summaries_give_the_same_answer(void **unused)
{
    (void)unused;
    struct nvt_change change;
    size_t found[4];
    nvt_change_from_summaries((double[]){100, 120}, (double[]){5, 5}, (size_t[]){50, 50}, &change);
    assert_true(fabs(change.ratio - 1.2) < 1e-12);
    /* Relative errors 5 / sqrt(50) / 100 and / 120; t of 97 degrees at 95 % is 1.985. */
    assert_true(fabs(log(change.high / change.low) - 2 * 1.985 * sqrt(0.5 * (1e-4 + 1 / 14400.0))) <
                1e-4);
    count_verdicts(&change, 1, found);
    assert_int_equal(change.verdict, NVT_SLOWER);
    /* However wide it is, nobody gets faster than 0. */
    nvt_change_from_summaries((double[]){100, 120}, (double[]){5000, 5000}, (size_t[]){50, 50},
                              &change);
    assert_true(change.low >= 0 && change.low < 0.1 && change.high > 10);
}

/* Tables of Student's t (Abramowitz and Stegun, 26.10), and one degree, which is Cauchy's. */
static void student_is_that_of_the_tables(void **unused)
{
    (void)unused;
    assert_true(fabs(nvt_student_at(0.05, 8) - 2.306) < 5e-4);
    assert_true(fabs(nvt_student_at(0.001, 4) - 8.610) < 5e-4);
    assert_true(fabs(nvt_student_at(0.01, 120) - 2.617) < 5e-4);
    assert_true(fabs(nvt_student_at(0.05, 1e9) - 1.95996) < 5e-4);
    assert_true(fabs(nvt_student_tail(1, 1) - 0.5) < 1e-12);
    assert_true(fabs(nvt_student_tail(1000, 1) * 3.14159265358979 / 2 * 1000 - 1) < 1e-6);
    assert_true(nvt_student_tail(0, 3) == 1 && nvt_student_tail(INFINITY, 3) == 0);
    for (int i = 1; i < 12; i++) {
        const double tail = pow(10, -i);
        assert_true(fabs(nvt_student_tail(nvt_student_at(tail, 3.7), 3.7) / tail - 1) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_are_rarely_called_different),
        cmocka_unit_test(few_times_are_enough_where_they_are_independent),
        cmocka_unit_test(runs_carry_the_noise_between_them),
        cmocka_unit_test(real_changes_are_found),
        cmocka_unit_test(a_step_hides_no_large_change),
        cmocka_unit_test(intervals_hold_the_ratio),
        cmocka_unit_test(verdicts_are_those_of_the_intervals),
        cmocka_unit_test(ranks_are_compared_with_themselves),
        cmocka_unit_test(runs_that_go_together_are_paired),
        cmocka_unit_test(equal_to_a_hair_is_the_same),
        cmocka_unit_test(too_little_says_nothing),
        cmocka_unit_test(summaries_give_the_same_answer),
        cmocka_unit_test(student_is_that_of_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
