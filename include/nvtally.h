/*
 * libnvtally: the statistics of NVTX ranges of one's own process, for benchmarks.
 *
 *     nvtally_session *session;
 *     nvtally_range_statistics s;
 *     nvtally_session_start(&session);
 *     ... nvtxRangePushA("work"); ...; nvtxRangePop(); ...   (cudaDeviceSynchronize() where there is CUDA)
 *     nvtally_session_stop(session);
 *     nvtally_range_stats(session, "work", &s);
 *     nvtally_session_free(session);
 *
 * When to start. NVTX and CUDA look for a collector once, at their first call. So the process's first
 * session starts before any NVTX or CUDA call, or their ranges and operations are not seen. Starting it sets
 * the environment variables NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH and NVTALLY_SESSION (as
 * setenv does: no other thread may use the environment meanwhile).
 *
 * What belongs to a session. Every range of this process, of whatever thread, that began and ended
 * between start and stop. Sessions of a process follow one another; there is one at a time. Recording
 * goes on between them, into the process's memory, until the process ends: a few bytes a range.
 * What a range launched on a device belongs to it as in `nvtally stats -r nvtx_gpu_proj_sum`: the call
 * lies in the range, on the range's thread. Synchronise with the device before stopping: operations that
 * have not ended at stop are not counted.
 *
 * Files. Nothing is kept. The trace is an anonymous memory file; each thread's buffer (1 MiB) is a file in
 * a private folder in /dev/shm (where that is missing, /tmp), removed as the process exits. A process
 * that is killed leaves that folder behind; the next session or `nvtally record` of the same user removes
 * it.
 *
 * Threads. start, stop and free may be called from any thread, also at once. A stopped session is
 * constant: nvtally_range_stats may be called for it from many threads, but not while it is freed. A child
 * made by fork after the first nvtally_session_start has no session: it is refused at once
 * (NVTALLY_NO_SESSION), whatever other threads were doing at the fork.
 */
#ifndef NVTALLY_H
#define NVTALLY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVTALLY_API __attribute__((visibility("default")))

/* What every function returns. */
enum nvtally_status {
    NVTALLY_OK = 0,
    NVTALLY_BAD_ARGUMENT = -1, /* a NULL pointer, an empty name */
    NVTALLY_BUSY = -2,         /* a session is running already */
    NVTALLY_OTHER_TOOL = -3, /* another tool is injected, or `nvtally record` watches the process */
    /* libnvtally-inject.so is neither next to this library nor in nvtally/ */
    NVTALLY_NO_COLLECTOR = -4,
    NVTALLY_NO_SESSION = -5, /* the session belongs to another process */
    NVTALLY_RUNNING = -6,    /* it has not been stopped */
    NVTALLY_STOPPED = -7,    /* it has been stopped */
    NVTALLY_NO_RANGE = -8,   /* no range of this name began and ended in the session */
    NVTALLY_NO_MEMORY = -9,
    /* a folder, thread or memory file could not be made, or written; or no range
     * of the name is known, and events were lost */
    NVTALLY_SYSTEM = -10,
};

typedef struct nvtally_session nvtally_session;

/* Of all ranges of a name. Times in nanoseconds; std is of the sample (divisor count - 1), 0 for one. */
typedef struct nvtally_range_statistics {
    uint64_t count;
    double host_mean_ns, host_std_ns, host_min_ns, host_max_ns; /* from its begin to its end */
    /* Time of the device operations (kernels, copies, memsets) launched in a range, added up, also
     * where they overlap; a range that launched none counts with 0. All 0 without has_device. */
    double device_mean_ns, device_std_ns, device_min_ns, device_max_ns;
    uint64_t kernels;    /* launched in all of them */
    uint64_t operations; /* kernels, copies and memsets */
    uint64_t lost;  /* NVTX events the whole process lost so far: not 0, and count may be short */
    int has_device; /* the process came up with CUDA and its work was recorded */
} nvtally_range_statistics;

/* Begin a session. *session is the caller's, for nvtally_session_free; NULL unless NVTALLY_OK. */
NVTALLY_API int nvtally_session_start(nvtally_session **session);

/* End it and read the recording. Whatever it returns, the session has ended; not for
 * NVTALLY_BAD_ARGUMENT, NVTALLY_NO_SESSION and NVTALLY_STOPPED, which change nothing. */
NVTALLY_API int nvtally_session_stop(nvtally_session *session);

/*
 * The statistics of the ranges of a name in a stopped session. `name` is "NAME", of whatever domain,
 * or "DOMAIN@NAME"; a name with an @ in it is first looked for as a whole. *statistics is only
 * written with NVTALLY_OK.
 */
NVTALLY_API int nvtally_range_stats(const nvtally_session *session, const char *name,
                                    nvtally_range_statistics *statistics);

/*
 * Write what a stopped session recorded as a trace (.nvt), which every command of nvtally reads: ranges, marks and counters that
 * began in it, in whatever process, and what devices did. A file of that name is replaced. *events, unless NULL, gets the number
 * of ranges, marks and device operations in it.
 */
NVTALLY_API int nvtally_session_save(const nvtally_session *session, const char *path,
                                     uint64_t *events);

/* Release a session; ends it first where it runs. NULL is fine. */
NVTALLY_API void nvtally_session_free(nvtally_session *session);

/* One line about a status; static text. */
NVTALLY_API const char *nvtally_status_text(int status);

/* The version of the library, as `nvtally --version` has it: "0.1.0"; static text. */
NVTALLY_API const char *nvtally_version(void);

#ifdef __cplusplus
}
#endif
#endif
