/*
 * Calls by the function of the program that makes them: what the reports of callers have in common. A call whose stack is not on
 * record has no function; one whose stack has no function of the program's own (call_sites.h) that of the library that called,
 * "[libcuda.so.1]".
 */
#ifndef NVT_REPORT_CALLERS_H
#define NVT_REPORT_CALLERS_H

#include "../studies/call_sites.h"
#include "../studies/calls_by_range.h"
#include "report.h"

enum { NVT_CALLERS_FUNCTION, NVT_CALLERS_MODULE, NVT_CALLERS_CALL, NVT_CALLERS_CALLS };

/* The columns of the table. */
#define NVT_CALLERS_COLUMNS                                                                        \
    {"Function", "", NVT_TEXT, 0, 0}, {"Module", "", NVT_TEXT, 0, 0},                              \
        {"Call", "", NVT_TEXT, 0, 0}, NVT_CALLS_COLUMNS

/* Over all traces: groups of a function, its module and a call. */
struct nvt_callers {
    struct nvt_groups groups;
    struct nvt_call_sites sites; /* of the trace that is being added */
};

/* A call by its name (a string of the trace), its stack (as calls have it) and its time. */
void nvt_callers_add(struct nvt_callers *callers, uint32_t name, uint32_t frame, int64_t ns);

/* The table of a report, which has these columns, over all traces of the input: `add` adds the calls of one. Those with the most
 * time come first. 0, or -1 with err filled. */
int nvt_callers_make(const struct nvt_report *report, const char *title,
                     void (*add)(struct nvt_callers *callers, const struct nvt_trace *trace),
                     struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err);

#endif
