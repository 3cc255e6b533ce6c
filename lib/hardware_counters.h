/*
 * Hardware counters as `record --trace counters` reads them (collectors/inject/hardware.h), and whether they can be had on this machine.
 */
#ifndef NVT_HARDWARE_COUNTERS_H
#define NVT_HARDWARE_COUNTERS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Open a counter (`type` and `config` of struct perf_event_attr) of the calling thread in user code; `group`: the descriptor of the
 * first one of its group, -1: it is the first. A descriptor, or -1 with errno.
 */
static inline int nvt_hardware_counter_open(uint32_t type, uint64_t config, int group)
{
    struct perf_event_attr attributes = {.type = type,
                                         .size = sizeof(attributes),
                                         .config = config,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* The descriptor of a count of the calling thread's migrations, or -1 with errno. They happen in the kernel, so its code counts. */
static inline int nvt_migrations_open(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_CPU_MIGRATIONS};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

#define NVT_HARDWARE_WHY_MAX 384

/* The fact of a trace that says why it has no hardware counters. */
#define NVT_FACT_NO_HARDWARE "no hardware counters"

/* 1: they can. 0: they cannot, and `why` gets one line of it, with what to change where anything would help. */
int nvt_hardware_counters(char *why, size_t size);

/* The line for what perf_event_open(2) failed with; `paranoid`: of /proc/sys/kernel/perf_event_paranoid, INT_MIN: unknown. */
void nvt_hardware_counters_why(int error, int paranoid, char *why, size_t size);

#endif
