/* Runs of workloads by the CUDA backend as it is compiled for a device, on the stand-in for CUDA in tests/emulated. */
#ifndef NVT_TESTS_EMULATED_KIT_H
#define NVT_TESTS_EMULATED_KIT_H

#include "../analyze/input/runs.h"
#include "cli.h"

/* A run of words apart by blanks, into a folder of the fixture's. */
struct cli_result emulated_run(const char *words, const char *backend, const char *folder,
                               const char *const *environment);

/* Its records, the caller's, if it ends with a status; with 0. */
struct nvt_runs *emulated_rows_that_end(int status, const char *words, const char *backend,
                                        const char *folder, const char *const *environment);
struct nvt_runs *emulated_rows_of(const char *words, const char *backend, const char *folder,
                                  const char *const *environment);

/* As floats are that were summed in another order. */
int emulated_is_near(double value, double expected);

/* Rows of both in pairs: the same loss, the same memory. */
void emulated_expect_the_hosts(const char *words, const char *folder, const char *seed);

/* Axes of a small language model and of a small pipeline. */
#define SMALL_MODEL                                                                                \
    "--d-model 32 --d-ff 64 --layers 2 --heads 4 --context 12 --vocabulary 101 --batch 2 "

#define SMALL_PIPELINE                                                                             \
    "gpipe --layers 4 --d-model 16 --heads 2 --d-ff 32 --batch 4 --sequence 6 --vocabulary 31 "    \
    "--iterations 2 --warmup 1 "

#endif
