/* Traces whose stacks are looked at, and what is made of them. */
#ifndef NVT_TESTS_STACKS_KIT_H
#define NVT_TESTS_STACKS_KIT_H

#include <stdint.h>

#include "../analyze/exports/export.h"
#include "../plots/chart.h"

/* A push/pop range; a function of Python's stack, which is a range of that domain. */
uint32_t stacks_add_range(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                          int64_t end);
void stacks_add_function(struct nvt_trace *trace, uint32_t thread, uint32_t domain,
                         const char *name, int64_t start, int64_t end);

/* The trace, finished. */
struct nvt_trace *stacks_finished(struct nvt_trace *trace);

/* What an exporter writes of a trace. */
void stacks_expect_written(const struct nvt_trace *trace, const struct nvt_exporter *exporter,
                           const char *expected);

/* The data of a chart of a trace, which is freed; NULL: it draws none. */
char *stacks_drawn(struct nvt_trace *trace, const struct nvt_chart *chart, const char *name);

#endif
