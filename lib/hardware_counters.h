/*
 * Whether the hardware's counters can be had for `record --trace counters` on this machine (collectors/inject/hardware.h).
 */
#ifndef NVT_HARDWARE_COUNTERS_H
#define NVT_HARDWARE_COUNTERS_H

#include <stddef.h>

/* 1: they can. 0: they cannot, and `why` gets one line of it, with what to change where anything would help. */
int nvt_hardware_counters(char *why, size_t size);

/* The line for what perf_event_open(2) failed with; `paranoid`: of /proc/sys/kernel/perf_event_paranoid, INT_MIN: unknown. */
void nvt_hardware_counters_why(int error, int paranoid, char *why, size_t size);

#endif
