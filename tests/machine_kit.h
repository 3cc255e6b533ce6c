/* Recordings of the state of the machine, with a stand-in for NVML or without one. */
#ifndef NVT_TESTS_MACHINE_KIT_H
#define NVT_TESTS_MACHINE_KIT_H

#include "../analyze/readers/reader.h"
#include "cli.h"

/* Record a program of half a second with a stand-in of NVML, or without one. */
struct cli_result machine_record(const char *library, const char *wish, const char *what);

/* Its trace, the caller's. */
struct nvt_trace *machine_recorded(const char *library, const char *wish);

#endif
