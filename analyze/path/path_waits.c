/* What operations and calls of a trace waited for. */
#include <string.h>

#include "../../lib/clock.h"
#include "../model/cuda_names.h"
#include "../device/gaps.h"
#include "path_index.h"

/* Bounds of the least delays: a trace in which everything waits for something else must not make that the least. */
#define LAUNCH_AT_MOST 20000
#define BEHIND_AT_MOST 5000
#define EVENT_AT_MOST  10000
#define WAKE_AT_MOST   20000
#define CALL_AT_MOST   5000
/* Clocks of device and host are brought together to about this: an operation that ends so much behind the call that
 * waits for it still ends within it. */
#define CLOCKS_NS 2000
/* Events that one operation is made to wait for. */
#define WAITS_AT_MOST 1000
/* How many operations are queued at least where a launch waits for room. */
#define QUEUED 256u

/* --- events and waits ---------------------------------------------------------------------------------- */

/* The operation that an event was recorded behind, if it had ended by `until`. */
static uint32_t recorded_behind(const struct nvt_path_index *index, uint32_t sync, int64_t until)
{
    const struct nvt_syncs *syncs = &index->trace->syncs;
    uint32_t stream = nvt_path_stream(index, syncs->process[sync], syncs->device[sync],
                                      syncs->recorded_stream[sync]);
    const struct nvt_path_ops of = {stream, 0, NVT_NONE, NVT_NONE};
    return stream == NVT_NONE
               ? NVT_NONE
               : nvt_path_last(index, of, INT64_MIN, until, index->recorded_at[sync]);
}

uint32_t nvt_path_event_before(const struct nvt_path_index *index, uint32_t op)
{
    const struct nvt_ops *ops = &index->trace->ops;
    const struct nvt_syncs *syncs = &index->trace->syncs;
    uint32_t stream = index->stream_of[op], latest = NVT_NONE;
    uint32_t first = index->waits.first[stream], at = index->waits.first[stream + 1];
    if (first == at || ops->launch[op] == INT64_MIN)
        return NVT_NONE;
    uint32_t place = nvt_path_place(index, op);
    int64_t since = place > index->by_start.first[stream]
                        ? ops->launch[index->by_start.rows[place - 1]]
                        : INT64_MIN;
    at = nvt_buckets_behind(&index->waits, stream, syncs->start, ops->launch[op]);
    for (int looks = 0;
         at > first && looks < WAITS_AT_MOST && syncs->start[index->waits.rows[--at]] > since;
         looks++) {
        uint32_t other = recorded_behind(index, index->waits.rows[at], ops->start[op]);
        if (other != NVT_NONE && other < op &&
            (latest == NVT_NONE || ops->end[other] > ops->end[latest]))
            latest = other;
    }
    return latest;
}

/* Calls that give memory back wait until the device has done everything, unless they say that they do not. */
static int waits_for_all(const char *name)
{
    return (!strncmp(name, "cudaFree", 8) || !strncmp(name, "cuMemFree", 9) ||
            !strncmp(name, "hipFree", 7)) &&
           !strstr(name, "Async");
}

/* Whether something of the process that was launched before a call went on behind its end. */
static int is_outlasted(const struct nvt_path_index *index, uint32_t process, uint32_t call)
{
    const struct nvt_ops *ops = &index->trace->ops;
    const struct nvt_apis *apis = &index->trace->apis;
    if (index->stream_count > NVT_PATH_STREAMS)
        return 1;
    for (uint32_t stream = 0; stream < index->stream_count; stream++) {
        uint32_t next = nvt_buckets_behind(&index->by_end, stream, ops->end,
                                           nvt_clock_sum(apis->end[call], CLOCKS_NS));
        if (next == index->by_end.first[stream + 1])
            continue;
        uint32_t op = index->by_end.rows[next];
        if (ops->process[op] == process && ops->launch[op] < apis->start[call])
            return 1;
    }
    return 0;
}

/* What a call waits for by its record; NVT_NONE where that does not tell it. */
static uint32_t synchronised(const struct nvt_path_index *index, uint32_t call, uint32_t sync)
{
    const struct nvt_syncs *syncs = &index->trace->syncs;
    int64_t start = index->trace->apis.start[call];
    int64_t until = nvt_clock_sum(index->trace->apis.end[call], CLOCKS_NS);
    struct nvt_path_ops of = {NVT_NONE, syncs->process[sync], NVT_NONE, NVT_NONE};
    if (syncs->type[sync] == NVT_SYNC_EVENT && index->recorded_at[sync] != INT64_MIN) {
        uint32_t op = recorded_behind(index, sync, until);
        return op != NVT_NONE && index->trace->ops.end[op] > start ? op : NVT_NONE;
    }
    if (syncs->type[sync] == NVT_SYNC_CONTEXT) {
        of.context = syncs->context[sync] ? syncs->context[sync] : NVT_NONE;
        return nvt_path_last(index, of, start, until, start);
    }
    of.stream =
        nvt_path_stream(index, syncs->process[sync], syncs->device[sync], syncs->stream[sync]);
    return of.stream == NVT_NONE ? NVT_NONE : nvt_path_last(index, of, start, until, start);
}

/* Whether its record says what a call waits for, be it nothing. */
static int is_told(const struct nvt_path_index *index, uint32_t call)
{
    uint32_t sync = index->sync_of[call];
    uint8_t type = sync == NVT_NONE ? NVT_SYNC_UNKNOWN : index->trace->syncs.type[sync];
    return type == NVT_SYNC_STREAM || type == NVT_SYNC_CONTEXT ||
           (type == NVT_SYNC_EVENT && index->recorded_at[sync] != INT64_MIN);
}

/* What had to end before a launch found room: a stream takes so many operations at once, some 1000 of them. */
static uint32_t made_room(const struct nvt_path_index *index, uint32_t call, uint32_t op)
{
    const struct nvt_apis *apis = &index->trace->apis;
    const struct nvt_path_ops of = {index->stream_of[op], 0, NVT_NONE, NVT_NONE};
    if (nvt_clock_since(apis->end[call], apis->start[call]) < NVT_PATH_LONG_CALL_NS)
        return NVT_NONE;
    uint32_t ended =
        nvt_path_last(index, of, apis->start[call], apis->end[call], apis->start[call]);
    return ended != NVT_NONE && ended < op &&
                   nvt_path_place(index, op) - nvt_path_place(index, ended) >= QUEUED
               ? ended
               : NVT_NONE;
}

/* What a call waits for where the trace tells it; 0 where it does not. */
static int known_wait(const struct nvt_path_index *index, uint32_t call, uint32_t *waits_for)
{
    const struct nvt_trace *trace = index->trace;
    uint32_t op = index->op_of[call];
    int64_t end = trace->apis.end[call];
    if (op != NVT_NONE) {
        int is_copied = trace->ops.kind[op] != NVT_OP_KERNEL &&
                        trace->ops.end[op] <= nvt_clock_sum(end, CLOCKS_NS) &&
                        trace->ops.end[op] > trace->apis.start[call];
        *waits_for = is_copied ? op : made_room(index, call, op);
        return 1;
    }
    if (!is_told(index, call))
        return 0;
    *waits_for = synchronised(index, call, index->sync_of[call]);
    return 1;
}

/* Elsewhere it is what ended last before the call did, by the time that it takes to return. */
uint32_t nvt_path_waited_for(const struct nvt_path_index *index, uint32_t call)
{
    const struct nvt_trace *trace = index->trace;
    const char *name = nvt_name(trace, trace->apis.name[call]);
    uint32_t op = NVT_NONE, sync = index->sync_of[call];
    int64_t start = trace->apis.start[call];
    struct nvt_path_ops all = {NVT_NONE, trace->threads.process[trace->apis.thread[call]], NVT_NONE,
                               NVT_NONE};
    if (known_wait(index, call, &op))
        return op;
    int waits = nvt_call_waits(name) ||
                (sync != NVT_NONE && trace->syncs.type[sync] != NVT_SYNC_WAIT_EVENT) ||
                (waits_for_all(name) && !is_outlasted(index, all.process, call));
    int64_t until = index->knows_wake ? nvt_clock_sum(trace->apis.end[call], -index->delays.wake)
                                      : trace->apis.end[call];
    return waits ? nvt_path_last(index, all, start, until, start) : NVT_NONE;
}

/* --- the least delays -------------------------------------------------------------------------------- */

static void least(int64_t *least, int64_t delay)
{
    if (delay >= 0 && delay < *least)
        *least = delay;
}

static void measure_ops(struct nvt_path_index *index)
{
    const struct nvt_ops *ops = &index->trace->ops;
    struct nvt_path_delays *delays = &index->delays;
    for (uint32_t i = 0; i < ops->count; i++) {
        uint32_t before = nvt_path_before(index, i), other = nvt_path_event_before(index, i);
        if (ops->launch[i] != INT64_MIN)
            least(&delays->launch[nvt_path_launch_class(index->trace, i)],
                  nvt_clock_since(ops->start[i], ops->launch[i]));
        if (before != NVT_NONE) {
            least(&delays->behind, nvt_clock_since(ops->start[i], ops->end[before]));
            index->knows_behind = 1;
        }
        if (other != NVT_NONE)
            least(&delays->event, nvt_clock_since(ops->start[i], ops->end[other]));
    }
}

static void measure_calls(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    const struct nvt_apis *apis = &trace->apis;
    uint32_t last = index->calls.first[trace->threads.count];
    int knows_wake = 0; /* not told before the end: what is measured here is not guessed */
    for (uint32_t i = 0; i < last; i++) {
        uint32_t call = index->calls.rows[i], op = NVT_NONE;
        if (!known_wait(index, call, &op) ||
            (index->op_of[call] != NVT_NONE && op != index->op_of[call]))
            continue;
        least(&index->delays.call, nvt_clock_since(apis->end[call], apis->start[call]));
        if (op == NVT_NONE)
            continue;
        least(&index->delays.wake, nvt_clock_since(apis->end[call], trace->ops.end[op]));
        knows_wake = 1;
    }
    index->knows_wake = knows_wake;
}

void nvt_path_measure(struct nvt_path_index *index)
{
    index->delays =
        (struct nvt_path_delays){{LAUNCH_AT_MOST, LAUNCH_AT_MOST, LAUNCH_AT_MOST, LAUNCH_AT_MOST},
                                 BEHIND_AT_MOST,
                                 EVENT_AT_MOST,
                                 WAKE_AT_MOST,
                                 CALL_AT_MOST};
    measure_ops(index);
    measure_calls(index);
}
