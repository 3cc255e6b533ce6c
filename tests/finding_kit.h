/*
 * What one rule finds in a trace that was made up (made_trace.h), and how many rules need what. For a test that includes cmocka.h.
 */
#ifndef NVT_FINDING_KIT_H
#define NVT_FINDING_KIT_H

#include "../analyze/diagnosis/diagnose.h"
#include "made_trace.h"

/* The rule's findings; the trace is finished, and gone. The caller frees the items. */
struct nvt_findings kit_find(struct maker *maker, const struct nvt_rule *rule);

/* There is none. */
void kit_find_nothing(struct maker *maker, const struct nvt_rule *rule);

/* There is one, which costs that much and says that. */
void kit_find_one(struct maker *maker, const struct nvt_rule *rule, double cost_ns,
                  const char *what, const char *evidence);

/* How many rules need one of `some` (0: whatever they need) and nothing of `without`, both of enum nvt_rule_needs. A test that expects a
 * number of rules asks for it here, so that a new rule does not change it. */
size_t kit_rules(unsigned some, unsigned without);

#endif
