/*
 * Recordings of tests/pytorch, a stand-in for as much of PyTorch as `record --pytorch` changes: PyTorch itself is too
 * large for a test.
 */
#ifndef NVT_TESTS_PYTORCH_KIT_H
#define NVT_TESTS_PYTORCH_KIT_H

#include <limits.h>
#include <stdint.h>

#include "cli.h"
#include "record_kit.h"

/* The folder of the stand-in. */
extern char pytorch_stand_in[PATH_MAX];

/* Whether there is a python3, and a word if not. */
int pytorch_has_python(void);

/* Record python3 with an argument, PYTHONPATH being those folders. */
struct cli_result pytorch_record(const char *path, const char *option, const char *argument);

/* So many ranges of a name were closed. */
void pytorch_expect_count(const struct nvt_trace *trace, const char *name, uint32_t count);

/* Fixture of the group, with recorded_tear_down. */
int pytorch_find_stand_in(void **state);

#endif
