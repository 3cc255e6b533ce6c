/*
 * Functions in samples, compared: verdicts on made-up programs whose truth is known, and values worked out by hand.
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

#include "../analyze/comparison/compare_functions.h"
#include "../analyze/comparison/compare_table.h"
#include "../analyze/comparison/function_value.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "made_trace.h"
#include "random_kit.h"

#define LIBC "/usr/lib/libc.so.6"
#define TOOL "/home/x/bin/tool"

static void expect_near(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* --- programs that are sampled --- */

enum { FUNCTIONS = 24, RUNS = 5 };

/* A loop whose functions take shares of an iteration's time as of Zipf's law, each calling memcpy for a third of it. */
struct made_program {
    int iterations;
    double iteration_ns, period_ns; /* processor time between samples */
    double spread;     /* of the logarithm of a function's time, from iteration to iteration */
    double memory;     /* correlation of each iteration with the next */
    double off;        /* spread of a function's time between runs */
    double ratio;      /* of the third function on the other side */
    int no_iterations; /* the loop is not named */
    int uneven;        /* samples stand for different times */
};

/* Spend time in a function, sampling at the end of each period; `left`: until the next one. */
static void spend(struct maker *maker, const struct made_program *program, double ns,
                  uint32_t function, double *left)
{
    while (ns >= *left) {
        const double weight = program->uneven ? 0.25 + 1.5 * kit_uniform() : 1;
        maker->now += (int64_t)*left;
        ns -= *left;
        make_sample(maker, 0, maker->now, (int64_t)(program->period_ns * weight), function);
        *left = program->period_ns * weight;
    }
    maker->now += (int64_t)ns;
    *left -= ns;
}

static struct nvt_trace *run_program(const struct made_program *program, int is_other)
{
    struct maker maker = make_begin();
    uint32_t function[FUNCTIONS], inner[FUNCTIONS];
    double slow[FUNCTIONS], factor[FUNCTIONS], sum = 0, left = kit_uniform() * program->period_ns;
    const uint32_t main = make_function(&maker, 0, "main", TOOL);
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "work%d", i);
        function[i] = make_function(&maker, main, name, TOOL);
        inner[i] = make_function(&maker, function[i], "memcpy", LIBC);
        slow[i] = kit_normal();
        factor[i] = exp(program->off * kit_normal()) * (is_other && i == 2 ? program->ratio : 1);
        sum += 1.0 / (i + 1);
    }
    for (int k = 0; k < program->iterations; k++) {
        const int64_t start = maker.now;
        for (int i = 0; i < FUNCTIONS; i++) {
            slow[i] = program->memory * slow[i] +
                      sqrt(1 - program->memory * program->memory) * kit_normal();
            const double ns =
                program->iteration_ns / (i + 1) / sum * factor[i] * exp(program->spread * slow[i]);
            spend(&maker, program, ns * 2 / 3, function[i], &left);
            spend(&maker, program, ns / 3, inner[i], &left);
        }
        if (!program->no_iterations)
            make_range(&maker, "iteration", start);
    }
    return make_end(&maker);
}

static void add_side(struct nvt_compared_functions *functions, size_t side, struct nvt_trace *trace)
{
    struct nvt_input_trace from = {.trace = trace};
    const struct nvt_input input = {.traces = &from, .trace_count = 1};
    assert_int_equal(nvt_compared_functions_add(functions, side, &input, NULL), 0);
    nvt_trace_free(trace);
}

/* What a comparison finds: wrong verdicts, and whether the third function's and its call tree's is right. */
struct found {
    size_t rows, wrong, right;
};

static struct found compare(const struct made_program *program, size_t runs)
{
    struct nvt_compared_functions functions = {0};
    struct nvt_buffer notes = {0};
    struct nvt_sides groups;
    struct nvt_outcomes outcomes = {0};
    struct found found = {0, 0, 0};
    for (size_t run = 0; run < runs; run++)
        for (size_t side = 0; side < 2; side++)
            add_side(&functions, side, run_program(program, side == 1));
    assert_int_equal(nvt_sides_init(&groups), 0);
    assert_int_equal(nvt_compared_functions_finish(&functions, 2, &groups, &notes), 0);
    assert_int_equal(notes.size, 0);
    assert_int_equal(groups.functions.by_iteration, !program->no_iterations);
    assert_int_equal(nvt_outcomes_make(&outcomes, &groups, 2, 0.001, 1), 0);
    found.rows = outcomes.count;
    for (size_t i = 0; i < outcomes.count; i++) {
        const enum nvt_verdict verdict = outcomes.rows[i].change->verdict;
        const char *name = outcomes.rows[i].group->name;
        const int is_changed = program->ratio > 1 && !strcmp(name, "work2");
        /* What calls it has changed with it. */
        const int may_be =
            program->ratio > 1 && (!strcmp(name, "main") || !strncmp(name, "mem", 3));
        found.right += is_changed && verdict == NVT_SLOWER;
        found.wrong += !is_changed && !may_be && (verdict == NVT_SLOWER || verdict == NVT_FASTER);
    }
    nvt_outcomes_free(&outcomes);
    nvt_sides_free(&groups);
    nvt_compared_functions_free(&functions);
    nvt_buffer_free(&notes);
    return found;
}

/* What may happen by chance when 5 % are right: three deviations of that many trials more. */
static size_t at_most(size_t trials)
{
    return (size_t)(0.05 * (double)trials + 3 * sqrt(0.05 * 0.95 * (double)trials));
}

static const struct kind {
    const char *what;
    struct made_program program;
    size_t runs;
    double ratio; /* of the change that is to be found */
    double found; /* share of the trials in which a row of it is found, at least */
} kinds[] = {
    {"one run, few samples", {40, 5e6, 1e6, 0.1, 0, 0, 1, 0, 0}, 1, 3, 0.8},
    {"one run", {100, 2e7, 1e6, 0.1, 0, 0, 1, 0, 0}, 1, 1.5, 0.9},
    {"one run, iterations that differ", {100, 2e7, 1e6, 0.5, 0, 0, 1, 0, 0}, 1, 2, 0.9},
    {"one run, iterations like their neighbours",
     {200, 1e7, 1e6, 0.3, 0.9, 0, 1, 0, 0},
     1,
     2.5,
     0.8},
    {"one run, samples that differ", {100, 2e7, 1e6, 0.1, 0, 0, 1, 0, 1}, 1, 1.6, 0.9},
    {"one run, no iterations", {100, 2e7, 1e6, 0.1, 0, 0, 1, 1, 0}, 1, 1.5, 0.9},
    {"five runs that differ by 3 %", {40, 2e7, 1e6, 0.1, 0, 0.03, 1, 0, 0}, 5, 1.5, 0.9},
    {"five runs that differ by 15 %", {40, 2e7, 1e6, 0.1, 0, 0.15, 1, 0, 0}, 5, 2.5, 0.9},
    {"five runs, few samples", {40, 1e6, 1e6, 0.1, 0, 0.03, 1, 0, 0}, 5, 5, 0.4},
};

static void equal_programs_rarely_get_a_verdict(void **unused)
{
    (void)unused;
    enum { TRIALS = 150 };
    for (size_t kind = 0; kind < NVT_COUNT_OF(kinds); kind++) {
        size_t wrong = 0, rows = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            const struct found found = compare(&kinds[kind].program, kinds[kind].runs);
            wrong += found.wrong > 0;
            rows += found.rows;
        }
        print_message("%s: %zu of %d comparisons of equal programs gave a verdict, of %.0f rows\n",
                      kinds[kind].what, wrong, TRIALS, (double)rows / TRIALS);
        assert_true(rows >= 2 * TRIALS);
        assert_true(wrong <= at_most(TRIALS));
    }
}

static void a_change_is_found(void **unused)
{
    (void)unused;
    enum { TRIALS = 60 };
    for (size_t kind = 0; kind < NVT_COUNT_OF(kinds); kind++) {
        struct made_program program = kinds[kind].program;
        size_t both = 0, right = 0, wrong = 0;
        program.ratio = kinds[kind].ratio;
        for (int trial = 0; trial < TRIALS; trial++) {
            const struct found found = compare(&program, kinds[kind].runs);
            both += found.right == 2;
            right += found.right > 0;
            wrong += found.wrong;
        }
        print_message("%s: a function of %g times was found in %zu of %d comparisons, in both rows "
                      "in %zu; %zu false verdicts\n",
                      kinds[kind].what, program.ratio, right, TRIALS, both, wrong);
        assert_true((double)right >= kinds[kind].found * TRIALS);
        /* Of all verdicts, which are at least two a comparison, one in twenty. */
        assert_true(wrong <= at_most(2 * TRIALS));
    }
}

/* --- by hand --- */

static void values_are_those_of_the_formula(void **unused)
{
    (void)unused;
    struct nvt_function_samples samples = {.time = 9000,
                                           .all_time = 99000,
                                           .samples = 9,
                                           .all_samples = 99,
                                           .spread = 1,
                                           .iterations = 8};
    struct nvt_typical value = nvt_function_value(&samples);
    expect_near(value.log, log(9500.0 / 8), 1e-12);
    expect_near(value.error, sqrt(1 / 9.5), 1e-12);
    assert_true(value.degrees > 1e4);
    assert_int_equal(value.n, 9);
    expect_near(value.total, 9000, 0);
    samples.parts = 8; /* the same in each */
    samples.squares = 8 * (9000.0 / 8) * (9000.0 / 8);
    value = nvt_function_value(&samples);
    expect_near(value.error, sqrt((1 - 9.0 / 100) / 9.5), 1e-12);
    samples.squares = 9000.0 * 9000; /* all in one */
    value = nvt_function_value(&samples);
    expect_near(value.error, sqrt(70875000.0 / 7 / 8) / (9500.0 / 8), 1e-12);
    expect_near(value.degrees, 7, 0);
    samples.spread = 2; /* half as many that would vary as much */
    samples.parts = 0;
    value = nvt_function_value(&samples);
    expect_near(value.error, sqrt(1 / 5.0), 1e-12);
    samples.time = 0;
    value = nvt_function_value(&samples);
    expect_near(value.log, log(500.0 / 8), 1e-12);
    expect_near(value.error, sqrt(2), 1e-12);
}

/* Five runs of a side have none of it: that they all say so does not say how little it may be. */
static void few_samples_are_no_surer_than_their_number(void **unused)
{
    (void)unused;
    struct nvt_typical series[2][RUNS];
    struct nvt_change change;
    double level;
    for (int k = 0; k < RUNS; k++)
        for (int side = 0; side < 2; side++) {
            const uint64_t n = side ? 0 : 95 + 3 * (uint64_t)k;
            const struct nvt_function_samples samples = {.time = (double)n * 1000,
                                                         .all_time = 500000,
                                                         .samples = n,
                                                         .all_samples = 500,
                                                         .spread = 1,
                                                         .iterations = 1};
            series[side][k] = nvt_function_value(&samples);
        }
    expect_near(series[0][0].least, 0, 0); /* there are many */
    expect_near(series[1][0].least, sqrt(2), 1e-12);
    const struct nvt_side a = {series[0], RUNS}, b = {series[1], RUNS};
    assert_int_equal(nvt_change_measure(&a, &b, &change), 0);
    assert_int_equal(nvt_change_verdicts(&change, 1, 0.05, 0.01, &level), 0);
    assert_int_equal(change.verdict, NVT_FASTER);
    assert_true(change.error > sqrt(2.0 / RUNS) && change.error < sqrt(2.1 / RUNS));
    assert_true(change.low < 0.3 * change.ratio && change.high > 3 * change.ratio);
}

/* Main calls work, which calls memcpy: so many samples of each in each of two iterations, and of work before them. */
struct counts {
    int main, work, copy, before;
    int64_t cpu_ns;
    int iterations; /* 0: none are named */
};

static void add_samples(struct maker *maker, const struct counts *counts, int count,
                        uint32_t function)
{
    for (int i = 0; i < count; i++)
        make_sample(maker, maker->thread, maker->now += 1000, counts->cpu_ns, function);
}

static void add_process(struct maker *maker, const struct counts *counts)
{
    const uint32_t main = make_function(maker, 0, "main", TOOL);
    const uint32_t work = make_function(maker, main, "work", TOOL);
    const uint32_t copy = make_function(maker, work, "memcpy", LIBC);
    add_samples(maker, counts, counts->before, work);
    for (int i = 0; i < 2; i++) {
        const int64_t start = maker->now += 500;
        add_samples(maker, counts, counts->main, main);
        add_samples(maker, counts, counts->work, work);
        add_samples(maker, counts, counts->copy, copy);
        maker->now += 500;
        if (counts->iterations)
            make_range(maker, "iteration", start);
    }
}

static struct nvt_trace *make_counts(const struct counts *counts)
{
    struct maker maker = make_begin();
    add_process(&maker, counts);
    return make_end(&maker);
}

static const struct nvt_compared *find(const struct nvt_sides *groups, enum nvt_compared_kind kind,
                                       const char *name)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->items[i].kind == kind && !strcmp(groups->items[i].name, name))
            return &groups->items[i];
    return NULL;
}

/* Compare two traces; the caller frees the groups and the notes. */
static void compare_traces(struct nvt_trace *a, struct nvt_trace *b, struct nvt_sides *groups,
                           struct nvt_buffer *notes)
{
    struct nvt_compared_functions functions = {0};
    *notes = (struct nvt_buffer){0};
    add_side(&functions, 0, a);
    add_side(&functions, 1, b);
    assert_int_equal(nvt_sides_init(groups), 0);
    assert_int_equal(nvt_compared_functions_finish(&functions, 2, groups, notes), 0);
    assert_int_equal(nvt_buffer_append(notes, "", 1), 0);
    nvt_compared_functions_free(&functions);
}

static void expect_side(const struct nvt_compared *group, size_t side, double shown, size_t n)
{
    assert_non_null(group);
    assert_int_equal(group->sides[side].count, 1);
    expect_near(group->sides[side].shown, shown, 1e-9);
    assert_int_equal(group->sides[side].series[0].n, n);
}

static void functions_and_call_trees_are_compared(void **unused)
{
    (void)unused;
    const struct counts a = {2, 10, 12, 40, 1000, 1}, b = {1, 6, 0, 7, 1000, 1};
    struct nvt_sides groups;
    struct nvt_buffer notes;
    compare_traces(make_counts(&a), make_counts(&b), &groups, &notes);
    assert_string_equal((const char *)notes.data, "");
    assert_true(groups.functions.by_iteration);
    /* Of main there are six samples by itself; of memcpy 24 on one side, which are too few, none in a tree. */
    assert_int_equal(groups.count, 3);
    const struct nvt_compared *work = find(&groups, NVT_GROUP_FUNCTION, "work");
    expect_side(work, 0, 10000, 20);
    expect_side(work, 1, 6000, 12);
    expect_near(work->sides[0].series[0].log, log(20500.0 / 2), 1e-12);
    expect_near(work->sides[0].series[0].total, 20000, 0);
    expect_side(find(&groups, NVT_GROUP_TREE, "work"), 0, 22000, 44);
    expect_side(find(&groups, NVT_GROUP_TREE, "main"), 1, 7000, 14);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
    /* One side names no iterations: all time is compared, what was before them, too. */
    const struct counts whole = {1, 6, 10, 7, 1000, 0};
    compare_traces(make_counts(&a), make_counts(&whole), &groups, &notes);
    assert_int_equal(groups.functions.by_iteration, 0);
    expect_side(find(&groups, NVT_GROUP_FUNCTION, "work"), 0, 60000, 60);
    expect_side(find(&groups, NVT_GROUP_FUNCTION, "work"), 1, 19000, 19);
    expect_side(find(&groups, NVT_GROUP_FUNCTION, "memcpy (libc.so.6)"), 1, 20000, 20);
    assert_null(find(&groups, NVT_GROUP_TREE, "memcpy (libc.so.6)"));
    /* Nothing calls for an exit status: work moves from one function to another. */
    struct nvt_outcomes outcomes = {0};
    size_t slower, unknown, changed = 0;
    assert_int_equal(nvt_outcomes_make(&outcomes, &groups, 2, 0.01, 0), 0);
    for (size_t i = 0; i < outcomes.count; i++)
        changed += outcomes.rows[i].change->verdict == NVT_FASTER;
    assert_true(changed > 0);
    nvt_outcomes_above(&outcomes, -1, &slower, &unknown);
    assert_int_equal(slower + unknown, 0);
    nvt_outcomes_free(&outcomes);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
}

static void samples_that_say_no_time_are_counted(void **unused)
{
    (void)unused;
    const struct counts a = {0, 20, 0, 0, 0, 1}, b = {0, 10, 0, 0, 0, 1},
                        timed = {0, 10, 0, 0, 1000, 1}, none = {0, 0, 0, 0, 0, 1},
                        few = {0, 7, 0, 0, 0, 1};
    struct nvt_sides groups;
    struct nvt_buffer notes;
    compare_traces(make_counts(&a), make_counts(&b), &groups, &notes);
    assert_non_null(strstr((const char *)notes.data, "compared by their number"));
    assert_true(groups.functions.are_counts);
    expect_side(find(&groups, NVT_GROUP_FUNCTION, "work"), 0, 20, 40);
    struct nvt_outcomes outcomes = {0};
    assert_int_equal(nvt_outcomes_make(&outcomes, &groups, 2, 0.01, 0), 0);
    struct nvt_table *table = nvt_compare_table(&outcomes, &groups, 2, 0);
    assert_int_equal(nvt_table_rows(table), 2);
    assert_true(nvt_table_is_null(table, 0, nvt_table_find(table, "typical A")));
    assert_true(nvt_table_is_null(table, 0, nvt_table_find(table, "change of total")));
    expect_near(nvt_table_real(table, 0, nvt_table_find(table, "change")), 100 * (20.5 / 40.5 - 1),
                1e-9);
    nvt_table_free(table);
    nvt_outcomes_free(&outcomes);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
    compare_traces(make_counts(&few), make_counts(&few), &groups, &notes);
    assert_non_null(strstr((const char *)notes.data, "none has 30 samples"));
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
    compare_traces(make_counts(&a), make_counts(&timed), &groups, &notes);
    assert_non_null(strstr((const char *)notes.data, "of some traces have no CPU time"));
    assert_int_equal(groups.count, 0);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
    compare_traces(make_counts(&a), make_counts(&none), &groups, &notes);
    assert_non_null(strstr((const char *)notes.data, "recorded on side A and another"));
    assert_int_equal(groups.count, 0);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
}

/* Most samples of a side have no callers. */
static void call_trees_need_callers(void **unused)
{
    (void)unused;
    const struct counts a = {0, 20, 20, 0, 1000, 1};
    struct nvt_sides groups;
    struct nvt_buffer notes;
    struct nvt_trace *alone = make_counts(&a);
    for (uint32_t i = 0; i < alone->cpu_samples.count; i++)
        alone->cpu_samples.flags[i] |= NVT_CPU_SAMPLE_NO_CALLERS;
    compare_traces(make_counts(&a), alone, &groups, &notes);
    assert_non_null(strstr((const char *)notes.data, "100 % of the samples of side B"));
    expect_side(find(&groups, NVT_GROUP_FUNCTION, "work"), 1, 20000, 40);
    assert_null(find(&groups, NVT_GROUP_TREE, "work"));
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
}

/* So many ranks, each with iterations of its own; more than can be told apart are one. */
static struct nvt_trace *make_ranks(const struct counts *counts, uint32_t ranks)
{
    struct maker maker = make_begin();
    for (uint32_t i = 0; i < ranks; i++) {
        make_process(&maker, 10 + i, 0);
        maker.trace->processes.rank[maker.process] = i;
        add_process(&maker, counts);
    }
    return make_end(&maker);
}

static void ranks_have_values_of_their_own(void **unused)
{
    (void)unused;
    const struct counts a = {0, 20, 0, 0, 1000, 1}, b = {0, 10, 0, 5, 1000, 1};
    struct nvt_sides groups;
    struct nvt_buffer notes;
    compare_traces(make_ranks(&a, 3), make_ranks(&b, 3), &groups, &notes);
    const struct nvt_compared *work = find(&groups, NVT_GROUP_FUNCTION, "work");
    assert_non_null(work);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(work->sides[1].count, 3);
        assert_int_equal(work->sides[1].series[i].rank, i);
        assert_int_equal(work->sides[1].series[i].n, 20);
        expect_near(work->sides[1].series[i].log, log(20500.0 / 2), 1e-12);
    }
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
    compare_traces(make_ranks(&a, NVT_FUNCTION_RANKS + 2), make_ranks(&b, 2), &groups, &notes);
    work = find(&groups, NVT_GROUP_FUNCTION, "work");
    expect_side(work, 0, 20000, 40 * (NVT_FUNCTION_RANKS + 2));
    assert_int_equal(work->sides[0].series[0].rank, NVT_NO_RANK);
    assert_int_equal(work->sides[1].count, 2);
    nvt_sides_free(&groups);
    nvt_buffer_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_programs_rarely_get_a_verdict),
        cmocka_unit_test(a_change_is_found),
        cmocka_unit_test(values_are_those_of_the_formula),
        cmocka_unit_test(few_samples_are_no_surer_than_their_number),
        cmocka_unit_test(functions_and_call_trees_are_compared),
        cmocka_unit_test(samples_that_say_no_time_are_counted),
        cmocka_unit_test(call_trees_need_callers),
        cmocka_unit_test(ranks_have_values_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
