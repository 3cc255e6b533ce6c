/*
 * Diagnosis: findings, each with what it costs, the evidence, a remedy and how sure it is. A new rule is
 * one new file analyze/diagnose_<name>.c and one line in the table of diagnose.c.
 */
#ifndef NVT_DIAGNOSE_H
#define NVT_DIAGNOSE_H

#include "report.h"

struct nvt_finding {
    const char *cause;  /* "scaling", "sync-bound" …; static text */
    double cost_ns;     /* what an iteration, or else the trace, would be spared at most */
    int confidence;     /* percent */
    char where[256];    /* configuration or file, and the range, kernel or call */
    char what[256];     /* one sentence */
    char evidence[512]; /* numbers and examples of when, in ns on the trace's axis */
    char remedy[256];
};

struct nvt_findings {
    struct nvt_finding *items;
    size_t count, capacity;
};

/* What rules read. */
struct nvt_case {
    const struct nvt_report_input *input; /* with its traces */
    const char *by; /* axis along which runs are compared, NULL: each one that varies */
};

/* All rules over the input (its traces read), the costliest finding first; `by` as in struct nvt_case.
 * The caller frees findings->items, also on failure. 0, or -1 with err. */
int nvt_diagnose(const struct nvt_report_input *input, const char *by,
                 struct nvt_findings *findings, struct nvt_error *err);

/* Append a copy. 0, or -1 with err when out of memory. */
int nvt_findings_add(struct nvt_findings *findings, const struct nvt_finding *finding,
                     struct nvt_error *err);

typedef int (*nvt_rule)(const struct nvt_case *facts, struct nvt_findings *findings,
                        struct nvt_error *err);

/*
 * Several runs that differ in one numeric axis: what is done once (or m times) for each unit of it, and
 * whose cost grows with it. Cost an iteration = a + b·n by least squares over the runs; b with its 95 %
 * interval (Student's t, k − 2 degrees of freedom). A finding is what is entered in proportion to n and
 * takes at least 5 % of an iteration, or whose b is above 0 at 95 % and adds a quarter to its own cost
 * and 10 % to the iteration from the least n to the largest.
 */
int nvt_diagnose_scaling(const struct nvt_case *facts, struct nvt_findings *findings,
                         struct nvt_error *err);

/* The first iterations of a trace are slower than the rest: they were measured too. */
int nvt_diagnose_warmup(const struct nvt_case *facts, struct nvt_findings *findings,
                        struct nvt_error *err);

/* Calls that wait for the device, allocate, or launch, many times in an iteration. */
int nvt_diagnose_calls(const struct nvt_case *facts, struct nvt_findings *findings,
                       struct nvt_error *err);

/* Ranges that end before the device work that they launched. */
int nvt_diagnose_timing(const struct nvt_case *facts, struct nvt_findings *findings,
                        struct nvt_error *err);

/* Iterations of a trace: ranges of that name, row numbers ascending; malloc'ed with *count, NULL when
 * out of memory. */
uint32_t *nvt_iterations(const struct nvt_trace *trace, uint32_t *count);

/* The name of an input trace for `where`: its configuration, or its file. */
void nvt_case_name(const struct nvt_input_trace *from, char *out, size_t size);

#endif
