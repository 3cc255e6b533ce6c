/*
 * What a loop does in every n-th iteration, and behind its steps, in traces of any origin.
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
#include "../lib/count_of.h"
#include "made_trace.h"

#define US INT64_C(1000)

/* What iteration i does for how long; `name` NULL: in no range, "": nothing. */
struct extra {
    const char *name; /* "evaluate+save": two ranges, of 60 and 40 % of it */
    int64_t ns;
};

struct shape {
    /* range around a step; with a format, its name has the number in it */
    const char *iteration, *format;
    int count, is_around; /* is_around: extras lie within the range, else behind it */
    struct extra (*extra)(int i);
};

static unsigned noise; /* state of vary */
static int writes;     /* calls of write(), which block: 1: all the time of extras, 2: in forward */

/* Up to 10 % more. */
static int64_t vary(int64_t ns)
{
    noise = noise * 1103515245u + 12345u;
    return ns + ns * (int64_t)((noise >> 16) % 100) / 1000;
}

/* Its ranges, up to now. */
static void make_extra(struct maker *maker, const struct extra *extra)
{
    const char *plus = strchr(extra->name, '+');
    const int64_t end = maker->now, begin = end - extra->ns;
    char first[64];
    snprintf(first, sizeof(first), "%.*s", plus ? (int)(plus - extra->name) : 63, extra->name);
    maker->now = plus ? begin + extra->ns * 6 / 10 : end;
    make_range(maker, first, begin);
    const int64_t second = maker->now;
    maker->now = end;
    if (plus)
        make_range(maker, plus + 1, second);
}

static struct nvt_trace *make_loop(const struct shape *shape)
{
    struct maker maker = make_begin();
    noise = 1;
    for (int i = 0; i < shape->count; i++) {
        const int64_t start = maker.now;
        const struct extra extra = shape->extra(i);
        char name[64];
        maker.now += vary(900 * US);
        make_range(&maker, "forward", start);
        if (writes & 2)
            make_os_call(&maker, "write", 0, start, start + 800 * US);
        maker.now += vary(100 * US);
        make_range(&maker, "optimizer", maker.now - 100 * US);
        snprintf(name, sizeof(name), "%s%d", shape->iteration, i);
        if (shape->format)
            snprintf(name, sizeof(name), "%s", shape->iteration);
        if (!shape->is_around)
            make_range(&maker, name, start);
        maker.now += extra.ns;
        if (writes & 1)
            make_os_call(&maker, "write", 0, maker.now - extra.ns, maker.now);
        if (extra.name && *extra.name && extra.ns)
            make_extra(&maker, &extra);
        if (shape->is_around)
            make_range(&maker, name, start);
        maker.now += US;
    }
    return make_end(&maker);
}

/* What a rule, or all, find; the trace is freed. */
static struct nvt_findings look_with(const struct shape *shape, const struct nvt_rule *rule)
{
    struct nvt_input_trace trace = {.trace = make_loop(shape)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(rule ? nvt_rule_apply(rule, &facts, &findings, NULL)
                          : nvt_diagnose(&input, NULL, &findings, NULL),
                     0);
    nvt_trace_free(trace.trace);
    return findings;
}

static void expect_none(const struct shape *shape)
{
    struct nvt_findings findings = look_with(shape, &nvt_rule_periodic);
    if (findings.count)
        fail_msg("%s; %s", findings.items[0].what, findings.items[0].evidence);
    free(findings.items);
}

static void expect_one(const struct shape *shape, const struct nvt_rule *rule, const char *what)
{
    struct nvt_findings findings = look_with(shape, rule);
    assert_int_equal(findings.count, 1);
    if (!strstr(findings.items[0].what, what))
        fail_msg("%s", findings.items[0].what);
    free(findings.items);
}

static struct extra evaluation(int i)
{
    return (struct extra){"evaluate", i % 20 == 19 ? 6000 * US : 0};
}

static struct extra unnamed(int i)
{
    return (struct extra){NULL, i % 20 == 19 ? 6000 * US : 0};
}

/* Evaluations with a pause that comes and goes and one that is longer than all. */
static struct extra among_others(int i)
{
    if (i == 61)
        return (struct extra){NULL, 9000 * US};
    return i % 13 == 3 && i % 20 != 19 ? (struct extra){NULL, 2000 * US} : evaluation(i);
}

/* Every eighth evaluates, among pauses of any length in most others, so that none of them stands out. */
static struct extra among_noise(int i)
{
    if (i % 8 == 5)
        return (struct extra){"evaluate", 6000 * US};
    return (struct extra){NULL, i * 37 % 100 < 70 ? i * 53 % 41 * 100 * US : 0};
}

/* Every eighth logs, which is short, among the same pauses. */
static struct extra short_among_noise(int i)
{
    return i % 8 == 5 ? (struct extra){"log", 100 * US} : among_noise(i);
}

static struct extra evaluation_and_checkpoint(int i)
{
    return (struct extra){"evaluate+save", i % 20 == 19 ? 8000 * US : 0};
}

/* What is done at the same distance is one finding, with the time of both. */
static void all_parts_are_named(void **state)
{
    const struct shape shape = {"step", "named", 400, 1, evaluation_and_checkpoint};
    (void)state;
    expect_one(
        &shape, &nvt_rule_periodic,
        "every 20 iterations, an evaluation takes 4.80 ms and a checkpoint takes 3.20 ms: 28 %");
}

/* By range, by what lies behind a range that nobody named, and in PyTorch's profiler's steps; with other pauses too. */
static void periodic_work_is_found_in_any_loop(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{"iteration", "", 120, 1, evaluation},
                                          {"iteration", "", 120, 0, evaluation},
                                          {"lap", "", 120, 1, evaluation},
                                          {"lap", "", 120, 0, evaluation},
                                          {"ProfilerStep#", NULL, 120, 1, evaluation},
                                          {"iteration", "", 120, 1, among_others}};
    for (size_t i = 0; i < NVT_COUNT_OF(shapes); i++)
        expect_one(&shapes[i], &nvt_rule_periodic,
                   "every 20 iterations, an evaluation takes 6.00 ms: ");
    const struct shape behind = {"lap", "", 120, 0, unnamed}, within = {"lap", "", 120, 1, unnamed};
    expect_one(&behind, &nvt_rule_periodic, "every 20 iterations, one takes 6.0");
    expect_one(&within, &nvt_rule_periodic, "every 20 iterations, one takes 6.0");
    /* Named iterations that are longer for no known reason are slow ones, as before. */
    const struct shape slow = {"iteration", "", 120, 1, unnamed};
    expect_none(&slow);
    expect_one(&slow, &nvt_rule_iterations,
               "6 of 112 iterations take far longer, every 20 iterations");
}

/* Its cost is spread over all iterations. */
static void periodic_work_costs_what_it_takes(void **state)
{
    (void)state;
    const struct shape shape = {"iteration", "", 120, 1, evaluation};
    struct nvt_findings findings = look_with(&shape, &nvt_rule_periodic);
    assert_int_equal(findings.count, 1);
    assert_true(fabs(findings.items[0].cost_ns / (6000e3 * 6 / 112) - 1) < 0.01);
    assert_non_null(strstr(findings.items[0].evidence, "6 of 6 such iterations take 7.0"));
    assert_non_null(strstr(findings.items[0].remedy, "evaluate less often"));
    free(findings.items);
}

static struct extra once(int i)
{
    return (struct extra){"evaluate", i == 70 ? 60000 * US : 0};
}

static struct extra warm_up(int i)
{
    return (struct extra){NULL, i < 6 ? 9000 * US : 0};
}

/* As garbage is collected: at distances that change, 7 to 9. */
static struct extra collection(int i)
{
    static const int steps[] = {7, 8, 7, 9, 8};
    int at = 3;
    for (int k = 0; at < i; k++)
        at += steps[k % 5];
    return (struct extra){NULL, at == i ? 3000 * US : 0};
}

static struct extra random_pauses(int i)
{
    const unsigned value = (unsigned)(i + 1) * 2654435761u;
    return (struct extra){NULL, (value >> 16) % 12 == 0 ? 3000 * US : 0};
}

/* Every fourth has the step of accumulated gradients; batches come in fours from four workers. */
static struct extra accumulated(int i)
{
    return (struct extra){"optimizer", i % 4 == 3 ? 2000 * US : 0};
}

static struct extra batches(int i)
{
    return (struct extra){"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                          i % 4 == 3 ? 4000 * US : 0};
}

static struct extra too_few(int i)
{
    return (struct extra){"evaluate", i == 40 || i == 80 ? 9000 * US : 0};
}

static struct extra too_little(int i)
{
    return (struct extra){"evaluate", i % 20 == 19 ? 600 * US : 0};
}

static struct extra nothing(int i)
{
    (void)i;
    return (struct extra){NULL, 0};
}

/* Where times are so uneven that no iteration stands out, ranges at one distance show it. */
static void a_range_at_one_distance_needs_no_even_loop(void **state)
{
    (void)state;
    const struct shape noisy = {"iteration", "%s", 200, 1, among_noise},
                       brief = {"iteration", "%s", 200, 1, short_among_noise};
    expect_one(&noisy, &nvt_rule_periodic, "every 8 iterations, an evaluation takes 6.00 ms");
    expect_none(&brief);
}

static void what_is_not_periodic(void **state)
{
    (void)state;
    struct extra (*const extras[])(int) = {once,    warm_up, collection, random_pauses, accumulated,
                                           batches, too_few, too_little, nothing};
    for (size_t i = 0; i < NVT_COUNT_OF(extras); i++) {
        const struct shape named = {"iteration", "", 120, 1, extras[i]};
        const struct shape guessed = {"step", "", 120, 0, extras[i]};
        expect_none(&named);
        expect_none(&guessed);
    }
}

/* A program that infers with two models in turn, of 1 and of 10 ms, both of them of one class; every tenth time it writes for
 * `write_ns`. What the rule finds, which may be nothing. */
static struct nvt_findings look_at_inference(int64_t write_ns)
{
    struct maker maker = make_begin();
    maker.domain = nvt_trace_domain(maker.trace, maker.process, "PyTorch");
    noise = 1;
    for (int i = 0; i < 120; i++) {
        const int64_t start = maker.now;
        maker.now += vary(i % 2 ? 10000 * US : 1000 * US);
        make_range(&maker, "Sequential", start + US);
        maker.now += US;
        make_range(&maker, "forward", start);
        maker.now += i % 10 == 9 ? write_ns : US;
    }
    struct nvt_input_trace trace = {.trace = make_end(&maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(&nvt_rule_periodic, &facts, &findings, NULL), 0);
    nvt_trace_free(trace.trace);
    return findings;
}

static void models_that_take_turns_are_not_periodic(void **state)
{
    (void)state;
    struct nvt_findings healthy = look_at_inference(US), writing = look_at_inference(60000 * US);
    assert_int_equal(healthy.count, 0);
    assert_int_equal(writing.count, 1);
    assert_non_null(strstr(writing.items[0].what, "every 10 iterations"));
    free(writing.items);
}

/* Of 500 loops with random pauses in one of ten iterations, 1 in 100 may be taken for periodic. */
static unsigned seed;
static struct extra seeded(int i)
{
    const uint64_t value = ((uint64_t)seed << 32 | (uint32_t)i) * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t mixed = (value ^ value >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return (struct extra){NULL, (mixed >> 40) % 10 == 0 ? 3000 * US : 0};
}

static void chance_is_not_periodic(void **state)
{
    (void)state;
    size_t alarms = 0;
    for (seed = 1; seed <= 500; seed++) {
        const struct shape shape = {"step", "", 40 + (int)(seed % 160), 0, seeded};
        struct nvt_findings findings = look_with(&shape, &nvt_rule_periodic);
        alarms += findings.count;
        free(findings.items);
    }
    print_message("%zu alarms in 500 loops\n", alarms);
    assert_true(alarms <= 10);
}

static struct extra each_step(int i)
{
    (void)i;
    return (struct extra){"save", 700 * US};
}

static struct extra each_step_and_more(int i)
{
    return (struct extra){NULL, 700 * US + (i % 20 == 19 ? 6000 * US : 0)};
}

/* What lies behind each step, in the range or behind it; periodic work in it is told by itself. */
static void time_between_steps(void **state)
{
    (void)state;
    for (int is_around = 0; is_around < 2; is_around++) {
        const struct shape shape = {"iteration", "", 60, is_around, each_step};
        expect_one(&shape, &nvt_rule_between, "next iteration, most of that for a checkpoint");
        expect_none(&shape);
        const struct shape both = {"iteration", "", 120, is_around, each_step_and_more};
        struct nvt_findings findings = look_with(&both, &nvt_rule_between);
        assert_int_equal(findings.count, 1);
        assert_true(fabs(findings.items[0].cost_ns / 701e3 - 1) < 0.02);
        assert_non_null(strstr(findings.items[0].evidence, "was not recorded (--trace osrt,cpu)"));
        free(findings.items);
        const struct shape none = {"iteration", "", 120, is_around, evaluation};
        findings = look_with(&none, &nvt_rule_between);
        assert_int_equal(findings.count, 0);
        free(findings.items);
    }
}

/* Calls that block between steps are that finding's; calls elsewhere, too, are one of their own. */
static void calls_between_steps_are_one_finding(void **state)
{
    (void)state;
    static const struct {
        int writes, finds_blocked;
    } cases[] = {{1, 0}, {2, 1}, {3, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const struct shape shape = {"iteration", "", 60, 1, each_step};
        writes = cases[i].writes;
        struct nvt_findings findings = look_with(&shape, NULL);
        int between = 0, blocked = 0;
        for (size_t k = 0; k < findings.count; k++) {
            between += findings.items[k].rule == &nvt_rule_between;
            blocked += findings.items[k].rule == &nvt_rule_blocked;
        }
        assert_int_equal(between, 1);
        assert_int_equal(blocked, cases[i].finds_blocked);
        free(findings.items);
    }
    writes = 0;
}

static struct extra wait_for_batch(int i)
{
    (void)i;
    return (struct extra){"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                          700 * US};
}

/* The wait for the next batch is none of it, where a program tells the profiler of its next step only then. */
static void waits_for_batches_are_no_time_between_steps(void **state)
{
    (void)state;
    const struct shape shape = {"ProfilerStep#", NULL, 60, 1, wait_for_batch};
    struct nvt_findings findings = look_with(&shape, &nvt_rule_between);
    assert_int_equal(findings.count, 0);
    free(findings.items);
    findings = look_with(&shape, &nvt_rule_input);
    assert_int_equal(findings.count, 1);
    free(findings.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_named),
        cmocka_unit_test(periodic_work_is_found_in_any_loop),
        cmocka_unit_test(calls_between_steps_are_one_finding),
        cmocka_unit_test(periodic_work_costs_what_it_takes),
        cmocka_unit_test(a_range_at_one_distance_needs_no_even_loop),
        cmocka_unit_test(what_is_not_periodic),
        cmocka_unit_test(models_that_take_turns_are_not_periodic),
        cmocka_unit_test(chance_is_not_periodic),
        cmocka_unit_test(time_between_steps),
        cmocka_unit_test(waits_for_batches_are_no_time_between_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
