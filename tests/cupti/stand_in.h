/*
 * A stand-in for libcupti, and for the device behind it: NO part of it is NVIDIA's, and what it
 * delivers was made up by whoever calls the functions below. It keeps CUPTI's contract as far as
 * the collector relies on it (which calls are allowed when, who is asked for buffers, what a flush
 * hands over), so that the collector's code really runs on machines without a GPU. What only a
 * device can show, how long things take and when records are complete, it cannot.
 *
 * Programs load it by the path in $NVTALLY_CUPTI, as the collector does, and call these by dlsym.
 */
#ifndef NVT_TESTS_STAND_IN_H
#define NVT_TESTS_STAND_IN_H

#include <stdint.h>

/* A launch by the calling thread: its API records if they are on, a kernel of `ns` if kernels are
 * on. The kernel is complete at once, or never (complete = 0). */
typedef void (*stand_in_launch_function)(const char *name, uint64_t ns, int complete);
/* A copy to the device by the calling thread: its API record and the copy's, if they are on. */
typedef void (*stand_in_copy_function)(uint64_t bytes, uint64_t ns);
/* One record of every kind that a level asks for, with made-up fields (tests/test_cupti.c knows
 * them). */
typedef void (*stand_in_everything_function)(void);
/* cudaProfilerStart (1) and Stop (0), as a subscriber sees them; cudaDeviceReset. */
typedef void (*stand_in_profiler_function)(int start);
typedef void (*stand_in_reset_function)(void);
/* The next `count` records find no room. */
typedef void (*stand_in_drop_function)(uint64_t count);

#endif
