/* Overviews of traces that were made up, and their screens. */
#ifndef NVT_TESTS_OVERVIEW_KIT_H
#define NVT_TESTS_OVERVIEW_KIT_H

#include <stddef.h>

#include "../analyze/model/recording.h"
#include "../analyze/overview/overview_text.h"

/* The overview of so many traces, the caller's; with every name as it is. */
struct nvt_overview overview_with(struct nvt_trace *const *traces, size_t count, int every_name);
struct nvt_overview overview_of(struct nvt_trace *const *traces, size_t count);

/* What a screen of that size shows, of which so many lines are taken; owned. */
char *overview_print(const struct nvt_overview *overview, size_t width, size_t height,
                     size_t taken);

/* The line that begins so has these parts. */
void overview_expect_line(const char *text, const char *start, const char *const parts[]);
#define OVERVIEW_LINE(text, start, ...)                                                            \
    overview_expect_line(text, start, (const char *const[]){__VA_ARGS__, NULL})

#endif
