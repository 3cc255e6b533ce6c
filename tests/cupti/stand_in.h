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
/* cudaProfilerStart (1) and Stop (0), as a subscriber sees them; cudaDeviceReset, or what $STAND_IN_RESETS names. */
typedef void (*stand_in_profiler_function)(int start);
typedef void (*stand_in_reset_function)(void);
/* The driver comes up, which takes so many us: first of all CUPTI makes records of devices. It goes down at exit. */
typedef void (*stand_in_come_up_function)(unsigned us);
/* CUPTI says something of itself: a warning, that it has ended, and more warnings. */
typedef void (*stand_in_warn_function)(void);
/* Another tool in this process gives CUPTI its own buffers, and takes what comes. */
typedef void (*stand_in_take_over_function)(void);
/* The next `count` records find no room. */
typedef void (*stand_in_drop_function)(uint64_t count);

/* Returns when CUPTI has been flushed so many times from now on, or when ten minutes have passed: 0. What the program has launched before
 * comes with the second one at the latest, and who flushes again is done with it. */
typedef int (*stand_in_wait_for_flushes_function)(unsigned count);

/* PM sampling: returns when so many samples were decoded, and what they became was asked for and sent (the next decoding has
 * begun), or when it was refused, or when half a minute has passed: 0. */
typedef int (*stand_in_wait_for_samples_function)(uint64_t count);

/* --- of a device that really runs something (tests/emulated): each is recorded if it is wanted --- */

/* The time as CUPTI has it, and a new number of a call, by which what the call gave to the device is known. */
typedef uint64_t (*stand_in_now_function)(void);
typedef uint32_t (*stand_in_correlation_function)(void);

/* A call of the runtime by its name, "cudaLaunchKernel", by this thread; it ends now. */
typedef void (*stand_in_call_function)(const char *function, uint64_t start, uint32_t correlation);

/* What a stream ran. */
enum stand_in_kind {
    STAND_IN_NOTHING,
    STAND_IN_KERNEL,
    STAND_IN_COPY,
    STAND_IN_PEER_COPY, /* between devices */
    STAND_IN_SET
};
struct stand_in_operation {
    enum stand_in_kind kind;
    const char *name;                /* of a kernel; it stays */
    uint32_t blocks, threads;        /* of a kernel */
    uint64_t bytes;                  /* of a copy or a set */
    uint32_t from_device, to_device; /* of a copy between devices */
    int to_host;                     /* of a copy */
    uint32_t graph, node;            /* 0: no graph */
    uint64_t start, end;
    const void *stream;
    uint32_t device, correlation;
};
typedef void (*stand_in_operation_function)(const struct stand_in_operation *operation);

/* Memory taken (1) or given back (0) just now; of a pool, what it then has and uses. */
struct stand_in_memory {
    int taken, pooled;
    uint64_t address, bytes, pool_bytes, pool_used;
    const void *stream;
    uint32_t device, correlation;
};
typedef void (*stand_in_memory_function)(const struct stand_in_memory *memory);

/* A wait, for a stream of the device or (NULL) for all of it, that ends now. */
typedef void (*stand_in_wait_function)(uint32_t device, const void *stream, uint64_t start,
                                       uint32_t correlation);

/* An event recorded on a stream of a device by a call, and a stream that a call tells to wait for it. */
typedef void (*stand_in_event_function)(uint32_t device, const void *stream, uint32_t event,
                                        uint32_t correlation);
typedef void (*stand_in_let_wait_function)(uint32_t device, const void *stream, uint32_t event,
                                           uint64_t start, uint32_t correlation);

#endif
