/*
 * How much of the CPU time that processes used is in samples of it. Those that end before their first sample have none.
 */
#ifndef NVT_CPU_COVERAGE_H
#define NVT_CPU_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

/* In traces: the CPU time of the command and of all that it waited for, in seconds, where samples of all of it were wanted. */
#define NVT_CPU_USED "cpu time"

/* A sentence without its dot where less than three quarters of it are in samples, and 50 ms are not. Whether there is one. */
int nvt_cpu_coverage_note(int64_t sampled_ns, int64_t used_ns, char *text, size_t size);

#endif
