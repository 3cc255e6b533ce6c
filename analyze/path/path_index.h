/*
 * What the critical path looks up in a trace: what ended last before a moment, in which call a thread was, in which
 * range (path_index.c), and what operations and calls waited for (path_waits.c). Only analyze/path/critical_path.c uses this.
 */
#ifndef NVT_PATH_INDEX_H
#define NVT_PATH_INDEX_H

#include "../model/buckets.h"
#include "../../lib/map.h"
#include "../model/trace.h"

/* What would be looked for among all streams is not found where there are more: programs have some hundred, files may be
 * made of them. */
#define NVT_PATH_STREAMS 1000

/* Launches take 2 to 10 us: one that takes so long loads what it launches, or waits for room. */
#define NVT_PATH_LONG_CALL_NS 20000

/* From `time` on, a thread's innermost push/pop range is this one, or NVT_NONE. */
struct nvt_path_piece {
    int64_t time;
    uint32_t range;
};

/* The least time that passes in between, ns: what is over it was waiting for something else. Measured as the least of
 * this trace, and bounded by what devices of today need. */
struct nvt_path_delays {
    /* from the start of a call to that of its kernel, copy, memset, kernel of a graph */
    int64_t launch[4];
    int64_t behind; /* from the end of an operation to the start of the next one of its stream */
    /* from the end of an operation to the start of another stream's that waits for it */
    int64_t event;
    int64_t wake; /* from the end of an operation to the return of the call that waits for it */
    int64_t call; /* that a call that waits takes when it need not */
};

struct nvt_path_index {
    const struct nvt_trace *trace;
    uint32_t *stream_of;    /* op -> number of its stream */
    struct nvt_map streams; /* process, device, stream -> number */
    uint32_t stream_count;
    struct nvt_buckets by_start, by_end; /* operations by stream */
    struct nvt_buckets process_by_end;   /* operations by process */
    struct nvt_buckets waits;            /* syncs that make a stream wait, by stream */
    int has_nested;                      /* there are calls within calls */
    struct nvt_buckets calls;    /* outermost CUDA calls by thread, without those that only ask */
    struct nvt_buckets os_calls; /* outermost OS calls by thread */
    uint32_t *op_of;             /* api -> the first operation that it launched, NVT_NONE */
    uint32_t *sync_of;           /* api -> its sync, NVT_NONE */
    int64_t *recorded_at; /* sync -> start of the call that recorded its event, INT64_MIN unknown */
    struct nvt_path_piece *pieces; /* of thread t: from first_piece[t] to first_piece[t + 1] */
    uint32_t *first_piece;
    struct nvt_path_delays delays;
    int knows_wake, knows_behind; /* these delays were measured */
};

/* For a finished trace. 0, or -1 when out of memory. Release with nvt_path_index_free in either case. */
int nvt_path_index_make(struct nvt_path_index *index, const struct nvt_trace *trace);
void nvt_path_index_free(struct nvt_path_index *index);

/* Fill in the delays of an index that has all else: part of nvt_path_index_make. */
void nvt_path_measure(struct nvt_path_index *index);

/* The number of the stream of a process and device with this id; where the device has none of it, of another device: an event
 * may be recorded there, and nsys gives all synchronisation to device 0. NVT_NONE: none. */
uint32_t nvt_path_stream(const struct nvt_path_index *index, uint32_t process, uint32_t device,
                         uint32_t stream);

/* The place of an operation in its stream: in by_start.rows. */
uint32_t nvt_path_place(const struct nvt_path_index *index, uint32_t op);

/* Which operations: of a stream, or with NVT_NONE of a process; of a device or context, NVT_NONE: of all. */
struct nvt_path_ops {
    uint32_t stream, process, device, context;
};

/* The one that ended last, at `until` at the latest and after `after`, and whose launch is not known to be after
 * `launched`. NVT_NONE: none. */
uint32_t nvt_path_last(const struct nvt_path_index *index, struct nvt_path_ops of, int64_t after,
                       int64_t until, int64_t launched);

/* The one of its stream that ended last before an operation began; NVT_NONE: none. */
uint32_t nvt_path_before(const struct nvt_path_index *index, uint32_t op);

/* The operation that ended last before it began, of those that recorded events made it wait for; NVT_NONE: none. */
uint32_t nvt_path_event_before(const struct nvt_path_index *index, uint32_t op);

/* The operation that a call waited for, which ended within it; NVT_NONE: none. */
uint32_t nvt_path_waited_for(const struct nvt_path_index *index, uint32_t call);

/* Which of nvt_path_delays.launch an operation's is. */
int nvt_path_launch_class(const struct nvt_trace *trace, uint32_t op);

/* The last of a thread's calls that started before a moment, NVT_NONE: none. */
uint32_t nvt_path_call_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment);

/* The outermost call around one: a driver's call lies in one of the runtime, and what it launched or waited for was
 * recorded as the one's or the other's. */
uint32_t nvt_path_outermost(const struct nvt_path_index *index, uint32_t call);

/* The last of a thread's pieces that begins before a moment, as a place in `pieces`, NVT_NONE: none. */
uint32_t nvt_path_piece_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment);

/* The innermost range of a thread at a moment, NVT_NONE: none. */
uint32_t nvt_path_range_at(const struct nvt_path_index *index, uint32_t thread, int64_t moment);

/* The last moment before `moment` at which a thread began or ended a call or range, INT64_MIN: none; and the first
 * one from it on, INT64_MAX: none. */
int64_t nvt_path_edge_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment);
int64_t nvt_path_edge_from(const struct nvt_path_index *index, uint32_t thread, int64_t moment);

#endif
