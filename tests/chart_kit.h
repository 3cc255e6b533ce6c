/*
 * What the tests of charts share: what each chart must say, and the pictures that have to say it, in the width of a
 * paper's column.
 */
#ifndef NVT_TESTS_CHART_KIT_H
#define NVT_TESTS_CHART_KIT_H

#include <stdint.h>

#include "../analyze/exports/export.h"

enum {
    CHARTS = 30,
    TRACE_CHARTS = 13, /* the last ones */
    CHANGE_CHARTS = 4  /* the first ones: of comparisons */
};

/* The i-th chart, as the names of its files begin. */
const char *chart_name(size_t i);

/* Each picture of a list, a path a line, is as it must be; seen[i] counts those of chart i. */
void chart_expect_pictures(const char *paths, int seen[CHARTS]);

/* Whether there is no gnuplot, which is said then. */
int chart_no_gnuplot(void);

/* A loss that falls and tokens by the thousand, ten samples in so much time. */
void chart_add_counters(struct nvt_trace *trace, int64_t ns);

/* An OS call of a thread. */
void chart_add_os_call(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                       int64_t end);

/* All charts of a trace into a folder; their paths, owned. */
char *chart_draw(struct nvt_trace *trace, const char *directory);

/* All charts of a trace, which is freed; their files say what they should. */
void chart_draw_trace(struct nvt_trace *trace, const char *directory);

#endif
