/*
 * The critical path: the chain of host code, CUDA calls, launches and device operations of which each began because the
 * one before it had ended, from the first event of a process to its last. Time taken off something on it comes off the
 * whole; time taken off anything else shortens nothing, as long as it stays off the path.
 *
 * It is followed backwards from the last event, from each thing to that of its predecessors that was the last to be ready
 * (the path: Yang and Miller, "Critical path analysis for the execution of parallel and distributed programs", 1988; following
 * last-arriving edges instead of searching the graph: Fields, Rubin and Bodík, "Focusing processor policies via
 * critical-path prediction", 2001; of CUDA programs, with the graph: Schmitt et al., "Scalable critical path analysis for
 * hybrid MPI-CUDA applications", 2014, and Holistic Trace Analysis):
 *
 * - An operation begins after the call that launched it, after what its stream was given before it, and after the events
 *   that the stream was ordered to wait for in between. It waited for the one of these after which it began with the least
 *   delay, minus the least such delay in this trace. When it began more than NVT_PATH_STALL_NS later than any of them
 *   explains, and an operation of another stream had just ended, it is taken to have waited for that operation: by an event
 *   that was not recorded, or for room on the device (`inferred`).
 * - A call that waits ends behind the operation that it waits for, where that ended within the call; otherwise it
 *   ends of itself, and so does every other call. A launch that takes long behind hundreds of others waited for room, until
 *   the first of them ended. What is waited for: the stream's, the event's, or the last operation that
 *   ended, where the trace does not say more.
 * - A thread does one thing after the other. Where it was silent, and another one of the process that was at
 *   work then fell silent when it went on, that other one handed over to it (`handovers`): PyTorch's backward pass,
 *   workers that are waited for. No trace records these.
 * - Where a thread is followed, recorded OS calls (os_calls) are steps of their own: files, locks,
 *   sleeping. Who held a lock is not followed.
 *
 * What is not seen: other processes (a collective that waits for another rank is communication), and polling: calls
 * that only ask (cudaEventQuery) count as host code. So do locks and files, unless their calls were recorded.
 */
#ifndef NVT_CRITICAL_PATH_H
#define NVT_CRITICAL_PATH_H

#include "../model/trace.h"

enum nvt_path_kind {
    NVT_PATH_COMPUTE,       /* row: of ops */
    NVT_PATH_COMMUNICATION, /* row: of ops */
    NVT_PATH_COPY,          /* row: of ops; copies and memsets */
    NVT_PATH_GAP,           /* row: of ops, which began a little after what it waited for */
    NVT_PATH_STALL,         /* row: of ops, which began long after everything that was recorded */
    NVT_PATH_LAUNCH,        /* row: of ops, from the return of its call until it began */
    NVT_PATH_CALL,          /* row: of apis */
    NVT_PATH_WAKE,          /* row: of apis, which returned after what it waited for had ended */
    NVT_PATH_SYSTEM,        /* row: of os_calls: an OS call, on the thread that is followed */
    NVT_PATH_HOST,          /* no row: outside of calls */
};
#define NVT_PATH_KINDS 10

/* "Compute", "Communication" … */
const char *nvt_path_kind_name(enum nvt_path_kind kind);

struct nvt_path_segment;
/* The name of its operation or call; "" for the host. */
const char *nvt_path_name(const struct nvt_trace *trace, const struct nvt_path_segment *segment);

/* What an operation is when it is on the path. */
enum nvt_path_kind nvt_path_kind_of_op(const struct nvt_trace *trace, uint32_t op);

/* Whether a kind's rows are of ops. */
int nvt_path_is_of_op(enum nvt_path_kind kind);

/* From where on a delay on a device is not explained by the device: it takes 2 to 10 µs. */
#define NVT_PATH_STALL_NS 10000
/* Threads that are silent for less hand nothing over. */
#define NVT_PATH_HANDOVER_NS 50000

struct nvt_path_segment {
    int64_t start, end; /* ns; a segment ends where the next one starts */
    uint32_t row;       /* see enum nvt_path_kind; NVT_NONE for the host */
    /* innermost push/pop range of the thread, or of the launch, or that waits for that thread (path_lent.h);
     * NVT_NONE */
    uint32_t range;
    uint32_t thread; /* of the host; NVT_NONE for the device */
    uint8_t kind;    /* enum nvt_path_kind */
};

/* The path of a process that has device operations. */
struct nvt_critical_path {
    uint32_t process;
    uint32_t count;
    struct nvt_path_segment *segments; /* in the order of time */
    uint32_t inferred, handovers;      /* steps of it that the trace does not say, see above */
};

/* Zero-initialise; release with nvt_critical_paths_free. */
struct nvt_critical_paths {
    struct nvt_critical_path *items;
    uint32_t count;
    int is_blind; /* operations are there, and no CUDA calls but those that launch: no paths, as it is
                     unknown what the host waited for (`record` has no other calls by default) */
};

/*
 * The paths of a finished trace, in the order of its processes; `flags` say how operations belong to ranges (device/project.h). Sorts
 * the operations by end, else linear in the trace, and a binary search for each step. 0, or -1 with err filled (out of memory).
 */
int nvt_critical_paths_make(struct nvt_critical_paths *paths, const struct nvt_trace *trace,
                            unsigned flags, struct nvt_error *err);
void nvt_critical_paths_free(struct nvt_critical_paths *paths);

#endif
