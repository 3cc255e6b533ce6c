/*
 * What the diagnosis takes for a loop: what lies beside it, in other processes and on other devices.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnose.h"
#include "made_trace.h"

#define MS 1000000

/* Iterations of 20 ms: the host works for so many ns, and a kernel runs for the rest. */
static void loop(struct maker *maker, int iterations, int64_t host_ns)
{
    for (int i = 0; i < iterations; i++) {
        int64_t start = maker->now;
        maker->now += host_ns;
        make_launch(maker, "gemm", 20 * MS - host_ns - 10000);
        make_wait(maker);
        maker->now = start + 20 * MS;
        make_range(maker, "iteration", start);
    }
}

/* Diagnose a trace, which is freed; findings of the rule, or of all. */
static struct nvt_findings look(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_input_trace trace = {.trace = make_end(maker)};
    struct nvt_report_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(rule ? nvt_rule_apply(rule, &facts, &findings, NULL)
                          : nvt_diagnose(&input, NULL, &findings, NULL),
                     0);
    nvt_trace_free(trace.trace);
    return findings;
}

static void expect_nothing(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_findings findings = look(maker, rule);
    if (findings.count)
        fail_msg("%s: %s; %s", findings.items[0].cause, findings.items[0].what,
                 findings.items[0].evidence);
    free(findings.items);
}

/* One finding, of so many ns; the texts are in its evidence. */
static void expect_one(struct maker *maker, const struct nvt_rule *rule, double cost_ns,
                       const char *const *texts)
{
    struct nvt_findings findings = look(maker, rule);
    assert_int_equal(findings.count, 1);
    const struct nvt_finding *finding = &findings.items[0];
    if (fabs(finding->cost_ns / cost_ns - 1) > 0.01)
        fail_msg("%s: %.0f ns, not %.0f; %s", finding->cause, finding->cost_ns, cost_ns,
                 finding->evidence);
    for (; *texts; texts++)
        if (!strstr(finding->evidence, *texts))
            fail_msg("%s: no \"%s\" in %s", finding->cause, *texts, finding->evidence);
    free(findings.items);
}

/* A gap that begins in the last iteration and ends a second later costs what of it is in there. */
static void what_lies_behind_a_loop_is_none_of_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    loop(&maker, 20, MS);
    maker.now += 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    expect_nothing(&maker, NULL);
    maker = make_begin();
    loop(&maker, 20, 4 * MS);
    maker.now += 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    expect_one(&maker, &nvt_rule_idle, 4 * MS,
               (const char *const[]){"1 gaps an iteration, 4.01 ms each, 20 % of", NULL});
    /* The same of what was launched in time: it is held for a second, behind the loop. */
    maker = make_begin();
    loop(&maker, 20, MS);
    maker.device = maker.now + 1000 * (int64_t)MS;
    make_launch(&maker, "evaluate", 2 * MS);
    expect_nothing(&maker, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_behind_a_loop_is_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
