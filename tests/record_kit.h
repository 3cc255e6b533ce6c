/*
 * What the tests of `record` share: a client of tests/clients recorded in a folder of the test's
 * own, and what is asked of the trace. What is not there fails the test that asked.
 */
#ifndef NVT_TESTS_RECORD_KIT_H
#define NVT_TESTS_RECORD_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "../analyze/readers/reader.h"
#include "cli.h"

/* Group fixtures: the folder, and its removal. */
int recorded_set_up(void **state);
int recorded_tear_down(void **state);

/* Of a file in the folder, and of the trace there; valid as cli_in's paths are. */
const char *recorded_in(const char *name);
const char *recorded_path(void);

/* `nvtally record` of a client with an argument, which may be NULL. */
struct cli_result recorded_run(const char *client, const char *argument);

/* Whether a child of fork() sees zeros where MADV_WIPEONFORK says so; emulators take the advice and do nothing, and a
 * child then writes into its parent's ring. Where not, that is said. */
bool recorded_wipes(void);

/* Whether the collector can be preloaded into any program. One that has a sanitizer ends those that have none; that is said. */
bool recorded_preloads(void);

/* The trace in the folder, owned by the caller. */
struct nvt_trace *recorded_trace(void);

/* That of a path; calls of CUDA of that name in one. */
struct nvt_trace *recorded_trace_at(const char *path);
uint32_t recorded_calls(const struct nvt_trace *trace, const char *name);

/* Ranges of that name that were closed; the first row of that name. */
uint32_t recorded_count(const struct nvt_trace *trace, const char *name);
uint32_t recorded_range(const struct nvt_trace *trace, const char *name);
uint32_t recorded_mark(const struct nvt_trace *trace, const char *name);

#endif
