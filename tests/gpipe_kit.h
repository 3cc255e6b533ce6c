/* Runs of the workload gpipe. */
#ifndef NVT_TESTS_GPIPE_KIT_H
#define NVT_TESTS_GPIPE_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "../analyze/input/runs.h"

/* A model that a processor takes some milliseconds for. */
#define GPIPE_SMALL                                                                                \
    "--d-model", "32", "--layers", "4", "--heads", "4", "--d-ff", "128", "--batch", "8",           \
        "--sequence", "16", "--vocabulary", "100", "--warmup", "1"

/* The records of the fixture's folder (cli.h), the caller's; a number in one. */
struct nvt_runs *gpipe_read_runs(void);
double gpipe_number(const struct nvt_runs *runs, size_t row, const char *key);

/* Ranges of a name in the trace of a path. */
uint32_t gpipe_count_ranges(const char *path, const char *name);

#endif
