/* The overview on a terminal: one screen. */
#ifndef NVT_OVERVIEW_TEXT_H
#define NVT_OVERVIEW_TEXT_H

#include "../../lib/terminal.h"
#include "overview.h"
#include "overview_study.h"

struct nvt_overview_view {
    struct nvt_screen screen;
    size_t lines;      /* that it may take; rows and ranks that have no room are left out */
    const char *input; /* the arguments of a command that looks at the same, as they are typed */
};

/* Lines of a screen for it, without the line of the prompt: 24 where its height is not known. `taken`: those of others. */
size_t nvt_overview_lines(const struct nvt_screen *screen, size_t taken);

/* Write it, in lines that fit. Without a terminal they have 80 columns. */
void nvt_overview_print(const struct nvt_overview *overview, const struct nvt_overview_view *view,
                        FILE *out);

/* Directories of runs: what stands in front of the table of their study; and behind it, findings and what to type next, in so
 * many lines. */
void nvt_overview_print_study(const struct nvt_overview_study *study,
                              const struct nvt_overview_view *view, FILE *out);
size_t nvt_overview_end_lines(const struct nvt_overview *overview);
void nvt_overview_print_end(const struct nvt_overview *overview,
                            const struct nvt_overview_view *view, FILE *out);

#endif
