/*
 * How costs grow: laws that are known, with and without noise, and constants, which do not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/sweeps/growth.h"
#include "../lib/count_of.h"
#include "made_trace.h"

#define TRIALS 2000
#define MOST   6

static double constant(double n)
{
    (void)n;
    return 1000;
}

static double linear(double n)
{
    return 1000 * n;
}

static double square(double n)
{
    return 1000 * n * n;
}

static double cube(double n)
{
    return 1000 * n * n * n;
}

static double root(double n)
{
    return 1000 * sqrt(n);
}

static double n_log_n(double n)
{
    return 1000 * n * log2(n);
}

static double with_fixed(double n)
{
    return 50000 + 1000 * n;
}

/* A normal number by Box and Muller, uniform ones by a 64-bit LCG (Knuth's MMIX). */
static double normal(uint64_t *seed)
{
    double uniform[2];
    for (int i = 0; i < 2; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        uniform[i] = ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(uniform[0])) * cos(6.283185307179586 * uniform[1]);
}

static const struct grid {
    size_t count;
    double n[MOST];
} grids[] = {{3, {64, 256, 1024}},
             {3, {128, 256, 512}},
             {4, {128, 256, 512, 1024}},
             {6, {2, 4, 8, 16, 32, 64}}};

#define GRIDS NVT_COUNT_OF(grids)

static struct nvt_growth grow(const struct grid *grid, double (*law)(double), double noise,
                              uint64_t *seed)
{
    double cost[MOST];
    for (size_t i = 0; i < grid->count; i++)
        cost[i] = law(grid->n[i]) * fmax(1 + noise * normal(seed), 0.01);
    return nvt_growth_of(grid->n, cost, grid->count);
}

/* Without noise each is found, and what describes it is what it is. */
static void laws_are_recognised(void **state)
{
    (void)state;
    static const struct {
        double (*law)(double);
        double p;
        int has_exponent;
    } laws[] = {{linear, 1, 0}, {square, 2, 1}, {cube, 3, 1}, {root, 0.5, 1}};
    uint64_t seed = 1;
    for (size_t g = 0; g < GRIDS; g++) {
        for (size_t i = 0; i < NVT_COUNT_OF(laws); i++) {
            struct nvt_growth growth = grow(&grids[g], laws[i].law, 0, &seed);
            assert_true(nvt_growth_law(&growth)->rises && growth.is_described);
            assert_true(fabs(growth.p - laws[i].p) < 1e-9);
            assert_int_equal(nvt_growth_has_exponent(&growth), laws[i].has_exponent);
        }
        struct nvt_growth growth = grow(&grids[g], n_log_n, 0, &seed);
        assert_true(nvt_growth_law(&growth)->rises && growth.is_described);
        /* A fixed cost makes no power of it. */
        growth = grow(&grids[g], with_fixed, 0, &seed);
        assert_int_equal(growth.by, NVT_GROWTH_LINE);
        assert_true(growth.line.rises && growth.is_described && fabs(growth.a - 50000) < 1e-3);
        growth = grow(&grids[g], constant, 0, &seed);
        assert_false(nvt_growth_law(&growth)->rises);
    }
}

/* With 5 % of noise. Three values leave one degree of freedom, and a Student's t of 12.7. */
static void noise_hides_little_and_shows_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double (*law)(double);
        double least[GRIDS]; /* found, of 1 */
    } laws[] = {{"n", linear, {0.98, 0.85, 0.99, 0.99}},
                {"n^2", square, {0.99, 0.98, 0.99, 0.99}},
                {"n^3", cube, {0.99, 0.99, 0.99, 0.99}},
                {"sqrt n", root, {0.88, 0.65, 0.99, 0.99}},
                {"n log n", n_log_n, {0.99, 0.93, 0.99, 0.99}}};
    static const double noises[] = {0.01, 0.05, 0.2, 0.5};
    for (size_t g = 0; g < GRIDS; g++) {
        uint64_t seed = 1 + g;
        for (size_t i = 0; i < NVT_COUNT_OF(laws); i++) {
            int found = 0, described = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                struct nvt_growth growth = grow(&grids[g], laws[i].law, 0.05, &seed);
                found += nvt_growth_law(&growth)->rises;
                described += nvt_growth_law(&growth)->rises && growth.is_described;
            }
            print_message("%s over %zu values from %g to %g: %.1f %% found, %.1f %% described\n",
                          laws[i].name, grids[g].count, grids[g].n[0],
                          grids[g].n[grids[g].count - 1], 100.0 * found / TRIALS,
                          100.0 * described / TRIALS);
            assert_true(found >= laws[i].least[g] * TRIALS);
        }
        for (size_t i = 0; i < NVT_COUNT_OF(noises); i++) {
            int found = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                struct nvt_growth growth = grow(&grids[g], constant, noises[i], &seed);
                found += nvt_growth_law(&growth)->rises;
            }
            print_message("a constant with %g %% of noise: %.2f %% found\n", 100 * noises[i],
                          100.0 * found / TRIALS);
            assert_true(found <= TRIALS * (noises[i] > 0.05 ? 5 : 1) / 100);
        }
    }
}

/* 95 of 100 intervals of an exponent should hold it. */
static void the_interval_of_an_exponent_covers_it(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (size_t g = 0; g < GRIDS; g++) {
        int covered = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            struct nvt_growth growth = grow(&grids[g], square, 0.05, &seed);
            covered += growth.power.low <= 2 && growth.power.high >= 2;
        }
        assert_in_range(covered, TRIALS * 93 / 100, TRIALS * 97 / 100);
    }
}

static void what_no_law_describes_is_told(void **state)
{
    (void)state;
    static const double n[] = {1, 2, 3, 4, 5, 6}, steps[] = {1, 1, 1, 9, 9, 9},
                        two[] = {4, 4, 4, 8, 8, 8}, same[] = {8, 8, 8}, none[] = {0, 0, 5, 9, 9, 9};
    struct nvt_growth growth = nvt_growth_of(n, steps, 6);
    assert_true(nvt_growth_law(&growth)->rises);
    assert_false(growth.is_described);
    /* Two values have no exponent, one nothing, and a cost of 0 no logarithm. */
    growth = nvt_growth_of(two, n, 6);
    assert_int_equal(growth.by, NVT_GROWTH_LINE);
    assert_false(nvt_growth_has_exponent(&growth));
    growth = nvt_growth_of(same, n, 3);
    assert_false(nvt_growth_law(&growth)->rises);
    growth = nvt_growth_of(n, none, 6);
    assert_true(growth.line.rises && growth.by == NVT_GROWTH_LINE && isnan(growth.p));
    assert_false(growth.is_described);
}

/* What noise shows with a chance of so much, it shows so often, or (two laws go together) less. */
static void chances_are_those_of_noise(void **state)
{
    (void)state;
    static const double n[] = {4, 4, 4, 8, 8, 8}, chances[] = {0.2, 0.05, 0.01};
    uint64_t seed = 11;
    int line[3] = {0}, both[GRIDS][3] = {{0}};
    for (int trial = 0; trial < TRIALS; trial++) {
        double cost[6];
        for (size_t i = 0; i < 6; i++)
            cost[i] = 1000 * (1 + 0.05 * normal(&seed));
        const struct nvt_growth growth = nvt_growth_of(n, cost, 6);
        for (size_t k = 0; k < 3; k++)
            line[k] += growth.chance <= chances[k];
        for (size_t g = 0; g < GRIDS; g++) {
            const struct nvt_growth other = grow(&grids[g], constant, 0.05, &seed);
            for (size_t k = 0; k < 3; k++)
                both[g][k] += other.chance <= chances[k];
        }
    }
    for (size_t k = 0; k < 3; k++) {
        const double expected = TRIALS * chances[k], most = 3 * sqrt(expected);
        print_message("chance %g: %d of %d lines, %d %d %d %d of lines and powers\n", chances[k],
                      line[k], TRIALS, both[0][k], both[1][k], both[2][k], both[3][k]);
        assert_true(fabs(line[k] - expected) <= most);
        for (size_t g = 0; g < GRIDS; g++)
            assert_true(both[g][k] <= expected + most && both[g][k] >= expected / 2 - most);
    }
    /* Nothing was fitted, falls, or rises without any noise. */
    static const double same[] = {8, 8, 8}, up[] = {1, 2, 3}, down[] = {3, 2, 1};
    assert_true(nvt_growth_of(same, up, 3).chance == 1);
    assert_true(nvt_growth_of(up, down, 3).chance == 1);
    assert_true(nvt_growth_of(up, up, 3).chance < 1e-9);
}

/* --- as findings ----------------------------------------------------------------------------- */

/* Runs of `values`, in whose ten iterations a range "step" takes so many ns; the iteration takes as
 * long. */
static void expect_told(const double *values, const double *ns, size_t count, const char *what,
                        const char *evidence)
{
    struct nvt_record records[MOST] = {{0}};
    struct nvt_runs runs = {.records = records, .count = count};
    struct nvt_input_trace traces[MOST];
    struct nvt_input input = {.traces = traces, .trace_count = count};
    const struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        char json[100];
        int size =
            snprintf(json, sizeof(json),
                     "{\"workload\": \"made\", \"context\": %g, \"backend\": \"host\"}", values[i]);
        struct maker maker = make_begin();
        assert_int_equal(nvt_record_parse(&records[i], json, (size_t)size, NULL), 0);
        for (int k = 0; k < 10; k++) {
            int64_t start = maker.now;
            maker.now += (int64_t)ns[i];
            make_range(&maker, "step", start);
            make_range(&maker, "iteration", start);
        }
        traces[i] = (struct nvt_input_trace){.trace = make_end(&maker), .runs = &runs, .record = i};
    }
    assert_int_equal(nvt_rule_apply(&nvt_rule_scaling, &facts, &findings, NULL), 0);
    for (size_t i = 0; i < findings.count; i++)
        if (!strncmp(findings.items[i].what, "step", 4)) {
            assert_string_equal(findings.items[i].what, what);
            if (!strstr(findings.items[i].evidence, evidence))
                fail_msg("%s", findings.items[i].evidence);
            found++;
        }
    assert_int_equal(found, *what != 0);
    free(findings.items);
    for (size_t i = 0; i < count; i++) {
        nvt_trace_free(traces[i].trace);
        nvt_record_free(&records[i]);
    }
}

static void findings_tell_the_law(void **state)
{
    (void)state;
    static const double n[] = {128, 256, 512, 1024, 2048, 4096};
    static const struct {
        size_t count;
        double ns[MOST];
        const char *what, *evidence;
    } cases[] = {
        {3,
         {16384000, 65536000, 262144000},
         "step grows as context^2",
         "cost = 262 ms·(context/512)^2 per iteration (exponent 2 to 2 at 95 %), from context=128 "
         "to 512; at the largest, 262 ms in 1 entry"},
        {4,
         {1600000, 6700000, 26000000, 107000000},
         "step grows as context^2.01 (1.95–2.08)",
         "cost = 107 ms·(context/1024)^2.01 per iteration (exponent 1.95 to 2.08 at 95 %), from"},
        {4,
         {1128000, 1256000, 1512000, 2024000},
         "step grows with context",
         "cost = 1.00 ms + 1.00 µs·context per iteration (slope ± 0 ns at 95 %), from"},
        /* A line that begins below 0 is told as one that no cost is. */
        {4,
         {100000, 1124000, 3172000, 7268000},
         "step grows with context",
         "8.00 µs·context - 924 µs per iteration (slope ± 0 ns at 95 %); a fixed cost below 0 is "
         "impossible: the cost grows faster than the line, or this is noise, from"},
        {6,
         {1000000, 1000000, 1000000, 20000000, 20000000, 20000000},
         "step grows with context",
         "; no rising law fits the runs well: this one is off by "},
        {6, {1000000, 1010000, 1000000, 990000, 1000000, 1005000}, "", ""},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_told(n, cases[i].ns, cases[i].count, cases[i].what, cases[i].evidence);
}

/*
 * A study of SWEEPS configurations, each run `repeats` times with each of four values, in which the range "step" costs
 * what it costs with noise; in the first `growing` of them it grows. Counts what is found, by confidence.
 */
enum { SWEEPS = 20, VALUES = 4, REPEATS_MOST = 3, STUDY = SWEEPS * VALUES * REPEATS_MOST };

struct told {
    size_t tested, doubted, wrong; /* wrong: tested, of what does not grow */
};

static void count_told(const struct nvt_findings *findings, size_t growing, struct told *told)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nvt_finding *finding = &findings->items[i];
        const char *sweep = strstr(finding->where, "width=");
        const int is_doubted = strstr(finding->evidence, "; not certain: noise alone") != NULL;
        if (strncmp(finding->what, "step", 4) != 0)
            continue;
        assert_non_null(sweep);
        assert_int_equal(is_doubted, finding->confidence == NVT_POSSIBLE);
        assert_int_equal(is_doubted, strstr(finding->remedy, "several times") != NULL);
        if (is_doubted)
            told->doubted++;
        else
            told->tested++;
        if (!is_doubted && strtoul(sweep + 6, NULL, 10) > growing)
            told->wrong++;
    }
}

static struct told study(size_t growing, size_t repeats, double noise, uint64_t *seed)
{
    static const int values[VALUES] = {2, 8, 32, 128};
    struct nvt_record *records = calloc(STUDY, sizeof(*records));
    struct nvt_input_trace *traces = calloc(STUDY, sizeof(*traces));
    const size_t count = SWEEPS * VALUES * repeats;
    struct nvt_runs runs = {.records = records, .count = count};
    struct nvt_input input = {.traces = traces, .trace_count = count};
    const struct nvt_case facts = {&input, "parts"};
    struct nvt_findings findings = {0};
    struct told told = {0};
    for (size_t i = 0; i < count; i++) {
        const size_t sweep = i % SWEEPS;
        const int value = values[i / SWEEPS % VALUES];
        const double cost = 1e6 * (sweep < growing ? 1 + value / 16.0 : 1);
        char json[120];
        int size = snprintf(json, sizeof(json),
                            "{\"workload\": \"made\", \"width\": %zu, \"parts\": %d, "
                            "\"backend\": \"host\"}",
                            sweep + 1, value);
        struct maker maker = make_begin();
        int64_t start = maker.now;
        maker.now += (int64_t)(cost * fmax(1 + noise * normal(seed), 0.2));
        make_range(&maker, "step", start);
        maker.now += 100000;
        make_range(&maker, "iteration", start);
        assert_int_equal(nvt_record_parse(&records[i], json, (size_t)size, NULL), 0);
        traces[i] = (struct nvt_input_trace){.trace = make_end(&maker), .runs = &runs, .record = i};
    }
    assert_int_equal(nvt_rule_apply(&nvt_rule_scaling, &facts, &findings, NULL), 0);
    count_told(&findings, growing, &told);
    free(findings.items);
    for (size_t i = 0; i < count; i++) {
        nvt_trace_free(traces[i].trace);
        nvt_record_free(&records[i]);
    }
    free(traces);
    free(records);
    return told;
}

/* Of many costs some look as if they grew. That is not called tested, but what grows is, with a few runs of each value. */
static void many_costs_make_no_finding(void **state)
{
    (void)state;
    enum { STUDIES = 60 };
    struct told none = {0}, single = {0}, repeated = {0};
    size_t studies = 0;
    uint64_t seed = 5;
    for (int i = 0; i < STUDIES; i++) {
        const struct told told[] = {study(0, 1, 0.3, &seed), study(5, 1, 0.3, &seed),
                                    study(5, 3, 0.3, &seed)};
        none.doubted += told[0].doubted;
        studies += told[0].tested > 0;
        single.tested += told[1].tested - told[1].wrong;
        repeated.tested += told[2].tested;
        repeated.wrong += told[2].wrong;
    }
    print_message("of %d costs that do not grow: %zu possible, tested in %zu of %d studies; of %d "
                  "that grow: tested %zu with one run of each value, with three %zu, and %zu "
                  "wrong\n",
                  STUDIES * SWEEPS, none.doubted, studies, STUDIES, STUDIES * 5, single.tested,
                  repeated.tested - repeated.wrong, repeated.wrong);
    assert_true(none.doubted >= 10);   /* or there is nothing to show */
    assert_true(studies <= 3 + 3 * 2); /* 5 of 100, and three deviations */
    assert_true(repeated.tested - repeated.wrong >= STUDIES * 5 * 9 / 10);
    assert_true(single.tested < repeated.tested - repeated.wrong);
    assert_true(repeated.wrong <= repeated.tested / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_are_recognised),
        cmocka_unit_test(noise_hides_little_and_shows_nothing),
        cmocka_unit_test(the_interval_of_an_exponent_covers_it),
        cmocka_unit_test(what_no_law_describes_is_told),
        cmocka_unit_test(chances_are_those_of_noise),
        cmocka_unit_test(findings_tell_the_law),
        cmocka_unit_test(many_costs_make_no_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
