/* Loops that are made up, and what the diagnosis finds in them. */
#ifndef NVT_TESTS_LOOP_KIT_H
#define NVT_TESTS_LOOP_KIT_H

#include <stdint.h>

#include "../analyze/diagnosis/diagnose.h"
#include "made_trace.h"

/* In ns. */
#define MS 1000000

/* Iterations of 20 ms: the host works for so many ns, and a kernel runs for the rest. */
void loop_make(struct maker *maker, int iterations, int64_t host_ns);

/* Diagnose a trace, which is freed; findings of the rule, or of all. */
struct nvt_findings loop_look_with(struct maker *maker, const struct nvt_rule *rule);

/* The rule finds nothing in a trace, which is freed. */
void loop_expect_nothing(struct maker *maker, const struct nvt_rule *rule);

/* One finding, of so many ns; the texts are in its evidence. */
void loop_expect_one(struct maker *maker, const struct nvt_rule *rule, double cost_ns,
                     const char *const *texts);

#endif
