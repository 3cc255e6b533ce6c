/* Traces that are built in memory, and the tables of reports on them. */
#ifndef NVT_TESTS_REPORTS_KIT_H
#define NVT_TESTS_REPORTS_KIT_H

#include <stdint.h>

#include "../analyze/reports/report.h"

/* Of the last call that failed. */
extern struct nvt_error reports_err;

/* A trace with process 53 and two threads, 53 and 54. */
struct nvt_trace *reports_new_trace(const char *path);

/* A push/pop range; it is a row then; both; the same of a domain. */
struct nvt_range reports_range(struct nvt_trace *trace, const char *name, int64_t start,
                               int64_t end);
void reports_add(struct nvt_trace *trace, struct nvt_range row);
void reports_push(struct nvt_trace *trace, const char *name, int64_t start, int64_t end);
void reports_push_in(struct nvt_trace *trace, const char *domain, const char *name, int64_t start,
                     int64_t end);

/* The tables of a report over these traces, which are finished first and freed with the input. */
struct nvt_tables reports_make_tables(const char *report, struct nvt_input *input);

/* One trace, or two. */
struct nvt_input reports_input_of(struct nvt_trace *first, struct nvt_trace *second);

/* A report of one trace or two, which are freed, is this as CSV, with these notes. */
void reports_expect_csv(struct nvt_trace *first, struct nvt_trace *second, const char *report,
                        const char *expected, const char *notes);

#endif
