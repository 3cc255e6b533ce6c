/* Charts of rows that are made up. */
#ifndef NVT_TESTS_PLOT_KIT_H
#define NVT_TESTS_PLOT_KIT_H

#include "cli.h"

/* Made-up rows: linear, two of each other line, at size 64 and batch 1; and one that failed. */
void plot_write_rows(const char *directory, const char *device);

/* `nvtally plot` with three words, of which the last ones may be NULL. */
struct cli_result plot_run(const char *a, const char *b, const char *c);

#endif
