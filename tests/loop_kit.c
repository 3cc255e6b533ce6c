#include "loop_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "finding_kit.h"

void loop_make(struct maker *maker, int iterations, int64_t host_ns)
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

struct nvt_findings loop_look_with(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_input_trace trace = {.trace = make_end(maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(rule ? nvt_rule_apply(rule, &facts, &findings, NULL)
                          : nvt_diagnose(&input, NULL, &findings, NULL),
                     0);
    nvt_trace_free(trace.trace);
    return findings;
}

void loop_expect_nothing(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_findings findings = loop_look_with(maker, rule);
    if (findings.count)
        fail_msg("%s: %s; %s", findings.items[0].cause, findings.items[0].what,
                 findings.items[0].evidence);
    free(findings.items);
}

void loop_expect_one(struct maker *maker, const struct nvt_rule *rule, double cost_ns,
                     const char *const *texts)
{
    struct nvt_findings findings = loop_look_with(maker, rule);
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
