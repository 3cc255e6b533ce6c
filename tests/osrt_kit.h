/* Recordings of tests/clients/os_calls, and their calls. */
#ifndef NVT_TESTS_OSRT_KIT_H
#define NVT_TESTS_OSRT_KIT_H

#include <stdint.h>

#include "read_kit.h"
#include "record_kit.h"

/* The program, recorded with these levels and options of two words at most; its output is the caller's. */
struct cli_result osrt_run(const char *what, const char *levels, const char *option,
                           const char *value);

/* The n-th call of that name in its thread's order, from 0; NVT_NONE: there are not as many. */
uint32_t osrt_call(const struct nvt_trace *trace, const char *name, unsigned n);

/* How many calls of a name there are; how long one took, in ns. */
uint32_t osrt_count(const struct nvt_trace *trace, const char *name);
int64_t osrt_length(const struct nvt_trace *trace, uint32_t row);

/* Fixtures of the group: the folder of cli.h and that of record_kit.h. */
int osrt_set_up(void **state);
int osrt_tear_down(void **state);

#endif
