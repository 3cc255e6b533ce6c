#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "finding_kit.h"

struct nvt_findings kit_find(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_input_trace trace = {.trace = make_end(maker)};
    struct nvt_input input = {.traces = &trace, .trace_count = 1};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    assert_int_equal(nvt_rule_apply(rule, &facts, &findings, NULL), 0);
    nvt_trace_free(trace.trace);
    return findings;
}

void kit_find_nothing(struct maker *maker, const struct nvt_rule *rule)
{
    struct nvt_findings findings = kit_find(maker, rule);
    if (findings.count)
        fail_msg("%s; %s", findings.items[0].what, findings.items[0].evidence);
    free(findings.items);
}

void kit_find_one(struct maker *maker, const struct nvt_rule *rule, double cost_ns,
                  const char *what, const char *evidence)
{
    struct nvt_findings findings = kit_find(maker, rule);
    if (findings.count != 1)
        fail_msg("%zu findings instead of %s", findings.count, what);
    assert_string_equal(findings.items[0].what, what);
    assert_string_equal(findings.items[0].evidence, evidence);
    assert_true(fabs(findings.items[0].cost_ns - cost_ns) < 1);
    free(findings.items);
}

size_t kit_rules(unsigned some, unsigned without)
{
    size_t count, found = 0;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < count; i++)
        found += (!some || rules[i]->needs & some) && !(rules[i]->needs & without);
    return found;
}
