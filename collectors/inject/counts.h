/*
 * CPU counts of the calling thread, at each push and pop of a range (--trace counters).
 *
 * They take two system calls, of which none blocks, and nothing that a process has a limited number of. So they work wherever a
 * program runs, a virtual machine without hardware counters included, and need no permission. What the system refuses (a
 * filter of system calls) is left out, the mask says so (lib/counts.h), and the recorder says it at its end.
 */
#ifndef NVT_INJECT_COUNTS_H
#define NVT_INJECT_COUNTS_H

#include <stddef.h>

#include "hardware.h"

/* Whether the session asks for them: set before there are events. */
extern int nvt_counts_are_asked;

/* The payload of an event that happens now: NVT_COUNTS_BYTES at most, to `out`. Bytes written. `hardware` is the calling thread's,
 * which is opened where it was not. errno stays. */
size_t nvt_counts_read(char *out, struct nvt_hardware *hardware);

/* What a reading costs here, ps: the median of some. */
unsigned nvt_counts_cost(void);

/* What a minor fault on a new page of 4 KiB costs here, ps: the median of some rounds. 0: there is no memory for it. */
unsigned nvt_counts_fault_cost(void);

#endif
